/*
 * kcount count: reads in, one .kc file out.
 */
#include "app/cli/command.h"
#include "app/count/count.h"
#include "app/store/exporting.h"
#include "kmer/kmer.h"

#define FIELD(member) COUNT_FIELD(member)

static enum kc_status run_count(const struct invocation *call, struct kc_error *err)
{
        const struct count_settings *s = call->settings;
        if (call->noperands == 0)
                return kc_fail(err, KC_EUSAGE, "no input; name a file, or - for standard input");
        return s->ks.n == 0 ? count_ask_for_k(call, err) : count_create(call, err);
}

static const struct option_spec count_options[] = {
        COUNT_KMER(", or several: 21,31,51. Required. Up to 16 lengths are counted in one "
                   "run, each into a file of its own. If -k is given more than once, all "
                   "of its numbers are counted."),
        OPTION(OUTPUT, "output", FIELD(output),
               "The .kc file; default: reads.kc for reads.fq.gz. The default is the first input's "
               "name without its sequence and compression endings, plus .kc, in the current "
               "folder. With several k, .k21 and so on comes before .kc: x.k21.kc, x.k31.kc.",
               .letter = 'o', .argument = "FILE"),
        COUNT_OPTIONS,
        WRITING_OPTIONS(FIELD(common)),
        OPTION(FLAG, "reader-only", FIELD(reader_only),
               "Read and parse, count and write nothing, for benchmarks.", .hidden = true),
        COUNT_STRANDED,
        COUNT_HPC,
        OPTION_MIN(FIELD(min_count)),
        OPTION_MAX(FIELD(max_count)),
        OPTION(TEXT, "format", FIELD(format),
               "Also write " EXPORTING_FORMATS
               ". 'kcount export --to FORMAT' writes the same. The output's ending .kc "
               "becomes .kff, .jf, .tsv or .arrow; kmc and fastk add their own endings. If "
               "only the export fails, the .kc file is kept.",
               .argument = "FORMAT", .words = EXPORTING_FORMAT_WORDS),
        OPTION(FLAG, "histogram", FIELD(histogram), "Include the histogram in the --json summary."),
        OPTION_FORCE(FIELD(force)),
        { 0 },
};

const struct command command_count = {
        .name = "count",
        .run = run_count,
        .operands = "FILE...",
        .group = COMMAND_COUNTS,
        .summary = "Count k-mers in reads or genomes",
        .description =
                "FILE is FASTQ or FASTA, plain or compressed with gzip, BGZF, zstd, bzip2 or xz, "
                "or SAM, BAM or CRAM; the content decides, not the name. - is standard input, "
                "and @LIST a file that names one input per line; blank lines and lines that begin "
                "with # are skipped. Files of different kinds may be mixed; all are counted "
                "together.\n\n"
                "A file of another kind, or one that is damaged or truncated, is an error; the "
                "message says what was found, where, and what to do. Bytes after compressed "
                "data are never ignored, except zeros up to the end of a gzip, BGZF or xz file. A "
                "UTF-8 byte order mark before FASTQ or FASTA is skipped.\n\n"
                "Of alignments, only the primary ones are counted, once each; --require-flags and "
                "--exclude-flags choose among them. k-mers that "
                "contain letters other than A, C, G, T and U, such as N, are not counted; the "
                "summary says how many such letters there are.\n\n"
                "The output appears under its name when it is complete, and not before. An "
                "existing file is replaced only with --force.\n\n"
                "With several k, the input is read and decompressed once, and each file is the "
                "same as a run with that k alone would give. All of them appear together, or "
                "none does. --json then prints an array with one summary for each k.",
        .examples = "  kcount reads.fq.gz -k 31\n"
                    "  kcount lane1.fq.gz lane2.bam -k 21 -o sample.kc -t 8 -m 16G\n"
                    "  samtools fastq sample.bam | kcount - -k 31 -o sample.kc\n"
                    "  kcount @files.txt -k 55 --min 2 --json > summary.json\n"
                    "  kcount reads.fq.gz -k 21,31,51 -o sample.kc\n"
                    "  kcount reads.fq.gz -k 29 -o sample.kc --format kff\n",
        .options = count_options,
        .settings_nbytes = sizeof(struct count_settings),
        .by_ranks = true,
        .max_operands = -1,
};
