/*
 * See profile.h.
 *
 * Qualities A normal process in which each value depends on the one before, rounded down to the
 *           letters that the instrument writes. Its mean is chosen, by bisection, so that the
 *           letters of a read mean the error rate that was drawn for it, or for a cycle of it.
 * Errors    A letter means a probability of error, and errors are made there exactly that often. So
 *           the qualities are correct Phred scores.
 * Runs      Most insertions and deletions of some instruments are in homopolymers. Such an error is
 *           made at the next one, and its quality goes with it: two letters change places.
 *
 * Strings of qualities are made once, several for each of NCLASSES error rates, with the sum of
 * -log(1 - error probability) up to each letter. The distance to the next error in this sum has an
 * exponential distribution, so the time for a read depends on its errors and not on its letters.
 *
 * docs/dev/notes/simulate.md says where the numbers of the profiles come from.
 */
#include "bench/simulate/profile.h"

#include "bench/simulate/draw.h"
#include "bench/simulate/genome.h"

#include <stdlib.h>
#include <string.h>

enum {
        NCLASSES = 16,            /* of reads, by their error rate */
        STRINGS_NBYTES = 1 << 16, /* of each class, at least */
        HOMOPOLYMER = 3,          /* equal bases, at least */
        NEAR = 64,                /* bases in which a homopolymer is looked for */
        ROUNDS = 40,              /* of bisection */
};

struct profile {
        const char *name;
        uint64_t length;
        double shortest, longest; /* as shares of the mean length */
        double spread;            /* standard deviation of the logarithm of the length */
        const char *letters;      /* of qualities, from the lowest */
        double worst, best;       /* range of a read's quality, with a triangular distribution */
        double deviation, memory; /* of the process: its standard deviation and correlation */
        double rise; /* error rate in the last cycle, as a multiple of that in the first */
        double substitutions, insertions; /* shares of the errors; the others are deletions */
        double homopolymers;              /* share of the insertions and deletions */
};

static const struct profile PROFILES[] = {
        { .name = "illumina",
          .length = 150,
          .shortest = 1,
          .longest = 1,
          .letters = "#,:F",
          .worst = 20,
          .best = 37,
          .deviation = 10,
          .memory = 0.7,
          .rise = 6,
          .substitutions = 0.996,
          .insertions = 0.0014 },
        { .name = "hifi",
          .length = 15000,
          .shortest = 2.0 / 3,
          .longest = 5.0 / 3,
          .spread = 0.2,
          .letters = "$+27<DI",
          .worst = 20,
          .best = 40,
          .deviation = 10,
          .memory = 0.6,
          .rise = 1,
          .substitutions = 0.05,
          .insertions = 0.45,
          .homopolymers = 0.9 },
        { .name = "nanopore",
          .length = 15000,
          .shortest = 0.02,
          .longest = 10,
          .spread = 0.75,
          .letters = "\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRS",
          .worst = 10,
          .best = 21,
          .deviation = 9,
          .memory = 0.7,
          .rise = 1,
          .substitutions = 0.35,
          .insertions = 0.25,
          .homopolymers = 0.53 },
};

struct qualities {
        char *letters;   /* [NCLASSES * class_nletters] */
        double *reached; /* [NCLASSES * class_nletters + 1] the sum for the letters before */
        uint64_t class_nletters, stride, nstarts; /* a string begins at a multiple of stride */
};

const struct profile *profile_find(const char *name)
{
        for (size_t i = 0; i < sizeof PROFILES / sizeof *PROFILES; i++)
                if (strcmp(PROFILES[i].name, name) == 0)
                        return &PROFILES[i];
        return NULL;
}

uint64_t profile_length(const struct profile *profile)
{
        return profile->length;
}

uint64_t profile_longest(const struct profile *profile, uint64_t mean)
{
        return (uint64_t)(profile->longest * (double)mean);
}

uint64_t profile_span(uint64_t n)
{
        return n + n / 8 + NEAR;
}

uint64_t profile_cigar_room(uint64_t nbases)
{
        return 4 * nbases + NEAR; /* at worst, 1D1= for each base */
}

/* ---- qualities ---- */

static double error_of(char letter)
{
        return fmin(pow(10, ('!' - letter) * 0.1), 0.75);
}

/* The mean error probability of letters of a process with this mean. */
static double mean_error(const struct profile *profile, double mean)
{
        const char *letters = profile->letters;
        double below = 0, sum = 0;
        for (size_t i = 0; letters[i] != '\0'; i++) {
                double next = letters[i + 1] - '!';
                double up_to = letters[i + 1] == '\0'
                                       ? 1
                                       : erfc((mean - next) / profile->deviation * M_SQRT1_2) / 2;
                sum += (up_to - below) * error_of(letters[i]);
                below = up_to;
        }
        return sum;
}

