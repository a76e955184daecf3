#include "gpu/ask/filling.cuh"

enum : uint32_t {
        NBASES_PER_STRETCH = 16, /* a batch has room for a stretch per so many bases... */
        NBASES_PER_PART = 32,    /* ...and for a part per so many */
};

/* ---- memory ---- */

struct kc_ask_sizes kc_ask_caps(uint32_t nbases)
{
        struct kc_ask_sizes caps = {};
        caps.nbases = nbases;
        caps.nstretches = nbases / NBASES_PER_STRETCH + 1;
        caps.nparts = nbases / NBASES_PER_PART + 1;
        return caps;
}

size_t kc_ask_arrays_nbytes(const struct kc_ask_sizes *caps)
{
        return kc_ask_nwords(caps->nbases) * sizeof(uint64_t) +
               caps->nstretches * sizeof(uint32_t) +
               caps->nparts * (sizeof(struct kc_ask_part) + sizeof(struct kc_ask_part_summary)) +
               ((size_t)caps->nmarks + caps->nwindows) * sizeof(uint32_t);
}

/* *memory stays NULL if there are no elements. */
template <class T> static enum kc_status pin(T **memory, size_t n, struct kc_error *err)
{
        return n > 0 ? KC_CUDA(cudaMallocHost((void **)memory, n * sizeof **memory)) : KC_OK;
}

enum kc_status kc_ask_host_new(struct kc_ask_arrays *host, const struct kc_ask_sizes *caps,
                               struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(pin(&host->words, kc_ask_nwords(caps->nbases), err));
        KC_TRY(pin(&host->firsts, caps->nstretches, err));
        KC_TRY(pin(&host->parts, caps->nparts, err));
        KC_TRY(pin(&host->summaries, caps->nparts, err));
        KC_TRY(pin(&host->marks, caps->nmarks, err));
        KC_TRY(pin(&host->counts, caps->nwindows, err));
out:
        return status;
}

void kc_ask_host_free(struct kc_ask_arrays *host)
{
        void *all[] = { host->words,     host->firsts, host->parts,
                        host->summaries, host->marks,  host->counts };
        for (void *one : all)
                (void)cudaFreeHost(one);
        *host = {};
}

enum kc_status kc_ask_device_new(struct kc_gpu *gpu, struct kc_ask_arrays *device,
                                 const struct kc_ask_sizes *caps, struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(kc_gpu_new(gpu, &device->words, kc_ask_nwords(caps->nbases), err));
        KC_TRY(kc_gpu_new(gpu, &device->firsts, caps->nstretches, err));
        KC_TRY(kc_gpu_new(gpu, &device->parts, caps->nparts, err));
        KC_TRY(kc_gpu_new(gpu, &device->summaries, caps->nparts, err));
        KC_TRY(kc_gpu_new(gpu, &device->marks, caps->nmarks, err));
        KC_TRY(kc_gpu_new(gpu, &device->counts, caps->nwindows, err));
out:
        return status;
}

void kc_ask_device_free(struct kc_gpu *gpu, struct kc_ask_arrays *device,
                        const struct kc_ask_sizes *caps)
{
        kc_gpu_delete(gpu, device->words, kc_ask_nwords(caps->nbases));
        kc_gpu_delete(gpu, device->firsts, caps->nstretches);
        kc_gpu_delete(gpu, device->parts, caps->nparts);
        kc_gpu_delete(gpu, device->summaries, caps->nparts);
        kc_gpu_delete(gpu, device->marks, caps->nmarks);
        kc_gpu_delete(gpu, device->counts, caps->nwindows);
        *device = {};
}

/* ---- packing ---- */

void kc_ask_walk_begin(struct kc_ask_walk *walk, const struct kc_ask_sequence *sequence, int k)
{
        walk->letters = sequence->bases;
        walk->nbases = sequence->nbases;
        walk->k = (uint32_t)k;
        walk->at = walk->begin = walk->n = 0;
}

bool kc_ask_walk_next(struct kc_ask_walk *walk)
{
        const uint32_t most = KC_ASK_PIECE_NBASES;
        while (walk->nbases - walk->at >= walk->k) {
                const char *letters = walk->letters + walk->at;
                const uint32_t left = walk->nbases - walk->at;
                const uint32_t n = kc_ask_pack(walk->packed, letters, left < most ? left : most);
                if (n >= walk->k) {
                        walk->continues = walk->n > 0 && walk->at == walk->begin + walk->n;
                        walk->begin = walk->at;
                        walk->n = n - walk->k + 1;
                        walk->at += walk->n; /* the next window, if there are more bases */
                        return true;
                }
                walk->at += n + kc_ask_count_others(letters + n, left - n);
        }
        return false;
}

/* How many more windows the last part can have, if they belong to its sequence; otherwise how many
 * a new part can have, or 0 if there is no room for one. *is_new: a new part must begin. */
static uint32_t part_room(const struct kc_ask_part *parts, uint32_t nparts, uint32_t cap,
                          bool continues, bool *is_new)
{
        *is_new = nparts == 0 || !continues || parts[nparts - 1].n == KC_ASK_PART_NWINDOWS;
        if (!*is_new)
                return KC_ASK_PART_NWINDOWS - parts[nparts - 1].n;
        return nparts < cap ? (uint32_t)KC_ASK_PART_NWINDOWS : 0;
}

uint32_t kc_ask_fill(struct kc_ask_arrays *host, struct kc_ask_sizes *sizes,
                     const struct kc_ask_sizes *caps, int k, bool continues,
                     const struct kc_ask_walk *piece, uint32_t from)
{
        const uint32_t before = (uint32_t)k - 1, room = caps->nbases - sizes->nbases;
        bool is_new;
        const uint32_t most =
                part_room(host->parts, sizes->nparts, caps->nparts, continues, &is_new);
        if (room <= before || most == 0 || sizes->nstretches == caps->nstretches)
                return 0;
        uint32_t n = piece->n - from < most ? piece->n - from : most;
        n = n < room - before ? n : room - before;
        if (is_new)
                host->parts[sizes->nparts++] = { sizes->nwindows, 0 };
        host->parts[sizes->nparts - 1].n += n;
        host->firsts[sizes->nstretches++] = sizes->nwindows;
        kc_ask_copy_bases(host->words, sizes->nbases, piece->packed, from, n + before);
        sizes->nbases += n + before;
        sizes->nwindows += n;
        return n;
}

enum kc_status kc_ask_upload(cudaStream_t stream, const struct kc_ask_arrays *device,
                             const struct kc_ask_arrays *host, const struct kc_ask_sizes *sizes,
                             struct kc_error *err)
{
        enum kc_status status;
        const enum cudaMemcpyKind kind = cudaMemcpyHostToDevice;
        KC_TRY(kc_ask_copy(device->words, host->words, (sizes->nbases + 31) / 32, kind, stream,
                           err));
        KC_TRY(kc_ask_copy(device->firsts, host->firsts, sizes->nstretches, kind, stream, err));
        KC_TRY(kc_ask_copy(device->parts, host->parts, sizes->nparts, kind, stream, err));
out:
        return status;
}
