/*
 * The device's inflate, compared with zlib's: the same verdict on any bytes and, if they are sound,
 * the same text, and nothing written outside it.
 */
#include "tests/gpu/inflate/inflate_support.cuh"

/* ---- sound data ---- */

static void no_blocks(void **)
{
        struct set_of_blocks set;
        assert_int_equal(check(set), 0);
}

/* All levels and strategies; with little memory there are many deflate blocks. */
static void levels_and_strategies(void **)
{
        for (int shape = 0; shape < NSHAPES; shape++) {
                struct set_of_blocks set;
                const size_t n = test_small() ? 9000 + 500 * (size_t)shape : (size_t)MAX_TEXT;
                const bytes text = make_text((enum shape)shape, n, 7 + (uint64_t)shape);
                for (int level = 0; level <= 9; level++)
                        add_text(&set, text, { level, Z_DEFAULT_STRATEGY, 8 });
                for (int strategy : { Z_FILTERED, Z_HUFFMAN_ONLY, Z_RLE, Z_FIXED })
                        add_text(&set, text, { 6, strategy, 8 });
                add_text(&set, text, { 6, Z_DEFAULT_STRATEGY, 1 });
                add_text(&set, text, { 1, Z_FIXED, 1 });
                check_all_sound(set);
        }
}

static void sizes(void **)
{
        struct set_of_blocks set;
        std::vector<size_t> all = { 0, 511, 512, 513, 896, 897, 1023, 1024, 1025, 32768, 65280 };
        for (size_t n = 1; n < 300; n += n < 140 ? 1 : 13)
                all.push_back(n);
        all.push_back(MAX_TEXT - 1);
        all.push_back(MAX_TEXT);
        for (size_t n : all) {
                add_text(&set, make_text(READS, n, n), { 6, Z_DEFAULT_STRATEGY, 8 });
                add_text(&set, make_text(SHORT_PERIODS, n, n), { 6, Z_DEFAULT_STRATEGY, 8 });
        }
        check_all_sound(set);
}

/* Whole blocks of each shape. */
static void whole_blocks(void **)
{
        struct set_of_blocks set;
        for (int shape = 0; shape < NSHAPES; shape++)
                for (int seed = 0; seed < (test_small() ? 1 : 20); seed++)
                        add_text(&set, make_text((enum shape)shape, MAX_TEXT, 100 + (uint64_t)seed),
                                 { 6, Z_DEFAULT_STRATEGY, 8 });
        check_all_sound(set);
}

/* Deflate with a flush after each piece of up to `most` bytes. */
static bytes deflate_in_pieces(const bytes &text, size_t most, int flush)
{
        uint64_t rng = most;
        bytes out(64 * text.size() + 64);
        z_stream z = {};
        assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY), Z_OK);
        z.next_in = (Bytef *)text.data();
        z.next_out = out.data();
        z.avail_out = (uInt)out.size();
        while (z.total_in < text.size()) {
                const size_t piece = 1 + next_random(&rng) % most;
                z.avail_in = (uInt)std::min(piece, text.size() - z.total_in);
                assert_int_equal(deflate(&z, flush), Z_OK);
                assert_int_equal(z.avail_in, 0);
        }
        assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
        out.resize(z.total_out);
        deflateEnd(&z);
        return out;
}

/* Flushes end deflate blocks, and add empty ones. */
static void many_deflate_blocks(void **)
{
        struct set_of_blocks set;
        for (int flush : { Z_PARTIAL_FLUSH, Z_SYNC_FLUSH, Z_FULL_FLUSH, Z_BLOCK })
                for (size_t most : { 3, 40, 900 })
                        for (int shape = 0; shape < NSHAPES; shape++) {
                                const bytes text = make_text((enum shape)shape, 2000, most);
                                set.add(deflate_in_pieces(text, most, flush), text);
                        }
        check_all_sound(set);
}

