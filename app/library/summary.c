/*
 * Summaries of the counts along sequences, as `kcount profile` prints them. As many whole sequences
 * are asked for at a time as there is memory for their counts, and each thread tallies some of
 * them; or a part of a long one, and each thread tallies a part of that.
 */
#include "app/library/library.h"
#include "app/library/question.h"
#include "app/library/window_tally.h"
#include "base/parallel.h"

#include <stdlib.h>
#include <string.h>

enum { FEW = 1 << 15 }; /* k-mers; tallying them takes less time than starting threads */

struct summing {
        struct kcount_asker *asker;
        struct kc_library_asking asking;
        uint32_t min_count, max_count;
        uint32_t *found;                 /* [cap] */
        bool *valid;                     /* [cap] */
        struct kc_window_tally *tallies; /* [asking.nthreads] of each thread */

        const struct kcount_sequence *sequences; /* [n] that are asked for now */
        size_t n, nkmers;
        struct kcount_summary *summaries; /* [n] */
        size_t summary_nbytes;
};

static size_t nkmers_of(const struct summing *s, const struct kcount_sequence *sequence)
{
        return kc_question_count(s->asking.k, sequence, 1);
}

/* Add the counts of k-mers [from, from + n) that are valid. */
static enum kc_status tally(struct summing *s, struct kc_window_tally *tally, size_t from, size_t n,
                            struct kc_error *err)
{
        uint32_t *found = s->found + from;
        size_t nvalid = 0;
        for (size_t i = 0; i < n; i++) {
                found[nvalid] = found[i];
                nvalid += s->valid[from + i];
        }
        return kc_window_tally_add(tally, found, nvalid, err);
}

static void tell(const struct summing *s, struct kc_window_tally *tally,
                 struct kcount_summary *summary)
{
        const struct kc_ask_summary sums =
                kc_window_tally_summary(tally, s->min_count, s->max_count);
        struct kcount_summary all = { .size = summary->size,
                                      .nkmers = sums.nvalid,
                                      .nfound = sums.nfound,
                                      .total = sums.sum };
        if (sums.nvalid > 0) {
                uint64_t quarters[KC_WINDOW_TALLY_NQUARTILES];
                kc_window_tally_quartiles(tally, quarters);
                all.min = sums.min;
                all.max = sums.max;
                all.first_quartile = (double)quarters[0] / 4;
                all.median = (double)quarters[1] / 4;
                all.third_quartile = (double)quarters[2] / 4;
        }
        memcpy(summary, &all, summary->size < sizeof all ? summary->size : sizeof all);
}

static int nthreads_of(const struct summing *s)
{
        return s->nkmers > FEW ? s->asking.nthreads : 1;
}

/* ctx of this and the next: a struct summing. */
static enum kc_status tally_part(void *ctx, int worker, struct kc_error *err)
{
        struct summing *s = ctx;
        const size_t n = (size_t)nthreads_of(s), i = (size_t)worker;
        const size_t from = s->nkmers / n * i;
        const size_t to = i + 1 < n ? from + s->nkmers / n : s->nkmers;
        return tally(s, &s->tallies[worker], from, to - from, err);
}

/* The sequences that begin in the worker's part of the k-mers. */
static enum kc_status tally_sequences(void *ctx, int worker, struct kc_error *err)
{
        struct summing *s = ctx;
        struct kc_window_tally *own = &s->tallies[worker];
        const size_t n = (size_t)nthreads_of(s), part = s->nkmers / n + 1;
        enum kc_status status = KC_OK;
        for (size_t i = 0, from = 0, nhere; i < s->n; i++, from += nhere) {
                nhere = nkmers_of(s, &s->sequences[i]);
                if (from / part != (size_t)worker)
                        continue;
                kc_window_tally_clear(own);
                KC_TRY(tally(s, own, from, nhere, err));
                tell(s, own, (void *)((char *)s->summaries + i * s->summary_nbytes));
        }
out:
        return status;
}

/* Ask for the sequences, and let threads tally their counts. */
static enum kcount_status sum(struct summing *s,
                              enum kc_status (*work)(void *ctx, int worker, struct kc_error *err),
                              struct kcount_error **error)
{
        struct kc_error err = { 0 };
        const enum kcount_status status =
                kcount_ask_sequences(s->asker, s->sequences, s->n, s->found, s->valid, error);
        if (status != KCOUNT_OK)
                return status;
        return kc_parallel(nthreads_of(s), work, NULL, s, &err) == KC_OK
                       ? KCOUNT_OK
                       : kc_library_failed(&err, error);
}

