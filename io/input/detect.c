/*
 * Detecting containers and formats by content.
 *
 *      1f 8b 08        gzip; BGZF if its extra field holds the subfield "BC" of 2 bytes
 *      28 b5 2f fd     zstd (or 5x 2a 4d 18, a frame to be skipped)
 *      "BZh"           bzip2
 *      fd "7zXZ" 00    xz
 *      "CRAM" and its version
 *      in the text:    "BAM\1"; "@HD\t" and the like (unless it begins a FASTQ record) or a line
 *                      of 11 fields: SAM; '@' FASTQ; '>' or ';' FASTA; a UTF-8 byte order mark may
 *                      come first
 *
 * Anything else is refused, with its name and a remedy if they are known (io/input/foreign.h).
 */
#include "io/input/detect.h"

#include "io/input/bgzf_header.h"
#include "io/input/foreign.h"
#include "io/input/head.h"
#include "io/input/letters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PEEK = 64 << 10, MIN_TEXT = 4 };

static enum kc_container detect_container(const uint8_t *bytes, size_t n)
{
        struct kc_bgzf_header header;
        if (n >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b && (n == 2 || bytes[2] == 8))
                return kc_bgzf_parse(bytes, n, &header) ? KC_CONTAINER_BGZF : KC_CONTAINER_GZIP;
        if (n >= 4 && memcmp(bytes, "\x28\xb5\x2f\xfd", 4) == 0)
                return KC_CONTAINER_ZSTD;
        if (n >= 4 && (bytes[0] & 0xf0) == 0x50 && memcmp(bytes + 1, "\x2a\x4d\x18", 3) == 0)
                return KC_CONTAINER_ZSTD;
        if (n >= 4 && memcmp(bytes, "CRAM", 4) == 0 && (n == 4 || bytes[4] < ' '))
                return KC_CONTAINER_ALIGNMENTS; /* the version follows; no text begins like this */
        if (n >= 3 && memcmp(bytes, "BZh", 3) == 0)
                return KC_CONTAINER_BZIP2;
        if (n >= 6 && memcmp(bytes, "\xfd\x37zXZ\0", 6) == 0)
                return KC_CONTAINER_XZ;
        return KC_CONTAINER_PLAIN;
}

/* Whether text begins with a line like those of SAM's header; is_sam_line: of its body. */
static bool is_header_line(const char *text, size_t n)
{
        static const char kinds[][3] = { "HD", "SQ", "RG", "PG", "CO" };
        for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
                if (n >= 4 && text[0] == '@' && memcmp(text + 1, kinds[i], 2) == 0 &&
                    text[3] == '\t')
                        return true;
        return false;
}

/* Whether the first line of a text is the name of a read: lines of its sequence follow, and one
 * that begins with '+'. In SAM, each line begins with '@', or has a tab after at most MAX_NAME
 * letters. */
static bool is_read_name(const char *text, size_t n)
{
        enum { MAX_NAME = 254 };
        const char *end = text + n, *line = memchr(text, '\n', n);
        for (bool sequence = false; line != NULL && ++line < end; sequence = true) {
                const char *eol = memchr(line, '\n', (size_t)(end - line));
                const size_t length = (size_t)((eol != NULL ? eol : end) - line);
                const bool tab = memchr(line, '\t', length) != NULL;
                if (*line == '+' && (sequence || !tab))
                        return true;
                if (*line == '@' || tab)
                        return false;
                if (eol == NULL && length > MAX_NAME)
                        return true;
                line = eol;
        }
        return false;
}

static bool is_sam_header(const char *text, size_t n)
{
        return is_header_line(text, n) && !is_read_name(text, n);
}

static bool is_sam_line(const char *text, size_t n)
{
        size_t ntabs = 0;
        for (size_t i = 0; i < n && text[i] != '\n'; i++)
                ntabs += text[i] == '\t';
        return n > 0 && strchr("@>;", text[0]) == NULL && ntabs >= 10;
}

/* What to look for in the text, and what was found so far. */
struct look {
        const char *name;
        bool lines; /* lines of sequence are accepted, too */
        double bytes_per_letter;
        struct kc_detected *found;
};

/* Refuse alignments in a container whose text cannot always be looked at: a block of zstd or bzip2
 * can be longer than what is read in advance, and then nothing is known of its text. */
static enum kc_status refuse_alignments(const struct look *look, const char *format,
                                        struct kc_error *err)
{
        const struct kc_packing packing = kc_container_packing(look->found->container);
        char filter[sizeof err->filter];
        snprintf(filter, sizeof filter, "%s FILE", packing.pipe);
        return kc_fail_filter(err, KC_REMEDY_FILTER, look->name, filter,
                              "%s is %s inside %s, which kcount cannot read", look->name, format,
                              packing.name);
}

static bool may_hold_alignments(enum kc_container container)
{
        return container == KC_CONTAINER_PLAIN || container == KC_CONTAINER_GZIP ||
               container == KC_CONTAINER_BGZF;
}

static enum kc_status found_bam(const struct look *look, struct kc_error *err)
{
        struct kc_detected *found = look->found;
        if (!may_hold_alignments(found->container))
                return refuse_alignments(look, "BAM", err);
        found->bases_per_byte = found->container == KC_CONTAINER_PLAIN ? 0.5 : 1;
        found->bam = true;
        return KC_OK;
}

static enum kc_status found_sam(const struct look *look, bool bom, struct kc_error *err)
{
        struct kc_detected *found = look->found;
        if (!may_hold_alignments(found->container))
                return refuse_alignments(look, "SAM", err);
        if (bom)
                return kc_fail_filter(err, KC_REMEDY_FILTER, look->name, "tail -c +4 FILE",
                                      "%s is SAM that begins with a UTF-8 byte order mark, which "
                                      "kcount cannot read",
                                      look->name);
        found->bases_per_byte = 0.4 / look->bytes_per_letter;
        found->container = KC_CONTAINER_ALIGNMENTS;
        return KC_OK;
}

