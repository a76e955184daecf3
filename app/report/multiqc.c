#include "app/report/multiqc.h"

#include "app/cli/json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NDIGITS = 8 };

static const char ending[] = "_mqc.json";

enum kc_status multiqc_add(struct multiqc *multiqc, struct files *files, const char *path,
                           struct kc_error *err)
{
        const size_t length = strlen(path), n = sizeof ending - 1;
        enum kc_status status;
        if (length <= n || strcmp(path + length - n, ending) != 0)
                return kc_fail(err, KC_EUSAGE,
                               "MultiQC finds a file only if its name ends in _mqc.json: %s", path);
        KC_TRY(files_add(files, &multiqc->numbers, err, "%s", path));
        KC_TRY(files_add(files, &multiqc->spectrum, err, "%.*s_spectrum%s", (int)(length - n), path,
                         ending));
out:
        return status;
}

/* ---- numbers ---- */

static double find_size(const struct page *page)
{
        return page_has_verdict(page) ? page->verdict.genome_size.value / 1e6 : NAN;
}

static double find_ploidy(const struct page *page)
{
        return page_has_verdict(page) ? page->model.ploidy : NAN;
}

static double find_heterozygosity(const struct page *page)
{
        return page_has_verdict(page) ? 100 * page->verdict.heterozygosity.value : NAN;
}

static double find_coverage(const struct page *page)
{
        return page_has_verdict(page) ? page->verdict.coverage.value : NAN;
}

static double find_error_rate(const struct page *page)
{
        return page_has_verdict(page) && page->verdict.has_error_rate
                       ? 100 * page->verdict.error_rate.value
                       : NAN;
}

static double find_qv(const struct page *page)
{
        const struct page_qv *qv = &page->all.quality.raw;
        return !page_has_quality(page) ? NAN : qv->is_bound ? qv->qv.low : qv->qv.value;
}

static double find_completeness(const struct page *page)
{
        const struct page_completeness *c = &page->all.completeness;
        return page->nassemblies > 0 && c->nsolid > 0 ? c->percent.value : NAN;
}

/* The columns of the general statistics. */
static const struct multiqc_column {
        const char *key, *title, *description, *format, *suffix, *colours;
        double (*find)(const struct page *page); /* NAN: it is not known */
} columns[] = {
        { "genome_size", "Genome size", "Size of one haplotype, by the model of the k-mer spectrum",
          "{:,.3f}", " Mb", "Blues", find_size },
        { "ploidy", "Ploidy", "Ploidy of the model that explains the k-mer spectrum most simply",
          "{:,.0f}", "", "Greys", find_ploidy },
        { "heterozygosity", "Heterozygosity", "Share of the bases at which haplotypes differ",
          "{:,.3f}", "%", "Purples", find_heterozygosity },
        { "coverage", "k-mer coverage", "How often a k-mer of one haplotype is read", "{:,.1f}",
          "X", "Greens", find_coverage },
        { "error_rate", "Read errors", "Share of the bases of the reads that are wrong", "{:,.3f}",
          "%", "Oranges", find_error_rate },
        { "qv", "QV",
          "Quality of the assembly's bases, by k-mers; its lower 95% limit if no error was found",
          "{:,.1f}", "", "RdYlGn", find_qv },
        { "completeness", "Completeness", "Share of the reads' solid k-mers that the assembly has",
          "{:,.2f}", "%", "RdYlGn", find_completeness },
};

/* MultiQC takes the columns from one of the files that it puts together, so each has all of them;
 * it shows those for which there are numbers. */
static void put_headers(struct json *json)
{
        json_begin(json, "pconfig", '{');
        for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
                json_begin(json, columns[i].key, '{');
                json_string(json, "title", columns[i].title);
                json_string(json, "description", columns[i].description);
                json_string(json, "format", columns[i].format);
                json_string(json, "suffix", columns[i].suffix);
                json_string(json, "scale", columns[i].colours);
                json_string(json, "namespace", "kcount");
                json_end(json, '}');
        }
        json_end(json, '}');
}

static void put_numbers(struct json *json, const struct page *page)
{
        json_begin(json, NULL, '{');
        json_string(json, "id", "kcount_numbers");
        json_string(json, "plot_type", "generalstats");
        put_headers(json);
        json_begin(json, "data", '{');
        json_begin(json, page->sample, '{');
        for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
                const double value = columns[i].find(page);
                if (isfinite(value))
                        json_figures(json, columns[i].key, value, NDIGITS);
        }
        json_end(json, '}');
        json_end(json, '}');
        json_end(json, '}');
}

/* ---- spectrum ---- */

/* Some versions of MultiQC sort counts as text, so all have as many digits. A row with several
 * counts has their mean, and the k-mers of each, so that samples can be compared. A logarithmic
 * scale has no place for counts without k-mers. */
static void put_curve(struct json *json, const struct page_spectrum *s)
{
        for (size_t i = 0; i < s->n; i++) {
                char count[32];
                const double mean = (double)(i * s->width) + 0.5 * (double)(s->width + 1);
                snprintf(count, sizeof count, "%0*.*f", s->width % 2 == 1 ? 8 : 10,
                         s->width % 2 == 1 ? 0 : 1, mean);
                if (s->kmers[i] > 0)
                        json_figures(json, count, (double)s->kmers[i] / (double)s->width, NDIGITS);
        }
}

static void put_looks(struct json *json)
{
        json_begin(json, "pconfig", '{');
        json_string(json, "id", "kcount_spectrum_plot");
        json_string(json, "title", "kcount: k-mer spectrum");
        json_string(json, "xlab", "count: how often a k-mer occurs in the reads");
        json_string(json, "ylab", "distinct k-mers");
        json_bool(json, "logswitch", true);
        json_bool(json, "logswitch_active", true);
        json_end(json, '}');
}

static void put_spectrum(struct json *json, const struct page *page)
{
        json_begin(json, NULL, '{');
        json_string(json, "id", "kcount_spectrum");
        json_string(json, "section_name", "k-mer spectrum");
        json_string(json, "parent_id", "kcount");
        json_string(json, "parent_name", "kcount");
        json_string(json, "parent_description",
                    "counts k-mers, and tells from their counts what a genome is like.");
        json_string(json, "description",
                    "How many different k-mers occur once, twice and so on in the reads. Errors "
                    "make those that occur only a few times; the genome makes the peaks.");
        json_string(json, "plot_type", "linegraph");
        put_looks(json);
        json_begin(json, "data", '{');
        json_begin(json, page->sample, '{');
        put_curve(json, &page->spectrum);
        json_end(json, '}');
        json_end(json, '}');
        json_end(json, '}');
}

void multiqc_put(const struct multiqc *multiqc, const struct page *page)
{
        struct json numbers = { .out = multiqc->numbers }, spectrum = { .out = multiqc->spectrum };
        if (multiqc->numbers == NULL)
                return;
        put_numbers(&numbers, page);
        put_spectrum(&spectrum, page);
}
