/*
 * Counting: the steps of the driver, in order. Reading is in reading.cu, the passes of each device
 * in followers.cu, merging and output in merging.cu, memory for the stages in memory.cu, and the
 * threads are in crew.cu.
 *
 *      workers:  source ──▶ pinned ──▶ a device buffer                gpu/feed/feed.cuh
 *      or both:  files ──▶ pinned ──▶ text ──▶ reads on the device    gpu/intake/intake.cuh
 *      driver:   buffer ──▶ reads that are kept                       gpu/kept/kept.cuh
 *      driver:   reads, pass by pass ──▶ sorted runs                  gpu/count/count.cuh
 *                runs   ──▶ the LSM                                   gpu/runs/lsm.cuh
 *      driver:   the LSM, range by range ──▶ blocks ──▶ pinned        gpu/blocks/encode.cuh
 *      workers:  pinned ──▶ sink                                      gpu/output/emit.cuh
 *
 * The driver sleeps while it waits for the device, so all cores are left to reading, the slowest
 * stage.
 *
 * Several k are counted one after another, each by an engine of its own: the first one reads the
 * input for all of them, and the last one frees the reads.
 */
#include "base/clock.h"
#include "gpu/engine/engine_internal.cuh"
#include "kmer/remedy.h"

#include <cinttypes>

/* ---- reading ---- */

/* Keep the reads of files that the devices inflate and parse. If an intake gives up, prepare for
 * batches. */
template <class Key>
static enum kc_status keep_files(struct gpu_engine_of<Key> *e, struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(kc_engine_keep_parts(e, e->in->intake, e->crew.gpu, e->in->kept, err));
        KC_TRY(kc_engine_end_intakes(e, err));
        if (e->in->takes_files)
                return KC_OK;
        kc_engine_drop_files(e);
        KC_TRY(kc_engine_prepare_batches(e, err));
out:
        return status;
}

/* Returns when all devices keep all reads. */
template <class Key>
static enum kc_status drive_reading(struct gpu_engine_of<Key> *e, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        if (e->in->takes_files)
                KC_TRY(keep_files(e, err));
        if (!e->in->takes_files) {
                KC_TRY(kc_engine_keep_batches(e, 0, e->crew.gpu, e->in->kept, err));
                KC_TRY(kc_gpu_feed_wait(e->in->feed, err));
        }
        kc_gpu_vote_propose(&e->in->reading, READING_OVER);
out:
        return status;
}

/* ---- counting ---- */

/* If the input was larger than expected and a larger counter fits, replace the counter. If the
 * device then turns out to lack the memory, make one of the old size again. */
template <class Key>
static enum kc_status grow_counter(struct gpu_engine_of<Key> *e, const struct kc_load *total,
                                   struct kc_error *err)
{
        struct kc_gpu *gpu = e->crew.gpu;
        const struct kc_gpu_counter_caps before = e->own.caps;
        const size_t streaming = kc_gpu_kept_pass_nbytes(e->in->kept);
        const size_t room =
                kc_gpu_room(gpu) + kc_gpu_counter_nbytes<Key>(e->crew.params->table, &before);
        struct kc_gpu_plan_input input = kc_engine_plan_input(e, total);
        struct kc_error refusal = {};
        input.copies = streaming > 0;
        if (room < streaming ||
            kc_gpu_plan_counter(&input, room - streaming, &e->own.caps, &refusal) != KC_OK ||
            (e->own.caps.nwords / 10 * 9 <= before.nwords &&
             e->own.caps.nkmers / 10 * 9 <= before.nkmers)) {
                e->own.caps = before;
                return KC_OK;
        }
        kc_gpu_counter_free(e->own.counter);
        e->own.counter = NULL;
        enum kc_status status = kc_engine_make_counter(e, &e->own, &refusal);
        if (status != KC_ENOMEM)
                return status == KC_OK ? status : kc_fail_as(err, &refusal);
        kc_gpu_forget_refusals(gpu);
        e->own.caps = before;
        return kc_engine_make_counter(e, &e->own, err);
}

/* No more reads follow: decide where these stay, and add up the k-mers that they have. */
static enum kc_status end_reads(const struct gpu_engine *e, struct kc_gpu_kept *kept,
                                uint64_t *nkmers, struct kc_error *err)
{
        enum kc_status status;
        uint64_t own = 0;
        kc_gpu_kept_end(kept);
        if (kc_gpu_kept_pass_nbytes(kept) > 0)
                KC_TRY(kc_gpu_kept_leave_device(kept, err));
        KC_TRY(kc_gpu_kept_nkmers(kept, e->number, &own, err));
        *nkmers += own;
out:
        return status;
}

