/*
 * Batches for the WarpDrive map that are first split by its parts; then each block loads a part
 * into its shared memory and puts or looks up the part's keys there.
 *
 *      keys ──▶ split by part ──▶ a block a part ──▶ the map
 *                                                ──▶ values back to where the keys were
 *
 * What must move through device memory, in bytes per key of 64 bits with a value of 32, in two
 * passes: to put, 8 to count, 24 and 24 to split, 12 to read, and the part's slots in (unless the
 * map is empty) and out; to retrieve, 8, 18 and 18, 8 and the slots, 4, and 10 and 10 on the way
 * back.
 *
 * Source: Juenger et al., WarpDrive (2018), section IV-B, where the multisplit is between devices,
 * and section VI.
 */
#include "gpu/maps/warpdrive/bulk.cuh"

#include <algorithm>

enum {
        LEAST_SHARE = 8, /* with fewer keys than slots / this, loading parts does not pay */
};
static const uint64_t SLICE_NKEYS = (uint64_t)1 << 29;
static const uint64_t LOOKUPS_NKEYS = (uint64_t)1
                                      << 20; /* at a time, to learn which were refused */

/* ---- a slice of a batch ---- */

namespace
{

/* Memory for a slice of `cap` keys; each pass has its own. */
template <class Layout> struct slice {
        typedef typename Layout::key Key;
        struct kc_gpu_stream on; /* on.gpu NULL: there is none */
        uint64_t cap;
        uint32_t nparts;
        int npasses;
        bool back;
        Key *keys[2];
        uint32_t *values[2];
        uint32_t *begins;     /* [nparts + 1] */
        uint32_t *cursors[2]; /* [nparts] at most */
        struct kc_wd_level levels[2];
};

} // namespace

static int bits_above(int part_bits)
{
        return part_bits <= KC_WD_ONE_PASS_BITS ? 0 : (part_bits + 1) / 2;
}

template <class Layout>
static enum kc_status levels_new(const kc_wd_map<Layout> *map, slice<Layout> *s,
                                 struct kc_error *err)
{
        enum kc_status status = KC_OK;
        const struct kc_wd_shape *shape = &map->view.shape;
        int above = bits_above(shape->part_bits);
        s->npasses = above == 0 ? 1 : 2;
        for (int i = 0; i < s->npasses; i++) {
                struct kc_wd_level *level = &s->levels[i];
                level->above = i == 0 ? 0 : above;
                level->bits = i == 0 && above != 0 ? above : shape->part_bits - above;
                level->nowners = 1;
                level->n = (uint32_t)s->cap;
                level->begins = s->begins;
                KC_TRY(kc_gpu_new(s->on, &s->cursors[i], s->nparts, err));
                level->cursors = s->cursors[i];
                if (!s->back)
                        continue;
                KC_TRY(kc_gpu_new(s->on, &level->ranks, s->cap, err));
                KC_TRY(kc_gpu_new(s->on, &level->runs, kc_wd_nruns<typename Layout::key>(level),
                                  err));
        }
out:
        return status;
}

/* Runs take at most two bytes per key. An eighth is left for the map's own allocations. A slice is
 * a multiple of 32 keys, or all that there are. KC_ENOMEM also if slices would be so small that
 * loading the parts for each does not pay. */
template <class Layout>
static enum kc_status slice_new(const kc_wd_map<Layout> *map, slice<Layout> *s, uint64_t n,
                                bool back, struct kc_error *err)
{
        enum kc_status status;
        size_t per_key = 2 * (sizeof(typename Layout::key) + sizeof(uint32_t)) + (back ? 6 : 0);
        uint64_t room = kc_gpu_room(map->on.gpu) / 8 * 7 / per_key;
        s->on = map->on;
        s->cap = n <= std::min(SLICE_NKEYS, room) ? n : std::min(SLICE_NKEYS, room) / 32 * 32;
        if (s->cap < std::min(n, map->nslots / LEAST_SHARE))
                return KC_ENOMEM;
        s->nparts = 1u << map->view.shape.part_bits;
        s->back = back;
        KC_TRY(kc_gpu_new(s->on, &s->begins, (size_t)s->nparts + 1, err));
        for (int i = 0; i < 2; i++) {
                KC_TRY(kc_gpu_new(s->on, &s->keys[i], s->cap, err));
                KC_TRY(kc_gpu_new(s->on, &s->values[i], s->cap, err));
        }
        KC_TRY(levels_new(map, s, err));
out:
        return status;
}

