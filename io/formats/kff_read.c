/*
 * KFF 1 (github.com/Kmer-File-Format/kff-reference): sections of blocks. A block holds n k-mers, as
 * a sequence of n + k - 1 bases, and their counts. All numbers are big endian.
 *
 *      header     "KFF" 1 minor encoding unique canonical, size: u32, that many free bytes
 *      values     'v', how many: u64, then for each: name, NUL, u64
 *      blocks     'r', how many: u64, then for each: n; bases; counts
 *      the same   'm', minimizer, how many: u64, then for each: n; place; bases; counts
 *      index      'i', how many: u64, then for each 9 bytes; u64
 *      end        "KFF"
 *
 * Values hold for the sections after them, up to the next values. n and place have as many bytes as
 * their largest possible value needs; n is absent if it can only be 1. Bases are right-aligned in
 * whole bytes. After 'm', the minimizer is left out of the bases, and place says where it was.
 *
 * Sections are walked under the lock. A thread takes whole blocks, or a slice of a large one, and
 * decodes them without it.
 */
#include "io/formats/reader.h"
#include "io/formats/unpack.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
        HEADER_NBYTES = 12,
        MARK_NBYTES = 3,
        VERSION = 1,
        SECTION_NBYTES = 9, /* its type and a number */
        NAME_NBYTES = 256,  /* of a value, with its NUL; those we know are short */
        INDEX_ENTRY_NBYTES = 9,
        MAX_DATA_NBYTES = 8,
        WINDOW_NBYTES = 64 << 10, /* more than a batch of k-mers in small blocks takes */
        PAD = 8,                  /* readable bytes before the window */
};

/* n + k - 1 bases and n counts take less than 2^64 bytes. */
#define MAX_MAX (UINT64_C(1) << 56)

enum value { K, MAX, DATA_SIZE, M, NVALUES };

static const char *const value_names[NVALUES] = { "k", "max", "data_size", "m" };

/* The blocks of a section that nobody has taken. */
struct blocks {
        uint64_t n, max, m;
        size_t n_nbytes, place_nbytes, count_nbytes;
        uint8_t minimizer[(KC_MAX_K + 3) / 4];
};

struct block {
        uint64_t n, place, nbases; /* nbases: without the minimizer */
        uint64_t head_nbytes, bases_nbytes, nbytes;
};

/* What a thread takes: nblocks whole blocks, or n k-mers of one, from number `first` on. */
struct piece {
        struct blocks blocks;
        struct block block;
        uint64_t at, first;
        size_t nblocks, n, nbytes;
};

struct kff {
        uint64_t at, end; /* of the sections */
        uint64_t value[NVALUES], first_k;
        bool known[NVALUES];
        struct blocks blocks;
        struct block large; /* the block at `at`, while slices of it are taken; n is 0: none are */
        uint64_t next;      /* k-mer of large */
        uint64_t low, high, flip; /* how a base is recoded: see recode */
};

static bool recognizes(const struct kc_import *import, const uint8_t *head, size_t n)
{
        (void)import;
        return n > MARK_NBYTES && memcmp(head, "KFF", MARK_NBYTES) == 0 && head[MARK_NBYTES] < ' ';
}

static enum kc_status damaged(const struct kc_import *import, uint64_t at, const char *what,
                              struct kc_error *err)
{
        return kc_fail(err, KC_EINPUT, "%s is damaged: at byte %" PRIu64 ", %s", import->name, at,
                       what);
}

static enum kc_status truncated(const struct kc_import *import, uint64_t at, struct kc_error *err)
{
        return kc_fail(err, KC_EINPUT,
                       "%s is truncated or damaged: it ends within the section at byte %" PRIu64,
                       import->name, at);
}

/* ---- sections ---- */

