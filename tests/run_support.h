/*
 * A sink that keeps the run it is given, for the tests of the engines. To be included after
 * cmocka.h.
 */
#ifndef KC_TESTS_RUN_SUPPORT_H
#define KC_TESTS_RUN_SUPPORT_H

#include "kmer/run.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* K-mers, nwords words each, and their counts. */
struct pairs {
        uint64_t *kmers;
        uint32_t *counts;
        size_t n;
        bool last;
};

/* Zeroed except for nwords and fail_at: an empty run, whose sink keeps all pairs. */
struct run {
        struct kc_run_filter filter; /* of the sink; max_count 0: keep all */
        struct kc_run_dropped dropped;
        struct pairs *parts;
        size_t nparts;
        int nwords;
        uint64_t first_expected, last_expected; /* pairs announced; 0: none */
        atomic_flag lock;
        atomic_int ncanceled, ncalls;
        int fail_at; /* number of the call that fails; -1: none */
};

static inline struct pairs *run_part(struct run *run, uint64_t part)
{
        if (part >= run->nparts) {
                run->parts = realloc(run->parts, (part + 1) * sizeof *run->parts);
                memset(run->parts + run->nparts, 0, (part + 1 - run->nparts) * sizeof *run->parts);
                run->nparts = part + 1;
        }
        return &run->parts[part];
}

static inline enum kc_status run_put(void *ctx, const struct kc_run_pairs *in, struct kc_error *err)
{
        struct run *run = ctx;
        const size_t nwords = (size_t)run->nwords, n = in->n;
        if (atomic_fetch_add(&run->ncalls, 1) == run->fail_at)
                return kc_fail(err, KC_EIO, "the sink is full");
        while (atomic_flag_test_and_set(&run->lock))
                ;
        struct pairs *part = run_part(run, in->part);
        assert_false(part->last);
        part->kmers = realloc(part->kmers, (part->n + n) * nwords * sizeof *in->kmers + 1);
        part->counts = realloc(part->counts, (part->n + n) * sizeof *in->counts + 1);
        if (n > 0) {
                memcpy(part->kmers + part->n * nwords, in->kmers, n * nwords * sizeof *in->kmers);
                memcpy(part->counts + part->n, in->counts, n * sizeof *in->counts);
        }
        part->n += n;
        kc_run_add_dropped(&run->dropped, &in->dropped);
        part->last = in->last;
        atomic_flag_clear(&run->lock);
        return KC_OK;
}

static inline void run_expect(void *ctx, uint64_t npairs)
{
        struct run *run = ctx;
        assert_int_equal(run->nparts, 0);
        if (run->first_expected == 0)
                run->first_expected = npairs;
        run->last_expected = npairs;
}

static inline void run_cancel(void *ctx)
{
        struct run *run = ctx;
        atomic_fetch_add(&run->ncanceled, 1);
}

/* All parts joined; the caller frees the result. */
static inline struct pairs run_join(const struct run *run)
{
        struct pairs all = { 0 };
        size_t nwords = (size_t)run->nwords;
        for (size_t i = 0; i < run->nparts; i++) {
                assert_true(run->parts[i].last);
                all.n += run->parts[i].n;
        }
        all.kmers = malloc(all.n * nwords * sizeof *all.kmers + 1);
        all.counts = malloc(all.n * sizeof *all.counts + 1);
        all.n = 0;
        for (size_t i = 0; i < run->nparts; i++) {
                const struct pairs *p = &run->parts[i];
                memcpy(all.kmers + all.n * nwords, p->kmers, p->n * nwords * sizeof *p->kmers);
                memcpy(all.counts + all.n, p->counts, p->n * sizeof *p->counts);
                all.n += p->n;
        }
        return all;
}

static inline void pairs_free(struct pairs *pairs)
{
        free(pairs->kmers);
        free(pairs->counts);
}

static inline void run_free(struct run *run)
{
        for (size_t i = 0; i < run->nparts; i++)
                pairs_free(&run->parts[i]);
        free(run->parts);
        run->parts = NULL;
        run->nparts = 0;
}

static inline struct kc_run_sink run_sink(struct run *run)
{
        const struct kc_run_filter all = { 1, UINT32_MAX };
        return (struct kc_run_sink){ .ctx = run,
                                     .filter = run->filter.max_count != 0 ? run->filter : all,
                                     .put = run_put,
                                     .expect = run_expect,
                                     .cancel = run_cancel };
}

#endif
