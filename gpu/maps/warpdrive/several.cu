#include "gpu/maps/warpdrive/several.cuh"

#include "gpu/maps/warpdrive/kernels.cuh"
#include "gpu/maps/warpdrive/owners.cuh"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <new>

static const uint64_t SLICE_NKEYS = (uint64_t)1 << 29; /* at most, of a member */
static const uint64_t LEAST_NKEYS = (uint64_t)1 << 10; /* of slices, when memory is scarce */
enum { TABLE_BLOCKS = 4 /* per multiprocessor */ };

static_assert((int)KC_WD_MAX_OWNERS == (int)KC_LINKS_MAX, "every member can own keys");

/* ---- making ---- */

uint64_t kc_wd_several_capacity(uint64_t capacity, int nowners)
{
        if (nowners == 1)
                return capacity;
        uint64_t own = (capacity + (uint64_t)nowners - 1) / (uint64_t)nowners;
        return own + 4 * (uint64_t)std::sqrt((double)own) + 16;
}

template <class Layout>
static enum kc_status maps_new(kc_wd_several<Layout> *several, const struct kc_wd_options *options,
                               struct kc_error *err)
{
        enum kc_status status = KC_OK;
        struct kc_links *links = several->links;
        struct kc_wd_options own = *options;
        own.capacity = kc_wd_several_capacity(options->capacity, links->n);
        for (int i = 0; i < links->n; i++) {
                struct kc_gpu *gpu = &links->gpus[i];
                KC_TRY(kc_links_use(links, i, err));
                KC_TRY(kc_wd_new(&several->maps[i], gpu, &own, gpu->stream, err));
        }
        KC_TRY(kc_links_use(links, 0, err));
out:
        return status;
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
        enum kc_status status = maps_new(fresh, options, err);
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

/* ---- a slice of a batch ---- */

namespace
{

enum operation { PUT, RETRIEVE, ERASE };

/* What a member has of a slice, as sender and as owner. */
template <class Key> struct station {
        kc_wd_share<Key> share;
        uint32_t *answers_wanted; /* [share.n] where the caller wants them */
        uint32_t *refused_wanted; /* a bit for each key, likewise; NULL: not wanted */

        uint32_t *counts;               /* device: a row of T, then the cursors */
        uint32_t row[KC_WD_MAX_OWNERS]; /* T[member, *] */

        /* As sender. */
        uint64_t nsent; /* keys that must be copied to owners */
        Key *sent_keys;
        uint32_t *sent_values, *fetched; /* [nsent]; fetched: answers copied from owners */
        uint16_t *ranks;                 /* [share.n] */
        uint32_t *words;                 /* [share.n] 1 for a refused key, otherwise 0 */
        struct kc_wd_sent_run *runs;     /* [tiles][owners] */

        /* As owner. */
        uint64_t ngot;
        Key *got_keys;
        uint32_t *got_values, *answers; /* [ngot] */
        uint32_t *bits;                 /* a bit for each refused key */
        bool began;                     /* to use the map */
        uint64_t nfound;
        struct kc_error full; /* its keys found no room */
};

template <class Layout> struct batch_slice {
        typedef typename Layout::key Key;
        kc_wd_several<Layout> *several;
        enum operation operation;
        enum kc_wd_mode mode;
        uint32_t missing;
        bool with_values, with_refused;
        bool began; /* to use the maps */
        station<Key> stations[KC_LINKS_MAX];
};

/* Adds the time until it ends to a stage. */
struct stopwatch {
        typedef std::chrono::steady_clock clock;
        double *seconds;
        clock::time_point begin;

        explicit stopwatch(double *seconds) : seconds(seconds), begin(clock::now())
        {
        }

