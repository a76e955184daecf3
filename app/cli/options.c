#include "app/cli/options.h"

#include "app/cli/file_check.h"
#include "app/cli/foreign_options.h"
#include "app/cli/shell.h"
#include "app/cli/size.h"
#include "app/cli/suggest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct option_spec general_options[] = {
        OPTION(FLAG, "usage", offsetof(struct invocation, wants_usage),
               "Print the usual options on one screen.", .letter = 'h', .group = OPTION_COMMON),
        OPTION(FLAG, "help", offsetof(struct invocation, wants_help),
               "Explain the command and all of its options.", .group = OPTION_COMMON),
        OPTION(FLAG, "version", offsetof(struct invocation, wants_version),
               "Print the version; with --json, also "
               "what this program was built with, and its limits.",
               .letter = 'V', .group = OPTION_COMMON),
        OPTION(FLAG, "no-mpi", offsetof(struct invocation, without_mpi),
               "Run alone, even if mpirun or srun started the process. kcount then does not look "
               "for the other processes. The environment variable KCOUNT_MPI=off does the same.",
               .group = OPTION_DEVICES, .needs = OPTION_NEEDS_MPI),
        { 0 },
};

const char *option_name(const struct option_spec *spec, char text[OPTION_NAME_NBYTES])
{
        if (spec->letter)
                snprintf(text, OPTION_NAME_NBYTES, "-%c/--%s", spec->letter, spec->name);
        else
                snprintf(text, OPTION_NAME_NBYTES, "--%s", spec->name);
        return text;
}

const char *option_short_name(const struct option_spec *spec, char text[OPTION_NAME_NBYTES])
{
        if (spec->letter)
                snprintf(text, OPTION_NAME_NBYTES, "-%c", spec->letter);
        else
                snprintf(text, OPTION_NAME_NBYTES, "--%s", spec->name);
        return text;
}

enum { HINT_NBYTES = 128, OPTION_WORDS_NBYTES = 128 };

static bool is_name(const char *name, const char *text, size_t nbytes)
{
        return strlen(name) == nbytes && memcmp(name, text, nbytes) == 0;
}

/* What to add to a message about an argument of the wrong kind. */
static const char *hint_at(const struct option_spec *spec, const char *text, char hint[HINT_NBYTES])
{
        hint[0] = '\0';
        if (spec->letter && text[0] == '=')
                snprintf(hint, HINT_NBYTES, "; write -%c %s", spec->letter, text + 1);
        else if (spec->type == OPTION_NUMBERS && strchr(text, ' ') != NULL)
                snprintf(hint, HINT_NBYTES, "; put a comma between numbers, and no space");
        else if (spec->mistaken != NULL)
                snprintf(hint, HINT_NBYTES, "; %s", spec->mistaken);
        return hint;
}

/* A size without its unit, which some programs imply: in GiB, as those do, or in MiB if a number of
 * GiB would not be so large. */
static enum kc_status refuse_bytes(const struct option_spec *spec, const char *text, uint64_t value,
                                   struct kc_error *err)
{
        char name[OPTION_NAME_NBYTES];
        const uint64_t least_mib = spec->min >> 20;
        option_short_name(spec, name);
        return kc_fail(err, KC_EUSAGE, "%s %s is %s byte%s; did you mean %s %s%c? (at least %lluM)",
                       name, text, text, strcmp(text, "1") == 0 ? "" : "s", name, text,
                       value < least_mib ? 'G' : 'M', (unsigned long long)least_mib);
}

static enum kc_status set_size(const struct option_spec *spec, const char *text, uint64_t *value,
                               struct kc_error *err)
{
        char name[OPTION_NAME_NBYTES], hint[HINT_NBYTES];
        if (!parse_size(text, value))
                return kc_fail(err, KC_EUSAGE, "%s: '%s' is not a size such as 8G, 500M or 1.5G%s",
                               option_name(spec, name), text, hint_at(spec, text, hint));
        if (*value >= spec->min)
                return KC_OK;
        if (text[strspn(text, "0123456789.")] == '\0' && *value > 0 && *value < 1 << 20)
                return refuse_bytes(spec, text, *value, err);
        return kc_fail(err, KC_EUSAGE, "%s: %s is too small; at least %lluM is needed",
                       option_name(spec, name), text, (unsigned long long)spec->min >> 20);
}

