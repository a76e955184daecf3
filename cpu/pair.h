/*
 * A (k-mer, count) pair on its way from counting to ordering. Its list implies the high bits of the
 * k-mer, so only the low bytes are stored, and nearly all counts fit in one byte:
 *
 *      low bytes of the k-mer | u8 count            count < 255
 *      low bytes of the k-mer | 255 | u32 count
 */
#ifndef KC_PAIR_H
#define KC_PAIR_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
        KC_PAIR_MAX_NBYTES = 64 + 5,
        KC_PAIR_LONG = 255,
};

/* Number of low bytes stored of a k-mer in one of 2^prefix_bits lists. */
static inline size_t kc_pair_key_nbytes(int k, int prefix_bits)
{
        return (size_t)(2 * k - prefix_bits + 7) / 8;
}

static inline size_t kc_pair_count_nbytes(uint32_t count)
{
        return count < KC_PAIR_LONG ? 1 : 1 + sizeof count;
}

static inline size_t kc_pair_put_count(uint8_t *out, uint32_t count)
{
        if (__builtin_expect(count < KC_PAIR_LONG, 1)) {
                out[0] = (uint8_t)count;
                return 1;
        }
        out[0] = KC_PAIR_LONG;
        memcpy(out + 1, &count, sizeof count);
        return 1 + sizeof count;
}

static inline size_t kc_pair_get_count(const uint8_t *in, uint32_t *count)
{
        *count = in[0];
        if (__builtin_expect(in[0] < KC_PAIR_LONG, 1))
                return 1;
        memcpy(count, in + 1, sizeof *count);
        return 1 + sizeof *count;
}

/* count + more, saturated at UINT32_MAX; the excess is added to *nsaturated. */
static inline uint32_t kc_count_add(uint32_t count, uint32_t more, uint64_t *nsaturated)
{
        uint32_t sum = count + more;
        if (__builtin_expect(sum >= more, 1))
                return sum;
        *nsaturated += (uint64_t)sum + 1;
        return UINT32_MAX;
}

/* Number of bytes of the whole pairs at the start of `pairs` that fit in `room` bytes. */
static inline size_t kc_pairs_that_fit(const uint8_t *pairs, size_t nbytes, size_t room,
                                       size_t key_nbytes)
{
        size_t fit = 0;
        if (nbytes <= room)
                return nbytes;
        for (;;) {
                uint32_t count;
                size_t next =
                        fit + key_nbytes + kc_pair_get_count(pairs + fit + key_nbytes, &count);
                if (next > room)
                        return fit;
                fit = next;
        }
}

#endif
