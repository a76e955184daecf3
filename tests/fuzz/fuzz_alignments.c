/*
 * Any bytes as SAM or BAM: what can be read is written as BAM and as SAM, and read again from each,
 * must be the same records.
 */
#include "io/alignment_bytes.h"
#include "io/records.h"
#include "tests/fuzz/memory_input.h"

#include <htslib/hts_log.h>
#include <htslib/sam.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The records of a file in both formats, after a header. */
struct copies {
        struct kc_alignment_bytes headers[2], records[2];
        enum kc_status status;
};

static void put_batch(struct copies *copies, const struct sam_hdr_t *header,
                      const struct kc_record_batch *batch)
{
        for (size_t i = 0; i < batch->n; i++)
                for (int f = 0; f < 2 && copies->status == KC_OK; f++)
                        copies->status =
                                kc_alignment_put(&copies->records[f], (enum kc_alignment_format)f,
                                                 header, batch->alignments[i], NULL);
}

static void put_headers(struct copies *copies, const struct sam_hdr_t *header)
{
        const struct kc_alignment_program program = { "fuzz", "1", "a\tb\n" };
        for (int f = 0; f < 2 && copies->status == KC_OK; f++)
                copies->status = kc_alignment_put_header(
                        &copies->headers[f], (enum kc_alignment_format)f, header, &program, NULL);
}

static struct copies copy_file(int fd)
{
        const struct kc_records_options options = { .accepted = KC_RECORDS_ALIGNMENTS,
                                                    .nthreads = 1 };
        struct copies copies = { .status = KC_OK };
        struct kc_record_batch batch = { 0 };
        struct kc_records *records;
        char path[64];
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        copies.status = kc_records_open(&records, path, &options, NULL);
        if (copies.status != KC_OK)
                return copies;
        struct sam_hdr_t *header = kc_records_header(records);
        if (header == NULL || kc_records_kind(records) != KC_RECORDS_BAM)
                copies.status = KC_EINPUT; /* text, or CRAM */
        else
                put_headers(&copies, header);
        while (copies.status == KC_OK &&
               (copies.status = kc_records_next(records, &batch, NULL)) == KC_OK && batch.n > 0)
                put_batch(&copies, header, &batch);
        kc_record_batch_free(&batch);
        kc_records_close(records);
        return copies;
}

static void free_copies(struct copies *copies)
{
        for (int f = 0; f < 2; f++) {
                free(copies->headers[f].data);
                free(copies->records[f].data);
        }
}

static struct copies copy_again(const struct copies *copies, int format)
{
        const struct kc_alignment_bytes *header = &copies->headers[format];
        const struct kc_alignment_bytes *records = &copies->records[format];
        char *all = malloc(header->n + records->n + 1);
        REQUIRE(all != NULL);
        memcpy(all, header->data, header->n);
        if (records->n > 0)
                memcpy(all + header->n, records->data, records->n);
        const int fd = memory_file((const uint8_t *)all, header->n + records->n);
        struct copies again = copy_file(fd);
        close(fd);
        free(all);
        return again;
}

static void require_same(const struct kc_alignment_bytes *a, const struct kc_alignment_bytes *b)
{
        REQUIRE(a->n == b->n);
        REQUIRE(a->n == 0 || memcmp(a->data, b->data, a->n) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        hts_set_log_level(HTS_LOG_OFF);
        const int fd = memory_file(data, size);
        struct copies first = copy_file(fd);
        close(fd);
        if (first.status == KC_OK) {
                struct copies again = copy_again(&first, KC_ALIGNMENT_BAM);
                REQUIRE(again.status == KC_OK);
                require_same(&first.records[KC_ALIGNMENT_BAM], &again.records[KC_ALIGNMENT_BAM]);
                require_same(&first.records[KC_ALIGNMENT_SAM], &again.records[KC_ALIGNMENT_SAM]);
                free_copies(&again);
        }
        free_copies(&first);
        return 0;
}
