/*
 * What is wrong with a record, as far as its parser can say: it knows neither the file's name nor
 * how many records precede its chunk.
 */
#ifndef KC_IO_PARSE_PROBLEM_H
#define KC_IO_PARSE_PROBLEM_H

#include "io/parse/limits.h"

struct kc_problem {
        char what[192];    /* empty: nothing */
        unsigned remedies; /* this and the next two as in kc_error; NULL: no filter */
        uint64_t needed_nbytes;
        const char *filter;
        uint64_t record; /* 1, 2, ... among those that begin in this chunk; FASTA: 0 is the one
                           before */
};

/* Report a carriage return within a line. */
void kc_problem_set_return(struct kc_problem *problem);

/* Report an odd byte in a sequence (io/parse/sequence.h). */
void kc_problem_set_letter(struct kc_problem *problem, uint8_t letter);

/* Report that a sequence of nbases is longer than may be held; bases_per_byte: how many of them a
 * byte holds. */
void kc_problem_set_held(struct kc_problem *problem, const struct kc_held_limit *limit,
                         uint64_t nbases, unsigned bases_per_byte);

/* Report what is wrong with a record of this file, if anything: "FILE: record N ...".
 *   checker  a command that finds damage that may explain it, or NULL
 *   nbefore  records before those that problem->record counts
 * KC_EINPUT. */
enum kc_status kc_problem_report(const struct kc_problem *problem, const char *file,
                                 const char *checker, uint64_t nbefore, struct kc_error *err);

/* Record a failure with this message and the problem's remedies for the file, at its record with
 * this number (1, 2, ...). Returns KC_EINPUT. */
enum kc_status kc_problem_fail(const struct kc_problem *problem, const char *file, uint64_t record,
                               struct kc_error *err, const char *format, ...)
        __attribute__((format(printf, 5, 6)));

#endif
