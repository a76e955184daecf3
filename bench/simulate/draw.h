/*
 * Random numbers for simulate: a stream for each (seed, purpose, number), so that what is drawn for
 * a block of genome or for a read does not depend on the others.
 */
#ifndef BENCH_SIMULATE_DRAW_H
#define BENCH_SIMULATE_DRAW_H

#include "tests/random.h"

#include <math.h>

#define DRAW_NEVER UINT64_C(1000000000000000000) /* more letters than any read has */

enum purpose { FOR_BLOCK, FOR_UNIT, FOR_READ, FOR_WALK, FOR_ABUNDANCE };

static inline uint64_t draw_stream(uint64_t seed, enum purpose purpose, uint64_t number)
{
        return random_mix(random_mix(seed + (uint64_t)purpose * UINT64_C(0x632be59bd9b4e019)) +
                          number);
}

static inline uint64_t draw_below(uint64_t *state, uint64_t n)
{
        return (uint64_t)((unsigned __int128)next_random(state) * n >> 64);
}

/* In (0, 1]. */
static inline double draw_unit(uint64_t *state)
{
        return (double)((next_random(state) >> 11) + 1) * 0x1p-53;
}

/* Number of letters to skip before the next event of the given rate. */
static inline uint64_t draw_gap(uint64_t *state, double rate)
{
        if (rate <= 0)
                return DRAW_NEVER;
        if (rate >= 1)
                return 0;
        double gap = log(draw_unit(state)) / log1p(-rate);
        return gap < (double)DRAW_NEVER ? (uint64_t)gap : DRAW_NEVER;
}

/* Of the standard normal distribution, by the method of Box and Muller. */
static inline double draw_normal(uint64_t *state)
{
        double radius = sqrt(-2 * log(draw_unit(state)));
        return radius * cos(2 * M_PI * draw_unit(state));
}

#endif
