/*
 * bench_inflate: the speed of several ways to inflate a gzip file of one member, on one core.
 *
 *      bench_inflate FILE.gz [TIMES]
 *
 * Prints the best of TIMES (3) runs, in MB of text per second of CPU time; for the finder, in MB of
 * deflate data.
 */
#include "io/inflate/deflate.h"

#include <isa-l/igzip_lib.h>
#include <libdeflate.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zlib.h>

struct job {
        const uint8_t *file, *in; /* in: the deflate data */
        size_t nfile, nin;
        uint8_t *text; /* [KC_WINDOW + ntext + KC_DEFLATE_SLACK] */
        uint16_t *symbols;
        size_t ntext, nsymbols;
        struct kc_deflate *deflate;
};

static void die(const char *what)
{
        fprintf(stderr, "bench_inflate: %s\n", what);
        exit(1);
}

static double now(void)
{
        struct timespec t;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
        return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *must_alloc(size_t nbytes)
{
        void *memory = malloc(nbytes);
        if (memory == NULL)
                die("out of memory");
        return memset(memory, 1, nbytes);
}

static size_t run_zlib(struct job *job)
{
        z_stream z = { .next_in = (Bytef *)job->in,
                       .avail_in = (uInt)job->nin,
                       .next_out = job->text,
                       .avail_out = (uInt)job->ntext };
        inflateInit2(&z, -15);
        if (inflate(&z, Z_FINISH) != Z_STREAM_END)
                die("zlib fails");
        inflateEnd(&z);
        return job->ntext;
}

static size_t run_libdeflate(struct job *job)
{
        struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
        size_t n;
        if (libdeflate_deflate_decompress(d, job->in, job->nin, job->text, job->ntext, &n) != 0)
                die("libdeflate fails");
        libdeflate_free_decompressor(d);
        return n;
}

static size_t run_isal(struct job *job)
{
        struct inflate_state state;
        isal_inflate_init(&state);
        state.next_in = (uint8_t *)job->in;
        state.avail_in = (uint32_t)job->nin;
        state.next_out = job->text;
        state.avail_out = (uint32_t)job->ntext;
        if (isal_inflate(&state) != 0 || state.block_state != ISAL_BLOCK_FINISH)
                die("ISA-L fails");
        return job->ntext;
}

static size_t run_bytes(struct job *job)
{
        struct kc_deflate_bytes out = { job->text, job->text, job->text + job->ntext };
        kc_deflate_begin(job->deflate, 0);
        enum kc_deflate_stop stop = KC_DEFLATE_OUTPUT;
        while (stop == KC_DEFLATE_OUTPUT) {
                out.end = out.next + (64 << 10);
                if (out.end > job->text + job->ntext + 1)
                        out.end = job->text + job->ntext + 1;
                stop = kc_deflate_bytes(job->deflate, job->in, job->nin, &out);
        }
        if (stop != KC_DEFLATE_END)
                die("our decoder of bytes fails");
        return (size_t)(out.next - out.begin);
}

/* Start at about the third block: the first one never refers to an unknown window. */
static size_t run_symbols(struct job *job)
{
        uint16_t *begin = job->symbols;
        struct kc_deflate_symbols out = { begin, begin + KC_WINDOW, begin };
        uint64_t end = 8 * (uint64_t)job->nin;
        uint64_t bit = kc_deflate_find(job->in, job->nin, end < 3000000 ? 0 : 1000000, end);
        kc_deflate_begin(job->deflate, bit);
        enum kc_deflate_stop stop = KC_DEFLATE_OUTPUT;
        while (stop == KC_DEFLATE_OUTPUT) {
                out.end = out.next + (32 << 10);
                stop = kc_deflate_symbols(job->deflate, job->in, job->nin, &out);
        }
        if (stop != KC_DEFLATE_END)
                die("our decoder of symbols fails");
        job->nsymbols = (size_t)(out.next - out.begin) - KC_WINDOW;
        return job->nsymbols;
}

static size_t run_resolve(struct job *job)
{
        static struct kc_meanings meanings;
        kc_deflate_resolve(job->text, job->symbols + KC_WINDOW, job->nsymbols, &meanings);
        return job->nsymbols;
}

static size_t run_crc(struct job *job)
{
        volatile uint32_t crc = libdeflate_crc32(0, job->text, job->ntext);
        (void)crc;
        return job->ntext;
}

/* Find every block, each time searching from just after the start of the one before. */
static size_t run_find(struct job *job)
{
        uint64_t end = 8 * (uint64_t)job->nin, n = 0;
        for (uint64_t at = 0; at < end; n++) {
                at = kc_deflate_find(job->in, job->nin, at, end);
                if (at == KC_NO_BLOCK)
                        break;
                at++;
        }
        return job->nin;
}

static const struct way {
        const char *name;
        size_t (*run)(struct job *job);
} ways[] = {
        { "zlib", run_zlib },
        { "libdeflate", run_libdeflate },
        { "isa-l", run_isal },
        { "ours, window known", run_bytes },
        { "ours, window unknown", run_symbols },
        { "resolve", run_resolve },
        { "crc32", run_crc },
        { "find blocks", run_find },
};

static void load(struct job *job, const char *path)
{
        FILE *file = fopen(path, "rb");
        if (file == NULL || fseek(file, 0, SEEK_END) != 0)
                die("cannot open the file");
        job->nfile = (size_t)ftell(file);
        rewind(file);
        uint8_t *bytes = must_alloc(job->nfile + 8);
        if (fread(bytes, 1, job->nfile, file) != job->nfile || job->nfile < 18)
                die("cannot read the file");
        fclose(file);
        job->file = bytes;
        size_t at = 10;
        if (bytes[3] & ~8)
                die("only a name is expected in the header");
        if (bytes[3] & 8)
                at += strlen((const char *)bytes + at) + 1;
        job->in = bytes + at;
        job->nin = job->nfile - at - 8;
        for (int i = 0; i < 4; i++)
                job->ntext |= (size_t)bytes[job->nfile - 4 + (size_t)i] << (8 * i);
        job->text = must_alloc(job->ntext + KC_DEFLATE_SLACK + 1);
        job->symbols = must_alloc(2 * (KC_WINDOW + job->ntext + (32 << 10) + KC_DEFLATE_SLACK));
        kc_deflate_put_marks(job->symbols);
        job->deflate = must_alloc(sizeof *job->deflate);
}

static bool is_right(const struct job *job)
{
        uint32_t crc;
        memcpy(&crc, job->file + job->nfile - 8, sizeof crc);
        return libdeflate_crc32(0, job->text, job->ntext) == crc;
}

int main(int argc, char **argv)
{
        struct job job = { 0 };
        if (argc < 2)
                die("usage: bench_inflate FILE.gz [TIMES]");
        load(&job, argv[1]);
        for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
                double best = 1e9;
                size_t n = 0;
                for (int i = argc > 2 ? atoi(argv[2]) : 3; i > 0; i--) {
                        double began = now();
                        n = ways[w].run(&job);
                        double took = now() - began;
                        best = took < best ? took : best;
                }
                printf("%-22s %8.0f MB/s\n", ways[w].name, (double)n / best / 1e6);
                if (ways[w].run == run_bytes && !is_right(&job))
                        die("wrong checksum");
        }
        free((void *)job.file);
        free(job.text);
        free(job.symbols);
        free(job.deflate);
        return 0;
}
