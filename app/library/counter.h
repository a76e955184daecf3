/*
 * Counting k-mers with the engine that is wanted: what the functions of kcount.h that count, and
 * the program, have in common. The caller fills in a struct kc_counter, opens the input, counts,
 * and gets totals; where the runs go is up to the sinks of the tasks.
 */
#ifndef APP_LIBRARY_COUNTER_H
#define APP_LIBRARY_COUNTER_H

#include "app/library/device.h"
#include "app/library/memory.h"
#include "io/sequences.h"
#include "io/store.h"

enum { KC_COUNTER_MAX_TASKS = 16 };

/* What counts. */
struct kc_counter_devices {
        bool used;                       /* CUDA devices; otherwise the CPU */
        bool may_fall_back;              /* the CPU counts if no device can be used */
        int indices[KC_GPU_MAX_DEVICES]; /* [n + nleft_out] */
        int n;
        int nleft_out;                /* there is too little input for these; set by kc_counter */
        enum kc_reading_place reader; /* where files are inflated and parsed */
        /* table, memory_nbytes, batch_nkmers, walk_npasses and trace; all else is filled in */
        struct kc_gpu_params params;
};

/* Several processes that count together (ranks/exchange.h). */
struct kc_counter_ranks {
        const struct kc_exchange *exchange;
        int rank, nranks;
        /* In place of kc_gpu_count_all. */
        enum kc_status (*count_on_devices)(const struct kc_count_params *params,
                                           const struct kc_gpu_params *gpu,
                                           const struct kc_batch_source *source,
                                           struct kc_count_task *tasks, int ntasks,
                                           struct kc_job *job, struct kc_gpu_report *reports,
                                           struct kc_error *err);
};

struct kc_counter {
        /* Set by the caller. */
        struct kc_count_task tasks[KC_COUNTER_MAX_TASKS]; /* [ntasks]; their totals are results */
        int ntasks;
        bool stranded;
        int min_quality;
        struct kc_selection selection;
        bool accept_empty; /* inputs of 0 bytes are not errors */
        int nthreads;      /* lowered if the memory is not enough for all */
        uint64_t memory_nbytes;
        bool bounded;             /* by the user; otherwise memory_nbytes is a default */
        uint64_t reserved_nbytes; /* a part of memory_nbytes that others take */
        uint64_t engine_nbytes;   /* the engine's part, for tests; 0: as planned */
        const char *tmp_folder;
        struct kc_counter_devices devices;
        struct kc_counter_ranks ranks; /* nranks 0: this process counts alone */
        struct kc_job *job;
        void (*fell_back)(void *ctx, const struct kc_error *reason); /* the CPU will count */
        void *ctx;

        /* Set by the functions below. */
        struct memory_plan plan;
        struct kc_reader *reader;       /* of files, or NULL */
        struct kc_sequences *sequences; /* or NULL */
        bool rereadable;                /* the inputs can be read again from the beginning */
        struct kc_gpu_report reports[KC_COUNTER_MAX_TASKS]; /* [ntasks] valid if devices.used */
};

/* Divide the memory, and open files. Only k of the tasks is used. Fails like kc_reader_open. */
enum kc_status kc_counter_open_files(struct kc_counter *counter, const char *const *paths,
                                     size_t npaths, struct kc_error *err);

/* The same for sequences in memory, for one task. Fails like kc_sequences_open. */
enum kc_status kc_counter_open_sequences(struct kc_counter *counter,
                                         const struct kc_sequence_giver *giver,
                                         struct kc_error *err);

/* How to read files, with a plan of memory. */
struct kc_reader_options kc_counter_reading(const struct kc_counter *counter,
                                            const struct memory_plan *plan);

/* Read everything and count it. If a device cannot start, calls fell_back, and the CPU counts.
 * Fails like the engines. */
enum kc_status kc_counter_run(struct kc_counter *counter, struct kc_error *err);

/* What this process has read. */
struct kc_reader_totals kc_counter_read_totals(const struct kc_counter *counter);

/* What is known about the run of a task, once counted.
 *   read  of all processes */
struct kc_store_origin kc_counter_origin(const struct kc_counter *counter, int task,
                                         const struct kc_reader_totals *read);

void kc_counter_close(struct kc_counter *counter);

#endif
