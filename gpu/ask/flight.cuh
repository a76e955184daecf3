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
        struct kc_ask_setup setup;
        struct kc_ask_sizes caps; /* of a batch */
};

template <class Key> struct kc_ask_flight {
        struct kc_ask_arrays host, device; /* what is packed, and what has come back: host */
        struct kc_ask_sizes sizes;
        cudaStream_t stream;
        Key *kmers; /* [caps.nbases] device */
};

/* Bytes of the device's memory that a flight takes. */
size_t kc_ask_flight_nbytes(const struct kc_ask_sizes *caps, size_t key_nbytes);

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
