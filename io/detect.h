/*
 * What an input holds, told from its first bytes.
 */
#ifndef KC_DETECT_H
#define KC_DETECT_H

#include "io/input.h"

enum kc_container {
        KC_CONTAINER_PLAIN,
        KC_CONTAINER_GZIP,
        KC_CONTAINER_BGZF,
        KC_CONTAINER_ZSTD,
        KC_CONTAINER_ALIGNMENTS, /* SAM, BAM, CRAM: htslib opens it */
};

struct kc_detected {
        enum kc_container container;
        bool cram;
        double bases_per_byte; /* of the file as it is; a guess, 0 where nothing is known */
};

/*
 * Look at the beginning of an open input, taking nothing away. KC_EINPUT if it is empty or neither
 * FASTA, FASTQ nor alignments, as far as the first bytes tell; KC_EIO, KC_ENOMEM.
 */
enum kc_status kc_detect(struct kc_input *in, struct kc_detected *found, struct kc_error *err);

/* The failure of a text that does not begin like reads. */
enum kc_status kc_detect_refuse(const char *name, struct kc_error *err);

#endif
