/*
 * Files read by the intake, or in batches if it gives up, compared with the host's reader alone:
 * the same k-mers, totals and messages. Clean files are accepted, and damaged ones are not.
 */
#include "tests/gpu/intake/intake_support.cuh"

enum {
        TINY = 16 << 10,   /* text of a round, which then has 12 KiB besides what is left over */
        SMALL = 128 << 10, /* has room for the largest blocks */
};

static const struct way WAYS[] = {
        USUAL_WAY,
        { 0, Z_DEFAULT_STRATEGY, 8 }, /* stored */
        { 6, Z_FIXED, 8 },
        { 1, Z_DEFAULT_STRATEGY, 1 }, /* many deflate blocks */
        { 9, Z_HUFFMAN_ONLY, 8 },
};

static std::vector<struct way> all_ways()
{
        return std::vector<struct way>(WAYS, WAYS + sizeof WAYS / sizeof *WAYS);
}

/* A file that begins with a comment is left to the host. */
static std::string fasta_file(uint64_t *seed, size_t nrecords, size_t longest, const char *eol)
{
        const std::string text = any_fasta(seed, nrecords, longest, eol);
        return text[0] == ';' ? text.substr(text.find('>')) : text;
}

static std::string long_text(uint64_t *seed, bool fasta, size_t nbytes)
{
        std::string text;
        while (text.size() < nbytes)
                text += fasta ? fasta_file(seed, 20, 500, "\n") : any_file(seed, 20, 300, "\n");
        return text;
}

static const struct rules *rules_of(bool fasta)
{
        return fasta ? &PLAIN_FASTA : &PLAIN;
}

/* ---- clean files ---- */

/* Blocks of 0 to 64 KiB of text, made in every way. */
static void block_sizes(void **)
{
        const struct {
                std::vector<size_t> sizes; /* in turn; the first one shows what the file is */
                size_t text_nbytes, round_nbytes;
                std::vector<struct way> ways;
        } cases[] = {
                { { 4, 0, 1, 37 }, 1500, TINY, all_ways() },
                { { 511, 0, 0, 1024 }, 9000, TINY, all_ways() },
                { { 65280, 65535, 65536, 4096 }, 250000, SMALL, { USUAL_WAY, WAYS[3], WAYS[4] } },
                { { 65280 }, 140000, SMALL, { WAYS[1] } }, /* stored, 65,536 bytes would not fit */
        };
        uint64_t seed = 1;
        for (bool fasta : { false, true })
                for (const auto &c : cases)
                        assert_true(check_content(
                                bgzf(long_text(&seed, fasta, c.text_nbytes), c.sizes, c.ways),
                                rules_of(fasta), alone(c.round_nbytes)));
}

/* Records, blocks and lines across the ends of portions and rounds. */
static void many_rounds(void **)
{
        uint64_t seed = 2;
        for (bool fasta : { false, true }) {
                const std::string text = long_text(&seed, fasta, test_small() ? 200000 : 2000000);
                for (const std::string &content :
                     { text, bgzf(text, { 3000, 0, 700, 5000 }, all_ways()) })
                        assert_true(check_content(content, rules_of(fasta), alone(TINY)));
        }
        const std::string line = any_sequence(&seed, 50000, 50000, "\n");
        assert_true(check_content(line, &PLAIN_FASTA, alone(TINY)));
        assert_true(check_content(bgzf(line, { 4000 }), &PLAIN_FASTA, alone(TINY)));
}

/* Lower case, IUPAC letters, U and blanks, with every line end and several k. */
static void letters(void **)
{
        uint64_t seed = 3;
        for (int k : { 1, 21, 64 })
                for (const char *eol : { "\n", "\r\n", " \t\r\n" })
                        for (bool fasta : { false, true }) {
                                const struct rules rules = { k, k, fasta ? 0 : 20,
                                                             rules_of(fasta)->format };
                                std::string text = fasta ? fasta_file(&seed, 10, 300, eol)
                                                         : any_file(&seed, 10, 300, eol);
                                assert_true(check_content(text, &rules, alone(TINY)));
                                text.resize(text.size() - strlen(eol));
                                assert_true(
                                        check_content(bgzf(text, { 333 }), &rules, alone(TINY)));
                        }
}

/* Chunks are filled although rounds do not fit evenly in them, because records can refer to
 * only a few chunks: if rounds stayed whole, a chunk would have three quarters of its bases. */
static void full_chunks(void **)
{
        std::string text;
        uint64_t seed = 4;
        while (text.size() < 20 * SMALL) {
                text += "@r\n";
                for (int i = 0; i < 150; i++)
                        text += "ACGT"[next_random(&seed) % 4];
                text += "\n+\n" + std::string(150, 'I') + "\n";
        }
        for (const std::string &content : { text, bgzf(text, { 30000 }) }) {
                struct files_in_memory files;
                open_files(&files, { content });
                const struct intake_reads got = read_by_intake(files.paths, &PLAIN, alone(SMALL));
                close_files(&files);
                assert_true(got.accepted);
                assert_true(got.chunks.size() > 4);
                for (size_t i = 0; i + 1 < got.chunks.size(); i++)
                        assert_in_range(got.chunks[i], got.most_bases / 8 * 7, got.most_bases);
        }
}