static enum kc_status set_number(const struct option_spec *spec, const char *text, uint64_t *value,
                                 struct kc_error *err)
{
        char name[OPTION_NAME_NBYTES], hint[HINT_NBYTES];
        const bool is_number = parse_number(text, value);
        if (is_number && *value >= spec->min && *value <= spec->max)
                return KC_OK;
        return kc_fail(err, KC_EUSAGE, "%s: '%s' is not a whole number from %llu to %llu%s",
                       option_name(spec, name), text, (unsigned long long)spec->min,
                       (unsigned long long)spec->max, is_number ? "" : hint_at(spec, text, hint));
}

static bool has_number(const struct option_numbers *numbers, uint64_t number)
{
        for (size_t i = 0; i < numbers->n; i++)
                if (numbers->values[i] == number)
                        return true;
        return false;
}

static enum kc_status add_number(const struct option_spec *spec, uint64_t number,
                                 struct option_numbers *numbers, struct kc_error *err)
{
        char name[OPTION_NAME_NBYTES];
        if (numbers->n == OPTION_NUMBERS_MAX)
                return kc_fail(err, KC_EUSAGE, "%s: more than %d numbers", option_name(spec, name),
                               OPTION_NUMBERS_MAX);
        numbers->values[numbers->n++] = number;
        return KC_OK;
}

static enum kc_status add_listed(const struct option_spec *spec, const char *text,
                                 struct option_numbers *list, struct kc_error *err)
{
        char name[OPTION_NAME_NBYTES];
        uint64_t number;
        enum kc_status status;
        KC_TRY(set_number(spec, text, &number, err));
        if (has_number(list, number))
                return kc_fail(err, KC_EUSAGE, "%s: %s is given twice", option_name(spec, name),
                               text);
        KC_TRY(add_number(spec, number, list, err));
out:
        return status;
}

static enum kc_status parse_list(const struct option_spec *spec, const char *text,
                                 struct option_numbers *list, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        for (bool more = true; more && status == KC_OK;) {
                const size_t n = strcspn(text, ",");
                char *number = strndup(text, n);
                if (number == NULL)
                        return kc_fail(err, KC_ENOMEM, "out of memory");
                status = add_listed(spec, number, list, err);
                free(number);
                more = text[n] == ',';
                text += n + more;
        }
        return status;
}

/* An option given again adds to its numbers. Unlike a list, it may repeat some of them. */
static enum kc_status set_numbers(const struct option_spec *spec, const char *text,
                                  struct option_numbers *numbers, struct kc_error *err)
{
        struct option_numbers list = { 0 };
        enum kc_status status;
        KC_TRY(parse_list(spec, text, &list, err));
        for (size_t i = 0; i < list.n; i++)
                if (!has_number(numbers, list.values[i]))
                        KC_TRY(add_number(spec, list.values[i], numbers, err));
        numbers->ntimes++;
out:
        return status;
}

static enum kc_status add_name(const struct option_spec *spec, const char *text,
                               struct option_names *names, struct kc_error *err)
{
        char name[OPTION_NAME_NBYTES];
        if (names->n == sizeof names->names / sizeof *names->names)
                return kc_fail(err, KC_EUSAGE, "%s is given more than twice",
                               option_name(spec, name));
        names->names[names->n++] = text;
        return spec->type == OPTION_OUTPUTS ? output_check_name(text, option_name(spec, name), err)
                                            : KC_OK;
}

enum kc_status option_refuse_word(const char *name, const char *argument, const char *words,
                                  struct kc_error *err)
{
        char list[OPTION_WORDS_NBYTES];
        int n = 0;
        for (const char *word = words; word != NULL && n < OPTION_WORDS_NBYTES;) {
                const char *blank = strchr(word, ' ');
                const bool last_follows = blank != NULL && strchr(blank + 1, ' ') == NULL;
                const char *between = blank == NULL ? "" : last_follows ? " or " : ", ";
                n += snprintf(list + n, sizeof list - (size_t)n, "%.*s%s", (int)strcspn(word, " "),
                              word, between);
                word = blank != NULL ? blank + 1 : NULL;
        }
        return kc_fail(err, KC_EUSAGE, "%s: '%s' is not one of %s", name, argument, list);
}

