/*
 * For the tests of the reader: random reads, written in every format and compression, and the
 * reader's results, reduced to something that can be compared.
 */
#ifndef KC_TESTS_IO_PARSE_READER_SUPPORT_H
#define KC_TESTS_IO_PARSE_READER_SUPPORT_H

#include "base/parallel.h"
#include "io/reader.h"
#include "kmer/kmer.h"

#include <bzlib.h>
#include <libdeflate.h>
#include <lzma.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>
#include <zlib.h>
#include <zstd.h>

#include <cmocka.h> /* must come after those above */

#include "tests/files.h"
#include "tests/random.h"

/* ---- a growing text ---- */

struct buffer {
        char *data;
        size_t n, cap;
};

static inline void put(struct buffer *b, const void *data, size_t n)
{
        if (b->n + n + 1 > b->cap) {
                b->cap = 2 * (b->n + n + 1);
                b->data = realloc(b->data, b->cap);
                assert_non_null(b->data);
        }
        if (n > 0)
                memcpy(b->data + b->n, data, n);
        b->n += n;
        b->data[b->n] = 0;
}

static inline void puts_to(struct buffer *b, const char *text)
{
        put(b, text, strlen(text));
}

static inline void drop(struct buffer *b)
{
        free(b->data);
        *b = (struct buffer){ 0 };
}

/* ---- k-mers, reduced to their number and the sum of their hashes ---- */

struct digest {
        uint64_t nkmers, sum;
};

static inline void digest_kmer(struct digest *d, const char *letters, int k)
{
        d->nkmers++;
        d->sum += XXH3_64bits(letters, (size_t)k);
}

static inline char upper_base(char c)
{
        switch (c & 0xdf) {
        case 'A':
        case 'C':
        case 'G':
        case 'T':
                return (char)(c & 0xdf);
        case 'U':
                return 'T';
        default:
                return 0;
        }
}

/* All k-mers of a sequence, by the definition. qual may be NULL; hpc: of each run of equal bases,
 * only one counts. */
static inline void digest_sequence(struct digest *d, const char *seq, const char *qual, size_t n,
                                   int k, int min_quality, bool hpc)
{
        char *clean = malloc(n + 1);
        size_t m = 0;
        for (size_t i = 0; i < n; i++) {
                const char c = qual != NULL && qual[i] - 33 < min_quality ? 0 : upper_base(seq[i]);
                if (!hpc || c == 0 || m == 0 || clean[m - 1] != c)
                        clean[m++] = c;
        }
        for (size_t i = 0; i + (size_t)k <= m; i++)
                if (memchr(clean + i, 0, (size_t)k) == NULL)
                        digest_kmer(d, clean + i, k);
        free(clean);
}

/* ---- what the reader gives ---- */

struct outcome {
        enum kc_status status;
        char message[1200]; /* "MESSAGE", or "MESSAGE [FILTER]" */
        struct digest digest;
        struct kc_reader_totals totals;
        uint8_t marks; /* of the first input */
        uint64_t done, total, expected_nbases;
};

struct setting {
        int k, min_quality, nworkers;
        int min_k, max_k; /* others that are counted together with k; 0: none */
        struct kc_selection selection;
        size_t chunk_nbytes;
        uint32_t words_cap, segments_cap; /* 0: the smallest */
        size_t record_max, sequence_max, memory_nbytes;
        void (*after_batch)(void); /* called after every batch that has reads; NULL: nothing */
};

struct reading {
        struct kc_batch_source source;
        const struct setting *setting;
        struct digest digests[16];
};

/* Let k be one of several: no k-mer may be lost or come twice. */
static inline void add_others(struct setting *setting, uint64_t *seed)
{
        const uint64_t draw = next_random(seed);
        if (draw & 1)
                setting->min_k = 1 + (int)((draw >> 8) % (uint64_t)setting->k);
        setting->max_k = setting->k;
        if (draw & 2)
                setting->max_k += (int)((draw >> 20) % (uint64_t)(256 - setting->k));
}

static inline int smallest_k(const struct setting *setting)
{
        return setting->min_k > 0 ? setting->min_k : setting->k;
}

