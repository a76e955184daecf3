/*
 * Counting reads into a new .kc file, an existing one, one without a name, or a histogram: what
 * count, add, report and hist have in common.
 */
#ifndef APP_COUNT_COUNT_H
#define APP_COUNT_COUNT_H

#include "app/cli/writing.h"
#include "app/library/memory.h"
#include "io/histogram.h"

enum { COUNT_MAX_QUALITY = 93, COUNT_MAX_OTHER_FILES = 128 };

/* The settings of these commands begin with this struct; a field is zero if the command has no such
 * option. */
struct count_settings {
        struct writing_settings common;
        struct option_numbers ks;
        uint64_t memory_nbytes, engine_memory_nbytes, min_count, max_count, min_quality, nskip,
                gpu_memory_nbytes, gpu_batch_nkmers, gpu_walk_npasses, rank_patience;
        const char *output, *format, *tmp_dir, *device, *gpu_trace, *require_flags, *exclude_flags,
                *only;
        int table;  /* as enum kc_gpu_table, but from 1; 0: not given */
        int reader; /* --reader numbers its words as enum kc_reading_place */
        bool stranded, canonical, hpc, force, reader_only;
        bool skip_empty;                /* inputs of 0 bytes are accepted */
        bool histogram;                 /* of count: include it in the JSON summary */
        const char *const *other_files; /* [nother_files] that the command will write, too: they
                                           must not be inputs */
        size_t nother_files;
};

/* count: the operands are reads; the output is settings->output, or named after the first of
 * them. With several k there is one output for each, and all appear together. */
enum kc_status count_create(const struct invocation *call, struct kc_error *err);

/* Fail because -k is missing, and say what to type for these operands: KC_EINPUT if one of them is
 * missing, too, otherwise KC_EUSAGE. */
enum kc_status count_ask_for_k(const struct invocation *call, struct kc_error *err);

/* add: the first operand is a .kc file, which determines k and stranded; the others are reads. */
enum kc_status count_add(const struct invocation *call, struct kc_error *err);

/* hist: the operands are reads, and nothing is written. min_count and max_count are not applied.
 *   rows  out, [*nrows] by ascending count, freed by the caller */
enum kc_status count_histogram(const struct invocation *call, struct kc_histogram_row **rows,
                               size_t *nrows, struct kc_error *err);

/* What was counted into a file without a name. */
struct count_done {
        uint64_t nfiles, nreads, nbases, nskipped;
        uint64_t spilled_nbytes;
        char device[DEVICE_NAME_NBYTES]; /* where it was counted */
};

/*
 * report: count with one k into a .kc file that only this process needs (kc_store_commit_nameless).
 * It takes its space in settings->tmp_dir, and has all k-mers. Signals must have been installed.
 * Prints warnings about the inputs, but no summary. Fails like count_create.
 *   inputs  [ninputs] as operands of count: files, @LIST or -
 *   store   out: closed by the caller
 */
enum kc_status count_temporary(const struct count_settings *settings, const char *const *inputs,
                               size_t ninputs, struct kc_store **store, struct count_done *done,
                               struct kc_error *err);

/*
 * hist --gc: the same for the operands, which are reads, with the messages of count_histogram,
 * including the summary. min_count and max_count are not applied. Only one process may count.
 */
enum kc_status count_operands(const struct invocation *call, struct kcount_counts **counts,
                              struct kc_error *err);

/* ---- their options ---- */

#define COUNT_FIELD(member) offsetof(struct count_settings, member)

#define COUNT_KMER(text) \
        OPTION(NUMBERS, "kmer", COUNT_FIELD(ks), "Length of the k-mers, 1 to 255" text, \
               .letter = 'k', .argument = "K", .min = 1, .max = KC_MAX_K)
#define COUNT_STRANDED \
        OPTION(FLAG, "stranded", COUNT_FIELD(stranded), \
               "Count a k-mer and its reverse complement separately. Default: both are " \
               "counted as the one that comes first in the alphabet.", \
               .group = OPTION_SHARED), /* the default, which users of other programs type */ \
                OPTION(FLAG, "canonical", COUNT_FIELD(canonical), \
                       "Count a k-mer and its reverse complement together.", .hidden = true)
#define COUNT_HPC \
        OPTION(FLAG, "hpc", COUNT_FIELD(hpc), \
               "Count each run of equal bases as one base (homopolymer compression): GATTTA is " \
               "read as GATA. The .kc file records it: query, profile, filter and remove " \
               "compress the sequences that they are given, and files counted with and without " \
               "it cannot be combined. --skip cannot be used with it. The host then reads the " \
               "input, whatever --reader says.", \
               .group = OPTION_COMMON)
#define COUNT_ENGINE_MEMORY \
        OPTION(SIZE, "engine-memory", COUNT_FIELD(engine_memory_nbytes), \
               "The engine's part of the memory, however small: tests make it spill.", \
               .argument = "SIZE", .min = MEMORY_MIB, .hidden = true)
