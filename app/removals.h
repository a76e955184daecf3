/*
 * The k-mers of given sequences, as batches for an engine: so that a list of any length is sorted
 * within bounded memory, by all threads, and each k-mer comes out once. And what makes tombstones
 * of the engine's run.
 */
#ifndef APP_REMOVALS_H
#define APP_REMOVALS_H

#include "app/sequences.h"
#include "kmer/batch.h"
#include "kmer/run.h"

#include <pthread.h>
#include <stdint.h>

struct removals {
        const char *const *arguments; /* sequences, to come first */
        size_t narguments;
        struct sequences *file; /* then these, if not NULL */
        int k;

        pthread_mutex_t lock; /* of all below */
        size_t next_argument;
        const char *text; /* the sequence under way; NULL: none */
        size_t length, at;
        uint64_t nsequences, nbases, nskipped, nshort; /* nshort: sequences shorter than k */
};

/* Set up; what is above the lock is set already. */
void removals_init(struct removals *removals);
void removals_destroy(struct removals *removals);

/* For any number of workers. The removals must outlive it. */
struct kc_batch_source removals_source(struct removals *removals);

/* A sink that passes a run on with all counts 1. Free ones in any case. */
struct tombstones {
        struct kc_run_sink inner;
        size_t nwords;
        uint32_t *ones;
};

/* Of k-mers of k. KC_ENOMEM. */
enum kc_status tombstones_init(struct tombstones *tombstones, struct kc_run_sink inner, int k,
                               struct kc_error *err);

/* tombstones must outlive it. */
struct kc_run_sink tombstones_sink(struct tombstones *tombstones);

#endif
