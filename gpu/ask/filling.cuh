/*
 * Filling a batch (gpu/ask/batch.cuh) on the host: its memory there and on the device, and packing
 * windows into it.
 */
#ifndef KC_GPU_ASK_FILLING_CUH
#define KC_GPU_ASK_FILLING_CUH

#include "gpu/ask/batch.cuh"
#include "gpu/ask/pack.h"

/* What a batch of at most nbases bases has room for; without marks and counts. */
struct kc_ask_sizes kc_ask_caps(uint32_t nbases);

/* Bytes of arrays that have so many elements. */
size_t kc_ask_arrays_nbytes(const struct kc_ask_sizes *caps);

/* Allocate the arrays of a batch, on the host in pinned memory; free them even after a failure.
 * KC_ENOMEM, KC_EDEVICE. */
enum kc_status kc_ask_host_new(struct kc_ask_arrays *host, const struct kc_ask_sizes *caps,
                               struct kc_error *err);
void kc_ask_host_free(struct kc_ask_arrays *host);
enum kc_status kc_ask_device_new(struct kc_gpu *gpu, struct kc_ask_arrays *device,
                                 const struct kc_ask_sizes *caps, struct kc_error *err);
void kc_ask_device_free(struct kc_gpu *gpu, struct kc_ask_arrays *device,
                        const struct kc_ask_sizes *caps);

/* A sequence on the way into batches, in pieces of its stretches, which are packed. */
struct kc_ask_walk {
        const char *letters;
        uint32_t nbases, k;
        uint32_t at; /* where the next piece may begin */
        /* The piece: n windows that follow each other, from a base of the sequence on. */
        uint32_t begin, n;
        bool continues; /* the stretch of the piece before it */
        uint64_t packed[KC_ASK_PIECE_NWORDS];
};

void kc_ask_walk_begin(struct kc_ask_walk *walk, const struct kc_ask_sequence *sequence, int k);

/* Go on to the next piece. False: there is none. */
bool kc_ask_walk_next(struct kc_ask_walk *walk);

/*
 * Fill in windows of a piece from its window `from` on, as many as the batch and a part have room
 * for.
 *   continues  they belong to the same sequence as the last part
 * Returns how many; 0: the batch is full.
 */
uint32_t kc_ask_fill(struct kc_ask_arrays *host, struct kc_ask_sizes *sizes,
                     const struct kc_ask_sizes *caps, int k, bool continues,
                     const struct kc_ask_walk *piece, uint32_t from);

/* Queue the copies of words, firsts and parts. KC_EDEVICE. */
enum kc_status kc_ask_upload(cudaStream_t stream, const struct kc_ask_arrays *device,
                             const struct kc_ask_arrays *host, const struct kc_ask_sizes *sizes,
                             struct kc_error *err);

/* Queue a copy of n elements. KC_EDEVICE. */
template <class T>
static inline enum kc_status kc_ask_copy(T *to, const T *from, size_t n, enum cudaMemcpyKind kind,
                                         cudaStream_t stream, struct kc_error *err)
{
        return KC_CUDA(cudaMemcpyAsync(to, from, n * sizeof *to, kind, stream));
}

#endif
