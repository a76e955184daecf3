#include "io/parse/alignments.h"

#include "io/input/bgzf_header.h"
#include "io/input/damage.h"
#include "io/parse/cram.h"
#include "io/parse/select.h"
#include "kmer/remedy.h"

#include <errno.h>
#include <htslib/bgzf.h>
#include <htslib/hfile.h>
#include <htslib/hts.h>
#include <htslib/sam.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_HTS_THREADS = 4 };

struct kc_alignments {
        const char *name;
        struct kc_input input; /* what htslib reads; htslib owns a regular file's descriptor */
        uint64_t size;         /* of the file; 0 if unknown */
        uint64_t reported;     /* input bytes reported so far */
        enum kc_alignment_fields fields;
        struct kc_selection selection;
        bool ended;
        size_t chunk_nbytes;
        pthread_mutex_t lock;
        htsFile *file;
        sam_hdr_t *header;
        bam1_t *record;
        uint64_t nrecords;
};

static unsigned long long nread(const struct kc_alignments *a)
{
        return a->nrecords;
}

/* ---- what is wrong with a file that htslib does not read ---- */

static bool is_cram(const struct kc_alignments *a)
{
        return a->file->format.format == cram;
}

static bool is_compressed(const struct kc_alignments *a)
{
        return !is_cram(a) && a->file->is_bgzf && a->file->fp.bgzf->is_compressed;
}

/*
 * htslib may take the end of a truncated CRAM file for its real end, so the end mark is checked
 * first; in a pipe it cannot be. CRAM before 2.1 has no such mark.
 */
static enum kc_status check_cram(const struct kc_alignments *a, struct kc_error *err)
{
        switch (hts_check_EOF(a->file)) {
        case 1:
        case 3:
                return KC_OK;
        case 2:
                return kc_fail_filter(err, KC_REMEDY_FILTER, a->name, "samtools fastq -",
                                      "%s: CRAM is read from files only, because its end cannot "
                                      "be checked in a pipe",
                                      a->name);
        default:
                return kc_fail(err, KC_EINPUT,
                               "%s is truncated: it does not end with CRAM's end-of-file container "
                               "(or something was added after it)" KC_DAMAGE_REMEDY,
                               a->name);
        }
}

/* head: the first bytes of the file, "CRAM" and its major and minor version if it is CRAM. */
static enum kc_status explain_opening(const struct kc_alignments *a, const uint8_t *head,
                                      size_t nhead, struct kc_error *err)
{
        enum { NEWEST = 3, HEAD = 26 }; /* bytes of a CRAM file's definition */
        bool named = nhead >= 4 && memcmp(head, "CRAM", 4) == 0;
        if (named && nhead >= 6 && (head[4] < 1 || head[4] > NEWEST))
                return kc_fail(err, KC_EINPUT,
                               "%s is CRAM %u.%u, which htslib %s cannot read; convert it to CRAM "
                               "3.0 or BAM with a program that can",
                               a->name, head[4], head[5], hts_version());
        return kc_fail(err, KC_EINPUT, "%s: its header is %s" KC_DAMAGE_REMEDY, a->name,
                       named && nhead < HEAD ? "truncated" : "truncated or damaged");
}

static enum kc_status explain_cram(const struct kc_alignments *a, struct kc_error *err)
{
        uint64_t offset = 0;
        kc_cram_find_damage(&a->input, &offset);
        if (offset < a->input.size)
                return kc_fail_at(err, KC_EINPUT, 0, kc_byte_of(a->name, offset),
                                  "%s is corrupt: damaged CRAM container at byte %llu (alignment "
                                  "records read: %llu)" KC_DAMAGE_REMEDY,
                                  a->name, (unsigned long long)offset, nread(a));
        return kc_fail_filter(
                err, KC_REMEDY_REFERENCE | KC_REMEDY_FILTER, a->name,
                "samtools fastq --reference REF.fa FILE",
                "%s: the reference sequence that this CRAM file needs was not found, or is a "
                "different one (alignment records read: %llu)",
                a->name, nread(a));
}

