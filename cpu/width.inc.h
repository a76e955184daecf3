/*
 * Everything that depends on KC_WORDS, for one value of it; W(name) appends the value to the name.
 */
#include "cpu/key.inc.h"

#include "cpu/count.inc.h"
#include "cpu/order.inc.h"

static const struct kc_width W(width) = {
        .counter_new = W(counter_new),
        .count = W(count),
        .flush = W(flush_pairs),
        .collect = W(collect),
        .counter_free = W(counter_free),
        .sorter_new = W(sorter_new),
        .sort = W(sort),
        .sorter_free = W(sorter_free),
};

#undef KC_WORDS
