#include "gpu/maps/warpdrive/several_slice.cuh"

/* ---- splitting ---- */

template <class Layout>
static kc_wd_way<typename Layout::key> way_to(const kc_wd_slice<Layout> *s, int from, int owner)
{
        const auto *sender = &s->stations[from], *receiver = &s->stations[owner];
        if (kc_wd_is_written(s, from, owner))
                return { receiver->got_keys, receiver->got_values,
                         (uint32_t)kc_wd_column_offset(s, from, owner) };
        return { sender->sent_keys, sender->sent_values,
                 (uint32_t)kc_wd_row_offset(s, from, owner) };
}

template <class Key, bool COMBINE>
static enum kc_status launch_send(struct kc_gpu *gpu, const kc_wd_sending<Key> *sending,
                                  struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(KC_CUDA(cudaFuncSetAttribute(wd_send_kernel<Key, COMBINE>,
                                            cudaFuncAttributeMaxDynamicSharedMemorySize,
                                            (int)sizeof(kc_wd_outbox<Key>))));
        wd_send_kernel<Key, COMBINE><<<kc_wd_nsent_tiles<Key>(sending->n), KC_WD_SPLIT_THREADS,
                                       sizeof(kc_wd_outbox<Key>), gpu->stream>>>(*sending);
        KC_TRY(KC_LAUNCHED());
out:
        return status;
}

/* Split a member's keys. Owners read what this writes to their memory, so wait for it. */
template <class Layout> static enum kc_status split(void *ctx, int member, struct kc_error *err)
{
        typedef typename Layout::key Key;
        enum kc_status status = KC_OK;
        auto *s = (kc_wd_slice<Layout> *)ctx;
        auto *own = &s->stations[member];
        struct kc_gpu *gpu = kc_wd_gpu_of(s, member);
        kc_wd_sending<Key> sending = {};
        if (own->share.n == 0)
                return KC_OK;
        sending.keys = own->share.keys;
        sending.values = own->share.values;
        sending.with_values = s->with_values;
        sending.sum = s->combine && s->mode == KC_WD_ADD;
        sending.n = (uint32_t)own->share.n;
        sending.nowners = (uint32_t)kc_wd_nowners(s);
        sending.cursors = own->counts + kc_wd_nowners(s);
        sending.ranks = own->ranks;
        sending.runs = own->runs;
        for (int owner = 0; owner < kc_wd_nowners(s); owner++)
                sending.to[owner] = way_to(s, member, owner);
        KC_TRY((s->combine ? launch_send<Key, true>(gpu, &sending, err)
                           : launch_send<Key, false>(gpu, &sending, err)));
        KC_TRY(KC_CUDA(cudaStreamSynchronize(gpu->stream)));
out:
        return status;
}

/* ---- copying ---- */

namespace
{

/* The copies of the transposition, or of its reverse. */
struct kc_wd_copies {
        struct kc_links_copy list[2 * KC_GPU_MAX_DEVICES * KC_GPU_MAX_DEVICES];
        int n;

        /* NULL: there is nothing of this kind. */
        template <class T>
        void add(int from, int to, const T *source, uint64_t source_at, T *target,
                 uint64_t target_at, uint64_t nelements)
        {
                if (source != NULL && target != NULL)
                        list[n++] = { from, to, source + source_at, target + target_at,
                                      (size_t)nelements * sizeof(T) };
        }
};

} // namespace

/* Call add(sender, owner, row offset, column offset, n) for what the split did not write to the
 * owner's memory. */
template <class Layout, class Add>
static void for_each_copied(const kc_wd_slice<Layout> *s, const Add &add)
{
        for (int i = 0; i < kc_wd_nowners(s); i++)
                for (int j = 0; j < kc_wd_nowners(s); j++)
                        if (!kc_wd_is_written(s, i, j) && s->stations[i].row[j] != 0)
                                add(i, j, kc_wd_row_offset(s, i, j), kc_wd_column_offset(s, i, j),
                                    s->stations[i].row[j]);
}

