/*
 * k-mers as text, on standard output or in a file: what dump and range have in common.
 */
#ifndef APP_STORE_DUMPING_H
#define APP_STORE_DUMPING_H

#include "app/cli/writing.h"
#include "include/kcount.h"
#include "kmer/text.h"

struct dumping_settings {
        struct writing_settings common;
        const char *output; /* NULL or "-": standard output */
        bool force;
};

/* Where to write. field: offset of the settings. */
#define DUMPING_OPTIONS(field) \
        OPTION(OUTPUT, "output", (field) + offsetof(struct dumping_settings, output), \
               "Write to a file instead of standard output. The file appears when it " \
               "is complete.", \
               .letter = 'o', .argument = "FILE"), \
                OPTION_FORCE((field) + offsetof(struct dumping_settings, force))

/* The file to write; NULL: standard output. */
const char *dumping_path(const struct dumping_settings *settings);

/* What is to be printed. */
struct dumping_request {
        struct kcount_counts *counts;
        const uint64_t *from, *to;  /* bounds, both included; NULL: none */
        struct kc_kmer_text format; /* k and high_first are set here */
        bool totals; /* instead of k-mers, their number, a tab, and the sum of their counts */
};

/* Check the output before the inputs are opened. KC_EUSAGE if it is one of them; KC_EEXIST. */
enum kc_status dumping_check(const struct dumping_settings *settings, const char *const *inputs,
                             size_t ninputs, struct kc_error *err);

/* Print, and if there is a file, report it. On failure, nothing of it remains. */
enum kc_status dumping_run(const struct invocation *call, const struct dumping_settings *settings,
                           const struct dumping_request *request, struct kc_error *err);

#endif
