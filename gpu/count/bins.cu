#include "gpu/count/bins.cuh"

#include "gpu/count/tables.cuh"

#include <algorithm>

enum {
        WARP = 32,
        THREADS = 256,
        WARPS = THREADS / WARP,
        NCHUNKS = 256, /* chunks whose addresses are in shared memory: the first 34 Gbases */
};

/* Whether a table refers to the stretches of the fold. */
template <class Table> static constexpr bool refers = false;
template <class Key, class Fold> static constexpr bool refers<kc_refs<Key, Fold>> = true;

namespace
{

template <class Key> struct block_state {
        kc_table_fold<Key> records;
        kc_expander<Key> expanders[WARPS];
        const uint64_t *chunks[NCHUNKS]; /* words of the first chunks */
        uint32_t warp_totals[WARPS];
        uint64_t base; /* of the block's pairs in the output */
};

} // namespace

/* What a drain does with the pairs of a table. */
struct drain_rule {
        struct kc_run_filter filter; /* of the pairs to output */
        bool final;                  /* the others are dropped, and counted as such */
        bool plain;                  /* all are output, and nothing is counted */
};

template <class Key> __device__ static drain_rule get_rule(const kc_pairs_out<Key> &out, bool final)
{
        const struct kc_run_filter all = { 1, UINT32_MAX };
        return { final ? out.filter : all, final, final && kc_run_keeps_all(&out.filter) };
}

namespace
{

/* Sums over the pairs in a table. 32 bits suffice, because its counts add up to less than 2^32. */
struct drain_sums {
        uint32_t nwanted;                    /* pairs to output */
        uint32_t ndistinct, nkmers, nunique; /* dropped */
        uint32_t npartial;                   /* k-mers in partial counts */
};

} // namespace

/* Add the sums of the warp's lanes to a cell. */
template <class Key>
__device__ static void add_to_cell(const kc_pairs_out<Key> &out, const drain_sums &sums)
{
        const uint32_t warp = threadIdx.x / WARP;
        struct kc_count_cell *cell = &out.cells[(blockIdx.x * WARPS + warp) % KC_COUNT_NCELLS];
        const uint32_t own[] = { sums.ndistinct, sums.nkmers, sums.nunique, sums.npartial };
        uint64_t *const to[] = { &cell->ndistinct, &cell->nkmers, &cell->nunique, &cell->npartial };
        for (int i = 0; i < 4; i++) {
                const uint32_t sum = __reduce_add_sync(~0u, own[i]);
                if (threadIdx.x % WARP == 0 && sum > 0)
                        atomicAdd((unsigned long long *)to[i], (unsigned long long)sum);
        }
}

/* Add up what the thread has of the pairs, if the drain does not output all of them or if they have
 * partial counts. */
template <class Key, class Table>
__device__ static drain_sums sum_pairs(const Table &table, const drain_rule &rule,
                                       const kc_pairs_out<Key> &out)
{
        drain_sums sums = {};
        uint64_t *rows = out.rows + blockIdx.x % KC_COUNT_NTALLIES * KC_RUN_NROWS;
        for (uint32_t place = threadIdx.x; place < table.nplaces(); place += THREADS) {
                Key key;
                uint32_t count;
                if (!table.get(place, &key, &count))
                        continue;
                const bool dropped = !kc_run_keeps(&rule.filter, count);
                sums.nwanted += !dropped;
                sums.ndistinct += dropped;
                sums.nkmers += dropped ? count : 0;
                sums.nunique += dropped && count == 1;
                sums.npartial += rule.final ? 0 : count;
                if (dropped && out.rows != NULL && count > 1)
                        atomicAdd((unsigned long long *)&rows[count], 1ull);
        }
        return sums;
}

/* The number of pairs that the warp's lanes will output; the others are counted. */
template <class Key, class Table>
__device__ static uint32_t count_wanted(const Table &table, const drain_rule &rule,
                                        const kc_pairs_out<Key> &out)
{
        uint32_t own = 0;
        if (rule.plain) {
                for (uint32_t place = threadIdx.x; place < table.nplaces(); place += THREADS) {
                        Key key;
                        uint32_t count;
                        own += table.get(place, &key, &count);
                }
        } else {
                const drain_sums sums = sum_pairs(table, rule, out);
                __syncwarp();
                add_to_cell(out, sums);
                own = sums.nwanted;
        }
        return __reduce_add_sync(~0u, own);
}

