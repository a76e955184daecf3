/*
 * From tasks to runs. Tasks are counted in waves, each as large as there is room for its pairs; the
 * pairs of one or more waves are ordered into a run.
 */
#include "gpu/count/count_internal.cuh"
#include "gpu/order/order.cuh"

/* Find the next wave: the tasks from `first` on, as many as have at most `room` k-mers together. */
static __global__ void count_wave_kernel(const uint64_t *bounds, uint32_t first, uint32_t ntasks,
                                         uint64_t room, struct task_wave *wave)
{
        uint64_t limit = (first == 0 ? 0 : bounds[first - 1]) + room;
        uint32_t low = first, high = ntasks;
        while (low < high) {
                uint32_t middle = low + (high - low) / 2;
                if (bounds[middle] <= limit)
                        low = middle + 1;
                else
                        high = middle;
        }
        *wave = { bounds[ntasks - 1], low };
}

namespace
{

template <class Key> struct pair_buffers {
        Key *kmers, *kmers_tmp;
        uint32_t *counts, *counts_tmp;
};

} // namespace

template <class Key> static pair_buffers<Key> get_pairs(const kc_gpu_counter<Key> *c)
{
        return { c->kmers, c->kmers + c->caps.npairs, c->counts, c->counts + c->caps.npairs };
}

/* Count tasks from *first on, as many as are certain to have room for their pairs. */
template <class Key>
static enum kc_status count_wave(kc_gpu_counter<Key> *c, uint32_t *first, struct kc_error *err)
{
        enum kc_status status;
        cudaStream_t stream = c->gpu->stream;
        const pair_buffers<Key> pairs = get_pairs(c);
        const kc_pairs_out<Key> out = { pairs.kmers,     pairs.counts, c->npairs,
                                        c->setup.filter, c->cells,     c->rows };
        const struct kc_tasks_in in = { c->setup.superkmers.k,
                                        c->setup.stranded,
                                        c->setup.superkmers.form,
                                        c->chunks.table,
                                        c->chunks.n,
                                        c->records,
                                        c->tasks };
        count_wave_kernel<<<1, 1, 0, stream>>>(c->bounds, *first, c->readback->ntasks,
                                               c->caps.npairs - c->readback->npairs, c->wave);
        KC_TRY(KC_LAUNCHED());
        KC_TRY(KC_CUDA(cudaMemcpyAsync(&c->readback->wave, c->wave, sizeof *c->wave,
                                       cudaMemcpyDeviceToHost, stream)));
        KC_TRY(KC_CUDA(cudaStreamSynchronize(stream)));
        KC_TRY(kc_counter_begin_time(c, err));
        KC_TRY(kc_count_tasks<Key>(c->gpu, c->setup.table, &c->table, &in, *first,
                                   c->readback->wave.end, &out, err));
        KC_TRY(KC_CUDA(cudaMemcpyAsync(&c->readback->npairs, c->npairs, sizeof(uint64_t),
                                       cudaMemcpyDeviceToHost, stream)));
        KC_TRY(kc_counter_end_time(c, COUNT, err));
        *first = c->readback->wave.end;
out:
        return status;
}

/* Order the pairs so far into a run, and hand it to the taker. */
template <class Key> static enum kc_status give_run(kc_gpu_counter<Key> *c, struct kc_error *err)
{
        enum kc_status status;
        kc_gpu_run<Key> run = {};
        pair_buffers<Key> p = get_pairs(c);
        KC_TRY(kc_counter_begin_time(c, err));
        KC_TRY(kc_gpu_order<Key>(c->gpu, c->setup.superkmers.k, p.kmers, p.counts, p.kmers_tmp,
                                 p.counts_tmp, c->readback->npairs, &run, &c->counted->nsaturated,
                                 err));
        KC_TRY(kc_counter_end_time(c, ORDER, err));
        KC_TRY(c->taker->take(c->taker->ctx, &run, err));
        c->readback->npairs = 0;
        KC_TRY(KC_CUDA(cudaMemsetAsync(c->npairs, 0, sizeof(uint64_t), c->gpu->stream)));
out:
        return status;
}

/* Whether there is room enough for another wave to be worthwhile. */
template <class Key> static bool has_room(const kc_gpu_counter<Key> *c)
{
        return c->caps.npairs - c->readback->npairs >= c->caps.npairs / 8;
}

template <class Key>
enum kc_status kc_counter_count_tasks(kc_gpu_counter<Key> *c, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        uint32_t first = 0;
        c->readback->npairs = 0;
        KC_TRY(KC_CUDA(cudaMemsetAsync(c->npairs, 0, sizeof(uint64_t), c->gpu->stream)));
        while (first < c->readback->ntasks) {
                uint32_t before = first;
                KC_TRY(count_wave(c, &first, err));
                if (first == c->readback->ntasks || first == before || !has_room(c))
                        KC_TRY(give_run(c, err));
        }
        if (c->readback->ntasks > 0)
                c->counted->nkmers += c->readback->wave.nkmers;
out:
        return status;
}

#define INSTANTIATE(Key) \
        template enum kc_status kc_counter_count_tasks<Key>(kc_gpu_counter<Key> *, \
                                                            struct kc_error *);
KC_GPU_KEYS(INSTANTIATE)
