/*
 * kcount count: reads in, one .kc file out.
 */
#include "app/command.h"
#include "app/device.h"
#include "app/machine.h"
#include "app/output_name.h"
#include "app/progress.h"
#include "app/reader_only.h"
#include "app/signals.h"
#include "app/summary.h"
#include "app/tally.h"
#include "cpu/cpu_engine.h"
#include "io/reader.h"
#include "io/store.h"
#include "kmer/kmer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB (UINT64_C(1) << 20)

enum { MIN_MEMORY_MIB = 256, MIN_GPU_MEMORY_MIB = 256, MIN_GPU_BATCH = 4096, MAX_QUALITY = 93 };

struct count_settings {
        uint64_t k, nthreads, memory_nbytes, engine_memory_nbytes, min_count, max_count,
                min_quality, gpu_memory_nbytes, gpu_batch_nkmers;
        const char *output, *tmp_dir, *device, *table, *gpu_trace;
        bool stranded, json, quiet, no_progress, force, reader_only;
};

/* A count under way: what was opened, and what is told at the end. */
struct count {
        const struct count_settings *settings;
        char *output, *tmp_dir;
        int nthreads;
        uint64_t memory_nbytes;
        struct kc_job *job;
        struct device_choice device;
        struct kc_reader *reader;
        struct kc_store_writer *writer;
        struct tally tally;
        struct kc_count_totals totals;
        struct kc_gpu_report gpu;
};

static uint64_t default_memory(void)
{
        uint64_t nbytes = machine_available_nbytes() / 4 * 3;
        if (nbytes == 0)
                nbytes = 4096 * MIB; /* a machine that tells nothing */
        return nbytes > MIN_MEMORY_MIB * MIB ? nbytes : MIN_MEMORY_MIB * MIB;
}

/* Of the default: half of what is available. What is pinned cannot be swapped, and the input, --tmp
 * and an output in a RAM disk want memory too; runs go to --tmp as well. */
static uint64_t pinned_memory(uint64_t memory_nbytes)
{
        return memory_nbytes / 3 * 2;
}

/*
 * The engine's part of the bound on the whole process. The rest is for code, libraries and stacks
 * (32 MiB) and, a thread, for the reader's buffers and the store's blocks (12 MiB). A small bound
 * on a machine with many cores leaves the engine three quarters all the same.
 */
static uint64_t engine_memory(uint64_t memory_nbytes, int nthreads)
{
        uint64_t reserve = 32 * MIB + 12 * MIB * (uint64_t)nthreads;
        if (reserve > memory_nbytes / 4)
                reserve = memory_nbytes / 4;
        return memory_nbytes - reserve;
}

static enum kc_status check_settings(const struct count_settings *s, struct kc_error *err)
{
        if (s->min_count > s->max_count)
                return kc_fail(err, KC_EUSAGE, "--min %llu is above --max %llu",
                               (unsigned long long)s->min_count, (unsigned long long)s->max_count);
        if (s->output && strcmp(s->output, "-") == 0)
                return kc_fail(err, KC_EUSAGE,
                               "a .kc file cannot be written to standard output; name a file with "
                               "-o");
        if (s->output && *s->output == '\0')
                return kc_fail(err, KC_EUSAGE, "-o/--output: the file's name is empty");
        return device_check(s->device, s->table, err);
}

