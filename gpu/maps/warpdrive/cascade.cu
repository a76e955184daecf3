#include "gpu/maps/warpdrive/cascade.cuh"

#include <algorithm>

static const uint64_t BATCH_NKEYS = (uint64_t)1 << 27;
enum { IN_FLIGHT = 2 };

namespace
{

/* A copy on a stream of a member, with the time that it takes. */
struct timed_copy {
        cudaEvent_t begin, end;
};

/* A member's memory for its share of a batch. */
template <class Key> struct share_buffer {
        Key *keys;
        uint32_t *values; /* to put, or the answers */
        struct timed_copy upload, download;
};

template <class Layout> struct cascade {
        typedef typename Layout::key Key;
        kc_wd_several<Layout> *several;
        const Key *keys;        /* all of them, on the host */
        const uint32_t *values; /* NULL: none */
        uint32_t *answers;      /* NULL: keys are put */
        uint64_t n, batch_nkeys, nbatches;
        int in_flight;
        uint64_t cap; /* keys of a member in a batch */
        enum kc_wd_mode mode;
        uint32_t missing;
        uint64_t nfound;
        share_buffer<Key> buffers[KC_WD_MAX_IN_FLIGHT][KC_GPU_MAX_DEVICES];
};

/* One batch of a cascade, for what each member does with its share. */
template <class Layout> struct cascade_batch {
        cascade<Layout> *c;
        uint64_t number;
};

/* A member's share of a batch: n keys, of which the first is number `first` of all keys. */
struct share_range {
        uint64_t first, n;
};

} // namespace

template <class Layout> static int nmembers(const cascade<Layout> *c)
{
        return c->several->links->n;
}

template <class Layout> static struct kc_gpu *gpu_of(const cascade<Layout> *c, int member)
{
        return &c->several->links->gpus[member];
}

template <class Layout>
static struct share_range share_of(const cascade<Layout> *c, uint64_t batch, int member)
{
        const uint64_t begin = batch * c->batch_nkeys, all = std::min(c->batch_nkeys, c->n - begin),
                       m = (uint64_t)nmembers(c), i = (uint64_t)member;
        return { begin + all * i / m, all * (i + 1) / m - all * i / m };
}

template <class Layout>
static share_buffer<typename Layout::key> *buffer_of(cascade<Layout> *c, uint64_t batch, int member)
{
        return &c->buffers[batch % (uint64_t)c->in_flight][member];
}

/* ---- timed copies ---- */

static enum kc_status timed_copy_new(struct timed_copy *copy, struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(KC_CUDA(cudaEventCreateWithFlags(&copy->begin, cudaEventBlockingSync)));
        KC_TRY(KC_CUDA(cudaEventCreateWithFlags(&copy->end, cudaEventBlockingSync)));
out:
        return status;
}

static void timed_copy_free(struct timed_copy *copy)
{
        kc_gpu_event_free(copy->begin);
        kc_gpu_event_free(copy->end);
}

/* Wait for a batch's copies, and add the time that they took on the slowest member to a stage.
 * copy: the member of share_buffer. */
template <class Layout>
static enum kc_status add_time(cascade<Layout> *c, uint64_t batch, enum kc_wd_stage stage,
                               struct timed_copy share_buffer<typename Layout::key>::*copy,
                               struct kc_error *err)
{
        enum kc_status status = KC_OK;
        float most = 0;
        for (int i = 0; i < nmembers(c); i++) {
                const struct timed_copy *timed = &(buffer_of(c, batch, i)->*copy);
                float ms;
                KC_TRY(KC_CUDA(cudaEventSynchronize(timed->end)));
                KC_TRY(KC_CUDA(cudaEventElapsedTime(&ms, timed->begin, timed->end)));
                most = std::max(most, ms);
        }
        c->several->seconds[stage] += most * 1e-3;
out:
        return status;
}

/* ---- memory ---- */

template <class Layout>
static enum kc_status buffers_of_member(void *ctx, int member, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        auto *c = (cascade<Layout> *)ctx;
        struct kc_gpu *gpu = gpu_of(c, member);
        for (int i = 0; i < c->in_flight; i++) {
                auto *buffer = &c->buffers[i][member];
                KC_TRY(kc_gpu_new(gpu, &buffer->keys, c->cap, err));
                if (c->values != NULL || c->answers != NULL)
                        KC_TRY(kc_gpu_new(gpu, &buffer->values, c->cap, err));
                KC_TRY(timed_copy_new(&buffer->upload, err));
                KC_TRY(timed_copy_new(&buffer->download, err));
        }
out:
        return status;
}

/* Other streams use the memory: wait until it is ready. */
template <class Layout> static enum kc_status buffers_new(cascade<Layout> *c, struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(kc_links_in_turn(c->several->links, buffers_of_member<Layout>, c, err));
        KC_TRY(kc_links_settle(c->several->links, err));
out:
        return status;
}

