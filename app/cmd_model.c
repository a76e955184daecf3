/*
 * kcount model: what a histogram of counts says about the genome.
 */
#include "app/cli/command.h"
#include "app/cli/terminal.h"
#include "app/hist/tail.h"
#include "app/library/machine.h"
#include "app/model/genomescope_report.h"
#include "app/model/least_squares.h"
#include "app/model/model_report.h"
#include "app/model/origin.h"
#include "app/model/table.h"
#include "app/store/stores.h"
#include "kmer/kmer.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct model_settings {
        uint64_t k, nthreads;
        struct option_numbers ploidies;
        bool genomescope, json;
};

/* A histogram, and what is known about the reads that it was counted from. */
struct model_input {
        const char *path;
        struct kc_histogram_row *rows; /* [nrows] */
        size_t nrows;
        int k;
        bool is_store;
        struct model_origin origin;
        struct kc_gc_cell *cells; /* [ncells], of a .kc file; NULL: not read */
        size_t ncells;
};

/* ---- the input ---- */

static enum kc_status read_store(struct model_input *in, const struct model_settings *s,
                                 struct kc_error *err)
{
        struct kc_store *store = NULL;
        struct kc_store_info info;
        const int nthreads = kc_machine_nthreads(s->nthreads);
        enum kc_status status;
        KC_TRY(stores_open(&store, in->path, err));
        kc_store_get_info(store, &info);
        KC_TRY(kc_store_histogram(store, nthreads, NULL, &in->rows, &in->nrows, err));
        if (!s->genomescope)
                KC_TRY(kc_store_gc(store, 0, nthreads, NULL, &in->cells, &in->ncells, err));
        in->k = info.k;
        in->origin = model_origin_of(&info);
out:
        kc_store_close(store);
        return status;
}

static enum kc_status read_table(const struct invocation *call, struct model_input *in,
                                 struct kc_error *err)
{
        const struct model_settings *s = call->settings;
        char example[EXAMPLE_NBYTES];
        const enum kc_status status = table_read(in->path, &in->rows, &in->nrows, err);
        if (status != KC_OK)
                return status;
        if (s->k == 0)
                return kc_fail(err, KC_EUSAGE,
                               "which k? A histogram does not say with which k it was counted%s",
                               command_example(call->command, example));
        in->k = (int)s->k;
        size_t first = 0;
        while (first + 1 < in->nrows && in->rows[first].ndistinct == 0)
                first++;
        in->origin.min_count = in->rows[first].count;
        return KC_OK;
}

static enum kc_status read_input(const struct invocation *call, struct model_input *in,
                                 struct kc_error *err)
{
        const struct model_settings *s = call->settings;
        in->path = call->operands[0];
        if (strcmp(in->path, "-") == 0 || !kc_store_recognizes(in->path))
                return read_table(call, in, err);
        in->is_store = true;
        enum kc_status status = read_store(in, s, err);
        if (status == KC_OK && s->k != 0 && s->k != (uint64_t)in->k)
                return kc_fail(err, KC_EUSAGE, "%s has k-mers of k = %d, not %d", in->path, in->k,
                               (int)s->k);
        return status;
}

/* ---- the models ---- */

static enum kc_status run_genomescope(const struct invocation *call, struct model_input *in,
                                      struct kc_error *err)
{
        const struct model_settings *s = call->settings;
        const int ploidy = s->ploidies.n > 0 ? (int)s->ploidies.values[0] : 2;
        if (s->ploidies.n > 1)
                return kc_fail(err, KC_EUSAGE, "--genomescope fits only one ploidy");
        if (in->is_store)
                in->nrows = tail_fold(in->rows, in->nrows, TAIL_USUAL_COUNT, true);
        const struct histogram histogram = { in->rows, in->nrows, in->k };
        struct kc_error failure = { 0 };
        struct genomescope result;
        const enum kc_status status = genomescope_fit(&histogram, ploidy, &result, &failure);
        if (status != KC_OK)
                return kc_fail_reworded(err, &failure, "%s: %s", in->path, failure.message);
        if (!result.converged)
                return kc_fail(err, KC_EINPUT,
                               "%s: GenomeScope's model of ploidy %d does not converge", in->path,
                               ploidy);
        (s->json ? genomescope_put_json : genomescope_put_text)(call->out, in->path, in->k,
                                                                &result);
        return KC_OK;
}

