/*
 * Jellyfish's files: nine digits with the length of the header, the header (JSON, then zeros), and
 * then records of a key and a count (binary/sorted) or lines of a k-mer and its count
 * (text/sorted). Layout: Jellyfish's file_header.hpp, generic_file_header.hpp, binary_dumper.hpp. A
 * key is the k-mer as kmer.h lays it out in memory, without its unused bytes; the count is little
 * endian.
 */
#include "io/formats/jellyfish_header.h"
#include "io/formats/text_read.h"
#include "io/input/damage.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
        NDIGITS = 9,
        MAX_HEADER_NBYTES = 16 << 20,
        MAX_COUNT_NBYTES = 8,
        MAX_LINE_NBYTES = 512, /* of text: k bases and a count */
        PAD = 8,               /* readable bytes after records */
};

struct jellyfish {
        char *header;
        void *text; /* the state of text_read.h; NULL if the file is binary */
        uint64_t at, nrecords, next;
        size_t key_nbytes, count_nbytes;
};

static size_t record_nbytes(const struct jellyfish *j)
{
        return j->key_nbytes + j->count_nbytes;
}

static bool recognizes(const struct kc_import *import, const uint8_t *head, size_t n)
{
        (void)import;
        for (size_t i = 0; i < NDIGITS; i++)
                if (i >= n || head[i] < '0' || head[i] > '9')
                        return false;
        return n > NDIGITS && head[NDIGITS] == '{';
}

/* ---- the header ---- */

static enum kc_status find_number(const struct kc_import *import, const char *json,
                                  const char *name, uint64_t *number, struct kc_error *err)
{
        if (kc_jellyfish_number(json, name, number))
                return KC_OK;
        return kc_fail(err, KC_EINPUT,
                       "%s is damaged: its header has no number \"%s\"" KC_DAMAGE_REMEDY,
                       import->name, name);
}

