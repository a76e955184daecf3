/*
 * The decoder of coded blocks, included once for each kind of symbol and processor:
 *
 *      NAME(x)  the name of a function of this variant
 *      SYMBOL   uint8_t or uint16_t
 *      OUTPUT   struct kc_deflate_bytes or _symbols
 *      TARGET   an attribute
 */

/* Write three literals whatever their number, which is returned: later output overwrites the
 * rest. */
TARGET static inline unsigned NAME(put_literals)(SYMBOL *to, uint32_t entry)
{
        uint32_t literals = entry >> 8;
        if (sizeof(SYMBOL) == 1) {
                memcpy(to, &literals, 4);
        } else {
                uint64_t x = literals;
                x = (x | x << 16) & UINT64_C(0x0000ffff0000ffff);
                x = (x | x << 8) & UINT64_C(0x00ff00ff00ff00ff);
                memcpy(to, &x, 8);
        }
        return entry >> 6 & 3;
}

/* May write up to VECTOR symbols more than length. */
TARGET static inline void NAME(copy_match)(SYMBOL *to, unsigned distance, unsigned length)
{
        typedef SYMBOL vector __attribute__((vector_size(VECTOR * sizeof(SYMBOL)), may_alias,
                                             aligned(sizeof(SYMBOL))));
        const SYMBOL *from = to - distance;
        SYMBOL *end = to + length;
        for (; distance < VECTOR; distance *= 2) { /* each copy doubles what can be read at once */
                *(vector *)to = *(const vector *)from;
                to += distance;
        }
        do { /* several without a test: a mispredicted branch costs more */
                for (unsigned i = 0; i < NVECTORS; i++)
                        *(vector *)(to + i * VECTOR) = *(const vector *)(from + i * VECTOR);
                from += NVECTORS * VECTOR;
                to += NVECTORS * VECTOR;
        } while (to < end);
}

/*
 * Decode while eight bytes of input can be loaded at any time and there is room for output. Unusual
 * symbols are left to slow().
 * Returns true at the end of the block.
 */
TARGET static bool NAME(fast)(struct kc_deflate *d, const uint8_t *in, size_t nin, OUTPUT *output)
{
        const uint32_t *litlen = d->litlen, *distances = d->distance;
        const uint8_t *next = in + d->bit / 8, *last = in + nin - 2 * sizeof(uint64_t);
        SYMBOL *out = output->next, *const begin = output->begin, *const end = output->end;
        bool ended = false;
        struct bits b = { 0, 0 };
        REFILL(b, next);
        DROP(b, d->bit % 8);
        while (next <= last && out < end) {
                REFILL(b, next);
                uint32_t entry = litlen[b.word & LITLEN_MASK];
                if (entry & KC_ENTRY_LITERALS) {
                        out += NAME(put_literals)(out, entry);
                        DROP(b, entry);
                        entry = litlen[b.word & LITLEN_MASK];
                        if (entry & KC_ENTRY_LITERALS) {
                                out += NAME(put_literals)(out, entry);
                                DROP(b, entry);
                                continue;
                        }
                        REFILL(b, next);
                }
                SYMBOL *match = out;
                unsigned length;
                if (entry & KC_ENTRY_WHOLE) {
                        *out = entry >> 16 & 0xff; /* without a literal, the match overwrites it */
                        match = out + (entry >> 8 & 1);
                        length = (entry >> 24) + KC_MIN_MATCH;
                } else {
                        if (entry & KC_ENTRY_SUBTABLE)
                                entry = litlen[SUBTABLE_INDEX(b.word >> KC_LITLEN_BITS, entry)];
                        if (entry & KC_ENTRY_LITERALS) {
                                *out++ = entry >> 8 & 0xff;
                                DROP(b, entry);
                                continue;
                        }
                        if (entry & KC_ENTRY_FLAGS) {
                                ended = (entry & KC_ENTRY_END) != 0;
                                DROP(b, ended ? entry & KC_ENTRY_DROP : 0);
                                break;
                        }
                        length = VALUE(b.word, entry);
                }
                uint64_t word = b.word >> (entry & KC_ENTRY_DROP);
                uint32_t far = distance_entry(distances, word);
                unsigned distance = VALUE(word, far);
                if ((far & KC_ENTRY_FLAGS) != 0 || distance > (size_t)(match - begin))
                        break;
                b.word = word >> (far & KC_ENTRY_DROP);
                b.n -= (entry & KC_ENTRY_DROP) + (far & KC_ENTRY_DROP);
                NAME(copy_match)(match, distance, length);
                out = match + length;
        }
        d->bit = 8 * (uint64_t)(next - in) - b.n;
        output->next = out;
        return ended;
}

