#include "app/count/joint_count.h"

#include "app/cli/options.h"
#include "app/cli/signals.h"
#include "app/library/machine.h"
#include "app/library/nameless.h"
#include "base/clock.h"
#include "base/temp_file.h"
#include "cpu/cpu_engine.h"
#include "io/store.h"
#include "kmer/remedy.h"
#include "ranks/broadcast.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct joint_counting {
        struct kc_count_params params;
        const struct kc_exchange *exchange;
        struct kc_broadcast *broadcast; /* NULL: the CPU counts */
        struct kc_job *job;
};

/* A sink that passes a run on. */
struct passing {
        struct kc_run_sink to, sink;
        const struct kc_exchange *exchange;
        atomic_uint_fast64_t npairs; /* of what was passed on */
};

/* A task of this rank, and its file. */
struct share {
        struct kc_count_task *task; /* the caller's */
        struct passing passing;
        struct kc_store_writer *writer;
        struct kc_store *store;
        struct kc_run_dropped dropped;
};

/* ---- the sink ---- */

static enum kc_status put(void *ctx, const struct kc_run_pairs *pairs, struct kc_error *err)
{
        struct passing *p = ctx;
        atomic_fetch_add(&p->npairs, pairs->n);
        return p->to.put(p->to.ctx, pairs, err);
}

static enum kc_status put_blocks(void *ctx, const struct kc_run_blocks *b, struct kc_error *err)
{
        struct passing *p = ctx;
        atomic_fetch_add(&p->npairs, b->n);
        return p->to.put_blocks(p->to.ctx, b, err);
}

static enum kc_status put_counts(void *ctx, const struct kc_run_counts *c, struct kc_error *err)
{
        const struct passing *p = ctx;
        return p->to.put_counts(p->to.ctx, c, err);
}

static void expect(void *ctx, uint64_t npairs)
{
        const struct passing *p = ctx;
        p->to.expect(p->to.ctx, npairs);
}

/* The engine has failed. Its threads may be waiting for reads from other ranks. */
static void cancel(void *ctx)
{
        const struct passing *p = ctx;
        p->exchange->fail(p->exchange->ctx);
        p->to.cancel(p->to.ctx);
}

static void pass_to(struct passing *p, const struct kc_run_sink *to,
                    const struct kc_exchange *exchange)
{
        *p = (struct passing){ .to = *to, .exchange = exchange };
        p->sink = (struct kc_run_sink){ .ctx = p,
                                        .filter = to->filter,
                                        .put = put,
                                        .put_blocks = to->put_blocks != NULL ? put_blocks : NULL,
                                        .put_counts = to->put_counts != NULL ? put_counts : NULL,
                                        .expect = to->expect != NULL ? expect : NULL,
                                        .cancel = cancel };
}

/* ---- this rank's file ---- */

static enum kc_status begin_file(const struct joint_counting *j, struct share *share,
                                 struct kc_error *err)
{
        const struct kc_run_filter filter = share->task->sink->filter;
        const struct kc_store_options options = { .k = share->task->k,
                                                  .stranded = j->params.stranded,
                                                  .guard = signals_guard,
                                                  .min_count = filter.min_count,
                                                  .max_count = filter.max_count };
        const enum kc_status status =
                kc_nameless_create(&share->writer, j->params.tmp_dir, &options, err);
        if (status != KC_OK)
                return status;
        const struct kc_run_sink sink = kc_store_sink(share->writer);
        pass_to(&share->passing, &sink, j->exchange);
        return KC_OK;
}

static enum kc_status end_file(struct share *share, struct kc_error *err)
{
        const struct kc_store_origin origin = { .nkmers = KC_STORE_ANY_NKMERS };
        struct kc_store_writer *writer = share->writer;
        struct kc_store_written written;
        share->writer = NULL; /* it is freed, even on failure */
        const enum kc_status status =
                kc_store_commit_nameless(writer, &origin, &share->store, &written, err);
        if (status != KC_OK)
                return status;
        share->dropped =
                (struct kc_run_dropped){ .ndistinct = written.info.ndropped_distinct,
                                         .nkmers = written.info.ndropped_kmers,
                                         .nunique = written.nunique - written.info.nunique };
        return KC_OK;
}

