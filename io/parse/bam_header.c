#include "io/parse/bam_header.h"

#include "io/inflate/source.h"
#include "io/parse/bam_record.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MAGIC_NBYTES = 8, NUMBER_NBYTES = 4 };

static void refuse(struct kc_problem *problem, const char *what)
{
        snprintf(problem->what, sizeof problem->what, "%s", what);
}

/* Each line of the text begins with '@', up to a NUL. */
static void check_text(struct kc_bam_header *header, const uint8_t *text, size_t n,
                       struct kc_problem *problem)
{
        for (size_t i = 0; i < n && !header->over; i++) {
                header->over = text[i] == 0;
                if (!header->over && !header->in_line && text[i] != '@') {
                        refuse(problem, "has a line that does not begin with '@'");
                        return;
                }
                header->in_line = text[i] != '\n';
        }
}

static void read_number(struct kc_bam_header *header, const uint8_t *bytes,
                        struct kc_problem *problem)
{
        uint32_t number = kc_bam_u32(bytes);
        if (header->place == KC_BAM_NREFS && number <= INT32_MAX) {
                header->nrefs = number;
                header->place = KC_BAM_REF;
        } else if (header->place == KC_BAM_REF && number > 0 && number <= INT32_MAX) {
                header->skip = (uint64_t)number + NUMBER_NBYTES;
                header->nrefs_read++;
        } else if (header->place == KC_BAM_NREFS) {
                snprintf(problem->what, sizeof problem->what,
                         "names %" PRId32 " reference sequences", (int32_t)number);
        } else {
                snprintf(problem->what, sizeof problem->what,
                         "has a name of length %" PRId32 " for reference sequence %" PRIu32,
                         (int32_t)number, header->nrefs_read);
        }
}

static void read_magic(struct kc_bam_header *header, const uint8_t *bytes,
                       struct kc_problem *problem)
{
        if (memcmp(bytes, "BAM\1", 4) != 0)
                refuse(problem, "does not begin with \"BAM\\1\"");
        header->skip = kc_bam_u32(bytes + 4);
        header->place = KC_BAM_TEXT;
}

/* Skip what may be skipped in [at, end); returns where the rest begins. */
static size_t skip(struct kc_bam_header *header, const uint8_t *buffer, size_t at, size_t end,
                   struct kc_problem *problem)
{
        size_t n = header->skip < end - at ? (size_t)header->skip : end - at;
        if (header->place == KC_BAM_TEXT)
                check_text(header, buffer + at, n, problem);
        header->skip -= n;
        return at + n;
}

size_t kc_bam_header_read(struct kc_bam_header *header, const struct kc_chunk *chunk, size_t at,
                          struct kc_problem *problem)
{
        const uint8_t *buffer = chunk->buffer;
        size_t end = chunk->end;
        *problem = (struct kc_problem){ 0 };
        while (header->place != KC_BAM_RECORDS && problem->what[0] == 0) {
                size_t need = header->place == KC_BAM_MAGIC ? MAGIC_NBYTES : NUMBER_NBYTES;
                at = skip(header, buffer, at, end, problem);
                if (header->skip > 0)
                        return at;
                if (header->place == KC_BAM_TEXT)
                        header->place = KC_BAM_NREFS;
                if (header->place == KC_BAM_REF && header->nrefs_read == header->nrefs) {
                        header->place = KC_BAM_RECORDS;
                        return at;
                }
                if (end - at < need)
                        return at;
                if (header->place == KC_BAM_MAGIC)
                        read_magic(header, buffer + at, problem);
                else
                        read_number(header, buffer + at, problem);
                at += need;
        }
        return at;
}

/* Read the header from the chunks of a source; *nbytes: its size. */
static enum kc_status read_all(struct kc_source *source, struct kc_chunk *chunk,
                               struct kc_bytes *carry, struct kc_bam_header *header,
                               uint64_t *nbytes, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        struct kc_problem problem = { 0 };
        while (header->place != KC_BAM_RECORDS) {
                kc_chunk_clear(chunk);
                if (!kc_source_fill(source, chunk) || chunk->error.status != KC_OK)
                        return KC_EINPUT;
                KC_TRY(kc_chunk_take_over(chunk, carry, err));
                size_t at = kc_bam_header_read(header, chunk, chunk->start, &problem);
                if (problem.what[0] != 0)
                        return KC_EINPUT;
                *nbytes += at - chunk->start;
                KC_TRY(kc_bytes_append(carry, chunk->buffer + at, chunk->end - at, err));
        }
out:
        return status;
}

bool kc_bam_header_measure(const char *path, uint64_t *nbytes, uint32_t *nrefs)
{
        enum { CHUNK_NBYTES = 64 << 10 };
        struct kc_error error, *err = &error;
        struct kc_source *source = NULL;
        struct kc_bam_header header = { 0 };
        struct kc_chunk chunk = { 0 };
        struct kc_bytes carry = { 0 };
        struct kc_input in;
        *nbytes = 0;
        enum kc_status status = kc_input_open(&in, path, err);
        if (status != KC_OK) {
                kc_input_close(&in);
                return false;
        }
        KC_TRY(kc_source_open(&source, &in, KC_CONTAINER_BGZF, CHUNK_NBYTES, 1, err));
        source->bam = true;
        KC_TRY(kc_chunk_init(&chunk, CHUNK_NBYTES, err));
        KC_TRY(read_all(source, &chunk, &carry, &header, nbytes, err));
        *nrefs = header.nrefs;
out:
        kc_bytes_free(&carry);
        kc_chunk_free(&chunk);
        kc_source_close(source);
        return status == KC_OK;
}
