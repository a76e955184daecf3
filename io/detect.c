/*
 * Telling containers and formats by content.
 *
 *      1f 8b 08        gzip; BGZF if its extra field holds the subfield "BC" of 2 bytes
 *      28 b5 2f fd     zstd (or 5x 2a 4d 18, a frame to be skipped)
 *      "CRAM"
 *      in the text:    "BAM\1"; "@HD\t" and the like, or a line of 11 fields: SAM;
 *                      '@' FASTQ; '>' or ';' FASTA
 */
#include "io/detect.h"

#include "io/bgzf_header.h"

#include <isa-l/igzip_lib.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

enum { PEEK = 64 << 10, TEXT = 256 << 10 };

static enum kc_container detect_container(const uint8_t *bytes, size_t n)
{
        struct kc_bgzf_header header;
        if (n >= 3 && bytes[0] == 0x1f && bytes[1] == 0x8b && bytes[2] == 8)
                return kc_bgzf_parse(bytes, n, &header) ? KC_CONTAINER_BGZF : KC_CONTAINER_GZIP;
        if (n >= 4 && memcmp(bytes, "\x28\xb5\x2f\xfd", 4) == 0)
                return KC_CONTAINER_ZSTD;
        if (n >= 4 && (bytes[0] & 0xf0) == 0x50 && memcmp(bytes + 1, "\x2a\x4d\x18", 3) == 0)
                return KC_CONTAINER_ZSTD;
        if (n >= 4 && memcmp(bytes, "CRAM", 4) == 0)
                return KC_CONTAINER_ALIGNMENTS;
        return KC_CONTAINER_PLAIN;
}

/* The beginning of the text of the first gzip member; *used: bytes of input it came from. */
static enum kc_status inflate_head(const uint8_t *bytes, size_t n, uint8_t *text, size_t *ntext,
                                   size_t *used, struct kc_error *err)
{
        struct inflate_state *state = malloc(sizeof *state);
        if (state == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for reading");
        isal_inflate_init(state);
        state->crc_flag = ISAL_GZIP;
        state->next_in = (uint8_t *)bytes;
        state->avail_in = (uint32_t)n;
        state->next_out = text;
        state->avail_out = (uint32_t)*ntext;
        /* Damage is met again, and reported with its place, when the file is read. */
        isal_inflate(state);
        *ntext -= state->avail_out;
        *used = n - state->avail_in;
        free(state);
        return KC_OK;
}

static enum kc_status zstd_head(const uint8_t *bytes, size_t n, uint8_t *text, size_t *ntext,
                                size_t *used, struct kc_error *err)
{
        ZSTD_DStream *stream = ZSTD_createDStream();
        if (stream == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for reading");
        ZSTD_inBuffer in = { .src = bytes, .size = n };
        ZSTD_outBuffer out = { .dst = text, .size = *ntext };
        while (in.pos < in.size && out.pos < out.size)
                if (ZSTD_isError(ZSTD_decompressStream(stream, &out, &in)))
                        break;
        *ntext = out.pos;
        *used = in.pos;
        ZSTD_freeDStream(stream);
        return KC_OK;
}

static bool is_sam(const char *text, size_t n)
{
        if (n >= 4 && text[0] == '@') {
                static const char kinds[][3] = { "HD", "SQ", "RG", "PG", "CO" };
                for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
                        if (memcmp(text + 1, kinds[i], 2) == 0 && text[3] == '\t')
                                return true;
                return false;
        }
        size_t ntabs = 0;
        for (size_t i = 0; i < n && text[i] != '\n'; i++)
                ntabs += text[i] == '\t';
        return n > 0 && text[0] != '>' && text[0] != ';' && ntabs >= 10;
}

/* Letters of sequence in the beginning of a text. */
static size_t count_bases(const char *text, size_t n)
{
        size_t nbases = 0, line = 0;
        bool fastq = text[0] == '@';
        for (const char *at = text, *end = text + n; at < end; line++) {
                const char *eol = memchr(at, '\n', (size_t)(end - at));
                if (eol == NULL)
                        eol = end;
                if (fastq ? line % 4 == 1 : at < eol && *at != '>' && *at != ';')
                        nbases += (size_t)(eol - at);
                at = eol + 1;
        }
        return nbases;
}

enum kc_status kc_detect_refuse(const char *name, struct kc_error *err)
{
        return kc_fail(err, KC_EINPUT,
                       "%s is neither FASTQ nor FASTA (nor SAM, BAM or CRAM): its text does not "
                       "begin with '@' or '>'",
                       name);
}

static enum kc_status detect_text(const struct kc_input *in, const uint8_t *text, size_t n,
                                  double bytes_per_letter, struct kc_detected *found,
                                  struct kc_error *err)
{
        size_t blank = 0;
        if (n >= 4 && memcmp(text, "BAM\1", 4) == 0) {
                found->container = KC_CONTAINER_ALIGNMENTS;
                found->bases_per_byte = 1;
                return KC_OK;
        }
        if (is_sam((const char *)text, n)) {
                if (found->container == KC_CONTAINER_ZSTD)
                        return kc_fail(err, KC_EINPUT,
                                       "%s is SAM inside zstd, which is not read; try: zstd -dc "
                                       "FILE | kcount -",
                                       in->name);
                found->container = KC_CONTAINER_ALIGNMENTS;
                found->bases_per_byte = 0.4 / bytes_per_letter;
                return KC_OK;
        }
        while (blank < n && strchr(" \t\r\n", text[blank]) != NULL && text[blank] != 0)
                blank++;
        if (blank == n)
                return KC_OK; /* nothing seen yet: the parser decides */
        if (strchr("@>;", text[blank]) == NULL || text[blank] == 0)
                return kc_detect_refuse(in->name, err);
        double nbases = (double)count_bases((const char *)text + blank, n - blank);
        found->bases_per_byte = nbases / ((double)n * bytes_per_letter);
        return KC_OK;
}

static enum kc_status detect_in(const struct kc_input *in, const uint8_t *bytes, size_t n,
                                uint8_t *text, struct kc_detected *found, struct kc_error *err)
{
        size_t ntext = TEXT, used = n;
        enum kc_status status = KC_OK;
        found->container = detect_container(bytes, n);
        switch (found->container) {
        case KC_CONTAINER_PLAIN:
                return detect_text(in, bytes, n, 1, found, err);
        case KC_CONTAINER_ALIGNMENTS:
                found->cram = true;
                found->bases_per_byte = 3;
                return KC_OK;
        case KC_CONTAINER_GZIP:
        case KC_CONTAINER_BGZF:
                status = inflate_head(bytes, n, text, &ntext, &used, err);
                break;
        case KC_CONTAINER_ZSTD:
                status = zstd_head(bytes, n, text, &ntext, &used, err);
                break;
        }
        if (status != KC_OK || ntext == 0)
                return status;
        return detect_text(in, text, ntext, (double)used / (double)ntext, found, err);
}

enum kc_status kc_detect(struct kc_input *in, struct kc_detected *found, struct kc_error *err)
{
        enum kc_status status;
        size_t n = 0;
        *found = (struct kc_detected){ .container = KC_CONTAINER_PLAIN };
        uint8_t *bytes = malloc(PEEK + TEXT);
        if (bytes == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for reading");
        KC_TRY(kc_input_peek(in, bytes, PEEK, &n, err));
        if (n == 0) {
                status = kc_fail(err, KC_EINPUT, "%s is empty", in->name);
                goto out;
        }
        KC_TRY(detect_in(in, bytes, n, bytes + PEEK, found, err));
out:
        free(bytes);
        return status;
}
