/*
 * What an input holds, detected from its first bytes.
 */
#ifndef KC_IO_INPUT_DETECT_H
#define KC_IO_INPUT_DETECT_H

#include "io/input/input.h"

enum kc_container {
        KC_CONTAINER_PLAIN,
        KC_CONTAINER_GZIP,
        KC_CONTAINER_BGZF,
        KC_CONTAINER_ZSTD,
        KC_CONTAINER_BZIP2,
        KC_CONTAINER_XZ,
        KC_CONTAINER_ALIGNMENTS, /* SAM and CRAM: htslib opens it */
};

struct kc_detected {
        enum kc_container container;
        double bases_per_byte; /* bases per byte of the file as stored; an estimate, 0 if unknown */
        char first;            /* the first letter of its text; 0 if unknown */
        bool bam;              /* its text is BAM */
        uint8_t percent_other; /* of the first letters of its sequences that are not bases, if they
                                  may be those of proteins; otherwise 0 (io/input/letters.h) */
};

/* The UTF-8 byte order mark, which may precede text and is skipped. */
#define KC_BOM "\xef\xbb\xbf"
enum { KC_BOM_NBYTES = 3 };

/* What is accepted in addition. */
enum kc_accepted {
        KC_ACCEPT_EMPTY = 1 << 0, /* input of 0 bytes */
        KC_ACCEPT_LINES = 1 << 1, /* lines of sequence that are neither FASTQ nor FASTA */
};

/*
 * Look at the beginning of an open input, without consuming anything.
 *   accepted  of enum kc_accepted, combined with |
 * KC_EINPUT if it is empty or another kind of file, as far as the first bytes show; the message
 * says what it is and what to do. KC_EIO, KC_ENOMEM.
 */
enum kc_status kc_detect(struct kc_input *in, unsigned accepted, struct kc_detected *found,
                         struct kc_error *err);

/* What compresses the text of a container; all empty or NULL if nothing does. */
struct kc_packing {
        const char *name;
        const char *pipe;    /* a command that decompresses, without the file's name */
        const char *checker; /* a command that finds damage, or NULL. BGZF needs none: its blocks
                                are checked before anything looks at their text */
};
struct kc_packing kc_container_packing(enum kc_container container);

#endif
