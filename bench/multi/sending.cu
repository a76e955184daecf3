/*
 * Counting on several devices, each of which has some of the reads of W1 (docs/dev/notes/gpu.md),
 * in both of the engine's ways, from the reads to sorted runs on each device:
 *
 *      reads         each member gets all reads, and finds the super-k-mers of its share in them
 *      super-k-mers  each member finds those of its own reads, and sends them to their owners
 *
 * Counters, runs and inboxes have their memory before the clock starts.
 */
#include "base/parallel.h"
#include "bench/gpu/workload.cuh"
#include "bench/multi/multi.cuh"
#include "gpu/dispatch.cuh"
#include "gpu/plan.cuh"
#include "gpu/runs/lsm.cuh"

#include <memory>
#include <vector>

static_assert((int)KC_LINKS_MAX <= (int)KC_GPU_MAX_DEVICES, "every member may send");

static const int GENOME_LOG2 = 26;
static const double COVERAGE = 40;

namespace
{

template <class Key> struct counting_member {
        struct kc_gpu *gpu;
        struct kc_gpu_kept *own, *all; /* reads: its own; of all members, once it has got them */
        struct kc_gpu_share share;
        struct kc_gpu_link links[KC_LINKS_MAX]; /* from the others */
        struct kc_gpu_counter<Key> *counter;
        struct kc_gpu_counter_caps caps;
        struct kc_gpu_lsm<Key> *lsm;
        std::vector<struct kc_gpu_pass> passes; /* over super-k-mers that are sent */
        std::vector<struct kc_bins> bins;
        struct kc_gpu_counted counted;
};

template <class Key> struct counting_crowd {
        struct workload reads;
        struct kc_superkmer_setup superkmers;
        struct kc_links links;
        struct counting_member<Key> members[KC_LINKS_MAX]; /* [links.n] */
        struct kc_load loads[KC_NLOADS];
        size_t reads_nbytes; /* of all members */
        struct kc_gate gate;
        struct kc_gpu_dispatch dispatch;
        uint64_t sent_nbytes;
};

} // namespace

/* ---- reads and shares ---- */

template <class Key> static enum kc_status make_reads(void *ctx, int member, struct kc_error *err)
{
        counting_crowd<Key> *c = (counting_crowd<Key> *)ctx;
        counting_member<Key> *m = &c->members[member];
        enum kc_status status;
        struct kc_gpu_reads reads = {};
        struct kc_load loads[KC_NLOADS];
        const uint64_t n = (uint64_t)c->links.n, i = (uint64_t)member;
        const uint64_t first = c->reads.nreads * i / n, end = c->reads.nreads * (i + 1) / n;
        const int k = c->superkmers.k;
        m->gpu = &c->links.gpus[member];
        KC_TRY(workload_new(m->gpu, &c->reads, k, &reads, err));
        KC_TRY(workload_keep<Key>(m->gpu, &c->reads, k, &reads, first, end - first, &m->own, err));
        KC_TRY(kc_gpu_kept_loads(m->own, 0, loads, err));
        for (int l = 0; l < KC_NLOADS; l++) {
                c->loads[l].nrecords += loads[l].nrecords;
                c->loads[l].nkmers += loads[l].nkmers;
        }
        c->reads_nbytes += kc_gpu_kept_where(m->own).device_nbytes;
out:
        workload_free(m->gpu, &reads);
        return status;
}

template <class Key> static enum kc_status divide(counting_crowd<Key> *c, struct kc_error *err)
{
        struct kc_gpu_share shares[KC_LINKS_MAX];
        const size_t n = (size_t)c->links.n;
        if (kc_gpu_plan_shares(c->loads, &KC_GPU_ALL_POINTS, n, shares) != n)
                return kc_fail(err, KC_EUSAGE, "too few k-mers for %zu members", n);
        for (size_t i = 0; i < n; i++)
                c->members[i].share = shares[i];
        return KC_OK;
}

template <class Key>
static struct kc_gpu_plan_input plan_of(const counting_crowd<Key> *c, const counting_member<Key> *m)
{
        struct kc_gpu_plan_input input = {};
        input.superkmers = &c->superkmers;
        input.table = KC_TABLE_WARPDRIVE;
        input.top_nkmers = UINT64_MAX;
        for (size_t i = m->share.first; i < m->share.end; i++) {
                input.total.nrecords += c->loads[i].nrecords;
                input.total.nkmers += c->loads[i].nkmers;
        }
        return input;
}

