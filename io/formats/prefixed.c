#include "io/formats/prefixed.h"

#include "io/formats/unpack.h"
#include "io/input/damage.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
        ENTRIES = 8 << 10, /* how many are read at a time */
        PAD = 8,           /* readable bytes before and after the records */
};

/* Records with the same prefix. These are in a thread's buffer, before the records themselves. */
struct same_prefix {
        uint64_t prefix;
        size_t n;
};

static size_t record_nbytes(const struct kc_prefixed *p)
{
        return (size_t)(p->suffix_bytes + p->count_bytes);
}

/* ---- the table ---- */

static enum kc_status damaged_table(const struct kc_prefixed *p, struct kc_error *err)
{
        return kc_fail(err, KC_EINPUT,
                       "%s is damaged: entry %" PRIu64
                       " of its table of prefixes is out of order" KC_DAMAGE_REMEDY,
                       p->table->name, p->entry);
}

/* Where the records of the next entry end. */
static enum kc_status next_end(struct kc_prefixed *p, uint64_t *end, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        if (p->entry + 1 == p->nentries) {
                *end = p->nrecords;
                return KC_OK;
        }
        if (p->entries_at == p->entries_n) {
                const uint64_t nleft = p->nentries - 1 - p->entry;
                p->entries_n = nleft < ENTRIES ? (size_t)nleft : ENTRIES;
                p->entries_at = 0;
                KC_TRY(kc_import_read_at(p->table, p->entries, p->entries_n * sizeof *p->entries,
                                         p->table_offset + p->entry * sizeof *p->entries, err));
        }
        *end = p->entries[p->entries_at];
        if (*end < p->record || *end > p->nrecords)
                return damaged_table(p, err);
out:
        return status;
}

/* Take at most cap records: set their number and the stretches with the same prefix. */
static enum kc_status take(struct kc_prefixed *p, struct same_prefix *stretches, size_t cap,
                           size_t *nstretches, size_t *nrecords, struct kc_error *err)
{
        const uint64_t mask = (UINT64_C(1) << p->prefix_bits) - 1;
        enum kc_status status = KC_OK;
        *nstretches = *nrecords = 0;
        while (*nrecords < cap && p->entry < p->nentries) {
                uint64_t end;
                KC_TRY(next_end(p, &end, err));
                const uint64_t nleft = end - p->record, room = cap - *nrecords;
                const size_t n = (size_t)(nleft < room ? nleft : room);
                if (n > 0)
                        stretches[(*nstretches)++] = (struct same_prefix){ p->entry & mask, n };
                p->record += n;
                *nrecords += n;
                if (n == nleft) {
                        p->entry++;
                        p->entries_at++;
                }
        }
out:
        return status;
}

/* ---- the records ---- */

static enum kc_status read_records(const struct kc_prefixed *p, uint64_t first, size_t n,
                                   uint8_t *to, struct kc_error *err)
{
        const size_t nbytes = record_nbytes(p);
        enum kc_status status = KC_OK;
        for (size_t i = 0; i < p->nparts && n > 0; i++) {
                const struct kc_prefixed_part *part = &p->parts[i];
                if (first >= part->nrecords) {
                        first -= part->nrecords;
                        continue;
                }
                const uint64_t nleft = part->nrecords - first;
                const size_t now = nleft < n ? (size_t)nleft : n;
                KC_TRY(kc_import_read_at(&part->in, to, now * nbytes, part->offset + first * nbytes,
                                         err));
                to += now * nbytes;
                n -= now;
                first = 0;
        }
out:
        return status;
}

/* The k-mer of a record: prefix, then suffix. May read up to 8 bytes before the suffix. */
static inline void decode(const struct kc_prefixed *p, uint64_t prefix, const uint8_t *suffix,
                          int nwords, uint64_t *kmer)
{
        if (p->suffix_bytes < 8 && p->prefix_bits + 8 * p->suffix_bytes <= 64) {
                const int bits = 8 * p->suffix_bytes;
                const uint64_t low = kc_unpack_big_u64(suffix + p->suffix_bytes - 8);
                kmer[0] = (prefix << bits | (low & ((UINT64_C(1) << bits) - 1))) >> p->unused_bits;
                return;
        }
        /* words of suffix, least significant first, then the prefix above them */
        uint64_t words[KC_MAX_WORDS + 2] = { 0 };
        int nleft = p->suffix_bytes, w = 0;
        for (; nleft >= 8; nleft -= 8)
                words[w++] = kc_unpack_big_u64(suffix + nleft - 8);
        if (nleft > 0)
                words[w] = kc_unpack_big_u64(suffix + nleft - 8) & ((UINT64_C(1) << 8 * nleft) - 1);
        words[w] |= prefix << 8 * nleft;
        if (nleft > 0)
                words[w + 1] = prefix >> (64 - 8 * nleft);
        const int unused = p->unused_bits;
        for (int i = 0; i < nwords; i++)
                kmer[i] =
                        unused == 0 ? words[i] : words[i] >> unused | words[i + 1] << (64 - unused);
}

