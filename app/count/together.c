#include "app/count/count_internal.h"

#include "app/library/machine.h"
#include "ranks/messages.h"

#include <stdlib.h>
#include <string.h>

void count_silence(struct count *count)
{
        if (ranks_is_first(count->ranks))
                return;
        count->silent = *count->writing.settings;
        count->silent.quiet = true;
        count->silent.json = false;
        count->writing.settings = &count->silent;
}

/* If the ranks saw different inputs, reads would be counted twice, or not at all. */
enum kc_status count_check_same_inputs(const struct count *count, struct kc_error *err)
{
        bool same;
        enum kc_status status = ranks_compare(
                count->ranks, kc_reader_fingerprint(count->counter.reader), &same, err);
        if (status == KC_OK && !same)
                status = kc_fail(err, KC_EINPUT,
                                 "this process does not see the same inputs, of the same sizes, as "
                                 "rank 0");
        return status;
}

/* Add what the other ranks have found in the inputs, for some of the inputs at a time. */
static enum kc_status take_marks(struct count *count, struct kc_error *err)
{
        enum { MOST = KC_EXCHANGE_MAX_NBYTES / sizeof(uint64_t) };
        const char *const *names;
        const size_t n = kc_reader_names(count->counter.reader, &names);
        const size_t nwords = (n + sizeof(uint64_t) - 1) / sizeof(uint64_t);
        uint64_t *marks = calloc(nwords, sizeof *marks);
        enum kc_status status = KC_OK;
        count->marks = (uint8_t *)marks;
        if (marks == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        kc_reader_marks(count->counter.reader, count->marks);
        for (size_t i = 0; i < nwords && count->ranks != NULL && status == KC_OK; i += MOST)
                status = kc_exchange_combine(&count->ranks->exchange, KC_EXCHANGE_ANY_BIT,
                                             marks + i, nwords - i < MOST ? nwords - i : MOST, err);
        return status;
}

/* Host and messages of `own` are filled in here.
 *   all  out [ranks_count], freed by the caller */
static enum kc_status gather_reports(struct ranks *ranks, struct rank_report *own,
                                     struct rank_report **all, struct kc_error *err)
{
        void *gathered;
        own->rank = ranks->rank;
        memcpy(own->host, ranks->places[ranks->rank].host, sizeof own->host);
        kc_ranks_exchange_totals(ranks->messages, &own->nsent, &own->ntaken);
        own->peak_nbytes = kc_machine_peak_nbytes();
        const enum kc_status status =
                kc_exchange_gather(&ranks->exchange, own, sizeof *own, &gathered, err);
        *all = gathered;
        return status;
}

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

/* Add the histograms of the other ranks to that of rank 0. */
static enum kc_status add_histograms(struct ranks *ranks, struct kc_histogram *histogram,
                                     struct kc_error *err)
{
        const struct kc_exchange *exchange = &ranks->exchange;
        const struct kc_exchange_taker taker = { .ctx = histogram, .take = take_rows };
        enum kc_status status;
        KC_TRY(exchange->begin(exchange->ctx, &taker, err));
        if (exchange->rank != 0)
                KC_TRY(send_rows(exchange, histogram, err));
        KC_TRY(exchange->end(exchange->ctx, NULL, err));
out:
        return status;
}

/* Add what another rank has read. */
static void add_read(struct kc_reader_totals *sum, const struct kc_reader_totals *read)
{
        sum->nreads += read->nreads;
        sum->nbases += read->nbases;
        sum->nskipped += read->nskipped;
        sum->nlow_quality += read->nlow_quality;
        sum->nleft_out += read->nleft_out;
        sum->input_nbytes += read->input_nbytes;
        sum->text_nbytes += read->text_nbytes;
        sum->inflated_nbytes += read->inflated_nbytes;
        sum->any_qualities |= read->any_qualities;
        sum->any_flags |= read->any_flags;
}

enum kc_status count_gather(struct count *count, struct kc_error *err)
{
        struct rank_report own = { .read = count->counter.read };
        enum kc_status status;
        KC_TRY(take_marks(count, err));
        if (ranks_count(count->ranks) == 1)
                return KC_OK;
        if (count->counter.histogram != NULL)
                KC_TRY(add_histograms(count->ranks, count->counter.histogram, err));
        device_name(&count->writing.device, own.device);
        for (int i = 0; i < count->noutputs; i++) {
                own.ncounted[i] = count->outputs[i].totals->nown;
                own.nspilled[i] = count->outputs[i].totals->spilled_nbytes;
        }
        KC_TRY(gather_reports(count->ranks, &own, &count->reports, err));
        count->counter.read = count->reports[0].read;
        for (int rank = 1; rank < ranks_count(count->ranks); rank++)
                add_read(&count->counter.read, &count->reports[rank].read);
        for (int i = 0; i < count->noutputs; i++)
                for (int rank = 1; rank < ranks_count(count->ranks); rank++)
                        count->outputs[i].totals->spilled_nbytes +=
                                count->reports[rank].nspilled[i];
out:
        return status;
}

void count_add_first_rank(struct count *count)
{
        for (int i = 0; i < count->noutputs && count->reports != NULL; i++)
                count->reports[0].nwritten[i] = count->outputs[i].counted->written.info.file_nbytes;
}

int count_nreports(const struct count *count)
{
        return count->reports != NULL ? ranks_count(count->ranks) : 0;
}