/* Decode one symbol with all checks. OUTPUT: go on; END: the block has ended. */
TARGET static enum kc_deflate_stop NAME(slow)(struct kc_deflate *d, const uint8_t *in, size_t nin,
                                              OUTPUT *output)
{
        uint64_t left = 8 * (uint64_t)nin - d->bit;
        uint64_t word = kc_deflate_peek(in, nin, d->bit);
        uint32_t entry = d->litlen[word & LITLEN_MASK];
        if ((entry & KC_ENTRY_LITERALS) == 0 && (entry & KC_ENTRY_SUBTABLE) != 0)
                entry = d->litlen[SUBTABLE_INDEX(word >> KC_LITLEN_BITS, entry)];
        unsigned drop = entry & KC_ENTRY_DROP;
        bool whole = kc_entry_is_whole(entry);
        if ((entry & KC_ENTRY_LITERALS) != 0 || (whole && (entry & 1 << 8) != 0)) {
                unsigned literal = entry >> (whole ? 16 : 8) & 0xff; /* the first one */
                drop = d->lengths[literal];
                if (drop > left)
                        return KC_DEFLATE_INPUT;
                *output->next++ = (SYMBOL)literal;
                d->bit += drop;
                return KC_DEFLATE_OUTPUT;
        }
        if (drop > left)
                return KC_DEFLATE_INPUT;
        if (entry & KC_ENTRY_INVALID)
                return bad(d, "a code for literals and lengths that is not in use");
        if (entry & KC_ENTRY_END) {
                d->bit += drop;
                return KC_DEFLATE_END;
        }
        unsigned length = whole ? (entry >> 24) + KC_MIN_MATCH : VALUE(word, entry);
        word = kc_deflate_peek(in, nin, d->bit + drop);
        entry = distance_entry(d->distance, word);
        drop += entry & KC_ENTRY_DROP;
        if (drop > left)
                return KC_DEFLATE_INPUT;
        if (entry & KC_ENTRY_INVALID)
                return bad(d, "a code for distances that is not in use");
        unsigned distance = VALUE(word, entry);
        if (distance > (size_t)(output->next - output->begin))
                return bad(d, "a distance that reaches too far back");
        d->bit += drop;
        NAME(copy_match)(output->next, distance, length);
        output->next += length;
        return KC_DEFLATE_OUTPUT;
}

TARGET static enum kc_deflate_stop NAME(coded)(struct kc_deflate *d, const uint8_t *in, size_t nin,
                                               OUTPUT *output)
{
        while (output->next < output->end) {
                if (nin >= MIN_FAST && d->bit / 8 <= nin - MIN_FAST &&
                    NAME(fast)(d, in, nin, output))
                        return KC_DEFLATE_END;
                if (output->next >= output->end)
                        break;
                enum kc_deflate_stop stop = NAME(slow)(d, in, nin, output);
                if (stop != KC_DEFLATE_OUTPUT)
                        return stop;
        }
        return KC_DEFLATE_OUTPUT;
}

/* Copy the bytes of a stored block. */
static enum kc_deflate_stop NAME(stored)(struct kc_deflate *d, const uint8_t *in, size_t nin,
                                         OUTPUT *output)
{
        const uint8_t *from = in + d->bit / 8;
        size_t n = nin - (size_t)(d->bit / 8), room = 0;
        if (output->next < output->end)
                room = (size_t)(output->end - output->next);
        if (n > d->stored_left)
                n = d->stored_left;
        if (n > room)
                n = room;
        for (size_t i = 0; i < n; i++)
                output->next[i] = from[i];
        output->next += n;
        d->bit += 8 * n;
        d->stored_left -= (uint32_t)n;
        if (d->stored_left == 0)
                return KC_DEFLATE_END;
        return n == room ? KC_DEFLATE_OUTPUT : KC_DEFLATE_INPUT;
}

static enum kc_deflate_stop NAME(inflate)(struct kc_deflate *d, const uint8_t *in, size_t nin,
                                          OUTPUT *output)
{
        enum kc_deflate_stop stop = KC_DEFLATE_END;
        while (stop == KC_DEFLATE_END) {
                switch (d->phase) {
                case KC_IN_HEADER:
                        stop = read_header(d, in, nin);
                        break;
                case KC_IN_CODED:
                        stop = NAME(coded)(d, in, nin, output);
                        break;
                case KC_IN_STORED:
                        stop = NAME(stored)(d, in, nin, output);
                        break;
                case KC_IN_NOTHING:
                        return KC_DEFLATE_END;
                }
                if (stop == KC_DEFLATE_END && d->phase != KC_IN_HEADER) {
                        d->phase = d->final ? KC_IN_NOTHING : KC_IN_HEADER;
                        if (d->stop_at_blocks && !d->final)
                                return KC_DEFLATE_BLOCK;
                } else if (stop == KC_DEFLATE_BLOCK) {
                        stop = KC_DEFLATE_END; /* its content is next */
                }
        }
        return stop;
}

#undef NAME
#undef SYMBOL
#undef OUTPUT
