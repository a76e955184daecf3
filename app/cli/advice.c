#include "app/cli/advice.h"

#include "app/cli/message.h"
#include "app/cli/output_name.h"
#include "app/cli/shell.h"
#include "app/library/memory.h"
#include "base/new_file.h"
#include "io/input/input.h"
#include "io/store.h"
#include "kmer/remedy.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILTERS = KC_REMEDY_FILTER | KC_REMEDY_FILTER_HEAD | KC_REMEDY_FILTER_WHOLE };

/* What a row of the table needs to add its advice to the text. */
struct advising {
        const struct invocation *call; /* NULL: there is none */
        const struct kc_error *failure;
        char *text; /* [ADVICE_NBYTES] */
};

struct advice {
        unsigned remedy;
        const char *option;   /* that applies it; NULL: none is needed */
        const char *text;     /* goes before the option, or stands alone */
        const char *argument; /* of the option, or NULL */
        /* Appends what depends on the file. If it appends nothing, the text is dropped, too. */
        void (*put)(const struct advising *a);
};

static const struct option_spec *find_option(const struct invocation *call, const char *name)
{
        return call != NULL ? option_find(call->command->options, name) : NULL;
}

static void append(const struct advising *a, const char *format, ...)
        __attribute__((format(printf, 2, 3)));

static void append(const struct advising *a, const char *format, ...)
{
        const size_t n = strlen(a->text);
        va_list args;
        va_start(args, format);
        vsnprintf(a->text + n, ADVICE_NBYTES - n, format, args);
        va_end(args);
}

static void append_word(const struct advising *a, const char *word)
{
        shell_append(a->text + strlen(a->text), a->text + ADVICE_NBYTES, word);
}

static bool is_standard_input(const char *name)
{
        return strcmp(name, kc_input_name("-")) == 0;
}

/* Whether it is a file that a command can name. */
static bool is_named(const struct kc_error *failure)
{
        return failure->file[0] != '\0' && !is_standard_input(failure->file);
}

/* ---- commands for the file ---- */

static void put_store(const struct advising *a)
{
        append_word(a, is_named(a->failure) ? a->failure->file : "FILE.kc");
}

static void put_repair(const struct advising *a)
{
        const char *file = is_named(a->failure) ? a->failure->file : "FILE.kc";
        char copy[KC_ERROR_FILE_NBYTES + sizeof ".repaired.kc"];
        snprintf(copy, sizeof copy, "%.*s.repaired.kc", (int)output_stem_length(file), file);
        append_word(a, file);
        append(a, " --repair ");
        append_word(a, copy);
}

/* If several operands are .kc files. */
static void put_merge(const struct advising *a)
{
        enum { MOST = 20 };
        char text[ADVICE_NBYTES] = "";
        const struct advising names = { a->call, a->failure, text };
        int n = 0;
        for (int i = 0; a->call != NULL && i < a->call->noperands; i++)
                if (kc_store_recognizes(a->call->operands[i]) && ++n <= MOST) {
                        append(&names, " ");
                        append_word(&names, a->call->operands[i]);
                }
        if (n > 1)
                append(a, "to add up the .kc files: kcount merge%s -o all.kc",
                       n > MOST ? " FILE.kc..." : text);
}

static void put_print(const struct advising *a)
{
        append(a, "%s ", find_option(a->call, "plot") != NULL ? "hist" : "dump");
        put_store(a);
}

static void append_output(const struct advising *a, char *name)
{
        append(a, " -o ");
        append_word(a, name != NULL ? name : "X.kc");
        free(name);
}

/* A KMC database is named without the endings of its two files. */
static void put_import(const struct advising *a)
{
        char file[KC_ERROR_FILE_NBYTES];
        if (!is_named(a->failure))
                return;
        strcpy(file, a->failure->file);
        file[output_database_length(file)] = '\0';
        if (access(file, F_OK) == 0) /* then that is what the name without an ending means */
                strcpy(file, a->failure->file);
        append_word(a, file);
        append_output(a, output_name_imported(a->failure->file));
}

/* "kcount" and the command's name, if the user typed it. */
static void append_command(const struct advising *a)
{
        const char *name = a->call->command->name;
        append(a, "kcount");
        if (strcmp(a->call->words[0], name) == 0)
                append(a, " %s", name);
}

