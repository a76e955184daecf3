#include "app/report/page/figures.h"

#include "app/cli/utf8.h"
#include "app/report/page/parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct figure figure_count(double value)
{
        struct figure f;
        char digits[32];
        const int n = snprintf(digits, sizeof digits, "%.0f", value);
        char *end = f.text;
        for (int i = 0; i < n; i++) {
                *end++ = digits[i];
                if ((n - i) % 3 == 1 && i + 1 < n && digits[i] != '-')
                        *end++ = ',';
        }
        *end = '\0';
        return f;
}

struct figure figure_fixed(double value, int ndigits)
{
        struct figure f;
        snprintf(f.text, sizeof f.text, "%.*f", ndigits, value);
        return f;
}

struct figure figure_percent(double share, int ndigits)
{
        struct figure f;
        snprintf(f.text, sizeof f.text, "%.*f %%", ndigits, 100 * share);
        return f;
}

struct figure figure_depth(double depth)
{
        return depth < 99.95 ? figure_fixed(depth, 1) : figure_count(depth);
}

struct unit {
        double nbases;
        const char *name;
};

static struct unit find_unit(double nbases)
{
        static const struct unit units[] = { { 1e9, "Gb" }, { 1e6, "Mb" }, { 1e3, "kb" } };
        for (size_t i = 0; i < sizeof units / sizeof *units; i++)
                if (nbases >= 0.9995 * units[i].nbases)
                        return units[i];
        return (struct unit){ 1, "bp" };
}

/* Digits after the point, for 3 figures. */
static int count_decimals(double value, struct unit unit)
{
        value /= unit.nbases;
        return unit.nbases < 2 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
}

struct figure figure_bases(double nbases)
{
        struct figure f;
        const struct unit unit = find_unit(nbases);
        snprintf(f.text, sizeof f.text, "%.*f %s", count_decimals(nbases, unit),
                 nbases / unit.nbases, unit.name);
        return f;
}

struct figure figure_bases_range(struct page_range range)
{
        struct figure f;
        const struct unit unit = find_unit(range.value);
        const int n = count_decimals(range.value, unit);
        snprintf(f.text, sizeof f.text, "%.*f to %.*f %s", n, range.low / unit.nbases, n,
                 range.high / unit.nbases, unit.name);
        return f;
}

struct figure figure_about(double value)
{
        if (!(value >= 1 && value < 1e15))
                return figure_count(fmin(fmax(value, 0), 1e15));
        const double scale = pow(10, fmax(0, floor(log10(value)) - 1));
        return figure_count(round(value / scale) * scale);
}

struct figure figure_qv(const struct page_qv *qv, int ndigits)
{
        struct figure f;
        if (qv->is_bound)
                snprintf(f.text, sizeof f.text, "> %.*f", ndigits, qv->qv.low);
        else
                snprintf(f.text, sizeof f.text, "%.*f", ndigits, qv->qv.value);
        return f;
}

struct figure figure_qv_interval(const struct page_qv *qv, int ndigits)
{
        static const double most = 99;
        struct figure f;
        if (qv->is_bound)
                snprintf(f.text, sizeof f.text, "at least %.*f", ndigits, qv->qv.low);
        else if (!page_qv_has_high(qv) || qv->qv.high > most)
                snprintf(f.text, sizeof f.text, "%.*f or more", ndigits, qv->qv.low);
        else
                snprintf(f.text, sizeof f.text, "%.*f to %.*f", ndigits, qv->qv.low, ndigits,
                         qv->qv.high);
        return f;
}

int figure_name_length(const char *name, int most)
{
        int n = 0;
        while (name[n] != '\0') {
                const int length = utf8_length((const unsigned char *)name + n);
                if (n + (length > 0 ? length : 1) > most)
                        break;
                n += length > 0 ? length : 1;
        }
        return n;
}

struct figure figure_word(size_t n)
{
        static const char *const words[] = { "no",   "one", "two",   "three", "four",
                                             "five", "six", "seven", "eight", "nine" };
        struct figure f;
        if (n >= sizeof words / sizeof *words)
                return figure_count((double)n);
        strcpy(f.text, words[n]);
        return f;
}

const char *figure_ploidy(int ploidy)
{
        static const char *const names[] = { "haploid",    "diploid",    "triploid",
                                             "tetraploid", "pentaploid", "hexaploid" };
        return names[ploidy - 1];
}

bool figure_has_part(const struct page *page, int part)
{
        return page->all.copies.has_parts && (part != PAGE_HETEROZYGOUS || page->model.ploidy > 1);
}

const char *figure_part(const struct page *page, int part)
{
        static const char *const names[] = { "Heterozygous", "Homozygous", "Repeated" };
        return page->model.ploidy == 1 && part == PAGE_HOMOZYGOUS ? "Single-copy" : names[part];
}
