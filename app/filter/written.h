/*
 * The alignments of a block as the bytes of the output.
 */
#ifndef APP_FILTER_WRITTEN_H
#define APP_FILTER_WRITTEN_H

#include "io/alignment_bytes.h"
#include "io/records.h"

#include <stdint.h>

/* Zero-initialise it, and free it with written_free. */
struct written {
        struct kc_alignment_bytes bytes;
        size_t *ends; /* [room] where each record ends */
        size_t room;
};

/* KC_ENOMEM; or as kc_alignment_put. */
enum kc_status written_make(struct written *written, enum kc_alignment_format format,
                            const struct sam_hdr_t *header, const struct kc_record_batch *batch,
                            struct kc_error *err);

/* The bytes of records [first, end). */
const char *written_text(const struct written *written, size_t first, size_t end, size_t *nbytes);

/* The memory that it takes. */
uint64_t written_nbytes(const struct written *written);

void written_free(struct written *written);

#endif