/* A counter and an LSM, in room_nbytes. */
template <class Key>
static enum kc_status make_counter(const counting_crowd<Key> *c, counting_member<Key> *m,
                                   const struct kc_gpu_plan_input *input, size_t room_nbytes,
                                   struct kc_error *err)
{
        enum kc_status status;
        const struct kc_run_filter all = { 1, UINT32_MAX };
        const struct kc_gpu_counter_setup setup = { c->superkmers, false, input->table, all };
        struct kc_gpu_lsm_setup lsm = {};
        lsm.tmp_dir = "/tmp";
        KC_TRY(kc_gpu_plan_counter<Key>(input, room_nbytes, &m->caps, err));
        KC_TRY(kc_gpu_counter_new(&m->counter, m->gpu, &setup, &m->caps, err));
        KC_TRY(kc_gpu_lsm_new(&m->lsm, m->gpu, &lsm, err));
out:
        return status;
}

/* Free what a run needs and makes. */
template <class Key> static enum kc_status empty(void *ctx, int member, struct kc_error *)
{
        counting_crowd<Key> *c = (counting_crowd<Key> *)ctx;
        counting_member<Key> *m = &c->members[member];
        kc_gpu_dispatch_leave(&c->dispatch, member);
        kc_gpu_counter_free(m->counter);
        m->counter = NULL;
        kc_gpu_lsm_free(m->lsm);
        m->lsm = NULL;
        kc_gpu_kept_free(m->all);
        m->all = NULL;
        for (struct kc_gpu_link &link : m->links)
                kc_gpu_link_close(&link);
        m->counted = {};
        return KC_OK;
}

/* ---- counting, in both ways ---- */

template <class Key>
static enum kc_status insert_run(void *ctx, struct kc_gpu_run<Key> *run, struct kc_error *err)
{
        return kc_gpu_lsm_insert(((counting_member<Key> *)ctx)->lsm, run, err);
}

template <class Key> static enum kc_status make_room(counting_member<Key> *m, struct kc_error *err)
{
        return kc_gpu_lsm_make_room(m->lsm, kc_gpu_plan_run_room<Key>(m->caps.npairs), err);
}

template <class Key> static uint64_t count_kmers(const counting_crowd<Key> *c)
{
        uint64_t nkmers = 0;
        for (int i = 0; i < c->links.n; i++)
                nkmers += c->members[i].counted.nkmers;
        return nkmers;
}

/* ---- all reads for all ---- */

template <class Key>
static enum kc_status prepare_member(void *ctx, int member, struct kc_error *err)
{
        counting_crowd<Key> *c = (counting_crowd<Key> *)ctx;
        counting_member<Key> *m = &c->members[member];
        enum kc_status status;
        const struct kc_gpu_plan_input input = plan_of(c, m);
        const size_t room = kc_gpu_room(m->gpu),
                     reads = c->reads_nbytes - kc_gpu_kept_where(m->own).device_nbytes;
        KC_TRY(make_counter(c, m, &input, room - std::min(room, reads), err));
        for (int i = 0; i < c->links.n; i++)
                if (i != member)
                        KC_TRY(kc_gpu_link_open(&m->links[i], c->members[i].gpu, m->gpu, err));
out:
        return status;
}

template <class Key> static enum kc_status prepare_reads(void *ctx, struct kc_error *err)
{
        counting_crowd<Key> *c = (counting_crowd<Key> *)ctx;
        enum kc_status status;
        KC_TRY(kc_links_in_turn(&c->links, empty<Key>, c, err));
        KC_TRY(kc_links_in_turn(&c->links, prepare_member<Key>, c, err));
out:
        return status;
}

template <class Key>
static enum kc_status get_reads(counting_crowd<Key> *c, int member, struct kc_error *err)
{
        counting_member<Key> *m = &c->members[member];
        struct kc_gpu_kept_source sources[KC_LINKS_MAX];
        for (int i = 0; i < c->links.n; i++)
                sources[i] = { c->members[i].own, i != member ? &m->links[i] : NULL };
        return kc_gpu_kept_share(&m->all, m->gpu, sources, c->links.n, SIZE_MAX, err);
}

template <class Key>
static enum kc_status count_in_all_reads(void *ctx, int member, struct kc_error *err)
{
        counting_crowd<Key> *c = (counting_crowd<Key> *)ctx;
        counting_member<Key> *m = &c->members[member];
        enum kc_status status;
        const struct kc_gpu_run_taker<Key> taker = {
                m, insert_run<Key>
        };
        struct kc_gpu_pass passes[KC_NLOADS];
        struct kc_load most = {};
        size_t npasses;
        KC_TRY(get_reads(c, member, err));
        most.nrecords = kc_gpu_counter_max_records(&c->superkmers, &m->caps, m->all);
        most.nkmers = m->caps.nkmers;
        npasses = kc_gpu_plan_passes(c->loads, &m->share, &most, passes);
        for (size_t i = 0; i < npasses; i++) {
                KC_TRY(make_room(m, err));
                KC_TRY(kc_gpu_counter_count(m->counter, m->all, &passes[i], &taker, &m->counted,
                                            err));
        }
out:
        return status;
}