static enum kc_status set_word(const struct option_spec *spec, const char *text, int *number,
                               struct kc_error *err)
{
        char name[OPTION_NAME_NBYTES];
        *number = 1;
        for (const char *word = spec->words; word != NULL; ++*number) {
                if (is_name(text, word, strcspn(word, " ")))
                        return KC_OK;
                const char *blank = strchr(word, ' ');
                word = blank != NULL ? blank + 1 : NULL;
        }
        return option_refuse_word(option_name(spec, name), text, spec->words, err);
}

static enum kc_status set_field(const struct option_spec *spec, const char *text, void *settings,
                                struct kc_error *err)
{
        void *field = (char *)settings + spec->offset;
        char name[OPTION_NAME_NBYTES];
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
        case OPTION_OUTPUT:
                *(const char **)field = text;
                return output_check_name(text, option_name(spec, name), err);
        case OPTION_OUTPUTS:
        case OPTION_INPUTS:
                return add_name(spec, text, field, err);
        case OPTION_WORD:
                return set_word(spec, text, field, err);
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

/* ---- the command line ---- */

/* The words that are left. */
struct words {
        char **next, **end;
};

static const char *next_of(const struct words *words)
{
        return words->next < words->end ? *words->next : NULL;
}

/* Names of options in other programs, which are accepted as well but not shown. */
static const struct alias {
        char letter;
        const char *name, *own;
} aliases[] = {
        { '@', "", "threads" }, /* samtools */
        { 0, "kmer-size", "kmer" }, { 0, "mer-len", "kmer" },
        { 0, "min-count", "min" },  { 0, "max-count", "max" },
};

enum { NALIASES = sizeof aliases / sizeof aliases[0] };

static const struct option_spec *find_name(const struct option_spec *specs, const char *text,
                                           size_t nbytes)
{
        for (; specs->type != OPTION_END; specs++)
                if (is_name(specs->name, text, nbytes))
                        return specs;
        return NULL;
}

const struct option_spec *option_find(const struct option_spec *specs, const char *name)
{
        return find_name(specs, name, strlen(name));
}

/* A command's option, by its own name or another program's. */
static const struct option_spec *find_long(const struct option_spec *specs, const char *text,
                                           size_t nbytes)
{
        const struct option_spec *found = find_name(specs, text, nbytes);
        for (size_t i = 0; i < NALIASES && found == NULL && nbytes > 0; i++)
                if (is_name(aliases[i].name, text, nbytes))
                        found = option_find(specs, aliases[i].own);
        return found;
}

static const struct option_spec *find_letter(const struct option_spec *specs, char letter)
{
        for (const struct option_spec *s = specs; s->type != OPTION_END; s++)
                if (s->letter == letter)
                        return s;
        for (size_t i = 0; i < NALIASES; i++)
                if (aliases[i].letter == letter)
                        return option_find(specs, aliases[i].own);
        return NULL;
}

/* ---- options that the command does not have ---- */

static void offer_names(struct suggestion *s, const struct option_spec *specs)
{
        for (const struct option_spec *o = specs; o->type != OPTION_END; o++)
                if (!o->hidden)
                        suggestion_offer(s, o->name, o->name);
        for (size_t i = 0; i < NALIASES; i++)
                if (aliases[i].name[0] != '\0' && option_find(specs, aliases[i].own) != NULL)
                        suggestion_offer(s, aliases[i].name, aliases[i].own);
}

static enum kc_status refuse_long(const struct command *command, const char *word, const char *next,
                                  struct kc_error *err)
{
        const int n = (int)strcspn(word, "=");
        struct suggestion s = suggestion_begin(word + 2, (size_t)n - 2);
        enum kc_status status;
        KC_TRY(foreign_option_refuse(command, word, next, err));
        if (n == 3 && find_letter(command->options, word[2]) != NULL)
                return kc_fail(err, KC_EUSAGE, "unknown option '%.*s'; did you mean '-%c'?", n,
                               word, word[2]);
        offer_names(&s, command->options);
        offer_names(&s, general_options);
        if (s.name != NULL)
                return kc_fail(err, KC_EUSAGE, "unknown option '%.*s'; did you mean '--%s'?", n,
                               word, s.name);
        status = kc_fail(err, KC_EUSAGE, "unknown option '%.*s'", n, word);
out:
        return status;
}

/*
 * Look at a word with one dash before its letters are split. Its first letter may be an option that
 * takes the rest of the word as its argument. Otherwise the word may be an option of another
 * program; many of those have several letters.
 */
static enum kc_status check_letters(const struct command *command, const char *word,
                                    const char *next, struct kc_error *err)
{
        const size_t n = strcspn(word, "=");
        const struct option_spec *own = find_letter(command->options, word[1]);
        if (n > 2 && (find_name(command->options, word + 1, n - 1) != NULL ||
                      find_name(general_options, word + 1, n - 1) != NULL))
                return kc_fail(err, KC_EUSAGE, "unknown option '%.*s'; did you mean '-%.*s'?",
                               (int)n, word, (int)n, word);
        if (own != NULL && own->argument != NULL)
                return foreign_word_refuse(command, word, err);
        return foreign_option_refuse(command, word, next, err);
}

/* ---- options that it has ---- */

/* "-k 21, 31" is two words. */
static enum kc_status check_list(const struct option_spec *spec, const char *argument,
                                 const char *next, struct kc_error *err)
{
        char name[OPTION_NAME_NBYTES];
        const size_t n = strlen(argument);
        if (n < 2 || argument[n - 1] != ',' || next == NULL || next[strspn(next, "0123456789")])
                return KC_OK;
        option_short_name(spec, name);
        return kc_fail(err, KC_EUSAGE, "%s %s: remove the space after the comma (%s %s%s)", name,
                       argument, name, argument, next);
}

/* Whether a word is, or ends with, this argument, which points into the command line. */
static bool contains(const char *word, const char *argument)
{
        return argument >= word && argument <= word + strlen(word);
}

/* Add the words of the command line that give an option with this argument: one, or two. */
static const char **add_words(const struct invocation *call, const char *argument,
                              const char **words)
{
        for (size_t i = 1; i < call->nwords; i++) {
                if (!contains(call->words[i], argument))
                        continue;
                if (call->words[i] == argument)
                        *words++ = call->words[i - 1];
                *words++ = call->words[i];
        }
        return words;
}

/* The option, which names a file to read, was given before, with the argument `before`. */
static enum kc_status refuse_twice(const struct invocation *call, const struct option_spec *spec,
                                   const char *before, const char *argument, struct kc_error *err)
{
        char name[OPTION_NAME_NBYTES], files[SHELL_LINE_NBYTES], line[SHELL_LINE_NBYTES];
        option_short_name(spec, name);
        if (strcmp(before, "-") == 0 || strcmp(argument, "-") == 0)
                return kc_fail(err, KC_EUSAGE, "%s is given twice: %s and %s", name, before,
                               argument);
        const char *const names[] = { before, argument }, *const front[] = { name, "-", NULL };
        const char *dropped[5] = { NULL };
        add_words(call, argument, add_words(call, before, dropped));
        return kc_fail(err, KC_EUSAGE, "%s is given twice; give one file, or: cat %s | %s", name,
                       shell_line(names, 2, files), invocation_line(call, front, dropped, line));
}

/* Of most options, the last argument counts, so that users can override what an alias sets. A file
 * to read must not be left out in silence. */
static enum kc_status note_given(struct invocation *call, const struct option_spec *spec,
                                 const char *argument, struct kc_error *err)
{
        const char **given = &call->given[spec - call->command->options];
        const char *before = *given;
        *given = argument != NULL ? argument : "";
        if (before == NULL || !spec->is_input || strcmp(before, *given) == 0)
                return KC_OK;
        return refuse_twice(call, spec, before, argument, err);
}

/* Whether -k is given, also if only by a word that is still to come. */
static bool has_kmer(const struct invocation *call, const struct words *words)
{
        const struct option_spec *specs = call->command->options;
        const struct option_spec *kmer = option_find(specs, "kmer");
        bool found = kmer == NULL || call->given[kmer - specs] != NULL;
        for (char **w = words->next; w < words->end && !found; w++)
                found = strncmp(*w, "-k", 2) == 0 ||
                        (strncmp(*w, "--", 2) == 0 &&
                         find_long(specs, *w + 2, strcspn(*w + 2, "=")) == kmer);
        return found;
}

/* Jellyfish's -m is the length of the k-mers. */
static enum kc_status check_memory(const struct invocation *call, const struct option_spec *spec,
                                   const char *argument, const struct words *words,
                                   struct kc_error *err)
{
        uint64_t k;
        if (spec->letter != 'm' || has_kmer(call, words) || !parse_number(argument, &k) || k == 0 ||
            k > option_find(call->command->options, "kmer")->max)
                return KC_OK;
        return kc_fail(err, KC_EUSAGE,
                       "-m is memory here; for k-mers of length %s, write -k %s (for %s GiB of "
                       "memory, -m %sG)",
                       argument, argument, argument, argument);
}

/*
 * Set the field of an option.
 *   general   the option is one of general_options
 *   argument  what stands in the same word, or NULL
 */
static enum kc_status take_option(struct invocation *call, const struct option_spec *spec,
                                  bool general, const char *argument, struct words *words,
                                  struct kc_error *err)
{
        char name[OPTION_NAME_NBYTES], hint[HINT_NBYTES];
        enum kc_status status;
        if (spec->type == OPTION_ELSEWHERE)
                return kc_fail(err, KC_EUSAGE, "unknown option '--%s': %s", spec->name, spec->help);
        if (spec->argument != NULL && argument == NULL && words->next == words->end)
                return kc_fail(err, KC_EUSAGE, "%s needs an argument: %s%s",
                               option_name(spec, name), spec->argument, hint_at(spec, "", hint));
        if (spec->argument == NULL && argument != NULL)
                return kc_fail(err, KC_EUSAGE, "%s takes no argument", option_name(spec, name));
        if (spec->argument != NULL && argument == NULL)
                argument = *words->next++;
        if (spec->type == OPTION_NUMBERS)
                KC_TRY(check_list(spec, argument, next_of(words), err));
        if (spec->type == OPTION_SIZE)
                KC_TRY(check_memory(call, spec, argument, words, err));
        if (!general)
                KC_TRY(note_given(call, spec, argument, err));
        KC_TRY(set_field(spec, argument, general ? (void *)call : call->settings, err));
out:
        return status;
}

/* text: --NAME or --NAME=ARGUMENT. */
static enum kc_status take_long(struct invocation *call, const char *text, struct words *words,
                                struct kc_error *err)
{
        const char *name = text + 2;
        const size_t n = strcspn(name, "=");
        const struct option_spec *own = find_long(call->command->options, name, n);
        const struct option_spec *spec = own != NULL ? own : find_long(general_options, name, n);
        if (spec == NULL)
                return refuse_long(call->command, text, next_of(words), err);
        return take_option(call, spec, own == NULL, name[n] == '=' ? name + n + 1 : NULL, words,
                           err);
}

/* text: letters of options; the argument of the last one may follow it. */
static enum kc_status take_letters(struct invocation *call, const char *text, struct words *words,
                                   struct kc_error *err)
{
        enum kc_status status = check_letters(call->command, text, next_of(words), err);
        for (const char *p = text + 1; *p != '\0' && status == KC_OK; p++) {
                const struct option_spec *own = find_letter(call->command->options, *p);
                const struct option_spec *spec =
                        own != NULL ? own : find_letter(general_options, *p);
                if (spec == NULL)
                        return kc_fail(err, KC_EUSAGE, "unknown option '-%c'", *p);
                const bool attached = spec->argument != NULL && p[1] != '\0';
                status = take_option(call, spec, own == NULL, attached ? p + 1 : NULL, words, err);
                if (attached)
                        break;
        }
        return status;
}

/* This is not left to getopt_long, because that accepts abbreviated names: where there is no --min,
 * it would take --min for --min-quality. */
static enum kc_status parse_arguments(struct invocation *call, int argc, char **argv,
                                      struct kc_error *err)
{
        struct words words = { argv + 1, argv + argc };
        bool options = true;
        enum kc_status status = KC_OK;
        while (words.next < words.end) {
                const char *word = *words.next++;
                if (!options || word[0] != '-' || word[1] == '\0')
                        call->operands[call->noperands++] = word;
                else if (strcmp(word, "--") == 0)
                        options = false;
                else if (word[1] == '-')
                        KC_TRY(take_long(call, word, &words, err));
                else
                        KC_TRY(take_letters(call, word, &words, err));
        }
out:
        return status;
}

const char *command_example(const struct command *command, char text[EXAMPLE_NBYTES])
{
        const char *line = command->examples;
        text[0] = '\0';
        if (line == NULL)
                return text;
        line += strspn(line, " ");
        snprintf(text, EXAMPLE_NBYTES, "; for example: %.*s", (int)strcspn(line, "\n"), line);
        return text;
}

static enum kc_status check_operands(const struct invocation *call, struct kc_error *err)
{
        const struct command *command = call->command;
        char example[EXAMPLE_NBYTES];
        if (call->noperands < command->min_operands)
                return kc_fail(err, KC_EUSAGE, "%s needs %s%s", command->name, command->operands,
                               command_example(command, example));
        if (command->max_operands < 0 || call->noperands <= command->max_operands)
                return KC_OK;
        if (command->for_more != NULL)
                return kc_fail(err, KC_EUSAGE, "%s takes %s", command->name, command->for_more);
        return kc_fail(err, KC_EUSAGE, "%s takes %s; '%s' is one argument too many", command->name,
                       command->operands, call->operands[command->max_operands]);
}

/* A required option is missing: propose one for the user's own command line. */
static enum kc_status propose(const struct invocation *call, const struct option_spec *spec,
                              struct kc_error *err)
{
        char name[OPTION_NAME_NBYTES], option[OPTION_NAME_NBYTES];
        char line[SHELL_LINE_NBYTES], word[SHELL_LINE_NBYTES];
        const char *const nothing[] = { NULL };
        char *argument = spec->propose(call);
        if (argument == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        const enum kc_status status = kc_fail(
                err, KC_EUSAGE, "%s %s is required; for example: %s %s %s", option_name(spec, name),
                spec->argument, invocation_line(call, nothing, nothing, line),
                option_short_name(spec, option), shell_word(argument, word));
        free(argument);
        return status;
}

static enum kc_status check_required(const struct invocation *call, struct kc_error *err)
{
        char name[OPTION_NAME_NBYTES], example[EXAMPLE_NBYTES];
        const struct option_spec *specs = call->command->options;
        for (int i = 0; specs[i].type != OPTION_END; i++) {
                if (!specs[i].required || call->given[i])
                        continue;
                if (specs[i].propose != NULL)
                        return propose(call, &specs[i], err);
                return kc_fail(err, KC_EUSAGE, "%s %s is required%s", option_name(&specs[i], name),
                               specs[i].argument, command_example(call->command, example));
        }
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
        if (call->wants_usage || call->wants_help || call->wants_version)
                return KC_OK;
        KC_TRY(check_operands(call, err));
        KC_TRY(check_required(call, err));
out:
        return status;
}

void invocation_free(struct invocation *call)
{
        free(call->settings);
        free(call->operands);
        free(call->line);
}

const void *invocation_field(const struct invocation *call, const char *name)
{
        const struct option_spec *spec = option_find(call->command->options, name);
        return spec != NULL ? (const char *)call->settings + spec->offset : NULL;
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

bool invocation_has(const struct invocation *call, const char *name)
{
        const struct option_spec *spec = option_find(call->command->options, name);
        return spec != NULL && call->given[spec - call->command->options] != NULL;
}

static bool is_among(const char *word, const char *const *words)
{
        while (*words != NULL && *words != word)
                words++;
        return *words != NULL;
}

/* max_operands: those after them are left out, with dots at the end. */
static void join_line(const struct invocation *call, const char *const *front,
                      const char *const *dropped, int max_operands, char line[SHELL_LINE_NBYTES])
{
        const char *const none[] = { NULL }, *const end = line + SHELL_LINE_NBYTES;
        const char *const *left_out = max_operands < call->noperands
                                              ? (const char *const *)call->operands + max_operands
                                              : none;
        char *to = shell_append(line, end, "kcount");
        if (strcmp(call->words[0], call->command->name) == 0)
                to = shell_append_next(to, end, call->command->name);
        for (; *front != NULL; front++)
                to = shell_append_next(to, end, *front);
        for (size_t i = 1; i < call->nwords; i++)
                if (!is_among(call->words[i], dropped) && !is_among(call->words[i], left_out))
                        to = shell_append_next(to, end, call->words[i]);
        if (*left_out != NULL)
                shell_append_next(to, end, "...");
}

const char *invocation_line(const struct invocation *call, const char *const *front,
                            const char *const *dropped, char line[SHELL_LINE_NBYTES])
{
        enum { MOST_LETTERS = 400 };
        join_line(call, front, dropped, call->noperands, line);
        if (strlen(line) > MOST_LETTERS && call->noperands > 1)
                join_line(call, front, dropped, 1, line);
        return line;
}

enum kc_status options_check_range(uint64_t min, uint64_t max, struct kc_error *err)
{
        if (min <= max)
                return KC_OK;
        return kc_fail(err, KC_EUSAGE, "--min %llu is above --max %llu", (unsigned long long)min,
                       (unsigned long long)max);
}
