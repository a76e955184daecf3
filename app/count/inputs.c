#include "app/count/count_internal.h"

#include "app/cli/file_check.h"
#include "app/cli/shell.h"
#include "app/count/references.h"
#include "app/library/references.h"
#include "app/library/same_file.h"
#include "io/input/input.h"
#include "kmer/kmer.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* KMC's command line ends with the names of the output and of a folder. */
static enum kc_status refuse_output(const char *output, const char *folder, struct kc_error *err)
{
        char name[PATH_MAX], line[SHELL_LINE_NBYTES];
        const char *const words[] = { "-o", name, "--tmp", folder };
        snprintf(name, sizeof name, "%s.kc", output);
        return kc_fail(err, KC_EUSAGE,
                       "there is no file %s, and kcount takes no output name there; write %s",
                       output, shell_line(words, 4, line));
}

/* The operand i is missing: what the user may have meant by it. */
static enum kc_status refuse_missing(const struct invocation *call, int i, struct kc_error *err)
{
        const struct option_numbers *ks = &((const struct count_settings *)call->settings)->ks;
        const char *operand = call->operands[i], *path = operand + (operand[0] == '@');
        const int error = errno;
        if (ks->n > 0 && operand[strspn(operand, "0123456789")] == '\0')
                return kc_fail(err, KC_EUSAGE,
                               "there is no file %s; to count with several k: -k %" PRIu64 ",%s",
                               operand, ks->values[ks->n - 1], operand);
        if (i > 0 && i == call->noperands - 2 && kc_path_is_folder(call->operands[i + 1]) &&
            option_find(call->command->options, "output") != NULL)
                return refuse_output(operand, call->operands[i + 1], err);
        return kc_input_open_failed(path, error, err);
}

/* Whether there is no such file, or no such list; errno says why. */
static bool is_missing(const char *input)
{
        return strcmp(input, "-") != 0 && access(input + (input[0] == '@'), F_OK) != 0;
}

enum kc_status count_check_exist(const struct invocation *call, int first, struct kc_error *err)
{
        for (int i = first; i < call->noperands; i++)
                if (is_missing(call->operands[i]))
                        return refuse_missing(call, i, err);
        return KC_OK;
}

enum kc_status count_check_inputs_exist(const struct count *count, struct kc_error *err)
{
        for (size_t i = 0; i < count->ninputs; i++)
                if (is_missing(count->inputs[i]))
                        return kc_input_open_failed(count->inputs[i] + (count->inputs[i][0] == '@'),
                                                    errno, err);
        return KC_OK;
}

/* Each of several processes reads the list, but only one of them could read it from a pipe. */
static enum kc_status check_list(const struct count *count, const char *list, struct kc_error *err)
{
        struct stat found;
        if (count->ranks == NULL || stat(list, &found) != 0 || S_ISREG(found.st_mode))
                return KC_OK;
        return kc_fail(err, KC_EUSAGE,
                       "%s is not a regular file: with several processes, each of them reads the "
                       "list",
                       list);
}

enum kc_status count_check_operands(const struct count *count, struct kc_error *err)
{
        const char *files[COUNT_MAX_FILES];
        const size_t nfiles = count_list_files(count, files);
        enum kc_status status = KC_OK;
        for (size_t i = 0; i < count->ninputs; i++)
                if (count->inputs[i][0] == '@')
                        KC_TRY(check_list(count, count->inputs[i] + 1, err));
        status = kc_output_check_operands(files, nfiles, count->inputs, count->ninputs, err);
out:
        return status;
}

enum kc_status count_check_inputs(const struct count *count, struct kc_error *err)
{
        const char *files[COUNT_MAX_FILES];
        const char *const *names;
        const size_t nfiles = count_list_files(count, files);
        const size_t n = kc_reader_names(count->reader, &names);
        enum kc_status status;
        KC_TRY(kc_output_check_files(files, nfiles, names, n, err));
        KC_TRY(kc_references_check(files, nfiles, names, n, err));
out:
        return status;
}

void count_warn_of_same_inputs(const struct count *count)
{
        const char *const *names;
        const size_t n = kc_reader_names(count->reader, &names);
        if (ranks_is_first(count->ranks))
                input_warn_of_same(names, n);
}

static struct kc_reader_options reading_of(const struct count *count)
{
        int min_k = KC_MAX_K, max_k = 1;
        for (int i = 0; i < count->noutputs; i++) {
                const int k = count->outputs[i].k;
                min_k = k < min_k ? k : min_k;
                max_k = k > max_k ? k : max_k;
        }
        struct kc_reader_options reading = { .k = min_k,
                                             .max_k = max_k,
                                             .min_quality = (int)count->settings->min_quality,
                                             .selection = count->selection,
                                             .empty = count->settings->skip_empty,
                                             .nworkers = count->writing.nthreads,
                                             .memory_nbytes = count->plan.reader_nbytes,
                                             .bound = count->plan.reader_bound,
                                             .job = count->writing.job };
        if (ranks_count(count->ranks) > 1) {
                reading.rank = count->ranks->exchange.rank;
                reading.nranks = ranks_count(count->ranks);
        }
        return reading;
}

struct kc_reader_options count_reading_of_only(const struct count *count,
                                               const struct memory_plan *plan)
{
        struct kc_reader_options reading = reading_of(count);
        reading.min_quality = 0;
        reading.selection = (struct kc_selection){ .hpc = count->selection.hpc };
        reading.nworkers = plan->nthreads;
        reading.memory_nbytes = plan->reader_nbytes;
        reading.bound = plan->reader_bound;
        reading.rank = reading.nranks = 0; /* each rank needs all of it */
        return reading;
}

enum kc_status count_open_reader(struct count *count, struct kc_error *err)
{
        const struct kc_reader_options reading = reading_of(count);
        return kc_reader_open(&count->reader, count->inputs, count->ninputs, &reading, err);
}

enum kc_status count_reopen_reader(struct count *count, struct kc_error *err)
{
        const struct kc_reader_options reading = reading_of(count);
        return kc_reader_reopen(&count->reader, &reading, err);
}
