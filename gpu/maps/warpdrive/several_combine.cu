#include "gpu/maps/warpdrive/several_slice.cuh"
#include "gpu/maps/warpdrive/tile_leaders.cuh"

#include <algorithm>

/* Add a member's leaders, of all tiles or of every step-th tile, to counts [owners]. */
template <class Layout>
static enum kc_status launch_leaders(kc_wd_slice<Layout> *s, int member, uint32_t step,
                                     uint16_t *leaders, uint32_t *counts, struct kc_error *err)
{
        typedef typename Layout::key Key;
        enum kc_status status;
        const auto *share = &s->stations[member].share;
        const size_t nbytes = kc_wd_leaders_size<Key>::NSLOTS * sizeof(uint32_t);
        const uint32_t n = (uint32_t)share->n;
        KC_TRY(KC_CUDA(cudaFuncSetAttribute(
                wd_leaders_kernel<Key>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)nbytes)));
        wd_leaders_kernel<Key><<<kc_ceil_div(kc_wd_nsent_tiles<Key>(n), step), KC_WD_SPLIT_THREADS,
                                 nbytes, kc_wd_gpu_of(s, member)->stream>>>(
                share->keys, n, (uint32_t)kc_wd_nowners(s), step, leaders, counts);
        KC_TRY(KC_LAUNCHED());
out:
        return status;
}

template <class Layout>
enum kc_status kc_wd_count_leaders(kc_wd_slice<Layout> *s, int member, struct kc_error *err)
{
        auto *own = &s->stations[member];
        return launch_leaders(s, member, 1, own->ranks, own->counts, err);
}

/* ---- whether to combine ---- */

/* Estimate how many leaders a member has. */
template <class Layout> static enum kc_status sample(void *ctx, int member, struct kc_error *err)
{
        typedef typename Layout::key Key;
        enum kc_status status;
        auto *s = (kc_wd_slice<Layout> *)ctx;
        auto *own = &s->stations[member];
        struct kc_gpu *gpu = kc_wd_gpu_of(s, member);
        const size_t nowners = (size_t)kc_wd_nowners(s);
        const uint32_t size = kc_wd_tile<Key>::NKEYS, step = kc_wd_sample_step(own->share.n, size);
        uint32_t *counts = NULL;
        uint64_t nleaders = 0;
        if (own->share.n == 0)
                return KC_OK;
        KC_TRY(kc_gpu_new(gpu, &counts, nowners, err));
        KC_TRY(KC_CUDA(cudaMemsetAsync(counts, 0, nowners * sizeof *counts, gpu->stream)));
        KC_TRY(launch_leaders(s, member, step, NULL, counts, err));
        KC_TRY(kc_gpu_read(gpu, own->row, counts, nowners, err));
        for (size_t i = 0; i < nowners; i++)
                nleaders += own->row[i];
        own->nleaders = (uint64_t)((double)nleaders * (double)own->share.n /
                                   (double)kc_wd_sample_nkeys(own->share.n, size, step));
out:
        kc_gpu_delete(gpu, counts, nowners);
        return status;
}

/* How the keys look to kc_wd_combining_pays, after all members have sampled theirs. */
template <class Layout> static struct kc_wd_combining_costs costs_of(const kc_wd_slice<Layout> *s)
{
        struct kc_wd_combining_costs costs = {};
        const size_t nbytes = sizeof(typename Layout::key);
        for (int i = 0; i < kc_wd_nowners(s); i++) {
                costs.nkeys += s->stations[i].share.n;
                costs.nleaders += s->stations[i].nleaders;
        }
        costs.key_nbytes = nbytes + (s->with_values ? sizeof(uint32_t) : 0);
        costs.pair_nbytes =
                nbytes + (s->with_values || s->mode == KC_WD_ADD ? sizeof(uint32_t) : 0);
        return costs;
}

template <class Layout>
enum kc_status kc_wd_slice_decide(kc_wd_slice<Layout> *s, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        s->combine = s->operation == KC_WD_PUT && s->several->combining == KC_WD_COMBINE_ALWAYS;
        if (s->operation == KC_WD_PUT && s->several->combining == KC_WD_COMBINE_IF_IT_PAYS) {
                KC_TRY(kc_wd_all_members(s, KC_WD_TABLE, sample<Layout>, err));
                const struct kc_wd_combining_costs costs = costs_of(s);
                s->combine = kc_wd_combining_pays(&costs);
        }
        if (s->combine && s->mode == KC_WD_ADD)
                s->with_values = true; /* sums */
out:
        return status;
}

#define INSTANTIATE(Layout) \
        template enum kc_status kc_wd_count_leaders(kc_wd_slice<Layout> *, int, \
                                                    struct kc_error *); \
        template enum kc_status kc_wd_slice_decide(kc_wd_slice<Layout> *, struct kc_error *);
KC_WD_LAYOUTS(INSTANTIATE)
