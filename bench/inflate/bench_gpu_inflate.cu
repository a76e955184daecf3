/*
 * bench_gpu_inflate: the device's inflate by itself, timed with CUDA events.
 *
 *      bench_gpu_inflate [-n BLOCKS] [-r REPEAT] [-l LEVEL] [-d DEVICE] [-v VARIANT] FILE...
 *
 * A file may be BGZF, which is taken as it is, or gzip or plain text, which becomes BGZF at
 * libdeflate's level 6. Its blocks are repeated until there are BLOCKS of them (62,500: 4 GB of
 * text). The compressed bytes are in device memory before the clock starts. A line of JSON reports
 * all times and the rate in bytes of text. All text is compared with the host's, copy by copy.
 */
#include "base/clock.h"
#include "base/parallel.h"
#include "bench/bgzf.h"
#include "gpu/gpu.h"
#include "gpu/inflate/inflate.cuh"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <libdeflate.h>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>
#include <zlib.h>

#ifndef INFLATE_VARIANTS
#define INFLATE_VARIANTS X(kc_gpu_inflate)
#endif

typedef enum kc_status (*inflate_call)(struct kc_gpu_stream on, const struct kc_inflate *inflate,
                                       unsigned long long *refused, struct kc_error *err);
#define X(name) \
        enum kc_status name(struct kc_gpu_stream on, const struct kc_inflate *inflate, \
                            unsigned long long *refused, struct kc_error *err);
INFLATE_VARIANTS
#undef X

static const struct variant {
        const char *name;
        inflate_call call;
} variants[] = {
#define X(name) { #name, name },
        INFLATE_VARIANTS
#undef X
};

struct settings {
        size_t nblocks;
        int repeat, level, device;
        const char *variant;
};

/* A file as BGZF, and its text. */
struct sample {
        std::vector<uint8_t> packed, text;
        std::vector<struct kc_bgzf_block> blocks;
};

static void die(const char *what, const char *why)
{
        fprintf(stderr, "bench_gpu_inflate: %s: %s\n", what, why);
        exit(1);
}

/* ---- the sample ---- */

static std::vector<uint8_t> read_bytes(const char *path)
{
        FILE *file = fopen(path, "rb");
        if (file == NULL)
                die(path, "cannot be opened");
        fseek(file, 0, SEEK_END);
        std::vector<uint8_t> bytes((size_t)ftell(file));
        rewind(file);
        if (fread(bytes.data(), 1, bytes.size(), file) != bytes.size())
                die(path, "cannot be read");
        fclose(file);
        return bytes;
}

/* gzip, or plain text. */
static std::vector<uint8_t> read_text(const char *path)
{
        enum { PIECE = 1 << 24 };
        gzFile file = gzopen(path, "rb");
        std::vector<uint8_t> text;
        for (int got = 1; file != NULL && got > 0;) {
                const size_t n = text.size();
                text.resize(n + PIECE);
                got = gzread(file, text.data() + n, PIECE);
                text.resize(n + (size_t)std::max(got, 0));
        }
        gzclose(file);
        return text;
}

/* The blocks of `packed`. False if it is not BGZF from end to end. */
static bool find_blocks(struct sample *sample)
{
        size_t at = 0;
        sample->blocks.resize(sample->packed.size() / 26 + 1);
        struct kc_bgzf_table table = { sample->blocks.data(), sample->blocks.size(), 0, UINT64_MAX,
                                       0 };
        const bool whole = kc_bgzf_find(&table, sample->packed.data(), sample->packed.size(),
                                        &at) == KC_BGZF_END;
        sample->blocks.resize(table.n);
        return whole && table.n > 0;
}

/* Pieces of the text, as BGZF. */
struct packing {
        struct sample *sample;
        int level;
        std::vector<std::vector<uint8_t>> pieces;
        std::atomic<size_t> next;
};

enum { PIECE_NBYTES = 16 * 0xff00 };

static enum kc_status pack_worker(void *ctx, int, struct kc_error *)
{
        struct packing *p = (struct packing *)ctx;
        struct libdeflate_compressor *compressor = libdeflate_alloc_compressor(p->level);
        for (size_t i; (i = p->next++) < p->pieces.size();) {
                const size_t at = i * PIECE_NBYTES;
                const size_t n = std::min((size_t)PIECE_NBYTES, p->sample->text.size() - at);
                p->pieces[i].resize(bgzf_room_nbytes(n));
                p->pieces[i].resize(bgzf_deflate(compressor,
                                                 (const char *)p->sample->text.data() + at, n,
                                                 p->pieces[i].data()));
        }
        libdeflate_free_compressor(compressor);
        return KC_OK;
}

static void pack(struct sample *sample, int level)
{
        struct packing p = { sample, level, {}, {} };
        struct kc_error err = {};
        p.pieces.resize((sample->text.size() + PIECE_NBYTES - 1) / PIECE_NBYTES);
        if (kc_parallel((int)std::thread::hardware_concurrency(), pack_worker, NULL, &p, &err) !=
            KC_OK)
                die("packing", err.message);
        sample->packed.clear();
        for (const auto &piece : p.pieces)
                sample->packed.insert(sample->packed.end(), piece.begin(), piece.end());
}

