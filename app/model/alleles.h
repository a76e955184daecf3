/*
 * How often a k-mer of a genome of some ploidy occurs in it, given how its haplotypes differ.
 *
 * The model is that of GenomeScope 2 (Ranallo-Benavidez et al., Nature Communications 2020). A
 * pattern says which haplotypes have the same base at a position: with AAB, the first two of three
 * do. A rate is the share of positions with one pattern. The patterns of k positions in a row give
 * the pattern of a k-mer.
 */
#ifndef APP_MODEL_ALLELES_H
#define APP_MODEL_ALLELES_H

#include <stdbool.h>

enum {
        ALLELES_MAX_PLOIDY = 6,
        ALLELES_MAX_RATES = 10,
        ALLELES_MAX_PATTERNS = ALLELES_MAX_RATES + 1,
        ALLELES_MAX_COPIES = 2 * ALLELES_MAX_PLOIDY, /* of a k-mer in a doubled part */
};

struct alleles {
        int ploidy, nrates, ncopies; /* ncopies: 2 * ploidy */
        /* The names of the patterns. In the first one, all haplotypes are equal; rate i is that of
         * pattern i + 1. A pattern comes after all those that it refines. */
        const char *const *patterns;
        /* refines[p][q]: haplotypes that are equal in p are equal in q, too; true if p = q */
        bool refines[ALLELES_MAX_PATTERNS][ALLELES_MAX_PATTERNS];
        int first[ALLELES_MAX_PATTERNS]; /* how many haplotypes have allele A */
        /* nwith[p][n]: how many of the other alleles are in n haplotypes */
        int nwith[ALLELES_MAX_PATTERNS][ALLELES_MAX_PLOIDY + 1];
};

/* ploidy: 1 to ALLELES_MAX_PLOIDY */
void alleles_init(struct alleles *alleles, int ploidy);

/*
 * How many distinct k-mers occur in 1, 2, ... copies, per position of one haplotype.
 *   repeats   the share of positions that occur twice in each haplotype
 *   rates     [nrates], each at least 0, with a sum of at most 1
 *   share     out, [ncopies]: k-mers in i + 1 copies
 *   slopes    out, [1 + nrates][ALLELES_MAX_COPIES], or NULL: the derivatives of share with respect
 *             to repeats and to each rate
 * Returns false, and leaves share as it is, if the rates or repeats are out of range.
 */
bool alleles_share(const struct alleles *alleles, int k, double repeats, const double *rates,
                   double *share, double (*slopes)[ALLELES_MAX_COPIES]);

/* The same for the part of the genome that occurs only once. share: [ploidy] */
bool alleles_unique_share(const struct alleles *alleles, int k, double repeats, const double *rates,
                          double *share);

#endif
