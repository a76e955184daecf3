#include "bench/gpu/stages.cuh"

#include "base/parallel.h"
#include "gpu/engine/devices/exchange.cuh"
#include "gpu/engine/plan.cuh"

#include <algorithm>
#include <cstdio>

namespace
{

/* A device that counts one share. */
template <class Key> struct sharer {
        struct kc_gpu *gpu, other; /* gpu: the first device, or other */
        struct kc_gpu_share share;
        struct kc_gpu_kept *kept;
        struct kc_gpu_link link; /* from the first device */
        struct kc_gpu_counter<Key> *counter;
        struct kc_gpu_counter_caps caps;
        struct kc_gpu_lsm<Key> *lsm;
        struct kc_gpu_counted counted;
};

template <class Key> struct sharing {
        struct bench *bench;
        struct kc_superkmer_setup superkmers;
        struct kc_gpu_kept *kept; /* on the first device */
        struct kc_load loads[KC_NLOADS];
        struct sharer<Key> sharers[KC_GPU_MAX_DEVICES]; /* [n] */
        int n;
        bool merges;
        struct kc_gate gate;
        struct kc_gpu_exchange<Key> exchange; /* of one merge */
};

} // namespace

/* ---- memory ---- */

template <class Key> static enum kc_status use(const sharer<Key> *s, struct kc_error *err)
{
        return KC_CUDA(cudaSetDevice(s->gpu->device));
}

/* A counter for the share, in the room that reads and runs leave. */
template <class Key>
static enum kc_status make_counter(const sharing<Key> *all, sharer<Key> *s, struct kc_error *err)
{
        enum kc_status status;
        const size_t reads = kc_gpu_kept_where(all->kept).device_nbytes;
        const size_t left = kc_gpu_room(s->gpu) - (s->gpu == &s->other ? reads : 0);
        const struct kc_run_filter filter = { 1, UINT32_MAX };
        const struct kc_gpu_counter_setup setup = { all->superkmers, false, KC_TABLE_WARPDRIVE,
                                                    filter };
        struct kc_gpu_plan_input input = {};
        input.superkmers = &all->superkmers;
        input.top_nkmers = UINT64_MAX;
        for (size_t i = s->share.first; i < s->share.end; i++) {
                input.total.nrecords += all->loads[i].nrecords;
                input.total.nkmers += all->loads[i].nkmers;
        }
        KC_TRY(kc_gpu_plan_counter(&input, left, &s->caps, err));
        KC_TRY(kc_gpu_counter_new(&s->counter, s->gpu, &setup, &s->caps, err));
out:
        return status;
}

template <class Key>
static enum kc_status open_sharer(sharing<Key> *all, int number, int device, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        sharer<Key> *s = &all->sharers[number];
        s->gpu = number == 0 ? &all->bench->gpu : &s->other;
        if (number > 0) {
                KC_TRY(kc_gpu_open(&s->other, device, 0, err));
                KC_TRY(kc_gpu_link_open(&s->link, &all->bench->gpu, &s->other, err));
        }
out:
        return status;
}

template <class Key> static void free_counter(sharer<Key> *s)
{
        kc_gpu_counter_free(s->counter);
        s->counter = NULL;
}

/* Free what a run of the stage needs and makes. */
template <class Key> static void empty_sharer(sharer<Key> *s)
{
        (void)cudaSetDevice(s->gpu->device);
        free_counter(s);
        kc_gpu_lsm_free(s->lsm);
        s->lsm = NULL;
        if (s->gpu == &s->other)
                kc_gpu_kept_free(s->kept);
        s->kept = NULL;
        s->counted = {};
}

template <class Key> static void close_sharer(sharer<Key> *s)
{
        if (s->gpu == NULL)
                return;
        empty_sharer(s);
        kc_gpu_link_close(&s->link);
        if (s->gpu == &s->other)
                kc_gpu_close(&s->other);
        *s = {};
}

template <class Key> static void end_exchange(sharing<Key> *all)
{
        kc_gpu_exchange_free(&all->exchange);
        all->exchange = {};
        all->exchange.gate = &all->gate;
}

/* ---- the stages ---- */

