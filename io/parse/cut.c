#include "io/parse/cut.h"

#include "io/input/bgzf_header.h"

#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>

enum {
        FIRST_WINDOW = 64 << 10, /* of text */
        LAST_WINDOW = 64 << 20,  /* of FASTQ: there is no cut among longer records */
        RECORDS_TO_FIT = 4,
        BLOCKS_TO_FIT = 4,
};

static const char *line_end(const char *line, const char *end)
{
        return memchr(line, '\n', (size_t)(end - line));
}

enum fit { FITS, DOES_NOT_FIT, UNKNOWN };

/* Whether a record of four lines begins here; *next: where the one after it does. */
static enum fit is_record(const char *text, const char *end, const char **next)
{
        const char *ends[4], *line = text;
        if (text == end)
                return UNKNOWN;
        if (*text != '@')
                return DOES_NOT_FIT;
        for (int i = 0; i < 4; i++) {
                ends[i] = line_end(line, end);
                if (ends[i] == NULL)
                        return UNKNOWN;
                line = ends[i] + 1;
                if (i == 1 && line < end && *line != '+')
                        return DOES_NOT_FIT;
        }
        *next = line;
        return ends[1] - ends[0] == ends[3] - ends[2] ? FITS : DOES_NOT_FIT;
}

/* Whether several records begin here, or as many as there are before the end of the file. */
static enum fit are_records(const char *text, const char *end, bool whole)
{
        for (int i = 0; i < RECORDS_TO_FIT; i++) {
                if (whole && text == end)
                        break;
                const enum fit fit = is_record(text, end, &text);
                if (fit != FITS)
                        return fit;
        }
        return FITS;
}

/* Look for a FASTQ record in text, after its first line, which may have begun earlier.
 *   whole  the file ends where the text does
 *   at     out, if FITS; the end of the text if no record begins in it */
static enum fit find_record(const char *text, size_t n, bool whole, size_t *at)
{
        const char *end = text + n, *line = n > 0 ? line_end(text, end) : NULL;
        if (line != NULL)
                line++;
        for (; line != NULL && line < end; line = (line = line_end(line, end)) ? line + 1 : NULL) {
                *at = (size_t)(line - text);
                const enum fit fit = are_records(line, end, whole);
                if (fit != DOES_NOT_FIT)
                        return fit;
        }
        *at = n;
        return whole ? FITS : UNKNOWN;
}

/* The first FASTA header in a piece of text; NULL: there is none.
 *   after_line  in/out: whether a line ends right before the text */
static const char *find_header(const char *text, size_t n, bool *after_line)
{
        const char *end = text + n, *line = text;
        if (n == 0 || (*after_line && *text == '>'))
                return n == 0 ? NULL : text;
        while ((line = line_end(line, end)) != NULL && ++line < end)
                if (*line == '>')
                        return line;
        *after_line = text[n - 1] == '\n';
        return NULL;
}

/* ---- plain text ---- */

