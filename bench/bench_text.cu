/*
 * bench_text: text to packed reads on the device (gpu/text), timed with CUDA events.
 *
 *      bench_text [-n REPEAT] [-s MIBYTES] [-d DEVICE] [-J]
 *
 * The text is made in memory, MIBYTES of it (1024 by default), by repeating a smaller one, and kept
 * on the device. It is parsed in pieces of several sizes. For each kind of text and size, a table
 * shows the rates, in GB of text a second, of each step, of all steps together, of whole calls with
 * their waits, and of packing what comes out (kc_pack_reads). The segments of the smaller text are
 * first compared with those of the host's reader. Exit status 77 without a device, and 3, unless
 * -J, if the build has no machine code for it.
 */
#include "base/parallel.h"
#include "bench/gpu/parsing.cuh"
#include "bench/gpu/stages.cuh"
#include "gpu/gpu.h"
#include "gpu/text/text_internal.cuh"
#include "tests/random.h"

extern "C" {
#include "io/reader.h"
}

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

enum {
        K = 31,
        NTHREADS = 16,
        BLOCK_NBYTES = 2 << 20, /* what a thread makes at a time */
        NBLOCKS = 32,
};

/* A kind of text to parse. */
struct kind {
        const char *name;
        enum kc_gpu_text_format format;
        uint32_t length, line; /* bases in a record; FASTA: in a line, 0: all in one */
        int min_quality;
};

static const struct kind KINDS[] = {
        { "fastq 150", KC_GPU_TEXT_FASTQ, 150, 0, 0 },
        { "fastq 150, -q 20", KC_GPU_TEXT_FASTQ, 150, 0, 20 },
        { "fastq 10000", KC_GPU_TEXT_FASTQ, 10000, 0, 0 },
        { "fasta 150", KC_GPU_TEXT_FASTA, 150, 0, 0 },
        { "fasta 100000, lines of 60", KC_GPU_TEXT_FASTA, 100000, 60, 0 },
        { "fasta 1000000, one line", KC_GPU_TEXT_FASTA, 1000000, 0, 0 },
};

enum step { CLASSIFY, LINES, ROLES, RUNS, SPANS, NSTEPS };
static const char *const STEPS[] = { "classify", "lines", "roles", "runs", "spans" };

/* ---- text ---- */

static void append_letters(std::string *text, uint64_t *state, uint32_t n, const char *letters,
                           uint32_t line)
{
        uint64_t bits = 0;
        for (uint32_t i = 0; i < n; i++, bits >>= 3) {
                if (i % 21 == 0)
                        bits = next_random(state);
                if (line > 0 && i > 0 && i % line == 0)
                        *text += '\n';
                *text += letters[bits & 7];
        }
        *text += '\n';
}

/* One read in a thousand has an N. */
static void append_record(std::string *text, uint64_t *state, const struct kind *kind,
                          uint32_t number)
{
        const bool fastq = kind->format == KC_GPU_TEXT_FASTQ;
        *text += (fastq ? "@sim." : ">sim.") + std::to_string(number) + "/1\n";
        const size_t seq = text->size();
        append_letters(text, state, kind->length, "ACGTACGT", kind->line);
        if (next_random(state) % 1000 == 0)
                (*text)[seq + 10] = 'N';
        if (!fastq)
                return;
        *text += "+\n";
        append_letters(text, state, kind->length, "IIIIHF:#", 0);
}

struct making {
        const struct kind *kind;
        std::vector<std::string> blocks;
};

static enum kc_status make_blocks(void *ctx, int worker, struct kc_error *err)
{
        struct making *making = (struct making *)ctx;
        (void)err;
        for (uint32_t b = (uint32_t)worker; b < NBLOCKS; b += NTHREADS) {
                uint64_t state = b;
                for (uint32_t i = 0; making->blocks[b].size() < BLOCK_NBYTES; i++)
                        append_record(&making->blocks[b], &state, making->kind, b * 10000 + i);
        }
        return KC_OK;
}

static enum kc_status make_text(const struct kind *kind, std::string *text, struct kc_error *err)
{
        struct making making = { kind, std::vector<std::string>(NBLOCKS) };
        enum kc_status status = kc_parallel(NTHREADS, make_blocks, NULL, &making, err);
        for (const std::string &block : making.blocks)
                *text += block;
        return status;
}

/* ---- a run of the benchmark ---- */

struct texts : parsing {
        struct bench *bench;
        const struct kind *kind;
        uint8_t *bytes;             /* device [nbytes + 16] */
        size_t unit_nbytes, nbytes; /* of the text that is repeated, and all */
        uint32_t noverlap;          /* of the piece to parse */
        cudaEvent_t events[NSTEPS + 1];
};

