/*
 * The slab list: linked lists of slabs, changed and searched by all warps of a device at once.
 *
 *      list 0    head ──▶ slab ──▶ slab        heads: an array, a slab a list
 *      list 1    head                          slabs: from a pool (gpu/maps/slab/pool.cuh)
 *
 *      slab, 32 words of 32 bits         0 ........ 19 20 ........ 29  30  31
 *      kc_slab_key32    30 keys          keys                           -  next
 *      kc_slab_pair32   15 pairs         key, value, key, value ...     -  next
 *      kc_slab_key64    15 keys          keys                           -  next
 *      kc_slab_pair64   10 pairs         keys          values           -  next
 *
 * Every lane of a warp may bring an operation, of any kind; the lanes work on them together. In the
 * paper a warp reads a slab, one word per lane, for one operation after the other. Here a group of
 * NLANES lanes reads a slab, 16 bytes per load, so a warp works on 32 / NLANES slabs at a time, and
 * a 64-bit key or a 32-bit pair is read and written as a unit. All groups take their steps
 * together, in one loop of the warp.
 *
 * Places have a fixed order: by lane of the group, and within a lane from first to last. The life
 * of a place is
 *
 *      0, empty      a key, perhaps with changing values      1, deleted
 *
 * - It is taken by compare-and-swap from empty, and only by a group that saw no empty place before
 *   it in the list, nor its own key if keys must be unique. As no place becomes empty again, the
 *   later of two groups with the same key meets the place of the first: no key is stored twice. For
 *   the same reason an empty place ends a list.
 * - Lanes read their places at different times. What is seen after an empty place was inserted
 *   after that place was read, and is ignored: so the least recent of several equal keys is found.
 * - A slab is linked by compare-and-swap of `next`. The pool hands it out zeroed since before the
 *   kernel, so no thread can see any other contents.
 * - A step fails only if another operation has succeeded there, and a launch has finitely many;
 *   each place of a list is passed once. So every loop ends.
 *
 * Operations are linearizable, each at its swap or at its read of the deciding place. Those on
 * several elements count as one operation per element.
 *
 * With `reuse`, deleted places become empty again, for lists whose elements need not be unique
 * (III-B3). Then every list is searched to its end, and a search can miss a key if one of its
 * elements is inserted and another deleted meanwhile.
 *
 * kc_slab_pair64 stores values apart from keys. A value is at least 1, and 0 until it is written:
 * until then the element is not found. A deleted element may still get a value from an operation
 * that saw it before the deletion; that operation is ordered before it.
 *
 * Source: Ashkiani et al., A Dynamic Hash Table for the GPU (2018), sections III and IV. Their 32
 * lanes of 4 bytes would be NLANES = 32, which is not supported: a pair would be read in two
 * halves.
 */
#ifndef KC_GPU_MAPS_SLAB_LIST_CUH
#define KC_GPU_MAPS_SLAB_LIST_CUH

#include "gpu/maps/slab/layout.cuh"
#include "gpu/maps/slab/pool.cuh"

#include <cstring>

/* ---- the lists */

struct kc_slab_lists {
        char *heads; /* [nlists] slabs */
        uint32_t nlists;
        bool reuse;
};

/* Where all elements found by KC_SLAB_SEARCH_ALL go, in any order. */
struct kc_slab_found {
        uint32_t *numbers; /* [cap] of the operations */
        uint32_t *values;  /* [cap], NULL without values */
        uint64_t cap;      /* elements beyond it are only counted */
        unsigned long long *n;
};

template <class Layout> struct kc_slab_op {
        typename Layout::key key; /* as stored: at least 2 */
        uint32_t list, value, kind;
        uint32_t number; /* reported with what KC_SLAB_SEARCH_ALL finds */
        /* results */
        bool hit;        /* the key was there */
        uint32_t result; /* the previous value; for SEARCH_ALL and DELETE_ALL, and in layouts
                            without values, the number of elements. Undefined for DELETE if values
                            are apart */
};

