/*
 * simulate: reads of a random genome, fast, for benchmarks of any size. The text depends only on
 * the options and the seed, not on the threads.
 *
 *      main.c          the command line
 *      simulate.c      threads, and the output
 *      reads.c         a read, drawn from its own number, and its text
 *      profile.c       lengths, qualities and errors of sequencing instruments
 *      genome.c        what the reads are copied from
 */
#include "base/clock.h"
#include "bench/simulate/profile.h"
#include "bench/simulate/simulate.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOT_GIVEN UINT64_MAX

static const char USAGE[] =
        "usage: simulate [options]\n"
        "  --genome SIZE      bases, e.g. 1M, 40M, 1G (default 1M)\n"
        "  --coverage X       bases of reads for each base of genome (default 30)\n"
        "  --length L         of a read, or the mean (default 150, or the profile's)\n"
        "  --error RATE       of substitutions (default 0.005; not with --profile)\n"
        "  --profile NAME     lengths, qualities and errors of an instrument: illumina, hifi,\n"
        "                     nanopore (default: none, reads of one length with substitutions)\n"
        "  --sequences N      cut the genome into N sequences, as in metagenomes (default 1)\n"
        "  --abundance SD     standard deviation of the logarithm of the sequences' abundances\n"
        "                     (default 0: equal)\n"
        "  --n-rate RATE      of letters replaced by N (default 0)\n"
        "  --repeats FRACTION share of the genome made of copies (default 0)\n"
        "  --seed N           same seed, same text (default 1)\n"
        "  --threads T        (default: all cores)\n"
        "  --format F         fastq (default) or fasta\n"
        "  --wrap W           break sequences and qualities into lines of W (default 0: one line)\n"
        "  --bgzf             compress the text as BGZF, at libdeflate's level 1\n"
        "  --truth            add to names where reads come from and, with --profile, CIGAR\n"
        "  -o FILE            (default -: standard output)\n";

static void reject(const char *what, const char *value)
{
        fprintf(stderr, "simulate: %s: %s\n%s", what, value, USAGE);
        exit(2);
}

static uint64_t parse_size(const char *text)
{
        char *end;
        double value = strtod(text, &end);
        double unit = *end == 'K' ? 1e3 : *end == 'M' ? 1e6 : *end == 'G' ? 1e9 : 1;
        if (end == text || !(value >= 0 && value * unit < 1e18) ||
            strlen(end) != (unit > 1 ? 1 : 0))
                reject("not a number", text);
        return (uint64_t)(value * unit);
}

static double parse_real(const char *text, double max)
{
        char *end;
        double value = strtod(text, &end);
        if (end == text || *end != '\0' || !(value >= 0 && value <= max))
                reject("not a number in range", text);
        return value;
}

static void set_option(struct settings *set, int option, const char *value)
{
        switch (option) {
        case 'g':
                set->genome_nbases = parse_size(value);
                break;
        case 'c':
                set->coverage = parse_real(value, 1e9);
                break;
        case 'l':
                set->length = parse_size(value);
                break;
        case 'e':
                set->error_rate = parse_real(value, 1);
                break;
        case 'p':
                set->profile = profile_find(value);
                if (set->profile == NULL)
                        reject("not a profile", value);
                break;
        case 'q':
                set->nsequences = parse_size(value);
                break;
        case 'a':
                set->abundance = parse_real(value, 10);
                break;
        case 'n':
                set->n_rate = parse_real(value, 1);
                break;
        case 'r':
                set->repeats = parse_real(value, 1);
                break;
        case 's':
                set->seed = parse_size(value);
                break;
        case 't':
                set->nthreads = (int)parse_real(value, 1024);
                break;
        case 'f':
                set->fasta = strcmp(value, "fasta") == 0;
                if (!set->fasta && strcmp(value, "fastq") != 0)
                        reject("not a format", value);
                break;
        case 'w':
                set->wrap = parse_size(value);
                break;
        case 'b':
                set->bgzf = true;
                break;
        case 'u':
                set->truth = true;
                break;
        case 'o':
                set->output = value;
                break;
        default:
                fputs(USAGE, option == 'h' ? stdout : stderr);
                exit(option == 'h' ? 0 : 2);
        }
}

/* Set defaults that depend on other options, and reject options that do not go together. */
static void complete(struct settings *set)
{
        const struct profile *profile = set->profile;
        if (set->nsequences < 1 || set->nsequences > set->genome_nbases)
                reject("--sequences", "not between 1 and the genome's size");
        if (profile != NULL && set->error_rate >= 0)
                reject("--error", "not with --profile");
        if (set->error_rate < 0)
                set->error_rate = 0.005;
        if (set->length == NOT_GIVEN)
                set->length = profile != NULL ? profile_length(profile) : 150;
        if (set->length == 0 || set->length > set->genome_nbases / set->nsequences)
                reject("--length", set->nsequences == 1
                                           ? "not between 1 and the genome's size"
                                           : "not between 1 and the size of a sequence");
        set->longest = profile != NULL ? profile_longest(profile, set->length) : set->length;
}

static void parse_arguments(struct settings *set, int argc, char **argv)
{
        static const struct option options[] = {
                { "genome", required_argument, NULL, 'g' },
                { "coverage", required_argument, NULL, 'c' },
                { "length", required_argument, NULL, 'l' },
                { "error", required_argument, NULL, 'e' },
                { "profile", required_argument, NULL, 'p' },
                { "sequences", required_argument, NULL, 'q' },
                { "abundance", required_argument, NULL, 'a' },
                { "n-rate", required_argument, NULL, 'n' },
                { "repeats", required_argument, NULL, 'r' },
                { "seed", required_argument, NULL, 's' },
                { "threads", required_argument, NULL, 't' },
                { "format", required_argument, NULL, 'f' },
                { "wrap", required_argument, NULL, 'w' },
                { "bgzf", no_argument, NULL, 'b' },
                { "truth", no_argument, NULL, 'u' },
                { "output", required_argument, NULL, 'o' },
                { "help", no_argument, NULL, 'h' },
                { NULL, 0, NULL, 0 },
        };
        int option;
        while ((option = getopt_long(argc, argv, "o:h", options, NULL)) != -1)
                set_option(set, option, optarg);
        if (optind < argc)
                reject("not expected", argv[optind]);
        complete(set);
        if (set->nthreads < 1)
                reject("--threads", "not 1 or more");
        set->nreads = (uint64_t)((double)set->genome_nbases * set->coverage / (double)set->length);
}

int main(int argc, char **argv)
{
        struct settings set = {
                .genome_nbases = 1000000,
                .nsequences = 1,
                .coverage = 30,
                .length = NOT_GIVEN,
                .seed = 1,
                .error_rate = -1,
                .nthreads = (int)sysconf(_SC_NPROCESSORS_ONLN),
                .output = "-",
        };
        struct simulated simulated;
        struct kc_error err = { 0 };
        double begin = kc_clock_seconds();
        parse_arguments(&set, argc, argv);
        if (simulate(&set, &simulated, &err) != KC_OK) {
                fprintf(stderr, "simulate: %s\n", err.message);
                return 1;
        }
        double seconds = kc_clock_seconds() - begin, mb = (double)simulated.written_nbytes * 1e-6;
        fprintf(stderr,
                "simulate: %" PRIu64 " reads, %" PRIu64 " bases, %.1f MB in %.2f s, %.0f MB/s\n",
                set.nreads, simulated.nbases, mb, seconds, mb / seconds);
        return 0;
}
