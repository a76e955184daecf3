/* What a report warns about, and from which value on. */
#include "app/report/page/caveats.h"
#include "app/report/page/figures.h"
#include "app/report/page/page_flags.h"
#include "app/report/page/parts.h"
#include "tests/app/report_example.h"

#include "app/model/least_squares.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* How many caveats contain these words. */
static size_t count(const struct page *page, const char *words)
{
        struct page_caveat caveats[PAGE_MAX_CAVEATS];
        const size_t n = page_find_caveats(page, caveats);
        size_t nfound = 0;
        for (size_t i = 0; i < n; i++)
                nfound += strstr(caveats[i].text, words) != NULL;
        return nfound;
}

/* The level of the caveat of this name; PAGE_GOOD: there is none. */
static enum page_level find(const struct page *page, const char *name)
{
        struct page_caveat caveats[PAGE_MAX_CAVEATS];
        const size_t n = page_find_caveats(page, caveats);
        enum page_level level = PAGE_GOOD;
        for (size_t i = 0; i < n; i++)
                if (strcmp(caveats[i].name, name) == 0 && caveats[i].level > level)
                        level = caveats[i].level;
        return level;
}

static void test_coverage(void **state)
{
        struct page *page = report_example_make("alone");
        (void)state;
        page->verdict.coverage.value = 15;
        assert_int_equal(page_level_coverage(page), PAGE_GOOD);
        assert_int_equal(count(page, "is covered only"), 0);
        page->verdict.coverage.value = 14.9;
        assert_int_equal(page_level_coverage(page), PAGE_CHECK);
        assert_int_equal(count(page, "is covered only 14.9 times"), 1);
        assert_int_equal(count(page, "heterozygosity is uncertain"), 1);
        page->model.ploidy = 1;
        assert_int_equal(count(page, "heterozygosity is uncertain"), 0);
        assert_int_equal(count(page, "overlap: the ploidy may be wrong."), 1);
        report_example_free(page);
}

static void test_errors(void **state)
{
        struct page *page = report_example_make("alone");
        (void)state;
        page->verdict.error_rate.value = 0.0099;
        assert_int_equal(page_level_errors(page), PAGE_GOOD);
        assert_int_equal(count(page, "of the bases are wrong"), 0);
        page->verdict.error_rate.value = 0.01;
        assert_int_equal(page_level_errors(page), PAGE_CHECK);
        assert_int_equal(count(page, "1.0 % of the bases are wrong"), 1);
        report_example_free(page);
}

static void test_size(void **state)
{
        struct page *page = report_example_make("alone");
        (void)state;
        assert_int_equal(page_level_size(page), PAGE_CHECK);
        assert_int_equal(count(page, "Group "), page->gc.ngroups);
        page->gc.ngroups = 0;
        assert_int_equal(page_level_size(page), PAGE_GOOD);
        page->small_k = true;
        assert_int_equal(page_level_size(page), PAGE_CHECK);
        assert_int_equal(count(page, "is small for this genome"), 1);
        report_example_free(page);
}

static void test_ploidy(void **state)
{
        struct page *page = report_example_make("alone");
        (void)state;
        assert_int_equal(page_level_ploidy(page), PAGE_CHECK);
        assert_int_equal(count(page, "fit a tetraploid genome about as well as a diploid"), 1);
        page->model.runner_up = 0;
        assert_int_equal(page_level_ploidy(page), PAGE_GOOD);
        assert_int_equal(count(page, "about as well as"), 0);
        report_example_free(page);
}

static void test_assembly(void **state)
{
        static const struct {
                double qv, missing, twice;
                enum page_level level;
        } cases[] = { { 40, 1, 1, PAGE_GOOD },      { 39.9, 1, 1, PAGE_CHECK },
                      { 30, 1, 1, PAGE_CHECK },     { 29.9, 1, 1, PAGE_PROBLEM },
                      { 50, 1.1, 0, PAGE_CHECK },   { 50, 5, 5, PAGE_CHECK },
                      { 50, 5.1, 0, PAGE_PROBLEM }, { 50, 0, 5.1, PAGE_PROBLEM } };
        struct page *page = report_example_make("diploid");
        (void)state;
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                page->all.quality.raw.qv.value = cases[i].qv;
                page->all.copies.parts[1].missing_percent = cases[i].missing;
                page->all.copies.parts[1].twice_percent = cases[i].twice;
                assert_int_equal(page_level_assembly(page), cases[i].level);
                assert_int_equal(count(page, "about one wrong base in"), cases[i].qv < 40);
                assert_int_equal(count(page, "The assembly lacks"), cases[i].missing > 1);
                assert_int_equal(count(page, "The assembly holds"), cases[i].twice > 0.5);
        }
        report_example_free(page);
}

