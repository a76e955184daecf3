#include "app/model/model_report.h"
#include "app/cli/json.h"
#include "app/cli/size.h"

#include <math.h>
#include <stdio.h>

enum { VALUE_NBYTES = FORMATTED_NBYTES + 8, NDIGITS = 8 };

static bool has_verdict(const struct model *model)
{
        return !(model->caveats & MODEL_BAD_FIT);
}

static bool has_error_rate(const struct model *model)
{
        return !(model->caveats & MODEL_FILTERED);
}

/* ---- text ---- */

static const char *write_bases(double length, char text[VALUE_NBYTES])
{
        char number[FORMATTED_NBYTES];
        if (length < 1e18)
                snprintf(text, VALUE_NBYTES, "%s bp",
                         format_number((uint64_t)(length + 0.5), number));
        else
                snprintf(text, VALUE_NBYTES, "%.3g bp", length);
        return text;
}

static const char *write_percent(double share, char text[VALUE_NBYTES])
{
        snprintf(text, VALUE_NBYTES, "%.3f%%", 100 * share);
        return text;
}

static const char *write_depth(double depth, char text[VALUE_NBYTES])
{
        snprintf(text, VALUE_NBYTES, "%.2f", depth);
        return text;
}

static void put_range(struct text_out *out, const char *name, struct model_range r,
                      const char *(*write)(double, char[VALUE_NBYTES]), const char *remark)
{
        char low[VALUE_NBYTES], value[VALUE_NBYTES], high[VALUE_NBYTES];
        text_out_printf(out, "%-16s %18s   %s to %s%s\n", name, write(r.value, value),
                        write(r.low, low), write(r.high, high), remark);
}

static void put_verdict(struct text_out *out, const struct model *model)
{
        const struct model_fit *fit = &model->fits[0];
        char text[VALUE_NBYTES];
        put_range(out, "genome size", model->size, write_bases, ", of one haplotype");
        text_out_printf(out, "%-16s %18d\n", "ploidy", fit->ploidy);
        if (fit->ploidy > 1)
                put_range(out, "heterozygosity", fit->heterozygosity, write_percent, "");
        put_range(out, "coverage", fit->coverage, write_depth, ", of one haplotype, by k-mers");
        if (has_error_rate(model))
                put_range(out, "error rate", fit->error_rate, write_percent, "");
        text_out_printf(out, "%-16s %18s   of the k-mers with counts from %llu to %llu\n\n",
                        "explained", write_percent(fit->explained, text),
                        (unsigned long long)model->first, (unsigned long long)model->last);
}

static void put_fit(struct text_out *out, const char *name, const struct model_fit *fit)
{
        char explained[VALUE_NBYTES], size[VALUE_NBYTES], rate[VALUE_NBYTES], depth[VALUE_NBYTES];
        text_out_printf(
                out, "%-16s %10s %20s %14s %9s\n", name, write_percent(fit->explained, explained),
                write_bases(fit->size.value, size), write_percent(fit->heterozygosity.value, rate),
                write_depth(fit->coverage.value, depth));
}

static void put_fits(struct text_out *out, const struct model *model)
{
        text_out_printf(out, "%-16s %10s %20s %14s %9s\n", "if", "explained", "size",
                        "heterozygosity", "coverage");
        for (int i = 0; i < model->nfits; i++) {
                char name[VALUE_NBYTES];
                snprintf(name, sizeof name, "ploidy %d", model->fits[i].ploidy);
                put_fit(out, name, &model->fits[i]);
        }
        put_fit(out, "half coverage", &model->half);
        put_fit(out, "twice coverage", &model->twice);
}

static void put_groups(struct text_out *out, const struct groups *groups)
{
        char kmers[VALUE_NBYTES], depth[VALUE_NBYTES], gc[VALUE_NBYTES];
        if (groups->n > 0)
                text_out_printf(out, "\n%-22s %14s %14s %10s\n", "besides the genome", "k-mers",
                                "counted", "GC");
        for (int i = 0; i < groups->n; i++) {
                const struct group *g = &groups->groups[i];
                text_out_printf(out, "%-22s %14s %8s times %10s\n",
                                g->is_deep ? "organelle or plasmid" : "contaminant",
                                format_number((uint64_t)g->nkmers, kmers),
                                write_depth(g->depth, depth), write_percent(g->gc, gc));
        }
}

void model_put_text(struct text_out *out, const char *file, int k, const struct model *model,
                    int width)
{
        char sentences[MODEL_MAX_SENTENCES][MODEL_SENTENCE_NBYTES];
        const int n = model_sentences(model, k, sentences);
        text_out_printf(out, "The genome of %s, k = %d\n\n", file, k);
        if (has_verdict(model))
                put_verdict(out, model);
        put_fits(out, model);
        put_groups(out, &model->groups);
        for (int i = 0; i < n; i++) {
                text_out_puts(out, i == 0 ? "\n" : "");
                text_out_words(out, sentences[i], 0, 0, width);
        }
}

/* ---- JSON ---- */

