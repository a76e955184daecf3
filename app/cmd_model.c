/*
 * kcount model: what a histogram of counts says about the genome.
 */
#include "app/cli/command.h"
#include "app/cli/machine.h"
#include "app/hist/tail.h"
#include "app/model/genomescope_report.h"
#include "app/model/least_squares.h"
#include "app/model/table.h"
#include "app/store/stores.h"
#include "kmer/kmer.h"

#include <stdlib.h>

struct model_settings {
        uint64_t k, ploidy;
        bool genomescope, json;
};

/* A histogram, and where it comes from. */
struct model_input {
        const char *path;
        struct kc_histogram_row *rows; /* [nrows] */
        size_t nrows;
        int k;
};

/* ---- the input ---- */

static enum kc_status read_store(struct model_input *in, struct kc_error *err)
{
        struct kc_store *store = NULL;
        struct kc_store_info info;
        enum kc_status status;
        KC_TRY(stores_open(&store, in->path, err));
        kc_store_get_info(store, &info);
        KC_TRY(kc_store_histogram(store, machine_nthreads(0), &in->rows, &in->nrows, err));
        in->k = info.k;
        in->nrows = tail_fold(in->rows, in->nrows, TAIL_USUAL_COUNT, true);
out:
        kc_store_close(store);
        return status;
}

static enum kc_status read_table(const struct invocation *call, struct model_input *in,
                                 struct kc_error *err)
{
        const struct model_settings *s = call->settings;
        char example[EXAMPLE_NBYTES];
        if (s->k == 0)
                return kc_fail(err, KC_EUSAGE,
                               "which k? A histogram does not say of which k it is%s",
                               command_example(call->command, example));
        in->k = (int)s->k;
        return table_read(in->path, &in->rows, &in->nrows, err);
}

static enum kc_status read_input(const struct invocation *call, struct model_input *in,
                                 struct kc_error *err)
{
        const struct model_settings *s = call->settings;
        in->path = call->operands[0];
        if (!kc_store_recognizes(in->path))
                return read_table(call, in, err);
        enum kc_status status = read_store(in, err);
        if (status == KC_OK && s->k != 0 && s->k != (uint64_t)in->k)
                return kc_fail(err, KC_EUSAGE, "%s has k-mers of k = %d, not %d", in->path, in->k,
                               (int)s->k);
        return status;
}

/* ---- the models ---- */

static enum kc_status run_genomescope(const struct invocation *call, const struct model_input *in,
                                      struct kc_error *err)
{
        const struct model_settings *s = call->settings;
        const struct histogram histogram = { in->rows, in->nrows, in->k };
        struct genomescope result;
        enum kc_status status = genomescope_fit(&histogram, (int)s->ploidy, &result, err);
        if (status != KC_OK)
                return status;
        if (!result.converged)
                return kc_fail(err, KC_EINPUT,
                               "%s: GenomeScope's model of ploidy %d does not converge", in->path,
                               (int)s->ploidy);
        (s->json ? genomescope_put_json : genomescope_put_text)(call->out, in->path, in->k,
                                                                &result);
        return KC_OK;
}

static enum kc_status run_model(const struct invocation *call, struct kc_error *err)
{
        const struct model_settings *s = call->settings;
        struct model_input in = { 0 };
        enum kc_status status = KC_OK;
        if (!least_squares_exist())
                return kc_fail(err, KC_EUSAGE,
                               "this kcount was built without cminpack, which fits models");
        if (!s->genomescope)
                return kc_fail(err, KC_EUSAGE, "model fits GenomeScope's model: add --genomescope");
        KC_TRY(read_input(call, &in, err));
        KC_TRY(run_genomescope(call, &in, err));
out:
        free(in.rows);
        return status;
}

#define FIELD(member) offsetof(struct model_settings, member)

static const struct option_spec model_options[] = {
        OPTION(NUMBER, "kmer", FIELD(k),
               "Length of the k-mers; required for a histogram. A .kc file holds it.",
               .letter = 'k', .argument = "K", .min = 1, .max = KC_MAX_K),
        OPTION(NUMBER, "ploidy", FIELD(ploidy), "How many haplotypes the genome has, 1 to 6.",
               .letter = 'p', .argument = "P", .min = 1, .max = 6, .preset = "2"),
        OPTION(FLAG, "genomescope", FIELD(genomescope),
               "Fit as GenomeScope 2 does, and print its properties. It is the only model yet, so "
               "this is required."),
        OPTION_JSON(FIELD(json)),
        { 0 },
};

const struct command command_model = {
        .name = "model",
        .run = run_model,
        .operands = "FILE.kc | HISTOGRAM -k K",
        .group = COMMAND_LOOKS,
        .summary = "Fit a model of the genome: size, heterozygosity, coverage",
        .description =
                "The input is a .kc file, or a histogram as text: a count and the number of "
                "distinct k-mers that have it on each line, as hist, 'jellyfish histo' and "
                "'kmc_tools transform DB histogram' print them; '-' is standard input. k should "
                "be 21 or so, and the reads accurate, with 25 or more of them at each position.\n\n"
                "--genomescope fits the model of GenomeScope 2 (Ranallo-Benavidez et al., 2020) "
                "to the histogram with the same starts, rounds and rules as its R code, so that "
                "the same numbers come out in a fraction of a second; it draws no plots. Low and "
                "high are two standard errors below and above a value, as GenomeScope prints "
                "them. For a .kc file, all counts enter the size, as with 'hist "
                "--genomescope'.",
        .examples = "  kcount model reads.kc --genomescope\n"
                    "  kcount model reads.hist -k 21 --genomescope -p 4\n"
                    "  jellyfish histo reads.jf | kcount model - -k 21 --genomescope\n",
        .options = model_options,
        .settings_nbytes = sizeof(struct model_settings),
        .min_operands = 1,
        .max_operands = 1,
        .for_more = "one .kc file or histogram; run it once for each file",
};
