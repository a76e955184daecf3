/*
 * What filter does with the answers: reads go in, and those that a judge keeps come out.
 */
#ifndef APP_FILTER_FILTERING_H
#define APP_FILTER_FILTERING_H

#include "app/ask/asking.h"
#include "app/filter/held.h"
#include "app/filter/judge.h"
#include "app/filter/notes.h"
#include "app/filter/outputs.h"

struct filtering_slot;

struct filtering {
        /* Set by the caller. */
        struct judge judge;
        int k, nthreads;
        int nslots; /* asking_nslots */
        bool trims;
        bool in_step;         /* two inputs: each mate has its own outputs */
        const char *names[2]; /* of the inputs, for messages */
        struct outputs *outputs;
        struct held held; /* of a record in pieces */

        /* Set by filtering_open. */
        struct filtering_slot *slots; /* [nslots] */

        /* Used by write only, so by one thread at a time. */
        struct notes_totals totals;
        struct kc_ask_summary pieces; /* of the record whose text is held */
        bool is_fastq;                /* whether it is FASTQ */
        struct notes notes;           /* about that record */
};

/* KC_ENOMEM. Afterwards filtering_close. */
enum kc_status filtering_open(struct filtering *filtering, struct kc_error *err);
void filtering_close(struct filtering *filtering);

/* For asking_run's consumer, if the input is text. KC_EINPUT if the names of two mates differ. */
enum kc_status filtering_format(struct filtering *filtering, int worker, const struct asked *block,
                                struct kc_error *err);
enum kc_status filtering_write(struct filtering *filtering, const struct asked *block,
                               struct kc_error *err);

/* The memory that a slot takes. */
uint64_t filtering_slot_nbytes(const struct filtering *filtering, int slot);

/* Forget what was read so far. */
void filtering_restart(struct filtering *filtering);

#endif
