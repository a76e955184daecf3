#include "io/alignments.h"

#include <errno.h>
#include <htslib/bgzf.h>
#include <htslib/hfile.h>
#include <htslib/hts.h>
#include <htslib/sam.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct kc_alignments {
        const char *name;
        uint64_t size;     /* of the file, 0 where unknown */
        uint64_t reported; /* input bytes told so far */
        bool qualities, ended;
        size_t chunk_nbytes;
        pthread_mutex_t lock;
        htsFile *file;
        sam_hdr_t *header;
        bam1_t *record;
        uint64_t nrecords;
};

static enum kc_status fail_at(const struct kc_alignments *a, struct kc_error *err, const char *what)
{
        return kc_fail(err, KC_EINPUT, "%s: %s (after %llu alignment records)", a->name, what,
                       (unsigned long long)a->nrecords);
}

/*
 * htslib may take the rest of a truncated CRAM file for its end, so the mark of the end is looked
 * for before; a pipe cannot be looked at in this way. CRAM before 2.1 has no such mark.
 */
static enum kc_status check_cram(const struct kc_alignments *a, struct kc_error *err)
{
        switch (hts_check_EOF(a->file)) {
        case 1:
        case 3:
                return KC_OK;
        case 2:
                return kc_fail(err, KC_EINPUT,
                               "%s: CRAM is read from files only, as its end cannot be checked in "
                               "a pipe; try: samtools fastq - | kcount -",
                               a->name);
        default:
                return kc_fail(err, KC_EINPUT,
                               "%s is truncated: it has no CRAM end-of-file container", a->name);
        }
}

/*
 * Threads only for CRAM, whose decoding is slow: with threads, htslib 1.16 waits for ever at the
 * end of a BGZF file that is truncated.
 */
static enum kc_status configure(struct kc_alignments *a, int nthreads, struct kc_error *err)
{
        int fields = SAM_FLAG | SAM_SEQ | (a->qualities ? SAM_QUAL : 0);
        if (a->file->format.format != cram)
                return KC_OK;
        enum kc_status status = check_cram(a, err);
        if (status != KC_OK)
                return status;
        if (nthreads > 0 && hts_set_threads(a->file, nthreads) != 0)
                return kc_fail(err, KC_ENOMEM, "%s: htslib cannot start %d threads", a->name,
                               nthreads);
        if (hts_set_opt(a->file, CRAM_OPT_REQUIRED_FIELDS, fields) != 0)
                return kc_fail(err, KC_EINPUT, "%s: htslib refuses this CRAM file", a->name);
        return KC_OK;
}

static enum kc_status open_file(struct kc_alignments *a, struct kc_input *in, int nthreads,
                                struct kc_error *err)
{
        hFILE *stream = kc_input_release(in);
        if (stream == NULL)
                return kc_fail(err, KC_EIO, "%s: %s", a->name, strerror(errno));
        a->file = hts_hopen(stream, a->name, "r");
        if (a->file == NULL) {
                hclose_abruptly(stream);
                return kc_fail(err, KC_EINPUT, "%s: htslib cannot open it: truncated or corrupt",
                               a->name);
        }
        enum kc_status status = configure(a, nthreads, err);
        if (status != KC_OK)
                return status;
        a->record = bam_init1();
        if (a->record == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for reading");
        a->header = sam_hdr_read(a->file);
        if (a->header == NULL)
                return kc_fail(err, KC_EINPUT, "%s: its header is truncated or corrupt", a->name);
        return KC_OK;
}

enum kc_status kc_alignments_open(struct kc_alignments **alignments, struct kc_input *in,
                                  bool qualities, int nthreads, size_t chunk_nbytes,
                                  struct kc_error *err)
{
        struct kc_alignments *a = calloc(1, sizeof *a);
        enum kc_status status;
        *alignments = a;
        if (a == NULL) {
                status = kc_fail(err, KC_ENOMEM, "out of memory for reading");
        } else {
                a->name = in->name;
                a->size = in->regular ? in->size : 0;
                a->qualities = qualities;
                a->chunk_nbytes = chunk_nbytes;
                pthread_mutex_init(&a->lock, NULL);
                status = open_file(a, in, nthreads, err);
        }
        kc_input_close(in);
        return status;
}

/* The letters of a read as it came from the sequencer, to seq [n]. */
static void decode_bases(const bam1_t *record, uint8_t *seq)
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

/* Its qualities as letters, to qual [n]. */
static void decode_qualities(const bam1_t *record, uint8_t *qual)
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
        KC_TRY(kc_chunk_reserve(chunk, chunk->end - chunk->front + 2 * n, err));
        struct kc_record record = {
                .seq = (uint32_t)chunk->end,
                .nbases = (uint32_t)n,
                .qual = KC_NO_QUALITY,
        };
        decode_bases(read, chunk->buffer + chunk->end);
        chunk->end += n;
        /* 0xff in the first place: the file has no qualities for this read */
        if (a->qualities && n > 0 && bam_get_qual(read)[0] != 0xff) {
                record.qual = (uint32_t)chunk->end;
                decode_qualities(read, chunk->buffer + chunk->end);
                chunk->end += n;
        }
        chunk->nreads++;
        KC_TRY(kc_chunk_add_record(chunk, record, err));
out:
        return status;
}

static bool is_compressed(const struct kc_alignments *a)
{
        return a->file->format.format != cram && a->file->is_bgzf;
}

/* The end, as htslib sees it: it warns, where we refuse, when the mark of the end is missing. */
static enum kc_status check_end(const struct kc_alignments *a, struct kc_error *err)
{
        if (is_compressed(a) && a->file->fp.bgzf->no_eof_block)
                return fail_at(a, err, "it is truncated: no BGZF end-of-file block");
        return KC_OK;
}

static enum kc_status explain(const struct kc_alignments *a, struct kc_error *err)
{
        if (a->file->format.format == cram)
                return fail_at(a, err,
                               "cannot decode this CRAM file: it is damaged, truncated, or its "
                               "reference is not at hand (set REF_PATH or REF_CACHE)");
        if (sam_hdr_nref(a->header) == 0)
                return fail_at(a, err,
                               "a read is aligned to a sequence that no header names; keep the "
                               "header (samtools view -h)");
        return fail_at(a, err, "it is truncated or corrupt");
}

/* Under the lock. Input bytes read, as far as htslib tells. */
static void count_input(struct kc_alignments *a, struct kc_chunk *chunk)
{
        uint64_t at = a->reported;
        if (chunk->last)
                at = a->size;
        else if (is_compressed(a))
                at = (uint64_t)bgzf_tell(a->file->fp.bgzf) >> 16;
        if (at > a->reported) {
                chunk->input_nbytes = at - a->reported;
                a->reported = at;
        }
}

static enum kc_status take(struct kc_alignments *a, struct kc_chunk *chunk, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        while (!chunk->last && chunk->end - chunk->front < a->chunk_nbytes) {
                int code = sam_read1(a->file, a->header, a->record);
                if (code < -1)
                        return explain(a, err);
                if (code == -1) {
                        chunk->last = true;
                        KC_TRY(check_end(a, err));
                        break;
                }
                a->nrecords++;
                if ((a->record->core.flag & (BAM_FSECONDARY | BAM_FSUPPLEMENTARY)) == 0)
                        KC_TRY(add_read(a, chunk, err));
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
