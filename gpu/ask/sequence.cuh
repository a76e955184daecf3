/*
 * A sequence whose windows are looked up in batches: what is noted of it while it is packed, and
 * its summary, which is put together from those of its parts (gpu/ask/batch.cuh).
 */
#ifndef KC_GPU_ASK_SEQUENCE_CUH
#define KC_GPU_ASK_SEQUENCE_CUH

#include "gpu/ask/filling.cuh"

#include <cstdlib>

/* A growing array. */
template <class T> struct kc_ask_array {
        T *items;
        size_t n, cap;
};

/* Make room for n more items. KC_ENOMEM. */
template <class T>
static inline enum kc_status kc_ask_reserve(struct kc_ask_array<T> *a, size_t n,
                                            struct kc_error *err)
{
        if (a->n + n <= a->cap)
                return KC_OK;
        const size_t cap = 2 * a->cap > a->n + n ? 2 * a->cap : a->n + n;
        T *items = (T *)realloc((void *)a->items, cap * sizeof *items);
        if (items == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        a->items = items;
        a->cap = cap;
        return KC_OK;
}

struct kc_ask_noted {
        uint32_t nwindows, nvalid;
        uint32_t nbegin;     /* windows in the stretch that begins at base 0 */
        uint32_t nstretches; /* if counts are wanted */
};

static inline uint32_t kc_ask_nwindows(const struct kc_ask_sequence *sequence, int k)
{
        return sequence->nbases >= (uint32_t)k ? sequence->nbases - (uint32_t)k + 1 : 0;
}

/* Note the windows of the next piece of a sequence. stretches: NULL if counts are not wanted.
 * KC_ENOMEM. */
static inline enum kc_status kc_ask_note(struct kc_ask_noted *noted,
                                         struct kc_ask_array<struct kc_ask_stretch> *stretches,
                                         const struct kc_ask_walk *piece, struct kc_error *err)
{
        noted->nvalid += piece->n;
        if (piece->begin == noted->nbegin)
                noted->nbegin += piece->n;
        if (stretches == NULL)
                return KC_OK;
        if (!piece->continues) {
                const enum kc_status status = kc_ask_reserve(stretches, 1, err);
                if (status != KC_OK)
                        return status;
                stretches->items[stretches->n++] = { piece->begin, 0 };
                noted->nstretches++;
        }
        stretches->items[stretches->n - 1].n += piece->n;
        return KC_OK;
}

/* Add the next part of a sequence, of n windows. Until the last one is added, nlead is that of the
 * valid windows, as if there were no gaps. */
static inline void kc_ask_add_part(struct kc_ask_summary *s, uint32_t n,
                                   const struct kc_ask_part_summary *part)
{
        const uint32_t min = part->nabsent > 0 ? 0 : part->least;
        if (s->nlead == s->nvalid)
                s->nlead += part->nlead;
        s->nvalid += n;
        s->nfound += part->nfound;
        s->sum += part->sum;
        s->min = min < s->min ? min : s->min;
        s->max = part->max > s->max ? part->max : s->max;
}

/* Complete the summary of a sequence, whose parts have all been added. */
static inline void kc_ask_end_parts(struct kc_ask_summary *s, const struct kc_ask_noted *noted)
{
        s->nwindows = noted->nwindows;
        if (s->nlead > noted->nbegin)
                s->nlead = noted->nbegin;
}

#endif
