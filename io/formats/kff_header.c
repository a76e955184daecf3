#include "io/formats/kff_read.h"
#include "io/formats/unpack.h"
#include "io/input/damage.h"

#include <inttypes.h>
#include <string.h>

enum { HEADER_NBYTES = 12, VERSION = 1 };

static enum kc_status set_encoding(const struct kc_import *import, struct kc_kff *kff,
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
                return kc_kff_damaged(import, 5, "the encoding gives two bases the same code", err);
        kff->recoding.flip = ours[0];
        kff->recoding.low = ours[0] ^ ours[1];
        kff->recoding.high = ours[0] ^ ours[2];
        return KC_OK;
}

enum kc_status kc_kff_read_header(struct kc_import *import, struct kc_kff *kff,
                                  struct kc_error *err)
{
        uint8_t header[HEADER_NBYTES], mark[KC_KFF_MARK_NBYTES];
        const uint64_t size = import->in.size;
        enum kc_status status;
        if (size < HEADER_NBYTES + KC_KFF_MARK_NBYTES)
                return kc_fail(err, KC_EINPUT,
                               "%s is truncated: it has %" PRIu64 " bytes" KC_DAMAGE_REMEDY,
                               import->name, size);
        KC_TRY(kc_import_read_at(&import->in, header, sizeof header, 0, err));
        KC_TRY(kc_import_read_at(&import->in, mark, sizeof mark, size - sizeof mark, err));
        if (header[3] != VERSION)
                return kc_fail(err, KC_EINPUT,
                               "%s is a KFF file of version %d.%d; kcount reads version %d",
                               import->name, header[3], header[4], VERSION);
        if (memcmp(mark, "KFF", sizeof mark) != 0)
                return kc_fail(err, KC_EINPUT,
                               "%s is truncated: it does not end with KFF" KC_DAMAGE_REMEDY,
                               import->name);
        KC_TRY(set_encoding(import, kff, header[5], err));
        for (int at = 6; at <= 7; at++)
                if (header[at] > 1)
                        return kc_kff_damaged(import, (uint64_t)at, "a flag is neither 0 nor 1",
                                              err);
        import->info.unique = header[6] == 1;
        import->info.stranded = header[7] == 0;
        import->either_form = header[7] == 1;
        kff->end = size - KC_KFF_MARK_NBYTES;
        kff->at = HEADER_NBYTES + kc_unpack_big(header + 8, 4);
        if (kff->at > kff->end)
                status = kc_kff_truncated(import, 8, err);
out:
        return status;
}
