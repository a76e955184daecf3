/*
 * The asker that spreads a table over several devices: each holds the k-mers that it owns, in the
 * WarpDrive map for several devices (gpu/maps/warpdrive/several.cuh). It works in rounds
 * (kmer/ask.h).
 */
#ifndef KC_GPU_ASK_SPREAD_CUH
#define KC_GPU_ASK_SPREAD_CUH

#include "gpu/ask.h"

/* As kc_gpu_ask_open, for k up to 64. KC_ENOMEM if the parts of the table do not fit. */
enum kc_status kc_ask_spread_open(struct kc_asker *asker, const struct kc_gpu_ask_table *table,
                                  const struct kc_gpu_ask_options *options,
                                  const struct kc_ask_setup *setup, struct kc_error *err);

#endif