/* Without blocks that have no text. */
static void load(struct sample *sample, const char *path, int level)
{
        sample->text = read_text(path);
        sample->packed = read_bytes(path);
        if (!find_blocks(sample)) {
                pack(sample, level);
                if (!find_blocks(sample))
                        die(path, "has no text");
        }
        auto &blocks = sample->blocks;
        blocks.erase(
                std::remove_if(blocks.begin(), blocks.end(),
                               [](const struct kc_bgzf_block &b) { return b.text_nbytes == 0; }),
                blocks.end());
}

/* ---- on the device ---- */

struct run {
        struct kc_gpu *gpu;
        struct sample *sample;
        size_t ncopies;
        struct kc_inflate inflate;
        uint8_t *bytes;
        struct kc_bgzf_block *blocks;
        unsigned long long *refused, *ndiffer;
        cudaEvent_t begin, end;
};

/* Compare the copies of the text with the first one. */
static __global__ void compare_copies_kernel(const uint8_t *text, size_t nbytes, size_t ncopies,
                                             unsigned long long *ndiffer)
{
        const size_t step = (size_t)gridDim.x * blockDim.x;
        unsigned long long n = 0;
        for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < nbytes; i += step)
                for (size_t copy = 1; copy < ncopies; copy++)
                        n += text[copy * nbytes + i] != text[i];
        if (n > 0)
                atomicAdd(ndiffer, n);
}

static enum kc_status upload(struct run *run, struct kc_error *err)
{
        enum kc_status status;
        struct kc_gpu *gpu = run->gpu;
        const struct sample *sample = run->sample;
        const size_t npacked = sample->packed.size(), ntext = sample->text.size();
        std::vector<struct kc_bgzf_block> blocks;
        struct kc_inflate *inflate = &run->inflate;
        for (size_t copy = 0; copy < run->ncopies; copy++)
                for (struct kc_bgzf_block block : sample->blocks) {
                        block.at += copy * npacked;
                        block.text_at += copy * ntext;
                        blocks.push_back(block);
                }
        inflate->nbytes = run->ncopies * npacked;
        inflate->nblocks = blocks.size();
        inflate->text_nbytes = run->ncopies * ntext;
        KC_TRY(kc_gpu_new(gpu, &run->bytes, inflate->nbytes + KC_INFLATE_PADDING, err));
        KC_TRY(kc_gpu_new(gpu, &run->blocks, inflate->nblocks, err));
        KC_TRY(kc_gpu_new(gpu, &inflate->text, inflate->text_nbytes + KC_INFLATE_PADDING, err));
        KC_TRY(kc_gpu_new(gpu, &inflate->status, inflate->nblocks, err));
        KC_TRY(kc_gpu_new(gpu, &run->refused, 2, err));
        run->ndiffer = run->refused + 1;
        inflate->bytes = run->bytes;
        inflate->blocks = run->blocks;
        for (size_t copy = 0; copy < run->ncopies; copy++)
                KC_TRY(KC_CUDA(cudaMemcpyAsync(
                        run->bytes + copy * npacked, copy == 0 ? sample->packed.data() : run->bytes,
                        npacked, copy == 0 ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToDevice,
                        gpu->stream)));
        KC_TRY(KC_CUDA(cudaMemcpyAsync(run->blocks, blocks.data(), blocks.size() * sizeof blocks[0],
                                       cudaMemcpyHostToDevice, gpu->stream)));
        KC_TRY(KC_CUDA(cudaStreamSynchronize(gpu->stream)));
out:
        return status;
}

static void release(struct run *run)
{
        kc_gpu_delete(run->gpu, run->refused, 2);
        kc_gpu_delete(run->gpu, run->inflate.status, run->inflate.nblocks);
        kc_gpu_delete(run->gpu, run->inflate.text, run->inflate.text_nbytes + KC_INFLATE_PADDING);
        kc_gpu_delete(run->gpu, run->blocks, run->inflate.nblocks);
        kc_gpu_delete(run->gpu, run->bytes, run->inflate.nbytes + KC_INFLATE_PADDING);
}

/* What is wrong with the text; NULL if nothing is. */
static enum kc_status check(struct run *run, const char **wrong, struct kc_error *err)
{
        enum kc_status status;
        const size_t n = run->sample->text.size();
        std::vector<uint8_t> text(n);
        unsigned long long found[2];
        KC_TRY(KC_CUDA(cudaMemsetAsync(run->ndiffer, 0, sizeof *run->ndiffer, run->gpu->stream)));
        compare_copies_kernel<<<1024, 256, 0, run->gpu->stream>>>(run->inflate.text, n,
                                                                  run->ncopies, run->ndiffer);
        KC_TRY(KC_LAUNCHED());
        KC_TRY(kc_gpu_read(run->gpu, text.data(), run->inflate.text, n, err));
        KC_TRY(kc_gpu_read(run->gpu, found, run->refused, 2, err));
        *wrong = found[0] != 0               ? "a block is refused"
                 : text != run->sample->text ? "the text differs from the host's"
                 : found[1] != 0             ? "copies differ"
                                             : NULL;
out:
        return status;
}

