/*
 * simulate: reads of a random genome, fast, for benchmarks of any size.
 *
 * Genome    blocks of BLOCK bases. A block is drawn from its own number or, with the probability
 *           given by --repeats, is a copy of one of a few units, some far more frequent than
 *           others, like transposons.
 * Read      drawn from its own number: where it starts, which strand, which letters are wrong. So
 *           the text depends only on the seed, not on the threads.
 * Qualities a window of one long random walk over LEVELS, made once; wrong letters get a low one.
 *           Repetitive enough that gzip compresses four- to fivefold, as with real FASTQ.
 *
 * Threads format blocks of reads in parallel, compress them with --bgzf, and write them in order.
 * Where a block begins depends on the reads alone, so compressed bytes, too, are the same for any
 * number of threads.
 */
#include "base/clock.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "bench/bgzf.h"
#include "tests/random.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
        BLOCK = 1000,            /* bases of a genome block, so also of a repeat unit */
        COPIES = 20,             /* of a repeat unit, on average */
        WALK_NBYTES = 1 << 22,   /* of the quality walk */
        OUTPUT_NBYTES = 1 << 20, /* of text formatted at a time, approximately */
        PIPE_NBYTES = 1 << 20,   /* wanted for an output that is a pipe */
        LEVEL = 1,               /* of compression: the fastest */
        NAME_NBYTES = 32,        /* room for @sim.NUMBER/1 */
};

#define NEVER UINT64_C(1000000000000000000) /* more letters than any read has */

static const char LETTERS[] = "ACTG"; /* in the order of (letter >> 1) & 3; code ^ 2 complements */
static const char LEVELS[] = "#,5:?DFGHI";

struct settings {
        uint64_t genome_nbases, length, seed, nreads, wrap;
        double coverage, error_rate, n_rate, repeats;
        int nthreads;
        bool fasta, bgzf;
        const char *output;
};

struct simulation {
        struct settings set;
        char *genome;
        char *walk; /* [WALK_NBYTES + length] */
        atomic_uint_fast64_t next_genome_block;
        int fd;
        uint64_t reads_per_block, written_nbytes;
        pthread_mutex_t lock; /* guards the three fields below */
        pthread_cond_t turn;
        uint64_t next_block, written_blocks;
        bool failed;
};

/* What a thread works with. */
struct desk {
        char *scratch;                            /* [2 * length] */
        char *text;                               /* a block of reads */
        uint8_t *packed;                          /* the same as BGZF; NULL without --bgzf */
        struct libdeflate_compressor *compressor; /* likewise */
};

/* ---- random numbers: a stream for each (seed, purpose, number) ---- */

enum purpose { FOR_BLOCK, FOR_UNIT, FOR_READ, FOR_WALK };

static uint64_t stream(uint64_t seed, enum purpose purpose, uint64_t number)
{
        return random_mix(random_mix(seed + (uint64_t)purpose * UINT64_C(0x632be59bd9b4e019)) +
                          number);
}

static uint64_t draw_below(uint64_t *state, uint64_t n)
{
        return (uint64_t)((unsigned __int128)next_random(state) * n >> 64);
}

/* In (0, 1]. */
static double draw_unit(uint64_t *state)
{
        return (double)((next_random(state) >> 11) + 1) * 0x1p-53;
}

/* Number of letters to skip before the next event of the given rate. */
static uint64_t draw_gap(uint64_t *state, double rate)
{
        if (rate <= 0)
                return NEVER;
        if (rate >= 1)
                return 0;
        double gap = log(draw_unit(state)) / log1p(-rate);
        return gap < (double)NEVER ? (uint64_t)gap : NEVER;
}

/* ---- genome ---- */

static void fill_block(const struct settings *set, uint64_t block, char *bases)
{
        uint64_t nblocks = (set->genome_nbases + BLOCK - 1) / BLOCK;
        uint64_t state = stream(set->seed, FOR_BLOCK, block);
        if (draw_unit(&state) <= set->repeats) {
                uint64_t nunits = 1 + (uint64_t)((double)nblocks * set->repeats / COPIES);
                double skewed = draw_unit(&state);
                uint64_t unit = (uint64_t)(skewed * skewed * skewed * (double)nunits);
                state = stream(set->seed, FOR_UNIT, unit);
        }
        uint64_t bits = 0;
        for (int i = 0; i < BLOCK; i++, bits >>= 2) {
                if (i % 32 == 0)
                        bits = next_random(&state);
                bases[i] = LETTERS[bits & 3];
        }
}

static enum kc_status genome_worker(void *ctx, int worker, struct kc_error *err)
{
        struct simulation *sim = ctx;
        uint64_t nblocks = (sim->set.genome_nbases + BLOCK - 1) / BLOCK;
        (void)worker, (void)err;
        for (;;) {
                uint64_t block = atomic_fetch_add(&sim->next_genome_block, 1);
                if (block >= nblocks)
                        return KC_OK;
                fill_block(&sim->set, block, sim->genome + block * BLOCK);
        }
}

