/*
 * What the JSON of a page has about assemblies.
 */
#include "app/report/page/page_flags.h"
#include "app/report/page/page_json_internal.h"

/* ---- distinct k-mers, by their counts in the reads ---- */

static void put_parts(struct json *json, const struct page_copies *copies)
{
        static const char *const names[PAGE_NPARTS] = { "heterozygous", "homozygous", "repeated" };
        json_begin(json, "classes", '[');
        for (int i = 0; copies->has_parts && i < PAGE_NPARTS; i++) {
                const struct page_part *part = &copies->parts[i];
                json_begin(json, NULL, '{');
                json_string(json, "name", names[i]);
                json_figures(json, "kmers", part->nkmers, EXACT);
                json_figures(json, "missing", part->missing_percent, EXACT);
                json_figures(json, "once", part->once_percent, EXACT);
                json_figures(json, "twice", part->twice_percent, EXACT);
                json_figures(json, "more", part->more_percent, EXACT);
                json_end(json, '}');
        }
        json_end(json, ']');
}

/* K-mers of each row, by column; the first column is of k-mers that only the reads have.
 *   rows  [page->spectrum.n][ncolumns] */
static void put_spectrum(struct json *json, const struct page *page, const char *const *columns,
                         size_t ncolumns, const uint64_t *rows, const uint64_t *beyond,
                         const uint64_t *only)
{
        json_strings(json, "columns", columns, ncolumns);
        json_begin(json, "kmers", '[');
        for (size_t i = 0; i < page->spectrum.n; i++)
                json_numbers(json, NULL, rows + i * ncolumns, ncolumns);
        json_end(json, ']');
        json_numbers(json, "beyond", beyond, ncolumns);
        json_numbers(json, "assembly_only", only, ncolumns - 1);
}

static void put_copies(struct json *json, const struct page *page, const struct page_copies *copies)
{
        static const char *const columns[PAGE_NCOPIES] = { "missing", "once", "twice",
                                                           "three",   "four", "more" };
        json_begin(json, "copy_number", '{');
        put_spectrum(json, page, columns, PAGE_NCOPIES, copies->kmers[0], copies->beyond,
                     copies->only);
        put_parts(json, copies);
        json_end(json, '}');
}

static void put_holders(struct json *json, const struct page *page)
{
        const struct page_holders *holders = &page->holders;
        const char *const columns[PAGE_NHOLDERS] = { "missing", page->assemblies[0].name,
                                                     page->assemblies[1].name, "shared" };
        json_begin(json, "holders", '{');
        put_spectrum(json, page, columns, PAGE_NHOLDERS, holders->kmers[0], holders->beyond,
                     holders->only);
        json_end(json, '}');
}

/* ---- quality, completeness ---- */

static void put_qv_members(struct json *json, const struct page_qv *qv, int ndigits)
{
        json_figures(json, "assembly_only", qv->nonly, EXACT);
        json_figures(json, "kmers", qv->nkmers, EXACT);
        page_json_figures(json, "value", !qv->is_bound, qv->qv.value, ndigits);
        json_figures(json, "low", qv->qv.low, ndigits);
        page_json_figures(json, "high", page_qv_has_high(qv), qv->qv.high, ndigits);
        json_figures(json, "error", qv->error, ndigits);
}

static void put_quality(struct json *json, const struct page_quality *q)
{
        if (q->refusal != PAGE_GIVEN) {
                json_null(json, "qv");
                return;
        }
        json_begin(json, "qv", '{');
        put_qv_members(json, &q->raw, EXACT);
        if (q->has_adjusted) {
                json_begin(json, "adjusted", '{');
                put_qv_members(json, &q->adjusted, EXACT);
                json_figures(json, "unseen", q->unseen, EXACT);
                json_figures(json, "chance", q->chance, EXACT);
                json_end(json, '}');
        } else {
                json_null(json, "adjusted");
        }
        json_end(json, '}');
}