static enum kc_status run_own(const struct invocation *call, const struct model_input *in,
                              struct kc_error *err)
{
        const struct terminal_size paper = { .ncolumns = 80, .nrows = 50 };
        const struct model_settings *s = call->settings;
        const struct histogram histogram = { in->rows, in->nrows, in->k };
        int ploidies[MODEL_MAX_PLOIDIES], n = (int)s->ploidies.n;
        struct kc_error failure = { 0 };
        struct model model;
        for (int i = 0; i < n; i++)
                ploidies[i] = (int)s->ploidies.values[i];
        const struct model_gc gc = { in->cells, in->ncells };
        const enum kc_status status = model_find(&histogram, &in->origin, in->is_store ? &gc : NULL,
                                                 ploidies, n, &model, &failure);
        if (status != KC_OK)
                return kc_fail_reworded(err, &failure, "%s: %s", in->path, failure.message);
        if (s->json)
                model_put_json(call->out, in->path, in->k, &model);
        else
                model_put_text(call->out, in->path, in->k, &model,
                               terminal_size(STDOUT_FILENO, paper).ncolumns);
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
        KC_TRY(read_input(call, &in, err));
        KC_TRY(s->genomescope ? run_genomescope(call, &in, err) : run_own(call, &in, err));
out:
        free(in.cells);
        free(in.rows);
        return status;
}

#define FIELD(member) offsetof(struct model_settings, member)

static const struct option_spec model_options[] = {
        OPTION(NUMBER, "kmer", FIELD(k),
               "Length of the k-mers; required for a histogram. A .kc file records it.",
               .letter = 'k', .argument = "K", .min = 1, .max = KC_MAX_K),
        OPTION(NUMBERS, "ploidy", FIELD(ploidies),
               "How many haplotypes the genome has, 1 to 6. To compare several ploidies, put "
               "commas between them. Default: 1,2,4; with --genomescope, 2.",
               .letter = 'p', .argument = "P", .min = 1, .max = 6),
        OPTION(FLAG, "genomescope", FIELD(genomescope),
               "Fit as GenomeScope 2 does, and print the properties that it prints."),
        OPTION_THREADS(FIELD(nthreads)),
        OPTION_JSON(FIELD(json)),
        { 0 },
};

const struct command command_model = {
        .name = "model",
        .run = run_model,
        .operands = "FILE.kc | HISTOGRAM -k K",
        .group = COMMAND_LOOKS,
        .summary = "Model the genome: its size, ploidy and heterozygosity",
        .description =
                "Prints the size, the ploidy and the heterozygosity of the genome, the coverage "
                "and the error rate of the reads, each with its 95 % interval, then what the same "
                "counts would mean with another ploidy or half or twice the coverage, and a "
                "sentence for each caveat. It fits the model of GenomeScope 2 "
                "(Ranallo-Benavidez et al., 2020) for ploidy 1, 2 and 4, or for the ploidies of "
                "-p. If two ploidies explain the counts about equally well, it takes the one with "
                "the lower heterozygosity, or if that is about equal, the lower ploidy, and names "
                "the other. A fit with over 10 % heterozygosity is taken only if no other one "
                "explains 90 % of the k-mers. If none does, it chooses none. In a .kc file, it "
                "also finds groups of frequent k-mers whose GC content differs from the "
                "genome's, such as those of organelles and contaminants, and leaves them out of "
                "the size.\n\n"
                "The input is a .kc file, or a histogram as text: each line has a count and the "
                "number of distinct k-mers with that count, as hist, 'jellyfish histo' and "
                "'kmc_tools transform DB histogram' print them; '-' is standard input. k should "
                "be about 21, no k-mers should be left out because of their counts, and the "
                "reads should cover each haplotype 10 times or more.\n\n"
                "--genomescope fits with the starting values, rounds and rules of GenomeScope's R "
                "code and finds the same numbers, in a fraction of a second; it draws no plots. "
                "Low and high are then two standard errors below and above a value, as in "
                "GenomeScope's output. All counts of a .kc file are part of the size, as with "
                "'hist --genomescope'.",
        .examples = "  kcount model reads.kc\n"
                    "  kcount model reads.kc --genomescope -p 4\n"
                    "  jellyfish histo reads.jf | kcount model - -k 21\n",
        .options = model_options,
        .settings_nbytes = sizeof(struct model_settings),
        .min_operands = 1,
        .max_operands = 1,
        .for_more = "one .kc file or histogram; run it once for each file",
};
