/*
 * For the tests of gpu/intake: BGZF made of any blocks, and files read by the intake, alone or
 * beside the host's reader.
 */
#ifndef KC_TESTS_GPU_INTAKE_INTAKE_SUPPORT_CUH
#define KC_TESTS_GPU_INTAKE_INTAKE_SUPPORT_CUH

#include "tests/gpu/inflate/deflate_support.cuh"
#include "tests/gpu/text/text_support.cuh"

#include "base/parallel.h"
#include "gpu/intake/intake.cuh"

/* ---- BGZF ---- */

static void put_number(std::string *to, uint32_t number, int nbytes)
{
        for (int i = 0; i < nbytes; i++)
                *to += (char)(number >> 8 * i & 0xff);
}

static std::string bgzf_block(const std::string &text, const struct way &way)
{
        const bytes deflated = deflate_with(bytes(text.begin(), text.end()), way);
        std::string block("\x1f\x8b\x08\x04\0\0\0\0\0\xff\x06\0BC\x02\0", 16);
        assert_true(deflated.size() + 26 <= 65536);
        put_number(&block, (uint32_t)deflated.size() + 25, 2);
        block.append(deflated.begin(), deflated.end());
        put_number(&block, (uint32_t)crc32(0, (const Bytef *)text.data(), (uInt)text.size()), 4);
        put_number(&block, (uint32_t)text.size(), 4);
        return block;
}

static const struct way USUAL_WAY = { 6, Z_DEFAULT_STRATEGY, 8 };

static std::string bgzf_end()
{
        return bgzf_block("", USUAL_WAY);
}

/* Blocks of these sizes in turn, made in these ways in turn, and the block that marks the end. */
static std::string bgzf(const std::string &text, const std::vector<size_t> &sizes,
                        const std::vector<struct way> &ways = { USUAL_WAY })
{
        std::string packed;
        for (size_t at = 0, i = 0; at < text.size(); i++) {
                const size_t n = std::min(sizes[i % sizes.size()], text.size() - at);
                packed += bgzf_block(text.substr(at, n), ways[i % ways.size()]);
                at += n;
        }
        return packed + bgzf_end();
}

/* ---- reading ---- */

struct intake_reads {
        std::vector<std::string> segments;
        struct kc_reader_totals totals;
        std::vector<uint64_t> chunks; /* bases taken at a time */
        uint64_t most_bases;          /* that a chunk may have */
        std::vector<uint8_t> marks;   /* of the inputs */
        bool accepted; /* otherwise the segments and the error are those of the same reader's
                        * batches */
        struct kc_error error;
};

/* A device that reads. */
struct intake_device {
        struct kc_gpu gpu;
        struct kc_gpu_intake *intake;
        std::vector<std::string> segments;
};

enum { MOST_INTAKES = 3 };

/* What the threads of all intakes share. */
struct intake_run {
        struct kc_gate gate;
        struct kc_gpu_intakes all;
        struct intake_device devices[MOST_INTAKES]; /* [all.n] */
        struct kc_gpu_intake_setup setup;
        struct intake_reads *reads;
};

static void keep_segments(struct kc_gpu *on, const struct kc_gpu_reads *reads, int k,
                          std::vector<std::string> *segments)
{
        struct kc_gpu_text_out out = {};
        out.words = (uint64_t *)reads->words;
        out.spans = (struct kc_span *)reads->spans;
        out.nwords = reads->nwords;
        out.nspans = reads->nspans;
        out.nbases = reads->nbases;
        out.nkmers = reads->nkmers;
        read_segments(on, &out, k, segments);
}

/* Take the reads of one intake. */
static enum kc_status take_reads(struct intake_run *run, struct intake_device *device,
                                 struct kc_error *err)
{
        enum kc_status status;
        struct kc_gpu_reads reads;
        bool foreign;
        KC_TRY(KC_CUDA(cudaSetDevice(device->gpu.device)));
        KC_TRY(kc_gpu_intake_attach(device->intake, &device->gpu, run->setup.text_nbytes, err));
        for (;;) {
                KC_TRY(kc_gpu_intake_take(device->intake, &reads, &foreign, err));
                if (reads.nkmers == 0)
                        break;
                kc_gate_enter(&run->gate);
                run->reads->chunks.push_back(reads.nbases);
                kc_gate_leave(&run->gate);
                keep_segments(&device->gpu, &reads, run->setup.k, &device->segments);
        }
        KC_TRY(kc_gpu_intake_end(device->intake, err));
out:
        return status;
}

/* The first device's thread ends the reading of all. */
static enum kc_status drive_intakes(struct intake_run *run, struct kc_error *err)
{
        enum kc_status status;
        bool foreign;
        run->reads->most_bases = kc_gpu_intake_most_bases(&run->setup);
        KC_TRY(take_reads(run, &run->devices[0], err));
        KC_TRY(kc_gpu_intakes_wait(&run->all, &foreign, err));
        kc_gpu_intakes_end(&run->all);
        run->reads->accepted = !foreign;
out:
        return status;
}

/* The devices' threads, then the workers. */
static enum kc_status run_thread(void *ctx, int thread, struct kc_error *err)
{
        struct intake_run *run = (struct intake_run *)ctx;
        bool foreign;
        if (thread == 0)
                return drive_intakes(run, err);
        if (thread < run->all.n)
                return take_reads(run, &run->devices[thread], err);
        return kc_gpu_intakes_read(&run->all, thread - run->all.n, &foreign, err);
}