/* ---- files on their way to rank 0 ---- */

/* The files of the other ranks, in temporary files. */
struct arrived {
        const char *folder;
        int nranks, *fds; /* [nranks] -1: none */
};

static enum kc_status take_piece(void *ctx, uint32_t list, const uint8_t *data, size_t nbytes,
                                 struct kc_error *err)
{
        const struct arrived *a = ctx;
        if (a->fds[list] < 0 && kc_temp_file_open(a->folder, &a->fds[list], err) != KC_OK)
                return err->status;
        const off_t end = lseek(a->fds[list], 0, SEEK_END);
        return kc_temp_file_write(a->folder, a->fds[list], data, nbytes, (uint64_t)end, err);
}

static enum kc_status send_file(const struct joint_counting *j, const struct kc_store *store,
                                struct kc_error *err)
{
        const struct kc_exchange *exchange = j->exchange;
        struct kc_store_info info;
        enum kc_status status = KC_OK;
        uint8_t *piece = malloc(KC_EXCHANGE_MAX_NBYTES);
        if (piece == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        kc_store_get_info(store, &info);
        for (uint64_t at = 0; at < info.file_nbytes; at += KC_EXCHANGE_MAX_NBYTES) {
                const uint64_t left = info.file_nbytes - at, most = KC_EXCHANGE_MAX_NBYTES;
                const size_t n = (size_t)(left < most ? left : most);
                KC_TRY(kc_store_pread(store, piece, n, at, err));
                KC_TRY(exchange->send(exchange->ctx, 0, (uint32_t)exchange->rank, piece, n, err));
        }
out:
        free(piece);
        return status;
}

/* ---- rank 0 merges ---- */

/* The sink gets what is dropped before the first pairs, and what is expected before that. */
static enum kc_status merge(const struct joint_counting *j, struct share *share,
                            struct kc_store *const *stores, struct kc_error *err)
{
        const struct kc_run_sink *sink = share->task->sink;
        const struct kc_run_pairs dropped = { .dropped = share->dropped };
        const struct kc_set set = { .stores = stores, .nstores = (size_t)j->exchange->nranks };
        const uint64_t most = j->params.memory_nbytes / kc_set_thread_nbytes(&set) + 1;
        const int nthreads = most < (uint64_t)j->params.nthreads ? (int)most : j->params.nthreads;
        struct kc_store_origin origin;
        const char **names = NULL;
        enum kc_status status;
        if (sink->expect != NULL)
                sink->expect(sink->ctx, kc_set_npairs(&set));
        KC_TRY(sink->put(sink->ctx, &dropped, err));
        pass_to(&share->passing, sink, j->exchange);
        share->passing.sink.expect = NULL;
        KC_TRY(kc_set_run(&set, nthreads, j->job, &share->passing.sink, &origin, &names, err));
out:
        free(names);
        return status;
}

static enum kc_status merge_arrived(const struct joint_counting *j, struct share *share,
                                    struct arrived *a, struct kc_error *err)
{
        struct kc_store **stores = calloc((size_t)a->nranks, sizeof(struct kc_store *));
        enum kc_status status = KC_OK;
        if (stores == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        stores[0] = share->store;
        for (int i = 1; i < a->nranks; i++) {
                const int fd = a->fds[i];
                a->fds[i] = -1; /* it is closed, even on failure */
                KC_TRY(kc_store_open_file(&stores[i], a->folder, fd, err));
        }
        KC_TRY(merge(j, share, stores, err));
out:
        for (int i = 1; i < a->nranks; i++)
                kc_store_close(stores[i]);
        free(stores);
        return status;
}

/* Rank 0 gets the files of all ranks, and merges them. */
static enum kc_status gather(const struct joint_counting *j, struct share *share,
                             struct kc_error *err)
{
        const struct kc_exchange *exchange = j->exchange;
        struct arrived a = { .folder = j->params.tmp_dir, .nranks = exchange->nranks };
        const struct kc_exchange_taker taker = { .ctx = &a, .take = take_piece, .urgent = true };
        enum kc_status status;
        a.fds = malloc((size_t)a.nranks * sizeof *a.fds);
        if (a.fds == NULL)
                KC_TRY(kc_fail(err, KC_ENOMEM, "out of memory"));
        memset(a.fds, -1, (size_t)a.nranks * sizeof *a.fds);
        (void)kc_machine_raise_open_files();
        KC_TRY(exchange->begin(exchange->ctx, &taker, err));
        if (exchange->rank != 0)
                KC_TRY(send_file(j, share->store, err));
        KC_TRY(exchange->end(exchange->ctx, NULL, err));
        if (exchange->rank == 0)
                KC_TRY(merge_arrived(j, share, &a, err));
out:
        if (status != KC_OK)
                exchange->fail(exchange->ctx); /* the taker is not called after this */
        for (int i = 0; a.fds != NULL && i < a.nranks; i++)
                if (a.fds[i] >= 0)
                        close(a.fds[i]);
        free(a.fds);
        return status;
}

/* All ranks learn what is dropped and how many pairs there are. The merge must have as many pairs:
 * otherwise it has added up counts. */
static enum kc_status join(const struct joint_counting *j, struct share *share,
                           struct kc_error *err)
{
        const double start = kc_clock_seconds();
        struct kc_run_dropped *d = &share->dropped;
        enum kc_status status;
        KC_TRY(end_file(share, err));
        uint64_t values[] = { atomic_load(&share->passing.npairs), d->ndistinct, d->nkmers,
                              d->nunique };
        KC_TRY(kc_exchange_combine(j->exchange, KC_EXCHANGE_SUM, values,
                                   sizeof values / sizeof *values, err));
        *d = (struct kc_run_dropped){ values[1], values[2], values[3] };
        KC_TRY(gather(j, share, err));
        uint64_t nmerged = j->exchange->rank == 0 ? atomic_load(&share->passing.npairs) : 0;
        KC_TRY(kc_exchange_combine(j->exchange, KC_EXCHANGE_SUM, &nmerged, 1, err));
        if (nmerged != values[0])
                return kc_fail(err, KC_EUSAGE, "several ranks have counted the same k-mer");
        share->task->totals.stage_seconds[KC_STAGE_ORDER] += kc_clock_seconds() - start;
out:
        kc_store_close(share->store);
        share->store = NULL;
        return status;
}

/* ---- counting ---- */

/* The counts of all devices must add up to the number of k-mers read, which each rank knows. */
static enum kc_status add_up(const struct joint_counting *j, struct kc_count_totals *totals,
                             uint64_t nread, struct kc_error *err)
{
        uint64_t values[] = { totals->nkmers, totals->ndistinct, totals->nsaturated };
        enum kc_status status;
        KC_TRY(kc_exchange_combine(j->exchange, KC_EXCHANGE_SUM, values,
                                   sizeof values / sizeof *values, err));
        if (values[0] != nread)
                return kc_fail_remedy(err, KC_EDEVICE, KC_REMEDY_CPU,
                                      "the devices of all processes counted %" PRIu64 " of %" PRIu64
                                      " k-mers; please report this",
                                      values[0], nread);
        totals->nown = totals->ndistinct;
        totals->nkmers = values[0];
        totals->ndistinct = values[1];
        totals->nsaturated = values[2];
out:
        return status;
}

static enum kc_status count_on_devices(struct joint_counting *j, const struct kc_gpu_params *gpu,
                                       struct kc_count_task *tasks, int ntasks,
                                       struct kc_gpu_report *reports, struct kc_error *err)
{
        const struct kc_batch_source source = kc_broadcast_source(j->broadcast);
        struct kc_count_params params = j->params;
        struct kc_gpu_params own = *gpu;
        enum kc_status status;
        params.exchange = NULL;
        own.stored = NULL;
        own.read_ahead = false;
        own.engine = j->exchange->rank;
        own.nengines = j->exchange->nranks;
        KC_TRY(kc_gpu_count_all(&params, &own, &source, tasks, ntasks, j->job, reports, err));
        for (int i = 0; i < ntasks; i++)
                KC_TRY(add_up(j, &tasks[i].totals, reports[i].nread, err));
out:
        return status;
}

/* Get the reads of all ranks, for a device. This takes a part of the memory. */
static enum kc_status begin_broadcast(struct joint_counting *j, const struct kc_batch_source *own,
                                      struct kc_error *err)
{
        struct kc_count_params *params = &j->params;
        const struct kc_broadcast_setup setup = {
                .exchange = j->exchange, .own = own, .nworkers = params->nthreads, .job = j->job
        };
        const uint64_t all = params->memory_nbytes;
        const uint64_t fixed = kc_broadcast_nbytes(j->exchange->nranks, params->nthreads);
        enum kc_status status;
        params->memory_nbytes = all > 2 * fixed ? all - fixed : all / 2;
        KC_TRY(kc_exchange_combine(j->exchange, KC_EXCHANGE_LEAST, &params->expected_nbases, 1,
                                   err));
        KC_TRY(kc_broadcast_new(&j->broadcast, &setup, err));
out:
        return status;
}

static enum kc_status count_shares(struct joint_counting *j, const struct kc_gpu_params *gpu,
                                   const struct kc_batch_source *source, struct share *shares,
                                   int ntasks, struct kc_gpu_report *reports, struct kc_error *err)
{
        struct kc_count_task own[OPTION_NUMBERS_MAX];
        enum kc_status status;
        for (int i = 0; i < ntasks; i++) {
                own[i] = *shares[i].task;
                if (own[i].sink->put_counts != NULL)
                        pass_to(&shares[i].passing, own[i].sink, j->exchange);
                else
                        KC_TRY(begin_file(j, &shares[i], err));
                own[i].sink = &shares[i].passing.sink;
        }
        KC_TRY(gpu != NULL ? count_on_devices(j, gpu, own, ntasks, reports, err)
                           : kc_cpu_count_all(&j->params, source, own, ntasks, j->job, err));
        for (int i = 0; i < ntasks; i++) {
                shares[i].task->totals = own[i].totals;
                if (shares[i].writer == NULL)
                        continue;
                kc_job_begin_stage(j->job, joint_merging_stage(ntasks, i), 0);
                KC_TRY(join(j, &shares[i], err));
        }
out:
        return status;
}

enum kc_status joint_count(const struct kc_count_params *params, const struct kc_gpu_params *gpu,
                           const struct kc_batch_source *source, struct kc_count_task *tasks,
                           int ntasks, struct kc_job *job, struct kc_gpu_report *reports,
                           struct kc_error *err)
{
        struct joint_counting j = { .params = *params, .exchange = params->exchange, .job = job };
        struct share shares[OPTION_NUMBERS_MAX] = { 0 };
        enum kc_status status = KC_OK;
        memset(reports, 0, (size_t)ntasks * sizeof *reports);
        for (int i = 0; i < ntasks; i++)
                shares[i].task = &tasks[i];
        if (gpu != NULL)
                KC_TRY(begin_broadcast(&j, source, err));
        KC_TRY(count_shares(&j, gpu, source, shares, ntasks, reports, err));
out:
        if (status != KC_OK)
                j.exchange->fail(j.exchange->ctx);
        for (int i = 0; i < ntasks; i++) {
                kc_store_abort(shares[i].writer);
                kc_store_close(shares[i].store);
        }
        kc_broadcast_free(j.broadcast);
        return status;
}
