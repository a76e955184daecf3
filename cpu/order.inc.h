/*
 * Sort the pairs of one list, for one key width.
 *
 * The list's pairs are distributed by their next bits into buckets of about a hundred pairs (one
 * pass to count, one to place). Each bucket is distributed again, while it is in L1, into groups
 * that mostly hold at most one pair; an insertion sort on output fixes what is still out of order.
 * Large groups of similar keys are split bit by bit. A list that does not fit in the thread's
 * memory is read several times, each time for a range of buckets; a bucket that does not fit is
 * itself cut into buckets. If the pairs of a single k-mer do not fit, their counts are added up
 * while the list is read.
 */

enum {
        W(TMP_CAP) = TMP_NBYTES / sizeof(struct W(item)),
};

struct W(sorter) {
        struct kc_width_setup setup;
        size_t cap, max_cap; /* pairs */
        struct W(item) *items;
        struct W(key) *keys;
        uint32_t *counts;
        struct W(item) *tmp; /* [W(TMP_CAP)] a bucket, distributed */
        uint32_t *group_end; /* [2^MAX_GROUP_BITS] where the groups in tmp end */
};

static void W(sorter_release)(struct W(sorter) *s)
{
        kc_huge_free(s->items, s->cap * sizeof *s->items);
        kc_huge_free(s->keys, s->cap * sizeof *s->keys);
        kc_huge_free(s->counts, s->cap * sizeof *s->counts);
}

static void W(sorter_free)(void *sorter)
{
        struct W(sorter) *s = sorter;
        if (s == NULL)
                return;
        W(sorter_release)(s);
        free(s->tmp);
        free(s->group_end);
        free(s);
}

