/*
 * See genome.h. A block of BLOCK bases is drawn from its own number or, with the probability given
 * by --repeats, is a copy of one of a few units, some far more frequent than others, like
 * transposons. --sequences cuts the bases into sequences of equal length, whose abundances differ
 * with a log-normal distribution.
 */
#include "bench/simulate/genome.h"

#include "base/memory.h"
#include "base/parallel.h"
#include "bench/simulate/draw.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
        BLOCK = 1000, /* bases of a genome block, so also of a repeat unit */
        COPIES = 20,  /* of a repeat unit, on average */
};

struct filling {
        const struct settings *set;
        char *bases;
        atomic_uint_fast64_t next;
};

static void fill_block(const struct settings *set, uint64_t block, char *bases)
{
        uint64_t nblocks = (set->genome_nbases + BLOCK - 1) / BLOCK;
        uint64_t state = draw_stream(set->seed, FOR_BLOCK, block);
        if (draw_unit(&state) <= set->repeats) {
                uint64_t nunits = 1 + (uint64_t)((double)nblocks * set->repeats / COPIES);
                double skewed = draw_unit(&state);
                uint64_t unit = (uint64_t)(skewed * skewed * skewed * (double)nunits);
                state = draw_stream(set->seed, FOR_UNIT, unit);
        }
        uint64_t bits = 0;
        for (int i = 0; i < BLOCK; i++, bits >>= 2) {
                if (i % 32 == 0)
                        bits = next_random(&state);
                bases[i] = GENOME_LETTERS[bits & 3];
        }
}

static enum kc_status filler(void *ctx, int worker, struct kc_error *err)
{
        struct filling *filling = ctx;
        uint64_t nblocks = (filling->set->genome_nbases + BLOCK - 1) / BLOCK;
        (void)worker, (void)err;
        for (;;) {
                uint64_t block = atomic_fetch_add(&filling->next, 1);
                if (block >= nblocks)
                        return KC_OK;
                fill_block(filling->set, block, filling->bases + block * BLOCK);
        }
}

static size_t genome_nbytes(const struct settings *set)
{
        return (set->genome_nbases + BLOCK - 1) / BLOCK * BLOCK;
}

static void draw_abundances(const struct settings *set, double *reached)
{
        double sum = 0;
        for (uint64_t i = 0; i < set->nsequences; i++) {
                uint64_t state = draw_stream(set->seed, FOR_ABUNDANCE, i);
                sum += exp(set->abundance * draw_normal(&state));
                reached[i] = sum;
        }
        for (uint64_t i = 0; i < set->nsequences; i++)
                reached[i] /= sum;
}

/* In huge pages: reads are copied from random places, which small pages make slow. */
enum kc_status genome_open(struct genome *genome, const struct settings *set, struct kc_error *err)
{
        struct filling filling = { .set = set };
        genome->bases = filling.bases = kc_huge_alloc(genome_nbytes(set));
        if (set->nsequences > 1)
                genome->reached = malloc(set->nsequences * sizeof *genome->reached);
        if (genome->bases == NULL || (set->nsequences > 1 && genome->reached == NULL))
                return kc_fail(err, KC_ENOMEM, "out of memory for %" PRIu64 " bases of genome",
                               set->genome_nbases);
        if (genome->reached != NULL)
                draw_abundances(set, genome->reached);
        return kc_parallel(set->nthreads, filler, NULL, &filling, err);
}

void genome_close(struct genome *genome, const struct settings *set)
{
        free(genome->reached);
        kc_huge_free(genome->bases, genome_nbytes(set));
}

static uint64_t begin_of(const struct settings *set, uint64_t sequence)
{
        return (uint64_t)((unsigned __int128)set->genome_nbases * sequence / set->nsequences);
}

void genome_draw(const struct genome *genome, const struct settings *set, uint64_t *state,
                 uint64_t *begin, uint64_t *end)
{
        uint64_t low = 0, high = set->nsequences - 1;
        double share = genome->reached != NULL ? draw_unit(state) : 0;
        while (low < high) {
                uint64_t middle = (low + high) / 2;
                if (genome->reached[middle] < share)
                        low = middle + 1;
                else
                        high = middle;
        }
        *begin = begin_of(set, low);
        *end = begin_of(set, low + 1);
}

/* Complement eight bases at once: A and T differ in the bits 0x15, C and G in 0x15 ^ 0x11, and of
 * these letters, only C and G have the second-lowest bit set. */
static uint64_t complement(uint64_t bases)
{
        const uint64_t ones = UINT64_C(0x0101010101010101);
        return bases ^ ones * 0x15 ^ (bases >> 1 & ones) * 0x11;
}

void genome_copy(const char *from, uint64_t n, bool reverse, char *to)
{
        if (!reverse) {
                memcpy(to, from, n);
                return;
        }
        uint64_t i = 0, eight;
        for (; i + 8 <= n; i += 8) {
                memcpy(&eight, from + n - i - 8, 8);
                eight = complement(__builtin_bswap64(eight));
                memcpy(to + i, &eight, 8);
        }
        for (; i < n; i++)
                to[i] = (char)complement((unsigned char)from[n - 1 - i]);
}
