/*
 * Any bytes as FASTQ or FASTA. However the text is cut into chunks and batches, the reads, the
 * k-mers and the verdict on the file must be the same as for the whole text in one chunk.
 *
 *      byte 0: chunk size - 1 | byte 1: k - 1 | byte 2: minimum quality | text
 */
#include "io/parse/file.h"
#include "io/parse/segment.h"
#include "tests/fuzz/kmer_sums.h"
#include "tests/fuzz/memory_input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct result {
        struct kc_error error;
        uint64_t nreads, nbases, nskipped, nlow_quality;
        struct kmer_sums kmers;
};

static void pack(struct result *result, struct kc_segmenter *s, struct kc_chunk *chunk,
                 uint32_t words_cap)
{
        struct kc_batch batch = { .words_cap = words_cap, .segments_cap = 3 };
        bool done;
        batch.words = malloc(8 * (words_cap + KC_BATCH_PADDING));
        batch.segments = malloc(sizeof *batch.segments * batch.segments_cap);
        do {
                batch.nwords = batch.nsegments = 0;
                done = kc_segmenter_pack(s, chunk, &batch);
                REQUIRE(done || batch.nsegments > 0);
                REQUIRE(batch.nwords <= words_cap && batch.nsegments <= batch.segments_cap);
                add_batch(&result->kmers, &batch, (int)s->min_k, (int)s->min_k);
                add_batch(&result->kmers, &batch, (int)s->min_k, (int)s->max_k);
        } while (!done);
        free(batch.words);
        free(batch.segments);
}

static struct result read_with(int fd, size_t chunk_nbytes, const uint8_t *setting,
                               uint32_t words_cap)
{
        struct result result = { 0 };
        struct kc_segmenter segmenter;
        struct kc_chunk chunk;
        struct kc_file file = { 0 };
        struct kc_input in = memory_input(fd);
        int k = setting[1] < 255 ? setting[1] + 1 : 255;
        kc_segmenter_init(&segmenter, kc_kernels_best(), (k + 1) / 2, k, setting[2] % 64, false);
        kc_text_init(&file.text, "fuzz", kc_kernels_best(), k);
        REQUIRE(kc_chunk_init(&chunk, chunk_nbytes, NULL) == KC_OK);
        REQUIRE(kc_source_open(&file.source, &in, KC_CONTAINER_PLAIN, chunk_nbytes, 1, NULL) ==
                KC_OK);
        while (result.error.status == KC_OK && kc_file_fill(&file, &chunk)) {
                kc_file_parse(&file, &chunk, &result.error);
                result.nreads += chunk.nreads;
                pack(&result, &segmenter, &chunk, words_cap);
        }
        result.nbases = segmenter.nbases;
        result.nskipped = segmenter.nskipped;
        result.nlow_quality = segmenter.nlow_quality;
        kc_file_close(&file);
        kc_chunk_free(&chunk);
        return result;
}

/* A record may be wrong in several ways, and which is found first depends on the chunks, so only
 * the number of the record is compared. */
static unsigned long long blamed_record(const struct kc_error *error)
{
        unsigned long long record = 0;
        return sscanf(error->message, "fuzz: record %llu", &record) == 1 ? record : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        if (size < 4)
                return 0;
        int fd = memory_file(data + 3, size - 3);
        struct result whole = read_with(fd, size, data, 4096);
        struct result cut = read_with(fd, (size_t)data[0] + 1, data, KC_BATCH_MIN_WORDS);
        close(fd);
        REQUIRE(whole.error.status == cut.error.status);
        REQUIRE(blamed_record(&whole.error) == blamed_record(&cut.error));
        if (whole.error.status != KC_OK)
                return 0;
        REQUIRE(whole.nreads == cut.nreads);
        REQUIRE(whole.nbases == cut.nbases);
        REQUIRE(whole.nskipped == cut.nskipped);
        REQUIRE(whole.nlow_quality == cut.nlow_quality);
        REQUIRE(whole.kmers.n == cut.kmers.n);
        REQUIRE(whole.kmers.sum == cut.kmers.sum);
        return 0;
}
