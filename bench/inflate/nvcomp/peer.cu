#include "bench/inflate/peer.cuh"

#include <algorithm>
#include <cstring>
#include <nvcomp/deflate.h>
#include <string>
#include <vector>

namespace
{

/* Copies of a sample as nvCOMP wants them: every block is a chunk, at an aligned place. */
struct chunks {
        size_t n; /* chunks of all copies */
        size_t in_nbytes, out_nbytes, text_nbytes;
        std::vector<uint8_t> in;                                /* one copy of the deflate data */
        std::vector<size_t> in_at, out_at, in_sizes, out_sizes; /* [n] */
        /* on the device */
        uint8_t *bytes, *text;
        const void **in_chunks;         /* [n] */
        void **out_chunks;              /* [n] */
        size_t *sizes, *room, *written; /* [n] */
        nvcompStatus_t *status;         /* [n] */
        void *temporary;
        size_t temporary_nbytes;
};

} // namespace

static enum kc_status check_nvcomp(nvcompStatus_t code, const char *what, struct kc_error *err)
{
        return code == nvcompSuccess
                       ? KC_OK
                       : kc_fail(err, KC_EDEVICE, "nvCOMP: %s failed: error %d", what, (int)code);
}

static size_t aligned(size_t nbytes, size_t alignment)
{
        return (nbytes + alignment - 1) / alignment * alignment;
}

/* Give each block of every copy its places. */
static void lay_out(struct chunks *c, const struct sample *sample, size_t ncopies,
                    const nvcompAlignmentRequirements_t *alignment)
{
        size_t copy_nbytes = 0;
        for (const struct kc_bgzf_block &block : sample->blocks) {
                c->in.resize(copy_nbytes + aligned(block.nbytes, alignment->input));
                memcpy(c->in.data() + copy_nbytes, sample->packed.data() + block.at, block.nbytes);
                copy_nbytes = c->in.size();
        }
        for (size_t copy = 0; copy < ncopies; copy++)
                for (const struct kc_bgzf_block &block : sample->blocks) {
                        c->in_at.push_back(c->in_nbytes);
                        c->out_at.push_back(c->out_nbytes);
                        c->in_sizes.push_back(block.nbytes);
                        c->out_sizes.push_back(block.text_nbytes);
                        c->in_nbytes += aligned(block.nbytes, alignment->input);
                        c->out_nbytes += aligned(block.text_nbytes, alignment->output);
                        c->text_nbytes += block.text_nbytes;
                }
        c->n = c->in_at.size();
}

static enum kc_status take_memory(struct kc_gpu *gpu, struct chunks *c, struct kc_error *err)
{
        enum kc_status status;
        const size_t largest = *std::max_element(c->out_sizes.begin(), c->out_sizes.end());
        KC_TRY(check_nvcomp(nvcompBatchedDeflateDecompressGetTempSize(
                                    c->n, largest, nvcompBatchedDeflateDecompressDefaultOpts,
                                    &c->temporary_nbytes, c->text_nbytes, gpu->stream),
                            "asking for the size of its memory", err));
        KC_TRY(kc_gpu_new(gpu, &c->bytes, c->in_nbytes, err));
        KC_TRY(kc_gpu_new(gpu, &c->text, c->out_nbytes, err));
        KC_TRY(kc_gpu_new(gpu, &c->in_chunks, c->n, err));
        KC_TRY(kc_gpu_new(gpu, &c->out_chunks, c->n, err));
        KC_TRY(kc_gpu_new(gpu, &c->sizes, c->n, err));
        KC_TRY(kc_gpu_new(gpu, &c->room, c->n, err));
        KC_TRY(kc_gpu_new(gpu, &c->written, c->n, err));
        KC_TRY(kc_gpu_new(gpu, &c->status, c->n, err));
        KC_TRY(kc_gpu_new(gpu, (uint8_t **)&c->temporary, c->temporary_nbytes, err));
out:
        return status;
}

static void release(struct kc_gpu *gpu, struct chunks *c)
{
        kc_gpu_delete(gpu, (uint8_t *)c->temporary, c->temporary_nbytes);
        kc_gpu_delete(gpu, c->status, c->n);
        kc_gpu_delete(gpu, c->written, c->n);
        kc_gpu_delete(gpu, c->room, c->n);
        kc_gpu_delete(gpu, c->sizes, c->n);
        kc_gpu_delete(gpu, c->out_chunks, c->n);
        kc_gpu_delete(gpu, c->in_chunks, c->n);
        kc_gpu_delete(gpu, c->text, c->out_nbytes);
        kc_gpu_delete(gpu, c->bytes, c->in_nbytes);
}