/* A thread's handle. Everything except begin() must be called by converged warps. */
template <class Layout, uint32_t NLANES> struct kc_slab_list_warp {
        typedef kc_slab_places<Layout, NLANES> places;
        typedef typename Layout::key key;
        typedef typename Layout::word word;
        typedef kc_slab_op<Layout> op;
        enum : uint32_t { LINK_SHIFT = 8 * sizeof(word) - 32, FEW_GROUPS = 2 };
        static_assert(NLANES == 4 || NLANES == 8, "a lane reads whole quads");

        struct kc_slab_lists lists;
        struct kc_slab_pool_warp pool;
        uint32_t valid; /* the lane's elements */
        bool silent;    /* neither hits nor results are wanted */

        /* By the whole block. */
        __device__ void begin(const struct kc_slab_lists &lists,
                              const struct kc_slab_pool_view &view,
                              struct kc_slab_pool_shared *shared)
        {
                this->lists = lists;
                pool.begin(view, shared);
                valid = places::valid(group_lane());
                silent = false;
        }

        /*
         * Do the operations of the lanes with `active`; KIND: the kind of all of them, or
         * KC_SLAB_ANY. Returns true in a lane whose operation was not done because there was no
         * free slab.
         */
        template <uint32_t KIND>
        __device__ bool run(op *op, bool active, const struct kc_slab_found &found)
        {
                char *at = NULL; /* the group's slab; NULL: take up another operation */
                bool refused = false;
                op->hit = false;
                op->result = 0;
                for (;;) {
                        uint32_t all = __ballot_sync(KC_SLAB_ALL_LANES, active);
                        if (all == 0)
                                return refused;
                        struct task task = take_up<KIND>(op, group_bits(all));
                        if (at == NULL && task.busy)
                                at = head(task.list);
                        struct view view;
                        struct answer answer;
                        look(&view, at, &task);
                        while (KIND == KC_SLAB_ANY && pass(&task, &view, &at))
                                look(&view, at, &task);
                        enum verdict verdict = work<KIND>(&task, &view, at, found, &answer);
                        verdict = move<KIND>(&task, &view, verdict, &at);
                        if (is_source(&task)) {
                                op->result += answer.counted;
                                active = verdict == AGAIN;
                                refused |= verdict == REFUSED;
                                if (verdict == DONE)
                                        finish(op, &task, &answer);
                        }
                        if (verdict != AGAIN)
                                at = NULL;
                }
        }

        /*
         * Compact one list per group (number >= nlists: none) into as few slabs as possible,
         * keeping the order of its elements, and give the other slabs back. Needs a launch of its
         * own, with no other work on the lists. Returns the number of slabs given back, in the
         * group's first lane.
         */
        __device__ uint32_t flush(uint32_t list)
        {
                char *at = list < lists.nlists ? head(list) : NULL, *to = at;
                uint32_t filled = 0; /* places of `to` */
                while (__any_sync(KC_SLAB_ALL_LANES, at != NULL)) {
                        struct elements elements;
                        uint32_t next = take_elements(&elements, at);
                        uint32_t total = put_elements(&elements, to, filled);
                        filled += total;
                        if (filled > Layout::NPLACES) {
                                filled -= Layout::NPLACES;
                                to = pool.slab(link_of(to));
                        }
                        at = at != NULL && next != 0 ? pool.slab(next) : NULL;
                        __syncwarp();
                }
                return to != NULL && group_lane() == 0 ? cut_behind(to) : 0;
        }

        /* A lane's elements of a slab of the list: a bit for each that is live, and the next slab,
         * 0 at the end. */
        struct elements {
                uint64_t halves[places::NHALVES];
                uint32_t live; /* the lane's, a bit an element */
                uint32_t ndeleted, next;
                uint32_t values[Layout::APART ? places::NELEMENTS : 1];

                __device__ key key_of(uint32_t element) const
                {
                        return Layout::key_of(word_of(halves, element));
                }

                __device__ uint32_t value_of(uint32_t element) const
                {
                        return Layout::APART ? values[element % (sizeof(values) / 4)]
                                             : Layout::value_of(word_of(halves, element));
                }
        };

        __device__ char *head(uint32_t list) const
        {
                return lists.heads + (size_t)list * KC_SLAB_NBYTES;
        }

        /* Read slab `at` (NULL: nothing) while no operation changes it. */
        __device__ void get_elements(struct elements *elements, const char *at) const
        {
                load(elements->halves, at);
                elements->live = elements->ndeleted = 0;
#pragma unroll
                for (uint32_t i = 0; i < places::NELEMENTS; i++) {
                        key key = elements->key_of(i);
                        bool mine = at != NULL && (valid >> i & 1);
                        elements->live |= (uint32_t)(mine && key > KC_SLAB_DELETED) << i;
                        elements->ndeleted += mine && key == KC_SLAB_DELETED;
                        if (Layout::APART && mine)
                                elements->values[i % (sizeof(elements->values) / 4)] =
                                        *value_at((char *)at, places::number(group_lane(), i));
                }
                elements->next = shuffle((uint32_t)(elements->halves[places::NHALVES - 1] >> 32),
                                         NLANES - 1);
        }

        /* Lane in the group; the group's first lane; the group's part of a ballot. */
        static __device__ uint32_t group_lane()
        {
                return threadIdx.x % NLANES;
        }

        static __device__ uint32_t group_first()
        {
                return threadIdx.x % 32 / NLANES * NLANES;
        }

        static __device__ uint32_t group_bits(uint32_t ballot)
        {
                return ballot >> group_first() & ((1u << NLANES) - 1);
        }

      private:
        /* The operation that a group is working on. */
        struct task {
                typename Layout::key key;
                uint32_t list, value, kind, number;
                uint32_t source; /* lane of the group */
                bool busy;       /* there is one */
        };

        /* What a group sees in a slab. */
        struct view {
                uint64_t halves[places::NHALVES];
                uint32_t matches, empties;         /* the lane's, a bit an element */
                uint32_t match_lanes, empty_lanes; /* the group's, a bit a lane */
                bool hit;                          /* there is a valid match */
        };

        struct answer {
                bool hit;
                uint32_t before;  /* value */
                uint32_t counted; /* elements, by operations on all */
        };

        enum verdict { AGAIN, DONE, REFUSED, ELSEWHERE }; /* ELSEWHERE: nothing to do in the slab */

        static __device__ word word_of(const uint64_t *halves, uint32_t element)
        {
                uint64_t half = halves[element / places::PER_HALF];
                return (word)(half >> element % places::PER_HALF * 32);
        }

        /* Lane `lane`'s value, for all lanes of its group. */
        template <class T> static __device__ T shuffle(T value, uint32_t lane)
        {
                return __shfl_sync(KC_SLAB_ALL_LANES, value, (int)(group_first() + lane));
        }

        /* 0 for groups without any. */
        static __device__ uint32_t first_lane(uint32_t lanes)
        {
                return lanes != 0 ? (uint32_t)__ffs((int)lanes) - 1 : 0;
        }

        static __device__ bool is_source(const struct task *task)
        {
                return task->busy && task->source == group_lane();
        }

        template <uint32_t KIND> static __device__ struct task take_up(const op *op, uint32_t queue)
        {
                struct task task;
                task.busy = queue != 0;
                task.source = first_lane(queue);
                task.key = shuffle(op->key, task.source);
                task.list = shuffle(op->list, task.source);
                task.kind = KIND == KC_SLAB_ANY ? shuffle(op->kind, task.source) : KIND;
                task.value = Layout::VALUES && KIND != KC_SLAB_SEARCH
                                     ? shuffle(op->value, task.source)
                                     : 0;
                task.number = KIND == KC_SLAB_ANY ? shuffle(op->number, task.source) : 0;
                return task;
        }

        /* ---- memory */

        /* Load 16 bytes that other threads may be changing, from the L2, which is coherent. They
         * are loaded as words of the size of the swaps, each of which is read atomically. */
        static __device__ void load_quad(uint64_t *halves, const char *from)
        {
#ifdef __CUDA_ARCH__
                if (places::PER_HALF == 1) {
                        asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];"
                                     : "=l"(halves[0]), "=l"(halves[1])
                                     : "l"(from)
                                     : "memory");
                        return;
                }
                uint32_t words[4];
                asm volatile("ld.relaxed.gpu.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                             : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                             : "l"(from)
                             : "memory");
                halves[0] = (uint64_t)words[1] << 32 | words[0];
                halves[1] = (uint64_t)words[3] << 32 | words[2];
