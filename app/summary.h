/*
 * What a count says of itself when it is done.
 */
#ifndef APP_SUMMARY_H
#define APP_SUMMARY_H

#include "app/device.h"
#include "io/reader.h"
#include "io/store.h"

struct summary {
        const char *command_line;
        bool adds; /* a run to output, which was there before: stored tells of all its runs */
        const char *output;
        const char *const *inputs; /* what was read now */
        size_t ninputs;
        int nthreads, min_quality;
        uint64_t memory_nbytes; /* the bound, -m */
        struct device_choice device;
        struct kc_gpu_report gpu; /* where device.cuda */
        bool reader_only;         /* nothing was counted: counted, stored and device say nothing */
        struct kc_reader_totals read;
        struct kc_count_totals counted;
        struct kc_store_info stored;
        uint64_t nunique; /* k-mers seen once, those dropped by --min included */
        double wall_seconds, user_seconds, system_seconds;
        uint64_t peak_nbytes;
};

void summary_text(struct text_out *out, const struct summary *summary);
void summary_json(struct text_out *out, const struct summary *summary);

#endif
