/*
 * kcount merge, union, intersect, subtract: set operations on .kc files.
 */
#include "app/cli/command.h"
#include "app/cli/file_check.h"
#include "app/library/same_file.h"
#include "app/store/combining.h"

#include <string.h>

/* The files that the operands name, those in lists included. */
static enum kc_status find_inputs(const struct invocation *call, struct kc_inputs *inputs,
                                  struct kc_error *err)
{
        const struct combine_settings *s = call->settings;
        const size_t noperands = (size_t)call->noperands;
        enum kc_status status;
        KC_TRY(kc_output_check_operands(&s->output, 1, call->operands, noperands, err));
        KC_TRY(kc_inputs_resolve(inputs, call->operands, noperands, err));
out:
        return status;
}

/*
 * rules  those that --counts takes, in the order in which it lists them
 * rule   the one that applies if --counts is not given
 */
static enum kc_status run(const struct invocation *call, enum kcount_set operation,
                          const enum kcount_rule *rules, enum kcount_rule rule,
                          struct kc_error *err)
{
        enum kc_status status;
        const struct combine_settings *s = call->settings;
        struct kc_inputs inputs = { 0 };
        char example[EXAMPLE_NBYTES];
        struct combine_plan plan = { .operation = operation, .rule = rule, .output = s->output };
        if (s->counts != 0)
                plan.rule = rules[s->counts - 1];
        KC_TRY(find_inputs(call, &inputs, err));
        if (operation == KCOUNT_SUBTRACT && inputs.n < 2)
                KC_TRY(kc_fail(err, KC_EUSAGE, "subtract needs %s%s", call->command->operands,
                               command_example(call->command, example)));
        plan.inputs = (const char *const *)inputs.names;
        plan.ninputs = inputs.n;
        plan.listed = &inputs;
        KC_TRY(combine(call, &plan, err));
out:
        kc_inputs_free(&inputs);
        return status;
}

#define RULE_WORDS "min max sum difference left right"
static const enum kcount_rule counted_rules[] = { KCOUNT_RULE_MIN,  KCOUNT_RULE_MAX,
                                                  KCOUNT_RULE_SUM,  KCOUNT_RULE_DIFFERENCE,
                                                  KCOUNT_RULE_LEFT, KCOUNT_RULE_RIGHT };
#define SUBTRACT_WORDS "left difference"
static const enum kcount_rule subtract_rules[] = { KCOUNT_RULE_LEFT, KCOUNT_RULE_DIFFERENCE };

static enum kc_status run_union(const struct invocation *call, struct kc_error *err)
{
        return run(call, KCOUNT_UNION, counted_rules, KCOUNT_RULE_SUM, err);
}

static enum kc_status run_intersect(const struct invocation *call, struct kc_error *err)
{
        return run(call, KCOUNT_INTERSECT, counted_rules, KCOUNT_RULE_MIN, err);
}

static enum kc_status run_subtract(const struct invocation *call, struct kc_error *err)
{
        return run(call, KCOUNT_SUBTRACT, subtract_rules, KCOUNT_RULE_LEFT, err);
}

static char *propose_output(const struct invocation *call)
{
        (void)call;
        return strdup("out.kc");
}

#define FIELD(member) COMBINE_FIELD(member)

#define OUTPUT_OPTION \
        OPTION(OUTPUT, "output", FIELD(output), "The .kc file to write. Required.", .letter = 'o', \
               .argument = "FILE", .required = true, .propose = propose_output)
#define COMMON_OPTIONS COMBINE_OPTIONS, OPTION_FORCE(FIELD(force))

#define ALIKE \
        "All files must have the same k and strands. 'kcount merge --help' says more about them."

static const struct option_spec merge_options[] = { OUTPUT_OPTION, COMMON_OPTIONS, { 0 } };