static void put_json_verdict(struct json *json, const struct model *model)
{
        const struct model_fit *fit = &model->fits[0];
        json_begin(json, "verdict", '{');
        json_begin(json, "genome_size", '{');
        model_range_put_members(json, model->size, 0);
        json_decimal(json, "total", fit->ploidy * model->size.value, 0);
        json_decimal(json, "all_kmers", fit->size.value, 0);
        json_decimal(json, "off_profile", fit->size.value - model->size.value, 0);
        json_end(json, '}');
        json_number(json, "ploidy", (uint64_t)fit->ploidy);
        if (model->caveats & MODEL_TIE)
                json_number(json, "runner_up", (uint64_t)model->fits[model->runner_up].ploidy);
        model_range_put(json, "heterozygosity", fit->heterozygosity, NDIGITS);
        model_range_put(json, "coverage", fit->coverage, NDIGITS);
        if (has_error_rate(model))
                model_range_put(json, "error_rate", fit->error_rate, NDIGITS);
        json_end(json, '}');
}

static void put_json_model(struct json *json, const struct model *model)
{
        const struct model_fit *fit = &model->fits[0];
        const struct mixture *m = &fit->mixture;
        json_begin(json, "model", '{');
        json_decimal(json, "length", fit->parameters[m->length], 0);
        json_decimal(json, "bias", fit->parameters[m->bias], NDIGITS);
        json_decimal(json, "duplication", fit->parameters[MIXTURE_REPEATS], NDIGITS);
        json_begin(json, "rates", '[');
        for (int i = 0; i < m->alleles.nrates; i++) {
                json_begin(json, NULL, '{');
                json_string(json, "pattern", m->alleles.patterns[i + 1]);
                json_decimal(json, "rate", fit->parameters[MIXTURE_RATES + i], NDIGITS);
                json_end(json, '}');
        }
        json_end(json, ']');
        json_number(json, "fit_first", model->first);
        json_number(json, "fit_last", model->last);
        json_number(json, "threshold", fit->threshold);
        json_decimal(json, "error_kmers", fit->error_nkmers, 0);
        json_end(json, '}');
}

static void json_fit(struct json *json, const char *key, const struct model_fit *fit,
                     double least_bic)
{
        json_begin(json, key, '{');
        json_number(json, "p", (uint64_t)fit->ploidy);
        json_decimal(json, "explained", fit->explained, NDIGITS);
        json_decimal(json, "delta_bic", fit->bic - least_bic, 3);
        json_decimal(json, "coverage", fit->coverage.value, NDIGITS);
        json_decimal(json, "haploid", fit->size.value, 0);
        json_decimal(json, "het", fit->heterozygosity.value, NDIGITS);
        json_decimal(json, "duplication", fit->parameters[MIXTURE_REPEATS], NDIGITS);
        json_end(json, '}');
}

static void put_json_fits(struct json *json, const struct model *model)
{
        double least = model->fits[0].bic;
        for (int i = 1; i < model->nfits; i++)
                least = fmin(least, model->fits[i].bic);
        json_begin(json, "ploidy", '[');
        for (int i = 0; i < model->nfits; i++)
                json_fit(json, NULL, &model->fits[i], least);
        json_end(json, ']');
        json_fit(json, "half_coverage", &model->half, least);
        json_fit(json, "twice_coverage", &model->twice, least);
}

static void put_json_gc(struct json *json, const struct groups *groups)
{
        json_begin(json, "gc", '{');
        json_decimal(json, "main_gc", groups->main_gc, NDIGITS);
        json_begin(json, "groups", '[');
        for (int i = 0; i < groups->n; i++) {
                const struct group *g = &groups->groups[i];
                json_begin(json, NULL, '{');
                json_string(json, "likeness", g->is_deep ? "organelle or plasmid" : "contaminant");
                json_decimal(json, "kmers", g->nkmers, 0);
                json_decimal(json, "instances", g->instances, 0);
                json_decimal(json, "depth", g->depth, NDIGITS);
                json_decimal(json, "times", g->times, NDIGITS);
                json_decimal(json, "gc", g->gc, NDIGITS);
                json_number(json, "from_count", g->from_count);
                json_number(json, "to_count", g->to_count);
                json_end(json, '}');
        }
        json_end(json, ']');
        json_end(json, '}');
}

void model_put_json(struct text_out *out, const char *file, int k, const struct model *model)
{
        char sentences[MODEL_MAX_SENTENCES][MODEL_SENTENCE_NBYTES];
        const char *lines[MODEL_MAX_SENTENCES];
        const int n = model_sentences(model, k, sentences);
        struct json json = { .out = out };
        for (int i = 0; i < n; i++)
                lines[i] = sentences[i];
        json_begin(&json, NULL, '{');
        json_string(&json, "file", file);
        json_number(&json, "k", (uint64_t)k);
        if (has_verdict(model))
                put_json_verdict(&json, model);
        put_json_model(&json, model);
        put_json_fits(&json, model);
        if (model->has_gc)
                put_json_gc(&json, &model->groups);
        json_strings(&json, "caveats", lines, (size_t)n);
        json_end(&json, '}');
}
