#include "cpu/width.h"

#include "base/memory.h"
#include "base/simd.h"
#include "cpu/pair.h"
#include "cpu/superkmer.h"
#include "kmer/kmer.h"

#include <stdlib.h>
#include <string.h>

enum {
        FOLD_NBYTES =
                3 << 17, /* for folded super-k-mers, which stay in L2 beside the k-mer table */
        FOLD_SLOT_BITS = 15,
        FOLD_SLOTS = 1 << FOLD_SLOT_BITS,
        MIN_TABLE_BITS = 10,
        STRETCH = 1 << MIN_TABLE_BITS, /* slots of a table that are collected together */
        LEAST_MAX_TABLE_BITS = 14,     /* even if memory is scarce */
        MAX_TABLE_BITS = 30,
        PASS_SHIFT = 10, /* below the bits that choose a slot */
        GROUP = 29,      /* k-mers made at a time: as many bases as a 64-bit load holds, at any
                            offset in its first byte */
        COLLECT_NBYTES = 1 << 20, /* of pairs collected before they go to their lists */
        MAX_BUCKET_BITS = 14,
        BUCKET_BITS = 7, /* 2^6 to 2^7 pairs per bucket, so that it is sorted in L1 */
        MAX_GROUP_BITS = 10,
        TMP_NBYTES = 1 << 16, /* for distributing a bucket; larger ones are sorted in place */
        INSERTION_MAX = 24,
};

/* Number of keys that a table of 2^bits slots holds before it grows. */
#define TABLE_LOAD(bits) (((size_t)5 << (bits)) / 8)

/* List the counts of a stretch of a table that the filter keeps; it never keeps 0, a free slot.
 * Returns how many. There is no branch, because it would be mispredicted. */
static inline size_t list_kept(const uint32_t *counts, const struct kc_run_filter *filter,
                               uint16_t *kept)
{
        size_t n = 0;
        for (size_t i = 0; i < STRETCH; i++) {
                kept[n] = (uint16_t)i;
                n += kc_run_keeps(filter, counts[i]);
        }
        return n;
}

/* Add the counts of a stretch that the filter does not keep. */
KC_SIMD_CLONES
static void add_dropped(const uint32_t *counts, struct kc_run_filter filter,
                        struct kc_run_dropped *dropped)
{
        uint32_t ndistinct = 0, nunique = 0;
        uint64_t nkmers = 0;
        for (size_t i = 0; i < STRETCH; i++) {
                const uint32_t count = kc_run_keeps(&filter, counts[i]) ? 0 : counts[i];
                ndistinct += count != 0;
                nunique += count == 1;
                nkmers += count;
        }
        kc_run_add_dropped(dropped, &(struct kc_run_dropped){ ndistinct, nkmers, nunique });
}

#define CAT_(a, b) a##_##b
#define CAT(a, b)  CAT_(a, b)
#define W(name)    CAT(name, KC_WORDS)

#define KC_WORDS 1
#include "cpu/width.inc.h"
#define KC_WORDS 2
#include "cpu/width.inc.h"
#define KC_WORDS 3
#include "cpu/width.inc.h"
#define KC_WORDS 4
#include "cpu/width.inc.h"
#define KC_WORDS 5
#include "cpu/width.inc.h"
#define KC_WORDS 6
#include "cpu/width.inc.h"
#define KC_WORDS 7
#include "cpu/width.inc.h"
#define KC_WORDS 8
#include "cpu/width.inc.h"

const struct kc_width *kc_width(int nwords)
{
        static const struct kc_width *const widths[KC_MAX_WORDS] = {
                &width_1, &width_2, &width_3, &width_4, &width_5, &width_6, &width_7, &width_8,
        };
        return widths[nwords - 1];
}
