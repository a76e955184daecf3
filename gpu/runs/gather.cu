#include "gpu/runs/gather.cuh"

#include <algorithm>

namespace
{

/* A run of the receiver that is being filled with the sender's ranges. */
template <class Key> struct lsm_gathering {
        struct kc_gpu_lsm_on<Key> to, from;
        struct kc_gpu_link link;
        struct kc_gpu_run<Key> run;
        uint64_t left; /* upper bound on the pairs still to come */
};

} // namespace

template <class Key> static enum kc_status insert_run(lsm_gathering<Key> *g, struct kc_error *err)
{
        enum kc_status status;
        if (g->run.n == 0)
                return KC_OK;
        KC_TRY(KC_CUDA(cudaStreamSynchronize(g->to.gpu->stream)));
        KC_TRY(kc_gpu_lsm_insert(g->to.lsm, &g->run, err));
out:
        return status;
}

/* Begin a run with room for all pairs that are left, but at most an eighth of the device's
 * memory: the LSM can free that much. */
template <class Key> static enum kc_status begin_run(lsm_gathering<Key> *g, struct kc_error *err)
{
        enum kc_status status;
        const uint64_t most = g->to.gpu->bound_nbytes / 8 / kc_gpu_run_nbytes<Key>(1);
        KC_TRY(insert_run(g, err));
        KC_TRY(kc_gpu_run_new(g->to.gpu, &g->run, (size_t)std::min(g->left, most), err));
out:
        return status;
}

/* Append a range whose pairs are complete. Returns when its memory may be overwritten. */
template <class Key>
static enum kc_status append_range(lsm_gathering<Key> *g, const struct kc_gpu_run<Key> *range,
                                   struct kc_error *err)
{
        enum kc_status status = KC_OK;
        cudaStream_t stream = g->to.gpu->stream;
        struct kc_gpu_run<Key> *run = &g->run;
        for (size_t at = 0, n; at < range->n; at += n) {
                if (run->n == run->cap)
                        KC_TRY(begin_run(g, err));
                n = std::min(range->n - at, run->cap - run->n);
                KC_TRY(kc_gpu_link_copy(&g->link, run->kmers + run->n, range->kmers + at,
                                        n * sizeof(Key), stream, err));
                KC_TRY(kc_gpu_link_copy(&g->link, run->counts + run->n, range->counts + at,
                                        n * sizeof(uint32_t), stream, err));
                run->n += n;
                g->left -= n;
        }
        KC_TRY(KC_CUDA(cudaStreamSynchronize(stream)));
out:
        return status;
}

template <class Key>
static enum kc_status gather_ranges(lsm_gathering<Key> *g, struct kc_error *err)
{
        enum { RANGE_NPAIRS = 1 << 24 };
        enum kc_status status;
        struct kc_gpu_run<Key> range;
        do {
                KC_TRY(KC_CUDA(cudaSetDevice(g->from.gpu->device)));
                KC_TRY(kc_gpu_lsm_next(g->from.lsm, RANGE_NPAIRS, &range, err));
                KC_TRY(KC_CUDA(cudaStreamSynchronize(g->from.gpu->stream)));
                KC_TRY(KC_CUDA(cudaSetDevice(g->to.gpu->device)));
                KC_TRY(append_range(g, &range, err));
        } while (range.n > 0);
        KC_TRY(insert_run(g, err));
out:
        return status;
}

template <class Key>
enum kc_status kc_gpu_lsm_gather(const struct kc_gpu_lsm_on<Key> *to,
                                 const struct kc_gpu_lsm_on<Key> *from, uint64_t *nbytes,
                                 struct kc_error *err)
{
        enum kc_status status;
        lsm_gathering<Key> g = { *to, *from, {}, {}, kc_gpu_lsm_npairs(from->lsm) };
        KC_TRY(kc_gpu_link_open(&g.link, from->gpu, to->gpu, err));
        KC_TRY(gather_ranges(&g, err));
        *nbytes += g.link.nbytes;
out:
        kc_gpu_run_free(to->gpu, &g.run);
        kc_gpu_link_close(&g.link);
        return status;
}

#define INSTANTIATE(Key) \
        template enum kc_status kc_gpu_lsm_gather(const struct kc_gpu_lsm_on<Key> *, \
                                                  const struct kc_gpu_lsm_on<Key> *, uint64_t *, \
                                                  struct kc_error *);
KC_GPU_KEYS(INSTANTIATE)
