#include "app/cli/foreign_options.h"

#include "app/cli/command.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* What becomes of the argument, where kcount has an option for the same. */
enum conversion {
        AS_IT_IS,
        TO_GIB,     /* the unit was implied */
        TO_QUALITY, /* it is a character of FASTQ */
        TO_STDOUT,  /* it names a file, if it is in the same word */
};

struct foreign_option {
        const char *name;     /* with its dashes */
        const char *commands; /* in which it means this, each between spaces; NULL: in all */
        const char *own;      /* kcount's option for the same, or NULL */
        const char *advice;   /* without it: what to do */
        enum conversion conversion;
        bool numbered; /* the row applies only if a number follows */
        bool whole;    /* the name is the whole word, whose end kcount would take as an argument */
};

#define ANY_COUNT     "leave it out; counts go up to 4,294,967,295"
#define BY_DEFAULT    "leave it out; it is the default"
#define BY_CONTENT    "leave it out; the content of a file decides, not its name"
#define BY_ITSELF     "leave it out; kcount chooses this by itself"
#define SPILLING      "leave it out; what does not fit in memory is spilled to disk"
#define GROWING       "leave it out; memory grows as needed"
#define REPORTED      "leave it out; kcount prints a summary, and --version prints the version"
#define ALL_THREADS   "-t sets the total number of threads"
#define COMPRESSION   "'kcount count --hpc' compresses homopolymers"
#define NO_OUTPUT     "'kcount hist' counts reads without writing a .kc file"
#define NO_GENERATORS "pipe the reads in: COMMAND | kcount - -k K -o FILE.kc"
#define NO_FILTER     "--min 2 leaves out exactly the k-mers that are seen once"
#define TO_FILE       "this goes to standard output; to write a file, end the line with > FILE"
#define ALL_ROWS      "hist prints a row for each count that occurs"
#define FILES_K       "leave it out; the file has its k"
#define IN_PLACE      "leave it out; the .kc file itself is changed"
#define TO_OTHER      "'kcount merge FILE.kc -o NEW.kc' writes another file"
#define TO_DEVICE     "write --device cuda"
#define WITH_DEVICES  " count hist add merge union intersect subtract compact remove "
#define AS_OPERAND    "name the file without an option"
#define EACH_OUTPUT   "give -o twice, first for the first mates"
#define POSITIONS(f)  "write --positions --format " f
#define BY_SPACE      "write --columns space (for Jellyfish's -c -t, leave out both)"