/* ---- data written bit by bit ---- */

struct bit_writer {
        bytes out;
        unsigned nbits = 0;

        void put(uint32_t value, unsigned n)
        {
                for (unsigned i = 0; i < n; i++, nbits++) {
                        if (nbits % 8 == 0)
                                out.push_back(0);
                        out.back() = (uint8_t)(out.back() | (value >> i & 1) << nbits % 8);
                }
        }

        /* A code's first bit is its highest. */
        void put_code(uint32_t code, unsigned n)
        {
                while (n-- > 0)
                        put(code >> n & 1, 1);
        }
};

/* The canonical code of these lengths. */
struct prefix_code {
        std::vector<unsigned> lengths, codes;

        explicit prefix_code(const std::vector<unsigned> &of) : lengths(of), codes(of.size())
        {
                unsigned code = 0;
                for (unsigned length = 1; length <= 15; length++, code <<= 1)
                        for (size_t i = 0; i < of.size(); i++)
                                if (of[i] == length)
                                        codes[i] = code++;
        }

        void put(struct bit_writer *to, size_t symbol) const
        {
                to->put_code(codes[symbol], lengths[symbol]);
        }
};

/* The header of a dynamic block; each code length takes four bits. */
static void put_header(struct bit_writer *to, const std::vector<unsigned> &litlen,
                       const std::vector<unsigned> &distance)
{
        to->put(1 | 2 << 1, 3);
        to->put((uint32_t)litlen.size() - 257, 5);
        to->put((uint32_t)distance.size() - 1, 5);
        to->put(19 - 4, 4);
        for (int i = 0; i < 19; i++)
                to->put(i < 3 ? 0 : 4, 3); /* 16, 17 and 18 are not used */
        for (const auto *lengths : { &litlen, &distance })
                for (unsigned length : *lengths)
                        to->put_code(length, 4);
}

/* What a length or distance symbol stands for. */
struct range {
        size_t least;
        unsigned extra;
};

static const struct range LENGTHS[] = { { 3, 0 },  { 10, 0 },  { 11, 1 },  { 23, 2 },
                                        { 59, 3 }, { 115, 4 }, { 227, 5 }, { 258, 0 } };
static const size_t LENGTH_SYMBOLS[] = { 257, 264, 265, 270, 276, 280, 284, 285 };

static struct range distance_range(unsigned symbol)
{
        const unsigned extra = symbol < 2 ? 0 : symbol / 2 - 1;
        return { symbol < 2 ? symbol + 1 : ((2u | symbol % 2) << extra) + 1, extra };
}

/* Writes symbols, and their text. */
struct symbol_writer {
        const struct prefix_code litlen, distance;
        struct bit_writer to;
        bytes text;

        symbol_writer(const std::vector<unsigned> &l, const std::vector<unsigned> &d)
            : litlen(l), distance(d)
        {
                put_header(&to, l, d);
        }

        void put_literal(uint8_t literal)
        {
                litlen.put(&to, literal);
                text.push_back(literal);
        }

        /* Put nothing if the text is still too short for the distance. */
        void put_match(unsigned length, unsigned symbol, uint32_t random)
        {
                const struct range l = LENGTHS[length], d = distance_range(symbol);
                const uint32_t more = random & ((1u << l.extra) - 1);
                const uint32_t farther = random >> 8 & ((1u << d.extra) - 1);
                if (d.least + farther > text.size())
                        return;
                litlen.put(&to, LENGTH_SYMBOLS[length]);
                to.put(more, l.extra);
                distance.put(&to, symbol);
                to.put(farther, d.extra);
                put_copy(&text, d.least + farther, l.least + more);
        }
};

/* Codes of all lengths, 1 to 15, for different symbols in each turn; in two turns the text is long
 * enough for all distances. */
