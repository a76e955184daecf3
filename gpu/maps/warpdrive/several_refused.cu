#include "gpu/maps/warpdrive/kernels.cuh"
#include "gpu/maps/warpdrive/several_slice.cuh"

/* Spread bits to words. */
static __global__ void wd_spread_kernel(const uint32_t *bits, uint64_t n, uint32_t *words)
{
        uint64_t i = (uint64_t)blockIdx.x * KC_WD_THREADS + threadIdx.x;
        if (i < n)
                words[i] = bits[i / 32] >> i % 32 & 1;
}

/* Gather words into bits. */
static __global__ void wd_gather_kernel(const uint32_t *words, uint64_t n, uint32_t *bits)
{
        uint64_t i = (uint64_t)blockIdx.x * KC_WD_THREADS + threadIdx.x;
        uint32_t ballot = __ballot_sync(UINT32_MAX, i < n && words[i] != 0);
        if (i < n && kc_warp_lane() == 0)
                bits[i / 32] = ballot;
}

template <class Layout>
static enum kc_status clear_bits(void *ctx, int member, struct kc_error *err)
{
        auto *all = (kc_wd_slice<Layout> *)ctx;
        const auto *own = &all->stations[member];
        return KC_CUDA(cudaMemsetAsync(own->refused_wanted, 0,
                                       kc_wd_nwords_of_bits(own->share.n) * sizeof(uint32_t),
                                       kc_wd_gpu_of(all, member)->stream));
}

/* Slices without refusals leave the bits as they are. */
template <class Layout>
enum kc_status kc_wd_expect_refusals(kc_wd_slice<Layout> *all, uint32_t *const *refused,
                                     struct kc_error *err)
{
        all->with_refused = true;
        for (int i = 0; i < kc_wd_nowners(all); i++)
                all->stations[i].refused_wanted = refused[i];
        return kc_links_in_turn(all->several->links, clear_bits<Layout>, all, err);
}

/* An owner's refusals become its answers. If it did not get to use its map, it refused all keys. */
template <class Layout> static enum kc_status spread(void *ctx, int member, struct kc_error *err)
{
        auto *s = (kc_wd_slice<Layout> *)ctx;
        auto *own = &s->stations[member];
        struct kc_gpu *gpu = kc_wd_gpu_of(s, member);
        if (own->ngot == 0)
                return KC_OK;
        if (!own->began)
                kc_wd_report_refused({ gpu, gpu->stream }, own->bits, NULL, own->ngot);
        wd_spread_kernel<<<kc_ceil_div(own->ngot, KC_WD_THREADS), KC_WD_THREADS, 0, gpu->stream>>>(
                own->bits, own->ngot, own->answers);
        return KC_LAUNCHED();
}

template <class Layout> static enum kc_status gather(void *ctx, int member, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        auto *s = (kc_wd_slice<Layout> *)ctx;
        auto *own = &s->stations[member];
        if (own->share.n == 0)
                return KC_OK;
        KC_TRY(kc_wd_slice_fetch<Layout>(s, member, err));
        wd_gather_kernel<<<kc_ceil_div(own->share.n, KC_WD_THREADS), KC_WD_THREADS, 0,
                           kc_wd_gpu_of(s, member)->stream>>>(own->words, own->share.n,
                                                              own->refused_wanted);
        KC_TRY(KC_LAUNCHED());
out:
        return status;
}

template <class Layout>
enum kc_status kc_wd_slice_report(kc_wd_slice<Layout> *s, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        struct kc_links *links = s->several->links;
        if (!s->with_refused)
                return KC_OK;
        KC_TRY(kc_links_in_turn(links, spread<Layout>, s, err));
        KC_TRY(kc_links_settle(links, err));
        KC_TRY(kc_wd_slice_copy_answers(s, err));
        KC_TRY(kc_links_in_turn(links, gather<Layout>, s, err));
        KC_TRY(kc_links_settle(links, err));
out:
        return status;
}

template <class Layout> void kc_wd_refuse_rest(const kc_wd_slice<Layout> *all, uint64_t at)
{
        struct kc_error ignored = {}; /* the lack of memory is reported */
        for (int i = 0; i < kc_wd_nowners(all); i++) {
                const auto *own = &all->stations[i];
                struct kc_gpu *gpu = kc_wd_gpu_of(all, i);
                (void)kc_links_use(all->several->links, i, &ignored);
                if (own->refused_wanted != NULL && own->share.n > at)
                        kc_wd_report_refused({ gpu, gpu->stream }, own->refused_wanted + at / 32,
                                             NULL, own->share.n - at);
        }
        (void)kc_links_settle(all->several->links, &ignored);
}

#define INSTANTIATE(Layout) \
        template enum kc_status kc_wd_expect_refusals(kc_wd_slice<Layout> *, uint32_t *const *, \
                                                      struct kc_error *); \
        template enum kc_status kc_wd_slice_report(kc_wd_slice<Layout> *, struct kc_error *); \
        template void kc_wd_refuse_rest(const kc_wd_slice<Layout> *, uint64_t);
KC_WD_LAYOUTS(INSTANTIATE)
