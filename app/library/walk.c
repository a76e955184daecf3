/* Walks with several threads, for callers of the library. */
#include "app/library/library.h"
#include "app/library/machine.h"
#include "app/library/walking.h"
#include "app/library/working.h"

enum { MOST_NBYTES = 1 << 16 };

struct walk_call {
        struct kcount_counts *counts;
        struct kcount_walk_options options;
        size_t nbytes;
        kcount_convert *convert;
        kcount_deliver *deliver;
        void *ctx;
        struct kc_job job;
};

/* ctx: a struct walk_call. The callback sees k-mers in the order of words of kcount.h. */
static char *convert(void *ctx, const uint64_t *kmers, const uint32_t *counts, size_t n, char *to)
{
        enum { NTURNED = 128 };
        const struct walk_call *c = ctx;
        const int nwords = c->counts->nwords;
        uint64_t turned[NTURNED * KCOUNT_MAX_WORDS];
        if (nwords == 1)
                return c->convert(c->ctx, kmers, counts, n, to);
        for (size_t i = 0; i < n; i += NTURNED) {
                const size_t m = n - i < NTURNED ? n - i : NTURNED;
                kc_library_turn_words(kmers + i * (size_t)nwords, nwords, m, turned);
                to = c->convert(c->ctx, turned, counts + i, m, to);
        }
        return to;
}

/* ctx: a struct walk_call. */
static enum kc_status deliver(void *ctx, const char *data, size_t nbytes, struct kc_error *err)
{
        const struct walk_call *c = ctx;
        if (nbytes > 0 && !c->deliver(c->ctx, data, nbytes))
                return kc_fail(err, KC_ECANCELED, "the caller has given up");
        return KC_OK;
}

static const uint64_t *copy_bound(const struct walk_call *c, const uint64_t *bound, uint64_t *copy)
{
        if (bound == NULL)
                return NULL;
        kc_library_turn_words(bound, c->counts->nwords, 1, copy);
        return copy;
}

/* ctx: a struct walk_call. */
static enum kc_status work(void *ctx, struct kc_error *err)
{
        struct walk_call *c = ctx;
        const struct kcount_walk_options *o = &c->options;
        uint64_t from[KC_MAX_WORDS], to[KC_MAX_WORDS];
        const struct kc_walking walking = { .store = c->counts->store,
                                            .from = copy_bound(c, o->from, from),
                                            .to = copy_bound(c, o->to, to),
                                            .nthreads = kc_machine_nthreads((uint64_t)o->nthreads),
                                            .job = &c->job,
                                            .pair_nbytes = c->nbytes,
                                            .ctx = c,
                                            .convert = convert,
                                            .deliver = deliver };
        return kc_walking_run(&walking, err);
}

enum kcount_status kcount_walk(struct kcount_counts *counts, size_t nbytes,
                               kcount_convert *convert_some, kcount_deliver *deliver_some,
                               void *ctx, const struct kcount_walk_options *options,
                               struct kcount_error **error)
{
        struct walk_call c = { .counts = counts,
                               .options = KCOUNT_WALK_OPTIONS_INIT,
                               .nbytes = nbytes,
                               .convert = convert_some,
                               .deliver = deliver_some,
                               .ctx = ctx };
        struct kc_error err = { 0 };
        enum kc_status status;
        KC_TRY(kc_library_take_options(&c.options, sizeof c.options, &c.options.nthreads, options,
                                       "KCOUNT_WALK_OPTIONS_INIT", &err));
        if (nbytes < 1 || nbytes > MOST_NBYTES)
                KC_TRY(kc_fail(&err, KC_EUSAGE, "nbytes is %zu; it must be 1 to %d", nbytes,
                               MOST_NBYTES));
        const struct kc_working working = {
                &c, work, &c.job, NULL, c.options.progress, c.options.progress_ctx
        };
        KC_TRY(kc_working_run_stage(&working, "writing", &err));
out:
        return status == KC_OK ? KCOUNT_OK : kc_library_failed(&err, error);
}
