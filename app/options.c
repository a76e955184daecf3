#include "app/options.h"

#include "app/size.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* getopt_long's codes for options: FIRST_CODE + index in the table, so that letters are free. */
enum { FIRST_CODE = 256, CODE_HELP = 128, CODE_VERSION };

struct getopt_table {
        struct option longs[OPTIONS_MAX + 3];
        char shorts[2 * OPTIONS_MAX + 8];
};

static void make_getopt_table(const struct option_spec *specs, struct getopt_table *table)
{
        /* '-': operands are returned in place, as option 1; ':': a missing argument is reported as
         * such */
        char *p = stpcpy(table->shorts, "-:hV");
        struct option *o = table->longs;
        for (int i = 0; specs[i].type != OPTION_END; i++) {
                int has_arg = specs[i].argument ? required_argument : no_argument;
                *o++ = (struct option){ specs[i].name, has_arg, NULL, FIRST_CODE + i };
                if (specs[i].letter)
                        *p++ = specs[i].letter;
                if (specs[i].letter && has_arg)
                        *p++ = ':';
        }
        *o++ = (struct option){ "help", no_argument, NULL, CODE_HELP };
        *o++ = (struct option){ "version", no_argument, NULL, CODE_VERSION };
        *o = (struct option){ 0 };
        *p = '\0';
}

const char *option_name(const struct option_spec *spec, char text[OPTION_NAME_NBYTES])
{
        if (spec->letter)
                snprintf(text, OPTION_NAME_NBYTES, "-%c/--%s", spec->letter, spec->name);
        else
                snprintf(text, OPTION_NAME_NBYTES, "--%s", spec->name);
        return text;
}

static enum kc_status set_size(const struct option_spec *spec, const char *text, uint64_t *value,
                               struct kc_error *err)
{
        char name[OPTION_NAME_NBYTES], least[FORMATTED_NBYTES];
        if (!parse_size(text, value))
                return kc_fail(err, KC_EUSAGE, "%s: '%s' is not a size such as 8G, 500M or 1.5G",
                               option_name(spec, name), text);
        if (*value < spec->min)
                return kc_fail(err, KC_EUSAGE, "%s: %s is too small; at least %s is needed",
                               option_name(spec, name), text, format_size(spec->min, least));
        return KC_OK;
}

static enum kc_status set_number(const struct option_spec *spec, const char *text, uint64_t *value,
                                 struct kc_error *err)
{
        char name[OPTION_NAME_NBYTES];
        if (parse_number(text, value) && *value >= spec->min && *value <= spec->max)
                return KC_OK;
        return kc_fail(err, KC_EUSAGE, "%s: '%s' is not a whole number from %llu to %llu",
                       option_name(spec, name), text, (unsigned long long)spec->min,
                       (unsigned long long)spec->max);
}

static enum kc_status add_number(const struct option_spec *spec, const char *text,
                                 struct option_numbers *numbers, struct kc_error *err)
{
        char name[OPTION_NAME_NBYTES];
        uint64_t number;
        enum kc_status status;
        KC_TRY(set_number(spec, text, &number, err));
        for (size_t i = 0; i < numbers->n; i++)
                if (numbers->values[i] == number)
                        return kc_fail(err, KC_EUSAGE, "%s: %s is given twice",
                                       option_name(spec, name), text);
        if (numbers->n == OPTION_NUMBERS_MAX)
                return kc_fail(err, KC_EUSAGE, "%s: more than %d numbers", option_name(spec, name),
                               OPTION_NUMBERS_MAX);
        numbers->values[numbers->n++] = number;
out:
        return status;
}

/* An option given again replaces the numbers it had. */
static enum kc_status set_numbers(const struct option_spec *spec, const char *text,
                                  struct option_numbers *numbers, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        *numbers = (struct option_numbers){ 0 };
        for (bool more = true; more && status == KC_OK;) {
                const size_t n = strcspn(text, ",");
                char *number = strndup(text, n);
                if (number == NULL)
                        return kc_fail(err, KC_ENOMEM, "out of memory");
                status = add_number(spec, number, numbers, err);
                free(number);
                more = text[n] == ',';
                text += n + more;
        }
        return status;
}

static enum kc_status set_field(const struct option_spec *spec, const char *text, void *settings,
                                struct kc_error *err)
{
        void *field = (char *)settings + spec->offset;
        switch (spec->type) {
        case OPTION_FLAG:
                *(bool *)field = true;
                return KC_OK;
        case OPTION_NUMBER:
                return set_number(spec, text, field, err);
        case OPTION_NUMBERS:
                return set_numbers(spec, text, field, err);
        case OPTION_SIZE:
                return set_size(spec, text, field, err);
        default:
                *(const char **)field = text;
                return KC_OK;
        }
}

