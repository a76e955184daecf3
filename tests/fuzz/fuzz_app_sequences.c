/*
 * Any bytes as a file of queries: FASTA, FASTQ or lines. Plain and in gzip, it must give the same
 * sequences or the same error.
 */
#include "app/store/sequences.h"
#include "tests/fuzz/memory_input.h"

#include <string.h>
#include <xxhash.h>
#include <zlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct result {
        enum kc_status status;
        uint64_t nsequences, hash;
};

/* Another thread may ask again after a failure: it gets the same one. */
static void require_failure_stays(struct sequences *sequences, const struct kc_error *failure)
{
        struct kc_error again = { 0 };
        const char *text;
        size_t length;
        REQUIRE(sequences_next(sequences, &text, &length, &again) == failure->status);
        REQUIRE(strcmp(again.message, failure->message) == 0);
}

static struct result read_sequences(int fd)
{
        struct result result = { 0 };
        struct sequences *sequences = NULL;
        struct kc_error err = { 0 };
        const char *text = NULL;
        size_t length = 0;
        char path[64];
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        REQUIRE(sequences_open(&sequences, path, &err) == KC_OK);
        while ((result.status = sequences_next(sequences, &text, &length, &err)) == KC_OK && text) {
                REQUIRE(text[length] == '\0');
                result.nsequences++;
                result.hash = XXH3_64bits_withSeed(text, length, result.hash + length);
        }
        REQUIRE(result.status == KC_OK || err.message[0] != '\0');
        if (result.status != KC_OK)
                require_failure_stays(sequences, &err);
        sequences_close(sequences);
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        int plain = memory_file(data, size), packed = gzip_file(data, size);
        struct result a = read_sequences(plain), b = read_sequences(packed);
        close(plain);
        close(packed);
        if (size > 0 && data[0] == 0x1f)
                return 0; /* the plain file may be gzip itself */
        REQUIRE(a.status == b.status && a.nsequences == b.nsequences && a.hash == b.hash);
        return 0;
}