/* Each flag begins just beyond its limit, and what is not known gives none. */
static void test_flags(void **state)
{
        struct page *page = report_example_make("two");
        struct page_sequence plain = page->sequences[0], s;
        const struct page_qv *whole = &page->assemblies[1].comparison.quality.raw;
        const double depth = page->depth, main_gc = 100 * page->gc.main_gc;
        (void)state;
        plain.assembly = 1;
        plain.gc_percent = main_gc;
        plain.median = depth;
        plain.extra_percent = 5;
        plain.qv.qv.high = whole->qv.value - 3;
        assert_int_equal(page_find_flags(page, &plain), 0);
        s = plain;
        s.qv.qv.high -= 0.01;
        assert_int_equal(page_find_flags(page, &s), PAGE_LOW_QV);
        s.qv.is_bound = true;
        assert_int_equal(page_find_flags(page, &s), 0);
        s = plain;
        s.extra_percent = 5.01;
        assert_int_equal(page_find_flags(page, &s), PAGE_PART_DOUBLED);
        s.extra_percent = 50;
        assert_int_equal(page_find_flags(page, &s), PAGE_PART_DOUBLED);
        s.extra_percent = 50.01;
        assert_int_equal(page_find_flags(page, &s), PAGE_SECOND_COPY);
        s = plain;
        s.gc_percent = main_gc - 10.01;
        assert_int_equal(page_find_flags(page, &s), 0);
        s.median = 1.51 * depth;
        assert_int_equal(page_find_flags(page, &s), PAGE_UNLIKE_GENOME);
        s.median = 0.66 * depth;
        assert_int_equal(page_find_flags(page, &s), PAGE_UNLIKE_GENOME);
        s.gc_percent = main_gc - 9.99;
        assert_int_equal(page_find_flags(page, &s), 0);
        report_example_free(page);
}

static void test_no_flags(void **state)
{
        struct page *page = report_example_make("two");
        struct page_sequence s = page->sequences[0];
        (void)state;
        s.assembly = 0;
        s.gc_percent = 90;
        s.median = 0;
        s.extra_percent = 0;
        s.qv = (struct page_qv){ .nonly = 9, .nkmers = 10, .qv = { 1, 0, 2 } };
        assert_int_equal(page_find_flags(page, &s), PAGE_LOW_QV | PAGE_UNLIKE_GENOME);
        page->assemblies[0].comparison.quality.refusal = PAGE_FILTERED;
        assert_int_equal(page_find_flags(page, &s), PAGE_UNLIKE_GENOME);
        s.gc_percent = -1;
        assert_int_equal(page_find_flags(page, &s), 0);
        s.gc_percent = 90;
        page->gc.main_gc = 0;
        assert_int_equal(page_find_flags(page, &s), 0);
        page->gc.main_gc = 0.4;
        page->depth = 0;
        assert_int_equal(page_find_flags(page, &s), 0);
        page->depth = 20;
        assert_int_equal(page_find_flags(page, &s), PAGE_UNLIKE_GENOME);
        page->assemblies[0].comparison.quality.refusal = PAGE_ARE_READS;
        assert_int_equal(page_find_flags(page, &s), 0);
        page->assemblies[0].comparison.quality.refusal = PAGE_GIVEN;
        s.qv.nkmers = 0;
        assert_int_equal(page_find_flags(page, &s), 0);
        report_example_free(page);
}

