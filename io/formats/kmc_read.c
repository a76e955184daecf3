/*
 * KMC's databases: NAME.kmc_pre, a table of prefixes, and NAME.kmc_suf, records of suffixes and
 * counts. Layouts: KMC's API, kmc_api/kmc_file.cpp. Both files begin and end with a mark.
 *
 *      pre, version 0 (kmc_tools):  KMCP | first record of each prefix: u64
 *                                   | header | its length: u32 | KMCP
 *      pre, version 0x200 (kmc):    KMCP | the same for each bin in turn, and one more: u64
 *                                   | bin of each signature: u32 | header | its length: u32 | KMCP
 *      suf:                         KMCS | records | KMCS
 *
 * The header's last word is the version. Entry 0 of the table, which is 0, is skipped here, so that
 * entry i is where the records of prefix i end.
 */
#include "io/formats/prefixed.h"
#include "io/formats/unpack.h"
#include "io/input/damage.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
        MARK_NBYTES = 4,
        VERSION_SORTED = 0,
        VERSION_BINS = 0x200,
        HEADER_NBYTES = 45, /* of either version, at least */
        MAX_SIGNATURE = 12,
        MAX_PREFIX = 15, /* bases */
        MAX_COUNT_NBYTES = 8,
};

struct kmc {
        struct kc_prefixed prefixed; /* first, for kc_prefixed_read */
        struct kc_input pre;
        char *pre_path;
};

/* The fields of the header, and what follows from them. */
struct kmc_header {
        uint32_t k, mode, count_nbytes, prefix_nbases, signature_nbases;
        uint64_t min_count, max_count, nkmers;
        bool canonical;
        uint64_t nentries; /* of the table, without entry 0 */
};

static bool recognizes(const struct kc_import *import, const uint8_t *head, size_t n)
{
        (void)import;
        return n >= MARK_NBYTES && (memcmp(head, "KMCP", 4) == 0 || memcmp(head, "KMCS", 4) == 0);
}

