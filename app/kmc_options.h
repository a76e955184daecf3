/*
 * The command line of KMC's program kmc: [OPTION]... INPUT OUTPUT FOLDER, where a value follows the
 * letters of its option without a space: -k31 -ci2. The options are those of KMC 3.2.4.
 *
 * kmc ignores options that it does not know, arguments after the third, and letters after a number;
 * here they are errors. Options that say how kmc shall do its work, such as the number of bins, are
 * accepted without effect.
 */
#ifndef APP_KMC_OPTIONS_H
#define APP_KMC_OPTIONS_H

#include "app/counting.h"

enum kmc_input { KMC_INPUT_FASTQ, KMC_INPUT_FASTA, KMC_INPUT_MULTI_FASTA, KMC_INPUT_BAM };
enum kmc_output { KMC_OUTPUT_KMC, KMC_OUTPUT_KFF };

struct kmc_options {
        uint64_t k, memory_gb, nthreads;     /* nthreads 0: all cores */
        uint64_t min_count, max_count;       /* k-mers with other counts are left out */
        uint64_t count_limit;                /* then larger counts become this; at least 1 */
        enum kmc_input input_kind;           /* said, not found out */
        enum kmc_output output_kind;         /* OUTPUT.kmc_pre and OUTPUT.kmc_suf, or OUTPUT.kff */
        const char *input, *output, *folder; /* input: a file of reads or @LIST */
        const char *summary;                 /* where to write a JSON summary, or NULL */
        bool stranded, verbose, hides_progress; /* -b, -v, -hp */
        bool histogram_only;                    /* -e: write a histogram to output, no k-mers */
        bool without_output;                    /* -w: count and report, write no k-mers */
        bool strict_memory, memory_only;        /* -sm, -r: at most one */
        bool wants_help;                        /* the rest may be incomplete then */
};

/*
 * Parse argv[1..], which the texts in options point into. KC_EUSAGE names the argument that is
 * wrong, or that asks for what kcount cannot do.
 */
enum kc_status kmc_options_parse(struct kmc_options *options, int argc, char **argv,
                                 struct kc_error *err);

/* Change settings, which have the presets of kcount count, to what options say: k, bounds, strands
 * and folder; files are replaced. The names of files and the limit of counts are left to the
 * caller. */
void kmc_options_apply(const struct kmc_options *options, struct count_settings *settings);

#endif
