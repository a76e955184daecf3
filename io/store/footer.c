#include "io/store/footer.h"

#include "io/store/tally.h"
#include "kmer/remedy.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* ---- writing ---- */

uint32_t kc_header_version(uint32_t flags)
{
        return flags & KC_STORE_NEW_FLAGS ? KC_STORE_VERSION_FLAGGED : KC_STORE_VERSION;
}

void kc_header_fill(struct kc_store_header *header, int k, uint32_t flags, uint64_t only_checksum)
{
        memset(header, 0, sizeof *header);
        memcpy(header->magic, KC_STORE_MAGIC, sizeof header->magic);
        header->version = kc_header_version(flags);
        header->k = (uint32_t)k;
        header->flags = flags;
        header->only_checksum = flags & KC_STORE_ONLY ? only_checksum : 0;
        header->checksum = XXH3_64bits(header, offsetof(struct kc_store_header, checksum));
}

void kc_footer_ref_fill(struct kc_footer_ref *ref, uint64_t offset, const void *footer,
                        size_t nbytes)
{
        ref->offset = offset;
        ref->nbytes = nbytes;
        ref->checksum = XXH3_64bits(footer, nbytes);
        ref->ref_checksum = XXH3_64bits(ref, offsetof(struct kc_footer_ref, ref_checksum));
}