template <class Key> static enum kc_status run_reads(void *ctx, struct kc_error *err)
{
        counting_crowd<Key> *c = (counting_crowd<Key> *)ctx;
        enum kc_status status;
        KC_TRY(kc_links_parallel(&c->links, count_in_all_reads<Key>, c, err));
        for (int i = 0; i < c->links.n; i++)
                for (const struct kc_gpu_link &link : c->members[i].links)
                        c->sent_nbytes += link.nbytes;
out:
        return status;
}

/* ---- super-k-mers for their owners ---- */

/* The passes over what is sent. */
template <class Key>
static enum kc_status plan_passes(counting_crowd<Key> *c, int member, uint64_t inbox_nrecords,
                                  struct kc_error *err)
{
        counting_member<Key> *m = &c->members[member];
        const struct kc_load most = { inbox_nrecords, m->caps.nkmers };
        for (size_t i = m->share.first; i < m->share.end; i++)
                if (c->loads[i].nrecords > inbox_nrecords)
                        return kc_fail(err, KC_ENOMEM, "too little device memory for a minimizer");
        m->passes.resize(KC_NLOADS);
        m->passes.resize(kc_gpu_plan_passes(c->loads, &m->share, &most, m->passes.data()));
        m->bins.clear();
        for (const struct kc_gpu_pass &pass : m->passes)
                m->bins.push_back(kc_gpu_counter_bins(m->counter, &pass));
        return KC_OK;
}

template <class Key> static enum kc_status join(void *ctx, int member, struct kc_error *err)
{
        counting_crowd<Key> *c = (counting_crowd<Key> *)ctx;
        counting_member<Key> *m = &c->members[member];
        enum kc_status status;
        struct kc_gpu_plan_input input = plan_of(c, m);
        const size_t room = kc_gpu_room(m->gpu);
        const uint64_t region = kc_gpu_dispatch_region(&c->superkmers, c->links.n, room);
        const size_t outboxes = kc_gpu_dispatch_outboxes_nbytes(&c->superkmers, c->links.n, region);
        struct kc_gpu_inbox inboxes[KC_COUNT_NINBOXES];
        struct kc_dispatch_passes passes;
        struct kc_gpu_chunks chunks;
        uint64_t position;
        input.sent = true;
        KC_TRY(make_counter(c, m, &input, room - std::min(room, outboxes), err));
        KC_TRY(kc_gpu_counter_inboxes(m->counter, inboxes, err));
        KC_TRY(plan_passes(c, member, inboxes[0].cap, err));
        KC_TRY(kc_gpu_kept_begin(m->own, NULL, 0, &chunks, &position, err));
        KC_TRY(kc_gpu_dispatch_join(&c->dispatch, member, m->gpu, &c->superkmers, &chunks, inboxes,
                                    region, KC_GATE_FOLLOWERS, err));
        passes = { m->passes.data(), m->passes.size() };
        kc_gpu_dispatch_plan(&c->dispatch, member, &passes, m->bins.data());
out:
        return status;
}

template <class Key> static enum kc_status prepare_superkmers(void *ctx, struct kc_error *err)
{
        counting_crowd<Key> *c = (counting_crowd<Key> *)ctx;
        enum kc_status status;
        KC_TRY(kc_links_in_turn(&c->links, empty<Key>, c, err));
        c->dispatch = {};
        c->dispatch.gate = &c->gate;
        c->dispatch.n = c->links.n;
        KC_TRY(kc_links_in_turn(&c->links, join<Key>, c, err));
out:
        return status;
}

template <class Key>
static enum kc_status count_inboxes(counting_crowd<Key> *c, int member, struct kc_error *err)
{
        counting_member<Key> *m = &c->members[member];
        enum kc_status status = KC_OK;
        const struct kc_gpu_run_taker<Key> taker = {
                m, insert_run<Key>
        };
        for (size_t step = 0; step < m->passes.size(); step++) {
                uint64_t nrecords;
                bool fits;
                KC_TRY(kc_gpu_dispatch_receive(&c->dispatch, member, step, &nrecords, &fits, err));
                if (!fits)
                        return kc_fail(err, KC_ENOMEM, "an inbox is too small");
                KC_TRY(make_room(m, err));
                KC_TRY(kc_gpu_counter_count_inbox(m->counter, (int)(step % KC_COUNT_NINBOXES),
                                                  nrecords, &m->passes[step], &taker, &m->counted,
                                                  err));
                kc_gpu_dispatch_release(&c->dispatch, member);
        }
        KC_TRY(kc_gpu_dispatch_wait(&c->dispatch, member, err));
out:
        return status;
}

