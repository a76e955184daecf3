/*
 * Count the k-mers of one bin, for one key width.
 *
 *      records ──▶ equal super-k-mers folded ──▶ k-mers ──▶ table ──▶ pairs by prefix, or counts
 *
 * At usual coverage most super-k-mers of a bin occur many times. Equal ones are first folded in a
 * small table; each is then cut into k-mers once, with a weight. The k-mer table uses open
 * addressing with linear probing, with keys and counts in separate arrays; it grows with the bin up
 * to the thread's share of memory. A bin with more distinct k-mers than that is counted in several
 * passes over its records, each for a range of hashes: slower, but exact in any memory.
 */

enum {
        /* A super-k-mer has at most 2k - m bases, unless minimizers repeat. */
        W(FOLD_WORDS) = 2 * KC_WORDS,
};

struct W(folded) {
        uint64_t base[W(FOLD_WORDS)];
        uint32_t nkmers, weight;
};

enum {
        W(FOLD_CAP) = FOLD_NBYTES / sizeof(struct W(folded)),
        W(COLLECT_CAP) = COLLECT_NBYTES / sizeof(struct W(item)),
        W(COLLECTED_NBYTES) = sizeof(struct W(item)) * W(COLLECT_CAP),
};

struct W(counter) {
        struct kc_width_setup setup;
        uint64_t top_mask;

        struct W(folded) *folded; /* [W(FOLD_CAP)] */
        uint32_t *fold_slot;      /* [FOLD_SLOTS] 1 + index into folded; 0: free */
        uint32_t nfolded;

        struct W(key) *keys;
        uint32_t *counts; /* 0: free, whatever the key is */
        int table_bits, alloc_bits, max_table_bits;
        size_t nused;
        uint64_t nsaturated;

        /* Pairs on their way to setup.pairs; NULL if only counts are wanted. */
        struct W(item) *collected; /* [W(COLLECT_CAP)] */
        size_t ncollected;
        uint8_t *staged; /* the same pairs, encoded as in the lists and sorted by list */
        size_t staged_nbytes;
        uint32_t *list_end; /* [nlists + 1] in staged */

        /* The pass counts the k-mers with (hash >> PASS_SHIFT & pass_mask) == pass. */
        uint64_t pass_mask, pass;
        double distinct_per_byte; /* of the last bin, to choose the next table's initial size */
};

static void W(slots_free)(struct W(key) *keys, uint32_t *counts, int bits)
{
        kc_huge_free(keys, sizeof *keys << bits);
        kc_huge_free(counts, sizeof *counts << bits);
}

static void W(table_free)(struct W(counter) *c)
{
        W(slots_free)(c->keys, c->counts, c->alloc_bits);
        c->keys = NULL;
        c->counts = NULL;
}

