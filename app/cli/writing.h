/*
 * What the commands that write files have in common: the job that signals and the progress
 * line watch, the choice between a device and the CPU, the commit, and the report.
 */
#ifndef APP_CLI_WRITING_H
#define APP_CLI_WRITING_H

#include "app/cli/device.h"
#include "app/cli/json.h"
#include "app/cli/options.h"
#include "app/cli/progress.h"
#include "include/kcount.h"
#include "io/store.h"

#include <stddef.h>

/* The options that all these commands have. */
struct writing_settings {
        uint64_t nthreads; /* 0: all cores */
        bool json, quiet, no_progress;
};

/* Their options, without --threads, which comes earlier in the help. field: offset of the
 * settings. */
#define WRITING_OPTIONS(field) \
        OPTION_JSON((field) + offsetof(struct writing_settings, json)), MESSAGE_OPTIONS(field)
#define MESSAGE_OPTIONS(field) \
        OPTION_QUIET((field) + offsetof(struct writing_settings, quiet)), \
                OPTION_NO_PROGRESS((field) + offsetof(struct writing_settings, no_progress))

struct writing {
        const struct invocation *call;
        const struct writing_settings *settings;
        int nthreads;
        struct kc_job *job;
        struct device_choice device;
        struct kc_gpu_report gpu; /* valid if device.cuda */
        struct kc_store_writer *writer;
        /* After writing_commit; info also of a file that is left as it is. */
        struct kc_store_written written;
};

/* Only one at a time: all share a job, which must live as long as the process. */
struct writing writing_of(const struct invocation *call, const struct writing_settings *settings);

/* The work of filling the writer. ctx: for the calls. */
struct writing_work {
        void *ctx;
        enum kc_status (*on_device)(void *ctx, struct kc_error *err);
        enum kc_status (*on_cpu)(void *ctx, struct kc_error *err);
        struct progress_plan progress;
        bool hidden; /* the output is not a file, and may be the terminal: no progress is shown */
};

/*
 * Do the work where writing->device says, or on the CPU if the device fails at the start and the
 * CPU may take over (device_fall_back). KC_ECANCELED if a signal was caught; otherwise the work's
 * error.
 */
enum kc_status writing_run(struct writing *writing, const struct writing_work *work,
                           struct kc_error *err);

/* The same for a part of the work: more follows, and only then is anything committed. */
enum kc_status writing_run_part(struct writing *writing, const struct writing_work *work,
                                struct kc_error *err);

/*
 * Do the work, which fills a text file; it appears when it is complete, and on failure nothing of
 * it remains. A device or pipe is written in place, and if nobody reads it, the process ends by
 * SIGPIPE.
 *   file     what the work writes to
 *   replace  an existing file may be replaced
 * Otherwise as writing_run and text_out_open.
 */
enum kc_status writing_run_text(struct writing *writing, const struct writing_work *work,
                                struct text_out *file, const char *path, bool replace,
                                struct kc_error *err);

/* kc_store_commit of the writer, which is then NULL even if this fails. */
enum kc_status writing_commit(struct writing *writing, const struct kc_store_origin *origin,
                              struct kc_error *err);

/* The summary on standard error and, if it was asked for, as JSON on standard output. */
struct writing_report {
        const void *ctx;
        void (*put_text)(const void *ctx, struct text_out *out);
        void (*put_json)(const void *ctx, size_t number,
                         struct json *json); /* of object `number` */
        size_t nobjects; /* several: an array of that many objects; 0 or 1: an object */
};
void writing_report(const struct writing *writing, const struct writing_report *report);

/* Begin the JSON object of a command, with the fields that all have, for one that prints results
 * while it works. */
void writing_json_begin(struct json *json, const struct writing *writing);

/* For message_print: no k-mer was kept, and why. The whole message names no options, because
 * kcount-kmc has others. */
#define WRITING_EMPTY       "kcount: warning: no k-mer was kept: "
#define WRITING_ALL_DROPPED WRITING_EMPTY "the counts of all %d-mers are outside the bounds\n"

/* "wrote A, B and C", without an end of the line. */
void writing_put_names(struct text_out *out, const char *const *names, size_t n);

/* The line that says on which device the files were joined, if one was used: "merged", ... */
void writing_put_device(struct text_out *out, const struct writing *writing, const char *joined);

/* Lines of the text: a label and a number; with a note beside it, if that is not ""; with its share
 * of the whole. The numbers end in the same column, unless one is too long for that. */
void writing_put_number(struct text_out *out, const char *label, uint64_t number);
void writing_put_noted(struct text_out *out, const char *label, uint64_t number, const char *note);
void writing_put_share(struct text_out *out, const char *label, uint64_t part, uint64_t whole);

/* The last line of the text: time, threads or processes, memory. */
struct writing_costs {
        uint64_t spilled_nbytes;
        uint64_t most_nbytes; /* the most memory that another process took */
        int nprocesses;       /* that counted together; 0: this one alone */
};
void writing_put_costs(struct text_out *out, const struct writing *writing,
                       const struct writing_costs *costs);

/* Parts of the JSON: where files were joined; the file that was written; what a new file holds;
 * and, at the end, times, those of stages first, and memory. */
struct writing_stage {
        const char *name;
        double seconds;
};
void writing_json_device(struct json *json, const struct writing *writing);
void writing_json_output(struct json *json, const char *path, const struct kcount_info *info);
void writing_json_counts(struct json *json, const struct kcount_info *info);
void writing_json_costs(struct json *json, const struct writing *writing,
                        const struct writing_stage *stages, size_t nstages);

/* Since the program began. */
double writing_seconds(const struct writing *writing);

#endif
