/*
 * Private to engine.cu: what an engine holds, and the memory for its stages.
 */
#ifndef KC_GPU_ENGINE_ENGINE_MEMORY_CUH
#define KC_GPU_ENGINE_ENGINE_MEMORY_CUH

#include "gpu/count/count.cuh"
#include "gpu/engine/crew.cuh"
#include "gpu/engine/devices/exchange.cuh"
#include "gpu/engine/devices/pact.cuh"
#include "gpu/engine/devices/shares.cuh"
#include "gpu/engine/plan.cuh"
#include "gpu/feed/feed.cuh"
#include "gpu/intake/intake.cuh"
#include "gpu/output/emit.cuh"
#include "gpu/runs/lsm.cuh"

#include <algorithm>

/* A further device, for all k. */
struct gpu_other {
        struct kc_gpu gpu;
        bool is_open;
        struct kc_gpu_intake *intake; /* or NULL */
        struct kc_gpu_kept *kept;     /* the reads that it has read; NULL: none */
};

/* How the devices get the reads. */
enum gpu_reading {
        READING_UNDECIDED, /* the first device does not have its memory yet */
        READING_FILES,     /* from the intakes; if one gives up, in batches */
        READING_BATCHES,   /* from the feed */
        READING_OVER,
};

/* The reads, which the engines of all k share. */
struct gpu_input {
        const struct kc_count_params *params; /* k is not used */
        const struct kc_gpu_params *gpu_params;
        const struct kc_batch_source *source;
        struct kc_job *job;
        struct kc_superkmer_setup superkmers[KC_KEPT_MAX_KS]; /* [nks] */
        int nks, min_k, max_k;
        struct kc_gpu_session session;
        struct kc_gpu_intakes intakes;
        struct kc_gpu_intake_setup stored; /* of the first device's intake */
        struct kc_gpu_intake *intake;      /* the first device's, or NULL */
        bool takes_files;                  /* from the intakes; otherwise reads come in batches */
        struct kc_gpu_feed *feed;
        struct kc_gpu_kept *kept; /* the reads that the first device has read */
        struct kc_gpu_kept_where where;
        double reading_seconds; /* that reading took */
        struct gpu_other others[KC_GPU_MAX_DEVICES - 1];
        size_t kept_host_nbytes; /* most pinned host memory for the reads of one device */
        size_t kept_nbytes[KC_GPU_MAX_DEVICES]; /* of reads that each device keeps */
        enum gpu_reading reading;               /* guarded by the gate: what the driver announced */
};

template <class Key> struct gpu_engine;

/* What a device counts with, and what it has counted, for one k. */
template <class Key> struct gpu_counting {
        struct gpu_engine<Key> *engine;
        int device; /* index, as listed */
        struct kc_gpu *gpu;
        struct kc_gpu_kept *kept; /* all reads: in->kept, or a share in those of all devices */
        struct kc_gpu_counter<Key> *counter;
        struct kc_gpu_counter_caps caps; /* of the counter */
        struct kc_gpu_lsm<Key> *lsm;
        struct kc_gpu_counted counted;
        uint64_t npasses;
        uint64_t nmerged;                             /* pairs of the run that it merged */
        uint64_t nsaturated, spilled_nbytes;          /* of its LSM, in the end */
        uint64_t runs_nbytes;                         /* pairs that it sent to other devices */
        uint64_t reads_nbytes;                        /* sent to this device */
        struct kc_gpu_link links[KC_GPU_MAX_DEVICES]; /* from other devices, for reads */
};

