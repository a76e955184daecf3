#include "app/kmc_options.h"

#include "app/size.h"
#include "kmer/kmer.h"

#include <stddef.h>
#include <string.h>

enum kmc_option_kind {
        KMC_FLAG,    /* the name alone; field: bool */
        KMC_CHOICE,  /* the name alone; field: an enum, which becomes value */
        KMC_NUMBER,  /* the name, then a number in [min, max]; field: uint64_t */
        KMC_TEXT,    /* the name, then text; field: const char * */
        KMC_REFUSED, /* the name, then anything */
        /* Without effect: the name alone, with a number, with text. */
        KMC_WORK,
        KMC_WORK_NUMBER,
        KMC_WORK_TEXT,
};

struct kmc_option {
        const char *name;
        enum kmc_option_kind kind;
        size_t offset;
        uint64_t min, max;
        int value;
        const char *why; /* it is refused */
};

#define FIELD(member) offsetof(struct kmc_options, member)
#define FLAG(text, member) \
        { \
                .name = (text), .kind = KMC_FLAG, .offset = FIELD(member) \
        }
#define CHOICE(text, member, choice) \
        { \
                .name = (text), .kind = KMC_CHOICE, .offset = FIELD(member), .value = (choice) \
        }
#define NUMBER(text, member, least, most) \
        { \
                .name = (text), .kind = KMC_NUMBER, .offset = FIELD(member), .min = (least), \
                .max = (most) \
        }
#define WORK(text, how) \
        { \
                .name = (text), .kind = (how), .min = 1, .max = UINT32_MAX \
        }
#define REFUSED(text, reason) \
        { \
                .name = (text), .kind = KMC_REFUSED, .why = (reason) \
        }

/* The first that fits is taken. */
static const struct kmc_option table[] = {
        NUMBER("-k", k, 1, KC_MAX_K),
        NUMBER("-m", memory_gb, 1, 1 << 20),
        NUMBER("-t", nthreads, 1, 1024),
        NUMBER("-ci", min_count, 0, UINT32_MAX),
        NUMBER("-cx", max_count, 1, UINT64_MAX),
        NUMBER("-cs", count_limit, 1, UINT64_MAX),
        CHOICE("-fq", input_kind, KMC_INPUT_FASTQ),
        CHOICE("-fa", input_kind, KMC_INPUT_FASTA),
        CHOICE("-fm", input_kind, KMC_INPUT_MULTI_FASTA),
        CHOICE("-fbam", input_kind, KMC_INPUT_BAM),
        REFUSED("-fkmc", "the input cannot be a KMC database"),
        CHOICE("-okff", output_kind, KMC_OUTPUT_KFF),
        CHOICE("-okmc", output_kind, KMC_OUTPUT_KMC),
        REFUSED("-okmcdb", "only -okmc and -okff can be written"),
        FLAG("-b", stranded),
        FLAG("-v", verbose),
        FLAG("-hp", hides_progress),
        FLAG("-e", histogram_only),
        FLAG("-w", without_output),
        FLAG("-sm", strict_memory),
        FLAG("-r", memory_only),
        { .name = "-j", .kind = KMC_TEXT, .offset = FIELD(summary) },
        REFUSED("-hc", "k-mers cannot be compressed by homopolymers"),
        FLAG("--help", wants_help),
        FLAG("--version", wants_help),
        REFUSED("--only-generate-sig-to-bin-mapping", "there are no signatures to map"),
        WORK("--opt-out-size", KMC_WORK),
        WORK("--reopen-tmp", KMC_WORK),
        WORK("--disable-small-k-opt", KMC_WORK),
        WORK("--sig-to-bin-map-stats", KMC_WORK_TEXT),
        WORK("--sig-to-bin-mapping", KMC_WORK_TEXT),
        WORK("-ssskmc", KMC_WORK),
        WORK("-sssmin_hash", KMC_WORK),
        WORK("-smso", KMC_WORK_NUMBER),
        WORK("-smun", KMC_WORK_NUMBER),
        WORK("-smme", KMC_WORK_NUMBER),
        WORK("-sf", KMC_WORK_NUMBER),
        WORK("-sp", KMC_WORK_NUMBER),
        WORK("-sr", KMC_WORK_NUMBER),
        WORK("-p", KMC_WORK_NUMBER),
        WORK("-n", KMC_WORK_NUMBER),
};

