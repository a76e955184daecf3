#include "io/formats/kff_read.h"
#include "io/formats/unpack.h"

enum kc_status kc_kff_parse_head(const struct kc_import *import, const struct kc_kff_blocks *blocks,
                                 const uint8_t *head, uint64_t at, struct kc_kff_block *b,
                                 struct kc_error *err)
{
        b->n = blocks->n_nbytes > 0 ? kc_unpack_big(head, blocks->n_nbytes) : 1;
        b->place = kc_unpack_big(head + blocks->n_nbytes, blocks->place_nbytes);
        if (b->n < 1 || b->n > blocks->max)
                return kc_kff_damaged(import, at, "a block has an invalid number of k-mers", err);
        b->nbases = b->n + (uint64_t)import->info.k - 1 - blocks->m;
        if (b->place > b->nbases)
                return kc_kff_damaged(import, at, "a minimizer is outside its block", err);
        b->head_nbytes = kc_kff_head_nbytes(blocks);
        b->bases_nbytes = (b->nbases + 3) / 4;
        b->nbytes = b->head_nbytes + b->bases_nbytes + b->n * blocks->count_nbytes;
        return KC_OK;
}

/* Take as many whole blocks as fit in the window and the batch; there may be none. */
static enum kc_status take_whole(const struct kc_import *import, struct kc_kff *kff, size_t cap,
                                 uint8_t *window, struct kc_kff_piece *p, struct kc_error *err)
{
        const uint64_t left = kff->end - kff->at;
        const size_t size = left < KC_KFF_WINDOW_NBYTES ? (size_t)left : KC_KFF_WINDOW_NBYTES;
        const size_t head = kc_kff_head_nbytes(&kff->blocks);
        size_t nbytes = 0; /* of the blocks taken */
        enum kc_status status;
        KC_TRY(kc_kff_read_part(import, kff, window, size, kff->at, err));
        while (p->nblocks < kff->blocks.n && size - nbytes >= head) {
                struct kc_kff_block b;
                KC_TRY(kc_kff_parse_head(import, &kff->blocks, window + nbytes, kff->at + nbytes,
                                         &b, err));
                if (b.n > cap - p->n || b.nbytes > size - nbytes)
                        break;
                p->n += (size_t)b.n;
                nbytes += (size_t)b.nbytes;
                p->nblocks++;
        }
        kff->at += nbytes;
        kff->blocks.n -= p->nblocks;
out:
        return status;
}

/* Take the next slice of a block that does not fit in the window or the batch. */
static enum kc_status take_slice(const struct kc_import *import, struct kc_kff *kff, size_t cap,
                                 struct kc_kff_piece *p, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        if (kff->large.n == 0) {
                uint8_t head[2 * sizeof(uint64_t)];
                struct kc_kff_block large;
                KC_TRY(kc_kff_read_part(import, kff, head, kc_kff_head_nbytes(&kff->blocks),
                                        kff->at, err));
                KC_TRY(kc_kff_parse_head(import, &kff->blocks, head, kff->at, &large, err));
                if (large.nbytes > kff->end - kff->at)
                        return kc_kff_truncated(import, kff->at, err);
                kff->large = large;
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

enum kc_status kc_kff_take(struct kc_import *import, struct kc_kff *kff, size_t cap,
                           uint8_t *window, struct kc_kff_piece *p, struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(kc_kff_next_section(import, kff, err));
        *p = (struct kc_kff_piece){ .blocks = kff->blocks, .at = kff->at };
        if (kff->blocks.n == 0)
                return KC_OK;
        if (kc_kff_are_single(&kff->blocks)) {
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
