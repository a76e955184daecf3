/*
 * Draws reads and writes them as text. Each read depends only on the seed and on its own number, so
 * the output is the same for any number of threads.
 */
#ifndef BENCH_SIMULATE_READS_H
#define BENCH_SIMULATE_READS_H

#include "base/status.h"
#include "bench/simulate/genome.h"
#include "bench/simulate/profile.h"
#include "bench/simulate/settings.h"

#include <stddef.h>

struct reads {
        const struct settings *set;
        struct genome genome;
        char *walk;                  /* of qualities, without a profile */
        struct qualities *qualities; /* with one */
};

/* KC_ENOMEM; reads_close releases what there is. */
enum kc_status reads_open(struct reads *reads, const struct settings *set, struct kc_error *err);
void reads_close(struct reads *reads);

/* The most bytes that the text of a read of so many bases takes, and scratch for any read. */
size_t reads_record_nbytes(const struct settings *set, uint64_t nbases);
size_t reads_scratch_nbytes(const struct settings *set);

/* Write a read to out, and add its bases to *nbases. Returns the end of the text. */
char *reads_put(const struct reads *reads, uint64_t number, char *scratch, char *out,
                uint64_t *nbases);

#endif
