/*
 * The arithmetic of a block of a .kc file (kmer/block_codec.h), in pieces that the threads of a
 * warp can share. The resulting words are those of kc_block_encode.
 */
#ifndef KC_GPU_BLOCKS_LAYOUT_CUH
#define KC_GPU_BLOCKS_LAYOUT_CUH

#include "gpu/device/key.cuh"
#include "kmer/block_codec.h"

static KC_HD uint32_t kc_block_words_for(uint32_t nbits)
{
        return (nbits + 63) / 64;
}

/* The number of significant bits of x. */
static KC_HD uint32_t kc_block_nbits(uint64_t x)
{
#ifdef __CUDA_ARCH__
        return 64 - (uint32_t)__clzll((long long)x);
#else
        return x == 0 ? 0 : 64 - (uint32_t)__builtin_clzll(x);
#endif
}

static KC_HD uint32_t kc_block_nbits(kc_key128 x)
{
        uint64_t high = (uint64_t)(x >> 64);
        return high != 0 ? 64 + kc_block_nbits(high) : kc_block_nbits((uint64_t)x);
}

template <int N> static KC_HD uint32_t kc_block_nbits(const kc_key_wide<N> &x)
{
        uint32_t nbits = 0;
        for (int i = 0; i < N; i++)
                nbits = x.words[i] != 0 ? 64u * (uint32_t)i + kc_block_nbits(x.words[i]) : nbits;
        return nbits;
}

/* ---- the layout ---- */

/* Set n, low_nbits and high_words for a block of n k-mers whose last exceeds its first by
 * `range`. */
template <class Key>
static KC_HD void kc_block_plan_kmers(struct kc_block_plan *plan, Key range, uint32_t n)
{
        uint32_t range_nbits = kc_block_nbits(range), n_nbits = kc_block_nbits((uint64_t)n);
        uint32_t l = range_nbits > n_nbits ? range_nbits - n_nbits : 0;
        if (l > 0 && (uint64_t)(range >> l) < n)
                l--;
        plan->n = n;
        plan->low_nbits = l;
        plan->high_words = kc_block_words_for((uint32_t)(range >> l) + n);
}

/*
 * The cost of a width of count fields, with the width in its low 6 bits: choose the smallest.
 *   nbig    counts above 1
 *   nabove  of these, those whose count - 2 has more than `width` significant bits
 */
static KC_HD uint32_t kc_block_width_cost(uint32_t nbig, uint32_t nabove, uint32_t width)
{
        return (nbig * width + 64 * nabove) << 6 | width;
}

/* Where sections begin, in words of the block. Counts end where exceptions begin. Before the fields
 * come the planes: plane j has word j of the low bits of each k-mer, as far as these words are
 * full. */
static KC_HD uint32_t kc_block_plane_at(const struct kc_block_plan *plan, uint32_t j)
{
        return 1 + plan->high_words + plan->n * j;
}

static KC_HD uint32_t kc_block_fields_at(const struct kc_block_plan *plan)
{
        return kc_block_plane_at(plan, plan->low_nbits / 64);
}

static KC_HD uint32_t kc_block_bitmap_at(const struct kc_block_plan *plan)
{
        return kc_block_fields_at(plan) + kc_block_words_for(plan->n * (plan->low_nbits % 64));
}

static KC_HD uint32_t kc_block_counts_at(const struct kc_block_plan *plan)
{
        return kc_block_bitmap_at(plan) + kc_block_words_for(plan->n);
}

/* Set nbig, width, nexceptions and nwords from the smallest cost. */
static KC_HD void kc_block_plan_counts(struct kc_block_plan *plan, uint32_t nbig, uint32_t cost)
{
        plan->nbig = nbig;
        plan->width = cost & 63;
        plan->nexceptions = ((cost >> 6) - nbig * plan->width) / 64;
        plan->nwords = kc_block_counts_at(plan) + kc_block_words_for(nbig * plan->width) +
                       plan->nexceptions;
}

/* A plan as the first word of its block, and back. nbig is not stored; nwords is passed
 * separately. */
static KC_HD uint64_t kc_block_head(const struct kc_block_plan *plan)
{
        return (uint64_t)plan->n | (uint64_t)plan->low_nbits << 16 |
               (uint64_t)plan->nexceptions << 32 | (uint64_t)plan->high_words << 48 |
               (uint64_t)plan->width << 56;
}

static KC_HD struct kc_block_plan kc_block_plan_of(uint64_t head, uint32_t nwords)
{
        struct kc_block_plan plan;
        plan.n = (uint32_t)(head & 0xffff);
        plan.low_nbits = (uint32_t)(head >> 16 & 0xffff);
        plan.nexceptions = (uint32_t)(head >> 32 & 0xffff);
        plan.high_words = (uint32_t)(head >> 48 & 0xff);
        plan.width = (uint32_t)(head >> 56);
        plan.nbig = 0;
        plan.nwords = nwords;
        return plan;
}

/* ---- fields ---- */

/* The low nbits (below 64) of x. */
static KC_HD uint64_t kc_block_low(uint64_t x, uint32_t nbits)
{
        return x & ((UINT64_C(1) << nbits) - 1);
}

/*
 * 32 fields of nbits (1 to 63) each fill exactly nbits half words (of 32 bits), so each row of 32
 * fields, one per lane, can be assembled on its own. Half word `half` of a row starts in `field`,
 * after its first `skip` bits.
 */
struct kc_block_window {
        uint32_t field, skip;
        uint32_t nfields; /* maximum fields that any half word spans */
};

static KC_HD struct kc_block_window kc_block_window(uint32_t half, uint32_t nbits)
{
        struct kc_block_window window;
        window.field = 32 * half / nbits;
        window.skip = 32 * half - window.field * nbits;
        window.nfields = 30 / nbits + 2;
        return window;
}

/*
 * The half word of a window. get(i) returns field i of the row, without other bits. Every thread
 * calls it window.nfields times, possibly for fields past the row, whose values do not matter.
 */
template <class Get>
static KC_HD uint32_t kc_block_half_word(struct kc_block_window window, uint32_t nbits, Get get)
{
        uint64_t bits = get(window.field) >> window.skip;
        uint32_t fill = nbits - window.skip;
        for (uint32_t i = 1; i < window.nfields; i++) {
                uint64_t field = get(window.field + i);
                bits |= fill < 32 ? field << fill : 0;
                fill += nbits;
        }
        return (uint32_t)bits;
}

/*
 * How to set count field `rank` of `width` bits in a zeroed section of half words: OR `low` into
 * half word `half` and, if it is not 0, `high` into the next.
 */
struct kc_block_scatter {
        uint32_t half, low, high;
};

static KC_HD struct kc_block_scatter kc_block_count_field(uint32_t rank, uint32_t width,
                                                          uint32_t count)
{
        struct kc_block_scatter s;
        uint64_t bits = kc_block_low(count - 2, width) << (rank * width % 32);
        s.half = rank * width / 32;
        s.low = (uint32_t)bits;
        s.high = (uint32_t)(bits >> 32);
        return s;
}

/* Whether a count above 1 is an exception, and the exception. */
static KC_HD bool kc_block_is_exception(uint32_t count, uint32_t width)
{
        return kc_block_nbits((uint64_t)(count - 2)) > width;
}

static KC_HD uint64_t kc_block_exception(uint32_t i, uint32_t count)
{
        return (uint64_t)i << 32 | count;
}

#endif
