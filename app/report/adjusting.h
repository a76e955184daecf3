/*
 * A QV that takes into account what the reads do to it: they lack some k-mers of the genome by
 * chance, which count as errors of the assembly; and they have errors, of which some are the same
 * as the assembly's, which then count as correct.
 */
#ifndef APP_REPORT_ADJUSTING_H
#define APP_REPORT_ADJUSTING_H

#include "app/model/model.h"
#include "app/report/quality.h"

/* What a model says about the reads. */
struct adjusting {
        int ploidy;                        /* 0: there is no model */
        double coverage, bias, error_rate; /* coverage: of one haplotype, by k-mers */
        double shares[ALLELES_MAX_PLOIDY]; /* [ploidy] of k-mers that are in 1, 2, ... haplotypes */
};

struct adjusting adjusting_of(const struct model_fit *fit);

/* How many of so many k-mers of the genome the reads lack by chance. */
double adjusting_unseen(const struct adjusting *adjusting, uint64_t nkmers);

/* The chance that the reads have a given wrong k-mer: p lambda reads cover the place, and each has
 * the assembly's error with the odds (e / 3) / (1 - e). */
double adjusting_chance(const struct adjusting *adjusting);

/* counts.nkmers must not be 0. */
struct quality adjusting_quality(const struct adjusting *adjusting, struct quality_counts counts,
                                 int k);

#endif
