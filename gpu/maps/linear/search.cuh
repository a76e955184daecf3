/*
 * One operation of the simple hash table; device code of map.cu.
 *
 * A lane reads its key's slots 16 bytes at a time. If it has found nothing after a few reads, all
 * lanes of the warp search together, for one lane after the other, 512 bytes at a time: in a nearly
 * full table clusters are long, and only a few lanes of a warp would be busy with them.
 */
#ifndef KC_GPU_MAPS_LINEAR_SEARCH_CUH
#define KC_GPU_MAPS_LINEAR_SEARCH_CUH

#include "gpu/device/swap128.cuh"
#include "gpu/device/warp.cuh"
#include "gpu/maps/linear/map.cuh"

enum { KC_LINEAR_NLOOKS = 8, KC_LINEAR_NLANES = 32 };

template <class Key> constexpr Key KC_LINEAR_FREE = (Key) ~(Key)0;

/* What a lane reads at once: two slots, or one. A key must not be seen half written. PTX guarantees
 * that only within 32 bits of such a load; we rely on the hardware, which serves aligned 16 bytes
 * in one access to a sector. */
template <class Key> union kc_linear_window {
        enum { NSLOTS = sizeof(uint4) / sizeof(kc_linear_slot<Key>) };
        uint4 all;
        kc_linear_slot<Key> slots[NSLOTS];

        __device__ kc_linear_window(const kc_linear_slot<Key> *from) : all(*(const uint4 *)from)
        {
        }
};

/* Claim a free slot for the key, with its value. Returns the key that was there: KC_LINEAR_FREE on
 * success. */
static __device__ uint32_t kc_linear_swap(kc_linear_slot<uint32_t> *at, uint32_t key,
                                          uint32_t value)
{
        return (uint32_t)atomicCAS((unsigned long long *)at, (unsigned long long)UINT64_MAX,
                                   (unsigned long long)value << 32 | key);
}

static __device__ kc_key64 kc_linear_swap(kc_linear_slot<kc_key64> *at, kc_key64 key,
                                          uint32_t value)
{
        if constexpr (KC_HAS_SWAP128)
                return (kc_key64)kc_swap128((kc_key128 *)at, ~(kc_key128)0,
                                            (kc_key128)value << 64 | key);
        kc_key64 was = atomicCAS((unsigned long long *)&at->key, (unsigned long long)UINT64_MAX,
                                 (unsigned long long)key);
        if (was == KC_LINEAR_FREE<kc_key64>)
                at->value = value;
        return was;
}

/* ---- a search ---- */

enum kc_linear_outcome {
        KC_LINEAR_SEEKING,
        KC_LINEAR_FOUND,
        KC_LINEAR_CLAIMED,
        KC_LINEAR_NOWHERE, /* no such key; for an insertion: refused */
        KC_LINEAR_IDLE,    /* the lane has no operation */
};

template <class Key> struct kc_linear_search {
        enum kc_linear_outcome outcome;
        Key key;
        uint32_t value; /* to insert, or found */
        uint32_t left;  /* slots that may still be examined */
        uint64_t slot;  /* the next one */
};

/* n more slots hold other keys: go past them. */
template <class Key>
static __device__ void kc_linear_pass(const kc_linear_view<Key> &map, kc_linear_search<Key> *s,
                                      uint32_t n)
{
        s->slot = (s->slot + n) & map.mask;
        s->left -= min(n, s->left);
        if (s->left == 0)
                s->outcome = KC_LINEAR_NOWHERE;
}

/* Do the operation at s->slot, where this key (the search's or KC_LINEAR_FREE) and value were seen.
 * The outcome stays KC_LINEAR_SEEKING if another key has taken the slot meanwhile. */
template <enum kc_linear_op OP, class Key>
static __device__ void kc_linear_settle(const kc_linear_view<Key> &map, kc_linear_search<Key> *s,
                                        Key there, uint32_t value)
{
        kc_linear_slot<Key> *slot = &map.slots[s->slot];
        if (OP == KC_LINEAR_INSERT && there != s->key) {
                there = kc_linear_swap(slot, s->key, s->value);
                if (there == KC_LINEAR_FREE<Key>)
                        s->outcome = KC_LINEAR_CLAIMED;
                if (there != s->key)
                        return;
        }
        s->outcome = there == s->key ? KC_LINEAR_FOUND : KC_LINEAR_NOWHERE;
        if (there == s->key && OP != KC_LINEAR_FIND)
                slot->value = OP == KC_LINEAR_INSERT ? s->value : (uint32_t)KC_LINEAR_ABSENT;
        else if (there == s->key)
                s->value = value;
}