/* Reserve room for the block's pairs: one atomic adds the sum of all warps to *n. */
template <class Key, class Table>
__device__ static void reserve_pairs(block_state<Key> *state, const Table &table,
                                     const drain_rule &rule, const kc_pairs_out<Key> &out)
{
        const uint32_t total = count_wanted(table, rule, out);
        if (threadIdx.x % WARP == 0)
                state->warp_totals[threadIdx.x / WARP] = total;
        __syncthreads();
        if (threadIdx.x == 0) {
                uint32_t sum = 0;
                for (uint32_t i = 0; i < WARPS; i++) {
                        uint32_t own = state->warp_totals[i];
                        state->warp_totals[i] = sum;
                        sum += own;
                }
                state->base = atomicAdd((unsigned long long *)out.n, (unsigned long long)sum);
        }
        __syncthreads();
}

/* Write the pairs of the table to the output. final: its counts are final. The block must be
 * synchronized before, and again before the table is changed. */
template <class Key, class Table>
__device__ static void drain(block_state<Key> *state, const Table &table,
                             const kc_pairs_out<Key> &out, bool final)
{
        const drain_rule rule = get_rule(out, final);
        reserve_pairs<Key>(state, table, rule, out);
        const uint32_t nplaces = table.nplaces();
        const uint64_t first = state->base + state->warp_totals[threadIdx.x / WARP];
        Key *kmers = out.kmers + first;
        uint32_t *counts = out.counts + first, n = 0;
        for (uint32_t place = threadIdx.x; place - threadIdx.x < nplaces; place += THREADS) {
                Key key;
                uint32_t count;
                const bool wanted = place < nplaces && table.get(place, &key, &count) &&
                                    kc_run_keeps(&rule.filter, count);
                const uint32_t pairs = __ballot_sync(~0u, wanted);
                const uint32_t at = n + kc_warp_rank(pairs);
                if (wanted) {
                        kmers[at] = key;
                        counts[at] = count;
                }
                n += (uint32_t)__popc(pairs);
        }
}

/* Keep the addresses of chunks in shared memory: in device memory they are often displaced from the
 * cache by the bases. */
template <class Key>
__device__ static void load_chunks(block_state<Key> *state, const struct kc_tasks_in &in)
{
        for (uint32_t i = threadIdx.x; i < min(in.nchunks, (uint32_t)NCHUNKS); i += THREADS)
                state->chunks[i] = in.chunks[i].words;
}

template <class Key>
__device__ static kc_stretch<Key> read_stretch(const block_state<Key> *state,
                                               const struct kc_tasks_in &in, uint64_t record)
{
        const uint32_t chunk = kc_record_chunk(record, in.form);
        const uint64_t *words = chunk < min(in.nchunks, (uint32_t)NCHUNKS) ? state->chunks[chunk]
                                                                           : in.chunks[chunk].words;
        return kc_stretch_read<Key>(words, record, in.form.position_bits, in.k, in.stranded);
}

namespace
{

/* A thread's progress through the records of a task. */
struct records_walk {
        const uint64_t *records; /* of the task */
        uint32_t next, n;
        uint64_t record; /* number `next`, read ahead */
};

} // namespace

__device__ static void read_ahead(records_walk *w)
{
        if (w->next < w->n)
                w->record = __ldcs(&w->records[w->next]);
}

__device__ static records_walk begin_records(const struct kc_tasks_in &in, const kc_task &task)
{
        records_walk w = { in.records + task.first, threadIdx.x, task.n, 0 };
        read_ahead(&w);
        return w;
}

/* Add records to the fold, each thread its own, until all are in or a thread finds no room. */
template <class Key>
__device__ static void fold_records(block_state<Key> *state, records_walk *w,
                                    const struct kc_tasks_in &in)
{
        while (w->next < w->n) {
                if (!state->records.add(read_stretch<Key>(state, in, w->record)))
                        return;
                w->next += THREADS;
                read_ahead(w);
        }
}