static enum kc_status end_all_reads(struct gpu_engine *e, struct kc_error *err)
{
        uint64_t nkmers = 0;
        const enum kc_status status = kc_engine_for_all_reads(
                e->in, [&](struct kc_gpu_kept *kept) { return end_reads(e, kept, &nkmers, err); },
                err);
        if (e->in->nks > 1) /* otherwise they were counted as they were read */
                e->nkmers = nkmers;
        return status;
}

/* From here on, reads stay where they are. */
static void settle_reads(struct gpu_input *in)
{
        in->where = {};
        for (int i = 0; i <= in->gpu_params->nothers; i++) {
                struct kc_gpu_kept *kept = kc_engine_reads_of(in, i);
                if (kept == NULL)
                        continue;
                const struct kc_gpu_kept_where own = kc_gpu_kept_where(kept);
                in->kept_nbytes[i] = own.device_nbytes + own.host_nbytes + own.file_nbytes;
                in->where.device_nbytes += own.device_nbytes;
                in->where.host_nbytes += own.host_nbytes;
                in->where.file_nbytes += own.file_nbytes;
                kc_gpu_kept_settle(kept);
        }
}

/* The first device's memory, if it has read all reads itself. */
template <class Key>
static enum kc_status prepare_alone(struct gpu_engine_of<Key> *e, struct kc_error *err)
{
        enum kc_status status;
        const struct kc_load most = kc_engine_sum_loads(e->loads, &e->shares.shares[0]);
        KC_TRY(grow_counter(e, &most, err));
        settle_reads(e->in);
        e->own.kept = e->in->kept;
        KC_TRY(kc_engine_make_lsm(e, &e->own, err));
out:
        return status;
}

/* Move a chunk of the first device's own reads off it, and forget what it had for counting. */
template <class Key>
static enum kc_status give_reads(struct gpu_engine_of<Key> *e, bool *gave, struct kc_error *err)
{
        kc_engine_end_counting(&e->own);
        kc_gpu_lsm_free(e->own.lsm);
        e->own.lsm = NULL;
        kc_gpu_forget_refusals(e->crew.gpu);
        kc_gpu_kept_unsettle(e->in->kept);
        return kc_gpu_kept_give(e->in->kept, gave, err);
}

/* The first device's memory, if other devices have reads, too. It gets its memory as a follower
 * does, but cannot leave its share to another device: rather, its own reads leave it. */
template <class Key>
static enum kc_status prepare_together(struct gpu_engine_of<Key> *e, struct kc_error *err)
{
        enum kc_status status;
        struct kc_error refusal = {};
        bool gave = true;
        kc_gpu_counter_free(e->own.counter);
        e->own.counter = NULL;
        settle_reads(e->in);
        while ((status = kc_engine_prepare_share(e, &e->own, &e->shares.shares[0], &refusal)) ==
               KC_ENOMEM) {
                KC_TRY(give_reads(e, &gave, err));
                if (!gave)
                        break;
                settle_reads(e->in);
                refusal = {};
        }
        return status == KC_OK ? KC_OK : kc_fail_as(err, &refusal);
out:
        return status;
}

/* Decide where reads stay, and which device counts what: *nshares. */
static enum kc_status divide_counting(struct gpu_engine *e, size_t *nshares, struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(end_all_reads(e, err));
        KC_TRY(kc_engine_read_loads(e, err));
        *nshares = kc_engine_plan_shares(e);
out:
        return status;
}

template <class Key>
static enum kc_status count_all(struct gpu_engine_of<Key> *e, struct kc_error *err)
{
        enum kc_status status;
        const struct kc_gpu_share points = kc_gpu_plan_points(e->crew.params);
        size_t nshares;
        KC_TRY(divide_counting(e, &nshares, err));
        kc_job_begin_stage(e->crew.job, kc_stage_of(e->number, KC_STAGE_COUNT),
                           points.end - points.first);
        if (kc_engine_have_read_together(e->in))
                KC_TRY(prepare_together(e, err));
        else
                KC_TRY(prepare_alone(e, err));
        kc_gpu_shares_open(&e->shares, nshares);
        KC_TRY(kc_engine_count_shares(e, &e->own, 0, err));
        e->spilled_nbytes = e->in->where.file_nbytes;
        kc_engine_end_counting(&e->own);
        if (e->number + 1 == e->in->nks) {
                kc_gpu_kept_free(e->in->kept);
                e->in->kept = NULL;
                kc_engine_free_other_reads(e->in);
        }
out:
        return status;
}

