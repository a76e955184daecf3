/*
 * kcount compact: merge the runs of a .kc file into one, in place.
 */
#include "app/cli/command.h"
#include "app/store/combining.h"

static enum kc_status run_compact(const struct invocation *call, struct kc_error *err)
{
        int lock = -1;
        struct combine_plan plan = { .inputs = call->operands,
                                     .ninputs = 1,
                                     .operation = KCOUNT_UNION,
                                     .rule = KCOUNT_RULE_SUM,
                                     .output = call->operands[0],
                                     .lock = &lock,
                                     .may_be_idle = true };
        /* lock before opening the file: a run added in between would be lost */
        enum kc_status status = kc_store_lock(&lock, plan.output, err);
        if (status == KC_OK)
                status = combine(call, &plan, err);
        kc_store_unlock(lock);
        return status;
}

static const struct option_spec compact_options[] = {
        COMBINE_OPTIONS,
        { 0 },
};

const struct command command_compact = {
        .name = "compact",
        .run = run_compact,
        .operands = "FILE.kc",
        .group = COMMAND_CHANGES,
        .summary = "Tidy a .kc file after add and remove",
        .description =
                "Merges what add and remove have appended into one sorted run: sums the counts, "
                "and drops the removed k-mers, their tombstones, and the k-mers that --min and "
                "--max leave out. After add, the file is the same, to the byte, as counting all "
                "reads at once would have given.\n\n"
                "The new file is written beside the old one, which it replaces when it is "
                "complete and on the disk: there must be room for both. 'kcount merge FILE.kc "
                "-o NEW.kc' does the same and keeps FILE.kc.",
        .examples = "  kcount compact sample.kc\n"
                    "  kcount compact sample.kc --min 2\n",
        .options = compact_options,
        .settings_nbytes = sizeof(struct combine_settings),
        .min_operands = 1,
        .max_operands = 1,
        .for_more = "one .kc file; 'kcount merge' joins several",
};