#else
                memcpy(halves, from, 16);
#endif
        }

        static __device__ void load(uint64_t *halves, const char *at)
        {
#pragma unroll
                for (uint32_t i = 0; i < places::NHALVES / 2; i++) {
                        halves[2 * i] = halves[2 * i + 1] = 0;
                        if (at != NULL)
                                load_quad(&halves[2 * i], at + (i * NLANES + group_lane()) * 16);
                }
        }

        /* The word with the link, which is its upper half if it has two. */
        static __device__ word *link_at(char *slab)
        {
                return (word *)(slab + KC_SLAB_NBYTES) - 1;
        }

        static __device__ uint32_t link_of(char *slab)
        {
                return (uint32_t)(*(volatile word *)link_at(slab) >> LINK_SHIFT);
        }

        static __device__ unsigned *value_at(char *slab, uint32_t number)
        {
                return (unsigned *)(slab + KC_SLAB_VALUES_BYTE) + number;
        }

        __device__ void look(struct view *view, const char *at, const struct task *task) const
        {
                load(view->halves, at);
                view->matches = view->empties = 0;
#pragma unroll
                for (uint32_t i = 0; i < places::NELEMENTS; i++) {
                        key seen = Layout::key_of(word_of(view->halves, i));
                        view->matches |= (uint32_t)(seen == task->key) << i;
                        view->empties |= (uint32_t)(seen == KC_SLAB_EMPTY) << i;
                }
                uint32_t mine = task->busy ? valid : 0;
                view->matches &= mine;
                view->empties &= mine;
                if (!lists.reuse) /* only those before the lane's first empty place */
                        view->matches &= (view->empties & (0 - view->empties)) - 1;
                view->match_lanes =
                        group_bits(__ballot_sync(KC_SLAB_ALL_LANES, view->matches != 0));
                view->empty_lanes =
                        group_bits(__ballot_sync(KC_SLAB_ALL_LANES, view->empties != 0));
                if (!lists.reuse) /* lanes up to the first with one */
                        view->match_lanes &= view->empty_lanes ^ (view->empty_lanes - 1);
                view->hit = view->match_lanes != 0 && task->kind != KC_SLAB_INSERT;
        }

        /* ---- what to do in the slab */

        /* halves are registers, so all indices must be compile-time constants. */
        static __device__ word pick(const uint64_t *halves, uint32_t element)
        {
                word word = word_of(halves, 0);
#pragma unroll
                for (uint32_t i = 1; i < places::NELEMENTS; i++)
                        word = element == i ? word_of(halves, i) : word;
                return word;
        }

        /* The value of lane `actor`'s element, for all lanes of the group, if values are apart:
         * four per quad, in the last quads of the lanes. */
        static __device__ uint32_t value_apart(const struct view *view, uint32_t actor,
                                               uint32_t element)
        {
                uint32_t number = shuffle(places::number(group_lane(), element), actor);
                uint64_t half = number & 2 ? view->halves[places::NHALVES - 1]
                                           : view->halves[places::NHALVES - 2];
                return shuffle((uint32_t)(half >> number % 2 * 32),
                               (KC_SLAB_VALUES_BYTE / 16 + number / 4) % NLANES);
        }

        template <uint32_t KIND>
        __device__ enum verdict work(const struct task *task, struct view *view, char *at,
                                     const struct kc_slab_found &found, struct answer *answer) const
        {
                bool inserts = kc_slab_inserts(task->kind);
                uint32_t actor = first_lane(view->hit ? view->match_lanes : view->empty_lanes);
                uint32_t element = first_lane(view->hit ? view->matches : view->empties);
                word seen = pick(view->halves, element);
                uint32_t before =
                        Layout::APART ? value_apart(view, actor, element) : Layout::value_of(seen);
                bool unwritten = Layout::APART && view->hit && !inserts && before == 0;
                view->hit = view->hit && !unwritten;
                bool changes = inserts ? view->hit || view->empty_lanes != 0
                                       : kc_slab_deletes(task->kind) && view->hit;
                bool deed = false, done = false;
                if (KIND != KC_SLAB_SEARCH) {
                        if (changes && group_lane() == actor)
                                deed = change(task, view->hit, seen, at, element, &before);
                        done = group_bits(__ballot_sync(KC_SLAB_ALL_LANES, deed)) != 0;
                }
                answer->before = Layout::VALUES ? shuffle(before, actor) : 0;
                answer->hit = Layout::APART && inserts ? answer->before != 0 : view->hit;
                answer->counted = done && task->kind == KC_SLAB_DELETE_ALL;
                if (KIND == KC_SLAB_ANY &&
                    __any_sync(KC_SLAB_ALL_LANES, task->kind == KC_SLAB_SEARCH_ALL && view->hit))
                        answer->counted += report_all(task, view, answer->before, found);
                if (unwritten || (view->hit && task->kind == KC_SLAB_SEARCH))
                        return DONE;
                if (changes)
                        return done && task->kind != KC_SLAB_DELETE_ALL ? DONE : AGAIN;
                return ELSEWHERE;
        }

        /* Change the place if it is still as seen; *before: its previous value. */
        __device__ bool change(const struct task *task, bool hit, word seen, char *at,
                               uint32_t element, uint32_t *before) const
        {
                uint32_t number = places::number(group_lane(), element);
                word *place = (word *)at + number, wanted = KC_SLAB_DELETED;
                if (!kc_slab_deletes(task->kind))
                        wanted = Layout::pack(task->key, task->value);
                else if (lists.reuse)
                        wanted = KC_SLAB_EMPTY;
                if (Layout::VALUES && !Layout::APART && hit && task->kind == KC_SLAB_ADD)
                        return add(task, place, before);
                if (seen != wanted && atomicCAS(place, seen, wanted) != seen)
                        return false;
                if (Layout::APART && !kc_slab_deletes(task->kind))
                        *before = write_apart(task, value_at(at, number));
                return true;
        }

        /*
         * Add to the value in the upper half of a place; false if its element is gone. A sum that
         * overflows has wrapped, and is then set to the maximum. In between, other operations of
         * the launch may see the wrapped sum, and a REPLACE is overwritten: the sum is exact for
         * all only from the next launch on. A compare-and-swap in place of the addition would avoid
         * this, but fails whenever another thread has changed the value: too slow for frequent
         * keys. The same holds for write_apart.
         */
        static __device__ bool add(const struct task *task, word *place, uint32_t *before)
        {
                if (*before == UINT32_MAX)
                        return true;
                word was = atomicAdd(place, Layout::pack(0, task->value));
                *before = Layout::value_of(was);
                if (*before > UINT32_MAX - task->value)
                        (void)atomicOr(place, Layout::pack(0, UINT32_MAX));
                return Layout::key_of(was) == task->key;
        }

        /* Write a value; returns the previous one. If nobody needs that, a plain store, which needs
         * no waiting, suffices. */
        __device__ uint32_t write_apart(const struct task *task, unsigned *value) const
        {
                if (task->kind != KC_SLAB_ADD && silent) {
                        *(volatile unsigned *)value = task->value;
                        return 0;
                }
                if (task->kind != KC_SLAB_ADD)
                        return atomicExch(value, task->value);
                uint32_t before = atomicAdd(value, task->value);
                if (before > UINT32_MAX - task->value)
                        (void)atomicOr(value, UINT32_MAX);
                return before;
        }

        /* Count the matches in the slab for KC_SLAB_SEARCH_ALL, and write them if wanted. */
        __device__ uint32_t report_all(const struct task *task, const struct view *view,
                                       uint32_t before, const struct kc_slab_found &found) const
        {
                bool wanted = task->kind == KC_SLAB_SEARCH_ALL && view->hit;
                uint32_t mine =
                        wanted && (view->match_lanes >> group_lane() & 1) ? view->matches : 0;
                uint32_t total = 0, rank = rank_elements(mine, &total);
                unsigned long long first = 0;
                if (found.n == NULL)
                        return total;
                if (total != 0 && group_lane() == 0)
                        first = atomicAdd(found.n, (unsigned long long)total);
                first = shuffle(first, 0) + rank;
                for (; mine != 0; mine &= mine - 1, first++) {
                        if (first >= found.cap)
                                break;
                        found.numbers[first] = task->number;
                        if (Layout::VALUES)
                                found.values[first] =
                                        Layout::APART ? before
                                                      : Layout::value_of(pick(view->halves,
                                                                              first_lane(mine)));
                }
                return total;
        }

        /* How many elements the group's lanes below this one have; *total: all its lanes. */
        static __device__ uint32_t rank_elements(uint32_t mine, uint32_t *total)
        {
                uint32_t rank = 0;
#pragma unroll
                for (uint32_t i = 0; i < places::NELEMENTS; i++) {
                        uint32_t lanes =
                                group_bits(__ballot_sync(KC_SLAB_ALL_LANES, mine >> i & 1));
                        *total += (uint32_t)__popc(lanes);
                        rank += (uint32_t)__popc(lanes & ((1u << group_lane()) - 1));
                }
                return rank;
        }

        static __device__ void finish(op *op, const struct task *task, const struct answer *answer)
        {
                bool all = task->kind == KC_SLAB_SEARCH_ALL || task->kind == KC_SLAB_DELETE_ALL;
                op->hit = all ? op->result != 0 : answer->hit;
                if (!all)
                        op->result = Layout::VALUES && op->hit ? answer->before : op->hit;
        }

        /* ---- where to go on */

        /* The next slab. */
        static __device__ uint32_t next_of(const struct view *view)
        {
                return shuffle((uint32_t)(view->halves[places::NHALVES - 1] >> 32), NLANES - 1);
        }

        /* If only a few groups have something to do in their slabs, let those wait while the others
         * go on to their next slabs; returns true then. This pays off if most groups go on. */
        __device__ bool pass(const struct task *task, const struct view *view, char **at)
        {
                uint32_t next = next_of(view);
                bool stays = (view->match_lanes | view->empty_lanes) != 0 || next == 0;
                uint32_t waiting = __ballot_sync(KC_SLAB_ALL_LANES, task->busy && stays);
                bool goes = task->busy && !stays;
                if (__popc(waiting) >= FEW_GROUPS * NLANES || !__any_sync(KC_SLAB_ALL_LANES, goes))
                        return false;
                if (goes)
                        *at = pool.slab(next);
                return true;
        }

        /* Groups with ELSEWHERE go to the next slab, or reach the end of the list. */
        template <uint32_t KIND>
        __device__ enum verdict move(const struct task *task, const struct view *view,
                                     enum verdict verdict, char **at)
        {
                uint32_t next = next_of(view);
                bool leaves = task->busy && verdict == ELSEWHERE;
                bool inserts = kc_slab_inserts(task->kind);
                bool ends = leaves && !inserts &&
                            (next == 0 || (view->empty_lanes != 0 && !lists.reuse));
                if (KIND != KC_SLAB_SEARCH &&
                    __any_sync(KC_SLAB_ALL_LANES, leaves && !ends && next == 0))
                        next = append(leaves && !ends && next == 0, *at, next);
                if (!leaves)
                        return verdict;
                if (ends)
                        return DONE;
                if (next == 0)
                        return REFUSED;
                *at = pool.slab(next);
                return AGAIN;
        }

        /* Returns the address of the slab that follows `at` then, 0 if no slab is free; `next` in
         * groups that want none. */
        __device__ uint32_t append(bool wanted, char *at, uint32_t next)
        {
                uint32_t address = pool.allocate(wanted && group_lane() == 0);
                if (address != 0) {
                        word was = atomicCAS(link_at(at), (word)0, (word)address << LINK_SHIFT);
                        if (was != 0) {
                                pool.deallocate(address);
                                address = (uint32_t)(was >> LINK_SHIFT);
                        }
                }
                address = shuffle(address, 0);
                return wanted ? address : next;
        }

        /* ---- flushing */

        /* Remove the elements of a slab, which keeps only its link; returns the link. */
        __device__ uint32_t take_elements(struct elements *elements, char *at) const
        {
                get_elements(elements, at);
                __syncwarp();
                for (uint32_t i = 0; at != NULL && i < places::NHALVES; i++) {
                        uint64_t *to = (uint64_t *)at + (i / 2 * NLANES + group_lane()) * 2 + i % 2;
                        if ((char *)to < at + KC_SLAB_NEXT_BYTE - 4)
                                *to = 0;
                }
                __syncwarp();
                return elements->next;
        }

        /* Write elements after the first `filled` places of `to`, continuing in the next slab;
         * returns how many the group had. */
        __device__ uint32_t put_elements(const struct elements *elements, char *to, uint32_t filled)
        {
                uint32_t total = 0, place = filled + rank_elements(elements->live, &total);
#pragma unroll
                for (uint32_t i = 0; i < places::NELEMENTS; i++) {
                        if (!(elements->live >> i & 1))
                                continue;
                        bool behind = place >= Layout::NPLACES;
                        char *slab = behind ? pool.slab(link_of(to)) : to;
                        uint32_t byte = places::byte_of_place(place - behind * Layout::NPLACES);
                        *(word *)(slab + byte) = word_of(elements->halves, i);
                        if (Layout::APART)
                                *value_at(slab, byte / 8) = elements->value_of(i);
                        place++;
                }
                return total;
        }

        /* Give back the slabs after `last`; returns how many there were. */
        __device__ uint32_t cut_behind(char *last) const
        {
                uint32_t n = 0, address = link_of(last);
                *link_at(last) = 0;
                for (; address != 0; n++) {
                        char *slab = pool.slab(address);
                        uint32_t next = link_of(slab);
                        *link_at(slab) = 0;
                        pool.deallocate(address);
                        address = next;
                }
                return n;
        }
};

#endif
