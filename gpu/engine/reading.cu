/*
 * Reading, by the driver and by the followers. Each device keeps the reads that arrive on it.
 *
 *      files, part by part ──▶ a device's intake ──▶ reads that it keeps     gpu/intake/intake.cuh
 *      batches             ──▶ a device's buffer ──▶ reads that it keeps     gpu/feed/feed.cuh
 *
 * The first device begins. A follower takes part from the time at which its device is open and the
 * driver has proposed how the reads arrive, if the device has the memory for it. If the intakes
 * give up, all that they have read is dropped, and the input is read once more, in batches.
 */
#include "gpu/engine/engine_internal.cuh"

#include <algorithm>

/* ---- the devices' reads ---- */

bool kc_engine_have_read_together(const struct gpu_input *in)
{
        for (int i = 0; i < in->gpu_params->nothers; i++)
                if (in->others[i].kept != NULL)
                        return true;
        return false;
}

void kc_engine_free_other_reads(struct gpu_input *in)
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

size_t kc_engine_pinned_for_reads(const struct gpu_input *in)
{
        size_t nbytes = 0;
        for (int i = 0; i <= in->gpu_params->nothers; i++)
                if (kc_engine_reads_of(in, i) != NULL)
                        nbytes += kc_gpu_kept_pinned_nbytes(kc_engine_reads_of(in, i));
        return nbytes;
}

/* ---- memory for reading ---- */

