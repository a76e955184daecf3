#include "gpu/maps/warpdrive/several_slice.cuh"

#include <algorithm>

static const uint64_t SLICE_NKEYS = (uint64_t)1 << 29; /* of a member, at most */
static const uint64_t LEAST_NKEYS = (uint64_t)1 << 10; /* of slices, when memory is scarce */

/* ---- the owners' maps ---- */

/* Do the operation with keys that the member owns. */
template <class Layout>
static enum kc_status operate(const kc_wd_slice<Layout> *s, int member,
                              const kc_wd_share<typename Layout::key> *keys, uint32_t *answers,
                              uint32_t *refused, uint64_t *nfound, struct kc_error *err)
{
        kc_wd_map<Layout> *map = s->several->maps[member];
        if (keys->n == 0)
                return KC_OK;
        if (s->operation == KC_WD_PUT)
                return kc_wd_bulk_put(map, keys->keys, keys->values, keys->n, s->mode, refused,
                                      err);
        if (s->operation == KC_WD_ERASE)
                return kc_wd_erase(map, keys->keys, keys->n, err);
        return kc_wd_bulk_retrieve(map, keys->keys, answers, keys->n, s->missing, nfound, err);
}

/* A full map does not stop the others. */
template <class Layout> static enum kc_status use_map(void *ctx, int member, struct kc_error *err)
{
        auto *s = (kc_wd_slice<Layout> *)ctx;
        auto *own = &s->stations[member];
        struct kc_error failure = {};
        const kc_wd_share<typename Layout::key> got = { own->got_keys, own->got_values, own->ngot };
        own->began = true;
        enum kc_status status =
                operate(s, member, &got, own->answers, own->bits, &own->nfound, &failure);
        if (status == KC_ENOMEM)
                own->full = failure;
        else if (status != KC_OK)
                return kc_fail_as(err, &failure);
        return KC_OK;
}

/* Use all maps. KC_ENOMEM: some are full, or had no thread; the others have been used. */
template <class Layout> static enum kc_status use_maps(kc_wd_slice<Layout> *s, struct kc_error *err)
{
        struct kc_error failure = {};
        s->began = true;
        enum kc_status status = kc_wd_all_members(s, KC_WD_LOCAL, use_map<Layout>, &failure);
        for (int i = 0; i < kc_wd_nowners(s) && status == KC_OK; i++) {
                failure = s->stations[i].full;
                status = failure.status;
        }
        if (status == KC_ENOMEM && s->operation == KC_WD_PUT) {
                enum kc_status reported = kc_wd_slice_report(s, err);
                if (reported != KC_OK)
                        return reported;
        }
        return status == KC_OK ? KC_OK : kc_fail_as(err, &failure);
}

/* ---- a slice ---- */

/* All stages of a slice that has its memory. KC_ENOMEM: as in use_maps if s->began. */
template <class Layout>
static enum kc_status pass_through(kc_wd_slice<Layout> *s, struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(kc_wd_slice_send(s, err));
        for (int i = 0; i < kc_wd_nowners(s) && s->operation == KC_WD_PUT; i++)
                s->several->nsent += s->stations[i].ngot;
        KC_TRY(use_maps(s, err));
        if (s->operation == KC_WD_RETRIEVE) {
                KC_TRY(kc_wd_slice_copy_answers(s, err));
                KC_TRY(kc_wd_all_members(s, KC_WD_FETCH, kc_wd_slice_fetch<Layout>, err));
        }
out:
        return status;
}

/* By parts if that is better and there is memory for it. */
template <class Layout> static enum kc_status do_slice(kc_wd_slice<Layout> *s, struct kc_error *err)
{
        struct kc_error ignored = {}, failure = {}; /* ignored: another failure is reported */
        enum kc_status status = kc_wd_slice_decide(s, err);
        if (status == KC_OK && kc_wd_slice_has_parts(s)) {
                status = kc_wd_slice_by_parts(s, &failure);
                if (status != KC_ENOMEM || s->began)
                        return status == KC_OK ? KC_OK : kc_fail_as(err, &failure);
                status = KC_OK;
        }
        if (status == KC_OK)
                status = kc_wd_slice_prepare(s, err);
        if (status == KC_OK)
                status = pass_through(s, err);
        if (status != KC_OK)
                (void)kc_links_settle(s->several->links, &ignored);
        kc_wd_slice_release(s);
        return status;
}