static enum kc_status W(sorter_new)(void **sorter, const struct kc_width_setup *setup,
                                    struct kc_error *err)
{
        struct W(sorter) *s = calloc(1, sizeof *s);
        if (s == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        *sorter = s;
        s->setup = *setup;
        s->max_cap =
                setup->scratch_nbytes / (sizeof *s->items + sizeof *s->keys + sizeof *s->counts);
        s->tmp = malloc(sizeof *s->tmp * W(TMP_CAP));
        s->group_end = malloc(sizeof *s->group_end << MAX_GROUP_BITS);
        if (s->tmp == NULL || s->group_end == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        return KC_OK;
}

static enum kc_status W(sorter_reserve)(struct W(sorter) *s, size_t n, struct kc_error *err)
{
        if (n <= s->cap)
                return KC_OK;
        W(sorter_release)(s);
        s->cap = n + n / 4 < s->max_cap ? n + n / 4 : n;
        s->items = kc_huge_alloc(s->cap * sizeof *s->items);
        s->keys = kc_huge_alloc(s->cap * sizeof *s->keys);
        s->counts = kc_huge_alloc(s->cap * sizeof *s->counts);
        if (s->items == NULL || s->keys == NULL || s->counts == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory to sort %zu k-mers", n);
        return KC_OK;
}

/* Sort items that differ only in the low `bits` bits: radix exchange sort, then insertion sort. */
static void W(sort_items)(struct W(item) *items, size_t n, int bits)
{
        while (n > INSERTION_MAX && bits > 0) {
                size_t low = 0, high = n;
                bits--;
                while (low < high) {
                        if (W(key_bits)(&items[low].key, bits, 1) == 0) {
                                low++;
                        } else {
                                struct W(item) other = items[--high];
                                items[high] = items[low];
                                items[low] = other;
                        }
                }
                W(sort_items)(items, low, bits);
                items += low;
                n -= low;
        }
        for (size_t i = 1; i < n; i++) {
                struct W(item) item = items[i];
                size_t j = i;
                for (; j > 0 && W(key_less)(&item.key, &items[j - 1].key); j--)
                        items[j] = items[j - 1];
                items[j] = item;
        }
}

/* How to decode a pair; the same for all pairs of a list. */
struct W(decoder) {
        size_t key_nbytes;
        struct W(key) mask, prefix;
};

static struct W(decoder) W(decoder_for)(const struct kc_width_setup *setup, uint32_t list)
{
        int low_bits = 2 * setup->k - setup->prefix_bits;
        struct W(decoder) d = { .key_nbytes = kc_pair_key_nbytes(setup->k, setup->prefix_bits) };
        for (int i = 0; i < KC_WORDS; i++) {
                int used = low_bits - 64 * i;
                d.mask.word[i] = used >= 64  ? UINT64_MAX
                                 : used <= 0 ? 0
                                             : (UINT64_C(1) << used) - 1;
                int shift = low_bits - 64 * i; /* of the prefix, relative to this word */
                if (shift >= 0 && shift < 64)
                        d.prefix.word[i] = (uint64_t)list << shift;
                else if (shift < 0 && shift > -32)
                        d.prefix.word[i] = (uint64_t)list >> -shift;
        }
        return d;
}

static inline size_t W(decode)(const struct W(decoder) *d, const uint8_t *in, struct W(item) *item)
{
        memcpy(&item->key, in, sizeof item->key);
        for (int i = 0; i < KC_WORDS; i++)
                item->key.word[i] = (item->key.word[i] & d->mask.word[i]) | d->prefix.word[i];
        return d->key_nbytes + kc_pair_get_count(in + d->key_nbytes, &item->count);
}

/*
 * The pairs of a list whose k-mers agree with prefix in all bits from `low` up. The bits below,
 * from bucket_low up, choose their bucket.
 */
struct W(range) {
        struct W(key) prefix;
        int low, bucket_low, bucket_bits;
        bool is_part; /* the list may hold other pairs as well */
};

/* Where a list is read from, and where its pairs go. */
struct W(order) {
        struct kc_list_reader *reader;
        uint32_t list;
        const struct W(decoder) *decoder;
        const struct kc_run_sink *sink;
};

static inline bool W(is_within)(const struct W(range) *r, const struct W(key) *key)
{
        uint64_t differ = 0;
        for (int i = 0; i < KC_WORDS; i++) {
                int below = r->low - 64 * i;
                uint64_t word = key->word[i] ^ r->prefix.word[i];
                differ |= below >= 64 ? 0 : below > 0 ? word >> below : word;
        }
        return differ == 0;
}

/*
 * Read the whole list once. With items == NULL count the range's pairs of each bucket in place[];
 * otherwise store the pairs of its buckets [first, end) at items[place[bucket]++].
 */
static enum kc_status W(read_list)(struct kc_list_reader *reader, uint32_t list,
                                   const struct W(decoder) *d, const struct W(range) *r,
                                   size_t *place, struct W(item) *items, uint32_t first,
                                   uint32_t end, struct kc_error *err)
{
        kc_list_rewind(reader, list);
        for (;;) {
                const uint8_t *data;
                size_t nbytes;
                enum kc_status status = kc_list_next(reader, &data, &nbytes, err);
                if (status != KC_OK || nbytes == 0)
                        return status;
                for (const uint8_t *stop = data + nbytes; data < stop;) {
                        struct W(item) item;
                        data += W(decode)(d, data, &item);
                        if (r->is_part && !W(is_within)(r, &item.key))
                                continue;
                        uint32_t bucket = W(key_bits)(&item.key, r->bucket_low, r->bucket_bits);
                        if (items == NULL)
                                place[bucket]++;
                        else if (bucket >= first && bucket < end)
                                items[place[bucket]++] = item;
                }
        }
}

/* Distribute n items from `from` to `to`, by nbits bits from bit `low` up. place: out, the end of
 * each group. */
static void W(distribute)(const struct W(item) *from, size_t n, int low, int nbits,
                          struct W(item) *to, uint32_t *place)
{
        uint32_t ngroups = 1u << nbits, sum = 0;
        memset(place, 0, ngroups * sizeof *place);
        for (size_t i = 0; i < n; i++)
                place[W(key_bits)(&from[i].key, low, nbits)]++;
        for (uint32_t g = 0; g < ngroups; g++) {
                uint32_t size = place[g];
                place[g] = sum;
                sum += size;
        }
        for (size_t i = 0; i < n; i++)
                to[place[W(key_bits)(&from[i].key, low, nbits)]++] = from[i];
}

/* Sort one bucket into keys and counts: distribute it again, then finish with an insertion sort on
 * output. */
static void W(sort_bucket)(struct W(sorter) *s, size_t begin, size_t n, int bits)
{
        struct W(item) *items = s->items + begin;
        int nbits = 1;
        while (nbits < MAX_GROUP_BITS && n >> (nbits - 1))
                nbits++;
        if (nbits > bits)
                nbits = bits;
        if (n > INSERTION_MAX && n <= W(TMP_CAP)) {
                W(distribute)(items, n, bits - nbits, nbits, s->tmp, s->group_end);
                items = s->tmp;
                for (uint32_t g = 0, first = 0; g < 1u << nbits; first = s->group_end[g++])
                        if (s->group_end[g] - first > INSERTION_MAX)
                                W(sort_items)(items + first, s->group_end[g] - first, bits - nbits);
        } else if (n > INSERTION_MAX) {
                W(sort_items)(items, n, bits);
        }
        struct W(key) *keys = s->keys + begin;
        uint32_t *counts = s->counts + begin;
        for (size_t i = 0; i < n; i++) {
                size_t j = i;
                for (; j > 0 && W(key_less)(&items[i].key, &keys[j - 1]); j--) {
                        keys[j] = keys[j - 1];
                        counts[j] = counts[j - 1];
                }
                keys[j] = items[i].key;
                counts[j] = items[i].count;
        }
}

/* Merge the pairs of each k-mer, which are neighbours in keys and counts, into one, and drop what
 * the filter does not keep. Returns the number of pairs left. */
static size_t W(sum_equal)(struct W(sorter) *s, size_t n, struct kc_run_dropped *dropped)
{
        struct kc_counter_totals *totals = s->setup.sums;
        size_t nsums = 0;
        for (size_t i = 0; i < n; i++) {
                if (nsums > 0 && W(key_equal)(&s->keys[nsums - 1], &s->keys[i])) {
                        s->counts[nsums - 1] = kc_count_add(s->counts[nsums - 1], s->counts[i],
                                                            &totals->nsaturated);
                } else {
                        s->keys[nsums] = s->keys[i];
                        s->counts[nsums++] = s->counts[i];
                }
        }
        totals->ndistinct += nsums;
        return kc_run_filter_pairs(&s->setup.filter, (uint64_t *)s->keys, s->counts, nsums,
                                   KC_WORDS, dropped);
}

/* Pass the first n keys and counts, which are sorted, to the sink. They hold all pairs of each of
 * their k-mers. */
static enum kc_status W(put_sorted)(struct W(sorter) *s, const struct W(order) *o, size_t n,
                                    bool last, struct kc_error *err)
{
        struct kc_run_pairs pairs = {
                .part = o->list,
                .last = last,
                .n = n,
                .kmers = (const uint64_t *)s->keys, /* NULL if there never was a pair */
                .counts = s->counts,
        };
        if (s->setup.sums != NULL)
                pairs.n = W(sum_equal)(s, n, &pairs.dropped);
        return o->sink->put(o->sink->ctx, &pairs, err);
}

/* Sort the buckets [first, end), which are contiguous in items, and pass them to the sink. */
static enum kc_status W(put_buckets)(struct W(sorter) *s, const struct W(order) *o, bool last,
                                     const size_t *bucket_end, uint32_t first, uint32_t end,
                                     int bucket_low, struct kc_error *err)
{
        size_t begin = 0;
        for (uint32_t b = first; b < end; begin = bucket_end[b++])
                if (bucket_end[b] > begin)
                        W(sort_bucket)(s, begin, bucket_end[b] - begin, bucket_low);
        return W(put_sorted)(s, o, begin, last, err);
}

/* For each bucket of a range: its number of pairs, and where its next pair goes in items. */
struct W(buckets) {
        uint32_t n;
        size_t *size, *place;
};

static enum kc_status W(buckets_new)(struct W(buckets) *b, uint32_t n, struct kc_error *err)
{
        b->n = n;
        b->size = calloc(n, sizeof *b->size);
        b->place = malloc(n * sizeof *b->place);
        if (b->size == NULL || b->place == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory to sort %u buckets", n);
        return KC_OK;
}

static void W(buckets_free)(struct W(buckets) *b)
{
        free(b->size);
        free(b->place);
}

static int W(choose_bucket_bits)(uint64_t n_max, int most)
{
        int bits = 1;
        while (bits < MAX_BUCKET_BITS && bits < most && n_max >> (bits + BUCKET_BITS))
                bits++;
        return bits < most ? bits : most;
}

/* Choose buckets from `first` on that together fit in the thread's memory; at least one. Returns
 * the end, and the number of pairs in *n. */
static uint32_t W(choose_buckets)(const struct W(sorter) *s, struct W(buckets) *b, uint32_t first,
                                  size_t *n)
{
        uint32_t end = first;
        *n = 0;
        for (; end < b->n && (end == first || *n + b->size[end] <= s->max_cap); end++) {
                b->place[end] = *n;
                *n += b->size[end];
        }
        return end;
}

static enum kc_status W(sort_range)(struct W(sorter) *s, const struct W(order) *o,
                                    struct W(range) *r, uint64_t n_max, bool last,
                                    struct kc_error *err);

/* Sort a bucket that does not fit as a range of its own, cut by the bits below those of the
 * buckets. */
static enum kc_status W(sort_large)(struct W(sorter) *s, const struct W(order) *o,
                                    const struct W(range) *r, uint32_t bucket, uint64_t n,
                                    bool last, struct kc_error *err)
{
        struct W(range) inner = { .prefix = r->prefix, .low = r->bucket_low, .is_part = true };
        W(key_add_bits)(&inner.prefix, r->bucket_low, r->bucket_bits, bucket);
        return W(sort_range)(s, o, &inner, n, last, err);
}

/* Pass a bucket whose pairs all have the same k-mer, and do not fit in the thread's memory, to the
 * sink as one pair. */
static enum kc_status W(sum_large)(struct W(sorter) *s, const struct W(order) *o,
                                   const struct W(range) *r, uint32_t bucket, bool last,
                                   struct kc_error *err)
{
        struct W(range) one = { .prefix = r->prefix };
        uint64_t *nsaturated = &s->setup.sums->nsaturated;
        uint32_t count = 0;
        enum kc_status status;
        W(key_add_bits)(&one.prefix, r->bucket_low, r->bucket_bits, bucket);
        kc_list_rewind(o->reader, o->list);
        for (;;) {
                const uint8_t *data;
                size_t nbytes;
                KC_TRY(kc_list_next(o->reader, &data, &nbytes, err));
                if (nbytes == 0)
                        break;
                for (const uint8_t *stop = data + nbytes; data < stop;) {
                        struct W(item) item;
                        data += W(decode)(o->decoder, data, &item);
                        if (W(is_within)(&one, &item.key))
                                count = kc_count_add(count, item.count, nsaturated);
                }
        }
        KC_TRY(W(sorter_reserve)(s, 1, err));
        s->keys[0] = one.prefix;
        s->counts[0] = count;
        status = W(put_sorted)(s, o, 1, last, err);
out:
        return status;
}

/* Sort the range, as many buckets at a time as fit in memory. n_max: upper bound on its pairs. */
static enum kc_status W(sort_range)(struct W(sorter) *s, const struct W(order) *o,
                                    struct W(range) *r, uint64_t n_max, bool last,
                                    struct kc_error *err)
{
        struct W(buckets) b = { 0 };
        enum kc_status status;
        r->bucket_bits = W(choose_bucket_bits)(n_max, r->low);
        r->bucket_low = r->low - r->bucket_bits;
        KC_TRY(W(buckets_new)(&b, 1u << r->bucket_bits, err));
        KC_TRY(W(read_list)(o->reader, o->list, o->decoder, r, b.size, NULL, 0, b.n, err));
        for (uint32_t first = 0, end; first < b.n; first = end) {
                size_t n;
                end = W(choose_buckets)(s, &b, first, &n);
                const bool is_last = last && end == b.n;
                if (n > s->max_cap && r->bucket_low > 0) {
                        KC_TRY(W(sort_large)(s, o, r, first, n, is_last, err));
                        continue;
                }
                if (n > s->max_cap && s->setup.sums != NULL) {
                        KC_TRY(W(sum_large)(s, o, r, first, is_last, err));
                        continue;
                }
                KC_TRY(W(sorter_reserve)(s, n, err));
                KC_TRY(W(read_list)(o->reader, o->list, o->decoder, r, b.place, s->items, first,
                                    end, err));
                KC_TRY(W(put_buckets)(s, o, is_last, b.place, first, end, r->bucket_low, err));
        }
out:
        W(buckets_free)(&b);
        return status;
}

static enum kc_status W(sort)(void *sorter, struct kc_list_reader *reader, uint32_t list,
                              const struct kc_run_sink *sink, struct kc_error *err)
{
        struct W(sorter) *s = sorter;
        const struct W(decoder) d = W(decoder_for)(&s->setup, list);
        const struct W(order) o = { reader, list, &d, sink };
        struct W(range) all = { .prefix = d.prefix, .low = 2 * s->setup.k - s->setup.prefix_bits };
        uint64_t n_max = kc_lists_nbytes(reader->lists, list) / (d.key_nbytes + 1);
        if (n_max == 0)
                return sink->put(sink->ctx, &(struct kc_run_pairs){ .part = list, .last = true },
                                 err);
        return W(sort_range)(s, &o, &all, n_max, true, err);
}
