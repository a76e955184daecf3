#include "app/report/page/caveats.h"
#include "app/report/page/page_json_internal.h"

void page_json_figures(struct json *json, const char *key, bool is_known, double value, int ndigits)
{
        if (is_known)
                json_figures(json, key, value, ndigits);
        else
                json_null(json, key);
}

void page_json_count(struct json *json, const char *key, uint64_t count)
{
        if (count > 0)
                json_number(json, key, count);
        else
                json_null(json, key);
}

void page_json_values(struct json *json, const struct page_range *range)
{
        json_figures(json, "value", range->value, EXACT);
        json_figures(json, "low", range->low, EXACT);
        json_figures(json, "high", range->high, EXACT);
}

static void put_range(struct json *json, const char *key, const struct page_range *range)
{
        json_begin(json, key, '{');
        page_json_values(json, range);
        json_end(json, '}');
}

/* ---- verdict ---- */

static void put_genome_size(struct json *json, const struct page *page)
{
        const struct page_verdict *v = &page->verdict;
        json_begin(json, "genome_size", '{');
        page_json_values(json, &v->genome_size);
        json_string(json, "unit", "bp");
        json_figures(json, "total", v->genome_size.value * page->model.ploidy, EXACT);
        json_figures(json, "all_kmers", v->all_kmers, EXACT);
        json_figures(json, "off_profile", v->all_kmers - v->genome_size.value, EXACT);
        json_end(json, '}');
}

static void put_ploidy(struct json *json, const struct page_model *model)
{
        json_begin(json, "ploidy", '{');
        json_number(json, "value", (uint64_t)model->ploidy);
        page_json_count(json, "runner_up", (uint64_t)model->runner_up);
        json_end(json, '}');
}

static void put_assembly_verdict(struct json *json, const struct page *page)
{
        const struct page_qv *qv = &page->all.quality.raw;
        const struct page_completeness *c = &page->all.completeness;
        const bool is_given = page_has_quality(page);
        if (page->nassemblies == 0) {
                json_null(json, "assembly");
                return;
        }
        json_begin(json, "assembly", '{');
        page_json_figures(json, "qv", is_given && !qv->is_bound, qv->qv.value, EXACT);
        page_json_figures(json, "qv_low", is_given, qv->qv.low, EXACT);
        page_json_figures(json, "qv_high", is_given && page_qv_has_high(qv), qv->qv.high, EXACT);
        page_json_figures(json, "completeness", c->nsolid > 0, c->percent.value, EXACT);
        json_end(json, '}');
}

static void put_verdict(struct json *json, const struct page *page)
{
        static const char *const of_model[] = { "genome_size", "ploidy", "heterozygosity",
                                                "coverage", "error_rate" };
        const struct page_verdict *v = &page->verdict;
        json_begin(json, "verdict", '{');
        if (page_has_verdict(page)) {
                put_genome_size(json, page);
                put_ploidy(json, &page->model);
                put_range(json, "heterozygosity", &v->heterozygosity);
                json_begin(json, "coverage", '{');
                page_json_values(json, &v->coverage);
                json_figures(json, "reads", v->read_depth, EXACT);
                json_end(json, '}');
                if (v->has_error_rate)
                        put_range(json, "error_rate", &v->error_rate);
                else
                        json_null(json, "error_rate");
        } else {
                for (size_t i = 0; i < sizeof of_model / sizeof *of_model; i++)
                        json_null(json, of_model[i]);
        }
        put_assembly_verdict(json, page);
        json_end(json, '}');
}

static void put_caveats(struct json *json, const struct page *page)
{
        static const char *const levels[] = { "good", "check", "problem" };
        struct page_caveat caveats[PAGE_MAX_CAVEATS];
        const size_t n = page_find_caveats(page, caveats);
        json_begin(json, "caveats", '[');
        for (size_t i = 0; i < n; i++) {
                json_begin(json, NULL, '{');
                json_string(json, "name", caveats[i].name);
                json_string(json, "level", levels[caveats[i].level]);
                json_string(json, "subject", caveats[i].subject);
                json_string(json, "panel", caveats[i].panel);
                json_string(json, "text", caveats[i].text);
                json_end(json, '}');
        }
        json_end(json, ']');
}

/* ---- the genome ---- */

static void put_spectrum(struct json *json, const struct page_spectrum *s)
{
        json_begin(json, "spectrum", '{');
        json_number(json, "first", 1);
        json_number(json, "width", s->width);
        json_numbers(json, "kmers", s->kmers, s->n);
        json_number(json, "total", s->total);
        json_number(json, "distinct", s->distinct);
        json_number(json, "beyond", s->beyond);
        json_end(json, '}');
}

static void put_model(struct json *json, const struct page *page)
{
        const struct page_model *m = &page->model;
        const size_t n = page->spectrum.n;
        if (!page_has_model(page)) {
                json_null(json, "model");
                return;
        }
        json_begin(json, "model", '{');
        json_number(json, "ploidy", (uint64_t)m->ploidy);
        json_figures(json, "length", m->length, EXACT);
        json_figures(json, "coverage", m->coverage, EXACT);
        json_figures(json, "bias", m->bias, EXACT);
        json_figures(json, "duplication", m->duplication, EXACT);
        json_decimals(json, "rates", m->rates, (size_t)m->nrates, 8);
        json_number(json, "fit_first", m->fit_first);
        json_number(json, "fit_last", m->fit_last);
        json_number(json, "peak", m->peak);
        json_figures(json, "explained", m->explained, EXACT);
        json_figures(json, "frequent", m->nfrequent, EXACT);
        json_number(json, "threshold", m->threshold);
        json_decimals(json, "errors", m->errors, n, 1);
        json_decimals(json, "heterozygous", m->heterozygous, n, 1);
        json_decimals(json, "homozygous", m->homozygous, n, 1);
        json_decimals(json, "repeated", m->repeated, n, 1);
        json_end(json, '}');
}

