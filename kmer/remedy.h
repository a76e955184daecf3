/*
 * What would help against a failure of an engine, or of a file of k-mers or reads: more for
 * kc_error.remedies (base/status.h).
 */
#ifndef KC_REMEDY_H
#define KC_REMEDY_H

#include "base/status.h"

enum kc_kmer_remedy {
        /* of engines and devices */
        KC_REMEDY_IGNORE_QUALITIES = KC_REMEDY_NEXT,
        KC_REMEDY_MORE_GPU_MEMORY = KC_REMEDY_NEXT << 1,
        /* choose another bound: less is free than it seemed */
        KC_REMEDY_OTHER_GPU_MEMORY = KC_REMEDY_NEXT << 2,
        /* state the bound: batches are sized to fit it */
        KC_REMEDY_STATE_GPU_MEMORY = KC_REMEDY_NEXT << 3,
        KC_REMEDY_LIST_DEVICES = KC_REMEDY_NEXT << 4,
        KC_REMEDY_BUILD_CUDA = KC_REMEDY_NEXT << 5, /* build the CUDA engine */
        KC_REMEDY_BUILD_ARCH = KC_REMEDY_NEXT << 6, /* build it for the device's architecture */
        KC_REMEDY_CPU = KC_REMEDY_NEXT << 7,        /* use the CPU engine */
        /* of .kc files */
        KC_REMEDY_READ_COUNTS = KC_REMEDY_NEXT << 8,  /* use a command that reads counts */
        KC_REMEDY_SAME_STRANDS = KC_REMEDY_NEXT << 9, /* count all with strands, or all without */
        KC_REMEDY_COMPACT = KC_REMEDY_NEXT << 10,     /* merge the runs of the file */
        KC_REMEDY_CHANGE = KC_REMEDY_NEXT << 11, /* any command that changes the file repairs it */
        KC_REMEDY_CHECK = KC_REMEDY_NEXT << 12,  /* check the file */
        KC_REMEDY_RESCUE = KC_REMEDY_NEXT << 13, /* copy what is sound in it */
        /* of other files */
        KC_REMEDY_COUNT = KC_REMEDY_NEXT << 14,  /* not a .kc file: if it holds reads, count them */
        KC_REMEDY_IMPORT = KC_REMEDY_NEXT << 15, /* it holds counts: convert it to a .kc file */
        /* convert it, but only as an uncompressed regular file */
        KC_REMEDY_SAVE = KC_REMEDY_NEXT << 16,
        KC_REMEDY_REFERENCE = KC_REMEDY_NEXT << 17, /* tell htslib where the reference is */
        KC_REMEDY_LAST = KC_REMEDY_REFERENCE,
};

#endif
