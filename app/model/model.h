/*
 * What a histogram of counts says about a genome: its ploidy, size and heterozygosity.
 *
 * Each ploidy that is asked for gets a fit; then one of them is chosen. The rules are in
 * docs/dev/model.md.
 */
#ifndef APP_MODEL_MODEL_H
#define APP_MODEL_MODEL_H

#include "app/hist/landscape.h"
#include "app/model/groups.h"
#include "app/model/mixture.h"

enum { MODEL_MAX_PLOIDIES = ALLELES_MAX_PLOIDY };

/* A number with its 95 % interval. */
struct model_range {
        double value, low, high;
};

/* The fit for a ploidy. */
struct model_fit {
        int ploidy;
        struct mixture mixture;
        double parameters[MIXTURE_MAX_PARAMETERS];
        double residual_sum; /* of the squares of x * (y - f) */
        double explained;    /* share of the k-mers in the fitted rows */
        double bic;          /* Bayesian information criterion, for display */
        double error_nkmers; /* k-mers with errors, repeats included */
        uint64_t threshold;  /* the smallest count of which half or more k-mers are the genome's */
        struct model_range size, heterozygosity; /* size: of one haplotype, in bases */
        struct model_range coverage, error_rate; /* coverage: of one haplotype, by k-mers */
};

/* What the user should know about a result: bits of model.caveats. */
enum model_caveat {
        MODEL_LOW_COVERAGE = 1 << 0, /* under 15 */
        MODEL_BAD_FIT = 1 << 1,      /* under 0.9 explained: no ploidy is chosen */
        MODEL_TIE = 1 << 2,          /* another ploidy explains as much */
        MODEL_MANY_ERRORS = 1 << 3,  /* 1 % or more */
        MODEL_SMALL_K = 1 << 4,      /* too many k-mers of the genome occur twice by chance */
        MODEL_FILTERED = 1 << 5,     /* k-mers with small counts are missing: no error rate */
        MODEL_GROUPS = 1 << 7,       /* k-mers of something else are left out of the size */
        MODEL_COMPRESSED = 1 << 6,   /* homopolymers were compressed: lengths are of that */
};

/* Of reads of which something is known beyond the histogram. */
struct model_origin {
        bool stranded, compressed, selected; /* see --stranded, --hpc and --only */
        uint64_t min_count;                  /* k-mers with a smaller count are missing */
};

/* The k-mers by GC content and count: those of the histogram. */
struct model_gc {
        const struct kc_gc_cell *cells;
        size_t ncells;
};

struct model {
        unsigned caveats;
        struct model_origin origin;
        uint64_t first, last, peak; /* counts: of the fitted rows, and where x * y is largest */
        double nkmers;              /* counts of all k-mers, summed */
        int nfits;
        struct model_fit fits[MODEL_MAX_PLOIDIES]; /* the first is the chosen one */
        int runner_up; /* a fit that explains as much and is plausible, too; 0: none */
        /* The size of the chosen fit without the groups. groups: not set if GC is not known. */
        struct model_range size;
        bool has_gc;
        struct groups groups;
        /* The chosen ploidy, if its coverage were about half or twice as much. */
        struct model_fit half, twice;
};

/*
 * Fit the model for each of these ploidies.
 *   gc        NULL: not known, and groups are not looked for
 *   ploidies  [nploidies], distinct, from 1 to ALLELES_MAX_PLOIDY
 * KC_EINPUT if the histogram does not allow a model: there is no peak, or too little coverage, or
 * it lacks more than errors; KC_ENOMEM.
 */
enum kc_status model_find(const struct histogram *histogram, const struct model_origin *origin,
                          const struct model_gc *gc, const int *ploidies, int nploidies,
                          struct model *model, struct kc_error *err);

#endif
