#include "cpu/ask/plan.h"

#include <stdlib.h>
#include <string.h>

/* Prefixes for each part, as a power of two: parts are then as even as the table allows. */
enum { PREFIXES_LOG2 = 4 };

static int bit_length(uint32_t x)
{
        return x == 0 ? 0 : 32 - __builtin_clz(x);
}

static enum kc_status allocate(struct kc_ask_plan *plan, uint32_t nparts, struct kc_error *err)
{
        plan->parts = malloc(plan->nprefixes * sizeof *plan->parts);
        plan->begins = malloc((nparts + 2) * sizeof *plan->begins);
        if (plan->parts == NULL || plan->begins == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for %u parts", nparts);
        return KC_OK;
}

/* Cut at the prefixes of the bounds, each once. */
static void cut(struct kc_ask_plan *plan, const uint64_t *bounds, size_t nbounds)
{
        uint32_t last = 0;
        plan->begins[0] = 0;
        plan->nparts = 1;
        for (size_t i = 0; i < nbounds; i++) {
                const uint32_t prefix =
                        kc_ask_prefix(bounds + i * (size_t)plan->nwords, plan->nwords, plan->shift);
                if (prefix == last)
                        continue;
                plan->begins[plan->nparts++] = last = prefix;
        }
        plan->begins[plan->nparts] = plan->nprefixes;
        for (uint32_t p = 0; p < plan->nparts; p++)
                for (uint32_t i = plan->begins[p]; i < plan->begins[p + 1]; i++)
                        plan->parts[i] = (uint16_t)p;
}

enum kc_status kc_ask_plan_make(struct kc_ask_plan *plan, const struct kc_ask_table *table,
                                uint32_t nparts, struct kc_error *err)
{
        enum kc_status status;
        uint64_t *bounds = NULL;
        size_t nbounds;
        *plan = (struct kc_ask_plan){ .k = table->k, .nwords = kc_kmer_nwords(table->k) };
        KC_TRY(table->split(table->ctx, nparts, &bounds, &nbounds, err));
        int nbits = bit_length(nparts) + PREFIXES_LOG2;
        if (nbits > 2 * plan->k)
                nbits = 2 * plan->k;
        plan->shift = 2 * plan->k - nbits;
        plan->nprefixes = UINT32_C(1) << nbits;
        KC_TRY(allocate(plan, (uint32_t)nbounds + 1, err));
        cut(plan, bounds, nbounds);
out:
        free(bounds);
        return status;
}

void kc_ask_plan_free(struct kc_ask_plan *plan)
{
        free(plan->parts);
        free(plan->begins);
}

/* kmer = prefix << shift */
static void shift_prefix(const struct kc_ask_plan *plan, uint64_t prefix, uint64_t *kmer)
{
        const int word = plan->shift / 64, rest = plan->shift % 64;
        memset(kmer, 0, (size_t)plan->nwords * sizeof *kmer);
        kmer[word] = prefix << rest;
        if (word + 1 < plan->nwords)
                kmer[word + 1] = prefix >> 1 >> (63 - rest);
}

void kc_ask_plan_range(const struct kc_ask_plan *plan, uint32_t part, uint64_t *from, uint64_t *to)
{
        const int top = plan->nwords - 1;
        shift_prefix(plan, plan->begins[part], from);
        if (part + 1 < plan->nparts) {
                shift_prefix(plan, plan->begins[part + 1], to);
                kc_kmer_decrement(to, plan->nwords, to);
                return;
        }
        memset(to, 0xff, (size_t)plan->nwords * sizeof *to);
        to[top] = kc_kmer_top_mask(plan->k);
}
