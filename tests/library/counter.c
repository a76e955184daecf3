/*
 * A program that counts through kcount.h alone, for tests/cli/library_count.py.
 *
 *      counter files|lines|several|histogram OUTPUT [NAME=VALUE]... -- INPUT...
 *
 * lines: each line of the input is a sequence in memory. An empty OUTPUT stands for NULL. NAME is a
 * field of struct kcount_count_options. The program prints a line for each k-mer, with its count,
 * then lines that begin with #. With print=0 it prints nothing. On failure, it prints status,
 * message, file and advice on lines of their own, and exits with 1. several: with k = 21, 9 and 40,
 * into OUTPUT.21, ... histogram: prints rows, statistics and warnings; OUTPUT is not used.
 */
#include "include/kcount.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = { "OK",  "EUSAGE", "EINPUT",  "EDAMAGED",  "EEXIST",
                                     "EIO", "ENOMEM", "EDEVICE", "ENODEVICE", "ECANCELED" };

static int report(struct kcount_error *error)
{
        printf("%s\n%s\n%s\n%s\n", names[kcount_error_status(error)], kcount_error_message(error),
               kcount_error_file(error), kcount_error_advice(error));
        kcount_error_free(error);
        return 1;
}

/* The lines of a file. The next call overwrites the letters of the lines of the last one. */
struct lines {
        FILE *file;
        char *text[64];
        size_t cap[64], n, ncalls;
};

static bool next_lines(void *ctx, struct kcount_sequence *sequences, size_t cap, size_t *n)
{
        struct lines *lines = ctx;
        const size_t most = 1 + lines->ncalls++ % 7;
        for (size_t i = 0; i < lines->n; i++)
                memset(lines->text[i], 'A', lines->cap[i]);
        for (lines->n = 0; lines->n < cap && lines->n < most; lines->n++) {
                char **text = &lines->text[lines->n];
                free(*text);
                *text = NULL;
                lines->cap[lines->n] = 0;
                ssize_t got = getline(text, &lines->cap[lines->n], lines->file);
                if (got < 0)
                        break;
                got -= got > 0 && (*text)[got - 1] == '\n';
                /* allocated at its exact size, so that sanitizers find reads beyond its end */
                char *own = malloc(got > 0 ? (size_t)got : 1);
                memcpy(own, *text, (size_t)got);
                free(*text);
                *text = own;
                lines->cap[lines->n] = (size_t)got;
                sequences[lines->n] = (struct kcount_sequence){ own, (size_t)got };
        }
        *n = lines->n;
        return true;
}

static void set(struct kcount_count_options *o, const char *word)
{
        const char *value = strchr(word, '=') + 1;
        const uint64_t number = strtoull(value, NULL, 10);
        const size_t n = (size_t)(value - word) - 1;
        const struct {
                const char *name;
                bool *at;
        } flags[] = { { "stranded", &o->stranded },
                      { "hpc", &o->hpc },
                      { "replace", &o->replace },
                      { "accept_empty", &o->accept_empty } };
        for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
                if (strncmp(flags[i].name, word, n) == 0)
                        *flags[i].at = number != 0;
        if (strncmp("k", word, n) == 0)
                o->k = atoi(value);
        else if (strncmp("min_count", word, n) == 0)
                o->min_count = (uint32_t)number;
        else if (strncmp("max_count", word, n) == 0)
                o->max_count = (uint32_t)number;
        else if (strncmp("min_quality", word, n) == 0)
                o->min_quality = atoi(value);
        else if (strncmp("skip", word, n) == 0)
                o->skip = (uint32_t)number;
        else if (strncmp("require_flags", word, n) == 0)
                o->require_flags = (uint16_t)number;
        else if (strncmp("exclude_flags", word, n) == 0)
                o->exclude_flags = (uint16_t)number;
        else if (strncmp("only", word, n) == 0)
                o->only = value;
        else if (strncmp("nthreads", word, n) == 0)
                o->nthreads = atoi(value);
        else if (strncmp("memory_nbytes", word, n) == 0)
                o->memory_nbytes = number;
        else if (strncmp("tmp_folder", word, n) == 0)
                o->tmp_folder = value;
        else if (strncmp("device", word, n) == 0)
                o->device = value;
}

