#include "app/report/svg/chart.h"

#include "app/cli/utf8.h"
#include "app/report/page/figures.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- scales ---- */

static double row_of_count(const struct page *page, double count)
{
        return (count - 0.5) / (double)page->spectrum.width + 0.5;
}

double chart_x(const struct count_chart *c, double row)
{
        return c->start + (row - 0.5) / (double)c->page->spectrum.n * (c->right - c->start);
}

double chart_x_of_count(const struct count_chart *c, double count)
{
        return chart_x(c, row_of_count(c->page, count));
}

double chart_y(const struct count_chart *c, double value)
{
        const double reach = c->is_log ? log(c->high) : c->high;
        const double share = (c->is_log ? log(fmax(value, 1)) : value) / reach;
        return c->bottom - fmax(0, fmin(1.04, share)) * (c->bottom - c->top);
}

double chart_step(double most, double n)
{
        static const double steps[] = { 1, 2, 2.5, 5 };
        const double raw = fmax(1, most / n), power = pow(10, floor(log10(raw)));
        for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
                if (steps[i] * power >= raw * 0.999)
                        return steps[i] * power;
        return 10 * power;
}

struct chart_figure chart_short(double value)
{
        static const struct {
                double of;
                const char *name;
        } units[] = { { 1e9, " G" }, { 1e6, " M" }, { 1e3, " k" }, { 0, "" } };
        struct chart_figure f;
        size_t i = 0;
        while (value < units[i].of)
                i++;
        value /= units[i].of > 0 ? units[i].of : 1;
        snprintf(f.text, sizeof f.text, value < 999.5 ? "%.3g%s" : "%.0f%s", value, units[i].name);
        return f;
}

/* ---- axes ---- */

static void put_level(const struct count_chart *c, double value, bool is_base)
{
        const double y = chart_y(c, value);
        svg_line(c->out, c->left, y, c->right, y, is_base ? "base" : "grid");
        svg_text(c->out, c->left - 9, y + 4, "end", chart_short(value).text);
}

void chart_put_scale(const struct count_chart *c, const char *label)
{
        const double step = chart_step(c->high, 5);
        if (c->is_log)
                for (double v = 1; v <= c->high; v *= 10)
                        put_level(c, v, v == 1);
        else
                for (int i = 0; i * step <= c->high; i++)
                        put_level(c, i * step, i == 0);
        svg_text(c->out, 0, c->top - 33, "axis", label);
}

void chart_put_counts(const struct count_chart *c)
{
        const double last = (double)(c->page->spectrum.n * c->page->spectrum.width);
        const double step = chart_step(last, c->right > 700 ? 9 : 5);
        for (int i = 1; i * step <= last; i++) {
                const double x = chart_x_of_count(c, i * step);
                if (fmod(i * step, 1) != 0)
                        continue;
                svg_line(c->out, x, c->bottom, x, c->bottom + 5, "base");
                svg_text(c->out, x, c->bottom + 20, "middle", figure_count(i * step).text);
        }
        svg_text(c->out, c->right, c->bottom + 39, "axis end",
                 "count: how often a k-mer occurs in the reads");
}

/* ---- marks ---- */

void chart_mark_copies(const struct count_chart *c)
{
        const struct page_model *m = &c->page->model;
        const double room = chart_x_of_count(c, 2 * m->coverage) - chart_x_of_count(c, m->coverage);
        const double n = (double)c->page->spectrum.n;
        if (!page_has_model(c->page))
                return;
        for (int copies = 1; copies <= m->ploidy; copies++) {
                const double x = chart_x_of_count(c, copies * m->coverage);
                char words[64];
                if (row_of_count(c->page, copies * m->coverage) > n)
                        return;
                svg_line(c->out, x, c->top - 6, x, c->bottom, "mark");
                snprintf(words, sizeof words, room > 96 ? "%dn at %s" : "%dn", copies,
                         figure_depth(copies * m->coverage).text);
                svg_text(c->out, x, c->top - 12,
                         copies == m->ploidy ? "label middle t-homozygous"
                                             : "label middle t-heterozygous",
                         words);
        }
}

size_t chart_find_row(const struct page *page, uint64_t count)
{
        const struct page_spectrum *s = &page->spectrum;
        const uint64_t row = (count - 1) / s->width + 1;
        return row <= s->n ? (size_t)row : s->n + 1;
}

size_t chart_find_floor(const struct page *page)
{
        const struct page_spectrum *s = &page->spectrum;
        size_t i = 0;
        if (page_has_model(page))
                return chart_find_row(page, page->model.threshold);
        while (i + 1 < s->n && s->kmers[i + 1] < s->kmers[i])
                i++;
        return i + 1 < s->n ? i + 1 : 1;
}

void chart_mark_errors(const struct count_chart *c, size_t row, const char *name, double count,
                       const char *off)
{
        const double x = chart_x(c, (double)row - 0.5);
        char words[128];
        if (row <= 1 || row > c->page->spectrum.n)
                return;
        svg_line(c->out, x, c->top - 6, x, c->bottom, "threshold");
        snprintf(words, sizeof words, "\u25c2 %s under %s", name, figure_count(count).text);
        svg_text(c->out, x + 7, c->top + 8, "remark-text", words);
        if (off != NULL)
                svg_text(c->out, x + 7, c->top + 26, "remark-text", off);
}

/* ---- names ---- */

/* The bytes of the first n characters. */
static size_t measure_characters(const char *name, int n)
{
        const unsigned char *s = (const unsigned char *)name;
        size_t used = 0;
        while (n-- > 0 && s[used] != '\0')
                used += utf8_length(s + used) > 0 ? (size_t)utf8_length(s + used) : 1;
        return used;
}

void chart_shorten(const char *name, char to[CHART_NAME_NBYTES])
{
        if (name[measure_characters(name, CHART_NAME_LENGTH)] == '\0')
                strcpy(to, name);
        else
                snprintf(to, CHART_NAME_NBYTES, "%.*s\u2026",
                         (int)measure_characters(name, CHART_NAME_LENGTH - 1), name);
}

/* ---- legends ---- */

static void put_swatch(struct text_out *out, double x, double y, const char *name)
{
        if (strncmp(name, "line", 4) == 0)
                svg_line(out, x, y - 5, x + 24, y - 5, name);
        else
                svg_round_rect(out, x, y - 10, 24, 11, 2, name);
}

double chart_put_keys(struct text_out *out, double width, const struct chart_key *keys)
{
        double x = 0, y = 12;
        for (; keys->words != NULL; keys++) {
                const double needed = 31 + svg_measure(keys->words);
                if (x > 0 && x + needed > width) {
                        x = 0;
                        y += 22;
                }
                put_swatch(out, x, y, keys->name);
                svg_text(out, x + 31, y, "axis", keys->words);
                x += needed + 20;
        }
        return y + 20;
}
