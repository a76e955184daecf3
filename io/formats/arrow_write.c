/*
 * Arrow IPC, the file format (arrow.apache.org/docs/format/Columnar.html): two columns, kmer (utf8)
 * and count (uint32), in record batches that all have the same number of rows, except for the last.
 * All numbers are little endian.
 *
 *      "ARROW1", the schema
 *      record batches: a message; the ends of the strings, the letters, the counts
 *      the end of the stream, the footer with the places of all batches, its size, "ARROW1"
 *
 * Messages and the footer are flatbuffers: tables, which begin with the distance to a description
 * of where their fields are, and refer to other objects by their distance. Here every object comes
 * after those that refer to it.
 */
#include "io/formats/export_internal.h"
#include "io/formats/pack.h"
#include "kmer/text.h"

#include <stdio.h>

enum {
        BATCH_NKMERS = 1 << 15,
        ALIGNMENT = 8,
        PREFIX_NBYTES = 8, /* of a message */
        BLOCK_NBYTES = 24, /* the place of a batch, in the footer */
        FLAT_NBYTES = 1 << 10,
        METADATA_VERSION = 4, /* called V5 */
        SCHEMA_HEADER = 1,
        BATCH_HEADER = 3,
        INT_TYPE = 2,
        UTF8_TYPE = 5,
        NBUFFERS = 5,
        OFFSET_NBYTES = 4, /* of a reference within a flatbuffer */
};

static const char magic[ALIGNMENT] = "ARROW1";

/* ---- flatbuffers ---- */

struct flat {
        size_t n;
        char data[FLAT_NBYTES];
};