static inline void digest_batch(struct digest *d, const struct kc_batch *batch,
                                const struct setting *setting)
{
        const int k = setting->k;
        static const char letters[] = "ACGT";
        for (uint32_t s = 0; s < batch->nsegments; s++) {
                struct kc_segment segment = batch->segments[s];
                const uint64_t *words = batch->words + segment.word;
                uint32_t n = segment.nbases;
                const struct kc_segment_kmers kmers = kc_segment_kmers(&segment, k);
                assert_true(n >= (uint32_t)smallest_k(setting));
                if (setting->max_k <= k && n >= (uint32_t)k && !(setting->selection.hpc && k == 1))
                        assert_int_equal(kmers.n, n - (uint32_t)k + 1);
                assert_true(segment.word + (n + 31) / 32 <= batch->nwords);
                char *text = malloc(n);
                for (uint32_t i = 0; i < n; i++)
                        text[i] = letters[words[i / 32] >> 2 * (i % 32) & 3];
                if (n % 32 != 0)
                        assert_true(words[n / 32] >> 2 * (n % 32) == 0);
                for (uint32_t i = 0; i < kmers.n; i++)
                        digest_kmer(d, text + kmers.first + i, k);
                free(text);
        }
}

static inline enum kc_status read_worker(void *ctx, int worker, struct kc_error *err)
{
        struct reading *reading = ctx;
        uint32_t words_cap = reading->setting->words_cap, cap = reading->setting->segments_cap;
        struct kc_batch batch = { .words_cap = words_cap ? words_cap : KC_BATCH_MIN_WORDS,
                                  .segments_cap = cap ? cap : 4 };
        batch.words = malloc(8 * (batch.words_cap + KC_BATCH_PADDING));
        batch.segments = malloc(sizeof *batch.segments * batch.segments_cap);
        enum kc_status status;
        do {
                memset(batch.words, 0xaa, 8 * (batch.words_cap + KC_BATCH_PADDING));
                status = reading->source.next(reading->source.ctx, worker, &batch, err);
                if (status != KC_OK)
                        break;
                assert_true(batch.nwords <= batch.words_cap);
                assert_true(batch.nsegments <= batch.segments_cap);
                digest_batch(&reading->digests[worker], &batch, reading->setting);
                if (reading->setting->after_batch != NULL && batch.nsegments > 0)
                        reading->setting->after_batch();
        } while (batch.nsegments > 0);
        free(batch.words);
        free(batch.segments);
        return status;
}

static inline struct outcome read_paths(const char *const *paths, size_t npaths,
                                        const struct setting *setting)
{
        struct outcome out = { 0 };
        struct kc_error err = { 0 };
        struct kc_job job = { 0 };
        struct kc_reader *reader;
        struct kc_reader_options options = {
                .k = smallest_k(setting),
                .max_k = setting->max_k,
                .min_quality = setting->min_quality,
                .selection = setting->selection,
                .nworkers = setting->nworkers,
                .chunk_nbytes = setting->chunk_nbytes,
                .record_max = setting->record_max,
                .sequence_max = setting->sequence_max,
                .memory_nbytes = setting->memory_nbytes,
                .job = &job,
        };
        out.status = kc_reader_open(&reader, paths, npaths, &options, &err);
        if (out.status == KC_OK) {
                struct reading reading = { .source = kc_reader_source(reader), .setting = setting };
                out.status = kc_parallel(setting->nworkers, read_worker, NULL, &reading, &err);
                for (int i = 0; i < setting->nworkers; i++) {
                        out.digest.nkmers += reading.digests[i].nkmers;
                        out.digest.sum += reading.digests[i].sum;
                }
                kc_reader_totals(reader, &out.totals);
                const char *const *names;
                uint8_t *marks = malloc(kc_reader_names(reader, &names));
                kc_reader_marks(reader, marks);
                out.marks = marks[0];
                free(marks);
                out.expected_nbases = kc_reader_expected_nbases(reader);
                out.done = atomic_load(&job.done);
                out.total = atomic_load(&job.total);
                kc_reader_close(reader);
        }
        assert_int_equal(out.status, err.status);
        snprintf(out.message, sizeof out.message, err.filter[0] ? "%s [%s]" : "%s", err.message,
                 err.filter);
        return out;
}

