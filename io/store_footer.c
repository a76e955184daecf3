#include "io/store_footer.h"

#include "io/store_tally.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* ---- writing ---- */

void kc_header_fill(struct kc_store_header *header, int k, bool stranded)
{
        memset(header, 0, sizeof *header);
        memcpy(header->magic, KC_STORE_MAGIC, sizeof header->magic);
        header->version = KC_STORE_VERSION;
        header->k = (uint32_t)k;
        header->flags = stranded ? KC_STORE_STRANDED : 0;
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
        const struct kc_words *firsts = parts->page_firsts;
        record->nhistogram = parts->nrows;
        record->nnames = parts->nnames;
        record->names_nbytes = 0;
        for (size_t i = 0; i < parts->nnames; i++)
                record->names_nbytes += strlen(parts->names[i]) + 1;

        KC_TRY(kc_words_append(records, record, sizeof *record, err));
        KC_TRY(kc_words_append(records, parts->rows, parts->nrows * sizeof *parts->rows, err));
        KC_TRY(kc_words_append(records, firsts->data, firsts->n * sizeof *firsts->data, err));
        KC_TRY(append_names(records, parts, record->names_nbytes, err));
out:
        return status;
}

enum kc_status kc_footer_assemble(struct kc_words *footer, const struct kc_words *kinds,
                                  const struct kc_words *records, struct kc_error *err)
{
        enum kc_status status;
        struct kc_footer_head head = { .nruns = kinds->n };
        bool only_counts = true;
        for (size_t i = 0; i < kinds->n; i++)
                only_counts &= kinds->data[i] == KC_RUN_COUNTS;
        memcpy(head.magic, only_counts ? KC_FOOTER_MAGIC : KC_FOOTER_KINDS_MAGIC,
               sizeof head.magic);
        footer->n = 0;
        KC_TRY(kc_words_append(footer, &head, sizeof head, err));
        if (!only_counts)
                KC_TRY(kc_words_append(footer, kinds->data, kinds->n * sizeof *kinds->data, err));
        KC_TRY(kc_words_append(footer, records->data, records->n * sizeof *records->data, err));
out:
        return status;
}

/* ---- the header ---- */

static bool ref_is_sound(const struct kc_footer_ref *ref)
{
        return XXH3_64bits(ref, offsetof(struct kc_footer_ref, ref_checksum)) == ref->ref_checksum;
}

bool kc_footer_ref_is_usable(const struct kc_footer_ref *ref)
{
        static const struct kc_footer_ref unused;
        return ref_is_sound(ref) || memcmp(ref, &unused, sizeof unused) == 0;
}

int kc_footer_ref_in_force(const struct kc_store_header *header)
{
        int best = -1;
        for (int i = 0; i < 2; i++)
                if (ref_is_sound(&header->footer[i]) &&
                    (best < 0 || header->footer[i].offset > header->footer[best].offset))
                        best = i;
        return best;
}

static enum kc_status choose_ref(const struct kc_store_header *header, const char *path,
                                 struct kc_footer_ref *ref, struct kc_error *err)
{
        int best = kc_footer_ref_in_force(header);
        if (best < 0)
                return kc_fail(err, KC_ECORRUPT,
                               "%s is damaged: its header (offset 64) does not say where the "
                               "footer is",
                               path);
        *ref = header->footer[best];
        return KC_OK;
}

