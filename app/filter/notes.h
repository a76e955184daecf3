/*
 * What filter says about reads: lines for --names and --table, and how many reads there were.
 */
#ifndef APP_FILTER_NOTES_H
#define APP_FILTER_NOTES_H

#include "app/filter/line_buffer.h"
#include "app/filter/outputs.h"
#include "kmer/ask.h"

struct notes_totals {
        uint64_t nreads, nkept;
};

/* About some reads. Zero-initialise it. */
struct notes {
        struct line_buffer names, table;
        struct notes_totals totals;
};

/* The first line of the table, before all reads. */
enum kc_status notes_begin_table(struct outputs *outputs, struct kc_error *err);

/* A line with the name of a read that is kept; a row of the table. */
void notes_name(struct notes *notes, const char *name, size_t nbytes);
void notes_row(struct notes *notes, const char *name, size_t nbytes,
               const struct kc_ask_summary *read);

/* Write the lines, add up the totals, and begin again. */
enum kc_status notes_put(struct notes *notes, struct outputs *outputs, struct notes_totals *totals,
                         struct kc_error *err);
uint64_t notes_nbytes(const struct notes *notes); /* memory */
void notes_clear(struct notes *notes);
void notes_free(struct notes *notes);

#endif
