/*
 * Put the pairs of one list in order, for one key width.
 *
 * The list's pairs are distributed by their next bits into buckets of about a hundred (one pass to
 * count, one to place), and each bucket once more into groups of one or none, mostly, while it is
 * in L1; what is then out of order is put right on the way out. Where keys crowd, large groups are
 * split bit by bit. A list that does not fit the thread's memory is read several times, and each
 * time a range of buckets is placed.
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
        uint32_t *group_end; /* [2^MAX_GROUP_BITS] of the groups in tmp */
        uint32_t *size;      /* [2^MAX_BUCKET_BITS] pairs of each bucket */
        uint32_t *place;     /* likewise: where in items the next pair of a bucket goes */
};

static void W(sorter_free)(void *sorter)
{
        struct W(sorter) *s = sorter;
        if (s == NULL)
                return;
        free(s->items);
        free(s->keys);
        free(s->counts);
        free(s->tmp);
        free(s->group_end);
        free(s->size);
        free(s->place);
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
        s->tmp = malloc(W(TMP_CAP) *sizeof *s->tmp);
        s->group_end = malloc(sizeof *s->group_end << MAX_GROUP_BITS);
        s->size = malloc(sizeof *s->size << MAX_BUCKET_BITS);
        s->place = malloc(sizeof *s->place << MAX_BUCKET_BITS);
        if (s->tmp == NULL || s->group_end == NULL || s->size == NULL || s->place == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        return KC_OK;
}

static enum kc_status W(sorter_reserve)(struct W(sorter) *s, size_t n, struct kc_error *err)
{
        if (n <= s->cap)
                return KC_OK;
        free(s->items);
        free(s->keys);
        free(s->counts);
        s->cap = n + n / 4;
        s->items = kc_huge_alloc(s->cap * sizeof *s->items);
        s->keys = kc_huge_alloc(s->cap * sizeof *s->keys);
        s->counts = kc_huge_alloc(s->cap * sizeof *s->counts);
        if (s->items == NULL || s->keys == NULL || s->counts == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory to sort %zu k-mers", n);
        return KC_OK;
}

/* Sort items that differ in the low `bits` bits only: radix exchange, then insertion. */
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

/* How a pair is read back; what is the same for all pairs of a list. */
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
 * Read the whole list once. With items == NULL count the pairs of each bucket in place[]; else put
 * the pairs of buckets [first, end) to items[place[bucket]++].
 */
static enum kc_status W(read_list)(struct kc_list_reader *reader, uint32_t list,
                                   const struct W(decoder) *d, int bucket_low, int bucket_bits,
                                   uint32_t *place, struct W(item) *items, uint32_t first,
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
                        uint32_t bucket = W(key_bits)(&item.key, bucket_low, bucket_bits);
                        if (items == NULL)
                                place[bucket]++;
                        else if (bucket >= first && bucket < end)
                                items[place[bucket]++] = item;
                }
        }
}

/* Distribute n items by `nbits` bits from `low` on, from `from` to `to`. End of each group in
 * `place`. */
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

/* Give out one bucket in order: distributed once more, what is left is sorted on the way out. */
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

/* Sort the buckets [first, end), which lie one behind the other, and give them to the sink. */
static enum kc_status W(put_buckets)(struct W(sorter) *s, uint32_t list, bool last, uint32_t first,
                                     uint32_t end, int bucket_low, const struct kc_run_sink *sink,
                                     struct kc_error *err)
{
        /* After placing, place[b] is the end of bucket b. */
        size_t begin = 0;
        for (uint32_t b = first; b < end; begin = s->place[b++])
                W(sort_bucket)(s, begin, s->place[b] - begin, bucket_low);
        return sink->put(sink->ctx, list, last, s->keys->word, s->counts, begin, err);
}

static enum kc_status W(sort)(void *sorter, struct kc_list_reader *reader, uint32_t list,
                              const struct kc_run_sink *sink, struct kc_error *err)
{
        struct W(sorter) *s = sorter;
        struct W(decoder) d = W(decoder_for)(&s->setup, list);
        int low_bits = 2 * s->setup.k - s->setup.prefix_bits;
        uint64_t n_max = kc_lists_nbytes(reader->lists, list) / (d.key_nbytes + 1);
        if (n_max == 0)
                return sink->put(sink->ctx, list, true, NULL, NULL, 0, err);

        int bucket_bits = 1;
        while (bucket_bits < MAX_BUCKET_BITS && bucket_bits < low_bits &&
               n_max >> (bucket_bits + BUCKET_BITS))
                bucket_bits++;
        if (bucket_bits > low_bits)
                bucket_bits = low_bits;
        int bucket_low = low_bits - bucket_bits;
        uint32_t nbuckets = 1u << bucket_bits;
        memset(s->size, 0, nbuckets * sizeof *s->size);

        enum kc_status status = W(read_list)(reader, list, &d, bucket_low, bucket_bits, s->size,
                                             NULL, 0, nbuckets, err);
        for (uint32_t first = 0, end; first < nbuckets && status == KC_OK; first = end) {
                size_t n = 0;
                for (end = first;
                     end < nbuckets && (end == first || n + s->size[end] <= s->max_cap); end++) {
                        s->place[end] = (uint32_t)n;
                        n += s->size[end];
                }
                KC_TRY(W(sorter_reserve)(s, n, err));
                KC_TRY(W(read_list)(reader, list, &d, bucket_low, bucket_bits, s->place, s->items,
                                    first, end, err));
                KC_TRY(W(put_buckets)(s, list, end == nbuckets, first, end, bucket_low, sink, err));
        }
out:
        return status;
}