#define EXAMPLE_K "31"

static void put_count(const struct advising *a)
{
        const char *file = a->failure->file;
        const char *const nothing[] = { NULL };
        /* report has -k, too, but the name of a file tells it whether this is a .kc file */
        const bool counts_itself =
                find_option(a->call, "kmer") != NULL && find_option(a->call, "assembly") == NULL;
        char line[SHELL_LINE_NBYTES];
        if (a->failure->remedies & FILTERS)
                return;
        if (*file == '\0' && counts_itself) {
                append(a, "to count the k-mers of reads, add -k K");
        } else if (*file != '\0') {
                append(a, "count them: ");
                if (counts_itself) {
                        append(a, "%s", invocation_line(a->call, nothing, nothing, line));
                } else {
                        append(a, "kcount ");
                        append_word(a, is_standard_input(file) ? "-" : file);
                }
                append(a, " -k " EXAMPLE_K);
        }
}

/* ---- another input ---- */

/* Whether the folder is a database of meryl. */
static bool is_meryl(const char *path)
{
        char index[4096];
        const int n = snprintf(index, sizeof index, "%s/merylIndex", path);
        return n > 0 && (size_t)n < sizeof index && access(index, F_OK) == 0;
}

static bool matches(const char *name, const char *pattern)
{
        const size_t n = strlen(name), ending = strlen(pattern) - 1;
        return name[0] != '.' && n > ending && strcmp(name + n - ending, pattern + 1) == 0;
}

/* A pattern that matches the most files of reads in the folder, such as "*.fq.gz"; NULL: none. */
static const char *find_pattern(const char *path)
{
        static const char *const patterns[] = {
                "*.fq.gz",    "*.fastq.gz", "*.fq", "*.fastq", "*.fq.zst", "*.fastq.zst", "*.fa.gz",
                "*.fasta.gz", "*.fna.gz",   "*.fa", "*.fasta", "*.fna",    "*.bam",       "*.cram",
        };
        enum { N = sizeof patterns / sizeof *patterns };
        size_t nfiles[N] = { 0 }, best = 0;
        DIR *folder = opendir(path);
        const struct dirent *entry;
        while (folder != NULL && (entry = readdir(folder)) != NULL)
                for (size_t i = 0; i < N; i++)
                        nfiles[i] += matches(entry->d_name, patterns[i]);
        if (folder != NULL)
                closedir(folder);
        for (size_t i = 1; i < N; i++)
                if (nfiles[i] > nfiles[best])
                        best = i;
        return nfiles[best] > 0 ? patterns[best] : NULL;
}

/* quoted: the folder */
static void append_pattern(const struct advising *a, const char *quoted)
{
        const char *file = a->failure->file, *pattern = find_pattern(file);
        if (pattern != NULL)
                append(a, "name the files: %s%s%s", quoted,
                       file[strlen(file) - 1] == '/' ? "" : "/", pattern);
        else
                append(a, "it holds no file that looks like reads");
}

/* Whether the first line of the file is the name of another one, as in a list of files. */
static bool names_a_file(const char *path)
{
        char line[KC_ERROR_FILE_NBYTES] = "";
        struct stat st;
        FILE *file = stat(path, &st) == 0 && S_ISREG(st.st_mode) ? fopen(path, "re") : NULL;
        if (file == NULL)
                return false;
        const bool read = fgets(line, sizeof line, file) != NULL;
        fclose(file);
        line[strcspn(line, "\n")] = '\0';
        return read && access(line, F_OK) == 0;
}

