/*
 * The manual page in mdoc(7), generated from the tables of commands and options. docs/kcount.1 is
 * this output; a test compares it with the program's.
 */
#include "app/cli/help.h"

#include <string.h>

/* The date of the last change to the page's contents, not of the build, so that pages can be
 * compared. */
#define MANUAL_DATE "November 26, 2026"

#define LIST_OF_OPTIONS ".Bl -tag -width 18n -compact\n"

/* Print text as a macro's argument or a text line, escaped so that roff does not interpret any of
 * it. */
static void put_roff(struct text_out *out, const char *text, size_t n)
{
        bool line_start = true;
        for (size_t i = 0; i < n; i++) {
                if (line_start && (text[i] == '.' || text[i] == '\''))
                        text_out_puts(out, "\\&");
                line_start = text[i] == '\n';
                if (text[i] == '\\')
                        text_out_puts(out, "\\e");
                else if (text[i] == '-')
                        text_out_puts(out, "\\-");
                else
                        text_out_write(out, text + i, 1);
        }
}

/* Print paragraphs, separated by "\n\n" in text, and lines, separated by "\n". Each sentence has a
 * line of the output, as mdoc wants. */
static void put_paragraphs(struct text_out *out, const char *text)
{
        while (*text) {
                const char *stop = strstr(text, ". ");
                const char *line = strchr(text, '\n');
                if (stop && (line == NULL || stop < line)) {
                        put_roff(out, text, (size_t)(stop + 1 - text));
                        text_out_puts(out, "\n");
                        text = stop + 2;
                } else if (line) {
                        const bool paragraph = line[1] == '\n';
                        put_roff(out, text, (size_t)(line - text));
                        text_out_puts(out, paragraph ? "\n.Pp\n" : "\n.br\n");
                        text = line + 1 + paragraph;
                } else {
                        put_roff(out, text, strlen(text));
                        text_out_puts(out, "\n");
                        break;
                }
        }
}

/* mdoc may take an argument for a macro's name ("No" after "Ar"): a leading \& keeps it text. */
static void put_argument(struct text_out *out, const char *argument)
{
        text_out_puts(out, " Ar \\&");
        put_roff(out, argument, strlen(argument));
}

static void put_option(struct text_out *out, const struct option_spec *spec)
{
        text_out_puts(out, ".It");
        if (spec->letter)
                text_out_printf(out, " Fl %c ,", spec->letter);
        text_out_puts(out, " Fl \\-");
        put_roff(out, spec->name, strlen(spec->name));
        if (spec->argument)
                put_argument(out, spec->argument);
        text_out_puts(out, "\n");
        put_paragraphs(out, spec->help);
        if (spec->preset)
                text_out_printf(out, "Default: %s.\n", spec->preset);
}

/* The examples of all commands, those of a group of commands together. */
static void put_examples(struct text_out *out)
{
        enum command_group group = command_table[0]->group;
        text_out_puts(out, ".Sh EXAMPLES\n.Bd -literal\n");
        for (const struct command *const *c = command_table; *c; c++) {
                if ((*c)->group != group)
                        text_out_puts(out, "\n");
                group = (*c)->group;
                put_roff(out, (*c)->examples, strlen((*c)->examples));
        }
        text_out_puts(out, ".Ed\n");
}

/* ---- options ---- */

static bool is_own(const struct option_spec *spec)
{
        return !spec->hidden && spec->group == OPTION_OWN;
}

static bool is_common(const struct option_spec *spec)
{
        return !spec->hidden && spec->group != OPTION_OWN;
}

static void put_own_options(struct text_out *out, const struct command *command)
{
        bool listed = false;
        for (const struct option_spec *s = command->options; s->type != OPTION_END; s++) {
                if (!is_own(s))
                        continue;
                if (!listed)
                        text_out_puts(out, ".Pp\n" LIST_OF_OPTIONS);
                listed = true;
                put_option(out, s);
        }
        if (listed)
                text_out_puts(out, ".El\n");
}

/* The names of those of the command's options that COMMON OPTIONS explains. */
static void put_common_names(struct text_out *out, const struct command *command)
{
        const char *before = ".Pp\nCommon options:\n";
        for (const struct option_spec *s = command->options; s->type != OPTION_END; s++) {
                if (!is_common(s))
                        continue;
                text_out_puts(out, before);
                before = " ,\n";
                if (s->letter) {
                        text_out_printf(out, ".Fl %c", s->letter);
                        continue;
                }
                text_out_puts(out, ".Fl \\-");
                put_roff(out, s->name, strlen(s->name));
        }
        if (*before == ' ')
                text_out_puts(out, " .\n");
}

/* Whether a command before `command` in the table shares the option with it. */
static bool is_listed(const struct command *const *command, const struct option_spec *spec)
{
        for (const struct command *const *c = command_table; c != command; c++)
                for (const struct option_spec *s = (*c)->options; s->type != OPTION_END; s++)
                        if (is_common(s) && strcmp(s->name, spec->name) == 0)
                                return true;
        return false;
}

static void put_common_options(struct text_out *out)
{
        text_out_puts(out, ".Sh COMMON OPTIONS\n"
                           "Each command accepts the options that its section names; all "
                           "commands accept the last four.\n.Pp\n" LIST_OF_OPTIONS);
        for (enum option_group group = OPTION_SHARED; group <= OPTION_DEVICES; group++)
                for (const struct command *const *c = command_table; *c; c++)
                        for (const struct option_spec *s = (*c)->options; s->type != OPTION_END;
                             s++)
                                if (is_common(s) && s->group == group && !is_listed(c, s))
                                        put_option(out, s);
        for (const struct option_spec *s = general_options; s->type != OPTION_END; s++)
                put_option(out, s);
        text_out_puts(out, ".El\n");
}