template <class Key> struct gpu_engine {
        struct kc_count_params params;
        struct gpu_input *in;
        int number; /* of its k, among all */
        struct kc_gpu_crew crew;
        struct kc_gpu_emitter<Key> *emitter;
        struct kc_gpu_plan plan;
        struct kc_superkmer_setup superkmers;
        struct kc_load loads[KC_NLOADS];
        struct kc_gpu_shares shares;
        struct kc_gpu_pact pact;
        struct kc_gpu_exchange<Key> exchange;
        struct gpu_counting<Key> own; /* the first device */
        struct gpu_counting<Key> others[KC_GPU_MAX_DEVICES - 1];
        double start, order_start;
        uint64_t nkmers;          /* in the reads; while they are read, each device adds its own */
        uint64_t expected_npairs; /* the last estimate that the sink was given */
        struct kc_gpu_counted counted; /* by all devices; at the end, nsaturated includes what the
                                          LSMs cut off */
        uint64_t spilled_nbytes;
        struct kc_count_totals *totals;
};

/* ---- the devices' reads ---- */

/* Device 0 is the first one. */
static const struct kc_gpu *device_of(const struct gpu_input *in, int device)
{
        return device == 0 ? &in->session.gpu : &in->others[device - 1].gpu;
}

static struct kc_gpu_kept *reads_of(const struct gpu_input *in, int device)
{
        return device == 0 ? in->kept : in->others[device - 1].kept;
}

/* Whether devices other than the first one have read some of the input. */
static bool have_read_together(const struct gpu_input *in)
{
        for (int i = 0; i < in->gpu_params->nothers; i++)
                if (in->others[i].kept != NULL)
                        return true;
        return false;
}

/* Call `work` for the reads of each device, with the device current. The first device is current
 * afterwards. */
template <class Work>
static enum kc_status for_all_reads(const struct gpu_input *in, Work work, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        for (int i = 0; i <= in->gpu_params->nothers; i++) {
                if (reads_of(in, i) == NULL)
                        continue;
                KC_TRY(KC_CUDA(cudaSetDevice(device_of(in, i)->device)));
                KC_TRY(work(reads_of(in, i)));
        }
out:
        if (in->gpu_params->nothers > 0)
                (void)cudaSetDevice(in->session.gpu.device);
        return status;
}

/* Free the reads of the further devices. None of their threads may use them. */
static void free_other_reads(struct gpu_input *in)
{
        for (int i = 0; i < in->gpu_params->nothers; i++) {
                if (in->others[i].kept == NULL)
                        continue;
                (void)cudaSetDevice(in->others[i].gpu.device);
                kc_gpu_kept_free(in->others[i].kept);
                in->others[i].kept = NULL;
        }
        if (in->gpu_params->nothers > 0)
                (void)cudaSetDevice(in->session.gpu.device);
}

static size_t pinned_for_reads(const struct gpu_input *in)
{
        size_t nbytes = 0;
        for (int i = 0; i <= in->gpu_params->nothers; i++)
                if (reads_of(in, i) != NULL)
                        nbytes += kc_gpu_kept_pinned_nbytes(reads_of(in, i));
        return nbytes;
}

static struct kc_load sum_loads(const struct kc_load *loads, const struct kc_gpu_share *share)
{
        struct kc_load sum = {};
        for (size_t i = share->first; i < share->end; i++) {
                sum.nrecords += loads[i].nrecords;
                sum.nkmers += loads[i].nkmers;
        }
        return sum;
}

/* Add up the loads of all reads. */
template <class Key>
static enum kc_status read_loads(struct gpu_engine<Key> *e, struct kc_error *err)
{
        std::fill(e->loads, e->loads + KC_NLOADS, kc_load{});
        return for_all_reads(
                e->in,
                [&](struct kc_gpu_kept *kept) {
                        struct kc_load loads[KC_NLOADS];
                        const enum kc_status status =
                                kc_gpu_kept_loads(kept, e->number, loads, err);
                        for (int i = 0; i < KC_NLOADS && status == KC_OK; i++) {
                                e->loads[i].nrecords += loads[i].nrecords;
                                e->loads[i].nkmers += loads[i].nkmers;
                        }
                        return status;
                },
                err);
}

