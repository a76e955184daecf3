/*
 * A slice whose keys go through the parts of the owners' maps (bulk.cuh). The sender's split is the
 * first pass as well: by owner and by the upper bits of the part. So the keys of a stretch of an
 * owner's parts lie together; they are copied stretch by stretch, and while one is copied, the
 * owner does the second pass and the parts of the one before.
 *
 *      sender   count, first pass ──▶ stretch 0 │ stretch 1 │ stretch 2 │ ...       copies
 *      owner                                    │ second pass, parts of 0 │ of 1 │ ...
 *
 * Answers return the same way: through the second pass, stretch by stretch to the sender, and there
 * through the first. What has come from a sender stays a segment of its own, in the sender's order.
 *
 * Source: Juenger et al., WarpDrive (2018), section IV-B, whose partitioning overlaps with the
 * all-to-all communication, and section VI.
 */
#include "gpu/maps/warpdrive/bulk.cuh"
#include "gpu/maps/warpdrive/several_slice.cuh"

#include <algorithm>

enum : uint32_t {
        NSTRETCHES = 8,    /* at most; each has a mark of a road */
        ROW = NSTRETCHES,  /* the mark after the copy of got_begins */
        MOST_BUCKETS = 512 /* of the first pass: runs of 16 keys */
};
static_assert((int)ROW < (int)KC_LINKS_NMARKS, "a road has a mark for each");

namespace
{

/* What an owner has got from a sender. */
template <class Key> struct kc_wd_segment {
        const Key *keys;  /* in the sender's order */
        uint32_t *values; /* or answers; NULL: neither */
        struct kc_wd_level level;
};

template <class Key> struct member_parts {
        /* As a sender: its keys by owner and upper bits of the part. */
        uint32_t *begins; /* [owners << part_bits, and 1 more] */
        uint32_t *cursors;
        Key *keys;
        uint32_t *values;                                  /* or answers; NULL: neither */
        struct kc_wd_level level;                          /* of the first pass */
        uint32_t row[KC_GPU_MAX_DEVICES * NSTRETCHES + 1]; /* where owners' stretches begin */

        /* As an owner. */
        kc_wd_segment<Key> segments[KC_GPU_MAX_DEVICES];
        uint64_t ngot, nfar; /* keys; those of other members */
        size_t nruns;
        uint32_t *got_begins; /* [members << part_bits] in each segment */
        Key *got_keys;        /* [nfar] the others' segments */
        uint32_t *got_values;
        uint16_t *ranks; /* [ngot] of the second pass */
        struct kc_wd_run *runs;
        uint32_t *part_begins, *part_cursors; /* [1 << part_bits, and 1 more], of all segments */
        Key *part_keys, *refused_keys;        /* [ngot] by part */
        uint32_t *part_values, *refused_values;
        uint64_t nrefused;
};

template <class Layout> struct by_parts {
        typedef typename Layout::key Key;
        kc_wd_slice<Layout> *s;
        uint32_t nowners, nparts, nstretches;
        int above, below; /* bits of the passes */
        member_parts<Key> members[KC_GPU_MAX_DEVICES];
};

/* Where senders' segments begin in their arrays. */
struct bases {
        uint32_t of[KC_GPU_MAX_DEVICES];
};

} // namespace

/* Make begins [members][nparts] relative to the beginning of each segment. Their sums over the
 * members are where the parts begin. */
static __global__ void __launch_bounds__(KC_WD_THREADS)
        wd_join_begins_kernel(uint32_t *begins, struct bases bases, uint32_t nmembers,
                              uint32_t nparts, uint32_t all, uint32_t *part_begins,
                              uint32_t *part_cursors)
{
        const uint32_t part = blockIdx.x * KC_WD_THREADS + threadIdx.x;
        uint32_t sum = 0;
        for (uint32_t i = 0; i < nmembers && part < nparts; i++)
                sum += begins[(size_t)i * nparts + part] -= bases.of[i];
        if (part < nparts)
                part_begins[part] = part_cursors[part] = sum;
        if (part == 0)
                part_begins[nparts] = all;
}

