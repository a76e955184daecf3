/*
 * A hash table with linear probing. A slot holds the place of an entry, which is the value, the
 * length of the name, and the name. Entries lie in chunks, which never move.
 */
#include "app/filter/names.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum {
        CHUNK_BITS = 20,
        CHUNK_NBYTES = 1 << CHUNK_BITS,
        LEAST_SLOTS = 1 << 12,
        TAG_SHIFT = 44, /* a slot has a place below this bit, and bits of the hash from it on */
};

#define PLACE_MASK ((UINT64_C(1) << TAG_SHIFT) - 1)

static uint64_t hash_of(const char *name, size_t nbytes)
{
        return XXH3_64bits(name, nbytes);
}

/* Place 0 is not used: it stands for an empty slot. */
static char *entry_at(const struct names *names, uint64_t slot)
{
        const uint64_t place = (slot & PLACE_MASK) - 1;
        return names->chunks[place >> CHUNK_BITS] + (place & (CHUNK_NBYTES - 1));
}

static size_t name_nbytes(const struct names *names, const char *entry)
{
        return (unsigned char)entry[names->value_nbytes];
}

static const char *name_of(const struct names *names, const char *entry)
{
        return entry + names->value_nbytes + 1;
}

static bool has_name(const struct names *names, uint64_t slot, uint64_t hash, const char *name,
                     size_t nbytes)
{
        if ((slot ^ hash) & ~PLACE_MASK)
                return false;
        const char *entry = entry_at(names, slot);
        return name_nbytes(names, entry) == nbytes &&
               memcmp(name_of(names, entry), name, nbytes) == 0;
}

/* The slot of the name, or the empty one where it belongs. */
static uint64_t *find_slot(const struct names *names, uint64_t hash, const char *name,
                           size_t nbytes)
{
        const size_t mask = names->nslots - 1;
        size_t at = hash & mask;
        while (names->slots[at] != 0 && !has_name(names, names->slots[at], hash, name, nbytes))
                at = (at + 1) & mask;
        return &names->slots[at];
}

/* ---- growing ---- */

/* Whether so many bytes more are allowed. */
static bool fits(const struct names *names, uint64_t nbytes)
{
        return nbytes <= names->most_nbytes && names->nbytes <= names->most_nbytes - nbytes;
}

static enum kc_status no_memory(struct kc_error *err)
{
        return kc_fail(err, KC_ENOMEM, "out of memory for the names of reads");
}

static void move_slots(struct names *to, const struct names *from)
{
        const size_t mask = to->nslots - 1;
        for (size_t i = 0; i < from->nslots; i++) {
                if (from->slots[i] == 0)
                        continue;
                const char *entry = entry_at(from, from->slots[i]);
                size_t at = hash_of(name_of(from, entry), name_nbytes(from, entry)) & mask;
                while (to->slots[at] != 0)
                        at = (at + 1) & mask;
                to->slots[at] = from->slots[i];
        }
}

/* At most three quarters of the slots are used. */
static enum kc_status grow_slots(struct names *names, bool *has_room, struct kc_error *err)
{
        struct names grown = *names;
        *has_room = names->n < names->nslots / 4 * 3;
        if (*has_room)
                return KC_OK;
        grown.nslots = names->nslots > 0 ? 2 * names->nslots : LEAST_SLOTS;
        *has_room = fits(names, grown.nslots * sizeof *grown.slots);
        if (!*has_room)
                return KC_OK;
        grown.slots = calloc(grown.nslots, sizeof *grown.slots);
        if (grown.slots == NULL)
                return no_memory(err);
        move_slots(&grown, names);
        grown.nbytes += (grown.nslots - names->nslots) * sizeof *grown.slots;
        free(names->slots);
        *names = grown;
        return KC_OK;
}

static enum kc_status grow_chunks(struct names *names, size_t nbytes, bool *has_room,
                                  struct kc_error *err)
{
        *has_room = names->nchunks > 0 && nbytes <= CHUNK_NBYTES - names->used;
        if (*has_room)
                return KC_OK;
        *has_room = fits(names, CHUNK_NBYTES + sizeof *names->chunks);
        if (!*has_room)
                return KC_OK;
        char **chunks = realloc(names->chunks, (names->nchunks + 1) * sizeof *chunks);
        if (chunks == NULL)
                return no_memory(err);
        names->chunks = chunks;
        chunks[names->nchunks] = malloc(CHUNK_NBYTES);
        if (chunks[names->nchunks] == NULL)
                return no_memory(err);
        names->nchunks++;
        names->used = 0;
        names->nbytes += CHUNK_NBYTES + sizeof *names->chunks;
        return KC_OK;
}

/* ---- names ---- */

static char *append(struct names *names, uint64_t *slot, uint64_t hash, const char *name,
                    size_t nbytes)
{
        const uint64_t place = ((uint64_t)(names->nchunks - 1) << CHUNK_BITS) + names->used;
        char *entry = names->chunks[names->nchunks - 1] + names->used;
        memset(entry, 0, names->value_nbytes);
        entry[names->value_nbytes] = (char)nbytes;
        memcpy(entry + names->value_nbytes + 1, name, nbytes);
        *slot = (hash & ~PLACE_MASK) | (place + 1);
        names->used += names->value_nbytes + 1 + nbytes;
        names->n++;
        return entry;
}

enum kc_status names_add(struct names *names, const char *name, size_t nbytes, void **value,
                         struct kc_error *err)
{
        const uint64_t hash = hash_of(name, nbytes);
        bool has_room;
        enum kc_status status;
        *value = NULL;
        KC_TRY(grow_slots(names, &has_room, err));
        if (!has_room)
                return KC_OK;
        uint64_t *slot = find_slot(names, hash, name, nbytes);
        if (*slot != 0) {
                *value = entry_at(names, *slot);
                return KC_OK;
        }
        KC_TRY(grow_chunks(names, names->value_nbytes + 1 + nbytes, &has_room, err));
        if (has_room)
                *value = append(names, slot, hash, name, nbytes);
out:
        return status;
}

void *names_find(const struct names *names, const char *name, size_t nbytes)
{
        if (names->n == 0)
                return NULL;
        const uint64_t slot = *find_slot(names, hash_of(name, nbytes), name, nbytes);
        return slot != 0 ? entry_at(names, slot) : NULL;
}

void names_free(struct names *names)
{
        for (size_t i = 0; i < names->nchunks; i++)
                free(names->chunks[i]);
        free(names->chunks);
        free(names->slots);
        *names = (struct names){ .value_nbytes = names->value_nbytes,
                                 .most_nbytes = names->most_nbytes };
}
