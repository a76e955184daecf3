#include "gpu/ask/flight.cuh"

/* ---- memory ---- */

size_t kc_ask_flight_nbytes(const struct kc_ask_sizes *caps, size_t key_nbytes)
{
        return kc_ask_host_nbytes(caps, true) + caps->nbases * key_nbytes;
}

template <class Key>
enum kc_status kc_ask_flight_open(struct kc_ask_flight<Key> *flight, struct kc_gpu *gpu,
                                  const struct kc_ask_rules *rules, struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(KC_CUDA(cudaStreamCreateWithFlags(&flight->stream, cudaStreamNonBlocking)));
        KC_TRY(kc_ask_host_new(&flight->host, &rules->caps, rules->setup.wants_counts, err));
        KC_TRY(kc_ask_device_new(gpu, &flight->device, &rules->caps, err));
        KC_TRY(kc_gpu_new(gpu, &flight->kmers, rules->caps.nbases, err));
out:
        return status;
}

template <class Key>
void kc_ask_flight_close(struct kc_ask_flight<Key> *flight, struct kc_gpu *gpu,
                         const struct kc_ask_rules *rules)
{
        kc_gpu_delete(gpu, flight->kmers, rules->caps.nbases);
        kc_ask_device_free(gpu, &flight->device, &rules->caps);
        kc_ask_host_free(&flight->host);
        if (flight->stream != NULL)
                (void)cudaStreamDestroy(flight->stream);
        *flight = {};
}

/* ---- looking up ---- */

static enum kc_status download(const struct kc_ask_arrays *to, const struct kc_ask_arrays *from,
                               const struct kc_ask_sizes *n, cudaStream_t stream,
                               struct kc_error *err)
{
        const enum cudaMemcpyKind kind = cudaMemcpyDeviceToHost;
        enum kc_status status;
        KC_TRY(kc_ask_copy(to->summaries, from->summaries, n->nparts, kind, stream, err));
        if (to->counts != NULL)
                KC_TRY(kc_ask_copy(to->counts, from->counts, n->nwindows, kind, stream, err));
out:
        return status;
}

template <class Key>
enum kc_status kc_ask_flight_start(struct kc_ask_flight<Key> *flight,
                                   const struct kc_ask_map<Key> *table,
                                   const struct kc_ask_rules *rules, struct kc_error *err)
{
        const struct kc_ask_sizes *n = &flight->sizes;
        cudaStream_t stream = flight->stream;
        enum kc_status status;
        KC_TRY(kc_ask_upload(stream, &flight->device, &flight->host, n, err));
        KC_TRY(kc_ask_make_kmers(stream, &flight->device, n, rules->k, rules->stranded,
                                 flight->kmers, err));
        KC_TRY(kc_ask_map_find(table, stream, (const Key *)flight->kmers, flight->device.counts,
                               n->nwindows, err));
        KC_TRY(kc_ask_summarize_parts(stream, &flight->device, n, &rules->setup, err));
        KC_TRY(download(&flight->host, &flight->device, n, stream, err));
out:
        return status;
}

#define INSTANTIATE(Key) \
        template enum kc_status kc_ask_flight_open(struct kc_ask_flight<Key> *, struct kc_gpu *, \
                                                   const struct kc_ask_rules *, \
                                                   struct kc_error *); \
        template void kc_ask_flight_close(struct kc_ask_flight<Key> *, struct kc_gpu *, \
                                          const struct kc_ask_rules *); \
        template enum kc_status kc_ask_flight_start( \
                struct kc_ask_flight<Key> *, const struct kc_ask_map<Key> *, \
                const struct kc_ask_rules *, struct kc_error *);
KC_GPU_INTEGER_KEYS(INSTANTIATE)