/* ---- threads ---- */

/* Count the reads that are kept. `read`: the time at which counting could begin. */
template <class Key>
static enum kc_status count_kept(struct gpu_engine_of<Key> *e, double read, struct kc_error *err)
{
        enum kc_status status;
        e->totals->stage_seconds[KC_STAGE_PARTITION] = e->in->reading_seconds;
        KC_TRY(count_all(e, err));
        e->order_start = kc_clock_seconds();
        e->totals->stage_seconds[KC_STAGE_COUNT] = e->order_start - read;
        KC_TRY(kc_engine_merge_all(e, err));
out:
        return status;
}

template <class Key> static enum kc_status drive(void *ctx, struct kc_error *err)
{
        struct gpu_engine_of<Key> *e = (struct gpu_engine_of<Key> *)ctx;
        enum kc_status status;
        struct kc_error failure = {};
        double read;
        KC_TRY(drive_reading(e, &failure));
        read = kc_gpu_feed_end_seconds(e->in->feed);
        if (read == 0) /* no batches */
                read = kc_clock_seconds();
        e->in->reading_seconds = read - e->start;
        KC_TRY(count_kept(e, read, &failure));
out:
        return status == KC_OK ? KC_OK : kc_engine_fail_for(&e->own, &failure, err);
}

template <class Key> static enum kc_status drive_next(void *ctx, struct kc_error *err)
{
        struct gpu_engine_of<Key> *e = (struct gpu_engine_of<Key> *)ctx;
        struct kc_error failure = {};
        const enum kc_status status = count_kept(e, e->start, &failure);
        return status == KC_OK ? KC_OK : kc_engine_fail_for(&e->own, &failure, err);
}

/* A follower's thread. */
template <class Key> static enum kc_status follow(void *ctx, int follower, struct kc_error *err)
{
        struct gpu_engine_of<Key> *e = (struct gpu_engine_of<Key> *)ctx;
        enum kc_status status;
        struct kc_error failure = {};
        KC_TRY(kc_engine_open_follower(e, follower, &failure));
        if (e->number == 0)
                KC_TRY(kc_engine_follow_reading(e, follower, &failure));
        KC_TRY(kc_engine_follow_shares(e, &e->others[follower], follower + 1, &failure));
        KC_TRY(kc_engine_follow_merge(e, &e->others[follower], follower + 1, &failure));
out:
        return status == KC_OK ? KC_OK : kc_engine_fail_for(&e->others[follower], &failure, err);
}

template <class Key> static enum kc_status read_batches(void *ctx, int reader, struct kc_error *err)
{
        struct gpu_engine_of<Key> *e = (struct gpu_engine_of<Key> *)ctx;
        enum kc_status status = KC_OK;
        bool batches = true;
        if (e->in->intake != NULL)
                KC_TRY(kc_gpu_intakes_read(&e->in->intakes, reader, &batches, err));
        if (batches)
                KC_TRY(kc_gpu_feed_read(e->in->feed, reader, err));
out:
        return status;
}

template <class Key> static enum kc_status write(void *ctx, struct kc_error *err)
{
        return kc_gpu_emitter_write(((struct gpu_engine_of<Key> *)ctx)->emitter, err);
}

/* Add what a device's LSM cut off and spilled, once all is merged. */
static void add_sums(struct gpu_engine *e, const struct gpu_counting *c)
{
        e->counted.nsaturated += c->nsaturated;
        e->spilled_nbytes += c->spilled_nbytes;
}

/*
 * The counts must add up: the number of k-mers in all batches is the sum of all counts plus what
 * saturation cut off. If other engines count some of the k-mers, this checks only those that this
 * engine found among its points; the caller can add up the totals of all engines.
 */
template <class Key>
static enum kc_status add_up(struct gpu_engine_of<Key> *e, struct kc_error *err)
{
        const uint64_t nkmers = e->crew.params->nengines > 1 ? e->counted.nkmers : e->nkmers;
        struct kc_gpu_emit_totals out;
        add_sums(e, &e->own);
        for (int i = 0; i < e->crew.nfollowers; i++)
                add_sums(e, &e->others[i]);
        kc_gpu_emitter_totals(e->emitter, &out);
        if (kc_engine_tallies(e)) {
                out.sum += e->counted.dropped.nkmers;
                out.ndistinct += e->counted.dropped.ndistinct;
        }
        if (out.sum + e->counted.nsaturated != nkmers)
                return kc_fail_remedy(err, KC_EDEVICE, KC_REMEDY_CPU,
                                      "the device counted %" PRIu64 " of %" PRIu64
                                      " k-mers; please report this",
                                      out.sum + e->counted.nsaturated, nkmers);
        e->totals->nkmers = nkmers;
        e->totals->ndistinct = out.ndistinct;
        e->totals->nsaturated = e->counted.nsaturated;
        e->totals->spilled_nbytes = e->spilled_nbytes;
        return KC_OK;
}

