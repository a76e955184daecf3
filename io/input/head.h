/*
 * The beginning of the text in compressed input.
 */
#ifndef KC_IO_INPUT_HEAD_H
#define KC_IO_INPUT_HEAD_H

#include "io/input/detect.h"

/* At least as much as a block of bzip2 takes, of which nothing can be inflated until all of it is
 * there: text of 900,000 bytes, which may not be compressible. */
enum { KC_BZIP2_BLOCK_NBYTES = 1 << 20 };

struct kc_head {
        uint8_t *text;           /* [ntext], to be freed with free() */
        size_t ntext;            /* 0: too little of the input is there */
        double bytes_per_letter; /* bytes of the input for each of its text */
};

/*
 * Inflate the beginning of the text of the first member, frame or stream; *head needs no
 * initialisation. Damage is not reported: it is found again, with its place, when the file is read.
 * KC_ENOMEM.
 */
enum kc_status kc_head_inflate(struct kc_head *head, enum kc_container container,
                               const uint8_t *bytes, size_t n, struct kc_error *err);

#endif
