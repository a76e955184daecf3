/*
 * kcount add: add the k-mers of more reads to a .kc file, as a run of their own.
 */
#include "app/cli/command.h"
#include "app/count/count.h"

#define BOUND_ON_COUNTS(text) \
        OPTION(ELSEWHERE, text, 0, \
               "bounds apply to the sum of all runs; give them to 'kcount compact', which " \
               "changes the file, or to 'kcount dump', 'export' or 'hist'", \
               .hidden = true)

static const struct option_spec add_options[] = {
        COUNT_OPTIONS,
        WRITING_OPTIONS(COUNT_FIELD(common)),
        BOUND_ON_COUNTS("min"),
        BOUND_ON_COUNTS("max"),
        { 0 },
};

const struct command command_add = {
        .name = "add",
        .run = count_add,
        .operands = "FILE.kc FILE...",
        .group = COMMAND_CHANGES,
        .base = &command_count,
        .summary = "Count more reads and add them to a .kc file",
        .description =
                "Counts the k-mers of FILE... (of any kind that count takes) with the k and the "
                "strands of FILE.kc, and appends them to it as another sorted run. Counts add "
                "up, as if all reads had been counted at once. The runs that the file has are "
                "not rewritten, so this takes only as long as counting the new reads. 'kcount "
                "compact' merges all runs into one, which gives the same file, to the byte, as "
                "counting everything at once.\n\n"
                "Until the new run is complete, the file stays as it was, also for programs "
                "that are reading it, and after a crash. Only one command at a time may change "
                "a file. A file can hold 256 runs.\n\n"
                "If FILE.kc was counted with --min or --max, the sums lack the counts that it "
                "dropped.",
        .examples = "  kcount add sample.kc lane3.fq.gz lane4.fq.gz\n"
                    "  kcount compact sample.kc\n",
        .options = add_options,
        .settings_nbytes = sizeof(struct count_settings),
        .min_operands = 2,
        .max_operands = -1,
};