static void codes_of_all_lengths(void **)
{
        struct set_of_blocks set;
        for (unsigned turn = 0; turn < 16; turn++) {
                const uint8_t literals[7] = { 'A', 'C', 'G', 'T', '@', 0, 255 };
                std::vector<unsigned> l(286), d(30);
                for (unsigned i = 0; i < 16; i++) {
                        const unsigned at = (i + turn) % 16, length = std::min(i + 1, 15u);
                        l[at < 8 ? LENGTH_SYMBOLS[at] : at < 15 ? literals[at - 8] : 256] = length;
                        d[(2 * i + turn / 8) % 30 + (i == 15)] = length;
                }
                struct symbol_writer out(l, d);
                uint64_t rng = turn;
                while (out.text.size() < (turn % 8 == 0 ? 60000 : 3000)) {
                        const uint64_t r = next_random(&rng);
                        unsigned symbol = (unsigned)(r >> 8) % 30;
                        if (r % 3 != 0)
                                out.put_literal(literals[(r >> 8) % 7]);
                        else if (d[symbol] > 0)
                                out.put_match((unsigned)(r >> 16) % 8, symbol,
                                              r % 5 == 0 ? UINT32_MAX : (uint32_t)(r >> 32));
                }
                out.litlen.put(&out.to, 256);
                set.add(out.to.out, out.text);
        }
        check_all_sound(set);
}

/* A dynamic block "ABA" whose codes are A, B, 256 and 257 with the lengths 1, 2, `other` and
 * `other`, of `nlitlen` symbols. match: the bit after a match of three; 2: no bit; -1: no match. */
static void add_small_block(struct set_of_blocks *set, const std::vector<unsigned> &distance,
                            int match, unsigned other, size_t nlitlen = 258)
{
        std::vector<unsigned> litlen(nlitlen);
        litlen['A'] = 1;
        litlen['B'] = 2;
        litlen[256] = litlen[257] = other;
        struct bit_writer to;
        put_header(&to, litlen, distance);
        const struct prefix_code l(litlen);
        bytes text = { 'A', 'B', 'A' };
        for (uint8_t letter : text)
                l.put(&to, letter);
        if (match >= 0) {
                l.put(&to, 257);
                if (match < 2)
                        to.put((uint32_t)match, 1);
                put_copy(&text, 1, 3);
        }
        l.put(&to, 256);
        set->add(to.out, text);
}

/* Codes that zlib accepts although they are not complete, and codes that it does not accept. */
static void incomplete_codes(void **)
{
        struct set_of_blocks set;
        add_small_block(&set, { 0 }, -1, 3);       /* no distance code, none used */
        add_small_block(&set, { 1 }, 0, 3);        /* a single one */
        add_small_block(&set, { 0, 0, 1 }, -1, 3); /* a single one, of distance 3 */
        assert_int_equal(check(set), 3);
        add_small_block(&set, { 0 }, 0, 3);        /* none, but used */
        add_small_block(&set, { 0 }, 2, 3);        /* likewise, and there are no bits for it */
        add_small_block(&set, { 1 }, 1, 3);        /* the unused twin of a single one */
        add_small_block(&set, { 2 }, -1, 3);       /* a single one of two bits */
        add_small_block(&set, { 2, 2 }, -1, 3);    /* half of a code */
        add_small_block(&set, { 1, 1, 1 }, -1, 3); /* more than fit */
        add_small_block(&set, { 1, 2 }, -1, 3);    /* three quarters of a code */
        add_small_block(&set, { 1 }, -1, 4);       /* incomplete literals */
        add_small_block(&set, { 1 }, -1, 2);       /* more literals than fit */
        assert_int_equal(check(set), 3);
}

/* Codes with as many symbols as they may have, and with more. */
static void numbers_of_symbols(void **)
{
        struct set_of_blocks set;
        std::vector<unsigned> distance(30);
        distance[0] = 1;
        add_small_block(&set, distance, 0, 3, 286);
        assert_int_equal(check(set), 1);
        add_small_block(&set, distance, 0, 3, 287);
        add_small_block(&set, distance, 0, 3, 288);
        for (size_t n = 31; n <= 32; n++) {
                distance.resize(n);
                add_small_block(&set, distance, 0, 3, 286);
        }
        assert_int_equal(check(set), 1);
}

