#include "gpu/maps/warpdrive/several_slice.cuh"

#include <cmath>
#include <new>

/* ---- making and freeing ---- */

uint64_t kc_wd_several_capacity(uint64_t capacity, int nowners)
{
        if (nowners == 1)
                return capacity;
        uint64_t own = (capacity + (uint64_t)nowners - 1) / (uint64_t)nowners;
        return own + 4 * (uint64_t)std::sqrt((double)own) + 16;
}

namespace
{

template <class Layout> struct kc_wd_making {
        kc_wd_several<Layout> *several;
        struct kc_wd_options options; /* of each map */
};

} // namespace

template <class Layout> static enum kc_status map_new(void *ctx, int member, struct kc_error *err)
{
        auto *making = (kc_wd_making<Layout> *)ctx;
        struct kc_gpu *gpu = &making->several->links->gpus[member];
        return kc_wd_new(&making->several->maps[member], gpu, &making->options, gpu->stream, err);
}

template <class Layout>
enum kc_status kc_wd_several_new(kc_wd_several<Layout> **several, struct kc_links *links,
                                 enum kc_wd_transposition transposition,
                                 const struct kc_wd_options *options, struct kc_error *err)
{
        *several = NULL;
        auto *fresh = new (std::nothrow) kc_wd_several<Layout>();
        if (fresh == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        fresh->links = links;
        fresh->transposition = transposition;
        kc_wd_making<Layout> making = { fresh, *options };
        making.options.capacity = kc_wd_several_capacity(options->capacity, links->n);
        enum kc_status status = kc_links_in_turn(links, map_new<Layout>, &making, err);
        if (status == KC_OK)
                *several = fresh;
        else
                kc_wd_several_free(fresh);
        return status;
}

template <class Layout> void kc_wd_several_free(kc_wd_several<Layout> *several)
{
        if (several == NULL)
                return;
        for (kc_wd_map<Layout> *map : several->maps)
                kc_wd_free(map);
        delete several;
}

template <class Layout> uint64_t kc_wd_several_nkeys(const kc_wd_several<Layout> *several)
{
        uint64_t n = 0;
        for (int i = 0; i < several->links->n; i++)
                n += several->maps[i]->nkeys;
        return n;
}

/* ---- operations ---- */

template <class Layout>
static kc_wd_slice<Layout> whole(kc_wd_several<Layout> *several,
                                 const kc_wd_share<typename Layout::key> *shares,
                                 enum kc_wd_operation operation)
{
        kc_wd_slice<Layout> s = {};
        s.several = several;
        s.operation = operation;
        for (int i = 0; i < several->links->n; i++)
                s.stations[i].share = shares[i];
        return s;
}

/* Either all shares have values, or none has: 1 each. */
template <class Layout>
static enum kc_status set_values(kc_wd_slice<Layout> *s, struct kc_error *err)
{
        bool without = false;
        for (int i = 0; i < kc_wd_nowners(s); i++) {
                const auto &share = s->stations[i].share;
                s->with_values |= share.n != 0 && share.values != NULL;
                without |= share.n != 0 && share.values == NULL;
        }
        if (s->with_values && without)
                return kc_fail(
                        err, KC_EUSAGE,
                        "WarpDrive map: some members' shares have values and others' have none");
        return KC_OK;
}

template <class Layout>
enum kc_status kc_wd_several_put(kc_wd_several<Layout> *several,
                                 const kc_wd_share<typename Layout::key> *shares,
                                 enum kc_wd_mode mode, uint32_t *const *refused,
                                 struct kc_error *err)
{
        enum kc_status status;
        kc_wd_slice<Layout> all = whole(several, shares, KC_WD_PUT);
        all.mode = mode;
        KC_TRY(set_values(&all, err));
        if (refused != NULL)
                KC_TRY(kc_wd_expect_refusals(&all, refused, err));
        KC_TRY(kc_wd_do_batch(&all, NULL, err));
out:
        return status;
}

template <class Layout>
enum kc_status kc_wd_several_retrieve(kc_wd_several<Layout> *several,
                                      const kc_wd_share<typename Layout::key> *shares,
                                      uint32_t *const *values, uint32_t missing, uint64_t *nfound,
                                      struct kc_error *err)
{
        kc_wd_slice<Layout> all = whole(several, shares, KC_WD_RETRIEVE);
        all.missing = missing;
        for (int i = 0; i < several->links->n; i++)
                all.stations[i].answers_wanted = values[i];
        return kc_wd_do_batch(&all, nfound, err);
}

template <class Layout>
enum kc_status kc_wd_several_erase(kc_wd_several<Layout> *several,
                                   const kc_wd_share<typename Layout::key> *shares,
                                   struct kc_error *err)
{
        kc_wd_slice<Layout> all = whole(several, shares, KC_WD_ERASE);
        return kc_wd_do_batch(&all, NULL, err);
}

#define INSTANTIATE(Layout) \
        template enum kc_status kc_wd_several_new( \
                kc_wd_several<Layout> **, struct kc_links *, enum kc_wd_transposition, \
                const struct kc_wd_options *, struct kc_error *); \
        template void kc_wd_several_free(kc_wd_several<Layout> *); \
        template uint64_t kc_wd_several_nkeys(const kc_wd_several<Layout> *); \
        template enum kc_status kc_wd_several_put( \
                kc_wd_several<Layout> *, const kc_wd_share<typename Layout::key> *, \
                enum kc_wd_mode, uint32_t *const *, struct kc_error *); \
        template enum kc_status kc_wd_several_retrieve( \
                kc_wd_several<Layout> *, const kc_wd_share<typename Layout::key> *, \
                uint32_t *const *, uint32_t, uint64_t *, struct kc_error *); \
        template enum kc_status kc_wd_several_erase(kc_wd_several<Layout> *, \
                                                    const kc_wd_share<typename Layout::key> *, \
                                                    struct kc_error *);
KC_WD_LAYOUTS(INSTANTIATE)
