/*
 * A slice of a batch on its way through the maps of several devices: counted by owner, split,
 * copied to the owners, put or looked up there, and answered. Private to the files several*.cu,
 * each of which has some of the steps.
 *
 * Source: Juenger et al., WarpDrive (2018), section IV-B.
 */
#ifndef KC_GPU_MAPS_WARPDRIVE_SEVERAL_SLICE_CUH
#define KC_GPU_MAPS_WARPDRIVE_SEVERAL_SLICE_CUH

#include "gpu/maps/warpdrive/owners.cuh"
#include "gpu/maps/warpdrive/several.cuh"

#include <chrono>

enum kc_wd_operation { KC_WD_PUT, KC_WD_RETRIEVE, KC_WD_ERASE };

/* A member's part of a slice, as a sender of keys and as an owner. */
template <class Key> struct kc_wd_station {
        kc_wd_share<Key> share;
        uint32_t *answers_wanted; /* [share.n] where the caller wants the answers */
        uint32_t *refused_wanted; /* a bit per key, for the caller; NULL: not wanted */

        uint32_t *counts;                 /* device: a row of T, then the cursors */
        uint32_t row[KC_GPU_MAX_DEVICES]; /* T[member, *] */

        /* As a sender. */
        uint64_t nsent; /* keys that must be copied to their owners */
        Key *sent_keys;
        uint32_t *sent_values, *fetched; /* [nsent]; fetched: answers copied from owners */
        uint64_t nleaders;               /* estimate: keys to be sent if equal ones are combined */
        uint16_t *ranks;                 /* [share.n] */
        uint32_t *words;                 /* [share.n] 1 for a refused key, otherwise 0 */
        struct kc_wd_sent_run *runs;     /* [tiles][owners] */

        /* As an owner. */
        uint64_t ngot;
        Key *got_keys;
        uint32_t *got_values, *answers; /* [ngot] */
        uint32_t *bits;                 /* a bit for each refused key */
        bool began;                     /* to use the map */
        uint64_t nfound;
        struct kc_error full; /* why some of its keys were refused */
};

/* A whole batch has the same form: then only what the caller gave is set. */
template <class Layout> struct kc_wd_slice {
        kc_wd_several<Layout> *several;
        enum kc_wd_operation operation;
        enum kc_wd_mode mode;
        uint32_t missing;
        bool with_values, with_refused;
        bool combine; /* equal keys of a tile */
        bool began;   /* to use the maps */
        kc_wd_station<typename Layout::key> stations[KC_GPU_MAX_DEVICES];
};

/* Adds the time from its construction to its end to a stage. */
struct kc_wd_stopwatch {
        typedef std::chrono::steady_clock clock;
        double *seconds;
        clock::time_point begin;

        explicit kc_wd_stopwatch(double *seconds) : seconds(seconds), begin(clock::now())
        {
        }

        ~kc_wd_stopwatch(void)
        {
                *seconds += std::chrono::duration<double>(clock::now() - begin).count();
        }
};

template <class Layout> static int kc_wd_nowners(const kc_wd_slice<Layout> *s)
{
        return s->several->links->n;
}

template <class Layout> static struct kc_gpu *kc_wd_gpu_of(const kc_wd_slice<Layout> *s, int member)
{
        return &s->several->links->gpus[member];
}

/* Whether the split writes the keys of this owner straight to the owner's memory. */
template <class Layout>
static bool kc_wd_is_written(const kc_wd_slice<Layout> *s, int from, int owner)
{
        return from == owner || (s->several->transposition != KC_WD_COPIED &&
                                 kc_links_reaches(s->several->links, from, owner));
}

/* Where a sender's keys begin in the owner's array: a sum over a column of T. */
template <class Layout>
static uint64_t kc_wd_column_offset(const kc_wd_slice<Layout> *s, int from, int owner)
{
        uint64_t sum = 0;
        for (int i = 0; i < from; i++)
                sum += s->stations[i].row[owner];
        return sum;
}