/* Several kinds of files in one run, as many as n. Some are named more than once. */
static void check_many(size_t n)
{
        uint64_t seed = 4;
        struct files_in_memory files;
        std::vector<std::string> contents;
        std::vector<const char *> paths;
        for (bool fasta : { false, true }) {
                const std::string text =
                        fasta ? fasta_file(&seed, 2, 90, "\n") : any_file(&seed, 2, 90, "\n");
                contents.insert(contents.end(), { text, bgzf(text, { 100 }, all_ways()) });
        }
        contents.push_back(">without a sequence");
        contents.push_back(bgzf("@r\n\n+\n\n", { 3 }));
        open_files(&files, contents);
        for (size_t i = 0; i < n; i++)
                paths.push_back(files.paths[i * i % files.paths.size()]);
        assert_true(check_paths(paths, &PLAIN_FASTA, alone(TINY)));
        close_files(&files);
}

static void many_files(void **)
{
        for (size_t n : { 2, 3, 10, 1000 })
                check_many(n);
}

/* ---- files that are not clean ---- */

static std::string small_text(bool fasta)
{
        uint64_t seed = 6;
        return fasta ? fasta_file(&seed, 3, 80, "\n") : any_file(&seed, 3, 80, "\n");
}

/* A file that ends anywhere. BGZF is refused, except FASTQ that ends with a whole record, between
 * two blocks; text may end after some line. */
static void truncations(void **)
{
        for (bool fasta : { false, true }) {
                const std::string text = small_text(fasta);
                const std::string packed = bgzf(text, { 100 }, all_ways());
                struct host_reads host;
                size_t nwhole = 0;
                for (size_t n = 0; n < packed.size(); n++) {
                        const bool accepted = check_content(packed.substr(0, n), rules_of(fasta),
                                                            alone(TINY), &host);
                        assert_int_equal(accepted, host.error.status == KC_OK);
                        nwhole += accepted;
                }
                assert_int_equal(nwhole, fasta ? 0 : 1);
                for (size_t n = 1; n < text.size(); n++) {
                        const bool accepted = check_content(text.substr(0, n), rules_of(fasta),
                                                            alone(TINY), &host);
                        assert_int_equal(accepted, host.error.status == KC_OK);
                }
        }
}

/* FASTQ in BGZF without its end-of-file block, alone and joined with others, whole and in parts. */
static void no_end_block(void **)
{
        uint64_t seed = 8;
        const std::string text = long_text(&seed, false, 60000);
        const std::string whole = bgzf(text, { 3000, 700 }, all_ways());
        const std::string open = whole.substr(0, whole.size() - bgzf_end().size());
        for (const std::string &content : { open, open + open, whole + open, open + whole,
                                            whole + bgzf_block(small_text(false), USUAL_WAY) })
                for (const struct reading_way &way :
                     { alone(TINY), alone(SMALL), { SMALL, MOST_INTAKES, 5000 } })
                        assert_true(check_content(content, &PLAIN, way));
        struct host_reads host;
        assert_true(check_content(open, &PLAIN, alone(TINY), &host));
        assert_int_equal(host.marks[0], KC_INPUT_HAS_BASES | KC_INPUT_NO_END_BLOCK);
        assert_true(check_content(open + whole, &PLAIN, alone(TINY), &host));
        assert_int_equal(host.marks[0], KC_INPUT_HAS_BASES);
}

/* A byte with a flipped bit in any place. In a few, such as the time in a header, it means
 * nothing; everywhere else the intake refuses the file. */
static void bit_flips(void **)
{
        for (bool fasta : { false, true }) {
                std::string packed = bgzf(small_text(fasta), { 200, 0, 150 }, all_ways());
                size_t naccepted = 0;
                for (size_t at = 0; at < packed.size(); at++) {
                        packed[at] ^= (char)(1 << at % 8);
                        naccepted += check_content(packed, rules_of(fasta), alone(TINY));
                        packed[at] ^= (char)(1 << at % 8);
                }
                assert_in_range(naccepted, 1, packed.size() / 5);
        }
}

