/*
 * The manual page in mdoc(7), generated from the tables of commands and options. docs/kcount.1 is
 * this output; a test compares it with the program's.
 */
#include "app/help.h"

#include <string.h>

/* The date of the last change to the page's contents, not of the build, so that pages can be
 * compared. */
#define MANUAL_DATE "November 23, 2026"

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

/* Print paragraphs, separated by "\n\n" in text, one sentence per line, as mdoc wants. */
static void put_paragraphs(struct text_out *out, const char *text)
{
        while (*text) {
                const char *stop = strstr(text, ". ");
                const char *paragraph = strstr(text, "\n\n");
                if (stop && (paragraph == NULL || stop < paragraph)) {
                        put_roff(out, text, (size_t)(stop + 1 - text));
                        text_out_puts(out, "\n");
                        text = stop + 2;
                } else if (paragraph) {
                        put_roff(out, text, (size_t)(paragraph - text));
                        text_out_puts(out, "\n.Pp\n");
                        text = paragraph + 2;
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

static void put_synopsis(struct text_out *out)
{
        text_out_puts(out, ".Nm\n.Op Ar OPTION ...\n.Ar FILE ...\n.Fl k Ar K\n");
        for (const struct command *const *c = command_table; *c; c++) {
                text_out_printf(out, ".Nm\n.Cm %s\n.Op Ar OPTION ...\n.Ar ", (*c)->name);
                put_roff(out, (*c)->operands, strlen((*c)->operands));
                text_out_puts(out, "\n");
        }
}

static void put_examples(struct text_out *out, const char *examples)
{
        text_out_puts(out, "Examples:\n.Bd -literal -offset indent\n");
        put_roff(out, examples, strlen(examples));
        text_out_puts(out, ".Ed\n");
}

static void put_command(struct text_out *out, const struct command *command)
{
        text_out_printf(out, ".Ss kcount %s ", command->name);
        put_roff(out, command->operands, strlen(command->operands));
        text_out_puts(out, "\n");
        put_paragraphs(out, command->summary);
        text_out_puts(out, ".Pp\n");
        put_paragraphs(out, command->description);
        bool listed = false;
        for (const struct option_spec *s = command->options; s->type != OPTION_END; s++) {
                if (s->hidden)
                        continue;
                if (!listed)
                        text_out_puts(out, ".Bl -tag -width Ds\n");
                listed = true;
                put_option(out, s);
        }
        if (listed)
                text_out_puts(out, ".El\n");
        if (command->examples) {
                text_out_puts(out, ".Pp\n");
                put_examples(out, command->examples);
        }
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
        "Every command accepts\n"
        ".Fl h , Fl \\-help ,\n"
        ".Fl V , Fl \\-version\n"
        "and\n"
        ".Fl \\-no\\-mpi .\n"
        "With\n"
        ".Fl \\-no\\-mpi ,\n"
        "or if the environment variable\n"
        ".Ev KCOUNT_MPI\n"
        "is \"off\", a process that mpirun or srun has started runs alone, without looking for\n"
        "the others.\n"
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
        "Any letter but A, C, G, T and U breaks the k\\-mer: no k\\-mer that covers it is "
        "counted.\n"
        "Unless\n"
        ".Fl \\-stranded\n"
        "is given, a k\\-mer and its reverse complement are counted together under the one of them "
        "that comes first in the alphabet, the canonical form.\n"
        "Counts are 32 bits wide and stop at 4294967295; totals are 64 bits wide and exact.\n"
        ".Sh EXIT STATUS\n"
        ".Bl -tag -width Ds\n"
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
        "Of\n"
        ".Cm check\n"
        "only: the file has lost no data, but should be repaired; a message says what is wrong.\n"
        "The next\n"
        ".Cm add , remove\n"
        "or\n"
        ".Cm compact\n"
        "repairs it.\n"
        ".El\n"
        ".Sh FILES AND SIGNALS\n"
        "An output has no name until it is complete, so nothing of it is left behind, whatever ends "
        "the program.\n"
        "Some file systems (NFS, FAT and others) do not allow files without a name: there the name "
        "is\n"
        ".Pa FILE.tmp.PID.N\n"
        "until then.\n"
        "Such a file may be left behind by\n"
        ".Dv SIGKILL\n"
        "or a power failure, and can be deleted.\n"
        ".Pp\n"
        "A signal that would end a program, such as\n"
        ".Dv SIGINT , SIGTERM , SIGHUP , SIGQUIT , SIGUSR1\n"
        "or\n"
        ".Dv SIGXCPU ,\n"
        "makes\n"
        ".Nm\n"
        "stop its work, remove what it has written, and end by that signal.\n"
        "If a second signal arrives, or three seconds pass, it ends at once.\n"
        "A signal that is ignored when\n"
        ".Nm\n"
        "starts, as with\n"
        ".Xr nohup 1 ,\n"
        "stays ignored.\n"
        ".Dv SIGXFSZ\n"
        "is always ignored: at the limit on the size of files\n"
        ".Pq Ic ulimit \\-f\n"
        "the command fails with a message.\n"
        ".Pp\n"
        "A command that changes or replaces a file locks it\n"
        ".Pq Xr flock 2\n"
        "from its start to its end.\n"
        "Another command that would change the file fails at once with a message; readers are not "
        "affected.\n"
        "If some other program replaces a file while\n"
        ".Cm add , remove\n"
        "or\n"
        ".Cm compact\n"
        "works on it, the command fails, because its result would be lost.\n"
        ".Sh SEE ALSO\n"
        ".Xr bgzip 1 ,\n"
        ".Xr samtools 1\n";

void help_manual(struct text_out *out)
{
        text_out_puts(out, ".\\\" Made by 'kcount help --man'; do not edit.\n"
                           ".Dd " MANUAL_DATE "\n.Dt KCOUNT 1\n.Os kcount " KCOUNT_VERSION "\n"
                           ".Sh NAME\n.Nm kcount\n.Nd count the k\\-mers of sequencing reads\n"
                           ".Sh SYNOPSIS\n");
        put_synopsis(out);
        text_out_puts(out, ".Sh DESCRIPTION\n.Nm\n");
        text_out_puts(out, description);
        text_out_puts(out, ".Sh COMMANDS\n");
        for (const struct command *const *c = command_table; *c; c++)
                put_command(out, *c);
        text_out_puts(out, end_matter);
}
