#include "app/profile/track.h"

enum { LINE_NBYTES = 48 }; /* beside the name: three numbers, or two and a label */

uint64_t profile_track_nbytes(const struct profile_name *name, uint64_t n)
{
        return (n + 1) * (name->nbytes + LINE_NBYTES); /* wiggle has another line */
}

enum { ABSENT, UNIQUE, REPEATED };

static uint32_t value_of(const struct profile_track_setup *setup, uint32_t count)
{
        if (setup->format != PROFILE_BED)
                return count;
        return count < setup->unique_min ? ABSENT : count <= setup->unique_max ? UNIQUE : REPEATED;
}

/* ---- of positions that have the same value ---- */

void profile_track_end(struct profile_track *track, const struct profile_track_setup *setup,
                       struct profile_text *text, const struct profile_name *name)
{
        static const char *const labels[] = { "absent", "unique", "repeated" };
        if (track->begin == track->end)
                return;
        profile_put_bytes(text, name->bytes, name->nbytes);
        profile_put_number(text, "\t", track->begin);
        profile_put_number(text, "\t", track->end);
        if (setup->format == PROFILE_BED) {
                profile_put(text, "\t");
                profile_put(text, labels[track->value]);
        } else {
                profile_put_number(text, "\t", track->value);
        }
        profile_put(text, "\n");
        track->begin = track->end;
}

static void put_runs(struct profile_track *track, const struct profile_track_setup *setup,
                     struct profile_text *text, const struct profile_name *name, uint64_t begin,
                     const uint32_t *counts, uint32_t n)
{
        for (uint32_t i = 0; i < n; i++) {
                const uint32_t value = value_of(setup, counts[i]);
                if (track->end != begin + i || track->value != value ||
                    track->begin == track->end) {
                        profile_track_end(track, setup, text, name);
                        track->begin = begin + i;
                        track->value = value;
                }
                track->end = begin + i + 1;
        }
}

/* ---- of each position ---- */

static void put_positions(struct profile_text *text, const struct profile_name *name,
                          uint64_t begin, const uint32_t *counts, uint32_t n)
{
        for (uint32_t i = 0; i < n; i++) {
                profile_put_bytes(text, name->bytes, name->nbytes);
                profile_put_number(text, "\t", begin + i);
                profile_put_number(text, "\t", counts[i]);
                profile_put(text, "\n");
        }
}

static void put_steps(struct profile_track *track, struct profile_text *text,
                      const struct profile_name *name, uint64_t begin, const uint32_t *counts,
                      uint32_t n)
{
        if (!track->declared) {
                profile_put(text, "variableStep chrom=");
                profile_put_bytes(text, name->bytes, name->nbytes);
                profile_put(text, "\n");
                track->declared = true;
        }
        for (uint32_t i = 0; i < n; i++) {
                profile_put_digits(text, begin + i + 1, 1); /* wiggle counts positions from 1 */
                profile_put_number(text, " ", counts[i]);
                profile_put(text, "\n");
        }
}

void profile_track_put(struct profile_track *track, const struct profile_track_setup *setup,
                       struct profile_text *text, const struct profile_name *name, uint64_t offset,
                       const struct kc_ask_answer *answer)
{
        const uint32_t *counts = answer->counts;
        for (size_t i = 0; i < answer->nstretches; i++) {
                const struct kc_ask_stretch *stretch = &answer->stretches[i];
                const uint64_t begin = offset + stretch->begin;
                if (setup->format == PROFILE_TSV)
                        put_positions(text, name, begin, counts, stretch->n);
                else if (setup->format == PROFILE_WIG)
                        put_steps(track, text, name, begin, counts, stretch->n);
                else
                        put_runs(track, setup, text, name, begin, counts, stretch->n);
                counts += stretch->n;
        }
}
