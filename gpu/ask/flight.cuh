/*
 * A flight: a batch on its way to the device and back, with memory on both sides and a stream of
 * its own, so that several are under way at once.
 */
#ifndef KC_GPU_ASK_FLIGHT_CUH
#define KC_GPU_ASK_FLIGHT_CUH

#include "gpu/ask/filling.cuh"
#include "gpu/ask/map.cuh"

/* How all batches are answered. */
struct kc_ask_rules {
        int k;
        bool stranded;
        bool wants_marks; /* marks come back to the host */
        bool shared;      /* flights have no memory for k-mers and counts on the device */
        struct kc_ask_setup setup;
        struct kc_ask_sizes caps; /* of a batch; without marks and counts */
};

template <class Key> struct kc_ask_flight {
        struct kc_ask_arrays host, device; /* what is packed, and what has come back: host */
        struct kc_ask_sizes sizes;
        cudaStream_t stream;
        Key *kmers; /* [caps.nbases] device */
        /* Only in a table that is spread over devices: */
        struct kc_ask_flight *next;
        bool is_started; /* its answers are not back yet */
};

/*
 * Choose rules->caps: the largest batches whose flights each fit into this much memory of the host
 * and of the device, but never very small ones.
 *   batch_nbases  the most bases of a batch, whatever memory they take; 0: see most_nbases
 *   most_nbases   the most bases of a batch if batch_nbases is 0
 */
void kc_ask_flight_plan(struct kc_ask_rules *rules, uint32_t batch_nbases, uint32_t most_nbases,
                        size_t key_nbytes, uint64_t host_nbytes, uint64_t device_nbytes);

/*
 * Memory for an empty batch; the device is the calling thread's. It may be used once gpu->stream
 * has been waited for. Close it in any case; a zeroed one may be closed, too. KC_ENOMEM,
 * KC_EDEVICE.
 */
template <class Key>
enum kc_status kc_ask_flight_open(struct kc_ask_flight<Key> *flight, struct kc_gpu *gpu,
                                  const struct kc_ask_rules *rules, struct kc_error *err);

/* Its work must be done. */
template <class Key>
void kc_ask_flight_close(struct kc_ask_flight<Key> *flight, struct kc_gpu *gpu,
                         const struct kc_ask_rules *rules);

/* Queue on a stream what is done before the look-up and after it. KC_EDEVICE.
 *   kmers   out, [sizes.nwindows] device
 *   counts  [sizes.nwindows] device */
template <class Key>
enum kc_status kc_ask_flight_begin(const struct kc_ask_flight<Key> *flight, cudaStream_t stream,
                                   Key *kmers, const struct kc_ask_rules *rules,
                                   struct kc_error *err);
template <class Key>
enum kc_status kc_ask_flight_end(const struct kc_ask_flight<Key> *flight, cudaStream_t stream,
                                 uint32_t *counts, const struct kc_ask_rules *rules,
                                 struct kc_error *err);

/* Look the batch up: queue all that is to be done until the answers are back. KC_EDEVICE. */
template <class Key>
enum kc_status kc_ask_flight_start(struct kc_ask_flight<Key> *flight,
                                   const struct kc_ask_map<Key> *table,
                                   const struct kc_ask_rules *rules, struct kc_error *err);

/* Wait until the answers are back. KC_EDEVICE. */
template <class Key>
enum kc_status kc_ask_flight_wait(const struct kc_ask_flight<Key> *flight, struct kc_error *err)
{
        return KC_CUDA(cudaStreamSynchronize(flight->stream));
}

#endif
