/*
 * Any bytes as the text of a BAM file. However it is cut into chunks, and whether its records are
 * read whole or in pieces, the reads, the k-mers and the verdict must be the same. What htslib
 * accepts must be accepted, with the same reads. (htslib also looks at the tags of some records.)
 *
 *      byte 0: chunk size - 1 | byte 1: k - 1 | byte 2: minimum quality |
 *      byte 3: longest record that is read whole | the text after "BAM\1"
 */
#include "io/parse/file.h"
#include "io/parse/segment.h"
#include "tests/fuzz/kmer_sums.h"
#include "tests/fuzz/memory_input.h"

#include <htslib/hts_log.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct setting {
        size_t chunk_nbytes, record_max;
        int k, min_quality;
};

struct result {
        struct kc_error error;
        uint64_t nreads, nbases, nskipped, nlow_quality;
        struct kmer_sums kmers;
};

static void pack(struct result *result, struct kc_segmenter *s, struct kc_chunk *chunk)
{
        struct kc_batch batch = { .words_cap = KC_BATCH_MIN_WORDS, .segments_cap = 3 };
        bool done;
        batch.words = malloc(8 * (batch.words_cap + KC_BATCH_PADDING));
        batch.segments = malloc(sizeof *batch.segments * batch.segments_cap);
        do {
                batch.nwords = batch.nsegments = 0;
                done = kc_segmenter_pack(s, chunk, &batch);
                add_batch(&result->kmers, &batch, (int)s->min_k, (int)s->min_k);
                add_batch(&result->kmers, &batch, (int)s->min_k, (int)s->max_k);
        } while (!done);
        free(batch.words);
        free(batch.segments);
}

static struct result read_all(struct kc_file *file, const struct setting *setting)
{
        struct result result = { 0 };
        struct kc_segmenter s;
        struct kc_chunk chunk;
        kc_segmenter_init(&s, kc_kernels_best(), (setting->k + 1) / 2, setting->k,
                          setting->min_quality, false);
        REQUIRE(kc_chunk_init(&chunk, setting->chunk_nbytes, NULL) == KC_OK);
        while (result.error.status == KC_OK && kc_file_fill(file, &chunk)) {
                kc_file_parse(file, &chunk, &result.error);
                result.nreads += chunk.nreads;
                pack(&result, &s, &chunk);
        }
        result.nbases = s.nbases;
        result.nskipped = s.nskipped;
        result.nlow_quality = s.nlow_quality;
        kc_file_close(file);
        kc_chunk_free(&chunk);
        return result;
}

static struct result read_with(int fd, const struct setting *setting)
{
        struct kc_limits limits = kc_limits_usual();
        struct kc_file file = { 0 };
        struct kc_input in = memory_input(fd);
        limits.record_max = setting->record_max;
        file.bam = kc_bam_new("fuzz", kc_kernels_best(), setting->k, setting->min_quality,
                              &(struct kc_selection){ 0 }, &limits);
        kc_text_init(&file.text, "fuzz", kc_kernels_best(), setting->k);
        REQUIRE(file.bam != NULL);
        REQUIRE(kc_source_open(&file.source, &in, KC_CONTAINER_PLAIN, setting->chunk_nbytes, 1,
                               NULL) == KC_OK);
        return read_all(&file, setting);
}

/* Read with htslib, as uncompressed BAM. */
static struct result read_with_htslib(int fd, const struct setting *setting)
{
        struct kc_file_options options = { .kernels = kc_kernels_best(),
                                           .k = setting->k,
                                           .min_quality = setting->min_quality,
                                           .nworkers = 1,
                                           .chunk_nbytes = setting->chunk_nbytes };
        struct result refused = { 0 };
        struct kc_file file;
        char path[64];
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        const struct kc_input_piece whole = { .to = UINT64_MAX };
        bool empty;
        if (kc_file_open(&file, path, &whole, &options, &empty, &refused.error) == KC_OK)
                return read_all(&file, setting);
        kc_file_close(&file);
        return refused;
}

static void require_same(const struct result *a, const struct result *b)
{
        REQUIRE(a->nreads == b->nreads && a->nbases == b->nbases);
        REQUIRE(a->nskipped == b->nskipped && a->nlow_quality == b->nlow_quality);
        REQUIRE(a->kmers.n == b->kmers.n && a->kmers.sum == b->kmers.sum);
}

/* Which of several faults of a record is found depends on how much of it is seen at once, so only
 * the number of the record is compared. */
static unsigned long long blamed_record(const struct kc_error *error)
{
        unsigned long long record = 0;
        return sscanf(error->message, "fuzz: alignment record %llu", &record) == 1 ? record : 0;
}

/* Whether the header and all records end within the text: htslib allocates as much memory as they
 * claim to need. */
static bool claims_little(uint8_t *text, size_t n)
{
        struct kc_chunk chunk = { .buffer = text, .end = n };
        struct kc_bam_header header = { 0 };
        struct kc_problem problem;
        size_t at = kc_bam_header_read(&header, &chunk, 0, &problem);
        if (header.place != KC_BAM_RECORDS)
                return false;
        while (n - at >= KC_BAM_LENGTH_NBYTES) {
                uint64_t nbytes = kc_bam_record_nbytes(text + at);
                if (nbytes == 0)
                        return true;
                if (nbytes > n - at)
                        return false;
                at += nbytes;
        }
        return true;
}

static void compare_with_htslib(int fd, const struct setting *setting, const struct result *result)
{
        struct result theirs = read_with_htslib(fd, setting);
        if (theirs.error.status != KC_OK)
                return;
        REQUIRE(result->error.status == KC_OK);
        require_same(result, &theirs);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        if (size < 5)
                return 0;
        hts_set_log_level(HTS_LOG_OFF);
        struct setting large = { size, 16 << 20, data[1] < 255 ? data[1] + 1 : 255, data[2] % 64 };
        struct setting small = large;
        small.chunk_nbytes = (size_t)data[0] + 1;
        small.record_max = (size_t)data[3] * 4;
        uint8_t *text = malloc(size);
        memcpy(text, "BAM\1", 4);
        memcpy(text + 4, data + 4, size - 4);
        int fd = memory_file(text, size);
        struct result whole = read_with(fd, &large), cut = read_with(fd, &small);
        REQUIRE(whole.error.status == cut.error.status);
        REQUIRE(blamed_record(&whole.error) == blamed_record(&cut.error));
        if (whole.error.status == KC_OK)
                require_same(&whole, &cut);
        if (claims_little(text, size))
                compare_with_htslib(fd, &large, &whole);
        close(fd);
        free(text);
        return 0;
}
