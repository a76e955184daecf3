/*
 * kcount range: print the k-mers between two bounds.
 */
#include "app/cli/command.h"
#include "app/cli/misplaced.h"
#include "app/cli/typed_kmer.h"
#include "app/store/dumping.h"
#include "app/store/stores.h"

struct range_settings {
        struct dumping_settings common;
        bool count;
};

static enum kc_status run_range(const struct invocation *call, struct kc_error *err)
{
        const struct range_settings *s = call->settings;
        const char *input = call->operands[0];
        struct kcount_info info = { .size = sizeof info };
        uint64_t from[KCOUNT_MAX_WORDS], to[KCOUNT_MAX_WORDS];
        struct dumping_request request = {
                .from = from, .to = to, .format = { .max_count = UINT32_MAX }, .totals = s->count
        };
        enum kc_status status;
        KC_TRY(misplaced_check_first(call, err));
        KC_TRY(dumping_check(&s->common, &input, 1, err));
        KC_TRY(stores_open_counts(&request.counts, input, err));
        kcount_get_info(request.counts, &info);
        KC_TRY(typed_kmer_range(call->operands[1], call->operands[2], info.k, from, to, err));
        KC_TRY(dumping_run(call, &s->common, &request, err));
out:
        kcount_close(request.counts);
        return status;
}

#define FIELD(member) offsetof(struct range_settings, member)

static const struct option_spec range_options[] = {
        OPTION(FLAG, "count", FIELD(count),
               "Print only the number of k-mers and the sum of counts. A tab separates the "
               "two."),
        DUMPING_OPTIONS(FIELD(common)),
        OPTION_THREADS(FIELD(common.common.nthreads)),
        OPTION_QUIET(FIELD(common.common.quiet)),
        { 0 },
};

const struct command command_range = {
        .name = "range",
        .run = run_range,
        .operands = "FILE.kc FROM TO",
        .group = COMMAND_LOOKS,
        .summary = "Print the k-mers between two k-mers, or with a prefix",
        .description =
                "Prints the k-mers from FROM to TO, both included, in alphabetical order, as "
                "dump does. FROM and TO may be shorter than k: FROM is filled with A, TO with "
                "T, so that 'range FILE.kc ACG ACG' gives all k-mers that begin with "
                "ACG.\n\n"
                "The range applies to the k-mers as they are stored: unless the file was "
                "counted with --stranded, these are canonical, so a k-mer whose reverse "
                "complement comes first in the alphabet is found under its reverse complement.",
        .examples = "  kcount range reads.kc ACGT ACGT\n"
                    "  kcount range reads.kc A C --count\n"
                    "  kcount range reads.kc ACG ACG -o acg.tsv\n",
        .options = range_options,
        .settings_nbytes = sizeof(struct range_settings),
        .min_operands = 3,
        .max_operands = 3,
};
