#include "app/cli/progress_line.h"

#include <stdio.h>
#include <string.h>

enum {
        MOST_BAR = 30,
        GOOD_BAR = 10,
        LEAST_BAR = 4,
        TIME_NBYTES = 24,
        PART_NBYTES = 48,
        FRONT_NBYTES = 64,
        BACK_NBYTES = 128
};

/* How much a line says. */
enum detail { NOTHING, AMOUNT, LABEL, STAGE, BAR, ELAPSED, RATE, LEFT };

static const char *format_time(double seconds, char text[TIME_NBYTES])
{
        const long s = (long)seconds;
        if (s < 3600)
                snprintf(text, TIME_NBYTES, "%ld:%02ld", s / 60, s % 60);
        else
                snprintf(text, TIME_NBYTES, "%ld:%02ld:%02ld", s / 3600, s / 60 % 60, s % 60);
        return text;
}

static bool is_known(const struct progress_state *s)
{
        return s->fraction >= 0;
}

static enum progress_unit unit_of(const struct progress_state *s)
{
        return s->stage == 1 ? s->unit : PROGRESS_PARTS;
}

/* "48%", "347 MB", or nothing. */
static void format_amount(const struct progress_state *s, char text[PART_NBYTES])
{
        text[0] = '\0';
        if (is_known(s))
                snprintf(text, PART_NBYTES, "%d%%", (int)(s->fraction * 100));
        else if (unit_of(s) == PROGRESS_BYTES)
                snprintf(text, PART_NBYTES, "%.0f MB", s->done * 1e-6);
        else if (unit_of(s) == PROGRESS_KMERS)
                snprintf(text, PART_NBYTES, "%.1f M k-mers", s->done * 1e-6);
}

/* "  152 MB/s"; later stages leave its columns free. */
static void format_rate(const struct progress_state *s, char text[PART_NBYTES])
{
        const double rate = s->stage_seconds > 0 ? s->done / s->stage_seconds * 1e-6 : 0;
        text[0] = '\0';
        if (unit_of(s) == PROGRESS_BYTES)
                snprintf(text, PART_NBYTES, rate < 10 ? "  %.1f MB/s" : "  %3.0f MB/s", rate);
        else if (s->unit == PROGRESS_BYTES)
                snprintf(text, PART_NBYTES, "%10s", "");
}

/* ", 0:06 left". As long as the speed is not known well, and in the last seconds, " elapsed" says
 * what the time before it is. */
static void format_left(const struct progress_state *s, enum detail detail, char text[PART_NBYTES])
{
        enum { LEAST = 2, MOST = 360000 };
        char time[TIME_NBYTES];
        strcpy(text, " elapsed");
        if (detail < LEFT || !is_known(s) || s->fraction == 0 || s->stage_seconds < LEAST)
                return;
        const double left = s->stage_seconds * (1 - s->fraction) / s->fraction;
        if (left >= LEAST && left < MOST)
                snprintf(text, PART_NBYTES, ", %s left", format_time(left, time));
}

/* The stage and its label, in columns of its own before a bar. */
static void format_front(const struct progress_state *s, enum detail detail,
                         char text[FRONT_NBYTES])
{
        int n = 0;
        if (detail >= STAGE && s->nstages > 1)
                n = snprintf(text, FRONT_NBYTES, "%d/%d ", s->stage, s->nstages);
        if (detail >= BAR)
                snprintf(text + n, FRONT_NBYTES - (size_t)n, "%-*s  ", s->label_columns, s->label);
        else if (detail >= STAGE)
                snprintf(text + n, FRONT_NBYTES - (size_t)n, "%s ", s->label);
        else
                snprintf(text, FRONT_NBYTES, detail == LABEL ? "%.*s " : "",
                         (int)strcspn(s->label, " "), s->label);
}

/* What follows the amount. Returns how many columns that takes. The columns for the time that is
 * left are reserved even while it is not shown, so that the bar keeps its length. */
static int format_back(const struct progress_state *s, enum detail detail, char text[BACK_NBYTES])
{
        char rate[PART_NBYTES], elapsed[TIME_NBYTES], left[PART_NBYTES];
        format_rate(s, rate);
        format_time(s->seconds, elapsed);
        format_left(s, detail, left);
        const int n = snprintf(text, BACK_NBYTES, "%s%s%s%s", detail >= RATE ? rate : "",
                               detail >= ELAPSED ? "  " : "", detail >= ELAPSED ? elapsed : "",
                               detail >= ELAPSED ? left : "");
        const int nfree = (int)(strlen(", 0:00 left") - strlen(left));
        return detail >= LEFT && nfree > 0 ? n + nfree : n;
}

/* Write a line with this much detail. Returns whether it fits in `room` columns. */
static bool format_line(const struct progress_state *s, enum detail detail, int room,
                        char text[PROGRESS_LINE_NBYTES])
{
        char front[FRONT_NBYTES], amount[PART_NBYTES], back[BACK_NBYTES];
        char bar[MOST_BAR + 1] = "";
        format_front(s, detail, front);
        format_amount(s, amount);
        const int nback = format_back(s, detail, back);
        const int namount = is_known(s) ? (int)strlen("100%") : (int)strlen(amount);
        const int nothers = (int)strlen(front) + namount + nback;
        if (detail < BAR || !is_known(s)) {
                snprintf(text, PROGRESS_LINE_NBYTES, "%s%s%s", front, amount, back);
                return nothers <= room;
        }
        const int free = room - nothers - (int)strlen("[] ");
        const int nbar = free < MOST_BAR ? free : MOST_BAR;
        if (nbar < (detail > BAR ? GOOD_BAR : LEAST_BAR))
                return false;
        memset(bar, '=', (size_t)(s->fraction * nbar));
        snprintf(text, PROGRESS_LINE_NBYTES, "%s[%-*s] %4s%s", front, nbar, bar, amount, back);
        return true;
}

void progress_line(const struct progress_state *s, int width, char text[PROGRESS_LINE_NBYTES])
{
        enum { NARROW = 20 };
        int detail = width < NARROW ? LABEL : LEFT;
        while (detail > NOTHING && !format_line(s, (enum detail)detail, width - 1, text))
                detail--;
        if (detail == NOTHING)
                text[0] = '\0';
}
