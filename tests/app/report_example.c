#include "tests/app/report_example_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const report_example_names[] = {
        "diploid",  "haploid", "tetraploid", "alone",   "perfect",  "no-model",   "no-fit",
        "filtered", "no-qv",   "hostile",    "human",   "large",    "tiny",       "fitted",
        "deep",     "two",     "mixed",      "counted", "no-solid", "no-minimum", NULL
};

double example_draw(struct example *e)
{
        e->state = e->state * 1664525 + 1013904223;
        return (e->state >> 8) / 8388608.0 - 1;
}

static double probability(double x, double mean, double bias)
{
        const double size = mean / bias;
        int sign;
        return exp(lgamma_r(x + size, &sign) - lgamma_r(size, &sign) - lgamma_r(x + 1, &sign) -
                   size * log1p(bias) - x * log1p(1 / bias));
}

/* ---- the genome ---- */

static void fill_spectrum(struct example *e)
{
        const struct design *d = &e->design;
        struct page_spectrum *s = &e->report.spectrum;
        for (size_t i = 0; i < d->nrows; i++) {
                const double x = (double)(i + 1);
                for (int copies = 1; copies <= 2 * d->ploidy; copies++) {
                        const int part = copies < d->ploidy ? 0 : copies == d->ploidy ? 1 : 2;
                        e->parts[part][i] += d->length * d->share[copies - 1] *
                                             probability(x, copies * d->coverage, d->bias);
                }
                e->parts[3][i] = 2.6 * d->length * pow(0.034, i) + 0.004 * d->length * pow(0.3, i);
                const double y = e->parts[0][i] + e->parts[1][i] + e->parts[2][i] + e->parts[3][i];
                e->kmers[i] = (uint64_t)fmax(0, round(y + 1.2 * sqrt(y) * example_draw(e)));
                s->total += (i + 1) * e->kmers[i];
                s->distinct += e->kmers[i];
        }
        s->kmers = e->kmers;
        s->n = d->nrows;
        s->width = 1;
        s->beyond = 26267;
        s->distinct += s->beyond;
        s->total += s->beyond * 3 * d->nrows / 2;
        e->report.reads.nonce = e->kmers[0];
}

static void fill_model(struct example *e)
{
        const struct design *d = &e->design;
        struct page_model *m = &e->report.model;
        const double peak = d->ploidy * d->coverage;
        *m = (struct page_model){
                .ploidy = d->ploidy,
                .fits = true,
                .length = d->length,
                .coverage = d->coverage,
                .bias = d->bias,
                .duplication = 0.031,
                .nrates = d->ploidy == 1 ? 0 : 1,
                .rates = { d->ploidy == 1 ? 0 : 0.01007 },
                .fit_first = 4,
                .fit_last = (uint64_t)fmin(3 * round(peak), (double)d->nrows),
                .peak = (uint64_t)round(peak),
                .explained = 0.987,
                .threshold = 4,
                .heterozygous = e->parts[0],
                .homozygous = e->parts[1],
                .repeated = e->parts[2],
                .errors = e->parts[3],
        };
}

static struct page_range around(double value, double share)
{
        return (struct page_range){ value, value * (1 - share), value * (1 + share) };
}

static void fill_verdict(struct example *e)
{
        const struct design *d = &e->design;
        struct page_verdict *v = &e->report.verdict;
        v->genome_size = around(1.06 * d->length, 0.01);
        v->all_kmers = 1.08 * v->genome_size.value;
        v->heterozygosity = around(d->ploidy == 1 ? 0 : 0.01007, 0.022);
        v->coverage = around(d->coverage, 0.005);
        v->error_rate = around(0.00493, 0.02);
        v->has_error_rate = true;
        v->read_depth = d->ploidy * d->coverage * 1.28;
}

