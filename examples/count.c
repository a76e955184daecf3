/* Count the 31-mers of files of reads, and print how many have each count:  count READS... */
#include <inttypes.h>
#include <kcount.h>
#include <stdio.h>

static bool show(void *ctx, const char *stage, uint64_t done, uint64_t total)
{
        (void)ctx;
        if (total > 0)
                fprintf(stderr, "%s: %.0f %%\n", stage, 100.0 * (double)done / (double)total);
        return true; /* false would cancel */
}

static int fail(struct kcount_error *error)
{
        fprintf(stderr, "count: %s. %s\n", kcount_error_message(error), kcount_error_advice(error));
        kcount_error_free(error);
        return 1;
}

int main(int argc, char **argv)
{
        struct kcount_count_options options = KCOUNT_COUNT_OPTIONS_INIT;
        struct kcount_counts *counts;
        struct kcount_error *error;
        struct kcount_row *rows;
        size_t nrows;
        options.k = 31;
        options.progress = show;
        if (kcount_count_files((const char *const *)argv + 1, (size_t)argc - 1, &options, NULL,
                               &counts, &error) != KCOUNT_OK)
                return fail(error);
        if (kcount_histogram(counts, NULL, &rows, &nrows, &error) != KCOUNT_OK)
                return fail(error);
        for (size_t i = 0; i < nrows; i++)
                printf("%" PRIu64 "\t%" PRIu64 "\n", rows[i].count, rows[i].number);
        kcount_free(rows);
        kcount_close(counts);
        return 0;
}
