/*
 * How an asker uses its memory: how many parts, the size of chunks and slabs, when a round is full.
 */
#ifndef KC_CPU_ASK_SHAPE_H
#define KC_CPU_ASK_SHAPE_H

#include "cpu/ask/ask.h"

struct kc_ask_shape {
        uint32_t nparts;
        uint32_t piece_nkmers, group_nkmers;
        size_t chunk_nbytes, slab_nbytes;
        uint64_t limit_nbytes; /* of slabs: then a round is full */
};

struct kc_ask_shape kc_ask_shape(const struct kc_ask_table *table, const struct kc_ask_setup *setup,
                                 const struct kc_cpu_ask_tuning *tuning);

#endif
