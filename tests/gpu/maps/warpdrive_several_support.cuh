/*
 * A WarpDrive map over several members, which are on several devices if there are any, and a map on
 * the host with which it is compared.
 */
#ifndef KC_TESTS_GPU_MAPS_WARPDRIVE_SEVERAL_SUPPORT_CUH
#define KC_TESTS_GPU_MAPS_WARPDRIVE_SEVERAL_SUPPORT_CUH

#include "gpu/maps/warpdrive/several.cuh"
#include "tests/gpu/links/links_support.cuh"
#include "tests/gpu/maps/warpdrive_support.cuh"

static struct kc_error error, *err = &error;

enum way { PARTS, WRITTEN, COPIED, STAGED };

template <class Layout> struct setting {
        typedef typename Layout::key key;
        struct kc_links links;
        kc_wd_several<Layout> *several;
        reference<key> want;
        uint64_t seed; /* of how keys are dealt to members */
};

template <class Layout>
static void open_setting(setting<Layout> *t, int nmembers, enum way way,
                         const struct kc_wd_options *options, size_t limit_nbytes = 0)
{
        struct kc_wd_options own = *options;
        own.key_bits = WORDS_KEY_BITS;
        error = {};
        open_links(&t->links, nmembers, way == STAGED, limit_nbytes);
        expect_ok(kc_wd_several_new(&t->several, &t->links,
                                    way == WRITTEN  ? KC_WD_WRITTEN
                                    : way == COPIED ? KC_WD_COPIED
                                                    : KC_WD_BY_PARTS,
                                    &own, err),
                  err);
        t->want = reference<typename Layout::key>();
        t->seed = 1;
}

template <class Layout> static void close_setting(setting<Layout> *t)
{
        kc_wd_several_free(t->several);
        close_links(&t->links);
}

/* ---- batches ---- */

/* A batch on the host, dealt to members, and in their memory. */
template <class Key> struct dealt {
        std::vector<Key> keys[KC_GPU_MAX_DEVICES];
        std::vector<uint32_t> values[KC_GPU_MAX_DEVICES];
        std::vector<size_t> from[KC_GPU_MAX_DEVICES]; /* places in the batch */
        kc_wd_share<Key> shares[KC_GPU_MAX_DEVICES];
        uint32_t *found[KC_GPU_MAX_DEVICES];
};

/* Member 1 gets nothing, the others get stretches of various lengths. */
template <class Layout>
static void deal(setting<Layout> *t, const std::vector<typename Layout::key> &keys,
                 const std::vector<uint32_t> &values, dealt<typename Layout::key> *d)
{
        const int n = t->links.n;
        for (size_t i = 0, member = 0; i < keys.size(); i++) {
                if (next_random(&t->seed) % 100 == 0)
                        member = next_random(&t->seed) % (uint64_t)n;
                member = member == 1 ? 0 : member;
                d->keys[member].push_back(keys[i]);
                d->from[member].push_back(i);
                if (!values.empty())
                        d->values[member].push_back(values[i]);
        }
        for (int i = 0; i < n; i++) {
                struct kc_gpu *gpu = &t->links.gpus[i];
                expect_ok(kc_links_use(&t->links, i, err), err);
                d->shares[i] = { up(gpu, d->keys[i]), up(gpu, d->values[i]), d->keys[i].size() };
                d->found[i] = up(gpu, std::vector<uint32_t>(d->keys[i].size(), 77));
        }
        expect_ok(kc_links_use(&t->links, 0, err), err);
}

/* Free the batch; values found are put where the keys were in the batch. */
template <class Layout>
static std::vector<uint32_t> collect(setting<Layout> *t, dealt<typename Layout::key> *d, size_t n)
{
        std::vector<uint32_t> found(n);
        for (int i = 0; i < t->links.n; i++) {
                struct kc_gpu *gpu = &t->links.gpus[i];
                const size_t own = d->keys[i].size();
                expect_ok(kc_links_use(&t->links, i, err), err);
                kc_gpu_delete(gpu, d->shares[i].keys, own);
                kc_gpu_delete(gpu, d->shares[i].values, d->values[i].size());
                std::vector<uint32_t> values = down(gpu, d->found[i], own, own);
                for (size_t j = 0; j < own; j++)
                        found[d->from[i][j]] = values[j];
        }
        expect_ok(kc_links_use(&t->links, 0, err), err);
        return found;
}