/* ---- files ---- */

static inline const char *scratch_path(const char *name)
{
        static char path[4][256];
        static int turn;
        char *p = path[turn++ % 4];
        snprintf(p, 256, "/tmp/kcount-test-%ld-%s", (long)getpid(), name);
        return p;
}

static inline struct outcome read_bytes(const struct buffer *bytes, const struct setting *setting)
{
        const char *path = scratch_path("input");
        write_file(path, bytes->data ? bytes->data : "", bytes->n);
        struct outcome out = read_paths(&path, 1, setting);
        unlink(path);
        return out;
}

static inline struct outcome read_text(const char *text, const struct setting *setting)
{
        struct buffer b = { .data = (char *)text, .n = strlen(text) };
        return read_bytes(&b, setting);
}

/* ---- compression ---- */

enum packing {
        PLAIN,
        GZIP,
        GZIP_MEMBERS,
        BLOCKS,
        ZSTD,
        ZSTD_FRAMES,
        BZIP2,
        BZIP2_STREAMS,
        XZ,
        XZ_STREAMS,
        NPACKINGS
};

/* Whether the parts follow each other without a mark of the end of all of them. */
static inline bool is_in_parts(enum packing packing)
{
        return packing == GZIP_MEMBERS || packing == ZSTD_FRAMES || packing == BZIP2_STREAMS ||
               packing == XZ_STREAMS;
}

static inline void gzip_member(struct buffer *out, const void *data, size_t n)
{
        z_stream z = { 0 };
        gz_header header = { .name = (Bytef *)"reads.fq",
                             .comment = (Bytef *)"a comment",
                             .extra = (Bytef *)"XY\2\0ab",
                             .extra_len = 6,
                             .hcrc = 1 };
        size_t cap = n + n / 100 + 256;
        uint8_t *packed = malloc(cap);
        assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
        assert_int_equal(deflateSetHeader(&z, &header), Z_OK);
        z.next_in = (Bytef *)data;
        z.avail_in = (uInt)n;
        z.next_out = packed;
        z.avail_out = (uInt)cap;
        assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
        put(out, packed, cap - z.avail_out);
        deflateEnd(&z);
        free(packed);
}

static inline void put_u32(uint8_t *to, uint32_t x)
{
        for (int i = 0; i < 4; i++)
                to[i] = (uint8_t)(x >> 8 * i);
}

static inline void bgzf_block(struct buffer *out, const void *data, size_t n)
{
        uint8_t block[70000] = { 0x1f, 0x8b, 8, 4, 0, 0, 0, 0, 0, 0xff, 6, 0, 'B', 'C', 2, 0 };
        struct libdeflate_compressor *c = libdeflate_alloc_compressor(6);
        size_t packed = libdeflate_deflate_compress(c, data, n, block + 18, sizeof block - 26);
        libdeflate_free_compressor(c);
        assert_true(packed > 0 && packed + 26 <= 65536);
        size_t total = packed + 26;
        block[16] = (uint8_t)(total - 1);
        block[17] = (uint8_t)((total - 1) >> 8);
        put_u32(block + total - 8, libdeflate_crc32(0, data, n));
        put_u32(block + total - 4, (uint32_t)n);
        put(out, block, total);
}

/* The block without text that ends every BGZF file. */
enum { BGZF_END_NBYTES = 28 };
static inline void bgzf_end(struct buffer *out)
{
        put(out, "\x1f\x8b\x08\x04\0\0\0\0\0\xff\x06\0BC\x02\0\x1b\0\x03\0\0\0\0\0\0\0\0\0",
            BGZF_END_NBYTES);
}

static inline void zstd_frame(struct buffer *out, const void *data, size_t n)
{
        size_t cap = ZSTD_compressBound(n);
        char *packed = malloc(cap);
        ZSTD_CCtx *c = ZSTD_createCCtx();
        ZSTD_CCtx_setParameter(c, ZSTD_c_checksumFlag, 1);
        size_t got = ZSTD_compress2(c, packed, cap, data, n);
        assert_false(ZSTD_isError(got));
        put(out, packed, got);
        ZSTD_freeCCtx(c);
        free(packed);
}