static void put_other_input(const struct advising *a)
{
        const char *file = a->failure->file;
        const bool reads = find_option(a->call, "min-quality") != NULL;
        if (is_named(a->failure) && kc_path_is_folder(file)) {
                char quoted[SHELL_LINE_NBYTES];
                shell_word(file, quoted);
                if (is_meryl(file)) {
                        append(a, "convert it: meryl print %s | kcount import - --canonical",
                               quoted);
                        append_output(a, output_name_imported(file));
                } else if (reads && a->failure->status == KC_EINPUT) {
                        append_pattern(a, quoted);
                } else {
                        append(a, "name a file in it");
                }
        } else if (reads) {
                append(a, "name a file of reads: FASTQ, FASTA, SAM, BAM or CRAM");
                if (is_named(a->failure) && names_a_file(file)) {
                        char list[KC_ERROR_FILE_NBYTES + 1];
                        snprintf(list, sizeof list, "@%s", file);
                        append(a, "; if it is a list of files, write ");
                        append_word(a, list);
                }
        } else if (find_option(a->call, "file") != NULL) {
                append(a, "name a file of sequences: FASTA, FASTQ or lines");
        }
}

/* ---- filters ---- */

/* Whether the filter can read several files at once. Only compressions that kcount cannot read are
 * listed: it would refuse the other files, too. "lz4 -dc" takes a second name for its output. */
static bool takes_several(const char *filter)
{
        static const char *const filters[] = { "xz -dc FILE", "lzip -dc FILE", "lzop -dc FILE" };
        for (size_t i = 0; i < sizeof filters / sizeof *filters; i++)
                if (strcmp(filter, filters[i]) == 0)
                        return true;
        return false;
}

/* The last two endings of a name, such as ".fq.xz"; "" if it has fewer. */
static const char *endings_of(const char *name)
{
        const char *end = name + strlen(name);
        for (int i = 0; i < 2 && end != NULL; i++)
                end = memrchr(name, '.', (size_t)(end - name));
        return end != NULL ? end : "";
}

static bool is_operand(const struct invocation *call, const char *word)
{
        for (int i = 0; i < call->noperands; i++)
                if (call->operands[i] == word)
                        return true;
        return false;
}

/* Whether the word of the command line names the file, or another one that the filter can read with
 * it. */
static bool is_filtered(const struct advising *a, const char *word)
{
        const char *file = is_standard_input(a->failure->file) ? "-" : a->failure->file;
        const char *endings = endings_of(file);
        if (strcmp(word, file) == 0)
                return true;
        return *endings != '\0' && strcmp(endings_of(word), endings) == 0 &&
               takes_several(a->failure->filter) && is_operand(a->call, word);
}

/* Whether the command line can be repeated with - in place of the file. */
static bool is_repeatable(const struct advising *a)
{
        enum { MOST_LETTERS = 1024 };
        const struct invocation *call = a->call;
        size_t nletters = 0, nfiltered = 0, nstandard = 0;
        for (size_t i = 1; call != NULL && i < call->nwords; i++) {
                const bool filtered = is_filtered(a, call->words[i]);
                nletters += strlen(call->words[i]);
                nfiltered += filtered;
                nstandard += !filtered && strcmp(call->words[i], "-") == 0;
        }
        return nfiltered > 0 && nstandard == 0 && nletters <= MOST_LETTERS;
}

/* In place of FILE in the filter. */
static void append_names(const struct advising *a, bool repeatable)
{
        const struct kc_error *failure = a->failure;
        if (failure->file[0] == '\0') {
                append(a, "FILE");
        } else if (is_standard_input(failure->file)) {
                append(a, "-");
        } else if (!repeatable) {
                append_word(a, failure->file);
        } else {
                const char *blank = "";
                for (size_t i = 1; i < a->call->nwords; i++)
                        if (is_filtered(a, a->call->words[i])) {
                                append(a, "%s", blank);
                                append_word(a, a->call->words[i]);
                                blank = " ";
                        }
        }
}

/* The filter with the names in place of FILE; "< FILE" is left out for standard input. */
static void append_filter(const struct advising *a, bool repeatable)
{
        static const char from[] = " < FILE", word[] = "FILE";
        const char *filter = a->failure->filter;
        const char *redirected = strstr(filter, from), *at = strstr(filter, word);
        if (redirected != NULL && is_standard_input(a->failure->file)) {
                append(a, "%.*s", (int)(redirected - filter), filter);
        } else if (at == NULL) {
                append(a, "%s", filter);
        } else {
                append(a, "%.*s", (int)(at - filter), filter);
                append_names(a, repeatable);
                append(a, "%s", at + strlen(word));
        }
}

