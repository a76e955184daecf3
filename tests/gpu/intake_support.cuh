/*
 * For the tests of gpu/intake: BGZF made of any blocks, and files read by the intake, alone or
 * beside the host's reader.
 */
#ifndef KC_TESTS_GPU_INTAKE_SUPPORT_CUH
#define KC_TESTS_GPU_INTAKE_SUPPORT_CUH

#include "deflate_support.cuh"
#include "text_support.cuh"

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
        bool accepted; /* otherwise the segments and the error are those of the same reader's batches */
        struct kc_error error;
};

/* What the threads of one intake share. */
struct intake_run {
        struct kc_gate gate;
        struct kc_gpu_trace trace;
        struct kc_gpu_intake *intake;
        struct kc_gpu_intake_setup setup;
        struct intake_reads *reads;
};

static void keep_segments(const struct kc_gpu_reads *reads, int k,
                          std::vector<std::string> *segments)
{
        struct kc_gpu_text_out out = {};
        out.words = (uint64_t *)reads->words;
        out.spans = (struct kc_span *)reads->spans;
        out.nwords = reads->nwords;
        out.nspans = reads->nspans;
        out.nbases = reads->nbases;
        out.nkmers = reads->nkmers;
        read_segments(&out, k, segments);
}

static enum kc_status drive_intake(struct intake_run *run, struct kc_error *err)
{
        enum kc_status status;
        struct kc_gpu_reads reads;
        uint64_t text_nbytes;
        bool foreign;
        KC_TRY(kc_gpu_intake_attach(run->intake, &gpu, run->setup.text_nbytes, err));
        run->reads->most_bases = kc_gpu_intake_most_bases(&run->setup);
        for (;;) {
                KC_TRY(kc_gpu_intake_take(run->intake, &reads, &foreign, err));
                if (reads.nkmers == 0)
                        break;
                run->reads->chunks.push_back(reads.nbases);
                keep_segments(&reads, run->setup.k, &run->reads->segments);
        }
        run->reads->accepted = !foreign;
        KC_TRY(kc_gpu_intake_end(run->intake, foreign, &text_nbytes, err));
out:
        return status;
}

static enum kc_status run_thread(void *ctx, int thread, struct kc_error *err)
{
        struct intake_run *run = (struct intake_run *)ctx;
        bool foreign;
        return thread == 0 ? drive_intake(run, err)
                           : kc_gpu_intake_read(run->intake, &foreign, err);
}

static void stop(void *ctx)
{
        kc_gate_stop(&((struct intake_run *)ctx)->gate);
}

static void run_intake(const struct kc_stored_source *source, int k, size_t text_nbytes,
                       struct intake_reads *reads)
{
        enum { NTHREADS = 3 }; /* the driver and two workers */
        struct intake_run run = {};
        struct kc_error err = {};
        run.reads = reads;
        run.setup.source = source;
        run.setup.k = run.setup.max_k = k;
        run.setup.text_nbytes = text_nbytes;
        kc_gate_init(&run.gate, NULL);
        kc_gpu_trace_open(&run.trace, NULL);
        expect_ok(kc_gpu_intake_new(&run.intake, &run.setup, &run.gate, &run.trace, &err), &err);
        expect_ok(kc_parallel(NTHREADS, run_thread, stop, &run, &err), &err);
        kc_gpu_intake_free(run.intake);
        kc_gpu_trace_close(&run.trace);
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

/* Rounds have text_nbytes. */
static struct intake_reads read_by_intake(const std::vector<const char *> &paths,
                                          const struct rules *rules, size_t text_nbytes)
{
        struct intake_reads reads = {};
        struct kc_reader *reader;
        struct kc_stored_source source;
        const struct kc_reader_options options = reader_options(rules, 0);
        const size_t used = gpu.used_nbytes;
        if (kc_reader_open(&reader, paths.data(), paths.size(), &options, &reads.error) != KC_OK)
                return reads;
        const bool offered = kc_reader_stored(reader, &source);
        if (offered)
                run_intake(&source, rules->k, text_nbytes, &reads);
        if (!reads.accepted)
                read_batches(reader, &reads);
        kc_reader_totals(reader, &reads.totals);
        assert_int_equal(reads.totals.stored.gave_up, offered && !reads.accepted);
        kc_reader_close(reader);
        assert_int_equal(gpu.used_nbytes, used);
        return reads;
}

/* ---- comparing ---- */

/* The k-mers, totals and message are those of the host alone, whether the intake accepted the files
 * or gave up; and one side has read all text. */
static void check_same(const struct intake_reads &got, const struct host_reads &want,
                       const struct rules *rules)
{
        const struct kc_reader_totals *t = &got.totals;
        const struct totals totals = { t->nreads, t->nbases, t->nskipped, t->nlow_quality };
        assert_string_equal(got.error.message, want.error.message);
        assert_int_equal(got.error.status, want.error.status);
        check_segments(kmers_of(got.segments, rules->k), kmers_of(want.segments, rules->k));
        check_totals(&totals, &want.totals);
        assert_int_equal(t->stored.text_nbytes, got.accepted ? t->text_nbytes : 0);
}

/* Read on both sides; returns whether the intake accepted the files. */
static bool check_paths(const std::vector<const char *> &paths, const struct rules *rules,
                        size_t text_nbytes, struct host_reads *host = NULL)
{
        const struct intake_reads got = read_by_intake(paths, rules, text_nbytes);
        const struct host_reads want = read_paths_on_host(paths, rules, 0);
        check_same(got, want, rules);
        if (host != NULL)
                *host = want;
        return got.accepted;
}

static bool check_content(const std::string &content, const struct rules *rules, size_t text_nbytes,
                          struct host_reads *host = NULL)
{
        struct files_in_memory files;
        open_files(&files, { content });
        const bool accepted = check_paths(files.paths, rules, text_nbytes, host);
        close_files(&files);
        return accepted;
}

#endif
