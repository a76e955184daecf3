/*
 * Any bytes as a file of records: FASTA, FASTQ or lines. Plain and in gzip, and however the text is
 * cut into chunks, it must give the same records, or be refused.
 *
 *      byte 0: chunk size - 1 | byte 1: record_max - 1 | byte 2: accepted | text
 */
#include "io/records.h"
#include "tests/fuzz/memory_input.h"

#include <string.h>
#include <xxhash.h>
#include <zlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct result {
        struct kc_error error;
        uint64_t nrecords, nbases, hash;
        XXH3_state_t *letters; /* names and bases of all records */
};

/* After a failure, each further call must fail in the same way. */
static void require_failure_stays(struct kc_records *records, struct kc_record_batch *batch,
                                  const struct kc_error *failure)
{
        struct kc_error again = { 0 };
        REQUIRE(kc_records_next(records, batch, &again) == failure->status);
        REQUIRE(strcmp(again.message, failure->message) == 0);
}

static void take(struct result *result, const struct kc_record_batch *batch)
{
        for (size_t i = 0; i < batch->n; i++) {
                const struct kc_seq_record *r = &batch->records[i];
                const uint32_t n = r->nbases - r->noverlap;
                if (r->flags & KC_RECORD_BEGINS) {
                        REQUIRE(r->number == result->nrecords);
                        XXH3_64bits_update(result->letters, batch->bytes + r->name, r->name_nbytes);
                        XXH3_64bits_update(result->letters, "", 1);
                        result->nrecords++;
                }
                REQUIRE(r->number == result->nrecords - 1);
                XXH3_64bits_update(result->letters, batch->bytes + r->bases + r->noverlap, n);
                result->nbases += n;
        }
}

static struct result read_with(int fd, const struct kc_records_options *options)
{
        struct result result = { .letters = XXH3_createState() };
        struct kc_records *records;
        struct kc_record_batch batch = { 0 };
        char path[64];
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        XXH3_64bits_reset(result.letters);
        if (kc_records_open(&records, path, options, &result.error) == KC_OK) {
                while (kc_records_next(records, &batch, &result.error) == KC_OK && batch.n > 0)
                        take(&result, &batch);
                REQUIRE(result.error.status == KC_OK || result.error.message[0] != '\0');
                if (result.error.status != KC_OK)
                        require_failure_stays(records, &batch, &result.error);
                kc_records_close(records);
        }
        kc_record_batch_free(&batch);
        result.hash = XXH3_64bits_digest(result.letters);
        XXH3_freeState(result.letters);
        return result;
}

static int gzip_file(const uint8_t *data, size_t size)
{
        uLong cap = compressBound((uLong)size) + 64;
        uint8_t *packed = malloc(cap);
        z_stream z = { .next_in = (Bytef *)data, .avail_in = (uInt)size };
        REQUIRE(packed != NULL && deflateInit2(&z, 1, Z_DEFLATED, 31, 8, 0) == Z_OK);
        z.next_out = packed;
        z.avail_out = (uInt)cap;
        REQUIRE(deflate(&z, Z_FINISH) == Z_STREAM_END);
        int fd = memory_file(packed, cap - z.avail_out);
        deflateEnd(&z);
        free(packed);
        return fd;
}

static void require_same(const struct result *a, const struct result *b)
{
        REQUIRE(a->error.status == b->error.status);
        if (a->error.status == KC_OK)
                REQUIRE(a->nrecords == b->nrecords && a->nbases == b->nbases && a->hash == b->hash);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        if (size < 4)
                return 0;
        struct kc_records_options options = {
                .accepted = data[2] & (KC_RECORDS_LINES | KC_RECORDS_SYMBOLS),
                .nthreads = 1,
                .overlap = data[2] >> 4,
        };
        int plain = memory_file(data + 3, size - 3), packed = gzip_file(data + 3, size - 3);
        struct result whole = read_with(plain, &options), inflated = read_with(packed, &options);
        options.chunk_nbytes = (size_t)data[0] + 1;
        struct result cut = read_with(plain, &options);
        options.record_max = 300 + (size_t)data[1];
        struct result pieces = read_with(plain, &options);
        close(plain);
        close(packed);
        require_same(&whole, &cut);
        if (size < 300 || pieces.error.status == KC_OK) /* otherwise a name may be too long */
                require_same(&whole, &pieces);
        if (data[3] != 0x1f && data[3] != 'B') /* the plain file may be gzip or BAM itself */
                require_same(&whole, &inflated);
        return 0;
}
