#include "io/formats/kff_read.h"
#include "io/formats/unpack.h"

#include <string.h>

enum { PAD = 8 }; /* readable bytes before the records of single k-mers */

static void decode_counts(struct kc_import_worker *worker, const struct kc_kff_blocks *blocks,
                          const uint8_t *at, size_t n, uint32_t *counts)
{
        const size_t nbytes = blocks->count_nbytes;
        const uint64_t limit = kc_import_limit(nbytes);
        for (size_t i = 0; i < n; i++, at += nbytes)
                counts[i] =
                        kc_import_count(worker, nbytes == 0 ? 1 : kc_unpack_big(at, nbytes), limit);
}

/* The base that is followed by `after` other bases, in bytes that end before `end`. */
static inline unsigned base_before(const uint8_t *end, uint64_t after)
{
        return end[-1 - (ptrdiff_t)(after / 4)] >> 2 * (after % 4) & 3;
}

/* Decode n k-mers of a block, from number `first` on. The block's bases end at `end`; only those of
 * these k-mers need to be in memory. */
static void decode_bases(const struct kc_kff_blocks *blocks, const struct kc_kff_block *b, int k,
                         uint64_t first, size_t n, const uint8_t *end, uint64_t *kmers)
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

static enum kc_status decode_whole(struct kc_import *import, int worker,
                                   const struct kc_kff_piece *p, struct kc_pair_batch *batch,
                                   struct kc_error *err)
{
        const int k = import->info.k;
        const uint8_t *at = import->workers[worker].buffer;
        enum kc_status status = KC_OK;
        for (size_t i = 0; i < p->nblocks; i++) {
                struct kc_kff_block b;
                KC_TRY(kc_kff_parse_head(import, &p->blocks, at, p->at, &b, err));
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

/* How many of the first n bases of a block are stored: all but the minimizer. */
static uint64_t stored_of(const struct kc_kff_blocks *blocks, const struct kc_kff_block *b,
                          uint64_t n)
{
        if (n <= b->place)
                return n;
        return n < b->place + blocks->m ? b->place : n - blocks->m;
}

static enum kc_status read_slice(struct kc_import *import, int worker, const struct kc_kff_piece *p,
                                 struct kc_pair_batch *batch, struct kc_error *err)
{
        const struct kc_kff_block *b = &p->block;
        const uint64_t end = p->first + p->n + (uint64_t)import->info.k - 1;
        const uint64_t from = stored_of(&p->blocks, b, p->first);
        const uint64_t to = stored_of(&p->blocks, b, end);
        /* bytes low to high - 1 hold the stored bases from `from` to `to` - 1, if there are any */
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
        /* let the block end with the last byte that was read */
        struct kc_kff_block cut = *b;
        cut.nbases -= 4 * (b->bases_nbytes - high);
        decode_bases(&p->blocks, &cut, import->info.k, p->first, p->n, buffer + nbytes,
                     batch->kmers);
        decode_counts(&import->workers[worker], &p->blocks, buffer + nbytes, p->n, batch->counts);
        batch->n = p->n;
out:
        return status;
}

/* Blocks of one k-mer each are records of equal size. */
static enum kc_status read_single(struct kc_import *import, int worker,
                                  const struct kc_kff_piece *p, struct kc_pair_batch *batch,
                                  struct kc_error *err)
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
 * Replace the file's base codes with ours. Each of the 24 encodings is an affine map on two bits:
 * our code is flip, XOR low if the lower bit of the file's code is set, XOR high if its upper bit
 * is set.
 */
static void recode(const struct kc_kff_recoding *r, struct kc_pair_batch *batch, int k)
{
        const uint64_t bits = UINT64_C(0x5555555555555555);
        const size_t nwords = (size_t)kc_kmer_nwords(k);
        if (r->low == 1 && r->high == 2 && r->flip == 0)
                return;
        for (size_t i = 0; i < batch->n * nwords; i++) {
                const uint64_t word = batch->kmers[i];
                batch->kmers[i] =
                        (word & bits) * r->low ^ (word >> 1 & bits) * r->high ^ bits * r->flip;
                if (i % nwords == nwords - 1)
                        batch->kmers[i] &= kc_kmer_top_mask(k);
        }
}

enum kc_status kc_kff_decode(struct kc_import *import, const struct kc_kff *kff, int worker,
                             const struct kc_kff_piece *piece, struct kc_pair_batch *batch,
                             struct kc_error *err)
{
        enum kc_status status;
        if (kc_kff_are_single(&piece->blocks))
                status = read_single(import, worker, piece, batch, err);
        else if (piece->nblocks > 0)
                status = decode_whole(import, worker, piece, batch, err);
        else
                status = read_slice(import, worker, piece, batch, err);
        if (status == KC_OK)
                recode(&kff->recoding, batch, import->info.k);
        return status;
}
