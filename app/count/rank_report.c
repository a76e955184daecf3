#include "app/count/rank_report.h"

#include "app/cli/machine.h"
#include "ranks/messages.h"

#include <stdlib.h>
#include <string.h>

enum kc_status rank_reports_gather(struct ranks *ranks, struct rank_report *own,
                                   struct rank_report **all, struct kc_error *err)
{
        const size_t n = (size_t)ranks_count(ranks);
        memcpy(own->host, ranks->host, sizeof own->host);
        kc_ranks_exchange_totals(ranks->messages, &own->nsent, &own->ntaken);
        own->peak_nbytes = machine_peak_nbytes();
        *all = malloc(n * sizeof **all);
        if (*all == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        return ranks->exchange.gather(ranks->exchange.ctx, own, sizeof *own, *all, err);
}

struct kc_reader_totals rank_reports_read(const struct rank_report *all, int n)
{
        struct kc_reader_totals sum = all[0].read;
        for (int i = 1; i < n; i++) {
                const struct kc_reader_totals *read = &all[i].read;
                sum.nreads += read->nreads;
                sum.nbases += read->nbases;
                sum.nskipped += read->nskipped;
                sum.nlow_quality += read->nlow_quality;
                sum.input_nbytes += read->input_nbytes;
                sum.text_nbytes += read->text_nbytes;
                sum.inflated_nbytes += read->inflated_nbytes;
                sum.any_qualities |= read->any_qualities;
        }
        return sum;
}

/* ---- histograms ---- */

enum { ROWS = 1024 }; /* in a record */

static enum kc_status take_rows(void *ctx, uint32_t list, const uint8_t *data, size_t nbytes,
                                struct kc_error *err)
{
        struct kc_histogram_row rows[ROWS];
        (void)list;
        memcpy(rows, data, nbytes);
        return kc_histogram_add(ctx, rows, nbytes / sizeof *rows, err);
}

static enum kc_status send_rows(const struct kc_exchange *exchange, struct kc_histogram *histogram,
                                struct kc_error *err)
{
        struct kc_histogram_row *rows = NULL;
        size_t nrows = 0;
        enum kc_status status = kc_histogram_rows(histogram, NULL, &rows, &nrows, err);
        for (size_t i = 0; i < nrows && status == KC_OK; i += ROWS) {
                const size_t n = nrows - i < ROWS ? nrows - i : (size_t)ROWS;
                status = exchange->send(exchange->ctx, 0, 0, (const uint8_t *)(rows + i),
                                        n * sizeof *rows, err);
        }
        free(rows);
        return status;
}

enum kc_status rank_histograms_add(struct ranks *ranks, struct kc_histogram *histogram,
                                   struct kc_error *err)
{
        const struct kc_exchange *exchange = &ranks->exchange;
        const struct kc_exchange_taker taker = { .ctx = histogram, .take = take_rows };
        enum kc_status status;
        KC_TRY(exchange->begin(exchange->ctx, &taker, err));
        if (exchange->rank != 0)
                KC_TRY(send_rows(exchange, histogram, err));
        KC_TRY(exchange->end(exchange->ctx, err));
out:
        return status;
}
