/*
 * The memory of a counter.
 */
#include "gpu/count/count_internal.cuh"
#include "gpu/count/tables.cuh"
#include "gpu/superkmers/stretch.cuh"

#include <algorithm>
#include <new>

template <class Key> static uint64_t bin_nkmers(enum kc_gpu_table table)
{
        return kc_table_choose<Key>(
                table, [](auto type) { return (uint64_t) decltype(type)::type::BIN_NKMERS; });
}

template <class Key> size_t kc_gpu_counter_arenas_nbytes(enum kc_gpu_table table)
{
        return kc_table_choose<Key>(table, [](auto type) {
                using Table = typename decltype(type)::type;
                return (size_t)Table::MAX_ARENAS * Table::ARENA_NBYTES;
        });
}

/* In an input of more k-mers than this, bins have half as many k-mers: the commonest minimizers
 * have so many there that uneven bins would overflow several percent of the tables. A smaller input
 * has few such bins, and larger bins are faster. */
static const uint64_t LARGE_INPUT = UINT64_C(5) << 29;

/* Most k-mers of a bin in the largest pass: more passes would cost more than the bins that
 * overflow. */
static const uint64_t MOST_BIN_NKMERS = 2048;

template <class Key>
int kc_counter_bin_bits(enum kc_gpu_table table, uint64_t nkmers, uint64_t total_nkmers, int most)
{
        const uint64_t each = bin_nkmers<Key>(table) / (total_nkmers > LARGE_INPUT ? 2 : 1);
        int bits = 0;
        while (bits < most && each << bits < nkmers)
                bits++;
        return bits;
}

/* Most bits that a pass needs. */
template <class Key>
static int counter_bin_bits(enum kc_gpu_table table, const struct kc_gpu_counter_caps *caps)
{
        return kc_counter_bin_bits<Key>(table, caps->nkmers, caps->total_nkmers,
                                        kc_record_bin_bits<Key>(caps->position_bits));
}

template <class Key> uint64_t kc_gpu_counter_max_nkmers(int position_bits)
{
        return MOST_BIN_NKMERS << kc_record_bin_bits<Key>(position_bits);
}

namespace
{

struct sizes {
        uint64_t tasks, nbins;
        size_t cub;
};

} // namespace

/* CUB's temporary memory to sort or scan nitems items, with a margin: it needs 1024 bytes per tile
 * of at least 3840 records (sm_80). */
static size_t cub_nbytes_for(uint64_t nitems)
{
        return (size_t)nitems / 10 * 3 + (4 << 20);
}

template <class Key>
static sizes sizes_for(enum kc_gpu_table table, const struct kc_gpu_counter_caps *caps)
{
        sizes s = {};
        s.nbins = UINT64_C(1) << counter_bin_bits<Key>(table, caps);
        /* The most that a pass can have: with copies, it may be more than without. */
        const uint64_t nlists =
                std::min(1 + (uint64_t)caps->npasses, 2 + (uint64_t)kc_stretch<Key>::NWORDS);
        const uint64_t nrecords = caps->nwords / nlists;
        s.tasks = s.nbins + nrecords / TASK_NRECORDS;
        s.cub = cub_nbytes_for(nrecords > s.tasks ? nrecords : s.tasks);
        return s;
}

template <class Key>
size_t kc_gpu_counter_nbytes(enum kc_gpu_table table, const struct kc_gpu_counter_caps *caps)
{
        const size_t arenas = kc_gpu_counter_arenas_nbytes<Key>(table), other = 1 << 20;
        sizes s = sizes_for<Key>(table, caps);
        return caps->nwords * sizeof(uint64_t) +
               2 * caps->npairs * (sizeof(Key) + sizeof(uint32_t)) +
               2 * s.nbins * sizeof(uint32_t) + s.tasks * (2 * sizeof(kc_task) + sizeof(uint64_t)) +
               s.cub + arenas + other;
}

int kc_gpu_counter_max_passes(const struct kc_gpu_counter_caps *caps,
                              const struct kc_gpu_kept *kept)
{
        return kc_gpu_kept_pass_nbytes(kept) > 0 ? 1 : caps->npasses;
}

uint64_t kc_gpu_counter_max_records(const struct kc_superkmer_setup *superkmers,
                                    const struct kc_gpu_counter_caps *caps,
                                    const struct kc_gpu_kept *kept)
{
        const bool copies = kc_gpu_kept_pass_nbytes(kept) > 0;
        const uint64_t n =
                caps->nwords / kc_gpu_counter_record_nwords(superkmers, caps->npasses, copies);
        const uint64_t most = (uint64_t)kc_gpu_kept_free_chunks(kept) * KC_CHUNK_NWORDS /
                              (uint64_t)superkmers->copy_nwords;
        return copies && n > most ? most : n;
}

