/*
 * kcount hist: how many distinct k-mers have each count.
 */
#include "app/command.h"
#include "app/machine.h"
#include "app/stores.h"

#include <inttypes.h>
#include <stdlib.h>

struct hist_settings {
        uint64_t max_count, nthreads;
        bool genomescope;
};

/* The last row covers all counts from max_count up. */
static void put_rows(struct text_out *out, const struct kc_histogram_row *rows, size_t nrows,
                     const struct hist_settings *s)
{
        uint64_t max_count = s->max_count;
        uint64_t tail = 0;
        for (size_t i = 0; i < nrows; i++)
                if (rows[i].count < max_count)
                        text_out_printf(out, "%" PRIu64 "\t%" PRIu64 "\n", rows[i].count,
                                        rows[i].ndistinct);
                else
                        tail += rows[i].ndistinct * (s->genomescope ? rows[i].count : 1);
        if (s->genomescope)
                tail /= max_count;
        if (tail)
                text_out_printf(out, "%" PRIu64 "\t%" PRIu64 "\n", max_count, tail);
}

static enum kc_status run_hist(const struct invocation *call, struct kc_error *err)
{
        const struct hist_settings *s = call->settings;
        struct kc_store *store = NULL;
        struct kc_histogram_row *rows = NULL;
        size_t nrows;
        enum kc_status status;
        KC_TRY(stores_open(&store, call->operands[0], err));
        int nthreads = machine_nthreads(s->nthreads);
        KC_TRY(kc_store_histogram(store, nthreads, &rows, &nrows, err));
        put_rows(call->out, rows, nrows, s);
out:
        free(rows);
        kc_store_close(store);
        return status;
}

static const struct option_spec hist_options[] = {
        { .type = OPTION_NUMBER,
          .name = "max-count",
          .argument = "N",
          .min = 1,
          .max = UINT32_MAX,
          .preset = "10000",
          .offset = offsetof(struct hist_settings, max_count),
          .help = "Add all k-mers with a count over N to row N." },
        { .type = OPTION_FLAG,
          .name = "genomescope",
          .offset = offsetof(struct hist_settings, genomescope),
          .help = "In row N, print the sum of all counts from N up, divided by N and rounded down, "
                  "instead of the number of k-mers: GenomeScope then includes all repeats in the "
                  "genome size. FastK's Histex -G does the same with N = 1000." },
        OPTION_THREADS(offsetof(struct hist_settings, nthreads)),
        { 0 },
};

const struct command command_hist = {
        .name = "hist",
        .run = run_hist,
        .operands = "FILE.kc",
        .summary = "Print the histogram of counts",
        .description =
                "One line per count, ascending: the count, a tab, the number of distinct k-mers that "
                "have it. Counts that no k-mer has are left out. GenomeScope 2 reads it as it is.",
        .examples = "  kcount hist --genomescope reads.kc > reads.hist\n"
                    "  genomescope2 -i reads.hist -o model -k 31\n",
        .options = hist_options,
        .settings_nbytes = sizeof(struct hist_settings),
        .min_operands = 1,
        .max_operands = 1,
};
