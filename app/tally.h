/*
 * A sink that passes a run through to another sink and counts the k-mers seen once; the store does
 * not know their number if --min dropped them.
 */
#ifndef APP_TALLY_H
#define APP_TALLY_H

#include "kmer/run.h"

#include <stdatomic.h>

struct tally {
        struct kc_run_sink inner;
        atomic_uint_fast64_t nunique;
};

/* tally must outlive the sink. */
struct kc_run_sink tally_sink(struct tally *tally, struct kc_run_sink inner);

#endif
