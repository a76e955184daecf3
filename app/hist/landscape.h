/*
 * What a histogram of counts shows without a model: where sequencing errors end, and where the
 * k-mers of the genome have their peak.
 */
#ifndef APP_HIST_LANDSCAPE_H
#define APP_HIST_LANDSCAPE_H

#include "io/histogram.h"

#include <stdbool.h>
#include <stddef.h>

/* The rows ascend by count. */
struct histogram {
        const struct kc_histogram_row *rows;
        size_t nrows;
        int k;
};

struct landscape {
        bool has_peak; /* if false, the other fields are undefined */
        uint64_t valley, peak;
        double genome_nkmers; /* the sum of all counts from valley on, over the peak's count */
        uint64_t tail;        /* a count beyond the peak; rows above it are low or far away */
};

/* The histogram must have rows. */
struct landscape landscape_survey(const struct histogram *h);

/* About the count that most of all k-mers have, from `valley` on: where the number of distinct
 * k-mers times the count is largest, as a mean over nearby counts. The histogram must have rows. */
uint64_t landscape_mode(const struct histogram *h, uint64_t valley);

/* Distinct k-mers with counts from `from` to `to`. */
uint64_t landscape_sum(const struct histogram *h, uint64_t from, uint64_t to);

#endif