/* A zeroed one is fine. */
template <class Layout> static void slice_free(slice<Layout> *s)
{
        for (int i = 0; i < 2 && s->on.gpu != NULL; i++) {
                struct kc_wd_level *level = &s->levels[i];
                level->n = (uint32_t)s->cap;
                kc_gpu_delete(s->on, level->runs, kc_wd_nruns<typename Layout::key>(level));
                kc_gpu_delete(s->on, level->ranks, s->cap);
                kc_gpu_delete(s->on, s->cursors[i], s->nparts);
                kc_gpu_delete(s->on, s->values[i], s->cap);
                kc_gpu_delete(s->on, s->keys[i], s->cap);
        }
        if (s->on.gpu != NULL)
                kc_gpu_delete(s->on, s->begins, (size_t)s->nparts + 1);
        *s = {};
}

/* ---- splitting ---- */

/*
 * Replace the counts in begins [nparts + 1], of which the last is 0, by where the parts begin.
 * Copies that serve as cursors go to upper (one per 2^shift parts) and lower (one per part); NULL:
 * there is no such pass.
 */
static __global__ void __launch_bounds__(KC_WD_SPLIT_THREADS)
        wd_begins_kernel(uint32_t *begins, uint32_t nparts, int shift, uint32_t *upper,
                         uint32_t *lower)
{
        __shared__ typename kc_wd_scan::TempStorage scratch;
        kc_wd_scan_counts(begins, nparts + 1, &scratch);
        for (uint32_t i = threadIdx.x; i < nparts; i += KC_WD_SPLIT_THREADS) {
                if (upper != NULL && i % (1u << shift) == 0)
                        upper[i >> shift] = begins[i];
                if (lower != NULL)
                        lower[i] = begins[i];
        }
}

template <class Layout>
enum kc_status kc_wd_count_parts(const kc_wd_map<Layout> *map, uint32_t nowners,
                                 const typename Layout::key *keys, uint32_t n, uint32_t *begins,
                                 int shift, uint32_t *upper, uint32_t *lower, struct kc_error *err)
{
        enum kc_status status;
        struct kc_gpu_stream on = map->on;
        auto kernel = wd_count_kernel<typename Layout::key>;
        const uint32_t nparts = nowners << map->view.shape.part_bits;
        uint32_t counted = std::min(nparts, 1u << KC_WD_COUNTED_BITS);
        while (counted * sizeof(uint32_t) > on.gpu->shared_nbytes)
                counted /= 2;
        const size_t nbytes = counted * sizeof(uint32_t);
        int per_sm = 0;
        KC_TRY(KC_CUDA(
                cudaMemsetAsync(begins, 0, ((size_t)nparts + 1) * sizeof(uint32_t), on.stream)));
        KC_TRY(KC_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                            (int)nbytes)));
        KC_TRY(KC_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, kernel,
                                                                     KC_WD_COUNT_THREADS, nbytes)));
        for (uint32_t first = 0; first < nparts; first += counted) {
                unsigned grid = std::min((unsigned)std::max(per_sm * on.gpu->nmultiprocessors, 1),
                                         kc_ceil_div(n, KC_WD_COUNT_THREADS));
                wd_count_kernel<typename Layout::key>
                        <<<grid, KC_WD_COUNT_THREADS, nbytes, on.stream>>>(
                                map->view.shape, nowners, keys, n, first, counted, begins);
                KC_TRY(KC_LAUNCHED());
        }
        wd_begins_kernel<<<1, KC_WD_SPLIT_THREADS, 0, on.stream>>>(begins, nparts, shift, upper,
                                                                   lower);
        KC_TRY(KC_LAUNCHED());
out:
        return status;
}

