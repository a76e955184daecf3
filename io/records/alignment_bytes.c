#include "io/alignment_bytes.h"

#include <errno.h>
#include <htslib/hts_endian.h>
#include <htslib/sam.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
        CORE_NBYTES = 32,         /* of a record, before its name */
        MOST_OPERATIONS = 0xffff, /* of a CIGAR; a longer one goes into the tag CG */
};

static enum kc_status no_memory(struct kc_error *err)
{
        return kc_fail(err, KC_ENOMEM, "out of memory for alignments");
}

/* Make room for nbytes more. */
static enum kc_status reserve(struct kc_alignment_bytes *bytes, size_t nbytes, struct kc_error *err)
{
        if (nbytes <= bytes->room - bytes->n)
                return KC_OK;
        const size_t room =
                bytes->n + nbytes > 2 * bytes->room ? bytes->n + nbytes : 2 * bytes->room;
        char *data = realloc(bytes->data, room);
        if (data == NULL)
                return no_memory(err);
        bytes->data = data;
        bytes->room = room;
        return KC_OK;
}

/* ---- putting; the caller has made room ---- */

static void put(struct kc_alignment_bytes *bytes, const void *data, size_t nbytes)
{
        if (nbytes > 0)
                memcpy(bytes->data + bytes->n, data, nbytes);
        bytes->n += nbytes;
}

static void put_number(struct kc_alignment_bytes *bytes, uint32_t number)
{
        u32_to_le(number, (uint8_t *)bytes->data + bytes->n);
        bytes->n += 4;
}

/* ---- headers ---- */

/* A header's fields are separated by tabs, and its lines end at line feeds. */
static char *without_controls(const char *text)
{
        char *copy = strdup(text);
        for (char *at = copy; at != NULL && *at != '\0'; at++)
                if ((unsigned char)*at < ' ')
                        *at = ' ';
        return copy;
}

static enum kc_status add_program(sam_hdr_t *header, const struct kc_alignment_program *program,
                                  struct kc_error *err)
{
        char *command = without_controls(program->command);
        if (command == NULL)
                return no_memory(err);
        const int code =
                sam_hdr_add_pg(header, program->name, "VN", program->version, "CL", command, NULL);
        free(command);
        return code == 0 ? KC_OK : kc_fail(err, KC_EINPUT, "htslib cannot change the header");
}

static enum kc_status put_reference(struct kc_alignment_bytes *bytes, const sam_hdr_t *header,
                                    int number, struct kc_error *err)
{
        const char *name = sam_hdr_tid2name(header, number);
        const hts_pos_t length = sam_hdr_tid2len(header, number);
        const size_t name_nbytes = strlen(name) + 1;
        enum kc_status status;
        if (length > INT32_MAX)
                return kc_fail(err, KC_EINPUT,
                               "the reference sequence %s has %" PRId64
                               " bases, more than BAM can hold; SAM can",
                               name, (int64_t)length);
        KC_TRY(reserve(bytes, 8 + name_nbytes, err));
        put_number(bytes, (uint32_t)name_nbytes);
        put(bytes, name, name_nbytes);
        put_number(bytes, (uint32_t)length);
out:
        return status;
}

static enum kc_status put_bam_header(struct kc_alignment_bytes *bytes, const sam_hdr_t *header,
                                     const char *text, size_t nbytes, struct kc_error *err)
{
        const int nreferences = sam_hdr_nref(header);
        enum kc_status status;
        KC_TRY(reserve(bytes, 12 + nbytes, err));
        put(bytes, "BAM\1", 4);
        put_number(bytes, (uint32_t)nbytes);
        put(bytes, text, nbytes);
        put_number(bytes, (uint32_t)nreferences);
        for (int i = 0; i < nreferences; i++)
                KC_TRY(put_reference(bytes, header, i, err));
out:
        return status;
}

enum kc_status kc_alignment_put_header(struct kc_alignment_bytes *bytes,
                                       enum kc_alignment_format format,
                                       const struct sam_hdr_t *header,
                                       const struct kc_alignment_program *program,
                                       struct kc_error *err)
{
        sam_hdr_t *own = sam_hdr_dup(header);
        enum kc_status status;
        if (own == NULL)
                return no_memory(err);
        KC_TRY(add_program(own, program, err));
        const char *text = sam_hdr_str(own);
        if (text == NULL)
                KC_TRY(no_memory(err));
        const size_t nbytes = strlen(text);
        if (format == KC_ALIGNMENT_BAM) {
                status = put_bam_header(bytes, own, text, nbytes, err);
        } else {
                KC_TRY(reserve(bytes, nbytes, err));
                put(bytes, text, nbytes);
        }
out:
        sam_hdr_destroy(own);
        return status;
}

