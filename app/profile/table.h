/*
 * The table that profile prints: a row for each sequence, or one for all of them.
 */
#ifndef APP_PROFILE_TABLE_H
#define APP_PROFILE_TABLE_H

#include "app/cli/json.h"
#include "app/library/window_tally.h"
#include "app/profile/text.h"
#include "kmer/ask.h"

struct profile_row {
        uint64_t length;
        struct kc_ask_summary summary;
        /* if there are valid windows: of kc_window_tally_quartiles */
        uint64_t quarters[KC_WINDOW_TALLY_NQUARTILES];
};

/* Bytes that a row takes at most, beside its name. */
enum { PROFILE_ROW_NBYTES = 256 };

void profile_put_header(struct profile_text *text);
void profile_put_row(struct profile_text *text, const struct profile_name *name,
                     const struct profile_row *row);

/* The members of a JSON object. */
void profile_json_row(struct json *json, const struct profile_row *row);

#endif