/* A block without text, with these lengths of 257 and 2 codes; 17: repeat the previous length three
 * times, 18: four times. `end`: the code for the block's end. */
static void add_lengths(struct set_of_blocks *set, const std::vector<unsigned> &lengths,
                        uint32_t end)
{
        struct bit_writer to;
        to.put(1 | 2 << 1, 3);
        to.put(0, 5);
        to.put(1, 5);
        to.put(19 - 4, 4);
        for (unsigned symbol : { 16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15 })
                to.put(symbol > 16 ? 0 : symbol > 14 ? 5 : 4, 3);
        for (unsigned length : lengths) {
                to.put_code(length > 14 ? 31 : length, length > 14 ? 5 : 4);
                if (length > 14)
                        to.put(length - 17, 2);
        }
        to.put(end, 1);
        set->add(to.out, bytes());
}

/* The first lengths, n zeros, and the last lengths. */
static std::vector<unsigned> lengths_of(std::vector<unsigned> first, size_t n,
                                        const std::vector<unsigned> &last)
{
        first.resize(first.size() + n);
        first.insert(first.end(), last.begin(), last.end());
        return first;
}

static void repeated_lengths(void **)
{
        struct set_of_blocks set;
        add_lengths(&set, lengths_of({}, 256, { 1, 1, 1 }), 0);
        add_lengths(&set, lengths_of({ 0, 17 }, 252, { 1, 1, 1 }), 0);
        add_lengths(&set, lengths_of({}, 255, { 1, 17 }), 1); /* from one code into the other */
        assert_int_equal(check(set), 3);
        add_lengths(&set, lengths_of({ 17 }, 253, { 1, 1, 1 }), 0); /* nothing to repeat */
        add_lengths(&set, lengths_of({}, 255, { 1, 18 }), 1);       /* one length too many */
        assert_int_equal(check(set), 3);
}

/* A block whose only code is that for its end. */
static void end_alone(void **)
{
        struct set_of_blocks set;
        std::vector<unsigned> litlen(257);
        for (unsigned length = 0; length <= 2; length++) {
                litlen[256] = length;
                struct bit_writer to;
                put_header(&to, litlen, { 0 });
                to.put(0, 8);
                set.add(to.out, bytes());
                to.put(0, 8); /* something after its end */
                set.add(to.out, bytes());
        }
        (void)check(set);
}

/* The fixed codes for 286 and 287, and for distances 30 and 31, are invalid. They come after 40
 * literals, so distances of up to 33 do not reach back too far. */
static void invalid_symbols(void **)
{
        static const struct {
                uint32_t length, extra;
        } lengths[8] = { { 115, 4 }, { 131, 5 }, { 163, 5 }, { 195, 5 },
                         { 227, 5 }, { 258, 0 }, { 3, 0 },   { 3, 0 } };
        struct set_of_blocks set;
        for (uint32_t symbol = 0; symbol < 8; symbol++)
                for (uint32_t distance = 0; distance < 32; distance++) {
                        struct bit_writer to;
                        to.put(3, 3);
                        for (int i = 0; i < 40; i++)
                                to.put_code(0x30 + 'A', 8);
                        to.put_code(0xc0 + symbol, 8); /* 280 and more */
                        to.put(0, lengths[symbol].extra);
                        to.put_code(distance, 5);
                        to.put(0, distance < 4 || distance > 29 ? 0 : distance / 2 - 1);
                        to.put(0, 7);
                        set.add(to.out, bytes(40 + lengths[symbol].length, 'A'));
                }
        assert_int_equal(check(set), 6 * 11);
}

