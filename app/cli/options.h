/*
 * A command and its options, each documented once: the parser, --help and the manual page all use
 * these tables.
 */
#ifndef APP_CLI_OPTIONS_H
#define APP_CLI_OPTIONS_H

#include "app/cli/shell.h"
#include "app/cli/text_out.h"
#include "app/library/memory.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum option_type {
        OPTION_END,     /* closes a table */
        OPTION_FLAG,    /* bool */
        OPTION_NUMBER,  /* uint64_t, a whole number in [min, max] */
        OPTION_NUMBERS, /* struct option_numbers, one or more of these with commas between them */
        OPTION_SIZE,    /* uint64_t, bytes, in [min, max] */
        OPTION_TEXT,    /* const char * */
        OPTION_WORD,    /* int, the number of one of `words`, from 1; 0: not given */
        OPTION_OUTPUT,  /* const char *, the name of a file to write */
        OPTION_OUTPUTS, /* struct option_names: the same, and it may be given twice */
        OPTION_INPUTS,  /* struct option_names: a file to read, or two */
        /* An error: the command has no such option, although users look for it here; `help` says
         * which commands do. */
        OPTION_ELSEWHERE,
};

/* Where --help and the manual page explain an option. */
enum option_group {
        OPTION_OWN,     /* with the command, because its meaning is the command's */
        OPTION_SHARED,  /* it is the same in several commands: the manual page has it once */
        OPTION_COMMON,  /* the same, but -h only names it */
        OPTION_DEVICES, /* the same, but last: GPU and clusters */
};

/* What the build must have, or --help does not show the option. */
enum option_need {
        OPTION_NEEDS_NOTHING,
        OPTION_NEEDS_CUDA,
        OPTION_NEEDS_MPI,
};

enum { OPTIONS_MAX = 64 }; /* in a command */

enum { OPTION_NUMBERS_MAX = 16 };

/* Distinct numbers, in the order of the command line. */
struct option_numbers {
        size_t n;
        unsigned ntimes; /* how often the option was given */
        uint64_t values[OPTION_NUMBERS_MAX];
};

struct option_names {
        size_t n;
        const char *names[2];
};

struct invocation;

struct option_spec {
        enum option_type type;
        char letter;          /* 0: long name only */
        const char *name;     /* long name, without dashes */
        const char *argument; /* what --help calls the argument; NULL for flags */
        const char *words;  /* arguments that a shell completes, with spaces between them, or NULL;
                              an OPTION_WORD takes no others */
        const char *help;   /* the first sentence is enough for -h */
        const char *preset; /* the argument assumed if the option is absent; NULL: the field stays
                               0 */
        size_t offset;      /* of the field in the command's settings */
        uint64_t min, max;
        const char
                *mistaken; /* what to say if the argument is missing or of another kind, or NULL */
        bool required;
        bool hidden;   /* for tests, not shown to users */
        bool is_input; /* the argument is a file to read, or - for standard input */
        /* For a required option: an argument that a message can propose, freed by the caller; NULL
         * when out of memory. The operands have been checked. */
        char *(*propose)(const struct invocation *call);
        enum option_group group;
        enum option_need needs;
};

/* A row of an option table: OPTION(FLAG, "force", offset, "What it does.", .letter = 'f', ...) */
#define OPTION(type_name, long_name, field, text, ...) \
        { \
                .type = OPTION_##type_name, .name = (long_name), .offset = (field), .help = text, \
                ##__VA_ARGS__ \
        }

/* KC_EUSAGE: the argument is not one of the words, which have spaces between them. */
enum kc_status option_refuse_word(const char *name, const char *argument, const char *words,
                                  struct kc_error *err);

/* KC_EUSAGE if --min is above --max. */
enum kc_status options_check_range(uint64_t min, uint64_t max, struct kc_error *err);

/* What every command accepts, and --help shows; the fields are those of struct invocation. */
extern const struct option_spec general_options[];

/* Options that several commands have in common. */
#define OPTION_THREADS(field) OPTION_THREADS_OR(field, NULL)
#define OPTION_THREADS_OR(field, other_meaning) \
        OPTION(NUMBER, "threads", field, "Number of threads; default: all cores.", .letter = 't', \
               .argument = "N", .min = 1, .max = 1024, .group = OPTION_SHARED, \
               .mistaken = (other_meaning))
