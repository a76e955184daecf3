/*
 * The inputs as they are stored (kmer/stored.h): those that a device can inflate and parse.
 */
#ifndef KC_IO_PARSE_STORED_H
#define KC_IO_PARSE_STORED_H

#include "io/input/detect.h"
#include "kmer/stored.h"

#include <pthread.h>
#include <stdatomic.h>

struct kc_job;

/* A zeroed one is empty. */
struct kc_stored {
        struct kc_stored_file *files; /* [n] */
        struct kc_stored_part *parts; /* [nparts] */
        size_t nparts;
        struct kc_input *inputs; /* [n] opened when they are first read */
        bool *opened;            /* [n] */
        char *const *names;      /* [n] */
        size_t n;
        bool unfit; /* some input is of a kind that a device cannot read */
        struct kc_job *job;
        atomic_uint *marks; /* [n] */
        struct kc_stored_totals totals;
        pthread_mutex_t opening;
        bool initialized;
};

/* For n inputs, whose names and marks the caller owns. job: advances by the bytes read; may be
 * NULL. KC_ENOMEM. Free it even then. */
enum kc_status kc_stored_init(struct kc_stored *stored, char *const *names, atomic_uint *marks,
                              size_t n, struct kc_job *job, struct kc_error *err);
void kc_stored_free(struct kc_stored *stored);

/* Note what input i is: a regular file of this size; found: what detection found in it. */
void kc_stored_note(struct kc_stored *stored, size_t i, uint64_t nbytes,
                    const struct kc_detected *found);

/* Whether some input is of a format that has qualities. */
bool kc_stored_has_qualities(const struct kc_stored *stored);

/* The source, its files cut into parts of about part_nbytes where that is possible
 * (io/parse/cut.h); UINT64_MAX: a part for each file. Returns false if not all inputs are fit for
 * it. Valid until the next call, or kc_stored_free. */
bool kc_stored_source(struct kc_stored *stored, uint64_t part_nbytes,
                      struct kc_stored_source *source);

#endif