namespace
{

/* The part of the fold that a warp takes, up to 32 stretches, and its progress. */
struct fold_part {
        uint32_t first; /* number of its first stretch */
        uint32_t nkmers;
        uint32_t round;  /* of 32 k-mers */
        uint32_t owners; /* see kc_expand */
        bool again;      /* this lane's k-mer of the round found no room, and is added again */
        bool resumed;    /* the round is already done for the lanes whose `again` is false */
};

} // namespace

/* Divide the stretches evenly, so that no warp waits long for the others. */
template <class Key>
__device__ static fold_part begin_part(const kc_table_fold<Key> *f, kc_expander<Key> *x)
{
        static_assert(kc_table_fold<Key>::MAX_SIZE <= WARP * WARPS,
                      "a lane has one stretch at most");
        const uint32_t lane = threadIdx.x % WARP;
        const uint32_t nstretches = f->size(), each = (nstretches + WARPS - 1) / WARPS;
        fold_part s = {};
        s.first = threadIdx.x / WARP * each;
        const uint32_t mine = s.first + lane;
        const bool has_one = lane < each && mine < nstretches;
        s.nkmers = kc_expand_begin(x, has_one ? kc_stretch_nkmers(&f->stretches[mine]) : 0);
        return s;
}

/* Count until the part is done (true) or the table is full (false). The warp must be converged. */
template <class Key, class Table>
__device__ static bool count_part(Table *table, const kc_table_fold<Key> *f,
                                  const kc_expander<Key> *x, fold_part *s, int k, bool stranded)
{
        const uint32_t lane = threadIdx.x % WARP;
        for (; s->round * WARP < s->nkmers; s->round++, s->resumed = false) {
                uint32_t owners = s->owners;
                bool active = s->resumed ? s->again : s->round * WARP + lane < s->nkmers;
                kc_place place = kc_expand(x, s->round, &owners);
                place.offset = active ? place.offset : 0;
                const uint32_t number = s->first + place.owner;
                const uint32_t *bases = (const uint32_t *)f->stretches[number].words;
                const Key packed = kc_cut_bases(bases, place.offset, Key());
                const uint32_t weight = f->weights[number];
                if constexpr (refers<Table>) {
                        kc_ref<Key> ref = kc_ref_of(packed, k, stranded);
                        ref.number = number;
                        ref.offset = place.offset;
                        s->again = !table->add(ref, weight, active);
                } else {
                        Key key = kc_key_from_packed(packed, k, stranded);
                        s->again = !table->add(key, weight, active);
                }
                if (__any_sync(~0u, s->again)) {
                        s->resumed = true;
                        return false;
                }
                s->owners = owners;
        }
        return true;
}

/* Drain partial counts, and clear the table. For the whole block. */
template <class Key, class Table>
__device__ static void empty(block_state<Key> *state, Table *table, const kc_pairs_out<Key> &out)
{
        drain<Key>(state, *table, out, false);
        __syncthreads();
        table->clear();
        __syncthreads();
}

/* Count the stretches of the fold; whenever the table is full, empty it. Returns whether that
 * happened. For the whole block. */
template <class Key, class Table>
__device__ static bool count_fold(Table *table, block_state<Key> *state,
                                  const struct kc_tasks_in &in, const kc_pairs_out<Key> &out)
{
        kc_expander<Key> *x = &state->expanders[threadIdx.x / WARP];
        fold_part s = begin_part(&state->records, x);
        bool emptied = false;
        while (__syncthreads_or(
                !count_part<Key>(table, &state->records, x, &s, in.k, in.stranded))) {
                emptied = true;
                empty<Key>(state, table, out);
        }
        return emptied;
}

template <class Key, class Table>
__device__ static void count_task(Table *table, block_state<Key> *state, const kc_task &task,
                                  const struct kc_tasks_in &in, const kc_pairs_out<Key> &out)
{
        records_walk walk = begin_records(in, task);
        table->clear();
        bool final = task.whole;
        for (;;) {
                state->records.clear();
                __syncthreads();
                fold_records<Key>(state, &walk, in);
                __syncthreads();
                final &= !count_fold<Key>(table, state, in, out);
                if (!__syncthreads_or(walk.next < walk.n))
                        break;
                if (refers<Table>) { /* the stretches go */
                        final = false;
                        empty<Key>(state, table, out);
                }
        }
        drain<Key>(state, *table, out, final);
}

