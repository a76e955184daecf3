#include "app/report/tracks.h"

#include "app/profile/text.h"

#include <stdlib.h>

/* How far from the last window of a stretch the next one may be. */
static uint64_t furthest(const struct tracks_setup *setup, size_t list)
{
        const uint64_t k = (uint64_t)setup->k;
        return list == TRACKS_RUNS ? 1 : list == TRACKS_ABSENT ? k : 2 * k;
}

/* ---- finding stretches ---- */

void tracks_found_clear(struct tracks_found *found)
{
        for (size_t i = 0; i < TRACKS_NLISTS; i++)
                found->lists[i].n = found->lists[i].begin = 0;
}

void tracks_found_free(struct tracks_found *found)
{
        for (size_t i = 0; i < TRACKS_NLISTS; i++)
                free(found->lists[i].all);
}

void tracks_found_begin(struct tracks_found *found)
{
        for (size_t i = 0; i < TRACKS_NLISTS; i++)
                found->lists[i].begin = found->lists[i].n;
}

static enum kc_status append(struct tracks_list *list, uint64_t position, struct kc_error *err)
{
        enum { LEAST = 64 };
        if (list->n == list->capacity) {
                const size_t capacity = list->capacity > 0 ? 2 * list->capacity : LEAST;
                struct tracks_stretch *all = realloc(list->all, capacity * sizeof *all);
                if (all == NULL)
                        return kc_fail(err, KC_ENOMEM, "out of memory for %zu tracks", list->n);
                list->all = all;
                list->capacity = capacity;
        }
        list->all[list->n++] = (struct tracks_stretch){ position, position, 1 };
        return KC_OK;
}

static enum kc_status put_hit(struct tracks_list *list, uint64_t position, uint64_t most,
                              struct kc_error *err)
{
        struct tracks_stretch *s = list->n > list->begin ? &list->all[list->n - 1] : NULL;
        if (s == NULL || position - s->last > most)
                return append(list, position, err);
        s->last = position;
        s->nhits++;
        return KC_OK;
}

static bool is_wanted(const struct tracks_setup *setup, size_t list)
{
        return list == TRACKS_RUNS ? setup->absent_windows != NULL || setup->absent_depth != NULL
                                   : setup->stretches[list] != NULL;
}

enum kc_status tracks_find(struct tracks_found *found, const struct tracks_setup *setup,
                           uint64_t position, const uint32_t *pairs, size_t n, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        for (size_t list = 0; list < TRACKS_NLISTS; list++) {
                const enum tracks_kind kind =
                        list == TRACKS_RUNS ? TRACKS_ABSENT : (enum tracks_kind)list;
                const uint64_t most = furthest(setup, list);
                if (!is_wanted(setup, list))
                        continue;
                for (size_t i = 0; i < n; i++)
                        if (tracks_is(kind, setup->depth, kc_pair_first(pairs[i]),
                                      kc_pair_second(pairs[i])))
                                KC_TRY(put_hit(&found->lists[list], position + i, most, err));
        }
out:
        return status;
}

/* ---- lines ---- */

enum { LINE_NBYTES = 256 };

static void put_line(const struct tracks *t, struct text_out *out, uint64_t begin, uint64_t end)
{
        char bytes[LINE_NBYTES];
        struct profile_text line = { .bytes = bytes, .size = sizeof bytes, .out = out };
        profile_put_bytes(&line, t->name, t->name_nbytes);
        profile_put_number(&line, "\t", begin);
        profile_put_number(&line, "\t", end);
        profile_put(&line, "\n");
        profile_text_flush(&line);
}

static void put_base(struct text_out *out, uint64_t base, size_t depth)
{
        char bytes[LINE_NBYTES];
        struct profile_text line = { .bytes = bytes, .size = sizeof bytes, .out = out };
        profile_put_number(&line, "", base + 1);
        profile_put_number(&line, "\t", depth);
        profile_put(&line, "\n");
        profile_text_flush(&line);
}

/* ---- stretches ---- */

static void end_stretch(struct tracks *t, enum tracks_kind kind)
{
        struct tracks_stretch *s = &t->stretches[kind];
        const uint64_t k = (uint64_t)t->setup->k, nwindows = s->last - s->begin + 1;
        const uint64_t least = kind == TRACKS_COLLAPSED ? t->setup->least_collapsed : 0;
        const bool is_sure = kind == TRACKS_ABSENT ||
                             (s->nhits >= k && 2 * s->nhits >= nwindows && nwindows >= least);
        if (s->nhits > 0 && is_sure)
                put_line(t, t->setup->stretches[kind], s->begin, s->last + k);
        s->nhits = 0;
}

static void put_stretch(struct tracks *t, enum tracks_kind kind, const struct tracks_stretch *next)
{
        struct tracks_stretch *s = &t->stretches[kind];
        if (s->nhits > 0 && next->begin - s->last > furthest(t->setup, kind))
                end_stretch(t, kind);
        if (s->nhits == 0)
                s->begin = next->begin;
        s->last = next->last;
        s->nhits += next->nhits;
}

/* ---- wiggle ---- */

/* Put the bases before `end` that absent windows have. */
static void put_depth(struct tracks *t, uint64_t end)
{
        enum { RING = KC_MAX_K + 1 };
        const uint64_t k = (uint64_t)t->setup->k;
        for (; t->nabsent > 0; t->next_base++) {
                for (; t->nabsent > 0 && t->absent[t->first] + k <= t->next_base; t->nabsent--)
                        t->first = (t->first + 1) % RING;
                if (t->nabsent == 0 || t->next_base >= end)
                        return;
                put_base(t->setup->absent_depth, t->next_base, t->nabsent);
        }
}

static void put_absent(struct tracks *t, uint64_t position)
{
        enum { RING = KC_MAX_K + 1 };
        if (t->setup->absent_windows != NULL)
                put_line(t, t->setup->absent_windows, position, position + (uint64_t)t->setup->k);
        if (t->setup->absent_depth == NULL)
                return;
        put_depth(t, position);
        t->next_base = position;
        t->absent[(t->first + t->nabsent++) % RING] = position;
}

/* ---- a sequence ---- */

void tracks_begin(struct tracks *t, const struct tracks_setup *setup, const char *name,
                  size_t name_nbytes)
{
        *t = (struct tracks){ .setup = setup, .name = name, .name_nbytes = name_nbytes };
        if (setup->absent_depth == NULL)
                return;
        text_out_puts(setup->absent_depth, "variableStep chrom=");
        text_out_write(setup->absent_depth, name, name_nbytes);
        text_out_puts(setup->absent_depth, "\n");
}

void tracks_put(struct tracks *t, size_t list, const struct tracks_stretch *stretches, size_t n)
{
        for (size_t i = 0; i < n; i++) {
                if (list < TRACKS_NKINDS)
                        put_stretch(t, (enum tracks_kind)list, &stretches[i]);
                else
                        for (uint64_t at = stretches[i].begin; at <= stretches[i].last; at++)
                                put_absent(t, at);
        }
}

void tracks_end(struct tracks *t)
{
        for (enum tracks_kind kind = 0; kind < TRACKS_NKINDS; kind++)
                end_stretch(t, kind);
        if (t->setup->absent_depth != NULL)
                put_depth(t, UINT64_MAX);
}