/* Before each run the text is overwritten. */
static enum kc_status time_variant(struct run *run, const struct variant *variant, int repeat,
                                   std::vector<float> *times, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        const struct kc_gpu_stream on = { run->gpu, run->gpu->stream };
        for (int i = -1; i < repeat; i++) {
                float ms;
                KC_TRY(KC_CUDA(cudaMemsetAsync(run->inflate.text, 0x5e, run->inflate.text_nbytes,
                                               on.stream)));
                KC_TRY(KC_CUDA(cudaEventRecord(run->begin, on.stream)));
                KC_TRY(variant->call(on, &run->inflate, run->refused, err));
                KC_TRY(KC_CUDA(cudaEventRecord(run->end, on.stream)));
                KC_TRY(KC_CUDA(cudaEventSynchronize(run->end)));
                KC_TRY(KC_CUDA(cudaEventElapsedTime(&ms, run->begin, run->end)));
                if (i >= 0)
                        times->push_back(ms);
        }
out:
        return status;
}

static void report(const struct run *run, const char *file, const char *variant,
                   std::vector<float> times, const char *wrong)
{
        const double text = (double)run->inflate.text_nbytes;
        std::string list;
        for (float ms : times)
                list += (list.empty() ? "" : ", ") + std::to_string(ms);
        std::sort(times.begin(), times.end());
        const double ms = times[times.size() / 2];
        printf("{\"stage\": \"%s\", \"file\": \"%s\", \"blocks\": %zu, \"text\": %.0f, "
               "\"packed\": %zu, \"ratio\": %.2f, \"median_ms\": %.3f, \"text_gb_per_s\": %.1f, "
               "\"check\": \"%s\", \"ms\": [%s]}\n",
               variant, file, run->inflate.nblocks, text, run->inflate.nbytes,
               text / (double)run->inflate.nbytes, ms, text / ms * 1e-6,
               wrong == NULL ? "ok" : wrong, list.c_str());
        fflush(stdout);
}

static enum kc_status run_variants(struct run *run, const char *file, const struct settings *set,
                                   struct kc_error *err)
{
        enum kc_status status = KC_OK;
        for (const struct variant &variant : variants) {
                const char *wrong = NULL;
                std::vector<float> times;
                if (set->variant != NULL && strcmp(set->variant, variant.name) != 0)
                        continue;
                KC_TRY(time_variant(run, &variant, set->repeat, &times, err));
                KC_TRY(check(run, &wrong, err));
                report(run, file, variant.name, times, wrong);
        }
out:
        return status;
}

static enum kc_status run_file(struct kc_gpu *gpu, const char *file, const struct settings *set,
                               struct kc_error *err)
{
        enum kc_status status;
        struct sample sample;
        struct run run = {};
        double began = kc_clock_seconds();
        load(&sample, file, set->level);
        run.gpu = gpu;
        run.sample = &sample;
        run.ncopies = std::max((size_t)1, set->nblocks / sample.blocks.size());
        KC_TRY(KC_CUDA(cudaEventCreate(&run.begin)));
        KC_TRY(KC_CUDA(cudaEventCreate(&run.end)));
        KC_TRY(upload(&run, err));
        fprintf(stderr, "bench_gpu_inflate: %s: %zu blocks, %zu times, ready after %.2f s\n", file,
                sample.blocks.size(), run.ncopies, kc_clock_seconds() - began);
        KC_TRY(run_variants(&run, file, set, err));
out:
        release(&run);
        if (run.begin != NULL)
                (void)cudaEventDestroy(run.begin);
        if (run.end != NULL)
                (void)cudaEventDestroy(run.end);
        return status;
}

int main(int argc, char **argv)
{
        struct settings set = { 62500, 5, 6, 0, NULL };
        struct kc_error err = {};
        struct kc_gpu gpu = {};
        for (int c; (c = getopt(argc, argv, "n:r:l:d:v:")) != -1;) {
                if (c == 'n')
                        set.nblocks = strtoull(optarg, NULL, 10);
                else if (c == 'r')
                        set.repeat = std::max(1, atoi(optarg));
                else if (c == 'l')
                        set.level = atoi(optarg);
                else if (c == 'd')
                        set.device = atoi(optarg);
                else if (c == 'v')
                        set.variant = optarg;
                else
                        return 2;
        }
        enum kc_status status = kc_gpu_open(&gpu, set.device, 0, &err);
        for (int i = optind; i < argc && status == KC_OK; i++)
                status = run_file(&gpu, argv[i], &set, &err);
        kc_gpu_close(&gpu);
        if (status != KC_OK)
                die("failed", err.message);
        return 0;
}