/* ---- a batch ---- */

/* The keys of each share from number `at` on, at most cap of them. */
template <class Layout>
static kc_wd_slice<Layout> cut(const kc_wd_slice<Layout> *all, uint64_t at, uint64_t cap)
{
        kc_wd_slice<Layout> s = *all;
        for (int i = 0; i < kc_wd_nowners(all); i++) {
                auto *own = &s.stations[i];
                const uint64_t begin = std::min(at, own->share.n);
                own->share.n = std::min(cap, own->share.n - begin);
                own->share.keys += begin;
                if (own->share.values != NULL)
                        own->share.values += begin;
                if (own->answers_wanted != NULL)
                        own->answers_wanted += begin;
                if (own->refused_wanted != NULL)
                        own->refused_wanted += begin / 32;
        }
        return s;
}

/* Keys that each member has in the first slice: half of the memory is left to the maps, and an
 * owner's keys are numbered with 32 bits. */
template <class Layout> static uint64_t first_cap(const kc_wd_slice<Layout> *all)
{
        const size_t per_key = 2 * (sizeof(typename Layout::key) + 2 * sizeof(uint32_t));
        uint64_t cap = std::min(SLICE_NKEYS, ((uint64_t)UINT32_MAX >> 1) / kc_wd_nowners(all));
        for (int i = 0; i < kc_wd_nowners(all); i++)
                cap = std::min(cap, (uint64_t)kc_gpu_room(kc_wd_gpu_of(all, i)) / 2 / per_key);
        cap = std::max(cap, LEAST_NKEYS);
        if (all->several->most_nkeys != 0)
                cap = std::min(cap, all->several->most_nkeys);
        return std::max(cap / 32, (uint64_t)1) * 32; /* refused keys are words of bits */
}

/* A single member owns all keys. */
template <class Layout>
static enum kc_status do_alone(const kc_wd_slice<Layout> *all, uint64_t *nfound,
                               struct kc_error *err)
{
        const auto *own = &all->stations[0];
        kc_wd_stopwatch watch(&all->several->seconds[KC_WD_LOCAL]);
        *nfound = 0;
        return operate(all, 0, &own->share, own->answers_wanted, own->refused_wanted, nfound, err);
}

/* All slices of a batch. If there is no memory for a slice, a smaller one is tried. A full map does
 * not stop the slices that follow, whose keys may have room. */
template <class Layout>
static enum kc_status do_slices(const kc_wd_slice<Layout> *all, uint64_t *nfound,
                                struct kc_error *err)
{
        enum kc_status status = KC_OK;
        struct kc_error full = {};
        uint64_t most = 0, cap = first_cap(all);
        *nfound = 0;
        for (int i = 0; i < kc_wd_nowners(all); i++)
                most = std::max(most, all->stations[i].share.n);
        for (uint64_t at = 0; at < most;) {
                kc_wd_slice<Layout> s = cut(all, at, cap);
                struct kc_error failure = {};
                status = do_slice(&s, &failure);
                for (int i = 0; i < kc_wd_nowners(all); i++)
                        *nfound += s.stations[i].nfound;
                if (status == KC_ENOMEM && !s.began && cap > LEAST_NKEYS) {
                        cap = std::max(std::min(cap, most) / 64 * 32, LEAST_NKEYS);
                        continue;
                }
                if (status == KC_ENOMEM && !s.began)
                        kc_wd_refuse_rest(all, at);
                if (status != KC_OK && (status != KC_ENOMEM || !s.began))
                        return kc_fail_as(err, &failure);
                if (status != KC_OK)
                        full = failure;
                at += cap;
        }
        return full.status == KC_OK ? KC_OK : kc_fail_as(err, &full);
}

template <class Layout>
enum kc_status kc_wd_do_batch(const kc_wd_slice<Layout> *all, uint64_t *nfound,
                              struct kc_error *err)
{
        uint64_t n;
        enum kc_status status =
                kc_wd_nowners(all) == 1 ? do_alone(all, &n, err) : do_slices(all, &n, err);
        if (nfound != NULL)
                *nfound = n;
        return status;
}

#define INSTANTIATE(Layout) \
        template enum kc_status kc_wd_do_batch(const kc_wd_slice<Layout> *, uint64_t *, \
                                               struct kc_error *);
KC_WD_LAYOUTS(INSTANTIATE)
