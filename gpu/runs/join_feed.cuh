/*
 * The way in of a join: ranges of blocks, read by threads into pinned memory and from there to the
 * device, a range ahead of the one that is joined.
 */
#ifndef KC_GPU_RUNS_JOIN_FEED_CUH
#define KC_GPU_RUNS_JOIN_FEED_CUH

#include "gpu/blocks/decode.cuh"
#include "gpu/device/gate.h"
#include "kmer/join.h"

template <class Key> struct kc_join_feed;

/* Uses no device yet, so that readers may wait in it. */
template <class Key>
enum kc_status kc_join_feed_new(struct kc_join_feed<Key> **feed,
                                const struct kc_join_source *source, int nreaders,
                                struct kc_gate *gate, struct kc_error *err);

/* The driver: take memory, for ranges of max_blocks blocks. */
template <class Key>
enum kc_status kc_join_feed_attach(struct kc_join_feed<Key> *feed, struct kc_gpu *gpu,
                                   size_t max_blocks, struct kc_error *err);

/* Device memory that it takes. */
template <class Key> size_t kc_join_feed_nbytes(size_t max_blocks);

/*
 * The driver: the next range, complete in gpu->stream; what work needs of the range before must be
 * done. blocks, nblocks, words, from and end of *decode are set, in->nblocks = 0: the end.
 *   in  out: the range as the source gave it
 */
template <class Key>
enum kc_status kc_join_feed_next(struct kc_join_feed<Key> *feed, struct kc_join_range *in,
                                 struct kc_decode_range<Key> *decode, struct kc_error *err);

/* A reader, 0 .. nreaders-1: read blocks until there are no more. */
template <class Key>
enum kc_status kc_join_feed_read(struct kc_join_feed<Key> *feed, int reader, struct kc_error *err);

/* No thread may be in it, and no copy under way. NULL is fine. */
template <class Key> void kc_join_feed_free(struct kc_join_feed<Key> *feed);

#endif
