/*
 * Hopscotch: the operations on a table of words (gpu/tables/hopscotch_word.cuh). Any number of
 * threads may perform any of them concurrently. The caller decides what an item of 24 bits means.
 *
 *      insert   find ─▶ lock home ─▶ find_empty ─▶ find_closer_empty ... ─▶ update
 *      erase    find ─▶ lock home ─▶ update
 *
 *      find_closer_empty moves the empty slot, the target, nearer to home. Starting with the
 *      farthest, it checks each home that has the target in its neighbourhood for an item before
 *      the target, and moves that item into the target (swap_value_into_empty):
 *
 *              home ........ swap_head .. swap ...... target         distances: swap_head to
 *                                          └────────────▶            target at most 31
 *
 * Who may change a word. Every change of an unlocked word is a compare-and-swap from the value
 * seen; a locked word is changed only by the thread that locked it, with stores. The holder of a
 * lock never waits: if it cannot lock a second word, it leaves everything as before, and the
 * operation is BUSY, to be tried again. So there is no deadlock, in whatever order threads run.
 *
 * What is in the table. An item of a home is in the table from the store to its slot's word until
 * the next one that takes it out. Its bit in the home's bitmap is set before that and cleared
 * after; a set bit alone means nothing. An item in its home slot comes and goes together with its
 * bit, in one word.
 *
 * Moving. The bit of the target is set in the home, the item is copied to the target, it is taken
 * out of the old slot, and its old bit is cleared. So the item is there once or twice, but never
 * absent, and it only moves away from its home. Meanwhile swap_lock is on the home and on the old
 * slot, so that no thread takes out one of two copies.
 *
 * Finding never waits and ignores locks. It goes through the home's bits upwards, and reads them
 * again at each step. Suppose an item stays in the table during the whole search. Whenever the bits
 * are read, the item has a bit, at the place to be read next or after it; if the item is gone from
 * there when its slot is read, it has moved to a later place, whose bit was set before. So the
 * search reaches it, after 32 steps at most. An item that is not found was absent at some moment
 * since the call; one that is found was there when it was read. The paper's find reads a
 * neighbourhood at once, and again while multiple_lock is on its home. It relies on the 32 lanes of
 * a warp reading at the same instant, which is not the case.
 *
 * Source: Zhang and Sun, GLHT, section 4; Herlihy, Shavit and Tzafrir, Hopscotch Hashing (2008).
 */
#ifndef KC_GPU_TABLES_HOPSCOTCH_CORE_CUH
#define KC_GPU_TABLES_HOPSCOTCH_CORE_CUH

#include "gpu/device/atomic.cuh"
#include "gpu/device/lanes.cuh"
#include "gpu/tables/hopscotch_word.cuh"

enum kc_hop_result {
        KC_HOP_NO,         /* find, erase: not there; insert: already there */
        KC_HOP_YES,        /* found, erased, inserted */
        KC_HOP_FULL_TABLE, /* not inserted: no open slot within reach, or none that can be moved
                              near enough */
        KC_HOP_BUSY,       /* nothing was done: other threads hold locks there, or were faster */
};

/* The words: a power of two of them, at least 64, all 0 in an empty table. */
struct kc_hop_table {
        uint64_t *words;
        uint32_t mask;  /* number of words - 1 */
        uint32_t reach; /* how far after a home an open slot is searched for; below `mask` */
};

/* Where an item was found. */
struct kc_hop_place {
        uint64_t home; /* the home's word when last seen, found or not */
        uint32_t offset;
        uint32_t item;
};

#pragma nv_exec_check_disable
/*
 * Lanes: kc_lanes<1 or 32>, the lanes that perform one operation together; all make the same calls.
 * Match: bool operator()(uint32_t item) const, called for items of the home in question. Make:
 * uint32_t operator()(), returns the item to insert, or KC_HOP_NONE if it cannot; called again for
 * another try. Make::AT_ONCE: the call may also be in vain, if another thread inserts the same
 * item; then an item goes into a home without items by one swap, without locking.
 */
