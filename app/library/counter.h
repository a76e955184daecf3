/*
 * Counting k-mers with the engine that is wanted: what the functions of kcount.h that count, and
 * the program, have in common. The caller fills in a struct kc_counter, reads the only k-mers to be
 * counted, if a file of them is given, creates the outputs, opens the input, counts, and commits.
 */
#ifndef APP_LIBRARY_COUNTER_H
#define APP_LIBRARY_COUNTER_H

#include "app/library/device.h"
#include "app/library/memory.h"
#include "io/histogram.h"
#include "io/sequences.h"
#include "io/store.h"
#include "kmer/kmer_set.h"

enum { KC_COUNTER_MAX_TASKS = 16 };

/* What counts. */
struct kc_counter_devices {
        bool used;          /* CUDA devices; otherwise the CPU */
        bool may_fall_back; /* the CPU counts if no device can be used */
        bool all;           /* not those listed, but all of the machine that are worth opening */
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
        uint64_t messages_nbytes; /* what messages take of the memory */
        /* In place of kc_gpu_count_all, or of kc_cpu_count_all with gpu = NULL. */
        enum kc_status (*count)(const struct kc_count_params *params,
                                const struct kc_gpu_params *gpu,
                                const struct kc_batch_source *source, struct kc_count_task *tasks,
                                int ntasks, struct kc_job *job, struct kc_gpu_report *reports,
                                struct kc_error *err);
};

/* What becomes of the k-mers. */
enum kc_counter_target {
        KC_COUNTER_FILES,     /* new .kc files, all of which get their names, or none */
        KC_COUNTER_NAMELESS,  /* new files without names */
        KC_COUNTER_RUN,       /* of one task: they are added to a .kc file */
        KC_COUNTER_HISTOGRAM, /* of one task: only the rows are kept */
};

/* What is counted with one k. */
struct kc_counter_output {
        struct kc_store_writer *writer; /* NULL: none is needed, or another process writes */
        struct kc_run_sink sink;
        struct kc_kmer_set only; /* if counter->only */
        /* Once committed. */
        struct kc_store_written written; /* of a histogram, only rows, k and nunique */
        struct kc_store *store;          /* of a file without a name */
};

struct kc_counter {
        /* Set by the caller. */
        enum kc_counter_target target;
        struct kc_count_task tasks[KC_COUNTER_MAX_TASKS]; /* [ntasks] with k; totals are results */
        int ntasks;
        struct kc_store_options storing; /* what the caller knows of it: the bounds, ... */
        bool stranded;
        int min_quality;
        struct kc_selection selection;
        bool accept_empty; /* inputs of 0 bytes are not errors */
        int nthreads;      /* lowered if the memory is not enough for all */
        uint64_t memory_nbytes;
        bool bounded;           /* by the user; otherwise memory_nbytes is a default */
        uint64_t engine_nbytes; /* the engine's part, for tests; 0: as planned */
        const char *tmp_folder;
        struct kc_counter_devices devices;
        struct kc_counter_ranks ranks; /* nranks 0: this process counts alone */
        struct kc_job *job;
        void (*fell_back)(void *ctx, const struct kc_error *reason); /* the CPU will count */
        void *ctx;

        /* Set by the functions below, but the caller may set writers. */
        struct kc_counter_output outputs[KC_COUNTER_MAX_TASKS]; /* [ntasks] */
        struct kc_histogram *histogram;
        bool only;            /* only the k-mers of the outputs' sets are counted */
        uint64_t only_nbytes; /* what these sets take of the memory */
        struct memory_plan plan;
        struct kc_reader *reader;       /* of files, or NULL */
        struct kc_sequences *sequences; /* or NULL */
        bool rereadable;                /* the inputs can be read again from the beginning */
        struct kc_gpu_report reports[KC_COUNTER_MAX_TASKS]; /* [ntasks] valid if devices.used */
        struct kc_reader_totals read; /* once counted; the caller adds what other ranks have read */
};

/*
 * Read the sets of the only k-mers to be counted. KC_EINPUT if the file has none for one of the k;
 * KC_ENOMEM if they take more than a quarter of the memory. Otherwise fails like kc_reader_open and
 * kc_cpu_count_all.
 */
enum kc_status kc_counter_read_only(struct kc_counter *counter, const char *path,
                                    struct kc_error *err);

/* How to create the file of a task. */
struct kc_store_options kc_counter_storing(const struct kc_counter *counter, int task);

/* Set the sinks of all outputs, once those with a writer have it. KC_ENOMEM. */
enum kc_status kc_counter_set_sinks(struct kc_counter *counter, struct kc_error *err);

/* How to read files, with a plan of memory. */
struct kc_reader_options kc_counter_reading(const struct kc_counter *counter,
                                            const struct memory_plan *plan);

/* Divide the memory, and open files. Fails like kc_reader_open. */
enum kc_status kc_counter_open_files(struct kc_counter *counter, const char *const *paths,
                                     size_t npaths, struct kc_error *err);

/* The same for sequences in memory, for one task. Fails like kc_sequences_open. */
enum kc_status kc_counter_open_sequences(struct kc_counter *counter,
                                         const struct kc_sequence_giver *giver,
                                         struct kc_error *err);

/* Read everything, and count it. If a device cannot start, calls fell_back, and the CPU counts.
 * Fails like the engines. */
enum kc_status kc_counter_run(struct kc_counter *counter, struct kc_error *err);

/* Commit all outputs, and set `written` of each. No writer is left, even on failure. Fails like
 * kc_stores_commit and kc_histogram_rows. */
enum kc_status kc_counter_commit(struct kc_counter *counter, struct kc_error *err);

/*
 * Warn about inputs that hold no sequence, may lack their end, or may hold proteins:
 * each text is what follows "warning: ".
 *   marks  [inputs of the reader] of enum kc_input_mark, of all processes
 */
void kc_counter_warn(const struct kc_counter *counter, const uint8_t *marks,
                     void (*warn)(void *ctx, const char *text), void *ctx);

void kc_counter_close(struct kc_counter *counter);

#endif