template <class Layout> static void buffers_free(cascade<Layout> *c)
{
        struct kc_error ignored = {}; /* an earlier failure is reported, or the work is done */
        (void)kc_links_settle(c->several->links, &ignored);
        for (int i = 0; i < c->in_flight; i++)
                for (int j = 0; j < nmembers(c); j++) {
                        auto *buffer = &c->buffers[i][j];
                        kc_gpu_delete(gpu_of(c, j), buffer->keys, c->cap);
                        kc_gpu_delete(gpu_of(c, j), buffer->values, c->cap);
                        timed_copy_free(&buffer->upload);
                        timed_copy_free(&buffer->download);
                }
}

/* ---- the steps of a batch ---- */

/* Enqueue the copies to a member. The batch that had the buffer before has been worked on, but its
 * answers may still be on their way to the host. */
template <class Layout> static enum kc_status upload(void *ctx, int member, struct kc_error *err)
{
        enum kc_status status;
        const auto *batch = (const cascade_batch<Layout> *)ctx;
        cascade<Layout> *c = batch->c;
        const struct share_range own = share_of(c, batch->number, member);
        const auto *buffer = buffer_of(c, batch->number, member);
        cudaStream_t stream = gpu_of(c, member)->upload;
        KC_TRY(KC_CUDA(cudaStreamWaitEvent(stream, buffer->download.end, 0)));
        KC_TRY(KC_CUDA(cudaEventRecord(buffer->upload.begin, stream)));
        KC_TRY(KC_CUDA(cudaMemcpyAsync(buffer->keys, c->keys + own.first, own.n * sizeof *c->keys,
                                       cudaMemcpyHostToDevice, stream)));
        if (c->values != NULL)
                KC_TRY(KC_CUDA(cudaMemcpyAsync(buffer->values, c->values + own.first,
                                               own.n * sizeof *c->values, cudaMemcpyHostToDevice,
                                               stream)));
        KC_TRY(KC_CUDA(cudaEventRecord(buffer->upload.end, stream)));
out:
        return status;
}

/* Enqueue the copies of a member's answers, which are ready, to the host. */
template <class Layout> static enum kc_status download(void *ctx, int member, struct kc_error *err)
{
        enum kc_status status;
        const auto *batch = (const cascade_batch<Layout> *)ctx;
        cascade<Layout> *c = batch->c;
        const struct share_range own = share_of(c, batch->number, member);
        const auto *buffer = buffer_of(c, batch->number, member);
        cudaStream_t stream = gpu_of(c, member)->download;
        KC_TRY(KC_CUDA(cudaEventRecord(buffer->download.begin, stream)));
        KC_TRY(KC_CUDA(cudaMemcpyAsync(c->answers + own.first, buffer->values,
                                       own.n * sizeof *c->answers, cudaMemcpyDeviceToHost,
                                       stream)));
        KC_TRY(KC_CUDA(cudaEventRecord(buffer->download.end, stream)));
out:
        return status;
}

/* Look up the keys of a batch, and send the answers on their way. The answers that were in its
 * buffers before have arrived: the batch's keys were copied after that. */
template <class Layout>
static enum kc_status look_up(cascade<Layout> *c, uint64_t number,
                              const kc_wd_share<typename Layout::key> *shares, struct kc_error *err)
{
        enum kc_status status;
        cascade_batch<Layout> batch = { c, number };
        uint32_t *answers[KC_GPU_MAX_DEVICES];
        uint64_t nfound = 0;
        for (int i = 0; i < nmembers(c); i++)
                answers[i] = buffer_of(c, number, i)->values;
        KC_TRY(kc_wd_several_retrieve(c->several, shares, answers, c->missing, &nfound, err));
        c->nfound += nfound;
        if (number >= (uint64_t)c->in_flight)
                KC_TRY(add_time(c, number, KC_WD_DOWNLOAD,
                                &share_buffer<typename Layout::key>::download, err));
        KC_TRY(kc_links_in_turn(c->several->links, download<Layout>, &batch, err));
out:
        return status;
}

/* Put or look up a batch that is on its way to the devices. This waits until it has arrived, so
 * that the time of the copies is not part of the next stage. */
template <class Layout>
static enum kc_status work_on(cascade<Layout> *c, uint64_t number, struct kc_error *err)
{
        enum kc_status status;
        kc_wd_share<typename Layout::key> shares[KC_GPU_MAX_DEVICES];
        KC_TRY(add_time(c, number, KC_WD_UPLOAD, &share_buffer<typename Layout::key>::upload, err));
        for (int i = 0; i < nmembers(c); i++) {
                const auto *buffer = buffer_of(c, number, i);
                shares[i] = { buffer->keys, c->values == NULL ? NULL : buffer->values,
                              share_of(c, number, i).n };
        }
        KC_TRY(c->answers == NULL ? kc_wd_several_put(c->several, shares, c->mode, NULL, err)
                                  : look_up(c, number, shares, err));
out:
        return status;
}

