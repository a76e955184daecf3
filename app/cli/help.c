#include "app/cli/help.h"

#include "gpu/gpu.h"
#include "ranks/ranks.h"

#include <stdio.h>
#include <string.h>

enum { LINE_WIDTH = 79, OPTION_INDENT = 24, USAGE_NEXAMPLES = 3 };

/* ---- options ---- */

bool help_shows(const struct option_spec *spec)
{
        switch (spec->needs) {
        case OPTION_NEEDS_CUDA:
                return !spec->hidden && kc_gpu_has_engine();
        case OPTION_NEEDS_MPI:
                return !spec->hidden && kc_ranks_in_build();
        default:
                return !spec->hidden;
        }
}

size_t help_sentence_length(const char *text)
{
        const char *stop = strstr(text, ". ");
        const size_t n = stop ? (size_t)(stop - text) : strlen(text);
        return n > 0 && text[n - 1] == '.' ? n - 1 : n;
}

/* Where the option is listed. In a build without CUDA and MPI, --device alone makes no group. */
static enum option_group heading_of(const struct option_spec *spec)
{
        const bool plain = !kc_gpu_has_engine() && !kc_ranks_in_build();
        return plain && spec->group == OPTION_DEVICES ? OPTION_COMMON : spec->group;
}

static bool is_explained_elsewhere(const struct command *command, const struct option_spec *spec)
{
        return command->base != NULL && spec->group != OPTION_OWN &&
               option_find(command->base->options, spec->name) != NULL;
}

/* text: what is said about the option, n bytes */
static void put_option(struct text_out *out, const struct option_spec *spec, const char *text,
                       size_t n)
{
        char left[80], right[1024];
        int column =
                snprintf(left, sizeof left, "  %c%c%s --%s%s%s", spec->letter ? '-' : ' ',
                         spec->letter ? spec->letter : ' ', spec->letter ? "," : " ", spec->name,
                         spec->argument ? " " : "", spec->argument ? spec->argument : "");
        snprintf(right, sizeof right, "%.*s", (int)n, text);
        text_out_puts(out, left);
        if (column >= OPTION_INDENT - 1) {
                text_out_puts(out, "\n");
                column = 0;
        }
        text_out_printf(out, "%*s", OPTION_INDENT - column, "");
        text_out_words(out, right, OPTION_INDENT, OPTION_INDENT, LINE_WIDTH);
}

static void put_whole_option(struct text_out *out, const struct option_spec *spec)
{
        char text[1024];
        const int n = snprintf(text, sizeof text, spec->preset ? "%s Default: %s." : "%s",
                               spec->help, spec->preset);
        put_option(out, spec, text, (size_t)n);
}

/* The options of the groups from first to last, with those of every command, under a title if there
 * are any. */
static void put_group(struct text_out *out, const struct command *command, const char *title,
                      enum option_group first, enum option_group last)
{
        const struct option_spec *const tables[] = { command->options, general_options };
        bool titled = false;
        for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
                for (const struct option_spec *s = tables[i]; s->type != OPTION_END; s++) {
                        if (!help_shows(s) || heading_of(s) < first || heading_of(s) > last ||
                            (i == 0 && is_explained_elsewhere(command, s)))
                                continue;
                        if (!titled)
                                text_out_printf(out, "\n%s:\n", title);
                        titled = true;
                        put_whole_option(out, s);
                }
}

/* The names of the options that another command's --help explains. */
static void put_options_of_base(struct text_out *out, const struct command *command)
{
        char text[1024];
        size_t n = (size_t)snprintf(text, sizeof text,
                                    "Also options of 'kcount %s --help':", command->base->name);
        for (const struct option_spec *s = command->options; s->type != OPTION_END; s++)
                if (!help_shows(s) || !is_explained_elsewhere(command, s))
                        continue;
                else if (s->letter)
                        n += (size_t)snprintf(text + n, sizeof text - n, " -%c", s->letter);
                else
                        n += (size_t)snprintf(text + n, sizeof text - n, " --%s", s->name);
        text_out_puts(out, "  ");
        text_out_words(out, text, 2, 7, LINE_WIDTH);
}