/* Where an owner's keys begin in the sender's buffer: a sum over what is copied of a row of T. */
template <class Layout>
static uint64_t kc_wd_row_offset(const kc_wd_slice<Layout> *s, int from, int owner)
{
        uint64_t sum = 0;
        for (int i = 0; i < owner; i++)
                sum += kc_wd_is_written(s, from, i) ? 0 : s->stations[from].row[i];
        return sum;
}

/* Words that hold a bit for each of n keys. */
static inline size_t kc_wd_nwords_of_bits(uint64_t n)
{
        return (size_t)((n + 31) / 32);
}

/* Run a step for all members in parallel, on the clock of a stage. ctx of the step: the slice. */
template <class Layout>
static enum kc_status kc_wd_all_members(kc_wd_slice<Layout> *s, enum kc_wd_stage stage,
                                        enum kc_status (*step)(void *ctx, int member,
                                                               struct kc_error *err),
                                        struct kc_error *err)
{
        kc_wd_stopwatch watch(&s->several->seconds[stage]);
        return kc_links_parallel(s->several->links, step, s, err);
}

/* ---- the steps: several_combine.cu ---- */

/* Decide whether to combine equal keys, from a sample of them. KC_ENOMEM, KC_EDEVICE. */
template <class Layout>
enum kc_status kc_wd_slice_decide(kc_wd_slice<Layout> *s, struct kc_error *err);

/* Enqueue the search for the leaders of all keys of a member: writes `ranks`, and adds to
 * `counts`. */
template <class Layout>
enum kc_status kc_wd_count_leaders(kc_wd_slice<Layout> *s, int member, struct kc_error *err);

/* ---- several_table.cu ---- */

/* Fill the partition table, and allocate the memory for what it says. KC_ENOMEM, KC_EDEVICE. */
template <class Layout>
enum kc_status kc_wd_slice_prepare(kc_wd_slice<Layout> *s, struct kc_error *err);

/* Free the memory, which nobody may be using any more. */
template <class Layout> void kc_wd_slice_release(kc_wd_slice<Layout> *s);

/* ---- several_parts.cu ---- */

/* Whether the keys should go through the parts of the owners' maps. Puts of remainder words do not,
 * because their side table must be enlarged first; neither do puts that report refused keys. */
template <class Layout> bool kc_wd_slice_has_parts(const kc_wd_slice<Layout> *s);

/* Do the whole operation this way. KC_ENOMEM: if s->began, some maps are full, and the others have
 * changed; otherwise there is no memory, and no map has changed. */
template <class Layout>
enum kc_status kc_wd_slice_by_parts(kc_wd_slice<Layout> *s, struct kc_error *err);

/* ---- several_exchange.cu ---- */

/* Split the keys, and bring them to their owners. */
template <class Layout>
enum kc_status kc_wd_slice_send(kc_wd_slice<Layout> *s, struct kc_error *err);

/* Copy the owners' answers to senders that cannot read them where they are. */
template <class Layout>
enum kc_status kc_wd_slice_copy_answers(kc_wd_slice<Layout> *s, struct kc_error *err);

/* Put a member's answers in the order of its keys, in answers_wanted. ctx: the slice. */
template <class Layout>
enum kc_status kc_wd_slice_fetch(void *ctx, int member, struct kc_error *err);

/* ---- several_refused.cu ---- */

/* Give the batch's callers a bit for each refused key: all zero so far. */
template <class Layout>
enum kc_status kc_wd_expect_refusals(kc_wd_slice<Layout> *all, uint32_t *const *refused,
                                     struct kc_error *err);

/* Tell the senders which keys were refused. This allocates nothing and starts no thread. */
template <class Layout>
enum kc_status kc_wd_slice_report(kc_wd_slice<Layout> *s, struct kc_error *err);

/* Refuse all keys from number `at` of each share on, a multiple of 32. */
template <class Layout> void kc_wd_refuse_rest(const kc_wd_slice<Layout> *all, uint64_t at);

/* ---- several_batch.cu ---- */

/* Do an operation with a whole batch. nfound: out, keys found; may be NULL. */
template <class Layout>
enum kc_status kc_wd_do_batch(const kc_wd_slice<Layout> *all, uint64_t *nfound,
                              struct kc_error *err);

#endif
