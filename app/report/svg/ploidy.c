/*
 * The models that were compared, one beside the other, and what each leaves over.
 */
#include "app/report/svg/chart.h"
#include "app/report/svg/drawings.h"

#include "app/report/page/caveats.h"
#include "app/report/page/figures.h"

#include <math.h>
#include <stdio.h>

enum { ACROSS = 3, WIDTH = 290, GAP = 25, HEIGHT = 268, BOTTOM = 180 };

struct cell {
        struct count_chart chart;
        const struct page_candidate *candidate;
        double peak;  /* of all models */
        size_t first; /* the row from which on models are drawn */
};

static void put_head(const struct cell *c, bool is_chosen)
{
        char words[96];
        snprintf(words, sizeof words, "Ploidy %d%s", c->candidate->ploidy,
                 is_chosen ? ", chosen" : "");
        svg_text(c->chart.out, 0, 13, "strong", words);
        snprintf(words, sizeof words, "%s of the k-mers explained",
                 figure_percent(c->candidate->explained, 1).text);
        svg_text(c->chart.out, 0, 33, "axis", words);
}

static void put_curves(const struct cell *c)
{
        const struct count_chart *chart = &c->chart;
        const struct page_spectrum *s = &chart->page->spectrum;
        svg_path_begin(chart->out, "f-data");
        for (size_t i = 0; i < s->n; i++)
                svg_path_bar(chart->out, chart_x(chart, (double)i + 0.5),
                             chart_x(chart, (double)i + 1.5), chart->bottom,
                             chart_y(chart, fmin((double)s->kmers[i], chart->high)));
        svg_path_end(chart->out);
        svg_line(chart->out, 0, chart->bottom, WIDTH, chart->bottom, "base");
        svg_path_begin(chart->out, "line l-model");
        for (size_t i = c->first; i < s->n; i++) {
                const double y = chart_y(chart, fmin(c->candidate->curve[i], chart->high));
                (i == c->first ? svg_path_move : svg_path_to)(chart->out,
                                                              chart_x(chart, (double)i + 1), y);
        }
        svg_path_end(chart->out);
}

static void put_ticks(const struct cell *c)
{
        const struct count_chart *chart = &c->chart;
        const double coverage = c->candidate->coverage;
        const double last = (double)((chart->page->spectrum.n - 1) * chart->page->spectrum.width);
        const int step = (int)ceil(26 / fmax(1, chart_x_of_count(chart, coverage)));
        for (int copies = 1; copies <= 2 * c->candidate->ploidy; copies++) {
                const double x = chart_x_of_count(chart, copies * coverage);
                char words[16];
                if (copies * coverage > last)
                        return;
                svg_line(chart->out, x, chart->bottom, x, chart->bottom + 5, "base");
                snprintf(words, sizeof words, "%dn", copies);
                if (copies % step == 0 || copies == c->candidate->ploidy)
                        svg_text(chart->out, x, chart->bottom + 19,
                                 copies == c->candidate->ploidy ? "middle strong" : "middle",
                                 words);
        }
}

static void put_residual(const struct cell *c)
{
        const struct count_chart *chart = &c->chart;
        const struct page_spectrum *s = &chart->page->spectrum;
        const double middle = chart->bottom + 54, most = 18; /* 5 % of the peak */
        svg_rect(chart->out, 0, middle - most, WIDTH, 2 * most, "band");
        svg_path_begin(chart->out, "f-residual");
        for (size_t i = c->first; i < s->n; i++) {
                const double row = (double)i + 1;
                const double over = ((double)s->kmers[i] - c->candidate->curve[i]) / c->peak;
                svg_path_bar(chart->out, chart_x(chart, row - 0.4), chart_x(chart, row + 0.4),
                             middle, middle - fmax(-most, fmin(most, over * most / 0.05)));
        }
        svg_path_end(chart->out);
        svg_line(chart->out, 0, middle, WIDTH, middle, "base");
}

static double find_peak(const struct page *page)
{
        const size_t floor = chart_find_floor(page);
        double peak = 0;
        for (int i = 0; i < page->ncandidates; i++)
                for (size_t row = floor; row < page->spectrum.n; row++)
                        peak = fmax(peak, page->candidates[i].curve[row]);
        return fmax(peak, 1);
}

static void put_candidate(struct text_out *out, const struct page *page, int i)
{
        const double peak = find_peak(page);
        const struct cell c = {
                .chart = { .out = out,
                           .page = page,
                           .right = WIDTH,
                           .top = 48,
                           .bottom = BOTTOM,
                           .high = peak * 1.14 },
                .candidate = &page->candidates[i],
                .peak = peak,
                .first = (size_t)((page->model.fit_first - 1) / page->spectrum.width),
        };
        svg_move_begin(out, i % ACROSS * (WIDTH + GAP), i / ACROSS * HEIGHT);
        put_head(&c, i == 0 && page->model.fits);
        put_curves(&c);
        put_ticks(&c);
        put_residual(&c);
        svg_group_end(out);
}

void drawing_put_ploidy(struct text_out *out, const struct page *page)
{
        const char *title = "Candidates for the ploidy";
        const int n = page->ncandidates, across = n < ACROSS ? n : ACROSS;
        char why[512];
        if (n == 0) {
                page_say_refusal(page, page->model.refusal, why, sizeof why);
                drawing_put_words(out, title, why);
                return;
        }
        svg_begin(
                out, across * (WIDTH + GAP) - GAP, (n + ACROSS - 1) / ACROSS * HEIGHT, title,
                "Models of several ploidies over the spectrum, and below each what it leaves over");
        for (int i = 0; i < n; i++)
                put_candidate(out, page, i);
        svg_end(out);
}
