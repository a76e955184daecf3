/*
 * What a report says about reads, and about an assembly of them: numbers only. page_html.h and
 * page_json.h write them.
 *
 * The caller that fills it owns all arrays and strings. A share is a fraction of 1, unless its name
 * ends in _percent. Zero-initialised, a report has no model and no assembly.
 */
#ifndef APP_REPORT_PAGE_PAGE_H
#define APP_REPORT_PAGE_PAGE_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
        PAGE_NCOPIES = 6,  /* missing, 1, 2, 3, 4, more */
        PAGE_NONLY = 5,    /* 1, 2, 3, 4, more */
        PAGE_NPARTS = 3,   /* heterozygous, homozygous, repeated */
        PAGE_NHOLDERS = 4, /* neither assembly, the first only, the second only, both */
        PAGE_MAX_ASSEMBLIES = 2,
        PAGE_NBIN_VALUES = 3, /* k-mers absent from the reads; % in excess; median count */
        PAGE_MAX_PLOIDIES = 6,
        PAGE_MAX_RATES = 10,
        PAGE_MAX_GROUPS = 8,
        PAGE_MAX_ROWS = 1000,      /* of the spectrum */
        PAGE_MAX_SEQUENCES = 200,  /* that HTML shows */
        PAGE_MAX_BINS = 100,       /* of a sequence */
        PAGE_MAX_ALL_BINS = 10000, /* of the sequences that are shown */
};

/* A number with its 95 % interval. */
struct page_range {
        double value, low, high;
};

/* Why a part of the report is missing. */
enum page_refusal {
        PAGE_GIVEN, /* it is not missing */
        PAGE_NO_PEAK,
        PAGE_LOW_COVERAGE,
        PAGE_HIGH_PEAK,  /* beyond what can be fitted */
        PAGE_FILTERED,   /* k-mers with small counts are missing */
        PAGE_CAPPED,     /* k-mers with large counts are missing */
        PAGE_REMOVED,    /* k-mers were removed later */
        PAGE_STRANDED,   /* the k-mers of both strands were counted separately */
        PAGE_SELECTED,   /* only the k-mers of a given set were counted */
        PAGE_COMPRESSED, /* homopolymers were compressed */
        PAGE_NO_LIBRARY, /* this program cannot fit models */
        PAGE_ARE_READS,  /* what was given as an assembly is far larger than the genome */
        PAGE_NO_KMERS,   /* the assembly has no k-mers */
};

/* ---- the inputs ---- */

struct page_reads {
        const char *file, *sha256; /* sha256: hexadecimal; NULL if it is not known */
        uint64_t nreads, nbases;   /* 0 if they are not known, as in a .kc file */
        uint64_t nlow_quality;     /* of nbases: left out because of their quality */
        uint64_t nonce;            /* distinct k-mers that occur once */
        uint64_t min_count;        /* those with a smaller count are missing */
        uint64_t max_count;        /* likewise those with a greater one; 0: none */
        bool removed;              /* some were removed from the file of counts */
        bool stranded, compressed;
};

/* ---- the genome ---- */

/*
 * Distinct k-mers by count, from 1 to 3 p times the coverage, or to the last fitted count if that
 * is more. If these are more than PAGE_MAX_ROWS, neighbouring counts are in one row together.
 */
struct page_spectrum {
        const uint64_t *kmers; /* [n]: row i has counts i * width + 1 to (i + 1) * width */
        size_t n, width;
        uint64_t total;    /* occurrences, of all counts */
        uint64_t distinct; /* of all counts */
        uint64_t beyond;   /* distinct k-mers with counts above those of the rows */
};