static void put_completeness(struct json *json, const struct page_completeness *c,
                             enum page_solid solid)
{
        static const char *const words[] = { [PAGE_BY_MODEL] = "model",
                                             [PAGE_BY_MINIMUM] = "first minimum",
                                             [PAGE_BY_USER] = "user",
                                             [PAGE_ALL_SOLID] = "none" };
        const bool is_known = c->nsolid > 0;
        json_begin(json, "completeness", '{');
        json_number(json, "threshold", c->threshold);
        json_string(json, "threshold_by", words[solid]);
        json_number(json, "solid", c->nsolid);
        json_number(json, "found", c->nfound);
        page_json_figures(json, "value", is_known, c->percent.value, EXACT);
        page_json_figures(json, "low", is_known && c->low_threshold > 0, c->percent.low, EXACT);
        page_json_figures(json, "high", is_known && c->high_threshold > 0, c->percent.high, EXACT);
        page_json_count(json, "low_threshold", c->low_threshold);
        page_json_count(json, "high_threshold", c->high_threshold);
        page_json_figures(json, "weighted", is_known, c->weighted_percent, EXACT);
        json_begin(json, "first_minimum", '{');
        json_number(json, "threshold", c->first_minimum.threshold);
        json_number(json, "solid", c->first_minimum.nsolid);
        json_number(json, "found", c->first_minimum.nfound);
        page_json_figures(json, "value", c->first_minimum.nsolid > 0, c->first_minimum.percent,
                          EXACT);
        page_json_figures(json, "weighted", c->first_minimum.nsolid > 0,
                          c->first_minimum.weighted_percent, EXACT);
        json_end(json, '}');
        json_end(json, '}');
}

/* ---- sequences ---- */

static void put_flags(struct json *json, unsigned flags)
{
        json_begin(json, "flags", '[');
        for (size_t i = 0; i < PAGE_NFLAGS; i++)
                if (flags & (1u << i))
                        json_string(json, NULL, page_flag_names[i]);
        json_end(json, ']');
}

static void put_bins(struct json *json, const struct page_sequence *s)
{
        json_begin(json, "bins", '[');
        for (size_t i = 0; i < s->nbins; i++) {
                const uint64_t bin[PAGE_NBIN_VALUES] = { s->bins[i][0], s->bins[i][1],
                                                         s->bins[i][2] };
                json_numbers(json, NULL, bin, PAGE_NBIN_VALUES);
        }
        json_end(json, ']');
}

static void put_sequence(struct json *json, const struct page *page, const struct page_sequence *s)
{
        const bool has_kmers = s->qv.nkmers > 0;
        json_begin(json, NULL, '{');
        json_string(json, "name", s->name);
        if (page->nassemblies > 1)
                json_string(json, "assembly", page->assemblies[s->assembly].name);
        json_number(json, "length", s->length);
        page_json_figures(json, "gc", s->gc_percent >= 0, s->gc_percent, DRAWN);
        if (page_sequence_has_quality(page, s)) {
                json_begin(json, "qv", '{');
                put_qv_members(json, &s->qv, DRAWN);
                json_end(json, '}');
        } else {
                json_null(json, "qv");
        }
        page_json_figures(json, "median", has_kmers && s->median > 0, s->median, DRAWN);
        page_json_figures(json, "extra", has_kmers, s->extra_percent, DRAWN);
        put_flags(json, s->flags);
        put_bins(json, s);
        json_end(json, '}');
}

/* ---- all of it ---- */

static void put_comparison(struct json *json, const struct page *page,
                           const struct page_comparison *comparison)
{
        put_copies(json, page, &comparison->copies);
        put_quality(json, &comparison->quality);
        put_completeness(json, &comparison->completeness, page->solid);
}

static void put_both(struct json *json, const struct page *page)
{
        put_holders(json, page);
        json_begin(json, "assemblies", '[');
        for (int i = 0; i < page->nassemblies; i++) {
                json_begin(json, NULL, '{');
                json_string(json, "name", page->assemblies[i].name);
                put_comparison(json, page, &page->assemblies[i].comparison);
                json_end(json, '}');
        }
        json_end(json, ']');
}

static void put_nulls(struct json *json, const char *const *keys)
{
        for (size_t i = 0; keys[i] != NULL; i++)
                json_null(json, keys[i]);
}

void page_json_assemblies(struct json *json, const struct page *page)
{
        if (page->nassemblies == 0) {
                put_nulls(json, (const char *[]){ "copy_number", "qv", "completeness", "holders",
                                                  "assemblies", "sequences", NULL });
                return;
        }
        put_comparison(json, page, &page->all);
        if (page->nassemblies > 1)
                put_both(json, page);
        else
                put_nulls(json, (const char *[]){ "holders", "assemblies", NULL });
        const size_t nsequences = json->is_in_page ? page_count_listed(page) : page->nsequences;
        json_begin(json, "sequences", '[');
        for (size_t i = 0; i < nsequences; i++)
                put_sequence(json, page, &page->sequences[i]);
        json_end(json, ']');
}
