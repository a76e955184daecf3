/*
 * The files that filter writes. The endings of their names say how they are compressed. All of them
 * get their names, or none does.
 */
#ifndef APP_FILTER_OUTPUTS_H
#define APP_FILTER_OUTPUTS_H

#include "app/cli/text_out.h"
#include "io/compressor.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* With two inputs, the second mates go to the output after that of the first ones. */
enum outputs_number {
        OUTPUTS_KEPT = 0,
        OUTPUTS_REST = 2,
        OUTPUTS_NAMES = 4,
        OUTPUTS_TABLE = 5,
        NOUTPUTS,
};

/* The format of reads, as the endings of their outputs say. Only text has mates in two files. */
enum outputs_kind {
        OUTPUTS_OF_INPUT, /* that of the input: no output is a file */
        OUTPUTS_TEXT,     /* FASTQ or FASTA */
        OUTPUTS_SAM,
        OUTPUTS_BAM,
};

struct outputs {
        struct output {
                const char *path;            /* NULL: there is none */
                struct text_out *file, *own; /* own: the file, unless it is standard output */
                struct kc_compressor *compressor;
        } all[NOUTPUTS];
        enum outputs_kind kind;
        bool makes_files; /* all of them: none is a device, a pipe, or standard output */
};

struct outputs_settings {
        const char *paths[NOUTPUTS]; /* NULL: none; "-": standard output */
        enum outputs_kind kind;      /* outputs_choose_kind sets it */
        struct text_out *standard;
        bool force;
        int nthreads;
        uint64_t memory_nbytes; /* of each output, for text that waits to be compressed */
};

/* The most memory that the outputs take: their threads may need more than memory_nbytes. After
 * outputs_choose_kind. */
uint64_t outputs_nbytes(const struct outputs_settings *settings);

/* KC_EUSAGE if the reads that are kept and the rest would have different formats. */
enum kc_status outputs_choose_kind(struct outputs_settings *settings, struct kc_error *err);

/* Before any work: KC_EUSAGE if an output is an input or another output, or if its name promises
 * what cannot be written; KC_EEXIST, KC_EIO. */
enum kc_status outputs_check(const struct outputs_settings *settings, const char *const *inputs,
                             size_t ninputs, struct kc_error *err);

/* KC_EEXIST, KC_EIO, KC_ENOMEM. In any case, end with outputs_close, which leaves nothing behind of
 * files that were not committed. */
enum kc_status outputs_open(struct outputs *outputs, const struct outputs_settings *settings,
                            struct kc_error *err);

/* Forget all that was put, and begin the files again. Only if makes_files. As outputs_open. */
enum kc_status outputs_restart(struct outputs *outputs, const struct outputs_settings *settings,
                               struct kc_error *err);

/* Whether there is such an output. */
bool outputs_has(const struct outputs *outputs, unsigned number);

/* put: append to an output, if there is such an output. help: compress what waits. Both as in
 * io/compressor.h: puts come one after the other. */
enum kc_status outputs_put(struct outputs *outputs, unsigned number, const char *text,
                           size_t nbytes, struct kc_error *err);
enum kc_status outputs_help(struct outputs *outputs, int thread, struct kc_error *err);

/* Write all that is left; then give the files their names. */
enum kc_status outputs_finish(struct outputs *outputs, struct kc_error *err);
enum kc_status outputs_commit(struct outputs *outputs, struct kc_error *err);

void outputs_close(struct outputs *outputs);

/* Whether the reader of a pipe has closed it. */
bool outputs_pipe_closed(const struct outputs *outputs);

/* The paths that there are. to: [NOUTPUTS]. Returns their number. */
size_t outputs_paths(const struct outputs_settings *settings, const char **to);

/* As the name's ending says. False if that is a format that cannot be written. */
bool outputs_compression(const char *path, enum kc_compression *compression);

#endif
