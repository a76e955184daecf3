/*
 * How much of one record may be held in memory.
 */
#ifndef KC_IO_PARSE_LIMITS_H
#define KC_IO_PARSE_LIMITS_H

#include "io/input/chunk.h"

/* How much of a sequence that is read in pieces is held until its qualities come, if they are
 * wanted. */
struct kc_held_limit {
        size_t nbytes;
        uint64_t bound_nbytes; /* to report: the process needs this many bytes... */
        unsigned bound_factor; /* ...and this many more for each byte held; 0: unknown */
};

struct kc_limits {
        size_t record_max; /* bytes of a record that is held whole; a longer one comes in pieces */
        struct kc_held_limit held;
};

/* Longer records are read piece by piece and in order, so not by all workers at once. */
static inline struct kc_limits kc_limits_usual(void)
{
        return (struct kc_limits){ .record_max = 16 << 20, .held.nbytes = KC_CHUNK_RECORD_MAX };
}

#endif
