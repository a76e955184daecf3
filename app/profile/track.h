/*
 * The count at each position of a sequence, in formats that genome browsers read, too. A position
 * is that of a k-mer's first base. Positions without a k-mer are left out.
 */
#ifndef APP_PROFILE_TRACK_H
#define APP_PROFILE_TRACK_H

#include "app/profile/text.h"
#include "kmer/ask.h"

enum profile_format { PROFILE_TSV, PROFILE_BEDGRAPH, PROFILE_WIG, PROFILE_BED };

struct profile_track_setup {
        enum profile_format format;
        uint32_t unique_min, unique_max; /* of BED: counts between the two are unique */
};

/* A sequence whose pieces come one after the other. Zero-initialise it for each. */
struct profile_track {
        bool declared;       /* of wiggle: the line that names the sequence is written */
        uint64_t begin, end; /* positions that have the same value and are not yet written */
        uint32_t value;
};

/* Bytes that n positions take at most. */
uint64_t profile_track_nbytes(const struct profile_name *name, uint64_t n);

/* Put the positions of the next piece, whose first base is at `offset`. */
void profile_track_put(struct profile_track *track, const struct profile_track_setup *setup,
                       struct profile_text *text, const struct profile_name *name, uint64_t offset,
                       const struct kc_ask_answer *answer);
/* The sequence ends. */
void profile_track_end(struct profile_track *track, const struct profile_track_setup *setup,
                       struct profile_text *text, const struct profile_name *name);

#endif
