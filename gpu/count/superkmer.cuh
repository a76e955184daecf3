/*
 * Super-k-mers: stretches of consecutive k-mers that share their minimizer, which determines their
 * bin. No bases are copied: a record says where in the packed reads a stretch is.
 *
 * Source: Li et al., MSPKmerCounter (2013).
 */
#ifndef KC_GPU_COUNT_SUPERKMER_CUH
#define KC_GPU_COUNT_SUPERKMER_CUH

#include "gpu/count/minimizer.cuh"
#include "gpu/device/context.cuh"
#include "gpu/device/reads.cuh"

/* A record: | bin: 20 | nkmers - 1: 7 | number of the first base, from words[0]: 37 |, high to low
 * bits. */
enum { KC_RECORD_POSITION_BITS = 37, KC_RECORD_LENGTH_BITS = 7, KC_RECORD_MAX_BIN_BITS = 20 };

static KC_HD uint64_t kc_record(uint64_t position, uint32_t nkmers, uint32_t bin)
{
        return position | (uint64_t)(nkmers - 1) << KC_RECORD_POSITION_BITS |
               (uint64_t)bin << (KC_RECORD_POSITION_BITS + KC_RECORD_LENGTH_BITS);
}

static KC_HD uint64_t kc_record_position(uint64_t record)
{
        return record & ((UINT64_C(1) << KC_RECORD_POSITION_BITS) - 1);
}

static KC_HD uint32_t kc_record_nkmers(uint64_t record)
{
        return (uint32_t)(record >> KC_RECORD_POSITION_BITS & 127) + 1;
}

static KC_HD uint32_t kc_record_bin(uint64_t record)
{
        return (uint32_t)(record >> (KC_RECORD_POSITION_BITS + KC_RECORD_LENGTH_BITS));
}

/* How reads are cut into super-k-mers. */
struct kc_superkmer_setup {
        int k, m, window;    /* window: number of m-mers in a k-mer, k - m + 1 */
        int bin_bits;        /* 2^bin_bits bins */
        uint32_t max_nkmers; /* in a record */
};

/* max_nbases: most bases in a record, more than k, at most k + 127. */
kc_superkmer_setup kc_superkmer_setup_for(int k, int bin_bits, int max_nbases);

/* How many records to expect for nkmers k-mers, with a margin. */
uint64_t kc_superkmer_expected(int k, uint64_t nkmers);

/*
 * Find the super-k-mers of the spans first .. first + nspans - 1 of reads, on gpu->stream; does not
 * wait. KC_EDEVICE.
 *   records  out [cap] device, in no order
 *   n        out, device, how many there are. If it is above cap, the excess was left out; try
 *            again with fewer spans
 */
enum kc_status kc_superkmer_find(struct kc_gpu *gpu, const kc_superkmer_setup *setup,
                                 const struct kc_gpu_reads *reads, size_t first, size_t nspans,
                                 uint64_t *records, uint64_t cap, uint64_t *n,
                                 struct kc_error *err);

#endif
