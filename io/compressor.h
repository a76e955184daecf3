/*
 * Compressing a text, which comes part by part, with several threads: the door to io/compress.
 *
 * The text is cut into blocks of a fixed size, wherever its parts begin and end, so the result
 * depends on the text alone. It starts no threads: those that make the text put it, one after the
 * other, and help to compress what waits. A block that is compressed is written as soon as all
 * blocks before it are.
 */
#ifndef KC_IO_COMPRESSOR_H
#define KC_IO_COMPRESSOR_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum kc_compression {
        KC_COMPRESSION_NONE, /* what is put is written at once */
        KC_COMPRESSION_BGZF, /* blocks as bgzip writes them, of libdeflate's level 1 */
        KC_COMPRESSION_ZSTD, /* frames with checksums, of level 1 */
};

struct kc_compressor;

struct kc_compressor_options {
        enum kc_compression compression;
        int nthreads;           /* that will call */
        uint64_t memory_nbytes; /* for blocks that wait; a few per thread are always there */
        void *ctx;              /* of write: one thread at a time calls it */
        enum kc_status (*write)(void *ctx, const void *data, size_t nbytes, struct kc_error *err);
};

/* The most memory that such a compressor takes. It is more than memory_nbytes if that is less than
 * what the threads need. */
uint64_t kc_compressor_nbytes(const struct kc_compressor_options *options);

/* KC_ENOMEM. Free it with kc_compressor_close, for which NULL is fine. */
enum kc_status kc_compressor_open(struct kc_compressor **compressor,
                                  const struct kc_compressor_options *options,
                                  struct kc_error *err);

/*
 * put: append to the text. One thread at a time may call it; it compresses, too, if many blocks
 * wait. help: compress all that waits. Different threads may call it at any time.
 *   thread  the helper's number, 0 .. nthreads - 1
 * KC_ENOMEM, and failures of write; after one, all calls fail.
 */
enum kc_status kc_compressor_put(struct kc_compressor *compressor, const void *text, size_t nbytes,
                                 struct kc_error *err);
enum kc_status kc_compressor_help(struct kc_compressor *compressor, int thread,
                                  struct kc_error *err);

/* The text is complete: compress the rest, with nthreads threads, and write the end. */
enum kc_status kc_compressor_finish(struct kc_compressor *compressor, struct kc_error *err);

void kc_compressor_close(struct kc_compressor *compressor);

#ifdef __cplusplus
}
#endif
#endif