/* All threads but the driver read and write. With many threads, the driver has a core of its own:
 * if it preempted a reader, all other readers would soon wait for that reader's chunk. */
static void count_workers(struct gpu_engine *e, int nthreads)
{
        enum { MANY = 8 };
        e->crew.nworkers = nthreads > MANY ? nthreads - 1 : nthreads;
        e->crew.nreaders = e->number == 0 ? e->crew.nworkers : 0;
}

/* The device is not open yet, so the size of its memory is not known: portions are made for as
 * much as the user allows. */
static enum kc_status make_intake(struct gpu_engine *e, struct kc_error *err)
{
        enum kc_status status;
        const struct kc_gpu_params *params = e->crew.params;
        struct gpu_input *in = e->in;
        if (params->stored == NULL)
                return KC_OK;
        in->intakes.gate = e->crew.gate;
        in->intakes.source = params->stored;
        in->intakes.n = 1 + params->nothers;
        in->stored.all = &in->intakes;
        in->stored.k = in->min_k;
        in->stored.max_k = in->max_k;
        in->stored.text_nbytes = kc_engine_plan_rounds(
                e, params->memory_nbytes != 0 ? params->memory_nbytes : SIZE_MAX);
        in->takes_files = in->stored.text_nbytes != 0;
        if (!in->takes_files)
                return KC_OK;
        KC_TRY(kc_gpu_intake_new(&in->intake, &in->stored, err));
        (void)kc_gpu_intake_join(in->intake);
out:
        return status;
}

static enum kc_status make_readers(struct gpu_engine *e, struct kc_error *err)
{
        enum kc_status status;
        struct kc_gpu_feed_setup feed = {};
        feed.k = e->in->min_k;
        feed.nthreads = e->crew.nreaders;
        feed.ndevices = 1 + e->crew.nfollowers;
        feed.source = e->in->source;
        feed.batch_words = e->plan.host_words;
        feed.read_ahead = e->crew.params->read_ahead;
        KC_TRY(kc_gpu_feed_new(&e->in->feed, &feed, e->crew.gate, e->crew.trace, err));
        KC_TRY(make_intake(e, err));
out:
        return status;
}

template <class Key> static enum kc_status count(struct gpu_engine_of<Key> *e, struct kc_error *err)
{
        enum kc_status status;
        if (e->in->where.file_nbytes == 0)
                kc_engine_expect_pairs(e, e->params.expected_nbases);
        if (e->number == 0)
                KC_TRY(make_readers(e, err));
        KC_TRY(kc_gpu_emitter_new(&e->emitter, e->params.k, e->crew.sink, e->crew.job, e->crew.gate,
                                  e->crew.trace, err));
        KC_TRY(kc_gpu_crew_run(&e->crew, err));
        KC_TRY(add_up(e, err));
        e->totals->stage_seconds[KC_STAGE_ORDER] = kc_clock_seconds() - e->order_start;
out:
        return status;
}

static void report_part(struct kc_gpu_report *report, const struct gpu_counting *c,
                        uint64_t text_nbytes, uint64_t kept_nbytes)
{
        struct kc_gpu_part_report *part = &report->parts[report->nparts++];
        part->device = c->device;
        part->nkmers = c->counted.nkmers;
        part->npasses = c->npasses;
        part->nwalks = c->nwalks;
        part->nshared = c->nshared;
        part->peak_nbytes = c->gpu->peak_nbytes;
        part->reads_nbytes = c->reads_nbytes;
        part->nmerged = c->nmerged;
        part->runs_nbytes = c->runs_nbytes;
        part->text_nbytes = text_nbytes;
        part->kept_nbytes = kept_nbytes;
        report->npasses += c->npasses;
        report->nwalks += c->nwalks;
        report->nshared += c->nshared;
}

/* The text that a device parsed, and that was of use. */
static uint64_t parsed_by(const struct gpu_input *in, const struct kc_gpu_intake *intake)
{
        return in->takes_files && intake != NULL ? kc_gpu_intake_text_nbytes(intake) : 0;
}