/* ---- the page ---- */

static void put_command(struct text_out *out, const struct command *command)
{
        text_out_printf(out, ".Ss kcount %s ", command->name);
        put_roff(out, command->operands, strlen(command->operands));
        text_out_puts(out, "\n");
        put_roff(out, command->summary, strlen(command->summary));
        text_out_puts(out, ".\n");
        put_paragraphs(out, command->description);
        put_own_options(out, command);
        put_common_names(out, command);
}

static const char description[] =
        "counts the k-mers of sequencing reads, the substrings of length K, and keeps the counts "
        "in one sorted file that can be dumped, queried and scanned by ranges.\n"
        ".Pp\n"
        "Without a command word, the arguments are files to count.\n"
        "Options and files may come in any order;\n"
        ".Fl \\-\n"
        "ends the options.\n"
        "A file whose name is also that of a command is given as\n"
        ".Pa \\&./count ,\n"
        "or after the word\n"
        ".Cm count .\n"
        ".Pp\n"
        "Called by the name\n"
        ".Nm kcount\\-kmc\n"
        "or\n"
        ".Nm kmc ,\n"
        "it takes the command line of KMC 3.2.1's program kmc and writes what that would write;\n"
        ".Ic kcount\\-kmc \\-\\-help\n"
        "lists the options.\n"
        ".Pp\n"
        "Standard output carries data only.\n"
        "Messages, the progress bar and the summary go to standard error.\n";

static const char end_matter[] =
        ".Sh K\\-MERS\n"
        "K is from 1 to 255.\n"
        "Letters are read in either case, and U as T.\n"
        "k\\-mers that contain other letters, such as N, are not counted.\n"
        "Unless\n"
        ".Fl \\-stranded\n"
        "is given, a k\\-mer and its reverse complement are counted together under the one of them "
        "that comes first in the alphabet, the canonical form.\n"
        "Counts are 32 bits wide and stop at 4294967295; totals are 64 bits wide and exact.\n"
        ".Sh EXIT CODES\n"
        ".Bl -tag -width Ds -compact\n"
        ".It 0\n"
        "The work is done.\n"
        ".It 1\n"
        "The work failed; a message on standard error says why.\n"
        "No half\\-written file is left behind, and an existing one is as it was.\n"
        ".Cm check Fl \\-repair\n"
        "ends with this code, too, if anything is lost; the copy is kept then.\n"
        ".It 2\n"
        "The command line is wrong, or the files do not go together.\n"
        ".It 3\n"
        "From\n"
        ".Cm check\n"
        "only: the file has lost no data, but should be repaired; a message says what is wrong.\n"
        "The next\n"
        ".Cm add , remove\n"
        "or\n"
        ".Cm compact\n"
        "repairs it.\n"
        ".El\n"
        ".Sh FILES AND SIGNALS\n"
        "An output has no name until it is complete, so nothing of it is left behind, whatever "
        "ends\n"
        ".Nm .\n"
        "On file systems that do not allow files without a name (NFS, FAT and others), its name\n"
        "is\n"
        ".Pa FILE.tmp.PID.N\n"
        "until then; after\n"
        ".Dv SIGKILL\n"
        "or a power failure, such a file can be deleted.\n"
        ".Pp\n"
        "A signal that would end a program, such as\n"
        ".Dv SIGINT , SIGTERM , SIGHUP , SIGQUIT , SIGUSR1\n"
        "or\n"
        ".Dv SIGXCPU ,\n"
        "makes\n"
        ".Nm\n"
        "stop its work, remove what it has written, and end by that signal.\n"
        "If a second signal arrives, or three seconds pass, it ends at once.\n"
        "A signal that is ignored at the start, as with\n"
        ".Xr nohup 1 ,\n"
        "stays ignored.\n"
        "At the limit on the size of files\n"
        ".Pq Ic ulimit \\-f\n"
        "the command fails with a message, because\n"
        ".Dv SIGXFSZ\n"
        "is always ignored.\n"
        ".Pp\n"
        "A command that changes or replaces a file locks it\n"
        ".Pq Xr flock 2\n"
        "until it ends.\n"
        "Another command that would change the file fails at once with a message; readers are not "
        "affected.\n"
        "If another program replaces the file in the meantime, the command fails, because its "
        "result would be lost.\n"
        ".Sh SEE ALSO\n"
        ".Xr bgzip 1 ,\n"
        ".Xr jellyfish 1 ,\n"
        ".Xr kmc 1 ,\n"
        ".Xr samtools 1\n";

void help_manual(struct text_out *out)
{
        text_out_puts(out, ".\\\" Made by 'kcount help --man'; do not edit.\n"
                           ".Dd " MANUAL_DATE "\n.Dt KCOUNT 1\n.Os kcount " KCOUNT_VERSION "\n"
                           ".Sh NAME\n.Nm kcount\n.Nd count the k\\-mers of sequencing reads\n"
                           ".Sh SYNOPSIS\n"
                           ".Nm\n.Op Ar OPTION ...\n.Ar FILE ...\n.Fl k Ar K\n"
                           ".Nm\n.Ar COMMAND\n.Op Ar OPTION ...\n.Op Ar ARGUMENT ...\n"
                           ".Sh DESCRIPTION\n.Nm\n");
        text_out_puts(out, description);
        put_examples(out);
        text_out_puts(out, ".Sh COMMANDS\n");
        for (const struct command *const *c = command_table; *c; c++)
                put_command(out, *c);
        put_common_options(out);
        text_out_puts(out, end_matter);
}