template <class Layout>
enum kc_status kc_wd_run_pass(const kc_wd_map<Layout> *map,
                              const kc_wd_pass<typename Layout::key> *pass, uint32_t ntiles,
                              struct kc_error *err)
{
        typedef typename Layout::key Key;
        enum kc_status status;
        const size_t nbytes = kc_wd_staging_nbytes<Key>(pass->level);
        KC_TRY(KC_CUDA(cudaFuncSetAttribute(
                wd_split_kernel<Key>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)nbytes)));
        wd_split_kernel<Key><<<ntiles, KC_WD_SPLIT_THREADS, nbytes, map->on.stream>>>(*pass);
        KC_TRY(KC_LAUNCHED());
out:
        return status;
}

/* Split n keys, and values if there are any, into the last pass's arrays. */
template <class Layout>
static enum kc_status split(const kc_wd_map<Layout> *map, const typename Layout::key *keys,
                            const uint32_t *values, uint32_t n, slice<Layout> *s,
                            struct kc_error *err)
{
        enum kc_status status;
        kc_wd_pass<typename Layout::key> pass = {};
        const bool two = s->npasses == 2;
        KC_TRY(kc_wd_count_parts(map, 1, keys, n, s->begins, two ? s->levels[1].bits : 0,
                                 s->cursors[0], two ? s->cursors[1] : NULL, err));
        pass.mix = true;
        pass.keys = keys;
        pass.values = values;
        for (int i = 0; i < s->npasses; i++) {
                s->levels[i].n = n;
                s->levels[i].shape = map->view.shape; /* it changes with a rebuild */
                pass.level = s->levels[i];
                pass.out_keys = s->keys[i];
                pass.out_values = s->values[i];
                KC_TRY(kc_wd_run_pass(map, &pass, kc_wd_ntiles<typename Layout::key>(&pass.level),
                                      err));
                pass.mix = false;
                pass.keys = s->keys[i];
                pass.values = values == NULL ? NULL : s->values[i];
        }
out:
        return status;
}

/* ---- parts ---- */

/* One block per part. Blocks have half the threads if two of them can then share a
 * multiprocessor. */
template <class Kernel>
static enum kc_status part_block(struct kc_gpu_stream on, Kernel *kernel, size_t nbytes,
                                 unsigned *nthreads, struct kc_error *err)
{
        const size_t reserved = 1024; /* of each block's shared memory, and not in shared_nbytes */
        const size_t all = nbytes + KC_WD_PART_THREADS + reserved;
        *nthreads = 2 * all <= on.gpu->shared_nbytes + reserved ? KC_WD_PART_THREADS / 2
                                                                : KC_WD_PART_THREADS;
        return KC_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                            (int)nbytes));
}

template <class Layout> static size_t part_nbytes(uint64_t nslots, int part_bits)
{
        return kc_wd_own<Layout>::nbytes((size_t)(nslots >> part_bits));
}

template <class Layout>
int kc_wd_bulk_part_bits(const struct kc_gpu *gpu, uint64_t capacity, uint32_t group)
{
        int bits = 1;
        for (; bits < KC_WD_MAX_PART_BITS; bits++) {
                uint64_t nwindows = (capacity >> bits) / group + 1;
                if (nwindows < UINT32_MAX / 2 &&
                    kc_wd_own<Layout>::nbytes((size_t)kc_wd_prime_from((uint32_t)nwindows) *
                                              group) <= gpu->shared_nbytes - KC_WD_PART_THREADS)
                        break;
        }
        return bits;
}

template <class Layout> uint64_t kc_wd_bulk_least(const kc_wd_map<Layout> *map)
{
        const int part_bits = map->view.shape.part_bits;
        const bool fits = part_nbytes<Layout>(map->nslots, part_bits) <=
                          map->on.gpu->shared_nbytes - KC_WD_PART_THREADS;
        return part_bits > 0 && fits ? map->nslots / LEAST_SHARE : UINT64_MAX;
}

template <class Layout>
static kc_wd_parted<typename Layout::key> parted_of(const kc_wd_map<Layout> *map,
                                                    const slice<Layout> *s)
{
        kc_wd_parted<typename Layout::key> parted = {};
        parted.keys = s->keys[s->npasses - 1];
        parted.begins = s->begins;
        parted.fresh = map->nkeys == 0 && map->ntombs == 0;
        parted.totals = map->totals;
        return parted;
}