/* Plan a share for each device; returns the number of shares. */
template <class Key> static size_t plan_shares(struct gpu_engine<Key> *e)
{
        const struct kc_gpu_share points = kc_gpu_plan_points(e->crew.params);
        return kc_gpu_plan_shares(e->loads, &points, 1 + (size_t)e->crew.nfollowers,
                                  e->shares.shares);
}

/* Devices that count the reads, those of other engines included. */
template <class Key> static uint64_t count_devices(const struct gpu_engine<Key> *e)
{
        const int nengines = e->crew.params->nengines;
        return (1 + (uint64_t)e->crew.nfollowers) * (nengines > 1 ? (uint64_t)nengines : 1);
}

/* Make a device's LSM, with an equal part of the host memory that the reads leave. */
template <class Key>
static enum kc_status make_lsm(const struct gpu_engine<Key> *e, struct gpu_counting<Key> *c,
                               struct kc_error *err)
{
        struct kc_gpu_lsm_setup lsm = {};
        const size_t pinned = pinned_for_reads(e->in);
        lsm.host_nbytes = (e->plan.host_nbytes - std::min(e->plan.host_nbytes, pinned)) /
                          (1 + (size_t)e->crew.nfollowers);
        lsm.tmp_dir = e->params.tmp_dir;
        lsm.nthreads = e->params.nthreads;
        lsm.gate = e->crew.gate;
        return kc_gpu_lsm_new(&c->lsm, c->gpu, &lsm, err);
}

/* ---- for the first k ---- */

/* The host memory that is left for reads and runs, whichever k is counted. */
template <class Key>
static enum kc_status least_host_memory(const struct gpu_engine<Key> *e, size_t *nbytes,
                                        struct kc_error *err)
{
        enum kc_status status = KC_OK;
        const size_t limit = e->crew.gpu->limit_nbytes;
        *nbytes = e->plan.host_nbytes;
        for (int i = 1; i < e->in->nks; i++) {
                struct kc_gpu_plan plan = e->plan;
                KC_TRY(kc_gpu_plan_parts(&plan, &e->params, e->in->superkmers[i].k, limit, err));
                *nbytes = std::min(*nbytes, plan.host_nbytes);
        }
out:
        return status;
}

/* How a device keeps its reads.
 *   buffers  of the feed, or NULL
 *   intake   setup, or NULL */
template <class Key>
static struct kc_gpu_kept_setup kept_setup(const struct gpu_engine<Key> *e, size_t device_nbytes,
                                           const struct kc_gpu_feed_caps *buffers,
                                           const struct kc_gpu_intake_setup *intake)
{
        struct kc_gpu_kept_setup kept = {};
        kept.superkmers = e->superkmers;
        kept.others = e->in->superkmers + 1;
        kept.nothers = e->in->nks - 1;
        if (buffers != NULL) {
                kept.max_nbases = buffers->nbases;
                kept.max_nspans = buffers->nspans;
        }
        if (intake != NULL) {
                kept.max_nbases = std::max(kept.max_nbases, kc_gpu_intake_most_bases(intake));
                kept.max_nspans = std::max(kept.max_nspans, kc_gpu_intake_most_spans(intake));
        }
        kept.device_nbytes = device_nbytes;
        kept.tmp_dir = e->params.tmp_dir;
        kept.nthreads = e->params.nthreads;
        kept.gate = e->crew.gate;
        return kept;
}

/* The driver: tell the followers how reads arrive, so that they may take part; or that all are there. */
static void announce(struct gpu_input *in, enum gpu_reading reading)
{
        kc_gate_enter(&in->session.gate);
        in->reading = reading;
        kc_gate_wake(&in->session.gate, KC_GATE_FOLLOWERS);
        kc_gate_leave(&in->session.gate);
}