/* The host memory that is left for reads and runs, whichever k is counted. */
static enum kc_status least_host_memory(const struct gpu_engine *e, size_t *nbytes,
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
static struct kc_gpu_kept_setup kept_setup(const struct gpu_engine *e, size_t device_nbytes,
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

enum kc_status kc_engine_keep_reads(struct gpu_engine *e, struct kc_error *err)
{
        enum kc_status status;
        struct kc_gpu_kept_setup kept = kept_setup(e, e->plan.kept_nbytes, &e->plan.buffers,
                                                   e->in->takes_files ? &e->in->stored : NULL);
        KC_TRY(least_host_memory(e, &kept.host_nbytes, err));
        kept.host_nbytes /= 1 + (size_t)e->crew.nfollowers;
        KC_TRY(kc_gpu_kept_new(&e->in->kept, e->crew.gpu, &kept, err));
        e->in->kept_host_nbytes = kept.host_nbytes;
        if (e->in->takes_files)
                kc_gpu_vote_propose(&e->in->reading, READING_FILES);
out:
        return status;
}

enum kc_status kc_engine_attach_feed(struct gpu_engine *e, struct kc_error *err)
{
        bool attached; /* if not, there are no reads */
        return kc_gpu_feed_attach(e->in->feed, 0, e->crew.gpu, &e->plan.buffers,
                                  e->crew.gpu->limit_nbytes, &attached, err);
}

size_t kc_engine_plan_rounds(const struct gpu_engine *e, size_t limit_nbytes)
{
        return kc_gpu_intake_plan(e->in->intakes.source, limit_nbytes,
                                  (size_t)e->params.memory_nbytes / 4 / (size_t)e->in->intakes.n,
                                  (size_t)e->crew.params->batch_nkmers);
}

enum kc_status kc_engine_attach_intake(struct gpu_engine *e, bool *fits, struct kc_error *err)
{
        struct kc_error refusal = {};
        const size_t text_nbytes = kc_engine_plan_rounds(e, e->crew.gpu->limit_nbytes);
        *fits = text_nbytes != 0;
        if (!*fits)
                return KC_OK;
        e->in->stored.text_nbytes = std::min(e->in->stored.text_nbytes, text_nbytes);
        const enum kc_status status = kc_gpu_intake_attach(e->in->intake, e->crew.gpu,
                                                           e->in->stored.text_nbytes, &refusal);
        *fits = status != KC_ENOMEM;
        return status == KC_OK || !*fits ? KC_OK : kc_fail_as(err, &refusal);
}

enum kc_status kc_engine_end_intakes(struct gpu_engine *e, struct kc_error *err)
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

/* ---- on any device ---- */

void kc_engine_expect_pairs(struct gpu_engine *e, uint64_t nkmers)
{
        enum { STEP = 1 << 24 };
        const struct kc_run_sink *sink = e->crew.sink;
        const uint64_t npairs = kc_gpu_plan_expected_pairs(
                e->params.k, nkmers, sink->filter.min_count > 1, e->params.memory_nbytes);
        if (sink->expect == NULL || npairs < e->expected_npairs + STEP)
                return;
        e->expected_npairs = npairs;
        sink->expect(sink->ctx, npairs);
}

/* Keep reads that have arrived. Returns when their memory may be overwritten. */
static enum kc_status keep(struct gpu_engine *e, struct kc_gpu *gpu, struct kc_gpu_kept *kept,
                           const struct kc_gpu_reads *reads, uint64_t i, struct kc_error *err)
{
        enum kc_status status;
        /* The timeline shows the first device's stream; of others, times by the host's clock. */
        cudaStream_t traced = gpu == e->crew.gpu ? gpu->stream : NULL;
        int trace = kc_gpu_trace_begin(e->crew.trace, "keep", i, traced);
        KC_TRY(kc_gpu_kept_put(kept, reads, err));
        kc_gpu_trace_end(e->crew.trace, trace, traced);
        KC_TRY(KC_CUDA(cudaStreamSynchronize(gpu->stream)));
        __atomic_fetch_add(&e->nkmers, reads->nkmers, __ATOMIC_RELAXED);
        if (gpu == e->crew.gpu && kc_gpu_kept_where(kept).file_nbytes == 0)
                kc_engine_expect_pairs(e, __atomic_load_n(&e->nkmers, __ATOMIC_RELAXED));
out:
        return status;
}

enum kc_status kc_engine_keep_batches(struct gpu_engine *e, int device, struct kc_gpu *gpu,
                                      struct kc_gpu_kept *kept, struct kc_error *err)
{
        enum kc_status status;
        struct kc_gpu_reads reads;
        for (uint64_t i = 0;; i++) {
                KC_TRY(kc_gpu_feed_take(e->in->feed, device, &reads, err));
                if (reads.nkmers == 0)
                        break;
                KC_TRY(keep(e, gpu, kept, &reads, i, err));
                kc_gpu_feed_give_back(e->in->feed, device);
        }
        kc_gpu_feed_detach(e->in->feed, device);
out:
        return status;
}

enum kc_status kc_engine_keep_parts(struct gpu_engine *e, struct kc_gpu_intake *intake,
                                    struct kc_gpu *gpu, struct kc_gpu_kept *kept,
                                    struct kc_error *err)
{
        enum kc_status status;
        struct kc_gpu_reads reads;
        bool foreign;
        for (uint64_t i = 0;; i++) {
                KC_TRY(kc_gpu_intake_take(intake, &reads, &foreign, err));
                if (reads.nkmers == 0)
                        break;
                KC_TRY(keep(e, gpu, kept, &reads, i, err));
        }
out:
        return status;
}

/* ---- followers ---- */

/* Memory for reading parts of files. KC_ENOMEM: the device has too little. */
static enum kc_status take_parts_memory(struct gpu_engine *e, struct kc_gpu *gpu, int number,
                                        struct kc_gpu_intake **intake, struct kc_gpu_kept **kept,
                                        struct kc_error *err)
{
        enum kc_status status;
        struct kc_gpu_intake_setup setup = e->in->stored;
        struct kc_gpu_kept_setup keeping;
        setup.number = number;
        setup.text_nbytes = kc_engine_plan_rounds(e, gpu->limit_nbytes);
        if (setup.text_nbytes == 0)
                return kc_fail(err, KC_ENOMEM, "too little device memory to read files");
        keeping = kept_setup(e, kc_gpu_plan_kept_nbytes(gpu->limit_nbytes), NULL, &setup);
        keeping.host_nbytes = e->in->kept_host_nbytes;
        KC_TRY(kc_gpu_kept_new(kept, gpu, &keeping, err));
        KC_TRY(kc_gpu_intake_new(intake, &setup, err));
        KC_TRY(kc_gpu_intake_attach(*intake, gpu, setup.text_nbytes, err));
out:
        return status;
}

/* Read parts of the files, if the device has the memory. The reads belong to the driver's thread
 * when the intake has ended. */
static enum kc_status join_files(struct gpu_engine *e, int follower, struct kc_error *err)
{
        enum kc_status status;
        struct kc_error refusal = {};
        struct gpu_other *other = &e->in->others[follower];
        struct kc_gpu_intake *intake = NULL;
        struct kc_gpu_kept *kept = NULL;
        status = take_parts_memory(e, &other->gpu, follower + 1, &intake, &kept, &refusal);
        if (status == KC_OK && kc_gpu_intake_join(intake)) {
                other->intake = intake;
                other->kept = kept;
                KC_TRY(kc_engine_keep_parts(e, intake, &other->gpu, kept, err));
                return kc_gpu_intake_end(intake, err);
        }
        kc_gpu_intake_free(intake);
        kc_gpu_kept_free(kept);
        if (status != KC_OK && status != KC_ENOMEM)
                return kc_fail_as(err, &refusal);
        kc_gpu_forget_refusals(&other->gpu);
        status = KC_OK;
out:
        return status;
}

/* Memory for batches. *attached = false: all have been read. KC_ENOMEM: the device has too
 * little. */
static enum kc_status take_batches_memory(struct gpu_engine *e, struct kc_gpu *gpu, int device,
                                          struct kc_gpu_kept **kept, bool *attached,
                                          struct kc_error *err)
{
        enum kc_status status;
        struct kc_gpu_plan plan = e->plan;
        struct kc_gpu_kept_setup keeping;
        KC_TRY(kc_gpu_plan_buffers(&plan, gpu->limit_nbytes, err));
        keeping = kept_setup(e, plan.kept_nbytes, &plan.buffers, NULL);
        keeping.host_nbytes = e->in->kept_host_nbytes;
        KC_TRY(kc_gpu_kept_new(kept, gpu, &keeping, err));
        KC_TRY(kc_gpu_feed_attach(e->in->feed, device, gpu, &plan.buffers, gpu->limit_nbytes,
                                  attached, err));
out:
        return status;
}

/* Take some of the batches, if the device has the memory. The reads belong to the driver's thread
 * when the device is detached. */
static enum kc_status join_batches(struct gpu_engine *e, int follower, struct kc_error *err)
{
        struct kc_error refusal = {};
        struct gpu_other *other = &e->in->others[follower];
        struct kc_gpu_kept *kept = NULL;
        bool attached = false;
        const enum kc_status status =
                take_batches_memory(e, &other->gpu, follower + 1, &kept, &attached, &refusal);
        if (attached) {
                other->kept = kept;
                return kc_engine_keep_batches(e, follower + 1, &other->gpu, kept, err);
        }
        kc_gpu_kept_free(kept);
        if (status != KC_OK && status != KC_ENOMEM)
                return kc_fail_as(err, &refusal);
        kc_gpu_forget_refusals(&other->gpu);
        return KC_OK;
}

enum kc_status kc_engine_follow_reading(struct gpu_engine *e, int follower, struct kc_error *err)
{
        enum kc_status status;
        size_t reading, nheard = 0;
        do {
                KC_TRY(kc_gpu_vote_hear(&e->in->reading, &nheard, &reading, err));
                if (reading == READING_FILES)
                        KC_TRY(join_files(e, follower, err));
                else if (reading == READING_BATCHES)
                        KC_TRY(join_batches(e, follower, err));
        } while (reading == READING_FILES);
out:
        return status;
}