static void put_candidates(struct json *json, const struct page *page)
{
        json_begin(json, "ploidy", '[');
        for (int i = 0; i < page->ncandidates; i++) {
                const struct page_candidate *c = &page->candidates[i];
                json_begin(json, NULL, '{');
                json_number(json, "p", (uint64_t)c->ploidy);
                json_bool(json, "tied", c->tied);
                json_figures(json, "explained", c->explained, EXACT);
                json_figures(json, "bic", c->bic, EXACT);
                json_figures(json, "delta_bic", c->delta_bic, EXACT);
                json_figures(json, "coverage", c->coverage, EXACT);
                json_figures(json, "haploid", c->haploid, EXACT);
                json_figures(json, "het", c->heterozygosity, EXACT);
                json_figures(json, "duplication", c->duplication, EXACT);
                json_decimals(json, "curve", c->curve, page->spectrum.n, 1);
                json_end(json, '}');
        }
        json_end(json, ']');
}

static void put_group(struct json *json, const struct page_group *g)
{
        json_begin(json, NULL, '{');
        json_number(json, "kmers", g->nkmers);
        json_number(json, "instances", g->ninstances);
        json_figures(json, "depth", g->depth, DRAWN);
        json_figures(json, "times", g->times, DRAWN);
        json_figures(json, "gc", g->gc, DRAWN);
        json_number(json, "from_count", g->from_count);
        json_number(json, "to_count", g->to_count);
        json_end(json, '}');
}

static void put_gc(struct json *json, const struct page *page)
{
        const struct page_gc *gc = &page->gc;
        if (gc->ncolumns == 0) {
                json_null(json, "gc");
                return;
        }
        json_begin(json, "gc", '{');
        json_numbers(json, "first", gc->first, gc->ncolumns);
        json_begin(json, "kmers", '[');
        for (int i = 0; i <= page->k; i++)
                json_numbers(json, NULL, gc->kmers + (size_t)i * gc->ncolumns, gc->ncolumns);
        json_end(json, ']');
        json_figures(json, "main_gc", gc->main_gc, DRAWN);
        json_begin(json, "groups", '[');
        for (int i = 0; i < gc->ngroups; i++)
                put_group(json, &gc->groups[i]);
        json_end(json, ']');
        json_end(json, '}');
}

/* ---- provenance ---- */

static void put_file(struct json *json, const char *file, const char *sha256)
{
        json_string(json, "file", file);
        if (sha256 != NULL)
                json_string(json, "sha256", sha256);
        else
                json_null(json, "sha256");
}

static void put_reads(struct json *json, const struct page *page)
{
        const struct page_reads *reads = &page->reads;
        json_begin(json, "reads", '{');
        put_file(json, reads->file, reads->sha256);
        page_json_count(json, "reads", reads->nreads);
        page_json_count(json, "bases", reads->nbases);
        json_number(json, "kmers", page->spectrum.total);
        json_number(json, "distinct", page->spectrum.distinct);
        json_number(json, "once", reads->nonce);
        json_number(json, "min", reads->min_count);
        page_json_count(json, "max", reads->max_count);
        json_bool(json, "removed", reads->removed);
        json_bool(json, "canonical", !reads->stranded);
        json_bool(json, "compressed", reads->compressed);
        json_end(json, '}');
}

static void put_assembly(struct json *json, const char *key, const struct page *page, int i)
{
        const struct page_assembly *assembly = &page->assemblies[i];
        if (i >= page->nassemblies) {
                json_null(json, key);
                return;
        }
        json_begin(json, key, '{');
        json_string(json, "name", assembly->name);
        put_file(json, assembly->file, assembly->sha256);
        json_bool(json, "counted", assembly->is_counted);
        page_json_count(json, "sequences", assembly->nsequences);
        page_json_count(json, "bases", assembly->nbases);
        json_number(json, "kmers", assembly->nkmers);
        json_number(json, "distinct", assembly->ndistinct);
        json_end(json, '}');
}

static void put_provenance(struct json *json, const struct page *page)
{
        json_begin(json, "provenance", '{');
        json_string(json, "program", page->program);
        json_string(json, "command", page->command);
        put_reads(json, page);
        put_assembly(json, "assembly", page, 0);
        put_assembly(json, "second_assembly", page, 1);
        json_end(json, '}');
}

void page_put_json(struct json *json, const struct page *page)
{
        json_begin(json, NULL, '{');
        json_string(json, "schema", "kcount-report/1");
        json_string(json, "sample", page->sample);
        json_number(json, "k", (uint64_t)page->k);
        page_json_count(json, "step", page->step);
        page_json_figures(json, "depth", page->depth > 0, page->depth, EXACT);
        page_json_figures(json, "genome_size", page->genome_size > 0, page->genome_size, EXACT);
        put_verdict(json, page);
        put_caveats(json, page);
        put_spectrum(json, &page->spectrum);
        put_model(json, page);
        put_candidates(json, page);
        put_gc(json, page);
        page_json_assemblies(json, page);
        put_provenance(json, page);
        json_end(json, '}');
}
