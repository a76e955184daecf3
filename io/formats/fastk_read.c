/*
 * FastK's tables (README of github.com/thegenemyers/FASTK, "File Encodings"): DIR/BASE.ktab, which
 * has no magic number, and its parts DIR/.BASE.ktab.1, .2, ... All numbers are little endian.
 *
 *      DIR/BASE.ktab     k, number of parts, lowest count, bytes in a prefix: u32 each
 *                        | for each prefix, how many k-mers have it or a lower one: u64
 *      DIR/.BASE.ktab.N  k: u32 | number of k-mers: u64
 *                        | for each: bytes after the prefix, 4 bases each, left-aligned; count: u16
 *
 * All k-mers are canonical. FastK stops counting at 32767.
 */
#include "io/formats/prefixed.h"
#include "io/formats/unpack.h"
#include "io/input/damage.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
        STUB_NBYTES = 16,
        PART_NBYTES = 12, /* of a part's header */
        COUNT_NBYTES = 2,
        MAX_COUNT = 32767,
        MAX_PREFIX_NBYTES = 3,
};

#define ENDING ".ktab"

struct fastk {
        struct kc_prefixed prefixed; /* first, for kc_prefixed_read */
        uint32_t k, nparts, prefix_nbytes;
};

static uint64_t index_nbytes(uint32_t prefix_nbytes)
{
        return sizeof(uint64_t) << 8 * prefix_nbytes;
}

/* There is no magic number, but the header determines the size of the file. */
static bool recognizes(const struct kc_import *import, const uint8_t *head, size_t n)
{
        if (n < STUB_NBYTES)
                return false;
        const uint32_t k = kc_unpack_u32(head), nparts = kc_unpack_u32(head + 4);
        const uint32_t lowest = kc_unpack_u32(head + 8), prefix = kc_unpack_u32(head + 12);
        return k >= 1 && k < 1 << 16 && nparts >= 1 && lowest <= MAX_COUNT && prefix >= 1 &&
               prefix <= MAX_PREFIX_NBYTES && import->in.size == STUB_NBYTES + index_nbytes(prefix);
}

/* The name of a part: DIR/.BASE.ktab.NUMBER */
static char *name_part(const char *stub, size_t number)
{
        const char *slash = strrchr(stub, '/');
        const char *base = slash != NULL ? slash + 1 : stub;
        char *name;
        return asprintf(&name, "%.*s.%s.%zu", (int)(base - stub), stub, base, number) < 0 ? NULL
                                                                                          : name;
}

static enum kc_status open_part(struct kc_import *import, struct fastk *fastk, struct kc_error *err)
{
        struct kc_prefixed *p = &fastk->prefixed;
        const uint64_t record = (uint64_t)p->suffix_bytes + COUNT_NBYTES;
        uint8_t header[PART_NBYTES];
        enum kc_status status;
        KC_TRY(kc_prefixed_add_part(p, name_part(import->path, p->nparts + 1), err));
        struct kc_prefixed_part *part = &p->parts[p->nparts - 1];
        KC_TRY(kc_import_open_file(import, &part->in, part->path, err));
        if (!part->in.regular || part->in.size < PART_NBYTES)
                return kc_fail(err, KC_EINPUT,
                               "%s is truncated: it has %" PRIu64 " bytes" KC_DAMAGE_REMEDY,
                               part->path, part->in.size);
        KC_TRY(kc_import_read_at(&part->in, header, sizeof header, 0, err));
        part->offset = PART_NBYTES;
        part->nrecords = (part->in.size - PART_NBYTES) / record;
        if (kc_unpack_u32(header) != fastk->k)
                return kc_fail(err, KC_EINPUT,
                               "%s does not belong to %s: it holds %" PRIu32 "-mers, not %" PRIu32
                               "-mers",
                               part->path, import->name, kc_unpack_u32(header), fastk->k);
        if (kc_unpack_u64(header + 4) != part->nrecords ||
            part->nrecords * record != part->in.size - PART_NBYTES)
                status = kc_fail(err, KC_EINPUT,
                                 "%s is truncated or damaged: its header states %" PRIu64
                                 " k-mers, but it has %" PRIu64 " bytes" KC_DAMAGE_REMEDY,
                                 part->path, kc_unpack_u64(header + 4), part->in.size);
out:
        return status;
}

