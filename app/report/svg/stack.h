/*
 * The spectrum of the reads, each bar of it in layers, and beside it what is in no read.
 *
 * Private to this folder.
 */
#ifndef APP_REPORT_SVG_STACK_H
#define APP_REPORT_SVG_STACK_H

#include "app/report/svg/chart.h"

struct stack {
        const char *title, *description;
        const uint64_t *kmers; /* [rows of the spectrum][nlayers], from the lowest layer on */
        size_t nlayers;
        char initial;         /* the classes of layers begin with f- and this */
        const uint64_t *only; /* [nonly]: in no read */
        size_t nonly;
        const struct chart_key *keys;
};

void stack_put(struct text_out *out, const struct page *page, const struct stack *stack);

#endif