template <class Key>
static enum kc_status prepare(struct bench *bench, void *ctx, struct kc_error *err)
{
        sharing<Key> *all = (sharing<Key> *)ctx;
        enum kc_status status = KC_OK;
        end_exchange(all);
        for (int i = 0; i < all->n; i++) {
                sharer<Key> *s = &all->sharers[i];
                struct kc_gpu_lsm_setup lsm = {};
                lsm.tmp_dir = "/tmp";
                empty_sharer(s);
                KC_TRY(make_counter(all, s, err));
                KC_TRY(kc_gpu_lsm_new(&s->lsm, s->gpu, &lsm, err));
        }
        KC_TRY(KC_CUDA(cudaSetDevice(bench->gpu.device)));
out:
        return status;
}

template <class Key>
static enum kc_status insert_run(void *ctx, struct kc_gpu_run<Key> *run, struct kc_error *err)
{
        return kc_gpu_lsm_insert(((sharer<Key> *)ctx)->lsm, run, err);
}

/* Count a share, from the first device's reads to sorted runs; each on a thread of its own. */
template <class Key> static enum kc_status count_share(void *ctx, int number, struct kc_error *err)
{
        sharing<Key> *all = (sharing<Key> *)ctx;
        enum kc_status status;
        sharer<Key> *s = &all->sharers[number];
        struct kc_gpu_run_taker<Key> taker = {
                s, insert_run<Key>
        };
        struct kc_gpu_pass passes[KC_NLOADS];
        struct kc_load most = {};
        const struct kc_gpu_kept_source reads = { all->kept, &s->link };
        size_t npasses, together;
        KC_TRY(use(s, err));
        s->kept = all->kept;
        if (number > 0)
                KC_TRY(kc_gpu_kept_join(&s->kept, s->gpu, &reads, 1, SIZE_MAX, err));
        most.nrecords = kc_gpu_counter_max_records(&all->superkmers, &s->caps, s->kept);
        most.nkmers = s->caps.nkmers;
        npasses = kc_gpu_plan_passes(all->loads, &s->share, &most, passes);
        together = (size_t)kc_gpu_counter_max_passes(&s->caps, s->kept);
        for (size_t i = 0; i < npasses; i++) {
                if (i % together == 0)
                        KC_TRY(kc_gpu_counter_walk(s->counter, s->kept, &passes[i],
                                                   (int)std::min(together, npasses - i), err));
                KC_TRY(kc_gpu_lsm_make_room(
                        s->lsm, kc_gpu_plan_run_room(all->superkmers.k, s->caps.npairs), err));
                KC_TRY(kc_gpu_counter_count(s->counter, (int)(i % together), &taker, &s->counted,
                                            err));
        }
        KC_TRY(KC_CUDA(cudaStreamSynchronize(s->gpu->stream)));
out:
        return status;
}

enum { RANGE_NPAIRS = 1 << 24, MOST_NPAIRS = 1 << 25 }; /* alone; together */

/* Counters make room before runs are merged, as in the engine. */
template <class Key> static void free_counters(sharing<Key> *all)
{
        for (int i = all->n; i-- > 0;) {
                (void)cudaSetDevice(all->sharers[i].gpu->device);
                free_counter(&all->sharers[i]);
        }
}

template <class Key> static enum kc_status merge_alone(sharing<Key> *all, struct kc_error *err)
{
        enum kc_status status;
        struct kc_gpu_run<Key> range;
        do
                KC_TRY(kc_gpu_lsm_next(all->sharers[0].lsm, RANGE_NPAIRS, &range, err));
        while (range.n > 0);
out:
        return status;
}

template <class Key> static enum kc_status join(void *ctx, int number, struct kc_error *err)
{
        sharing<Key> *all = (sharing<Key> *)ctx;
        enum kc_status status;
        sharer<Key> *s = &all->sharers[number];
        KC_TRY(use(s, err));
        KC_TRY(kc_gpu_exchange_join(&all->exchange, number, s->gpu, s->lsm,
                                    number == 0 ? KC_GATE_DRIVER : KC_GATE_FOLLOWERS, MOST_NPAIRS,
                                    err));
out:
        return status;
}

template <class Key> static enum kc_status take_ranges(void *ctx, int number, struct kc_error *err)
{
        sharing<Key> *all = (sharing<Key> *)ctx;
        enum kc_status status;
        struct kc_gpu_run<Key> range;
        size_t i;
        KC_TRY(use(&all->sharers[number], err));
        do
                KC_TRY(kc_gpu_exchange_next(&all->exchange, number, &i, &range, err));
        while (i < all->exchange.deal.nranges);
out:
        return status;
}

template <class Key> static void stop_all(void *ctx)
{
        kc_gate_stop(&((sharing<Key> *)ctx)->gate);
}

