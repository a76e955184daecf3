/*
 * The spectrum of the reads, with the parts of the model and what it leaves over.
 */
#include "app/report/svg/chart.h"
#include "app/report/svg/drawings.h"

#include "app/report/page/figures.h"

#include <math.h>
#include <stdio.h>

enum { WIDTH = 920, NPARTS = 4 };

struct spectrum_part {
        const char *line, *area, *words;
        const double *values;
};

struct spectrum_chart {
        struct count_chart chart;
        const struct page *page;
        struct spectrum_part parts[NPARTS]; /* [nparts] */
        int nparts;
        size_t floor;     /* the row where errors end */
        double most;      /* of the rows from there on */
        double model_top; /* of the model, in any row */
};

static double find_model(const struct page *page, size_t i)
{
        const struct page_model *m = &page->model;
        return page_has_model(page) ? m->heterozygous[i] + m->homozygous[i] + m->repeated[i] : 0;
}

static double find_highest(const struct page *page, size_t from)
{
        double most = 0;
        for (size_t i = from; i < page->spectrum.n; i++)
                most = fmax(most, (double)page->spectrum.kmers[i]);
        return most;
}

static double find_highest_model(const struct page *page, size_t from)
{
        double most = 0;
        for (size_t i = from; i < page->spectrum.n; i++)
                most = fmax(most, find_model(page, i));
        return most;
}

static void list_parts(struct spectrum_chart *s)
{
        const struct page_model *m = &s->page->model;
        const struct spectrum_part errors = { "line l-errors", "f-errors faint", "Errors",
                                              m->errors };
        const struct spectrum_part some = { "line l-heterozygous", "f-heterozygous faint",
                                            m->ploidy == 2 ? "In one copy" : "In some copies",
                                            m->heterozygous };
        const struct spectrum_part all = { "line l-homozygous", "f-homozygous faint",
                                           m->ploidy == 1   ? "In one copy"
                                           : m->ploidy == 2 ? "In both copies"
                                                            : "In all copies",
                                           m->homozygous };
        const struct spectrum_part repeats = { "line l-repeated", "f-repeated faint", "Repeats",
                                               m->repeated };
        if (!page_has_model(s->page))
                return;
        s->parts[s->nparts++] = errors;
        if (m->ploidy > 1)
                s->parts[s->nparts++] = some;
        s->parts[s->nparts++] = all;
        s->parts[s->nparts++] = repeats;
}

static double put_legend(const struct spectrum_chart *s, struct text_out *out)
{
        struct chart_key keys[NPARTS + 3] = { { "f-data", "Reads" }, { 0 } };
        if (page_has_model(s->page))
                keys[1] = (struct chart_key){ "line l-model", "Model" };
        for (int i = 0; i < s->nparts; i++)
                keys[i + 2] = (struct chart_key){ s->parts[i].line, s->parts[i].words };
        return chart_put_keys(out, WIDTH, keys);
}

/* ---- the curves ---- */

static void put_reads(const struct spectrum_chart *s)
{
        const struct count_chart *c = &s->chart;
        svg_path_begin(c->out, "f-data");
        for (size_t i = 0; i < s->page->spectrum.n; i++) {
                const double row = (double)i + 1;
                svg_path_bar(c->out, chart_x(c, row - 0.42), chart_x(c, row + 0.42), c->bottom,
                             chart_y(c, (double)s->page->spectrum.kmers[i]));
        }
        svg_path_end(c->out);
}

/* The line over the rows in which the part can be seen, and on request the way back along the axis.
 * Returns how many rows these are. */
static size_t put_outline(const struct spectrum_chart *s, const struct spectrum_part *part,
                          bool is_area)
{
        const struct count_chart *c = &s->chart;
        const double least = c->is_log ? 1 : s->model_top * 0.004;
        double first = 0, last = 0;
        size_t n = 0;
        for (size_t i = 0; i < s->page->spectrum.n; i++) {
                if (!(part->values[i] > least))
                        continue;
                last = chart_x(c, (double)i + 1);
                if (n++ == 0) {
                        first = last;
                        svg_path_move(c->out, last, chart_y(c, part->values[i]));
                } else {
                        svg_path_to(c->out, last, chart_y(c, part->values[i]));
                }
        }
        if (n > 0 && is_area) {
                svg_path_to(c->out, last, c->bottom);
                svg_path_to(c->out, first, c->bottom);
                svg_path_close(c->out);
        }
        return n;
}

static void put_part(const struct spectrum_chart *s, const struct spectrum_part *part)
{
        svg_path_begin(s->chart.out, part->area);
        put_outline(s, part, true);
        svg_path_end(s->chart.out);
        svg_path_begin(s->chart.out, part->line);
        put_outline(s, part, false);
        svg_path_end(s->chart.out);
}

static size_t find_first_fitted(const struct page *page)
{
        return (size_t)((page->model.fit_first - 1) / page->spectrum.width);
}

static void put_model(const struct spectrum_chart *s)
{
        const struct count_chart *c = &s->chart;
        const size_t first = find_first_fitted(s->page);
        if (!page_has_model(s->page))
                return;
        for (int i = 0; i < s->nparts; i++)
                put_part(s, &s->parts[i]);
        svg_path_begin(c->out, "line l-model");
        for (size_t i = first; i < s->page->spectrum.n; i++) {
                const double y = chart_y(c, find_model(s->page, i));
                (i == first ? svg_path_move : svg_path_to)(c->out, chart_x(c, (double)i + 1), y);
        }
        svg_path_end(c->out);
}

