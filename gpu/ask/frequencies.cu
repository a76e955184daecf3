#include "gpu/ask/frequencies.cuh"

#include <algorithm>

enum {
        THREADS = 256,
        BLOCKS_EACH = 4,  /* for each multiprocessor */
        MOST_PROBES = 16, /* after these, the table has no room for a count */
        PIECE = 4096,     /* copied to the host at a time */
};

enum kc_status kc_ask_frequencies_open(struct kc_ask_frequencies *f, struct kc_gpu *gpu,
                                       size_t nslots, struct kc_error *err)
{
        enum kc_status status;
        *f = {};
        f->gpu = gpu;
        f->nslots = nslots;
        KC_TRY(kc_gpu_new(gpu, &f->small, KC_ASK_NSMALL, err));
        KC_TRY(kc_gpu_new(gpu, &f->large, nslots, err));
        KC_TRY(kc_gpu_new(gpu, &f->nlarge, nslots, err));
        KC_TRY(kc_gpu_new(gpu, &f->nrest, 1, err));
        KC_TRY(kc_ask_frequencies_clear(f, err));
out:
        return status;
}

void kc_ask_frequencies_close(struct kc_ask_frequencies *f)
{
        kc_gpu_delete(f->gpu, f->small, KC_ASK_NSMALL);
        kc_gpu_delete(f->gpu, f->large, f->nslots);
        kc_gpu_delete(f->gpu, f->nlarge, f->nslots);
        kc_gpu_delete(f->gpu, f->nrest, 1);
        *f = {};
}

enum kc_status kc_ask_frequencies_clear(struct kc_ask_frequencies *f, struct kc_error *err)
{
        enum kc_status status;
        cudaStream_t stream = f->gpu->stream;
        KC_TRY(KC_CUDA(cudaMemsetAsync(f->small, 0, KC_ASK_NSMALL * sizeof *f->small, stream)));
        KC_TRY(KC_CUDA(cudaMemsetAsync(f->large, 0, f->nslots * sizeof *f->large, stream)));
        KC_TRY(KC_CUDA(cudaMemsetAsync(f->nlarge, 0, f->nslots * sizeof *f->nlarge, stream)));
        f->ntaken = 0;
out:
        return status;
}

/* ---- on the device ---- */

/* Add repeats of a large count to its slot. False: it has none, and all that it may have are
 * taken. */
static __device__ bool add_large(const struct kc_ask_frequencies &f, struct kc_ask_repeats repeats)
{
        uint32_t slot = repeats.count * UINT32_C(0x9e3779b1) >> 7;
        for (int i = 0; i < MOST_PROBES; i++, slot++) {
                slot &= (uint32_t)f.nslots - 1;
                const uint32_t had = atomicCAS(&f.large[slot], 0, repeats.count);
                if (had == 0 || had == repeats.count) {
                        atomicAdd(&f.nlarge[slot], (unsigned long long)repeats.n);
                        return true;
                }
        }
        return false;
}

/* Add what a thread has seen. */
static __device__ void add_repeats(const struct kc_ask_frequencies &f, uint32_t *small,
                                   struct kc_ask_repeats repeats, struct kc_ask_repeats *rest)
{
        if (repeats.n == 0)
                return;
        if (repeats.count < KC_ASK_NSMALL)
                atomicAdd(&small[repeats.count], repeats.n);
        else if (!add_large(f, repeats))
                rest[atomicAdd(f.nrest, 1ULL)] = repeats;
}

/*
 * Neighbouring threads take neighbouring counts. In reads of another genome most counts are 0, and
 * in repeats many are equal: a thread adds up both kinds by itself, so that the threads do not all
 * change the same counter at once.
 */
