#include "app/hist/plot.h"

#include "app/cli/size.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* OTHER_LINES: lines that are not bars, including the next prompt. */
enum { OTHER_LINES = 8, LEAST_BARS = 8, MOST_BARS = 100, MOST_COLUMNS = 1000 };

enum { LABEL_NBYTES = 48, BLOCK_NBYTES = 3 };

struct bar {
        uint64_t from, to; /* counts */
        uint64_t nkmers;
};

struct chart {
        const struct plot_page *page;
        struct bar bars[MOST_BARS];
        int nbars;
        double full;        /* k-mers of the longest bar that is not cut */
        int nlabel, nkmers; /* columns; nkmers 0: there is no room for these numbers */
        int nroom;          /* columns for bars */
        bool narrow;        /* labels give only the first count of a bar */
};

/* ---- what the bars stand for ---- */

/* The count that only one k-mer in 200 exceeds. */
static uint64_t last_of_most(const struct histogram *h)
{
        uint64_t left = landscape_sum(h, 0, UINT64_MAX) / 200;
        size_t i = h->nrows - 1;
        for (; i > 0 && h->rows[i].ndistinct <= left; i--)
                left -= h->rows[i].ndistinct;
        return h->rows[i].count;
}

/* How many counts a bar stands for: the least of 1, 2, 3, 4, 5, 10, 20, ... that suffices. */
static uint64_t choose_step(uint64_t ncounts, uint64_t most_bars)
{
        for (uint64_t power = 1;; power *= 10)
                for (uint64_t digit = 1; digit <= 5; digit++)
                        if (ncounts <= digit * power * most_bars)
                                return digit * power;
}

static uint64_t most_bars(const struct plot_page *page)
{
        const int n = page->height - OTHER_LINES;
        return (uint64_t)(n < LEAST_BARS ? LEAST_BARS : n > MOST_BARS ? MOST_BARS : n);
}

static void fill_bars(struct chart *chart, const struct histogram *h, uint64_t last)
{
        const uint64_t first = h->rows[0].count;
        const uint64_t step = choose_step(last - first + 1, most_bars(chart->page));
        for (uint64_t from = first; from <= last; from += step) {
                const uint64_t to = from + step - 1;
                chart->bars[chart->nbars++] = (struct bar){ from, to, landscape_sum(h, from, to) };
        }
}

/* The longest bar. If there is a peak, bars of sequencing errors do not count. */
static double choose_full(const struct chart *chart, const struct landscape *land)
{
        uint64_t most = 1;
        for (int i = 0; i < chart->nbars; i++) {
                const struct bar *bar = &chart->bars[i];
                const bool of_errors =
                        land->has_peak && bar->from < land->valley && bar->to < land->peak;
                if (!of_errors && bar->nkmers > most)
                        most = bar->nkmers;
        }
        return (double)most;
}

/* ---- their columns ---- */

static const char *format_counts(const struct bar *bar, bool narrow, char text[LABEL_NBYTES])
{
        if (bar->from == bar->to || narrow)
                snprintf(text, LABEL_NBYTES, "%" PRIu64, bar->from);
        else
                snprintf(text, LABEL_NBYTES, "%" PRIu64 "-%" PRIu64, bar->from, bar->to);
        return text;
}

static void measure(struct chart *chart)
{
        chart->nlabel = (int)strlen("count");
        chart->nkmers = (int)strlen("k-mers");
        for (int i = 0; i < chart->nbars; i++) {
                char text[LABEL_NBYTES];
                int n = (int)strlen(format_counts(&chart->bars[i], chart->narrow, text));
                chart->nlabel = n > chart->nlabel ? n : chart->nlabel;
                n = (int)strlen(format_number(chart->bars[i].nkmers, text));
                chart->nkmers = n > chart->nkmers ? n : chart->nkmers;
        }
        chart->nroom = chart->page->width - chart->nlabel - chart->nkmers - 4;
}

/* A narrow page loses the upper bounds of the counts, then the numbers of k-mers. */
static void choose_columns(struct chart *chart)
{
        enum { LEAST_ROOM = 10 };
        measure(chart);
        chart->narrow = chart->nroom < LEAST_ROOM;
        if (chart->narrow)
                measure(chart);
        if (chart->nroom < LEAST_ROOM) {
                chart->nroom += chart->nkmers + 2;
                chart->nkmers = 0;
        }
        if (chart->nroom > MOST_COLUMNS)
                chart->nroom = MOST_COLUMNS;
}

/* ---- their text ---- */

