/*
 * A batch of windows to look up: the bases of stretches of valid windows, packed on the host, and
 * what the device makes of them.
 *
 *      words    the bases of all stretches without gaps, 32 in a word, as in kmer/batch.h
 *      firsts   of each stretch, the number of its first window in the batch
 *      parts    windows of one sequence, which follow each other in the batch
 *      marks    of each part, a bit for each window: set if the window is in range and an absent
 *               k-mer is not, or the other way round
 *
 * A stretch of n windows has n + k - 1 bases, so window w, which is in stretch s, begins at base
 * w + s * (k - 1).
 */
#ifndef KC_GPU_ASK_BATCH_CUH
#define KC_GPU_ASK_BATCH_CUH

#include "gpu/device/context.cuh"
#include "gpu/device/key.cuh"
#include "kmer/ask.h"

struct kc_ask_part {
        uint32_t first, n; /* windows of the batch; n >= 1 */
};

/* As struct kc_ask_summary, of the windows of a part. */
struct kc_ask_part_summary {
        uint64_t sum;
        uint32_t nfound, nlead;
        uint32_t nabsent; /* windows whose count is 0 */
        uint32_t least;   /* of the other counts; UINT32_MAX if there are none */
        uint32_t max;
};

enum {
        /* The longest part, so that a long sequence is the work of many warps. */
        KC_ASK_PART_NWINDOWS = 4096,
};

/* The arrays of a batch, on the host or on the device. */
struct kc_ask_arrays {
        uint64_t *words;                       /* [nbases / 32 + 1] */
        uint32_t *firsts;                      /* [nstretches] */
        struct kc_ask_part *parts;             /* [nparts] */
        struct kc_ask_part_summary *summaries; /* [nparts] out */
        uint32_t *marks;                       /* [nmarks] out; NULL if they are not wanted */
        uint32_t *counts; /* [nwindows] out; on the host NULL if only summaries are wanted */
};

/* The sizes of a batch, or the largest for which there is room. */
struct kc_ask_sizes {
        uint32_t nbases, nstretches, nparts, nwindows, nmarks;
};

static inline size_t kc_ask_nwords(uint32_t nbases)
{
        return nbases / 32 + 1;
}

/* The index of the word of marks that holds the bits of a part's first windows. Given the numbers
 * of all windows and parts, it is the number of words. */
KC_HD uint32_t kc_ask_marks_at(uint32_t window, uint32_t part)
{
        return window / 32 + part;
}

/* Make the k-mers of all windows. The work is queued on the stream. KC_EDEVICE.
 *   kmers  out, [sizes->nwindows] device */
template <class Key>
enum kc_status kc_ask_make_kmers(cudaStream_t stream, const struct kc_ask_arrays *arrays,
                                 const struct kc_ask_sizes *sizes, int k, bool stranded, Key *kmers,
                                 struct kc_error *err);

/* Summarize the counts of each part, and mark windows, if there are marks. The work is queued on
 * the stream. KC_EDEVICE. */
enum kc_status kc_ask_summarize_parts(cudaStream_t stream, const struct kc_ask_arrays *arrays,
                                      const struct kc_ask_sizes *sizes,
                                      const struct kc_ask_setup *setup, struct kc_error *err);

#endif