static enum kc_status resolve(struct count *count, const char *first_input, struct kc_error *err)
{
        const struct count_settings *s = count->settings;
        count->nthreads = s->nthreads ? (int)s->nthreads : machine_ncores();
        count->memory_nbytes = s->memory_nbytes ? s->memory_nbytes : default_memory();
        count->output = s->output ? strdup(s->output) : output_name(first_input);
        if (count->output)
                count->tmp_dir = s->tmp_dir ? strdup(s->tmp_dir) : output_folder(count->output);
        if (count->tmp_dir == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        return KC_OK;
}

static enum kc_status open_reader(struct count *count, const struct invocation *call,
                                  struct kc_error *err)
{
        const struct count_settings *s = count->settings;
        struct kc_reader_options reading = { .k = (int)s->k,
                                             .min_quality = (int)s->min_quality,
                                             .nworkers = count->nthreads,
                                             .job = count->job };
        return kc_reader_open(&count->reader, call->operands, (size_t)call->noperands, &reading,
                              err);
}

static enum kc_status open_all(struct count *count, const struct invocation *call,
                               struct kc_error *err)
{
        const struct count_settings *s = count->settings;
        struct kc_store_options storing = { .k = (int)s->k,
                                            .stranded = s->stranded,
                                            .replace = s->force,
                                            .min_count = (uint32_t)s->min_count,
                                            .max_count = (uint32_t)s->max_count };
        const char *const *names;
        enum kc_status status;
        KC_TRY(output_check(count->output, s->force, err));
        KC_TRY(output_check_folder(count->tmp_dir, err));
        KC_TRY(open_reader(count, call, err));
        size_t nnames = kc_reader_names(count->reader, &names);
        KC_TRY(output_check_inputs(count->output, names, nnames, err));
        KC_TRY(kc_store_create(&count->writer, count->output, &storing, err));
        signals_set_temporary(kc_store_temporary(count->writer));
out:
        return status;
}

/* Whether all inputs can be read again from their beginning: their sizes are known, and none is a
 * descriptor of ours, whose place in the file moves on where htslib reads it. */
static bool is_rereadable(const struct count *count)
{
        const char *const *names;
        size_t n = kc_reader_names(count->reader, &names);
        for (size_t i = 0; i < n; i++)
                if (strcmp(names[i], "-") == 0)
                        return false;
        return atomic_load(&count->job->total) > 0;
}

static enum kc_status run_cuda(struct count *count, const struct kc_count_params *params,
                               const struct kc_batch_source *source, const struct kc_run_sink *sink,
                               struct kc_error *err)
{
        const struct count_settings *s = count->settings;
        struct kc_gpu_params gpu = {
                .device = count->device.index,
                .table = count->device.table,
                .memory_nbytes = s->gpu_memory_nbytes,
                .pinned_nbytes = s->memory_nbytes ? 0 : pinned_memory(count->memory_nbytes),
                .batch_nkmers = s->gpu_batch_nkmers,
                .read_ahead = is_rereadable(count),
                .trace = s->gpu_trace,
        };
        return kc_gpu_count(params, &gpu, source, sink, count->job, &count->totals, &count->gpu,
                            err);
}

static enum kc_status run_engine(struct count *count, struct kc_error *err)
{
        const struct count_settings *s = count->settings;
        struct kc_count_params params = {
                .k = (int)s->k,
                .stranded = s->stranded,
                .nthreads = count->nthreads,
                .memory_nbytes = s->engine_memory_nbytes
                                         ? s->engine_memory_nbytes
                                         : engine_memory(count->memory_nbytes, count->nthreads),
                .tmp_dir = count->tmp_dir,
                .expected_nbases = kc_reader_expected_nbases(count->reader),
        };
        static const char *const names[KC_NSTAGES] = { "read", "count", "order" };
        struct kc_batch_source source = kc_reader_source(count->reader);
        struct kc_run_sink sink = tally_sink(&count->tally, kc_store_sink(count->writer));
        struct progress *progress =
                progress_start(count->job, names, true, !s->quiet && !s->no_progress);
        enum kc_status status;
        if (count->device.cuda)
                status = run_cuda(count, &params, &source, &sink, err);
        else
                status = kc_cpu_count(&params, &source, &sink, count->job, &count->totals, err);
        progress_stop(progress);
        return status;
}

/* No device, or one that cannot be had, because others use it, is no reason to fail unless the user
 * asked for it. */
static bool may_fall_back(const struct count *count, enum kc_status status)
{
        return count->device.cuda && count->device.may_fall_back && !count->gpu.began &&
               (status == KC_ENOMEM || status == KC_EDEVICE);
}

static enum kc_status fall_back(struct count *count, const struct invocation *call,
                                const struct kc_error *reason, struct kc_error *err)
{
        if (!count->settings->quiet)
                fprintf(stderr, "kcount: %s: counting on the CPU\n", reason->message);
        count->device.cuda = false;
        if (is_rereadable(count)) {
                kc_reader_close(count->reader);
                count->reader = NULL;
                enum kc_status status = open_reader(count, call, err);
                if (status != KC_OK)
                        return status;
        }
        return run_engine(count, err);
}

static enum kc_status run_some_engine(struct count *count, const struct invocation *call,
                                      struct kc_error *err)
{
        struct kc_error own = { 0 };
        enum kc_status status = run_engine(count, &own);
        if (may_fall_back(count, status))
                return fall_back(count, call, &own, err);
        return status == KC_OK ? KC_OK : kc_fail(err, status, "%s", own.message);
}

static enum kc_status commit(struct count *count, struct kc_error *err)
{
        struct kc_reader_totals read;
        kc_reader_totals(count->reader, &read);
        struct kc_store_origin origin = { .nreads = read.nreads,
                                          .nbases = read.nbases,
                                          .nskipped = read.nskipped,
                                          .nlow_quality = read.nlow_quality,
                                          .nkmers = count->totals.nkmers,
                                          .nsaturated = count->totals.nsaturated };
        origin.nnames = kc_reader_names(count->reader, &origin.names);
        struct kc_store_writer *writer = count->writer;
        count->writer = NULL; /* commit frees it in any case */
        if (atomic_load(&count->job->cancel)) {
                kc_store_abort(writer);
                return kc_fail(err, KC_ECANCELED, "interrupted");
        }
        enum kc_status status = kc_store_commit(writer, &origin, err);
        signals_set_temporary(NULL);
        return status;
}

static struct summary summarize(struct count *count, const struct invocation *call)
{
        struct summary summary = { .command_line = call->line,
                                   .output = count->output,
                                   .nthreads = count->nthreads,
                                   .min_quality = (int)count->settings->min_quality,
                                   .memory_nbytes = count->memory_nbytes,
                                   .device = count->device,
                                   .gpu = count->gpu,
                                   .counted = count->totals,
                                   .nunique = atomic_load(&count->tally.nunique),
                                   .wall_seconds = machine_seconds() - call->start_seconds,
                                   .user_seconds = machine_user_seconds(),
                                   .system_seconds = machine_system_seconds(),
                                   .peak_nbytes = machine_peak_nbytes() };
        kc_reader_totals(count->reader, &summary.read);
        return summary;
}

static void tell_both(const struct count_settings *settings, const struct invocation *call,
                      const struct summary *summary)
{
        if (!settings->quiet) {
                struct text_out messages;
                text_out_stderr(&messages);
                summary_text(&messages, summary);
                text_out_flush(&messages);
        }
        if (settings->json)
                summary_json(call->out, summary);
}

static enum kc_status tell(struct count *count, const struct invocation *call, struct kc_error *err)
{
        struct summary summary = summarize(count, call);
        struct kc_store *store = NULL;
        enum kc_status status;
        KC_TRY(kc_store_open(&store, count->output, err));
        kc_store_get_info(store, &summary.stored);
        if (summary.counted.nkmers == 0)
                fprintf(stderr,
                        "kcount: warning: no k-mer was counted: no stretch of usable bases "
                        "is %d long\n",
                        summary.stored.k);
        tell_both(count->settings, call, &summary);
out:
        kc_store_close(store);
        return status;
}

/* --reader-only */
static enum kc_status only_read(struct count *count, const struct invocation *call,
                                struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(open_reader(count, call, err));
        KC_TRY(reader_only(count->reader, count->nthreads, err));
        struct summary summary = summarize(count, call);
        summary.reader_only = true;
        tell_both(count->settings, call, &summary);
out:
        return status;
}

static enum kc_status run_count(const struct invocation *call, struct kc_error *err)
{
        /* Static, because the thread that takes the signals lives on to the end. */
        static struct kc_job job;
        const struct count_settings *s = call->settings;
        struct count count = { .settings = s, .job = &job };
        enum kc_status status;
        KC_TRY(check_settings(s, err));
        KC_TRY(resolve(&count, call->operands[0], err));
        signals_install(&job);
        if (s->reader_only) {
                KC_TRY(only_read(&count, call, err));
                goto out;
        }
        device_choose(&count.device, s->device, s->table, (int)s->k, s->quiet);
        KC_TRY(open_all(&count, call, err));
        KC_TRY(run_some_engine(&count, call, err));
        KC_TRY(commit(&count, err));
        KC_TRY(tell(&count, call, err));
out:
        kc_store_abort(count.writer);
        signals_set_temporary(NULL);
        kc_reader_close(count.reader);
        free(count.tmp_dir);
        free(count.output);
        return status;
}

#define FIELD(member) offsetof(struct count_settings, member)

static const struct option_spec count_options[] = {
        { .type = OPTION_NUMBER,
          .letter = 'k',
          .name = "kmer",
          .argument = "K",
          .min = 1,
          .max = KC_MAX_K,
          .offset = FIELD(k),
          .required = true,
          .help = "Length of the k-mers, from 1 to 255. Required." },
        { .type = OPTION_TEXT,
          .letter = 'o',
          .name = "output",
          .argument = "FILE",
          .offset = FIELD(output),
          .help = "Write the counts here. Default: the first input's name without its sequence and "
                  "compression endings, plus .kc, in the current folder." },
        OPTION_THREADS(FIELD(nthreads)),
        { .type = OPTION_SIZE,
          .letter = 'm',
          .name = "memory",
          .argument = "SIZE",
          .min = MIN_MEMORY_MIB * MIB,
          .offset = FIELD(memory_nbytes),
          .help = "Bound on the memory of the whole process, such as 8G, 1.5G or 500M (powers of "
                  "1024; at least 256M; kept from 1G up). What does not fit is spilled to files in "
                  "--tmp. Default: three quarters of the memory that is free." },
        { .type = OPTION_SIZE,
          .name = "engine-memory",
          .argument = "SIZE",
          .min = MIB,
          .offset = FIELD(engine_memory_nbytes),
          .hidden = true,
          .help = "The engine's part of the memory, however small: tests make it spill." },
        { .type = OPTION_TEXT,
          .name = "tmp",
          .argument = "DIR",
          .offset = FIELD(tmp_dir),
          .help = "Folder for spilled data. Default: the output's folder. No names appear there: "
                  "the files are unlinked as soon as they are open." },
        { .type = OPTION_TEXT,
          .name = "device",
          .argument = "NAME",
          .preset = "auto",
          .offset = FIELD(device),
          .help = "Where to count: auto, cpu, cuda, or cuda:N for one of several devices. auto "
                  "takes CUDA where a device answers, else the CPU; a build with CUDA then says "
                  "why. k above 64 is counted on the CPU in any case. The output is the same." },
        { .type = OPTION_TEXT,
          .name = "table",
          .argument = "NAME",
          .offset = FIELD(table),
          .help = "Hash table of the CUDA engine: warpdrive or slab. Needs a CUDA device. Default: "
                  "warpdrive." },
        { .type = OPTION_SIZE,
          .name = "gpu-memory",
          .argument = "SIZE",
          .min = MIN_GPU_MEMORY_MIB * MIB,
          .offset = FIELD(gpu_memory_nbytes),
          .help = "Bound on the device memory that is taken for counting, at least 256M; CUDA "
                  "itself takes some more. What does not fit is kept in the memory that -m allows, "
                  "then in --tmp. Default: nine tenths of what is free on the device." },
        { .type = OPTION_NUMBER,
          .name = "gpu-batch",
          .argument = "N",
          .min = MIN_GPU_BATCH,
          .max = UINT64_C(1) << 31,
          .offset = FIELD(gpu_batch_nkmers),
          .hidden = true,
          .help = "Most k-mers that are counted at a time: tests make many runs." },
        { .type = OPTION_TEXT,
          .name = "gpu-trace",
          .argument = "FILE",
          .offset = FIELD(gpu_trace),
          .hidden = true,
          .help = "Write a timeline of the CUDA engine, for benchmarks." },
        { .type = OPTION_FLAG,
          .name = "reader-only",
          .offset = FIELD(reader_only),
          .hidden = true,
          .help = "Read and parse, count and write nothing, for benchmarks." },
        { .type = OPTION_FLAG,
          .name = "stranded",
          .offset = FIELD(stranded),
          .help = "Count k-mers as they stand. Default: a k-mer and its reverse complement are "
                  "one." },
        OPTION_MIN(FIELD(min_count)),
        OPTION_MAX(FIELD(max_count)),
        { .type = OPTION_NUMBER,
          .letter = 'q',
          .name = "min-quality",
          .argument = "Q",
          .max = MAX_QUALITY,
          .preset = "0",
          .offset = FIELD(min_quality),
          .help = "A base with a Phred quality under Q breaks the k-mer (FASTQ and BAM; offset "
                  "33)." },
        OPTION_JSON(FIELD(json), "Print the summary as JSON on standard output as well."),
        OPTION_QUIET(FIELD(quiet)),
        OPTION_NO_PROGRESS(FIELD(no_progress)),
        { .type = OPTION_FLAG,
          .name = "force",
          .offset = FIELD(force),
          .help = "Replace the output if it exists." },
        { 0 },
};

const struct command command_count = {
        .name = "count",
        .run = run_count,
        .operands = "FILE...",
        .summary = "Count the k-mers of reads, write a .kc file",
        .description =
                "FILE is FASTQ or FASTA, plain or compressed with gzip, BGZF or zstd, or SAM, BAM "
                "or CRAM; told apart by content, not by name. - is standard input, and @LIST a "
                "file that names one input a line. Files of different kinds may be mixed; all are "
                "counted together.\n\n"
                "Of alignments, primary ones are counted, once each. Letters outside ACGTU break "
                "k-mers and are told in the summary.\n\n"
                "The output appears under its name when it is complete, and not before. An "
                "existing file is replaced with --force only.",
        .examples = "  kcount reads.fq.gz -k 31\n"
                    "  kcount lane1.fq.gz lane2.fq.gz -k 21 -o sample.kc -t 8 -m 16G\n"
                    "  samtools fastq sample.bam | kcount - -k 31 -o sample.kc\n"
                    "  kcount @files.txt -k 55 --min 2 --json > summary.json\n",
        .options = count_options,
        .settings_nbytes = sizeof(struct count_settings),
        .min_operands = 1,
        .max_operands = -1,
};