/* What is wrong with the BGZF block after the last one that htslib could read, if anything. */
static enum kc_status explain_block(const struct kc_alignments *a, struct kc_error *err)
{
        const BGZF *bgzf = a->file->fp.bgzf;
        uint64_t at = (uint64_t)bgzf->block_address - a->input.base;
        enum kc_status status = KC_OK;
        for (int i = 0; i < 2 && at < a->input.size; i++) {
                struct kc_bgzf_header header;
                uint8_t head[256];
                size_t got, left = (size_t)(a->input.size - at);
                KC_TRY(kc_input_read_at(&a->input, head, sizeof head, at, &got, err));
                if (!kc_bgzf_parse(head, got, &header) && (*head != 0x1f || got == sizeof head))
                        return kc_damage_trailing(
                                &(struct kc_trailing){ a->name, "BGZF", at, a->input.size, false },
                                err);
                if (!kc_bgzf_parse(head, got, &header) || header.block_nbytes > left)
                        return kc_damage_truncated(a->name, "BGZF", a->input.size, err);
                if (i == 1 && bgzf->errcode != 0)
                        return kc_damage_corrupt(a->name, "damaged BGZF block at", at, err);
                at += header.block_nbytes;
        }
out:
        return status;
}

/* Why htslib cannot read the header, or the next record. */
static enum kc_status explain(const struct kc_alignments *a, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        char line[32] = "";
        if (is_cram(a) && a->input.regular)
                return explain_cram(a, err);
        if (is_compressed(a) && a->input.regular && !a->file->fp.bgzf->is_gzip)
                status = explain_block(a, err);
        if (status != KC_OK)
                return status;
        if (a->header == NULL)
                return kc_fail(err, KC_EINPUT,
                               "%s: its header is truncated or damaged" KC_DAMAGE_REMEDY, a->name);
        if (a->file->format.format == sam)
                snprintf(line, sizeof line, " (line %lld)", (long long)a->file->lineno);
        return kc_fail_at(err, KC_EINPUT, 0,
                          (struct kc_error_place){ a->name, KC_UNIT_RECORD, nread(a) + 1 },
                          "%s: alignment record %llu%s is truncated or damaged%s", a->name,
                          nread(a) + 1, line,
                          sam_hdr_nref(a->header) > 0
                                  ? ""
                                  : ", or the header that names its reference sequence is missing "
                                    "(samtools view -h keeps it)");
}

/* At the end, as htslib sees it: if the end mark is missing, htslib warns and we refuse the
 * file. */
static enum kc_status check_end(const struct kc_alignments *a, struct kc_error *err)
{
        if (is_compressed(a) && !a->file->fp.bgzf->is_gzip && a->file->fp.bgzf->no_eof_block)
                return kc_fail_filter(err, KC_REMEDY_FILTER_WHOLE, a->name, "samtools fastq FILE",
                                      "%s is truncated: it ends without BGZF's end-of-file block "
                                      "(alignment records read: %llu)" KC_DAMAGE_REMEDY,
                                      a->name, nread(a));
        return KC_OK;
}

/* ---- opening ---- */

/*
 * Threads only for CRAM, whose decoding is slow, and not for SAM in BGZF: with threads, htslib 1.16
 * does not read a damaged BGZF file safely, even if its end-of-file block is there. It may hang, or
 * report the end of the file where the damage begins.
 */
static enum kc_status configure(struct kc_alignments *a, int nthreads, struct kc_error *err)
{
        const int fields = SAM_FLAG | SAM_SEQ | (a->fields == KC_FIELDS_QUALITIES ? SAM_QUAL : 0);
        enum kc_status status;
        if (!is_cram(a))
                return KC_OK;
        KC_TRY(check_cram(a, err));
        KC_TRY(kc_cram_stay_local(a->file, err));
        nthreads = nthreads < MAX_HTS_THREADS ? nthreads : MAX_HTS_THREADS;
        if (nthreads > 1 && hts_set_threads(a->file, nthreads) != 0)
                return kc_fail(err, KC_ENOMEM, "%s: htslib cannot start %d threads", a->name,
                               nthreads);
        if (a->fields != KC_FIELDS_ALL &&
            hts_set_opt(a->file, CRAM_OPT_REQUIRED_FIELDS, fields) != 0)
                return kc_fail(err, KC_EINPUT, "%s: htslib refuses this CRAM file", a->name);
out:
        return status;
}