template <class Layout> static bool comes_back(const by_parts<Layout> *p)
{
        return p->s->operation == KC_WD_RETRIEVE;
}

template <class Layout> static bool has_words(const by_parts<Layout> *p)
{
        return comes_back(p) || p->s->with_values;
}

/* Where a sender's keys of an owner's stretch begin; the one after the last is the end. */
template <class Layout>
static uint32_t begin_of(const by_parts<Layout> *p, int from, int owner, uint32_t stretch)
{
        return p->members[from].row[(uint32_t)owner * p->nstretches + stretch];
}

template <class Layout> static uint32_t n_between(const by_parts<Layout> *p, int from, int owner)
{
        return begin_of(p, from, owner + 1, 0) - begin_of(p, from, owner, 0);
}

/* ---- the sender's split ---- */

template <class Layout>
static enum kc_status first_pass(by_parts<Layout> *p, int member, struct kc_error *err)
{
        typedef typename Layout::key Key;
        enum kc_status status;
        auto *own = &p->members[member];
        const auto *share = &p->s->stations[member].share;
        const kc_wd_map<Layout> *map = p->s->several->maps[member];
        kc_wd_pass<Key> pass = {};
        own->level.shape = map->view.shape;
        own->level.bits = p->above;
        own->level.nowners = p->nowners;
        own->level.n = (uint32_t)share->n;
        own->level.begins = own->begins;
        own->level.cursors = own->cursors;
        if (comes_back(p)) {
                KC_TRY(kc_gpu_new(map->on, &own->level.ranks, share->n, err));
                KC_TRY(kc_gpu_new(map->on, &own->level.runs, kc_wd_nruns<Key>(&own->level), err));
        }
        pass = { own->level, true,       share->keys, p->s->with_values ? share->values : NULL,
                 own->keys,  own->values };
        KC_TRY(kc_wd_run_pass(map, &pass, kc_wd_ntiles<Key>(&own->level), err));
out:
        return status;
}

/* Split a member's keys. Owners read what this writes, so wait for it. */
template <class Layout> static enum kc_status split(void *ctx, int member, struct kc_error *err)
{
        enum kc_status status;
        auto *p = (by_parts<Layout> *)ctx;
        auto *own = &p->members[member];
        const auto *share = &p->s->stations[member].share;
        const kc_wd_map<Layout> *map = p->s->several->maps[member];
        const uint32_t nbuckets = p->nowners << p->above, nrow = p->nowners * p->nstretches;
        const size_t nbegins = (size_t)p->nowners * p->nparts + 1;
        uint32_t begins[MOST_BUCKETS];
        KC_TRY(kc_gpu_new(map->on, &own->begins, nbegins, err));
        KC_TRY(KC_CUDA(
                cudaMemsetAsync(own->begins, 0, nbegins * sizeof(uint32_t), map->on.stream)));
        if (share->n != 0) {
                KC_TRY(kc_gpu_new(map->on, &own->cursors, nbuckets, err));
                KC_TRY(kc_gpu_new(map->on, &own->keys, share->n, err));
                if (has_words(p))
                        KC_TRY(kc_gpu_new(map->on, &own->values, share->n, err));
                KC_TRY(kc_wd_count_parts(map, p->nowners, share->keys, (uint32_t)share->n,
                                         own->begins, p->below, own->cursors, NULL, err));
                KC_TRY(kc_gpu_read(map->on, begins, own->cursors, nbuckets, err));
                for (uint32_t i = 0; i < nrow; i++)
                        own->row[i] = begins[i * (nbuckets / nrow)];
                KC_TRY(first_pass(p, member, err));
        }
        own->row[nrow] = (uint32_t)share->n;
        KC_TRY(KC_CUDA(cudaStreamSynchronize(map->on.stream)));
out:
        return status;
}