/* All devices merge, as in the engine, up to what they would encode. */
template <class Key> static enum kc_status merge_together(sharing<Key> *all, struct kc_error *err)
{
        enum kc_status status;
        uint64_t npairs = 0;
        size_t usual;
        for (int i = 0; i < all->n; i++)
                npairs += kc_gpu_lsm_npairs(all->sharers[i].lsm);
        usual = kc_deal_usual_pairs(npairs, (size_t)all->n, MOST_NPAIRS);
        if (usual == 0)
                return kc_fail(err, KC_EUSAGE, "too few k-mers for several devices to merge");
        KC_TRY(kc_parallel(all->n, join<Key>, stop_all<Key>, all, err));
        KC_TRY(kc_gpu_exchange_begin(&all->exchange, usual, err));
        KC_TRY(kc_parallel(all->n, take_ranges<Key>, stop_all<Key>, all, err));
out:
        return status;
}

template <class Key>
static enum kc_status run_shares(struct bench *bench, void *ctx, struct kc_error *err)
{
        sharing<Key> *all = (sharing<Key> *)ctx;
        enum kc_status status;
        uint64_t nkmers = 0;
        KC_TRY(kc_parallel(all->n, count_share<Key>, NULL, all, err));
        for (int i = 0; i < all->n; i++)
                nkmers += all->sharers[i].counted.nkmers;
        if (nkmers != workload_nkmers(&bench->reads, all->superkmers.k))
                return kc_fail(err, KC_EDEVICE, "the shares do not have all k-mers");
        if (!all->merges)
                return KC_OK;
        free_counters(all);
        KC_TRY(use(&all->sharers[0], err));
        KC_TRY(all->n > 1 ? merge_together(all, err) : merge_alone(all, err));
out:
        return status;
}

/* ---- numbers of devices ---- */

template <class Key>
static enum kc_status time_shares(sharing<Key> *all, const int *devices, int ndevices,
                                  struct kc_error *err)
{
        enum kc_status status = KC_OK;
        struct kc_gpu_share shares[KC_GPU_MAX_DEVICES];
        const uint64_t nkmers = workload_nkmers(&all->bench->reads, all->superkmers.k);
        all->n = (int)kc_gpu_plan_shares(all->loads, &KC_GPU_ALL_POINTS, (size_t)ndevices, shares);
        for (int i = 0; i < all->n; i++) {
                all->sharers[i].share = shares[i];
                KC_TRY(open_sharer(all, i, devices[i], err));
        }
        for (int merges = 0; merges < 2; merges++) {
                char name[64];
                snprintf(name, sizeof name, "%s on %d device%s",
                         merges ? "count and merge" : "count shares", all->n,
                         all->n == 1 ? "" : "s");
                struct stage stage = stage_of(name, "k-mers", all->superkmers.k, nkmers);
                all->merges = merges != 0;
                KC_TRY(stage_time(all->bench, &stage, prepare<Key>, run_shares<Key>, all, err));
                stage_print(all->bench, &stage);
        }
out:
        end_exchange(all);
        for (sharer<Key> &s : all->sharers)
                close_sharer(&s);
        (void)cudaSetDevice(all->bench->gpu.device);
        return status;
}

template <class Key>
enum kc_status bench_sharing(struct bench *bench, const int *devices, int ndevices, int k,
                             struct kc_error *err)
{
        enum kc_status status;
        struct kc_gpu_reads reads = {};
        sharing<Key> all = {};
        all.bench = bench;
        kc_gate_init(&all.gate, NULL);
        KC_TRY(workload_new(&bench->gpu, &bench->reads, k, &reads, err));
        all.superkmers = kc_superkmer_setup_for<Key>(k, kc_gpu_minimizer_length(k, reads.nbases));
        KC_TRY(workload_keep<Key>(&bench->gpu, &bench->reads, k, &reads, 0, bench->reads.nreads,
                                  &all.kept, err));
        workload_free(&bench->gpu, &reads);
        KC_TRY(kc_gpu_kept_loads(all.kept, 0, all.loads, err));
        KC_TRY(time_shares(&all, devices, 1, err));
        KC_TRY(time_shares(&all, devices, ndevices, err));
out:
        kc_gpu_kept_free(all.kept);
        kc_gate_destroy(&all.gate);
        workload_free(&bench->gpu, &reads);
        return status;
}

#define INSTANTIATE(Key) \
        template enum kc_status bench_sharing<Key>(struct bench *, const int *, int, int, \
                                                   struct kc_error *);
KC_GPU_KEYS(INSTANTIATE)
