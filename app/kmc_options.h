/*
 * The command line of KMC 3.2.1's program kmc, as kcount-kmc takes it.
 *
 *      kmc [options] INPUT|@LIST OUTPUT FOLDER
 *
 * An option and its argument are one word (-k31). kmc ignores options that it does not know, and
 * whatever follows the three names; here they are errors, because what the user asked for would not
 * be done.
 */
#ifndef APP_KMC_OPTIONS_H
#define APP_KMC_OPTIONS_H

#include "app/text_out.h"
#include "io/formats/format.h"

struct kmc_settings {
        uint64_t k, min_count, max_count;
        uint64_t count_cap; /* a higher count is written as this one */
        uint64_t memory_gb; /* 10^9 bytes */
        uint64_t nthreads;  /* 0: all cores */
        bool stranded, no_output;
        const char *input_format; /* "a", "q", "m" or "bam" */
        const char *output_format;
        const char *json; /* the file for the summary, or NULL */
        const char *input, *output, *folder;
        bool wants_help;
        uint64_t ignored_number; /* of options that only tune kmc */
        bool ignored_flag;
};

/*
 * Parse argv[1..]. The strings remain argv's. Without any argument, and with --help, -h or
 * --version, wants_help is set and the names are not. KC_EUSAGE, with the name of the option.
 */
enum kc_status kmc_options_parse(struct kmc_settings *settings, int argc, char **argv,
                                 struct kc_error *err);

/* The usage, in which scripts find KMC's version as they do in kmc's own. */
void kmc_options_help(struct text_out *out);

#endif