enum kc_status kc_header_check(const struct kc_store_header *header, const char *path,
                               uint64_t file_nbytes, struct kc_footer_ref *ref,
                               struct kc_error *err)
{
        if (memcmp(header->magic, KC_STORE_MAGIC, sizeof header->magic) != 0)
                return kc_fail(err, KC_ECORRUPT, "%s is not a .kc file: it does not begin like one",
                               path);
        if (header->version != KC_STORE_VERSION)
                return kc_fail(err, KC_ECORRUPT,
                               "%s has version %u of the .kc format; this program reads version %d",
                               path, header->version, KC_STORE_VERSION);
        if (header->checksum != XXH3_64bits(header, offsetof(struct kc_store_header, checksum)) ||
            header->k < 1 || header->k > KC_MAX_K || (header->flags & ~KC_STORE_STRANDED) != 0)
                return kc_fail(err, KC_ECORRUPT, "%s is damaged: its header (offset 0) is wrong",
                               path);
        enum kc_status status = choose_ref(header, path, ref, err);
        if (status != KC_OK)
                return status;
        if (ref->offset < sizeof *header || ref->offset % 8 != 0 || ref->nbytes % 8 != 0 ||
            ref->nbytes < sizeof(struct kc_footer_head))
                return kc_fail(err, KC_ECORRUPT,
                               "%s is damaged: its header (offset 64) points to no footer", path);
        if (ref->offset > file_nbytes || ref->nbytes > file_nbytes - ref->offset)
                return kc_fail(err, KC_ECORRUPT,
                               "%s is truncated: it has %llu bytes, its footer ends at %llu", path,
                               (unsigned long long)file_nbytes,
                               (unsigned long long)(ref->offset + ref->nbytes));
        return KC_OK;
}

/* ---- the footer ---- */

/* Reads a footer from its beginning on. */
struct footer_scan {
        const uint64_t *at;
        size_t nleft; /* words */
};

/* The next nwords words, or NULL where there are not so many. */
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
        return kc_index_words(run->nblocks, file->key_nwords) <=
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
        run->names = scan(s, kc_div_up(r->names_nbytes, sizeof(uint64_t)));
        if (run->kind == KC_RUN_TOMBSTONES && r->sum != r->ndistinct)
                return false; /* as the rows add up to these, all counts are 1 */
        return run->rows != NULL && run->page_firsts != NULL && run->names != NULL &&
               rows_are_sound(run) && firsts_ascend(run, file->key_nwords) && names_are_sound(run);
}

static bool has_kinds(const struct kc_footer_head *head)
{
        return memcmp(head->magic, KC_FOOTER_KINDS_MAGIC, sizeof head->magic) == 0;
}

size_t kc_footer_records_at(const uint64_t *footer, uint32_t nruns)
{
        const struct kc_footer_head *head = (const void *)footer;
        return sizeof *head / sizeof *footer + (has_kinds(head) ? nruns : 0);
}

/* The head and the kinds; false where they cannot be. */
static bool parse_head(struct footer_scan *s, uint64_t *nruns, const uint64_t **kinds)
{
        const struct kc_footer_head *head = scan(s, sizeof *head / sizeof(uint64_t));
        if (head == NULL || head->nruns < 1 || head->nruns > KC_STORE_MAX_RUNS)
                return false;
        *nruns = head->nruns;
        *kinds = NULL;
        if (!has_kinds(head))
                return memcmp(head->magic, KC_FOOTER_MAGIC, sizeof head->magic) == 0;
        *kinds = scan(s, head->nruns);
        for (uint64_t i = 0; *kinds != NULL && i < head->nruns; i++)
                if ((*kinds)[i] > KC_RUN_TOMBSTONES)
                        return false;
        return *kinds != NULL;
}

enum kc_status kc_footer_parse(const uint64_t *footer, size_t nwords,
                               const struct kc_file_shape *file, struct kc_run **runs,
                               uint32_t *nruns, struct kc_error *err)
{
        struct footer_scan s = { footer, nwords };
        struct kc_run *out = NULL;
        const uint64_t *kinds;
        uint64_t n;
        if (!parse_head(&s, &n, &kinds))
                goto damaged;
        out = calloc(n, sizeof *out);
        if (out == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for opening %s", file->path);
        for (uint64_t i = 0; i < n; i++) {
                out[i].kind = kinds == NULL ? KC_RUN_COUNTS : (enum kc_run_kind)kinds[i];
                if (!parse_run(&s, file, &out[i]))
                        goto damaged;
        }
        if (s.nleft != 0)
                goto damaged;
        *runs = out;
        *nruns = (uint32_t)n;
        return KC_OK;
damaged:
        free(out);
        return kc_fail(err, KC_ECORRUPT, "%s is damaged: its footer (offset %llu) is wrong",
                       file->path, (unsigned long long)file->footer_offset);
}