template <class Lanes, kc_scope SCOPE> struct kc_hop {
        struct kc_hop_table table;
        Lanes lanes;

        template <class Match>
        KC_HD bool find(uint32_t home, const Match &match, struct kc_hop_place *place) const
        {
                if (Lanes::SIZE > 1 && glance(home, match, place))
                        return true;
                place->home = read(home);
                uint32_t left = UINT32_MAX, bits;
                while ((bits = kc_hop_bitmap(place->home) & left) != 0) {
                        place->offset = kc_hop_lowest(bits);
                        left = UINT32_MAX << place->offset << 1;
                        if (place->offset == 0) { /* one word says it all */
                                if (is_match(place->home, 0, match, place))
                                        return true;
                                continue;
                        }
                        if (is_match(read(home + place->offset), place->offset, match, place))
                                return true;
                        place->home = read(home);
                }
                return false;
        }

        /* place->item: the item that was there already, or that was inserted. */
        template <class Match, class Make>
        KC_HD enum kc_hop_result try_insert(uint32_t home, const Match &match, Make &make,
                                            struct kc_hop_place *place) const
        {
                if (find(home, match, place))
                        return KC_HOP_NO;
                const uint64_t word = place->home;
                if (kc_hop_is_locked(word))
                        return KC_HOP_BUSY;
                if (Make::AT_ONCE && kc_hop_bitmap(word) == 0 && kc_hop_is_open(word)) {
                        place->item = make();
                        uint64_t with = kc_hop_with(kc_hop_put(word, place->item, 0), 0);
                        return swap(home, word, with) ? KC_HOP_YES : KC_HOP_BUSY;
                }
                if (!swap(home, word, word | KC_HOP_MULTIPLE_LOCK))
                        return KC_HOP_BUSY;
                enum kc_hop_result result = KC_HOP_NO;
                if (!look(home, word, match, place)) {
                        place->item = make();
                        if (place->item != KC_HOP_NONE)
                                return insert_locked(home, word, place->item);
                        result = KC_HOP_FULL_TABLE;
                }
                write(home, word);
                return result;
        }

        template <class Match>
        KC_HD enum kc_hop_result try_erase(uint32_t home, const Match &match) const
        {
                struct kc_hop_place place;
                if (!find(home, match, &place))
                        return KC_HOP_NO;
                if (kc_hop_is_locked(place.home))
                        return KC_HOP_BUSY;
                if (place.offset == 0) {
                        uint64_t without = kc_hop_without(kc_hop_empty(place.home), 0);
                        return swap(home, place.home, without) ? KC_HOP_YES : KC_HOP_BUSY;
                }
                if (!swap(home, place.home, place.home | KC_HOP_MULTIPLE_LOCK))
                        return KC_HOP_BUSY;
                enum kc_hop_result result = KC_HOP_NO;
                uint64_t unlocked = place.home;
                if (look(home, unlocked, match, &place)) {
                        result = take_out(home + place.offset);
                        if (result == KC_HOP_YES)
                                unlocked = kc_hop_without(unlocked, place.offset);
                }
                write(home, unlocked);
                return result;
        }

      private:
        /* The target of an insertion, locked; `distance` slots after its home. */
        struct target {
                uint32_t distance;
                uint64_t word; /* as stored there */
        };

        /* ---- words: the first lane accesses memory, all lanes get the result ---- */

        KC_HD uint64_t *at(uint32_t slot) const
        {
                return &table.words[slot & table.mask];
        }

        KC_HD uint64_t read(uint32_t slot) const
        {
                uint64_t word = lanes.rank() == 0 ? kc_load_acquire<SCOPE>(at(slot)) : 0;
                return lanes.from(word, 0);
        }

        KC_HD bool swap(uint32_t slot, uint64_t expected, uint64_t word) const
        {
                bool done = lanes.rank() == 0 && kc_swap_acquire<SCOPE>(at(slot), expected, word);
                return lanes.from((uint32_t)done, 0) != 0;
        }

        KC_HD void write(uint32_t slot, uint64_t word) const
        {
                if (lanes.rank() == 0)
                        kc_store_release<SCOPE>(at(slot), word);
        }

        /* Set the bit of an item whose slot is written next, in its locked home. By an atomic OR,
         * so that a thread that reads the bit still synchronizes with the last release of the
         * home's word. */
        KC_HD void announce(uint32_t home, uint32_t offset) const
        {
                if (lanes.rank() == 0)
                        kc_set_relaxed<SCOPE>(at(home), kc_hop_with(0, offset));
        }

        /* Lock the word of an open slot, or of a home, which was last seen as `word`; fails if that
         * is locked or out of date. */
        KC_HD bool lock(uint32_t slot, uint64_t word, uint64_t lock) const
        {
                return !kc_hop_is_locked(word) && swap(slot, word, word | lock);
        }

        /* ---- find ---- */

        template <class Match>
        static KC_HD bool is_match(uint64_t word, uint32_t offset, const Match &match,
                                   struct kc_hop_place *place)
        {
                place->item = kc_hop_item(word);
                return kc_hop_is_of(word, offset) && match(place->item);
        }

        /* Read the whole neighbourhood, one slot per lane, as in the paper. An item that is not
         * found may still be there. */
        template <class Match>
        KC_HD bool glance(uint32_t home, const Match &match, struct kc_hop_place *place) const
        {
                uint64_t word = kc_load_relaxed<SCOPE>(at(home + lanes.rank()));
                uint32_t met = lanes.ballot(is_match(word, lanes.rank(), match, place));
                place->home = lanes.from(word, 0);
                if (met == 0)
                        return false;
                place->offset = kc_hop_lowest(met);
                place->item = lanes.from(place->item, place->offset);
                return true;
        }

        /* Search a home that this operation has locked, so that its items stay where they are. */
        template <class Match>
        KC_HD bool look(uint32_t home, uint64_t word, const Match &match,
                        struct kc_hop_place *place) const
        {
                for (uint32_t bits = kc_hop_bitmap(word); bits != 0; bits &= bits - 1) {
                        place->offset = kc_hop_lowest(bits);
                        uint64_t there = place->offset == 0 ? word : read(home + place->offset);
                        if (is_match(there, place->offset, match, place))
                                return true;
                }
                return false;
        }

        /* ---- update ---- */

        /* For a slot other than the home's own; the home is locked. */
        KC_HD enum kc_hop_result take_out(uint32_t slot) const
        {
                uint64_t word = read(slot);
                if (kc_hop_is_locked(word) || !swap(slot, word, kc_hop_empty(word)))
                        return KC_HOP_BUSY;
                return KC_HOP_YES;
        }

        /* word: the home's, without the lock that is on it. Unlocks the home at the end. */
        KC_HD enum kc_hop_result insert_locked(uint32_t home, uint64_t word, uint32_t item) const
        {
                struct target target;
                if (!kc_hop_is_full(word)) {
                        write(home, kc_hop_with(kc_hop_put(word, item, 0), 0));
                        return KC_HOP_YES;
                }
                enum kc_hop_result result = find_empty(home, &target);
                bool has_target = result == KC_HOP_YES;
                while (result == KC_HOP_YES && target.distance >= KC_HOP_NEIGHBOURS)
                        result = find_closer_empty(home, &target);
                if (result == KC_HOP_YES) {
                        word = kc_hop_with(word, target.distance);
                        announce(home, target.distance);
                        target.word = kc_hop_put(target.word, item, target.distance);
                }
                if (has_target)
                        write(home + target.distance, kc_hop_unlocked(target.word));
                write(home, word);
                return result;
        }

        /* ---- find_empty ---- */

        /* Words that each lane reads at a time. */
        enum : uint32_t { AHEAD = Lanes::SIZE == 1 ? 4 : 1 };

        /* Find the nearest open slot after home, within reach, and lock it. */
        KC_HD enum kc_hop_result find_empty(uint32_t home, struct target *target) const
        {
                bool busy = false;
                for (uint32_t from = 1; from <= table.reach; from += AHEAD * Lanes::SIZE) {
                        uint64_t words[AHEAD];
                        for (uint32_t i = 0; i < AHEAD; i++)
                                words[i] = kc_load_relaxed<SCOPE>(
                                        at(home + from + i * Lanes::SIZE + lanes.rank()));
                        for (uint32_t i = 0; i < AHEAD; i++) {
                                uint32_t first = from + i * Lanes::SIZE;
                                if (lock_open(home, first, words[i], target, &busy))
                                        return KC_HOP_YES;
                        }
                }
                return busy ? KC_HOP_BUSY : KC_HOP_FULL_TABLE;
        }

        /* Lock an open slot among those from `first` after home on, whose words the lanes hold. */
        KC_HD bool lock_open(uint32_t home, uint32_t first, uint64_t word, struct target *target,
                             bool *busy) const
        {
                bool near = first + lanes.rank() <= table.reach;
                *busy |= lanes.ballot(near && !kc_hop_is_full(word)) != 0;
                uint32_t open = lanes.ballot(near && kc_hop_is_open(word));
                for (; open != 0; open &= open - 1) {
                        uint32_t lane = kc_hop_lowest(open);
                        uint64_t seen = lanes.from(word, lane);
                        *target = { first + lane, seen | KC_HOP_MULTIPLE_LOCK };
                        if (lock(home + target->distance, seen, KC_HOP_MULTIPLE_LOCK))
                                return true;
                }
                return false;
        }

        /* ---- find_closer_empty ---- */

        /* Move the target nearer to home, by at least one slot; on failure it stays, still
         * locked. */
        KC_HD enum kc_hop_result find_closer_empty(uint32_t home, struct target *target) const
        {
                bool busy = false;
                for (uint32_t d = KC_HOP_NEIGHBOURS - 1; d > 0; d--) {
                        uint32_t head = target->distance - d; /* slots after home */
                        enum kc_hop_result result = swap_value_into_empty(home + head, d, target);
                        if (result == KC_HOP_YES)
                                return result;
                        busy |= result == KC_HOP_BUSY;
                }
                return busy ? KC_HOP_BUSY : KC_HOP_FULL_TABLE;
        }

        /* Move an item of home swap_head into the target, which is `distance` slots after
         * swap_head. */
        KC_HD enum kc_hop_result swap_value_into_empty(uint32_t swap_head, uint32_t distance,
                                                       struct target *target) const
        {
                uint64_t head = read(swap_head);
                uint32_t offset = kc_hop_movable(head, distance);
                if (offset == KC_HOP_NONE)
                        return kc_hop_is_locked(head) ? KC_HOP_BUSY : KC_HOP_NO;
                if (!lock(swap_head, head, KC_HOP_SWAP_LOCK))
                        return KC_HOP_BUSY;
                if (offset == 0) {
                        move_from_head(swap_head, head, distance, target);
                        return KC_HOP_YES;
                }
                uint64_t word = read(swap_head + offset);
                if (!lock(swap_head + offset, word, KC_HOP_SWAP_LOCK)) {
                        write(swap_head, head);
                        return KC_HOP_BUSY;
                }
                copy(swap_head, kc_hop_item(word), distance, target);
                target->word = kc_hop_empty(word) | KC_HOP_MULTIPLE_LOCK;
                write(swap_head + offset, target->word);
                target->distance -= distance - offset;
                write(swap_head, kc_hop_without(kc_hop_with(head, distance), offset));
                return KC_HOP_YES;
        }

        /* Move the item in swap_head's own slot, which becomes the target. */
        KC_HD void move_from_head(uint32_t swap_head, uint64_t head, uint32_t distance,
                                  struct target *target) const
        {
                copy(swap_head, kc_hop_item(head), distance, target);
                head = kc_hop_without(kc_hop_with(kc_hop_empty(head), distance), 0);
                target->word = head | KC_HOP_MULTIPLE_LOCK;
                target->distance -= distance;
                write(swap_head, target->word);
        }

        /* Copy the item into the target, which unlocks it. */
        KC_HD void copy(uint32_t swap_head, uint32_t item, uint32_t distance,
                        const struct target *target) const
        {
                announce(swap_head, distance);
                write(swap_head + distance,
                      kc_hop_unlocked(kc_hop_put(target->word, item, distance)));
        }
};