static struct kc_gpu_text_setup setup_of(const struct kind *kind, size_t nbytes)
{
        struct kc_gpu_text_setup setup = {};
        setup.max_nbytes = nbytes;
        setup.min_k = setup.max_k = K;
        setup.min_quality = kind->min_quality;
        setup.fasta = kind->format == KC_GPU_TEXT_FASTA;
        return setup;
}

static enum kc_status open_parser(struct texts *x, size_t nbytes, struct kc_error *err)
{
        const struct kc_gpu_text_setup setup = setup_of(x->kind, nbytes);
        return parsing_new(x, &x->bench->gpu, &setup, err);
}

static void close_parser(struct texts *x)
{
        parsing_free(x, &x->bench->gpu);
}

static struct kc_gpu_text_input input_at(const struct texts *x, size_t at, size_t nbytes)
{
        struct kc_gpu_text_input input = {};
        input.format = x->kind->format;
        input.bytes = x->bytes + at;
        input.nbytes = std::min(nbytes, x->nbytes - at);
        input.last = at + input.nbytes == x->nbytes;
        input.noverlap = x->noverlap;
        return input;
}

static enum kc_status run_step(struct texts *x, int step, struct kc_error *err)
{
        switch (step) {
        case CLASSIFY:
                return kc_gpu_text_classify(x->text, x->kind->format, err);
        case LINES:
                return kc_gpu_text_find_lines(x->text, x->kind->format, err);
        case ROLES:
                return x->kind->format == KC_GPU_TEXT_FASTQ ? kc_gpu_text_fastq(x->text, err)
                                                            : kc_gpu_text_fasta(x->text, err);
        case RUNS:
                return kc_gpu_text_find_runs(x->text, err);
        default:
                return kc_gpu_text_cut_spans(x->text, K, 0, x->out.spans, x->out.spans_cap, err);
        }
}

/* Run the steps of one piece with events between them, and add their times to ms. */
static enum kc_status time_steps(struct texts *x, size_t at, size_t nbytes, double *ms,
                                 struct kc_error *err)
{
        enum kc_status status;
        const cudaStream_t stream = x->bench->gpu.stream;
        const struct kc_gpu_text_input input = input_at(x, at, nbytes);
        kc_gpu_text_show(x->text, &input, input.nbytes, x->out.words);
        KC_TRY(KC_CUDA(cudaEventRecord(x->events[0], stream)));
        for (int step = 0; step < NSTEPS; step++) {
                KC_TRY(run_step(x, step, err));
                KC_TRY(KC_CUDA(cudaEventRecord(x->events[step + 1], stream)));
        }
        KC_TRY(KC_CUDA(cudaEventSynchronize(x->events[NSTEPS])));
        for (int step = 0; step < NSTEPS; step++) {
                float own;
                KC_TRY(KC_CUDA(cudaEventElapsedTime(&own, x->events[step], x->events[step + 1])));
                ms[step] += own;
        }
out:
        return status;
}

static enum kc_status parse_at(struct texts *x, size_t at, size_t nbytes,
                               struct kc_gpu_text_result *result, struct kc_error *err)
{
        const struct kc_gpu_text_input input = input_at(x, at, nbytes);
        return parsing_parse(x, &input, result, err);
}

