/*
 * A histogram of counts as bars of text, and what they show of the genome.
 */
#ifndef APP_HIST_PLOT_H
#define APP_HIST_PLOT_H

#include "app/cli/text_out.h"
#include "app/hist/landscape.h"

/* The page: no line is wider, unless a single word is, and no plot much higher. */
struct plot_page {
        int width, height; /* in characters */
        bool utf8;         /* bars of block characters instead of '#' */
};

/*
 * Draw the histogram. Bars are scaled to the peak beyond the sequencing errors, and longer ones are
 * cut; a bar stands for several counts if the peak is at a high count. Returns whether there is
 * a peak.
 */
bool plot_histogram(struct text_out *out, const struct histogram *histogram, bool stranded,
                    const struct plot_page *page);

#endif
