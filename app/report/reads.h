/*
 * The reads that a report is about: a .kc file, or files that are counted in the same run.
 */
#ifndef APP_REPORT_READS_H
#define APP_REPORT_READS_H

#include "app/count/count.h"

enum { READS_DEFAULT_K = 21 };

/* The k to count reads with. */
static inline int reads_k(const struct count_settings *counting)
{
        return counting->ks.n > 0 ? (int)counting->ks.values[0] : READS_DEFAULT_K;
}

struct reads_setup {
        const char *const *inputs; /* [ninputs] as operands of count: files, @LIST or - */
        size_t ninputs;
        /* Threads, memory, folder, device, and what of the reads is counted. Without k:
         * READS_DEFAULT_K. */
        const struct count_settings *counting;
        const char *const *outputs; /* [noutputs] of the report: none may be an input */
        size_t noutputs;
};

/*
 * Find out whether the operands are one .kc file, or reads. A file that is named .kc is never taken
 * for reads. KC_EUSAGE if a .kc file is not alone, or if an option is given that is only for reads.
 */
enum kc_status reads_look(const struct invocation *call, bool *are_counted, struct kc_error *err);

/* KC_EUSAGE if the user wants another k than the .kc file has, or more than one.
 *   counted  of the .kc file; NULL: the reads are not counted yet */
enum kc_status reads_check_k(const struct option_numbers *ks, const char *path,
                             const struct kc_store_info *counted, struct kc_error *err);

/* The name of a sample whose reads are in this file, the first one: without folder and endings. The
 * caller frees it; NULL when out of memory. */
char *reads_sample(const char *input, bool are_counted);

/* What pages call the reads: "a.fq", "standard input", "a.fq and 2 more". The caller frees it; NULL
 * when out of memory. */
char *reads_title(const char *const *inputs, size_t n);

/*
 * Count the reads into a file without a name, in canonical form and with all counts. Fails like
 * count_temporary, and prints the same progress and messages.
 *   store  out: closed by the caller
 */
enum kc_status reads_count(struct kc_store **store, struct count_done *done,
                           const struct reads_setup *setup, struct kc_error *err);

/* ---- options that a report has for reads; its settings begin with a struct count_settings ---- */

#define READS_KMER \
        COUNT_KMER( \
                ". Only for reads that are not counted yet; a .kc file has its own. Default: 21.")
#define READS_OPTIONS COUNT_ENGINE_MEMORY, COUNT_READER, COUNT_SELECTION, COUNT_SKIP_EMPTY

#endif