static enum kc_status set_presets(const struct command *command, void *settings,
                                  struct kc_error *err)
{
        enum kc_status status = KC_OK;
        for (const struct option_spec *s = command->options; s->type != OPTION_END; s++)
                if (s->preset)
                        KC_TRY(set_field(s, s->preset, settings, err));
out:
        return status;
}

static int spec_index(const struct option_spec *specs, int code)
{
        if (code >= FIRST_CODE)
                return code - FIRST_CODE;
        for (int i = 0; specs[i].type != OPTION_END; i++)
                if (specs[i].letter == code)
                        return i;
        return -1;
}

/* Report why getopt_long failed. optopt is a letter, the code of a long option, or 0. */
static enum kc_status reject(const struct command *command, int code, char **argv,
                             struct kc_error *err)
{
        char name[OPTION_NAME_NBYTES];
        int i = optopt ? spec_index(command->options, optopt) : -1;
        if (code == ':' && i >= 0)
                return kc_fail(err, KC_EUSAGE, "%s needs an argument: %s",
                               option_name(&command->options[i], name),
                               command->options[i].argument);
        if (i >= 0 || optopt == CODE_HELP || optopt == CODE_VERSION)
                return kc_fail(err, KC_EUSAGE, "%s takes no argument", argv[optind - 1]);
        if (optopt)
                return kc_fail(err, KC_EUSAGE, "unknown option '-%c'", optopt);
        return kc_fail(err, KC_EUSAGE, "unknown or ambiguous option '%s'", argv[optind - 1]);
}

static enum kc_status parse_arguments(struct invocation *call, int argc, char **argv,
                                      struct kc_error *err)
{
        const struct option_spec *specs = call->command->options;
        struct getopt_table table;
        make_getopt_table(specs, &table);
        opterr = 0;
        optind = 0; /* GNU: restart the scan */
        enum kc_status status = KC_OK;
        for (int code; (code = getopt_long(argc, argv, table.shorts, table.longs, NULL)) != -1;) {
                if (code == '?' || code == ':')
                        return reject(call->command, code, argv, err);
                int i = spec_index(specs, code);
                if (code == 1) {
                        call->operands[call->noperands++] = optarg;
                } else if (i < 0) {
                        call->wants_help |= code == 'h' || code == CODE_HELP;
                        call->wants_version |= code == 'V' || code == CODE_VERSION;
                } else {
                        call->given[i] = true;
                        KC_TRY(set_field(&specs[i], optarg, call->settings, err));
                }
        }
        while (optind < argc)
                call->operands[call->noperands++] = argv[optind++];
out:
        return status;
}

static enum kc_status check_complete(const struct invocation *call, struct kc_error *err)
{
        const struct command *command = call->command;
        char name[OPTION_NAME_NBYTES];
        if (call->noperands < command->min_operands)
                return kc_fail(err, KC_EUSAGE, "%s needs %s", command->name, command->operands);
        if (command->max_operands >= 0 && call->noperands > command->max_operands)
                return kc_fail(err, KC_EUSAGE, "%s: one argument too many: '%s'", command->name,
                               call->operands[command->max_operands]);
        for (int i = 0; command->options[i].type != OPTION_END; i++)
                if (command->options[i].required && !call->given[i])
                        return kc_fail(err, KC_EUSAGE, "%s %s is required",
                                       option_name(&command->options[i], name),
                                       command->options[i].argument);
        return KC_OK;
}

enum kc_status invocation_parse(struct invocation *call, int argc, char **argv,
                                struct kc_error *err)
{
        call->settings = calloc(1, call->command->settings_nbytes + 1);
        call->operands = calloc((size_t)argc + 1, sizeof *call->operands);
        if (call->settings == NULL || call->operands == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        enum kc_status status;
        KC_TRY(set_presets(call->command, call->settings, err));
        KC_TRY(parse_arguments(call, argc, argv, err));
        if (!call->wants_help && !call->wants_version)
                KC_TRY(check_complete(call, err));
out:
        return status;
}

void invocation_free(struct invocation *call)
{
        free(call->settings);
        free(call->operands);
        free(call->line);
}

const struct option_spec *invocation_other_option(const struct invocation *call,
                                                  const char *const *names)
{
        const struct option_spec *specs = call->command->options;
        for (int i = 0; specs[i].type != OPTION_END; i++) {
                const char *const *name = names;
                while (*name != NULL && strcmp(*name, specs[i].name) != 0)
                        name++;
                if (call->given[i] && *name == NULL)
                        return &specs[i];
        }
        return NULL;
}

enum kc_status options_check_range(uint64_t min, uint64_t max, struct kc_error *err)
{
        if (min <= max)
                return KC_OK;
        return kc_fail(err, KC_EUSAGE, "--min %llu is above --max %llu", (unsigned long long)min,
                       (unsigned long long)max);
}
