/*
 * What a histogram of counts says about a genome: its ploidy, size and heterozygosity.
 *
 * The model is fitted for each ploidy that is asked for; then one of the fits is chosen. The rules
 * are in docs/dev/model.md.
 */
#ifndef APP_MODEL_MODEL_H
#define APP_MODEL_MODEL_H

#include "app/hist/landscape.h"
#include "app/model/groups.h"
#include "app/model/mixture.h"
#include "app/model/range.h"

enum { MODEL_MAX_PLOIDIES = ALLELES_MAX_PLOIDY };

/* The fit for a ploidy. */
struct model_fit {
        int ploidy;
        struct mixture mixture;
        double parameters[MIXTURE_MAX_PARAMETERS];
        double residual_sum;    /* of the squares of x * (y - f) */
        double explained;       /* share of the k-mers in the fitted rows */
        double bic;             /* Bayesian information criterion, for display */
        double error_nkmers;    /* counts of k-mers with errors, summed */
        double frequent_nkmers; /* the same of those that are too frequent for repeats */
        double undescribed;     /* share of the genome beyond the model: repeats of many copies */
        double rates;           /* summed: the heterozygosity if the genome had no such repeats */
        bool has_covariance;    /* false: the intervals leave out the errors of the parameters */
        uint64_t threshold; /* the smallest count at which half or more are the genome's k-mers */
        struct model_range size, heterozygosity; /* size: of one haplotype, in bases */
        struct model_range coverage, error_rate; /* coverage: of one haplotype, by k-mers */
};

/* What the user should know about a result: bits of model.caveats. */
enum model_caveat {
        MODEL_LOW_COVERAGE = 1 << 0,  /* under 15, of one haplotype */
        MODEL_BAD_FIT = 1 << 1,       /* under 0.9 explained: no ploidy is chosen */
        MODEL_TIE = 1 << 2,           /* another ploidy explains about as much */
        MODEL_MANY_ERRORS = 1 << 3,   /* in 1 % of the bases or more */
        MODEL_SMALL_K = 1 << 4,       /* too many k-mers of the genome occur twice by chance */
        MODEL_FILTERED = 1 << 5,      /* k-mers with small counts are missing: no error rate */
        MODEL_GROUPS = 1 << 7,        /* k-mers of something else are left out of the size */
        MODEL_COMPRESSED = 1 << 6,    /* homopolymers were compressed: lengths are shorter */
        MODEL_HETEROZYGOUS = 1 << 8,  /* more than known genomes are */
        MODEL_CUT = 1 << 9,           /* k-mers with large counts are missing, or in one row */
        MODEL_UNCERTAIN = 1 << 10,    /* an interval is wider than its value */
        MODEL_UNDETERMINED = 1 << 11, /* the intervals leave out the errors of the parameters */
        MODEL_ROUGH_FIT = 1 << 12,    /* less than 0.95 explained */
        MODEL_UNDESCRIBED = 1 << 13,  /* over 0.25 of the size: it depends on few k-mers */
        MODEL_ROUGH_RATE = 1 << 14,   /* the heterozygosity is known to within a fifth at best */
};

/* What is known about the reads besides their histogram. */
struct model_origin {
        bool stranded, compressed, selected; /* see --stranded, --hpc and --only */
        bool mixed;                          /* only some reads were counted with --min or --max */
        uint64_t min_count;                  /* k-mers with a smaller count are missing */
        uint64_t max_count; /* k-mers with a greater count are missing; 0: none are */
};

/* The k-mers of the histogram, by GC content and count. */
struct model_gc {
        const struct kc_gc_cell *cells;
        size_t ncells;
};

struct model {
        unsigned caveats;
        struct model_origin origin;
        uint64_t first, last, peak; /* counts: of the fitted rows, and where x * y is largest */
        uint64_t rest; /* the count of a last row that stands for all greater counts; 0: none */
        double nkmers; /* counts of all k-mers, summed */
        int nfits;
        struct model_fit fits[MODEL_MAX_PLOIDIES]; /* the first is the chosen one */
        int runner_up; /* a fit that explains about as much and is also plausible; 0: none */
        /* The size of the chosen fit without the groups. Without has_gc, there are no groups. */
        struct model_range size;
        bool has_gc;
        struct groups groups;
        /* Fits of the chosen ploidy with about half and about twice the coverage. */
        struct model_fit half, twice;
};

/*
 * Fit the model for each of these ploidies, and choose one.
 *   gc        NULL: not known; then no groups are found
 *   ploidies  [nploidies], distinct, from 1 to ALLELES_MAX_PLOIDY; none: 1, 2 and 4
 * KC_EINPUT if the histogram does not allow a model: it has no peak or too little coverage, or does
 * not have all k-mers of the genome; KC_ENOMEM.
 */
enum kc_status model_find(const struct histogram *histogram, const struct model_origin *origin,
                          const struct model_gc *gc, const int *ploidies, int nploidies,
                          struct model *model, struct kc_error *err);

#endif
