#include "gpu/runs/deal.cuh"

#include <cstdlib>

size_t kc_deal_usual_pairs(uint64_t npairs, size_t nmembers, size_t most)
{
        enum { LEAST = 1 << 20, MOST = 1 << 25, NRANGES = 8 }; /* NRANGES: for each member */
        const uint64_t each = npairs / (nmembers * NRANGES);
        size_t n = each < LEAST ? LEAST : each < MOST ? (size_t)each : MOST;
        if (most != 0 && most < n)
                n = most;
        return npairs / nmembers >= n ? n : 0;
}

namespace
{

/* The runs of all members, and what the cuts so far have left of them. */
template <class Key> struct cutting {
        struct kc_fences<Key> *left;      /* [nruns] member by member */
        const struct kc_fences<Key> **of; /* [nruns] pointers to these */
        size_t nruns, cap;                /* cap: ranges that the deal has memory for */
};

} // namespace

template <class Key>
static enum kc_status begin(struct cutting<Key> *c, const struct kc_deal_member<Key> *members,
                            size_t nmembers, struct kc_error *err)
{
        size_t n = 0;
        for (size_t m = 0; m < nmembers; m++)
                c->nruns += members[m].nruns;
        c->left = (struct kc_fences<Key> *)calloc(c->nruns + 1, sizeof *c->left);
        c->of = (const struct kc_fences<Key> **)calloc(c->nruns + 1, sizeof *c->of);
        if (c->left == NULL || c->of == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        for (size_t m = 0; m < nmembers; m++)
                for (size_t i = 0; i < members[m].nruns; i++, n++) {
                        c->left[n] = *members[m].runs[i];
                        c->of[n] = &c->left[n];
                }
        return KC_OK;
}

/* Room for one more range. */
template <class Key>
static enum kc_status add_range(struct kc_deal<Key> *deal, struct cutting<Key> *c,
                                struct kc_error *err)
{
        const size_t cap = 2 * c->cap + 16;
        if (deal->nranges++ < c->cap)
                return KC_OK;
        void *cuts = realloc(deal->cuts, cap * sizeof *deal->cuts);
        if (cuts != NULL)
                deal->cuts = (Key *)cuts;
        void *places = realloc(deal->places, cap * (deal->nmembers + 1) * sizeof *deal->places);
        if (places != NULL)
                deal->places = (size_t *)places;
        if (cuts == NULL || places == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        c->cap = cap;
        return KC_OK;
}

/*
 * Consume what is sure to be below the cut: up to the last fence below it. That leaves at most
 * KC_FENCE_NPAIRS pairs too many, so the bounds of the next range are still upper bounds.
 */
template <class Key> static void advance(struct kc_fences<Key> *run, Key cut)
{
        const size_t end = run->at + kc_fences_bound(run, cut);
        if (end > run->at)
                run->at = (kc_fences_count(end) - 1) * KC_FENCE_NPAIRS;
}

/* cut: where the range ends; NULL for the last range. */
template <class Key>
static void place_members(const struct kc_deal<Key> *deal, const struct cutting<Key> *c,
                          const struct kc_deal_member<Key> *members, const Key *cut)
{
        size_t *places = deal->places + (deal->nranges - 1) * (deal->nmembers + 1);
        size_t at = 0, n = 0;
        for (size_t m = 0; m < deal->nmembers; m++) {
                places[m] = at;
                for (size_t i = 0; i < members[m].nruns; i++, n++)
                        at += cut != NULL ? kc_fences_bound(&c->left[n], *cut)
                                          : c->left[n].n - c->left[n].at;
        }
        places[deal->nmembers] = at;
}

template <class Key>
static enum kc_status cut_ranges(struct kc_deal<Key> *deal, struct cutting<Key> *c,
                                 const struct kc_deal_member<Key> *members, size_t max_pairs,
                                 struct kc_error *err)
{
        enum kc_status status;
        while (kc_fences_left(c->of, c->nruns) > max_pairs) {
                const Key cut = kc_fences_split(c->of, c->nruns, max_pairs);
                KC_TRY(add_range(deal, c, err));
                deal->cuts[deal->nranges - 1] = cut;
                place_members(deal, c, members, &cut);
                for (size_t i = 0; i < c->nruns; i++)
                        advance(&c->left[i], cut);
        }
        KC_TRY(add_range(deal, c, err));
        place_members<Key>(deal, c, members, NULL);
out:
        return status;
}

template <class Key>
enum kc_status kc_deal_new(struct kc_deal<Key> *deal, const struct kc_deal_member<Key> *members,
                           size_t nmembers, size_t max_pairs, struct kc_error *err)
{
        enum kc_status status;
        cutting<Key> c = {};
        *deal = {};
        deal->nmembers = nmembers;
        KC_TRY(begin(&c, members, nmembers, err));
        KC_TRY(cut_ranges(deal, &c, members, max_pairs, err));
out:
        free(c.left);
        free(c.of);
        return status;
}

template <class Key> void kc_deal_free(struct kc_deal<Key> *deal)
{
        free(deal->cuts);
        free(deal->places);
        *deal = {};
}

#define INSTANTIATE(Key) \
        template enum kc_status kc_deal_new(struct kc_deal<Key> *, \
                                            const struct kc_deal_member<Key> *, size_t, size_t, \
                                            struct kc_error *); \
        template void kc_deal_free(struct kc_deal<Key> *);
KC_GPU_KEYS(INSTANTIATE)
