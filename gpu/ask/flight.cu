#include "gpu/ask/flight.cuh"

enum : uint32_t {
        LEAST_NBASES = 1 << 12, /* the fewest bases of a batch */
};

/* ---- memory ---- */

static struct kc_ask_sizes host_caps(const struct kc_ask_rules *rules)
{
        struct kc_ask_sizes caps = rules->caps;
        caps.nmarks = rules->wants_marks ? kc_ask_marks_at(caps.nbases, caps.nparts) : 0;
        caps.nwindows = rules->setup.wants_counts ? caps.nbases : 0;
        return caps;
}

static struct kc_ask_sizes device_caps(const struct kc_ask_rules *rules)
{
        struct kc_ask_sizes caps = host_caps(rules);
        caps.nwindows = rules->shared ? 0 : caps.nbases;
        return caps;
}

void kc_ask_flight_plan(struct kc_ask_rules *rules, uint32_t batch_nbases, uint32_t most_nbases,
                        size_t key_nbytes, uint64_t host_nbytes, uint64_t device_nbytes)
{
        const uint32_t k = (uint32_t)rules->k;
        uint32_t nbases = batch_nbases != 0 ? batch_nbases : most_nbases;
        for (;; nbases /= 2) {
                rules->caps = kc_ask_caps(nbases > k ? nbases : k);
                const struct kc_ask_sizes host = host_caps(rules), device = device_caps(rules);
                const bool fit = kc_ask_arrays_nbytes(&host) <= host_nbytes &&
                                 kc_ask_arrays_nbytes(&device) + device.nwindows * key_nbytes <=
                                         device_nbytes;
                if (batch_nbases != 0 || nbases <= LEAST_NBASES || fit)
                        break;
        }
}

template <class Key>
enum kc_status kc_ask_flight_open(struct kc_ask_flight<Key> *flight, struct kc_gpu *gpu,
                                  const struct kc_ask_rules *rules, struct kc_error *err)
{
        const struct kc_ask_sizes host = host_caps(rules), device = device_caps(rules);
        enum kc_status status;
        KC_TRY(KC_CUDA(cudaStreamCreateWithFlags(&flight->stream, cudaStreamNonBlocking)));
        KC_TRY(kc_ask_host_new(&flight->host, &host, err));
        KC_TRY(kc_ask_device_new(gpu, &flight->device, &device, err));
        KC_TRY(kc_gpu_new(gpu, &flight->kmers, device.nwindows, err));
out:
        return status;
}

template <class Key>
void kc_ask_flight_close(struct kc_ask_flight<Key> *flight, struct kc_gpu *gpu,
                         const struct kc_ask_rules *rules)
{
        const struct kc_ask_sizes device = device_caps(rules);
        kc_gpu_delete(gpu, flight->kmers, device.nwindows);
        kc_ask_device_free(gpu, &flight->device, &device);
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
        if (to->marks != NULL)
                KC_TRY(kc_ask_copy(to->marks, from->marks, kc_ask_marks_at(n->nwindows, n->nparts),
                                   kind, stream, err));
        if (to->counts != NULL)
                KC_TRY(kc_ask_copy(to->counts, from->counts, n->nwindows, kind, stream, err));
out:
        return status;
}

template <class Key>
enum kc_status kc_ask_flight_begin(const struct kc_ask_flight<Key> *flight, cudaStream_t stream,
                                   Key *kmers, const struct kc_ask_rules *rules,
                                   struct kc_error *err)
{
        const struct kc_ask_sizes *n = &flight->sizes;
        enum kc_status status;
        KC_TRY(kc_ask_upload(stream, &flight->device, &flight->host, n, err));
        KC_TRY(kc_ask_make_kmers(stream, &flight->device, n, rules->k, rules->stranded, kmers,
                                 err));
out:
        return status;
}

template <class Key>
enum kc_status kc_ask_flight_end(const struct kc_ask_flight<Key> *flight, cudaStream_t stream,
                                 uint32_t *counts, const struct kc_ask_rules *rules,
                                 struct kc_error *err)
{
        struct kc_ask_arrays device = flight->device;
        enum kc_status status;
        device.counts = counts;
        KC_TRY(kc_ask_summarize_parts(stream, &device, &flight->sizes, &rules->setup, err));
        KC_TRY(download(&flight->host, &device, &flight->sizes, stream, err));
out:
        return status;
}

template <class Key>
enum kc_status kc_ask_flight_start(struct kc_ask_flight<Key> *flight,
                                   const struct kc_ask_map<Key> *table,
                                   const struct kc_ask_rules *rules, struct kc_error *err)
{
        cudaStream_t stream = flight->stream;
        uint32_t *counts = flight->device.counts;
        enum kc_status status;
        KC_TRY(kc_ask_flight_begin(flight, stream, flight->kmers, rules, err));
        KC_TRY(kc_ask_map_find(table, stream, (const Key *)flight->kmers, counts,
                               flight->sizes.nwindows, err));
        KC_TRY(kc_ask_flight_end(flight, stream, counts, rules, err));
out:
        return status;
}

#define INSTANTIATE(Key) \
        template enum kc_status kc_ask_flight_open(struct kc_ask_flight<Key> *, struct kc_gpu *, \
                                                   const struct kc_ask_rules *, \
                                                   struct kc_error *); \
        template void kc_ask_flight_close(struct kc_ask_flight<Key> *, struct kc_gpu *, \
                                          const struct kc_ask_rules *); \
        template enum kc_status kc_ask_flight_begin( \
                const struct kc_ask_flight<Key> *, cudaStream_t, Key *, \
                const struct kc_ask_rules *, struct kc_error *); \
        template enum kc_status kc_ask_flight_end(const struct kc_ask_flight<Key> *, cudaStream_t, \
                                                  uint32_t *, const struct kc_ask_rules *, \
                                                  struct kc_error *); \
        template enum kc_status kc_ask_flight_start( \
                struct kc_ask_flight<Key> *, const struct kc_ask_map<Key> *, \
                const struct kc_ask_rules *, struct kc_error *);
KC_GPU_INTEGER_KEYS(INSTANTIATE)