/* The fit of the chosen ploidy p. Arrays: for each row of the spectrum. */
struct page_model {
        enum page_refusal refusal; /* if it is not PAGE_GIVEN, all else is 0 */
        int ploidy;
        int runner_up; /* another ploidy that explains as much and is plausible; 0: none */
        bool fits;     /* it explains 90 % or more; otherwise no ploidy is chosen */
        double length, coverage, bias, duplication;
        int nrates;
        double rates[PAGE_MAX_RATES];
        uint64_t fit_first, fit_last; /* counts that were fitted */
        uint64_t peak;                /* where count times k-mers is largest */
        double explained;
        bool too_heterozygous; /* more than known genomes are */
        bool uncertain;        /* the interval of a number is wider than its value */
        bool undetermined;     /* parameters depend on each other: intervals are too narrow */
        bool rough;            /* it explains less than 95 % */
        bool rough_rate;       /* the heterozygosity is known to within a fifth at best */
        double undescribed;    /* share of the genome in more copies than it describes, if that is
                                  much; or 0 */
        double nfrequent;      /* occurrences of k-mers that are too frequent for repeats */
        uint64_t threshold;    /* the smallest count at which k-mers are likely genome */
        const double *errors, *heterozygous, *homozygous, *repeated; /* 1n.., p n, more */
};

struct page_verdict {
        struct page_range genome_size; /* bases of one haplotype, without the groups off the
                                            profile */
        double all_kmers;              /* the same with these groups */
        struct page_range heterozygosity, coverage, error_rate;
        bool has_error_rate;
        double read_depth; /* how often a base is read */
};

/* A fit that was compared, best first. */
struct page_candidate {
        int ploidy;
        bool tied; /* it explains about as much as the best one */
        double explained, bic, delta_bic, coverage, haploid, heterozygosity, duplication;
        const double *curve; /* for each row of the spectrum */
};

/* ---- GC content ---- */

/* k-mers that differ from the genome in GC content and depth. */
struct page_group {
        uint64_t nkmers, ninstances, from_count, to_count;
        double depth, times, gc; /* times: depth over the genome's */
};

struct page_gc {
        size_t ncolumns;       /* 0: not tallied */
        const uint64_t *first; /* [ncolumns]: the first count of each column */
        const uint64_t *kmers; /* [k + 1][ncolumns]: by bases that are G or C */
        double main_gc;
        int ngroups;
        struct page_group groups[PAGE_MAX_GROUPS];
};

/* ---- the assembly ---- */

/* What became of the k-mers of a part of the genome. */
struct page_part {
        double nkmers, missing_percent, once_percent, twice_percent, more_percent;
};

struct page_copies {
        const uint64_t (*kmers)[PAGE_NCOPIES];           /* for each row of the spectrum */
        uint64_t beyond[PAGE_NCOPIES], only[PAGE_NONLY]; /* only: in no read */
        bool has_parts;                                  /* they need a model */
        struct page_part parts[PAGE_NPARTS];
};

/* Base quality by k-mers. low: the worse end. */
struct page_qv {
        double nonly, nkmers; /* k-mers that no read has, of all */
        bool is_bound;        /* none was found: only low is known */
        struct page_range qv;
        double error; /* wrong bases, as a share; at the bound if is_bound */
};

struct page_quality {
        enum page_refusal refusal;
        struct page_qv raw;
        bool has_adjusted;
        struct page_qv adjusted;
        double unseen,
                chance; /* correct k-mers in no read; share of wrong ones that reads repeat */
};

/* What says from which count on k-mers are solid. */
enum page_solid {
        PAGE_BY_MODEL,
        PAGE_BY_MINIMUM, /* the first minimum of the counts */
        PAGE_BY_USER,
        PAGE_ALL_SOLID, /* neither a model nor a minimum: from 1 on */
};

/*
 * Solid k-mers, and those of them that the assembly has. A threshold is the smallest count of solid
 * k-mers. Percentages without solid k-mers are not looked at. There are limits only if the model
 * says what is solid; otherwise low_threshold and high_threshold are 0.
 */
struct page_completeness {
        uint64_t threshold, nsolid, nfound;
        struct page_range percent; /* its limits: at high_threshold and low_threshold */
        uint64_t low_threshold, high_threshold;
        double weighted_percent; /* each k-mer as often as it was read */
        struct {
                uint64_t threshold, nsolid, nfound;
                double percent, weighted_percent;
        } first_minimum; /* as Merqury has it */
};

/* What is said about an assembly, or about two together. */
struct page_comparison {
        struct page_copies copies; /* of two assemblies, the copies are added up */
        struct page_quality quality;
        struct page_completeness completeness;
};

