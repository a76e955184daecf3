#include "app/report/page/page_flags.h"
#include "tests/app/report_example_internal.h"

#include <math.h>
#include <stdio.h>

/* Percentages of each part. */
struct fates {
        double copies[PAGE_NPARTS][4]; /* missing, once, twice, more */
};

static const struct fates one_haplotype = {
        { { 52.4, 46.7, 0.9, 0 }, { 2.1, 96.5, 1.4, 0 }, { 14.2, 40.7, 35.7, 9.4 } },
};
static const struct fates other_haplotype = {
        { { 49.1, 50.2, 0.7, 0 }, { 0.7, 98.5, 0.8, 0 }, { 9.3, 44.2, 38.1, 8.4 } },
};
static const struct fates both_haplotypes = {
        { { 1.5, 96.9, 1.6, 0 }, { 0.3, 2.2, 95.4, 2.1 }, { 4.1, 8.8, 21.2, 65.9 } },
};
/* In neither, in the first, in the second, in both */
static const double holder_percent[PAGE_NPARTS][PAGE_NHOLDERS] = { { 1.5, 47.4, 49.9, 1.2 },
                                                                   { 0.3, 0.4, 1.8, 97.5 },
                                                                   { 4.1, 5.2, 10.1, 80.6 } };

struct page_qv example_make_qv(double nonly, double nkmers, int k)
{
        struct page_qv qv = { .nonly = nonly, .nkmers = nkmers, .is_bound = nonly <= 0 };
        const double n = qv.is_bound ? fmin(3.0 * k, nkmers / 2) : nonly;
        if (nkmers <= 0)
                return qv;
        qv.error = 1 - pow(1 - n / nkmers, 1.0 / k);
        qv.qv.value = -10 * log10(qv.error);
        qv.qv.low = qv.qv.value - (qv.is_bound ? 0 : 8 / sqrt(n / k + 1));
        qv.qv.high = qv.qv.value + 9 / sqrt(n / k + 1);
        return qv;
}

/* ---- k-mers ---- */

/* The first column of a row takes what the parts leave over: errors. */
static void take_rest(uint64_t *row, size_t ncolumns, uint64_t nkmers)
{
        uint64_t sum = 0;
        for (size_t i = 0; i < ncolumns; i++)
                sum += row[i];
        if (sum < nkmers)
                row[0] += nkmers - sum;
}

static void fill_parts(const struct example *e, struct page_copies *c, const struct fates *fates)
{
        c->has_parts = true;
        for (int part = 0; part < PAGE_NPARTS; part++) {
                struct page_part *p = &c->parts[part];
                for (size_t i = 0; i < e->design.nrows; i++)
                        p->nkmers += e->parts[part][i];
                p->nkmers = round(p->nkmers);
                p->missing_percent = fates->copies[part][0];
                p->once_percent = fates->copies[part][1];
                p->twice_percent = fates->copies[part][2];
                p->more_percent = fates->copies[part][3];
        }
}

static void fill_copies(struct example *e, size_t which, struct page_copies *c,
                        const struct fates *fates)
{
        uint64_t(*rows)[PAGE_NCOPIES] = e->copies[which];
        for (size_t i = 0; i < e->design.nrows; i++) {
                for (int part = 0; part < PAGE_NPARTS; part++)
                        for (int fate = 0; fate < 4; fate++)
                                rows[i][fate] += (uint64_t)(e->parts[part][i] *
                                                            fates->copies[part][fate] / 100);
                take_rest(rows[i], PAGE_NCOPIES, e->kmers[i]);
        }
        *c = (struct page_copies){ .kmers = (const uint64_t(*)[PAGE_NCOPIES])rows,
                                   .beyond = { 16000, 0, 138, 0, 0, 10129 },
                                   .only = { 3045 } };
        fill_parts(e, c, fates);
}

static void fill_holders(struct example *e)
{
        for (size_t i = 0; i < e->design.nrows; i++) {
                for (int part = 0; part < PAGE_NPARTS; part++)
                        for (int holder = 0; holder < PAGE_NHOLDERS; holder++)
                                e->holders[i][holder] +=
                                        (uint64_t)(e->parts[part][i] *
                                                   holder_percent[part][holder] / 100);
                take_rest(e->holders[i], PAGE_NHOLDERS, e->kmers[i]);
        }
        e->report.holders =
                (struct page_holders){ .kmers = (const uint64_t(*)[PAGE_NHOLDERS])e->holders,
                                       .beyond = { 16000, 30, 64, 10173 },
                                       .only = { 1630, 1405, 10 } };
}

/* ---- quality, completeness ---- */

static struct page_quality make_quality(const struct example *e, double nonly, double nkmers)
{
        return (struct page_quality){
                .raw = example_make_qv(nonly, nkmers, e->design.k),
                .has_adjusted = true,
                .adjusted = example_make_qv(1.034 * nonly, nkmers, e->design.k),
                .unseen = 15.4,
                .chance = 0.038,
        };
}

