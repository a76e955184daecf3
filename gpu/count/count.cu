/*
 * Runs batches through the stages find, split, count and order, and measures the time of each.
 */
#include "gpu/count/count_internal.cuh"

/* ---- time ---- */

template <class Key>
enum kc_status kc_counter_begin_time(kc_gpu_counter<Key> *c, struct kc_error *err)
{
        return KC_CUDA(cudaEventRecord(c->events[0], c->gpu->stream));
}

/* Waits for the stream. */
template <class Key>
enum kc_status kc_counter_end_time(kc_gpu_counter<Key> *c, enum count_stage stage,
                                   struct kc_error *err)
{
        enum kc_status status;
        float ms;
        KC_TRY(KC_CUDA(cudaEventRecord(c->events[1], c->gpu->stream)));
        KC_TRY(KC_CUDA(cudaEventSynchronize(c->events[1])));
        KC_TRY(KC_CUDA(cudaEventElapsedTime(&ms, c->events[0], c->events[1])));
        c->ms[stage] += ms;
out:
        return status;
}

template <class Key>
struct kc_gpu_counter_times kc_gpu_counter_get_times(const struct kc_gpu_counter<Key> *c)
{
        return { c->ms[FIND], c->ms[SPLIT], c->ms[COUNT], c->ms[ORDER] };
}

/* ---- a batch ---- */

template <class Key>
static enum kc_status find(kc_gpu_counter<Key> *c, const kc_superkmer_setup *setup,
                           const kc_gpu_reads *reads, size_t first, size_t nspans,
                           struct kc_error *err)
{
        enum kc_status status;
        uint64_t *n = &c->cursors[0];
        KC_TRY(kc_counter_begin_time(c, err));
        KC_TRY(kc_superkmer_find(c->gpu, setup, reads, first, nspans, c->found, c->records_cap, n,
                                 err));
        KC_TRY(KC_CUDA(cudaMemcpyAsync(&c->readback->nrecords, n, sizeof *n, cudaMemcpyDeviceToHost,
                                       c->gpu->stream)));
        KC_TRY(kc_counter_end_time(c, FIND, err));
out:
        return status;
}

/* If the spans have more records than planned for, count them in two halves. A single span always
 * fits. */
template <class Key>
static enum kc_status count_spans(kc_gpu_counter<Key> *c, const kc_superkmer_setup *setup,
                                  const kc_gpu_reads *reads, size_t first, size_t nspans,
                                  const struct kc_gpu_run_taker<Key> *taker, uint64_t *nsaturated,
                                  struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(find(c, setup, reads, first, nspans, err));
        if (c->readback->nrecords > c->records_cap) {
                size_t half = nspans / 2;
                KC_TRY(count_spans(c, setup, reads, first, half, taker, nsaturated, err));
                KC_TRY(count_spans(c, setup, reads, first + half, nspans - half, taker, nsaturated,
                                   err));
                return KC_OK;
        }
        KC_TRY(kc_counter_split(c, setup, err));
        KC_TRY(kc_counter_count_tasks(c, reads, taker, nsaturated, err));
out:
        return status;
}

template <class Key>
enum kc_status kc_gpu_counter_count(struct kc_gpu_counter<Key> *c, const struct kc_gpu_reads *reads,
                                    const struct kc_gpu_run_taker<Key> *taker, uint64_t *nsaturated,
                                    struct kc_error *err)
{
        if (reads->nkmers > c->max_nkmers)
                return kc_fail(err, KC_EUSAGE,
                               "a batch of %llu k-mers is more than was planned for",
                               (unsigned long long)reads->nkmers);
        if (reads->nspans == 0)
                return KC_OK;
        kc_superkmer_setup setup = kc_superkmer_setup_for(
                c->k, kc_counter_bin_bits<Key>(reads->nkmers), kc_stretch<Key>::MAX_NBASES);
        return count_spans(c, &setup, reads, 0, reads->nspans, taker, nsaturated, err);
}

#define INSTANTIATE(Key) \
        template enum kc_status kc_counter_begin_time<Key>(kc_gpu_counter<Key> *, \
                                                           struct kc_error *); \
        template enum kc_status kc_counter_end_time<Key>(kc_gpu_counter<Key> *, enum count_stage, \
                                                         struct kc_error *); \
        template enum kc_status kc_gpu_counter_count<Key>( \
                struct kc_gpu_counter<Key> *, const struct kc_gpu_reads *, \
                const struct kc_gpu_run_taker<Key> *, uint64_t *, struct kc_error *); \
        template struct kc_gpu_counter_times kc_gpu_counter_get_times<Key>( \
                const struct kc_gpu_counter<Key> *);
KC_GPU_KEYS(INSTANTIATE)