static size_t genome_nbytes(const struct settings *set)
{
        return (set->genome_nbases + BLOCK - 1) / BLOCK * BLOCK;
}

/* In huge pages: reads are copied from random places, which small pages make slow. */
static enum kc_status make_genome(struct simulation *sim, struct kc_error *err)
{
        sim->genome = kc_huge_alloc(genome_nbytes(&sim->set));
        if (sim->genome == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for %" PRIu64 " bases of genome",
                               sim->set.genome_nbases);
        return kc_parallel(sim->set.nthreads, genome_worker, NULL, sim, err);
}

/* A walk that mostly stays at its level, otherwise drops or climbs back to the top. */
static enum kc_status make_walk(struct simulation *sim, struct kc_error *err)
{
        uint64_t n = WALK_NBYTES + sim->set.length;
        uint64_t state = stream(sim->set.seed, FOR_WALK, 0);
        int top = sizeof LEVELS - 2, level = top;
        sim->walk = malloc(n);
        if (sim->walk == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for qualities");
        for (uint64_t i = 0; i < n; i++) {
                uint64_t bits = next_random(&state);
                if (level == top && bits % 32 == 0)
                        level = top - 1 - (int)((bits >> 32) % 4);
                else if (level < top && bits % 4 == 0)
                        level = bits >> 8 & 3 ? top : (int)((bits >> 32) % (uint64_t)top);
                sim->walk[i] = LEVELS[level];
        }
        return KC_OK;
}

/* ---- reads ---- */

static void copy_strand(const char *from, uint64_t n, bool reverse, char *to)
{
        if (!reverse) {
                memcpy(to, from, n);
                return;
        }
        for (uint64_t i = 0; i < n; i++)
                to[i] = LETTERS[(from[n - 1 - i] >> 1 & 3) ^ 2];
}

static void spoil(const struct settings *set, uint64_t *state, char *bases, char *qualities)
{
        uint64_t i = draw_gap(state, set->error_rate);
        for (; i < set->length; i += 1 + draw_gap(state, set->error_rate)) {
                uint64_t shift = 1 + draw_below(state, 3);
                bases[i] = LETTERS[((uint64_t)(bases[i] >> 1) + shift) & 3];
                qualities[i] = LEVELS[draw_below(state, 4)];
        }
        i = draw_gap(state, set->n_rate);
        for (; i < set->length; i += 1 + draw_gap(state, set->n_rate)) {
                bases[i] = 'N';
                qualities[i] = '!';
        }
}

static char *put_name(char *out, char mark, uint64_t number)
{
        char digits[20];
        int n = 0;
        do
                digits[n++] = (char)('0' + number % 10);
        while (number /= 10);
        *out++ = mark;
        memcpy(out, "sim.", 4);
        out += 4;
        while (n > 0)
                *out++ = digits[--n];
        memcpy(out, "/1\n", 3);
        return out + 3;
}

static char *put_wrapped(char *out, const char *bases, uint64_t n, uint64_t wrap)
{
        if (wrap == 0)
                wrap = n;
        for (uint64_t i = 0; i < n; i += wrap) {
                uint64_t take = n - i < wrap ? n - i : wrap;
                memcpy(out, bases + i, take);
                out += take;
                *out++ = '\n';
        }
        return out;
}

/* scratch  [2 * length] */
static char *put_read(const struct simulation *sim, uint64_t number, char *scratch, char *out)
{
        const struct settings *set = &sim->set;
        uint64_t state = stream(set->seed, FOR_READ, number);
        uint64_t start = draw_below(&state, set->genome_nbases - set->length + 1);
        uint64_t bits = next_random(&state);
        char *bases = scratch, *qualities = scratch + set->length;

        copy_strand(sim->genome + start, set->length, bits & 1, bases);
        memcpy(qualities, sim->walk + (bits >> 1) % WALK_NBYTES, set->length);
        spoil(set, &state, bases, qualities);

        out = put_name(out, set->fasta ? '>' : '@', number);
        out = put_wrapped(out, bases, set->length, set->wrap);
        if (set->fasta)
                return out;
        memcpy(out, "+\n", 2);
        return put_wrapped(out + 2, qualities, set->length, set->wrap);
}

/* ---- output ---- */

static enum kc_status write_all(struct simulation *sim, const void *bytes, size_t n,
                                struct kc_error *err)
{
        while (n > 0) {
                ssize_t got = write(sim->fd, bytes, n);
                if (got < 0 && errno != EINTR)
                        return kc_fail(err, KC_EIO, "%s: %s", sim->set.output, strerror(errno));
                if (got > 0) {
                        bytes = (const char *)bytes + got;
                        n -= (size_t)got;
                        sim->written_nbytes += (uint64_t)got;
                }
        }
        return KC_OK;
}

static uint64_t take_block(struct simulation *sim)
{
        pthread_mutex_lock(&sim->lock);
        uint64_t block = sim->next_block++;
        pthread_mutex_unlock(&sim->lock);
        return block;
}

static enum kc_status write_in_turn(struct simulation *sim, uint64_t block, const void *bytes,
                                    size_t n, struct kc_error *err)
{
        pthread_mutex_lock(&sim->lock);
        while (sim->written_blocks != block && !sim->failed)
                pthread_cond_wait(&sim->turn, &sim->lock);
        bool failed = sim->failed;
        pthread_mutex_unlock(&sim->lock);
        if (failed)
                return kc_fail(err, KC_ECANCELED, "another thread failed");

        enum kc_status status = write_all(sim, bytes, n, err);
        pthread_mutex_lock(&sim->lock);
        sim->written_blocks++;
        pthread_cond_broadcast(&sim->turn);
        pthread_mutex_unlock(&sim->lock);
        return status;
}

static void wake_writers(void *ctx)
{
        struct simulation *sim = ctx;
        pthread_mutex_lock(&sim->lock);
        sim->failed = true;
        pthread_cond_broadcast(&sim->turn);
        pthread_mutex_unlock(&sim->lock);
}

static size_t record_nbytes(const struct settings *set)
{
        uint64_t nlines = set->wrap ? (set->length + set->wrap - 1) / set->wrap : 1;
        return NAME_NBYTES + 2 + 2 * (set->length + nlines);
}

static enum kc_status desk_open(const struct simulation *sim, struct desk *desk,
                                struct kc_error *err)
{
        size_t text_nbytes = sim->reads_per_block * record_nbytes(&sim->set) + 1;
        desk->scratch = malloc(2 * sim->set.length);
        desk->text = malloc(text_nbytes);
        bool enough = desk->scratch != NULL && desk->text != NULL;
        if (sim->set.bgzf) {
                desk->packed = malloc(bgzf_room_nbytes(text_nbytes));
                desk->compressor = libdeflate_alloc_compressor(LEVEL);
                enough = enough && desk->packed != NULL && desk->compressor != NULL;
        }
        return enough ? KC_OK : kc_fail(err, KC_ENOMEM, "out of memory for text");
}

static void desk_close(struct desk *desk)
{
        if (desk->compressor != NULL)
                libdeflate_free_compressor(desk->compressor);
        free(desk->packed);
        free(desk->text);
        free(desk->scratch);
}

/* Make a block of reads. The first byte of a block's reads, which is the same for all reads, goes
 * with the block before: if BGZF is cut between blocks, the cut is then within a record, and is
 * noticed. Returns the bytes of the text, or 0 after the last read. */
static size_t put_block(const struct simulation *sim, uint64_t block, struct desk *desk,
                        const char **text)
{
        const uint64_t first = block * sim->reads_per_block, end = first + sim->reads_per_block;
        const uint64_t last = end < sim->set.nreads ? end : sim->set.nreads;
        char *to = desk->text;
        *text = desk->text + (block > 0);
        for (uint64_t i = first; i < last; i++)
                to = put_read(sim, i, desk->scratch, to);
        if (first >= last)
                return 0;
        if (last < sim->set.nreads)
                *to++ = *desk->text;
        return (size_t)(to - *text);
}

static enum kc_status read_worker(void *ctx, int worker, struct kc_error *err)
{
        struct simulation *sim = ctx;
        struct desk desk = { 0 };
        enum kc_status status;
        (void)worker;
        KC_TRY(desk_open(sim, &desk, err));
        for (;;) {
                uint64_t block = take_block(sim);
                const char *text;
                size_t n = put_block(sim, block, &desk, &text);
                const void *bytes = text;
                if (n == 0)
                        break;
                if (sim->set.bgzf) {
                        n = bgzf_deflate(desk.compressor, text, n, desk.packed);
                        bytes = desk.packed;
                        if (n == 0)
                                KC_TRY(kc_fail(err, KC_EIO, "a block of BGZF does not fit"));
                }
                KC_TRY(write_in_turn(sim, block, bytes, n, err));
        }
out:
        desk_close(&desk);
        return status;
}

static enum kc_status open_output(struct simulation *sim, struct kc_error *err)
{
        sim->fd = STDOUT_FILENO;
        if (strcmp(sim->set.output, "-") == 0) {
                /* The reader has enough to do while the next thread wakes. Not for files: fails. */
                (void)fcntl(sim->fd, F_SETPIPE_SZ, PIPE_NBYTES);
                return KC_OK;
        }
        sim->fd = open(sim->set.output, O_WRONLY | O_CREAT | O_TRUNC, 0666);
        if (sim->fd < 0)
                return kc_fail(err, KC_EIO, "%s: %s", sim->set.output, strerror(errno));
        return KC_OK;
}

static enum kc_status simulate(struct simulation *sim, struct kc_error *err)
{
        enum kc_status status;
        sim->reads_per_block = 1 + OUTPUT_NBYTES / record_nbytes(&sim->set);
        KC_TRY(open_output(sim, err));
        KC_TRY(make_genome(sim, err));
        KC_TRY(make_walk(sim, err));
        KC_TRY(kc_parallel(sim->set.nthreads, read_worker, wake_writers, sim, err));
        if (sim->set.bgzf)
                KC_TRY(write_all(sim, KC_BGZF_LAST, KC_BGZF_LAST_NBYTES, err));
        if (close(sim->fd) != 0)
                status = kc_fail(err, KC_EIO, "%s: %s", sim->set.output, strerror(errno));
out:
        free(sim->walk);
        kc_huge_free(sim->genome, genome_nbytes(&sim->set));
        return status;
}

/* ---- command line ---- */

static const char USAGE[] =
        "usage: simulate [options]\n"
        "  --genome SIZE      bases, e.g. 1M, 40M, 1G (default 1M)\n"
        "  --coverage X       bases of reads for each base of genome (default 30)\n"
        "  --length L         of a read (default 150)\n"
        "  --error RATE       of substitutions (default 0.005)\n"
        "  --n-rate RATE      of letters replaced by N (default 0)\n"
        "  --repeats FRACTION share of the genome made of copies (default 0)\n"
        "  --seed N           same seed, same text (default 1)\n"
        "  --threads T        (default: all cores)\n"
        "  --format F         fastq (default) or fasta\n"
        "  --wrap W           break sequences and qualities into lines of W (default 0: one line)\n"
        "  --bgzf             compress the text as BGZF, at libdeflate's level 1\n"
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
        case 'o':
                set->output = value;
                break;
        default:
                fputs(USAGE, option == 'h' ? stdout : stderr);
                exit(option == 'h' ? 0 : 2);
        }
}