/* If several rows apply, the one with the longest name does; of these, the first. */
static const struct foreign_option foreign_options[] = {
        /* meryl-lookup, BBDuk, deacon and grep, for what filter and profile do */
        { "-f", " profile filter ", .advice = AS_OPERAND },
        { "-1", " filter ", .advice = AS_OPERAND },
        { "-2", " filter ", .advice = AS_OPERAND },
        { "--in", " filter ", .advice = AS_OPERAND },
        { "-sequence", " query ", .own = "file" },
        { "-sequence", " profile filter ", .advice = AS_OPERAND },
        { "-mers", " query profile filter ", .whole = true, .advice = AS_OPERAND },
        { "-O", " filter ", .advice = EACH_OUTPUT },
        { "-d", " filter ", .own = "drop" },
        { "-v", " filter ", .own = "drop" },
        { "-exclude", " filter ", .own = "drop" },
        { "--invert", " filter ", .own = "drop" },
        { "-include", " filter ", .advice = BY_DEFAULT },
        { "--wig", " profile ", .advice = POSITIONS("wig") },
        { "--bed", " profile ", .advice = POSITIONS("bed") },
        { "--bedgraph", " profile ", .advice = POSITIONS("bedgraph") },

        /* kmc and its tools; arguments are in the same word */
        { "-ci", .own = "min" },
        { "-cx", .own = "max" },
        { "-cs", .advice = ANY_COUNT },
        { "-b", " count hist import ", .advice = "write --stranded" },
        { "-b", .advice = "'kcount count --stranded' counts the strands separately" },
        { "-fkmc", .advice = "'kcount import' converts a KMC database" },
        { "-fa", .advice = BY_CONTENT },
        { "-fq", .advice = BY_CONTENT },
        { "-fm", .advice = BY_CONTENT },
        { "-fbam", .advice = BY_CONTENT },
        { "-sm", .advice = "leave it out; -m is always a hard limit" },
        { "-r", " info ", .advice = "leave it out; a .kc file records its totals" },
        { "-r", .advice = "leave it out; the disk is used only if memory is short" },
        { "-hp", .own = "no-progress", .advice = "leave it out; there is no progress bar here" },
        { "-hc", .own = "hpc", .advice = COMPRESSION },
        { "-e", .advice = "'kcount hist READS -k K' prints the exact histogram" },
        { "-j", " merge ", .advice = "kcount computes no similarities" },
        { "-j", .own = "json", .conversion = TO_STDOUT },
        { "-w", .advice = NO_OUTPUT },
        { "-n", .advice = BY_ITSELF },
        { "-sf", .advice = ALL_THREADS },
        { "-sp", .advice = ALL_THREADS },
        { "-sr", .advice = ALL_THREADS },
        { "-v", .advice = REPORTED },
        { "-okff", " count ", .whole = true,
          .advice = "write --format kff (for a file of this name: -o ./kff)" },
        { "-okmc", " count ", .whole = true,
          .advice = "write --format kmc (for a file of this name: -o ./kmc)" },
        { "--opt-out-size", .advice = "leave it out; a .kc file is small as it is" },

        /* FastK */
        { "-T", .own = "threads" },
        { "-M", " merge ", .advice = "'kcount union --counts max' keeps the largest count" },
        { "-M", .own = "memory", .conversion = TO_GIB },
        { "-P", .own = "tmp" },
        { "-N", .own = "output" },
        { "-bc", .advice = "trim the reads first; kcount counts whole reads" },
        { "-p", .advice = BY_ITSELF, .numbered = true }, /* also kmc's and Jellyfish's */
        { "-p", .advice = "'kcount profile' prints the counts along given sequences" },

        /* jellyfish count */
        { "-s", " query ", .own = "file" },
        { "-s", " info ", .advice = "'kcount dump' prints what a .kc file holds" },
        { "-s", .advice = GROWING },
        { "--size", .advice = GROWING },
        { "-C", .advice = BY_DEFAULT },
        { "--canonical", .advice = BY_DEFAULT },
        { "--both-strands", .advice = BY_DEFAULT },
        { "-c", " dump ", .advice = BY_SPACE },
        { "-ct", " dump ", .advice = BY_DEFAULT },
        { "-c", " info ", .advice = "'kcount info' prints all that a .kc file records" },
        { "-c", .advice = ANY_COUNT, .numbered = true },
        { "-c", .own = "hpc", .advice = COMPRESSION },         /* FastK's */
        { "--compress", .own = "hpc", .advice = COMPRESSION }, /* as meryl calls it */
        { "--counter-len", .advice = ANY_COUNT },
        { "--out-counter-len", .advice = ANY_COUNT },
        { "--sam", .advice = "name the file like any other input; its content decides" },
        { "-f", " hist ", .advice = ALL_ROWS },
        { "-f", .advice = BY_CONTENT },
        { "-F", .advice = BY_ITSELF },
        { "--Files", .advice = BY_ITSELF },
        { "-g", .advice = NO_GENERATORS },
        { "--generator", .advice = NO_GENERATORS },
        { "-G", .advice = NO_GENERATORS },
        { "--Generators", .advice = NO_GENERATORS },
        { "-S", .advice = NO_GENERATORS },
        { "--shell", .advice = NO_GENERATORS },
        { "--bc", .advice = NO_FILTER },
        { "--bf-size", .advice = NO_FILTER },
        { "--bf-fp", .advice = NO_FILTER },
        { "--if", .own = "only", .advice = "'kcount count --only' counts the k-mers of a file" },
        { "-Q", .own = "min-quality", .conversion = TO_QUALITY },
        { "--min-qual-char", .own = "min-quality", .conversion = TO_QUALITY },
        { "--quality-start", .advice = "leave it out; qualities begin at 33 ('!')" },
        { "--reprobes", .advice = BY_ITSELF },
        { "--text", .advice = "'kcount dump' prints text" },
        { "--disk", .advice = SPILLING },
        { "--no-merge", .advice = SPILLING },
        { "--no-unlink", .advice = SPILLING },
        { "--no-write", .advice = NO_OUTPUT },
        { "-L", " query ", .advice = BY_ITSELF },
        { "-L", .own = "min" },
        { "--lower-count", .own = "min" },
        { "-U", " query info ", .advice = "-h prints the usage" },
        { "-U", .own = "max" },
        { "--upper-count", .own = "max" },
        { "--timing", .advice = "--json reports how long each stage took" },
        { "--full-help", .advice = "--help prints all options" },
        { "--verbose", .advice = REPORTED },

        /* its other commands */
        { "-h", " hist ", .own = "max-count", .numbered = true },
        { "-o", " hist query info ", .advice = TO_FILE },
        { "--output", " hist query info ", .advice = TO_FILE },
        { "-l", " query ", .advice = BY_ITSELF },
        { "-l", .own = "min" },
        { "--low", .own = "min" },
        { "--high", .own = "max-count" },
        { "-i", " query ", .advice = "write -f -" },
        { "-i", .advice = ALL_ROWS },
        { "--increment", .advice = ALL_ROWS },
        { "--full", .advice = ALL_ROWS },
        { "--buffer-size", .advice = BY_ITSELF },
        { "--column", .advice = BY_SPACE },
        { "--tab", .advice = BY_DEFAULT },
        { "--sequence", .own = "file" },
        { "--interactive", .advice = "write -f -" },
        { "--load", .advice = BY_ITSELF },
        { "--no-load", .advice = BY_ITSELF },
        { "--jaccard", .advice = "kcount computes no similarities" },
        { "--skip", .advice = "'kcount dump' prints what a .kc file holds" },
        { "--cmd", .advice = "'kcount info' prints all that a .kc file records" },
        { "--recompute", .advice = "leave it out; a .kc file records its totals" },

        /* what users expect elsewhere, or from other programs in general */
        { "-k", .advice = FILES_K },
        { "--kmer", .advice = FILES_K },
        { "-K", .own = "kmer", .advice = FILES_K },
        { "--kmer-length", .own = "kmer", .advice = FILES_K },
        { "-o", " compact ", .advice = TO_OTHER },
        { "--output", " compact ", .advice = TO_OTHER },
        { "-o", " add remove ", .advice = IN_PLACE },
        { "--output", " add remove ", .advice = IN_PLACE },
        { "--format", " export ", .own = "to" },
        { "--to", " count ", .own = "format" },
        { "--to", " dump ", .advice = "write --fasta for FASTA; 'kcount export' has the others" },
        { "--tmpdir", .own = "tmp" },
        { "--overwrite", .own = "force" },
        { "--gpu", WITH_DEVICES, .advice = TO_DEVICE },
        { "--cuda", WITH_DEVICES, .advice = TO_DEVICE },
};

