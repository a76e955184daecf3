/*
 * Filling a batch (gpu/ask/batch.cuh) on the host: its memory there and on the device, and packing
 * windows into it.
 */
#ifndef KC_GPU_ASK_FILLING_CUH
#define KC_GPU_ASK_FILLING_CUH

#include "gpu/ask/batch.cuh"

/* What a batch of at most nbases bases has room for. */
struct kc_ask_sizes kc_ask_caps(uint32_t nbases);

/* Bytes of pinned memory that kc_ask_host_new takes. */
size_t kc_ask_host_nbytes(const struct kc_ask_sizes *caps, bool wants_counts);

/* Allocate the arrays of a batch; free them even after a failure. KC_ENOMEM, KC_EDEVICE. */
enum kc_status kc_ask_host_new(struct kc_ask_arrays *host, const struct kc_ask_sizes *caps,
                               bool wants_counts, struct kc_error *err);
void kc_ask_host_free(struct kc_ask_arrays *host);
enum kc_status kc_ask_device_new(struct kc_gpu *gpu, struct kc_ask_arrays *device,
                                 const struct kc_ask_sizes *caps, struct kc_error *err);
void kc_ask_device_free(struct kc_gpu *gpu, struct kc_ask_arrays *device,
                        const struct kc_ask_sizes *caps);

/*
 * Pack the first of n windows that follow each other, as many as the batch and a part have room
 * for.
 *   host       without parts (NULL), if the caller does not want any
 *   continues  they belong to the same sequence as the last part
 * Returns how many; 0: the batch is full.
 */
uint32_t kc_ask_fill(struct kc_ask_arrays *host, struct kc_ask_sizes *sizes,
                     const struct kc_ask_sizes *caps, int k, bool continues, const char *letters,
                     uint32_t n);

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
