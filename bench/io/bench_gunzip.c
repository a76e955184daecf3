/*
 * bench_gunzip: how fast a source (io/inflate/source.h) delivers a gzip file's text, which is
 * discarded.
 *
 *      bench_gunzip WAY THREADS FILE.gz
 *
 * WAY is "kcount": as the reader does it, with THREADS threads; "isa-l": one stream, one thread, as
 * kcount does with few threads; "zlib": likewise, with zlib. Prints one line: way, threads, bytes
 * of text, seconds, seconds of CPU, peak memory in MiB.
 */
#include "base/parallel.h"
#include "io/inflate/source.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <zlib.h>

enum { CHUNK_NBYTES = 512 << 10 };

struct drain {
        struct kc_source *source;
        atomic_uint_fast64_t nbytes;
};

static double seconds(clockid_t clock)
{
        struct timespec t;
        clock_gettime(clock, &t);
        return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static enum kc_status drain(void *ctx, int worker, struct kc_error *err)
{
        struct drain *d = ctx;
        struct kc_chunk chunk;
        (void)worker;
        enum kc_status status = kc_chunk_init(&chunk, CHUNK_NBYTES, err);
        while (status == KC_OK) {
                kc_chunk_clear(&chunk);
                if (!kc_source_fill(d->source, &chunk))
                        break;
                if (chunk.error.status != KC_OK)
                        status = kc_fail_as(err, &chunk.error);
                atomic_fetch_add(&d->nbytes, chunk.end - chunk.text);
        }
        kc_chunk_free(&chunk);
        return status;
}

static enum kc_status run_source(const char *path, int nthreads, uint64_t *nbytes,
                                 struct kc_error *err)
{
        struct drain d = { 0 };
        struct kc_input in;
        enum kc_status status = kc_input_open(&in, path, err);
        if (status != KC_OK)
                return status;
        status = kc_source_open(&d.source, &in, KC_CONTAINER_GZIP, CHUNK_NBYTES, nthreads, err);
        if (status == KC_OK)
                status = kc_parallel(nthreads, drain, NULL, &d, err);
        kc_source_close(d.source);
        *nbytes = d.nbytes;
        return status;
}

static enum kc_status run_zlib(const char *path, uint64_t *nbytes, struct kc_error *err)
{
        static uint8_t text[CHUNK_NBYTES];
        gzFile file = gzopen(path, "rb");
        int got = -1;
        if (file != NULL) {
                gzbuffer(file, CHUNK_NBYTES);
                while ((got = gzread(file, text, sizeof text)) > 0)
                        *nbytes += (uint64_t)got;
                gzclose(file);
        }
        return got == 0 ? KC_OK : kc_fail(err, KC_EINPUT, "zlib cannot read %s", path);
}

int main(int argc, char **argv)
{
        struct kc_error err = { 0 };
        struct rusage usage;
        uint64_t nbytes = 0;
        int nthreads = argc == 4 ? atoi(argv[2]) : 0;
        if (nthreads < 1) {
                fprintf(stderr, "usage: bench_gunzip kcount|isa-l|zlib THREADS FILE.gz\n");
                return 2;
        }
        double wall = seconds(CLOCK_MONOTONIC), cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
        enum kc_status status;
        if (strcmp(argv[1], "zlib") == 0)
                status = run_zlib(argv[3], &nbytes, &err);
        else
                status = run_source(argv[3], strcmp(argv[1], "isa-l") == 0 ? 1 : nthreads, &nbytes,
                                    &err);
        wall = seconds(CLOCK_MONOTONIC) - wall;
        cpu = seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu;
        getrusage(RUSAGE_SELF, &usage);
        if (status != KC_OK)
                fprintf(stderr, "bench_gunzip: %s\n", err.message);
        printf("%s\t%d\t%llu\t%.3f\t%.3f\t%ld\n", argv[1], nthreads, (unsigned long long)nbytes,
               wall, cpu, usage.ru_maxrss / 1024);
        return status == KC_OK ? 0 : 1;
}
