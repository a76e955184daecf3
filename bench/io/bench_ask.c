/*
 * bench_ask: how many k-mers the host's asker answers per second of CPU time (cpu/ask/ask.h).
 *
 *      bench_ask TABLE.kc SEQUENCES THREADS MEBIBYTES
 *
 * SEQUENCES has one sequence on each line and is read into memory first. Everything else counts,
 * from opening the table to the summary of the last sequence. Prints a line for each stage: its
 * seconds, its seconds of CPU time, and the CPU time for each k-mer in ns; then the totals, to be
 * compared with those of other programs.
 */
#include "base/parallel.h"
#include "cpu/ask/ask.h"
#include "io/store.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { BLOCK_NBASES = 1 << 20, BLOCK_NSEQUENCES = 64 << 10 };

enum stage { OPEN, ADD, ANSWER, TAKE, NSTAGES };
static const char *const names[NSTAGES] = { "open", "add", "answer", "take" };

struct bench {
        char *text;
        struct kc_ask_sequence *sequences;
        size_t n, *blocks, nblocks; /* blocks [nblocks + 1] the first sequence of each */
        struct kc_asker asker;
        struct kc_ask_setup setup;
        size_t *next, *first;        /* [nthreads] the thread's next block to add, and to take */
        struct kc_ask_summary *sums; /* [nthreads] */
        double wall[NSTAGES], cpu[NSTAGES];
};

static void die(const char *what)
{
        fprintf(stderr, "bench_ask: %s\n", what);
        exit(1);
}

static void *or_die(void *block)
{
        if (block == NULL)
                die("out of memory");
        return block;
}

static void try(enum kc_status status, const struct kc_error *err)
{
        if (status != KC_OK)
                die(err->message);
}

/* ---- sequences ---- */

static void read_text(struct bench *b, const char *path)
{
        FILE *f = fopen(path, "r");
        if (f == NULL || fseek(f, 0, SEEK_END) != 0)
                die("cannot read the sequences");
        const size_t n = (size_t)ftell(f);
        rewind(f);
        b->text = or_die(malloc(n + 1));
        if (fread(b->text, 1, n, f) != n)
                die("cannot read the sequences");
        b->text[n] = '\0';
        fclose(f);
}