template <class Key>
static void fill_report(const struct gpu_engine_of<Key> *e, struct kc_gpu_report *report)
{
        const struct gpu_input *in = e->in;
        report_part(report, &e->own, parsed_by(in, in->intake), in->kept_nbytes[0]);
        for (int i = 0; i < e->crew.nfollowers; i++)
                report_part(report, &e->others[i], parsed_by(in, in->others[i].intake),
                            in->kept_nbytes[i + 1]);
        report->nrecounted = e->counted.nrecounted;
        report->nread = e->nkmers;
        report->text_nbytes = in->takes_files ? in->intakes.totals.text_nbytes : 0;
        report->kept_device_nbytes = in->where.device_nbytes;
        report->kept_host_nbytes = in->where.host_nbytes;
        report->kept_file_nbytes = in->where.file_nbytes;
}

template <class Key> static void begin_devices(struct gpu_engine_of<Key> *e)
{
        const struct kc_gpu_params *params = e->crew.params;
        e->crew.nfollowers = params->nothers;
        e->shares.gate = e->exchange.gate = e->merging.gate = e->in->reading.gate = e->crew.gate;
        e->walking.gate = e->crew.gate;
        e->walking.n = 1 + params->nothers;
        e->shares.nfollowers = params->nothers;
        e->own.engine = e;
        e->own.device = params->device;
        e->own.gpu = e->crew.gpu;
        for (int i = 0; i < params->nothers; i++) {
                e->others[i].engine = e;
                e->others[i].device = params->others[i];
                e->others[i].gpu = &e->in->others[i].gpu;
        }
}

/* Free what is left, even after a failure. */
template <class Key> static void end_devices(struct gpu_engine_of<Key> *e)
{
        kc_gpu_exchange_free(&e->exchange);
        for (int i = 0; i < e->crew.nfollowers; i++)
                kc_engine_end_follower(&e->others[i]);
        if (e->crew.nfollowers > 0)
                (void)cudaSetDevice(e->crew.gpu->device);
        kc_engine_end_counting(&e->own);
        kc_gpu_lsm_free(e->own.lsm);
}

template <class Key>
static enum kc_status count_with(struct gpu_input *in, int number, struct kc_count_task *task,
                                 struct kc_gpu_report *report, struct kc_error *err)
{
        gpu_engine_of<Key> e = {};
        e.params = *in->params;
        e.params.k = task->k;
        e.in = in;
        e.number = number;
        e.totals = &task->totals;
        e.superkmers = in->superkmers[number];
        e.crew.params = in->gpu_params;
        e.crew.sink = task->sink;
        e.crew.job = in->job;
        if (number == 0)
                e.crew.task = { &e,         kc_engine_take_memory<Key>,
                                drive<Key>, read_batches<Key>,
                                write<Key>, follow<Key> };
        else
                e.crew.task = { &e,
                                kc_engine_take_next_memory<Key>,
                                drive_next<Key>,
                                NULL,
                                write<Key>,
                                follow<Key> };
        count_workers(&e, in->params->nthreads);
        e.start = kc_clock_seconds();
        kc_gpu_crew_init(&e.crew, &in->session);
        begin_devices(&e);
        kc_gpu_plan_host(&e.plan, &e.params, in->gpu_params);
        e.plan.nks = in->nks;
        e.plan.ndevices = 1 + in->gpu_params->nothers;
        enum kc_status status = count(&e, err);
        kc_gpu_crew_stop(&e.crew, report);
        kc_gpu_emitter_free(e.emitter);
        report->began |= number > 0;
        fill_report(&e, report);
        end_devices(&e);
        return status;
}

/* ---- all k ---- */

static void add_k(struct gpu_input *in, int k)
{
        struct kc_superkmer_setup *superkmers = &in->superkmers[in->nks++];
        const int m = kc_gpu_minimizer_length(k, in->params->expected_nbases);
        *superkmers = kc_key_choose(
                k, [&](auto key) { return kc_superkmer_setup_for<decltype(key)>(k, m); });
        superkmers->form.position_bits = kc_record_position_bits(in->params->expected_nbases);
        in->min_k = in->nks == 1 || k < in->min_k ? k : in->min_k;
        in->max_k = k > in->max_k ? k : in->max_k;
}