/* Derive the names of both files from that of one. */
static enum kc_status name_files(struct kmc *kmc, const char *path, struct kc_error *err)
{
        const size_t length = strlen(path), ending = sizeof ".kmc_pre" - 1;
        if (!kc_import_has_ending(path, ".kmc_pre") && !kc_import_has_ending(path, ".kmc_suf"))
                return kc_fail(err, KC_EINPUT,
                               "%s is part of a KMC database, but its name ends neither with "
                               ".kmc_pre nor with .kmc_suf",
                               path);
        kmc->pre_path = kc_import_join(path, length - ending, ".kmc_pre");
        if (kmc->pre_path == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        return kc_prefixed_add_part(&kmc->prefixed,
                                    kc_import_join(path, length - ending, ".kmc_suf"), err);
}

/* Open a file and check that it begins and ends with its mark. */
static enum kc_status open_marked(struct kc_import *import, struct kc_input *in, const char *path,
                                  const char *mark, struct kc_error *err)
{
        uint8_t begin[MARK_NBYTES], end[MARK_NBYTES];
        enum kc_status status;
        KC_TRY(kc_import_open_file(import, in, path, err));
        if (!in->regular || in->size < 2 * MARK_NBYTES)
                return kc_fail(err, KC_EINPUT,
                               "%s is truncated: it has %" PRIu64 " bytes" KC_DAMAGE_REMEDY, path,
                               in->size);
        KC_TRY(kc_import_read_at(in, begin, MARK_NBYTES, 0, err));
        KC_TRY(kc_import_read_at(in, end, MARK_NBYTES, in->size - MARK_NBYTES, err));
        if (memcmp(begin, mark, MARK_NBYTES) != 0)
                return kc_fail(err, KC_EINPUT,
                               "%s is damaged: it does not begin with %s" KC_DAMAGE_REMEDY, path,
                               mark);
        if (memcmp(end, mark, MARK_NBYTES) != 0)
                return kc_fail(err, KC_EINPUT,
                               "%s is truncated: it does not end with %s" KC_DAMAGE_REMEDY, path,
                               mark);
out:
        return status;
}

static enum kc_status bad_header(const struct kmc *kmc, const char *what, uint64_t value,
                                 struct kc_error *err)
{
        return kc_fail(err, KC_EINPUT,
                       "%s is damaged: the %s in its header is %" PRIu64 KC_DAMAGE_REMEDY,
                       kmc->pre_path, what, value);
}

/* Extract the fields. The first four are the same in both layouts. */
static void parse_header(const uint8_t *at, uint32_t version, struct kmc_header *h)
{
        const bool bins = version == VERSION_BINS;
        h->k = kc_unpack_u32(at);
        h->mode = kc_unpack_u32(at + 4);
        h->count_nbytes = kc_unpack_u32(at + 8);
        h->prefix_nbases = kc_unpack_u32(at + 12);
        h->signature_nbases = bins ? kc_unpack_u32(at + 16) : 0;
        at += bins ? 20 : 16;
        h->min_count = kc_unpack_u32(at);
        h->max_count = kc_unpack_u32(at + 4);
        h->nkmers = kc_unpack_u64(at + 8);
        h->canonical = at[16] == 0;
        if (!bins)
                h->max_count |= (uint64_t)kc_unpack_u32(at + 17) << 32;
}

static enum kc_status check_header(const struct kmc *kmc, const struct kmc_header *h,
                                   struct kc_error *err)
{
        if (h->mode != 0)
                return kc_fail(err, KC_EINPUT,
                               "%s holds counts weighted by quality, which kcount cannot read",
                               kmc->pre_path);
        if (h->count_nbytes > MAX_COUNT_NBYTES)
                return bad_header(kmc, "size of counts", h->count_nbytes, err);
        if (h->prefix_nbases > MAX_PREFIX || h->prefix_nbases > h->k ||
            (h->k - h->prefix_nbases) % 4 != 0)
                return bad_header(kmc, "length of prefixes", h->prefix_nbases, err);
        if (h->signature_nbases > MAX_SIGNATURE)
                return bad_header(kmc, "length of signatures", h->signature_nbases, err);
        return KC_OK;
}

/*
 * Derive the number of entries from the bytes that are left for the table, which holds whole bins.
 * The sorted layout has one bin, and its last entry, the end of all records, may be missing.
 */
static enum kc_status size_table(const struct kmc *kmc, uint32_t version, uint64_t header_at,
                                 struct kmc_header *h, struct kc_error *err)
{
        const uint64_t bin = UINT64_C(1) << 2 * h->prefix_nbases, word = sizeof(uint64_t);
        const bool bins = version == VERSION_BINS;
        const uint64_t map = bins ? 4 * ((UINT64_C(1) << 2 * h->signature_nbases) + 1) : 0;
        const uint64_t nbytes = header_at > MARK_NBYTES + map ? header_at - MARK_NBYTES - map : 0;
        const uint64_t nwords = nbytes / word;
        h->nentries = bins ? nwords - 1 : bin;
        if (nbytes % word != 0 || nwords < bin || (bins && (nwords - 1) % bin != 0) ||
            (bins && nwords == 1) || (!bins && nwords > bin + 1))
                return kc_fail(err, KC_EINPUT,
                               "%s is truncated or damaged: %" PRIu64
                               " bytes are left for its table of prefixes" KC_DAMAGE_REMEDY,
                               kmc->pre_path, nbytes);
        return KC_OK;
}

static enum kc_status read_header(struct kc_import *import, struct kmc *kmc, struct kmc_header *h,
                                  struct kc_error *err)
{
        uint8_t end[12], header[HEADER_NBYTES];
        enum kc_status status;
        if (kmc->pre.size < MARK_NBYTES + sizeof end)
                return kc_fail(err, KC_EINPUT,
                               "%s is truncated: it has %" PRIu64 " bytes" KC_DAMAGE_REMEDY,
                               kmc->pre_path, kmc->pre.size);
        KC_TRY(kc_import_read_at(&kmc->pre, end, sizeof end, kmc->pre.size - sizeof end, err));
        const uint32_t version = kc_unpack_u32(end);
        const uint64_t length = kc_unpack_u32(end + 4);
        if (version != VERSION_SORTED && version != VERSION_BINS)
                return bad_header(kmc, "version", version, err);
        if (length < HEADER_NBYTES || length + 8 + MARK_NBYTES > kmc->pre.size)
                return bad_header(kmc, "length", length, err);
        const uint64_t header_at = kmc->pre.size - 8 - length;
        KC_TRY(kc_import_read_at(&kmc->pre, header, sizeof header, header_at, err));
        parse_header(header, version, h);
        KC_TRY(kc_import_set_k(import, h->k, err));
        KC_TRY(check_header(kmc, h, err));
        KC_TRY(size_table(kmc, version, header_at, h, err));
out:
        return status;
}

static enum kc_status set_up(struct kc_import *import, struct kmc *kmc, const struct kmc_header *h,
                             struct kc_error *err)
{
        struct kc_prefixed *p = &kmc->prefixed;
        uint64_t first;
        enum kc_status status;
        p->table = &kmc->pre;
        p->table_offset = MARK_NBYTES + sizeof(uint64_t);
        p->nentries = h->nentries;
        p->nrecords = h->nkmers;
        p->prefix_bits = 2 * (int)h->prefix_nbases;
        p->suffix_bytes = (int)(h->k - h->prefix_nbases) / 4;
        p->count_bytes = (int)h->count_nbytes;
        p->limit = kc_import_limit(h->count_nbytes);
        p->min_count = h->count_nbytes > 0 ? h->min_count : 0;
        p->max_count = h->count_nbytes > 0 ? h->max_count : UINT64_MAX;
        const uint64_t record = (uint64_t)(p->suffix_bytes + p->count_bytes);
        const uint64_t nbytes = p->parts[0].in.size - 2 * MARK_NBYTES;
        if (record == 0 && h->nkmers > h->nentries)
                return bad_header(kmc, "number of k-mers", h->nkmers, err);
        p->parts[0].offset = MARK_NBYTES;
        p->parts[0].nrecords = record > 0 ? nbytes / record : h->nkmers;
        if (record > 0 && nbytes % record != 0)
                return kc_fail(err, KC_EINPUT,
                               "%s is truncated or damaged: %" PRIu64
                               " bytes are not a whole number of records" KC_DAMAGE_REMEDY,
                               p->parts[0].path, nbytes);
        KC_TRY(kc_prefixed_begin(import, p, err));
        KC_TRY(kc_import_read_at(&kmc->pre, &first, sizeof first, MARK_NBYTES, err));
        if (first != 0)
                status = kc_fail(err, KC_EINPUT,
                                 "%s is damaged: its table of prefixes does not begin with "
                                 "0" KC_DAMAGE_REMEDY,
                                 kmc->pre_path);
out:
        return status;
}

static enum kc_status open_kmc(struct kc_import *import, struct kc_error *err)
{
        struct kmc *kmc = calloc(1, sizeof *kmc);
        struct kmc_header header = { 0 };
        enum kc_status status;
        import->state = kmc;
        if (kmc == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        kmc->pre.fd = -1;
        KC_TRY(name_files(kmc, import->path, err));
        KC_TRY(open_marked(import, &kmc->pre, kmc->pre_path, "KMCP", err));
        KC_TRY(open_marked(import, &kmc->prefixed.parts[0].in, kmc->prefixed.parts[0].path, "KMCS",
                           err));
        KC_TRY(read_header(import, kmc, &header, err));
        KC_TRY(set_up(import, kmc, &header, err));
        import->info.stranded = !header.canonical;
        import->info.unique = true;
        import->info.expected_npairs = header.nkmers;
out:
        return status;
}

static void close_kmc(void *state)
{
        struct kmc *kmc = state;
        if (kmc == NULL)
                return;
        kc_prefixed_free(&kmc->prefixed);
        kc_input_close(&kmc->pre);
        free(kmc->pre_path);
        free(kmc);
}

const struct kc_import_format kc_import_kmc = {
        .what = "a KMC database",
        .declares_strands = true,
        .recognizes = recognizes,
        .open = open_kmc,
        .read = kc_prefixed_read,
        .close = close_kmc,
};