template <class Layout> static bool has_single_slots(const kc_wd_map<Layout> *map)
{
        return map->view.shape.group == 1 && map->view.shape.linear == 1;
}

template <class Layout, bool SINGLE>
static enum kc_status launch_put(const kc_wd_map<Layout> *map,
                                 const kc_wd_parted<typename Layout::key> *parted, uint32_t nparts,
                                 enum kc_wd_mode mode, struct kc_error *err)
{
        enum kc_status status;
        size_t nbytes = part_nbytes<Layout>(map->nslots, map->view.shape.part_bits);
        unsigned nthreads;
        KC_TRY(part_block(map->on, wd_put_part_kernel<Layout, SINGLE>, nbytes, &nthreads, err));
        wd_put_part_kernel<Layout, SINGLE>
                <<<nparts, nthreads, nbytes, map->on.stream>>>(map->view, *parted, mode);
        KC_TRY(KC_LAUNCHED());
out:
        return status;
}

template <class Layout>
enum kc_status kc_wd_put_parts(const kc_wd_map<Layout> *map,
                               const kc_wd_parted<typename Layout::key> *parted, uint32_t nparts,
                               enum kc_wd_mode mode, struct kc_error *err)
{
        return has_single_slots(map) ? launch_put<Layout, true>(map, parted, nparts, mode, err)
                                     : launch_put<Layout, false>(map, parted, nparts, mode, err);
}

template <class Layout, bool SINGLE>
static enum kc_status launch_retrieve(const kc_wd_map<Layout> *map,
                                      const kc_wd_parted<typename Layout::key> *parted,
                                      uint32_t nparts, struct kc_error *err)
{
        enum kc_status status;
        size_t nbytes = part_nbytes<Layout>(map->nslots, map->view.shape.part_bits);
        unsigned nthreads;
        KC_TRY(part_block(map->on, wd_retrieve_part_kernel<Layout, SINGLE>, nbytes, &nthreads,
                          err));
        wd_retrieve_part_kernel<Layout, SINGLE>
                <<<nparts, nthreads, nbytes, map->on.stream>>>(map->view, *parted);
        KC_TRY(KC_LAUNCHED());
out:
        return status;
}

template <class Layout>
enum kc_status kc_wd_retrieve_parts(const kc_wd_map<Layout> *map,
                                    const kc_wd_parted<typename Layout::key> *parted,
                                    uint32_t nparts, struct kc_error *err)
{
        return has_single_slots(map) ? launch_retrieve<Layout, true>(map, parted, nparts, err)
                                     : launch_retrieve<Layout, false>(map, parted, nparts, err);
}

/* Keys that find no room in their parts are left in the slice's other arrays. */
template <class Layout>
static enum kc_status put_split(kc_wd_map<Layout> *map, enum kc_wd_mode mode, bool with_values,
                                const slice<Layout> *s, uint64_t *nrefused, struct kc_error *err)
{
        enum kc_status status;
        unsigned long long totals[KC_WD_NTOTALS];
        kc_wd_parted<typename Layout::key> parted = parted_of(map, s);
        int last = s->npasses - 1;
        parted.values = with_values ? s->values[last] : NULL;
        parted.refused_keys = s->keys[1 - last]; /* these are no longer needed */
        parted.refused_values = s->values[1 - last];
        KC_TRY(kc_wd_clear_totals(map->on, map->totals, err));
        KC_TRY(kc_wd_put_parts(map, &parted, s->nparts, mode, err));
        KC_TRY(kc_gpu_read(map->on, totals, map->totals, KC_WD_NTOTALS, err));
        map->nkeys += totals[KC_WD_NCLAIMED];
        *nrefused = totals[KC_WD_NREFUSED];
out:
        return status;
}

/* Replace memory for `cap` elements by memory for the first n; if there is no memory for both, keep
 * it. */
template <class T>
static void shrink(struct kc_gpu_stream on, T **memory, uint64_t *cap, uint64_t n)
{
        struct kc_error error = {}, *err = &error;
        T *less = NULL;
        if (kc_gpu_new(on, &less, n, err) != KC_OK)
                return;
        if (KC_CUDA(cudaMemcpyAsync(less, *memory, n * sizeof(T), cudaMemcpyDeviceToDevice,
                                    on.stream)) == KC_OK) {
                std::swap(less, *memory);
                std::swap(n, *cap);
        }
        kc_gpu_delete(on, less, n);
}

