/*
 * The pairs of a part, collected until the part is complete: a writer takes parts in order, so a
 * thread that hands over less than a part waits for all threads with earlier ones.
 */
#ifndef KC_IO_STORE_PART_BUFFER_H
#define KC_IO_STORE_PART_BUFFER_H

#include "kmer/run.h"

/* One thread's. Zero-initialise. */
struct kc_part_buffer {
        size_t nwords, cap; /* cap: pairs, enough for nearly every part of io/store/parts.h */
        uint64_t *kmers;
        uint32_t *counts;
        size_t n;
};

/* Free with kc_part_buffer_free, even on failure. KC_ENOMEM. */
enum kc_status kc_part_buffer_init(struct kc_part_buffer *buffer, int nwords, struct kc_error *err);
void kc_part_buffer_free(struct kc_part_buffer *buffer);
size_t kc_part_buffer_nbytes(int nwords);

/*
 * Add the next pairs of a part. Those that the filter drops are only reported to the sink.
 * Fails like the sink, which gets a long part in pieces.
 *   n  at most KC_BLOCK_NKMERS
 */
enum kc_status kc_part_buffer_add(struct kc_part_buffer *buffer, const struct kc_run_sink *sink,
                                  uint64_t part, const uint64_t *kmers, const uint32_t *counts,
                                  size_t n, struct kc_error *err);

/* The part has ended: pass it to the sink. Fails like the sink. */
enum kc_status kc_part_buffer_end(struct kc_part_buffer *buffer, const struct kc_run_sink *sink,
                                  uint64_t part, struct kc_error *err);

#endif