static void fill_candidates(struct example *e)
{
        static const int others[][2] = { { 2, 4 }, { 4, 1 }, { 2, 1 } };
        struct page *r = &e->report;
        const struct design *d = &e->design;
        const int *other = others[d->ploidy == 1 ? 0 : d->ploidy == 2 ? 1 : 2];
        r->ncandidates = 3;
        for (int i = 0; i < 3; i++) {
                const int p = i == 0 ? d->ploidy : other[i - 1];
                const double coverage = d->coverage * d->ploidy / p;
                for (size_t x = 0; x < d->nrows; x++) {
                        const double whole = e->parts[0][x] + e->parts[1][x] + e->parts[2][x];
                        e->curves[i][x] =
                                i == 0   ? whole
                                : i == 1 ? whole * (1 + 0.02 * sin((double)x))
                                         : d->length * 0.95 *
                                                   probability((double)x + 1, coverage * p, 1.6);
                }
                r->candidates[i] = (struct page_candidate){
                        .ploidy = p,
                        .tied = i < 2,
                        .explained = 0.987 - 0.004 * i * i * i,
                        .bic = -738.8 + 60 * i,
                        .delta_bic = 21 * fabs(i - 1.0),
                        .coverage = coverage,
                        .haploid = r->verdict.all_kmers * d->ploidy / p,
                        .heterozygosity = p == 1   ? 0
                                          : i == 0 ? 0.01007
                                                   : 0.146,
                        .duplication = i == 2 ? 0.68 : 0.031,
                        .curve = e->curves[i],
                };
        }
}

/* ---- GC content ---- */

static double bell(double gc, double mean, double width)
{
        return exp(-0.5 * (gc - mean) * (gc - mean) / (width * width));
}

/* Spread n k-mers over the GC content of a column. */
static void spread(struct example *e, size_t column, double n, double mean, double width)
{
        double total = 0;
        const int k = e->design.k;
        for (int j = 0; j <= k; j++)
                total += bell((double)j / k, mean, width);
        for (int j = 0; j <= k; j++)
                e->gc[(size_t)j * e->report.gc.ncolumns + column] +=
                        (uint64_t)(n * bell((double)j / k, mean, width) / total);
}

static void fill_gc(struct example *e)
{
        struct page_gc *gc = &e->report.gc;
        gc->ncolumns = 112;
        for (size_t i = 0; i < gc->ncolumns; i++)
                e->first[i] = i < 64 ? i + 1 : (uint64_t)round(64 * exp2(((double)i - 63) / 12));
        for (size_t i = 0; i < gc->ncolumns; i++) {
                const uint64_t next = i + 1 < gc->ncolumns ? e->first[i + 1] : e->first[i] + 1;
                for (uint64_t x = e->first[i]; x < next && x <= e->design.nrows; x++)
                        spread(e, i, (double)e->kmers[x - 1], 0.405, 0.12);
                spread(e, i, 2800 * bell((double)e->first[i], 42, 7), 0.627, 0.06);
                spread(e, i, 900 * bell((double)e->first[i], 234, 24), 0.27, 0.05);
                spread(e, i, 300 / (1 + (double)i), 0.405, 0.12);
        }
        gc->first = e->first;
        gc->kmers = e->gc;
        gc->main_gc = 0.405;
        gc->ngroups = 2;
        gc->groups[0] = (struct page_group){ 48681, 2028110, 32, 63, 41.7, 1.78, 0.6269 };
        gc->groups[1] = (struct page_group){ 15737, 3676197, 190, 290, 233.6, 9.98, 0.2731 };
}

/* ---- examples ---- */

static const struct design designs[] = {
        { 1, 21, 31.2, 0.35, 4.6e6, { 0.96, 0.03 }, 94, 14 },
        { 2, 21, 11.704, 0.1213, 2.829e6, { 0.37, 0.776, 0.012, 0.03 }, 72, 14 },
        { 4, 31, 18.6, 0.2, 5.1e6, { 0.42, 0.16, 0.09, 0.71, 0.01, 0.01, 0.01, 0.03 }, 223, 14 },
};

static const struct design *find_design(const char *name)
{
        return strcmp(name, "haploid") == 0      ? &designs[0]
               : strcmp(name, "tetraploid") == 0 ? &designs[2]
                                                 : &designs[1];
}

