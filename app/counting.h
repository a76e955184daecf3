/*
 * Counting reads into a new .kc file, an existing one, or a histogram: what count, add and hist
 * have in common.
 */
#ifndef APP_COUNTING_H
#define APP_COUNTING_H

#include "app/memory.h"
#include "app/writing.h"
#include "io/histogram.h"

enum { COUNTING_MAX_QUALITY = 93, COUNTING_MAX_OTHER_FILES = 4 };

/* The settings of these commands begin with this struct; a field is zero if the command has no such
 * option. */
struct count_settings {
        struct writing_settings common;
        struct option_numbers ks;
        uint64_t memory_nbytes, engine_memory_nbytes, min_count, max_count, min_quality,
                gpu_memory_nbytes, gpu_batch_nkmers, rank_patience;
        const char *output, *format, *tmp_dir, *device, *table, *reader, *gpu_trace;
        bool stranded, force, reader_only, gather;
        bool empty;                     /* inputs of 0 bytes are accepted */
        bool histogram;                 /* of count: include it in the JSON summary */
        const char *const *other_files; /* [nother_files] that kcount-kmc will write: no inputs */
        size_t nother_files;
};

/* count: the operands are reads; the output is settings->output, or named after the first of
 * them. With several k there is one output for each, and all appear together. */
enum kc_status counting_create(const struct invocation *call, struct kc_error *err);

/* add: the first operand is a .kc file, which determines k and stranded; the others are reads. */
enum kc_status counting_add(const struct invocation *call, struct kc_error *err);

/* hist: the operands are reads, and nothing is written. min_count and max_count are not applied.
 *   rows  out, [*nrows] by ascending count, freed by the caller */
enum kc_status counting_histogram(const struct invocation *call, struct kc_histogram_row **rows,
                                  size_t *nrows, struct kc_error *err);

/* ---- their options ---- */

#define COUNTING_FIELD(member) offsetof(struct count_settings, member)

/* clang-format off */
#define COUNTING_KMER(is_required, text) \
        { .type = OPTION_NUMBERS, \
          .letter = 'k', \
          .name = "kmer", \
          .argument = "K", \
          .min = 1, \
          .max = KC_MAX_K, \
          .offset = COUNTING_FIELD(ks), \
          .required = (is_required), \
          .help = "Length of the k-mers, from 1 to 255. " text }
#define COUNTING_STRANDED \
        { .type = OPTION_FLAG, \
          .name = "stranded", \
          .offset = COUNTING_FIELD(stranded), \
          .help = "Count k-mers as they stand. Default: a k-mer and its reverse complement are " \
                  "one." }
/* tmp_default: the default of --tmp, in words */
#define COUNTING_OPTIONS(tmp_default) \
        OPTION_THREADS(COUNTING_FIELD(common.nthreads)), \
        OPTION_MEMORY(COUNTING_FIELD(memory_nbytes), \
          "Bound on the memory of the whole process, such as 8G, 1.5G or 500M (powers of 1024; at " \
          "least 256M). It is kept: what does not fit is spilled to files in --tmp, and with a " \
          "small bound, fewer threads count than -t allows. With CUDA it bounds what kcount " \
          "allocates, pinned memory included; for what the driver takes on top of that, see " \
          "docs/benchmarks.md. Default: three quarters of the memory that is free."), \
        { .type = OPTION_SIZE, \
          .name = "engine-memory", \
          .argument = "SIZE", \
          .min = MEMORY_MIB, \
          .offset = COUNTING_FIELD(engine_memory_nbytes), \
          .hidden = true, \
          .help = "The engine's part of the memory, however small: tests make it spill." }, \
        { .type = OPTION_TEXT, \
          .name = "tmp", \
          .argument = "DIR", \
          .offset = COUNTING_FIELD(tmp_dir), \
          .help = "Folder for spilled data. Default: " tmp_default ". The files have no names " \
                  "and are gone when the program ends. One is created at the start, so that " \
                  "an unusable folder is reported before anything is read." }, \
        OPTION_DEVICE(COUNTING_FIELD(device), \
          "Where to count: auto, cpu, cuda, cuda:N for one of several devices, or a list such as " \
          "cuda:0,1: these devices count together, and the first one reads and writes. auto uses " \
          "one CUDA device if there is any, else the CPU, and a build with CUDA then says why. k " \
          "above 128 is counted on the CPU in any case. With several processes (mpirun, srun), " \
          "cuda gives each process on a machine a device of its own, and auto means cpu. The " \
          "output is the same."), \
        { .type = OPTION_TEXT, \
          .name = "table", \
          .argument = "NAME", \
          .words = "warpdrive slab linear hopscotch", \
          .offset = COUNTING_FIELD(table), \
          .help = "Hash table of the CUDA engine: warpdrive, slab, linear or hopscotch, for k up " \
                  "to 128. Needs a CUDA device. The output is the same. Default: warpdrive." }, \
        { .type = OPTION_TEXT, \
          .name = "reader", \
          .argument = "WHERE", \
          .words = "auto host device", \
          .preset = "auto", \
          .offset = COUNTING_FIELD(reader), \
          .help = "Where reads are inflated and parsed when a CUDA device counts: auto, host or " \
                  "device. The device reads files (not pipes) of FASTQ or FASTA, plain or BGZF, " \
                  "and BAM; everything else is left to the host, and so are files in which the " \
                  "device finds anything unusual. auto chooses the faster one; several processes " \
                  "(mpirun, srun) read on the host. The output is the same." }, \
        OPTION_GPU_MEMORY(COUNTING_FIELD(gpu_memory_nbytes), \
          "Bound on the memory of each device that is taken for counting, at least 256M; CUDA " \
          "itself takes some more. What does not fit is kept in the memory that -m allows, " \
          "then in --tmp. Default: nine tenths of what is free on the device."), \
        OPTION_GPU_BATCH(COUNTING_FIELD(gpu_batch_nkmers)), \
        OPTION_GPU_TRACE(COUNTING_FIELD(gpu_trace)), \
        { .type = OPTION_NUMBER, \
          .name = "rank-patience", \
          .argument = "SECONDS", \
          .min = 1, \
          .max = 3600, \
          .offset = COUNTING_FIELD(rank_patience), \
          .hidden = true, \
          .help = "With several processes: how long one may send nothing, for tests." }, \
        { .type = OPTION_NUMBER, \
          .letter = 'q', \
          .name = "min-quality", \
          .argument = "Q", \
          .max = COUNTING_MAX_QUALITY, \
          .preset = "0", \
          .offset = COUNTING_FIELD(min_quality), \
          .help = "A base with a Phred quality under Q breaks the k-mer (FASTQ and BAM; offset " \
                  "33)." }
/* clang-format on */

#endif
