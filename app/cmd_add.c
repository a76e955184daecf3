/*
 * kcount add: add the k-mers of more reads to a .kc file, as a run of their own.
 */
#include "app/command.h"
#include "app/counting.h"

static const struct option_spec add_options[] = {
        COUNTING_OPTIONS,
        { 0 },
};

const struct command command_add = {
        .name = "add",
        .run = counting_add,
        .operands = "DB.kc FILE...",
        .summary = "Count more reads into a .kc file",
        .description =
                "The k-mers of FILE... (of any kind that count takes), with the k and the strands "
                "of DB.kc, are appended to it as another sorted run. Counts add up, as if all reads "
                "had been counted at once; what is in the file is not rewritten, so the time is "
                "that of counting the new reads. 'kcount compact' makes one run of all: the same "
                "file, to the byte, as counting everything at once would have given.\n\n"
                "Until the new run is complete the file stays what it was, for readers at work, "
                "too, and after a crash. One command at a time may change a file. It can hold 256 "
                "runs.\n\n"
                "If DB.kc was counted with --min or --max, what was left out then is not there to "
                "add to.",
        .examples = "  kcount add sample.kc lane3.fq.gz lane4.fq.gz\n"
                    "  kcount compact sample.kc\n",
        .options = add_options,
        .settings_nbytes = sizeof(struct count_settings),
        .min_operands = 2,
        .max_operands = -1,
};
