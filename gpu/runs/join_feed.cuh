/*
 * The input of a join: threads read ranges of blocks into pinned memory, from where they are copied
 * to the device, one range ahead of the join (kc_join_feed_ahead).
 */
#ifndef KC_GPU_RUNS_JOIN_FEED_CUH
#define KC_GPU_RUNS_JOIN_FEED_CUH

#include "gpu/blocks/decode.cuh"
#include "gpu/device/gate.h"
#include "kmer/join.h"

template <class Key> struct kc_join_feed;

/*
 * Create a feed, to be freed with kc_join_feed_free even if this fails. Uses no device yet, so
 * readers may already wait in kc_join_feed_read.
 *   source    must outlive the feed
 *   nreaders  threads that will call kc_join_feed_read
 *   gate      of the driver and the readers; must outlive the feed
 * KC_ENOMEM.
 */
template <class Key>
enum kc_status kc_join_feed_new(struct kc_join_feed<Key> **feed,
                                const struct kc_join_source *source, int nreaders,
                                struct kc_gate *gate, struct kc_error *err);

/* Driver only: allocate memory, on the device and pinned, for ranges of at most max_blocks blocks.
 * KC_ENOMEM, KC_EDEVICE. */
template <class Key>
enum kc_status kc_join_feed_attach(struct kc_join_feed<Key> *feed, struct kc_gpu *gpu,
                                   size_t max_blocks, struct kc_error *err);

/* Bytes of device memory that kc_join_feed_attach allocates. */
template <class Key> size_t kc_join_feed_nbytes(size_t max_blocks);

/*
 * Driver only: the next range, complete in gpu->stream. Work that needs the previous range must be
 * done. Sets blocks, nblocks, words, from and end of *decode; in->nblocks = 0 at the end.
 *   in      out: the range as the source gave it, which owns what it points to
 *   decode  its arrays are the feed's, until the next call
 * The source's errors; KC_EDEVICE; KC_ECANCELED if the job was canceled or another thread failed.
 */
template <class Key>
enum kc_status kc_join_feed_next(struct kc_join_feed<Key> *feed, struct kc_join_range *in,
                                 struct kc_decode_range<Key> *decode, struct kc_error *err);

/* Driver only, after kc_join_feed_next and before its next call: let the readers go on with the
 * range after it. Finding its blocks takes a while, during which the device should have work.
 * The source's errors. */
template <class Key>
enum kc_status kc_join_feed_ahead(struct kc_join_feed<Key> *feed, struct kc_error *err);

/* Reader 0 .. nreaders-1, each in its own thread: read blocks until there are no more. Errors as in
 * kc_join_feed_next. */
template <class Key>
enum kc_status kc_join_feed_read(struct kc_join_feed<Key> *feed, int reader, struct kc_error *err);

/* No thread may still use the feed, and no copy may be under way. NULL is fine. */
template <class Key> void kc_join_feed_free(struct kc_join_feed<Key> *feed);

#endif