/* What only a model says about assemblies. */
static void leave_adjusted_out(struct page_comparison *c)
{
        c->copies.has_parts = false;
        c->quality.has_adjusted = false;
        c->completeness.low_threshold = c->completeness.high_threshold = 0;
}

static void leave_model_out(struct page *r, enum page_refusal why)
{
        r->model = (struct page_model){ .refusal = why };
        r->verdict = (struct page_verdict){ 0 };
        r->ncandidates = 0;
        r->gc.ngroups = 0;
        leave_adjusted_out(&r->all);
        r->solid = PAGE_BY_MINIMUM;
        for (int i = 0; i < r->nassemblies; i++)
                leave_adjusted_out(&r->assemblies[i].comparison);
}

static void leave_assembly_out(struct page *r)
{
        r->nassemblies = 0;
        r->nsequences = 0;
        r->step = 0;
        r->all.copies = (struct page_copies){ 0 };
}

static void be_perfect(struct example *e)
{
        struct page *r = &e->report;
        r->all.quality.raw = example_make_qv(0, 3029728, e->design.k);
        r->all.quality.has_adjusted = false;
        memset(r->all.copies.only, 0, sizeof r->all.copies.only);
        r->all.copies.parts[1].missing_percent = r->all.copies.parts[1].twice_percent = 0;
        r->all.copies.parts[1].once_percent = 100;
        for (size_t i = 0; i < r->nsequences; i++) {
                e->sequences[i].qv = example_make_qv(0, e->sequences[i].qv.nkmers, e->design.k);
                e->sequences[i].flags = 0;
                for (size_t b = 0; b < e->sequences[i].nbins; b++)
                        e->bins[i][b][0] = e->bins[i][b][1] = 0;
        }
        r->gc.ngroups = 0;
        r->verdict.all_kmers = r->verdict.genome_size.value;
}

/* Names that would do harm if they were not escaped. */
static void be_hostile(struct example *e)
{
        static const char *const names[] = { "</script><img src=x onerror=alert(1)>",
                                             "<!--<script>",
                                             "\"' onload='alert(2)",
                                             "caf\xc3\xa9 \xff\xfe\x1b[2J",
                                             "\xe2\x80\xae"
                                             "desrever &amp; ]]>",
                                             "" };
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
                e->sequences[i].name = names[i];
        e->sequences[5].flags = 0;
        e->sequences[0].flags = PAGE_LOW_QV | PAGE_SECOND_COPY | PAGE_UNLIKE_GENOME;
        e->sequences[2].length = 12; /* shorter than k */
        e->sequences[2].qv = (struct page_qv){ .is_bound = true, .qv = { 0, NAN, NAN } };
        e->sequences[2].nbins = 0;
        e->report.sample = names[0];
        e->report.command = names[0];
        e->report.reads.file = names[2];
        e->report.assemblies[0].file = e->report.assemblies[0].name = names[0];
        e->report.assemblies[1].file = e->report.assemblies[1].name = names[3];
}

/* A file of counts, and a threshold of the user */
static void be_counted(struct page *r)
{
        r->assemblies[0].is_counted = true;
        r->assemblies[0].file = "assembly.kc";
        r->assemblies[0].nsequences = r->assemblies[0].nbases = 0;
        r->nsequences = 0;
        r->step = 0;
        r->solid = PAGE_BY_USER;
        r->all.completeness.low_threshold = r->all.completeness.high_threshold = 0;
}

/* No model; the second assembly is a file of counts, of reads as it seems. */
static void be_mixed(struct example *e)
{
        struct page *r = &e->report;
        size_t n = 0;
        leave_model_out(r, PAGE_HIGH_PEAK);
        for (size_t i = 0; i < r->nsequences; i++)
                if (e->sequences[i].assembly == 0)
                        e->sequences[n++] = e->sequences[i];
        r->nsequences = n;
        r->assemblies[1].is_counted = true;
        r->assemblies[1].file = "paternal.kc";
        r->assemblies[1].nsequences = r->assemblies[1].nbases = 0;
        r->assemblies[1].comparison.quality.refusal = PAGE_ARE_READS;
        r->all.quality.refusal = PAGE_ARE_READS;
}

