/*
 * The numbers of an assembly: all of them are sums over the joint histogram of reads and assembly.
 */
#ifndef APP_REPORT_NUMBERS_H
#define APP_REPORT_NUMBERS_H

#include "app/report/quality.h"
#include "io/joint.h"

enum { NUMBERS_MAX_ASSEMBLIES = KC_JOINT_MAX_FILES - 1 };

/* How often an assembly has a k-mer: not at all, once to four times, more often. */
enum { NUMBERS_NCOPIES = 6 };

/* Which of two assemblies has a k-mer. */
enum numbers_holder {
        NUMBERS_NEITHER,
        NUMBERS_FIRST_ONLY,
        NUMBERS_SECOND_ONLY,
        NUMBERS_BOTH,
        NUMBERS_NHOLDERS,
};

/* A row of a spectrum: distinct k-mers with this count in the reads, by what the assembly has. */
struct numbers_row {
        uint32_t count; /* 0: the reads lack them */
        uint64_t kmers[NUMBERS_NCOPIES];
};

struct numbers_spectrum {
        struct numbers_row *rows; /* [nrows] ascending; none is empty */
        size_t nrows;
};

/* Of an assembly, or of both together. */
struct numbers {
        struct quality_counts quality;
        uint64_t ndistinct_absent;      /* of quality.nabsent */
        struct numbers_spectrum copies; /* by copies: 0 to 4, more; those of both are added up */
};

struct numbers_of_assemblies {
        size_t nassemblies;
        struct numbers each[NUMBERS_MAX_ASSEMBLIES];
        struct numbers both;             /* if there are two */
        struct numbers_spectrum holders; /* kmers[enum numbers_holder] */
};

/*
 * Add the cells up.
 *   cells  [ncells] of the reads, then of the assemblies; ascending, as kc_store_joint gives them,
 *          with all counts told apart
 * KC_ENOMEM. In any case free with numbers_free.
 */
enum kc_status numbers_add_up(struct numbers_of_assemblies *numbers,
                              const struct kc_joint_cell *cells, size_t ncells, size_t nassemblies,
                              struct kc_error *err);
void numbers_free(struct numbers_of_assemblies *numbers);

/*
 * The k-mers that the reads have at least `threshold` times are solid: they are the genome's. An
 * assembly is complete as far as it has them.
 */
struct numbers_completeness {
        uint64_t threshold;                          /* not 0 */
        uint64_t nsolid, nfound;                     /* distinct k-mers */
        uint64_t nsolid_instances, nfound_instances; /* each as often as it was read */
};
struct numbers_completeness numbers_complete(const struct numbers *numbers, uint64_t threshold);

/* All assemblies together: both of two, or the only one. */
const struct numbers *numbers_whole(const struct numbers_of_assemblies *numbers);

#endif
