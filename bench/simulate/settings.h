/*
 * What the command line of simulate asks for.
 */
#ifndef BENCH_SIMULATE_SETTINGS_H
#define BENCH_SIMULATE_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

struct profile;

struct settings {
        uint64_t genome_nbases, nsequences, length, seed, nreads, wrap;
        uint64_t longest; /* bases that a read can have; length without a profile */
        double coverage, error_rate, n_rate, repeats, abundance;
        const struct profile *profile; /* NULL: reads of one length, as simulate first made */
        int nthreads;
        bool fasta, bgzf, truth;
        const char *output;
};

#endif
