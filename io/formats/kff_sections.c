/*
 * The sections of a KFF file: values are stored, indexes are skipped, and the walk stops at blocks.
 */
#include "io/formats/kff_read.h"
#include "io/formats/unpack.h"
#include "io/input/damage.h"

#include <inttypes.h>
#include <string.h>

enum {
        SECTION_NBYTES = 9, /* its type and a number */
        NAME_NBYTES = 256,  /* longest name of a value, with its NUL; those that matter are short */
        INDEX_ENTRY_NBYTES = 9,
        MAX_DATA_NBYTES = 8,
};

/* With this limit, the size of a block does not overflow. */
#define MAX_MAX (UINT64_C(1) << 56)

static const char *const value_names[KC_KFF_NVALUES] = { "k", "max", "data_size", "m" };

enum kc_status kc_kff_damaged(const struct kc_import *import, uint64_t at, const char *what,
                              struct kc_error *err)
{
        return kc_fail(err, KC_EINPUT, "%s is damaged: at byte %" PRIu64 ", %s" KC_DAMAGE_REMEDY,
                       import->name, at, what);
}

enum kc_status kc_kff_truncated(const struct kc_import *import, uint64_t at, struct kc_error *err)
{
        return kc_fail(err, KC_EINPUT,
                       "%s is truncated or damaged: it ends within the section at byte %" PRIu64
                               KC_DAMAGE_REMEDY,
                       import->name, at);
}

enum kc_status kc_kff_read_part(const struct kc_import *import, const struct kc_kff *kff, void *to,
                                uint64_t n, uint64_t offset, struct kc_error *err)
{
        if (offset > kff->end || n > kff->end - offset)
                return kc_kff_truncated(import, kff->at, err);
        return kc_import_read_at(&import->in, to, (size_t)n, offset, err);
}

static enum kc_status read_number(const struct kc_import *import, const struct kc_kff *kff,
                                  uint64_t offset, uint64_t *number, struct kc_error *err)
{
        uint8_t bytes[sizeof *number];
        enum kc_status status = kc_kff_read_part(import, kff, bytes, sizeof bytes, offset, err);
        *number = status == KC_OK ? kc_unpack_big_u64(bytes) : 0;
        return status;
}

static enum kc_status read_value(const struct kc_import *import, struct kc_kff *kff, uint64_t *at,
                                 struct kc_error *err)
{
        char text[NAME_NBYTES + sizeof(uint64_t)] = "";
        const uint64_t left = kff->end - *at;
        enum kc_status status;
        KC_TRY(kc_kff_read_part(import, kff, text, left < sizeof text ? left : sizeof text, *at,
                                err));
        const size_t length = strnlen(text, NAME_NBYTES);
        if (length == NAME_NBYTES)
                return kc_kff_damaged(import, *at, "the name of a value is too long", err);
        if (length + 1 + sizeof(uint64_t) > left)
                return kc_kff_truncated(import, kff->at, err);
        for (int i = 0; i < KC_KFF_NVALUES; i++)
                if (strcmp(text, value_names[i]) == 0) {
                        kff->value[i] = kc_unpack_big_u64(text + length + 1);
                        kff->known[i] = true;
                }
        *at += length + 1 + sizeof(uint64_t);
out:
        return status;
}

static enum kc_status read_values(const struct kc_import *import, struct kc_kff *kff,
                                  struct kc_error *err)
{
        uint64_t at = kff->at + SECTION_NBYTES, n;
        enum kc_status status;
        KC_TRY(read_number(import, kff, kff->at + 1, &n, err));
        memset(kff->known, 0, sizeof kff->known);
        for (uint64_t i = 0; i < n; i++)
                KC_TRY(read_value(import, kff, &at, err));
        if (kff->first_k == 0 && kff->known[KC_KFF_K])
                kff->first_k = kff->value[KC_KFF_K];
        kff->at = at;
out:
        return status;
}

static enum kc_status skip_index(const struct kc_import *import, struct kc_kff *kff,
                                 struct kc_error *err)
{
        uint64_t n, next;
        enum kc_status status;
        KC_TRY(read_number(import, kff, kff->at + 1, &n, err));
        if (n > (kff->end - kff->at) / INDEX_ENTRY_NBYTES)
                return kc_kff_truncated(import, kff->at, err);
        n = SECTION_NBYTES + n * INDEX_ENTRY_NBYTES;
        KC_TRY(read_number(import, kff, kff->at + n, &next, err));
        kff->at += n + sizeof next;
out:
        return status;
}

