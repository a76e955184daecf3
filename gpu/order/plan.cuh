/*
 * The arithmetic of gpu/order/order.cu, for host and device.
 *
 * The top bits of a k-mer determine where it goes, one level at a time:
 *
 *      bits from the top  0        8       12           20
 *                         | prefix | coarse | fine       | rest
 *
 *      cell       the top 20 bits. Pairs are counted per cell, and cells grouped into buckets.
 *      bucket     consecutive cells of a split, at most kc_order_size::CAP pairs: a block sorts it
 *      split      consecutive coarse cells (12 bits) of one prefix, at most KC_ORDER_FANOUT buckets
 *
 * Once a pair is in its split, its position determines its prefix. So the pair is packed into the
 * width of a key: the k-mer without its prefix at the top, and the count in the remaining bits at
 * the bottom. Packed pairs compare like their k-mers. Counts that do not fit are exceptions: the
 * excess goes to a list, and is added to the run at the end.
 */
#ifndef KC_GPU_ORDER_PLAN_CUH
#define KC_GPU_ORDER_PLAN_CUH

#include "gpu/device/key.cuh"

enum {
        KC_ORDER_PREFIX_BITS = 8,
        KC_ORDER_COARSE_BITS = 12,
        KC_ORDER_CELL_BITS = 20,
        KC_ORDER_NPREFIXES = 1 << KC_ORDER_PREFIX_BITS,
        KC_ORDER_NCOARSE = 1 << KC_ORDER_COARSE_BITS,
        KC_ORDER_NCELLS = 1 << KC_ORDER_CELL_BITS,
        KC_ORDER_LOCAL_BITS = KC_ORDER_CELL_BITS - KC_ORDER_PREFIX_BITS,
        KC_ORDER_NLOCAL = 1 << KC_ORDER_LOCAL_BITS, /* cells per prefix */
        KC_ORDER_PER_COARSE = KC_ORDER_NCELLS / KC_ORDER_NCOARSE,
        KC_ORDER_FANOUT = 1024, /* most buckets in a split, and most splits */
        KC_ORDER_MIN_K = 16,    /* so that a cell has at least 12 bits below it */
        KC_ORDER_COUNT_BITS = 32,
};

/* Most pairs that one block sorts: the largest power of two that fits in 64 KiB. */
template <class Key> struct kc_order_size {
        enum { CAP = 65536 / (sizeof(Key) == 24 ? 32 : sizeof(Key)) };
        static_assert(CAP * sizeof(Key) <= 65536 && (CAP & (CAP - 1)) == 0,
                      "the bitonic sort pads the pairs to a power of two");
};

/* Packing of pairs of k-mers of length k. */
struct kc_order_packing {
        int rest_bits;  /* length of the k-mer without its prefix */
        int shift;      /* position of those bits in a packed pair */
        int count_bits; /* length of the count, at the bottom; at most shift */
};

template <class Key> KC_HD struct kc_order_packing kc_order_packing_for(int k)
{
        struct kc_order_packing packing;
        packing.rest_bits = 2 * k - KC_ORDER_PREFIX_BITS;
        packing.shift = 8 * (int)sizeof(Key) - packing.rest_bits;
        packing.count_bits =
                packing.shift < KC_ORDER_COUNT_BITS ? packing.shift : (int)KC_ORDER_COUNT_BITS;
        return packing;
}

/* The largest count that a packed pair holds. */
KC_HD uint32_t kc_order_max_count(struct kc_order_packing packing)
{
        return (uint32_t)((UINT64_C(1) << packing.count_bits) - 1);
}

template <class Key>
KC_HD Key kc_order_pack(Key kmer, uint32_t count, struct kc_order_packing packing)
{
        return (Key)(kmer << packing.shift) | count;
}

template <class Key>
KC_HD Key kc_order_kmer(Key packed, uint32_t prefix, struct kc_order_packing packing)
{
        return (Key)prefix << packing.rest_bits | packed >> packing.shift;
}

template <class Key> KC_HD uint32_t kc_order_count(Key packed, struct kc_order_packing packing)
{
        return (uint32_t)packed & kc_order_max_count(packing);
}

/* The coarse cell of a k-mer. Below, kc_order_local: the cell of a packed pair, within its
 * prefix. */
template <class Key> KC_HD uint32_t kc_order_coarse(Key kmer, int k)
{
        return (uint32_t)(kmer >> (2 * k - KC_ORDER_COARSE_BITS));
}

template <class Key> KC_HD uint32_t kc_order_top(Key packed)
{
        return (uint32_t)(packed >> (8 * (int)sizeof(Key) - 32));
}

template <class Key> KC_HD uint32_t kc_order_local(Key packed)
{
        return kc_order_top(packed) >> (32 - KC_ORDER_LOCAL_BITS);
}

/* A bucket: pairs [start, start + n) of the cells [cell, cell + ncells). */
struct kc_order_bucket {
        uint32_t start, n;
        uint32_t cell, ncells;
};

KC_HD uint32_t kc_order_prefix(struct kc_order_bucket bucket)
{
        return bucket.cell >> KC_ORDER_LOCAL_BITS;
}

/*
 * The sub-bucket of a pair: the key range of the bucket is cut into up to `nsubs` (at most 2^16)
 * sub-ranges of equal width. Sub-buckets are in the order of the k-mers.
 */
struct kc_order_scale {
        uint32_t low, factor;
};

KC_HD struct kc_order_scale kc_order_scale_for(struct kc_order_bucket bucket, uint32_t nsubs)
{
        struct kc_order_scale scale;
        scale.low = bucket.cell << (32 - KC_ORDER_LOCAL_BITS); /* the prefix is shifted out */
        scale.factor = (nsubs << KC_ORDER_LOCAL_BITS) / bucket.ncells;
        return scale;
}

template <class Key> KC_HD uint32_t kc_order_sub(Key packed, struct kc_order_scale scale)
{
        return (uint32_t)((uint64_t)(kc_order_top(packed) - scale.low) * scale.factor >> 32);
}

/*
 * Cutting a prefix into splits: the end of the split that begins with coarse cell `begin`, where
 * npairs [end] are the pairs in each coarse cell, and the prefix ends at `end`. A split has at most
 * max_pairs pairs, or is a single cell.
 */
KC_HD uint32_t kc_order_split_end(const uint32_t *npairs, uint32_t begin, uint32_t end,
                                  uint32_t max_pairs)
{
        uint64_t sum = npairs[begin];
        uint32_t at = begin + 1;
        while (at < end && sum + npairs[at] <= max_pairs)
                sum += npairs[at++];
        return at;
}

#endif