/* Search as far as needed: a chromosome can be longer than any window. */
static enum kc_status find_plain_fasta(const struct kc_input *in, uint64_t from, struct kc_cut *cut,
                                       struct kc_error *err)
{
        enum { WINDOW = 1 << 20 };
        char *text = malloc(WINDOW);
        enum kc_status status = KC_OK;
        bool after_line = false;
        size_t got = 1;
        if (text == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for reading");
        for (uint64_t at = from - 1; got > 0; at += got) {
                KC_TRY(kc_input_read_at(in, text, WINDOW, at, &got, err));
                const char *header = find_header(text, got, &after_line);
                if (header != NULL) {
                        cut->at = at + (uint64_t)(header - text);
                        break;
                }
        }
out:
        free(text);
        return status;
}

static enum kc_status find_plain_fastq(const struct kc_input *in, uint64_t from, struct kc_cut *cut,
                                       struct kc_error *err)
{
        enum kc_status status = KC_OK;
        enum fit fit = UNKNOWN;
        char *text = NULL;
        for (size_t n = FIRST_WINDOW; fit == UNKNOWN && n <= LAST_WINDOW; n *= 4) {
                char *larger = realloc(text, n);
                size_t got, found;
                if (larger == NULL) {
                        status = kc_fail(err, KC_ENOMEM, "out of memory for reading");
                        goto out;
                }
                text = larger;
                /* from the byte before: if it ends a line, a record may begin right here */
                KC_TRY(kc_input_read_at(in, text, n, from - 1, &got, err));
                fit = find_record(text, got, from - 1 + got >= in->size, &found);
                if (fit == FITS)
                        cut->at = from - 1 + found;
        }
out:
        free(text);
        return status;
}

/* ---- BGZF ---- */

/* Whether several blocks begin here, or as many as there are before the end of the file. */
static bool are_blocks(const uint8_t *bytes, size_t n, bool whole)
{
        size_t at = 0;
        for (int i = 0; i < BLOCKS_TO_FIT; i++) {
                struct kc_bgzf_header header;
                if (at == n && whole)
                        break;
                if (at > n || !kc_bgzf_parse(bytes + at, n - at, &header))
                        return false;
                at += header.block_nbytes;
        }
        return true;
}

/* The first block at or after a byte of the file; the end of the file if there is none. */
static enum kc_status find_block(const struct kc_input *in, uint64_t from, uint64_t *block,
                                 struct kc_error *err)
{
        enum { WINDOW = (BLOCKS_TO_FIT + 2) * KC_BGZF_MAX_NBYTES };
        enum kc_status status = KC_OK;
        uint8_t *bytes = malloc(WINDOW);
        size_t n;
        *block = in->size;
        if (bytes == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for reading");
        KC_TRY(kc_input_read_at(in, bytes, WINDOW, from, &n, err));
        for (size_t at = 0; at < n && at <= KC_BGZF_MAX_NBYTES; at++)
                if (are_blocks(bytes + at, n - at, from + n >= in->size)) {
                        *block = from + at;
                        break;
                }
out:
        free(bytes);
        return status;
}

/* The text of blocks, one after the other. */
struct unpacked {
        char *text;
        size_t n, cap;
        uint64_t next; /* the block to be read next */
        uint8_t *packed;
        struct libdeflate_decompressor *inflater;
};

/* Append a block's text. *sound: false if it is damaged; reading it will say so. */
static enum kc_status unpack(const struct kc_input *in, struct unpacked *u, bool *sound,
                             struct kc_error *err)
{
        struct kc_bgzf_header header;
        size_t got, used;
        *sound = false;
        enum kc_status status =
                kc_input_read_at(in, u->packed, KC_BGZF_MAX_NBYTES, u->next, &got, err);
        if (status != KC_OK || !kc_bgzf_parse(u->packed, got, &header) || header.block_nbytes > got)
                return status;
        const size_t nbytes = header.block_nbytes - header.header_nbytes - KC_BGZF_FOOTER_NBYTES;
        const uint32_t isize = kc_bgzf_u32(u->packed + header.block_nbytes - 4);
        if (isize > KC_BGZF_MAX_NBYTES || u->n + isize > u->cap)
                return KC_OK;
        *sound = libdeflate_deflate_decompress_ex(u->inflater, u->packed + header.header_nbytes,
                                                  nbytes, u->text + u->n, isize, &used,
                                                  NULL) == LIBDEFLATE_SUCCESS;
        u->n += *sound ? isize : 0;
        u->next += header.block_nbytes;
        return KC_OK;
}

/* Make room for n bytes of text and a block. */
static enum kc_status make_text(struct unpacked *u, size_t n, struct kc_error *err)
{
        char *larger = realloc(u->text, n + KC_BGZF_MAX_NBYTES);
        if (larger == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for reading");
        u->text = larger;
        u->cap = n + KC_BGZF_MAX_NBYTES;
        return KC_OK;
}

static enum kc_status unpack_until(const struct kc_input *in, struct unpacked *u, size_t n,
                                   struct kc_error *err)
{
        enum kc_status status = make_text(u, n, err);
        bool sound = true;
        while (status == KC_OK && sound && u->n < n && u->next < in->size)
                status = unpack(in, u, &sound, err);
        return status;
}

/* Find byte `at` of the text that begins with the block at `block`: the block, and where in it. */
static enum kc_status find_in_blocks(const struct kc_input *in, uint64_t block, size_t at,
                                     struct kc_cut *cut, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        while (block < in->size) {
                uint8_t head[256], isize[4];
                struct kc_bgzf_header header;
                size_t got;
                KC_TRY(kc_input_read_at(in, head, sizeof head, block, &got, err));
                if (!kc_bgzf_parse(head, got, &header))
                        break;
                KC_TRY(kc_input_read_at(in, isize, 4, block + header.block_nbytes - 4, &got, err));
                if (got == 4 && at < kc_bgzf_u32(isize)) {
                        *cut = (struct kc_cut){ block, (uint32_t)at, header.block_nbytes };
                        return KC_OK;
                }
                at -= kc_bgzf_u32(isize);
                block += header.block_nbytes;
        }
        *cut = (struct kc_cut){ .at = in->size };
out:
        return status;
}

static enum kc_status find_bgzf_fastq(const struct kc_input *in, struct unpacked *u,
                                      struct kc_cut *cut, struct kc_error *err)
{
        const uint64_t block = u->next;
        enum kc_status status = KC_OK;
        enum fit fit = UNKNOWN;
        for (size_t n = FIRST_WINDOW; fit == UNKNOWN && n <= LAST_WINDOW; n *= 4) {
                size_t found;
                KC_TRY(unpack_until(in, u, n, err));
                fit = find_record(u->text, u->n, u->next >= in->size, &found);
                if (fit == FITS)
                        KC_TRY(find_in_blocks(in, block, found, cut, err));
        }
out:
        return status;
}

static enum kc_status find_bgzf_fasta(const struct kc_input *in, struct unpacked *u,
                                      struct kc_cut *cut, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        bool sound = true, after_line = false;
        const char *header = NULL;
        KC_TRY(make_text(u, 0, err));
        while (sound && header == NULL && u->next < in->size) {
                const uint64_t block = u->next;
                u->n = 0;
                KC_TRY(unpack(in, u, &sound, err));
                header = find_header(u->text, u->n, &after_line);
                if (header != NULL)
                        *cut = (struct kc_cut){ block, (uint32_t)(header - u->text),
                                                (uint32_t)(u->next - block) };
        }
out:
        return status;
}

static enum kc_status find_bgzf(const struct kc_input *in, char first, uint64_t from,
                                struct kc_cut *cut, struct kc_error *err)
{
        struct unpacked u = { .packed = malloc(KC_BGZF_MAX_NBYTES),
                              .inflater = libdeflate_alloc_decompressor() };
        enum kc_status status;
        if (u.packed == NULL || u.inflater == NULL) {
                status = kc_fail(err, KC_ENOMEM, "out of memory for reading");
                goto out;
        }
        KC_TRY(find_block(in, from, &u.next, err));
        if (first == '>')
                KC_TRY(find_bgzf_fasta(in, &u, cut, err));
        else
                KC_TRY(find_bgzf_fastq(in, &u, cut, err));
out:
        libdeflate_free_decompressor(u.inflater);
        free(u.packed);
        free(u.text);
        return status;
}

enum kc_status kc_cut_find(const struct kc_input *in, bool bgzf, char first, uint64_t from,
                           struct kc_cut *cut, struct kc_error *err)
{
        *cut = (struct kc_cut){ .at = in->size };
        if (bgzf)
                return find_bgzf(in, first, from, cut, err);
        if (first == '>')
                return find_plain_fasta(in, from, cut, err);
        return find_plain_fastq(in, from, cut, err);
}