/* ---- the owner's memory ---- */

template <class Layout>
static enum kc_status take_for_segments(by_parts<Layout> *p, int owner, struct kc_error *err)
{
        enum kc_status status;
        auto *own = &p->members[owner];
        struct kc_gpu_stream on = p->s->several->maps[owner]->on;
        KC_TRY(kc_gpu_new(on, &own->got_begins, (size_t)p->nowners * p->nparts, err));
        KC_TRY(kc_gpu_new(on, &own->got_keys, own->nfar, err));
        KC_TRY(kc_gpu_new(on, &own->part_begins, (size_t)p->nparts + 1, err));
        KC_TRY(kc_gpu_new(on, &own->part_cursors, (size_t)p->nparts, err));
        KC_TRY(kc_gpu_new(on, &own->part_keys, own->ngot, err));
        if (has_words(p)) {
                KC_TRY(kc_gpu_new(on, &own->got_values, own->nfar, err));
                KC_TRY(kc_gpu_new(on, &own->part_values, own->ngot, err));
        }
        if (comes_back(p)) {
                KC_TRY(kc_gpu_new(on, &own->ranks, own->ngot, err));
                KC_TRY(kc_gpu_new(on, &own->runs, own->nruns, err));
        } else {
                KC_TRY(kc_gpu_new(on, &own->refused_keys, own->ngot, err));
                KC_TRY(kc_gpu_new(on, &own->refused_values, own->ngot, err));
        }
out:
        return status;
}

/* The level of a segment; what belongs to its keys is still to be set. */
template <class Layout>
static struct kc_wd_level second_level(const by_parts<Layout> *p, int from, int owner)
{
        struct kc_wd_level level = {};
        level.shape = p->s->several->maps[owner]->view.shape;
        level.above = p->above;
        level.bits = p->below;
        level.nowners = 1;
        level.n = n_between(p, from, owner);
        return level;
}

/* Set an owner's segments. Its own keys stay where its split has put them. */
template <class Layout> static void set_segments(by_parts<Layout> *p, int owner)
{
        typedef typename Layout::key Key;
        auto *own = &p->members[owner];
        uint64_t at = 0, far = 0;
        size_t nruns = 0;
        for (int i = 0; i < (int)p->nowners; i++) {
                auto *segment = &own->segments[i];
                const uint32_t begin = begin_of(p, owner, owner, 0);
                struct kc_wd_level *level = &segment->level;
                *level = second_level(p, i, owner);
                level->begins = own->got_begins + (size_t)i * p->nparts;
                level->cursors = own->part_cursors;
                if (comes_back(p)) {
                        level->ranks = own->ranks + at;
                        level->runs = own->runs + nruns;
                }
                segment->keys = i == owner ? own->keys + begin : own->got_keys + far;
                if (has_words(p))
                        segment->values = i == owner ? own->values + begin : own->got_values + far;
                at += level->n;
                far += i == owner ? 0 : level->n;
                nruns += kc_wd_nruns<Key>(level);
        }
}

/* Enqueue the copies of a sender's keys, stretch by stretch. */
template <class Layout>
static enum kc_status fetch_segment(by_parts<Layout> *p, int from, int owner, struct kc_error *err)
{
        enum kc_status status;
        struct kc_links *links = p->s->several->links;
        const auto *sender = &p->members[from];
        const auto *segment = &p->members[owner].segments[from];
        const uint32_t base = begin_of(p, from, owner, 0);
        struct kc_links_copy copy = { from, owner, sender->begins + (size_t)owner * p->nparts,
                                      (void *)segment->level.begins, p->nparts * sizeof(uint32_t) };
        KC_TRY(kc_links_send(links, &copy, err));
        KC_TRY(kc_links_mark(links, from, owner, ROW, err));
        for (uint32_t i = 0; i < p->nstretches; i++) {
                const uint32_t begin = begin_of(p, from, owner, i),
                               n = begin_of(p, from, owner, i + 1) - begin;
                copy = { from, owner, sender->keys + begin, (void *)(segment->keys + begin - base),
                         n * sizeof *segment->keys };
                KC_TRY(kc_links_send(links, &copy, err));
                copy = { from, owner, sender->values + begin, segment->values + begin - base,
                         n * sizeof(uint32_t) };
                if (p->s->with_values)
                        KC_TRY(kc_links_send(links, &copy, err));
                KC_TRY(kc_links_mark(links, from, owner, (int)i, err));
        }
out:
        return status;
}