/* Each refusal has a sentence, of its own. */
static void test_refusals(void **state)
{
        char texts[PAGE_NO_KMERS + 1][512];
        struct page *page = report_example_make("diploid");
        (void)state;
        for (int i = PAGE_GIVEN; i <= PAGE_NO_KMERS; i++) {
                page_say_refusal(page, (enum page_refusal)i, texts[i], sizeof texts[i]);
                assert_int_equal(strlen(texts[i]) > 40, i != PAGE_GIVEN);
                for (int j = PAGE_GIVEN; j < i; j++)
                        assert_string_not_equal(texts[i], texts[j]);
        }
        report_example_free(page);
}

/* Each assembly is judged alone; what comes from the reads is said once. */
static void test_two_assemblies(void **state)
{
        struct page *page = report_example_make("two");
        struct page_comparison *first = &page->assemblies[0].comparison;
        struct page_comparison *second = &page->assemblies[1].comparison;
        (void)state;
        first->copies.parts[1].missing_percent = first->copies.parts[1].twice_percent = 0;
        assert_int_equal(find(page, "sequence_missing"), PAGE_GOOD);
        second->copies.parts[1].missing_percent = 5.1;
        assert_int_equal(count(page, "paternal lacks 5.1 % of the sequence that all"), 1);
        assert_int_equal(find(page, "sequence_missing"), PAGE_PROBLEM);
        assert_int_equal(page_level_assembly(page), PAGE_PROBLEM);
        second->copies.parts[1].missing_percent = 0;
        page->all.copies.parts[1].twice_percent = 100; /* as it should be */
        assert_int_equal(page_level_assembly(page), PAGE_CHECK);
        page->all.copies.parts[0].missing_percent = 1;
        assert_int_equal(page_level_assembly(page), PAGE_GOOD);
        assert_int_equal(find(page, "haplotype_missing"), PAGE_GOOD);
        page->all.copies.parts[0].missing_percent = 1.1;
        assert_int_equal(page_level_assembly(page), PAGE_CHECK);
        assert_int_equal(find(page, "haplotype_missing"), PAGE_CHECK);
        second->quality.raw.qv.value = 29;
        assert_int_equal(count(page, "paternal has about one wrong base in"), 1);
        page->all.quality.refusal = second->quality.refusal = PAGE_ARE_READS;
        assert_int_equal(count(page, "There is no QV of paternal."), 1);
        assert_int_equal(find(page, "larger_than_genome"), PAGE_PROBLEM);
        page->all.quality.refusal = first->quality.refusal = PAGE_CAPPED;
        second->quality.refusal = PAGE_CAPPED;
        assert_int_equal(count(page, "There is no QV. "), 1);
        assert_int_equal(find(page, "reads_filtered"), PAGE_PROBLEM);
        report_example_free(page);
}

/* What is wrong with the reads, without an assembly. */
static void test_reads(void **state)
{
        struct page *page = report_example_make("alone");
        (void)state;
        page->gc.ngroups = 0;
        assert_int_equal(page_level_size(page), PAGE_GOOD);
        page->reads.max_count = 1000;
        assert_int_equal(page_level_size(page), PAGE_CHECK);
        assert_int_equal(find(page, "reads_filtered"), PAGE_CHECK);
        assert_int_equal(count(page, "K-mers with counts over 1,000"), 1);
        page->reads.max_count = 0;
        assert_int_equal(find(page, "low_quality_left_out"), PAGE_GOOD);
        page->reads.nbases = 1000;
        page->reads.nlow_quality = 24;
        assert_int_equal(find(page, "low_quality_left_out"), PAGE_CHECK);
        assert_int_equal(count(page, "2.4 % of the bases were left out"), 1);
        assert_int_equal(count(page, "its QV is too low"), 0);
        page->reads.removed = true;
        assert_int_equal(page_level_size(page), PAGE_CHECK);
        assert_int_equal(find(page, "reads_filtered"), PAGE_CHECK);
        page->reads.compressed = true;
        assert_int_equal(find(page, "homopolymers_compressed"), PAGE_CHECK);
        page->small_k = true;
        assert_int_equal(count(page, "Use a larger k."), 1);
        page->least_k = 19;
        assert_int_equal(count(page, "Use k = 19 or more."), 1);
        page->solid = PAGE_ALL_SOLID; /* of an assembly */
        assert_int_equal(find(page, "no_minimum"), PAGE_GOOD);
        assert_int_equal(find(page, "nothing_solid"), PAGE_GOOD);
        report_example_free(page);
}