/* The user's own command line, with - for what is filtered. The output keeps its name. */
static void append_own_line(const struct advising *a)
{
        const struct invocation *call = a->call;
        bool done = false;
        append_command(a);
        for (size_t i = 1; i < call->nwords; i++) {
                const bool filtered = is_filtered(a, call->words[i]);
                if (filtered && done)
                        continue;
                append(a, " ");
                append_word(a, filtered ? "-" : call->words[i]);
                done |= filtered;
        }
        if (find_option(call, "output") != NULL && !invocation_has(call, "output") &&
            is_filtered(a, call->operands[0]) && strcmp(call->operands[0], "-") != 0)
                append_output(a, output_name(call->operands[0]));
}

static void put_filter(const struct advising *a)
{
        const bool counts = (a->failure->remedies & KC_REMEDY_COUNT) != 0;
        const bool repeatable = !counts && is_repeatable(a);
        append_filter(a, repeatable);
        append(a, " | ");
        if (counts) {
                append(a, "kcount - -k " EXAMPLE_K);
                append_output(a, output_name(a->failure->file));
        } else if (repeatable) {
                append_own_line(a);
        } else if (find_option(a->call, "file") != NULL) {
                append(a, "kcount %s ... -f -", a->call->command->name);
        } else {
                append(a, "kcount ... -");
        }
}

static void put_test(const struct advising *a)
{
        append_filter(a, false);
}

/* ---- another output ---- */

/* The option as it is typed, with its argument: the size that is needed, if that is known. */
static void append_option(const struct advising *a, const struct option_spec *option,
                          const char *argument)
{
        const uint64_t needed = a->failure->needed_nbytes;
        if (option->letter)
                append(a, "-%c", option->letter);
        else
                append(a, "--%s", option->name);
        if (argument != NULL)
                append(a, " %s", argument);
        else if (option->type == OPTION_SIZE && needed > 0)
                append(a, " %" PRIu64 "M", (needed + MEMORY_MIB - 1) / MEMORY_MIB);
}

/* The option whose argument the remedies are for; if they are for none, the one that usually names
 * the output; NULL: there is none. Of equal arguments, that of the later option is an output. */
static const struct option_spec *find_output(const struct advising *a)
{
        const struct option_spec *found = NULL;
        for (size_t i = 0; a->call != NULL && a->call->command->options[i].name != NULL; i++) {
                const struct option_spec *option = &a->call->command->options[i];
                const char *given = a->call->given[i];
                if (given != NULL && *given != '\0' && option->type == OPTION_TEXT &&
                    !option->is_input && strcmp(given, a->failure->file) == 0)
                        found = option;
        }
        if (found == NULL)
                found = find_option(a->call, "output");
        return found != NULL ? found : find_option(a->call, "repair");
}

static void put_other_output(const struct advising *a)
{
        const struct option_spec *option = find_output(a);
        if (option == NULL)
                return;
        append(a, "%s with ",
               strcmp(option->argument, "DIR") == 0      ? "folder"
               : strcmp(option->argument, "PREFIX") == 0 ? "prefix"
                                                         : "file");
        append_option(a, option, NULL);
}

/* ---- the table ---- */

/* In the order in which they are printed. If several rows have the same remedy, a command has at
 * most one of their options. */