/* Each member has a thread that counts, and one that sends. */
template <class Key>
static enum kc_status count_or_send(void *ctx, int thread, struct kc_error *err)
{
        counting_crowd<Key> *c = (counting_crowd<Key> *)ctx;
        enum kc_status status;
        const int member = thread % c->links.n;
        KC_TRY(kc_links_use(&c->links, member, err));
        KC_TRY(thread == member ? count_inboxes(c, member, err)
                                : kc_gpu_dispatch_send(&c->dispatch, member, err));
out:
        return status;
}

template <class Key> static void stop_all(void *ctx)
{
        kc_gate_stop(&((counting_crowd<Key> *)ctx)->gate);
}

template <class Key> static enum kc_status run_superkmers(void *ctx, struct kc_error *err)
{
        counting_crowd<Key> *c = (counting_crowd<Key> *)ctx;
        enum kc_status status;
        KC_TRY(kc_parallel(2 * c->links.n, count_or_send<Key>, stop_all<Key>, c, err));
        for (int i = 0; i < c->links.n; i++)
                c->sent_nbytes += kc_gpu_dispatch_received_nbytes(&c->dispatch, i);
out:
        return status;
}

/* ---- measurements ---- */

template <class Key> static void close_crowd(counting_crowd<Key> *c)
{
        struct kc_error ignored = {};
        (void)kc_links_settle(&c->links, &ignored); /* after a failure, work may be under way */
        for (int i = 0; i < c->links.n; i++) {
                (void)kc_links_use(&c->links, i, &ignored);
                (void)empty<Key>(c, i, &ignored);
                kc_gpu_kept_free(c->members[i].own);
        }
        kc_links_close(&c->links);
        kc_gate_destroy(&c->gate);
}

template <class Key>
static enum kc_status open_crowd(const struct multi_bench *b, counting_crowd<Key> *c, int nmembers,
                                 int k, struct kc_error *err)
{
        enum kc_status status;
        c->reads = workload_of(multi_scaled(b, GENOME_LOG2), COVERAGE);
        c->superkmers = kc_superkmer_setup_for<Key>(
                k, kc_gpu_minimizer_length(k, c->reads.nreads * c->reads.length));
        KC_TRY(multi_open(b, &c->links, nmembers, false, err));
        KC_TRY(kc_links_in_turn(&c->links, make_reads<Key>, c, err));
        KC_TRY(divide(c, err));
out:
        return status;
}

template <class Key>
static enum kc_status time_sending(struct multi_bench *b, int nmembers, int k, bool superkmers,
                                   struct kc_error *err)
{
        enum kc_status status;
        struct multi_row row = {};
        const std::unique_ptr<counting_crowd<Key>> crowd(new counting_crowd<Key>());
        counting_crowd<Key> *c = crowd.get();
        kc_gate_init(&c->gate, NULL);
        KC_TRY(open_crowd(b, c, nmembers, k, err));
        row.part = "sending";
        row.what = "count";
        row.way = superkmers ? "super-k-mers" : "reads";
        row.unit = "k-mers";
        row.k = k;
        row.n = workload_nkmers(&c->reads, k);
        row.sent_nbytes = &c->sent_nbytes;
        KC_TRY(multi_time(b, &c->links, &row,
                          superkmers ? prepare_superkmers<Key> : prepare_reads<Key>,
                          superkmers ? run_superkmers<Key> : run_reads<Key>, c, err));
        multi_expect(b, "k-mers counted", count_kmers(c), row.n);
out:
        close_crowd(c);
        return status;
}

template <class Key>
static enum kc_status time_ways(struct multi_bench *b, int nmembers, int k, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        for (bool superkmers : { false, true }) {
                struct kc_error failure = {};
                const struct workload reads = workload_of(multi_scaled(b, GENOME_LOG2), COVERAGE);
                status = time_sending<Key>(b, nmembers, k, superkmers, &failure);
                KC_TRY(multi_skip_if_large(status, "sending", workload_nkmers(&reads, k), "k-mers",
                                           &failure, err));
        }
out:
        return status;
}

enum kc_status multi_sending(struct multi_bench *b, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        for (int m = 2; m <= b->ndevices; m++) {
                KC_TRY(time_ways<kc_key64>(b, m, 31, err));
                KC_TRY(time_ways<kc_key128>(b, m, 55, err));
        }
out:
        return status;
}