static void test_model(void **state)
{
        struct page *page = report_example_make("alone");
        (void)state;
        assert_int_equal(page_level_heterozygosity(page), PAGE_GOOD);
        page->model.uncertain = true;
        assert_int_equal(find(page, "numbers_uncertain"), PAGE_CHECK);
        assert_int_equal(page_level_heterozygosity(page), PAGE_CHECK);
        page->model.too_heterozygous = page->model.undetermined = true;
        assert_int_equal(find(page, "too_heterozygous"), PAGE_CHECK);
        assert_int_equal(find(page, "model_undetermined"), PAGE_CHECK);
        page->model.fits = false;
        assert_int_equal(find(page, "numbers_uncertain"), PAGE_GOOD);
        assert_int_equal(find(page, "poor_fit"), PAGE_PROBLEM);
        report_example_free(page);
}

static void test_completeness(void **state)
{
        struct page *none = report_example_make("no-solid");
        struct page *all = report_example_make("no-minimum");
        struct page *counted = report_example_make("counted");
        (void)state;
        assert_int_equal(find(none, "nothing_solid"), PAGE_PROBLEM);
        assert_int_equal(count(none, "has a count of 1,000,000 or more"), 1);
        assert_int_equal(find(all, "no_minimum"), PAGE_CHECK);
        assert_int_equal(find(all, "no_model"), PAGE_PROBLEM);
        assert_int_equal(find(counted, "assembly_counted"), PAGE_CHECK);
        report_example_free(none);
        report_example_free(all);
        report_example_free(counted);
}

/* The first sequence with a flag has a name, and the others are counted. */
static void test_flagged_sequences(void **state)
{
        static struct page_sequence sequences[PAGE_MAX_SEQUENCES];
        struct page *page = report_example_make("diploid");
        (void)state;
        for (size_t i = 0; i < PAGE_MAX_SEQUENCES; i++) {
                sequences[i] = page->sequences[12];
                sequences[i].flags = i < 3 ? PAGE_SECOND_COPY : 0;
        }
        page->sequences = sequences;
        page->nsequences = PAGE_MAX_SEQUENCES;
        assert_int_equal(count(page, "contig_13 and 2 others are second copies"), 1);
        for (size_t i = 0; i < PAGE_MAX_SEQUENCES; i++)
                sequences[i].flags = PAGE_PART_DOUBLED;
        assert_int_equal(count(page, "contig_13 and 199 others have parts"), 1);
        page->nsequences = 2;
        assert_int_equal(count(page, "contig_13 and 1 other have parts"), 1);
        report_example_free(page);
}

/* A long name is cut, and the rest of the caveats stay. */
static void test_long_names(void **state)
{
        char name[5000];
        struct page *page = report_example_make("diploid");
        struct page_sequence sequence = page->sequences[12];
        (void)state;
        memset(name, 'x', sizeof name - 1);
        name[sizeof name - 1] = '\0';
        sequence.name = name;
        sequence.flags = PAGE_SECOND_COPY | PAGE_LOW_QV | PAGE_UNLIKE_GENOME;
        page->sequences = &sequence;
        page->nsequences = 1;
        assert_int_equal(count(page, " is a second copy of sequence that the genome has once."), 1);
        assert_int_equal(count(page, "correct or check it first."), 1);
        assert_int_equal(count(page, "it may be a contaminant or an organelle."), 1);
        for (size_t i = 0; i < 300; i += 3)
                memcpy(name + i, "\u20ac", 3);
        assert_int_equal(count(page, "\u20ac is a second copy of sequence"), 1);
        report_example_free(page);
}

/* Names are cut between characters; a byte that is no UTF-8 counts as one. */
static void test_name_lengths(void **state)
{
        (void)state;
        assert_int_equal(figure_name_length("", 5), 0);
        assert_int_equal(figure_name_length("abc", 3), 3);
        assert_int_equal(figure_name_length("abc", 2), 2);
        assert_int_equal(figure_name_length("a\u20ac", 3), 1);
        assert_int_equal(figure_name_length("a\u20ac", 4), 4);
        assert_int_equal(figure_name_length("\xff\xe2\x82z", 3), 3);
}

