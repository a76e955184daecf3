/*
 * A joint histogram of .kc files, as compare prints it.
 */
#ifndef APP_HIST_JOINT_H
#define APP_HIST_JOINT_H

#include "app/cli/json.h"
#include "io/joint.h"

struct joint_histogram {
        const char *const *files; /* [nfiles] */
        size_t nfiles;
        int k;
        uint32_t most[KC_JOINT_MAX_FILES]; /* as for kc_store_joint */
        struct kc_joint_cell *cells;       /* [ncells], freed by the owner */
        size_t ncells;
};

/* How many distinct k-mers there are. */
struct joint_totals {
        uint64_t in_any, in_all;
        uint64_t in[KC_JOINT_MAX_FILES], only_in[KC_JOINT_MAX_FILES];
};

struct joint_totals joint_add_up(const struct joint_histogram *histogram);

/* A header line, and a line for each cell. */
void joint_put_table(struct text_out *out, const struct joint_histogram *histogram);

/* KAT's matrix of two files, for counts from 0 to most; greater counts are added to the last row or
 * column. KC_ENOMEM. */
enum kc_status joint_put_matrix(struct text_out *out, const struct joint_histogram *histogram,
                                struct kc_error *err);

/* The names of the columns, and the rows, as members of an object. */
void joint_put_json(struct json *json, const struct joint_histogram *histogram);

#endif
