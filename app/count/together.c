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
        const uint64_t own = kc_reader_fingerprint(count->counter.reader);
        void *all;
        if (count->ranks == NULL)
                return KC_OK;
        enum kc_status status =
                kc_exchange_gather(&count->ranks->exchange, &own, sizeof own, &all, err);
        if (status == KC_OK && own != *(const uint64_t *)all)
                status = kc_fail(err, KC_EINPUT,
                                 "this process does not see the same inputs, of the same sizes, as "
                                 "rank 0");
        free(all);
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

enum { MOST_ROWS = 4096 };

/* Some rows of a rank's histogram. */
struct rank_rows {
        uint64_t n;
        struct kc_histogram_row rows[MOST_ROWS];
};

/* Add the histograms of all ranks, some rows at a time. */
static enum kc_status add_histograms(struct ranks *ranks, struct kc_histogram *histogram,
                                     struct kc_error *err)
{
        const struct kc_exchange *exchange = &ranks->exchange;
        struct kc_histogram_row *rows = NULL;
        size_t nrows = 0;
        bool any = true;
        enum kc_status status = kc_histogram_rows(histogram, NULL, &rows, &nrows, err);
        for (size_t at = 0; any && status == KC_OK; at += MOST_ROWS) {
                struct rank_rows own = { .n = at < nrows ? nrows - at : 0 };
                void *all = NULL;
                own.n = own.n < MOST_ROWS ? own.n : MOST_ROWS;
                if (own.n > 0)
                        memcpy(own.rows, rows + at, own.n * sizeof *rows);
                any = false;
                status = kc_exchange_gather(exchange, &own, sizeof own, &all, err);
                for (int i = 0; i < exchange->nranks && status == KC_OK; i++) {
                        const struct rank_rows *theirs = (const struct rank_rows *)all + i;
                        any |= theirs->n > 0;
                        if (i != exchange->rank)
                                status = kc_histogram_add(histogram, theirs->rows, theirs->n, err);
                }
                free(all);
        }
        free(rows);
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
        struct ranks *ranks = count->ranks;
        enum kc_status status;
        void *all;
        KC_TRY(take_marks(count, err));
        if (ranks_count(ranks) == 1)
                return KC_OK;
        if (count->counter.histogram != NULL)
                KC_TRY(add_histograms(ranks, count->counter.histogram, err));
        struct rank_report own = { .rank = ranks->rank,
                                   .read = count->counter.read,
                                   .peak_nbytes = kc_machine_peak_nbytes() };
        memcpy(own.host, ranks->places[ranks->rank].host, sizeof own.host);
        kc_ranks_exchange_totals(ranks->messages, &own.nsent, &own.ntaken);
        device_name(&count->writing.device, own.device);
        for (int i = 0; i < count->noutputs; i++) {
                own.ncounted[i] = count->outputs[i].totals->nown;
                own.nspilled[i] = count->outputs[i].totals->spilled_nbytes;
        }
        KC_TRY(kc_exchange_gather(&ranks->exchange, &own, sizeof own, &all, err));
        count->reports = all;
        count->counter.read = count->reports[0].read;
        for (int rank = 1; rank < ranks_count(ranks); rank++) {
                const struct rank_report *report = &count->reports[rank];
                add_read(&count->counter.read, &report->read);
                for (int i = 0; i < count->noutputs; i++)
                        count->outputs[i].totals->spilled_nbytes += report->nspilled[i];
        }
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