static inline void bzip2_stream(struct buffer *out, const void *data, size_t n)
{
        unsigned cap = (unsigned)(n + n / 100 + 600);
        char *packed = malloc(cap);
        assert_int_equal(BZ2_bzBuffToBuffCompress(packed, &cap, n > 0 ? (char *)data : "",
                                                  (unsigned)n, 1, 0, 0),
                         BZ_OK);
        put(out, packed, cap);
        free(packed);
}

static inline void xz_stream(struct buffer *out, const void *data, size_t n)
{
        size_t cap = lzma_stream_buffer_bound(n), got = 0;
        uint8_t *packed = malloc(cap);
        assert_int_equal(
                lzma_easy_buffer_encode(0, LZMA_CHECK_CRC64, NULL, data, n, packed, &got, cap),
                LZMA_OK);
        put(out, packed, got);
        free(packed);
}

/* Compress the text as one part: a member, block, frame or stream. */
static inline void pack_part(struct buffer *out, const void *data, size_t n, enum packing packing)
{
        switch (packing) {
        case GZIP:
        case GZIP_MEMBERS:
                gzip_member(out, data, n);
                break;
        case BLOCKS:
                bgzf_block(out, data, n);
                break;
        case ZSTD:
        case ZSTD_FRAMES:
                zstd_frame(out, data, n);
                break;
        case BZIP2:
        case BZIP2_STREAMS:
                bzip2_stream(out, data, n);
                break;
        case XZ:
        case XZ_STREAMS:
                xz_stream(out, data, n);
                break;
        default:
                put(out, data, n);
        }
}

/* Compress the text; each `piece` bytes become a part of their own. */
static inline struct buffer pack_text(const struct buffer *text, enum packing packing, size_t piece)
{
        struct buffer out = { 0 };
        if (packing != BLOCKS && !is_in_parts(packing))
                pack_part(&out, text->data, text->n, packing);
        else
                for (size_t at = 0; at < text->n; at += piece)
                        pack_part(&out, text->data + at,
                                  text->n - at < piece ? text->n - at : piece, packing);
        if (packing == BLOCKS)
                bgzf_end(&out);
        return out;
}

/* ---- reads ---- */

struct reads {
        size_t n;
        char **seq, **qual;
};

struct reads_shape {
        size_t n, max_nbases;
        bool odd_letters; /* lower case, U, N and runs of it, IUPAC codes */
};

static inline struct reads make_reads(struct reads_shape shape, uint64_t seed)
{
        struct reads reads = { .n = shape.n };
        reads.seq = calloc(shape.n, sizeof *reads.seq);
        reads.qual = calloc(shape.n, sizeof *reads.qual);
        for (size_t r = 0; r < shape.n; r++) {
                size_t n = next_random(&seed) % (shape.max_nbases + 1);
                if (next_random(&seed) % 8 == 0)
                        n = next_random(&seed) % 3;
                reads.seq[r] = calloc(1, n + 1);
                reads.qual[r] = calloc(1, n + 1);
                for (size_t i = 0; i < n; i++) {
                        uint64_t x = next_random(&seed);
                        reads.seq[r][i] = "ACGT"[x & 3];
                        if (shape.odd_letters && x >> 8 & 1)
                                reads.seq[r][i] |= 0x20;
                        if (shape.odd_letters && (x >> 40) % 64 == 0)
                                reads.seq[r][i] = "UuNnRy-*.x"[(x >> 20) % 10];
                        /* '@' and '+' as first letters of a quality line are common */
                        reads.qual[r][i] =
                                i == 0 ? "@+I>"[(x >> 30) & 3] : (char)('!' + (x >> 32) % 64);
                }
        }
        return reads;
}

static inline void free_reads(struct reads *reads)
{
        for (size_t r = 0; r < reads->n; r++) {
                free(reads->seq[r]);
                free(reads->qual[r]);
        }
        free(reads->seq);
        free(reads->qual);
}

