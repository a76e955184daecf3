/*
 * A batch of windows to look up: the bases of stretches of valid windows, packed on the host, and
 * what the device makes of them.
 *
 *      words    the bases of all stretches without gaps, 32 in a word, as in kmer/batch.h
 *      firsts   of each stretch, the number of its first window in the batch
 *      parts    windows of one sequence, which follow each other in the batch
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
        uint32_t nfound, nlead, min, max;
};

enum {
        /* The longest part, so that a long sequence is the work of many warps. */
        KC_ASK_PART_NWINDOWS = 4096,
};

/* The arrays of a batch, on the host (pinned) or on the device. */
struct kc_ask_arrays {
        uint64_t *words;                       /* [caps.nbases / 32 + 1] */
        uint32_t *firsts;                      /* [caps.nstretches] */
        struct kc_ask_part *parts;             /* [caps.nparts] */
        struct kc_ask_part_summary *summaries; /* [caps.nparts] out */
        uint32_t *counts; /* [caps.nbases] out; on the host NULL if only summaries are wanted */
};

struct kc_ask_sizes {
        uint32_t nbases, nstretches, nparts, nwindows;
};

/* Where batches are put, or how large they may be. */
static inline size_t kc_ask_nwords(uint32_t nbases)
{
        return nbases / 32 + 1;
}

/* Make the k-mers of all windows. The work is queued on the stream. KC_EDEVICE.
 *   kmers  out, [sizes->nwindows] device */
template <class Key>
enum kc_status kc_ask_make_kmers(cudaStream_t stream, const struct kc_ask_arrays *arrays,
                                 const struct kc_ask_sizes *sizes, int k, bool stranded, Key *kmers,
                                 struct kc_error *err);

/* Summarize the counts of each part. The work is queued on the stream. KC_EDEVICE. */
enum kc_status kc_ask_summarize_parts(cudaStream_t stream, const struct kc_ask_arrays *arrays,
                                      const struct kc_ask_sizes *sizes,
                                      const struct kc_ask_setup *setup, struct kc_error *err);

#endif
