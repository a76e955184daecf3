#include "io/parse/bam_header.h"

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