/* The user's threshold is beyond all counts. */
static void be_without_solid(struct page *r)
{
        r->solid = PAGE_BY_USER;
        r->all.completeness =
                (struct page_completeness){ .threshold = 1000000,
                                            .percent = { 50, NAN, NAN }, /* not looked at */
                                            .weighted_percent = NAN,
                                            .first_minimum = { .threshold = 5, .percent = NAN } };
}

static void be_without_minimum(struct page *r)
{
        leave_model_out(r, PAGE_NO_PEAK);
        r->solid = PAGE_ALL_SOLID;
        r->depth = r->genome_size = 0;
        r->all.completeness.threshold = r->all.completeness.first_minimum.threshold = 1;
}

/* 5,000 contigs of 3 Gb */
static void be_human(struct example *e)
{
        for (size_t i = e->report.nsequences; i < MOST_SEQUENCES; i++)
                e->sequences[i] = e->sequences[e->report.nsequences - 1];
        e->report.nsequences = e->report.assemblies[0].nsequences = MOST_SEQUENCES;
        e->report.assemblies[0].nbases = 3100000000;
        e->report.verdict.genome_size = around(3.05e9, 0.01);
        e->report.verdict.all_kmers = 3.1e9;
}

static void be_tiny(struct example *e)
{
        struct page *r = &e->report;
        leave_model_out(r, PAGE_NO_PEAK);
        leave_assembly_out(r);
        memset(e->kmers, 0, sizeof e->kmers);
        memset(e->gc, 0, sizeof e->gc);
        e->kmers[0] = 1;
        r->spectrum = (struct page_spectrum){
                .kmers = e->kmers, .n = 1, .width = 1, .total = 1, .distinct = 1
        };
        r->reads.nonce = 1;
}

/* What the program finds in these counts. Without cminpack, there is no model. */
static void fit_rows(struct example *e, const struct kc_histogram_row *rows, size_t n)
{
        static const int ploidies[] = { 1, 2, 4 };
        static struct model model;
        struct kc_gc_cell cells[] = { { 8, 1, 7000000, 7000000 }, { 9, 23, 2000, 46000 } };
        const struct histogram histogram = { rows, n, e->report.k };
        const struct model_origin origin = { .min_count = 1 };
        struct kc_error err;
        leave_model_out(&e->report, PAGE_GIVEN);
        leave_assembly_out(&e->report);
        const bool found =
                model_find(&histogram, &origin, NULL, ploidies, 3, &model, &err) == KC_OK;
        const struct page_genome_input in = {
                .histogram = &histogram,
                .model = found ? &model : NULL,
                .refusal = PAGE_NO_LIBRARY,
                .gc = cells,
                .ngc = sizeof cells / sizeof *cells,
        };
        if (page_fill_genome(&e->report, &e->genome, &in, &err) != KC_OK)
                abort();
}

static void be_fitted(struct example *e)
{
        struct kc_histogram_row rows[PAGE_MAX_ROWS];
        for (size_t i = 0; i < e->design.nrows; i++)
                rows[i] = (struct kc_histogram_row){ i + 1, e->kmers[i] };
        fit_rows(e, rows, e->design.nrows);
}

/* A small genome, read 2,000 times: more counts than rows */
static void be_deep(struct example *e)
{
        enum { NROWS = 6500 };
        static struct kc_histogram_row rows[NROWS];
        for (size_t i = 0; i < NROWS; i++) {
                const double x = (double)(i + 1);
                const double y = 60000 * (probability(x, 2000, 3) + 0.03 * probability(x, 4000, 3));
                const double errors = 4e6 * exp(-0.2 * x);
                rows[i] = (struct kc_histogram_row){ i + 1, (uint64_t)round(y + errors) };
        }
        e->report.reads.nbases = 140000000;
        fit_rows(e, rows, NROWS);
}

static bool has_two(const char *name)
{
        static const char *const names[] = { "hostile", "large", "mixed", "two" };
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
                if (strcmp(name, names[i]) == 0)
                        return true;
        return false;
}