/* Describe the table and the records, and open the parts. */
static enum kc_status set_up(struct kc_import *import, struct fastk *fastk, struct kc_error *err)
{
        struct kc_prefixed *p = &fastk->prefixed;
        const int kmer_nbytes = (import->info.k + 3) / 4;
        enum kc_status status;
        if (kmer_nbytes < (int)fastk->prefix_nbytes)
                return kc_fail(err, KC_EINPUT,
                               "%s is damaged: its prefixes have %" PRIu32
                               " bytes, but its k-mers only %d" KC_DAMAGE_REMEDY,
                               import->name, fastk->prefix_nbytes, kmer_nbytes);
        p->table = &import->in;
        p->table_offset = STUB_NBYTES;
        p->nentries = UINT64_C(1) << 8 * fastk->prefix_nbytes;
        p->prefix_bits = 8 * (int)fastk->prefix_nbytes;
        p->suffix_bytes = kmer_nbytes - (int)fastk->prefix_nbytes;
        p->unused_bits = 8 * kmer_nbytes - 2 * import->info.k;
        p->count_bytes = COUNT_NBYTES;
        p->limit = MAX_COUNT;
        p->max_count = MAX_COUNT;
        for (uint32_t i = 0; i < fastk->nparts; i++)
                KC_TRY(open_part(import, fastk, err));
        for (size_t i = 0; i < p->nparts; i++)
                p->nrecords += p->parts[i].nrecords;
        KC_TRY(kc_prefixed_begin(import, p, err));
out:
        return status;
}

static enum kc_status check_end(const struct kc_import *import, const struct kc_prefixed *p,
                                struct kc_error *err)
{
        uint64_t end;
        enum kc_status status;
        KC_TRY(kc_import_read_at(p->table, &end, sizeof end,
                                 p->table_offset + (p->nentries - 1) * sizeof end, err));
        if (end != p->nrecords)
                status = kc_fail(err, KC_EINPUT,
                                 "%s is damaged: its table of prefixes states %" PRIu64
                                 " k-mers, but its parts hold %" PRIu64 KC_DAMAGE_REMEDY,
                                 import->name, end, p->nrecords);
out:
        return status;
}

static enum kc_status open_fastk(struct kc_import *import, struct kc_error *err)
{
        struct fastk *fastk = import->state = calloc(1, sizeof *fastk);
        uint8_t stub[STUB_NBYTES];
        enum kc_status status;
        if (fastk == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        if (!kc_import_has_ending(import->path, ENDING))
                return kc_fail(err, KC_EINPUT,
                               "%s is a FastK table, but its name does not end with %s, so its "
                               "parts cannot be found",
                               import->name, ENDING);
        KC_TRY(kc_import_read_at(&import->in, stub, sizeof stub, 0, err));
        fastk->k = kc_unpack_u32(stub);
        fastk->nparts = kc_unpack_u32(stub + 4);
        fastk->prefix_nbytes = kc_unpack_u32(stub + 12);
        KC_TRY(kc_import_set_k(import, fastk->k, err));
        KC_TRY(set_up(import, fastk, err));
        KC_TRY(check_end(import, &fastk->prefixed, err));
        import->info.stranded = false;
        import->info.unique = true;
        import->info.expected_npairs = fastk->prefixed.nrecords;
out:
        return status;
}

static void close_fastk(void *state)
{
        struct fastk *fastk = state;
        if (fastk == NULL)
                return;
        kc_prefixed_free(&fastk->prefixed);
        free(fastk);
}

const struct kc_import_format kc_import_fastk = {
        .what = "a FastK table",
        .declares_strands = true,
        .recognizes = recognizes,
        .open = open_fastk,
        .read = kc_prefixed_read,
        .close = close_fastk,
};