/* A bar of this share of the room. A bar that is too long is cut and ends with ">>". */
static const char *format_bar(double share, const struct chart *chart,
                              char text[MOST_COLUMNS * BLOCK_NBYTES + 1])
{
        static const char *const eighths[] = { "", "▏", "▎", "▍", "▌", "▋", "▊", "▉" };
        const bool utf8 = chart->page->utf8, is_cut = share > 1;
        const double length = (is_cut ? 1 : share) * chart->nroom;
        const long neighths = utf8 ? lround(ceil(length * 8)) : lround(length) * 8;
        const long nwhole = is_cut ? chart->nroom - 2 : neighths / 8;
        char *end = text;
        *end = '\0';
        for (long i = 0; i < nwhole; i++)
                end = stpcpy(end, utf8 ? "█" : "#");
        strcpy(end, is_cut ? ">>" : eighths[neighths % 8]);
        return text;
}

static void put_line(struct text_out *out, const struct chart *chart, const char *label,
                     const char *nkmers, const char *bar)
{
        char line[LABEL_NBYTES + FORMATTED_NBYTES + MOST_COLUMNS * BLOCK_NBYTES];
        int n = snprintf(line, sizeof line, "%*s", chart->nlabel, label);
        if (chart->nkmers > 0)
                n += snprintf(line + n, sizeof line - (size_t)n, "  %*s", chart->nkmers, nkmers);
        if (*bar != '\0')
                snprintf(line + n, sizeof line - (size_t)n, "  %s", bar);
        text_out_printf(out, "%s\n", line);
}

static void put_bars(struct text_out *out, const struct chart *chart)
{
        put_line(out, chart, "count", "k-mers", "");
        for (int i = 0; i < chart->nbars; i++) {
                const struct bar *bar = &chart->bars[i];
                char label[LABEL_NBYTES], nkmers[FORMATTED_NBYTES];
                char text[MOST_COLUMNS * BLOCK_NBYTES + 1];
                put_line(out, chart, format_counts(bar, chart->narrow, label),
                         format_number(bar->nkmers, nkmers),
                         format_bar((double)bar->nkmers / chart->full, chart, text));
        }
}

static void put_rest(struct text_out *out, const struct chart *chart, const struct histogram *h)
{
        const uint64_t last = chart->bars[chart->nbars - 1].to;
        const uint64_t nkmers = landscape_sum(h, last + 1, UINT64_MAX);
        char number[FORMATTED_NBYTES], text[128];
        if (nkmers == 0)
                return;
        snprintf(text, sizeof text, "over %" PRIu64 ": %s k-mer%s", last,
                 format_number(nkmers, number), nkmers == 1 ? "" : "s");
        text_out_words(out, text, 0, 0, chart->page->width);
}

/* With three digits, because a peak gives no more precision. */
static const char *format_bases(double nbases, char text[FORMATTED_NBYTES])
{
        static const char *const units[] = { "Mbases", "Gbases", "Tbases", "Pbases", "Ebases" };
        double digit = 1;
        while (nbases / digit >= 999.5)
                digit *= 10;
        nbases = round(nbases / digit) * digit;
        if (nbases < 1e6) {
                char number[FORMATTED_NBYTES];
                stpcpy(stpcpy(text, format_number((uint64_t)nbases, number)), " bases");
                return text;
        }
        size_t unit = 0;
        for (nbases /= 1e6; nbases >= 1000; nbases /= 1000)
                unit++;
        snprintf(text, FORMATTED_NBYTES, "%.3g %s", nbases, units[unit]);
        return text;
}

static void put_findings(struct text_out *out, const struct chart *chart,
                         const struct landscape *land, const struct histogram *h, bool stranded)
{
        char bases[FORMATTED_NBYTES], errors[64] = "", text[256];
        if (land->valley > h->rows[0].count)
                snprintf(errors, sizeof errors, "errors below %" PRIu64 "; ", land->valley);
        snprintf(text, sizeof text, "%speak at %" PRIu64 "; about %s in %sthe genome if haploid",
                 errors, land->peak, format_bases(land->genome_nkmers, bases),
                 stranded ? "both strands of " : "");
        text_out_words(out,
                       land->has_peak ? text
                                      : "no peak: too few reads to see one, or not the reads of "
                                        "one genome",
                       0, 0, chart->page->width);
}

bool plot_histogram(struct text_out *out, const struct histogram *h, bool stranded,
                    const struct plot_page *page)
{
        struct chart chart = { .page = page };
        if (h->nrows == 0) {
                text_out_words(out, "no k-mers", 0, 0, page->width);
                return false;
        }
        const struct landscape land = landscape_survey(h);
        fill_bars(&chart, h, land.has_peak ? land.tail : last_of_most(h));
        chart.full = choose_full(&chart, &land);
        choose_columns(&chart);
        put_bars(out, &chart);
        put_rest(out, &chart, h);
        put_findings(out, &chart, &land, h, stranded);
        return land.has_peak;
}