static double mean_for(const struct profile *profile, double error)
{
        double low = -40, high = 100;
        for (int i = 0; i < ROUNDS; i++) {
                double middle = (low + high) / 2;
                if (mean_error(profile, middle) > error)
                        low = middle;
                else
                        high = middle;
        }
        return low;
}

static char letter_of(const struct profile *profile, double quality)
{
        const char *letters = profile->letters;
        size_t i = 0;
        while (letters[i + 1] != '\0' && letters[i + 1] - '!' <= quality)
                i++;
        return letters[i];
}

/* Nearly normal, and fast: the sum of four uniform numbers, scaled to a standard deviation of 1. */
static double draw_step(uint64_t *state)
{
        uint64_t bits = next_random(state);
        double sum = (double)((bits & 0xffff) + (bits >> 16 & 0xffff) + (bits >> 32 & 0xffff) +
                              (bits >> 48));
        return (sum * 0x1p-16 - 2) * sqrt(3);
}

/* means  [stride] for each cycle */
static void fill_class(struct qualities *qualities, const struct settings *set, uint64_t number,
                       const double *means)
{
        const struct profile *profile = set->profile;
        const double fresh = sqrt(1 - profile->memory * profile->memory);
        uint64_t state = draw_stream(set->seed, FOR_WALK, number);
        char *letters = qualities->letters + number * qualities->class_nletters;
        double at = 0;
        for (uint64_t i = 0; i < qualities->class_nletters; i++) {
                at = profile->memory * at + fresh * draw_step(&state);
                double mean = means[i % qualities->stride];
                letters[i] = letter_of(profile, mean + profile->deviation * at);
        }
}

/* Of each cycle for a class. The error rate rises exponentially along the read. */
static void find_means(const struct profile *profile, uint64_t number, uint64_t ncycles,
                       double *means)
{
        const double share = ((double)number + 0.5) / NCLASSES;
        const double quality = profile->worst + share * (profile->best - profile->worst);
        const double rise = log(profile->rise);
        const double first = rise > 0 ? rise / expm1(rise) : 1;
        for (uint64_t i = 0; i < ncycles; i++) {
                double at = ((double)i + 0.5) / (double)ncycles;
                means[i] = mean_for(profile, pow(10, -0.1 * quality) * first * exp(rise * at));
        }
}

static void sum_errors(struct qualities *qualities)
{
        double of_letter[128], sum = 0;
        for (int i = '!'; i < 128; i++)
                of_letter[i] = -log1p(-error_of((char)i));
        const uint64_t n = NCLASSES * qualities->class_nletters;
        for (uint64_t i = 0; i < n; i++) {
                qualities->reached[i] = sum;
                sum += of_letter[(int)qualities->letters[i]];
        }
        qualities->reached[n] = sum;
}

enum kc_status qualities_open(struct qualities **made, const struct settings *set,
                              struct kc_error *err)
{
        struct qualities *qualities = *made = calloc(1, sizeof *qualities);
        uint64_t stride = set->profile->rise > 1 ? set->length : 1;
        double *means = malloc(stride * sizeof *means);
        bool enough = qualities != NULL && means != NULL;
        if (enough) {
                qualities->stride = stride;
                qualities->nstarts = (STRINGS_NBYTES + stride - 1) / stride;
                qualities->class_nletters = qualities->nstarts * stride + set->longest;
                uint64_t n = NCLASSES * qualities->class_nletters;
                qualities->letters = malloc(n);
                qualities->reached = malloc((n + 1) * sizeof *qualities->reached);
                enough = qualities->letters != NULL && qualities->reached != NULL;
        }
        for (uint64_t i = 0; enough && i < NCLASSES; i++) {
                find_means(set->profile, i, stride, means);
                fill_class(qualities, set, i, means);
        }
        if (enough)
                sum_errors(qualities);
        free(means);
        return enough ? KC_OK : kc_fail(err, KC_ENOMEM, "out of memory for qualities");
}

void qualities_close(struct qualities *qualities)
{
        if (qualities == NULL)
                return;
        free(qualities->letters);
        free(qualities->reached);
        free(qualities);
}

/* ---- reads ---- */

uint64_t profile_draw_length(const struct settings *set, uint64_t *state)
{
        const struct profile *profile = set->profile;
        const double mean = (double)set->length, spread = profile->spread;
        if (spread <= 0)
                return set->length;
        double length = mean * exp(spread * draw_normal(state) - spread * spread / 2);
        length = fmin(fmax(length, profile->shortest * mean), profile->longest * mean);
        return length < 1 ? 1 : (uint64_t)length;
}

