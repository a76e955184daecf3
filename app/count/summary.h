/*
 * The report of a finished count.
 */
#ifndef APP_COUNT_SUMMARY_H
#define APP_COUNT_SUMMARY_H

#include "app/cli/device.h"
#include "app/cli/json.h"
#include "app/cli/writing.h"
#include "app/count/rank_report.h"
#include "app/store/exporting.h"
#include "io/reader.h"
#include "io/store.h"

struct summary {
        const struct writing *writing;
        bool adds; /* a run was added to an existing output; stored describes all its runs */
        const char *output; /* NULL if nothing was written; of stored, only k is valid then */
        const struct exporting_files *exports; /* of the output; n is 0 if it was not exported */
        const char *const *inputs;             /* what this command read */
        const uint8_t *marks;                  /* of each input; see kc_reader_marks */
        size_t ninputs;
        int nthreads, min_quality;
        uint64_t memory_nbytes; /* the bound, -m */
        struct device_choice device;
        struct kc_gpu_report gpu; /* valid if device.cuda */
        bool reader_only;         /* nothing was counted: counted, stored and device are not
                                     valid */
        struct kc_reader_totals read;
        struct kc_count_totals counted;
        struct kc_store_info stored;
        const struct kc_histogram_row *rows; /* [nrows] for the JSON; NULL: not wanted there */
        size_t nrows;
        uint64_t nunique; /* k-mers seen once, including those dropped by --min */
        double wall_seconds, user_seconds, system_seconds;
        uint64_t peak_nbytes;
        const struct rank_report *ranks; /* [nranks] that counted together */
        int nranks;                      /* 0: there is one process */
        int number;                      /* of the k, from 0 on */
};

/* One for each k; they differ in output, exports, device, gpu, counted, stored, rows and nunique.
 * */
struct summaries {
        const struct summary *items;
        size_t n; /* at least 1 */
};

/* For a writing_report; ctx: a struct summaries. */
void summary_put_text(const void *ctx, struct text_out *out);
void summary_put_json(const void *ctx, size_t i, struct json *json);

#endif
