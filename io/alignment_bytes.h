/*
 * Alignments as the bytes of a file: SAM, or BAM before it is compressed.
 */
#ifndef KC_IO_ALIGNMENT_BYTES_H
#define KC_IO_ALIGNMENT_BYTES_H

#include "base/status.h"

#include <stddef.h>

struct bam1_t;    /* htslib's */
struct sam_hdr_t; /* htslib's */

enum kc_alignment_format { KC_ALIGNMENT_SAM, KC_ALIGNMENT_BAM };

/* Bytes in memory, which grow. Zero-initialise it, and free data. To begin again, set n to 0. */
struct kc_alignment_bytes {
        char *data;
        size_t n, room;
};

/* The program that writes the file, for the @PG line of the header. */
struct kc_alignment_program {
        const char *name, *version, *command;
};

/* Append a header, with an @PG line for the program. KC_ENOMEM, KC_EINPUT. */
enum kc_status kc_alignment_put_header(struct kc_alignment_bytes *bytes,
                                       enum kc_alignment_format format,
                                       const struct sam_hdr_t *header,
                                       const struct kc_alignment_program *program,
                                       struct kc_error *err);

/* Append a record. KC_ENOMEM; KC_EINPUT if the format cannot hold it: BAM has no positions beyond
 * 2^31. */
enum kc_status kc_alignment_put(struct kc_alignment_bytes *bytes, enum kc_alignment_format format,
                                const struct sam_hdr_t *header, const struct bam1_t *record,
                                struct kc_error *err);

#endif