/* Broadcast lane `lane`'s x to all NLANES lanes. */
template <int NLANES, class T> static __device__ T kc_linear_shuffle(T x, int lane)
{
        return NLANES == 1 ? x : __shfl_sync(UINT32_MAX, x, lane);
}

/*
 * Examine the rest of the window that s->slot is in and the next NLANES - 1 windows, one per lane.
 * Called by NLANES lanes, which hold the same search before and after. The first slot that is free
 * or holds the key decides.
 */
template <enum kc_linear_op OP, int NLANES, class Key>
static __device__ void kc_linear_look(const kc_linear_view<Key> &map, kc_linear_search<Key> *s)
{
        enum { N = kc_linear_window<Key>::NSLOTS };
        int lane = NLANES == 1 ? 0 : (int)kc_warp_lane(), skip = (int)(s->slot % N);
        int ahead = lane * N - skip, at = -1;
        kc_linear_window<Key> window(&map.slots[(s->slot + (uint64_t)ahead) & map.mask]);
        Key there = 0;
        uint32_t value = 0;
#pragma unroll
        for (int i = N - 1; i >= 0; i--) {
                Key seen = window.slots[i].key;
                bool decides = seen == s->key || seen == KC_LINEAR_FREE<Key>;
                if (decides && (uint32_t)(ahead + i) < s->left) {
                        at = ahead + i;
                        there = seen;
                        value = window.slots[i].value;
                }
        }
        uint32_t with = NLANES == 1 ? at >= 0 : __ballot_sync(UINT32_MAX, at >= 0);
        if (with == 0) {
                kc_linear_pass(map, s, (uint32_t)(NLANES * N - skip));
                return;
        }
        int first = __ffs(with) - 1;
        kc_linear_pass(map, s, (uint32_t)kc_linear_shuffle<NLANES>(at, first));
        if (lane == first)
                kc_linear_settle<OP>(map, s, there, value);
        s->outcome = (enum kc_linear_outcome)kc_linear_shuffle<NLANES>((int)s->outcome, first);
        s->value = kc_linear_shuffle<NLANES>(s->value, first);
        if (s->outcome == KC_LINEAR_SEEKING)
                kc_linear_pass(map, s, 1);
}

/* Finish the open searches of a warp's lanes, one after the other. */
template <enum kc_linear_op OP, class Key>
static __device__ void kc_linear_look_together(const kc_linear_view<Key> &map,
                                               kc_linear_search<Key> *own)
{
        uint32_t todo = __ballot_sync(UINT32_MAX, own->outcome == KC_LINEAR_SEEKING);
        for (; todo != 0; todo &= todo - 1) {
                int whose = __ffs(todo) - 1;
                kc_linear_search<Key> s = {
                        KC_LINEAR_SEEKING,
                        __shfl_sync(UINT32_MAX, own->key, whose),
                        __shfl_sync(UINT32_MAX, own->value, whose),
                        __shfl_sync(UINT32_MAX, own->left, whose),
                        __shfl_sync(UINT32_MAX, own->slot, whose),
                };
                while (s.outcome == KC_LINEAR_SEEKING)
                        kc_linear_look<OP, KC_LINEAR_NLANES>(map, &s);
                if ((int)kc_warp_lane() == whose) {
                        own->outcome = s.outcome;
                        own->value = s.value;
                }
        }
}

/*
 * Do one operation for each lane with has_any; called by all lanes of a warp. Never returns
 * KC_LINEAR_SEEKING.
 *   value  in for an insertion; out for a lookup: KC_LINEAR_ABSENT if there is no such key
 */
template <enum kc_linear_op OP, class Key>
static __device__ enum kc_linear_outcome kc_linear_do(const kc_linear_view<Key> &map, bool has_any,
                                                      Key key, uint32_t *value)
{
        kc_linear_search<Key> s = {
                has_any ? KC_LINEAR_SEEKING : KC_LINEAR_IDLE,
                key,
                OP == KC_LINEAR_INSERT ? *value : (uint32_t)KC_LINEAR_ABSENT,
                map.max_probes,
                kc_linear_hash(key) & map.mask,
        };
        if (has_any && key == KC_LINEAR_FREE<Key>) {
                s.slot = map.mask + 1;
                kc_linear_settle<OP>(map, &s, key, map.slots[s.slot].value);
        }
#pragma unroll 1
        for (int i = 0; i < KC_LINEAR_NLOOKS && s.outcome == KC_LINEAR_SEEKING; i++)
                kc_linear_look<OP, 1>(map, &s);
        kc_linear_look_together<OP>(map, &s);
        *value = s.value;
        return s.outcome;
}

#endif
