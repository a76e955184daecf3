#include "app/model/genomescope_report.h"
#include "app/cli/json.h"
#include "app/cli/size.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NAME_NBYTES = 40, VALUE_NBYTES = FORMATTED_NBYTES + 8, NDIGITS = 8 };

/* "aab" for AAB */
static const char *name_pattern(const char *pattern, char name[NAME_NBYTES])
{
        size_t i = 0;
        for (; pattern[i] != '\0'; i++)
                name[i] = (char)tolower((unsigned char)pattern[i]);
        name[i] = '\0';
        return name;
}

/* ---- text ---- */

static void put_line(struct text_out *out, const char *name, const char *low, const char *value,
                     const char *high)
{
        text_out_printf(out, "%-24s %18s %18s %18s\n", name, low, value, high);
}

static const char *write_percent(double share, char text[VALUE_NBYTES])
{
        snprintf(text, VALUE_NBYTES, "%.4f%%", 100 * share);
        return text;
}

static const char *write_bases(double length, char text[VALUE_NBYTES])
{
        char number[FORMATTED_NBYTES];
        if (!(length < 1e18))
                return strcpy(text, "unknown");
        snprintf(text, VALUE_NBYTES, "%s bp", format_number((uint64_t)(length + 0.5), number));
        return text;
}

static const char *write_depth(double depth, char text[VALUE_NBYTES])
{
        snprintf(text, VALUE_NBYTES, "%.3f", depth);
        return text;
}

static void put_range(struct text_out *out, const char *name, struct model_range r,
                      const char *(*write)(double, char[VALUE_NBYTES]))
{
        char low[VALUE_NBYTES], value[VALUE_NBYTES], high[VALUE_NBYTES];
        put_line(out, name, write(r.low, low), write(r.value, value), write(r.high, high));
}

static void put_rates(struct text_out *out, const struct genomescope *r)
{
        char name[NAME_NBYTES], line[2 * NAME_NBYTES];
        const struct model_range h = r->heterozygosity;
        const struct model_range same = { .low = fmax(0, 1 - h.high),
                                          .value = fmax(0, 1 - h.value),
                                          .high = 1 - h.low };
        snprintf(line, sizeof line, "homozygous (%s)", name_pattern(r->alleles.patterns[0], name));
        put_range(out, line, same, write_percent);
        put_range(out, "heterozygous", h, write_percent);
        for (int i = 0; r->alleles.nrates > 1 && i < r->alleles.nrates; i++) {
                snprintf(line, sizeof line, "  %s", name_pattern(r->alleles.patterns[i + 1], name));
                put_range(out, line, r->rates[i], write_percent);
        }
}

void genomescope_put_text(struct text_out *out, const char *file, int k,
                          const struct genomescope *r)
{
        char fit[VALUE_NBYTES];
        text_out_printf(out, "GenomeScope's model of %s, ploidy %d, k %d\n\n", file,
                        r->alleles.ploidy, k);
        put_line(out, "property", "low", "value", "high");
        put_rates(out, r);
        put_range(out, "coverage (kcov)", r->coverage, write_depth);
        put_range(out, "haploid length", r->haploid, write_bases);
        put_range(out, "repeat length", r->repeated, write_bases);
        put_range(out, "unique length", r->unique, write_bases);
        put_line(out, "bias", "", write_depth(r->bias, fit), "");
        put_line(out, "model fit, all", "", write_percent(r->fit_all, fit), "");
        put_line(out, "model fit, full", "", write_percent(r->fit_full, fit), "");
        put_line(out, "read error rate", "", write_percent(r->error_rate, fit), "");
}

/* ---- JSON ---- */

static void put_json_rate(struct json *json, const char *pattern, struct model_range r)
{
        json_begin(json, NULL, '{');
        json_string(json, "pattern", pattern);
        model_range_put_members(json, r, NDIGITS);
        json_end(json, '}');
}

void genomescope_put_json(struct text_out *out, const char *file, int k,
                          const struct genomescope *r)
{
        struct json json = { .out = out };
        char name[NAME_NBYTES];
        json_begin(&json, NULL, '{');
        json_string(&json, "file", file);
        json_string(&json, "method", "genomescope");
        json_number(&json, "k", (uint64_t)k);
        json_number(&json, "ploidy", (uint64_t)r->alleles.ploidy);
        model_range_put(&json, "heterozygosity", r->heterozygosity, NDIGITS);
        json_begin(&json, "rates", '[');
        for (int i = 0; i < r->alleles.nrates; i++)
                put_json_rate(&json, name_pattern(r->alleles.patterns[i + 1], name), r->rates[i]);
        json_end(&json, ']');
        model_range_put(&json, "coverage", r->coverage, NDIGITS);
        model_range_put(&json, "genome_size", r->haploid, 0);
        model_range_put(&json, "repeat_length", r->repeated, 0);
        model_range_put(&json, "unique_length", r->unique, 0);
        model_range_put(&json, "repetitiveness", r->repeats, NDIGITS);
        json_decimal(&json, "bias", r->bias, NDIGITS);
        json_decimal(&json, "fit_all", r->fit_all, NDIGITS);
        json_decimal(&json, "fit_full", r->fit_full, NDIGITS);
        json_decimal(&json, "error_rate", r->error_rate, NDIGITS);
        json_end(&json, '}');
}