/* Put the keys that found no room in their parts directly, which rebuilds the map. This takes
 * memory for a second table, so all of the slice but these keys is freed first. */
template <class Layout>
static enum kc_status put_refused(kc_wd_map<Layout> *map, enum kc_wd_mode mode, slice<Layout> *s,
                                  uint64_t n, struct kc_error *err)
{
        const int other = 2 - s->npasses;
        typename Layout::key *keys = NULL;
        uint32_t *values = NULL;
        uint64_t keys_cap = s->cap, values_cap = s->cap;
        std::swap(keys, s->keys[other]);
        std::swap(values, s->values[other]);
        slice_free(s);
        shrink(map->on, &keys, &keys_cap, n);
        shrink(map->on, &values, &values_cap, n);
        enum kc_status status = kc_wd_put_expected(map, keys, values, n, mode, NULL, err);
        kc_gpu_delete(map->on, values, values_cap);
        kc_gpu_delete(map->on, keys, keys_cap);
        return status;
}

/* ---- which keys were refused ---- */

namespace
{

/* Memory for looking keys up, `cap` at a time. */
struct lookups {
        uint32_t *values; /* [cap] */
        uint8_t *found;   /* [cap] */
        uint64_t cap;     /* 0: the caller does not ask which keys were refused */
};

} // namespace

static enum kc_status lookups_new(struct kc_gpu_stream on, struct lookups *l, uint64_t n,
                                  struct kc_error *err)
{
        enum kc_status status;
        l->cap = std::min(n, LOOKUPS_NKEYS);
        KC_TRY(kc_gpu_new(on, &l->values, l->cap, err));
        KC_TRY(kc_gpu_new(on, &l->found, l->cap, err));
out:
        return status;
}

static void lookups_free(struct kc_gpu_stream on, struct lookups *l)
{
        kc_gpu_delete(on, l->found, l->cap);
        kc_gpu_delete(on, l->values, l->cap);
}

static __global__ void wd_absent_kernel(const uint8_t *found, uint32_t n, uint32_t *bits)
{
        uint32_t i = blockIdx.x * KC_WD_THREADS + threadIdx.x;
        uint32_t absent = __ballot_sync(UINT32_MAX, i < n && !found[i]);
        if (i < n && kc_warp_lane() == 0)
                bits[i / 32] = absent;
}

/*
 * Set the bits of the refused among n keys that were just put: those that are not in the map. No
 * slot becomes free while keys are put. So if one occurrence of a key finds no room, none of those
 * in the same slice does, and a key that was refused is absent.
 */
template <class Layout>
static enum kc_status mark_refused(const kc_wd_map<Layout> *map, const typename Layout::key *keys,
                                   uint64_t n, const struct lookups *l, uint32_t *refused,
                                   struct kc_error *err)
{
        enum kc_status status = KC_OK;
        for (uint64_t at = 0; at < n && l->cap != 0; at += l->cap) {
                uint32_t own = (uint32_t)std::min(l->cap, n - at);
                KC_TRY(kc_wd_retrieve(map, keys + at, l->values, own, 0, l->found, NULL, err));
                wd_absent_kernel<<<kc_ceil_div(own, KC_WD_THREADS), KC_WD_THREADS, 0,
                                   map->on.stream>>>(l->found, own, refused + at / 32);
                KC_TRY(KC_LAUNCHED());
        }
out:
        return status;
}

/* ---- batches ---- */

/* Put the first keys of a batch of *n. *n out: how many were put or refused; all of them if there
 * is no memory for a slice. */
