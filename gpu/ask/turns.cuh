/*
 * The asker for a table that does not fit on the device: it works in rounds (kmer/ask.h). In each,
 * the bases that were added are kept in host memory, and the table passes through the device in
 * turns, each with the ranges of k-mers that fit into a map.
 */
#ifndef KC_GPU_ASK_TURNS_CUH
#define KC_GPU_ASK_TURNS_CUH

#include "gpu/ask.h"

/* As kc_gpu_ask_open, for a map that holds k-mers of this length. The table is not read before
 * the asker answers. */
enum kc_status kc_ask_turns_open(struct kc_asker *asker, const struct kc_gpu_ask_table *table,
                                 const struct kc_gpu_ask_options *options,
                                 const struct kc_ask_setup *setup, struct kc_error *err);

#endif
