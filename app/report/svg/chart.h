/*
 * What pictures by count have in common: their space, scales, axes, marks and legends. Rows are
 * those of the spectrum, from 1 on; a row has one count, or some neighbouring ones.
 *
 * Private to this folder.
 */
#ifndef APP_REPORT_SVG_CHART_H
#define APP_REPORT_SVG_CHART_H

#include "app/report/page/page.h"
#include "app/report/svg/svg.h"

struct count_chart {
        struct text_out *out;
        const struct page *page;
        double left, right, top, bottom; /* of the space for values */
        double start;                    /* where the first row begins */
        double high;                     /* the value at the top */
        bool is_log;
};

/* Where the middle of a row, or a count, is. */
double chart_x(const struct count_chart *chart, double row);
double chart_x_of_count(const struct count_chart *chart, double count);
double chart_y(const struct count_chart *chart, double value);

void chart_put_scale(const struct count_chart *chart, const char *label);
void chart_put_counts(const struct count_chart *chart);
/* At multiples of the coverage; only with a model. */
void chart_mark_copies(const struct count_chart *chart);
/* Marks and names what lies left of a row, under that count. off: another remark, or NULL. */
void chart_mark_errors(const struct count_chart *chart, size_t row, const char *name, double count,
                       const char *off);

/* The row where errors end: that of the model's threshold, or of the first minimum. */
size_t chart_find_floor(const struct page *page);
/* The row of a count, at most one more than there are. */
size_t chart_find_row(const struct page *page, uint64_t count);

/* The distance between about n round numbers from 0 to most. */
double chart_step(double most, double n);

struct chart_key {
        const char *name;  /* its class: of a line if it starts with "line", of an area otherwise */
        const char *words; /* NULL ends a list */
};

/* Returns the height that the legend takes. */
double chart_put_keys(struct text_out *out, double width, const struct chart_key *keys);

/* A name, shortened to fit in a picture. */
enum { CHART_NAME_LENGTH = 26, CHART_NAME_NBYTES = 4 * CHART_NAME_LENGTH + 1 };
void chart_shorten(const char *name, char to[CHART_NAME_NBYTES]);

struct chart_figure {
        char text[32];
};
struct chart_figure chart_short(double value); /* 3 figures: 1.23 M */

#endif