/* ---- what is left over ---- */

struct residual {
        const struct spectrum_chart *s;
        double top, bottom;
        double peak; /* of the model */
        double most; /* in % of the peak */
};

static double find_left_over(const struct residual *r, size_t i)
{
        const struct page *page = r->s->page;
        if (i < find_first_fitted(page))
                return 0;
        return 100 * ((double)page->spectrum.kmers[i] - find_model(page, i)) / r->peak;
}

static double find_level(const struct residual *r, double percent)
{
        return r->top + (1 - (percent + r->most) / (2 * r->most)) * (r->bottom - r->top);
}

static void put_residual_axis(const struct residual *r)
{
        const struct count_chart *c = &r->s->chart;
        svg_text(c->out, 0, r->top - 10, "axis",
                 "model: what is left over, in % of the highest peak");
        svg_rect(c->out, c->left, find_level(r, 5), c->right - c->left,
                 find_level(r, -5) - find_level(r, 5), "band");
        for (int percent = 5; percent >= -5; percent -= 5) {
                const double y = find_level(r, percent);
                svg_line(c->out, c->left, y, c->right, y, percent == 0 ? "base" : "grid");
                svg_text(c->out, c->left - 9, y + 4, "end",
                         percent == 0  ? "0 %"
                         : percent > 0 ? "+5 %"
                                       : "\u22125 %");
        }
}

static void put_residual(const struct spectrum_chart *s, double top)
{
        const struct count_chart *c = &s->chart;
        struct residual r = { .s = s, .top = top, .bottom = top + 96, .most = 6 };
        if (!page_has_model(s->page))
                return;
        r.peak = find_highest_model(s->page, s->floor - 1);
        if (r.peak <= 0)
                r.peak = 1;
        for (size_t i = 0; i < s->page->spectrum.n; i++)
                r.most = fmax(r.most, fabs(find_left_over(&r, i)));
        r.most *= 1.08;
        put_residual_axis(&r);
        svg_path_begin(c->out, "f-residual");
        for (size_t i = 0; i < s->page->spectrum.n; i++) {
                const double row = (double)i + 1;
                svg_path_bar(c->out, chart_x(c, row - 0.34), chart_x(c, row + 0.34),
                             find_level(&r, 0), find_level(&r, find_left_over(&r, i)));
        }
        svg_path_end(c->out);
}

/* ---- all of it ---- */

static void describe(const struct page *page, char *to, size_t nbytes)
{
        const int n = snprintf(to, nbytes,
                               "k-mer spectrum: how many %d-mers occur once, twice and so on in "
                               "the reads",
                               page->k);
        if (page_has_model(page))
                snprintf(to + n, nbytes - (size_t)n,
                         ", with a model of ploidy %d whose peaks are multiples of %s",
                         page->model.ploidy, figure_depth(page->model.coverage).text);
}

static void set_scale(struct spectrum_chart *s, bool is_log)
{
        const double highest = find_highest(s->page, 0);
        s->most = fmax(find_highest(s->page, s->floor - 1),
                       find_highest_model(s->page, s->floor - 1));
        s->chart.is_log = is_log;
        s->chart.high =
                is_log ? fmax(10, highest * 1.5) : fmax(1, s->most > 0 ? s->most : highest) * 1.12;
}

static void put_marks(const struct spectrum_chart *s)
{
        const struct page_spectrum *kmers = &s->page->spectrum;
        char off[160];
        const bool is_cut = !s->chart.is_log && (double)kmers->kmers[0] > s->chart.high;
        chart_mark_copies(&s->chart);
        snprintf(off, sizeof off,
                 kmers->width == 1 ? "cut off: %s at count 1" : "cut off: %s at counts up to %s",
                 chart_short((double)kmers->kmers[0]).text,
                 figure_count((double)kmers->width).text);
        chart_mark_errors(&s->chart, s->floor, "mostly errors",
                          page_has_model(s->page) ? (double)s->page->model.threshold
                                                  : (double)((s->floor - 1) * kmers->width + 1),
                          is_cut ? off : NULL);
}

static void put_spectrum(struct text_out *out, const struct page *page, bool is_log)
{
        struct spectrum_chart s = { .chart = { .out = out, .page = page, .left = 62, .right = 912 },
                                    .page = page };
        struct count_chart *c = &s.chart;
        char words[256];
        describe(page, words, sizeof words);
        svg_begin(out, WIDTH, page_has_model(page) ? 590 : 470, "k-mer spectrum", words);
        list_parts(&s);
        c->top = put_legend(&s, out) + 46;
        c->bottom = 424;
        c->start = c->left;
        s.floor = chart_find_floor(page);
        s.model_top = find_highest_model(page, 0);
        set_scale(&s, is_log);
        chart_put_scale(c, "distinct k-mers");
        chart_put_counts(c);
        svg_clip_begin(out, c->left, c->top - 8, c->right - c->left, c->bottom - c->top + 8);
        put_reads(&s);
        put_model(&s);
        svg_group_end(out);
        put_marks(&s);
        put_residual(&s, c->bottom + 62);
        svg_end(out);
}

void drawing_put_spectrum(struct text_out *out, const struct page *page)
{
        put_spectrum(out, page, false);
}

void drawing_put_log_spectrum(struct text_out *out, const struct page *page)
{
        put_spectrum(out, page, true);
}