static void test_figures(void **state)
{
        (void)state;
        assert_string_equal(figure_count(0).text, "0");
        assert_string_equal(figure_count(999).text, "999");
        assert_string_equal(figure_count(1000).text, "1,000");
        assert_string_equal(figure_count(18446744073709550000.0).text,
                            "18,446,744,073,709,549,568");
        const struct page_qv few = { .qv = { 44, 28.94, 373.5 } }, some = { .qv = { 44, 41, 99 } };
        const struct page_qv none = { .is_bound = true, .qv = { 0, 48.5, 0 } };
        assert_string_equal(figure_qv_interval(&few, 1).text, "28.9 or more");
        assert_string_equal(figure_qv_interval(&some, 0).text, "41 to 99");
        assert_string_equal(figure_qv_interval(&none, 1).text, "at least 48.5");
        assert_string_equal(figure_bases(0).text, "0 bp");
        assert_string_equal(figure_bases(999).text, "999 bp");
        assert_string_equal(figure_bases(999.6).text, "1.00 kb");
        assert_string_equal(figure_bases(9.996e6).text, "10.0 Mb");
        assert_string_equal(figure_bases(3.0547e9).text, "3.05 Gb");
        assert_string_equal(figure_bases_range((struct page_range){ 3e6, 2.97e6, 3.03e6 }).text,
                            "2.97 to 3.03 Mb");
        assert_string_equal(figure_about(0).text, "0");
        assert_string_equal(figure_about(99.32).text, "99");
        assert_string_equal(figure_about(20885).text, "21,000");
        assert_string_equal(figure_percent(0.0101, 2).text, "1.01 %");
}

/* What is filled from a model adds up. */
static void test_fill_genome(void **state)
{
        struct page *page = report_example_make("fitted");
        const struct page_model *m = &page->model;
        uint64_t by_gc = 0, distinct = page->spectrum.beyond;
        double errors = 0;
        (void)state;
        if (!least_squares_exist()) {
                assert_int_equal(m->refusal, PAGE_NO_LIBRARY);
                report_example_free(page);
                skip();
        }
        assert_int_equal(m->ploidy, 2);
        assert_true(page_has_verdict(page));
        assert_int_equal(page->spectrum.n, 72); /* the last fitted count */
        for (size_t i = 0; i < page->spectrum.n; i++) {
                const double y = (double)page->spectrum.kmers[i];
                const double f = m->heterozygous[i] + m->homozygous[i] + m->repeated[i];
                assert_true(fabs(f - page->candidates[0].curve[i]) < 1e-6 * (f + 1));
                if (m->errors[i] > 0)
                        assert_true(fabs(m->errors[i] - (y - f)) < 1e-6 * (y + 1));
                distinct += page->spectrum.kmers[i];
                errors += (double)(i + 1) * m->errors[i];
        }
        const double rate = 1 - pow(1 - errors / (double)page->spectrum.total, 1.0 / page->k);
        assert_true(fabs(rate - page->verdict.error_rate.value) < 1e-9);
        assert_int_equal(distinct, page->spectrum.distinct);
        assert_true(m->errors[0] > 0 && m->errors[40] <= 0);
        for (size_t i = 0; i < (size_t)(page->k + 1) * page->gc.ncolumns; i++)
                by_gc += page->gc.kmers[i];
        assert_int_equal(by_gc, 7002000);
        assert_int_equal(page->gc.kmers[8 * page->gc.ncolumns], 7000000);
        assert_int_equal(page->gc.kmers[9 * page->gc.ncolumns + 22], 2000);
        report_example_free(page);
}

/* Many counts share rows, and no k-mer is lost. */
static void test_deep_reads(void **state)
{
        struct page *page = report_example_make("deep");
        const struct page_spectrum *s = &page->spectrum;
        uint64_t distinct = s->beyond;
        double highest = 0;
        size_t top = 0;
        (void)state;
        if (!least_squares_exist()) {
                report_example_free(page);
                skip();
        }
        assert_true(s->n <= PAGE_MAX_ROWS && s->width > 1);
        assert_true(s->n * s->width >= 6000);
        for (size_t i = 0; i < s->n; i++) {
                distinct += s->kmers[i];
                if (page->model.homozygous[i] > highest) {
                        highest = page->model.homozygous[i];
                        top = i;
                }
        }
        assert_int_equal(distinct, s->distinct);
        assert_int_equal(page->model.ploidy, 1);
        assert_true(fabs(((double)top + 0.5) * (double)s->width - 2000) < 20);
        assert_true(fabs(highest / (double)s->kmers[top] - 1) < 0.1);
        report_example_free(page);
}