/* Read n bytes of the sections at offset. */
static enum kc_status read_part(const struct kc_import *import, const struct kff *kff, void *to,
                                uint64_t n, uint64_t offset, struct kc_error *err)
{
        if (offset > kff->end || n > kff->end - offset)
                return truncated(import, kff->at, err);
        return kc_import_read_at(&import->in, to, (size_t)n, offset, err);
}

static enum kc_status read_number(const struct kc_import *import, const struct kff *kff,
                                  uint64_t offset, uint64_t *number, struct kc_error *err)
{
        uint8_t bytes[sizeof *number];
        enum kc_status status = read_part(import, kff, bytes, sizeof bytes, offset, err);
        *number = status == KC_OK ? kc_unpack_big_u64(bytes) : 0;
        return status;
}

static enum kc_status read_value(const struct kc_import *import, struct kff *kff, uint64_t *at,
                                 struct kc_error *err)
{
        char text[NAME_NBYTES + sizeof(uint64_t)] = "";
        const uint64_t left = kff->end - *at;
        enum kc_status status;
        KC_TRY(read_part(import, kff, text, left < sizeof text ? left : sizeof text, *at, err));
        const size_t length = strnlen(text, NAME_NBYTES);
        if (length == NAME_NBYTES)
                return damaged(import, *at, "a value has no name", err);
        if (length + 1 + sizeof(uint64_t) > left)
                return truncated(import, kff->at, err);
        for (int i = 0; i < NVALUES; i++)
                if (strcmp(text, value_names[i]) == 0) {
                        kff->value[i] = kc_unpack_big_u64(text + length + 1);
                        kff->known[i] = true;
                }
        *at += length + 1 + sizeof(uint64_t);
out:
        return status;
}

static enum kc_status read_values(const struct kc_import *import, struct kff *kff,
                                  struct kc_error *err)
{
        uint64_t at = kff->at + SECTION_NBYTES, n;
        enum kc_status status;
        KC_TRY(read_number(import, kff, kff->at + 1, &n, err));
        memset(kff->known, 0, sizeof kff->known);
        for (uint64_t i = 0; i < n; i++)
                KC_TRY(read_value(import, kff, &at, err));
        if (kff->first_k == 0 && kff->known[K])
                kff->first_k = kff->value[K];
        kff->at = at;
out:
        return status;
}

static enum kc_status skip_index(const struct kc_import *import, struct kff *kff,
                                 struct kc_error *err)
{
        uint64_t n, next;
        enum kc_status status;
        KC_TRY(read_number(import, kff, kff->at + 1, &n, err));
        if (n > (kff->end - kff->at) / INDEX_ENTRY_NBYTES)
                return truncated(import, kff->at, err);
        n = SECTION_NBYTES + n * INDEX_ENTRY_NBYTES;
        KC_TRY(read_number(import, kff, kff->at + n, &next, err));
        kff->at += n + sizeof next;
out:
        return status;
}

/* The bytes of a number up to max. */
static size_t field_nbytes(uint64_t max)
{
        size_t nbits = 0;
        while (nbits < 64 && (max - 1) >> nbits != 0)
                nbits++;
        return (nbits + 7) / 8;
}

static enum kc_status check_values(const struct kc_import *import, const struct kff *kff,
                                   bool minimizers, struct kc_error *err)
{
        const uint64_t *value = kff->value;
        for (int i = 0; i < (minimizers ? NVALUES : M); i++)
                if (!kff->known[i])
                        return kc_fail(err, KC_EINPUT,
                                       "%s is damaged: the section at byte %" PRIu64
                                       " needs the value \"%s\", which is missing",
                                       import->name, kff->at, value_names[i]);
        if (value[MAX] < 1 || value[MAX] > MAX_MAX)
                return damaged(import, kff->at, "the value \"max\" is impossible", err);
        if (minimizers && (value[M] < 1 || value[M] > value[K]))
                return damaged(import, kff->at, "the value \"m\" is impossible", err);
        if (value[DATA_SIZE] > MAX_DATA_NBYTES)
                return kc_fail(err, KC_EINPUT,
                               "%s holds %" PRIu64
                               " bytes of data for each k-mer; kcount reads counts of up to %d "
                               "bytes",
                               import->name, value[DATA_SIZE], MAX_DATA_NBYTES);
        return KC_OK;
}