/* What is counted of the reads, and whether empty files are. */
#define COUNT_SELECTION \
        OPTION(NUMBER, "min-quality", COUNT_FIELD(min_quality), \
               "Leave out k-mers with a base of quality under Q. Qualities are Phred " \
               "scores (offset 33 in FASTQ). For fewer messages, use --quiet.", \
               .letter = 'q', .argument = "Q", .max = COUNT_MAX_QUALITY, .preset = "0", \
               .mistaken = "for fewer messages, use --quiet", .group = OPTION_SHARED), \
                OPTION(NUMBER, "skip", COUNT_FIELD(nskip), \
                       "Leave out the first N bases of each read, such as a UMI or a primer. " \
                       "Alignments are taken as they were sequenced: if one is reversed, its " \
                       "last bases are left out. The host then reads the input, whatever " \
                       "--reader says. With --hpc, cut the reads with another program instead.", \
                       .argument = "N", .max = UINT32_MAX, .preset = "0", .group = OPTION_SHARED), \
                OPTION(TEXT, "require-flags", COUNT_FIELD(require_flags), \
                       "Of SAM, BAM and CRAM, count only alignments that have all of these " \
                       "flags, given as a number or as names such as PAIRED,READ1. Like " \
                       "'samtools view -f', but secondary and supplementary alignments are " \
                       "never counted. The host then reads the input, whatever --reader says.", \
                       .argument = "FLAGS", .group = OPTION_COMMON), \
                OPTION(TEXT, "exclude-flags", COUNT_FIELD(exclude_flags), \
                       "Of SAM, BAM and CRAM, count no alignment that has any of these flags, " \
                       "given as a number or as names such as DUP,QCFAIL. Like 'samtools view " \
                       "-F'. The host then reads the input, whatever --reader says.", \
                       .argument = "FLAGS", .group = OPTION_COMMON)
#define COUNT_SKIP_EMPTY \
        OPTION(FLAG, "skip-empty", COUNT_FIELD(skip_empty), \
               "Skip files of 0 bytes, with a warning for each. Default: they are " \
               "errors, because a download or a program may have failed.", \
               .group = OPTION_SHARED)
#define COUNT_READER \
        OPTION(WORD, "reader", COUNT_FIELD(reader), \
               "Where to decompress and parse reads when a CUDA device counts: auto, " \
               "host or device. The device reads files (not pipes) of FASTQ or FASTA, " \
               "plain or BGZF, and BAM; everything else is left to the host, and so are " \
               "files in which the device finds anything unusual. auto chooses the " \
               "faster one; processes on several machines (mpirun, srun) read on the host. " \
               "The output is the same.", \
               .argument = "WHERE", .words = "auto host device", .preset = "auto", \
               .group = OPTION_DEVICES, .needs = OPTION_NEEDS_CUDA)
#define COUNT_OPTIONS \
        OPTION_THREADS(COUNT_FIELD(common.nthreads)), OPTION_MEMORY(COUNT_FIELD(memory_nbytes)), \
                COUNT_ENGINE_MEMORY, OPTION_TMP(COUNT_FIELD(tmp_dir)), \
                OPTION_DEVICE(COUNT_FIELD(device)), \
                OPTION(WORD, "table", COUNT_FIELD(table), \
                       "Hash table of the CUDA engine: warpdrive, slab, linear or hopscotch. All " \
                       "of them support k up to 128. The output is the same. Default: warpdrive.", \
                       .argument = "NAME", .words = "warpdrive slab linear hopscotch", \
                       .group = OPTION_DEVICES, .needs = OPTION_NEEDS_CUDA), \
                COUNT_READER, OPTION_GPU_MEMORY(COUNT_FIELD(gpu_memory_nbytes)), \
                OPTION_GPU_BATCH(COUNT_FIELD(gpu_batch_nkmers)), \
                OPTION(NUMBER, "gpu-walk", COUNT_FIELD(gpu_walk_npasses), \
                       "How many passes are counted after each walk over reads that are on the " \
                       "device, for tests.", \
                       .argument = "N", .min = 1, .max = KC_GPU_MAX_WALK_PASSES, .hidden = true), \
                OPTION_GPU_TRACE(COUNT_FIELD(gpu_trace)), \
                OPTION(NUMBER, "rank-patience", COUNT_FIELD(rank_patience), \
                       "With several processes: how long one may send nothing, for tests.", \
                       .argument = "SECONDS", .min = 1, .max = 3600, .hidden = true), \
                COUNT_SELECTION, \
                OPTION(TEXT, "only", COUNT_FIELD(only), \
                       "Count only the k-mers that FILE has, in canonical form unless --stranded " \
                       "is given. FILE is of any kind that count takes; its k-mers may take a " \
                       "quarter of the memory. The .kc file records it, and can be combined only " \
                       "with files that were counted with the same k-mers. The CPU counts, " \
                       "whatever --device says.", \
                       .argument = "FILE", .is_input = true, .group = OPTION_COMMON), \
                COUNT_SKIP_EMPTY

#endif