/* Take an owner's memory, and begin to copy. */
template <class Layout> static enum kc_status gather(void *ctx, int owner, struct kc_error *err)
{
        typedef typename Layout::key Key;
        enum kc_status status;
        auto *p = (by_parts<Layout> *)ctx;
        auto *own = &p->members[owner];
        struct kc_gpu_stream on = p->s->several->maps[owner]->on;
        for (int i = 0; i < (int)p->nowners; i++) {
                const struct kc_wd_level level = second_level(p, i, owner);
                own->ngot += level.n;
                own->nfar += i == owner ? 0 : level.n;
                own->nruns += kc_wd_nruns<Key>(&level);
        }
        KC_TRY(take_for_segments(p, owner, err));
        set_segments(p, owner);
        KC_TRY(KC_CUDA(cudaMemcpyAsync(
                (void *)own->segments[owner].level.begins, own->begins + (size_t)owner * p->nparts,
                p->nparts * sizeof(uint32_t), cudaMemcpyDeviceToDevice, on.stream)));
        KC_TRY(KC_CUDA(cudaStreamSynchronize(on.stream)));
        for (int i = 0; i < (int)p->nowners; i++)
                if (i != owner)
                        KC_TRY(fetch_segment(p, i, owner, err));
out:
        return status;
}

/* ---- the owner's work ---- */

/* The tiles of a segment that have keys of a stretch. */
template <class Layout>
static uint32_t tiles_of(const by_parts<Layout> *p, int from, int owner, uint32_t stretch,
                         uint32_t *first)
{
        const uint32_t size = kc_wd_tile<typename Layout::key>::NKEYS,
                       nbuckets = (1u << p->above) / p->nstretches,
                       base = begin_of(p, from, owner, 0),
                       begin = begin_of(p, from, owner, stretch) - base,
                       end = begin_of(p, from, owner, stretch + 1) - base;
        *first = begin / size + stretch * nbuckets;
        return begin == end ? 0 : end / size + (stretch + 1) * nbuckets - *first;
}

template <class Layout>
static enum kc_status second_pass(by_parts<Layout> *p, int from, int owner, uint32_t stretch,
                                  struct kc_error *err)
{
        auto *own = &p->members[owner];
        const auto *segment = &own->segments[from];
        kc_wd_pass<typename Layout::key> pass = {
                segment->level, false,
                segment->keys,  p->s->with_values ? segment->values : NULL,
                own->part_keys, own->part_values
        };
        const uint32_t n = tiles_of(p, from, owner, stretch, &pass.level.first_tile);
        return n == 0 ? KC_OK : kc_wd_run_pass(p->s->several->maps[owner], &pass, n, err);
}

/* Bring the answers of a stretch back to a sender. */
template <class Layout>
static enum kc_status answer(by_parts<Layout> *p, int from, int owner, uint32_t stretch,
                             struct kc_error *err)
{
        enum kc_status status;
        const auto *segment = &p->members[owner].segments[from];
        struct kc_wd_level level = segment->level;
        const uint32_t begin = begin_of(p, from, owner, stretch),
                       at = begin - begin_of(p, from, owner, 0),
                       n = tiles_of(p, from, owner, stretch, &level.first_tile);
        const struct kc_links_copy copy = { owner, from, segment->values + at,
                                            p->members[from].values + begin,
                                            (begin_of(p, from, owner, stretch + 1) - begin) *
                                                    sizeof(uint32_t) };
        if (n == 0)
                return KC_OK;
        KC_TRY(kc_wd_run_back(p->s->several->maps[owner], &level, n, p->members[owner].part_values,
                              segment->values, err));
        if (from != owner)
                KC_TRY(kc_links_send(p->s->several->links, &copy, err));
out:
        return status;
}