/* Wait for the answers that are still on their way. */
template <class Layout> static enum kc_status finish(cascade<Layout> *c, struct kc_error *err)
{
        enum kc_status status;
        const uint64_t nleft = std::min((uint64_t)c->in_flight, c->nbatches);
        KC_TRY(kc_links_settle(c->several->links, err));
        for (uint64_t i = c->nbatches - nleft; i < c->nbatches && c->answers != NULL; i++)
                KC_TRY(add_time(c, i, KC_WD_DOWNLOAD, &share_buffer<typename Layout::key>::download,
                                err));
out:
        return status;
}

/* A full map does not stop the batches that follow, whose keys may have room. */
template <class Layout> static enum kc_status all_batches(cascade<Layout> *c, struct kc_error *err)
{
        enum kc_status status;
        struct kc_error full = {};
        uint64_t nup = 0;
        KC_TRY(buffers_new(c, err));
        for (uint64_t i = 0; i < c->nbatches; i++) {
                struct kc_error failure = {};
                for (; nup < std::min(i + (uint64_t)c->in_flight, c->nbatches); nup++) {
                        cascade_batch<Layout> batch = { c, nup };
                        KC_TRY(kc_links_in_turn(c->several->links, upload<Layout>, &batch, err));
                }
                status = work_on(c, i, &failure);
                if (status == KC_ENOMEM && c->answers == NULL)
                        full = failure;
                else if (status != KC_OK)
                        KC_TRY(kc_fail_as(err, &failure));
        }
        KC_TRY(finish(c, err));
        status = full.status == KC_OK ? KC_OK : kc_fail_as(err, &full);
out:
        buffers_free(c);
        return status;
}

/* The default: at least BATCH_NKEYS, and enough for the maps to work in bulk. */
template <class Layout> static uint64_t usual_batch(const cascade<Layout> *c)
{
        uint64_t least = BATCH_NKEYS;
        for (int i = 0; i < nmembers(c); i++) {
                const uint64_t bulk = kc_wd_bulk_least(c->several->maps[i]);
                if (bulk != UINT64_MAX)
                        least = std::max(least, (bulk + 1) * (uint64_t)nmembers(c));
        }
        const uint64_t nbatches = std::max(c->n / least, (uint64_t)1);
        return (c->n + nbatches - 1) / nbatches;
}

template <class Layout>
static enum kc_status run(cascade<Layout> *c, const struct kc_wd_cascades *cascades,
                          struct kc_error *err)
{
        const struct kc_wd_cascades defaults = {}, *given = cascades != NULL ? cascades : &defaults;
        if (given->in_flight < 0 || given->in_flight > KC_WD_MAX_IN_FLIGHT)
                return kc_fail(err, KC_EUSAGE,
                               "WarpDrive map: %d batches cannot be in flight; the most is %d",
                               given->in_flight, (int)KC_WD_MAX_IN_FLIGHT);
        if (c->n == 0)
                return KC_OK;
        c->batch_nkeys =
                std::min(given->batch_nkeys != 0 ? given->batch_nkeys : usual_batch(c), c->n);
        c->nbatches = (c->n + c->batch_nkeys - 1) / c->batch_nkeys;
        c->in_flight = given->in_flight != 0 ? given->in_flight : (int)IN_FLIGHT;
        c->cap = (c->batch_nkeys + (uint64_t)nmembers(c) - 1) / (uint64_t)nmembers(c);
        return all_batches(c, err);
}

template <class Layout>
enum kc_status kc_wd_several_put_host(kc_wd_several<Layout> *several,
                                      const typename Layout::key *keys, const uint32_t *values,
                                      uint64_t n, enum kc_wd_mode mode,
                                      const struct kc_wd_cascades *cascades, struct kc_error *err)
{
        cascade<Layout> c = {};
        c.several = several;
        c.keys = keys;
        c.values = values;
        c.n = n;
        c.mode = mode;
        return run(&c, cascades, err);
}

template <class Layout>
enum kc_status kc_wd_several_retrieve_host(kc_wd_several<Layout> *several,
                                           const typename Layout::key *keys, uint32_t *values,
                                           uint64_t n, uint32_t missing, uint64_t *nfound,
                                           const struct kc_wd_cascades *cascades,
                                           struct kc_error *err)
{
        cascade<Layout> c = {};
        c.several = several;
        c.keys = keys;
        c.answers = values;
        c.n = n;
        c.missing = missing;
        enum kc_status status = run(&c, cascades, err);
        if (nfound != NULL)
                *nfound = c.nfound;
        return status;
}

#define INSTANTIATE(Layout) \
        template enum kc_status kc_wd_several_put_host( \
                kc_wd_several<Layout> *, const typename Layout::key *, const uint32_t *, uint64_t, \
                enum kc_wd_mode, const struct kc_wd_cascades *, struct kc_error *); \
        template enum kc_status kc_wd_several_retrieve_host( \
                kc_wd_several<Layout> *, const typename Layout::key *, uint32_t *, uint64_t, \
                uint32_t, uint64_t *, const struct kc_wd_cascades *, struct kc_error *);
KC_WD_LAYOUTS(INSTANTIATE)
