/*
 * Loading a table: blocks of a .kc file are copied to the device as they are, decoded and joined
 * there range by range, and put into a map.
 */
#ifndef KC_GPU_ASK_LOAD_CUH
#define KC_GPU_ASK_LOAD_CUH

#include "gpu/ask/map.cuh"
#include "kmer/join.h"

/*
 * Load all k-mers of the source into a new table, to be closed even if this fails.
 *   nreaders  threads that read, besides the calling one
 *   totals    out
 * KC_EUSAGE as kc_ask_map_open; KC_ENOMEM, also if the table does not fit; KC_EDEVICE; or what
 * the source returns.
 */
template <class Key>
enum kc_status kc_ask_load(struct kc_ask_map<Key> *table, struct kc_gpu *gpu,
                           const struct kc_join_source *source, enum kc_gpu_map map, int nreaders,
                           struct kc_join_totals *totals, struct kc_error *err);

#endif
