/*
 * The operations of a slab list, and how the lanes of a group divide a slab
 * (gpu/maps/slab/list.cuh).
 */
#ifndef KC_GPU_MAPS_SLAB_LAYOUT_CUH
#define KC_GPU_MAPS_SLAB_LAYOUT_CUH

#include "gpu/maps/slab/pool.cuh"

/* ---- operations */

enum kc_slab_kind : uint8_t {
        KC_SLAB_SEARCH,     /* the least recently inserted element with the key */
        KC_SLAB_SEARCH_ALL, /* all of them */
        KC_SLAB_INSERT,     /* another element */
        KC_SLAB_REPLACE,    /* set the value of the key's element, or insert one */
        KC_SLAB_ADD,        /* add to the value of the key's element, or insert one; saturates */
        KC_SLAB_DELETE,     /* the least recently inserted element with the key */
        KC_SLAB_DELETE_ALL, /* all of them */
        KC_SLAB_NKINDS,
        KC_SLAB_ANY = KC_SLAB_NKINDS, /* as a template argument: operations are of mixed kinds */
};

KC_HD bool kc_slab_inserts(uint32_t kind)
{
        return kind == KC_SLAB_INSERT || kind == KC_SLAB_REPLACE || kind == KC_SLAB_ADD;
}

KC_HD bool kc_slab_deletes(uint32_t kind)
{
        return kind == KC_SLAB_DELETE || kind == KC_SLAB_DELETE_ALL;
}

enum : uint32_t {
        KC_SLAB_EMPTY = 0, /* as a stored key; keys of elements are above both marks */
        KC_SLAB_DELETED = 1,
        KC_SLAB_NEXT_BYTE = 124,  /* of the link in a slab */
        KC_SLAB_VALUES_BYTE = 80, /* of the first value in a slab if values are apart from keys */
};

/* ---- layouts: the contents of a place, as one word */

/* A key alone. */
template <class Key, class Word, uint32_t N> struct kc_slab_keys {
        typedef Key key;
        typedef Word word;
        enum : uint32_t { NPLACES = N, VALUES = 0, APART = 0 };
        static KC_HD word pack(key key, uint32_t)
        {
                return key;
        }
        static KC_HD key key_of(word word)
        {
                return word;
        }
        static KC_HD uint32_t value_of(word)
        {
                return 0;
        }
};

struct kc_slab_key32 : kc_slab_keys<uint32_t, unsigned int, 30> {
};

struct kc_slab_pair32 {
        typedef uint32_t key;
        typedef unsigned long long word;
        enum : uint32_t { NPLACES = 15, VALUES = 1, APART = 0 };
        static KC_HD word pack(key key, uint32_t value)
        {
                return (word)value << 32 | key;
        }
        static KC_HD key key_of(word word)
        {
                return (key)word;
        }
        static KC_HD uint32_t value_of(word word)
        {
                return (uint32_t)(word >> 32);
        }
};

struct kc_slab_key64 : kc_slab_keys<uint64_t, unsigned long long, 15> {
};

struct kc_slab_pair64 : kc_slab_key64 {
        enum : uint32_t { NPLACES = 10, VALUES = 1, APART = 1 };
};

/* Maps a lane's elements to numbers and bytes in the slab. A lane reads every NLANES-th quad (16
 * bytes) of the slab. */
template <class Layout, uint32_t NLANES> struct kc_slab_places {
        typedef typename Layout::word word;
        enum : uint32_t {
                NHALVES = 16 / NLANES, /* 64-bit words of a slab that a lane reads */
                PER_HALF = 8 / sizeof(word),
                NELEMENTS = NHALVES * PER_HALF, /* per lane */
        };

        static KC_HD uint32_t number(uint32_t lane, uint32_t element)
        {
                uint32_t half = element / PER_HALF, quad = half / 2 * NLANES + lane;
                return (quad * 2 + half % 2) * PER_HALF + element % PER_HALF;
        }

        static KC_HD uint32_t byte(uint32_t lane, uint32_t element)
        {
                return number(lane, element) * (uint32_t)sizeof(word);
        }

        /* A bit for each of the lane's elements that holds a place. */
        static KC_HD uint32_t valid(uint32_t lane)
        {
                uint32_t bits = 0;
                for (uint32_t i = 0; i < NELEMENTS; i++)
                        bits |= (uint32_t)(number(lane, i) < Layout::NPLACES) << i;
                return bits;
        }

        /* How many of the lane's elements hold places; they are its first ones. */
        static KC_HD uint32_t nvalid(uint32_t lane)
        {
                uint32_t n = 0;
                for (uint32_t i = 0; i < NELEMENTS; i++)
                        n += number(lane, i) < Layout::NPLACES;
                return n;
        }

        /* The byte of a place, numbered in the order of places. */
        static KC_HD uint32_t byte_of_place(uint32_t place)
        {
                uint32_t lane = 0;
                for (; place >= nvalid(lane); lane++)
                        place -= nvalid(lane);
                return byte(lane, place);
        }
};

#endif