static struct page_completeness make_completeness(uint64_t nfound)
{
        const double percent = 100 * (double)nfound / 3412892;
        return (struct page_completeness){
                .threshold = 4,
                .nsolid = 3412892,
                .nfound = nfound,
                .percent = { percent, percent - 0.625, percent + 0.212 },
                .low_threshold = 3,
                .high_threshold = 5,
                .weighted_percent = fmin(percent + 3.372, 99.9),
                .first_minimum = { 5, 3398855, nfound - 4224, percent + 0.212, percent + 3.5 },
        };
}

static void fill_comparison(struct example *e, struct page_comparison *c, double nonly,
                            double nkmers, uint64_t nfound)
{
        c->quality = make_quality(e, nonly, nkmers);
        c->completeness = make_completeness(nfound);
}

/* ---- sequences ---- */

static void fill_bins(struct example *e, struct page_sequence *s, size_t i)
{
        const double full = e->design.coverage * e->design.ploidy;
        const size_t most = e->design.nsequences * PAGE_MAX_BINS > PAGE_MAX_ALL_BINS
                                    ? PAGE_MAX_ALL_BINS / e->design.nsequences
                                    : PAGE_MAX_BINS;
        s->nbins = (size_t)(s->length / e->report.step + 1);
        if (s->nbins > most || e->design.nrows == PAGE_MAX_ROWS)
                s->nbins = most;
        for (size_t b = 0; b < s->nbins; b++) {
                const bool doubled = (i == 1 && b > 20 && b < 32) || i == 12;
                e->bins[i][b][0] = s->qv.nonly > 0 && example_draw(e) > (i == 5 ? -0.3 : 0.75)
                                           ? (uint32_t)(20 + 20 * example_draw(e))
                                           : 0;
                e->bins[i][b][1] = doubled ? 90 : 0;
                e->bins[i][b][2] = (uint32_t)((i == 13 ? 1.8 : 1) * full + 2 * example_draw(e));
        }
        s->bins = (const uint32_t(*)[PAGE_NBIN_VALUES])e->bins[i];
}

static void fill_sequence(struct example *e, size_t i)
{
        struct page_sequence *s = &e->sequences[i];
        const bool few = e->design.nsequences < 100;
        snprintf(e->names[i], sizeof e->names[i], "contig_%02zu", i + 1);
        s->name = e->names[i];
        s->assembly = (int)i % e->report.nassemblies;
        s->length = few ? (uint64_t)(380000 / (1 + 0.12 * (double)i))
                        : (uint64_t)(125e6 * exp(-(double)i / 45));
        s->gc_percent = i == 13 ? 60.2 : 40 + example_draw(e);
        s->median = round((i == 13 ? 1.8 : 1) * e->design.coverage * e->design.ploidy);
        s->extra_percent = i == 12 ? 99.2 : i == 1 ? 14.4 : 0.3 + 0.3 * example_draw(e);
        s->qv = example_make_qv(i == 5       ? 1434
                                : i % 7 == 3 ? 0
                                             : round(110 + 90 * example_draw(e)),
                                (double)s->length - e->design.k + 1, e->design.k);
        s->flags = page_find_flags(&e->report, s);
        fill_bins(e, s, i);
}

/* ---- all of it ---- */

static void fill_two(struct example *e)
{
        struct page *r = &e->report;
        struct page_comparison *first = &r->assemblies[0].comparison;
        struct page_comparison *second = &r->assemblies[1].comparison;
        r->assemblies[0].name = "maternal";
        r->assemblies[0].file = "maternal.fa.gz";
        r->assemblies[1] = (struct page_assembly){ .name = "paternal",
                                                   .file = "paternal.fa.gz",
                                                   .nsequences = e->design.nsequences / 2,
                                                   .nbases = 3021554,
                                                   .nkmers = 3021274,
                                                   .ndistinct = 2779009 };
        r->assemblies[0].nsequences -= r->assemblies[1].nsequences;
        fill_copies(e, 0, &r->all.copies, &both_haplotypes);
        fill_copies(e, 1, &first->copies, &one_haplotype);
        fill_copies(e, 2, &second->copies, &other_haplotype);
        fill_comparison(e, &r->all, 6117, 6051002, 3379420);
        fill_comparison(e, first, 3045, 3029728, 2782114);
        fill_comparison(e, second, 3072, 3021274, 2798342);
        fill_holders(e);
}

void example_fill_assemblies(struct example *e)
{
        struct page *r = &e->report;
        r->step = e->design.nsequences < 100 ? 4000 : 1300000;
        r->assemblies[0] = (struct page_assembly){
                .name = "assembly",
                .file = "assembly.fa",
                .sha256 = "5037f84618f26c868bad301902bea4c9a4be809071a7cc18a23876cb9019fa08",
                .nsequences = e->design.nsequences,
                .nbases = 3030008,
                .nkmers = 3029728,
                .ndistinct = 2787483,
        };
        if (r->nassemblies > 1) {
                fill_two(e);
        } else {
                fill_copies(e, 0, &r->all.copies, &one_haplotype);
                fill_comparison(e, &r->all, 3045, 3029728, 2782114);
        }
        for (size_t i = 0; i < e->design.nsequences; i++)
                fill_sequence(e, i);
        r->sequences = e->sequences;
        r->nsequences = e->design.nsequences;
}
