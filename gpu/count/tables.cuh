/*
 * The types of the tables that count a bin (gpu/tables/table.cuh).
 */
#ifndef KC_GPU_COUNT_TABLES_CUH
#define KC_GPU_COUNT_TABLES_CUH

#include "gpu/count/refs.cuh"
#include "gpu/device/limits.h"
#include "gpu/tables/hopscotch.cuh"
#include "gpu/tables/linear.cuh"
#include "gpu/tables/slab.cuh"
#include "gpu/tables/warpdrive.cuh"

template <class Key> using kc_table_fold = kc_fold<Key, 256>;
template <class Key> using kc_table_refs = kc_refs<Key, kc_table_fold<Key>>;

template <class Table> struct kc_table_type {
        typedef Table type;
};

/* Returns work(kc_table_type<Table>()), where Table is the type of this table for the key. */
template <class Key, class Work>
static inline auto kc_table_choose(enum kc_gpu_table table, const Work &work)
{
        using refs = kc_table_refs<Key>;
        using warpdrive = std::conditional_t<sizeof(Key) == 8, kc_warpdrive<Key, 1>, refs>;
        switch (table) {
        case KC_TABLE_WARPDRIVE:
                return work(kc_table_type<warpdrive>());
        case KC_TABLE_SLAB:
                return work(kc_table_type<kc_slab<Key>>());
        case KC_TABLE_LINEAR:
                return work(kc_table_type<kc_linear<Key>>());
        case KC_TABLE_HOPSCOTCH:
                return work(kc_table_type<kc_hopscotch<Key>>());
        }
        __builtin_unreachable();
}

#endif
