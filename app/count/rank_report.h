/*
 * What each of several ranks has read, sent, received and counted: gathered by all, reported by
 * rank 0.
 */
#ifndef APP_COUNT_RANK_REPORT_H
#define APP_COUNT_RANK_REPORT_H

#include "app/cli/device.h"
#include "app/cli/options.h"
#include "app/count/ranks.h"
#include "io/histogram.h"
#include "io/reader.h"

/* Of a rank. The arrays have an entry for each k. */
struct rank_report {
        char host[RANKS_HOST_NBYTES];
        char device[DEVICE_NAME_NBYTES]; /* where it counted */
        struct kc_reader_totals read;
        uint64_t nsent, ntaken;                /* bytes of messages to and from other ranks */
        uint64_t ncounted[OPTION_NUMBERS_MAX]; /* distinct k-mers */
        uint64_t nspilled[OPTION_NUMBERS_MAX]; /* bytes */
        uint64_t nwritten[OPTION_NUMBERS_MAX]; /* bytes of the output; by rank 0, all the rest */
        uint64_t peak_nbytes;
};

/* Gather the reports of all ranks. Host and messages of `own` are filled in here.
 *   all  out [ranks_count], freed by the caller */
enum kc_status rank_reports_gather(struct ranks *ranks, struct rank_report *own,
                                   struct rank_report **all, struct kc_error *err);

/* What all ranks have read together. */
struct kc_reader_totals rank_reports_read(const struct rank_report *all, int n);

/* Add the histograms of the other ranks to that of rank 0. Every rank calls it. */
enum kc_status rank_histograms_add(struct ranks *ranks, struct kc_histogram *histogram,
                                   struct kc_error *err);

#endif