const struct command command_merge = {
        .name = "merge",
        .run = run_union,
        .operands = "FILE.kc...",
        .group = COMMAND_COMBINES,
        .summary = "Add up .kc files: all k-mers, with summed counts",
        .description =
                "The result is the same file, to the byte, as counting all the reads at once "
                "would have given (if no --min or --max was used). Given one file, merge writes "
                "a copy with the runs merged.\n\n"
                "All files must have the same k and strands. A file with several runs is taken "
                "as a whole, without the k-mers that were removed from it. The result has one "
                "run.\n\n"
                "@LIST is a file that names one .kc file per line; blank lines and lines that "
                "begin with # are skipped. If there are more files than the system lets a process "
                "keep open (ulimit -n), some are opened again for each read, with the same result.",
        .examples = "  kcount merge lane1.kc lane2.kc lane3.kc -o sample.kc\n",
        .options = merge_options,
        .settings_nbytes = sizeof(struct combine_settings),
        .min_operands = 1,
        .max_operands = -1,
};

static const struct option_spec counted_options[] = {
        OUTPUT_OPTION,
        OPTION(WORD, "counts", FIELD(counts),
               "Count of a k-mer: min, max, sum, left, right or difference; default: sum "
               "(intersect: min). It is computed from the counts in the files that have the k-mer, "
               "in the order given: min, max, sum (at most 4294967295), left (the count in the "
               "first of them), right (in the last), or difference (the count in the first file "
               "given, or 0, minus those in all others; the k-mer is left out if nothing remains).",
               .argument = "RULE", .words = RULE_WORDS, .group = OPTION_SHARED),
        COMMON_OPTIONS,
        { 0 },
};

const struct command command_union = {
        .name = "union",
        .run = run_union,
        .operands = "FILE.kc...",
        .group = COMMAND_COMBINES,
        .summary = "Write the k-mers that are in any of several .kc files",
        .description = "--counts says which count a k-mer gets; with the default, sum, union "
                       "does the same as merge. " ALIKE,
        .examples = "  kcount union a.kc b.kc --counts max -o any.kc\n",
        .options = counted_options,
        .settings_nbytes = sizeof(struct combine_settings),
        .min_operands = 1,
        .max_operands = -1,
};

const struct command command_intersect = {
        .name = "intersect",
        .run = run_intersect,
        .operands = "FILE.kc...",
        .group = COMMAND_COMBINES,
        .summary = "Write the k-mers that are in all of several .kc files",
        .description = "--counts says which count a k-mer gets. " ALIKE,
        .examples = "  kcount intersect reads.kc assembly.kc --counts left -o common.kc\n"
                    "  kcount intersect a.kc b.kc c.kc --min 5 -o core.kc\n",
        .options = counted_options,
        .settings_nbytes = sizeof(struct combine_settings),
        .min_operands = 1,
        .max_operands = -1,
};

static const struct option_spec subtract_options[] = {
        OUTPUT_OPTION,
        OPTION(WORD, "counts", FIELD(counts),
               "Rule for counts: left or difference. Default: left. left: the k-mers of the "
               "first file that no other file has, with their count. difference: all k-mers "
               "whose count in the first file is above the sum of those in the others, with "
               "the difference as their count.",
               .argument = "RULE", .words = SUBTRACT_WORDS),
        COMMON_OPTIONS,
        { 0 },
};

const struct command command_subtract = {
        .name = "subtract",
        .run = run_subtract,
        .operands = "FILE.kc FILE.kc...",
        .group = COMMAND_COMBINES,
        .summary = "Write the k-mers of a .kc file that the others lack",
        .description = "Writes the k-mers of the first file without those of the others. " ALIKE,
        .examples =
                "  kcount subtract sample.kc host.kc -o foreign.kc\n"
                "  kcount subtract tumour.kc normal.kc --counts difference --min 5 -o gain.kc\n",
        .options = subtract_options,
        .settings_nbytes = sizeof(struct combine_settings),
        .min_operands = 1,
        .max_operands = -1,
};