static __global__ void add_kernel(struct kc_ask_frequencies f, const uint32_t *counts, size_t n,
                                  struct kc_ask_repeats *rest)
{
        __shared__ uint32_t small[KC_ASK_NSMALL];
        struct kc_ask_repeats absent = {}, last = {};
        for (uint32_t i = threadIdx.x; i < KC_ASK_NSMALL; i += THREADS)
                small[i] = 0;
        __syncthreads();
        for (size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x; i < n;
             i += (size_t)gridDim.x * THREADS) {
                const uint32_t count = counts[i];
                struct kc_ask_repeats *own = count == 0 ? &absent : &last;
                if (own->count != count) {
                        add_repeats(f, small, *own, rest);
                        *own = { count, 0 };
                }
                own->n++;
        }
        add_repeats(f, small, absent, rest);
        add_repeats(f, small, last, rest);
        __syncthreads();
        for (uint32_t i = threadIdx.x; i < KC_ASK_NSMALL; i += THREADS)
                if (small[i] != 0)
                        atomicAdd(&f.small[i], (unsigned long long)small[i]);
}

/* ---- to the host ---- */

static enum kc_status put(struct kc_ask_frequencies *f, const struct kc_ask_tally *tally,
                          uint32_t count, uint64_t n, struct kc_error *err)
{
        f->ntaken += n;
        return n == 0 ? KC_OK : tally->put(tally->ctx, count, n, err);
}

static enum kc_status put_rest(struct kc_ask_frequencies *f, const struct kc_ask_repeats *rest,
                               const struct kc_ask_tally *tally, struct kc_error *err)
{
        enum kc_status status;
        struct kc_ask_repeats piece[PIECE];
        unsigned long long nrest;
        KC_TRY(kc_gpu_read(f->gpu, &nrest, f->nrest, 1, err));
        for (size_t i = 0; i < nrest; i += PIECE) {
                const size_t n = std::min((size_t)nrest - i, (size_t)PIECE);
                KC_TRY(kc_gpu_read(f->gpu, piece, rest + i, n, err));
                for (size_t j = 0; j < n; j++)
                        KC_TRY(put(f, tally, piece[j].count, piece[j].n, err));
        }
out:
        return status;
}

enum kc_status kc_ask_frequencies_add(struct kc_ask_frequencies *f, const uint32_t *counts,
                                      size_t n, struct kc_ask_repeats *rest,
                                      const struct kc_ask_tally *tally, struct kc_error *err)
{
        enum kc_status status;
        cudaStream_t stream = f->gpu->stream;
        const unsigned most = (unsigned)f->gpu->nmultiprocessors * BLOCKS_EACH;
        if (n == 0)
                return KC_OK;
        KC_TRY(KC_CUDA(cudaMemsetAsync(f->nrest, 0, sizeof *f->nrest, stream)));
        add_kernel<<<std::min(kc_ceil_div(n, THREADS), most), THREADS, 0, stream>>>(*f, counts, n,
                                                                                    rest);
        KC_TRY(KC_LAUNCHED());
        KC_TRY(put_rest(f, rest, tally, err));
out:
        return status;
}

static enum kc_status put_small(struct kc_ask_frequencies *f, const struct kc_ask_tally *tally,
                                struct kc_error *err)
{
        enum kc_status status;
        unsigned long long small[KC_ASK_NSMALL];
        KC_TRY(kc_gpu_read(f->gpu, small, f->small, KC_ASK_NSMALL, err));
        for (uint32_t count = 0; count < KC_ASK_NSMALL; count++)
                KC_TRY(put(f, tally, count, small[count], err));
out:
        return status;
}

static enum kc_status put_large(struct kc_ask_frequencies *f, const struct kc_ask_tally *tally,
                                struct kc_error *err)
{
        enum kc_status status = KC_OK;
        uint32_t large[PIECE];
        unsigned long long nlarge[PIECE];
        for (size_t i = 0; i < f->nslots; i += PIECE) {
                const size_t n = std::min(f->nslots - i, (size_t)PIECE);
                KC_TRY(kc_gpu_read(f->gpu, large, f->large + i, n, err));
                KC_TRY(kc_gpu_read(f->gpu, nlarge, f->nlarge + i, n, err));
                for (size_t j = 0; j < n; j++)
                        KC_TRY(put(f, tally, large[j], nlarge[j], err));
        }
out:
        return status;
}

enum kc_status kc_ask_frequencies_end(struct kc_ask_frequencies *f,
                                      const struct kc_ask_tally *tally, struct kc_error *err)
{
        const enum kc_status status = put_small(f, tally, err);
        return status == KC_OK ? put_large(f, tally, err) : status;
}
