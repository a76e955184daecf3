#include "io/store/parts.h"

#include "base/parallel.h"

#include <pthread.h>
#include <stdlib.h>

enum { MAX_PARTS = 1 << 20 };

struct parts {
        const struct kc_set *set;
        struct kc_job *job;
        const struct kc_parts_taker *taker;
        uint64_t *bounds; /* part p is [bounds[p - 1], bounds[p]) */
        size_t nbounds;
        atomic_size_t next;
        atomic_bool stop;
        pthread_mutex_t lock;
        struct kc_join_totals totals; /* guarded by lock */
};

static enum kc_status set_part_range(const struct parts *p, struct kc_merge *merge, size_t part,
                                     uint64_t *to, struct kc_error *err)
{
        const int nwords = p->set->stores[0]->nwords;
        const uint64_t *bound = p->bounds + part * (size_t)nwords;
        if (part < p->nbounds)
                kc_kmer_decrement(bound, nwords, to);
        return kc_merge_range(merge, part == 0 ? NULL : bound - nwords,
                              part < p->nbounds ? to : NULL, err);
}

static enum kc_status merge_part(struct parts *p, struct kc_merge *merge, int worker, size_t part,
                                 struct kc_error *err)
{
        enum kc_status status;
        uint64_t to[KC_MAX_WORDS];
        const uint64_t *kmers;
        const uint32_t *counts;
        size_t n;
        KC_TRY(set_part_range(p, merge, part, to, err));
        do {
                KC_TRY(kc_merge_next(merge, &kmers, &counts, &n, err));
                KC_TRY(p->taker->take(p->taker->ctx, worker, part, n == 0, kmers, counts, n, err));
        } while (n > 0);
out:
        return status;
}

static void add_totals(struct parts *p, const struct kc_join_totals *t)
{
        pthread_mutex_lock(&p->lock);
        p->totals.nread += t->nread;
        p->totals.nkept += t->nkept;
        p->totals.nsaturated += t->nsaturated;
        p->totals.nremoved += t->nremoved;
        p->totals.ndropped_distinct += t->ndropped_distinct;
        pthread_mutex_unlock(&p->lock);
}

static enum kc_status merge_parts(void *ctx, int worker, struct kc_error *err)
{
        struct parts *p = ctx;
        struct kc_merge *merge = NULL;
        enum kc_status status;
        KC_TRY(kc_merge_open(&merge, p->set, err));
        while (!atomic_load(&p->stop)) {
                size_t part = atomic_fetch_add(&p->next, 1);
                if (part > p->nbounds)
                        break;
                if (kc_job_is_canceled(p->job)) {
                        status = kc_fail(err, KC_ECANCELED, "canceled");
                        goto out;
                }
                KC_TRY(merge_part(p, merge, worker, part, err));
                kc_job_advance(p->job, 1);
        }
        add_totals(p, kc_merge_get_totals(merge));
out:
        kc_merge_close(merge);
        return status;
}

static void stop(void *ctx)
{
        struct parts *p = ctx;
        atomic_store(&p->stop, true);
        if (p->taker->cancel != NULL)
                p->taker->cancel(p->taker->ctx);
}

enum kc_status kc_parts_merge(const struct kc_set *set, int nthreads, struct kc_job *job,
                              const struct kc_parts_taker *taker, struct kc_join_totals *totals,
                              struct kc_error *err)
{
        struct parts p = { .set = set, .job = job, .taker = taker };
        uint64_t nparts = kc_set_npairs(set) / kc_part_nkmers(set->stores[0]->nwords) + 1;
        if (nparts > MAX_PARTS)
                nparts = MAX_PARTS;
        enum kc_status status;
        KC_TRY(kc_stores_split(set->stores, set->nstores, NULL, NULL, nparts, &p.bounds, &p.nbounds,
                               err));
        kc_job_expect(job, p.nbounds + 1);
        if ((size_t)nthreads > p.nbounds + 1)
                nthreads = (int)p.nbounds + 1;
        pthread_mutex_init(&p.lock, NULL);
        status = kc_parallel(nthreads, merge_parts, stop, &p, err);
        pthread_mutex_destroy(&p.lock);
        *totals = p.totals;
out:
        free(p.bounds);
        return status;
}
