/*
 * Super-k-mers: stretches of consecutive k-mers that share their minimizer, which determines their
 * bin. No bases are copied: a record says where in the packed reads a stretch is.
 *
 * Source: Li et al., MSPKmerCounter (2013).
 */
#ifndef KC_GPU_SUPERKMERS_SUPERKMER_CUH
#define KC_GPU_SUPERKMERS_SUPERKMER_CUH

#include "gpu/device/context.cuh"
#include "gpu/device/limits.h"
#include "gpu/device/reads.cuh"
#include "gpu/superkmers/minimizer.cuh"

/*
 * A record: | bin | nkmers - 1: length_bits | position of the first base: position_bits |, high to
 * low bits. The position is that of gpu/device/reads.cuh. The more reads are on a device, the more
 * bits their positions need, and the fewer are left for the bins of a pass.
 */
struct kc_record_form {
        int length_bits, position_bits;
};

enum { KC_RECORD_USUAL_POSITION_BITS = 37, KC_RECORD_MAX_POSITION_BITS = 40 };

/* How many chunks can have positions. */
KC_HD constexpr uint32_t kc_record_max_chunks(int position_bits)
{
        return UINT32_C(1) << (position_bits - KC_CHUNK_BITS);
}

/* Bits for the positions of about nbases bases, and of copies of some; 0: unknown. */
int kc_record_position_bits(uint64_t nbases);

/* With short keys, few records are as long as the keys allow; with long ones, most k-mers of a
 * window share their minimizer. */
template <class Key> KC_HD constexpr int kc_record_length_bits()
{
        return sizeof(Key) == 8 ? 5 : 6;
}

/* Bits that are left for the bin. */
template <class Key> KC_HD constexpr int kc_record_bin_bits(int position_bits)
{
        return 64 - position_bits - kc_record_length_bits<Key>();
}

static KC_HD uint64_t kc_record(uint64_t position, uint32_t nkmers, uint32_t bin,
                                kc_record_form form)
{
        return position | (uint64_t)(nkmers - 1) << form.position_bits |
               (uint64_t)bin << (form.position_bits + form.length_bits);
}

static KC_HD uint64_t kc_record_position(uint64_t record, kc_record_form form)
{
        return record & ((UINT64_C(1) << form.position_bits) - 1);
}

/* The chunk that its bases are in. */
static KC_HD uint32_t kc_record_chunk(uint64_t record, kc_record_form form)
{
        return (uint32_t)(kc_record_position(record, form) >> KC_CHUNK_BITS);
}

static KC_HD uint32_t kc_record_nkmers(uint64_t record, kc_record_form form)
{
        return ((uint32_t)(record >> form.position_bits) & ((1u << form.length_bits) - 1)) + 1;
}

static KC_HD uint32_t kc_record_bin(uint64_t record, kc_record_form form)
{
        return (uint32_t)(record >> (form.position_bits + form.length_bits));
}

/* How reads are cut into super-k-mers. */
struct kc_superkmer_setup {
        int k, m, window;    /* window: number of m-mers in a k-mer, k - m + 1 */
        kc_record_form form; /* of a record */
        uint32_t max_nkmers; /* in a record */
        int copy_nwords;     /* words for a record's bases, if they are copied */
        int span_k;          /* that spans are cut for, at most k: the smallest that is counted */
};

/* For records whose bases fit a kc_stretch<Key>, whose positions have the usual number of bits, and
 * spans that are cut for k; m: from kc_gpu_minimizer_length. */
template <class Key> kc_superkmer_setup kc_superkmer_setup_for(int k, int m);

/* How many records to expect for nkmers k-mers, with a margin. */
uint64_t kc_superkmer_expected(const kc_superkmer_setup *setup, uint64_t nkmers);

/* A list for the records of some points. It is in the memory of this device, or of another device
 * whose memory this one can access. */
struct kc_record_list {
        uint64_t *records; /* [cap] in no particular order */
        uint64_t cap;
        uint64_t *n; /* increased by the number of records found; other devices may increase it
                        at the same time. If it ends above cap, some records were left out */
};

enum { KC_MAX_RECORD_LISTS = 32 }; /* one for each lane of a warp */

/* Where records go. */
struct kc_records_out {
        struct kc_record_list lists[KC_MAX_RECORD_LISTS]; /* [nlists] */
        struct kc_bins bins[KC_MAX_RECORD_LISTS];         /* [nlists] their points, ascending */
        size_t nlists;
        uint64_t *copies; /* with one list: [cap * copy_nwords] device: record i points to a copy
                             of its bases, from copies[i * copy_nwords] on. NULL: records point
                             into chunks */
        uint64_t copies_position; /* of the first base of copies[0] */
};

/* Search groups first .. first + ngroups - 1 of the chunks for the super-k-mers that have points of
 * a list. Works on gpu->stream, and does not wait for it. KC_EDEVICE. */
enum kc_status kc_superkmer_find(struct kc_gpu *gpu, const kc_superkmer_setup *setup,
                                 const struct kc_gpu_chunks *chunks, uint32_t first,
                                 uint32_t ngroups, const struct kc_records_out *out,
                                 struct kc_error *err);

/* Load i is what the points [i << KC_LOAD_SHIFT, (i + 1) << KC_LOAD_SHIFT) have. */
enum { KC_NLOADS = 4096, KC_LOAD_SHIFT = 20 };

struct kc_load {
        uint64_t nrecords, nkmers;
};

/*
 * Add up the loads of the chunks' super-k-mers, on gpu->stream; does not wait. If there are many
 * groups, only a sample of them is examined, and its loads are scaled up. KC_EDEVICE.
 *   loads  in/out [KC_NLOADS] device
 */
enum kc_status kc_superkmer_sample(struct kc_gpu *gpu, const kc_superkmer_setup *setup,
                                   const struct kc_gpu_chunks *chunks, struct kc_load *loads,
                                   struct kc_error *err);

/* Add the number of the chunks' k-mers to *nkmers (device), on gpu->stream; does not wait.
 * KC_EDEVICE. */
enum kc_status kc_superkmer_count(struct kc_gpu *gpu, const struct kc_superkmer_setup *setup,
                                  const struct kc_gpu_chunks *chunks, uint64_t *nkmers,
                                  struct kc_error *err);

#endif
