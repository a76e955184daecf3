/*
 * The command line of kmc, the program of KMC 3.2.1, as kcount-kmc accepts it.
 *
 *      kmc [options] INPUT|@LIST OUTPUT FOLDER
 *
 * An option and its argument are one word (-k31). kmc ignores options that it does not know, and
 * anything after the three names. Here these are errors, because otherwise the user would not get
 * what they asked for.
 */
#ifndef APP_KMC_KMC_OPTIONS_H
#define APP_KMC_KMC_OPTIONS_H

#include "app/cli/text_out.h"
#include "io/formats/format.h"

struct kmc_settings {
        uint64_t k, min_count, max_count;
        uint64_t count_cap; /* higher counts are written as this */
        uint64_t memory_gb; /* 10^9 bytes */
        uint64_t nthreads;  /* 0: all cores */
        bool stranded, no_output;
        const char *input_format; /* "a", "q", "m" or "bam" */
        const char *output_format;
        const char *json; /* the file for the summary, or NULL */
        const char *input, *output, *folder;
        bool wants_help;
        uint64_t ignored_number; /* for options that only tune kmc, as is the flag */
        bool ignored_flag;
};

/*
 * Parse argv[1..]. The strings still belong to argv. Without arguments, or with --help, -h or
 * --version, wants_help is set and the three names are not. Fails with KC_EUSAGE; the message
 * names the option.
 */
enum kc_status kmc_options_parse(struct kmc_settings *settings, int argc, char **argv,
                                 struct kc_error *err);

/* Print the usage. Scripts find KMC's version in it, as they do in kmc's own usage. */
void kmc_options_help(struct text_out *out);

#endif
