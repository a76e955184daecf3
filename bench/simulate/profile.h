/*
 * Reads with the lengths, the qualities and the errors of a sequencing instrument.
 */
#ifndef BENCH_SIMULATE_PROFILE_H
#define BENCH_SIMULATE_PROFILE_H

#include "base/status.h"
#include "bench/simulate/settings.h"

/* The profile of that name; NULL if there is none. */
const struct profile *profile_find(const char *name);

/* The mean length of its reads unless --length says otherwise, and the longest for a given mean. */
uint64_t profile_length(const struct profile *profile);
uint64_t profile_longest(const struct profile *profile, uint64_t mean);

/* Bases of a strand to copy a read of at most n bases from: deletions leave some of them out. */
uint64_t profile_span(uint64_t n);

/* Strings of qualities, and where they cause errors: made once, and shared by all reads. */
struct qualities;

/* KC_ENOMEM. */
enum kc_status qualities_open(struct qualities **qualities, const struct settings *set,
                              struct kc_error *err);
void qualities_close(struct qualities *qualities); /* NULL is fine */

/* The length of a read. */
uint64_t profile_draw_length(const struct settings *set, uint64_t *state);

struct read {
        uint64_t nbases; /* in: wanted; out: those that the strand had bases for */
        char *bases;     /* [nbases] */
        char *quality;   /* [nbases] */
        char *cigar,
                *cigar_at; /* [profile_cigar_room(nbases)] =, X, I and D; its end. NULL: none */
        uint64_t used;     /* bases of the strand */
};

uint64_t profile_cigar_room(uint64_t nbases);

/* Copy a read from the n bases of a strand, with errors where its qualities cause some. */
void profile_read(const struct qualities *qualities, const struct settings *set, uint64_t *state,
                  const char *strand, uint64_t n, struct read *read);

#endif
