/*
 * Groups of k-mers whose GC content is not that of the genome and that are more frequent than it:
 * those of organelles, plasmids and contaminants.
 */
#ifndef APP_MODEL_GROUPS_H
#define APP_MODEL_GROUPS_H

#include "io/joint.h"

enum { GROUPS_MAX = 8 };

struct group {
        double nkmers, instances; /* distinct k-mers; their counts, summed */
        double depth, times;      /* mean count; over that of the genome */
        double gc;                /* share of G and C */
        uint64_t from_count, to_count;
        bool is_deep; /* like an organelle or plasmid, otherwise like a contaminant */
};

struct groups {
        double main_gc; /* of the genome's k-mers */
        int n;
        struct group groups[GROUPS_MAX]; /* by depth */
        double instances;                /* of all of them */
};

/*
 * Find groups of more than 1,000 k-mers, and more than one in 1,000 of the genome's.
 *   cells      [ncells], as kc_store_gc finds them
 *   depth      the count of the genome's k-mers
 *   threshold  the smallest count of which most k-mers are the genome's
 * KC_ENOMEM.
 */
enum kc_status groups_find(const struct kc_gc_cell *cells, size_t ncells, int k, double depth,
                           uint64_t threshold, struct groups *groups, struct kc_error *err);

#endif
