/*
 * Groups of k-mers that are more frequent than those of the genome and have another GC content:
 * those of organelles, plasmids and contaminants.
 */
#ifndef APP_MODEL_GROUPS_H
#define APP_MODEL_GROUPS_H

#include "io/joint.h"

enum { GROUPS_MAX = 8 };

struct group {
        double nkmers, instances; /* distinct k-mers; their counts, summed */
        double depth, times;      /* mean count; the same as a multiple of the genome's */
        double gc;                /* share of bases that are G or C */
        uint64_t from_count, to_count;
        bool is_deep; /* true: like an organelle or plasmid; false: like a contaminant */
};

struct groups {
        double main_gc; /* GC content of the genome's k-mers, as a share */
        int n;
        struct group groups[GROUPS_MAX]; /* by depth; the first eight */
        double instances;                /* of all groups, also of those after the eighth */
};

/*
 * Find groups that have more than 1,000 k-mers and more than a thousandth as many as the genome.
 *   cells      [ncells], as kc_store_gc finds them
 *   depth      the usual count of a k-mer of the genome
 *   threshold  the smallest count at which most k-mers are the genome's
 * KC_ENOMEM.
 */
enum kc_status groups_find(const struct kc_gc_cell *cells, size_t ncells, int k, double depth,
                           uint64_t threshold, struct groups *groups, struct kc_error *err);

#endif