static enum kcount_status print(struct kcount_counts *counts, struct kcount_error **error)
{
        enum { MOST = 1000 };
        struct kcount_info info = { .size = sizeof info };
        struct kcount_cursor *cursor;
        uint64_t kmers[MOST * KCOUNT_MAX_WORDS];
        uint32_t found[MOST];
        char text[MOST * KCOUNT_MAX_K];
        size_t n = 0;
        enum kcount_status status = kcount_cursor_open(&cursor, counts, NULL, NULL, error);
        if (status != KCOUNT_OK)
                return status;
        kcount_get_info(counts, &info);
        do {
                status = kcount_cursor_next(cursor, kmers, found, MOST, &n, error);
                if (status != KCOUNT_OK)
                        break;
                kcount_decode(info.k, kmers, n, text);
                for (size_t i = 0; i < n; i++)
                        printf("%.*s\t%u\n", info.k, text + i * (size_t)info.k, found[i]);
        } while (n > 0);
        kcount_cursor_close(cursor);
        printf("# k %d stranded %d hpc %d distinct %llu unique %llu sum %llu\n", info.k,
               info.stranded, info.hpc, (unsigned long long)info.ndistinct,
               (unsigned long long)info.nunique, (unsigned long long)info.total);
        printf("# reads %llu bases %llu kmers %llu dropped %llu %llu\n",
               (unsigned long long)info.nreads, (unsigned long long)info.nbases,
               (unsigned long long)info.nkmers, (unsigned long long)info.ndropped_distinct,
               (unsigned long long)info.ndropped_kmers);
        if (kcount_warning(counts)[0] != '\0')
                printf("# warning: %s\n", kcount_warning(counts));
        return status;
}

static enum kcount_status count_several(const char *const *inputs, size_t ninputs,
                                        const struct kcount_count_options *options,
                                        const char *output, struct kcount_error **error)
{
        const int ks[] = { 21, 9, 40 };
        enum { N = sizeof ks / sizeof *ks };
        struct kcount_counts *counts[N] = { NULL };
        char paths[N][64];
        const char *outputs[N];
        for (size_t i = 0; i < N; i++) {
                snprintf(paths[i], sizeof paths[i], "%s.%d", output != NULL ? output : "", ks[i]);
                outputs[i] = paths[i];
        }
        enum kcount_status status = kcount_count_several(
                inputs, ninputs, ks, N, options, output != NULL ? outputs : NULL, counts, error);
        for (size_t i = 0; i < N; i++) {
                if (status == KCOUNT_OK)
                        status = print(counts[i], error);
                kcount_close(counts[i]);
        }
        return status;
}

static void warn(void *ctx, const char *text)
{
        fprintf(ctx, "# warned: %s\n", text);
}

static enum kcount_status count_histogram(const char *const *inputs, size_t ninputs,
                                          struct kcount_count_options *options,
                                          struct kcount_error **error)
{
        struct kcount_statistics statistics = { .size = sizeof statistics };
        struct kcount_row *rows;
        size_t nrows;
        options->warn = warn;
        options->warn_ctx = stdout;
        options->statistics = &statistics;
        const enum kcount_status status =
                kcount_count_histogram(inputs, ninputs, options, &rows, &nrows, error);
        if (status != KCOUNT_OK)
                return status;
        for (size_t i = 0; i < nrows; i++)
                printf("%llu\t%llu\n", (unsigned long long)rows[i].count,
                       (unsigned long long)rows[i].number);
        printf("# reads %llu bases %llu skipped %llu low %llu left out %llu threads %d devices "
               "%d\n",
               (unsigned long long)statistics.nreads, (unsigned long long)statistics.nbases,
               (unsigned long long)statistics.nskipped, (unsigned long long)statistics.nlow_quality,
               (unsigned long long)statistics.nleft_out, statistics.nthreads, statistics.ndevices);
        kcount_free(rows);
        return KCOUNT_OK;
}

int main(int argc, char **argv)
{
        struct kcount_count_options options = KCOUNT_COUNT_OPTIONS_INIT;
        struct kcount_counts *counts = NULL;
        struct kcount_error *error = NULL;
        const char *output = argv[2][0] != '\0' ? argv[2] : NULL;
        enum kcount_status status;
        bool prints = true;
        int i = 3;
        for (; i < argc && strcmp(argv[i], "--") != 0; i++) {
                set(&options, argv[i]);
                prints &= strcmp(argv[i], "print=0") != 0;
        }
        const char *const *inputs = (const char *const *)argv + i + 1;
        const size_t ninputs = (size_t)(argc - i - 1);
        if (strcmp(argv[1], "files") == 0) {
                status = kcount_count_files(inputs, ninputs, &options, output, &counts, &error);
        } else if (strcmp(argv[1], "several") == 0) {
                status = count_several(inputs, ninputs, &options, output, &error);
                prints = false;
        } else if (strcmp(argv[1], "histogram") == 0) {
                status = count_histogram(inputs, ninputs, &options, &error);
                prints = false;
        } else {
                struct lines lines = { .file = fopen(argv[i + 1], "r") };
                status = kcount_count_sequences(next_lines, &lines, &options, output, &counts,
                                                &error);
                for (size_t j = 0; j < 64; j++)
                        free(lines.text[j]);
                fclose(lines.file);
        }
        if (status == KCOUNT_OK && prints)
                status = print(counts, &error);
        kcount_close(counts);
        return status == KCOUNT_OK ? 0 : report(error);
}