static enum kc_status check_tasks(const struct kc_count_params *params,
                                  const struct kc_gpu_params *gpu_params,
                                  const struct kc_count_task *tasks, int ntasks,
                                  struct kc_error *err)
{
        if (ntasks < 1 || ntasks > KC_KEPT_MAX_KS)
                return kc_fail(err, KC_EUSAGE, "with CUDA, 1 to %d k can be counted at a time",
                               KC_KEPT_MAX_KS);
        if (gpu_params->nothers < 0 ||
            gpu_params->nothers + gpu_params->nleft_out >= KC_GPU_MAX_DEVICES)
                return kc_fail(err, KC_EUSAGE, "at most %d devices can count", KC_GPU_MAX_DEVICES);
        if (gpu_params->nengines > KC_GPU_MAX_ENGINES)
                return kc_fail(err, KC_EUSAGE, "with CUDA, at most %d processes can count together",
                               KC_GPU_MAX_ENGINES);
        for (int i = 0; i < ntasks; i++)
                if (tasks[i].k < 1 || tasks[i].k > KC_GPU_ENGINE_MAX_K || params->nthreads < 1)
                        return kc_fail(err, KC_EUSAGE, "with CUDA, k must be between 1 and %d",
                                       KC_GPU_ENGINE_MAX_K);
        return KC_OK;
}

/* Work on a device can use the memory of another one. So after a failure, wait for all devices
 * before the first pool is destroyed. */
static void settle_devices(const struct gpu_input *in)
{
        for (int i = 0; i <= in->gpu_params->nothers; i++) {
                const struct kc_gpu *gpu = kc_engine_device_of(in, i);
                if (gpu->pool == NULL)
                        continue;
                (void)cudaSetDevice(gpu->device);
                (void)cudaDeviceSynchronize();
        }
}

static void close_others(struct gpu_input *in)
{
        if (in->gpu_params->nothers > 0)
                settle_devices(in);
        for (int i = 0; i < in->gpu_params->nothers; i++) {
                if (in->others[i].gpu.pool == NULL)
                        continue;
                (void)cudaSetDevice(in->others[i].gpu.device);
                kc_gpu_intake_free(in->others[i].intake);
                kc_gpu_close(&in->others[i].gpu);
        }
        if (in->gpu_params->nothers > 0)
                (void)cudaSetDevice(in->gpu_params->device);
}

static enum kc_status count_each(struct gpu_input *in, struct kc_count_task *tasks,
                                 struct kc_gpu_report *reports, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        for (int i = 0; i < in->nks; i++)
                KC_TRY(kc_key_choose(tasks[i].k, [&](auto key) {
                        return count_with<decltype(key)>(in, i, &tasks[i], &reports[i], err);
                }));
        KC_TRY(kc_gpu_trace_write(&in->session.trace, err));
out:
        return status;
}

enum kc_status kc_gpu_count_all(const struct kc_count_params *params,
                                const struct kc_gpu_params *gpu_params,
                                const struct kc_batch_source *source, struct kc_count_task *tasks,
                                int ntasks, struct kc_job *job, struct kc_gpu_report *reports,
                                struct kc_error *err)
{
        struct gpu_input in = {};
        for (int i = 0; i < ntasks; i++) {
                tasks[i].totals = {};
                reports[i] = {};
        }
        enum kc_status status = check_tasks(params, gpu_params, tasks, ntasks, err);
        if (status != KC_OK)
                return status;
        in.params = params;
        in.gpu_params = gpu_params;
        in.source = source;
        in.job = job;
        for (int i = 0; i < ntasks; i++)
                add_k(&in, tasks[i].k);
        for (int i = 0; i < ntasks; i++)
                in.superkmers[i].span_k = in.min_k;
        kc_gpu_session_begin(&in.session, gpu_params, job);
        status = count_each(&in, tasks, reports, err);
        kc_gpu_kept_free(in.kept);
        kc_engine_free_other_reads(&in);
        kc_gpu_feed_free(in.feed);
        kc_gpu_intake_free(in.intake);
        close_others(&in);
        kc_gpu_session_end(&in.session);
        return status;
}

enum kc_status kc_gpu_count(const struct kc_count_params *params,
                            const struct kc_gpu_params *gpu_params,
                            const struct kc_batch_source *source, const struct kc_run_sink *sink,
                            struct kc_job *job, struct kc_count_totals *totals,
                            struct kc_gpu_report *report, struct kc_error *err)
{
        struct kc_count_task task = { params->k, sink, {} };
        const enum kc_status status =
                kc_gpu_count_all(params, gpu_params, source, &task, 1, job, report, err);
        *totals = task.totals;
        return status;
}