/* All k-mers of the file have the length of the first ones. */
static enum kc_status agree_on_k(struct kc_import *import, const struct kff *kff,
                                 struct kc_error *err)
{
        if (import->info.k == 0)
                return kc_import_set_k(import, kff->value[K], err);
        if ((uint64_t)import->info.k != kff->value[K])
                return kc_fail(err, KC_EINPUT,
                               "%s holds k-mers of different lengths: of %d bases and, in the "
                               "section at byte %" PRIu64 ", of %" PRIu64,
                               import->name, import->info.k, kff->at, kff->value[K]);
        return KC_OK;
}

static enum kc_status begin_blocks(struct kc_import *import, struct kff *kff, bool minimizers,
                                   struct kc_error *err)
{
        const uint64_t *value = kff->value;
        struct blocks b = { 0 };
        enum kc_status status;
        KC_TRY(check_values(import, kff, minimizers, err));
        KC_TRY(agree_on_k(import, kff, err));
        b.max = value[MAX];
        b.m = minimizers ? value[M] : 0;
        b.n_nbytes = field_nbytes(b.max);
        b.place_nbytes = minimizers ? field_nbytes(value[K] + b.max - 1) : 0;
        b.count_nbytes = (size_t)value[DATA_SIZE];
        const uint64_t minimizer_nbytes = (b.m + 3) / 4;
        const uint64_t least =
                b.n_nbytes + b.place_nbytes + (value[K] - b.m + 3) / 4 + b.count_nbytes;
        KC_TRY(read_part(import, kff, b.minimizer, minimizer_nbytes, kff->at + 1, err));
        KC_TRY(read_number(import, kff, kff->at + 1 + minimizer_nbytes, &b.n, err));
        const uint64_t at = kff->at + SECTION_NBYTES + minimizer_nbytes;
        if (least == 0)
                return damaged(import, kff->at, "a section has blocks of 0 bytes", err);
        if (b.n > (kff->end - at) / least)
                return truncated(import, kff->at, err);
        kff->at = at;
        kff->blocks = b;
out:
        return status;
}

/* Read sections until one has blocks, or the file ends. */
static enum kc_status next_section(struct kc_import *import, struct kff *kff, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        while (kff->blocks.n == 0 && kff->at < kff->end) {
                uint8_t type;
                KC_TRY(read_part(import, kff, &type, 1, kff->at, err));
                if (type == 'v')
                        KC_TRY(read_values(import, kff, err));
                else if (type == 'i')
                        KC_TRY(skip_index(import, kff, err));
                else if (type == 'r' || type == 'm')
                        KC_TRY(begin_blocks(import, kff, type == 'm', err));
                else
                        return damaged(import, kff->at, "a section has an unknown type", err);
        }
out:
        return status;
}

/* ---- blocks ---- */

static bool are_single(const struct blocks *blocks)
{
        return blocks->max == 1 && blocks->m == 0;
}

static size_t head_nbytes(const struct blocks *blocks)
{
        return blocks->n_nbytes + blocks->place_nbytes;
}

/* at: of the block in the file */
static enum kc_status parse_head(const struct kc_import *import, const struct blocks *blocks,
                                 const uint8_t *head, uint64_t at, struct block *b,
                                 struct kc_error *err)
{
        b->n = blocks->n_nbytes > 0 ? kc_unpack_big(head, blocks->n_nbytes) : 1;
        b->place = kc_unpack_big(head + blocks->n_nbytes, blocks->place_nbytes);
        if (b->n < 1 || b->n > blocks->max)
                return damaged(import, at, "a block has an impossible number of k-mers", err);
        b->nbases = b->n + (uint64_t)import->info.k - 1 - blocks->m;
        if (b->place > b->nbases)
                return damaged(import, at, "a minimizer is outside its block", err);
        b->head_nbytes = head_nbytes(blocks);
        b->bases_nbytes = (b->nbases + 3) / 4;
        b->nbytes = b->head_nbytes + b->bases_nbytes + b->n * blocks->count_nbytes;
        return KC_OK;
}