template <class Layout>
static enum kc_status put_slice(kc_wd_map<Layout> *map, const typename Layout::key *keys,
                                const uint32_t *values, uint64_t *n, enum kc_wd_mode mode,
                                slice<Layout> *s, const struct lookups *l, uint32_t *refused,
                                struct kc_error *err)
{
        enum kc_status status = KC_OK;
        struct kc_error refusal = {};
        uint64_t nrefused;
        if (s->on.gpu == NULL)
                status = slice_new(map, s, *n, false, &refusal);
        if (status == KC_ENOMEM) {
                slice_free(s);
                return kc_wd_put_expected(map, keys, values, *n, mode, refused, err);
        }
        if (status != KC_OK)
                return kc_fail_as(err, &refusal);
        *n = std::min(*n, s->cap);
        KC_TRY(split(map, keys, values, (uint32_t)*n, s, err));
        KC_TRY(put_split(map, mode, values != NULL, s, &nrefused, err));
        if (nrefused != 0)
                status = put_refused(map, mode, s, nrefused, err);
        if (status == KC_ENOMEM) {
                enum kc_status marked = mark_refused(map, keys, *n, l, refused, err);
                status = marked != KC_OK ? marked : status;
        }
out:
        return status;
}

/* Put all keys of a batch, slice by slice. A slice whose keys find no room does not stop the
 * others, whose keys may have room. */
template <class Layout>
static enum kc_status put_slices(kc_wd_map<Layout> *map, const typename Layout::key *keys,
                                 const uint32_t *values, uint64_t n, enum kc_wd_mode mode,
                                 const struct lookups *l, uint32_t *refused, struct kc_error *err)
{
        enum kc_status status = KC_OK, full = KC_OK;
        slice<Layout> s = {};
        for (uint64_t at = 0, own; at < n; at += own) {
                own = n - at;
                status = put_slice(map, keys + at, values == NULL ? NULL : values + at, &own, mode,
                                   &s, l, refused == NULL ? NULL : refused + at / 32, err);
                if (status == KC_ENOMEM)
                        full = status;
                else
                        KC_TRY(status);
        }
        status = full;
out:
        slice_free(&s);
        return status;
}

/* Take what is needed before the first key can be put; on failure all n keys are refused. */
template <class Layout>
static enum kc_status prepare(kc_wd_map<Layout> *map, const uint32_t *values, uint64_t n,
                              struct lookups *l, uint32_t *refused, struct kc_error *err)
{
        enum kc_status status;
        const size_t nbytes = (n + 31) / 32 * sizeof *refused;
        KC_TRY(kc_wd_expect_weights(map, values, n, err));
        if (refused != NULL) {
                KC_TRY(lookups_new(map->on, l, n, err));
                KC_TRY(KC_CUDA(cudaMemsetAsync(refused, 0, nbytes, map->on.stream)));
        }
out:
        if (status == KC_ENOMEM)
                kc_wd_report_refused(map->on, refused, NULL, n);
        return status;
}

template <class Layout>
enum kc_status kc_wd_bulk_put(kc_wd_map<Layout> *map, const typename Layout::key *keys,
                              const uint32_t *values, uint64_t n, enum kc_wd_mode mode,
                              uint32_t *refused, struct kc_error *err)
{
        enum kc_status status;
        struct lookups l = {};
        if (n < kc_wd_bulk_least(map) || (Layout::COUNTS_ONLY && mode != KC_WD_ADD))
                return kc_wd_put(map, keys, values, n, mode, refused, err);
        KC_TRY(prepare(map, values, n, &l, refused, err));
        KC_TRY(put_slices(map, keys, values, n, mode, &l, refused, err));
out:
        lookups_free(map->on, &l);
        return status;
}

template <class Layout>
enum kc_status kc_wd_run_back(const kc_wd_map<Layout> *map, const struct kc_wd_level *level,
                              uint32_t ntiles, const uint32_t *values, uint32_t *out,
                              struct kc_error *err)
{
        wd_back_kernel<typename Layout::key>
                <<<ntiles, KC_WD_SPLIT_THREADS, 0, map->on.stream>>>(*level, values, out);
        return KC_LAUNCHED();
}

/* Move values of the split keys to where the keys were. */
template <class Layout>
static enum kc_status bring_back(const kc_wd_map<Layout> *map, slice<Layout> *s, uint32_t *out,
                                 struct kc_error *err)
{
        enum kc_status status = KC_OK;
        for (int i = s->npasses - 1; i >= 0; i--) {
                const struct kc_wd_level *level = &s->levels[i];
                KC_TRY(kc_wd_run_back(map, level, kc_wd_ntiles<typename Layout::key>(level),
                                      s->values[i], i == 0 ? out : s->values[i - 1], err));
        }
out:
        return status;
}