/* A sequence of more k-mers than there is memory for. */
static enum kcount_status sum_long(struct summing *s, const struct kcount_sequence *sequence,
                                   struct kcount_summary *summary, struct kcount_error **error)
{
        const size_t nkmers = nkmers_of(s, sequence), most = s->asking.nkmers;
        const size_t overlap = (size_t)s->asking.k - 1;
        struct kcount_sequence part;
        struct kc_error err = { 0 };
        s->sequences = &part;
        s->n = 1;
        for (int i = 0; i < s->asking.nthreads; i++)
                kc_window_tally_clear(&s->tallies[i]);
        for (size_t at = 0; at < nkmers; at += s->nkmers) {
                s->nkmers = nkmers - at < most ? nkmers - at : most;
                part = (struct kcount_sequence){ sequence->bases + at, s->nkmers + overlap };
                const enum kcount_status status = sum(s, tally_part, error);
                if (status != KCOUNT_OK)
                        return status;
        }
        for (int i = 1; i < s->asking.nthreads; i++)
                if (kc_window_tally_join(&s->tallies[0], &s->tallies[i], &err) != KC_OK)
                        return kc_library_failed(&err, error);
        tell(s, &s->tallies[0], summary);
        return KCOUNT_OK;
}

/* Summarize all n sequences. */
static enum kcount_status sum_all(struct summing *s, const struct kcount_sequence *sequences,
                                  size_t n, struct kcount_summary *summaries,
                                  struct kcount_error **error)
{
        enum kcount_status status = KCOUNT_OK;
        for (size_t i = 0; i < n && status == KCOUNT_OK; i += s->n) {
                s->sequences = sequences + i;
                s->summaries = (void *)((char *)summaries + i * s->summary_nbytes);
                s->nkmers = 0;
                for (s->n = 0; i + s->n < n; s->n++) {
                        const size_t nhere = nkmers_of(s, &sequences[i + s->n]);
                        if (nhere > s->asking.nkmers - s->nkmers)
                                break;
                        s->nkmers += nhere;
                }
                status = s->n > 0 ? sum(s, tally_sequences, error)
                                  : sum_long(s, s->sequences, s->summaries, error);
        }
        return status;
}

/* Make room for the counts of what is asked for at a time. */
static enum kc_status reserve(struct summing *s, size_t nkmers, struct kc_error *err)
{
        const size_t most = nkmers < s->asking.nkmers ? nkmers : s->asking.nkmers;
        s->found = malloc((most + 1) * sizeof *s->found);
        s->valid = malloc(most + 1);
        s->tallies = calloc((size_t)s->asking.nthreads, sizeof *s->tallies);
        return s->found != NULL && s->valid != NULL && s->tallies != NULL
                       ? KC_OK
                       : kc_fail(err, KC_ENOMEM, "out of memory for the summary of a sequence");
}

enum kcount_status kcount_ask_summaries(struct kcount_asker *asker,
                                        const struct kcount_sequence *sequences, size_t n,
                                        uint32_t min_count, uint32_t max_count,
                                        struct kcount_summary *summaries,
                                        struct kcount_error **error)
{
        struct summing s = { .asker = asker,
                             .asking = kc_library_asking(asker),
                             .min_count = min_count,
                             .max_count = max_count,
                             .summary_nbytes = n > 0 ? summaries->size : 0 };
        struct kc_error err = { 0 };
        const size_t nkmers = kc_question_count(s.asking.k, sequences, n);
        const enum kcount_status status = reserve(&s, nkmers, &err) == KC_OK
                                                  ? sum_all(&s, sequences, n, summaries, error)
                                                  : kc_library_failed(&err, error);
        for (int i = 0; s.tallies != NULL && i < s.asking.nthreads; i++)
                kc_window_tally_free(&s.tallies[i]);
        free(s.tallies);
        free(s.found);
        free(s.valid);
        return status;
}

enum kcount_status kcount_ask_summary(struct kcount_asker *asker, const char *bases, size_t n,
                                      uint32_t min_count, uint32_t max_count,
                                      struct kcount_summary *summary, struct kcount_error **error)
{
        const struct kcount_sequence sequence = { bases, n };
        return kcount_ask_summaries(asker, &sequence, 1, min_count, max_count, summary, error);
}
