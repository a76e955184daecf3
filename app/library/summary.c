/* Summaries of the counts along sequences, as `kcount profile` prints them. */
#include "app/library/library.h"
#include "app/library/window_tally.h"

#include <stdlib.h>
#include <string.h>

enum { PIECE = 1 << 20 }; /* k-mers that are asked for at once */

struct summing {
        struct kcount_asker *asker;
        uint32_t *found; /* [PIECE] */
        bool *valid;     /* [PIECE] */
        struct kc_window_tally tally;
};

/* Add the counts of the n k-mers that begin at the bases. */
static enum kcount_status add_piece(struct summing *s, const char *bases, size_t n, size_t k,
                                    struct kcount_error **error)
{
        struct kc_error err = { 0 };
        size_t nvalid = 0;
        const enum kcount_status status =
                kcount_ask_sequence(s->asker, bases, n + k - 1, s->found, s->valid, error);
        if (status != KCOUNT_OK)
                return status;
        for (size_t i = 0; i < n; i++) {
                s->found[nvalid] = s->found[i];
                nvalid += s->valid[i];
        }
        if (kc_window_tally_add(&s->tally, s->found, nvalid, &err) != KC_OK)
                return kc_library_failed(&err, error);
        return KCOUNT_OK;
}

static void tell(struct summing *s, uint32_t min_count, uint32_t max_count,
                 struct kcount_summary *summary)
{
        const struct kc_ask_summary sums = kc_window_tally_summary(&s->tally, min_count, max_count);
        struct kcount_summary all = { .size = summary->size,
                                      .nkmers = sums.nvalid,
                                      .nfound = sums.nfound,
                                      .total = sums.sum };
        if (sums.nvalid > 0) {
                uint64_t quarters[KC_WINDOW_TALLY_NQUARTILES];
                kc_window_tally_quartiles(&s->tally, quarters);
                all.min = sums.min;
                all.max = sums.max;
                all.first_quartile = (double)quarters[0] / 4;
                all.median = (double)quarters[1] / 4;
                all.third_quartile = (double)quarters[2] / 4;
        }
        memcpy(summary, &all, summary->size < sizeof all ? summary->size : sizeof all);
}

enum kcount_status kcount_ask_summary(struct kcount_asker *asker, const char *bases, size_t n,
                                      uint32_t min_count, uint32_t max_count,
                                      struct kcount_summary *summary, struct kcount_error **error)
{
        const size_t k = (size_t)kc_library_asker_k(asker), nkmers = n < k ? 0 : n - k + 1;
        const size_t most = nkmers < PIECE ? nkmers : PIECE;
        enum kcount_status status = KCOUNT_OK;
        struct summing *s = calloc(1, sizeof *s);
        if (s != NULL) {
                s->asker = asker;
                s->found = malloc((most + 1) * sizeof *s->found);
                s->valid = malloc(most + 1);
        }
        if (s == NULL || s->found == NULL || s->valid == NULL) {
                struct kc_error err = { 0 };
                kc_fail(&err, KC_ENOMEM, "out of memory for the summary of a sequence");
                status = kc_library_failed(&err, error);
        }
        for (size_t at = 0; at < nkmers && status == KCOUNT_OK; at += PIECE)
                status = add_piece(s, bases + at, nkmers - at < PIECE ? nkmers - at : PIECE, k,
                                   error);
        if (status == KCOUNT_OK)
                tell(s, min_count, max_count, summary);
        if (s != NULL) {
                kc_window_tally_free(&s->tally);
                free(s->found);
                free(s->valid);
                free(s);
        }
        return status;
}
