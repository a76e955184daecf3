/*
 * The memory of a counter, planned from the most k-mers in a batch.
 */
#include "gpu/count/count_internal.cuh"

#include <new>

/* Bins have 4096 k-mers for tables of 2048 slots, 2048 for 1024. At usual coverage a table ends up
 * a third full, and even bins of distinct k-mers only need to be drained a few times. */
template <class Key> int kc_counter_bin_bits(uint64_t nkmers)
{
        const int max_bits = sizeof(Key) == 8 ? 19 : (int)KC_RECORD_MAX_BIN_BITS;
        const uint64_t bin_nkmers = sizeof(Key) == 8 ? 4096 : 2048;
        int bits = 0;
        while (bits < max_bits && bin_nkmers << bits < nkmers)
                bits++;
        return bits;
}

/* Up to half of the k-mers may be distinct before a batch makes more than one run. */
static uint64_t pairs_for(uint64_t nkmers)
{
        const uint64_t least = (uint64_t)TASK_NRECORDS * 128;
        return nkmers / 2 < least ? least : nkmers / 2;
}

namespace
{

struct sizes {
        uint64_t records, pairs, tasks, nbins;
        size_t cub;
};

} // namespace

/* CUB's temporary memory to sort or scan nitems items, with a margin: it needs 1024 bytes per tile
 * of at least 3840 records (sm_80). */
static size_t cub_nbytes_for(uint64_t nitems)
{
        return (size_t)nitems / 10 * 3 + (4 << 20);
}

template <class Key> static sizes sizes_for(int k, uint64_t nkmers)
{
        sizes s = {};
        s.nbins = UINT64_C(1) << kc_counter_bin_bits<Key>(nkmers);
        s.records = kc_superkmer_expected(k, nkmers);
        s.pairs = pairs_for(nkmers);
        s.tasks = s.nbins + s.records / TASK_NRECORDS;
        s.cub = cub_nbytes_for(s.records > s.tasks ? s.records : s.tasks);
        return s;
}

template <class Key> size_t kc_gpu_counter_nbytes(int k, uint64_t nkmers)
{
        sizes s = sizes_for<Key>(k, nkmers);
        return 2 * s.records * sizeof(uint64_t) + 2 * s.pairs * (sizeof(Key) + sizeof(uint32_t)) +
               2 * s.nbins * sizeof(uint32_t) + s.tasks * (sizeof(kc_task) + sizeof(uint64_t)) +
               s.cub + (64 << 20); /* the slab hash's arena, alignment */
}

template <class Key> static enum kc_status take_memory(kc_gpu_counter<Key> *c, struct kc_error *err)
{
        enum kc_status status;
        struct kc_gpu *gpu = c->gpu;
        sizes s = sizes_for<Key>(c->k, c->max_nkmers);
        c->records_cap = s.records;
        c->pairs_cap = s.pairs;
        c->tasks_cap = s.tasks;
        c->cub_nbytes = s.cub;
        kc_count_tables_plan<Key>(gpu, c->kind, &c->table, &c->arena_nbytes);
        KC_TRY(kc_gpu_alloc(gpu, &c->table.arena, c->arena_nbytes, err));
        KC_TRY(kc_gpu_new(gpu, &c->found, s.records, err));
        KC_TRY(kc_gpu_new(gpu, &c->records, s.records, err));
        KC_TRY(kc_gpu_new(gpu, &c->kmers, 2 * s.pairs, err));
        KC_TRY(kc_gpu_new(gpu, &c->counts, 2 * s.pairs, err));
        KC_TRY(kc_gpu_new(gpu, &c->offsets, s.nbins + 1, err));
        KC_TRY(kc_gpu_new(gpu, &c->pieces, s.nbins + 1, err));
        KC_TRY(kc_gpu_new(gpu, &c->tasks, s.tasks, err));
        KC_TRY(kc_gpu_new(gpu, &c->bounds, s.tasks, err));
        KC_TRY(kc_gpu_new(gpu, &c->cursors, 2, err));
        KC_TRY(kc_gpu_new(gpu, &c->last, 1, err));
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
        uint64_t nbins = UINT64_C(1) << c->max_bin_bits;
        kc_gpu_release(gpu, c->table.arena, c->arena_nbytes);
        kc_gpu_delete(gpu, c->found, c->records_cap);
        kc_gpu_delete(gpu, c->records, c->records_cap);
        kc_gpu_delete(gpu, c->kmers, 2 * c->pairs_cap);
        kc_gpu_delete(gpu, c->counts, 2 * c->pairs_cap);
        kc_gpu_delete(gpu, c->offsets, nbins + 1);
        kc_gpu_delete(gpu, c->pieces, nbins + 1);
        kc_gpu_delete(gpu, c->tasks, c->tasks_cap);
        kc_gpu_delete(gpu, c->bounds, c->tasks_cap);
        kc_gpu_delete(gpu, c->cursors, 2);
        kc_gpu_delete(gpu, c->last, 1);
        kc_gpu_delete(gpu, c->cub_memory, c->cub_nbytes);
        (void)cudaFreeHost(c->readback);
        for (cudaEvent_t event : c->events)
                if (event != NULL)
                        (void)cudaEventDestroy(event);
        delete c;
}

template <class Key>
enum kc_status kc_gpu_counter_new(struct kc_gpu_counter<Key> **counter, struct kc_gpu *gpu, int k,
                                  bool stranded, enum kc_gpu_table table, uint64_t max_nkmers,
                                  struct kc_error *err)
{
        kc_gpu_counter<Key> *c = new (std::nothrow) kc_gpu_counter<Key>();
        if (c == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        c->gpu = gpu;
        c->k = k;
        c->stranded = stranded;
        c->kind = table;
        c->max_nkmers = max_nkmers;
        c->max_bin_bits = kc_counter_bin_bits<Key>(max_nkmers);
        enum kc_status status = take_memory(c, err);
        if (status != KC_OK) {
                kc_gpu_counter_free(c);
                return status;
        }
        *counter = c;
        return KC_OK;
}

#define INSTANTIATE(Key) \
        template int kc_counter_bin_bits<Key>(uint64_t); \
        template size_t kc_gpu_counter_nbytes<Key>(int, uint64_t); \
        template enum kc_status kc_gpu_counter_new<Key>( \
                struct kc_gpu_counter<Key> **, struct kc_gpu *, int, bool, enum kc_gpu_table, \
                uint64_t, struct kc_error *); \
        template void kc_gpu_counter_free<Key>(struct kc_gpu_counter<Key> *);
KC_GPU_KEYS(INSTANTIATE)