/* Text without a byte order mark and without alignments should be FASTQ or FASTA. */
static enum kc_status detect_reads(const struct look *look, const uint8_t *text, size_t n,
                                   struct kc_error *err)
{
        struct kc_detected *found = look->found;
        enum kc_status status;
        size_t blank = 0;
        KC_TRY(kc_foreign_check_lines(look->name, found->container, text, n, err));
        while (blank < n && text[blank] != 0 && strchr(" \t\r\n", text[blank]) != NULL)
                blank++;
        if (blank == n || look->lines)
                goto out; /* nothing seen yet; the parser decides */
        if (strchr("@>;", text[blank]) == NULL || text[blank] == 0)
                return kc_foreign_refuse(look->name, found->container, text + blank, n - blank,
                                         err);
        const struct kc_letters letters = kc_letters_count((const char *)text + blank, n - blank);
        found->bases_per_byte = (double)letters.nsymbols / ((double)n * look->bytes_per_letter);
        found->percent_other = (uint8_t)kc_letters_percent_other(&letters);
out:
        return status;
}

static enum kc_status detect_text(const struct look *look, const uint8_t *text, size_t n,
                                  struct kc_error *err)
{
        struct kc_detected *found = look->found;
        const char *letters = (const char *)text;
        enum kc_status status;
        found->first = n > 0 ? letters[0] : 0;
        if (n >= 4 && memcmp(text, "BAM\1", 4) == 0)
                return found_bam(look, err);
        KC_TRY(kc_foreign_check(look->name, found->container, text, n, err));
        size_t bom =
                n >= KC_BOM_NBYTES && memcmp(text, KC_BOM, KC_BOM_NBYTES) == 0 ? KC_BOM_NBYTES : 0;
        if (is_sam_header(letters + bom, n - bom) ||
            (!look->lines && is_sam_line(letters + bom, n - bom)))
                return found_sam(look, bom > 0, err);
        status = detect_reads(look, text + bom, n - bom, err);
out:
        return status;
}

static enum kc_status detect_in(struct look *look, const uint8_t *bytes, size_t n,
                                struct kc_error *err)
{
        struct kc_head head;
        enum kc_status status;
        const enum kc_container container = look->found->container;
        if (container == KC_CONTAINER_PLAIN)
                return detect_text(look, bytes, n, err);
        if (container == KC_CONTAINER_ALIGNMENTS) {
                look->found->bases_per_byte = 3;
                return KC_OK;
        }
        KC_TRY(kc_head_inflate(&head, container, bytes, n, err));
        /* If too little was inflated, the reader finds out why. */
        if (head.ntext >= MIN_TEXT) {
                look->bytes_per_letter = head.bytes_per_letter;
                status = detect_text(look, head.text, head.ntext, err);
        }
        free(head.text);
out:
        return status;
}

/* Look at the first nbytes of the input; *bytes, which may be NULL, is reallocated for them. */
static enum kc_status peek_bytes(struct kc_input *in, size_t nbytes, uint8_t **bytes, size_t *n,
                                 struct kc_error *err)
{
        uint8_t *buffer = realloc(*bytes, nbytes);
        if (buffer == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for reading");
        *bytes = buffer;
        return kc_input_peek(in, buffer, nbytes, n, err);
}

/* Look at enough of the input to see some of its text. *bytes, NULL before, is the caller's. */
static enum kc_status peek(struct kc_input *in, uint8_t **bytes, size_t *n,
                           enum kc_container *container, struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(peek_bytes(in, PEEK, bytes, n, err));
        *container = detect_container(*bytes, *n);
        if (*container == KC_CONTAINER_BZIP2 && *n == PEEK)
                status = peek_bytes(in, KC_BZIP2_BLOCK_NBYTES, bytes, n, err);
out:
        return status;
}

enum kc_status kc_detect(struct kc_input *in, unsigned accepted, struct kc_detected *found,
                         struct kc_error *err)
{
        struct look look = { .name = in->name,
                             .lines = (accepted & KC_ACCEPT_LINES) != 0,
                             .bytes_per_letter = 1,
                             .found = found };
        enum kc_status status;
        size_t n = 0;
        *found = (struct kc_detected){ .container = KC_CONTAINER_PLAIN };
        uint8_t *bytes = NULL;
        KC_TRY(peek(in, &bytes, &n, &found->container, err));
        if (n == 0 && !(accepted & KC_ACCEPT_EMPTY)) {
                status = kc_fail_remedy(err, KC_EINPUT, KC_REMEDY_SKIP_EMPTY, "%s is empty",
                                        in->name);
                goto out;
        }
        KC_TRY(detect_in(&look, bytes, n, err));
out:
        free(bytes);
        return status;
}

struct kc_packing kc_container_packing(enum kc_container container)
{
        static const struct kc_packing packings[] = {
                [KC_CONTAINER_PLAIN] = { "", "", NULL },
                [KC_CONTAINER_GZIP] = { "gzip", "gzip -dc", "gzip -t FILE" },
                [KC_CONTAINER_BGZF] = { "BGZF", "gzip -dc", NULL },
                [KC_CONTAINER_ZSTD] = { "zstd", "zstd -dc", "zstd -t FILE" },
                [KC_CONTAINER_BZIP2] = { "bzip2", "bzip2 -dc", "bzip2 -t FILE" },
                [KC_CONTAINER_XZ] = { "xz", "xz -dc", "xz -t FILE" },
                [KC_CONTAINER_ALIGNMENTS] = { "", "", NULL },
        };
        return packings[container];
}
