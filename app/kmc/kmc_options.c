#include "app/kmc/kmc_options.h"

#include "app/cli/size.h"
#include "kmer/kmer.h"

#include <inttypes.h>
#include <string.h>

enum { DEFAULT_K = 25 };

enum kmc_option_type {
        KMC_END,
        KMC_FLAG,    /* bool; the name is the whole word */
        KMC_NUMBER,  /* uint64_t in [min, max], right after the name */
        KMC_TEXT,    /* const char *, likewise */
        KMC_REFUSED, /* it asks for a result that kcount cannot give */
};

struct kmc_option {
        enum kmc_option_type type;
        const char *name;
        const char *argument; /* as the usage shows it, "" if there is none */
        const char *words;    /* for KMC_TEXT: allowed arguments, each between spaces; or NULL */
        uint64_t min, max;
        size_t offset;    /* of the field in the settings */
        bool once;        /* for KMC_NUMBER: two different values are an error */
        const char *help; /* for KMC_REFUSED: why, or what to do instead */
};

#define FIELD(member) offsetof(struct kmc_settings, member)
#define NUMBER(text, shown, low, high, field, words_of_help) \
        { \
                .type = KMC_NUMBER, .name = (text), .argument = (shown), .min = (low), \
                .max = (high), .offset = FIELD(field), .help = (words_of_help) \
        }
#define FLAG(text, field, words_of_help) \
        { \
                .type = KMC_FLAG, .name = (text), .argument = "", .offset = FIELD(field), \
                .help = (words_of_help) \
        }
#define REFUSED(text, instead) \
        { \
                .type = KMC_REFUSED, .name = (text), .argument = "", .help = (instead) \
        }

static const struct kmc_option kmc_option_table[] = {
        { .type = KMC_NUMBER,
          .name = "-k",
          .argument = "<len>",
          .min = 1,
          .max = KC_MAX_K,
          .offset = FIELD(k),
          .once = true,
          .help = "length of the k-mers, from 1 to 255; default: 25; two different ones are an "
                  "error" },
        NUMBER("-m", "<size>", 1, 1024, memory_gb,
               "hard limit on memory in GB, from 1 to 1024; default: 12; at most three quarters of "
               "the free memory"),
        NUMBER("-ci", "<value>", 0, UINT64_MAX, min_count,
               "leave out k-mers with a count below <value>; default: 2"),
        NUMBER("-cs", "<value>", 0, UINT64_MAX, count_cap,
               "write a count above <value> as <value>; default: 255"),
        NUMBER("-cx", "<value>", 1, UINT64_MAX, max_count,
               "leave out k-mers with a count above <value>; default: 1000000000"),
        FLAG("-b", stranded, "count k-mers as they stand, not in canonical form"),
        { .type = KMC_TEXT,
          .name = "-o",
          .argument = "<kmc/kff>",
          .words = " kmc kff ",
          .offset = FIELD(output_format),
          .help = "write a KMC database or a KFF file; default: kmc" },
        { .type = KMC_TEXT,
          .name = "-j",
          .argument = "<file_name>",
          .offset = FIELD(json),
          .help = "write the summary to this file as JSON" },
        FLAG("-w", no_output, "write no counts"),
        NUMBER("-t", "<value>", 1, 1024, nthreads, "number of threads; default: all cores"),
        { .type = KMC_TEXT,
          .name = "-f",
          .argument = "<a/q/m/bam>",
          .words = " a q m bam ",
          .offset = FIELD(input_format),
          .help = "accepted; the content of each file decides" },
        FLAG("-sm", ignored_flag, "accepted: the bound on memory is always kept"),
        FLAG("-r", ignored_flag,
             "accepted: the working directory is used only if memory is short, and for the counts "
             "until they are written"),
        FLAG("-hp", ignored_flag, "accepted: progress is never shown"),
        FLAG("-v", ignored_flag, "verbose mode; ignored"),
        NUMBER("-p", "<par>", 5, 11, ignored_number, "signature length; ignored"),
        NUMBER("-n", "<value>", 1, UINT64_MAX, ignored_number, "number of bins; ignored"),
        NUMBER("-sf", "<value>", 1, UINT64_MAX, ignored_number, "reading threads; ignored"),
        NUMBER("-sp", "<value>", 1, UINT64_MAX, ignored_number, "splitting threads; ignored"),
        NUMBER("-sr", "<value>", 1, UINT64_MAX, ignored_number,
               "threads for the 2nd stage; ignored"),
        FLAG("--opt-out-size", ignored_flag, "smaller database; ignored"),
        REFUSED("-fkmc", "'kcount import' reads KMC databases"),
        REFUSED("-e", "'kcount hist' prints the exact histogram of reads"),
        REFUSED("-hc", "'kcount count --hpc' compresses homopolymers"),
        { 0 },
};

static enum kc_status refuse_unknown(const char *word, struct kc_error *err)
{
        return kc_fail(err, KC_EUSAGE, "'%s' is not an option of kmc 3.2.1; --help lists them",
                       word);
}