/* ---- records of SAM ---- */

static enum kc_status put_sam(struct kc_alignment_bytes *bytes, const sam_hdr_t *header,
                              const bam1_t *record, struct kc_error *err)
{
        kstring_t line = KS_INITIALIZE;
        enum kc_status status = KC_OK;
        errno = 0;
        if (sam_format1(header, record, &line) < 0 || kputc('\n', &line) < 0)
                status = errno != EINVAL ? no_memory(err)
                                         : kc_fail(err, KC_EINPUT, "the record %s has damaged tags",
                                                   bam_get_qname(record));
        else if ((status = reserve(bytes, line.l, err)) == KC_OK)
                put(bytes, line.s, line.l);
        ks_free(&line);
        return status;
}

/* ---- records of BAM ---- */

static bool is_long(const bam1_t *record)
{
        return record->core.n_cigar > MOST_OPERATIONS;
}

static bool fits_bam(const bam1_t *record)
{
        const bam1_core_t *c = &record->core;
        return c->pos <= INT32_MAX && c->mpos <= INT32_MAX && c->isize <= INT32_MAX &&
               c->isize >= INT32_MIN &&
               (!is_long(record) ||
                bam_cigar2rlen((int)c->n_cigar, bam_get_cigar(record)) < 1 << 28);
}

/* Without the zeros after the name that align what follows it in memory. */
static size_t name_nbytes(const bam1_t *record)
{
        return (size_t)record->core.l_qname - record->core.l_extranul;
}

static void put_core(struct kc_alignment_bytes *bytes, const bam1_t *record, size_t record_nbytes)
{
        const bam1_core_t *c = &record->core;
        const uint32_t noperations = is_long(record) ? 2 : c->n_cigar;
        put_number(bytes, (uint32_t)record_nbytes);
        put_number(bytes, (uint32_t)c->tid);
        put_number(bytes, (uint32_t)c->pos);
        put_number(bytes,
                   (uint32_t)c->bin << 16 | (uint32_t)c->qual << 8 | (uint32_t)name_nbytes(record));
        put_number(bytes, (uint32_t)c->flag << 16 | noperations);
        put_number(bytes, (uint32_t)c->l_qseq);
        put_number(bytes, (uint32_t)c->mtid);
        put_number(bytes, (uint32_t)c->mpos);
        put_number(bytes, (uint32_t)c->isize);
}

/* Put a CIGAR that covers as many bases as the real one, and, after all tags, the real one as a tag
 * of its own. */
static void put_long_cigar(struct kc_alignment_bytes *bytes, const bam1_t *record)
{
        const bam1_core_t *c = &record->core;
        const uint32_t *cigar = bam_get_cigar(record);
        const size_t begin = c->l_qname, end = begin + 4 * (size_t)c->n_cigar;
        const hts_pos_t length = bam_cigar2rlen((int)c->n_cigar, cigar);
        put_number(bytes, (uint32_t)c->l_qseq << 4 | BAM_CSOFT_CLIP);
        put_number(bytes, (uint32_t)length << 4 | BAM_CREF_SKIP);
        put(bytes, record->data + end, (size_t)record->l_data - end);
        put(bytes, "CGBI", 4);
        put_number(bytes, c->n_cigar);
        put(bytes, cigar, 4 * (size_t)c->n_cigar);
}

static enum kc_status put_bam(struct kc_alignment_bytes *bytes, const bam1_t *record,
                              struct kc_error *err)
{
        enum { LONG_NBYTES = 16 };
        const bam1_core_t *c = &record->core;
        const size_t record_nbytes = CORE_NBYTES + (size_t)record->l_data - c->l_extranul +
                                     (is_long(record) ? LONG_NBYTES : 0);
        enum kc_status status;
        if (!fits_bam(record))
                return kc_fail(err, KC_EINPUT,
                               "the record %s has a position or a CIGAR beyond what BAM can hold; "
                               "SAM can",
                               bam_get_qname(record));
        KC_TRY(reserve(bytes, 4 + record_nbytes, err));
        put_core(bytes, record, record_nbytes);
        put(bytes, record->data, name_nbytes(record));
        if (is_long(record))
                put_long_cigar(bytes, record);
        else
                put(bytes, record->data + c->l_qname, (size_t)record->l_data - c->l_qname);
out:
        return status;
}

enum kc_status kc_alignment_put(struct kc_alignment_bytes *bytes, enum kc_alignment_format format,
                                const struct sam_hdr_t *header, const struct bam1_t *record,
                                struct kc_error *err)
{
        return format == KC_ALIGNMENT_BAM ? put_bam(bytes, record, err)
                                          : put_sam(bytes, header, record, err);
}
