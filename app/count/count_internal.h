/*
 * A count in progress, and its parts, each of which has a source file of its own.
 * app/count/count.c drives them and shows their order. Only these files include this header.
 */
#ifndef APP_COUNT_COUNT_INTERNAL_H
#define APP_COUNT_COUNT_INTERNAL_H

#include "app/count/count.h"
#include "app/count/ranks.h"
#include "app/library/counter.h"
#include "app/store/exporting.h"
#include "io/formats/format.h"

/* What is counted with one k. */
struct count_output {
        int k;
        char *path;        /* NULL if nothing is written */
        char *export_path; /* NULL if the file is not exported as well */
        struct exporting_files exports;
        /* the counter's; valid once it has been counted */
        struct kc_count_totals *totals;
        struct kc_counter_output *counted;
        char labels[KC_NSTAGES][24]; /* of its stages, for the progress line */
};

/* What one of several ranks has read, sent, received and counted. The arrays have an entry for each
 * k. */
struct rank_report {
        int rank;
        char host[KC_RANKS_HOST_NBYTES];
        char device[DEVICE_NAME_NBYTES]; /* where it counted */
        struct kc_reader_totals read;
        uint64_t nsent, ntaken;                /* bytes of messages to and from other ranks */
        uint64_t ncounted[OPTION_NUMBERS_MAX]; /* distinct k-mers */
        uint64_t nspilled[OPTION_NUMBERS_MAX]; /* bytes */
        uint64_t nwritten[OPTION_NUMBERS_MAX]; /* bytes of the output: all by rank 0 */
        uint64_t peak_nbytes;
};

/* A count in progress: what was opened, and what will be reported. app/count/count.c frees what
 * the pointers own. */
struct count {
        const struct count_settings *settings;
        struct writing writing;
        struct count_output outputs[OPTION_NUMBERS_MAX];
        int noutputs;
        struct kc_counter counter;
        enum kc_file_format format; /* of the exports */
        const char *const *inputs;
        size_t ninputs;
        uint8_t *marks; /* [inputs of the reader] what all ranks have found in them, once counted */
        struct ranks *ranks;            /* that count together; or NULL */
        struct rank_report *reports;    /* [ranks_count] when they have counted; or NULL */
        struct writing_settings silent; /* of a rank that does not report */
};

/* Whether the output is a .kc file to which a run is added. */
static inline bool count_adds(const struct count *count)
{
        return count->counter.target == KC_COUNTER_RUN;
}

/* ---- app/count/selection.c ---- */

/* Find out from the settings what of the reads is counted. KC_EUSAGE. */
enum kc_status count_select(struct count *count, struct kc_error *err);

/* ---- app/count/inputs.c: inputs ---- */

/* Fails if there is no file for one of the operands from `first` on: KC_EINPUT, or KC_EUSAGE if it
 * is likely to mean something else. */
enum kc_status count_check_exist(const struct invocation *call, int first, struct kc_error *err);

/* The same for the inputs of a file without a name: KC_EINPUT. */
enum kc_status count_check_inputs_exist(const struct count *count, struct kc_error *err);

/* KC_EUSAGE if an operand is also an output, or if two outputs are one file. Does not open the
 * operands. */
enum kc_status count_check_operands(const struct count *count, struct kc_error *err);

/* The same for all inputs, those in an @LIST and references included, once the reader is open. */
enum kc_status count_check_inputs(const struct count *count, struct kc_error *err);

/* Warn on rank 0 if an input is given more than once. The reader must be open. */
void count_warn_of_same_inputs(const struct count *count);

/* ---- app/count/outputs.c: outputs ---- */

/* The names of new files: one, or one for each k, and their exports. KC_EUSAGE for an unknown
 * format; KC_ENOMEM. */
enum kc_status count_name_outputs(struct count *count, struct kc_error *err);

/* List all files that will be written: the stores, their exports, and what the settings name.
 * Returns their number. */
enum {
        COUNT_MAX_FILES = OPTION_NUMBERS_MAX * (1 + KC_EXPORT_MAX_FILES) + COUNT_MAX_OTHER_FILES + 1
};
size_t count_list_files(const struct count *count, const char *names[COUNT_MAX_FILES]);

/* Find out before reading whether the exports can be written. Fails like exporting_check. */
enum kc_status count_check_exports(const struct count *count, struct kc_error *err);

/* Find out whether the outputs can become .kc files, if this rank creates any, and whether those of
 * an existing one were counted with the same k-mers. Fails like output_check. */
enum kc_status count_check_outputs(const struct count *count, struct kc_error *err);

/* If -k is given more than once, print on standard error which k is counted into which file: the
 * user may have meant the last one to replace the others. Only rank 0 prints it. */
void count_warn_of_lengths(const struct count *count);

/* Export the files that have just been committed. Fails like exporting_write, and says that these
 * files stay. */
enum kc_status count_export(const struct count *count, struct kc_error *err);

/* ---- app/count/engines.c: CPU and CUDA engines ---- */

/*
 * Choose the CPU or devices. Accesses no device. If there are several ranks, this elects those that
 * count. KC_EUSAGE if the settings do not allow the choice.
 */
enum kc_status count_choose_device(struct count *count, struct kc_error *err);

/* Tell the counter what the options of kcount.h cannot say. */
void count_set_up(struct count *count);

/* Read everything and count it, for all outputs. Fails like writing_run. */
enum kc_status count_on_engine(struct count *count, struct kc_error *err);

/* Read everything and discard it, for benchmarks: no engine can be faster than this. */
enum kc_status count_nothing(struct count *count, struct kc_error *err);

/* ---- app/count/together.c: for several ranks; with a single process, these do nothing ---- */

/* Every rank calls these in this order, until one fails; then it calls ranks_agree at once. */

/* Only rank 0 reports to the user: make the others quiet. */
void count_silence(struct count *count);

/* KC_EINPUT if this rank does not see the same inputs as rank 0; or another rank is lost. */
enum kc_status count_check_same_inputs(const struct count *count, struct kc_error *err);

/* After counting: collect what all ranks know about the inputs and, on rank 0, what the others
 * report about the count. KC_ENOMEM; or another rank is lost. */
enum kc_status count_gather(struct count *count, struct kc_error *err);

/* How many ranks have reported; 0: there is one process, or they have not counted yet. */
int count_nreports(const struct count *count);

/* Only on rank 0, after all is committed: report that it has written the output. */
void count_add_first_rank(struct count *count);

/* ---- app/count/report.c, report_text.c, report_json.c: reporting to the user ---- */

/* Warn on standard error about inputs that hold no sequence or do not show that they are whole,
 * about each k for which no k-mer was kept, and about -q if no input has qualities. */
void count_warn(const struct count *count);

/* Print the summary of all outputs; with --reader-only, of what was read. */
void count_report(const struct count *count);

/* The text of the summary, and its JSON about output i, for a writing_report; ctx: a struct
 * count. */
void count_put_text(const void *ctx, struct text_out *out);
void count_put_json(const void *ctx, size_t i, struct json *json);

#endif
