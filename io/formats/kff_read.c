/*
 * KFF 1 (github.com/Kmer-File-Format/kff-reference): sections of blocks. A block holds n k-mers, as
 * a sequence of n + k - 1 bases, and their counts. All numbers are big endian.
 *
 *      header      "KFF" 1 minor encoding unique canonical, size: u32, that many free bytes
 *      values      'v', number: u64, then for each value: name, NUL, u64
 *      raw blocks  'r', number: u64, then for each block: n; bases; counts
 *      minimizer   'm', minimizer, number: u64, then for each block: n; place; bases; counts
 *      index       'i', number: u64, then 9 bytes for each entry; u64
 *      end         "KFF"
 *
 * Values apply to the sections that follow, until the next values section replaces them all. n and
 * place take as many bytes as their largest possible value needs; n is absent if it can only be 1.
 * Bases are right-aligned in whole bytes. In a minimizer section, the blocks leave out the
 * minimizer, and place is its position.
 *
 * A thread walks the sections and takes whole blocks, or a slice of a large one, under the lock,
 * and decodes them without it.
 */
#include "io/formats/kff_read.h"

#include <stdlib.h>
#include <string.h>

static bool recognizes(const struct kc_import *import, const uint8_t *head, size_t n)
{
        (void)import;
        return n > KC_KFF_MARK_NBYTES && memcmp(head, "KFF", KC_KFF_MARK_NBYTES) == 0 &&
               head[KC_KFF_MARK_NBYTES] < ' ';
}

static enum kc_status read_kff(struct kc_import *import, int worker, struct kc_pair_batch *batch,
                               struct kc_error *err)
{
        struct kc_kff *kff = import->state;
        struct kc_kff_piece p = { 0 };
        enum kc_status status;
        KC_TRY(kc_import_reserve(import, worker, KC_KFF_WINDOW_NBYTES, err));
        pthread_mutex_lock(&import->lock);
        status = kc_kff_take(import, kff, batch->cap, import->workers[worker].buffer, &p, err);
        pthread_mutex_unlock(&import->lock);
        if (status == KC_OK && p.n > 0)
                status = kc_kff_decode(import, kff, worker, &p, batch, err);
out:
        return status;
}

/* Upper bound on the k-mers that are left: single k-mers have records of a fixed size; in a longer
 * block, each k-mer takes at least a base and a count. */
static uint64_t guess_npairs(const struct kc_import *import, const struct kc_kff *kff)
{
        const uint64_t nbytes = kff->end - kff->at, count_nbytes = kff->blocks.count_nbytes;
        if (kc_kff_are_single(&kff->blocks))
                return nbytes / (((uint64_t)import->info.k + 3) / 4 + count_nbytes);
        return (uint64_t)((double)nbytes * 4 / (double)(1 + 4 * count_nbytes));
}

static enum kc_status open_kff(struct kc_import *import, struct kc_error *err)
{
        struct kc_kff *kff = import->state = calloc(1, sizeof *kff);
        enum kc_status status;
        if (kff == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        KC_TRY(kc_kff_read_header(import, kff, err));
        KC_TRY(kc_kff_next_section(import, kff, err));
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