/* Allocate an empty table; the old one remains the caller's to free. */
static enum kc_status W(table_alloc)(struct W(counter) *c, int bits, struct kc_error *err)
{
        c->keys = kc_huge_alloc(sizeof *c->keys << bits);
        c->counts = kc_huge_alloc(sizeof *c->counts << bits);
        c->table_bits = c->alloc_bits = bits;
        c->nused = 0;
        if (c->keys == NULL || c->counts == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for a table of 2^%d k-mers", bits);
        return KC_OK;
}

static void W(counter_free)(void *counter)
{
        struct W(counter) *c = counter;
        if (c == NULL)
                return;
        W(table_free)(c);
        free(c->folded);
        free(c->fold_slot);
        kc_huge_free(c->collected, W(COLLECTED_NBYTES));
        kc_huge_free(c->staged, c->staged_nbytes);
        free(c->list_end);
        free(c);
}

/* The buffers for pairs. */
static enum kc_status W(pairs_new)(struct W(counter) *c, struct kc_error *err)
{
        const uint32_t nlists = c->setup.pairs->nlists;
        c->staged_nbytes = (sizeof *c->keys + 5) * W(COLLECT_CAP) + (nlists + 1) * sizeof *c->keys;
        c->collected = kc_huge_alloc(W(COLLECTED_NBYTES));
        c->staged = kc_huge_alloc(c->staged_nbytes);
        c->list_end = malloc((nlists + 1) * sizeof *c->list_end);
        if (c->collected == NULL || c->staged == NULL || c->list_end == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        return KC_OK;
}

static enum kc_status W(counter_new)(void **counter, const struct kc_width_setup *setup,
                                     struct kc_error *err)
{
        struct W(counter) *c = calloc(1, sizeof *c);
        if (c == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        *counter = c;
        c->setup = *setup;
        c->top_mask = kc_kmer_top_mask(setup->k);
        c->folded = malloc(sizeof *c->folded * W(FOLD_CAP));
        c->fold_slot = calloc(FOLD_SLOTS, sizeof *c->fold_slot);
        if (c->folded == NULL || c->fold_slot == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        if (setup->counts == NULL) {
                enum kc_status status = W(pairs_new)(c, err);
                if (status != KC_OK)
                        return status;
        }
        /* While the table grows, the old one (half the size) exists as well. */
        size_t slot_nbytes = (sizeof *c->keys + sizeof *c->counts) * 3 / 2;
        size_t buffers_nbytes = FOLD_NBYTES + FOLD_SLOTS * sizeof *c->fold_slot;
        if (setup->counts == NULL)
                buffers_nbytes += W(COLLECTED_NBYTES) + c->staged_nbytes;
        c->max_table_bits = LEAST_MAX_TABLE_BITS;
        while (c->max_table_bits < MAX_TABLE_BITS &&
               (slot_nbytes << (c->max_table_bits + 1)) + buffers_nbytes <= setup->scratch_nbytes)
                c->max_table_bits++;
        return KC_OK;
}

/*
 * Add weight to the count of a key, probing from `slot` on. One branch tests whether the slot is
 * free or holds the key; it is nearly always taken, while two branches would be mispredicted for
 * half of the keys.
 */
static inline void W(add_at)(struct W(counter) *c, const struct W(key) *key, size_t slot,
                             uint32_t weight)
{
        size_t mask = ((size_t)1 << c->table_bits) - 1;
        uint32_t count;
        for (;; slot = (slot + 1) & mask) {
                count = c->counts[slot];
                if (W(key_equal)(&c->keys[slot], key) | (count == 0))
                        break;
        }
        c->keys[slot] = *key;
        c->counts[slot] = kc_count_add(count, weight, &c->nsaturated);
        c->nused += count == 0;
}

/* The integer that k packed bases spell: the bases in reverse order, shifted down to bit 0. */
static inline void W(spell)(const struct W(key) *packed, int k, struct W(key) *out)
{
        int unused = 64 * KC_WORDS - 2 * k;
        for (int i = 0; i < KC_WORDS; i++) {
                uint64_t low = kc_reverse_bases(packed->word[KC_WORDS - 1 - i]);
                uint64_t high =
                        i + 1 < KC_WORDS ? kc_reverse_bases(packed->word[KC_WORDS - 2 - i]) : 0;
                out->word[i] = low >> unused | high << 1 << (63 - unused);
        }
}

/* Make the table empty and twice as large; its old slots become the caller's to free. */
static enum kc_status W(table_double)(struct W(counter) *c, struct W(key) **keys, uint32_t **counts,
                                      struct kc_error *err)
{
        int bits = c->table_bits;
        *keys = c->keys;
        *counts = c->counts;
        if (bits == c->alloc_bits)
                return W(table_alloc)(c, bits + 1, err);
        /* The allocation has room for more slots. Move the used ones into a copy, at most half as
         * large. */
        *keys = kc_huge_alloc(sizeof **keys << bits);
        *counts = kc_huge_alloc(sizeof **counts << bits);
        if (*keys == NULL || *counts == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for a table of 2^%d k-mers", bits);
        memcpy(*keys, c->keys, sizeof **keys << bits);
        memcpy(*counts, c->counts, sizeof **counts << bits);
        memset(c->counts, 0, sizeof **counts << bits);
        c->table_bits++;
        c->nused = 0;
        return KC_OK;
}

static enum kc_status W(table_grow)(struct W(counter) *c, struct kc_error *err)
{
        struct W(key) *keys;
        uint32_t *counts;
        int bits = c->table_bits;
        enum kc_status status = W(table_double)(c, &keys, &counts, err);
        for (size_t i = 0; status == KC_OK && i < (size_t)1 << bits; i++)
                if (counts[i])
                        W(add_at)
        (c, &keys[i], W(key_hash)(&keys[i]) >> (64 - c->table_bits), counts[i]);
        W(slots_free)(keys, counts, bits);
        return status;
}

/* Make room for nmore keys. Sets *overflow if the table would outgrow the thread's memory. */
static enum kc_status W(make_room)(struct W(counter) *c, size_t nmore, bool *overflow,
                                   struct kc_error *err)
{
        while (c->nused + nmore > TABLE_LOAD(c->table_bits)) {
                if (c->table_bits == c->max_table_bits) {
                        *overflow = true;
                        return KC_OK;
                }
                enum kc_status status = W(table_grow)(c, err);
                if (status != KC_OK)
                        return status;
        }
        return KC_OK;
}

/* The current k-mer on both strands, rolled along a super-k-mer. */
struct W(strands) {
        struct W(key) forward, reverse;
};

static inline struct W(strands) W(first_kmer)(const struct W(counter) *c, const uint8_t *bases)
{
        struct W(strands) s;
        memcpy(&s.reverse, bases, sizeof s.reverse);
        s.reverse.word[KC_WORDS - 1] &= c->top_mask;
        W(spell)(&s.reverse, c->setup.k, &s.forward);
        for (int i = 0; i < KC_WORDS; i++)
                s.reverse.word[i] = ~s.reverse.word[i];
        s.reverse.word[KC_WORDS - 1] &= c->top_mask;
        return s;
}

static inline void W(roll)(struct W(strands) *s, uint64_t base, uint64_t top_mask, int top_shift)
{
        for (int i = KC_WORDS - 1; i > 0; i--)
                s->forward.word[i] = s->forward.word[i] << 2 | s->forward.word[i - 1] >> 62;
        s->forward.word[0] = s->forward.word[0] << 2 | base;
        s->forward.word[KC_WORDS - 1] &= top_mask;
        for (int i = 0; i < KC_WORDS - 1; i++)
                s->reverse.word[i] = s->reverse.word[i] >> 2 | s->reverse.word[i + 1] << 62;
        s->reverse.word[KC_WORDS - 1] = s->reverse.word[KC_WORDS - 1] >> 2 | (base ^ 3)
                                                                                     << top_shift;
}

/* Which strand is smaller is practically random, so no branch may depend on it. */
static inline struct W(key) W(chosen)(const struct W(strands) *s, bool stranded)
{
        uint64_t less = 0; /* of the words so far, is forward below reverse? */
        for (int i = 0; i < KC_WORDS; i++) {
                uint64_t f = s->forward.word[i], r = s->reverse.word[i];
                less = (f < r) | ((f == r) & less);
        }
        uint64_t use_forward = stranded ? UINT64_MAX : -less;
        struct W(key) key;
        for (int i = 0; i < KC_WORDS; i++)
                key.word[i] = s->reverse.word[i] ^
                              ((s->forward.word[i] ^ s->reverse.word[i]) & use_forward);
        return key;
}

/*
 * Cut a super-k-mer into its k-mers and count each. They are made in groups, so that the slots of a
 * whole group are being prefetched before the first is used. Up to 8 bytes after the last base may
 * be read.
 */
static inline void W(expand)(struct W(counter) *c, const uint8_t *bases, uint32_t nkmers,
                             uint32_t weight, bool stranded)
{
        struct W(key) keys[GROUP];
        uint64_t hashes[GROUP];
        struct W(strands) strands = W(first_kmer)(c, bases);
        uint64_t top_mask = c->top_mask;
        int top_shift = (2 * c->setup.k - 2) % 64, slot_shift = 64 - c->table_bits;
        for (uint32_t next = (uint32_t)c->setup.k; nkmers > 0;) {
                uint64_t stream; /* the bases that make the next k-mers */
                memcpy(&stream, bases + next / 4, sizeof stream);
                stream >>= 2 * (next % 4);
                uint32_t n = nkmers < GROUP ? nkmers : GROUP;
                for (uint32_t i = 0; i < n; i++) {
                        keys[i] = W(chosen)(&strands, stranded);
                        hashes[i] = W(key_hash)(&keys[i]);
                        __builtin_prefetch(&c->keys[hashes[i] >> slot_shift], 1);
                        __builtin_prefetch(&c->counts[hashes[i] >> slot_shift], 1);
                        W(roll)(&strands, stream & 3, top_mask, top_shift);
                        stream >>= 2;
                }
                for (uint32_t i = 0; i < n; i++)
                        if (__builtin_expect((hashes[i] >> PASS_SHIFT & c->pass_mask) == c->pass,
                                             1))
                                W(add_at)(c, &keys[i], hashes[i] >> slot_shift, weight);
                next += n;
                nkmers -= n;
        }
}

static inline enum kc_status W(expand_checked)(struct W(counter) *c, const uint8_t *bases,
                                               uint32_t nkmers, uint32_t weight, bool *overflow,
                                               struct kc_error *err)
{
        if (__builtin_expect(c->nused + nkmers > TABLE_LOAD(c->table_bits), 0)) {
                enum kc_status status = W(make_room)(c, nkmers, overflow, err);
                if (status != KC_OK || *overflow)
                        return status;
        }
        if (c->setup.stranded)
                W(expand)(c, bases, nkmers, weight, true);
        else
                W(expand)(c, bases, nkmers, weight, false);
        return KC_OK;
}

/* Count the folded super-k-mers and forget them. */
static enum kc_status W(unfold)(struct W(counter) *c, bool *overflow, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        for (uint32_t i = 0; i < c->nfolded && status == KC_OK && !*overflow; i++) {
                const struct W(folded) *f = &c->folded[i];
                status = W(expand_checked)(c, (const uint8_t *)f->base, f->nkmers, f->weight,
                                           overflow, err);
        }
        memset(c->fold_slot, 0, FOLD_SLOTS * sizeof *c->fold_slot);
        c->nfolded = 0;
        return status;
}

/* Load the bases of a record; bits after the last one are cleared. nbases <= 32 * FOLD_WORDS. */
static inline void W(load_folded)(struct W(folded) *f, const uint8_t *bases, uint32_t nbases,
                                  uint32_t nkmers)
{
        uint32_t nwords = (nbases + 31) / 32;
        for (uint32_t i = 0; i < W(FOLD_WORDS); i++)
                f->base[i] = 0;
        for (uint32_t i = 0; i < nwords; i++)
                memcpy(&f->base[i], bases + 8 * i, 8);
        f->base[nwords - 1] &= UINT64_MAX >> (64 * nwords - 2 * nbases);
        f->nkmers = nkmers;
        f->weight = 1;
}

static inline uint64_t W(folded_hash)(const struct W(folded) *f)
{
        uint64_t hash = f->nkmers;
        for (int i = 0; i < W(FOLD_WORDS); i++)
                hash = (hash ^ f->base[i] ^ hash >> 32) * UINT64_C(0x9e3779b97f4a7c15);
        return hash;
}

static inline bool W(folded_equal)(const struct W(folded) *a, const struct W(folded) *b)
{
        uint64_t differ = a->nkmers ^ b->nkmers;
        for (int i = 0; i < W(FOLD_WORDS); i++)
                differ |= a->base[i] ^ b->base[i];
        return differ == 0;
}

/* Fold one super-k-mer. True if the folded ones must be counted before the next. */
static inline bool W(fold)(struct W(counter) *c, const uint8_t *bases, uint32_t nbases,
                           uint32_t nkmers)
{
        struct W(folded) *f = &c->folded[c->nfolded];
        W(load_folded)(f, bases, nbases, nkmers);
        uint32_t slot = (uint32_t)(W(folded_hash)(f) >> (64 - FOLD_SLOT_BITS));
        for (;; slot = (slot + 1) % FOLD_SLOTS) {
                uint32_t other = c->fold_slot[slot];
                if (other == 0) {
                        c->fold_slot[slot] = ++c->nfolded;
                        return c->nfolded == W(FOLD_CAP);
                }
                if (W(folded_equal)(&c->folded[other - 1], f))
                        return ++c->folded[other - 1].weight == UINT32_MAX;
        }
}

static enum kc_status W(count_fragment)(struct W(counter) *c, const uint8_t *record, size_t nbytes,
                                        bool *overflow, struct kc_error *err)
{
        const uint8_t *end = record + nbytes;
        enum kc_status status = KC_OK;
        while (record < end && status == KC_OK && !*overflow) {
                uint32_t nkmers = record[0] + 1u, nbases = nkmers + (uint32_t)c->setup.k - 1;
                if (nbases > 32 * W(FOLD_WORDS)) {
                        status = W(expand_checked)(c, record + 1, nkmers, 1, overflow, err);
                } else if (W(fold)(c, record + 1, nbases, nkmers)) {
                        status = W(unfold)(c, overflow, err);
                }
                record += kc_superkmer_nbytes(c->setup.k, nkmers);
        }
        return status;
}

static enum kc_status W(count_pass)(struct W(counter) *c, struct kc_list_reader *reader,
                                    uint32_t bin, bool *overflow, struct kc_error *err)
{
        enum kc_status status;
        *overflow = false;
        kc_list_rewind(reader, bin);
        do {
                const uint8_t *data;
                size_t nbytes;
                status = kc_list_next(reader, &data, &nbytes, err);
                if (status != KC_OK || nbytes == 0)
                        break;
                status = W(count_fragment)(c, data, nbytes, overflow, err);
        } while (status == KC_OK && !*overflow);
        if (status != KC_OK || *overflow) {
                c->nfolded = 0;
                memset(c->fold_slot, 0, FOLD_SLOTS * sizeof *c->fold_slot);
                return status;
        }
        return W(unfold)(c, overflow, err);
}

/* Append the staged pairs of one list, without splitting a pair. */
static enum kc_status W(append_pairs)(struct kc_lists *pairs, int worker, uint32_t list,
                                      const uint8_t *staged, size_t nbytes, size_t key_nbytes,
                                      struct kc_error *err)
{
        while (nbytes > 0) {
                uint8_t *out;
                enum kc_status status =
                        kc_lists_reserve(pairs, worker, list, KC_PAIR_MAX_NBYTES, &out, err);
                if (status != KC_OK)
                        return status;
                size_t n = kc_pairs_that_fit(staged, nbytes, kc_lists_room(pairs, worker, list),
                                             key_nbytes);
                memcpy(out, staged, n);
                kc_lists_append(pairs, worker, list, n);
                staged += n;
                nbytes -= n;
        }
        return KC_OK;
}

/*
 * Send the collected pairs to their lists: first sort them by list within the cache, then append
 * them list by list, so that the memory of a list is touched once for all its pairs.
 */
static enum kc_status W(flush_pairs)(void *counter, int worker, struct kc_error *err)
{
        struct W(counter) *c = counter;
        struct kc_lists *pairs = c->setup.pairs;
        uint32_t nlists = pairs->nlists;
        int low_bits = 2 * c->setup.k - c->setup.prefix_bits;
        size_t key_nbytes = kc_pair_key_nbytes(c->setup.k, c->setup.prefix_bits);
        /* Whole keys are written, though only key_nbytes of each are kept: the last one of a list
         * writes past its end. */
        uint32_t gap = sizeof(struct W(key));
        memset(c->list_end, 0, (nlists + 1) * sizeof *c->list_end);
        for (size_t i = 0; i < c->ncollected; i++) {
                const struct W(item) *item = &c->collected[i];
                uint32_t list = W(key_bits)(&item->key, low_bits, c->setup.prefix_bits);
                c->list_end[list + 1] += (uint32_t)(key_nbytes + kc_pair_count_nbytes(item->count));
        }
        for (uint32_t list = 0; list < nlists; list++)
                c->list_end[list + 1] += c->list_end[list] + gap;
        for (size_t i = 0; i < c->ncollected; i++) {
                const struct W(item) *item = &c->collected[i];
                uint32_t list = W(key_bits)(&item->key, low_bits, c->setup.prefix_bits);
                uint8_t *out = c->staged + c->list_end[list];
                memcpy(out, &item->key, sizeof item->key);
                c->list_end[list] +=
                        (uint32_t)(key_nbytes + kc_pair_put_count(out + key_nbytes, item->count));
        }
        c->ncollected = 0;
        for (uint32_t list = 0, begin = 0; list < nlists; begin = c->list_end[list++] + gap) {
                enum kc_status status = W(append_pairs)(pairs, worker, list, c->staged + begin,
                                                        c->list_end[list] - begin, key_nbytes, err);
                if (status != KC_OK)
                        return status;
        }
        return KC_OK;
}

static enum kc_status W(collect)(void *counter, const uint64_t *kmers, const uint32_t *counts,
                                 size_t n, int worker, struct kc_error *err)
{
        struct W(counter) *c = counter;
        while (n > 0) {
                const size_t room = W(COLLECT_CAP) - c->ncollected, now = n < room ? n : room;
                struct W(item) *items = c->collected + c->ncollected;
                for (size_t i = 0; i < now; i++) {
                        memcpy(&items[i].key, kmers + i * KC_WORDS, sizeof items[i].key);
                        items[i].count = counts[i];
                }
                c->ncollected += now;
                kmers += now * KC_WORDS;
                counts += now;
                n -= now;
                if (c->ncollected == W(COLLECT_CAP)) {
                        enum kc_status status = W(flush_pairs)(c, worker, err);
                        if (status != KC_OK)
                                return status;
                }
        }
        return KC_OK;
}

/*
 * Collect the pairs of the table that the filter keeps, and empty the table. Counts are final here,
 * so what the filter drops is neither stored nor sorted, and its keys are not even read.
 */
static enum kc_status W(collect_pairs)(struct W(counter) *c, int worker,
                                       struct kc_run_dropped *dropped, struct kc_error *err)
{
        const struct kc_run_filter filter = c->setup.filter;
        const size_t nslots = (size_t)1 << c->table_bits;
        uint16_t kept[STRETCH];
        for (size_t first = 0; first < nslots; first += STRETCH) {
                uint32_t *counts = c->counts + first;
                const size_t n = list_kept(counts, &filter, kept);
                for (size_t i = 0; i < n; i++) {
                        c->collected[c->ncollected++] =
                                (struct W(item)){ c->keys[first + kept[i]], counts[kept[i]] };
                        if (__builtin_expect(c->ncollected == W(COLLECT_CAP), 0)) {
                                enum kc_status status = W(flush_pairs)(c, worker, err);
                                if (status != KC_OK)
                                        return status;
                        }
                }
                if (!kc_run_keeps_all(&filter))
                        add_dropped(counts, filter, dropped);
                memset(counts, 0, STRETCH * sizeof *counts);
        }
        c->nused = 0;
        return KC_OK;
}

/* Hand over the counts of the whole table, with 0 for free slots, and empty it. */
static enum kc_status W(put_counts)(struct W(counter) *c, struct kc_error *err)
{
        const struct kc_run_sink *sink = c->setup.counts;
        const struct kc_run_counts counts = { .counts = c->counts,
                                              .n = (size_t)1 << c->table_bits };
        enum kc_status status = sink->put_counts(sink->ctx, &counts, err);
        memset(c->counts, 0, counts.n * sizeof *c->counts);
        c->nused = 0;
        return status;
}

/* Drop the k-mers that are not in the set. */
static void W(keep_only)(struct W(counter) *c, struct kc_run_dropped *dropped)
{
        const size_t nslots = (size_t)1 << c->table_bits;
        for (size_t i = 0; i < nslots; i++) {
                const uint32_t count = c->counts[i];
                if (count == 0 || kc_kmer_set_has(c->setup.only, c->keys[i].word))
                        continue;
                dropped->ndistinct++;
                dropped->nkmers += count;
                dropped->nunique += count == 1;
                c->counts[i] = 0;
        }
}

/* Take what is wanted out of the table, and empty it. */
static enum kc_status W(empty_table)(struct W(counter) *c, int worker,
                                     struct kc_run_dropped *dropped, struct kc_error *err)
{
        if (c->setup.only != NULL)
                W(keep_only)(c, dropped);
        if (c->setup.counts != NULL)
                return W(put_counts)(c, err);
        return W(collect_pairs)(c, worker, dropped, err);
}

/* Size the empty table for the next bin, within its present allocation if that suffices. */
static enum kc_status W(begin_table)(struct W(counter) *c, double ndistinct, struct kc_error *err)
{
        int bits = MIN_TABLE_BITS;
        while (bits < c->max_table_bits && (double)TABLE_LOAD(bits) < ndistinct)
                bits++;
        if (c->keys && bits <= c->alloc_bits) {
                c->table_bits = bits;
                return KC_OK;
        }
        W(table_free)(c);
        return W(table_alloc)(c, bits, err);
}

/*
 * Passes are the leaves of a binary tree over the bits of pass_mask, lowest bit first; a pass that
 * overflows becomes two. Advance from a finished pass to the next; false after the last.
 */
static bool W(next_pass)(struct W(counter) *c)
{
        while (c->pass & (c->pass_mask ^ c->pass_mask >> 1)) {
                c->pass_mask >>= 1;
                c->pass &= c->pass_mask;
        }
        c->pass |= c->pass_mask ^ c->pass_mask >> 1;
        return c->pass_mask != 0;
}

static void W(split_pass)(struct W(counter) *c)
{
        memset(c->counts, 0, sizeof *c->counts << c->table_bits);
        c->nused = 0;
        c->pass_mask = c->pass_mask << 1 | 1;
}

static enum kc_status W(count)(void *counter, struct kc_list_reader *reader, uint32_t bin,
                               int worker, struct kc_counter_totals *totals, struct kc_error *err)
{
        struct W(counter) *c = counter;
        double nbytes = (double)kc_lists_nbytes(reader->lists, bin);
        uint64_t ndistinct = 0;
        enum kc_status status = W(begin_table)(c, nbytes * c->distinct_per_byte, err);
        c->pass_mask = c->pass = 0;
        for (bool more = nbytes > 0; more && status == KC_OK;) {
                bool overflow;
                c->nsaturated = 0;
                KC_TRY(W(count_pass)(c, reader, bin, &overflow, err));
                if (overflow) {
                        W(split_pass)(c);
                        continue;
                }
                ndistinct += c->nused;
                totals->nsaturated += c->nsaturated;
                KC_TRY(W(empty_table)(c, worker, &totals->dropped, err));
                more = W(next_pass)(c);
        }
        totals->ndistinct += ndistinct;
        if (nbytes > 0)
                c->distinct_per_byte = (double)ndistinct / nbytes;
out:
        return status;
}
