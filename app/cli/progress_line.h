/*
 * The line that shows how far a job is.
 */
#ifndef APP_CLI_PROGRESS_LINE_H
#define APP_CLI_PROGRESS_LINE_H

#include <stdbool.h>

/* What a job's first stage counts; the others count parts, which are not shown. */
enum progress_unit { PROGRESS_PARTS, PROGRESS_BYTES, PROGRESS_KMERS };

struct progress_state {
        const char *label; /* of the stage: "counting 21-mers"; up to 40 letters */
        int label_columns; /* of the longest label */
        int stage, nstages;
        enum progress_unit unit;       /* of stage 1 */
        double done, fraction;         /* units of the stage; fraction: of all, < 0 if unknown */
        double seconds, stage_seconds; /* since the job began, and since the stage did */
};

enum { PROGRESS_LINE_NBYTES = 320 };

/*
 * Write the line for a terminal of this width, in ASCII: it is shorter than the width. A narrower
 * one lacks the time that is left, then the rate, then the time that has passed, then the bar.
 */
void progress_line(const struct progress_state *state, int width, char text[PROGRESS_LINE_NBYTES]);

#endif
