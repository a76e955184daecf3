/*
 * The lock-free chained hash table for GPUs with which GLHT is compared: one list per bucket,
 * ordered by key, one thread per operation. One node per operation is allocated before the kernel
 * begins, and none is reused, so there is no ABA problem: a link always means the same node.
 *
 *      link    bit 0: the node that holds it has been erased; above: the index of the next node
 *
 * Source: Misra and Chaudhuri, Performance Evaluation of Concurrent Lock-free Data Structures on
 * GPUs (2012), whose lists are Harris's, in Michael's form.
 */
#ifndef KC_BENCH_TABLES_CHAINED_CUH
#define KC_BENCH_TABLES_CHAINED_CUH

#include "gpu/maps/hopscotch/map.cuh"

struct chained_node {
        uint32_t key, next;
};

struct chained {
        uint32_t bits;
        struct chained_node
                *nodes; /* [i]: bucket i's head, without a key; [2^bits + i]: operation i's node */
};

enum : uint32_t { CHAINED_END = UINT32_MAX - 1, CHAINED_ERASED = 1 };

/* Where a key is or would be: the link to the node, and the node (or the end). */
struct chained_place {
        uint32_t *link;
        uint32_t node; /* the link's value */
};

__device__ static inline uint32_t chained_read(const uint32_t *at)
{
        return *(const volatile uint32_t *)at;
}

/* Unlinks erased nodes on the way; if another thread changed the link first, starts again. */
__device__ static inline bool chained_find(const struct chained *t, uint32_t key,
                                           struct chained_place *place)
{
        const uint32_t home = kc_hopscotch_split(key, { t->bits, 0 }).home;
        for (;;) {
                place->link = &t->nodes[home].next;
                place->node = chained_read(place->link);
                for (;;) {
                        if (place->node == CHAINED_END)
                                return false;
                        struct chained_node *node = &t->nodes[place->node >> 1];
                        uint32_t next = chained_read(&node->next);
                        if (next & CHAINED_ERASED) {
                                next &= ~(uint32_t)CHAINED_ERASED;
                                if (atomicCAS(place->link, place->node, next) != place->node)
                                        break;
                                place->node = next;
                                continue;
                        }
                        uint32_t there = chained_read(&node->key);
                        if (there >= key)
                                return there == key;
                        place->link = &node->next;
                        place->node = next;
                }
        }
}

/* own: the operation's preallocated node. */
__device__ static inline bool chained_do(const struct chained *t, enum kc_hopscotch_op op,
                                         uint32_t key, uint32_t own)
{
        struct chained_place place;
        for (;;) {
                bool found = chained_find(t, key, &place);
                if (op == KC_HOPSCOTCH_FIND || found != (op == KC_HOPSCOTCH_ERASE))
                        return op == KC_HOPSCOTCH_FIND && found;
                if (op == KC_HOPSCOTCH_ERASE) {
                        uint32_t *link = &t->nodes[place.node >> 1].next;
                        uint32_t next = chained_read(link);
                        if (!(next & CHAINED_ERASED) &&
                            atomicCAS(link, next, next | CHAINED_ERASED) == next)
                                return true;
                        continue;
                }
                t->nodes[own].key = key;
                t->nodes[own].next = place.node;
                __threadfence();
                if (atomicCAS(place.link, place.node, own << 1) == place.node)
                        return true;
        }
}

__global__ static void chained_kernel(struct chained table, const uint8_t *ops,
                                      const uint32_t *keys, uint32_t n, uint8_t *results)
{
        uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n)
                results[i] = chained_do(&table, (enum kc_hopscotch_op)ops[i], keys[i],
                                        (1u << table.bits) + i);
}

#endif