/* Take as many whole blocks as the window and the batch hold: maybe none. */
static enum kc_status take_whole(const struct kc_import *import, struct kff *kff, size_t cap,
                                 uint8_t *window, struct piece *p, struct kc_error *err)
{
        const uint64_t left = kff->end - kff->at;
        const size_t size = left < WINDOW_NBYTES ? (size_t)left : WINDOW_NBYTES;
        const size_t head = head_nbytes(&kff->blocks);
        enum kc_status status;
        KC_TRY(read_part(import, kff, window, size, kff->at, err));
        while (p->nblocks < kff->blocks.n && size - p->nbytes >= head) {
                struct block b;
                KC_TRY(parse_head(import, &kff->blocks, window + p->nbytes, kff->at + p->nbytes, &b,
                                  err));
                if (b.n > cap - p->n || b.nbytes > size - p->nbytes)
                        break;
                p->n += (size_t)b.n;
                p->nbytes += (size_t)b.nbytes;
                p->nblocks++;
        }
        kff->at += p->nbytes;
        kff->blocks.n -= p->nblocks;
out:
        return status;
}

/* Take the next slice of a block that is too large for a batch or the window. */
static enum kc_status take_slice(const struct kc_import *import, struct kff *kff, size_t cap,
                                 struct piece *p, struct kc_error *err)
{
        uint8_t head[2 * sizeof(uint64_t)];
        enum kc_status status = KC_OK;
        if (kff->large.n == 0) {
                KC_TRY(read_part(import, kff, head, head_nbytes(&kff->blocks), kff->at, err));
                KC_TRY(parse_head(import, &kff->blocks, head, kff->at, &kff->large, err));
                if (kff->large.nbytes > kff->end - kff->at) {
                        kff->large.n = 0;
                        return truncated(import, kff->at, err);
                }
                kff->next = 0;
        }
        const uint64_t left = kff->large.n - kff->next;
        p->block = kff->large;
        p->first = kff->next;
        p->n = left < cap ? (size_t)left : cap;
        kff->next += p->n;
        if (p->n == left) {
                kff->at += kff->large.nbytes;
                kff->blocks.n--;
                kff->large.n = 0;
        }
out:
        return status;
}

/* Under the lock. p->n is 0 if nothing is left. */
static enum kc_status take(struct kc_import *import, struct kff *kff, size_t cap, uint8_t *window,
                           struct piece *p, struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(next_section(import, kff, err));
        *p = (struct piece){ .blocks = kff->blocks, .at = kff->at };
        if (kff->blocks.n == 0)
                return KC_OK;
        if (are_single(&kff->blocks)) {
                const size_t nbytes = ((size_t)import->info.k + 3) / 4 + kff->blocks.count_nbytes;
                p->n = p->nblocks = kff->blocks.n < cap ? (size_t)kff->blocks.n : cap;
                kff->at += p->n * nbytes;
                kff->blocks.n -= p->n;
                return KC_OK;
        }
        if (kff->large.n == 0)
                KC_TRY(take_whole(import, kff, cap, window, p, err));
        if (p->n == 0)
                KC_TRY(take_slice(import, kff, cap, p, err));
out:
        return status;
}

/* ---- decoding ---- */

static void decode_counts(struct kc_import_worker *worker, const struct blocks *blocks,
                          const uint8_t *at, size_t n, uint32_t *counts)
{
        const size_t nbytes = blocks->count_nbytes;
        const uint64_t limit = kc_import_limit(nbytes);
        for (size_t i = 0; i < n; i++, at += nbytes)
                counts[i] =
                        kc_import_count(worker, nbytes == 0 ? 1 : kc_unpack_big(at, nbytes), limit);
}