static void fill(struct example *e, const char *name)
{
        struct page *r = &e->report;
        *r = (struct page){
                .sample = name,
                .program = "kcount 0.1.0",
                .command = "kcount report reads.kc --assembly assembly.fa -o report.html",
                .k = e->design.k,
                .nassemblies = has_two(name) ? 2 : 1,
                .reads = { .file = "reads.kc",
                           .sha256 = "6d00d0f404866ab8d11828cf35efd4fe2040197049"
                                     "29e47d66243d749d5800e7",
                           .nreads = 647600,
                           .nbases = 97140000,
                           .min_count = 1 },
        };
        fill_spectrum(e);
        fill_model(e);
        fill_verdict(e);
        fill_candidates(e);
        if (e->design.ploidy == 2)
                r->model.runner_up = 4;
        fill_gc(e);
        r->depth = e->design.ploidy * e->design.coverage;
        r->genome_size = r->verdict.genome_size.value;
        example_fill_assemblies(e);
}

static void adapt(struct example *e, const char *name)
{
        struct page *r = &e->report;
        if (strcmp(name, "alone") == 0 || strcmp(name, "haploid") == 0)
                leave_assembly_out(r);
        if (strcmp(name, "haploid") == 0)
                r->candidates[1].heterozygosity = 0;
        if (strcmp(name, "perfect") == 0)
                be_perfect(e);
        if (strcmp(name, "no-model") == 0)
                leave_model_out(r, PAGE_LOW_COVERAGE);
        if (strcmp(name, "no-fit") == 0) {
                r->model.fits = false;
                r->model.runner_up = 0;
                r->model.explained = 0.71;
                leave_adjusted_out(&r->all);
                r->solid = PAGE_BY_MINIMUM;
                for (int i = 0; i < r->ncandidates; i++) {
                        r->candidates[i].tied = false;
                        r->candidates[i].explained = 0.71 - 0.05 * i;
                }
        }
        if (strcmp(name, "filtered") == 0) {
                r->reads.min_count = 2;
                r->verdict.has_error_rate = false;
                r->all.quality.refusal = PAGE_FILTERED;
        }
        if (strcmp(name, "no-qv") == 0)
                r->all.quality.refusal = PAGE_ARE_READS;
        if (strcmp(name, "hostile") == 0)
                be_hostile(e);
        if (strcmp(name, "human") == 0)
                be_human(e);
        if (strcmp(name, "tiny") == 0)
                be_tiny(e);
        if (strcmp(name, "fitted") == 0)
                be_fitted(e);
        if (strcmp(name, "deep") == 0)
                be_deep(e);
        if (strcmp(name, "mixed") == 0)
                be_mixed(e);
        if (strcmp(name, "counted") == 0)
                be_counted(r);
        if (strcmp(name, "no-solid") == 0)
                be_without_solid(r);
        if (strcmp(name, "no-minimum") == 0)
                be_without_minimum(r);
}

struct page *report_example_make(const char *name)
{
        struct example *e = NULL;
        for (size_t i = 0; report_example_names[i] != NULL; i++)
                if (strcmp(name, report_example_names[i]) == 0)
                        e = calloc(1, sizeof *e);
        if (e == NULL)
                return NULL;
        e->design = *find_design(name);
        if (strcmp(name, "human") == 0) {
                e->design.length = 2.9e9;
                e->design.coverage = 20;
                e->design.nrows = 120;
                e->design.nsequences = PAGE_MAX_SEQUENCES;
        }
        if (strcmp(name, "large") == 0) { /* as many rows, sequences and bins as there may be */
                e->design.coverage = 166;
                e->design.bias = 20;
                e->design.length = 1e9;
                e->design.nrows = PAGE_MAX_ROWS;
                e->design.nsequences = PAGE_MAX_SEQUENCES;
        }
        fill(e, name);
        adapt(e, name);
        return &e->report;
}

void report_example_free(struct page *r)
{
        struct example *e = (struct example *)r; /* its first member */
        if (e != NULL)
                page_genome_free(&e->genome);
        free(e);
}