static void stop(void *ctx)
{
        kc_gate_stop(&((struct intake_run *)ctx)->gate);
}

static void open_intake(struct intake_run *run, int number)
{
        struct kc_error err = {};
        struct intake_device *device = &run->devices[number];
        int ndevices;
        expect_ok(kc_gpu_devices(NULL, 0, &ndevices, &err), &err);
        expect_ok(kc_gpu_open(&device->gpu, number % ndevices, (size_t)1 << 30, &err), &err);
        run->setup.number = number;
        expect_ok(kc_gpu_intake_new(&device->intake, &run->setup, &err), &err);
        assert_true(kc_gpu_intake_join(device->intake));
}

static void close_intake(struct intake_run *run, int number)
{
        struct intake_device *device = &run->devices[number];
        std::vector<std::string> *all = &run->reads->segments;
        all->insert(all->end(), device->segments.begin(), device->segments.end());
        assert_int_equal(cudaSetDevice(device->gpu.device), cudaSuccess);
        kc_gpu_intake_free(device->intake);
        assert_int_equal(device->gpu.used_nbytes, 0);
        kc_gpu_close(&device->gpu);
        assert_int_equal(cudaSetDevice(gpu.device), cudaSuccess);
}

static void run_intakes(const struct kc_stored_source *source, int n, int k, size_t text_nbytes,
                        struct intake_reads *reads)
{
        enum { NWORKERS = 2 };
        struct intake_run run = {};
        struct kc_error err = {};
        run.reads = reads;
        run.all.gate = &run.gate;
        run.all.source = source;
        run.all.n = n;
        run.setup.all = &run.all;
        run.setup.k = run.setup.max_k = k;
        run.setup.text_nbytes = text_nbytes;
        kc_gate_init(&run.gate, NULL);
        for (int i = 0; i < n; i++)
                open_intake(&run, i);
        expect_ok(kc_parallel(n + NWORKERS, run_thread, stop, &run, &err), &err);
        for (int i = 0; i < n; i++)
                close_intake(&run, i);
        kc_gate_destroy(&run.gate);
}

/* The intake gave up, or the files are not offered to it: take batches from the beginning. */
static void read_batches(struct kc_reader *reader, struct intake_reads *reads)
{
        struct host_reads batches = {};
        take_batches(reader, &batches);
        reads->segments = batches.segments;
        reads->error = batches.error;
}

/* How devices read: rounds have text_nbytes; a device reads parts of about part_nbytes. */
struct reading_way {
        size_t text_nbytes;
        int ndevices;
        uint64_t part_nbytes;
};

static struct reading_way alone(size_t text_nbytes)
{
        return { text_nbytes, 1, UINT64_MAX };
}

static struct intake_reads read_by_intake(const std::vector<const char *> &paths,
                                          const struct rules *rules, const struct reading_way &way)
{
        struct intake_reads reads = {};
        struct kc_reader *reader;
        struct kc_stored_source source;
        const struct kc_reader_options options = reader_options(rules, 0);
        if (kc_reader_open(&reader, paths.data(), paths.size(), &options, &reads.error) != KC_OK)
                return reads;
        const bool offered = kc_reader_stored(reader, way.part_nbytes, &source);
        if (offered)
                run_intakes(&source, way.ndevices, rules->k, way.text_nbytes, &reads);
        if (!reads.accepted)
                read_batches(reader, &reads);
        kc_reader_totals(reader, &reads.totals);
        reads.marks = marks_of(reader);
        assert_int_equal(reads.totals.stored.gave_up, offered && !reads.accepted);
        kc_reader_close(reader);
        return reads;
}

/* ---- comparing ---- */

/* The k-mers, totals and message are those of the host alone, whether the intakes accepted the
 * files or gave up; and one side has read all the text. in_order: so are the k-mers. */
static void check_same(const struct intake_reads &got, const struct host_reads &want,
                       const struct rules *rules, bool in_order)
{
        std::vector<std::string> kmers = kmers_of(got.segments, rules->k);
        std::vector<std::string> wanted = kmers_of(want.segments, rules->k);
        if (!in_order) {
                std::sort(kmers.begin(), kmers.end());
                std::sort(wanted.begin(), wanted.end());
        }
        const struct kc_reader_totals *t = &got.totals;
        const struct totals totals = { t->nreads, t->nbases, t->nskipped, t->nlow_quality };
        assert_string_equal(got.error.message, want.error.message);
        assert_int_equal(got.error.status, want.error.status);
        if (got.error.status == KC_OK)
                assert_true(got.marks == want.marks);
        check_segments(kmers, wanted);
        check_totals(&totals, &want.totals);
        assert_int_equal(t->stored.text_nbytes, got.accepted ? t->text_nbytes : 0);
}

/* Read on both sides; returns whether the intake accepted the files. */
static bool check_paths(const std::vector<const char *> &paths, const struct rules *rules,
                        const struct reading_way &way, struct host_reads *host = NULL)
{
        const struct intake_reads got = read_by_intake(paths, rules, way);
        const struct host_reads want = read_paths_on_host(paths, rules, 0);
        check_same(got, want, rules, way.ndevices == 1);
        if (host != NULL)
                *host = want;
        return got.accepted;
}

static bool check_content(const std::string &content, const struct rules *rules,
                          const struct reading_way &way, struct host_reads *host = NULL)
{
        struct files_in_memory files;
        open_files(&files, { content });
        const bool accepted = check_paths(files.paths, rules, way, host);
        close_files(&files);
        return accepted;
}

#endif