/* The base that has `after` bases after it, in bytes that end before `end`. */
static inline unsigned base_before(const uint8_t *end, uint64_t after)
{
        return end[-1 - (ptrdiff_t)(after / 4)] >> 2 * (after % 4) & 3;
}

/* n k-mers of a block from number `first` on. end: of its bases, of which only those that are needed
 * are there. */
static void decode_bases(const struct blocks *blocks, const struct block *b, int k, uint64_t first,
                         size_t n, const uint8_t *end, uint64_t *kmers)
{
        const int nwords = kc_kmer_nwords(k);
        const uint8_t *minimizer_end = blocks->minimizer + (blocks->m + 3) / 4;
        uint64_t kmer[KC_MAX_WORDS] = { 0 };
        const uint64_t stop = first + n + (uint64_t)k - 1;
        for (uint64_t at = first; at < stop; at++) {
                const uint64_t before = at < b->place ? at : at - blocks->m;
                const unsigned base =
                        at - b->place < blocks->m
                                ? base_before(minimizer_end, blocks->m - 1 - (at - b->place))
                                : base_before(end, b->nbases - 1 - before);
                for (int w = nwords - 1; w > 0; w--)
                        kmer[w] = kmer[w] << 2 | kmer[w - 1] >> 62;
                kmer[0] = kmer[0] << 2 | base;
                kmer[nwords - 1] &= kc_kmer_top_mask(k);
                if (at - first + 1 >= (uint64_t)k) {
                        memcpy(kmers, kmer, (size_t)nwords * sizeof *kmers);
                        kmers += nwords;
                }
        }
}

static enum kc_status decode_whole(struct kc_import *import, int worker, const struct piece *p,
                                   const uint8_t *at, struct kc_pair_batch *batch,
                                   struct kc_error *err)
{
        const int k = import->info.k;
        enum kc_status status = KC_OK;
        for (size_t i = 0; i < p->nblocks; i++) {
                struct block b;
                KC_TRY(parse_head(import, &p->blocks, at, p->at, &b, err));
                const uint8_t *end = at + b.head_nbytes + b.bases_nbytes;
                decode_bases(&p->blocks, &b, k, 0, (size_t)b.n, end,
                             batch->kmers + batch->n * (size_t)kc_kmer_nwords(k));
                decode_counts(&import->workers[worker], &p->blocks, end, (size_t)b.n,
                              batch->counts + batch->n);
                batch->n += (size_t)b.n;
                at += b.nbytes;
        }
out:
        return status;
}

/* How many of the first n bases of a block are not the minimizer's. */
static uint64_t stored_of(const struct blocks *blocks, const struct block *b, uint64_t n)
{
        if (n <= b->place)
                return n;
        return n < b->place + blocks->m ? b->place : n - blocks->m;
}

static enum kc_status read_slice(struct kc_import *import, int worker, const struct piece *p,
                                 struct kc_pair_batch *batch, struct kc_error *err)
{
        const struct block *b = &p->block;
        const uint64_t end = p->first + p->n + (uint64_t)import->info.k - 1;
        const uint64_t from = stored_of(&p->blocks, b, p->first);
        const uint64_t to = stored_of(&p->blocks, b, end);
        /* the bytes from low to high hold the bases from `from` to `to`; none if they are equal */
        const uint64_t high = b->bases_nbytes - (b->nbases - to) / 4;
        const uint64_t low = from < to ? b->bases_nbytes - 1 - (b->nbases - 1 - from) / 4 : high;
        const uint64_t bases_at = p->at + b->head_nbytes;
        const size_t nbytes = (size_t)(high - low), ncounts = p->n * p->blocks.count_nbytes;
        enum kc_status status;
        KC_TRY(kc_import_reserve(import, worker, nbytes + ncounts + 1, err));
        uint8_t *buffer = import->workers[worker].buffer;
        KC_TRY(kc_import_read_at(&import->in, buffer, nbytes, bases_at + low, err));
        KC_TRY(kc_import_read_at(&import->in, buffer + nbytes, ncounts,
                                 bases_at + b->bases_nbytes + p->first * p->blocks.count_nbytes,
                                 err));
        /* cut the block after its last byte that has been read */
        struct block cut = *b;
        cut.nbases -= 4 * (b->bases_nbytes - high);
        decode_bases(&p->blocks, &cut, import->info.k, p->first, p->n, buffer + nbytes,
                     batch->kmers);
        decode_counts(&import->workers[worker], &p->blocks, buffer + nbytes, p->n, batch->counts);
        batch->n = p->n;
out:
        return status;
}