/* What follows the option's name in the word, without an equals sign; NULL if it is another word.
 * Letters right after a short name are an argument only if kcount's option takes one: -name is not
 * -n. */
static const char *rest_of(const struct foreign_option *o, const char *word)
{
        const size_t n = strlen(o->name);
        if (strncmp(word, o->name, n) != 0)
                return NULL;
        const char *rest = word + n;
        if (o->name[1] == '-' ? *rest != '\0' && *rest != '='
                              : o->own == NULL && isalpha((unsigned char)*rest))
                return NULL;
        return rest + (*rest == '=');
}

/* The argument of an option, from its own word or, unless that is another option, the next one;
 * NULL if there is none. */
static const char *argument_of(const char *rest, const char *next)
{
        if (*rest != '\0')
                return rest;
        return next != NULL && next[0] != '-' ? next : NULL;
}

static bool is_number(const char *text)
{
        return text != NULL && *text != '\0' && text[strspn(text, "0123456789.")] == '\0';
}

static bool applies(const struct foreign_option *o, const struct command *command, const char *word,
                    const char *next)
{
        char spaced[32];
        const char *rest = rest_of(o, word);
        snprintf(spaced, sizeof spaced, " %s ", command->name);
        return rest != NULL && !(o->whole && *rest != '\0') &&
               (o->commands == NULL || strstr(o->commands, spaced) != NULL) &&
               (!o->numbered || is_number(argument_of(rest, next)));
}

