/*
 * The k-mers of one file with their counts in two: each thread walks parts of the key space in both
 * files, side by side.
 */
#include "io/joint.h"

#include "io/store/part_buffer.h"
#include "io/store/parts.h"

#include <stdatomic.h>

struct pairing {
        struct kc_store *stores[2];
        int nwords;
        const struct kc_run_sink *sink;
        _Atomic uint64_t sum, nread;
};

/* A file, as a thread walks it. */
struct pair_side {
        struct kc_merge *merge;
        const uint64_t *kmers;
        const uint32_t *counts;
        size_t n; /* left in the batch; 0: the range has ended */
};

static enum kc_status side_open(struct pair_side *side, struct kc_store *const *store,
                                struct kc_error *err)
{
        const struct kc_set set = kc_set_of_one(store);
        return kc_merge_open(&side->merge, &set, err);
}

static enum kc_status side_next(struct pair_side *side, struct kc_error *err)
{
        return kc_merge_next(side->merge, &side->kmers, &side->counts, &side->n, err);
}

static enum kc_status side_range(struct pair_side *side, const struct kc_part *part,
                                 struct kc_error *err)
{
        enum kc_status status = kc_merge_range(side->merge, part->from, part->to, err);
        return status == KC_OK ? side_next(side, err) : status;
}

/* Go to the first k-mer that is not below this one, and give its count, or 0 if it is another. */
static inline enum kc_status side_to(struct pair_side *side, const uint64_t *kmer, int nwords,
                                     uint32_t *count, struct kc_error *err)
{
        int order = 1;
        while (side->n > 0 && (order = kc_kmer_compare(side->kmers, kmer, nwords)) < 0) {
                side->kmers += nwords;
                side->counts++;
                if (--side->n > 0)
                        continue;
                const enum kc_status status = side_next(side, err);
                if (status != KC_OK)
                        return status;
        }
        *count = side->n > 0 && order == 0 ? *side->counts : 0;
        return KC_OK;
}

struct pair_walker {
        struct pair_side sides[2];
        struct kc_part_buffer buffer;
};

/* Pair the batch that the second side has. */
static enum kc_status pair_batch(struct pairing *p, struct pair_walker *w, uint64_t part,
                                 struct kc_error *err)
{
        uint32_t pairs[KC_BLOCK_NKMERS];
        const struct pair_side *second = &w->sides[1];
        uint64_t sum = 0;
        enum kc_status status = KC_OK;
        for (size_t i = 0; i < second->n; i++) {
                uint32_t count;
                const uint64_t *kmer = second->kmers + i * (size_t)p->nwords;
                KC_TRY(side_to(&w->sides[0], kmer, p->nwords, &count, err));
                pairs[i] = kc_pair_of(count, second->counts[i]);
                sum += pairs[i];
        }
        atomic_fetch_add(&p->sum, sum);
        status =
                kc_part_buffer_add(&w->buffer, p->sink, part, second->kmers, pairs, second->n, err);
out:
        return status;
}

static enum kc_status pair_part(struct pairing *p, struct pair_walker *w,
                                const struct kc_part *part, struct kc_error *err)
{
        struct pair_side *first = &w->sides[0], *second = &w->sides[1];
        enum kc_status status;
        KC_TRY(side_range(first, part, err));
        KC_TRY(side_range(second, part, err));
        while (second->n > 0) {
                KC_TRY(pair_batch(p, w, part->number, err));
                KC_TRY(side_next(second, err));
        }
        while (first->n > 0) /* what was read is compared with the footer */
                KC_TRY(side_next(first, err));
        status = kc_part_buffer_end(&w->buffer, p->sink, part->number, err);
out:
        return status;
}

static enum kc_status pair_parts(void *ctx, int worker, struct kc_parts *parts,
                                 struct kc_error *err)
{
        (void)worker;
        struct pairing *p = ctx;
        struct pair_walker w = { 0 };
        struct kc_part part = { 0 };
        bool found = true;
        enum kc_status status;
        KC_TRY(kc_part_buffer_init(&w.buffer, p->nwords, err));
        for (int i = 0; i < 2; i++)
                KC_TRY(side_open(&w.sides[i], &p->stores[i], err));
        for (;;) {
                KC_TRY(kc_parts_next(parts, &part, &found, err));
                if (!found)
                        break;
                KC_TRY(pair_part(p, &w, &part, err));
        }
        for (int i = 0; i < 2; i++)
                atomic_fetch_add(&p->nread, kc_merge_get_totals(w.sides[i].merge)->nread);
out:
        for (int i = 0; i < 2; i++)
                kc_merge_close(w.sides[i].merge);
        kc_part_buffer_free(&w.buffer);
        return status;
}

static void cancel(void *ctx)
{
        const struct pairing *p = ctx;
        p->sink->cancel(p->sink->ctx);
}

enum kc_status kc_store_pairs(struct kc_store *first, struct kc_store *second, int nthreads,
                              struct kc_job *job, const struct kc_run_sink *sink, uint64_t *sum,
                              struct kc_error *err)
{
        struct pairing p = { .stores = { first, second }, .nwords = first->nwords, .sink = sink };
        const struct kc_parts_work work = { .ctx = &p, .run = pair_parts, .cancel = cancel };
        const struct kc_set set = { .stores = p.stores, .nstores = 2 };
        enum kc_status status;
        KC_TRY(kc_set_check(&set, err));
        KC_TRY(kc_parts_run(p.stores, 2, nthreads, job, &work, err));
        KC_TRY(kc_stores_check_read(p.stores, 2, p.nread, err));
        *sum = p.sum;
out:
        return status;
}