static const struct kmc_option *find_option(const char *argument)
{
        for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
                const struct kmc_option *o = &table[i];
                const bool alone = o->kind <= KMC_CHOICE || o->kind == KMC_WORK;
                if (alone ? strcmp(argument, o->name) == 0
                          : strncmp(argument, o->name, strlen(o->name)) == 0)
                        return o;
        }
        return NULL;
}

static enum kc_status set_number(const struct kmc_option *o, const char *text, uint64_t *number,
                                 struct kc_error *err)
{
        if (parse_number(text, number) && *number >= o->min && *number <= o->max)
                return KC_OK;
        return kc_fail(err, KC_EUSAGE, "%s: '%s' is not a whole number from %llu to %llu", o->name,
                       text, (unsigned long long)o->min, (unsigned long long)o->max);
}

static enum kc_status set_option(struct kmc_options *options, const char *argument,
                                 struct kc_error *err)
{
        const struct kmc_option *o = find_option(argument);
        if (o == NULL)
                return kc_fail(err, KC_EUSAGE, "kmc has no option '%s'", argument);
        const char *text = argument + strlen(o->name);
        void *field = (char *)options + o->offset;
        uint64_t number;
        switch (o->kind) {
        case KMC_FLAG:
                *(bool *)field = true;
                return KC_OK;
        case KMC_CHOICE:
                *(int *)field = o->value;
                return KC_OK;
        case KMC_NUMBER:
                return set_number(o, text, field, err);
        case KMC_TEXT:
                if (*text == '\0')
                        return kc_fail(err, KC_EUSAGE, "%s needs a name: %sNAME", o->name, o->name);
                *(const char **)field = text;
                return KC_OK;
        case KMC_REFUSED:
                return kc_fail(err, KC_EUSAGE, "%s: %s", argument, o->why);
        case KMC_WORK_NUMBER:
                return set_number(o, text, &number, err);
        default:
                return KC_OK;
        }
}

static enum kc_status set_operands(struct kmc_options *options, int n, char **operands,
                                   struct kc_error *err)
{
        if (n < 3)
                return kc_fail(err, KC_EUSAGE,
                               "three arguments are needed after the options: the input, the "
                               "output and a folder for temporary files");
        if (n > 3)
                return kc_fail(err, KC_EUSAGE,
                               "one argument too many: '%s'; options come first, and their values "
                               "follow without a space",
                               operands[3]);
        options->input = operands[0];
        options->output = operands[1];
        options->folder = operands[2];
        return KC_OK;
}

/* Counts are exact up to UINT32_MAX, so larger bounds mean the same as this one. */
static void limit_count(uint64_t *count)
{
        if (*count > UINT32_MAX)
                *count = UINT32_MAX;
}

static enum kc_status check_together(struct kmc_options *options, struct kc_error *err)
{
        limit_count(&options->max_count);
        limit_count(&options->count_limit);
        if (options->min_count == 0)
                options->min_count = 1;
        if (options->strict_memory && options->memory_only)
                return kc_fail(err, KC_EUSAGE, "-sm and -r exclude each other");
        if (options->min_count > options->max_count)
                return kc_fail(err, KC_EUSAGE, "-ci%llu is above -cx%llu",
                               (unsigned long long)options->min_count,
                               (unsigned long long)options->max_count);
        return KC_OK;
}

enum kc_status kmc_options_parse(struct kmc_options *options, int argc, char **argv,
                                 struct kc_error *err)
{
        *options = (struct kmc_options){ .k = 25,
                                         .memory_gb = 12,
                                         .min_count = 2,
                                         .max_count = 1000000000,
                                         .count_limit = 255 };
        enum kc_status status = KC_OK;
        int i = 1;
        for (; i < argc && argv[i][0] == '-'; i++)
                KC_TRY(set_option(options, argv[i], err));
        options->wants_help |= argc < 2;
        if (options->wants_help)
                goto out;
        KC_TRY(set_operands(options, argc - i, argv + i, err));
        KC_TRY(check_together(options, err));
out:
        return status;
}

void kmc_options_apply(const struct kmc_options *options, struct count_settings *settings)
{
        settings->ks = (struct option_numbers){ .n = 1, .values = { options->k } };
        settings->memory_nbytes = options->memory_gb * 1000000000;
        settings->common.nthreads = options->nthreads;
        settings->common.no_progress = options->hides_progress;
        settings->min_count = options->min_count;
        settings->max_count = options->max_count;
        settings->stranded = options->stranded;
        settings->tmp_dir = options->folder;
        settings->force = true;
}