template <class Key>
static enum kc_status keep_reads(struct gpu_engine<Key> *e, struct kc_error *err)
{
        enum kc_status status;
        struct kc_gpu_kept_setup kept = kept_setup(e, e->plan.kept_nbytes, &e->plan.buffers,
                                                   e->in->takes_files ? &e->in->stored : NULL);
        KC_TRY(least_host_memory(e, &kept.host_nbytes, err));
        kept.host_nbytes /= 1 + (size_t)e->crew.nfollowers;
        KC_TRY(kc_gpu_kept_new(&e->in->kept, e->crew.gpu, &kept, err));
        e->in->kept_host_nbytes = kept.host_nbytes;
        if (e->in->takes_files)
                announce(e->in, READING_FILES);
out:
        return status;
}

template <class Key> static bool tallies(const struct gpu_engine<Key> *e)
{
        return e->crew.sink->put_counts != NULL;
}

template <class Key>
static struct kc_gpu_plan_input plan_input(const struct gpu_engine<Key> *e,
                                           const struct kc_load *total)
{
        struct kc_gpu_plan_input input = {};
        input.superkmers = &e->superkmers;
        input.table = e->crew.params->table;
        input.total = *total;
        input.top_nkmers = e->plan.top_nkmers;
        input.drops_rare = e->crew.sink->filter.min_count > 1 || tallies(e);
        return input;
}

template <class Key>
static enum kc_status make_counter(const struct gpu_engine<Key> *e, struct gpu_counting<Key> *c,
                                   struct kc_error *err)
{
        const struct kc_gpu_counter_setup setup = { e->superkmers, e->params.stranded,
                                                    e->crew.params->table, e->crew.sink->filter,
                                                    tallies(e) };
        return kc_gpu_counter_new(&c->counter, c->gpu, &setup, &c->caps, err);
}

/* How much device memory the reads will take: enough for all of them if they fit; otherwise 0,
 * because it is then best to keep none of them there. The size of a compressed input is only a
 * guess, so there is a margin; grow_counter takes what is left of it. */
template <class Key> static size_t expect_reads(struct gpu_engine<Key> *e, size_t room)
{
        const uint64_t nbases = e->params.expected_nbases;
        const size_t nbytes = kc_gpu_plan_reads_nbytes(nbases);
        if (nbases == 0)
                return std::min(e->plan.kept_nbytes, room / 2);
        return nbytes <= e->plan.kept_nbytes ? std::min(nbytes / 4 * 5, e->plan.kept_nbytes) : 0;
}

/* The device memory for the counter and the reads. Buffers for uploads may still need theirs. */
template <class Key> static size_t room_to_divide(const struct gpu_engine<Key> *e)
{
        const size_t room = kc_gpu_room(e->crew.gpu);
        const size_t buffers = kc_gpu_feed_nbytes(&e->plan.buffers);
        return e->crew.params->read_ahead ? room : room - std::min(room, buffers);
}

/* Make a counter for an input of the expected size, before anything is read: later, other processes
 * may have taken the memory. */
template <class Key>
static enum kc_status take_counter(struct gpu_engine<Key> *e, struct kc_error *err)
{
        enum kc_status status;
        enum { USUAL_NKMERS = 1 << 28 };
        const uint64_t nbases = e->params.expected_nbases;
        const uint64_t nkmers = (nbases != 0 ? nbases : USUAL_NKMERS) / count_devices(e);
        const struct kc_load total = { kc_superkmer_expected(&e->superkmers, nkmers), nkmers };
        struct kc_gpu_plan_input input = plan_input(e, &total);
        const size_t room = room_to_divide(e);
        const size_t reads = expect_reads(e, room);
        struct kc_error refusal = {};
        input.copies = reads == 0;
        if (kc_gpu_plan_counter(&input, room - reads, &e->own.caps, &refusal) != KC_OK)
                KC_TRY(kc_gpu_plan_counter(&input, room, &e->own.caps, err));
        KC_TRY(make_counter(e, &e->own, err));
out:
        return status;
}