/* Blocks like those of records, of about a mebibyte. */
static void cut_text(struct bench *b)
{
        size_t nlines = 0, nbases = 0;
        for (const char *c = b->text; *c != '\0'; c++)
                nlines += *c == '\n';
        b->sequences = or_die(malloc((nlines + 1) * sizeof *b->sequences));
        b->blocks = or_die(malloc((nlines + 2) * sizeof *b->blocks));
        b->blocks[0] = 0;
        for (char *line = strtok(b->text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
                const size_t n = strlen(line);
                if (nbases + n > BLOCK_NBASES || b->n - b->blocks[b->nblocks] == BLOCK_NSEQUENCES) {
                        b->blocks[++b->nblocks] = b->n;
                        nbases = 0;
                }
                b->sequences[b->n++] = (struct kc_ask_sequence){ line, (uint32_t)n };
                nbases += n;
        }
        b->blocks[++b->nblocks] = b->n;
}

/* ---- stages ---- */

static double cpu_seconds(void)
{
        struct rusage u;
        getrusage(RUSAGE_SELF, &u);
        return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
               1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static double wall_seconds(void)
{
        struct timespec t;
        clock_gettime(CLOCK_MONOTONIC, &t);
        return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Add the time since *wall and *cpu to a stage, and set them to now. */
static void end_stage(struct bench *b, enum stage stage, double *wall, double *cpu)
{
        const double wall_now = wall_seconds(), cpu_now = cpu_seconds();
        b->wall[stage] += wall_now - *wall;
        b->cpu[stage] += cpu_now - *cpu;
        *wall = wall_now;
        *cpu = cpu_now;
}

static enum kc_status add(void *ctx, int worker, struct kc_error *err)
{
        struct bench *b = ctx;
        enum kc_status status = KC_OK;
        bool full = false;
        size_t i = b->next[worker];
        for (; !full && i < b->nblocks && status == KC_OK; i += (size_t)b->setup.nthreads)
                status = b->asker.add(b->asker.ctx, worker, b->sequences + b->blocks[i],
                                      b->blocks[i + 1] - b->blocks[i], &full, err);
        b->next[worker] = i;
        return status;
}

static enum kc_status take(void *ctx, int worker, struct kc_error *err)
{
        struct bench *b = ctx;
        enum kc_status status = KC_OK;
        struct kc_ask_answer *answers = or_die(malloc(BLOCK_NSEQUENCES * sizeof *answers));
        size_t i = b->first[worker];
        for (; i < b->next[worker] && status == KC_OK; i += (size_t)b->setup.nthreads) {
                const size_t n = b->blocks[i + 1] - b->blocks[i];
                status = b->asker.take(b->asker.ctx, worker, answers, n, err);
                for (size_t j = 0; status == KC_OK && j < n; j++)
                        kc_ask_summary_append(&b->sums[worker], &answers[j].summary);
        }
        b->first[worker] = i;
        free(answers);
        return status;
}

static size_t run(struct bench *b, const char *path)
{
        struct kc_error err = { 0 };
        struct kc_store *store;
        double wall = wall_seconds(), cpu = cpu_seconds();
        size_t nrounds = 0;
        try(kc_store_open(&store, path, &err), &err);
        const struct kc_ask_table table = kc_store_ask_table(store);
        try(kc_cpu_ask_open(&b->asker, &table, &b->setup, NULL, &err), &err);
        end_stage(b, OPEN, &wall, &cpu);
        for (bool more = true; more; nrounds++) {
                try(kc_parallel(b->setup.nthreads, add, NULL, b, &err), &err);
                end_stage(b, ADD, &wall, &cpu);
                try(b->asker.answer(b->asker.ctx, &err), &err);
                end_stage(b, ANSWER, &wall, &cpu);
                try(kc_parallel(b->setup.nthreads, take, NULL, b, &err), &err);
                end_stage(b, TAKE, &wall, &cpu);
                more = false;
                for (int t = 0; t < b->setup.nthreads; t++)
                        more = more || b->next[t] < b->nblocks;
        }
        b->asker.close(b->asker.ctx);
        kc_store_close(store);
        return nrounds;
}

static void report(const struct bench *b, size_t nrounds)
{
        struct kc_ask_summary sum = KC_ASK_NOTHING;
        struct rusage u;
        double cpu = 0;
        for (int t = 0; t < b->setup.nthreads; t++)
                kc_ask_summary_append(&sum, &b->sums[t]);
        for (int s = 0; s < NSTAGES; s++) {
                printf("%-8s %8.3f s %8.3f CPU %6.2f ns\n", names[s], b->wall[s], b->cpu[s],
                       1e9 * b->cpu[s] / (double)sum.nvalid);
                cpu += b->cpu[s];
        }
        getrusage(RUSAGE_SELF, &u);
        printf("all      %zu rounds, %.1f M k-mers/s of CPU, peak %ld MiB\n", nrounds,
               1e-6 * (double)sum.nvalid / cpu, u.ru_maxrss / 1024);
        printf("windows %" PRIu64 " valid %" PRIu64 " found %" PRIu64 " sum %" PRIu64
               " min %u max %u\n",
               sum.nwindows, sum.nvalid, sum.nfound, sum.sum, sum.min, sum.max);
}

int main(int argc, char **argv)
{
        if (argc != 5)
                die("usage: bench_ask TABLE.kc SEQUENCES THREADS MEBIBYTES");
        struct bench b = { .setup = { .nthreads = atoi(argv[3]),
                                      .memory_nbytes = strtoull(argv[4], NULL, 10) << 20,
                                      .min_count = 1,
                                      .max_count = UINT32_MAX } };
        const size_t nthreads = (size_t)b.setup.nthreads;
        if (b.setup.nthreads < 1)
                die("at least one thread is needed");
        read_text(&b, argv[2]);
        cut_text(&b);
        b.next = or_die(calloc(nthreads, sizeof *b.next));
        b.first = or_die(calloc(nthreads, sizeof *b.first));
        b.sums = or_die(calloc(nthreads, sizeof *b.sums));
        for (size_t t = 0; t < nthreads; t++) {
                b.next[t] = b.first[t] = t;
                b.sums[t] = KC_ASK_NOTHING;
        }
        report(&b, run(&b, argv[1]));
        free(b.text);
        free(b.sequences);
        free(b.blocks);
        free(b.next);
        free(b.first);
        free(b.sums);
        return 0;
}