static size_t round_up(size_t n)
{
        return (n + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* Pad so that the data after `ahead` more bytes are aligned. */
static void pad(struct flat *flat, size_t ahead, size_t alignment)
{
        while ((flat->n + ahead) % alignment != 0)
                flat->data[flat->n++] = 0;
}

/* A number of 1, 2, 4 or 8 bytes. Returns its place. */
static size_t put(struct flat *flat, uint64_t number, size_t nbytes)
{
        pad(flat, 0, nbytes);
        memcpy(flat->data + flat->n, &number, nbytes);
        flat->n += nbytes;
        return flat->n - nbytes;
}

/* Make the reference at this place refer to an object. */
static void link_to(struct flat *flat, size_t place, size_t object)
{
        kc_pack_u32(flat->data + place, (uint32_t)(object - place));
}

struct field {
        size_t nbytes; /* 0: absent */
        uint64_t value;
        size_t place; /* out */
};

/* Returns its place. */
static size_t put_table(struct flat *flat, struct field *fields, size_t nfields)
{
        const size_t description_nbytes = 4 + 2 * nfields;
        pad(flat, description_nbytes, ALIGNMENT);
        char *description = flat->data + flat->n;
        flat->n += description_nbytes;
        const size_t table = put(flat, description_nbytes, OFFSET_NBYTES);
        for (size_t i = 0; i < nfields; i++) {
                if (fields[i].nbytes > 0)
                        fields[i].place = put(flat, fields[i].value, fields[i].nbytes);
                size_t distance = fields[i].nbytes > 0 ? fields[i].place - table : 0;
                kc_pack_u16(description + 4 + 2 * i, (uint16_t)distance);
        }
        kc_pack_u16(description, (uint16_t)description_nbytes);
        kc_pack_u16(description + 2, (uint16_t)(flat->n - table));
        return table;
}

/* Write a vector's number of elements; the first element comes next. Returns its place. */
static size_t put_vector(struct flat *flat, size_t n)
{
        pad(flat, OFFSET_NBYTES, ALIGNMENT);
        return put(flat, n, OFFSET_NBYTES);
}

static size_t put_string(struct flat *flat, const char *text)
{
        const size_t place = put_vector(flat, strlen(text));
        strcpy(flat->data + flat->n, text);
        flat->n += strlen(text) + 1;
        return place;
}

/* ---- the schema ---- */

static void put_column(struct flat *flat, size_t reference, const char *name, int type,
                       struct field *type_fields, size_t ntype_fields)
{
        struct field fields[] = { { .nbytes = OFFSET_NBYTES }, /* name */
                                  { 0 },                       /* nullable: no */
                                  { .nbytes = 1, .value = (uint64_t)type },
                                  { .nbytes = OFFSET_NBYTES }, /* the type's own fields */
                                  { 0 },                       /* dictionary */
                                  { .nbytes = OFFSET_NBYTES } /* children */ };
        link_to(flat, reference, put_table(flat, fields, 6));
        link_to(flat, fields[0].place, put_string(flat, name));
        link_to(flat, fields[3].place, put_table(flat, type_fields, ntype_fields));
        link_to(flat, fields[5].place, put_vector(flat, 0));
}

static void put_fact(struct flat *flat, size_t reference, const char *key, const char *value)
{
        struct field fields[] = { { .nbytes = OFFSET_NBYTES }, { .nbytes = OFFSET_NBYTES } };
        link_to(flat, reference, put_table(flat, fields, 2));
        link_to(flat, fields[0].place, put_string(flat, key));
        link_to(flat, fields[1].place, put_string(flat, value));
}

/* A vector of two references, which are returned. */
static void put_pair(struct flat *flat, size_t reference, size_t pair[2])
{
        link_to(flat, reference, put_vector(flat, 2));
        pair[0] = put(flat, 0, OFFSET_NBYTES);
        pair[1] = put(flat, 0, OFFSET_NBYTES);
}

static void put_schema(struct flat *flat, size_t reference, const struct kc_export_options *options)
{
        struct field fields[] = { { 0 }, /* endianness: little */
                                  { .nbytes = OFFSET_NBYTES },
                                  { .nbytes = OFFSET_NBYTES } };
        struct field uint32_fields[] = { { .nbytes = 4, .value = 32 }, { 0 } /* signed: no */ };
        size_t columns[2], facts[2];
        char k[12];
        snprintf(k, sizeof k, "%d", options->k);
        link_to(flat, reference, put_table(flat, fields, 3));
        put_pair(flat, fields[1].place, columns);
        put_column(flat, columns[0], "kmer", UTF8_TYPE, NULL, 0);
        put_column(flat, columns[1], "count", INT_TYPE, uint32_fields, 2);
        put_pair(flat, fields[2].place, facts);
        put_fact(flat, facts[0], "k", k);
        put_fact(flat, facts[1], "canonical", options->stranded ? "false" : "true");
}

/* ---- messages ---- */

/* Begin a message with its prefix. Returns the reference to its header. */
static size_t begin_message(struct flat *flat, int header, uint64_t body_nbytes)
{
        struct field fields[] = { { .nbytes = 2, .value = METADATA_VERSION },
                                  { .nbytes = 1, .value = (uint64_t)header },
                                  { .nbytes = OFFSET_NBYTES },
                                  { .nbytes = 8, .value = body_nbytes } };
        flat->n = 0;
        put(flat, UINT32_MAX, 4);
        put(flat, 0, 4); /* the size is known in the end */
        const size_t root = put(flat, 0, OFFSET_NBYTES);
        link_to(flat, root, put_table(flat, fields, 4));
        return fields[2].place;
}

static void end_message(struct flat *flat)
{
        pad(flat, 0, ALIGNMENT);
        kc_pack_u32(flat->data + 4, (uint32_t)(flat->n - PREFIX_NBYTES));
}

static void put_schema_message(struct flat *flat, const struct kc_export_options *options)
{
        const size_t header = begin_message(flat, SCHEMA_HEADER, 0);
        put_schema(flat, header, options);
        end_message(flat);
}

/* The sizes of the buffers of a batch; a column's first buffer would mark missing values, but there
 * are none. */
static void size_buffers(int k, size_t n, size_t sizes[NBUFFERS])
{
        sizes[0] = sizes[3] = 0;
        sizes[1] = 4 * (n + 1);
        sizes[2] = n * (size_t)k;
        sizes[4] = 4 * n;
}

static size_t body_nbytes(int k, size_t n)
{
        size_t sizes[NBUFFERS], sum = 0;
        size_buffers(k, n, sizes);
        for (int i = 0; i < NBUFFERS; i++)
                sum += round_up(sizes[i]);
        return sum;
}

/* Its size is always the same. */
static void put_batch_message(struct flat *flat, int k, size_t n)
{
        struct field fields[] = { { .nbytes = 8, .value = n },
                                  { .nbytes = OFFSET_NBYTES },
                                  { .nbytes = OFFSET_NBYTES } };
        size_t sizes[NBUFFERS], offset = 0;
        const size_t header = begin_message(flat, BATCH_HEADER, body_nbytes(k, n));
        link_to(flat, header, put_table(flat, fields, 3));
        link_to(flat, fields[1].place, put_vector(flat, 2));
        for (int column = 0; column < 2; column++) {
                put(flat, n, 8);
                put(flat, 0, 8); /* missing values */
        }
        link_to(flat, fields[2].place, put_vector(flat, NBUFFERS));
        size_buffers(k, n, sizes);
        for (int i = 0; i < NBUFFERS; i++) {
                put(flat, offset, 8);
                put(flat, sizes[i], 8);
                offset += round_up(sizes[i]);
        }
        end_message(flat);
}

static size_t batch_message_nbytes(void)
{
        struct flat flat;
        put_batch_message(&flat, 1, 0);
        return flat.n;
}

/* ---- the file ---- */

static size_t batch_nbytes(const struct kc_export *writer, size_t n)
{
        return batch_message_nbytes() + body_nbytes(writer->options.k, n) +
               KC_KMER_TEXT_SCRATCH_NBYTES;
}

static enum kc_status begin(struct kc_export *writer, struct kc_error *err)
{
        enum kc_status status;
        struct flat flat;
        put_schema_message(&flat, &writer->options);
        KC_TRY(kc_export_out_write(&writer->outs[0], magic, sizeof magic, err));
        KC_TRY(kc_export_out_write(&writer->outs[0], flat.data, flat.n, err));
out:
        return status;
}

static char *fill_up(const char *begin_of_body, char *to)
{
        while ((to - begin_of_body) % ALIGNMENT != 0)
                *to++ = 0;
        return to;
}

static char *encode(const struct kc_export *writer, const uint64_t *kmers, const uint32_t *counts,
                    size_t n, char *to)
{
        const int k = writer->options.k;
        struct flat flat;
        put_batch_message(&flat, k, n);
        to = (char *)memcpy(to, flat.data, flat.n) + flat.n;
        char *const body = to;
        for (size_t i = 0; i <= n; i++)
                to = kc_pack_u32(to, (uint32_t)(i * (size_t)k));
        to = fill_up(body, to);
        to = fill_up(body, kc_kmer_text_letters(kmers, k, n, to));
        to = (char *)memcpy(to, counts, n * sizeof *counts) + n * sizeof *counts;
        return fill_up(body, to);
}

/* The footer without the places of the batches, which come last. */
static void put_footer(struct flat *flat, const struct kc_export_options *options,
                       uint64_t nbatches)
{
        struct field fields[] = { { .nbytes = 2, .value = METADATA_VERSION },
                                  { .nbytes = OFFSET_NBYTES },
                                  { .nbytes = OFFSET_NBYTES }, /* dictionaries */
                                  { .nbytes = OFFSET_NBYTES } };
        flat->n = 0;
        const size_t root = put(flat, 0, OFFSET_NBYTES);
        link_to(flat, root, put_table(flat, fields, 4));
        put_schema(flat, fields[1].place, options);
        link_to(flat, fields[2].place, put_vector(flat, 0));
        link_to(flat, fields[3].place, put_vector(flat, nbatches));
}

/* All batches but the last are full. */
static enum kc_status write_blocks(struct kc_export *writer, uint64_t first, uint64_t nbatches,
                                   struct kc_error *err)
{
        enum kc_status status = KC_OK;
        const int k = writer->options.k;
        const size_t message_nbytes = batch_message_nbytes();
        uint64_t rest = writer->written.nkmers, offset = first;
        for (uint64_t i = 0; i < nbatches; i++) {
                const size_t n = rest < BATCH_NKMERS ? (size_t)rest : BATCH_NKMERS;
                const size_t nbytes = body_nbytes(k, n);
                char block[BLOCK_NBYTES], *to = kc_pack_u64(block, offset);
                to = kc_pack_u64(to, message_nbytes);
                kc_pack_u64(to, nbytes);
                KC_TRY(kc_export_out_write(&writer->outs[0], block, sizeof block, err));
                offset += message_nbytes + nbytes;
                rest -= n;
        }
out:
        return status;
}

static enum kc_status end(struct kc_export *writer, struct kc_error *err)
{
        enum kc_status status;
        struct kc_export_out *out = &writer->outs[0];
        const uint64_t nbatches = (writer->written.nkmers + BATCH_NKMERS - 1) / BATCH_NKMERS;
        const char end_of_stream[PREFIX_NBYTES] = { -1, -1, -1, -1 };
        char size[4];
        struct flat flat;
        put_schema_message(&flat, &writer->options);
        const uint64_t first = sizeof magic + flat.n;
        KC_TRY(kc_export_out_write(out, end_of_stream, sizeof end_of_stream, err));
        put_footer(&flat, &writer->options, nbatches);
        KC_TRY(kc_export_out_write(out, flat.data, flat.n, err));
        KC_TRY(write_blocks(writer, first, nbatches, err));
        kc_pack_u32(size, (uint32_t)(flat.n + nbatches * BLOCK_NBYTES));
        KC_TRY(kc_export_out_write(out, size, sizeof size, err));
        KC_TRY(kc_export_out_write(out, magic, strlen(magic), err));
out:
        return status;
}

const struct kc_export_format kc_export_arrow = {
        .count_limit = UINT32_MAX,
        .batch_nkmers = BATCH_NKMERS,
        .begin = begin,
        .batch_nbytes = batch_nbytes,
        .encode = encode,
        .end = end,
};