static double now_ms(void)
{
        struct timespec t;
        clock_gettime(CLOCK_MONOTONIC, &t);
        return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static double median(std::vector<double> times)
{
        std::sort(times.begin(), times.end());
        return times[times.size() / 2];
}

static enum kc_status time_pack(struct texts *x, double *ms, struct kc_error *err)
{
        enum kc_status status;
        const cudaStream_t stream = x->bench->gpu.stream;
        float own;
        KC_TRY(KC_CUDA(cudaEventRecord(x->events[0], stream)));
        KC_TRY(parsing_pack(x, &x->bench->gpu, K, err));
        KC_TRY(KC_CUDA(cudaEventRecord(x->events[1], stream)));
        KC_TRY(KC_CUDA(cudaEventSynchronize(x->events[1])));
        KC_TRY(KC_CUDA(cudaEventElapsedTime(&own, x->events[0], x->events[1])));
        *ms += own;
out:
        return status;
}

/* Parse all of the text in pieces, each of which begins where the previous one was consumed to. */
static enum kc_status time_pieces(struct texts *x, size_t piece, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        std::vector<double> steps[NSTEPS], all, calls, packs;
        for (int i = -1; i < x->bench->repeat; i++) {
                double ms[NSTEPS] = {}, call = 0, pack = 0, sum = 0;
                struct kc_gpu_text_result result;
                x->noverlap = 0;
                for (size_t at = 0; at < x->nbytes; at += result.consumed) {
                        KC_TRY(time_steps(x, at, piece, ms, err));
                        call -= now_ms();
                        KC_TRY(parse_at(x, at, piece, &result, err));
                        call += now_ms();
                        KC_TRY(time_pack(x, &pack, err));
                        x->noverlap = result.noverlap;
                }
                if (i < 0)
                        continue;
                for (int step = 0; step < NSTEPS; step++) {
                        steps[step].push_back(ms[step]);
                        sum += ms[step];
                }
                all.push_back(sum);
                calls.push_back(call);
                packs.push_back(pack);
        }
        printf("%-26s %5zu ", x->kind->name, piece >> 20);
        for (const std::vector<double> &step : steps)
                printf(" %8.0f", 1e-6 * (double)x->nbytes / median(step));
        printf(" %8.0f %8.0f %8.0f\n", 1e-6 * (double)x->nbytes / median(all),
               1e-6 * (double)x->nbytes / median(calls), 1e-6 * (double)x->nbytes / median(packs));
        fflush(stdout);
out:
        return status;
}

/* ---- the check ---- */

/* The host's segments, one after the other: what comes next in a reader's batches. */
struct host_segments {
        struct kc_reader *reader;
        struct kc_batch batch;
        uint32_t next;
};

/* *segment = NULL at the end. */
static enum kc_status next_segment(struct host_segments *host, const struct kc_segment **segment,
                                   struct kc_error *err)
{
        const struct kc_batch_source source = kc_reader_source(host->reader);
        if (host->next == host->batch.nsegments) {
                enum kc_status status = source.next(source.ctx, 0, &host->batch, err);
                host->next = 0;
                if (status != KC_OK)
                        return status;
        }
        *segment = host->batch.nsegments > 0 ? &host->batch.segments[host->next++] : NULL;
        return KC_OK;
}

static bool same_bases(const uint64_t *a, uint64_t a_from, const uint64_t *b, uint64_t b_from,
                       uint64_t n)
{
        for (uint64_t at = 0; at < n; at += 32) {
                const uint32_t here = (uint32_t)std::min(n - at, (uint64_t)32);
                if (kc_packed_bases(a, a_from + at, here) != kc_packed_bases(b, b_from + at, here))
                        return false;
        }
        return true;
}

/* Compare the segments in x->out with those of the host, whose text is in one batch. */
static enum kc_status compare(struct texts *x, struct host_segments *host, struct kc_error *err)
{
        enum kc_status status;
        std::vector<uint64_t> words(x->out.nwords + 1);
        std::vector<struct kc_span> spans(x->out.nspans);
        const struct kc_segment *segment;
        size_t first = 0;
        KC_TRY(kc_gpu_read(&x->bench->gpu, words.data(), x->out.words, x->out.nwords, err));
        KC_TRY(kc_gpu_read(&x->bench->gpu, spans.data(), x->out.spans, x->out.nspans, err));
        for (size_t i = 0; i < spans.size(); i++) {
                if (!spans[i].ends)
                        continue;
                const uint64_t begin = spans[first].word * UINT64_C(32) + spans[first].base;
                const uint64_t end =
                        spans[i].word * UINT64_C(32) + spans[i].base + spans[i].nkmers + K - 1;
                KC_TRY(next_segment(host, &segment, err));
                if (segment == NULL || segment->nbases != end - begin ||
                    !same_bases(words.data(), begin, host->batch.words + segment->word, 0,
                                end - begin))
                        return kc_fail(err, KC_EINPUT, "%s: span %zu differs from the host's",
                                       x->kind->name, i);
                first = i + 1;
        }
        KC_TRY(next_segment(host, &segment, err));
        if (segment != NULL)
                return kc_fail(err, KC_EINPUT, "%s: the host has more", x->kind->name);
out:
        return status;
}

static enum kc_status check(struct texts *x, const std::string &text, struct kc_error *err)
{
        enum kc_status status = KC_EINPUT;
        struct host_segments host = {};
        struct kc_reader_options options = {};
        struct kc_gpu_text_result result;
        char path[64];
        const char *paths[] = { path };
        const uint32_t cap = (uint32_t)(text.size() / 16);
        std::vector<uint64_t> words(cap + KC_BATCH_PADDING);
        std::vector<struct kc_segment> segments(cap);
        const int file = memfd_create("text", 0);
        if (write(file, text.data(), text.size()) != (ssize_t)text.size())
                return kc_fail(err, KC_EIO, "out of memory");
        snprintf(path, sizeof path, "/proc/self/fd/%d", file);
        options.k = K;
        options.min_quality = x->kind->min_quality;
        options.nworkers = 1;
        options.chunk_nbytes = text.size() + 4096;
        host.batch.words = words.data();
        host.batch.segments = segments.data();
        host.batch.words_cap = host.batch.segments_cap = cap;
        KC_TRY(kc_reader_open(&host.reader, paths, 1, &options, err));
        KC_TRY(parse_at(x, 0, x->unit_nbytes, &result, err));
        KC_TRY(compare(x, &host, err));
out:
        kc_reader_close(host.reader);
        close(file);
        return status;
}

/* ---- kinds of text ---- */

/* Upload the text, and repeat it. */
static enum kc_status upload(struct texts *x, const std::string &text, struct kc_error *err)
{
        enum kc_status status;
        const cudaStream_t stream = x->bench->gpu.stream;
        x->unit_nbytes = text.size();
        x->nbytes /= text.size();
        x->nbytes = text.size() * std::max(x->nbytes, (size_t)1);
        KC_TRY(KC_CUDA(cudaMemcpyAsync(x->bytes, text.data(), text.size(), cudaMemcpyHostToDevice,
                                       stream)));
        for (size_t at = text.size(); at < x->nbytes; at += text.size())
                KC_TRY(KC_CUDA(cudaMemcpyAsync(x->bytes + at, x->bytes, text.size(),
                                               cudaMemcpyDeviceToDevice, stream)));
        KC_TRY(KC_CUDA(cudaStreamSynchronize(stream)));
out:
        return status;
}

static enum kc_status bench_kind(struct bench *bench, const struct kind *kind, size_t nbytes,
                                 struct kc_error *err)
{
        enum kc_status status;
        struct texts x = {};
        std::string text;
        x.bench = bench;
        x.kind = kind;
        x.nbytes = nbytes;
        KC_TRY(make_text(kind, &text, err));
        KC_TRY(kc_gpu_new(&bench->gpu, &x.bytes, nbytes + 2 * text.size(), err));
        for (cudaEvent_t &event : x.events)
                KC_TRY(KC_CUDA(cudaEventCreate(&event)));
        KC_TRY(upload(&x, text, err));
        KC_TRY(open_parser(&x, text.size(), err));
        KC_TRY(check(&x, text, err));
        close_parser(&x);
        for (size_t piece : { 16 << 20, 64 << 20, 256 << 20, 1024 << 20 }) {
                if (piece > nbytes)
                        break;
                KC_TRY(open_parser(&x, piece, err));
                KC_TRY(time_pieces(&x, piece, err));
                close_parser(&x);
        }
out:
        close_parser(&x);
        for (cudaEvent_t event : x.events)
                if (event != NULL)
                        (void)cudaEventDestroy(event);
        kc_gpu_delete(&bench->gpu, x.bytes, nbytes + 2 * text.size());
        return status;
}

static enum kc_status run(struct bench *bench, int device, size_t nbytes, struct kc_error *err)
{
        enum kc_status status;
        struct stage copy;
        KC_TRY(bench_open(bench, device, {}, err));
        KC_TRY(bench_copy_inside(bench, SIZE_MAX, &copy, err));
        printf("%s, %zu MiB of text, median of %d; a copy reads and writes %.0f GB/s\n"
               "GB/s of text\n%-26s %5s ",
               bench->device_name, nbytes >> 20, bench->repeat, 1e-6 * bench->copy_rate, "text",
               "MiB");
        for (const char *step : STEPS)
                printf(" %8s", step);
        printf(" %8s %8s %8s\n", "all", "calls", "(pack)");
        for (const struct kind &kind : KINDS)
                KC_TRY(bench_kind(bench, &kind, nbytes, err));
out:
        bench_close(bench);
        return status;
}

static void usage(void)
{
        fprintf(stderr, "usage: bench_text [-n REPEAT] [-s MIBYTES] [-d DEVICE] [-J]\n");
        exit(2);
}

int main(int argc, char **argv)
{
        struct bench bench = {};
        struct kc_error err = {};
        size_t nbytes = (size_t)1 << 30;
        int device = 0;
        bench.repeat = 5;
        for (int c; (c = getopt(argc, argv, "n:s:d:J")) != -1;) {
                if (c == 'n')
                        bench.repeat = atoi(optarg);
                else if (c == 's')
                        nbytes = strtoull(optarg, NULL, 10) << 20;
                else if (c == 'd')
                        device = atoi(optarg);
                else if (c == 'J')
                        bench.may_jit = true;
                else
                        usage();
        }
        if (bench.repeat < 1 || bench.repeat > STAGE_MAX_REPEAT || nbytes == 0 || optind < argc)
                usage();
        bench_need_device(&bench, "bench_text", device);
        if (run(&bench, device, nbytes, &err) != KC_OK) {
                fprintf(stderr, "bench_text: %s\n", err.message);
                return 1;
        }
        return 0;
}