static enum kc_status open_file(struct kc_alignments *a, struct kc_input *in, int nthreads,
                                struct kc_error *err)
{
        uint8_t head[32];
        size_t nhead;
        enum kc_status status = kc_input_peek(in, head, sizeof head, &nhead, err);
        if (status != KC_OK)
                return status;
        hFILE *stream = kc_input_release(in);
        if (stream == NULL)
                return kc_fail(err, KC_EIO, "%s: %s", a->name, strerror(errno));
        a->file = hts_hopen(stream, a->name, "r");
        if (a->file == NULL) {
                hclose_abruptly(stream);
                return explain_opening(a, head, nhead, err);
        }
        KC_TRY(configure(a, nthreads, err));
        a->record = bam_init1();
        if (a->record == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for reading");
        a->header = sam_hdr_read(a->file);
        if (a->header == NULL)
                status = explain(a, err);
out:
        return status;
}

enum kc_status kc_alignments_open(struct kc_alignments **alignments, struct kc_input *in,
                                  enum kc_alignment_fields fields,
                                  const struct kc_selection *selection, int nthreads,
                                  size_t chunk_nbytes, struct kc_error *err)
{
        struct kc_alignments *a = calloc(1, sizeof *a);
        enum kc_status status;
        *alignments = a;
        if (a == NULL) {
                status = kc_fail(err, KC_ENOMEM, "out of memory for reading");
        } else {
                a->name = in->name;
                a->input = *in;
                a->size = in->regular ? in->size : 0;
                a->fields = fields;
                a->selection = *selection;
                a->chunk_nbytes = chunk_nbytes;
                pthread_mutex_init(&a->lock, NULL);
                status = open_file(a, in, nthreads, err);
        }
        kc_input_close(in);
        return status;
}

void kc_alignment_bases(const struct bam1_t *record, uint8_t *seq)
{
        static const char forward[] = "=ACMGRSVTWYHKDBN", reverse[] = "=TGKCYSBAWRDMHVN";
        const uint8_t *codes = bam_get_seq(record);
        int n = record->core.l_qseq;
        if (bam_is_rev(record))
                for (int i = 0; i < n; i++)
                        seq[n - 1 - i] = (uint8_t)reverse[bam_seqi(codes, i)];
        else
                for (int i = 0; i < n; i++)
                        seq[i] = (uint8_t)forward[bam_seqi(codes, i)];
}

/* A first quality of 0xff stands for none. */
bool kc_alignment_has_qualities(const struct bam1_t *record)
{
        return record->core.l_qseq > 0 && bam_get_qual(record)[0] != 0xff;
}

void kc_alignment_qualities(const struct bam1_t *record, uint8_t *qual)
{
        const uint8_t *from = bam_get_qual(record);
        int n = record->core.l_qseq;
        bool turn = bam_is_rev(record);
        for (int i = 0; i < n; i++)
                qual[turn ? n - 1 - i : i] = (uint8_t)(from[i] < 200 ? from[i] + 33 : 233);
}

static enum kc_status add_read(struct kc_alignments *a, struct kc_chunk *chunk,
                               struct kc_error *err)
{
        const bam1_t *read = a->record;
        size_t n = (size_t)read->core.l_qseq;
        enum kc_status status;
        if (2 * n > KC_CHUNK_RECORD_MAX)
                return kc_fail_at(err, KC_EINPUT, 0,
                                  (struct kc_error_place){ a->name, KC_UNIT_RECORD, nread(a) },
                                  "%s: alignment record %llu has %zu bases, more than the %zu that "
                                  "kcount can take from SAM, BAM or CRAM; a FASTA sequence may "
                                  "have any length",
                                  a->name, nread(a), n, KC_CHUNK_RECORD_MAX / 2);
        KC_TRY(kc_chunk_reserve(chunk, chunk->end - chunk->front + 2 * n, err));
        struct kc_record record = {
                .seq = (uint32_t)chunk->end,
                .nbases = (uint32_t)n,
                .qual = KC_NO_QUALITY,
        };
        kc_alignment_bases(read, chunk->buffer + chunk->end);
        chunk->end += n;
        if (a->fields != KC_FIELDS_BASES && kc_alignment_has_qualities(read)) {
                record.qual = (uint32_t)chunk->end;
                kc_alignment_qualities(read, chunk->buffer + chunk->end);
                chunk->end += n;
        }
        chunk->nreads++;
        kc_chunk_skip(chunk, &record, 0, a->selection.nskip);
        KC_TRY(kc_chunk_add_record(chunk, record, err));
out:
        return status;
}

bool kc_alignment_is_primary(const struct bam1_t *record)
{
        return (record->core.flag & KC_FLAGS_REPEATED) == 0;
}

/* htslib would accept a number with anything after it. */
bool kc_reader_parse_flags(const char *text, uint16_t *flags)
{
        char *end;
        long number = strtol(text, &end, 0);
        if (end == text)
                number = bam_str2flag(text);
        else if (*end != '\0')
                return false;
        *flags = (uint16_t)number;
        return *text != '\0' && number >= 0 && number <= UINT16_MAX;
}

/* Bytes of the input that htslib has consumed: not a->size, because the file may have grown since
 * it was opened. CRAM's are known at the end only: its decoding runs ahead. */
static uint64_t consumed(const struct kc_alignments *a, bool at_end)
{
        if (is_cram(a))
                return at_end ? a->size : 0;
        return (uint64_t)htell(a->file->is_bgzf ? a->file->fp.bgzf->fp : a->file->fp.hfile);
}

/* Under the lock. */
static void count_input(struct kc_alignments *a, struct kc_chunk *chunk)
{
        const uint64_t at = consumed(a, chunk->last);
        if (at > a->reported) {
                chunk->input_nbytes = at - a->reported;
                a->reported = at;
        }
}

enum kc_status kc_alignments_next(struct kc_alignments *a, struct bam1_t *record, bool *found,
                                  struct kc_error *err)
{
        const int code = sam_read1(a->file, a->header, record);
        *found = code >= 0;
        a->nrecords += *found;
        if (code < -1)
                return explain(a, err);
        return code == -1 ? check_end(a, err) : KC_OK;
}

static enum kc_status take(struct kc_alignments *a, struct kc_chunk *chunk, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        while (!chunk->last && chunk->end - chunk->front < a->chunk_nbytes) {
                bool found;
                KC_TRY(kc_alignments_next(a, a->record, &found, err));
                chunk->last = !found;
                if (found && kc_takes_flags(&a->selection, a->record->core.flag))
                        KC_TRY(add_read(a, chunk, err));
                else if (found)
                        kc_chunk_leave_out(chunk, a->record->core.flag,
                                           (uint64_t)a->record->core.l_qseq);
        }
        count_input(a, chunk);
out:
        return status;
}

bool kc_alignments_fill(struct kc_alignments *a, struct kc_chunk *chunk)
{
        pthread_mutex_lock(&a->lock);
        bool more = !a->ended;
        if (more) {
                a->ended = take(a, chunk, &chunk->error) != KC_OK || chunk->last;
                chunk->last = a->ended;
        }
        pthread_mutex_unlock(&a->lock);
        return more;
}

bool kc_alignments_is_cram(const struct kc_alignments *a)
{
        return is_cram(a);
}

struct sam_hdr_t *kc_alignments_header(const struct kc_alignments *a)
{
        return a->header;
}

void kc_alignments_close(struct kc_alignments *a)
{
        if (a == NULL)
                return;
        bam_destroy1(a->record);
        sam_hdr_destroy(a->header);
        if (a->file != NULL)
                hts_close(a->file);
        pthread_mutex_destroy(&a->lock);
        free(a);
}
