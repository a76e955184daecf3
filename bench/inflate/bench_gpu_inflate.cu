/*
 * bench_gpu_inflate: BGZF inflated on the device, and text parsed, timed with CUDA events.
 *
 *      bench_gpu_inflate [-b BLOCKS] [-l LEVEL] [-n REPEAT] [-r MIBYTES] [-d DEVICE] [-J] FILE...
 *
 * A BGZF file is taken as it is; gzip and plain text become BGZF at libdeflate's level 6. Its
 * blocks are repeated until there are about BLOCKS of them, by default 62,500, which is 4 GB of
 * text if they are full. The compressed bytes are in device memory before the clock starts. Each
 * file runs once to warm up and then REPEAT times (5); after that all text is compared with what
 * zlib reads. A line of JSON reports the times, for n bytes of text; `bytes` are those read and
 * written.
 *
 * If CMake found nvCOMP 6, it inflates the same blocks for comparison: one more line of JSON.
 *
 * If the text is FASTQ or FASTA, more lines follow: the text is parsed and packed, and then copied
 * from pinned memory, in rounds of about MIBYTES of text (256): as it is, to know the rate of the
 * bus; with parsing; and as BGZF, with inflating and parsing. `bytes` are those that cross the bus.
 * bench/gpu_reader.py keeps the lines. Exit status 77 without a device, and 3, unless -J, if the
 * build has no machine code for it.
 */
#include "bench/gpu/stage.cuh"
#include "bench/inflate/peer.cuh"
#include "bench/inflate/sample.cuh"
#include "bench/inflate/stream.cuh"
#include "gpu/inflate/inflate.cuh"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <unistd.h>
#include <vector>

struct inflate_settings {
        size_t nblocks, round_nbytes;
        int level, device;
};

/* Copies of a sample on the device. */
struct inflate_copies {
        const struct sample *sample;
        size_t n;
        struct kc_inflate inflate;
        uint8_t *bytes;
        struct kc_bgzf_block *blocks;
        unsigned long long *found; /* refused, and how many bytes of text differ between copies */
};

static enum kc_status take_memory(struct kc_gpu *gpu, struct inflate_copies *copies,
                                  struct kc_error *err)
{
        struct kc_inflate *inflate = &copies->inflate;
        enum kc_status status;
        inflate->nbytes = copies->n * copies->sample->packed.size();
        inflate->nblocks = copies->n * copies->sample->blocks.size();
        inflate->text_nbytes = copies->n * copies->sample->text.size();
        KC_TRY(kc_gpu_new(gpu, &copies->bytes, inflate->nbytes + KC_INFLATE_PADDING, err));
        KC_TRY(kc_gpu_new(gpu, &copies->blocks, inflate->nblocks, err));
        KC_TRY(kc_gpu_new(gpu, &inflate->text, inflate->text_nbytes + KC_INFLATE_PADDING, err));
        KC_TRY(kc_gpu_new(gpu, &inflate->status, inflate->nblocks, err));
        KC_TRY(kc_gpu_new(gpu, &copies->found, 2, err));
        inflate->bytes = copies->bytes;
        inflate->blocks = copies->blocks;
out:
        return status;
}

static void release(struct kc_gpu *gpu, struct inflate_copies *copies)
{
        const struct kc_inflate *inflate = &copies->inflate;
        kc_gpu_delete(gpu, copies->found, 2);
        kc_gpu_delete(gpu, inflate->status, inflate->nblocks);
        kc_gpu_delete(gpu, inflate->text, inflate->text_nbytes + KC_INFLATE_PADDING);
        kc_gpu_delete(gpu, copies->blocks, inflate->nblocks);
        kc_gpu_delete(gpu, copies->bytes, inflate->nbytes + KC_INFLATE_PADDING);
}

static enum kc_status upload(struct kc_gpu *gpu, const struct inflate_copies *copies,
                             struct kc_error *err)
{
        const std::vector<uint8_t> &packed = copies->sample->packed;
        const std::vector<struct kc_bgzf_block> blocks = sample_blocks(copies->sample, copies->n);
        enum kc_status status;
        KC_TRY(KC_CUDA(cudaMemcpyAsync(copies->bytes, packed.data(), packed.size(),
                                       cudaMemcpyHostToDevice, gpu->stream)));
        for (size_t copy = 1; copy < copies->n; copy++)
                KC_TRY(KC_CUDA(cudaMemcpyAsync(copies->bytes + copy * packed.size(), copies->bytes,
                                               packed.size(), cudaMemcpyDeviceToDevice,
                                               gpu->stream)));
        KC_TRY(KC_CUDA(cudaMemcpyAsync(copies->blocks, blocks.data(),
                                       blocks.size() * sizeof blocks[0], cudaMemcpyHostToDevice,
                                       gpu->stream)));
        KC_TRY(KC_CUDA(cudaStreamSynchronize(gpu->stream)));
out:
        return status;
}

/* Overwrite the text, so that an earlier run's is not taken for this run's. */
static enum kc_status spoil_text(struct bench *bench, void *ctx, struct kc_error *err)
{
        const struct kc_inflate *inflate = &((struct inflate_copies *)ctx)->inflate;
        return KC_CUDA(
                cudaMemsetAsync(inflate->text, 0x5e, inflate->text_nbytes, bench->gpu.stream));
}

