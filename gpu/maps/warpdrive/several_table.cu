#include "gpu/maps/warpdrive/several_slice.cuh"

#include <algorithm>

enum { TABLE_BLOCKS = 4 /* per multiprocessor */ };

/* ---- the partition table ---- */

template <class Key>
static void launch_owners(struct kc_gpu *gpu, const Key *keys, uint32_t n, uint32_t nowners,
                          uint32_t *counts)
{
        const unsigned grid = std::min(kc_ceil_div(n, KC_WD_SPLIT_THREADS),
                                       (unsigned)(TABLE_BLOCKS * gpu->nmultiprocessors));
        if (nowners <= 2)
                wd_owners_kernel<Key, 2>
                        <<<grid, KC_WD_SPLIT_THREADS, 0, gpu->stream>>>(keys, n, nowners, counts);
        else if (nowners <= 4)
                wd_owners_kernel<Key, 4>
                        <<<grid, KC_WD_SPLIT_THREADS, 0, gpu->stream>>>(keys, n, nowners, counts);
        else
                wd_owners_kernel<Key, 16>
                        <<<grid, KC_WD_SPLIT_THREADS, 0, gpu->stream>>>(keys, n, nowners, counts);
}

/* Whether something comes back for each key. */
template <class Layout> static bool comes_back(const kc_wd_slice<Layout> *s)
{
        return s->with_refused || s->operation == KC_WD_RETRIEVE;
}

/* A member's row of the table: how many keys it will send to each owner. */
template <class Layout> static enum kc_status count_row(void *ctx, int member, struct kc_error *err)
{
        enum kc_status status;
        auto *s = (kc_wd_slice<Layout> *)ctx;
        auto *own = &s->stations[member];
        struct kc_gpu *gpu = kc_wd_gpu_of(s, member);
        const size_t nowners = (size_t)kc_wd_nowners(s), n = 2 * nowners;
        KC_TRY(kc_gpu_new(gpu, &own->counts, n, err));
        KC_TRY(KC_CUDA(cudaMemsetAsync(own->counts, 0, n * sizeof *own->counts, gpu->stream)));
        if (s->combine || comes_back(s))
                KC_TRY(kc_gpu_new(gpu, &own->ranks, own->share.n, err));
        if (own->share.n != 0 && s->combine)
                KC_TRY(kc_wd_count_leaders(s, member, err));
        else if (own->share.n != 0)
                launch_owners(gpu, own->share.keys, (uint32_t)own->share.n, (uint32_t)nowners,
                              own->counts);
        KC_TRY(KC_LAUNCHED());
        KC_TRY(kc_gpu_read(gpu, own->row, own->counts, nowners, err));
out:
        return status;
}

/* ---- memory ---- */

/* Elements of a station's array `runs`. */
template <class Layout> static size_t nruns_of(const kc_wd_slice<Layout> *s, int member)
{
        const uint32_t n = (uint32_t)s->stations[member].share.n;
        return (size_t)kc_wd_nsent_tiles<typename Layout::key>(n) * (size_t)kc_wd_nowners(s);
}

template <class Layout>
static enum kc_status take_for_refusals(kc_wd_slice<Layout> *s, int member, struct kc_error *err)
{
        enum kc_status status;
        auto *own = &s->stations[member];
        struct kc_gpu *gpu = kc_wd_gpu_of(s, member);
        const size_t nwords = kc_wd_nwords_of_bits(own->ngot);
        KC_TRY(kc_gpu_new(gpu, &own->words, own->share.n, err));
        KC_TRY(kc_gpu_new(gpu, &own->bits, nwords, err));
        KC_TRY(KC_CUDA(cudaMemsetAsync(own->bits, 0, nwords * sizeof *own->bits, gpu->stream)));
        own->answers_wanted = own->words;
out:
        return status;
}

template <class Layout>
static enum kc_status take_for_answers(kc_wd_slice<Layout> *s, int member, struct kc_error *err)
{
        enum kc_status status;
        auto *own = &s->stations[member];
        struct kc_gpu *gpu = kc_wd_gpu_of(s, member);
        KC_TRY(kc_gpu_new(gpu, &own->fetched, own->nsent, err));
        KC_TRY(kc_gpu_new(gpu, &own->answers, own->ngot, err));
        KC_TRY(kc_gpu_new(gpu, &own->runs, nruns_of(s, member), err));
out:
        return status;
}

/* Allocate what the table says. Other members write there, so wait until the memory is ready. */
template <class Layout>
static enum kc_status take_memory(void *ctx, int member, struct kc_error *err)
{
        enum kc_status status;
        auto *s = (kc_wd_slice<Layout> *)ctx;
        auto *own = &s->stations[member];
        struct kc_gpu *gpu = kc_wd_gpu_of(s, member);
        own->nsent = kc_wd_row_offset(s, member, kc_wd_nowners(s));
        own->ngot = kc_wd_column_offset(s, kc_wd_nowners(s), member);
        KC_TRY(kc_gpu_new(gpu, &own->sent_keys, own->nsent, err));
        KC_TRY(kc_gpu_new(gpu, &own->got_keys, own->ngot, err));
        if (s->with_values) {
                KC_TRY(kc_gpu_new(gpu, &own->sent_values, own->nsent, err));
                KC_TRY(kc_gpu_new(gpu, &own->got_values, own->ngot, err));
        }
        if (s->with_refused)
                KC_TRY(take_for_refusals(s, member, err));
        if (comes_back(s))
                KC_TRY(take_for_answers(s, member, err));
        KC_TRY(KC_CUDA(cudaStreamSynchronize(gpu->stream)));
out:
        return status;
}

template <class Layout>
enum kc_status kc_wd_slice_prepare(kc_wd_slice<Layout> *s, struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(kc_wd_all_members(s, KC_WD_TABLE, count_row<Layout>, err));
        KC_TRY(kc_wd_all_members(s, KC_WD_TABLE, take_memory<Layout>, err));
out:
        return status;
}

template <class Layout> void kc_wd_slice_release(kc_wd_slice<Layout> *s)
{
        for (int i = 0; i < kc_wd_nowners(s); i++) {
                auto *own = &s->stations[i];
                struct kc_gpu *gpu = kc_wd_gpu_of(s, i);
                kc_gpu_delete(gpu, own->counts, (size_t)2 * kc_wd_nowners(s));
                kc_gpu_delete(gpu, own->sent_keys, own->nsent);
                kc_gpu_delete(gpu, own->sent_values, own->nsent);
                kc_gpu_delete(gpu, own->fetched, own->nsent);
                kc_gpu_delete(gpu, own->ranks, own->share.n);
                kc_gpu_delete(gpu, own->runs, nruns_of(s, i));
                kc_gpu_delete(gpu, own->words, own->share.n);
                kc_gpu_delete(gpu, own->bits, kc_wd_nwords_of_bits(own->ngot));
                kc_gpu_delete(gpu, own->got_keys, own->ngot);
                kc_gpu_delete(gpu, own->got_values, own->ngot);
                kc_gpu_delete(gpu, own->answers, own->ngot);
        }
}

#define INSTANTIATE(Layout) \
        template enum kc_status kc_wd_slice_prepare(kc_wd_slice<Layout> *, struct kc_error *); \
        template void kc_wd_slice_release(kc_wd_slice<Layout> *);
KC_WD_LAYOUTS(INSTANTIATE)