/* ---- a command ---- */

static void put_title(struct text_out *out, const struct command *command)
{
        text_out_printf(out, "Usage: kcount %s [OPTION]... %s\n%s.\n", command->name,
                        command->operands, command->summary);
}

/* The length of the first n lines, or of all if there are fewer. */
static size_t lines_length(const char *text, int n)
{
        const char *end = text;
        for (; n > 0 && *end != '\0'; n--)
                end += strcspn(end, "\n") + 1;
        return (size_t)(end - text);
}

void help_command(struct text_out *out, const struct command *command)
{
        put_title(out, command);
        text_out_puts(out, "\nExamples:\n");
        text_out_puts(out, command->examples);
        put_group(out, command, "Options", OPTION_OWN, OPTION_SHARED);
        if (command->base != NULL) {
                text_out_puts(out, "\n");
                put_options_of_base(out, command);
        }
        put_group(out, command, "Common options", OPTION_COMMON, OPTION_COMMON);
        put_group(out, command, "GPU and clusters", OPTION_DEVICES, OPTION_DEVICES);
        text_out_puts(out, "\n");
        text_out_words(out, command->description, 0, 0, LINE_WIDTH);
}

/* The names of the options that -h does not explain. Of those for devices, --device will do. */
static void put_names(struct text_out *out, const struct command *command)
{
        char text[1024] = "";
        size_t n = 0;
        for (const struct option_spec *s = command->options; s->type != OPTION_END; s++)
                if (help_shows(s) && s->group >= OPTION_COMMON && s->needs == OPTION_NEEDS_NOTHING)
                        n += (size_t)snprintf(text + n, sizeof text - n, "%s--%s%s%s",
                                              n > 0 ? ", " : "", s->name, s->argument ? " " : "",
                                              s->argument ? s->argument : "");
        if (n > 0) {
                text_out_puts(out, "  Also ");
                text_out_words(out, text, 7, 7, LINE_WIDTH);
        }
}

void help_usage(struct text_out *out, const struct command *command)
{
        put_title(out, command);
        text_out_puts(out, "\n");
        text_out_write(out, command->examples, lines_length(command->examples, USAGE_NEXAMPLES));
        text_out_puts(out, "\n");
        for (const struct option_spec *s = command->options; s->type != OPTION_END; s++)
                if (help_shows(s) && s->group <= OPTION_SHARED &&
                    !is_explained_elsewhere(command, s))
                        put_option(out, s, s->help, help_sentence_length(s->help));
        if (command->base != NULL)
                put_options_of_base(out, command);
        else
                put_names(out, command);
        text_out_printf(out, "\n'kcount %s --help' has all options and details.\n", command->name);
}

/* ---- all commands ---- */

void help_overview(struct text_out *out)
{
        static const char *const titles[] = { [COMMAND_COUNTS] = "Count",
                                              [COMMAND_LOOKS] = "Look",
                                              [COMMAND_COMBINES] = "Combine",
                                              [COMMAND_CHANGES] = "Change",
                                              [COMMAND_CONVERTS] = "Convert" };
        enum command_group group = COMMAND_NONE;
        text_out_puts(out,
                      "kcount " KCOUNT_VERSION ": count k-mers\n"
                      "  kcount reads.fq.gz -k 31      writes reads.kc; then: kcount hist reads.kc"
                      "\n");
        for (const struct command *const *c = command_table; *c; c++) {
                if ((*c)->group == COMMAND_NONE)
                        continue;
                text_out_printf(out, "%-7s  %-9s  %s\n",
                                (*c)->group == group ? "" : titles[(*c)->group], (*c)->name,
                                (*c)->summary);
                group = (*c)->group;
        }
        text_out_puts(out, "'kcount COMMAND -h' gives short help, '--help' full help; see also "
                           "'man kcount'.\n");
}