template <class Layout>
static enum kc_status retrieve_split(const kc_wd_map<Layout> *map, uint32_t missing,
                                     slice<Layout> *s, uint64_t *nfound, struct kc_error *err)
{
        enum kc_status status;
        struct kc_gpu_stream on = map->on;
        unsigned long long totals[KC_WD_NTOTALS];
        kc_wd_parted<typename Layout::key> parted = parted_of(map, s);
        parted.answers = s->values[s->npasses - 1];
        parted.missing = missing;
        KC_TRY(kc_wd_clear_totals(on, map->totals, err));
        KC_TRY(kc_wd_retrieve_parts(map, &parted, s->nparts, err));
        KC_TRY(kc_gpu_read(on, totals, map->totals, KC_WD_NTOTALS, err));
        *nfound += totals[KC_WD_NHIT];
out:
        return status;
}

template <class Layout>
enum kc_status kc_wd_bulk_retrieve(const kc_wd_map<Layout> *map, const typename Layout::key *keys,
                                   uint32_t *values, uint64_t n, uint32_t missing, uint64_t *nfound,
                                   struct kc_error *err)
{
        enum kc_status status;
        struct kc_error refusal = {};
        slice<Layout> s = {};
        uint64_t all = 0;
        if (n < kc_wd_bulk_least(map))
                return kc_wd_retrieve(map, keys, values, n, missing, NULL, nfound, err);
        status = slice_new(map, &s, n, true, &refusal);
        if (status == KC_ENOMEM) {
                slice_free(&s);
                return kc_wd_retrieve(map, keys, values, n, missing, NULL, nfound, err);
        }
        KC_TRY(status == KC_OK ? KC_OK : kc_fail_as(err, &refusal));
        for (uint64_t at = 0; at < n; at += s.cap) {
                uint64_t own = std::min(s.cap, n - at);
                KC_TRY(split(map, keys + at, NULL, (uint32_t)own, &s, err));
                KC_TRY(retrieve_split(map, missing, &s, &all, err));
                KC_TRY(bring_back(map, &s, values + at, err));
        }
        KC_TRY(KC_CUDA(cudaStreamSynchronize(map->on.stream)));
        if (nfound != NULL)
                *nfound = all;
out:
        slice_free(&s);
        return status;
}

#define INSTANTIATE(Layout) \
        template uint64_t kc_wd_bulk_least(const kc_wd_map<Layout> *); \
        template enum kc_status kc_wd_count_parts( \
                const kc_wd_map<Layout> *, uint32_t, const typename Layout::key *, uint32_t, \
                uint32_t *, int, uint32_t *, uint32_t *, struct kc_error *); \
        template enum kc_status kc_wd_run_pass(const kc_wd_map<Layout> *, \
                                               const kc_wd_pass<typename Layout::key> *, uint32_t, \
                                               struct kc_error *); \
        template enum kc_status kc_wd_run_back(const kc_wd_map<Layout> *, \
                                               const struct kc_wd_level *, uint32_t, \
                                               const uint32_t *, uint32_t *, struct kc_error *); \
        template enum kc_status kc_wd_put_parts(const kc_wd_map<Layout> *, \
                                                const kc_wd_parted<typename Layout::key> *, \
                                                uint32_t, enum kc_wd_mode, struct kc_error *); \
        template enum kc_status kc_wd_retrieve_parts(const kc_wd_map<Layout> *, \
                                                     const kc_wd_parted<typename Layout::key> *, \
                                                     uint32_t, struct kc_error *); \
        template int kc_wd_bulk_part_bits<Layout>(const struct kc_gpu *, uint64_t, uint32_t); \
        template enum kc_status kc_wd_bulk_put(kc_wd_map<Layout> *, const typename Layout::key *, \
                                               const uint32_t *, uint64_t, enum kc_wd_mode, \
                                               uint32_t *, struct kc_error *); \
        template enum kc_status kc_wd_bulk_retrieve( \
                const kc_wd_map<Layout> *, const typename Layout::key *, uint32_t *, uint64_t, \
                uint32_t, uint64_t *, struct kc_error *);
KC_WD_LAYOUTS(INSTANTIATE)
