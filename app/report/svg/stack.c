#include "app/report/svg/stack.h"

#include <math.h>
#include <stdio.h>

enum { WIDTH = 720, HEIGHT = 470 };

static double sum(const uint64_t *values, size_t n)
{
        double total = 0;
        for (size_t i = 0; i < n; i++)
                total += (double)values[i];
        return total;
}

/* A layer, in the rows from first to before last. more: another class, or "". */
static void put_layer(const struct count_chart *c, const struct stack *s, size_t layer,
                      const char *more, size_t first, size_t last)
{
        char name[24];
        snprintf(name, sizeof name, "f-%c%zu%s", s->initial, layer, more);
        svg_path_begin(c->out, name);
        for (size_t i = first; i < last; i++) {
                const uint64_t *row = s->kmers + i * s->nlayers;
                const double x = (double)i + 1;
                svg_path_bar(c->out, chart_x(c, x - 0.44), chart_x(c, x + 0.44),
                             chart_y(c, sum(row, layer)), chart_y(c, sum(row, layer + 1)));
        }
        svg_path_end(c->out);
}

static uint64_t find_threshold(const struct page *page)
{
        const uint64_t threshold = page->all.completeness.threshold;
        return threshold > 0 ? threshold : 1;
}

/* Of k-mers that are not solid, errors are missing, as they should be. */
static void put_layers(const struct count_chart *c, const struct stack *s)
{
        const size_t n = c->page->spectrum.n;
        const size_t solid = chart_find_row(c->page, find_threshold(c->page)) - 1;
        put_layer(c, s, 0, " light", 0, solid);
        put_layer(c, s, 0, "", solid, n);
        for (size_t layer = 1; layer < s->nlayers; layer++)
                put_layer(c, s, layer, "", 0, n);
}

/* At count 0. Even a few k-mers must be visible. */
static void put_only(const struct count_chart *c, const struct stack *s)
{
        const double only = sum(s->only, s->nonly);
        const double top = fmin(chart_y(c, only), c->bottom - 1.5);
        if (only > 0)
                svg_rect(c->out, c->left + 8, top, 13, c->bottom - top, "f-only");
        svg_text(c->out, c->left + 14.5, c->bottom + 20, "middle", "0");
}

/* Of the rows that are not errors, if there are any. */
static double find_highest(const struct page *page, const struct stack *s)
{
        const size_t floor = chart_find_floor(page);
        double most = 0, genome = 0;
        for (size_t i = 0; i < page->spectrum.n; i++) {
                const double value = sum(s->kmers + i * s->nlayers, s->nlayers);
                most = fmax(most, value);
                if (i >= floor)
                        genome = fmax(genome, value);
        }
        return genome > 0 ? genome : fmax(most, 1);
}

void stack_put(struct text_out *out, const struct page *page, const struct stack *s)
{
        struct count_chart c = { .out = out,
                                 .page = page,
                                 .left = 62,
                                 .right = WIDTH - 8,
                                 .start = 92,
                                 .bottom = HEIGHT - 48 };
        svg_begin(out, WIDTH, HEIGHT, s->title, s->description);
        c.top = chart_put_keys(out, WIDTH, s->keys) + 46;
        c.high = find_highest(page, s) * 1.12;
        chart_put_scale(&c, "distinct k-mers");
        chart_put_counts(&c);
        put_only(&c, s);
        put_layers(&c, s);
        chart_mark_errors(&c, chart_find_row(page, find_threshold(page)),
                          page->solid == PAGE_BY_USER ? "not solid" : "mostly errors",
                          (double)find_threshold(page), NULL);
        chart_mark_copies(&c);
        svg_end(out);
}