/* Blocks of one k-mer: records of the same size, with nothing but its bases and its count. */
static enum kc_status read_single(struct kc_import *import, int worker, const struct piece *p,
                                  struct kc_pair_batch *batch, struct kc_error *err)
{
        const int k = import->info.k, nwords = kc_kmer_nwords(k);
        const size_t kmer_nbytes = ((size_t)k + 3) / 4;
        const size_t nbytes = kmer_nbytes + p->blocks.count_nbytes;
        uint64_t *kmer = batch->kmers;
        enum kc_status status;
        KC_TRY(kc_import_reserve(import, worker, PAD + p->n * nbytes, err));
        const uint8_t *end = import->workers[worker].buffer + PAD + kmer_nbytes;
        KC_TRY(kc_import_read_at(&import->in, import->workers[worker].buffer + PAD, p->n * nbytes,
                                 p->at, err));
        for (size_t i = 0; i < p->n; i++, kmer += nwords, end += nbytes) {
                for (int w = 0; w < nwords; w++)
                        kmer[w] = kc_unpack_big_u64(end - 8 * (w + 1));
                kmer[nwords - 1] &= kc_kmer_top_mask(k);
                decode_counts(&import->workers[worker], &p->blocks, end, 1, batch->counts + i);
        }
        batch->n = p->n;
out:
        return status;
}

/*
 * Replace the file's codes of bases with ours. Each of the 24 encodings is an affine map of two bits:
 * every bit of a code adds (exclusive or) a constant to the result.
 */
static void recode(const struct kff *kff, struct kc_pair_batch *batch, int k)
{
        const uint64_t bits = UINT64_C(0x5555555555555555);
        const size_t nwords = (size_t)kc_kmer_nwords(k);
        if (kff->low == 1 && kff->high == 2 && kff->flip == 0)
                return;
        for (size_t i = 0; i < batch->n * nwords; i++) {
                const uint64_t word = batch->kmers[i];
                batch->kmers[i] = (word & bits) * kff->low ^ (word >> 1 & bits) * kff->high ^
                                  bits * kff->flip;
                if (i % nwords == nwords - 1)
                        batch->kmers[i] &= kc_kmer_top_mask(k);
        }
}

static enum kc_status read_kff(struct kc_import *import, int worker, struct kc_pair_batch *batch,
                               struct kc_error *err)
{
        struct kff *kff = import->state;
        struct piece p = { 0 };
        enum kc_status status;
        KC_TRY(kc_import_reserve(import, worker, WINDOW_NBYTES, err));
        uint8_t *window = import->workers[worker].buffer;
        pthread_mutex_lock(&import->lock);
        status = take(import, kff, batch->cap, window, &p, err);
        pthread_mutex_unlock(&import->lock);
        if (status != KC_OK || p.n == 0)
                return status;
        if (are_single(&p.blocks))
                KC_TRY(read_single(import, worker, &p, batch, err));
        else if (p.nblocks > 0)
                KC_TRY(decode_whole(import, worker, &p, window, batch, err));
        else
                KC_TRY(read_slice(import, worker, &p, batch, err));
        recode(kff, batch, import->info.k);
out:
        return status;
}