template <class Layout>
static enum kc_status put(setting<Layout> *t, enum kc_wd_mode mode,
                          const std::vector<typename Layout::key> &keys,
                          const std::vector<uint32_t> &values, struct kc_error *failure)
{
        dealt<typename Layout::key> d;
        deal(t, keys, values, &d);
        enum kc_status status = kc_wd_several_put(t->several, d.shares, mode, NULL, failure);
        (void)collect(t, &d, keys.size());
        return status;
}

template <class Layout>
static std::vector<uint32_t> retrieve(setting<Layout> *t,
                                      const std::vector<typename Layout::key> &keys,
                                      uint64_t *nfound)
{
        dealt<typename Layout::key> d;
        deal(t, keys, {}, &d);
        expect_ok(kc_wd_several_retrieve(t->several, d.shares, d.found, MISSING, nfound, err), err);
        return collect(t, &d, keys.size());
}

template <class Layout>
static void expect_retrieved(setting<Layout> *t, const std::vector<typename Layout::key> &keys)
{
        uint64_t nfound = 0, nwanted = 0;
        std::vector<uint32_t> got = retrieve(t, keys, &nfound);
        for (size_t i = 0; i < keys.size(); i++) {
                const uint32_t *want = t->want.find(keys[i]);
                assert_int_equal(got[i], want == NULL ? MISSING : *want);
                nwanted += want != NULL;
        }
        assert_int_equal(nfound, nwanted);
}

template <class Layout>
static void add(setting<Layout> *t, const std::vector<typename Layout::key> &keys,
                const std::vector<uint32_t> &weights)
{
        expect_ok(put(t, KC_WD_ADD, keys, weights, err), err);
        for (size_t i = 0; i < keys.size(); i++)
                t->want[keys[i]] =
                        sum_of_counts(t->want[keys[i]], weights.empty() ? 1 : weights[i]);
}

/* Different keys. */
template <class Layout>
static void insert(setting<Layout> *t, const std::vector<typename Layout::key> &keys,
                   const std::vector<uint32_t> &values)
{
        if (Layout::COUNTS_ONLY) {
                add(t, keys, values);
                return;
        }
        expect_ok(put(t, KC_WD_INSERT, keys, values, err), err);
        for (size_t i = 0; i < keys.size(); i++)
                t->want[keys[i]] = values[i];
}

template <class Layout>
static void erase(setting<Layout> *t, const std::vector<typename Layout::key> &keys)
{
        dealt<typename Layout::key> d;
        deal(t, keys, {}, &d);
        expect_ok(kc_wd_several_erase(t->several, d.shares, err), err);
        (void)collect(t, &d, keys.size());
        for (auto key : keys)
                t->want.erase(key);
}

/* Each member has exactly its keys. */
template <class Layout> static void expect_same(setting<Layout> *t)
{
        typedef typename Layout::key Key;
        const uint32_t n = (uint32_t)t->links.n;
        reference<Key> got(t->want.size());
        assert_int_equal(kc_wd_several_nkeys(t->several), t->want.size());
        for (uint32_t i = 0; i < n; i++) {
                struct kc_gpu *gpu = &t->links.gpus[i];
                uint64_t own = t->several->maps[i]->nkeys, nexported;
                expect_ok(kc_links_use(&t->links, (int)i, err), err);
                Key *keys = up(gpu, std::vector<Key>(own));
                uint32_t *values = up(gpu, std::vector<uint32_t>(own));
                expect_ok(kc_wd_export(t->several->maps[i], keys, values, own, &nexported, err),
                          err);
                assert_int_equal(nexported, own);
                std::vector<Key> host_keys = down(gpu, keys, own, own);
                std::vector<uint32_t> host_values = down(gpu, values, own, own);
                for (size_t j = 0; j < own; j++) {
                        assert_int_equal(kc_wd_owner(host_keys[j], n), i);
                        got[host_keys[j]] = host_values[j];
                }
        }
        expect_ok(kc_links_use(&t->links, 0, err), err);
        assert_true(got == t->want);
}

/* Keys that differ: some_keys may repeat those of few bits. */
template <class Layout>
static std::vector<typename Layout::key> different_keys(size_t n, uint64_t seed)
{
        std::vector<typename Layout::key> keys = some_keys<Layout>(n, seed);
        std::sort(keys.begin(), keys.end());
        keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
        for (size_t i = keys.size(); i > 1; i--)
                std::swap(keys[i - 1], keys[next_random(&seed) % i]);
        return keys;
}

#endif
