/*
 * Distinct k-mers by GC content and count, in shades, with the groups that are unlike the genome.
 */
#include "app/report/svg/chart.h"
#include "app/report/svg/drawings.h"

#include "app/report/page/figures.h"

#include <math.h>
#include <stdio.h>

enum { WIDTH = 720, HEIGHT = 470, NSHADES = 9, FEWEST = 20, LEAST = 100, LINE = 22 };

struct map {
        struct text_out *out;
        const struct page *page;
        double left, right, top, bottom;
        size_t last;      /* the last column that is drawn */
        double low, high; /* logarithms of counts */
        double most;      /* decimal logarithm of the highest density */
};

/* ---- places ---- */

static double find_from(const struct page_gc *gc, size_t column)
{
        return fmax(0.8, (double)gc->first[column] - 0.5);
}

static double find_to(const struct page_gc *gc, size_t column)
{
        const double first = (double)gc->first[column];
        const double next = column + 1 < gc->ncolumns ? (double)gc->first[column + 1]
                                                      : fmax(first * 1.06, first + 1);
        return next - 0.5;
}

static double find_x(const struct map *m, double count)
{
        return m->left + (log2(count) - m->low) / (m->high - m->low) * (m->right - m->left);
}

static double find_y(const struct map *m, double ngc)
{
        return m->bottom - ngc / (m->page->k + 1) * (m->bottom - m->top);
}

/* k-mers for each doubling of the count, so that columns of any width can be compared. */
static double find_density(const struct page_gc *gc, int ngc, size_t column)
{
        return (double)gc->kmers[(size_t)ngc * gc->ncolumns + column] /
               log2(find_to(gc, column) / find_from(gc, column));
}

static bool has_few(const struct page *page, size_t column)
{
        for (int i = 0; i <= page->k; i++)
                if (page->gc.kmers[(size_t)i * page->gc.ncolumns + column] >= FEWEST)
                        return false;
        return true;
}

static double find_highest(const struct page *page)
{
        double most = 0;
        for (int i = 0; i <= page->k; i++)
                for (size_t column = 0; column < page->gc.ncolumns; column++)
                        most = fmax(most, find_density(&page->gc, i, column));
        return most;
}

static void set_places(struct map *m, double most)
{
        const struct page_gc *gc = &m->page->gc;
        m->last = gc->ncolumns - 1;
        while (m->last > 0 && has_few(m->page, m->last))
                m->last--;
        m->most = log10(fmax(1000, most));
        m->low = log2(0.8);
        m->high = log2(find_to(gc, m->last));
}

/* ---- the cells ---- */

/* From 1 to NSHADES; 0 is not drawn. */
static int find_shade(const struct map *m, int ngc, size_t column)
{
        const double density = find_density(&m->page->gc, ngc, column);
        if (density < LEAST)
                return 0;
        return (int)fmin(NSHADES, 1 + floor((log10(density) - 2) / (m->most - 2) * NSHADES));
}

/* Neighbours of one shade in a column become one. They overlap a little: no gap shows. */
static void put_column(const struct map *m, size_t column, int shade)
{
        const struct page_gc *gc = &m->page->gc;
        for (int i = 0; i <= m->page->k;) {
                const int found = find_shade(m, i, column);
                int over = i + 1;
                while (over <= m->page->k && find_shade(m, over, column) == found)
                        over++;
                if (found == shade)
                        svg_path_bar(m->out, find_x(m, find_from(gc, column)),
                                     find_x(m, find_to(gc, column)) + 0.4, find_y(m, i) + 0.3,
                                     find_y(m, over));
                i = over;
        }
}

static void put_cells(const struct map *m)
{
        for (int shade = 1; shade <= NSHADES; shade++) {
                char name[16];
                snprintf(name, sizeof name, "heat-%d", shade);
                svg_path_begin(m->out, name);
                for (size_t column = 0; column <= m->last; column++)
                        put_column(m, column, shade);
                svg_path_end(m->out);
        }
}

/* ---- around them ---- */

static void put_axes(const struct map *m)
{
        svg_text(m->out, 0, 13, "axis", "GC content");
        for (int percent = 0; percent <= 100; percent += 20) {
                const double y = find_y(m, percent / 100.0 * m->page->k + 0.5);
                char words[16];
                snprintf(words, sizeof words, "%d %%", percent);
                svg_line(m->out, m->left - 5, y, m->left, y, "base");
                svg_text(m->out, m->left - 9, y + 4, "end", words);
        }
        svg_line(m->out, m->left, m->top, m->left, m->bottom, "base");
        svg_line(m->out, m->left, m->bottom, m->right, m->bottom, "base");
        for (double count = 1; log2(count) < m->high; count *= 2) {
                char words[32];
                snprintf(words, sizeof words, "%.0f", count);
                svg_line(m->out, find_x(m, count), m->bottom, find_x(m, count), m->bottom + 5,
                         "base");
                svg_text(m->out, find_x(m, count), m->bottom + 20, "middle", words);
        }
        svg_text(m->out, m->right, m->bottom + 39, "axis end",
                 "count in the reads; each step is a doubling");
}