        ~stopwatch(void)
        {
                *seconds += std::chrono::duration<double>(clock::now() - begin).count();
        }
};

} // namespace

template <class Layout> static int nowners(const batch_slice<Layout> *s)
{
        return s->several->links->n;
}

template <class Layout> static struct kc_gpu *gpu_of(const batch_slice<Layout> *s, int member)
{
        return &s->several->links->gpus[member];
}

/* Whether the split writes the keys of this owner to the owner's memory. */
template <class Layout> static bool is_written(const batch_slice<Layout> *s, int from, int owner)
{
        return from == owner || (s->several->transposition == KC_WD_WRITTEN &&
                                 s->several->links->reach[from][owner]);
}

/* Where a sender's keys begin in the owner's array: the sum over a column of T. */
template <class Layout>
static uint64_t column_offset(const batch_slice<Layout> *s, int from, int owner)
{
        uint64_t sum = 0;
        for (int i = 0; i < from; i++)
                sum += s->stations[i].row[owner];
        return sum;
}

/* Where an owner's keys begin in the sender's buffer: the sum over a row of T, of what is copied. */
template <class Layout>
static uint64_t row_offset(const batch_slice<Layout> *s, int from, int owner)
{
        uint64_t sum = 0;
        for (int i = 0; i < owner; i++)
                sum += is_written(s, from, i) ? 0 : s->stations[from].row[i];
        return sum;
}

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

/* A member's row of the table. */
template <class Layout> static enum kc_status count_row(void *ctx, int member, struct kc_error *err)
{
        enum kc_status status;
        auto *s = (batch_slice<Layout> *)ctx;
        auto *own = &s->stations[member];
        struct kc_gpu *gpu = gpu_of(s, member);
        const size_t n = (size_t)2 * nowners(s);
        KC_TRY(kc_gpu_new(gpu, &own->counts, n, err));
        KC_TRY(KC_CUDA(cudaMemsetAsync(own->counts, 0, n * sizeof *own->counts, gpu->stream)));
        if (own->share.n != 0)
                launch_owners(gpu, own->share.keys, (uint32_t)own->share.n, (uint32_t)nowners(s),
                              own->counts);
        KC_TRY(KC_LAUNCHED());
        KC_TRY(kc_gpu_read(gpu, own->row, own->counts, (size_t)nowners(s), err));
out:
        return status;
}

static size_t nwords_of_bits(uint64_t n)
{
        return (size_t)((n + 31) / 32);
}

/* Whether something comes back for each key. */
template <class Layout> static bool comes_back(const batch_slice<Layout> *s)
{
        return s->operation == RETRIEVE || s->with_refused;
}

/* Take the memory for what the table says. Others use it, so wait until it is there. */
template <class Layout>
static enum kc_status take_memory(void *ctx, int member, struct kc_error *err)
{
        enum kc_status status;
        auto *s = (batch_slice<Layout> *)ctx;
        auto *own = &s->stations[member];
        struct kc_gpu *gpu = gpu_of(s, member);
        const uint32_t ntiles = kc_wd_nsent_tiles<typename Layout::key>((uint32_t)own->share.n);
        own->nsent = row_offset(s, member, nowners(s));
        own->ngot = column_offset(s, nowners(s), member);
        KC_TRY(kc_gpu_new(gpu, &own->sent_keys, own->nsent, err));
        KC_TRY(kc_gpu_new(gpu, &own->got_keys, own->ngot, err));
        if (s->with_values) {
                KC_TRY(kc_gpu_new(gpu, &own->sent_values, own->nsent, err));
                KC_TRY(kc_gpu_new(gpu, &own->got_values, own->ngot, err));
        }
        if (s->with_refused) {
                KC_TRY(kc_gpu_new(gpu, &own->words, own->share.n, err));
                KC_TRY(kc_gpu_new(gpu, &own->bits, nwords_of_bits(own->ngot), err));
                KC_TRY(KC_CUDA(
                        cudaMemsetAsync(own->bits, 0, nwords_of_bits(own->ngot) * 4, gpu->stream)));
                own->answers_wanted = own->words;
        }
        if (comes_back(s)) {
                KC_TRY(kc_gpu_new(gpu, &own->fetched, own->nsent, err));
                KC_TRY(kc_gpu_new(gpu, &own->answers, own->ngot, err));
                KC_TRY(kc_gpu_new(gpu, &own->ranks, own->share.n, err));
                KC_TRY(kc_gpu_new(gpu, &own->runs, (size_t)ntiles * nowners(s), err));
        }
        KC_TRY(KC_CUDA(cudaStreamSynchronize(gpu->stream)));
out:
        return status;
}

/* Nobody may be using the memory any more. */
template <class Layout> static void give_memory_back(batch_slice<Layout> *s)
{
        for (int i = 0; i < nowners(s); i++) {
                auto *own = &s->stations[i];
                struct kc_gpu *gpu = gpu_of(s, i);
                const uint32_t ntiles =
                        kc_wd_nsent_tiles<typename Layout::key>((uint32_t)own->share.n);
                kc_gpu_delete(gpu, own->counts, (size_t)2 * nowners(s));
                kc_gpu_delete(gpu, own->sent_keys, own->nsent);
                kc_gpu_delete(gpu, own->sent_values, own->nsent);
                kc_gpu_delete(gpu, own->fetched, own->nsent);
                kc_gpu_delete(gpu, own->ranks, own->share.n);
                kc_gpu_delete(gpu, own->runs, (size_t)ntiles * nowners(s));
                kc_gpu_delete(gpu, own->words, own->share.n);
                kc_gpu_delete(gpu, own->bits, nwords_of_bits(own->ngot));
                kc_gpu_delete(gpu, own->got_keys, own->ngot);
                kc_gpu_delete(gpu, own->got_values, own->ngot);
                kc_gpu_delete(gpu, own->answers, own->ngot);
        }
}

/* ---- to the owners ---- */

template <class Layout>
static kc_wd_way<typename Layout::key> way_to(const batch_slice<Layout> *s, int from, int owner)
{
        const auto *sender = &s->stations[from], *receiver = &s->stations[owner];
        if (is_written(s, from, owner))
                return { receiver->got_keys, receiver->got_values,
                         (uint32_t)column_offset(s, from, owner) };
        return { sender->sent_keys, sender->sent_values, (uint32_t)row_offset(s, from, owner) };
}

/* Split a member's keys. Owners use what was written to their memory, so wait for it. */
template <class Layout> static enum kc_status send(void *ctx, int member, struct kc_error *err)
{
        typedef typename Layout::key Key;
        enum kc_status status = KC_OK;
        auto *s = (batch_slice<Layout> *)ctx;
        auto *own = &s->stations[member];
        struct kc_gpu *gpu = gpu_of(s, member);
        kc_wd_sending<Key> sending = {};
        if (own->share.n == 0)
                return KC_OK;
        sending.keys = own->share.keys;
        sending.values = s->with_values ? own->share.values : NULL;
        sending.n = (uint32_t)own->share.n;
        sending.nowners = (uint32_t)nowners(s);
        sending.cursors = own->counts + nowners(s);
        sending.ranks = own->ranks;
        sending.runs = own->runs;
        for (int owner = 0; owner < nowners(s); owner++)
                sending.to[owner] = way_to(s, member, owner);
        KC_TRY(KC_CUDA(cudaFuncSetAttribute(wd_send_kernel<Key>,
                                            cudaFuncAttributeMaxDynamicSharedMemorySize,
                                            (int)sizeof(kc_wd_outbox<Key>))));
        wd_send_kernel<Key><<<kc_wd_nsent_tiles<Key>(sending.n), KC_WD_SPLIT_THREADS,
                              sizeof(kc_wd_outbox<Key>), gpu->stream>>>(sending);
        KC_TRY(KC_LAUNCHED());
        KC_TRY(KC_CUDA(cudaStreamSynchronize(gpu->stream)));
out:
        return status;
}

/* One of the m * m copies of the transposition, or of its reverse. */
template <class T>
static struct kc_links_copy copy_of(int from, int to, const T *source, uint64_t source_at,
                                    T *target, uint64_t target_at, uint64_t n)
{
        if (source == NULL || target == NULL)
                n = 0;
        return { from, to, n == 0 ? NULL : source + source_at, n == 0 ? NULL : target + target_at,
                 n * sizeof(T) };
}

static enum kc_status exchange(struct kc_links *links, const struct kc_links_copy *copies, int n,
                               struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(kc_links_exchange(links, copies, n, err));
        for (int i = 0; i < links->n; i++)
                KC_TRY(KC_CUDA(cudaStreamSynchronize(links->gpus[i].stream)));
out:
        return status;
}

template <class Layout>
static enum kc_status copy_keys(batch_slice<Layout> *s, struct kc_error *err)
{
        struct kc_links_copy copies[2 * KC_LINKS_MAX * KC_LINKS_MAX];
        int n = 0;
        for (int i = 0; i < nowners(s); i++)
                for (int j = 0; j < nowners(s); j++) {
                        const auto *from = &s->stations[i], *to = &s->stations[j];
                        uint64_t row = row_offset(s, i, j), column = column_offset(s, i, j);
                        if (is_written(s, i, j) || from->row[j] == 0)
                                continue;
                        copies[n++] = copy_of(i, j, from->sent_keys, row, to->got_keys, column,
                                              from->row[j]);
                        copies[n++] = copy_of(i, j, from->sent_values, row, to->got_values, column,
                                              from->row[j]);
                }
        return n == 0 ? KC_OK : exchange(s->several->links, copies, n, err);
}

/* ---- the owners' maps ---- */

/* Do the operation with keys that the member owns. */
template <class Layout>
static enum kc_status operate(const batch_slice<Layout> *s, int member,
                              const kc_wd_share<typename Layout::key> *keys, uint32_t *answers,
                              uint32_t *refused, uint64_t *nfound, struct kc_error *err)
{
        kc_wd_map<Layout> *map = s->several->maps[member];
        if (keys->n == 0)
                return KC_OK;
        if (s->operation == PUT)
                return kc_wd_bulk_put(map, keys->keys, keys->values, keys->n, s->mode, refused,
                                      err);
        if (s->operation == ERASE)
                return kc_wd_erase(map, keys->keys, keys->n, err);
        return kc_wd_bulk_retrieve(map, keys->keys, answers, keys->n, s->missing, nfound, err);
}

/* A full map does not stop the others. */
template <class Layout> static enum kc_status use_map(void *ctx, int member, struct kc_error *err)
{
        auto *s = (batch_slice<Layout> *)ctx;
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

/* ---- and back ---- */

template <class Layout>
static enum kc_status copy_answers(batch_slice<Layout> *s, struct kc_error *err)
{
        struct kc_links_copy copies[KC_LINKS_MAX * KC_LINKS_MAX];
        int n = 0;
        for (int i = 0; i < nowners(s); i++)
                for (int j = 0; j < nowners(s); j++)
                        if (!is_written(s, i, j) && s->stations[i].row[j] != 0)
                                copies[n++] =
                                        copy_of(j, i, s->stations[j].answers,
                                                column_offset(s, i, j), s->stations[i].fetched,
                                                row_offset(s, i, j), s->stations[i].row[j]);
        return n == 0 ? KC_OK : exchange(s->several->links, copies, n, err);
}

template <class Layout> static enum kc_status fetch(void *ctx, int member, struct kc_error *err)
{
        typedef typename Layout::key Key;
        enum kc_status status = KC_OK;
        auto *s = (batch_slice<Layout> *)ctx;
        auto *own = &s->stations[member];
        struct kc_gpu *gpu = gpu_of(s, member);
        struct kc_wd_fetching fetching = {};
        if (own->share.n == 0)
                return KC_OK;
        fetching.n = (uint32_t)own->share.n;
        fetching.nowners = (uint32_t)nowners(s);
        fetching.ranks = own->ranks;
        fetching.runs = own->runs;
        fetching.out = own->answers_wanted;
        for (int owner = 0; owner < nowners(s); owner++)
                fetching.answers[owner] =
                        is_written(s, member, owner) ? s->stations[owner].answers : own->fetched;
        wd_fetch_kernel<Key>
                <<<kc_wd_nsent_tiles<Key>(fetching.n), KC_WD_SPLIT_THREADS, 0, gpu->stream>>>(
                        fetching);
        KC_TRY(KC_LAUNCHED());
        KC_TRY(KC_CUDA(cudaStreamSynchronize(gpu->stream)));
out:
        return status;
}

/* ---- refused keys ---- */

/* A word for each bit. */
static __global__ void wd_spread_kernel(const uint32_t *bits, uint64_t n, uint32_t *words)
{
        uint64_t i = (uint64_t)blockIdx.x * KC_WD_THREADS + threadIdx.x;
        if (i < n)
                words[i] = bits[i / 32] >> i % 32 & 1;
}

/* A bit for each word. */
static __global__ void wd_gather_kernel(const uint32_t *words, uint64_t n, uint32_t *bits)
{
        uint64_t i = (uint64_t)blockIdx.x * KC_WD_THREADS + threadIdx.x;
        uint32_t ballot = __ballot_sync(UINT32_MAX, i < n && words[i] != 0);
        if (i < n && kc_warp_lane() == 0)
                bits[i / 32] = ballot;
}

template <class Layout> static enum kc_status spread(batch_slice<Layout> *s, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        for (int i = 0; i < nowners(s); i++) {
                auto *own = &s->stations[i];
                struct kc_gpu *gpu = gpu_of(s, i);
                if (own->ngot == 0)
                        continue;
                KC_TRY(kc_links_use(s->several->links, i, err));
                if (!own->began)
                        kc_wd_report_refused({ gpu, gpu->stream }, own->bits, NULL, own->ngot);
                wd_spread_kernel<<<kc_ceil_div(own->ngot, KC_WD_THREADS), KC_WD_THREADS, 0,
                                   gpu->stream>>>(own->bits, own->ngot, own->answers);
                KC_TRY(KC_LAUNCHED());
        }
        KC_TRY(kc_links_settle(s->several->links, err));
out:
        return status;
}

template <class Layout> static enum kc_status gather(batch_slice<Layout> *s, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        for (int i = 0; i < nowners(s); i++) {
                auto *own = &s->stations[i];
                if (own->share.n == 0)
                        continue;
                KC_TRY(kc_links_use(s->several->links, i, err));
                KC_TRY(fetch<Layout>(s, i, err));
                wd_gather_kernel<<<kc_ceil_div(own->share.n, KC_WD_THREADS), KC_WD_THREADS, 0,
                                   gpu_of(s, i)->stream>>>(own->words, own->share.n,
                                                           own->refused_wanted);
                KC_TRY(KC_LAUNCHED());
        }
        KC_TRY(kc_links_settle(s->several->links, err));
out:
        return status;
}

/* Tell the senders which keys were refused, on this thread, as no step may fail for lack of
 * anything. */
template <class Layout> static enum kc_status report(batch_slice<Layout> *s, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        if (s->with_refused) {
                KC_TRY(spread(s, err));
                KC_TRY(copy_answers(s, err));
                KC_TRY(gather(s, err));
        }
out:
        return status;
}

/* Keys that were not put for lack of memory, from number `at` of each share on. */
template <class Layout> static void refuse_rest(const batch_slice<Layout> *all, uint64_t at)
{
        struct kc_error ignored = {}; /* the lack of memory is reported */
        for (int i = 0; i < nowners(all); i++) {
                const auto *own = &all->stations[i];
                struct kc_gpu *gpu = gpu_of(all, i);
                (void)kc_links_use(all->several->links, i, &ignored);
                if (own->refused_wanted != NULL && own->share.n > at)
                        kc_wd_report_refused({ gpu, gpu->stream }, own->refused_wanted + at / 32,
                                             NULL, own->share.n - at);
        }
        (void)kc_links_settle(all->several->links, &ignored);
}

/* ---- batches ---- */

template <class Layout>
static enum kc_status all_members(batch_slice<Layout> *s, enum kc_wd_stage stage,
                                  enum kc_status (*run)(void *ctx, int member,
                                                        struct kc_error *err),
                                  struct kc_error *err)
{
        struct stopwatch watch(&s->several->seconds[stage]);
        return kc_links_parallel(s->several->links, run, s, err);
}

/* Use all maps. KC_ENOMEM: some are full, or had no thread; the others have been used. */
template <class Layout> static enum kc_status use_maps(batch_slice<Layout> *s, struct kc_error *err)
{
        struct kc_error failure = {};
        s->began = true;
        enum kc_status status = all_members(s, KC_WD_LOCAL, use_map<Layout>, &failure);
        for (int i = 0; i < nowners(s) && status == KC_OK; i++) {
                failure = s->stations[i].full;
                status = failure.status;
        }
        if (status == KC_ENOMEM && s->operation == PUT) {
                enum kc_status reported = report(s, err);
                if (reported != KC_OK)
                        return reported;
        }
        return status == KC_OK ? KC_OK : kc_fail_as(err, &failure);
}

/* A slice's way through all stages, once it has memory. KC_ENOMEM: as in use_maps if s->began. */
template <class Layout>
static enum kc_status pass_through(batch_slice<Layout> *s, struct kc_error *err)
{
        enum kc_status status;
        double *seconds = s->several->seconds;
        KC_TRY(all_members(s, KC_WD_SPLIT, send<Layout>, err));
        {
                struct stopwatch watch(&seconds[KC_WD_COPY]);
                KC_TRY(copy_keys(s, err));
        }
        KC_TRY(use_maps(s, err));
        if (s->operation != RETRIEVE)
                goto out;
        {
                struct stopwatch watch(&seconds[KC_WD_COPY_BACK]);
                KC_TRY(copy_answers(s, err));
        }
        KC_TRY(all_members(s, KC_WD_FETCH, fetch<Layout>, err));
out:
        return status;
}

template <class Layout> static enum kc_status do_slice(batch_slice<Layout> *s, struct kc_error *err)
{
        struct kc_error ignored = {}; /* another failure is reported */
        enum kc_status status = all_members(s, KC_WD_TABLE, count_row<Layout>, err);
        if (status == KC_OK)
                status = all_members(s, KC_WD_TABLE, take_memory<Layout>, err);
        if (status == KC_OK)
                status = pass_through(s, err);
        if (status != KC_OK)
                (void)kc_links_settle(s->several->links, &ignored);
        give_memory_back(s);
        return status;
}

/* The keys of each share that begin at `at`, at most cap of them. */
template <class Layout>
static batch_slice<Layout> cut(const batch_slice<Layout> *all, uint64_t at, uint64_t cap)
{
        batch_slice<Layout> s = *all;
        for (int i = 0; i < nowners(all); i++) {
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

/* Keys of a member in a slice: half of the memory is left to the maps. An owner's keys are numbered
 * with 32 bits. */
template <class Layout> static uint64_t first_cap(const batch_slice<Layout> *all)
{
        const size_t per_key = 2 * (sizeof(typename Layout::key) + 2 * sizeof(uint32_t));
        uint64_t cap = std::min(SLICE_NKEYS, ((uint64_t)UINT32_MAX >> 1) / nowners(all));
        for (int i = 0; i < nowners(all); i++)
                cap = std::min(cap, (uint64_t)kc_gpu_room(gpu_of(all, i)) / 2 / per_key);
        cap = std::max(cap, LEAST_NKEYS);
        if (all->several->most_nkeys != 0)
                cap = std::min(cap, all->several->most_nkeys);
        return std::max(cap / 32, (uint64_t)1) * 32; /* refused keys are words of bits */
}

/* A single member owns all keys. */
template <class Layout>
static enum kc_status do_alone(const batch_slice<Layout> *all, uint64_t *nfound,
                               struct kc_error *err)
{
        const auto *own = &all->stations[0];
        struct stopwatch watch(&all->several->seconds[KC_WD_LOCAL]);
        *nfound = 0;
        return operate(all, 0, &own->share, own->answers_wanted, own->refused_wanted, nfound, err);
}

/* All slices of a batch. If there is no memory for one, they become smaller. A full map does not
 * stop the slices that follow, whose keys may have room. */
template <class Layout>
static enum kc_status do_slices(const batch_slice<Layout> *all, uint64_t *nfound,
                                struct kc_error *err)
{
        enum kc_status status = KC_OK;
        struct kc_error full = {};
        uint64_t most = 0, cap = first_cap(all);
        *nfound = 0;
        for (int i = 0; i < nowners(all); i++)
                most = std::max(most, all->stations[i].share.n);
        for (uint64_t at = 0; at < most;) {
                batch_slice<Layout> s = cut(all, at, cap);
                struct kc_error failure = {};
                status = do_slice(&s, &failure);
                for (int i = 0; i < nowners(all); i++)
                        *nfound += s.stations[i].nfound;
                if (status == KC_ENOMEM && !s.began && cap > LEAST_NKEYS) {
                        cap = std::max(std::min(cap, most) / 64 * 32, LEAST_NKEYS);
                        continue;
                }
                if (status == KC_ENOMEM && !s.began)
                        refuse_rest(all, at);
                if (status != KC_OK && (status != KC_ENOMEM || !s.began))
                        return kc_fail_as(err, &failure);
                if (status != KC_OK)
                        full = failure;
                at += cap;
        }
        return full.status == KC_OK ? KC_OK : kc_fail_as(err, &full);
}

template <class Layout>
static enum kc_status do_batch(const batch_slice<Layout> *all, uint64_t *nfound,
                               struct kc_error *err)
{
        uint64_t n;
        enum kc_status status =
                nowners(all) == 1 ? do_alone(all, &n, err) : do_slices(all, &n, err);
        if (nfound != NULL)
                *nfound = n;
        return status;
}

template <class Layout>
static batch_slice<Layout> whole(kc_wd_several<Layout> *several,
                                 const kc_wd_share<typename Layout::key> *shares,
                                 enum operation operation)
{
        batch_slice<Layout> s = {};
        s.several = several;
        s.operation = operation;
        for (int i = 0; i < several->links->n; i++)
                s.stations[i].share = shares[i];
        return s;
}

/* A share without values: 1 each, as long as no other share has any. */
template <class Layout>
static enum kc_status set_values(batch_slice<Layout> *s, struct kc_error *err)
{
        bool without = false;
        for (int i = 0; i < nowners(s); i++) {
                const auto &share = s->stations[i].share;
                s->with_values |= share.n != 0 && share.values != NULL;
                without |= share.n != 0 && share.values == NULL;
        }
        if (s->with_values && without)
                return kc_fail(err, KC_EUSAGE,
                               "WarpDrive map: values for some members' keys and not for others'");
        return KC_OK;
}

/* Slices without refusals leave the bits as they are: zero. */
template <class Layout>
static enum kc_status expect_refusals(batch_slice<Layout> *all, uint32_t *const *refused,
                                      struct kc_error *err)
{
        enum kc_status status = KC_OK;
        all->with_refused = true;
        for (int i = 0; i < nowners(all); i++) {
                auto *own = &all->stations[i];
                own->refused_wanted = refused[i];
                KC_TRY(kc_links_use(all->several->links, i, err));
                KC_TRY(KC_CUDA(cudaMemsetAsync(refused[i], 0, nwords_of_bits(own->share.n) * 4,
                                               gpu_of(all, i)->stream)));
        }
        KC_TRY(kc_links_use(all->several->links, 0, err));
out:
        return status;
}

template <class Layout>
enum kc_status kc_wd_several_put(kc_wd_several<Layout> *several,
                                 const kc_wd_share<typename Layout::key> *shares,
                                 enum kc_wd_mode mode, uint32_t *const *refused,
                                 struct kc_error *err)
{
        enum kc_status status;
        batch_slice<Layout> all = whole(several, shares, PUT);
        all.mode = mode;
        KC_TRY(set_values(&all, err));
        if (refused != NULL)
                KC_TRY(expect_refusals(&all, refused, err));
        KC_TRY(do_batch(&all, NULL, err));
out:
        return status;
}

template <class Layout>
enum kc_status kc_wd_several_retrieve(kc_wd_several<Layout> *several,
                                      const kc_wd_share<typename Layout::key> *shares,
                                      uint32_t *const *values, uint32_t missing, uint64_t *nfound,
                                      struct kc_error *err)
{
        batch_slice<Layout> all = whole(several, shares, RETRIEVE);
        all.missing = missing;
        for (int i = 0; i < several->links->n; i++)
                all.stations[i].answers_wanted = values[i];
        return do_batch(&all, nfound, err);
}

template <class Layout>
enum kc_status kc_wd_several_erase(kc_wd_several<Layout> *several,
                                   const kc_wd_share<typename Layout::key> *shares,
                                   struct kc_error *err)
{
        batch_slice<Layout> all = whole(several, shares, ERASE);
        return do_batch(&all, NULL, err);
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