/* Make the copies, and wait for them. */
static enum kc_status exchange(struct kc_links *links, const struct kc_wd_copies *copies,
                               double *seconds, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        kc_wd_stopwatch watch(seconds);
        if (copies->n == 0)
                return KC_OK;
        KC_TRY(kc_links_exchange(links, copies->list, copies->n, err));
        for (int i = 0; i < links->n; i++)
                KC_TRY(KC_CUDA(cudaStreamSynchronize(links->gpus[i].stream)));
out:
        return status;
}

template <class Layout>
static enum kc_status copy_keys(kc_wd_slice<Layout> *s, struct kc_error *err)
{
        struct kc_wd_copies copies;
        copies.n = 0;
        for_each_copied(s, [&](int i, int j, uint64_t row, uint64_t column, uint64_t n) {
                const auto *from = &s->stations[i], *to = &s->stations[j];
                copies.add(i, j, from->sent_keys, row, to->got_keys, column, n);
                copies.add(i, j, from->sent_values, row, to->got_values, column, n);
        });
        return exchange(s->several->links, &copies, &s->several->seconds[KC_WD_COPY], err);
}

template <class Layout>
enum kc_status kc_wd_slice_send(kc_wd_slice<Layout> *s, struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(kc_wd_all_members(s, KC_WD_SPLIT, split<Layout>, err));
        KC_TRY(copy_keys(s, err));
out:
        return status;
}

/* ---- and back ---- */

template <class Layout>
enum kc_status kc_wd_slice_copy_answers(kc_wd_slice<Layout> *s, struct kc_error *err)
{
        struct kc_wd_copies copies;
        copies.n = 0;
        for_each_copied(s, [&](int i, int j, uint64_t row, uint64_t column, uint64_t n) {
                copies.add(j, i, s->stations[j].answers, column, s->stations[i].fetched, row, n);
        });
        return exchange(s->several->links, &copies, &s->several->seconds[KC_WD_COPY_BACK], err);
}

template <class Layout>
enum kc_status kc_wd_slice_fetch(void *ctx, int member, struct kc_error *err)
{
        typedef typename Layout::key Key;
        enum kc_status status = KC_OK;
        auto *s = (kc_wd_slice<Layout> *)ctx;
        auto *own = &s->stations[member];
        struct kc_gpu *gpu = kc_wd_gpu_of(s, member);
        struct kc_wd_fetching fetching = {};
        if (own->share.n == 0)
                return KC_OK;
        fetching.n = (uint32_t)own->share.n;
        fetching.nowners = (uint32_t)kc_wd_nowners(s);
        fetching.ranks = own->ranks;
        fetching.runs = own->runs;
        fetching.out = own->answers_wanted;
        for (int owner = 0; owner < kc_wd_nowners(s); owner++)
                fetching.answers[owner] = kc_wd_is_written(s, member, owner)
                                                  ? s->stations[owner].answers
                                                  : own->fetched;
        wd_fetch_kernel<Key>
                <<<kc_wd_nsent_tiles<Key>(fetching.n), KC_WD_SPLIT_THREADS, 0, gpu->stream>>>(
                        fetching);
        KC_TRY(KC_LAUNCHED());
        KC_TRY(KC_CUDA(cudaStreamSynchronize(gpu->stream)));
out:
        return status;
}

#define INSTANTIATE(Layout) \
        template enum kc_status kc_wd_slice_send(kc_wd_slice<Layout> *, struct kc_error *); \
        template enum kc_status kc_wd_slice_copy_answers(kc_wd_slice<Layout> *, \
                                                         struct kc_error *); \
        template enum kc_status kc_wd_slice_fetch<Layout>(void *, int, struct kc_error *);
KC_WD_LAYOUTS(INSTANTIATE)