/* ---- opening ---- */

static enum kc_status set_encoding(const struct kc_import *import, struct kff *kff,
                                   uint8_t encoding, struct kc_error *err)
{
        uint64_t ours[4];
        unsigned seen = 0;
        for (unsigned base = 0; base < 4; base++) {
                const unsigned code = encoding >> (6 - 2 * base) & 3;
                ours[code] = base;
                seen |= 1u << code;
        }
        if (seen != 0xf)
                return damaged(import, 5, "the encoding has two bases with the same code", err);
        kff->flip = ours[0];
        kff->low = ours[0] ^ ours[1];
        kff->high = ours[0] ^ ours[2];
        return KC_OK;
}

static enum kc_status read_header(struct kc_import *import, struct kff *kff, struct kc_error *err)
{
        uint8_t header[HEADER_NBYTES], mark[MARK_NBYTES];
        const uint64_t size = import->in.size;
        enum kc_status status;
        if (size < HEADER_NBYTES + MARK_NBYTES)
                return kc_fail(err, KC_EINPUT, "%s is truncated: it has %" PRIu64 " bytes",
                               import->name, size);
        KC_TRY(kc_import_read_at(&import->in, header, sizeof header, 0, err));
        KC_TRY(kc_import_read_at(&import->in, mark, sizeof mark, size - sizeof mark, err));
        if (header[3] != VERSION)
                return kc_fail(err, KC_EINPUT,
                               "%s is a KFF file of version %d.%d; kcount reads version %d",
                               import->name, header[3], header[4], VERSION);
        if (memcmp(mark, "KFF", sizeof mark) != 0)
                return kc_fail(err, KC_EINPUT, "%s is truncated: it does not end with KFF",
                               import->name);
        KC_TRY(set_encoding(import, kff, header[5], err));
        if (header[6] > 1 || header[7] > 1)
                return damaged(import, 6, "a flag is neither 0 nor 1", err);
        import->info.unique = header[6] == 1;
        import->info.stranded = header[7] == 0;
        import->either_form = header[7] == 1;
        kff->end = size - MARK_NBYTES;
        kff->at = HEADER_NBYTES + kc_unpack_big(header + 8, 4);
        if (kff->at > kff->end)
                status = truncated(import, 8, err);
out:
        return status;
}

/* At most so many k-mers are left: a record of a single one has a fixed size; otherwise one takes at
 * least a base and its count. */
static uint64_t guess_npairs(const struct kc_import *import, const struct kff *kff)
{
        const uint64_t nbytes = kff->end - kff->at, count_nbytes = kff->blocks.count_nbytes;
        if (are_single(&kff->blocks))
                return nbytes / (((uint64_t)import->info.k + 3) / 4 + count_nbytes);
        return (uint64_t)((double)nbytes * 4 / (double)(1 + 4 * count_nbytes));
}

static enum kc_status open_kff(struct kc_import *import, struct kc_error *err)
{
        struct kff *kff = import->state = calloc(1, sizeof *kff);
        enum kc_status status;
        if (kff == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        KC_TRY(read_header(import, kff, err));
        KC_TRY(next_section(import, kff, err));
        if (import->info.k == 0 && kff->first_k == 0)
                return kc_fail(err, KC_EINPUT, "%s holds no k-mers, so their length is not known",
                               import->name);
        if (import->info.k == 0)
                KC_TRY(kc_import_set_k(import, kff->first_k, err));
        import->info.expected_npairs = kff->blocks.n > 0 ? guess_npairs(import, kff) : 0;
out:
        return status;
}

const struct kc_import_format kc_import_kff = {
        .what = "a KFF file",
        .declares_strands = true,
        .recognizes = recognizes,
        .open = open_kff,
        .read = read_kff,
        .close = free,
};