/* One block per task, or fewer blocks that loop over the tasks. */
template <class Key, class Table>
static __global__ void __launch_bounds__(THREADS, Table::MIN_BLOCKS)
        count_bins_kernel(kc_table_setup setup, struct kc_tasks_in in, uint32_t ntasks,
                          kc_pairs_out<Key> out)
{
        extern __shared__ uint4 dynamic[];
        __shared__ block_state<Key> state;
        Table table(setup, dynamic);
        if constexpr (refers<Table>)
                table.refer(&state.records, in.k, in.stranded);
        load_chunks(&state, in);
        for (uint32_t t = blockIdx.x; t < ntasks; t += gridDim.x) {
                const kc_task task = in.tasks[t];
                count_task<Key>(&table, &state, task, in, out);
                __syncthreads();
        }
}

/* ---- launching ---- */

template <class Key, class Table>
static enum kc_status launch(struct kc_gpu *gpu, const kc_table_setup *setup,
                             const struct kc_tasks_in *in, size_t ntasks,
                             const kc_pairs_out<Key> *out, struct kc_error *err)
{
        static_assert(sizeof(block_state<Key>) +
                                      Table::shared_nbytes({ Table::CAPACITY, NULL, 0 }) <=
                              KC_GPU_BLOCK_SHARED_NBYTES,
                      "a block has enough shared memory on every device");
        enum kc_status status;
        const size_t shared = Table::shared_nbytes(*setup);
        const bool few = Table::ARENA_NBYTES != 0 && setup->capacity < ntasks;
        const size_t nblocks = few ? setup->capacity : ntasks;
        KC_TRY(KC_CUDA(cudaFuncSetAttribute(count_bins_kernel<Key, Table>,
                                            cudaFuncAttributeMaxDynamicSharedMemorySize,
                                            (int)shared)));
        count_bins_kernel<Key, Table><<<(unsigned)nblocks, THREADS, shared, gpu->stream>>>(
                *setup, *in, (uint32_t)ntasks, *out);
        KC_TRY(KC_LAUNCHED());
out:
        return status;
}

template <class Key>
enum kc_status kc_count_tasks(struct kc_gpu *gpu, enum kc_gpu_table kind,
                              const kc_table_setup *setup, const struct kc_tasks_in *in,
                              size_t first, size_t last, const kc_pairs_out<Key> *out,
                              struct kc_error *err)
{
        const size_t n = last - first;
        struct kc_tasks_in these = *in;
        if (n == 0)
                return KC_OK;
        these.tasks += first;
        return kc_table_choose<Key>(kind, [&](auto type) {
                using Table = typename decltype(type)::type;
                return launch<Key, Table>(gpu, setup, &these, n, out, err);
        });
}

template <class Key>
void kc_count_tables_plan(const struct kc_gpu *gpu, enum kc_gpu_table kind, kc_table_setup *setup,
                          size_t *arena_nbytes)
{
        *setup = kc_table_choose<Key>(kind, [&](auto type) {
                using Table = typename decltype(type)::type;
                const uint32_t narenas =
                        std::min(4 * (uint32_t)gpu->nmultiprocessors, (uint32_t)Table::MAX_ARENAS);
                const uint32_t capacity = Table::ARENA_NBYTES != 0 ? narenas : Table::CAPACITY;
                return kc_table_setup{ capacity, NULL, Table::ARENA_NBYTES };
        });
        *arena_nbytes = setup->capacity * setup->arena_nbytes;
}

#define INSTANTIATE(Key) \
        template enum kc_status kc_count_tasks<Key>(struct kc_gpu *, enum kc_gpu_table, \
                                                    const kc_table_setup *, \
                                                    const struct kc_tasks_in *, size_t, size_t, \
                                                    const kc_pairs_out<Key> *, struct kc_error *); \
        template void kc_count_tables_plan<Key>(const struct kc_gpu *, enum kc_gpu_table, \
                                                kc_table_setup *, size_t *);
KC_GPU_KEYS(INSTANTIATE)