static enum kc_status append_names(struct kc_words *records, const struct kc_run_parts *parts,
                                   size_t nbytes, struct kc_error *err)
{
        char *names = malloc(nbytes + 1);
        if (names == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for the inputs' names");
        char *end = names;
        for (size_t i = 0; i < parts->nnames; i++)
                end = stpcpy(end, parts->names[i]) + 1;
        enum kc_status status = kc_words_append(records, names, nbytes, err);
        free(names);
        return status;
}

enum kc_status kc_footer_append_run(struct kc_words *records, struct kc_run_record *record,
                                    const struct kc_run_parts *parts, struct kc_error *err)
{
        enum kc_status status;
        const struct kc_words *firsts = parts->page_firsts, *checksums = parts->page_checksums;
        record->nhistogram = parts->nrows;
        record->nnames = parts->nnames;
        record->names_nbytes = 0;
        for (size_t i = 0; i < parts->nnames; i++)
                record->names_nbytes += strlen(parts->names[i]) + 1;

        KC_TRY(kc_words_append(records, record, sizeof *record, err));
        KC_TRY(kc_words_append(records, parts->rows, parts->nrows * sizeof *parts->rows, err));
        KC_TRY(kc_words_append(records, firsts->data, firsts->n * sizeof *firsts->data, err));
        KC_TRY(kc_words_append(records, checksums->data, checksums->n * sizeof *checksums->data,
                               err));
        KC_TRY(append_names(records, parts, record->names_nbytes, err));
out:
        return status;
}

enum kc_status kc_footer_assemble(struct kc_words *footer, uint64_t offset,
                                  const struct kc_words *kinds, const struct kc_words *records,
                                  struct kc_error *err)
{
        enum kc_status status;
        struct kc_footer_head head = { .offset = offset, .nruns = kinds->n };
        uint64_t checksum;
        memcpy(head.magic, KC_FOOTER_MAGIC, sizeof head.magic);
        head.nbytes =
                sizeof head + (kinds->n + records->n) * sizeof *records->data + sizeof checksum;
        footer->n = 0;
        KC_TRY(kc_words_append(footer, &head, sizeof head, err));
        KC_TRY(kc_words_append(footer, kinds->data, kinds->n * sizeof *kinds->data, err));
        KC_TRY(kc_words_append(footer, records->data, records->n * sizeof *records->data, err));
        checksum = XXH3_64bits(footer->data, footer->n * sizeof *footer->data);
        KC_TRY(kc_words_append(footer, &checksum, sizeof checksum, err));
out:
        return status;
}

/* ---- the header ---- */

bool kc_header_is_ours(const struct kc_store_header *header)
{
        return memcmp(header->magic, KC_STORE_MAGIC, sizeof header->magic) == 0;
}

enum kc_status kc_header_check(const struct kc_store_header *header, const char *path,
                               struct kc_error *err)
{
        if (!kc_header_is_ours(header))
                return kc_fail_remedy(err, KC_ECORRUPT, KC_REMEDY_COUNT,
                                      "%s is not a .kc file: it does not begin like one", path);
        if (header->version < KC_STORE_VERSION || header->version > KC_STORE_VERSION_FLAGGED)
                return kc_fail(
                        err, KC_ECORRUPT,
                        "%s has version %u of the .kc format; this program reads versions %d and "
                        "%d; a newer one may read it",
                        path, header->version, KC_STORE_VERSION, KC_STORE_VERSION_FLAGGED);
        if (header->checksum != XXH3_64bits(header, offsetof(struct kc_store_header, checksum)) ||
            header->k < 1 || header->k > KC_MAX_K || (header->flags & ~KC_STORE_FLAGS) != 0 ||
            header->version != kc_header_version(header->flags) ||
            (header->only_checksum != 0) != ((header->flags & KC_STORE_ONLY) != 0))
                return kc_fail_at(err, KC_ECORRUPT, KC_REMEDY_RESCUE, kc_byte_of(path, 0),
                                  "%s is damaged: its header (offset 0) is wrong", path);
        return KC_OK;
}

/* Whether k and strands fit: those that give the header's checksum, or, if none do because it is
 * damaged itself, those that the header states. */
static bool matches(const struct kc_store_header *header, const struct kc_store_header *sound,
                    bool by_checksum)
{
        return by_checksum ? header->checksum == sound->checksum
                           : memcmp(header, sound, offsetof(struct kc_store_header, checksum)) == 0;
}

bool kc_header_rebuild(struct kc_store_header *header)
{
        enum { NKINDS = (KC_STORE_FLAGS + 1) * KC_MAX_K }; /* all flags are low bits */
        for (int i = 0; i < 2 * NKINDS; i++) {
                const bool by_checksum = i < NKINDS;
                struct kc_store_header sound;
                kc_header_fill(&sound, 1 + i / (KC_STORE_FLAGS + 1) % KC_MAX_K,
                               (uint32_t)i % (KC_STORE_FLAGS + 1), header->only_checksum);
                if (!matches(header, &sound, by_checksum))
                        continue;
                memcpy(header, &sound, offsetof(struct kc_store_header, footer));
                return true;
        }
        return false;
}

bool kc_footer_ref_is_sound(const struct kc_footer_ref *ref)
{
        return XXH3_64bits(ref, offsetof(struct kc_footer_ref, ref_checksum)) == ref->ref_checksum;
}

bool kc_footer_ref_is_empty(const struct kc_footer_ref *ref)
{
        static const struct kc_footer_ref empty;
        return memcmp(ref, &empty, sizeof empty) == 0;
}

int kc_footer_ref_in_force(const struct kc_store_header *header)
{
        int best = -1;
        for (int i = 0; i < 2; i++)
                if (kc_footer_ref_is_sound(&header->footer[i]) &&
                    (best < 0 || header->footer[i].offset > header->footer[best].offset))
                        best = i;
        return best;
}

enum kc_status kc_footer_ref_check(const struct kc_footer_ref *ref, const char *path,
                                   uint64_t file_nbytes, struct kc_error *err)
{
        if (ref->offset < sizeof(struct kc_store_header) || ref->offset % 8 != 0 ||
            ref->nbytes % 8 != 0 || ref->nbytes < sizeof(struct kc_old_footer_head))
                return kc_fail_at(err, KC_ECORRUPT, KC_REMEDY_RESCUE, kc_byte_of(path, 64),
                                  "%s is damaged: its header (offset 64) points to no footer",
                                  path);
        if (ref->offset > file_nbytes || ref->nbytes > file_nbytes - ref->offset)
                return kc_fail_at(err, KC_ECORRUPT, KC_REMEDY_RESCUE, kc_byte_of(path, file_nbytes),
                                  "%s is truncated: it has %llu bytes, but its footer ends at "
                                  "%llu",
                                  path, (unsigned long long)file_nbytes,
                                  (unsigned long long)(ref->offset + ref->nbytes));
        return KC_OK;
}

/* ---- the footer ---- */

/* Reads a footer word by word. */
struct footer_scan {
        const uint64_t *at;
        size_t nleft; /* words */
};

/* The next nwords words, or NULL if there are fewer. */
static const void *scan(struct footer_scan *s, uint64_t nwords)
{
        if (nwords > s->nleft)
                return NULL;
        const uint64_t *at = s->at;
        s->at += nwords;
        s->nleft -= nwords;
        return at;
}

static bool rows_are_sound(const struct kc_run *run)
{
        uint64_t last = 0, nleft = run->record.ndistinct, sum_left = run->record.sum;
        for (uint64_t i = 0; i < run->record.nhistogram; i++) {
                const struct kc_histogram_row *row = &run->rows[i];
                uint64_t sum;
                if (row->count <= last || row->count > UINT32_MAX || row->ndistinct == 0 ||
                    row->ndistinct > nleft ||
                    __builtin_mul_overflow(row->count, row->ndistinct, &sum) || sum > sum_left)
                        return false;
                last = row->count;
                nleft -= row->ndistinct;
                sum_left -= sum;
        }
        return nleft == 0 && sum_left == 0;
}

static bool firsts_ascend(const struct kc_run *run, int nw)
{
        for (uint64_t p = 1; p < run->npages; p++)
                if (kc_kmer_compare(run->page_firsts + (p - 1) * (uint64_t)nw,
                                    run->page_firsts + p * (uint64_t)nw, nw) >= 0)
                        return false;
        return true;
}

static bool names_are_sound(const struct kc_run *run)
{
        uint64_t n = 0;
        for (uint64_t i = 0; i < run->record.names_nbytes; i++)
                n += run->names[i] == '\0';
        return n == run->record.nnames &&
               (n == 0 ? run->record.names_nbytes == 0
                       : run->names[run->record.names_nbytes - 1] == '\0');
}

/* Blocks and index lie inside the file, before the footer, and are as large as they must be. */
static bool places_are_sound(const struct kc_run *run, const struct kc_file_shape *file)
{
        const struct kc_run_record *r = &run->record;
        const uint64_t min_block_nbytes = (KC_BLOCK_MIN_WORDS + 1) * sizeof(uint64_t);
        if (r->blocks_offset < sizeof(struct kc_store_header) || r->blocks_offset % 8 != 0 ||
            r->index_offset % 8 != 0 || r->index_offset < r->blocks_offset ||
            r->index_offset > file->footer_offset)
                return false;
        if (run->nblocks > (r->index_offset - r->blocks_offset) / min_block_nbytes)
                return false;
        /* nblocks is below 2^59 now, so that this cannot overflow */
        return kc_index_words(run->nblocks, file->key_nwords, run->linked) <=
               (file->footer_offset - r->index_offset) / sizeof(uint64_t);
}

static bool parse_run(struct footer_scan *s, const struct kc_file_shape *file, struct kc_run *run)
{
        const void *record = scan(s, sizeof run->record / sizeof(uint64_t));
        if (record == NULL)
                return false;
        memcpy(&run->record, record, sizeof run->record);
        const struct kc_run_record *r = &run->record;
        run->nblocks = kc_run_nblocks(r->ndistinct);
        run->npages = kc_run_npages(r->ndistinct);
        if (!places_are_sound(run, file) || r->nhistogram > s->nleft ||
            r->names_nbytes > s->nleft * sizeof(uint64_t))
                return false;
        run->rows = scan(s, 2 * r->nhistogram);
        run->page_firsts = scan(s, run->npages * (uint64_t)file->key_nwords);
        run->page_checksums = scan(s, run->linked ? run->npages : 0);
        run->names = scan(s, kc_div_up(r->names_nbytes, sizeof(uint64_t)));
        if (run->kind == KC_RUN_TOMBSTONES && r->sum != r->ndistinct)
                return false; /* as the rows add up to these, all counts must be 1 */
        return run->rows != NULL && run->page_firsts != NULL && run->page_checksums != NULL &&
               run->names != NULL && rows_are_sound(run) && firsts_ascend(run, file->key_nwords) &&
               names_are_sound(run);
}

static bool has_magic(const uint64_t *footer, const char *magic)
{
        return memcmp(footer, magic, sizeof *footer) == 0;
}

bool kc_footer_is_old(const uint64_t *footer)
{
        return has_magic(footer, KC_OLD_FOOTER_MAGIC) ||
               has_magic(footer, KC_OLD_KINDS_FOOTER_MAGIC);
}

/* What precedes the records. */
struct footer_front {
        uint64_t offset, nruns; /* offset: UINT64_MAX for an old footer, which does not hold it */
        bool has_kinds, may_link;
        const uint64_t *kinds; /* [nruns] if has_kinds; otherwise all runs hold counts */
};

static bool scan_old_head(struct footer_scan *s, struct footer_front *front)
{
        front->has_kinds = has_magic(s->at, KC_OLD_KINDS_FOOTER_MAGIC);
        const struct kc_old_footer_head *head = scan(s, sizeof *head / sizeof *s->at);
        if (head == NULL)
                return false;
        front->offset = UINT64_MAX;
        front->nruns = head->nruns;
        return true;
}

/* Also removes the checksum from the end. */
static bool scan_head(struct footer_scan *s, struct footer_front *front)
{
        const struct footer_scan whole = *s;
        const struct kc_footer_head *head = scan(s, sizeof *head / sizeof *s->at);
        if (head == NULL || s->nleft == 0 || !has_magic(whole.at, KC_FOOTER_MAGIC) ||
            head->nbytes != whole.nleft * sizeof *whole.at)
                return false;
        s->nleft--;
        front->has_kinds = front->may_link = true;
        front->offset = head->offset;
        front->nruns = head->nruns;
        return XXH3_64bits(whole.at, head->nbytes - sizeof *whole.at) == whole.at[whole.nleft - 1];
}

static bool scan_front(struct footer_scan *s, struct footer_front *front)
{
        *front = (struct footer_front){ 0 };
        if (s->nleft == 0 ||
            !(kc_footer_is_old(s->at) ? scan_old_head(s, front) : scan_head(s, front)) ||
            front->nruns < 1 || front->nruns > KC_STORE_MAX_RUNS)
                return false;
        if (!front->has_kinds)
                return true;
        const uint64_t flags = front->may_link ? KC_RUN_LINKED : 0;
        front->kinds = scan(s, front->nruns);
        for (uint64_t i = 0; front->kinds != NULL && i < front->nruns; i++)
                if ((front->kinds[i] & ~flags) > KC_RUN_TOMBSTONES)
                        return false;
        return front->kinds != NULL;
}

const uint64_t *kc_footer_records(const uint64_t *footer, size_t nwords, size_t *nrecord_words)
{
        struct footer_scan s = { footer, nwords };
        struct footer_front front;
        scan_front(&s, &front);
        *nrecord_words = s.nleft;
        return s.at;
}

enum kc_status kc_footer_parse(const uint64_t *footer, size_t nwords,
                               const struct kc_file_shape *file, struct kc_run **runs,
                               uint32_t *nruns, struct kc_error *err)
{
        struct footer_scan s = { footer, nwords };
        struct footer_front front;
        struct kc_run *out = NULL;
        if (!scan_front(&s, &front) ||
            (front.offset != UINT64_MAX && front.offset != file->footer_offset))
                goto damaged;
        out = calloc(front.nruns, sizeof *out);
        if (out == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for opening %s", file->path);
        for (uint64_t i = 0; i < front.nruns; i++) {
                const uint64_t kind = front.has_kinds ? front.kinds[i] : KC_RUN_COUNTS;
                out[i].kind = (enum kc_run_kind)(kind & ~(uint64_t)KC_RUN_LINKED);
                out[i].linked = (kind & KC_RUN_LINKED) != 0;
                if (!parse_run(&s, file, &out[i]))
                        goto damaged;
        }
        if (s.nleft != 0)
                goto damaged;
        *runs = out;
        *nruns = (uint32_t)front.nruns;
        return KC_OK;
damaged:
        free(out);
        return kc_fail_at(err, KC_ECORRUPT, KC_REMEDY_RESCUE,
                          kc_byte_of(file->path, file->footer_offset),
                          "%s is damaged: its footer (offset %llu) is wrong", file->path,
                          (unsigned long long)file->footer_offset);
}

/* ---- what the runs hold ---- */

void kc_bounds_add(struct kc_bounds *bounds, const struct kc_run *run)
{
        const uint32_t min = (uint32_t)run->record.min_count, max = run->record.max_count;
        if (run->kind == KC_RUN_TOMBSTONES)
                return;
        if (bounds->nruns++ == 0) {
                bounds->min_count = min;
                bounds->max_count = max;
        }
        bounds->mixed |= run->record.mixed & (KC_MIXED_MIN | KC_MIXED_MAX);
        bounds->mixed |= min != bounds->min_count ? KC_MIXED_MIN : 0;
        bounds->mixed |= max != bounds->max_count ? KC_MIXED_MAX : 0;
        bounds->min_count = min < bounds->min_count ? min : bounds->min_count;
        bounds->max_count = max > bounds->max_count ? max : bounds->max_count;
}

static void add_run_info(struct kc_store_info *info, const struct kc_run *run)
{
        const struct kc_run_record *r = &run->record;
        info->nlinked_runs += run->linked;
        if (run->kind == KC_RUN_TOMBSTONES) {
                info->ntombstone_runs++;
                info->ntombstones += r->ndistinct;
                return;
        }
        info->ndistinct += r->ndistinct;
        info->sum += r->sum;
        info->nkmers += r->nkmers;
        info->nsaturated += r->nsaturated;
        info->ndropped_kmers += r->ndropped_kmers;
        info->ndropped_distinct += r->ndropped_distinct;
        info->nreads += r->nreads;
        info->nbases += r->nbases;
        info->nskipped += r->nskipped;
        info->nlow_quality += r->nlow_quality;
        if (r->nhistogram == 0)
                return;
        if (run->rows[0].count == 1)
                info->nunique += run->rows[0].ndistinct;
        uint64_t most = run->rows[r->nhistogram - 1].count;
        info->max_count = most > info->max_count ? most : info->max_count;
}

void kc_runs_info(const struct kc_run *runs, uint32_t nruns, struct kc_store_info *info)
{
        *info = (struct kc_store_info){ .version = KC_STORE_VERSION,
                                        .nruns = nruns,
                                        .min_count = 1,
                                        .max_count_kept = UINT32_MAX };
        struct kc_bounds bounds = { 0 };
        for (uint32_t r = 0; r < nruns; r++) {
                add_run_info(info, &runs[r]);
                kc_bounds_add(&bounds, &runs[r]);
        }
        if (bounds.nruns > 0) {
                info->min_count = bounds.min_count;
                info->max_count_kept = bounds.max_count;
                info->mixed = bounds.mixed;
        }
}