static const struct foreign_option *find(const struct command *command, const char *word,
                                         const char *next)
{
        const struct foreign_option *found = NULL;
        const size_t n = sizeof foreign_options / sizeof foreign_options[0];
        for (const struct foreign_option *o = foreign_options; o < foreign_options + n; o++)
                if (applies(o, command, word, next) &&
                    (found == NULL || strlen(o->name) > strlen(found->name)))
                        found = o;
        return found;
}

/* kcount's option and what follows it: "--min 2", or "--min N" without an argument. */
static void write_own(const struct foreign_option *o, const struct option_spec *own,
                      const char *argument, char *text, size_t nbytes)
{
        char name[OPTION_NAME_NBYTES];
        option_short_name(own, name);
        if (o->conversion == TO_STDOUT && argument != NULL)
                snprintf(text, nbytes, "%s > %s", name, argument);
        else if (own->argument == NULL)
                snprintf(text, nbytes, "%s", name);
        else if (argument == NULL)
                snprintf(text, nbytes, "%s %s", name, own->argument);
        else if (o->conversion == TO_GIB && is_number(argument))
                snprintf(text, nbytes, "%s %sG", name, argument);
        else if (o->conversion == TO_QUALITY && argument[0] >= '!' && argument[1] == '\0')
                snprintf(text, nbytes, "%s %d", name, argument[0] - '!');
        else
                snprintf(text, nbytes, "%s %s", name, argument);
}

/* The first command that has the option, the given one if possible. */
static const struct command *find_holder(const struct command *command, const char *name)
{
        if (option_find(command->options, name) != NULL)
                return command;
        const struct command *const *c = command_table;
        while (option_find((*c)->options, name) == NULL)
                c++;
        return *c;
}

static enum kc_status refuse_with(const char *word, const char *advice, struct kc_error *err)
{
        const bool is_long = word[1] == '-';
        return kc_fail(err, KC_EUSAGE, "unknown option '%.*s': %s",
                       (int)(is_long ? strcspn(word, "=") : strlen(word)), word, advice);
}

enum kc_status foreign_word_refuse(const struct command *command, const char *word,
                                   struct kc_error *err)
{
        const struct foreign_option *o = find(command, word, NULL);
        return o != NULL && o->whole ? refuse_with(word, o->advice, err) : KC_OK;
}

enum kc_status foreign_option_refuse(const struct command *command, const char *word,
                                     const char *next, struct kc_error *err)
{
        const struct foreign_option *o = find(command, word, next);
        char own[256], advice[384];
        if (o == NULL)
                return KC_OK;
        const struct command *holder = o->own != NULL ? find_holder(command, o->own) : NULL;
        if (holder == NULL || (holder != command && o->advice != NULL))
                return refuse_with(word, o->advice, err);
        const struct option_spec *spec = option_find(holder->options, o->own);
        if (spec->type == OPTION_ELSEWHERE)
                return refuse_with(word, spec->help, err);
        next = o->conversion == TO_STDOUT ? NULL : next;
        write_own(o, spec, argument_of(rest_of(o, word), next), own, sizeof own);
        if (holder == command)
                snprintf(advice, sizeof advice, "write %s", own);
        else
                snprintf(advice, sizeof advice,
                         "'kcount %s' has %s for this; %s has no such option", holder->name, own,
                         command->name);
        return refuse_with(word, advice, err);
}