static void parse_arguments(struct settings *set, int argc, char **argv)
{
        static const struct option options[] = {
                { "genome", required_argument, NULL, 'g' },
                { "coverage", required_argument, NULL, 'c' },
                { "length", required_argument, NULL, 'l' },
                { "error", required_argument, NULL, 'e' },
                { "n-rate", required_argument, NULL, 'n' },
                { "repeats", required_argument, NULL, 'r' },
                { "seed", required_argument, NULL, 's' },
                { "threads", required_argument, NULL, 't' },
                { "format", required_argument, NULL, 'f' },
                { "wrap", required_argument, NULL, 'w' },
                { "bgzf", no_argument, NULL, 'b' },
                { "output", required_argument, NULL, 'o' },
                { "help", no_argument, NULL, 'h' },
                { NULL, 0, NULL, 0 },
        };
        int option;
        while ((option = getopt_long(argc, argv, "o:h", options, NULL)) != -1)
                set_option(set, option, optarg);
        if (optind < argc)
                reject("not expected", argv[optind]);
        if (set->length == 0 || set->length > set->genome_nbases)
                reject("--length", "not between 1 and the genome's size");
        if (set->nthreads < 1)
                reject("--threads", "not 1 or more");
        set->nreads = (uint64_t)((double)set->genome_nbases * set->coverage / (double)set->length);
}

int main(int argc, char **argv)
{
        struct simulation sim = {
                .set = { .genome_nbases = 1000000,
                         .coverage = 30,
                         .length = 150,
                         .seed = 1,
                         .error_rate = 0.005,
                         .nthreads = (int)sysconf(_SC_NPROCESSORS_ONLN),
                         .output = "-" },
                .lock = PTHREAD_MUTEX_INITIALIZER,
                .turn = PTHREAD_COND_INITIALIZER,
        };
        struct kc_error err = { 0 };
        double begin = kc_clock_seconds();
        parse_arguments(&sim.set, argc, argv);
        if (simulate(&sim, &err) != KC_OK) {
                fprintf(stderr, "simulate: %s\n", err.message);
                return 1;
        }
        double seconds = kc_clock_seconds() - begin;
        fprintf(stderr,
                "simulate: %" PRIu64 " reads, %" PRIu64 " bases, %.1f MB in %.2f s, %.0f MB/s\n",
                sim.set.nreads, sim.set.nreads * sim.set.length, (double)sim.written_nbytes * 1e-6,
                seconds, (double)sim.written_nbytes * 1e-6 / seconds);
        return 0;
}
