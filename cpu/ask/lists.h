/*
 * A thread's lists of k-mers, one for each part of the plan. k-mers gather in a line of eight
 * before they go to a chunk of their list, so that memory is written in whole lines of the cache.
 *
 * A list has chunks of the pool, all full but the last one. An answer takes less room than a k-mer,
 * so the answers to the k-mers of a chunk are written over them, one after the other.
 */
#ifndef KC_CPU_ASK_LISTS_H
#define KC_CPU_ASK_LISTS_H

#include "cpu/ask/plan.h"
#include "cpu/ask/pool.h"

enum { KC_ASK_LINE_NKMERS = 8 };

struct kc_ask_lists {
        const struct kc_ask_plan *plan;
        struct kc_ask_pool *pool;
        struct kc_ask_holder *holder;
        uint32_t chunk_nkmers;       /* in a full chunk */
        uintptr_t full_at;           /* where its last line ends */
        uint64_t *lines;             /* [nparts * KC_ASK_LINE_NKMERS * nwords], aligned to a line */
        uint32_t *n;                 /* [nparts] k-mers of each list */
        struct kc_ask_chunk **first; /* [nparts] */
        uint8_t **tail;        /* [nparts] where the next line goes; NULL: there is no chunk */
        const uint32_t **next; /* [nparts] the next answer to read */
};

/* k-mers that fit into a chunk. */
uint32_t kc_ask_chunk_nkmers(size_t chunk_nbytes, int nwords);

/* Bytes that the lists of one thread take without their chunks. */
size_t kc_ask_lists_nbytes(const struct kc_ask_plan *plan);

/* To be freed in any case. The pool, the plan and the holder must outlive the lists. KC_ENOMEM. */
enum kc_status kc_ask_lists_init(struct kc_ask_lists *lists, const struct kc_ask_plan *plan,
                                 struct kc_ask_pool *pool, struct kc_ask_holder *holder,
                                 struct kc_error *err);
void kc_ask_lists_free(struct kc_ask_lists *lists);

/* Forget all k-mers; the holder releases the chunks. */
void kc_ask_lists_clear(struct kc_ask_lists *lists);

/* Append k-mers to the lists that they belong to. KC_ENOMEM.
 *   parts  out [n] the list of each k-mer */
enum kc_status kc_ask_lists_append(struct kc_ask_lists *lists, const uint64_t *kmers, size_t n,
                                   uint16_t *parts, struct kc_error *err);

/* After the last append: put what is left in lines into chunks. KC_ENOMEM. */
enum kc_status kc_ask_lists_seal(struct kc_ask_lists *lists, struct kc_error *err);

/* After all answers have been written: read them, in the order of append. kc_ask_lists_rewind comes
 * first. */
void kc_ask_lists_rewind(struct kc_ask_lists *lists);
void kc_ask_lists_replay(struct kc_ask_lists *lists, const uint16_t *parts, size_t n,
                         uint32_t *counts);

#endif
