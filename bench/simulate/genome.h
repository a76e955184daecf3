/*
 * The genome, or the many sequences of a metagenome or a transcriptome, that reads are copied from.
 */
#ifndef BENCH_SIMULATE_GENOME_H
#define BENCH_SIMULATE_GENOME_H

#include "base/status.h"
#include "bench/simulate/settings.h"

#define GENOME_LETTERS "ACTG" /* in the order of (letter >> 1) & 3; code ^ 2 complements */

struct genome {
        char *bases;     /* [settings.genome_nbases], rounded up to whole blocks */
        double *reached; /* [nsequences] share of reads from a sequence and those before it; NULL
                            if there is only one sequence */
};

/* KC_ENOMEM; genome_close releases what there is. */
enum kc_status genome_open(struct genome *genome, const struct settings *set, struct kc_error *err);
void genome_close(struct genome *genome, const struct settings *set);

/* Draw, by abundance, the sequence that a read comes from: where it begins and ends. */
void genome_draw(const struct genome *genome, const struct settings *set, uint64_t *state,
                 uint64_t *begin, uint64_t *end);

/* Copy n bases of a strand: those that begin at from, or their reverse complement. */
void genome_copy(const char *from, uint64_t n, bool reverse, char *to);

#endif
