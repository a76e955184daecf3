#include "app/help.h"

#include <stdio.h>
#include <string.h>

enum { LINE_WIDTH = 79, OPTION_INDENT = 26 };

/*
 * Print the words of text, starting at column; lines break before LINE_WIDTH and at "\n" in text,
 * and later lines are indented. Ends with a newline.
 */
static void put_wrapped(struct text_out *out, const char *text, int column, int indent)
{
        bool line_start = true;
        while (*text) {
                if (*text == ' ' || *text == '\n') {
                        if (*text == '\n') {
                                text_out_printf(out, "\n%*s", text[1] == '\n' ? 0 : indent, "");
                                column = indent;
                                line_start = true;
                        }
                        text++;
                        continue;
                }
                int n = (int)strcspn(text, " \n");
                if (!line_start && column + 1 + n > LINE_WIDTH) {
                        text_out_printf(out, "\n%*s", indent, "");
                        column = indent;
                        line_start = true;
                }
                text_out_printf(out, "%s%.*s", line_start ? "" : " ", n, text);
                column += n + !line_start;
                line_start = false;
                text += n;
        }
        text_out_puts(out, "\n");
}

static void put_option(struct text_out *out, const struct option_spec *spec)
{
        char left[80], text[1024];
        int n = snprintf(left, sizeof left, "  %c%c%s --%s%s%s", spec->letter ? '-' : ' ',
                         spec->letter ? spec->letter : ' ', spec->letter ? "," : " ", spec->name,
                         spec->argument ? " " : "", spec->argument ? spec->argument : "");
        snprintf(text, sizeof text, spec->preset ? "%s Default: %s." : "%s", spec->help,
                 spec->preset);
        text_out_puts(out, left);
        if (n >= OPTION_INDENT - 1) {
                text_out_puts(out, "\n");
                n = 0;
        }
        text_out_printf(out, "%*s", OPTION_INDENT - n, "");
        put_wrapped(out, text, OPTION_INDENT, OPTION_INDENT);
}

void help_command(struct text_out *out, const struct command *command)
{
        text_out_printf(out, "Usage: kcount %s [OPTION]... %s\n", command->name, command->operands);
        put_wrapped(out, command->summary, 0, 0);
        text_out_puts(out, "\n");
        put_wrapped(out, command->description, 0, 0);
        text_out_puts(out, "\nOptions:\n");
        for (const struct option_spec *s = command->options; s->type != OPTION_END; s++)
                if (!s->hidden)
                        put_option(out, s);
        text_out_puts(out, "  -h, --help              Print this help.\n");
        if (command->examples) {
                text_out_puts(out, "\nExamples:\n");
                text_out_puts(out, command->examples);
        }
}

void help_overview(struct text_out *out)
{
        text_out_puts(out, "kcount: count the k-mers of sequencing reads\n\n"
                           "Usage: kcount FILE... -k K [OPTION]...    count (the same as kcount "
                           "count)\n"
                           "       kcount COMMAND [ARGUMENT]...\n\nCommands:\n");
        for (const struct command *const *c = command_table; *c; c++)
                text_out_printf(out, "  %-8s %s\n", (*c)->name, (*c)->summary);
        text_out_puts(out, "\nSee 'kcount COMMAND --help', or 'man kcount' for all of it.\n");
}

void help_version(struct text_out *out)
{
        text_out_puts(out, "kcount " KCOUNT_VERSION "\n");
}
