/*
 * What filter does with the answers: reads go in, and those that a judge keeps come out.
 */
#ifndef APP_FILTER_FILTERING_H
#define APP_FILTER_FILTERING_H

#include "app/ask/asking.h"
#include "app/filter/held.h"
#include "app/filter/judge.h"
#include "app/filter/noted.h"
#include "app/filter/outputs.h"

struct filtering_worker;

/* About some reads: lines for the outputs, and numbers. */
struct filtering_notes {
        struct noted names, table;
        uint64_t nreads, nkept;
};

struct filtering {
        /* Set by the caller. */
        struct judge judge;
        int k, nthreads;
        bool trims;
        bool in_step;         /* two inputs: each mate has its own outputs */
        const char *names[2]; /* of the inputs, for messages */
        struct outputs *outputs;
        struct held held; /* of a record in pieces */

        /* Set by filtering_open. */
        struct filtering_worker *workers; /* [nthreads] */

        /* Used by write only, so by one thread at a time. */
        uint64_t nreads, nkept;
        struct kc_ask_summary pieces; /* of the record whose text is held */
        bool is_fastq;                /* that record */
        struct filtering_notes notes; /* about it */
};

/* KC_ENOMEM. Afterwards filtering_close. */
enum kc_status filtering_open(struct filtering *filtering, struct kc_error *err);
void filtering_close(struct filtering *filtering);

/* The first line of the table, before all reads. */
enum kc_status filtering_begin_table(struct filtering *filtering, struct kc_error *err);

/* For asking_run. KC_EINPUT if the names of two mates differ. */
struct asking_consumer filtering_consumer(struct filtering *filtering);

#endif
