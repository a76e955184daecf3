/*
 * How several ranks share the inputs: whole files and, where records can be found (io/parse/cut.h),
 * ranges of bytes, so that all ranks read about as many bases.
 */
#ifndef KC_IO_PARSE_PIECES_H
#define KC_IO_PARSE_PIECES_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a rank reads of an input: bytes from .. to; to = UINT64_MAX: whatever comes from there
 * on. */
struct kc_input_piece {
        size_t input;
        uint64_t from, to;
        uint64_t nbytes; /* of the input, when it was inspected */
};

/* An input, as it was inspected. */
struct kc_sized_input {
        uint64_t nbytes;
        double nbases; /* an estimate; a pipe has none */
        bool cuttable; /* plain text or BGZF in a regular file: ranks can read parts of it */
};

/*
 * The pieces of one of nranks ranks, in the order of the inputs. All ranks together have every byte
 * once. Inputs that cannot be cut go, the largest first, to the rank that has the least; pipes go
 * to rank 0. Cuts are at any byte: kc_cut_find moves both ends of a piece to a record.
 *   inputs  [n]
 *   pieces  out, freed by the caller; at most n of them
 * KC_ENOMEM.
 */
enum kc_status kc_divide_inputs(const struct kc_sized_input *inputs, size_t n, int nranks, int rank,
                                struct kc_input_piece **pieces, size_t *npieces,
                                struct kc_error *err);

#endif
