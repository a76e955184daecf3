/*
 * Which footer is in force. Normally the header's references decide. A damaged reference looks like
 * one that a crash has torn. In both cases the newest footer is on the disk, since it is flushed
 * before its reference is written, so a search can find it. If bytes after the footer found belong
 * to no footer, they decide whether it can be the newest (see docs/dev/kc-file.md).
 */
#include "io/store/find.h"
#include "kmer/remedy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum {
        SEARCH_NBYTES = 1 << 20, /* read at once */
        /* Every append writes one footer and at least one run. */
        MAX_CANDIDATES = KC_STORE_MAX_RUNS,
};

void kc_store_drop_footer(struct kc_store *store)
{
        free(store->footer);
        free(store->runs);
        store->footer = NULL;
        store->runs = NULL;
        store->warning = (struct kc_error){ 0 };
        store->nruns = 0;
        store->footing = KC_FOOTING_SOUND;
}

/* Load the footer of nbytes at offset, which lies in the file. */
static enum kc_status load(struct kc_store *store, uint64_t offset, uint64_t nbytes,
                           struct kc_error *err)
{
        enum kc_status status;
        const struct kc_file_shape shape = { .path = store->path,
                                             .nbytes = store->nbytes,
                                             .footer_offset = offset,
                                             .key_nwords = store->nwords };
        kc_store_drop_footer(store);
        store->footer_offset = offset;
        store->footer_nbytes = nbytes;
        store->footer = malloc(nbytes);
        if (store->footer == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for opening %s", store->path);
        KC_TRY(kc_store_pread(store, store->footer, nbytes, offset, err));
        KC_TRY(kc_footer_parse(store->footer, nbytes / sizeof *store->footer, &shape, &store->runs,
                               &store->nruns, err));
out:
        return status;
}

static enum kc_status load_referenced(struct kc_store *store, const struct kc_footer_ref *ref,
                                      struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(kc_footer_ref_check(ref, store->path, store->nbytes, err));
        KC_TRY(load(store, ref->offset, ref->nbytes, err));
        if (XXH3_64bits(store->footer, ref->nbytes) != ref->checksum)
                status = kc_fail_at(err, KC_ECORRUPT, KC_REMEDY_RESCUE,
                                    kc_byte_of(store->path, ref->offset),
                                    "%s is damaged: its footer (offset %llu) has a wrong "
                                    "checksum",
                                    store->path, (unsigned long long)ref->offset);
out:
        return status;
}

/* Both references are sound. A file that was written once has two references to its only footer;
 * if that one cannot be read, there is nothing that could be rescued. */
static enum kc_status load_in_force(struct kc_store *store, const struct kc_store_header *header,
                                    const struct kc_footer_ref *ref, struct kc_error *err)
{
        struct kc_error own = { 0 };
        const enum kc_status status = load_referenced(store, ref, &own);
        if (status == KC_ECORRUPT && header->footer[0].offset == header->footer[1].offset)
                return kc_fail(err, status, "%s, and it has no other; count the reads again",
                               own.message);
        return status == KC_OK ? KC_OK : kc_fail_as(err, &own);
}

/* ---- the search ---- */

/* As load, but a footer that is not sound counts as not found, not as a failure. */
static enum kc_status try_to_load(struct kc_store *store, uint64_t offset, uint64_t nbytes,
                                  bool *found, struct kc_error *err)
{
        struct kc_error own = { 0 };
        const enum kc_status status = load(store, offset, nbytes, &own);
        *found = status == KC_OK;
        if (status == KC_OK || status == KC_ECORRUPT)
                return KC_OK;
        return kc_fail_as(err, &own);
}

/* There is a footer's magic at offset: load the footer if it is sound. */
static enum kc_status try_candidate(struct kc_store *store, uint64_t offset, bool *found,
                                    struct kc_error *err)
{
        struct kc_footer_head head;
        if (store->nbytes - offset < sizeof head)
                return KC_OK;
        enum kc_status status = kc_store_pread(store, &head, sizeof head, offset, err);
        if (status != KC_OK || head.offset != offset || head.nbytes > store->nbytes - offset ||
            head.nbytes < sizeof head || head.nbytes % 8 != 0)
                return status;
        return try_to_load(store, offset, head.nbytes, found, err);
}

/* As try_candidate, for a footer of an earlier version. It does not state its length, but if it was
 * written last, it ends where the file does, and its records must fill it exactly. */
static enum kc_status try_old_candidate(struct kc_store *store, uint64_t offset, bool *found,
                                        struct kc_error *err)
{
        if (store->nbytes % 8 != 0)
                return KC_OK;
        return try_to_load(store, offset, store->nbytes - offset, found, err);
}

static bool has_magic(const uint64_t *word, bool old)
{
        return old ? kc_footer_is_old(word) : memcmp(word, KC_FOOTER_MAGIC, sizeof *word) == 0;
}

/* Load the last sound footer that begins in [begin, the file's end), of the new or the old kind. */
static enum kc_status search(struct kc_store *store, uint64_t begin, bool old, bool *found,
                             struct kc_error *err)
{
        enum kc_status status = KC_OK;
        uint64_t *words = malloc(SEARCH_NBYTES);
        int ncandidates = 0;
        *found = false;
        if (words == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for opening %s", store->path);
        for (uint64_t end = store->nbytes / 8 * 8; end > begin && !*found;) {
                size_t n = end - begin < SEARCH_NBYTES ? (size_t)(end - begin) : SEARCH_NBYTES;
                end -= n;
                KC_TRY(kc_store_pread(store, words, n, end, err));
                for (size_t i = n / 8; i-- > 0 && !*found && ncandidates < MAX_CANDIDATES;) {
                        if (!has_magic(&words[i], old))
                                continue;
                        ncandidates++;
                        KC_TRY(old ? try_old_candidate(store, end + 8 * i, found, err)
                                   : try_candidate(store, end + 8 * i, found, err));
                }
        }
out:
        free(words);
        return status;
}

/* ---- the choice ---- */

/* The part of a message that names the references that are not sound. */
static const char *name_unsound(const struct kc_store_header *header)
{
        const bool first = kc_footer_ref_is_sound(&header->footer[0]);
        if (!first && !kc_footer_ref_is_sound(&header->footer[1]))
                return "both footer references (offsets 64 and 96) are";
        return first ? "the footer reference at offset 96 is"
                     : "the footer reference at offset 64 is";
}

static uint64_t footer_end(const struct kc_store *store)
{
        return store->footer_offset + store->footer_nbytes;
}

/* Set the footing and the warning that goes with it. */
static void settle(struct kc_store *store, const struct kc_store_header *header,
                   enum kc_footing footing)
{
        const char *unsound = name_unsound(header);
        store->footing = footing;
        if (footing == KC_FOOTING_MENDABLE)
                kc_fail_file(&store->warning, KC_EUNTIDY, KC_REMEDY_CHANGE, store->path,
                             "%s: %s damaged, but no data is lost", store->path, unsound);
        else if (footing == KC_FOOTING_DOUBTFUL)
                kc_fail_file(&store->warning, KC_ECORRUPT, KC_REMEDY_RESCUE, store->path,
                             "%s: %s damaged or was never written, and the %llu bytes from "
                             "offset %llu on belong to no footer: what was added last may be "
                             "missing",
                             store->path, unsound,
                             (unsigned long long)(store->nbytes - footer_end(store)),
                             (unsigned long long)footer_end(store));
}

/* The only sound reference leads to the loaded footer, and the search found no newer one. */
static enum kc_status settle_for_reference(struct kc_store *store,
                                           const struct kc_store_header *header,
                                           const struct kc_footer_ref *other, struct kc_error *err)
{
        const bool is_old = kc_footer_is_old(store->footer);
        if (kc_store_is_at_end(store))
                /* in a file of an earlier version, the second reference is empty until an append */
                settle(store, header,
                       is_old && kc_footer_ref_is_empty(other) ? KC_FOOTING_SOUND
                                                               : KC_FOOTING_MENDABLE);
        else if (is_old)
                settle(store, header, KC_FOOTING_DOUBTFUL);
        else
                return kc_fail_at(err, KC_ECORRUPT, KC_REMEDY_RESCUE,
                                  kc_byte_of(store->path, footer_end(store)),
                                  "%s is damaged: %s wrong, and no sound footer was found in "
                                  "the %llu bytes from offset %llu on, which were added last",
                                  store->path, name_unsound(header),
                                  (unsigned long long)(store->nbytes - footer_end(store)),
                                  (unsigned long long)footer_end(store));
        return KC_OK;
}

enum kc_status kc_store_find_footer(struct kc_store *store, const struct kc_store_header *header,
                                    struct kc_error *err)
{
        enum kc_status status;
        const int best = kc_footer_ref_in_force(header);
        const struct kc_footer_ref *ref = best < 0 ? NULL : &header->footer[best];
        bool found;
        if (best >= 0 && kc_footer_ref_is_sound(&header->footer[1 - best]))
                return load_in_force(store, header, ref, err);
        if (best >= 0)
                KC_TRY(kc_footer_ref_check(ref, store->path, store->nbytes, err));
        KC_TRY(search(store, ref == NULL ? sizeof *header : ref->offset + ref->nbytes, false,
                      &found, err));
        if (found) {
                settle(store, header,
                       kc_store_is_at_end(store) ? KC_FOOTING_MENDABLE : KC_FOOTING_DOUBTFUL);
        } else if (ref != NULL) {
                KC_TRY(load_referenced(store, ref, err));
                KC_TRY(settle_for_reference(store, header, &header->footer[1 - best], err));
        } else {
                status = kc_fail_at(err, KC_ECORRUPT, KC_REMEDY_RESCUE, kc_byte_of(store->path, 64),
                                    "%s is damaged: its header (offset 64) does not say where "
                                    "the footer is, and no sound footer was found",
                                    store->path);
        }
out:
        return status;
}

/* ---- any state at all ---- */

/* A state, and whether a sound reference leads to a newer one that cannot be read. */
struct candidate {
        uint64_t offset, nbytes; /* 0: none */
        bool is_surpassed;
};

static void note(struct candidate *newest, const struct kc_store *store)
{
        if (store->footer_offset > newest->offset)
                *newest = (struct candidate){ .offset = store->footer_offset,
                                              .nbytes = store->footer_nbytes };
}

/* Among all footers: those that are sound by themselves, those that a sound reference leads to, and
 * one of the old kind at the file's end. */
static enum kc_status find_newest(struct kc_store *store, const struct kc_store_header *header,
                                  struct candidate *newest, struct kc_error *err)
{
        enum kc_status status;
        uint64_t most = 0; /* largest offset that a sound reference gives */
        for (int old = 0; old < 2; old++) {
                bool found;
                KC_TRY(search(store, sizeof *header, old, &found, err));
                if (found)
                        note(newest, store);
        }
        for (int i = 0; i < 2; i++) {
                struct kc_error own = { 0 };
                if (!kc_footer_ref_is_sound(&header->footer[i]))
                        continue;
                most = header->footer[i].offset > most ? header->footer[i].offset : most;
                status = load_referenced(store, &header->footer[i], &own);
                if (status == KC_OK)
                        note(newest, store);
                else if (status != KC_ECORRUPT)
                        return kc_fail_as(err, &own);
        }
        newest->is_surpassed = most > newest->offset;
        status = KC_OK;
out:
        return status;
}

static void settle_for_newest(struct kc_store *store, const struct candidate *newest)
{
        if (!newest->is_surpassed && kc_store_is_at_end(store)) {
                store->footing = KC_FOOTING_MENDABLE;
                return;
        }
        store->footing = KC_FOOTING_DOUBTFUL;
        kc_fail(&store->warning, KC_ECORRUPT,
                "%s: the newest sound footer is at offset %llu; what was added after it, in the "
                "bytes from offset %llu on, is lost",
                store->path, (unsigned long long)store->footer_offset,
                (unsigned long long)footer_end(store));
}

enum kc_status kc_store_find_any_footer(struct kc_store *store,
                                        const struct kc_store_header *header, struct kc_error *err)
{
        enum kc_status status;
        struct kc_error own = { 0 };
        struct candidate newest = { 0 };
        status = kc_store_find_footer(store, header, &own);
        if (status == KC_OK && store->footing != KC_FOOTING_DOUBTFUL)
                return KC_OK;
        if (status != KC_OK && status != KC_ECORRUPT)
                return kc_fail_as(err, &own);
        KC_TRY(find_newest(store, header, &newest, err));
        if (newest.offset == 0)
                return kc_fail(err, KC_ECORRUPT,
                               "%s is damaged beyond rescue: none of its footers is sound; count "
                               "the reads again",
                               store->path);
        KC_TRY(load(store, newest.offset, newest.nbytes, err));
        settle_for_newest(store, &newest);
out:
        return status;
}