static const struct advice advices[] = {
        { KC_REMEDY_OTHER_OUTPUT, NULL, "name another ", NULL, put_other_output },
        { KC_REMEDY_REPLACE, "force", "replace it with ", NULL, NULL },
        { KC_REMEDY_OTHER_TMP, "tmp", "choose another folder with ", NULL, NULL },
        { KC_REMEDY_ROOMIER_TMP, "tmp", "choose a folder with more room with ", NULL, NULL },
        { KC_REMEDY_MORE_MEMORY, "memory", "allow more memory with ", NULL, NULL },
        { KC_REMEDY_LESS_MEMORY, "memory", "choose a smaller bound with ", NULL, NULL },
        { KC_REMEDY_FEWER_THREADS, "threads", "use fewer threads with ", NULL, NULL },
        { KC_REMEDY_IGNORE_QUALITIES, "min-quality", "count without ", NULL, NULL },
        { KC_REMEDY_MORE_GPU_MEMORY, "gpu-memory", "allow more with ", NULL, NULL },
        { KC_REMEDY_OTHER_GPU_MEMORY, "gpu-memory", "change the bound with ", NULL, NULL },
        { KC_REMEDY_STATE_GPU_MEMORY, "gpu-memory", "make the batches smaller with ", NULL, NULL },
        { KC_REMEDY_LIST_DEVICES, NULL, "'kcount info --devices' lists the devices", NULL, NULL },
        { KC_REMEDY_BUILD_CUDA, NULL, "install libkcount-cuda.so.0, or build with -DKCOUNT_CUDA=ON",
          NULL, NULL },
        { KC_REMEDY_BUILD_ARCH, NULL,
          "build it with -DKCOUNT_CUDA_ARCHS set to the device's compute capability", NULL, NULL },
        { KC_REMEDY_CPU, "device", "use ", "cpu", NULL },
        { KC_REMEDY_READ_COUNTS, NULL, "", NULL, put_merge },
        { KC_REMEDY_READ_COUNTS, NULL, "to print it: kcount ", NULL, put_print },
        { KC_REMEDY_SAME_STRANDS, NULL,
          "count all files with --stranded, or all without it; if one was imported, import it "
          "again with --canonical",
          NULL, NULL },
        { KC_REMEDY_COMPACT, NULL, "merge them: kcount compact ", NULL, put_store },
        { KC_REMEDY_CHANGE, NULL, "the next add or remove repairs it, or: kcount compact ", NULL,
          put_store },
        { KC_REMEDY_CHECK, NULL, "to find the damage: kcount check ", NULL, put_store },
        { KC_REMEDY_RESCUE, NULL, "to copy what is sound: kcount check ", NULL, put_repair },
        { KC_REMEDY_COUNT, NULL, "", NULL, put_count },
        { KC_REMEDY_IMPORT, NULL, "convert it: kcount import ", NULL, put_import },
        { KC_REMEDY_SAVE, NULL, "import it from an uncompressed file, not from a pipe", NULL,
          NULL },
        { KC_REMEDY_SKIP_EMPTY, "skip-empty", "find out why, or skip it with ", NULL, NULL },
        { KC_REMEDY_OTHER_INPUT, NULL, "", NULL, put_other_input },
        { KC_REMEDY_REFERENCE, NULL,
          "set REF_PATH or REF_CACHE to its place (it is fetched from the network only if REF_PATH "
          "is a URL)",
          NULL, NULL },
        { KC_REMEDY_TEST, NULL, "to see whether the file is damaged: ", NULL, put_test },
        { KC_REMEDY_FILTER, NULL, "try: ", NULL, put_filter },
        { KC_REMEDY_FILTER_HEAD, NULL, "to read only what comes before: ", NULL, put_filter },
        { KC_REMEDY_FILTER_WHOLE, NULL, "if you know that it is complete, try: ", NULL,
          put_filter },
};

/* Add a row, unless the command lacks the row's option or its put() appends nothing. */
static void append_row(const struct advising *a, const struct advice *row)
{
        const struct option_spec *option =
                row->option != NULL ? find_option(a->call, row->option) : NULL;
        const size_t before = strlen(a->text);
        if (row->option != NULL && option == NULL)
                return;
        append(a, "%s%s", before == 0 ? "; " : ", or ", row->text);
        const size_t begun = strlen(a->text);
        if (option != NULL)
                append_option(a, option, row->argument);
        if (row->put == NULL)
                return;
        row->put(a);
        if (strlen(a->text) == begun)
                a->text[before] = '\0';
}

const char *advice_text(const struct invocation *call, const struct kc_error *failure,
                        char text[ADVICE_NBYTES])
{
        const struct advising a = { call, failure, text };
        text[0] = '\0';
        for (size_t i = 0; i < sizeof advices / sizeof advices[0]; i++)
                if (failure->remedies & advices[i].remedy)
                        append_row(&a, &advices[i]);
        return text;
}

void advice_warn(const struct kc_error *warning)
{
        char advice[ADVICE_NBYTES];
        if (warning != NULL)
                message_print("kcount: warning: %s%s\n", warning->message,
                              advice_text(NULL, warning, advice));
}