static enum kc_status read_header(struct kc_import *import, struct jellyfish *j,
                                  struct kc_error *err)
{
        char digits[NDIGITS + 1] = "";
        enum kc_status status;
        KC_TRY(kc_import_read_at(&import->in, digits, NDIGITS, 0, err));
        const size_t n = strtoul(digits, NULL, 10);
        if (n > MAX_HEADER_NBYTES)
                return kc_fail(err, KC_EINPUT,
                               "%s is damaged: its header has %zu bytes" KC_DAMAGE_REMEDY,
                               import->name, n);
        j->header = calloc(1, n + 1);
        if (j->header == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        KC_TRY(kc_import_read_at(&import->in, j->header, n, NDIGITS, err));
        j->at = NDIGITS + n;
out:
        return status;
}

/* Our own files state how many records they hold; in others, nothing does. */
static enum kc_status check_nrecords(struct kc_import *import, const struct jellyfish *j,
                                     struct kc_error *err)
{
        uint64_t nstated;
        const bool stated = kc_jellyfish_number(j->header, KC_JELLYFISH_NRECORDS, &nstated);
        if (!stated && j->nrecords == 0)
                kc_fail(&import->warning, KC_EINPUT,
                        "%s may be truncated: it ends after its header", import->name);
        if (!stated || j->nrecords == nstated)
                return KC_OK;
        return kc_fail(err, KC_EINPUT,
                       "%s is truncated or damaged: its header states %" PRIu64
                       " records, but it holds %" PRIu64 KC_DAMAGE_REMEDY,
                       import->name, nstated, j->nrecords);
}

static enum kc_status set_up_records(struct kc_import *import, struct jellyfish *j,
                                     struct kc_error *err)
{
        uint64_t count_nbytes;
        enum kc_status status;
        KC_TRY(find_number(import, j->header, "counter_len", &count_nbytes, err));
        if (count_nbytes < 1 || count_nbytes > MAX_COUNT_NBYTES)
                return kc_fail(err, KC_EINPUT,
                               "%s is damaged: its counts have %" PRIu64
                               " bytes each" KC_DAMAGE_REMEDY,
                               import->name, count_nbytes);
        j->key_nbytes = ((size_t)import->info.k + 3) / 4;
        j->count_nbytes = (size_t)count_nbytes;
        const uint64_t nbytes = import->in.size - j->at;
        j->nrecords = nbytes / record_nbytes(j);
        import->info.expected_npairs = j->nrecords;
        if (nbytes % record_nbytes(j) != 0)
                return kc_fail(err, KC_EINPUT,
                               "%s is truncated or damaged: %" PRIu64
                               " bytes are not a whole number of records" KC_DAMAGE_REMEDY,
                               import->name, nbytes);
        KC_TRY(check_nrecords(import, j, err));
out:
        return status;
}

static enum kc_status set_up_text(struct kc_import *import, struct jellyfish *j,
                                  struct kc_error *err)
{
        const int k = import->info.k;
        enum kc_status status;
        import->in.offset = j->at;
        KC_TRY(kc_import_text_begin(import, &j->text, err));
        if (import->info.k != k)
                status = kc_fail(err, KC_EINPUT,
                                 "%s is damaged: its header states that k is %d, but its first "
                                 "k-mer has %d bases" KC_DAMAGE_REMEDY,
                                 import->name, k, import->info.k);
out:
        return status;
}

/* ---- the last record ---- */

/* Whether there is one; kmer: out, [kc_kmer_nwords(k)]. */
static enum kc_status read_last(const struct kc_import *import, const struct jellyfish *j,
                                uint64_t *kmer, bool *found, struct kc_error *err)
{
        char tail[MAX_LINE_NBYTES + 1] = "";
        const uint64_t nbytes = import->in.size - j->at;
        const size_t wanted = j->text != NULL ? MAX_LINE_NBYTES : record_nbytes(j);
        const size_t n = nbytes < wanted ? (size_t)nbytes : wanted;
        enum kc_status status;
        *found = false;
        KC_TRY(kc_import_read_at(&import->in, tail, n, import->in.size - n, err));
        if (j->text == NULL) {
                kmer[kc_kmer_nwords(import->info.k) - 1] = 0;
                memcpy(kmer, tail, j->key_nbytes);
                *found = n == wanted;
        } else {
                const size_t end = n > 0 && tail[n - 1] == '\n' ? n - 1 : n;
                const char *eol = memrchr(tail, '\n', end);
                const char *line = eol != NULL ? eol + 1 : tail;
                *found = kc_kmer_parse(line, import->info.k, kmer) == import->info.k;
        }
out:
        return status;
}

/* Records are in the order of their hashes, so the last one shows whether some may be missing. */
static enum kc_status find_last_place(struct kc_import *import, const struct jellyfish *j,
                                      struct kc_error *err)
{
        struct kc_jellyfish_hash hash;
        uint64_t kmer[KC_MAX_WORDS];
        bool found;
        enum kc_status status;
        if (!kc_jellyfish_read_hash(&hash, j->header, import->info.k))
                return KC_OK;
        KC_TRY(read_last(import, j, kmer, &found, err));
        if (found)
                import->last_place = kc_jellyfish_place(&hash, kmer, import->info.k);
out:
        return status;
}

static enum kc_status open_jellyfish(struct kc_import *import, struct kc_error *err)
{
        static const char binary[] = "\"binary/sorted\"", text[] = "\"text/sorted\"";
        struct jellyfish *j = calloc(1, sizeof *j);
        enum kc_status status;
        uint64_t key_nbits;
        import->state = j;
        if (j == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        KC_TRY(read_header(import, j, err));
        const char *format = kc_jellyfish_member(j->header, "format");
        const char *canonical = kc_jellyfish_member(j->header, "canonical");
        KC_TRY(find_number(import, j->header, "key_len", &key_nbits, err));
        if (key_nbits % 2 != 0)
                return kc_fail(err, KC_EINPUT,
                               "%s is damaged: its keys have %" PRIu64 " bits" KC_DAMAGE_REMEDY,
                               import->name, key_nbits);
        KC_TRY(kc_import_set_k(import, key_nbits / 2, err));
        import->info.stranded = canonical == NULL || strncmp(canonical, "true", 4) != 0;
        import->info.unique = true;
        if (format != NULL && strncmp(format, binary, sizeof binary - 1) == 0)
                KC_TRY(set_up_records(import, j, err));
        else if (format != NULL && strncmp(format, text, sizeof text - 1) == 0)
                KC_TRY(set_up_text(import, j, err));
        else
                return kc_fail(err, KC_EINPUT,
                               "%s is a Jellyfish file whose format is neither binary/sorted nor "
                               "text/sorted",
                               import->name);
        KC_TRY(find_last_place(import, j, err));
out:
        return status;
}

/* ---- records ---- */

static enum kc_status decode(struct kc_import *import, const struct jellyfish *j, int worker,
                             const uint8_t *at, size_t n, struct kc_pair_batch *batch,
                             struct kc_error *err)
{
        const size_t nwords = (size_t)kc_kmer_nwords(import->info.k);
        const uint64_t top_mask = kc_kmer_top_mask(import->info.k);
        const uint64_t count_mask = UINT64_MAX >> (64 - 8 * j->count_nbytes);
        const uint64_t limit = kc_import_limit(j->count_nbytes);
        uint64_t *kmer = batch->kmers, count, excess = 0;
        for (size_t i = 0; i < n; i++, kmer += nwords) {
                kmer[nwords - 1] = 0;
                memcpy(kmer, at, j->key_nbytes);
                memcpy(&count, at + j->key_nbytes, sizeof count);
                excess |= kmer[nwords - 1] & ~top_mask;
                batch->counts[i] =
                        kc_import_count(&import->workers[worker], count & count_mask, limit);
                at += j->key_nbytes + j->count_nbytes;
        }
        batch->n = n;
        if (excess != 0)
                return kc_fail(err, KC_EINPUT,
                               "%s is damaged: a key has more than %d bases" KC_DAMAGE_REMEDY,
                               import->name, import->info.k);
        return KC_OK;
}

static enum kc_status read_jellyfish(struct kc_import *import, int worker,
                                     struct kc_pair_batch *batch, struct kc_error *err)
{
        struct jellyfish *j = import->state;
        const size_t record = record_nbytes(j);
        enum kc_status status;
        if (j->text != NULL)
                return kc_import_text_read(import, j->text, worker, batch, err);
        pthread_mutex_lock(&import->lock);
        const uint64_t first = j->next, nleft = j->nrecords - first;
        const size_t n = nleft < batch->cap ? (size_t)nleft : batch->cap;
        j->next += n;
        pthread_mutex_unlock(&import->lock);
        KC_TRY(kc_import_reserve(import, worker, batch->cap * record + PAD, err));
        uint8_t *records = import->workers[worker].buffer;
        KC_TRY(kc_import_read_at(&import->in, records, n * record, j->at + first * record, err));
        KC_TRY(decode(import, j, worker, records, n, batch, err));
out:
        return status;
}

static void close_jellyfish(void *state)
{
        struct jellyfish *j = state;
        if (j == NULL)
                return;
        kc_import_text_close(j->text);
        free(j->header);
        free(j);
}

const struct kc_import_format kc_import_jellyfish = {
        .what = "a Jellyfish file",
        .declares_strands = true,
        .recognizes = recognizes,
        .open = open_jellyfish,
        .read = read_jellyfish,
        .close = close_jellyfish,
};