/* Stored blocks of all small sizes, with padding of zeros or ones before their lengths. */
static void stored_blocks(void **)
{
        struct set_of_blocks set;
        for (uint32_t n = 0; n < 70; n++)
                for (int damage = 0; damage < 4; damage++) {
                        struct bit_writer to;
                        bytes text;
                        for (int turn = 0; turn < 3; turn++) {
                                to.put(turn == 2, 3);
                                while (to.nbits % 8 != 0)
                                        to.put(turn % 2, 1); /* zlib ignores these */
                                to.put(n, 16);
                                to.put(~n ^ (damage == 1 && turn == 1), 16);
                                for (uint32_t i = 0; i < n; i++) {
                                        text.push_back((uint8_t)(n * 7 + i));
                                        to.put(text.back(), 8);
                                }
                        }
                        if (damage == 2)
                                to.out.pop_back();
                        if (damage == 3)
                                to.put(0, 8);
                        set.add(to.out, text);
                }
        assert_int_equal(check(set), 70);
}

/* ---- damaged data ---- */

/* Small data of several kinds. */
static std::vector<bytes> small_texts(void)
{
        return { make_text(READS, 1500, 1), make_text(SHORT_PERIODS, 700, 2),
                 make_text(FEW_LETTERS, 400, 3) };
}

static const struct way ways[] = { { 6, Z_DEFAULT_STRATEGY, 8 },
                                   { 6, Z_FIXED, 8 },
                                   { 0, Z_DEFAULT_STRATEGY, 8 },
                                   { 6, Z_DEFAULT_STRATEGY, 1 } };

static void truncations(void **)
{
        for (const bytes &text : small_texts())
                for (const struct way &way : ways) {
                        const bytes whole = deflate_with(text, way);
                        struct set_of_blocks set;
                        for (size_t n = 0; n <= whole.size(); n++)
                                if (n == whole.size() || test_takes(n, 3))
                                        set.add(bytes(whole.begin(), whole.begin() + (long)n),
                                                text);
                        assert_int_equal(check(set), 1);
                }
}

static void bit_flips(void **)
{
        for (const bytes &text : small_texts())
                for (const struct way &way : ways) {
                        bytes data = deflate_with(text, way);
                        struct set_of_blocks set;
                        for (size_t bit = 0; bit < 8 * data.size(); bit++) {
                                if (bit > 400 && !test_takes(bit, 29))
                                        continue;
                                data[bit / 8] = (uint8_t)(data[bit / 8] ^ 1 << bit % 8);
                                set.add(data, text);
                                data[bit / 8] = (uint8_t)(data[bit / 8] ^ 1 << bit % 8);
                        }
                        (void)check(set);
                }
}

static void expect_status(const struct set_of_blocks &set, enum kc_inflate_status status)
{
        assert_int_equal(check(set), 0);
        for (uint32_t got : inflate_on_device(set).status)
                assert_int_equal(got, status);
}

/* Sound data with a wrong stated length or checksum, or with something after them. */
static void wrong_footers(void **)
{
        struct set_of_blocks length, sum, trailing;
        for (const bytes &text : small_texts())
                for (const struct way &way : ways) {
                        bytes data = deflate_with(text, way);
                        const uint32_t n = (uint32_t)text.size();
                        const uint32_t crc = (uint32_t)crc32(0, text.data(), n);
                        for (uint32_t other : { 0u, 1u, n - 258, n - 1, n + 1, n + 1000, 65536u })
                                length.add(data, other, crc);
                        for (int bit = 0; bit < 32; bit += 3)
                                sum.add(data, n, crc ^ 1u << bit);
                        data.push_back(0);
                        trailing.add(data, n, crc);
                }
        expect_status(length, KC_INFLATE_LENGTH);
        expect_status(sum, KC_INFLATE_CRC);
        expect_status(trailing, KC_INFLATE_TRAILING);
}

