#include "app/store/repair.h"

#include "app/cli/file_check.h"
#include "app/cli/json.h"
#include "app/cli/message.h"
#include "app/cli/progress.h"
#include "app/cli/signals.h"
#include "app/cli/size.h"
#include "app/library/same_file.h"
#include "app/store/stores.h"
#include "io/rescue.h"
#include "kmer/kmer.h"

#include <stdio.h>

struct repairing {
        const struct repair_plan *plan;
        struct kc_job *job;
        struct kc_store *store;
        struct kc_store_info info; /* of the newest state found */
        struct kc_rescue_totals lost;
};

/* ctx: a struct repairing. */
static void report_loss(void *ctx, const struct kc_loss *loss)
{
        const struct repairing *r = ctx;
        char number[FORMATTED_NBYTES], from[KC_MAX_K + 1] = "", to[KC_MAX_K + 1] = "";
        kc_kmer_format(loss->from, r->info.k, from);
        if (loss->to != NULL)
                kc_kmer_format(loss->to, r->info.k, to);
        message_print("kcount: warning: %s: %s %s of run %u are lost, from %s%s%s\n", loss->why,
                      format_number(loss->nkmers, number),
                      loss->tombstones ? "tombstones" : "k-mers", loss->run + 1, from,
                      loss->to != NULL ? " up to, but not including, " : " on", to);
}

static enum kc_status check_copy(const struct repair_plan *plan, struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(output_check_stdout(plan->copy, "--repair", err));
        KC_TRY(kc_output_check_files(&plan->copy, 1, &plan->path, 1, err));
        KC_TRY(output_check(plan->copy, false, plan->force, err));
out:
        return status;
}

static enum kc_status write_copy(struct repairing *r, struct kc_error *err)
{
        static const char *const label = "repairing";
        static const struct progress_plan progress_plan = { &label, 1, PROGRESS_PARTS };
        const struct kc_store_options options = { .k = r->info.k,
                                                  .stranded = r->info.stranded,
                                                  .hpc = r->info.hpc,
                                                  .only_checksum = r->info.only_checksum,
                                                  .replace = r->plan->force,
                                                  .careful = true,
                                                  .guard = signals_guard };
        const struct kc_rescue_report report = { report_loss, r };
        struct kc_store_writer *writer = NULL;
        enum kc_status status = kc_store_create(&writer, r->plan->copy, &options, err);
        if (status != KC_OK)
                return status;
        (void)signals_allow_commit(); /* kc_store_rescue commits, unless the job is canceled */
        struct progress *progress = progress_start(r->job, &progress_plan, r->plan->show_progress);
        status = kc_store_rescue(r->store, writer, r->job, &report, &r->lost, err);
        progress_stop(progress);
        return status;
}

static void put_json(const struct repairing *r, struct text_out *out)
{
        struct json json = { .out = out };
        const struct kc_rescue_totals *lost = &r->lost;
        json_begin(&json, NULL, '{');
        json_string(&json, "file", r->plan->path);
        json_string(&json, "copy", r->plan->copy);
        json_number(&json, "runs", r->info.nruns);
        json_number(&json, "lost_distinct", lost->nkmers);
        json_number(&json, "lost_sum", lost->sum);
        json_number(&json, "lost_tombstones", lost->ntombstones);
        json_bool(&json, "newest_state_lost", lost->misses_newest);
        json_end(&json, '}');
}

/* Return what is missing from the copy as the error with which the command ends. */
static enum kc_status report_missing(const struct repairing *r, struct kc_error *err)
{
        const struct kc_rescue_totals *lost = &r->lost;
        char kmers[FORMATTED_NBYTES], sum[FORMATTED_NBYTES], tombstones[FORMATTED_NBYTES];
        char parts[512] = "";
        size_t n = 0;
        if (!lost->misses_newest && lost->nkmers == 0 && lost->ntombstones == 0)
                return KC_OK;
        if (lost->misses_newest)
                n += (size_t)snprintf(parts + n, sizeof parts - n,
                                      "; what was added last is missing");
        if (lost->nkmers > 0)
                n += (size_t)snprintf(parts + n, sizeof parts - n,
                                      "; %s k-mers with counts of %s in all are missing",
                                      format_number(lost->nkmers, kmers),
                                      format_number(lost->sum, sum));
        if (lost->ntombstones > 0)
                n += (size_t)snprintf(
                        parts + n, sizeof parts - n,
                        "; %s tombstones are missing, so k-mers that were removed may be back",
                        format_number(lost->ntombstones, tombstones));
        return kc_fail(err, KC_ECORRUPT, "%s holds all that is sound in %s%s", r->plan->copy,
                       r->plan->path, parts);
}

static enum kc_status repair_store(struct repairing *r, const struct invocation *call,
                                   struct kc_error *err)
{
        enum kc_status status;
        kc_store_get_info(r->store, &r->info);
        KC_TRY(write_copy(r, err));
        if (r->plan->json)
                put_json(r, call->out);
        KC_TRY(report_missing(r, err));
        if (!r->plan->json)
                text_out_printf(call->out, "%s: nothing is lost; %s holds everything\n",
                                r->plan->path, r->plan->copy);
out:
        return status;
}

enum kc_status repair(const struct invocation *call, const struct repair_plan *plan,
                      struct kc_error *err)
{
        /* static, because the signal thread uses it until the process ends */
        static struct kc_job job;
        struct repairing r = { .plan = plan, .job = &job };
        enum kc_status status;
        KC_TRY(check_copy(plan, err));
        signals_install(&job);
        KC_TRY(stores_open_rescue(&r.store, plan->path, err));
        KC_TRY(repair_store(&r, call, err));
out:
        kc_store_close(r.store);
        return status;
}