#define OPTION_MEMORY(field) \
        OPTION(SIZE, "memory", field, \
               "Hard limit on memory; default: 3/4 of free memory. It applies to the " \
               "whole process; examples: 8G, 1.5G, 500M (powers of 1024; at least " \
               "256M). What does not fit is spilled to temporary files, and with " \
               "little memory, fewer threads run than -t allows. With CUDA, it " \
               "covers what counting allocates, pinned memory included, but not what " \
               "the driver takes; merging on a device is limited by --gpu-memory.", \
               .letter = 'm', .argument = "SIZE", .min = MEMORY_LEAST_MIB * MEMORY_MIB, \
               .group = OPTION_SHARED)
#define OPTION_TMP(field) \
        OPTION(TEXT, "tmp", field, \
               "Folder for spilled data. Its files are deleted at the end, even after a crash. " \
               "Default: the output's folder; for hist, the current one.", \
               .argument = "DIR", .group = OPTION_COMMON)
#define OPTION_MIN(field) \
        OPTION(NUMBER, "min", field, "Leave out k-mers with a count under N.", .argument = "N", \
               .min = 1, .max = UINT32_MAX, .preset = "1", .group = OPTION_SHARED)
#define OPTION_MAX(field) \
        OPTION(NUMBER, "max", field, "Leave out k-mers with a count over N.", .argument = "N", \
               .min = 1, .max = UINT32_MAX, .preset = "4294967295", .group = OPTION_SHARED)
#define OPTION_FORCE(field) \
        OPTION(FLAG, "force", field, "Replace the output if it exists.", .group = OPTION_COMMON)
#define OPTION_JSON(field) \
        OPTION(FLAG, "json", field, "Print the summary or the result as JSON on standard output.", \
               .group = OPTION_COMMON)
#define OPTION_QUIET(field) \
        OPTION(FLAG, "quiet", field, "Print nothing on standard error but warnings and errors.", \
               .group = OPTION_COMMON)
#define OPTION_NO_PROGRESS(field) \
        OPTION(FLAG, "no-progress", field, \
               "Show no progress bar. Default: there is one if standard error is a " \
               "terminal, unless TERM is dumb.", \
               .group = OPTION_COMMON)

/* Options of commands that can use a device: which one, and how much of its memory. */
enum { OPTION_MIN_GPU_MEMORY_MIB = 256, OPTION_MIN_GPU_BATCH = 4096 };
#define OPTION_DEVICE(field) \
        OPTION(TEXT, "device", field, \
               "Where to count, merge, compare or look up many k-mers: auto, cpu, cuda, or " \
               "cuda:N for one of several devices. The output is the same. Several devices " \
               "count together if they are listed, as in cuda:0,1, and the input is large. " \
               "To look k-mers up, each holds all k-mers of the file if they fit and " \
               "--spread is not given. auto counts on one CUDA device if there is one; it merges " \
               "on one if the files hold at least 14 million k-mers per thread (over 16 " \
               "threads count as 16), compares on one if they hold at least 60 million, and " \
               "looks k-mers up on one if so many are looked up that it should be faster; for " \
               "all other commands, it means cpu. The CPU always does the work if k is above " \
               "128, or, for looking up, above 64. With several processes (mpirun, srun), one " \
               "process on each machine drives its devices, cuda means all that are worth " \
               "using for the input, and auto means cpu.", \
               .argument = "NAME", .words = "auto cpu cuda", .preset = "auto", \
               .group = OPTION_DEVICES)
#define OPTION_MAP(field) \
        OPTION(WORD, "map", field, \
               "Which map in a CUDA device's memory holds the k-mers: warpdrive or lsm, for k " \
               "up to 64; slab or linear, for k up to 32. The output is the same. Default: " \
               "warpdrive.", \
               .argument = "NAME", .words = "warpdrive slab linear lsm", .group = OPTION_DEVICES, \
               .needs = OPTION_NEEDS_CUDA)
#define OPTION_SPREAD(field) \
        OPTION(FLAG, "spread", field, \
               "Spread the k-mers over the devices that --device lists, as in cuda:0,1, so that " \
               "each holds a part of them, in a warpdrive map. The output is the same. Without " \
               "--spread, this also happens if not all k-mers fit on each device and the map is " \
               "warpdrive.", \
               .group = OPTION_DEVICES, .needs = OPTION_NEEDS_CUDA)
#define OPTION_GPU_MEMORY(field) \
        OPTION(SIZE, "gpu-memory", field, \
               "Limit on the memory of each device, at least 256M. CUDA itself takes some more. " \
               "When counting, what does not fit goes to the memory that -m allows, then to " \
               "--tmp; to look k-mers up, a file that does not fit is loaded part by part. " \
               "Default: 9/10 of what is free on the device.", \
               .argument = "SIZE", .min = (uint64_t)OPTION_MIN_GPU_MEMORY_MIB << 20, \
               .group = OPTION_DEVICES, .needs = OPTION_NEEDS_CUDA)