/* Blocks that are not within the bytes or the text. */
static void impossible_tables(void **)
{
        struct set_of_blocks set;
        const bytes text = small_texts()[0];
        set.add(deflate_with(text, ways[0]), text);
        const struct kc_bgzf_block sound = set.blocks[0];
        for (int i = 0; i < 6; i++) {
                struct kc_bgzf_block block = sound;
                block.at = i == 0 ? set.data.size() : i == 1 ? UINT64_MAX - 3 : block.at;
                block.nbytes += i == 2 ? 1 : i == 3 ? 1u << 31 : 0;
                block.text_at += i == 4 ? 1 : 0;
                block.text_nbytes = i == 5 ? KC_BGZF_MAX_NBYTES + 1 : block.text_nbytes;
                set.blocks[0] = block;
                const struct result got = inflate_on_device(set);
                assert_int_equal(got.status[0], KC_INFLATE_TABLE);
                assert_int_equal(got.refused, 1);
                for (uint8_t byte : got.text)
                        assert_int_equal(byte, GUARD);
        }
}

/* Random bytes; most begin with a header that is not refused at once. */
static void random_bytes(void **)
{
        uint64_t rng = 99;
        for (int turn = 0; turn < (test_small() ? 3 : 40); turn++) {
                struct set_of_blocks set;
                for (int i = 0; i < 300; i++) {
                        bytes data(1 + next_random(&rng) % 400);
                        for (uint8_t &byte : data)
                                byte = (uint8_t)next_random(&rng);
                        data[0] = (uint8_t)((data[0] & ~7) | (i % 2 == 0 ? 3 : 5));
                        set.add(data, (uint32_t)(next_random(&rng) % 2000), 0);
                }
                (void)check(set);
        }
}

/* Sound data with many bytes changed, cut out or appended. */
static void mutations(void **)
{
        uint64_t rng = 5;
        for (int turn = 0; turn < (test_small() ? 2 : 40); turn++) {
                struct set_of_blocks set;
                const bytes text = make_text((enum shape)(turn % NSHAPES), 4000, (uint64_t)turn);
                const bytes sound = deflate_with(text, ways[turn / NSHAPES % 2 * 3]);
                for (int i = 0; i < 200; i++) {
                        bytes data = sound;
                        const uint64_t r = next_random(&rng);
                        const size_t at = (r >> 8) % data.size();
                        const size_t n = std::min((size_t)(1 + (r >> 40) % 40), data.size() - at);
                        const auto begin = data.begin() + (long)at, end = begin + (long)n;
                        if (r % 3 == 0)
                                data.erase(begin, end);
                        else if (r % 3 == 1)
                                std::fill(begin, end, (uint8_t)(r >> 56));
                        else
                                data.insert(data.end(), sound.begin() + (long)at,
                                            sound.begin() + (long)(at + n));
                        set.add(data, text);
                }
                (void)check(set);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(no_blocks),
                cmocka_unit_test(levels_and_strategies),
                cmocka_unit_test(sizes),
                cmocka_unit_test(whole_blocks),
                cmocka_unit_test(many_deflate_blocks),
                cmocka_unit_test(codes_of_all_lengths),
                cmocka_unit_test(incomplete_codes),
                cmocka_unit_test(numbers_of_symbols),
                cmocka_unit_test(repeated_lengths),
                cmocka_unit_test(end_alone),
                cmocka_unit_test(invalid_symbols),
                cmocka_unit_test(stored_blocks),
                cmocka_unit_test(truncations),
                cmocka_unit_test(bit_flips),
                cmocka_unit_test(wrong_footers),
                cmocka_unit_test(impossible_tables),
                cmocka_unit_test(random_bytes),
                cmocka_unit_test(mutations),
        };
        need_device();
        cmocka_set_test_filter(getenv("KC_TEST"));
        return cmocka_run_group_tests(tests, open_gpu, close_gpu);
}