/* Text that the host accepts or refuses, but that the intake must leave to it. */
static void left_to_the_host(void **)
{
        uint64_t seed = 5;
        const std::string text = small_text(false), two = text + text;
        const std::string packed = bgzf(text, { 100 }), lines = "@r\nAC\nGT\n+\nIIII\n";
        for (const std::string &content :
             { text + lines + text, text + "\n" + text, "\n" + text, "\xef\xbb\xbf" + text,
               bgzf(two, { 50 }) + "x", bgzf("", { 1 }), bgzf(text, { 3 }),
               text + any_record(&seed, 30000, "\n") + text, text + "@r\nACGT\n-\nIIII\n",
               packed.substr(0, packed.size() - 28) + bgzf(lines, { 5 }) })
                assert_false(check_content(content, &PLAIN, alone(TINY)));
        const std::string large = bgzf(long_text(&seed, false, 20000), { 15000 });
        assert_false(
                check_content(large, &PLAIN, alone(TINY))); /* no round can hold the first block */
        const std::string fasta = small_text(true);
        const std::string packed_fasta = bgzf(fasta, { 100 });
        for (const std::string &content :
             { fasta + "ACGT\n+\n", std::string(";c\n") + fasta,
               packed_fasta.substr(0, packed_fasta.size() - bgzf_end().size()),
               packed_fasta + bgzf_block(fasta, USUAL_WAY) })
                assert_false(check_content(content, &PLAIN_FASTA, alone(TINY)));
}

/* The last of the files is not clean: the host reads them all. */
static void clean_and_not(void **)
{
        struct files_in_memory files;
        const std::string text = small_text(false);
        open_files(&files, { text, bgzf(text, { 100 }), text + "@r\nA\n" });
        const struct intake_reads got = read_by_intake(files.paths, &PLAIN, alone(TINY));
        assert_false(got.accepted);
        assert_int_equal(got.error.status, KC_EINPUT);
        assert_int_equal(got.totals.stored.wasted_nbytes, 3 * text.size());
        close_files(&files);
}

/* ---- parts ---- */

/* Parts of all sizes, down to a few records, which one to three devices read. */
static void parts_of_files(void **)
{
        uint64_t seed = 9;
        for (bool fasta : { false, true }) {
                const std::string text = long_text(&seed, fasta, 60000);
                const std::vector<std::string> contents = { text,
                                                            bgzf(text, { 100, 0, 333 }, all_ways()),
                                                            bgzf(text, { 5000 }),
                                                            bgzf(text, { 65280 }) };
                for (const std::string &content : contents)
                        for (uint64_t part_nbytes : { 300, 5000, 20000 }) {
                                const int ndevices = 1 + (int)(next_random(&seed) % MOST_INTAKES);
                                assert_true(check_content(content, rules_of(fasta),
                                                          { SMALL, ndevices, part_nbytes }));
                        }
        }
}

/* A part that is damaged, or not strict: all devices give up. */
static void damaged_parts(void **)
{
        uint64_t seed = 10;
        for (int i = 0; i < (test_small() ? 12 : 60); i++) {
                const bool fasta = i % 2 != 0;
                std::string text = long_text(&seed, fasta, 30000);
                if (i % 4 < 2)
                        text[next_random(&seed) % text.size()] = '\0';
                std::string content = bgzf(text, { 3000 });
                if (i % 4 >= 2)
                        content[next_random(&seed) % content.size()] ^= 4;
                (void)check_content(content, rules_of(fasta),
                                    { SMALL, 1 + i % MOST_INTAKES, 4000 });
        }
}

/* ---- reports ---- */

/* What the reader reports: bytes of text, and how many of them were inflated. */
static void reported_bytes(void **)
{
        struct files_in_memory files;
        const std::string text = small_text(false);
        const std::string packed = bgzf(text, { 100 });
        open_files(&files, { text, packed });
        const struct intake_reads got = read_by_intake(files.paths, &PLAIN, alone(TINY));
        assert_true(got.accepted);
        assert_int_equal(got.totals.input_nbytes, text.size() + packed.size());
        assert_int_equal(got.totals.stored.text_nbytes, 2 * text.size());
        assert_int_equal(got.totals.stored.inflated_nbytes, text.size());
        assert_int_equal(got.totals.stored.wasted_nbytes, 0);
        assert_int_equal(got.totals.inflated_nbytes, 0);
        const struct intake_reads cut = read_by_intake(files.paths, &PLAIN, { TINY, 3, 200 });
        assert_true(cut.accepted);
        assert_int_equal(cut.totals.input_nbytes, got.totals.input_nbytes);
        assert_int_equal(cut.totals.stored.text_nbytes, got.totals.stored.text_nbytes);
        assert_int_equal(cut.totals.stored.inflated_nbytes, got.totals.stored.inflated_nbytes);
        close_files(&files);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(block_sizes),      cmocka_unit_test(many_rounds),
                cmocka_unit_test(letters),          cmocka_unit_test(full_chunks),
                cmocka_unit_test(many_files),       cmocka_unit_test(truncations),
                cmocka_unit_test(no_end_block),     cmocka_unit_test(bit_flips),
                cmocka_unit_test(left_to_the_host), cmocka_unit_test(clean_and_not),
                cmocka_unit_test(parts_of_files),   cmocka_unit_test(damaged_parts),
                cmocka_unit_test(reported_bytes),
        };
        need_device();
        cmocka_set_test_filter(getenv("KC_TEST"));
        return cmocka_run_group_tests(tests, open_gpu, close_gpu);
}