struct page_assembly {
        const char *name; /* the file's, without folder and ending */
        const char *file, *sha256;
        bool is_counted;             /* a file of counts: nothing is known about its sequences */
        uint64_t nsequences, nbases; /* 0 if they are not known */
        uint64_t nkmers, ndistinct;  /* nkmers: each as often as it occurs */
        struct page_comparison comparison; /* if there are two; that of the only one is all */
};

/* Which of two assemblies has a k-mer. */
struct page_holders {
        const uint64_t (*kmers)[PAGE_NHOLDERS]; /* for each row of the spectrum */
        uint64_t beyond[PAGE_NHOLDERS];
        uint64_t only[PAGE_NHOLDERS - 1]; /* in no read; without the first column */
};

/* page_flags.h finds them. */
enum page_flag {
        PAGE_LOW_QV = 1 << 0,
        PAGE_SECOND_COPY = 1 << 1,
        PAGE_PART_DOUBLED = 1 << 2,
        PAGE_UNLIKE_GENOME = 1 << 3,
};

/* One that is shorter than k has no k-mers: qv.nkmers is 0, and only its name, length and
 * gc_percent are looked at. */
struct page_sequence {
        const char *name;
        int assembly; /* its index */
        size_t place; /* in the file */
        uint64_t length;
        double gc_percent;    /* below 0: it has no base but N */
        double median;        /* of the counts that are not 0; 0: there is none */
        double extra_percent; /* k-mers in two copies, but once in the genome */
        struct page_qv qv;
        unsigned flags;
        size_t nbins;
        const uint32_t (*bins)[PAGE_NBIN_VALUES];
};

/* ---- all of it ---- */

struct page {
        const char *sample, *program, *command;
        int k;
        bool small_k; /* many k-mers of the genome occur twice by chance */
        int least_k;  /* with which they do not; 0: not known */
        struct page_reads reads;
        struct page_spectrum spectrum;
        struct page_model model;
        struct page_verdict verdict; /* of the model */
        int ncandidates;
        struct page_candidate candidates[PAGE_MAX_PLOIDIES];
        struct page_gc gc;
        double depth;       /* the count of what each copy of the genome has once: the model's, or
                               that of the main peak; 0: not known */
        double genome_size; /* bases of one copy, likewise */

        int nassemblies; /* 0: the report is about the genome only */
        struct page_assembly assemblies[PAGE_MAX_ASSEMBLIES];
        struct page_comparison all;  /* of all assemblies; of the only one, if there is one */
        struct page_holders holders; /* if there are two */
        enum page_solid solid;       /* of all thresholds of completeness */
        uint64_t step;               /* bases in a bin, of all sequences; 0: there are no bins */
        size_t nsequences;           /* of all assemblies, as far as they are known */
        const struct page_sequence *sequences; /* those with flags, then the longest */
};

/* Not if so few k-mers are absent that they may be parts of one wrong base. */
static inline bool page_qv_has_high(const struct page_qv *qv)
{
        return !qv->is_bound && isfinite(qv->qv.high);
}

static inline bool page_has_model(const struct page *page)
{
        return page->model.refusal == PAGE_GIVEN;
}

/* Whether there is a model that explains the counts. */
static inline bool page_has_verdict(const struct page *page)
{
        return page_has_model(page) && page->model.fits;
}

/* 0: none is chosen. */
static inline int page_ploidy(const struct page *page)
{
        return page_has_verdict(page) ? page->model.ploidy : 0;
}

static inline bool page_has_quality(const struct page *page)
{
        return page->nassemblies > 0 && page->all.quality.refusal == PAGE_GIVEN;
}

/* What is said about one of the assemblies. */
static inline const struct page_comparison *page_comparison_of(const struct page *page, int i)
{
        return page->nassemblies > 1 ? &page->assemblies[i].comparison : &page->all;
}

/* How many sequences the HTML lists: the first ones. */
static inline size_t page_count_listed(const struct page *page)
{
        return page->nsequences < PAGE_MAX_SEQUENCES ? page->nsequences : PAGE_MAX_SEQUENCES;
}

static inline bool page_sequence_has_quality(const struct page *page, const struct page_sequence *s)
{
        return s->qv.nkmers > 0 &&
               page_comparison_of(page, s->assembly)->quality.refusal == PAGE_GIVEN;
}

#endif
