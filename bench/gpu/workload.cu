#include "bench/gpu/workload.cuh"

enum { THREADS = 256 };

__global__ static void reads_kernel(struct workload w, uint32_t words_per_read, uint64_t *words)
{
        uint64_t i = (uint64_t)blockIdx.x * THREADS + threadIdx.x;
        if (i < w.nreads)
                workload_read(&w, i, words + i * words_per_read);
}

__global__ static void spans_kernel(struct kc_span *spans, size_t nspans, uint32_t nkmers_per_read,
                                    uint32_t spans_per_read, uint32_t words_per_read)
{
        uint64_t i = (uint64_t)blockIdx.x * THREADS + threadIdx.x;
        if (i < nspans)
                spans[i] = workload_span(i, nkmers_per_read, spans_per_read, words_per_read);
}

enum kc_status workload_new(struct kc_gpu *gpu, const struct workload *w, int k,
                            struct kc_gpu_reads *reads, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        uint32_t words_per_read = (uint32_t)workload_words_per_read(w);
        uint32_t spans_per_read = workload_spans_per_read(w, k);
        uint64_t *words = NULL;
        struct kc_span *spans = NULL;
        *reads = {};
        reads->nwords = w->nreads * words_per_read;
        reads->nspans = w->nreads * spans_per_read;
        reads->nbases = w->nreads * w->length;
        reads->nkmers = workload_nkmers(w, k);
        if (reads->nwords > UINT32_MAX)
                KC_TRY(kc_fail(err, KC_EUSAGE, "too many reads"));
        KC_TRY(kc_gpu_new(gpu, &words, reads->nwords, err));
        reads->words = words;
        KC_TRY(kc_gpu_new(gpu, &spans, reads->nspans, err));
        reads->spans = spans;
        reads_kernel<<<kc_ceil_div(w->nreads, THREADS), THREADS, 0, gpu->stream>>>(
                *w, words_per_read, words);
        KC_TRY(KC_LAUNCHED());
        spans_kernel<<<kc_ceil_div(reads->nspans, THREADS), THREADS, 0, gpu->stream>>>(
                spans, reads->nspans, w->length - (uint32_t)k + 1, spans_per_read, words_per_read);
        KC_TRY(KC_LAUNCHED());
        KC_TRY(KC_CUDA(cudaStreamSynchronize(gpu->stream)));
out:
        if (status != KC_OK)
                workload_free(gpu, reads);
        return status;
}

void workload_free(struct kc_gpu *gpu, struct kc_gpu_reads *reads)
{
        kc_gpu_delete(gpu, (struct kc_span *)reads->spans, reads->nspans);
        kc_gpu_delete(gpu, (uint64_t *)reads->words, reads->nwords);
        *reads = {};
}

/* Reads of one chunk. */
static enum kc_status keep_some(struct kc_gpu_kept *kept, const struct workload *w, int k,
                                const struct kc_gpu_reads *reads, uint64_t first, uint64_t n,
                                struct kc_error *err)
{
        const uint32_t spans_per_read = workload_spans_per_read(w, k);
        struct kc_gpu_reads some = *reads;
        some.spans += first * spans_per_read;
        some.nspans = n * spans_per_read;
        some.nbases = n * w->length;
        some.nkmers = n * (w->length - (uint32_t)k + 1);
        return kc_gpu_kept_put(kept, &some, err);
}

template <class Key>
enum kc_status workload_keep(struct kc_gpu *gpu, const struct workload *w, int k,
                             const struct kc_gpu_reads *reads, uint64_t first, uint64_t n,
                             struct kc_gpu_kept **kept, struct kc_error *err)
{
        enum kc_status status;
        const uint64_t per_chunk = KC_CHUNK_NBASES / w->length, end = first + n;
        const int m = kc_gpu_minimizer_length(k, reads->nbases);
        struct kc_gpu_kept_setup setup = {};
        setup.superkmers = kc_superkmer_setup_for<Key>(k, m);
        setup.max_nbases = KC_CHUNK_NBASES;
        setup.max_nspans = per_chunk * workload_spans_per_read(w, k);
        setup.device_nbytes = SIZE_MAX;
        setup.tmp_dir = "/tmp";
        KC_TRY(kc_gpu_kept_new(kept, gpu, &setup, err));
        for (; first < end; first += per_chunk)
                KC_TRY(keep_some(*kept, w, k, reads, first,
                                 end - first < per_chunk ? end - first : per_chunk, err));
        kc_gpu_kept_end(*kept);
        kc_gpu_kept_settle(*kept);
out:
        return status;
}

#define INSTANTIATE(Key) \
        template enum kc_status workload_keep<Key>( \
                struct kc_gpu *, const struct workload *, int, const struct kc_gpu_reads *, \
                uint64_t, uint64_t, struct kc_gpu_kept **, struct kc_error *);
KC_GPU_KEYS(INSTANTIATE)