struct layout {
        bool fasta;
        size_t width; /* letters in a line; 0: all in one */
        bool crlf;
        bool plus_name; /* FASTQ: the name again on the '+' line */
        bool no_final_eol;
        int blank_lines;   /* at the end */
        size_t max_blanks; /* before the ends of sequence and quality lines */
};

static inline void put_lines(struct buffer *b, const char *text, const struct layout *l)
{
        const char *eol = l->crlf ? "\r\n" : "\n";
        size_t n = strlen(text), width = l->width ? l->width : n;
        size_t at = 0;
        do {
                size_t m = n - at < width ? n - at : width;
                put(b, text + at, m);
                for (size_t left = b->n % (l->max_blanks + 1); left > 0; left--)
                        puts_to(b, left % 3 ? " " : "\t");
                puts_to(b, eol);
                at += m;
        } while (at < n);
}

static inline struct buffer format_reads(const struct reads *reads, const struct layout *l)
{
        struct buffer b = { 0 };
        const char *eol = l->crlf ? "\r\n" : "\n";
        char name[64];
        for (size_t r = 0; r < reads->n; r++) {
                snprintf(name, sizeof name, "read%zu/1 of a test", r);
                puts_to(&b, l->fasta ? ">" : "@");
                puts_to(&b, name);
                puts_to(&b, eol);
                put_lines(&b, reads->seq[r], l);
                if (l->fasta)
                        continue;
                puts_to(&b, "+");
                puts_to(&b, l->plus_name ? name : "");
                puts_to(&b, eol);
                put_lines(&b, reads->qual[r], l);
        }
        for (int i = 0; i < l->blank_lines; i++)
                puts_to(&b, eol);
        if (l->no_final_eol)
                while (b.n > 0 && (b.data[b.n - 1] == '\n' || b.data[b.n - 1] == '\r'))
                        b.n--;
        return b;
}

/* How many letters at the beginning of a read of n are left out. */
static inline size_t skipped_of(const struct setting *setting, size_t n)
{
        return setting->selection.nskip < n ? setting->selection.nskip : n;
}

/* The outcome that reading these must have. */
static inline struct outcome expect_reads(const struct reads *reads, bool qualities,
                                          const struct setting *setting)
{
        struct outcome want = { 0 };
        int min_quality = qualities ? setting->min_quality : 0;
        for (size_t r = 0; r < reads->n; r++) {
                const size_t all = strlen(reads->seq[r]), skipped = skipped_of(setting, all);
                const char *seq = reads->seq[r] + skipped, *qual = reads->qual[r] + skipped;
                const size_t n = all - skipped;
                digest_sequence(&want.digest, seq, min_quality > 0 ? qual : NULL, n, setting->k,
                                min_quality, setting->selection.hpc);
                want.totals.nreads++;
                want.totals.nbases += n;
                want.totals.nleft_out += skipped;
                for (size_t i = 0; i < n; i++) {
                        if (!upper_base(seq[i]))
                                want.totals.nskipped++;
                        else if (qual[i] - 33 < min_quality)
                                want.totals.nlow_quality++;
                }
        }
        return want;
}

static inline void assert_outcome(const struct outcome *got, const struct outcome *want)
{
        if (got->status != KC_OK)
                print_error("status %d: %s\n", got->status, got->message);
        assert_int_equal(got->status, KC_OK);
        assert_int_equal(got->totals.nreads, want->totals.nreads);
        assert_int_equal(got->totals.nbases, want->totals.nbases);
        assert_int_equal(got->totals.nskipped, want->totals.nskipped);
        assert_int_equal(got->totals.nlow_quality, want->totals.nlow_quality);
        assert_int_equal(got->totals.nleft_out, want->totals.nleft_out);
        assert_int_equal(got->digest.nkmers, want->digest.nkmers);
        assert_int_equal(got->digest.sum, want->digest.sum);
}

/* Reading failed because of the input, and the message contains part. */
static inline void assert_refused(const struct outcome *got, const char *part)
{
        if (got->status != KC_EINPUT || strstr(got->message, part) == NULL)
                print_error("status %d, message \"%s\", expected \"%s\"\n", got->status,
                            got->message, part);
        assert_int_equal(got->status, KC_EINPUT);
        assert_non_null(strstr(got->message, part));
}

#endif