/* The row of the table for a word, or NULL. The name of an option without an argument must be the
 * whole word; such an option takes precedence over those with an argument: -fkmc is not -f. */
static const struct kmc_option *find(const char *word)
{
        const struct kmc_option *found = NULL;
        for (const struct kmc_option *o = kmc_option_table; o->type != KMC_END; o++) {
                const bool whole = *o->argument == '\0';
                if (whole && strcmp(word, o->name) == 0)
                        return o;
                if (!whole && strncmp(word, o->name, strlen(o->name)) == 0 &&
                    (found == NULL || strlen(found->name) < strlen(o->name)))
                        found = o;
        }
        return found;
}

static bool has_word(const char *words, const char *word)
{
        const size_t length = strlen(word);
        if (length == 0 || strchr(word, ' ') != NULL)
                return false;
        for (const char *p = words; (p = strstr(p, word)) != NULL; p++)
                if (p[-1] == ' ' && p[length] == ' ')
                        return true;
        return false;
}

/* Like kmc, most options take the last of several numbers. */
static enum kc_status set_number(const struct kmc_option *o, const char *argument, uint64_t *field,
                                 struct kc_error *err)
{
        uint64_t number;
        if (!parse_number(argument, &number) || number < o->min || number > o->max)
                return kc_fail(err, KC_EUSAGE,
                               "%s: '%s' is not a number from %" PRIu64 " to %" PRIu64, o->name,
                               argument, o->min, o->max);
        if (o->once && *field != 0 && *field != number)
                return kc_fail(err, KC_EUSAGE, "%s%" PRIu64 " and %s%" PRIu64 " exclude each other",
                               o->name, *field, o->name, number);
        *field = number;
        return KC_OK;
}

static enum kc_status parse_option(struct kmc_settings *settings, const char *word,
                                   struct kc_error *err)
{
        const struct kmc_option *o = find(word);
        if (o == NULL)
                return refuse_unknown(word, err);
        const char *argument = word + strlen(o->name);
        char *field = (char *)settings + o->offset;
        switch (o->type) {
        case KMC_FLAG:
                *(bool *)field = true;
                return KC_OK;
        case KMC_TEXT:
                if (*argument == '\0' || (o->words != NULL && !has_word(o->words, argument)))
                        return kc_fail(err, KC_EUSAGE, "'%s': expected %s%s", word, o->name,
                                       o->argument);
                *(const char **)field = argument;
                return KC_OK;
        case KMC_NUMBER:
                return set_number(o, argument, (uint64_t *)field, err);
        default:
                return kc_fail(err, KC_EUSAGE, "%s is not supported: %s", word, o->help);
        }
}

static bool asks_for_help(const char *word)
{
        return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 ||
               strcmp(word, "--version") == 0;
}

enum kc_status kmc_options_parse(struct kmc_settings *settings, int argc, char **argv,
                                 struct kc_error *err)
{
        *settings = (struct kmc_settings){ .min_count = 2,
                                           .max_count = 1000000000,
                                           .count_cap = 255,
                                           .memory_gb = 12,
                                           .input_format = "q",
                                           .output_format = "kmc",
                                           .wants_help = argc < 2 };
        int i = 1;
        for (; i < argc && argv[i][0] == '-'; i++) {
                if (asks_for_help(argv[i])) {
                        settings->wants_help = true;
                        return KC_OK;
                }
                enum kc_status status = parse_option(settings, argv[i], err);
                if (status != KC_OK)
                        return status;
        }
        if (settings->wants_help)
                return KC_OK;
        if (settings->k == 0)
                settings->k = DEFAULT_K;
        if (argc - i < 3)
                return kc_fail(err, KC_EUSAGE,
                               "the names of the input, the output and the working directory are "
                               "needed; see --help");
        if (argc - i > 3)
                return kc_fail(err, KC_EUSAGE, "unexpected '%s' after the three names%s",
                               argv[i + 3],
                               argv[i + 3][0] == '-' ? "; put options before them" : "");
        settings->input = argv[i];
        settings->output = argv[i + 1];
        settings->folder = argv[i + 2];
        return KC_OK;
}

void kmc_options_help(struct text_out *out)
{
        text_out_printf(out,
                        "kcount %s, in place of K-Mer Counter (KMC) ver. 3.2.1 (2022-01-04)\n"
                        "Usage:\n"
                        " kcount-kmc [options] <input_file_name> <output_file_name> "
                        "<working_directory>\n"
                        " kcount-kmc [options] <@input_file_names> <output_file_name> "
                        "<working_directory>\n"
                        "Options:\n",
                        KCOUNT_VERSION);
        for (const struct kmc_option *o = kmc_option_table; o->type != KMC_END; o++)
                text_out_printf(out, "  %s%s - %s%s\n", o->name, o->argument,
                                o->type == KMC_REFUSED ? "not supported: " : "", o->help);
        text_out_puts(out, "Example:\n"
                           "kcount-kmc -k27 -m24 @files.lst NA.res /data/kmc_tmp_dir/\n");
}