template <class Key>
static enum kc_status attach_feed(struct gpu_engine<Key> *e, struct kc_error *err)
{
        bool attached; /* if not, there are no reads */
        return kc_gpu_feed_attach(e->in->feed, 0, e->crew.gpu, &e->plan.buffers,
                                  e->crew.gpu->limit_nbytes, &attached, err);
}

/* How much text a round of an intake may have. On the host, the portions of all intakes may take the
 * quarter of the memory that the plan sets aside for reading. */
template <class Key> static size_t plan_rounds(const struct gpu_engine<Key> *e, size_t limit_nbytes)
{
        return kc_gpu_intake_plan(e->in->intakes.source, limit_nbytes,
                                  (size_t)e->params.memory_nbytes / 4 / (size_t)e->in->intakes.n,
                                  (size_t)e->crew.params->batch_nkmers);
}

/* Make the intake fit the device, which was not open when the intake was made. *fits = false: the
 * device has too little memory for it. */
template <class Key>
static enum kc_status attach_intake(struct gpu_engine<Key> *e, bool *fits, struct kc_error *err)
{
        struct kc_error refusal = {};
        const size_t text_nbytes = plan_rounds(e, e->crew.gpu->limit_nbytes);
        *fits = text_nbytes != 0;
        if (!*fits)
                return KC_OK;
        e->in->stored.text_nbytes = std::min(e->in->stored.text_nbytes, text_nbytes);
        const enum kc_status status = kc_gpu_intake_attach(e->in->intake, e->crew.gpu,
                                                           e->in->stored.text_nbytes, &refusal);
        *fits = status != KC_ENOMEM;
        return status == KC_OK || !*fits ? KC_OK : kc_fail_as(err, &refusal);
}

/* End the first device's intake, then all. */
template <class Key>
static enum kc_status end_intakes(struct gpu_engine<Key> *e, struct kc_error *err)
{
        enum kc_status status;
        bool foreign;
        KC_TRY(kc_gpu_intake_end(e->in->intake, err));
        KC_TRY(kc_gpu_intakes_wait(&e->in->intakes, &foreign, err));
        e->in->takes_files = !foreign;
        kc_gpu_intakes_end(&e->in->intakes);
out:
        return status;
}

/* The workers read the files from the beginning, as batches: drop the reads that the intakes have
 * found, and free the memory that was planned for use with them. */
template <class Key> static void drop_files(struct gpu_engine<Key> *e)
{
        const struct kc_stored_source *source = e->in->intakes.source;
        uint64_t nbytes = 0;
        for (size_t i = 0; i < source->nfiles; i++)
                nbytes += source->files[i].nbytes;
        kc_job_expect(e->crew.job, nbytes); /* now: with read_ahead, workers are already reading */
        e->nkmers = 0;
        kc_gpu_counter_free(e->own.counter);
        e->own.counter = NULL;
        kc_gpu_kept_free(e->in->kept);
        e->in->kept = NULL;
        free_other_reads(e->in);
}

/* Leave the files to the workers. */
template <class Key>
static enum kc_status leave_files(struct gpu_engine<Key> *e, struct kc_error *err)
{
        enum kc_status status;
        kc_gpu_intakes_give_up(&e->in->intakes);
        KC_TRY(end_intakes(e, err));
        drop_files(e);
out:
        return status;
}

/* Memory for reading, taken first so that uploads begin while the rest is allocated. But without
 * read_ahead, the workers have read nothing yet and must not read until nothing can fail any more:
 * sequences taken from the source are lost to another engine. */
template <class Key>
static enum kc_status attach_early(struct gpu_engine<Key> *e, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        bool fits = true;
        if (e->in->takes_files)
                KC_TRY(attach_intake(e, &fits, err));
        if (!fits)
                KC_TRY(leave_files(e, err));
        if (!e->in->takes_files && e->crew.params->read_ahead)
                KC_TRY(attach_feed(e, err));
out:
        return status;
}