template <class Key> static enum kc_status take_memory(kc_gpu_counter<Key> *c, struct kc_error *err)
{
        enum kc_status status;
        struct kc_gpu *gpu = c->gpu;
        const struct kc_gpu_counter_caps *caps = &c->caps;
        sizes s = sizes_for<Key>(c->setup.table, caps);
        c->tasks_cap = s.tasks;
        c->cub_nbytes = s.cub;
        kc_count_tables_plan<Key>(gpu, c->setup.table, &c->table, &c->arena_nbytes);
        KC_TRY(kc_gpu_alloc(gpu, &c->table.arena, c->arena_nbytes, err));
        KC_TRY(kc_gpu_new(gpu, &c->words, caps->nwords, err));
        KC_TRY(kc_gpu_new(gpu, &c->kmers, 2 * caps->npairs, err));
        KC_TRY(kc_gpu_new(gpu, &c->counts, 2 * caps->npairs, err));
        KC_TRY(kc_gpu_new(gpu, &c->offsets, s.nbins + 1, err));
        KC_TRY(kc_gpu_new(gpu, &c->pieces, s.nbins + 1, err));
        KC_TRY(kc_gpu_new(gpu, &c->tasks, s.tasks, err));
        KC_TRY(kc_gpu_new(gpu, &c->bounds, s.tasks, err));
        KC_TRY(kc_gpu_new(gpu, &c->again.tasks, s.tasks, err));
        KC_TRY(kc_gpu_new(gpu, &c->again.totals, 1, err));
        KC_TRY(kc_gpu_new(gpu, &c->nfound, KC_GPU_MAX_WALK_PASSES, err));
        KC_TRY(kc_gpu_new(gpu, &c->npairs, 1, err));
        KC_TRY(kc_gpu_new(gpu, &c->wave, 1, err));
        KC_TRY(kc_gpu_new(gpu, &c->cells, KC_COUNT_NCELLS, err));
        if (c->setup.tallies)
                KC_TRY(kc_gpu_new(gpu, &c->rows, KC_COUNT_NTALLIES * KC_RUN_NROWS, err));
        KC_TRY(kc_gpu_new(gpu, &c->cub_memory, c->cub_nbytes, err));
        KC_TRY(KC_CUDA(cudaMallocHost((void **)&c->readback, sizeof *c->readback)));
        for (cudaEvent_t &event : c->events)
                KC_TRY(KC_CUDA(cudaEventCreate(&event)));
out:
        return status;
}

template <class Key> void kc_gpu_counter_free(struct kc_gpu_counter<Key> *c)
{
        if (c == NULL)
                return;
        struct kc_gpu *gpu = c->gpu;
        const uint64_t nbins = UINT64_C(1) << c->max_bin_bits, npairs = c->caps.npairs;
        kc_gpu_release(gpu, c->table.arena, c->arena_nbytes);
        kc_gpu_delete(gpu, c->words, c->caps.nwords);
        kc_gpu_delete(gpu, c->kmers, 2 * npairs);
        kc_gpu_delete(gpu, c->counts, 2 * npairs);
        kc_gpu_delete(gpu, c->offsets, nbins + 1);
        kc_gpu_delete(gpu, c->pieces, nbins + 1);
        kc_gpu_delete(gpu, c->tasks, c->tasks_cap);
        kc_gpu_delete(gpu, c->bounds, c->tasks_cap);
        kc_gpu_delete(gpu, c->again.tasks, c->tasks_cap);
        kc_gpu_delete(gpu, c->again.totals, 1);
        kc_gpu_delete(gpu, c->nfound, KC_GPU_MAX_WALK_PASSES);
        kc_gpu_delete(gpu, c->npairs, 1);
        kc_gpu_delete(gpu, c->wave, 1);
        kc_gpu_delete(gpu, c->cells, KC_COUNT_NCELLS);
        kc_gpu_delete(gpu, c->rows, KC_COUNT_NTALLIES * KC_RUN_NROWS);
        kc_gpu_delete(gpu, c->cub_memory, c->cub_nbytes);
        (void)cudaFreeHost(c->readback);
        for (cudaEvent_t event : c->events)
                if (event != NULL)
                        (void)cudaEventDestroy(event);
        delete c;
}

template <class Key>
enum kc_status kc_gpu_counter_new(struct kc_gpu_counter<Key> **counter, struct kc_gpu *gpu,
                                  const struct kc_gpu_counter_setup *setup,
                                  const struct kc_gpu_counter_caps *caps, struct kc_error *err)
{
        kc_gpu_counter<Key> *c = new (std::nothrow) kc_gpu_counter<Key>();
        *counter = NULL;
        if (c == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        c->gpu = gpu;
        c->setup = *setup;
        if (setup->tallies)
                c->setup.filter = { KC_RUN_NROWS, UINT32_MAX };
        c->caps = *caps;
        c->max_bin_bits = counter_bin_bits<Key>(setup->table, caps);
        enum kc_status status = take_memory(c, err);
        if (status != KC_OK) {
                kc_gpu_counter_free(c);
                return status;
        }
        *counter = c;
        return KC_OK;
}

#define INSTANTIATE(Key) \
        template int kc_counter_bin_bits<Key>(enum kc_gpu_table, uint64_t, uint64_t, int); \
        template uint64_t kc_gpu_counter_max_nkmers<Key>(int); \
        template size_t kc_gpu_counter_arenas_nbytes<Key>(enum kc_gpu_table); \
        template size_t kc_gpu_counter_nbytes<Key>(enum kc_gpu_table, \
                                                   const struct kc_gpu_counter_caps *); \
        template enum kc_status kc_gpu_counter_new<Key>( \
                struct kc_gpu_counter<Key> **, struct kc_gpu *, \
                const struct kc_gpu_counter_setup *, const struct kc_gpu_counter_caps *, \
                struct kc_error *); \
        template void kc_gpu_counter_free<Key>(struct kc_gpu_counter<Key> *);
KC_GPU_KEYS(INSTANTIATE)
