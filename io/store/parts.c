#include "io/store/parts.h"

#include "base/parallel.h"

#include <pthread.h>
#include <stdlib.h>

enum { MAX_PARTS = 1 << 20 };

/* ---- the parts ---- */

struct kc_parts {
        struct kc_job *job;
        const struct kc_parts_work *work;
        int nwords;
        uint64_t *bounds; /* part p is [bounds[p - 1], bounds[p]) */
        size_t nbounds;
        atomic_size_t next;
        atomic_bool stop;
};

static void set_range(const struct kc_parts *p, struct kc_part *part)
{
        const uint64_t *bound = p->bounds + part->number * (size_t)p->nwords;
        part->from = part->number == 0 ? NULL : bound - p->nwords;
        part->to = part->number < p->nbounds ? part->last : NULL;
        if (part->to != NULL)
                kc_kmer_decrement(bound, p->nwords, part->last);
}

enum kc_status kc_parts_next(struct kc_parts *p, struct kc_part *part, bool *found,
                             struct kc_error *err)
{
        *found = false;
        if (part->is_given)
                kc_job_advance(p->job, 1);
        part->is_given = false;
        if (atomic_load(&p->stop))
                return KC_OK;
        part->number = atomic_fetch_add(&p->next, 1);
        if (part->number > p->nbounds)
                return KC_OK;
        if (kc_job_is_canceled(p->job))
                return kc_fail(err, KC_ECANCELED, "canceled");
        set_range(p, part);
        part->is_given = *found = true;
        return KC_OK;
}

static enum kc_status run_work(void *ctx, int worker, struct kc_error *err)
{
        struct kc_parts *p = ctx;
        return p->work->run(p->work->ctx, worker, p, err);
}

static void stop(void *ctx)
{
        struct kc_parts *p = ctx;
        atomic_store(&p->stop, true);
        if (p->work->cancel != NULL)
                p->work->cancel(p->work->ctx);
}

static uint64_t count_pairs(struct kc_store *const *stores, size_t nstores)
{
        return kc_set_npairs(&(struct kc_set){ .stores = stores, .nstores = nstores });
}

enum kc_status kc_parts_run(struct kc_store *const *stores, size_t nstores, int nthreads,
                            struct kc_job *job, const struct kc_parts_work *work,
                            struct kc_error *err)
{
        struct kc_parts p = { .job = job, .work = work, .nwords = stores[0]->nwords };
        uint64_t nparts = count_pairs(stores, nstores) / kc_part_nkmers(p.nwords) + 1;
        if (nparts > MAX_PARTS)
                nparts = MAX_PARTS;
        enum kc_status status;
        KC_TRY(kc_stores_split(stores, nstores, NULL, NULL, nparts, &p.bounds, &p.nbounds, err));
        kc_job_expect(job, p.nbounds + 1);
        if ((size_t)nthreads > p.nbounds + 1)
                nthreads = (int)p.nbounds + 1;
        status = kc_parallel(nthreads, run_work, stop, &p, err);
out:
        free(p.bounds);
        return status;
}

/* ---- merging ---- */

struct merging {
        const struct kc_set *set;
        const struct kc_parts_taker *taker;
        pthread_mutex_t lock;
        struct kc_join_totals totals; /* guarded by lock */
};

static enum kc_status merge_part(const struct merging *m, struct kc_merge *merge, int worker,
                                 const struct kc_part *part, struct kc_error *err)
{
        const struct kc_parts_taker *taker = m->taker;
        enum kc_status status;
        const uint64_t *kmers;
        const uint32_t *counts;
        size_t n;
        KC_TRY(kc_merge_range(merge, part->from, part->to, err));
        do {
                KC_TRY(kc_merge_next(merge, &kmers, &counts, &n, err));
                KC_TRY(taker->take(taker->ctx, worker, part->number, n == 0, kmers, counts, n,
                                   err));
        } while (n > 0);
out:
        return status;
}

static void add_totals(struct merging *m, const struct kc_join_totals *t)
{
        pthread_mutex_lock(&m->lock);
        m->totals.nread += t->nread;
        m->totals.nkept += t->nkept;
        m->totals.nsaturated += t->nsaturated;
        m->totals.nremoved += t->nremoved;
        m->totals.ndropped_distinct += t->ndropped_distinct;
        pthread_mutex_unlock(&m->lock);
}

static enum kc_status merge_parts(void *ctx, int worker, struct kc_parts *parts,
                                  struct kc_error *err)
{
        struct merging *m = ctx;
        struct kc_merge *merge = NULL;
        struct kc_part part = { 0 };
        bool found;
        enum kc_status status;
        KC_TRY(kc_merge_open(&merge, m->set, err));
        for (;;) {
                KC_TRY(kc_parts_next(parts, &part, &found, err));
                if (!found)
                        break;
                KC_TRY(merge_part(m, merge, worker, &part, err));
        }
        add_totals(m, kc_merge_get_totals(merge));
out:
        kc_merge_close(merge);
        return status;
}

static void cancel_taker(void *ctx)
{
        const struct merging *m = ctx;
        if (m->taker->cancel != NULL)
                m->taker->cancel(m->taker->ctx);
}

enum kc_status kc_parts_merge(const struct kc_set *set, int nthreads, struct kc_job *job,
                              const struct kc_parts_taker *taker, struct kc_join_totals *totals,
                              struct kc_error *err)
{
        struct merging m = { .set = set, .taker = taker };
        const struct kc_parts_work work = { .ctx = &m, .run = merge_parts, .cancel = cancel_taker };
        pthread_mutex_init(&m.lock, NULL);
        const enum kc_status status =
                kc_parts_run(set->stores, set->nstores, nthreads, job, &work, err);
        pthread_mutex_destroy(&m.lock);
        *totals = m.totals;
        return status;
}
