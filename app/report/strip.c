#include "app/report/strip.h"

#include "app/report/tracks.h"
#include "io/joint.h"

#include <stdlib.h>
#include <string.h>

void strip_begin(struct strip *strip, uint64_t last)
{
        strip->step = STRIP_FIRST_STEP;
        while (last / strip->step >= STRIP_NBINS)
                strip->step *= 2;
        strip->nbins = 0;
        strip->counts.n = 0;
        kc_window_tally_clear(&strip->last);
}

void strip_free(struct strip *strip)
{
        free(strip->counts.all);
        free(strip->spare.all);
        kc_window_tally_free(&strip->last);
}

/* ---- counts ---- */

static enum kc_status reserve(struct strip_counts *c, size_t n, struct kc_error *err)
{
        if (n <= c->capacity)
                return KC_OK;
        struct kc_window_tally_entry *all = realloc(c->all, 2 * n * sizeof *all);
        if (all == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for the parts of a sequence");
        c->all = all;
        c->capacity = 2 * n;
        return KC_OK;
}

static size_t begin_of(const struct strip *s, size_t bin)
{
        return bin > 0 ? s->bins[bin - 1].end : 0;
}

static size_t ncounts_of(const struct strip *s, size_t bin)
{
        return s->bins[bin].end - begin_of(s, bin);
}

/* Append both lists, in order, to counts that have room for them. */
static void merge(struct strip_counts *to, const struct kc_window_tally_entry *a, size_t na,
                  const struct kc_window_tally_entry *b, size_t nb)
{
        const struct kc_window_tally_entry *const a_end = a + na, *const b_end = b + nb;
        struct kc_window_tally_entry *out = to->all + to->n;
        while (a < a_end && b < b_end) {
                const bool is_a = a->count <= b->count, is_b = b->count <= a->count;
                out->count = is_a ? a->count : b->count;
                out->n = (is_a ? a->n : 0) + (is_b ? b->n : 0);
                out++;
                a += is_a;
                b += is_b;
        }
        while (a < a_end)
                *out++ = *a++;
        while (b < b_end)
                *out++ = *b++;
        to->n = (size_t)(out - to->all);
}

static uint32_t count_at(const struct kc_window_tally_entry *counts, uint64_t rank)
{
        for (; rank >= counts->n; counts++)
                rank -= counts->n;
        return counts->count;
}

/* Four times the median; 0: there is none. */
static uint64_t median_of(const struct strip *s, size_t bin)
{
        const uint64_t n = s->bins[bin].nwindows - s->bins[bin].nabsent;
        const struct kc_window_tally_entry *counts = s->counts.all + begin_of(s, bin);
        return n > 0 ? 2 * ((uint64_t)count_at(counts, (n - 1) / 2) + count_at(counts, n / 2)) : 0;
}

/* ---- windows ---- */

/* Add bins without windows, up to this one. */
static void extend(struct strip *s, size_t bin)
{
        for (; s->nbins <= bin; s->nbins++)
                s->bins[s->nbins] = (struct strip_bin){ .end = s->counts.n };
}

enum kc_status strip_end(struct strip *s, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        if (s->nbins == 0)
                return KC_OK;
        KC_TRY(reserve(&s->counts, s->counts.n + s->last.nsmall + s->last.nlarge, err));
        s->counts.n += kc_window_tally_list(&s->last, 1, s->counts.all + s->counts.n);
        s->bins[s->nbins - 1].end = s->counts.n;
        kc_window_tally_clear(&s->last);
out:
        return status;
}

/* Add windows of the last bin. */
static enum kc_status put_in_bin(struct strip *s, const uint32_t *pairs, size_t n, uint64_t depth,
                                 struct kc_error *err)
{
        enum { AT_ONCE = 1024 };
        struct strip_bin *bin = &s->bins[s->nbins - 1];
        uint32_t counts[AT_ONCE];
        enum kc_status status = KC_OK;
        bin->nwindows += n;
        for (size_t m; n > 0; pairs += m, n -= m) {
                uint32_t nabsent = 0, nextra = 0;
                m = n < AT_ONCE ? n : AT_ONCE;
                for (size_t i = 0; i < m; i++) {
                        counts[i] = kc_pair_first(pairs[i]);
                        nabsent += counts[i] == 0;
                        nextra += tracks_is(TRACKS_DUPLICATED, depth, counts[i],
                                            kc_pair_second(pairs[i]));
                }
                bin->nabsent += nabsent;
                bin->nextra += nextra;
                KC_TRY(kc_window_tally_add(&s->last, counts, m, err));
        }
out:
        return status;
}

enum kc_status strip_put(struct strip *s, uint64_t position, const uint32_t *pairs, size_t n,
                         uint64_t depth, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        for (size_t m; n > 0; position += m, pairs += m, n -= m) {
                const uint64_t bin = position / s->step, nleft = (bin + 1) * s->step - position;
                m = n < nleft ? n : (size_t)nleft;
                if (bin >= s->nbins) {
                        KC_TRY(strip_end(s, err));
                        extend(s, (size_t)bin);
                }
                KC_TRY(put_in_bin(s, pairs, m, depth, err));
        }
out:
        return status;
}

/* ---- several bins, several strips ---- */

static void add_windows(struct strip_bin *to, const struct strip_bin *bin)
{
        to->nwindows += bin->nwindows;
        to->nabsent += bin->nabsent;
        to->nextra += bin->nextra;
}

/* Join each bin with its neighbour: the width is twice as large. */
static enum kc_status widen(struct strip *s, struct kc_error *err)
{
        const struct strip_counts old = s->counts;
        struct strip_counts *to = &s->spare;
        enum kc_status status;
        size_t begin = 0;
        KC_TRY(reserve(to, old.n, err));
        to->n = 0;
        for (size_t i = 0; i < s->nbins; i += 2) {
                struct strip_bin bin = s->bins[i];
                const size_t middle = bin.end;
                if (i + 1 < s->nbins) {
                        add_windows(&bin, &s->bins[i + 1]);
                        bin.end = s->bins[i + 1].end;
                }
                merge(to, old.all + begin, middle - begin, old.all + middle, bin.end - middle);
                begin = bin.end;
                bin.end = to->n;
                s->bins[i / 2] = bin;
        }
        s->counts = s->spare;
        s->spare = old;
        s->step *= 2;
        s->nbins = (s->nbins + 1) / 2;
out:
        return status;
}

/* Join a bin with the same one of the next strip; it must be the last, or be new. */
static enum kc_status join_bin(struct strip *s, size_t bin, const struct strip *next,
                               struct kc_error *err)
{
        enum kc_status status;
        extend(s, bin);
        const size_t nown = ncounts_of(s, bin), nnext = ncounts_of(next, bin);
        KC_TRY(reserve(&s->spare, nown, err));
        KC_TRY(reserve(&s->counts, s->counts.n + nnext, err));
        s->counts.n -= nown;
        if (nown > 0)
                memcpy(s->spare.all, s->counts.all + s->counts.n, nown * sizeof *s->spare.all);
        merge(&s->counts, s->spare.all, nown, next->counts.all + begin_of(next, bin), nnext);
        add_windows(&s->bins[bin], &next->bins[bin]);
        s->bins[bin].end = s->counts.n;
out:
        return status;
}

enum kc_status strip_join(struct strip *strip, const struct strip *next, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        if (next->nbins == 0)
                return KC_OK;
        while (strip->step < next->step)
                KC_TRY(widen(strip, err));
        for (size_t bin = 0; bin < next->nbins; bin++)
                if (next->bins[bin].nwindows > 0)
                        KC_TRY(join_bin(strip, bin, next, err));
out:
        return status;
}

/* ---- results ---- */

static uint32_t at_most_32_bits(uint64_t n)
{
        return n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
}

void strip_results(const struct strip *strip, struct strip_result *results)
{
        for (size_t i = 0; i < strip->nbins; i++) {
                const struct strip_bin *bin = &strip->bins[i];
                results[i] = (struct strip_result){
                        .nwindows = at_most_32_bits(bin->nwindows),
                        .nabsent = at_most_32_bits(bin->nabsent),
                        .nextra = at_most_32_bits(bin->nextra),
                        .quarters = (uint32_t)median_of(strip, i), /* counts have 24 bits */
                };
        }
}

enum kc_status strip_total(struct strip *strip, struct strip_total *total, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        *total = (struct strip_total){ 0 };
        while (strip->nbins > 1)
                KC_TRY(widen(strip, err));
        if (strip->nbins > 0)
                *total = (struct strip_total){ .nwindows = strip->bins[0].nwindows,
                                               .nabsent = strip->bins[0].nabsent,
                                               .nextra = strip->bins[0].nextra,
                                               .quarters = median_of(strip, 0) };
out:
        return status;
}
