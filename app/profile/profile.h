/*
 * The counts along sequences: what is printed of each of them, and of all together.
 */
#ifndef APP_PROFILE_PROFILE_H
#define APP_PROFILE_PROFILE_H

#include "app/ask/asking.h"
#include "app/profile/table.h"
#include "app/profile/track.h"
#include "io/input/inputs.h"

enum profile_form {
        PROFILE_NONE,      /* of all together only */
        PROFILE_TABLE,     /* a row for each sequence */
        PROFILE_JSON,      /* its row as an object */
        PROFILE_POSITIONS, /* the count at each position */
};

struct profile_request {
        struct kc_store *store;
        const struct kc_inputs *inputs;
        enum profile_form form;
        struct profile_track_setup track; /* of the positions */
        bool wants_total;
        uint32_t min_count, max_count; /* of the windows that are found */
        int nthreads;
        uint64_t memory_nbytes;        /* for all that is held here */
        struct device_answers *device; /* what looks k-mers up; then says what did */
        struct kc_job *job;
        /* Called before the first result is printed, or at the end if there is none. */
        void (*begin)(void *ctx);
        void *ctx;
};

/* What is known about all sequences. */
struct profile_total {
        struct profile_row row; /* if it was wanted */
        uint64_t nsequences;
};

/* Bytes that each thread takes, beside what asking takes. */
uint64_t profile_thread_nbytes(void);

/*
 * Profile all inputs. Fails like asking_run, and if the text cannot be written.
 *   out   takes the text of PROFILE_TABLE and PROFILE_POSITIONS
 *   json  takes the objects of PROFILE_JSON: an array that request->begin has opened
 */
enum kc_status profile_run(const struct profile_request *request, struct text_out *out,
                           struct json *json, struct profile_total *total, struct kc_error *err);

#endif
