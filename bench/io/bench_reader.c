/*
 * The reader alone, and each of its stages.
 *
 *      bench_reader FILE [THREADS [CHUNK_NBYTES]]
 *
 * "reader" is everything: batches are filled and discarded. The lines below it run one stage on one
 * core, repeatedly, on what the previous stage made from the file's first bytes; their GB/s of text
 * show which stage is slowest.
 */
#include "base/parallel.h"
#include "io/parse/file.h"
#include "io/parse/segment.h"
#include "io/reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { K = 31, BATCH_WORDS = 1 << 17, CHUNK_NBYTES = 256 << 10 };

static double seconds(clockid_t clock)
{
        struct timespec t;
        clock_gettime(clock, &t);
        return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static enum kc_status drain(void *ctx, int worker, struct kc_error *err)
{
        struct kc_batch_source *source = ctx;
        struct kc_batch batch = { .words_cap = BATCH_WORDS, .segments_cap = BATCH_WORDS / 4 };
        enum kc_status status = KC_ENOMEM;
        batch.words = malloc(8 * (BATCH_WORDS + KC_BATCH_PADDING));
        batch.segments = malloc(sizeof *batch.segments * batch.segments_cap);
        if (batch.words != NULL && batch.segments != NULL) {
                do
                        status = source->next(source->ctx, worker, &batch, err);
                while (status == KC_OK && batch.nsegments > 0);
        }
        free(batch.words);
        free(batch.segments);
        return status;
}

static enum kc_status run_reader(const char *path, int nthreads, size_t chunk_nbytes,
                                 struct kc_error *err)
{
        struct kc_reader *reader;
        struct kc_reader_totals totals;
        struct kc_reader_options options = { .k = K,
                                             .nworkers = nthreads,
                                             .chunk_nbytes = chunk_nbytes };
        enum kc_status status = kc_reader_open(&reader, &path, 1, &options, err);
        if (status != KC_OK)
                return status;
        struct kc_batch_source source = kc_reader_source(reader);
        double wall = seconds(CLOCK_MONOTONIC), cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
        status = kc_parallel(nthreads, drain, NULL, &source, err);
        wall = seconds(CLOCK_MONOTONIC) - wall;
        cpu = seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu;
        kc_reader_totals(reader, &totals);
        kc_reader_close(reader);
        printf("reader\t%d threads\t%.2f GB/s of text\t%.0f Mbases/s\tof a core: %.2f GB/s, "
               "%.3f ns a base\n",
               nthreads, 1e-9 * (double)totals.text_nbytes / wall,
               1e-6 * (double)totals.nbases / wall, 1e-9 * (double)totals.text_nbytes / cpu,
               1e9 * cpu / (double)totals.nbases);
        return status;
}

struct stage {
        const char *name;
        double seconds;
};

/* Time fill (read and inflate), parse (count, split, scan, confirm) and pack of one file. */
static enum kc_status run_stages(const char *path, size_t chunk_nbytes, struct kc_error *err)
{
        struct kc_file_options options = { .kernels = kc_kernels_best(),
                                           .k = K,
                                           .nworkers = 1,
                                           .ninflaters = 1,
                                           .chunk_nbytes = chunk_nbytes };
        struct stage stages[] = { { "fill", 0 }, { "parse", 0 }, { "pack", 0 } };
        struct kc_file file;
        struct kc_chunk chunk;
        struct kc_segmenter segmenter;
        struct kc_batch batch = { .words_cap = BATCH_WORDS, .segments_cap = BATCH_WORDS / 4 };
        const struct kc_input_piece whole = { .to = UINT64_MAX };
        bool empty;
        uint64_t text_nbytes = 0;
        enum kc_status status = kc_chunk_init(&chunk, chunk_nbytes, err);
        batch.words = malloc(8 * (BATCH_WORDS + KC_BATCH_PADDING));
        batch.segments = malloc(sizeof *batch.segments * batch.segments_cap);
        kc_segmenter_init(&segmenter, options.kernels, K, K, 0, false);
        if (status == KC_OK)
                status = kc_file_open(&file, path, &whole, &options, &empty, err);
        while (status == KC_OK) {
                double t0 = seconds(CLOCK_MONOTONIC);
                if (!kc_file_fill(&file, &chunk))
                        break;
                double t1 = seconds(CLOCK_MONOTONIC);
                text_nbytes += chunk.end - chunk.text;
                status = kc_file_parse(&file, &chunk, err);
                double t2 = seconds(CLOCK_MONOTONIC);
                do
                        batch.nwords = batch.nsegments = 0;
                while (!kc_segmenter_pack(&segmenter, &chunk, &batch));
                stages[0].seconds += t1 - t0;
                stages[1].seconds += t2 - t1;
                stages[2].seconds += seconds(CLOCK_MONOTONIC) - t2;
        }
        for (size_t i = 0; i < sizeof stages / sizeof stages[0]; i++)
                printf("%s\t1 thread\t%.2f GB/s of text\t%.3f ns a base\n", stages[i].name,
                       1e-9 * (double)text_nbytes / stages[i].seconds,
                       1e9 * stages[i].seconds / (double)segmenter.nbases);
        kc_file_close(&file);
        kc_chunk_free(&chunk);
        free(batch.words);
        free(batch.segments);
        return status;
}

int main(int argc, char **argv)
{
        struct kc_error err = { 0 };
        if (argc < 2 || argc > 4) {
                fprintf(stderr, "usage: bench_reader FILE [THREADS [CHUNK_NBYTES]]\n");
                return 2;
        }
        int nthreads = argc > 2 ? atoi(argv[2]) : 1;
        size_t chunk_nbytes = argc > 3 ? strtoull(argv[3], NULL, 10) : CHUNK_NBYTES;
        if (nthreads < 1 || chunk_nbytes == 0) {
                fprintf(stderr, "bench_reader: threads and chunk must be 1 at least\n");
                return 2;
        }
        printf("kernels\t%s\n", kc_kernels_best()->name);
        enum kc_status status = run_reader(argv[1], nthreads, chunk_nbytes, &err);
        if (status == KC_OK)
                status = run_stages(argv[1], chunk_nbytes, &err);
        if (status != KC_OK)
                fprintf(stderr, "bench_reader: %s\n", err.message);
        return status == KC_OK ? 0 : 1;
}
