/*
 * Filtering SAM or BAM, by the names of the reads: all records of a name are kept, or none. The
 * primary ones, which have whole reads, are judged like the reads of a pair.
 *
 * If the records of each name follow each other, one pass is enough: each group is written as soon
 * as it is complete. Otherwise the first pass judges all names, and the second one writes. Unless
 * the header says that two are needed, or the outputs cannot be begun again, the first pass begins
 * as if it were the only one, and remembers names. If a name comes again after others, everything
 * starts again, with two passes. A header that says that the records of each name follow each other
 * is trusted only once there is no memory for more names.
 */
#ifndef APP_FILTER_ALIGNMENTS_H
#define APP_FILTER_ALIGNMENTS_H

#include "app/filter/filtering.h"
#include "app/filter/verdicts.h"
#include "app/filter/written.h"

struct alignments {
        /* Set by the caller. */
        struct filtering *filtering; /* its rules, outputs, held text and totals */
        struct kc_alignment_program program;
        const char *path;      /* of the input */
        bool is_paired;        /* there are two inputs, or mates follow each other */
        bool is_rule_given;    /* the user has said how pairs are judged */
        bool can_repeat;       /* the input can be read again */
        bool can_restart;      /* the outputs can be begun again */
        uint64_t names_nbytes; /* memory for names */
        struct kc_job *job;

        /* Set by alignments_begin. */
        bool has_alignments; /* the input is SAM or BAM */
        bool has_two_passes;
        bool is_promised; /* the header says that the records of a name follow each other */
        bool writes;      /* it writes alignments, not only lines about them */
        enum kc_alignment_format format;
        struct sam_hdr_t *header; /* the stream's */
        struct alignments_slot {
                struct written written;
                struct notes notes;
        } * slots; /* [filtering->nslots] */

        /* Used by one thread at a time. */
        struct verdicts verdicts;
        bool remembers;        /* in the only pass: it remembers names */
        bool wants_two_passes; /* the only pass has failed, but two may succeed */
        /* The group that is not complete yet; its records of earlier blocks are held. */
        char name[NAMES_MOST_NBYTES];
        size_t name_nbytes; /* 0: there is none */
        uint64_t nreads;    /* primary records */
        struct judge_group group;
        struct notes notes;
};

/*
 * begin looks at any input, for asking_run's consumer; format and write do the consumer's work if
 * the input is SAM or BAM (has_alignments). finish comes after asking_run: it ends the only pass,
 * or does the second one. KC_EINPUT, KC_EUSAGE if the input, its order and the outputs do not go
 * together; KC_ENOMEM, KC_EIO, KC_ECANCELED.
 */
enum kc_status alignments_begin(struct alignments *alignments,
                                const struct kc_records *const streams[2], struct kc_error *err);
enum kc_status alignments_format(struct alignments *alignments, int worker,
                                 const struct asked *block, struct kc_error *err);
enum kc_status alignments_write(struct alignments *alignments, const struct asked *block,
                                struct kc_error *err);
enum kc_status alignments_finish(struct alignments *alignments, struct kc_error *err);

/* The memory that a slot takes. */
uint64_t alignments_slot_nbytes(const struct alignments *alignments, int slot);

/* After a run that wanted two passes: forget it. */
void alignments_restart(struct alignments *alignments);

void alignments_close(struct alignments *alignments);

/* ---- for second_pass.c ---- */

/* Write the header. */
enum kc_status alignments_put_header(struct alignments *alignments, struct kc_error *err);

/* Write records [first, end) of the block in a slot. */
enum kc_status alignments_put(const struct alignments *alignments, int slot, size_t first,
                              size_t end, bool kept, struct kc_error *err);

/* Read the input again, and write. */
enum kc_status alignments_second_pass(struct alignments *alignments, struct kc_error *err);

#endif
