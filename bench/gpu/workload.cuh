/*
 * The reads of the device's benchmarks, made on the device: a random genome without repeats, reads
 * of one length from either strand, with substitutions. A read depends only on its number.
 *
 * The genome is never stored: a base is two bits of a hash of its position.
 */
#ifndef KC_BENCH_WORKLOAD_CUH
#define KC_BENCH_WORKLOAD_CUH

#include "gpu/device/context.cuh"
#include "gpu/device/key.cuh"
#include "gpu/kept/kept.cuh"
#include "tests/random.h"

struct workload {
        uint64_t genome_nbases, nreads, seed;
        uint32_t length;    /* of a read */
        uint32_t error_q32; /* probability of a substitution, in units of 2^-32 */
};

enum { WORKLOAD_READ_NBASES = 150 };

/* Reads of usual length with 0.5 % substitutions. */
static inline struct workload workload_of(uint64_t genome_nbases, double coverage)
{
        struct workload w = {};
        w.genome_nbases = genome_nbases;
        w.nreads = (uint64_t)((double)genome_nbases * coverage / WORKLOAD_READ_NBASES);
        w.seed = 1;
        w.length = WORKLOAD_READ_NBASES;
        w.error_q32 = (uint32_t)(0.005 * 4294967296.0);
        return w;
}

static inline size_t workload_words_per_read(const struct workload *w)
{
        return (w->length + 31) / 32;
}

/* A read gives this many spans, all of nearly the same length. */
static inline uint32_t workload_spans_per_read(const struct workload *w, int k)
{
        return (w->length - (uint32_t)k + KC_SPAN_NKMERS) / KC_SPAN_NKMERS;
}

static inline uint64_t workload_nkmers(const struct workload *w, int k)
{
        return w->nreads * (w->length - (uint32_t)k + 1);
}

/* Bytes of the reads as they are kept. */
static inline uint64_t workload_nbytes(const struct workload *w, int k)
{
        return w->nreads * w->length / 4 + w->nreads * workload_spans_per_read(w, k) *
                                                   sizeof(struct kc_span_group) / KC_GROUP_NSPANS;
}

KC_HD uint32_t workload_genome(const struct workload *w, uint64_t position)
{
        uint64_t bases = random_mix(w->seed + (position / 32 + 1) * UINT64_C(0x632be59bd9b4e019));
        return (uint32_t)(bases >> 2 * (position % 32)) & 3;
}

/* Write read `number`, packed as in kmer/batch.h, to words [workload_words_per_read]. */
KC_HD void workload_read(const struct workload *w, uint64_t number, uint64_t *words)
{
        uint64_t state = random_mix(~w->seed) + number * UINT64_C(0xd6e8feb86659fd93);
        uint64_t start = next_random(&state) % (w->genome_nbases - w->length + 1);
        bool reverse = next_random(&state) & 1;
        uint64_t word = 0;
        for (uint32_t i = 0; i < w->length; i++) {
                uint32_t base = reverse ? 3 ^ workload_genome(w, start + w->length - 1 - i)
                                        : workload_genome(w, start + i);
                uint64_t luck = next_random(&state);
                if ((uint32_t)luck < w->error_q32)
                        base = base + 1 + (uint32_t)(luck >> 32) % 3;
                word |= (uint64_t)(base & 3) << 2 * (i % 32);
                if (i % 32 == 31 || i + 1 == w->length) {
                        *words++ = word;
                        word = 0;
                }
        }
}

/* Span `number` of all reads. */
KC_HD struct kc_span workload_span(uint64_t number, uint32_t nkmers_per_read,
                                   uint32_t spans_per_read, uint32_t words_per_read)
{
        uint64_t read = number / spans_per_read;
        uint32_t nth = (uint32_t)(number % spans_per_read);
        uint32_t from = nkmers_per_read * nth / spans_per_read;
        uint32_t to = nkmers_per_read * (nth + 1) / spans_per_read;
        struct kc_span span = {};
        span.word = (uint32_t)(read * words_per_read + from / 32);
        span.base = from & 31;
        span.ends = nth + 1 == spans_per_read;
        span.nkmers = (uint8_t)(to - from);
        return span;
}

/*
 * Make the reads in device memory, with spans for k-mers. Release with workload_free, which also
 * accepts zeroed reads. KC_EUSAGE if there are too many words.
 */
enum kc_status workload_new(struct kc_gpu *gpu, const struct workload *w, int k,
                            struct kc_gpu_reads *reads, struct kc_error *err);
void workload_free(struct kc_gpu *gpu, struct kc_gpu_reads *reads);

/* Keep reads first .. first + n - 1 on the device, cut into super-k-mers for keys of type Key. Free
 * with kc_gpu_kept_free. */
template <class Key>
enum kc_status workload_keep(struct kc_gpu *gpu, const struct workload *w, int k,
                             const struct kc_gpu_reads *reads, uint64_t first, uint64_t n,
                             struct kc_gpu_kept **kept, struct kc_error *err);

/* Write the first n k-mers of the reads, with repeats, to kmers, [n] on the device. */
template <class Key>
enum kc_status workload_kmers(struct kc_gpu *gpu, const struct workload *w,
                              const struct kc_gpu_reads *reads, int k, uint64_t n, Key *kmers,
                              struct kc_error *err);

/* What counting must preserve. All but ndistinct may be summed over runs. */
enum { WORKLOAD_NTOTALS = 4 };

struct workload_totals {
        uint64_t hash_sum;    /* of kc_key_hash, times the count */
        uint64_t ndistinct;   /* k-mers unlike their predecessor */
        uint64_t nkmers;      /* sum of counts */
        uint64_t ndisordered; /* k-mers below their predecessor: none in a run */
};

/* Add the totals of n k-mers; counts may be NULL: 1 each. */
template <class Key>
enum kc_status workload_add_totals(struct kc_gpu *gpu, const Key *kmers, const uint32_t *counts,
                                   uint64_t n, struct workload_totals *totals,
                                   struct kc_error *err);

/* The same in another way: all single k-mers of the reads, sorted with CUB. Takes two keys of
 * device memory per k-mer. */
template <class Key>
enum kc_status workload_truth(struct kc_gpu *gpu, const struct workload *w,
                              const struct kc_gpu_reads *reads, int k,
                              struct workload_totals *totals, struct kc_error *err);

#endif