template <class Layout>
static enum kc_status do_stretch(by_parts<Layout> *p, int owner, uint32_t stretch,
                                 kc_wd_parted<typename Layout::key> *parted, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        const kc_wd_map<Layout> *map = p->s->several->maps[owner];
        const uint32_t nparts = p->nparts / p->nstretches;
        KC_TRY(second_pass(p, owner, owner, stretch, err));
        for (int i = 0; i < (int)p->nowners; i++) {
                if (i == owner)
                        continue;
                KC_TRY(kc_links_await(p->s->several->links, i, owner, (int)stretch, err));
                KC_TRY(second_pass(p, i, owner, stretch, err));
        }
        parted->first = stretch * nparts;
        if (!comes_back(p))
                return kc_wd_put_parts(map, parted, nparts, p->s->mode, err);
        KC_TRY(kc_wd_retrieve_parts(map, parted, nparts, err));
        for (int i = 0; i < (int)p->nowners; i++)
                KC_TRY(answer(p, i, owner, stretch, err));
out:
        return status;
}

/* Set where the parts begin. */
template <class Layout>
static enum kc_status join_begins(by_parts<Layout> *p, int owner, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        auto *own = &p->members[owner];
        struct bases bases = {};
        for (int i = 0; i < (int)p->nowners; i++) {
                bases.of[i] = begin_of(p, i, owner, 0);
                if (i != owner)
                        KC_TRY(kc_links_await(p->s->several->links, i, owner, ROW, err));
        }
        wd_join_begins_kernel<<<kc_ceil_div(p->nparts, KC_WD_THREADS), KC_WD_THREADS, 0,
                                p->s->several->maps[owner]->on.stream>>>(
                own->got_begins, bases, p->nowners, p->nparts, (uint32_t)own->ngot,
                own->part_begins, own->part_cursors);
        KC_TRY(KC_LAUNCHED());
out:
        return status;
}

template <class Layout> static enum kc_status work(void *ctx, int owner, struct kc_error *err)
{
        enum kc_status status;
        auto *p = (by_parts<Layout> *)ctx;
        auto *own = &p->members[owner];
        kc_wd_map<Layout> *map = p->s->several->maps[owner];
        unsigned long long totals[KC_WD_NTOTALS];
        kc_wd_parted<typename Layout::key> parted = {};
        parted.keys = own->part_keys;
        parted.values = p->s->with_values ? own->part_values : NULL;
        parted.begins = own->part_begins;
        parted.fresh = map->nkeys == 0 && map->ntombs == 0;
        parted.totals = map->totals;
        parted.refused_keys = own->refused_keys;
        parted.refused_values = own->refused_values;
        parted.answers = own->part_values;
        parted.missing = p->s->missing;
        KC_TRY(join_begins(p, owner, err));
        KC_TRY(kc_wd_clear_totals(map->on, map->totals, err));
        for (uint32_t i = 0; i < p->nstretches; i++)
                KC_TRY(do_stretch(p, owner, i, &parted, err));
        KC_TRY(kc_gpu_read(map->on, totals, map->totals, KC_WD_NTOTALS, err));
        map->nkeys += comes_back(p) ? 0 : totals[KC_WD_NCLAIMED];
        own->nrefused = totals[KC_WD_NREFUSED];
        p->s->stations[owner].nfound = totals[KC_WD_NHIT];
        for (int i = 0; i < (int)p->nowners && comes_back(p); i++)
                KC_TRY(kc_links_drain(p->s->several->links, owner, i, err));
out:
        return status;
}

