/*
 * The k-mers of given sequences, as batches for an engine, so that all threads sort a list of any
 * length in bounded memory and each k-mer comes out once. Also a sink that turns the engine's run
 * into tombstones.
 */
#ifndef APP_STORE_REMOVALS_H
#define APP_STORE_REMOVALS_H

#include "app/store/sequences.h"
#include "kmer/batch.h"
#include "kmer/run.h"

#include <pthread.h>
#include <stdint.h>

struct removals {
        const char *const *arguments; /* sequences that come first */
        size_t narguments;
        struct kc_records *file; /* then those of this file, if not NULL */
        int k;
        bool hpc; /* homopolymers of the file are compressed */

        pthread_mutex_t lock; /* guards all below */
        size_t next_argument;
        struct kc_record_batch batch; /* of the file */
        size_t next_record;
        char *compressed; /* [compressed_cap] a sequence of the file, with hpc */
        size_t compressed_cap;
        const char *text; /* the current sequence, or piece of one; NULL: none */
        size_t length, at;
        uint64_t nsequences, nbases, nskipped, nshort; /* nshort: sequences shorter than k */
};

/* Set up the lock and the fields below it; the caller has set those above. */
void removals_init(struct removals *removals);
void removals_destroy(struct removals *removals);

/* A source for any number of workers. The removals must outlive it. */
struct kc_batch_source removals_source(struct removals *removals);

/* A sink that passes a run on with all counts 1. Free `ones` in any case. */
struct tombstones {
        struct kc_run_sink inner;
        size_t nwords;
        uint32_t *ones;
};

/* Set up for k-mers of length k. KC_ENOMEM. */
enum kc_status tombstones_init(struct tombstones *tombstones, struct kc_run_sink inner, int k,
                               struct kc_error *err);

/* tombstones must outlive it. */
struct kc_run_sink tombstones_sink(struct tombstones *tombstones);

#endif