template <class T>
static enum kc_status copy_up(struct kc_gpu *gpu, T *to, const std::vector<T> &from,
                              struct kc_error *err)
{
        return KC_CUDA(cudaMemcpyAsync(to, from.data(), from.size() * sizeof(T),
                                       cudaMemcpyHostToDevice, gpu->stream));
}

static enum kc_status upload(struct kc_gpu *gpu, const struct chunks *c, struct kc_error *err)
{
        enum kc_status status;
        std::vector<const void *> in_chunks;
        std::vector<void *> out_chunks;
        for (size_t i = 0; i < c->n; i++) {
                in_chunks.push_back(c->bytes + c->in_at[i]);
                out_chunks.push_back(c->text + c->out_at[i]);
        }
        for (size_t at = 0; at < c->in_nbytes; at += c->in.size())
                KC_TRY(copy_up(gpu, c->bytes + at, c->in, err));
        KC_TRY(copy_up(gpu, c->in_chunks, in_chunks, err));
        KC_TRY(copy_up(gpu, c->out_chunks, out_chunks, err));
        KC_TRY(copy_up(gpu, c->sizes, c->in_sizes, err));
        KC_TRY(copy_up(gpu, c->room, c->out_sizes, err));
        KC_TRY(KC_CUDA(cudaStreamSynchronize(gpu->stream)));
out:
        return status;
}

/* Overwrite the text, so that an earlier run's is not taken for this run's. */
static enum kc_status spoil_text(struct bench *bench, void *ctx, struct kc_error *err)
{
        const struct chunks *c = (struct chunks *)ctx;
        return KC_CUDA(cudaMemsetAsync(c->text, 0x5e, c->out_nbytes, bench->gpu.stream));
}

static enum kc_status run_nvcomp(struct bench *bench, void *ctx, struct kc_error *err)
{
        const struct chunks *c = (struct chunks *)ctx;
        return check_nvcomp(nvcompBatchedDeflateDecompressAsync(
                                    c->in_chunks, c->sizes, c->room, c->written, c->n, c->temporary,
                                    c->temporary_nbytes, c->out_chunks,
                                    nvcompBatchedDeflateDecompressDefaultOpts, c->status,
                                    bench->gpu.stream),
                            "inflating", err);
}

/* The first and the last copy of the text. */
static enum kc_status check(struct kc_gpu *gpu, const struct chunks *c, const struct sample *sample,
                            struct kc_error *err)
{
        enum kc_status status = KC_OK;
        const size_t nblocks = sample->blocks.size();
        for (const size_t first : { (size_t)0, c->n - nblocks })
                for (size_t i = 0; i < nblocks; i++) {
                        const struct kc_bgzf_block &block = sample->blocks[i];
                        std::vector<uint8_t> text(block.text_nbytes);
                        KC_TRY(kc_gpu_read(gpu, text.data(), c->text + c->out_at[first + i],
                                           text.size(), err));
                        if (memcmp(text.data(), sample->text.data() + block.text_at, text.size()) !=
                            0)
                                return kc_fail(err, KC_EDEVICE, "nvCOMP: block %zu has wrong text",
                                               first + i);
                }
out:
        return status;
}

enum kc_status bench_peer(struct bench *bench, const struct sample *sample, const char *file,
                          size_t nblocks, struct kc_error *err)
{
        enum kc_status status;
        struct chunks c = {};
        nvcompAlignmentRequirements_t alignment;
        const std::string name = std::string("nvcomp: ") + file;
        struct stage stage = {};
        KC_TRY(check_nvcomp(nvcompBatchedDeflateDecompressGetRequiredAlignments(
                                    nvcompBatchedDeflateDecompressDefaultOpts, &alignment),
                            "asking for alignments", err));
        lay_out(&c, sample, std::max((size_t)1, nblocks / sample->blocks.size()), &alignment);
        KC_TRY(take_memory(&bench->gpu, &c, err));
        KC_TRY(upload(&bench->gpu, &c, err));
        stage = stage_of(name.c_str(), "B", 0, c.text_nbytes);
        stage.nbytes = c.in_nbytes + c.text_nbytes;
        KC_TRY(stage_time(bench, &stage, spoil_text, run_nvcomp, &c, err));
        KC_TRY(check(&bench->gpu, &c, sample, err));
        stage_print(bench, &stage);
out:
        release(&bench->gpu, &c);
        return status;
}
