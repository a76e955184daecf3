/*
 * Simulate reads: threads make them, and write them in order.
 */
#ifndef BENCH_SIMULATE_SIMULATE_H
#define BENCH_SIMULATE_SIMULATE_H

#include "base/status.h"
#include "bench/simulate/settings.h"

struct simulated {
        uint64_t nbases, written_nbytes;
};

/* Write the reads to the output. KC_ENOMEM, KC_EIO. */
enum kc_status simulate(const struct settings *set, struct simulated *simulated,
                        struct kc_error *err);

#endif