static void mark_copies(const struct map *m, int copies)
{
        const double x = find_x(m, copies * m->page->model.coverage);
        char words[16];
        if (!page_has_model(m->page) || x > m->right)
                return;
        snprintf(words, sizeof words, "%dn", copies);
        svg_line(m->out, x, m->top - 6, x, m->top, "base");
        svg_text(m->out, x, m->top - 11, "middle strong", words);
}

static void put_group(const struct map *m, int i)
{
        const struct page_group *g = &m->page->gc.groups[i];
        const double row = (m->bottom - m->top) / (m->page->k + 1);
        const double left = find_x(m, (double)g->from_count) - 5;
        const double right = fmin(find_x(m, (double)g->to_count) + 5, m->right + 5);
        const double top = find_y(m, g->gc * m->page->k + 0.5) - 4.6 * row;
        const char initial[] = { (char)('A' + i), '\0' };
        svg_round_rect(m->out, left, top, right - left, 9.2 * row, 9, "halo");
        svg_round_rect(m->out, left, top, right - left, 9.2 * row, 9, "outline");
        svg_circle(m->out, (left + right) / 2, top, 11, "badge");
        svg_text(m->out, (left + right) / 2, top + 5, "middle badge-text", initial);
}

/* The shades and what they stand for, at the upper right. */
static void put_shades(const struct map *m)
{
        const double width = 216, left = WIDTH - 8 - width;
        char words[64];
        for (int i = 0; i < NSHADES; i++) {
                char name[16];
                snprintf(name, sizeof name, "heat-%d", i + 1);
                svg_rect(m->out, left + i * width / NSHADES, 2, width / NSHADES - 1, 9, name);
        }
        const double unit = pow(10, floor(m->most));
        snprintf(words, sizeof words, "%s k-mers",
                 chart_short(round(pow(10, m->most) / unit) * unit).text);
        svg_text(m->out, left, 25, "start", "100");
        svg_text(m->out, WIDTH - 8, 25, "end", words);
}

/* What the letters stand for, below the picture. */
static void put_group_words(const struct map *m, int i)
{
        const struct page_group *g = &m->page->gc.groups[i];
        char words[400];
        snprintf(words, sizeof words,
                 "%c: %s k-mers with %s GC, read %s times, %s times as often as the genome",
                 'A' + i, figure_count((double)g->nkmers).text, figure_percent(g->gc, 0).text,
                 figure_count(g->depth).text, figure_fixed(g->times, 1).text);
        svg_text(m->out, m->left, HEIGHT + 20 + i * LINE, "axis", words);
}

static void put_map(struct text_out *out, const struct page *page, const char *title, double most)
{
        const int ngroups = page->gc.ngroups;
        struct map m = { .out = out,
                         .page = page,
                         .left = 56,
                         .right = WIDTH - 8,
                         .top = 44,
                         .bottom = HEIGHT - 48 };
        char words[96] = "k-mers by GC content and count; no group lies apart from the genome";
        if (ngroups > 0)
                snprintf(words, sizeof words,
                         "k-mers by GC content and count; %d group%s apart from the genome",
                         ngroups, ngroups == 1 ? " lies" : "s lie");
        svg_begin(out, WIDTH, HEIGHT + LINE * ngroups, title, words);
        set_places(&m, most);
        put_cells(&m);
        put_axes(&m);
        mark_copies(&m, 1);
        if (page->model.ploidy > 1)
                mark_copies(&m, page->model.ploidy);
        for (int i = 0; i < ngroups; i++) {
                put_group(&m, i);
                put_group_words(&m, i);
        }
        put_shades(&m);
        svg_end(out);
}

void drawing_put_gc(struct text_out *out, const struct page *page)
{
        const char *title = "GC content and depth";
        const double most = page->gc.ncolumns > 0 ? find_highest(page) : 0;
        if (page->gc.ncolumns == 0)
                drawing_put_words(out, title, "The GC content of the k-mers is not known.");
        else if (most < LEAST)
                drawing_put_words(out, title, "There are too few k-mers for this picture.");
        else
                put_map(out, page, title, most);
}