/* The first letter, from `from` on, whose sum is above the limit; n if there is none. */
static uint64_t find_error(const double *reached, uint64_t from, uint64_t n, double limit)
{
        uint64_t step = 1, low = from, high; /* the sum up to low is not above the limit */
        if (reached[n] <= limit)
                return n;
        while (low + step <= n && reached[low + step] <= limit) {
                low += step;
                step *= 2;
        }
        high = low + step <= n ? low + step : n + 1;
        while (high - low > 1) {
                uint64_t middle = low + (high - low) / 2;
                if (reached[middle] <= limit)
                        low = middle;
                else
                        high = middle;
        }
        return low;
}

/* A read in the making: `at` is the index of its next base; `strand` begins with the next base
 * to copy. */
struct copying {
        struct read *read;
        uint64_t at;
        const char *strand, *end;
};

static void put_operation(struct read *read, uint64_t n, char operation)
{
        char digits[20];
        int ndigits = 0;
        if (read->cigar == NULL || n == 0)
                return;
        for (; n > 0; n /= 10)
                digits[ndigits++] = (char)('0' + n % 10);
        while (ndigits > 0)
                *read->cigar_at++ = digits[--ndigits];
        *read->cigar_at++ = operation;
}

/* Bases that can still be copied. */
static uint64_t room_of(const struct copying *copying)
{
        uint64_t wanted = copying->read->nbases - copying->at;
        uint64_t left = (uint64_t)(copying->end - copying->strand);
        return wanted < left ? wanted : left;
}

static void copy_bases(struct copying *copying, uint64_t n)
{
        memcpy(copying->read->bases + copying->at, copying->strand, n);
        put_operation(copying->read, n, '=');
        copying->at += n;
        copying->strand += n;
}

/* Bases before the next homopolymer that ends within n bases; n if there is none. */
static uint64_t before_homopolymer(const char *bases, uint64_t n)
{
        for (uint64_t i = 0; i + HOMOPOLYMER <= n; i++)
                if (bases[i] == bases[i + 1] && bases[i] == bases[i + 2])
                        return i;
        return n;
}

/* X, I or D, as in a CIGAR string. */
static char draw_operation(const struct profile *profile, uint64_t *state)
{
        double share = draw_unit(state);
        if (share <= profile->substitutions)
                return 'X';
        return share <= profile->substitutions + profile->insertions ? 'I' : 'D';
}

/* Whether a homopolymer is near enough for the next error. If so, copy the bases before it. */
static bool reach_homopolymer(struct copying *copying)
{
        uint64_t room = room_of(copying), near = room < NEAR ? room : NEAR;
        uint64_t before = before_homopolymer(copying->strand, near);
        if (before < near)
                copy_bases(copying, before);
        return before < near;
}

/* Make the error that the quality of the base `cause` calls for, at the next base or in the next
 * homopolymer; the two qualities change places. Needs room for a base. */
static void put_error(struct copying *copying, const struct profile *profile, uint64_t *state,
                      uint64_t cause)
{
        struct read *read = copying->read;
        char operation = draw_operation(profile, state), quality = read->quality[cause];
        bool in_run = operation != 'X' && draw_unit(state) <= profile->homopolymers &&
                      reach_homopolymer(copying);
        read->quality[cause] = read->quality[copying->at];
        read->quality[copying->at] = quality;
        put_operation(read, 1, operation);
        if (operation == 'X') {
                uint64_t code = (uint64_t)(*copying->strand++ >> 1) + 1 + draw_below(state, 3);
                read->bases[copying->at++] = GENOME_LETTERS[code & 3];
        } else if (operation == 'I') {
                char base = GENOME_LETTERS[draw_below(state, 4)];
                read->bases[copying->at++] = in_run ? *copying->strand : base;
        } else {
                copying->strand++;
        }
}

static uint64_t draw_string(const struct qualities *qualities, uint64_t *state)
{
        double share = (draw_unit(state) + draw_unit(state)) / 2;
        uint64_t number = (uint64_t)(share * NCLASSES);
        number = number < NCLASSES ? number : NCLASSES - 1;
        return number * qualities->class_nletters +
               draw_below(state, qualities->nstarts) * qualities->stride;
}

void profile_read(const struct qualities *qualities, const struct settings *set, uint64_t *state,
                  const char *strand, uint64_t n, struct read *read)
{
        const uint64_t string = draw_string(qualities, state);
        const double *reached = qualities->reached + string;
        struct copying copying = { .read = read, .strand = strand, .end = strand + n };
        memcpy(read->quality, qualities->letters + string, read->nbases);
        for (uint64_t i = 0; room_of(&copying) > 0; i++) {
                i = find_error(reached, i, read->nbases, reached[i] - log(draw_unit(state)));
                uint64_t before = i > copying.at ? i - copying.at : 0, room = room_of(&copying);
                copy_bases(&copying, before < room ? before : room);
                /* A letter that changed places with that of an earlier error causes none. */
                if (before < room && read->quality[i] == qualities->letters[string + i])
                        put_error(&copying, set->profile, state, i);
        }
        read->nbases = copying.at;
        read->used = (uint64_t)(copying.strand - strand);
}
