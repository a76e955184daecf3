/*
 * A strip for each sequence: where k-mers are in no read, in two copies, or of another depth.
 */
#include "app/report/svg/chart.h"
#include "app/report/svg/drawings.h"

#include "app/report/page/figures.h"

#include <math.h>
#include <stdio.h>

enum { WIDTH = 1000, LEFT = 200 };

/* Whether a bin is of the kind that is drawn; full: the depth of the genome, 0 if unknown. */
typedef bool bin_test(const uint32_t *bin, double full);

/* Not if it has no k-mer, because it is a gap. */
static bool is_of_other_depth(const uint32_t *bin, double full)
{
        const bool is_gap = bin[0] == 0 && bin[2] == 0;
        return full > 0 && !is_gap && (bin[2] > 1.5 * full || bin[2] < 0.33 * full);
}

static bool is_double(const uint32_t *bin, double full)
{
        (void)full;
        return bin[1] > 50;
}

struct sequence_strip {
        struct text_out *out;
        const struct page_sequence *sequence;
        const char *assembly; /* its name; NULL: there is only one */
        double x, y, width, step;
        double full;
};

/* Neighbouring bins become one span, which is wide enough to be seen. */
static void put_spans(const struct sequence_strip *s, const char *name, bin_test *test)
{
        const size_t n = s->sequence->nbins;
        svg_path_begin(s->out, name);
        for (size_t first = 0; first < n; first++) {
                if (!test(s->sequence->bins[first], s->full))
                        continue;
                const double from = (double)first * s->step;
                while (first + 1 < n && test(s->sequence->bins[first + 1], s->full))
                        first++;
                const double to = fmax((double)(first + 1) * s->step, from + 2);
                svg_path_bar(s->out, s->x + from, s->x + to, s->y + 7, s->y);
        }
        svg_path_end(s->out);
}

static void put_ticks(const struct sequence_strip *s)
{
        svg_path_begin(s->out, "tick");
        for (size_t i = 0; i < s->sequence->nbins; i++) {
                const double absent = s->sequence->bins[i][0];
                const double x = s->x + ((double)i + 0.5) * s->step;
                if (absent == 0)
                        continue;
                svg_path_move(s->out, x, s->y - 1);
                svg_path_to(s->out, x, s->y - 1 - fmin(14, 3 + absent / 9));
        }
        svg_path_end(s->out);
}

static void put_sequence(const struct sequence_strip *s)
{
        char name[CHART_NAME_NBYTES];
        chart_shorten(s->sequence->name, name);
        svg_text(s->out, LEFT - 10, s->y + (s->assembly != NULL ? 0 : 7), "end", name);
        if (s->assembly != NULL) {
                chart_shorten(s->assembly, name);
                svg_text(s->out, LEFT - 10, s->y + 13, "end axis", name);
        }
        svg_rect(s->out, s->x, s->y, s->width, 7, "f-data");
        put_spans(s, "f-repeated", is_of_other_depth);
        put_spans(s, "f-c2", is_double);
        put_ticks(s);
}

static double find_longest(const struct page *page)
{
        double longest = 1;
        for (size_t i = 0; i < page->nsequences; i++)
                longest = fmax(longest, (double)page->sequences[i].length);
        return longest;
}

static void put_legend(struct text_out *out, const struct page *page)
{
        static const struct chart_key keys[] = {
                { "f-c2", "Twice here, but once in the genome" },
                { "f-repeated", "Depth unlike the genome's" },
                { "f-data", "The rest" },
                { 0 },
        };
        char words[128];
        chart_put_keys(out, WIDTH, keys);
        svg_path_begin(out, "tick");
        svg_path_move(out, 12, 36);
        svg_path_to(out, 12, 26);
        svg_path_end(out);
        snprintf(words, sizeof words, "A step of %s with k-mers that no read has",
                 figure_bases((double)page->step).text);
        svg_text(out, 31, 36, "axis", words);
}

/* A length to compare with, of about a fifth of the longest. */
static void put_ruler(struct text_out *out, double longest, double y)
{
        const double step = chart_step(longest, 5), width = step / longest * (WIDTH - LEFT);
        svg_line(out, LEFT, y, LEFT + width, y, "base");
        svg_line(out, LEFT, y - 4, LEFT, y + 4, "base");
        svg_line(out, LEFT + width, y - 4, LEFT + width, y + 4, "base");
        svg_text(out, LEFT + width + 8, y + 4, "axis", figure_bases(step).text);
}

static void put_strips(struct text_out *out, const struct page *page, double longest, double top,
                       double row)
{
        for (size_t i = 0; i < page->nsequences; i++) {
                const struct page_sequence *sequence = &page->sequences[i];
                const double width = fmax(6, (double)sequence->length / longest * (WIDTH - LEFT));
                const struct sequence_strip strip = {
                        .out = out,
                        .sequence = sequence,
                        .assembly = page->nassemblies > 1
                                            ? page->assemblies[sequence->assembly].name
                                            : NULL,
                        .x = LEFT,
                        .y = top + row * (double)i,
                        .width = width,
                        .step = width / fmax(1, (double)sequence->nbins),
                        .full = page->depth,
                };
                put_sequence(&strip);
        }
}

void drawing_put_sequences(struct text_out *out, const struct page *page)
{
        const double longest = find_longest(page), top = 72, row = page->nassemblies > 1 ? 40 : 30;
        const double bottom = top + row * (double)page->nsequences;
        if (page->nsequences == 0) {
                drawing_put_words(out, "Sequence by sequence",
                                  "Nothing is known about individual sequences.");
                return;
        }
        svg_begin(out, WIDTH, bottom + 14, "Sequence by sequence",
                  "Where each sequence has k-mers that are in no read, in two copies, or of a "
                  "depth unlike the genome's");
        put_legend(out, page);
        put_strips(out, page, longest, top, row);
        put_ruler(out, longest, bottom + 6);
        svg_end(out);
}
