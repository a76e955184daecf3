/*
 * The report of a finished count.
 */
#ifndef APP_SUMMARY_H
#define APP_SUMMARY_H

#include "app/device.h"
#include "io/reader.h"
#include "io/store.h"

struct summary {
        const char *command_line;
        bool adds; /* a run was added to an existing output; stored describes all its runs */
        const char *output;
        const char *const *inputs; /* what this command read */
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
        uint64_t nunique; /* k-mers seen once, including those dropped by --min */
        double wall_seconds, user_seconds, system_seconds;
        uint64_t peak_nbytes;
};

void summary_text(struct text_out *out, const struct summary *summary);
void summary_json(struct text_out *out, const struct summary *summary);

#endif