/* ---- trying again ---- */

enum : uint32_t { KC_HOP_MAX_TRIES = 64 };

/* Let other threads proceed; waits longer after more tries. */
KC_HD void kc_hop_back_off(uint32_t tries)
{
#ifdef __CUDA_ARCH__
        __nanosleep(16u << (tries < 6 ? tries : 6));
#else
        (void)tries;
#endif
}

/* Like try_insert and try_erase, with up to max_tries tries. */
#pragma nv_exec_check_disable
template <class Hop, class Match, class Make>
KC_HD enum kc_hop_result kc_hop_insert(const Hop &hop, uint32_t home, const Match &match,
                                       Make &make, struct kc_hop_place *place,
                                       uint32_t max_tries = KC_HOP_MAX_TRIES)
{
        enum kc_hop_result result = KC_HOP_BUSY;
        for (uint32_t i = 0; i < max_tries && result == KC_HOP_BUSY; i++) {
                if (i > 0)
                        kc_hop_back_off(i);
                result = hop.try_insert(home, match, make, place);
        }
        return result;
}

#pragma nv_exec_check_disable
template <class Hop, class Match>
KC_HD enum kc_hop_result kc_hop_erase(const Hop &hop, uint32_t home, const Match &match,
                                      uint32_t max_tries = KC_HOP_MAX_TRIES)
{
        enum kc_hop_result result = KC_HOP_BUSY;
        for (uint32_t i = 0; i < max_tries && result == KC_HOP_BUSY; i++) {
                if (i > 0)
                        kc_hop_back_off(i);
                result = hop.try_erase(home, match);
        }
        return result;
}

#endif
