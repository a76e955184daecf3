/*
 * kcount check: is a .kc file complete and consistent?
 */
#include "app/cli/command.h"
#include "app/cli/json.h"
#include "app/cli/progress.h"
#include "app/cli/size.h"
#include "app/library/machine.h"
#include "app/store/repair.h"
#include "app/store/stores.h"
#include "io/store.h"

struct check_settings {
        uint64_t nthreads;
        const char *repair;
        bool json, quiet, no_progress, force;
};

static enum kc_status check(const char *path, const struct check_settings *s,
                            struct kc_store **store, struct kc_error *err)
{
        static const char *const label = "checking";
        static const struct progress_plan plan = { &label, 1, PROGRESS_PARTS };
        struct kc_job job = { 0 };
        int nthreads = kc_machine_nthreads(s->nthreads);
        enum kc_status status = stores_open_checked(store, path, err);
        if (status != KC_OK)
                return status;
        struct progress *progress = progress_start(&job, &plan, !s->quiet && !s->no_progress);
        status = kc_store_check(*store, nthreads, &job, err);
        progress_stop(progress);
        return status;
}

/* Whether all data is present. */
static bool is_sound(enum kc_status status)
{
        return status == KC_OK || status == KC_EUNTIDY;
}

/* What is known about a sound file. */
struct checked {
        struct kc_store_info info;
        bool is_changing;
};

static void put_json(struct text_out *out, const char *path, const struct checked *checked,
                     const struct kc_error *err)
{
        struct json json = { .out = out };
        json_begin(&json, NULL, '{');
        json_string(&json, "file", path);
        json_bool(&json, "ok", is_sound(err->status));
        if (err->status == KC_EUNTIDY)
                json_string(&json, "warning", err->message);
        if (is_sound(err->status)) {
                if (checked->is_changing)
                        json_bool(&json, "being_changed", true);
                json_number(&json, "distinct", checked->info.ndistinct);
                json_number(&json, "sum", checked->info.sum);
                json_number(&json, "counted_kmers", checked->info.nkmers);
        } else {
                json_string(&json, "error", err->message);
        }
        json_end(&json, '}');
}

static void put_text(struct text_out *out, const char *path, const struct checked *checked,
                     const char *verdict)
{
        const struct kc_store_info *info = &checked->info;
        char distinct[FORMATTED_NBYTES], sum[FORMATTED_NBYTES], kmers[FORMATTED_NBYTES];
        text_out_printf(out, "%s: %s, %s distinct k-mers, sum of counts %s, %s k-mers counted\n",
                        path, verdict, format_number(info->ndistinct, distinct),
                        format_number(info->sum, sum), format_number(info->nkmers, kmers));
        if (checked->is_changing)
                text_out_printf(out,
                                "%s: another process was changing the file; what it appended was "
                                "not checked\n",
                                path);
}

static enum kc_status check_and_report(const struct invocation *call, struct kc_error *err)
{
        const struct check_settings *s = call->settings;
        const char *path = call->operands[0];
        struct kc_store *store = NULL;
        struct checked checked = { 0 };
        enum kc_status status = check(path, s, &store, err);
        if (is_sound(status)) {
                kc_store_get_info(store, &checked.info);
                checked.is_changing = kc_store_is_changing(store);
        }
        if (s->json)
                put_json(call->out, path, &checked, err);
        else if (is_sound(status))
                put_text(call->out, path, &checked, status == KC_OK ? "ok" : "no data is lost");
        kc_store_close(store);
        return status;
}

static enum kc_status run_check(const struct invocation *call, struct kc_error *err)
{
        const struct check_settings *s = call->settings;
        const struct repair_plan plan = { .path = call->operands[0],
                                          .copy = s->repair,
                                          .force = s->force,
                                          .json = s->json,
                                          .show_progress = !s->quiet && !s->no_progress };
        if (s->force && s->repair == NULL)
                return kc_fail(err, KC_EUSAGE, "--force needs --repair");
        return s->repair != NULL ? repair(call, &plan, err) : check_and_report(call, err);
}

#define FIELD(member) offsetof(struct check_settings, member)

static const struct option_spec check_options[] = {
        OPTION(OUTPUT, "repair", FIELD(repair),
               "Write everything that is sound to COPY.kc. FILE.kc stays as it is.",
               .argument = "COPY.kc"),
        OPTION_FORCE(FIELD(force)),
        OPTION_THREADS(FIELD(nthreads)),
        OPTION_JSON(FIELD(json)),
        OPTION_QUIET(FIELD(quiet)),
        OPTION_NO_PROGRESS(FIELD(no_progress)),
        { 0 },
};

const struct command command_check = {
        .name = "check",
        .run = run_check,
        .operands = "FILE.kc",
        .group = COMMAND_LOOKS,
        .summary = "Verify a .kc file, or copy what is sound in it",
        .description =
                "Reads the whole file and verifies every checksum, the order of the k-mers, the "
                "index, the histogram, and that the counts add up to the k-mers counted. Prints "
                "a line that says ok, or ends with exit code 1 and a message that names the "
                "damage.\n\n"
                "Ends with exit code 3 and a message if no data is lost but something should be "
                "repaired: bytes that a killed add left after the footer, or a damaged "
                "reference to the footer. The next add, remove or compact repairs it. If "
                "another process is adding to the file, check examines the state before that, "
                "and prints a second line that says so.\n\n"
                "With --repair, the newest state that can be found is copied to another file, "
                "without its damaged parts. Each loss is reported with the range of k-mers that it "
                "lies in; what a run of counts has lost is recorded as dropped. If tombstones are "
                "lost, k-mers that were removed may reappear. The exit code is 0 if nothing is "
                "lost; otherwise it is 1, with a summary of what is missing, and the copy is kept.",
        .examples = "  kcount check reads.kc\n"
                    "  kcount check damaged.kc --repair rescued.kc\n",
        .options = check_options,
        .settings_nbytes = sizeof(struct check_settings),
        .min_operands = 1,
        .max_operands = 1,
        .for_more = "one .kc file; run it once for each file",
};