/* Put a member's answers in the order of its keys. */
template <class Layout> static enum kc_status fetch(void *ctx, int member, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        auto *p = (by_parts<Layout> *)ctx;
        const auto *own = &p->members[member];
        const kc_wd_map<Layout> *map = p->s->several->maps[member];
        const auto *station = &p->s->stations[member];
        if (station->share.n == 0)
                return KC_OK;
        KC_TRY(kc_wd_run_back(map, &own->level, kc_wd_ntiles<typename Layout::key>(&own->level),
                              own->values, station->answers_wanted, err));
        KC_TRY(KC_CUDA(cudaStreamSynchronize(map->on.stream)));
out:
        return status;
}

/* Put the keys that found no room in their parts directly, which rebuilds the map. */
template <class Layout>
static enum kc_status put_refused(void *ctx, int owner, struct kc_error *err)
{
        auto *p = (by_parts<Layout> *)ctx;
        auto *own = &p->members[owner];
        struct kc_error failure = {};
        if (own->nrefused == 0)
                return KC_OK;
        enum kc_status status =
                kc_wd_put_expected(p->s->several->maps[owner], own->refused_keys,
                                   own->refused_values, own->nrefused, p->s->mode, NULL, &failure);
        if (status == KC_ENOMEM)
                p->s->stations[owner].full = failure;
        else if (status != KC_OK)
                return kc_fail_as(err, &failure);
        return KC_OK;
}

/* ---- the slice ---- */

/* Free what only the exchange needs. */
template <class Layout> static void release(by_parts<Layout> *p)
{
        typedef typename Layout::key Key;
        for (int i = 0; i < (int)p->nowners; i++) {
                auto *own = &p->members[i];
                struct kc_gpu_stream on = p->s->several->maps[i]->on;
                const uint64_t n = p->s->stations[i].share.n;
                kc_gpu_delete(on, own->level.runs, kc_wd_nruns<Key>(&own->level));
                kc_gpu_delete(on, own->level.ranks, n);
                kc_gpu_delete(on, own->values, n);
                kc_gpu_delete(on, own->keys, n);
                kc_gpu_delete(on, own->cursors, (size_t)p->nowners << p->above);
                kc_gpu_delete(on, own->begins, (size_t)p->nowners * p->nparts + 1);
                kc_gpu_delete(on, own->runs, own->nruns);
                kc_gpu_delete(on, own->ranks, own->ngot);
                kc_gpu_delete(on, own->part_values, own->ngot);
                kc_gpu_delete(on, own->part_keys, own->ngot);
                kc_gpu_delete(on, own->part_cursors, p->nparts);
                kc_gpu_delete(on, own->part_begins, (size_t)p->nparts + 1);
                kc_gpu_delete(on, own->got_values, own->nfar);
                kc_gpu_delete(on, own->got_keys, own->nfar);
                kc_gpu_delete(on, own->got_begins, (size_t)p->nowners * p->nparts);
        }
}

template <class Layout> static void release_refused(by_parts<Layout> *p)
{
        for (int i = 0; i < (int)p->nowners; i++) {
                auto *own = &p->members[i];
                struct kc_gpu_stream on = p->s->several->maps[i]->on;
                kc_gpu_delete(on, own->refused_values, own->ngot);
                kc_gpu_delete(on, own->refused_keys, own->ngot);
        }
}

template <class Layout>
static enum kc_status all_members(by_parts<Layout> *p, enum kc_wd_stage stage,
                                  enum kc_status (*step)(void *ctx, int member,
                                                         struct kc_error *err),
                                  struct kc_error *err)
{
        kc_wd_stopwatch watch(&p->s->several->seconds[stage]);
        return kc_links_parallel(p->s->several->links, step, p, err);
}

