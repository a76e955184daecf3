#include "app/advice.h"

#include "app/memory.h"
#include "app/message.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct advice {
        enum kc_remedy remedy;
        const char *option;   /* that applies it; NULL: none is needed */
        const char *text;     /* goes before the option, or stands alone */
        const char *argument; /* of the option, or NULL */
};

/* In the order in which they are printed. If several rows have the same remedy, a command has at
 * most one of their options. */
static const struct advice advices[] = {
        { KC_REMEDY_OTHER_OUTPUT, "output", "name another file with ", NULL },
        { KC_REMEDY_OTHER_OUTPUT, "repair", "name another file with ", NULL },
        { KC_REMEDY_REPLACE, "force", "replace it with ", NULL },
        { KC_REMEDY_OTHER_TMP, "tmp", "choose another folder with ", NULL },
        { KC_REMEDY_ROOMIER_TMP, "tmp", "choose a folder with more room with ", NULL },
        { KC_REMEDY_MORE_MEMORY, "memory", "allow more memory with ", NULL },
        { KC_REMEDY_LESS_MEMORY, "memory", "choose a smaller bound with ", NULL },
        { KC_REMEDY_FEWER_THREADS, "threads", "use fewer threads with ", NULL },
        { KC_REMEDY_IGNORE_QUALITIES, "min-quality", "count without ", NULL },
        { KC_REMEDY_MORE_GPU_MEMORY, "gpu-memory", "allow more with ", NULL },
        { KC_REMEDY_OTHER_GPU_MEMORY, "gpu-memory", "change the bound with ", NULL },
        { KC_REMEDY_STATE_GPU_MEMORY, "gpu-memory", "make the batches smaller with ", NULL },
        { KC_REMEDY_LIST_DEVICES, NULL, "'kcount info --devices' lists the devices", NULL },
        { KC_REMEDY_BUILD_CUDA, NULL, "build it where nvcc is on the PATH, with -DKCOUNT_CUDA=ON",
          NULL },
        { KC_REMEDY_BUILD_ARCH, NULL,
          "build it with -DKCOUNT_CUDA_ARCHS set to the device's compute capability", NULL },
        { KC_REMEDY_CPU, "device", "use ", "cpu" },
        { KC_REMEDY_READ_COUNTS, NULL,
          "'kcount dump' prints them, and 'kcount merge' adds up several files", NULL },
        { KC_REMEDY_SAME_STRANDS, NULL, "count all files with --stranded, or all without it",
          NULL },
        { KC_REMEDY_COMPACT, NULL, "merge them with 'kcount compact'", NULL },
        { KC_REMEDY_CHANGE, NULL, "the next add, remove or compact repairs it", NULL },
        { KC_REMEDY_CHECK, NULL, "'kcount check' finds the damage", NULL },
        { KC_REMEDY_RESCUE, NULL, "'kcount check FILE.kc --repair COPY.kc' copies what is sound",
          NULL },
        { KC_REMEDY_COUNT, "kmer", "to count the k-mers of reads, add ", "K" },
        { KC_REMEDY_IMPORT, NULL,
          "it holds counts, not reads: 'kcount import FILE -o X.kc' converts it to a .kc file",
          NULL },
        { KC_REMEDY_SAVE, NULL, "import it from an uncompressed file, not from a pipe", NULL },
        { KC_REMEDY_UNPACK, NULL, "unpack it", NULL },
        { KC_REMEDY_REFERENCE, NULL,
          "set REF_PATH or REF_CACHE to its place (it is fetched from the network only if REF_PATH "
          "is a URL)",
          NULL },
        { KC_REMEDY_FILTER, NULL, "try: ", NULL },
        { KC_REMEDY_FILTER_HEAD, NULL, "to read only what comes before: ", NULL },
        { KC_REMEDY_FILTER_WHOLE, NULL, "if it is known to be whole, try: ", NULL },
};

static const struct option_spec *find_option(const struct command *command, const char *name)
{
        const struct option_spec *s = command != NULL ? command->options : NULL;
        while (s != NULL && s->type != OPTION_END && strcmp(s->name, name) != 0)
                s++;
        return s != NULL && s->type != OPTION_END ? s : NULL;
}

static void append(char text[ADVICE_NBYTES], const char *format, ...)
        __attribute__((format(printf, 2, 3)));

static void append(char text[ADVICE_NBYTES], const char *format, ...)
{
        const size_t n = strlen(text);
        va_list args;
        va_start(args, format);
        vsnprintf(text + n, ADVICE_NBYTES - n, format, args);
        va_end(args);
}

/* The option as it is typed, with its argument: the size that is needed, if that is known. */
static void append_option(char text[ADVICE_NBYTES], const struct option_spec *option,
                          const char *argument, uint64_t needed_nbytes)
{
        if (option->letter)
                append(text, "-%c", option->letter);
        else
                append(text, "--%s", option->name);
        if (argument != NULL)
                append(text, " %s", argument);
        else if (option->type == OPTION_SIZE && needed_nbytes > 0)
                append(text, " %" PRIu64 "M", (needed_nbytes + MEMORY_MIB - 1) / MEMORY_MIB);
}

/* "kcount ... -" is the user's own command line, with - for the file. */
static void append_filter(char text[ADVICE_NBYTES], const struct command *command,
                          const char *filter)
{
        if (find_option(command, "file") != NULL)
                append(text, "%s | kcount %s ... -f -", filter, command->name);
        else
                append(text, "%s | kcount ... -", filter);
}

const char *advice_text(const struct command *command, const struct kc_error *failure,
                        char text[ADVICE_NBYTES])
{
        const unsigned filters = KC_REMEDY_FILTER | KC_REMEDY_FILTER_HEAD | KC_REMEDY_FILTER_WHOLE;
        text[0] = '\0';
        for (size_t i = 0; i < sizeof advices / sizeof advices[0]; i++) {
                const struct advice *a = &advices[i];
                const struct option_spec *option =
                        a->option != NULL ? find_option(command, a->option) : NULL;
                if (!(failure->remedies & a->remedy) || (a->option != NULL && option == NULL))
                        continue;
                append(text, "%s%s", text[0] == '\0' ? "; " : ", or ", a->text);
                if (option != NULL)
                        append_option(text, option, a->argument, failure->needed_nbytes);
                else if (a->remedy & filters)
                        append_filter(text, command, failure->filter);
        }
        return text;
}

void advice_warn(const struct kc_error *warning)
{
        char advice[ADVICE_NBYTES];
        if (warning != NULL)
                message_print("kcount: warning: %s%s\n", warning->message,
                              advice_text(NULL, warning, advice));
}
