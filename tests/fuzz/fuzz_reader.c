/*
 * Any bytes as an input of kcount count, from detection to batches: FASTQ, FASTA, SAM and BAM,
 * plain or compressed. A regular file, read in large pieces or in small ones, and a pipe must give
 * the same k-mers, or must all be refused. CRAM is left to htslib's own tests.
 *
 *      byte 0: what goes around the bytes | byte 1: k - 1 | byte 2: minimum quality | the bytes
 */
#include "io/reader.h"
#include "tests/fuzz/kmer_sums.h"
#include "tests/fuzz/memory_input.h"

#include <htslib/bgzf.h>
#include <htslib/hts_log.h>
#include <string.h>
#include <zlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum wrapping { AS_IT_IS, IN_GZIP, IN_BGZF, NWRAPPINGS };
enum { MAX_NBYTES = 60000 }; /* fits into a pipe and into a BGZF block */

struct bytes {
        uint8_t data[MAX_NBYTES + 1024];
        size_t n;
};

struct setting {
        int k, min_quality;
        size_t chunk_nbytes;
};

struct result {
        struct kc_error error;
        struct kmer_sums kmers;
        struct kc_reader_totals totals;
        uint8_t marks; /* of the input */
};

/* ---- the file ---- */

static void put_gzip(struct bytes *file, const uint8_t *data, size_t size)
{
        z_stream z = { .next_in = (Bytef *)data, .avail_in = (uInt)size };
        REQUIRE(deflateInit2(&z, 1, Z_DEFLATED, 31, 8, 0) == Z_OK);
        z.next_out = file->data;
        z.avail_out = sizeof file->data;
        REQUIRE(deflate(&z, Z_FINISH) == Z_STREAM_END);
        file->n = sizeof file->data - z.avail_out;
        deflateEnd(&z);
}

static void put_bgzf(struct bytes *file, const uint8_t *data, size_t size)
{
        static const uint8_t end[] =
                "\x1f\x8b\x08\x04\0\0\0\0\0\xff\x06\0BC\x02\0\x1b\0\x03\0\0\0\0\0\0\0\0";
        size_t n = sizeof file->data - sizeof end;
        REQUIRE(bgzf_compress(file->data, &n, data, size, 1) == 0);
        memcpy(file->data + n, end, sizeof end);
        file->n = n + sizeof end;
}

static void make_file(struct bytes *file, enum wrapping wrapping, const uint8_t *data, size_t size)
{
        if (wrapping == IN_GZIP) {
                put_gzip(file, data, size);
        } else if (wrapping == IN_BGZF) {
                put_bgzf(file, data, size);
        } else {
                memcpy(file->data, data, size);
                file->n = size;
        }
}

/* A pipe that holds the file and ends there. */
static int pipe_of(const struct bytes *file)
{
        int ends[2];
        REQUIRE(pipe(ends) == 0);
        REQUIRE(write(ends[1], file->data, file->n) == (ssize_t)file->n);
        close(ends[1]);
        return ends[0];
}

/* ---- reading it ---- */

static void read_batches(struct result *result, struct kc_reader *reader, int min_k, int max_k)
{
        struct kc_batch_source source = kc_reader_source(reader);
        struct kc_batch batch = { .words_cap = 4096, .segments_cap = 64 };
        batch.words = malloc(8 * (batch.words_cap + KC_BATCH_PADDING));
        batch.segments = malloc(sizeof *batch.segments * batch.segments_cap);
        while (source.next(source.ctx, 0, &batch, &result->error) == KC_OK && batch.nsegments > 0) {
                add_batch(&result->kmers, &batch, min_k, min_k);
                add_batch(&result->kmers, &batch, min_k, max_k);
        }
        kc_reader_totals(reader, &result->totals);
        kc_reader_marks(reader, &result->marks);
        free(batch.words);
        free(batch.segments);
}

static struct result read_fd(int fd, const struct setting *setting)
{
        struct result result = { 0 };
        char path[64];
        const char *paths[] = { path };
        struct kc_reader *reader = NULL;
        struct kc_reader_options options = { .k = (setting->k + 1) / 2,
                                             .max_k = setting->k,
                                             .min_quality = setting->min_quality,
                                             .nworkers = 1,
                                             .chunk_nbytes = setting->chunk_nbytes };
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        if (kc_reader_open(&reader, paths, 1, &options, &result.error) == KC_OK)
                read_batches(&result, reader, options.k, options.max_k);
        kc_reader_close(reader);
        REQUIRE((result.error.status == KC_OK) == (result.error.message[0] == '\0'));
        return result;
}

static void require_same(const struct result *a, const struct result *b)
{
        REQUIRE(a->error.status == b->error.status);
        if (a->error.status != KC_OK)
                return;
        REQUIRE(a->kmers.n == b->kmers.n && a->kmers.sum == b->kmers.sum);
        REQUIRE(a->totals.nreads == b->totals.nreads && a->totals.nbases == b->totals.nbases);
        REQUIRE(a->totals.nskipped == b->totals.nskipped);
        REQUIRE(a->totals.nlow_quality == b->totals.nlow_quality);
        REQUIRE(a->marks == b->marks);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        static struct bytes file;
        if (size < 6 || size - 3 > MAX_NBYTES)
                return 0;
        struct setting large = { data[1] < 255 ? data[1] + 1 : 255, data[2] % 64, 1 << 20 };
        struct setting small = large;
        small.chunk_nbytes = 1 + (size_t)data[0] / NWRAPPINGS * 7;
        hts_set_log_level(HTS_LOG_OFF);
        make_file(&file, data[0] % NWRAPPINGS, data + 3, size - 3);
        if (file.n >= 4 && memcmp(file.data, "CRAM", 4) == 0)
                return 0;
        int fd = memory_file(file.data, file.n), end = pipe_of(&file);
        struct result whole = read_fd(fd, &large), cut = read_fd(fd, &small);
        struct result piped = read_fd(end, &small);
        require_same(&whole, &cut);
        require_same(&whole, &piped);
        close(fd);
        close(end);
        return 0;
}