static inline uint64_t load_count(const struct kc_prefixed *p, const uint8_t *at)
{
        if (p->count_bytes == 0)
                return 1;
        const uint64_t count = kc_unpack_u64(at);
        return p->count_bytes == 8 ? count : count & ((UINT64_C(1) << 8 * p->count_bytes) - 1);
}

static void decode_all(const struct kc_import *import, const struct kc_prefixed *p,
                       struct kc_import_worker *w, const struct same_prefix *stretches,
                       size_t nstretches, const uint8_t *records, struct kc_pair_batch *batch)
{
        const int nwords = kc_kmer_nwords(import->info.k);
        uint64_t *kmer = batch->kmers;
        size_t n = 0;
        for (size_t s = 0; s < nstretches; s++)
                for (size_t i = 0; i < stretches[s].n; i++) {
                        decode(p, stretches[s].prefix, records, nwords, kmer);
                        const uint64_t count = load_count(p, records + p->suffix_bytes);
                        records += record_nbytes(p);
                        if (__builtin_expect(count < p->min_count || count > p->max_count, 0)) {
                                w->totals.noutside++;
                                continue;
                        }
                        batch->counts[n++] = kc_import_count(w, count, p->limit);
                        kmer += nwords;
                }
        batch->n = n;
}

enum kc_status kc_prefixed_read(struct kc_import *import, int worker, struct kc_pair_batch *batch,
                                struct kc_error *err)
{
        struct kc_prefixed *p = import->state;
        struct kc_import_worker *w = &import->workers[worker];
        const size_t cap = batch->cap, records_at = cap * sizeof(struct same_prefix) + PAD;
        enum kc_status status;
        size_t nstretches, n;
        KC_TRY(kc_import_reserve(import, worker, records_at + cap * record_nbytes(p) + PAD, err));
        struct same_prefix *stretches = (struct same_prefix *)(void *)w->buffer;
        do {
                pthread_mutex_lock(&import->lock);
                const uint64_t first = p->record;
                status = take(p, stretches, cap, &nstretches, &n, err);
                pthread_mutex_unlock(&import->lock);
                if (status == KC_OK && n > 0)
                        status = read_records(p, first, n, w->buffer + records_at, err);
                if (status != KC_OK || n == 0)
                        break;
                decode_all(import, p, w, stretches, nstretches, w->buffer + records_at, batch);
        } while (batch->n == 0);
out:
        return status;
}

enum kc_status kc_prefixed_add_part(struct kc_prefixed *p, char *path, struct kc_error *err)
{
        struct kc_prefixed_part *parts =
                path != NULL ? realloc(p->parts, (p->nparts + 1) * sizeof *parts) : NULL;
        if (parts == NULL) {
                free(path);
                return kc_fail(err, KC_ENOMEM, "out of memory");
        }
        p->parts = parts;
        parts[p->nparts++] = (struct kc_prefixed_part){ .in.fd = -1, .path = path };
        return KC_OK;
}

enum kc_status kc_prefixed_begin(const struct kc_import *import, struct kc_prefixed *p,
                                 struct kc_error *err)
{
        const int bits = p->prefix_bits + 8 * p->suffix_bytes - p->unused_bits;
        uint64_t nrecords = 0;
        if (bits != 2 * import->info.k)
                return kc_fail(err, KC_EINPUT,
                               "%s is damaged: its records have %d bits for k-mers of %d "
                               "bases" KC_DAMAGE_REMEDY,
                               import->name, bits, import->info.k);
        for (size_t i = 0; i < p->nparts; i++)
                nrecords += p->parts[i].nrecords;
        if (nrecords != p->nrecords)
                return kc_fail(err, KC_EINPUT,
                               "%s is damaged: its header states %" PRIu64
                               " k-mers, but there are %" PRIu64 KC_DAMAGE_REMEDY,
                               p->table->name, p->nrecords, nrecords);
        p->entries = malloc(ENTRIES * sizeof *p->entries);
        return p->entries != NULL ? KC_OK : kc_fail(err, KC_ENOMEM, "out of memory");
}

void kc_prefixed_free(struct kc_prefixed *p)
{
        for (size_t i = 0; i < p->nparts; i++) {
                kc_input_close(&p->parts[i].in);
                free(p->parts[i].path);
        }
        free(p->parts);
        free(p->entries);
}
