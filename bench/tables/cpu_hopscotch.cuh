/*
 * The hopscotch table for CPUs with which GLHT is compared: a lock and a timestamp for each segment
 * of the slots; readers take no locks. For any number of threads.
 *
 * A thread that holds the lock of its key's segment takes the lock of a later segment when it moves
 * an item, and then waits for no other; so there is no deadlock. Slots do not wrap around.
 *
 * Source: Herlihy, Shavit and Tzafrir, Hopscotch Hashing (2008), section 3.
 */
#ifndef KC_BENCH_TABLES_CPU_HOPSCOTCH_CUH
#define KC_BENCH_TABLES_CPU_HOPSCOTCH_CUH

#include "gpu/maps/hopscotch/map.cuh"

#include <atomic>
#include <memory>
#include <thread>

enum : uint32_t {
        CPU_HOPSCOTCH_REACH = 4096,
        CPU_HOPSCOTCH_SEGMENT = 64, /* homes */
        CPU_HOPSCOTCH_MAX_LOOKS = 2,
};

struct cpu_hopscotch {
        enum : uint64_t { FREE = UINT64_MAX, TAKEN = UINT64_MAX - 1 }; /* special values of a key */
        struct slot {
                std::atomic<uint64_t> key;
                std::atomic<uint32_t> bitmap;
        };
        struct alignas(64) segment {
                std::atomic<bool> locked;
                std::atomic<uint32_t> time; /* of the last move */
        };

        uint32_t bits;
        std::unique_ptr<slot[]> slots;
        std::unique_ptr<segment[]> segments;

        explicit cpu_hopscotch(uint32_t bits) : bits(bits)
        {
                slots.reset(new slot[nslots()]);
                segments.reset(new segment[(UINT32_C(1) << bits) / CPU_HOPSCOTCH_SEGMENT + 1]());
                clear();
        }

        void clear()
        {
                for (uint32_t i = 0; i < nslots(); i++) {
                        slots[i].key = FREE;
                        slots[i].bitmap = 0;
                }
        }

        enum kc_hop_result operator()(enum kc_hopscotch_op op, uint32_t key)
        {
                const uint32_t home = kc_hopscotch_split(key, { bits, 0 }).home;
                if (op == KC_HOPSCOTCH_FIND)
                        return find(home, key) ? KC_HOP_YES : KC_HOP_NO;
                lock(home);
                enum kc_hop_result result =
                        op == KC_HOPSCOTCH_INSERT ? insert(home, key) : erase(home, key);
                unlock(home);
                return result;
        }

      private:
        uint32_t nslots() const
        {
                return (UINT32_C(1) << bits) + CPU_HOPSCOTCH_REACH + KC_HOP_NEIGHBOURS;
        }

        /* The segment of a home slot; slots after the last home have none. */
        segment &segment_of(uint32_t home)
        {
                return segments[home / CPU_HOPSCOTCH_SEGMENT];
        }

        void lock(uint32_t home)
        {
                while (segment_of(home).locked.exchange(true, std::memory_order_acquire))
                        std::this_thread::yield();
        }

        void unlock(uint32_t home)
        {
                segment_of(home).locked.store(false, std::memory_order_release);
        }

        /* The offset of the key from its home, or KC_HOP_NONE. */
        uint32_t look(uint32_t home, uint32_t key) const
        {
                for (uint32_t left = slots[home].bitmap; left != 0; left &= left - 1)
                        if (slots[home + kc_hop_lowest(left)].key == key)
                                return kc_hop_lowest(left);
                return KC_HOP_NONE;
        }

        bool find(uint32_t home, uint32_t key)
        {
                for (uint32_t i = 0; i < CPU_HOPSCOTCH_MAX_LOOKS; i++) {
                        uint32_t time = segment_of(home).time;
                        if (look(home, key) != KC_HOP_NONE)
                                return true;
                        if (segment_of(home).time == time)
                                return false;
                }
                for (uint32_t i = 0; i < KC_HOP_NEIGHBOURS; i++) /* items move upwards only */
                        if (slots[home + i].key == key)
                                return true;
                return false;
        }

        enum kc_hop_result erase(uint32_t home, uint32_t key)
        {
                uint32_t offset = look(home, key);
                if (offset == KC_HOP_NONE)
                        return KC_HOP_NO;
                slots[home].bitmap &= ~(1u << offset);
                slots[home + offset].key = FREE;
                return KC_HOP_YES;
        }

        enum kc_hop_result insert(uint32_t home, uint32_t key)
        {
                uint32_t at;
                if (look(home, key) != KC_HOP_NONE)
                        return KC_HOP_NO;
                if (!take_slot(home, &at))
                        return KC_HOP_FULL_TABLE;
                while (at - home >= KC_HOP_NEIGHBOURS)
                        if (!move_nearer(home, &at)) {
                                slots[at].key = FREE;
                                return KC_HOP_FULL_TABLE;
                        }
                slots[home].bitmap |= 1u << (at - home);
                slots[at].key = key;
                return KC_HOP_YES;
        }

        bool take_slot(uint32_t home, uint32_t *at)
        {
                for (uint32_t i = 0; i < CPU_HOPSCOTCH_REACH; i++) {
                        uint64_t expected = FREE;
                        if (slots[home + i].key == FREE &&
                            slots[home + i].key.compare_exchange_strong(expected, TAKEN)) {
                                *at = home + i;
                                return true;
                        }
                }
                return false;
        }

        /* Move an earlier item into the slot *at, which is taken; its own slot becomes *at. */
        bool move_nearer(uint32_t home, uint32_t *at)
        {
                for (uint32_t d = KC_HOP_NEIGHBOURS - 1; d > 0; d--) {
                        const uint32_t head = *at - d;
                        const bool other = &segment_of(head) != &segment_of(home);
                        if (head >> bits != 0 ||
                            kc_hop_movable(slots[head].bitmap, d) == KC_HOP_NONE)
                                continue;
                        if (other)
                                lock(head);
                        const uint32_t offset = kc_hop_movable(slots[head].bitmap, d);
                        if (offset != KC_HOP_NONE) {
                                move(head, offset, d);
                                *at = head + offset;
                        }
                        if (other)
                                unlock(head);
                        if (offset != KC_HOP_NONE)
                                return true;
                }
                return false;
        }

        void move(uint32_t head, uint32_t from, uint32_t to)
        {
                slots[head + to].key = slots[head + from].key.load();
                slots[head].bitmap |= 1u << to;
                slots[head].bitmap &= ~(1u << from);
                segment_of(head).time++;
                slots[head + from].key = TAKEN;
        }
};

#endif
