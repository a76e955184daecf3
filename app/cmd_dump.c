/*
 * kcount dump: print all k-mers with their counts, in order.
 */
#include "app/cli/command.h"
#include "app/store/dumping.h"
#include "app/store/stores.h"

#include <string.h>

struct dump_settings {
        struct dumping_settings common;
        uint64_t min_count, max_count;
        int columns; /* as enum kc_kmer_text_form, but from 1; 0: not given */
        bool fasta;
};

static enum kc_status choose_form(const struct dump_settings *s, enum kc_kmer_text_form *form,
                                  struct kc_error *err)
{
        if (s->columns != 0 && s->fasta)
                return kc_fail(err, KC_EUSAGE, "--fasta prints no columns: leave out --columns");
        if (s->fasta)
                *form = KC_KMER_TEXT_FASTA;
        else if (s->columns != 0)
                *form = (enum kc_kmer_text_form)(s->columns - 1);
        return KC_OK;
}

static enum kc_status run_dump(const struct invocation *call, struct kc_error *err)
{
        const struct dump_settings *s = call->settings;
        const char *input = call->operands[0];
        struct dumping_request request = { .format = { .min_count = (uint32_t)s->min_count,
                                                       .max_count = (uint32_t)s->max_count } };
        enum kc_status status;
        KC_TRY(options_check_range(s->min_count, s->max_count, err));
        KC_TRY(choose_form(s, &request.format.form, err));
        KC_TRY(dumping_check(&s->common, &input, 1, err));
        KC_TRY(stores_open_counts(&request.counts, input, err));
        KC_TRY(dumping_run(call, &s->common, &request, err));
out:
        kcount_close(request.counts);
        return status;
}

#define FIELD(member) offsetof(struct dump_settings, member)

static const struct option_spec dump_options[] = {
        OPTION(FLAG, "fasta", FIELD(fasta),
               "Print FASTA with the counts as names. 'jellyfish dump' prints the same."),
        OPTION(WORD, "columns", FIELD(columns),
               "Separator between a k-mer and its count: tab or space. kmc_dump, kmc_tools and "
               "'jellyfish dump -c -t' print a tab, 'jellyfish dump -c' a space. Default: tab.",
               .argument = "SEPARATOR", .words = "tab space"),
        OPTION_MIN(FIELD(min_count)),
        OPTION_MAX(FIELD(max_count)),
        DUMPING_OPTIONS(FIELD(common)),
        OPTION_THREADS_OR(FIELD(common.common.nthreads), "a tab is the default"),
        MESSAGE_OPTIONS(FIELD(common.common)),
        { 0 },
};

const struct command command_dump = {
        .name = "dump",
        .run = run_dump,
        .operands = "FILE.kc",
        .group = COMMAND_LOOKS,
        .summary = "Print all k-mers with their counts, sorted",
        .description = "One line per k-mer, in alphabetical order: the k-mer, a tab, its count. "
                       "Other programs print the same lines in another order, or with another "
                       "separator: see --columns and --fasta.",
        .examples = "  kcount dump reads.kc | head\n"
                    "  kcount dump reads.kc --min 2 --fasta -o solid.fa\n"
                    "  kcount dump reads.kc --columns space -o reads.txt\n",
        .options = dump_options,
        .settings_nbytes = sizeof(struct dump_settings),
        .min_operands = 1,
        .max_operands = 1,
        .for_more = "one .kc file; 'kcount merge' joins several",
};