static enum kc_status run_inflate(struct bench *bench, void *ctx, struct kc_error *err)
{
        struct inflate_copies *copies = (struct inflate_copies *)ctx;
        return kc_gpu_inflate({ &bench->gpu, bench->gpu.stream }, &copies->inflate, copies->found,
                              err);
}

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

static enum kc_status check(struct kc_gpu *gpu, const struct inflate_copies *copies,
                            struct kc_error *err)
{
        enum kc_status status;
        unsigned long long found[2];
        std::vector<uint8_t> text(copies->sample->text.size());
        KC_TRY(KC_CUDA(cudaMemsetAsync(copies->found + 1, 0, sizeof found[1], gpu->stream)));
        compare_copies_kernel<<<1024, 256, 0, gpu->stream>>>(copies->inflate.text, text.size(),
                                                             copies->n, copies->found + 1);
        KC_TRY(KC_LAUNCHED());
        KC_TRY(kc_gpu_read(gpu, text.data(), copies->inflate.text, text.size(), err));
        KC_TRY(kc_gpu_read(gpu, found, copies->found, 2, err));
        if (found[0] != 0 || found[1] != 0 || text != copies->sample->text)
                status = kc_fail(err, KC_EDEVICE,
                                 "wrong text: block %lld is refused, %llu bytes differ between "
                                 "copies, and the first copy is %s",
                                 found[0] == 0 ? -1LL
                                               : (long long)(copies->inflate.nblocks - found[0]),
                                 found[1], text == copies->sample->text ? "right" : "wrong");
out:
        return status;
}

static enum kc_status run_file(struct bench *bench, const struct inflate_settings *set,
                               const char *path, struct kc_error *err)
{
        enum kc_status status;
        struct sample sample;
        struct inflate_copies copies = {};
        const std::string file(path);
        const std::string base = file.substr(file.rfind('/') + 1), name = "inflate: " + base;
        struct stage stage = {};
        KC_TRY(sample_load(&sample, path, set->level, err));
        copies.sample = &sample;
        copies.n = std::max((size_t)1, set->nblocks / sample.blocks.size());
        KC_TRY(take_memory(&bench->gpu, &copies, err));
        KC_TRY(upload(&bench->gpu, &copies, err));
        stage = stage_of(name.c_str(), "B", 0, copies.inflate.text_nbytes);
        stage.nbytes = copies.inflate.nbytes + copies.inflate.text_nbytes;
        KC_TRY(stage_time(bench, &stage, spoil_text, run_inflate, &copies, err));
        KC_TRY(check(&bench->gpu, &copies, err));
        stage_print(bench, &stage);
        release(&bench->gpu, &copies);
        copies = {};
#ifdef BENCH_NVCOMP
        KC_TRY(bench_peer(bench, &sample, base.c_str(), set->nblocks, err));
#endif
        KC_TRY(bench_streams(bench, &sample, base.c_str(), set->round_nbytes, stage.n, err));
out:
        release(&bench->gpu, &copies);
        return status;
}

static void usage(const char *why)
{
        fprintf(stderr,
                "bench_gpu_inflate: %s\n"
                "usage: bench_gpu_inflate [-b BLOCKS] [-l LEVEL] [-n REPEAT] [-r MIBYTES] "
                "[-d DEVICE] [-J] FILE...\n",
                why);
        exit(2);
}

static struct inflate_settings parse_arguments(int argc, char **argv, struct bench *bench)
{
        struct inflate_settings set = { 62500, 256 << 20, 6, 0 };
        bench->repeat = 5;
        for (int c; (c = getopt(argc, argv, "b:l:n:r:d:J")) != -1;) {
                if (c == 'b')
                        set.nblocks = strtoull(optarg, NULL, 10);
                else if (c == 'l')
                        set.level = atoi(optarg);
                else if (c == 'n')
                        bench->repeat = atoi(optarg);
                else if (c == 'r')
                        set.round_nbytes = strtoull(optarg, NULL, 10) << 20;
                else if (c == 'd')
                        set.device = atoi(optarg);
                else if (c == 'J')
                        bench->may_jit = true;
                else
                        usage("no such option");
        }
        if (bench->repeat < 1 || bench->repeat > STAGE_MAX_REPEAT || optind == argc)
                usage("nothing to do");
        return set;
}

int main(int argc, char **argv)
{
        struct bench bench = {};
        struct kc_error err = {};
        const struct inflate_settings set = parse_arguments(argc, argv, &bench);
        bench_need_device(&bench, "bench_gpu_inflate", set.device);
        enum kc_status status = bench_open(&bench, set.device, {}, &err);
        for (int i = optind; i < argc && status == KC_OK; i++)
                status = run_file(&bench, &set, argv[i], &err);
        if (status != KC_OK)
                fprintf(stderr, "bench_gpu_inflate: %s\n", err.message);
        bench_close(&bench);
        return status == KC_OK ? 0 : 1;
}