/* The rest of the memory: for the reads that are kept and for counting. */
template <class Key>
static enum kc_status divide_memory(struct gpu_engine<Key> *e, struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(keep_reads(e, err));
        KC_TRY(take_counter(e, err));
        if (!e->in->takes_files && !e->crew.params->read_ahead)
                KC_TRY(attach_feed(e, err));
        if (!e->in->takes_files)
                announce(e->in, READING_BATCHES);
out:
        return status;
}

/* Prepare for batches instead of files. */
template <class Key>
static enum kc_status prepare_batches(struct gpu_engine<Key> *e, struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(attach_early(e, err));
        KC_TRY(divide_memory(e, err));
out:
        return status;
}

/* If the intake leaves too little memory for the rest, do without it. */
template <class Key> static enum kc_status take_memory(void *ctx, struct kc_error *err)
{
        struct gpu_engine<Key> *e = (struct gpu_engine<Key> *)ctx;
        enum kc_status status;
        struct kc_error refusal = {};
        const size_t limit = e->crew.gpu->limit_nbytes;
        KC_TRY(kc_gpu_plan_buffers(&e->plan, limit, err));
        KC_TRY(attach_early(e, err));
        KC_TRY(kc_gpu_plan_parts(&e->plan, &e->params, e->params.k, limit, err));
        KC_TRY(kc_gpu_emitter_attach(e->emitter, e->crew.gpu, &e->plan.parts, err));
        status = divide_memory(e, &refusal);
        if (status == KC_ENOMEM && e->in->takes_files) {
                KC_TRY(leave_files(e, err));
                KC_TRY(prepare_batches(e, err));
        } else if (status != KC_OK) {
                status = kc_fail_as(err, &refusal);
        }
out:
        return status;
}

/* ---- for a further k ---- */

/* Plan a counter for reads that are already kept. The next k may need more memory than the one
 * before, so reads leave the device until there is enough. */
template <class Key>
static enum kc_status plan_next_counter(struct gpu_engine<Key> *e, const struct kc_load *total,
                                        struct kc_error *err)
{
        enum kc_status status = KC_OK;
        struct kc_gpu_plan_input input = plan_input(e, total);
        bool gave = true;
        for (;;) {
                struct kc_error refusal = {};
                const size_t streaming = kc_gpu_kept_pass_nbytes(e->in->kept);
                const size_t room = kc_gpu_room(e->crew.gpu);
                input.copies = streaming > 0;
                if (kc_gpu_plan_counter(&input, room - std::min(room, streaming), &e->own.caps,
                                        &refusal) == KC_OK)
                        break;
                KC_TRY(kc_gpu_kept_give(e->in->kept, &gave, err));
                if (!gave)
                        return kc_fail_as(err, &refusal);
        }
out:
        return status;
}

template <class Key>
static enum kc_status take_next_counter(struct gpu_engine<Key> *e, struct kc_error *err)
{
        enum kc_status status;
        struct kc_load total;
        KC_TRY(read_loads(e, err));
        (void)plan_shares(e);
        total = sum_loads(e->loads, &e->shares.shares[0]);
        KC_TRY(plan_next_counter(e, &total, err));
        KC_TRY(make_counter(e, &e->own, err));
out:
        return status;
}

/* The memory for a further k. */
template <class Key> static enum kc_status take_next_memory(void *ctx, struct kc_error *err)
{
        struct gpu_engine<Key> *e = (struct gpu_engine<Key> *)ctx;
        enum kc_status status;
        const size_t limit = e->crew.gpu->limit_nbytes;
        kc_gpu_kept_unsettle(e->in->kept);
        KC_TRY(kc_gpu_plan_parts(&e->plan, &e->params, e->params.k, limit, err));
        KC_TRY(kc_gpu_emitter_attach(e->emitter, e->crew.gpu, &e->plan.parts, err));
        if (!have_read_together(e->in)) /* otherwise with the share in all reads */
                KC_TRY(take_next_counter(e, err));
out:
        return status;
}

#endif
