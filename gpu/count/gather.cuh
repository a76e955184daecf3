/*
 * What a block does with the records of a task before it makes k-mers: it gathers the stretches
 * that they point to in a fold, and divides those among its warps.
 */
#ifndef KC_GPU_COUNT_GATHER_CUH
#define KC_GPU_COUNT_GATHER_CUH

#include "gpu/count/bins.cuh"
#include "gpu/count/tables.cuh"

enum {
        WARP = 32,
        THREADS = 256, /* of a block */
        WARPS = THREADS / WARP,
        NCHUNKS = 256, /* chunks whose addresses are in shared memory: the first 34 Gbases */
};

/* In shared memory. */
template <class Key> struct kc_gather {
        kc_table_fold<Key> records;
        kc_expander<Key> expanders[WARPS];
        const uint64_t *chunks[NCHUNKS]; /* words of the first chunks */
};

/* Keep the addresses of chunks in shared memory: in device memory they are often displaced from the
 * cache by the bases. */
template <class Key>
__device__ static void kc_gather_open(kc_gather<Key> *g, const struct kc_tasks_in &in)
{
        for (uint32_t i = threadIdx.x; i < min(in.nchunks, (uint32_t)NCHUNKS); i += THREADS)
                g->chunks[i] = in.chunks[i].words;
}

template <class Key>
__device__ static kc_stretch<Key> kc_gather_read(const kc_gather<Key> *g,
                                                 const struct kc_tasks_in &in, uint64_t record)
{
        const uint32_t chunk = kc_record_chunk(record, in.form);
        const uint64_t *words = chunk < min(in.nchunks, (uint32_t)NCHUNKS) ? g->chunks[chunk]
                                                                           : in.chunks[chunk].words;
        return kc_stretch_read<Key>(words, record, in.form.position_bits, in.k, in.stranded);
}

/* ---- the records of a task ---- */

/* A thread's progress through them. */
struct kc_records_walk {
        const uint64_t *records; /* of the task */
        uint32_t next, n;
        uint64_t record; /* number `next`, read ahead */
};

__device__ static inline void kc_records_ahead(kc_records_walk *w)
{
        if (w->next < w->n)
                w->record = __ldcs(&w->records[w->next]);
}

__device__ static inline kc_records_walk kc_records_begin(const struct kc_tasks_in &in,
                                                          const kc_task &task)
{
        kc_records_walk w = { in.records + task.first, threadIdx.x, task.n, 0 };
        kc_records_ahead(&w);
        return w;
}

/* Fill the fold, which is emptied first, with each thread's next records, until all are in or there
 * is no room. For the whole block, which is synchronized afterwards. */
template <class Key>
__device__ static void kc_gather_fold(kc_gather<Key> *g, kc_records_walk *w,
                                      const struct kc_tasks_in &in)
{
        g->records.clear();
        __syncthreads();
        while (w->next < w->n && g->records.add(kc_gather_read<Key>(g, in, w->record))) {
                w->next += THREADS;
                kc_records_ahead(w);
        }
        __syncthreads();
}

/* Whether a thread of the block has records left. For the whole block. */
__device__ static inline bool kc_records_left(const kc_records_walk *w)
{
        return __syncthreads_or(w->next < w->n);
}

/* ---- the k-mers of the fold ---- */

/* The part of the fold that a warp takes, up to 32 stretches. */
struct kc_fold_part {
        uint32_t first; /* number of its first stretch */
        uint32_t nkmers;
};

/* Divide the stretches evenly, so that no warp waits long for the others. */
template <class Key> __device__ static kc_fold_part kc_gather_part(kc_gather<Key> *g)
{
        static_assert(kc_table_fold<Key>::MAX_SIZE <= WARP * WARPS,
                      "a lane has one stretch at most");
        const kc_table_fold<Key> *f = &g->records;
        const uint32_t lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
        const uint32_t nstretches = f->size(), each = (nstretches + WARPS - 1) / WARPS;
        const uint32_t first = warp * each, mine = first + lane;
        const bool has_one = lane < each && mine < nstretches;
        const uint32_t nkmers = has_one ? kc_stretch_nkmers(&f->stretches[mine]) : 0;
        return { first, kc_expand_begin(&g->expanders[warp], nkmers) };
}

/* A k-mer of the fold. */
template <class Key> struct kc_fold_kmer {
        Key packed;                      /* with arbitrary bits above the bases */
        uint32_t number, offset, weight; /* of its stretch; of the k-mer in it; of the stretch */
};

/* The k-mers that the lanes of a warp have in a round; call it for rounds in order from 0. owners:
 * see kc_expand. A lane past the last k-mer has one that it must not use. */
template <class Key>
__device__ static kc_fold_kmer<Key> kc_gather_kmer(const kc_gather<Key> *g, const kc_fold_part &s,
                                                   uint32_t round, uint32_t *owners)
{
        kc_place place = kc_expand(&g->expanders[threadIdx.x / WARP], round, owners);
        if (round * WARP + threadIdx.x % WARP >= s.nkmers)
                place.offset = 0;
        const uint32_t number = s.first + place.owner;
        const uint32_t *bases = (const uint32_t *)g->records.stretches[number].words;
        return { kc_cut_bases(bases, place.offset, Key()), number, place.offset,
                 g->records.weights[number] };
}

#endif
