/*
 * What a range takes from runs on the host: whole blocks, which are copied to the device and
 * decoded there. The range may need only some pairs of the first and the last block of a run.
 *
 *      add (run after run)  copy  (the device merges another range)  decode
 */
#ifndef KC_GPU_RUNS_CODED_RANGE_CUH
#define KC_GPU_RUNS_CODED_RANGE_CUH

#include "gpu/blocks/decode.cuh"
#include "gpu/runs/coded_run.cuh"
#include "gpu/runs/cuts.cuh"

/* Blocks of a run; the range begins with pair `skip` of the first one. */
struct kc_coded_part {
        const struct kc_coded_run *run;
        size_t i; /* number of the run */
        size_t first_block, nblocks, skip;
};

/* A zeroed one may be freed. */
template <class Key> struct kc_coded_range {
        struct kc_coded_part *parts; /* [nparts] */
        size_t nparts;
        /* the blocks of all parts */
        uint64_t *words;                     /* [nwords] device */
        struct kc_decode_block<Key> *blocks; /* [nblocks] device */
        struct kc_decode_block<Key> *pinned; /* [max_blocks] the same, on the host */
        size_t nwords, nblocks;
        cudaEvent_t taken, copied;
};

/* Decodes the ranges of some runs. A zeroed one may be closed. */
struct kc_range_decoder {
        struct kc_decode_run *runs; /* [nruns] device */
        size_t nruns;
        unsigned long long *refused; /* device: see kc_gpu_decode */
};

/* Most blocks of a range of max_pairs pairs from nhost runs. */
static inline size_t kc_coded_most_blocks(size_t nhost, size_t max_pairs)
{
        return nhost > 0 ? max_pairs / KC_BLOCK_NKMERS + 2 * nhost : 0;
}

/* For at most max_blocks blocks from nhost runs. KC_ENOMEM, KC_EDEVICE; free it even then. */
template <class Key>
enum kc_status kc_coded_range_new(struct kc_coded_range<Key> *range, size_t nhost,
                                  size_t max_blocks, struct kc_error *err);
template <class Key>
void kc_coded_range_free(struct kc_gpu *gpu, struct kc_coded_range<Key> *range);

/* Add n pairs, at least 1, of run number i, starting at the pair where its fences are. The run must
 * exist until the copy is done. */
template <class Key>
void kc_coded_range_add(struct kc_coded_range<Key> *range, const struct kc_coded_run *run,
                        const struct kc_fences<Key> *fences, size_t i, size_t n);

/* Allocate memory on gpu->stream, and enqueue the copies on gpu->upload. KC_EIO, KC_ENOMEM,
 * KC_EDEVICE. */
template <class Key>
enum kc_status kc_coded_range_copy(struct kc_host_store *store, struct kc_coded_range<Key> *range,
                                   struct kc_error *err);

/* KC_ENOMEM, KC_EDEVICE; close it even then. */
enum kc_status kc_range_decoder_open(struct kc_range_decoder *decoder, struct kc_gpu *gpu,
                                     size_t nruns, struct kc_error *err);
void kc_range_decoder_close(struct kc_range_decoder *decoder, struct kc_gpu *gpu);

/*
 * Decode the range, and empty it.
 *   pairs  out: pairs of all parts, to be freed by the caller
 *   runs   in/out [decoder->nruns]: kmers and counts of each part's run are set to where its pairs
 *          begin in *pairs
 * Returns with the work queued on gpu->stream. KC_ENOMEM, KC_EDEVICE.
 */
template <class Key>
enum kc_status kc_coded_range_decode(struct kc_gpu *gpu, struct kc_coded_range<Key> *range,
                                     const struct kc_range_decoder *decoder,
                                     struct kc_gpu_run<Key> *pairs, struct kc_gpu_run<Key> *runs,
                                     struct kc_error *err);

/* Check the last range that was decoded; waits until it is. KC_EIO if a block is damaged;
 * KC_EDEVICE. */
enum kc_status kc_range_decoder_check(const struct kc_range_decoder *decoder,
                                      const struct kc_host_store *store, struct kc_error *err);

#endif