/* The options that fill a struct device_asks. */
#define OPTIONS_ASK(field) \
        OPTION_DEVICE(field + offsetof(struct device_asks, device)), \
                OPTION_MAP(field + offsetof(struct device_asks, map)), \
                OPTION_SPREAD(field + offsetof(struct device_asks, spread)), \
                OPTION_GPU_MEMORY(field + offsetof(struct device_asks, gpu_memory_nbytes))
#define OPTION_GPU_BATCH(field) \
        OPTION(NUMBER, "gpu-batch", field, "Most k-mers that are worked on at a time, for tests.", \
               .argument = "N", .min = OPTION_MIN_GPU_BATCH, .max = UINT64_C(1) << 31, \
               .hidden = true)
#define OPTION_GPU_TRACE(field) \
        OPTION(OUTPUT, "gpu-trace", field, "Write a timeline of the CUDA engine, for benchmarks.", \
               .argument = "FILE", .hidden = true)

/* The heading of a command in the overview; the commands of a group are neighbours in the table. */
enum command_group {
        COMMAND_NONE, /* the overview leaves it out */
        COMMAND_COUNTS,
        COMMAND_LOOKS,
        COMMAND_COMBINES,
        COMMAND_CHANGES,
        COMMAND_CONVERTS,
};

struct command {
        const char *name;
        enum kc_status (*run)(const struct invocation *call, struct kc_error *err);
        const char *operands;    /* as the usage line shows them */
        const char *summary;     /* one line, no full stop */
        const char *description; /* paragraphs, separated by "\n\n" */
        const char *examples;    /* lines to type; -h shows the first three */
        const struct option_spec *options;
        const struct command *base; /* the command whose --help explains the options that this one
                                       shares; NULL: its own --help does */
        enum command_group group;
        size_t settings_nbytes;
        int min_operands, max_operands; /* max < 0: any number */
        const char
                *for_more; /* how many operands there may be, and what to do with more; or NULL */
        bool by_ranks;     /* several processes can run it together */
};

/* A command as the user called it. */
struct invocation {
        const struct command *command;
        void *settings;
        /* For each option of the command's table: the argument that the user gave, "" for a flag;
         * NULL if the user did not give the option. */
        const char *given[OPTIONS_MAX];
        const char **operands;
        int noperands;
        const char *const *words; /* [nwords] as typed, from the command's or program's name on */
        size_t nwords;
        bool wants_usage, wants_help, wants_version;
        bool without_mpi; /* main() has looked for this before it parses the rest */
        char *line;       /* the whole command line, for the record */
        double start_seconds;
        struct text_out *out; /* standard output */
        struct ranks *ranks;  /* the processes that run it together; NULL: there is one */
};

/*
 * Parse argv[1..] by call->command's table into call->settings and call->operands. Options and
 * operands may come in any order; "--" ends the options. Names cannot be abbreviated. KC_EUSAGE,
 * KC_ENOMEM. Free with invocation_free, even on failure.
 */
enum kc_status invocation_parse(struct invocation *call, int argc, char **argv,
                                struct kc_error *err);
void invocation_free(struct invocation *call);

/* Whether the user gave the option of this name. */
bool invocation_has(const struct invocation *call, const char *name);

/*
 * The user's command line, to be pasted into a shell, with some changes. If it is so long that
 * nobody wants to read it, dots stand for the operands after the first.
 *   front    words to insert before the first argument; ends with NULL
 *   dropped  words to leave out, compared as pointers; ends with NULL
 * Returns line.
 */
const char *invocation_line(const struct invocation *call, const char *const *front,
                            const char *const *dropped, char line[SHELL_LINE_NBYTES]);

/* The option of that name, or NULL. */
const struct option_spec *option_find(const struct option_spec *specs, const char *name);

/* The field of the command's option of that name; NULL if it has no such option. */
const void *invocation_field(const struct invocation *call, const char *name);

enum { EXAMPLE_NBYTES = 128 };

/* "; for example: kcount dump reads.kc", for a message that says that something is missing. */
const char *command_example(const struct command *command, char text[EXAMPLE_NBYTES]);

/* The first option that the user gave, in the order of the table, that is not one of these names,
 * which end with NULL; NULL if there is none. */
const struct option_spec *invocation_other_option(const struct invocation *call,
                                                  const char *const *names);

/* The option as messages name it: "-k/--kmer" or "--min". */
enum { OPTION_NAME_NBYTES = 64 };
const char *option_name(const struct option_spec *spec, char text[OPTION_NAME_NBYTES]);

/* As one would type it: "-k" or "--min". */
const char *option_short_name(const struct option_spec *spec, char text[OPTION_NAME_NBYTES]);

#endif
