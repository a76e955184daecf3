/*
 * From tasks to runs. Tasks are counted in waves, each as large as there is room for its pairs; the
 * pairs of one or more waves are ordered into a run. The tasks that no table could hold come last.
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

template <class Key> struct kc_tasks_in kc_counter_tasks(const kc_gpu_counter<Key> *c)
{
        return { c->setup.superkmers.k,
                 c->setup.stranded,
                 c->setup.superkmers.form,
                 c->chunks.table,
                 c->chunks.n,
                 c->records,
                 c->tasks,
                 c->bounds };
}

template <class Key> kc_pairs_out<Key> kc_counter_pairs(const kc_gpu_counter<Key> *c)
{
        return { c->kmers, c->counts, c->npairs, c->setup.filter, c->cells, c->rows };
}

/* Count tasks from *first on, as many as are certain to have room for their pairs. */
template <class Key>
static enum kc_status count_wave(kc_gpu_counter<Key> *c, uint32_t *first, struct kc_error *err)
{
        enum kc_status status;
        cudaStream_t stream = c->gpu->stream;
        const kc_pairs_out<Key> out = kc_counter_pairs(c);
        const struct kc_tasks_in in = kc_counter_tasks(c);
        count_wave_kernel<<<1, 1, 0, stream>>>(c->bounds, *first, c->readback->ntasks,
                                               c->caps.npairs - c->readback->npairs, c->wave);
        KC_TRY(KC_LAUNCHED());
        KC_TRY(KC_CUDA(cudaMemcpyAsync(&c->readback->wave, c->wave, sizeof *c->wave,
                                       cudaMemcpyDeviceToHost, stream)));
        KC_TRY(KC_CUDA(cudaStreamSynchronize(stream)));
        KC_TRY(kc_counter_begin_time(c, err));
        KC_TRY(kc_count_tasks<Key>(c->gpu, c->setup.table, &c->table, &in, *first,
                                   c->readback->wave.end, &out, &c->again, err));
        KC_TRY(KC_CUDA(cudaMemcpyAsync(&c->readback->npairs, c->npairs, sizeof(uint64_t),
                                       cudaMemcpyDeviceToHost, stream)));
        KC_TRY(KC_CUDA(cudaMemcpyAsync(&c->readback->again, c->again.totals,
                                       sizeof c->readback->again, cudaMemcpyDeviceToHost, stream)));
        KC_TRY(kc_counter_end_time(c, COUNT, err));
        *first = c->readback->wave.end;
out:
        return status;
}

template <class Key>
enum kc_status kc_counter_forget_pairs(kc_gpu_counter<Key> *c, struct kc_error *err)
{
        c->readback->npairs = 0;
        return KC_CUDA(cudaMemsetAsync(c->npairs, 0, sizeof *c->npairs, c->gpu->stream));
}

template <class Key>
enum kc_status kc_counter_give_run(kc_gpu_counter<Key> *c, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        kc_gpu_run<Key> run = {};
        const uint64_t npairs = c->caps.npairs;
        if (c->readback->npairs == 0)
                return KC_OK;
        KC_TRY(kc_counter_begin_time(c, err));
        KC_TRY(kc_gpu_order<Key>(c->gpu, c->setup.superkmers.k, c->kmers, c->counts,
                                 c->kmers + npairs, c->counts + npairs, c->readback->npairs, npairs,
                                 &run, err));
        KC_TRY(kc_counter_end_time(c, ORDER, err));
        KC_TRY(c->taker->take(c->taker->ctx, &run, err));
        KC_TRY(kc_counter_forget_pairs(c, err));
out:
        return status;
}

/* Whether there is room enough for another wave to be worthwhile. */
template <class Key> static bool has_room(const kc_gpu_counter<Key> *c)
{
        return c->caps.npairs - c->readback->npairs >= c->caps.npairs / 8;
}

/* Count the tasks that no table could hold. */
template <class Key> static enum kc_status count_again(kc_gpu_counter<Key> *c, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        const struct kc_recount_totals again = c->readback->again;
        if (again.ntasks == 0)
                return KC_OK;
        KC_TRY(kc_counter_recount(
                c, again.nkmers,
                [&] { return kc_counter_add_sums(c, c->again.tasks, again.ntasks, err); }, err));
        c->counted->nrecounted += again.nkmers;
out:
        return status;
}

template <class Key>
enum kc_status kc_counter_count_tasks(kc_gpu_counter<Key> *c, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        uint32_t first = 0;
        if (c->readback->ntasks == 0)
                return KC_OK;
        KC_TRY(KC_CUDA(
                cudaMemsetAsync(c->again.totals, 0, sizeof *c->again.totals, c->gpu->stream)));
        while (first < c->readback->ntasks) {
                uint32_t before = first;
                KC_TRY(count_wave(c, &first, err));
                if (first < c->readback->ntasks && (first == before || !has_room(c)))
                        KC_TRY(kc_counter_give_run(c, err));
        }
        KC_TRY(count_again(c, err));
        KC_TRY(kc_counter_give_run(c, err));
        c->counted->nkmers += c->readback->wave.nkmers;
out:
        return status;
}

#define INSTANTIATE(Key) \
        template struct kc_tasks_in kc_counter_tasks<Key>(const kc_gpu_counter<Key> *); \
        template kc_pairs_out<Key> kc_counter_pairs<Key>(const kc_gpu_counter<Key> *); \
        template enum kc_status kc_counter_forget_pairs<Key>(kc_gpu_counter<Key> *, \
                                                             struct kc_error *); \
        template enum kc_status kc_counter_give_run<Key>(kc_gpu_counter<Key> *, \
                                                         struct kc_error *); \
        template enum kc_status kc_counter_count_tasks<Key>(kc_gpu_counter<Key> *, \
                                                            struct kc_error *);
KC_GPU_KEYS(INSTANTIATE)