/* Bytes of a number up to max, as KFF defines it: log2(max) bits, rounded up. */
static size_t field_nbytes(uint64_t max)
{
        size_t nbits = 0;
        while (nbits < 64 && (max - 1) >> nbits != 0)
                nbits++;
        return (nbits + 7) / 8;
}

static enum kc_status check_values(const struct kc_import *import, const struct kc_kff *kff,
                                   bool minimizers, struct kc_error *err)
{
        const uint64_t *value = kff->value;
        for (int i = 0; i < (minimizers ? KC_KFF_NVALUES : KC_KFF_M); i++)
                if (!kff->known[i])
                        return kc_fail(err, KC_EINPUT,
                                       "%s is damaged: the section at byte %" PRIu64
                                       " needs the value \"%s\", which is missing" KC_DAMAGE_REMEDY,
                                       import->name, kff->at, value_names[i]);
        if (value[KC_KFF_MAX] < 1 || value[KC_KFF_MAX] > MAX_MAX)
                return kc_kff_damaged(import, kff->at, "the value \"max\" is out of range", err);
        if (minimizers && (value[KC_KFF_M] < 1 || value[KC_KFF_M] > value[KC_KFF_K]))
                return kc_kff_damaged(import, kff->at, "the value \"m\" is out of range", err);
        if (value[KC_KFF_DATA_SIZE] > MAX_DATA_NBYTES)
                return kc_fail(err, KC_EINPUT,
                               "%s holds %" PRIu64
                               " bytes of data for each k-mer; kcount reads counts of up to %d "
                               "bytes",
                               import->name, value[KC_KFF_DATA_SIZE], MAX_DATA_NBYTES);
        return KC_OK;
}

/* All k-mers of a file must have the same length. */
static enum kc_status agree_on_k(struct kc_import *import, const struct kc_kff *kff,
                                 struct kc_error *err)
{
        if (import->info.k == 0)
                return kc_import_set_k(import, kff->value[KC_KFF_K], err);
        if ((uint64_t)import->info.k != kff->value[KC_KFF_K])
                return kc_fail(err, KC_EINPUT,
                               "%s holds k-mers of different lengths: %d bases, and %" PRIu64
                               " bases in the section at byte %" PRIu64,
                               import->name, import->info.k, kff->value[KC_KFF_K], kff->at);
        return KC_OK;
}

static enum kc_status begin_blocks(struct kc_import *import, struct kc_kff *kff, bool minimizers,
                                   struct kc_error *err)
{
        const uint64_t *value = kff->value;
        struct kc_kff_blocks b = { 0 };
        enum kc_status status;
        KC_TRY(check_values(import, kff, minimizers, err));
        KC_TRY(agree_on_k(import, kff, err));
        b.max = value[KC_KFF_MAX];
        b.m = minimizers ? value[KC_KFF_M] : 0;
        b.n_nbytes = field_nbytes(b.max);
        b.place_nbytes = minimizers ? field_nbytes(value[KC_KFF_K] + b.max - 1) : 0;
        b.count_nbytes = (size_t)value[KC_KFF_DATA_SIZE];
        const uint64_t minimizer_nbytes = (b.m + 3) / 4;
        const uint64_t least =
                b.n_nbytes + b.place_nbytes + (value[KC_KFF_K] - b.m + 3) / 4 + b.count_nbytes;
        KC_TRY(kc_kff_read_part(import, kff, b.minimizer, minimizer_nbytes, kff->at + 1, err));
        KC_TRY(read_number(import, kff, kff->at + 1 + minimizer_nbytes, &b.n, err));
        const uint64_t at = kff->at + SECTION_NBYTES + minimizer_nbytes;
        if (least == 0)
                return kc_kff_damaged(import, kff->at, "a section has blocks of 0 bytes", err);
        if (b.n > (kff->end - at) / least)
                return kc_kff_truncated(import, kff->at, err);
        kff->at = at;
        kff->blocks = b;
out:
        return status;
}

enum kc_status kc_kff_next_section(struct kc_import *import, struct kc_kff *kff,
                                   struct kc_error *err)
{
        enum kc_status status = KC_OK;
        while (kff->blocks.n == 0 && kff->at < kff->end) {
                uint8_t type;
                KC_TRY(kc_kff_read_part(import, kff, &type, 1, kff->at, err));
                if (type == 'v')
                        KC_TRY(read_values(import, kff, err));
                else if (type == 'i')
                        KC_TRY(skip_index(import, kff, err));
                else if (type == 'r' || type == 'm')
                        KC_TRY(begin_blocks(import, kff, type == 'm', err));
                else
                        return kc_kff_damaged(import, kff->at, "a section has an unknown type",
                                              err);
        }
out:
        return status;
}
