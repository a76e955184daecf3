/*
 * A slot of a hopscotch table, in one 64-bit word.
 *
 *      bit  0-31   bitmap: bit j, slot + j holds an item whose home is this slot (H = 31, and the
 *                  slot itself)
 *          32-55   item: what the slot holds
 *          56-60   offset: how far the item is from its home
 *             61   full: there is an item
 *             62   swap_lock: an item of this home is being moved, or the item in this slot
 *             63   multiple_lock: an item is being added to or removed from this home; or, if the
 *                  slot is empty, it is about to receive one
 *
 * The word describes two independent things: which slots hold the items of this home, and which
 * item of which home is in this slot. A lock covers both.
 *
 * Source: Zhang and Sun, GLHT, sections 3 and 4.2.
 */
#ifndef KC_GPU_TABLES_HOPSCOTCH_WORD_CUH
#define KC_GPU_TABLES_HOPSCOTCH_WORD_CUH

#include "gpu/device/key.cuh"

enum : uint32_t {
        KC_HOP_NEIGHBOURS = 32, /* H + 1 */
        KC_HOP_ITEM_BITS = 24,
        KC_HOP_NONE = UINT32_MAX,
};

enum : uint64_t {
        KC_HOP_FULL = UINT64_C(1) << 61,
        KC_HOP_SWAP_LOCK = UINT64_C(1) << 62,
        KC_HOP_MULTIPLE_LOCK = UINT64_C(1) << 63,
        KC_HOP_LOCKS = KC_HOP_SWAP_LOCK | KC_HOP_MULTIPLE_LOCK,
        KC_HOP_ITEM = (UINT64_C(1) << 62) - (UINT64_C(1) << 32), /* with offset and full */
};

KC_HD uint32_t kc_hop_bitmap(uint64_t word)
{
        return (uint32_t)word;
}

KC_HD bool kc_hop_is_locked(uint64_t word)
{
        return (word & KC_HOP_LOCKS) != 0;
}

KC_HD bool kc_hop_is_full(uint64_t word)
{
        return (word & KC_HOP_FULL) != 0;
}

/* Whether an item can be put into the slot now. */
KC_HD bool kc_hop_is_open(uint64_t word)
{
        return (word & (KC_HOP_FULL | KC_HOP_LOCKS)) == 0;
}

KC_HD uint32_t kc_hop_item(uint64_t word)
{
        return (uint32_t)(word >> 32) & ((1u << KC_HOP_ITEM_BITS) - 1);
}

KC_HD uint32_t kc_hop_offset(uint64_t word)
{
        return (uint32_t)(word >> 56) & (KC_HOP_NEIGHBOURS - 1);
}

/* Whether the slot holds an item whose home is `offset` slots before it. */
KC_HD bool kc_hop_is_of(uint64_t word, uint32_t offset)
{
        return kc_hop_is_full(word) && kc_hop_offset(word) == offset;
}

KC_HD uint64_t kc_hop_put(uint64_t word, uint32_t item, uint32_t offset)
{
        return (word & ~KC_HOP_ITEM) | (uint64_t)item << 32 | (uint64_t)offset << 56 | KC_HOP_FULL;
}

KC_HD uint64_t kc_hop_empty(uint64_t word)
{
        return word & ~KC_HOP_ITEM;
}

KC_HD uint64_t kc_hop_with(uint64_t word, uint32_t offset)
{
        return word | UINT64_C(1) << offset;
}

KC_HD uint64_t kc_hop_without(uint64_t word, uint32_t offset)
{
        return word & ~(UINT64_C(1) << offset);
}

KC_HD uint64_t kc_hop_unlocked(uint64_t word)
{
        return word & ~KC_HOP_LOCKS;
}

/* Number of the lowest set bit; bits must not be 0. */
KC_HD uint32_t kc_hop_lowest(uint32_t bits)
{
#ifdef __CUDA_ARCH__
        return (uint32_t)__ffs((int)bits) - 1;
#else
        return (uint32_t)__builtin_ctz(bits);
#endif
}

/* The item to move from a home's neighbourhood into an open slot `distance` (1 to 31) after the
 * home: the first of its items that is before that slot, as an offset from the home. KC_HOP_NONE if
 * there is none. */
KC_HD uint32_t kc_hop_movable(uint64_t home, uint32_t distance)
{
        uint32_t before = kc_hop_bitmap(home) & ((1u << distance) - 1);
        return before != 0 ? kc_hop_lowest(before) : (uint32_t)KC_HOP_NONE;
}

#endif
