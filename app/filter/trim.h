/*
 * Cutting the text of a record after its first bases: the name and other lines stay as they are,
 * and the last line of bases or qualities keeps its end.
 */
#ifndef APP_FILTER_TRIM_H
#define APP_FILTER_TRIM_H

#include "app/filter/take.h"

#include <stdbool.h>
#include <stdint.h>

/* The text may come in parts, cut anywhere. */
struct trim {
        uint64_t nbases; /* that stay */
        uint64_t nleft;  /* bases, or qualities, that are still to come of these */
        enum trim_place {
                TRIM_NAME,
                TRIM_BASES,     /* at the beginning of a line of bases, or in it */
                TRIM_CUT_BASES, /* after the last base that stays, in the same line */
                TRIM_DROPPED,   /* lines of bases that do not stay */
                TRIM_PLUS,
                TRIM_QUALITIES,
                TRIM_CUT_QUALITIES,
                TRIM_END,
        } place;
        bool is_fastq;
        bool at_line; /* a line begins */
        bool comment; /* in a comment line of FASTA, which has no bases */
};

/* nbases > 0: how many stay, fewer than the record has. */
struct trim trim_begin(uint64_t nbases, bool is_fastq);

/* The next part of the record's text; take gets what stays of it. Returns take's failure. */
enum kc_status trim_text(struct trim *trim, const char *text, size_t nbytes, filter_take *take,
                         void *ctx, struct kc_error *err);

#endif
