/*
 * Private to engine.cu: reading, by the driver and by the followers. Each device keeps the reads that
 * arrive on it.
 *
 *      files, part by part ──▶ a device's intake ──▶ reads that it keeps     gpu/intake/intake.cuh
 *      batches             ──▶ a device's buffer ──▶ reads that it keeps     gpu/feed/feed.cuh
 *
 * The first device begins. A follower takes part from the time at which its device is open and the
 * driver has announced how the reads arrive, if the device has the memory for it. If the intakes give
 * up, all that they have read is dropped, and the input is read once more, in batches.
 */
#ifndef KC_GPU_ENGINE_READING_CUH
#define KC_GPU_ENGINE_READING_CUH

#include "gpu/engine/engine_memory.cuh"
#include "gpu/engine/merging.cuh"

/* ---- on any device ---- */

/* Space for the output takes time to allocate, so the sink gets estimates while reads arrive. Each
 * must exceed the previous one by enough to be worth passing on. */
template <class Key> static void expect_pairs(struct gpu_engine<Key> *e, uint64_t nkmers)
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
template <class Key>
static enum kc_status keep(struct gpu_engine<Key> *e, struct kc_gpu *gpu, struct kc_gpu_kept *kept,
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
                expect_pairs(e, __atomic_load_n(&e->nkmers, __ATOMIC_RELAXED));
out:
        return status;
}

/* Keep the batches that arrive on a device, to the end of the input. */
template <class Key>
static enum kc_status keep_batches(struct gpu_engine<Key> *e, int device, struct kc_gpu *gpu,
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

/* Keep the reads of the parts of the files that an intake takes. */
template <class Key>
static enum kc_status keep_parts(struct gpu_engine<Key> *e, struct kc_gpu_intake *intake,
                                 struct kc_gpu *gpu, struct kc_gpu_kept *kept, struct kc_error *err)
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

/* ---- the driver ---- */

/* Keep the reads of files that the devices inflate and parse. If an intake gives up, prepare for
 * batches. */
template <class Key>
static enum kc_status keep_files(struct gpu_engine<Key> *e, struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(keep_parts(e, e->in->intake, e->crew.gpu, e->in->kept, err));
        KC_TRY(end_intakes(e, err));
        if (e->in->takes_files)
                return KC_OK;
        drop_files(e);
        KC_TRY(prepare_batches(e, err));
out:
        return status;
}

/* Returns when all devices keep all reads. */
template <class Key>
static enum kc_status drive_reading(struct gpu_engine<Key> *e, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        if (e->in->takes_files)
                KC_TRY(keep_files(e, err));
        if (!e->in->takes_files) {
                KC_TRY(keep_batches(e, 0, e->crew.gpu, e->in->kept, err));
                KC_TRY(kc_gpu_feed_wait(e->in->feed, err));
        }
        announce(e->in, READING_OVER);
out:
        return status;
}

/* ---- followers ---- */

/* Wait until the driver announces something new: *reading, in: the last announcement. */
template <class Key>
static enum kc_status wait_for_announcement(struct gpu_engine<Key> *e, enum gpu_reading *reading,
                                            struct kc_error *err)
{
        const struct gpu_input *in = e->in;
        kc_gate_enter(e->crew.gate);
        enum kc_status status = kc_gate_check(e->crew.gate, err);
        while (status == KC_OK && in->reading == *reading)
                status = kc_gate_wait(e->crew.gate, KC_GATE_FOLLOWERS, err);
        *reading = in->reading;
        kc_gate_leave(e->crew.gate);
        return status;
}

/* Memory for reading parts of files. KC_ENOMEM: the device has too little. */
template <class Key>
static enum kc_status take_parts_memory(struct gpu_engine<Key> *e, struct kc_gpu *gpu, int number,
                                        struct kc_gpu_intake **intake, struct kc_gpu_kept **kept,
                                        struct kc_error *err)
{
        enum kc_status status;
        struct kc_gpu_intake_setup setup = e->in->stored;
        struct kc_gpu_kept_setup keeping;
        setup.number = number;
        setup.text_nbytes = plan_rounds(e, gpu->limit_nbytes);
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

/* Read parts of the files, if the device has the memory. The reads belong to the driver's thread when
 * the intake has ended. */
template <class Key>
static enum kc_status join_files(struct gpu_engine<Key> *e, int follower, struct kc_error *err)
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
                KC_TRY(keep_parts(e, intake, &other->gpu, kept, err));
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

/* Memory for batches. *attached = false: all have been read. KC_ENOMEM: the device has too little. */
template <class Key>
static enum kc_status take_batches_memory(struct gpu_engine<Key> *e, struct kc_gpu *gpu, int device,
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

/* Take some of the batches, if the device has the memory. The reads belong to the driver's thread when
 * the device is detached. */
template <class Key>
static enum kc_status join_batches(struct gpu_engine<Key> *e, int follower, struct kc_error *err)
{
        struct kc_error refusal = {};
        struct gpu_other *other = &e->in->others[follower];
        struct kc_gpu_kept *kept = NULL;
        bool attached = false;
        const enum kc_status status =
                take_batches_memory(e, &other->gpu, follower + 1, &kept, &attached, &refusal);
        if (attached) {
                other->kept = kept;
                return keep_batches(e, follower + 1, &other->gpu, kept, err);
        }
        kc_gpu_kept_free(kept);
        if (status != KC_OK && status != KC_ENOMEM)
                return kc_fail_as(err, &refusal);
        kc_gpu_forget_refusals(&other->gpu);
        return KC_OK;
}

/* Take part in whatever the driver announces. */
template <class Key>
static enum kc_status follow_reading(struct gpu_engine<Key> *e, int follower, struct kc_error *err)
{
        enum kc_status status;
        enum gpu_reading reading = READING_UNDECIDED;
        do {
                KC_TRY(wait_for_announcement(e, &reading, err));
                if (reading == READING_FILES)
                        KC_TRY(join_files(e, follower, err));
                else if (reading == READING_BATCHES)
                        KC_TRY(join_batches(e, follower, err));
        } while (reading == READING_FILES);
out:
        return status;
}

#endif
