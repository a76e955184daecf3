/*
 * The quality value (QV) of an assembly, from the share of its k-mers that the reads lack.
 */
#ifndef APP_REPORT_QUALITY_H
#define APP_REPORT_QUALITY_H

#include <stdint.h>

/* k-mers of an assembly, each as often as it occurs. */
struct quality_counts {
        uint64_t nkmers;
        uint64_t nabsent; /* of these, those that no read has */
};

/*
 * E, the chance that a base is wrong, follows from the share of k-mers that the reads have, which
 * is (1 - E)^k; the QV is -10 log10 E. One wrong base spoils about k k-mers, so the number of
 * absent ones varies like k times a Poisson variable of nabsent / k events: the interval is that of
 * their exact limits. Without absent k-mers, E has only an upper limit: with 95% confidence there
 * were fewer than 3 events, so fewer than 3 k absent k-mers.
 */
struct quality {
        struct quality_counts counts;
        double error;     /* E; 0 if no k-mer is absent */
        double value;     /* QV; infinite, then */
        double low, high; /* 95%; high is infinite if fewer than k k-mers are absent */
};

/* The same for a number of absent k-mers that need not be whole; counts.nabsent is rounded. */
struct quality quality_estimate(double nabsent, uint64_t nkmers, int k);

/* Without k-mers, the numbers have no meaning. */
struct quality quality_of(struct quality_counts counts, int k);

/* E and QV as Merqury computes them, to the last digit that it prints. */
void quality_as_merqury(struct quality_counts counts, int k, double *error, double *value);

/* The exact 95% limits of the mean of a Poisson variable of which n was seen; n need not be whole.
 * If n is 0, the upper limit is one-sided. */
void quality_poisson_limits(double n, double *low, double *high);

#endif