/* The parts that the copies were made of are found again, although the peaks overlap. */
static void test_parts(void **state)
{
        static const struct {
                const char *name;
                int assembly; /* -1: all */
        } cases[] = {
                { "diploid", -1 }, { "tetraploid", -1 }, { "two", -1 }, { "two", 0 }, { "two", 1 }
        };
        (void)state;
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                struct page *page = report_example_make(cases[i].name);
                struct page_copies *c =
                        cases[i].assembly < 0
                                ? &page->all.copies
                                : &page->assemblies[cases[i].assembly].comparison.copies;
                struct page_part made[PAGE_NPARTS];
                memcpy(made, c->parts, sizeof made);
                memset(c->beyond, 0, sizeof c->beyond);
                memset(c->parts, 0, sizeof c->parts);
                page_find_parts(page);
                assert_true(c->has_parts);
                for (int part = 0; part < PAGE_NPARTS; part++) {
                        const struct page_part *found = &c->parts[part];
                        const double near = part == 2 ? 2.5 : 0.4; /* few are repeated */
                        assert_true(fabs(found->missing_percent - made[part].missing_percent) <
                                    near);
                        assert_true(fabs(found->once_percent - made[part].once_percent) < near);
                        assert_true(fabs(found->twice_percent - made[part].twice_percent) < near);
                        assert_true(fabs(found->more_percent - made[part].more_percent) < near);
                }
                report_example_free(page);
        }
}

/* A k-mer with a count beyond the rows is repeated. */
static void test_parts_beyond(void **state)
{
        struct page *page = report_example_make("diploid");
        struct page_copies *c = &page->all.copies;
        (void)state;
        memset(c->beyond, 0, sizeof c->beyond);
        page_find_parts(page);
        const double before = c->parts[2].nkmers;
        c->beyond[4] = 1000000000;
        page_find_parts(page);
        assert_true(fabs(c->parts[2].nkmers - before - 1e9) < 1);
        assert_true(c->parts[2].more_percent > 99);
        page->model.fits = false;
        page_find_parts(page);
        assert_false(c->has_parts);
        report_example_free(page);
}

static void test_thresholds(void **state)
{
        struct page *page = report_example_make("diploid");
        const struct page_model *m = &page->model;
        (void)state;
        for (int tenth = 1; tenth <= 9; tenth++) {
                const size_t i = page_find_threshold(page, 0.1 * tenth) - 1;
                for (size_t j = 0; j <= i; j++) {
                        const double f = m->heterozygous[j] + m->homozygous[j] + m->repeated[j];
                        const double y = fmax(f, (double)page->spectrum.kmers[j]);
                        assert_int_equal(f >= 0.1 * tenth * y, j == i);
                }
        }
        report_example_free(page);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_coverage),     cmocka_unit_test(test_errors),
                cmocka_unit_test(test_size),         cmocka_unit_test(test_ploidy),
                cmocka_unit_test(test_assembly),     cmocka_unit_test(test_refusals),
                cmocka_unit_test(test_figures),      cmocka_unit_test(test_long_names),
                cmocka_unit_test(test_fill_genome),  cmocka_unit_test(test_deep_reads),
                cmocka_unit_test(test_parts),        cmocka_unit_test(test_parts_beyond),
                cmocka_unit_test(test_thresholds),   cmocka_unit_test(test_flags),
                cmocka_unit_test(test_no_flags),     cmocka_unit_test(test_two_assemblies),
                cmocka_unit_test(test_reads),        cmocka_unit_test(test_model),
                cmocka_unit_test(test_completeness), cmocka_unit_test(test_flagged_sequences),
                cmocka_unit_test(test_name_lengths),
        };
        const int nfailed = cmocka_run_group_tests(tests, NULL, NULL);
        return nfailed == 0 && !least_squares_exist() ? 77 : nfailed; /* 77: some were skipped */
}