template <class Layout> static enum kc_status all_steps(by_parts<Layout> *p, struct kc_error *err)
{
        enum kc_status status;
        kc_wd_slice<Layout> *s = p->s;
        KC_TRY(all_members(p, KC_WD_SPLIT, split<Layout>, err));
        KC_TRY(all_members(p, KC_WD_TABLE, gather<Layout>, err));
        for (uint32_t i = 0; i < p->nowners && !comes_back(p); i++)
                s->several->nsent += p->members[i].ngot;
        s->began = true;
        KC_TRY(all_members(p, KC_WD_LOCAL, work<Layout>, err));
        if (comes_back(p))
                KC_TRY(all_members(p, KC_WD_FETCH, fetch<Layout>, err));
out:
        return status;
}

/* A full map does not stop the others. */
template <class Layout>
static enum kc_status put_all_refused(by_parts<Layout> *p, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        uint64_t n = 0;
        for (uint32_t i = 0; i < p->nowners; i++)
                n += p->members[i].nrefused;
        if (n != 0)
                KC_TRY(all_members(p, KC_WD_LOCAL, put_refused<Layout>, err));
        for (uint32_t i = 0; i < p->nowners && status == KC_OK; i++)
                if (p->s->stations[i].full.status != KC_OK)
                        status = kc_fail_as(err, &p->s->stations[i].full);
out:
        return status;
}

/* Bits of the first pass, besides owners. */
static int bits_above(int part_bits, uint32_t nowners)
{
        int bits = (part_bits + 1) / 2;
        while (nowners << bits > MOST_BUCKETS)
                bits--;
        return bits;
}

template <class Layout>
enum kc_status kc_wd_slice_by_parts(kc_wd_slice<Layout> *s, struct kc_error *err)
{
        struct kc_error ignored = {}; /* another failure is reported */
        by_parts<Layout> p = {};
        const int part_bits = s->several->maps[0]->view.shape.part_bits;
        p.s = s;
        p.nowners = (uint32_t)kc_wd_nowners(s);
        p.above = bits_above(part_bits, p.nowners);
        p.below = part_bits - p.above;
        p.nparts = 1u << part_bits;
        p.nstretches = std::min((uint32_t)NSTRETCHES, 1u << p.above);
        enum kc_status status = all_steps(&p, err);
        if (status != KC_OK)
                (void)kc_links_settle(s->several->links, &ignored);
        release(&p);
        if (status == KC_OK)
                status = put_all_refused(&p, err);
        release_refused(&p);
        return status;
}

/* Whether two maps have the same parts: rebuilding changes them. */
static bool are_alike(const struct kc_wd_shape &one, const struct kc_wd_shape &other)
{
        return one.seed == other.seed && one.nwindows == other.nwindows &&
               one.part_bits == other.part_bits;
}

template <class Layout> bool kc_wd_slice_has_parts(const kc_wd_slice<Layout> *s)
{
        const struct kc_wd_shape &shape = s->several->maps[0]->view.shape;
        const uint32_t nowners = (uint32_t)kc_wd_nowners(s);
        uint64_t n = 0;
        bool all = s->operation == KC_WD_RETRIEVE || (s->operation == KC_WD_PUT && !s->combine &&
                                                      !s->with_refused && !Layout::COUNTS_ONLY);
        all &= s->several->transposition == KC_WD_BY_PARTS &&
               shape.part_bits - bits_above(shape.part_bits, nowners) <= KC_WD_ONE_PASS_BITS;
        for (uint32_t i = 0; i < nowners; i++)
                n += s->stations[i].share.n;
        for (uint32_t i = 0; i < nowners; i++)
                all &= n / nowners >= kc_wd_bulk_least(s->several->maps[i]) &&
                       are_alike(s->several->maps[i]->view.shape, shape);
        return all;
}

#define INSTANTIATE(Layout) \
        template enum kc_status kc_wd_slice_by_parts(kc_wd_slice<Layout> *, struct kc_error *); \
        template bool kc_wd_slice_has_parts(const kc_wd_slice<Layout> *);
KC_WD_LAYOUTS(INSTANTIATE)
