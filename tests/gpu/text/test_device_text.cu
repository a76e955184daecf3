/*
 * Text to packed reads on the device, compared with the host's reader: the same segments in the
 * same order and the same totals, wherever the text is cut; and if the text is not of the strict
 * form somewhere, everything before that place and nothing after it.
 */
#include "tests/gpu/text/text_support.cuh"

static void fastq(void **state)
{
        (void)state;
        uint64_t seed = 1;
        for (int k : { 1, 2, 15, 31, 32, 33, 64, 101, 128, 255 })
                for (int min_quality : { 0, 20 }) {
                        struct device d;
                        const struct rules rules = { k, k, min_quality, KC_GPU_TEXT_FASTQ };
                        device_new(&d, &rules, 1 << 18);
                        for (const char *eol : { "\n", "\r\n", " \t\r\n" }) {
                                std::string text = any_file(&seed, 200, 500, eol);
                                check_file(&d, text, {});
                                check_file(&d, text, { 1000, 1, 2000, 30000 });
                                text.resize(text.size() - strlen(eol));
                                check_file(&d, text, { 700 });
                        }
                        device_free(&d);
                }
}

static void long_reads(void **state)
{
        (void)state;
        uint64_t seed = 2;
        struct device d;
        device_new(&d, &PLAIN, 1 << 20);
        std::string text = any_file(&seed, 3, 2000, "\n");
        text += any_record(&seed, 100000, "\n") + any_file(&seed, 30, 300, "\n");
        text += any_record(&seed, test_size(100000), "\n") + any_record(&seed, 0, "\n");
        check_file(&d, text, {});
        check_file(&d, text, { 50000, 50000, 50000 });
        device_free(&d);
}

static void fasta(void **state)
{
        (void)state;
        uint64_t seed = 3;
        for (int k : { 1, 2, 15, 31, 32, 33, 64, 101, 128, 255 }) {
                struct device d;
                const struct rules rules = { k, k, 0, KC_GPU_TEXT_FASTA };
                device_new(&d, &rules, 1 << 18);
                for (const char *eol : { "\n", "\r\n", " \t\r\n" }) {
                        std::string text = any_fasta(&seed, 100, 1000, eol);
                        check_file(&d, text, {});
                        check_file(&d, text, { 1000, 1, 2000, 30000, 2 });
                        text.resize(text.size() - strlen(eol));
                        check_file(&d, text, { 700 });
                }
                device_free(&d);
        }
}

static void long_lines(void **state)
{
        (void)state;
        uint64_t seed = 4;
        struct device d;
        device_new(&d, &PLAIN_FASTA, 1 << 18);
        for (size_t line : { 1, 2, 31, 32, 33, 60, 1000, 10000, 1000000 }) {
                const std::string text = any_sequence(&seed, 60000, line, "\n");
                check_file(&d, text, {});
                check_file(&d, text, { 1000, 1001, 9999, 5000, 5000, 5000, 1, 1, 1, 31 });
        }
        device_free(&d);
}

/* ---- wherever a file is cut ---- */

static void cut_everywhere(struct device *d, const std::string &text)
{
        const struct host_reads want = read_on_host(text, &d->rules);
        for (size_t cut = 0; cut <= text.size(); cut++) {
                const struct device_reads got = read_on_device(d, text, { cut });
                assert_false(got.foreign);
                assert_int_equal(got.consumed, text.size());
                check_reads(d, got, want);
        }
}

static void cuts(void **state)
{
        (void)state;
        uint64_t seed = 5;
        for (int k : { 1, 40 })
                for (enum kc_gpu_text_format format : { KC_GPU_TEXT_FASTQ, KC_GPU_TEXT_FASTA }) {
                        struct device d;
                        const struct rules rules = { k, k, format == KC_GPU_TEXT_FASTQ ? 30 : 0,
                                                     format };
                        device_new(&d, &rules, 1 << 12);
                        for (const char *eol : { "\n", " \r\n" })
                                cut_everywhere(&d, format == KC_GPU_TEXT_FASTQ
                                                           ? any_file(&seed, 3, 70, eol)
                                                           : any_fasta(&seed, 3, 120, eol));
                        device_free(&d);
                }
}

/* ---- text that is not of the strict form ---- */

/* Check sound records with this one in every place among them. */
static void check_foreign(struct device *d, const char *record, bool ends)
{
        uint64_t seed = 6;
        std::vector<std::string> records;
        for (int i = 0; i < 4; i++)
                records.push_back(d->rules.format == KC_GPU_TEXT_FASTQ
                                          ? any_record(&seed, 50, "\n")
                                          : any_sequence(&seed, 50, 20, "\n"));
        for (size_t at = ends ? records.size() : 0; at <= records.size(); at++) {
                std::string text;
                for (size_t i = 0; i < at; i++)
                        text += records[i];
                const size_t end = text.size();
                text += record;
                for (size_t i = at; i < records.size(); i++)
                        text += records[i];
                check_strict_part(d, text, end);
        }
}

#define A40 "ACGTACGTACGTACGTACGTACGTACGTACGTACGTACGT"
#define I40 "IIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIII"

static void foreign_fastq(void **state)
{
        (void)state;
        struct device d;
        device_new(&d, &PLAIN, 1 << 12);
        for (const char *record : { "r\n" A40 "\n+\n" I40 "\n",
                                    ">r\n" A40 "\n+\n" I40 "\n",
                                    "@r\n" A40 "\n-\n" I40 "\n",
                                    "@r\n" A40 "\n\n" I40 "\n",
                                    "@r\n" A40 "\n+\n" I40 "I\n",
                                    "@r\n" A40 "A\n+\n" I40 "\n",
                                    "@r\n" A40 "\n+\n" I40 "\r\r\n",
                                    "@r\n" A40 "\n+\n" I40 "\r \r\n",
                                    "@r\n+" A40 "\n+\nI" I40 "\n",
                                    "@r\n@" A40 "\n+\nI" I40 "\n",
                                    "@r\n>" A40 "\n+\nI" I40 "\n",
                                    "\n@r\n" A40 "\n+\n" I40 "\n",
                                    "@r\n" A40 "\n" A40 "\n+\n" I40 I40 "\n",
                                    "\n\n\n\n",
                                    "@r\001\n" A40 "\n+\n" I40 "\n",
                                    "@r\n\x08" A40 "\n+\nI" I40 "\n",
                                    "@r\n" A40 "\n+\x02\n" I40 "\n",
                                    "@r\n" A40 "\n+\nI" I40 "\x03\n",
                                    "@r\n" A40 "\303\244\n+\n" I40 "II\n",
                                    "@r\n\200" A40 "\n+\nI" I40 "\n",
                                    "@r\n" A40 ">s\n+\nII" I40 "\n",
                                    "@r\n >" A40 "\n+\nII" I40 "\n",
                                    "@r\n" A40 "\033\n+\nI" I40 "\n",
                                    "@r\n\177" A40 "\n+\nI" I40 "\n",
                                    "@r\nA\r" A40 "\n+\nII" I40 "\n",
                                    "@r\n" A40 "\r\r\n+\nI" I40 "\r\n" })
                check_foreign(&d, record, false);
        for (const char *record : { "@", "@r\n", "@r\n" A40, "@r\n" A40 "\n", "@r\n" A40 "\n+",
                                    "@r\n" A40 "\n+\n", "@r\n" A40 "\n+\nIII", "\n\n@\n" })
                check_foreign(&d, record, true);
        const std::string blanks(2000, ' ');
        check_strict_part(&d, "@r\n" A40 + blanks + "\n+\n" I40 + blanks + "\n", 0);
        device_free(&d);
}

static void foreign_fasta(void **state)
{
        (void)state;
        struct device d;
        device_new(&d, &PLAIN_FASTA, 1 << 12);
        for (const char *record :
             { ">r\n" A40 "\n@" A40 "\n", ">r\n" A40 "\n+\n" A40 "\n", ">r\ra\n" A40 "\n",
               ">r\r \n" A40 "\n", ">r\n" A40 "\r>s\n" A40 "\n", ">\001\n" A40 "\n",
               ">r\n" A40 "\n\x08\n" A40 "\n", ">r\n;\x02\n" A40 "\n",
               ">r\n" A40 "\n" A40 "\303\244\n", ">r\n\377\n", ">r\n" A40 ">s\n" A40 "\n",
               ">r\n" A40 "\n >s\n" A40 "\n", ">r\n" A40 "\n\t\t>s\n", ">r\nA>\n",
               ">r\n" A40 "\033\n", ">r\n\177" A40 "\n", ">r\nA\r" A40 "\n",
               ">r\n" A40 "\r\r\n" A40 "\n" })
                check_foreign(&d, record, false);
        check_strict_part(&d, A40 "\n>r\n" A40 "\n", 0);
        check_strict_part(&d, ";c\n" A40 "\n>r\n" A40 "\n", 0);
        check_strict_part(&d, ">r\n" A40 + std::string(2000, ' ') + "\n", 0);
        device_free(&d);
}

static void damage(std::string *text, uint64_t *state)
{
        static const char BYTES[] = "\n\n\n\r\r \t@+>;NACGTI#\001\033\177\377";
        const size_t at = next_random(state) % text->size();
        const char byte = BYTES[next_random(state) % (sizeof BYTES - 1)];
        switch (next_random(state) % 4) {
        case 0:
                (*text)[at] = byte;
                break;
        case 1:
                text->insert(at, 1, byte);
                break;
        case 2:
                text->erase(at, 1);
                break;
        default:
                text->erase(at, next_random(state) % 50);
        }
}

/* The number of the record that a message names, or 0. */
static uint64_t blamed_record(const struct kc_error *error)
{
        const char *at = strstr(error->message, ": record ");
        return at != NULL ? strtoull(at + strlen(": record "), NULL, 10) : 0;
}

/* FASTQ of another form: the device's reads and those that the host finds in the rest are together
 * those of the host alone, or the host refuses the same record. */
static void check_rest(struct device *d, const std::string &rest, struct device_reads *got,
                       const struct host_reads &whole)
{
        const size_t begin = rest.find_first_not_of("\n\r \t");
        if (begin == std::string::npos || rest[begin] != '@' ||
            (begin > 0 && rest[begin - 1] != '\n')) { /* only a file may begin like this */
                assert_int_equal(whole.error.status, KC_EINPUT);
                return;
        }
        const struct host_reads more = read_on_host(rest, &d->rules);
        got->segments.insert(got->segments.end(), more.segments.begin(), more.segments.end());
        assert_int_equal(whole.error.status, more.error.status);
        if (more.error.status != KC_OK)
                assert_int_equal(blamed_record(&whole.error),
                                 got->totals.nreads + blamed_record(&more.error));
}

static void check_any_text(struct device *d, const std::string &text,
                           const std::vector<size_t> &pieces)
{
        const struct host_reads whole = read_on_host(text, &d->rules);
        struct device_reads got = read_on_device(d, text, pieces);
        if (!got.foreign) {
                assert_int_equal(got.consumed, text.size());
                expect_ok(whole.error.status, &whole.error);
        } else if (d->rules.format == KC_GPU_TEXT_FASTQ) {
                check_rest(d, text.substr(got.consumed), &got, whole);
        } else { /* FASTA has no other form: the text is wrong */
                assert_int_equal(whole.error.status, KC_EINPUT);
                assert_int_equal(blamed_record(&whole.error),
                                 std::max(got.totals.nreads + (got.noverlap == 0), (uint64_t)1));
        }
        if (whole.error.status == KC_OK)
                check_segments(kmers_of(got.segments, d->rules.k),
                               kmers_of(whole.segments, d->rules.k));
}

static void damaged(void **state)
{
        (void)state;
        uint64_t seed = 11;
        for (enum kc_gpu_text_format format : { KC_GPU_TEXT_FASTQ, KC_GPU_TEXT_FASTA }) {
                struct device d;
                const struct rules rules = { 7, 7, 0, format };
                device_new(&d, &rules, 1 << 14);
                for (int i = 0; i < (test_small() ? 512 : 8192); i++) {
                        std::string text = format == KC_GPU_TEXT_FASTQ
                                                   ? any_file(&seed, 4, 60, "\n")
                                                   : any_fasta(&seed, 4, 100, "\n");
                        for (uint64_t n = 1 + next_random(&seed) % 2; n > 0; n--)
                                damage(&text, &seed);
                        if (text[0] == (format == KC_GPU_TEXT_FASTQ ? '@' : '>'))
                                check_any_text(&d, text, { next_random(&seed) % text.size() });
                }
                device_free(&d);
        }
}

/* Bytes over 127 are sound in names. */
static void high_names(void **state)
{
        (void)state;
        struct device d;
        device_new(&d, &PLAIN, 1 << 12);
        check_file(&d, "@\303\244\n" A40 "N" A40 "\n+\377\n" I40 I40 "\377\n", {});
        device_free(&d);
        device_new(&d, &PLAIN_FASTA, 1 << 12);
        check_file(&d, ">\303\244\n" A40 "N" A40 "\n;\377\n" A40 "\n", {});
        device_free(&d);
}

/* Qualities are compared as bytes without a sign. */
static void high_qualities(void **state)
{
        (void)state;
        uint64_t seed = 12;
        for (int min_quality : { 20, 94, 95, 120, 250 }) {
                struct device d;
                const struct rules rules = { 1, 1, min_quality, KC_GPU_TEXT_FASTQ };
                std::string text;
                for (int i = 0; i < 20; i++)
                        text += "@\n" A40 "\n+\n" +
                                any_letters(&seed, 40, "#5I~\177\200\201\231\232\350\351\352\377") +
                                "\n";
                device_new(&d, &rules, 1 << 12);
                check_file(&d, text, {});
                device_free(&d);
        }
}

static void little_text(void **state)
{
        (void)state;
        struct device d;
        device_new(&d, &PLAIN, 1 << 12);
        for (const char *text : { "", "\n", "\n\r\n \n" }) {
                const struct device_reads got = read_on_device(&d, text, {});
                assert_false(got.foreign);
                assert_int_equal(got.consumed, strlen(text));
                assert_int_equal(got.totals.nreads, 0);
        }
        for (const char *text : { "", "@", "@r\n" A40 "\n+\n" I40 })
                assert_int_equal(parse(&d, text, false, 0, 3).consumed, 0);
        struct kc_gpu_text_result result = parse(&d, "@\n\n+\n\n@r\n\001", false, 0, 0);
        assert_int_equal(result.consumed, 6); /* no text makes this record sound */
        assert_true(result.foreign);
        check_file(&d, "@\n\n+\n\n", {});
        check_file(&d, "@r\n" A40 "\n+\n" I40 "\n\n\n\n", {});
        device_free(&d);
        device_new(&d, &PLAIN_FASTA, 1 << 12);
        for (const char *text : { "", ">", ">r", ">r\n", ";c" })
                assert_int_equal(parse(&d, text, false, 0, 5).consumed, 0);
        assert_int_equal(parse(&d, ";c\n\n;d", false, 0, 7).consumed, 4);
        for (const char *text : { ">", ">r", ">r\n\n>s\n", ";c\n>r\n;d\n" A40 })
                check_file(&d, text, {});
        device_free(&d);
}

/* ---- memory ---- */

/* More lines, or more segments, than there is memory for. */
static void many_lines(void **state)
{
        (void)state;
        uint64_t seed = 7;
        struct device d;
        std::string text, lines;
        for (int i = 0; i < 8000; i++) {
                text += "@\n" + any_letters(&seed, 1, "ACGTN") + "\n+\nI\n";
                lines += any_letters(&seed, 1, "ACGTN") + "\n";
        }
        device_new(&d, &PLAIN, text.size());
        check_file(&d, text, {});
        device_free(&d);
        const struct rules rules = { 3, 3, 0, KC_GPU_TEXT_FASTA };
        device_new(&d, &rules, text.size());
        check_file(&d, ">r\n" + lines + ">s\n" + lines, {});
        device_free(&d);
}

static void many_segments(void **state)
{
        (void)state;
        std::string bases;
        for (int i = 0; i < 20000; i++)
                bases += "CN";
        for (enum kc_gpu_text_format format : { KC_GPU_TEXT_FASTQ, KC_GPU_TEXT_FASTA }) {
                struct device d;
                const struct rules rules = { 1, 1, 0, format };
                std::string text;
                for (size_t at = 0; at < bases.size(); at += 1000)
                        text += format == KC_GPU_TEXT_FASTQ
                                        ? "@\n" + bases.substr(at, 1000) + "\n+\n" +
                                                  std::string(1000, 'I') + "\n"
                                        : bases.substr(at, 1000) + "\n";
                device_new(&d, &rules, text.size() + 3);
                check_file(&d, format == KC_GPU_TEXT_FASTQ ? text : ">r\n" + text, {});
                device_free(&d);
        }
}

/* Parse with this much room; returns whether it was enough. Nothing is written outside it. */
static bool has_room(struct device *d, const std::string &text, size_t nwords, size_t nspans,
                     uint64_t nbases)
{
        const struct kc_gpu_text_out out = d->out;
        d->out.words_cap = nwords;
        d->out.spans_cap = nspans;
        d->out.max_nbases = nbases;
        guarded_fill(&d->words);
        guarded_fill(&d->spans);
        const struct kc_gpu_text_result result = parse(d, text, true, 0, 0);
        assert_true(is_whole(&d->words, nwords * sizeof(uint64_t)));
        assert_true(is_whole(&d->spans, nspans * sizeof(struct kc_span)));
        if (result.full) {
                assert_int_equal(result.consumed, 0);
                assert_int_equal(d->out.nwords, 0);
                assert_int_equal(d->out.nspans, 0);
                assert_int_equal(d->out.nkmers, 0);
        } else {
                assert_int_equal(result.consumed, text.size());
        }
        d->out = out;
        return !result.full;
}

static void little_room(void **state)
{
        (void)state;
        uint64_t seed = 8;
        struct device d;
        struct kc_gpu_text_out need;
        for (enum kc_gpu_text_format format : { KC_GPU_TEXT_FASTQ, KC_GPU_TEXT_FASTA }) {
                const struct rules rules = { 31, 31, 0, format };
                const std::string text = format == KC_GPU_TEXT_FASTQ
                                                 ? any_file(&seed, 20, 300, "\n")
                                                 : any_fasta(&seed, 20, 300, "\n");
                device_new(&d, &rules, 1 << 14);
                assert_false(parse(&d, text, true, 0, 0).full);
                need = d.out;
                const size_t nwords = text.size() / 32 + 1;
                assert_true(nwords <= need.words_cap && need.nwords <= nwords);
                assert_true(has_room(&d, text, nwords, need.nspans, need.nbases));
                assert_false(has_room(&d, text, nwords - 1, need.nspans, need.nbases));
                assert_false(has_room(&d, text, nwords, need.nspans - 1, need.nbases));
                assert_false(has_room(&d, text, nwords, need.nspans, need.nbases - 1));
                assert_false(has_room(&d, text, 0, 0, 0));
                assert_true(is_whole(&d.words, need.words_cap * sizeof(uint64_t)));
                device_free(&d);
        }
}

/* ---- what callers do with the reads ---- */

/* Several texts for one put, packed as they are kept. */
static void gathered(void **state)
{
        (void)state;
        uint64_t seed = 9;
        struct kc_error error = {}, *err = &error;
        struct device d;
        std::vector<std::string> want, got;
        device_new(&d, &PLAIN, 1 << 14);
        struct kc_gpu_text_out all = d.out;
        struct guarded words, spans;
        all.words_cap *= 3;
        all.spans_cap *= 3;
        all.words = (uint64_t *)guarded_new(&words, all.words_cap * sizeof(uint64_t));
        all.spans = (struct kc_span *)guarded_new(&spans, all.spans_cap * sizeof(struct kc_span));
        for (int i = 0; i < 3; i++) {
                const std::string text = any_file(&seed, 20, 400, "\n");
                const struct host_reads host = read_on_host(text, &d.rules);
                want.insert(want.end(), host.segments.begin(), host.segments.end());
                const struct kc_gpu_text_out own = d.out;
                struct kc_gpu_text_result result;
                struct kc_gpu_text_input input = {};
                input.bytes = d.bytes.memory + GUARD_NBYTES;
                input.nbytes = text.size();
                input.last = true;
                expect_ok(KC_CUDA(cudaMemcpyAsync((void *)input.bytes, text.data(), text.size(),
                                                  cudaMemcpyHostToDevice, gpu.stream)),
                          err);
                expect_ok(kc_gpu_text_parse(d.text, &input, &all, &result, err), err);
                assert_int_equal(result.consumed, text.size());
                d.out = own;
        }
        read_segments(&gpu, &all, d.rules.k, &got);
        check_segments(got, want);

        std::string bases, packed_bases;
        struct kc_packer packer;
        struct guarded packed, groups;
        const struct kc_gpu_reads reads = kc_gpu_text_reads(&all);
        for (const std::string &segment : want)
                bases += segment;
        uint64_t *to = (uint64_t *)guarded_new(&packed, kc_pack_nwords(&reads) * sizeof *to);
        void *group = guarded_new(&groups, (reads.nspans / KC_GROUP_NSPANS + 1) *
                                                   sizeof(struct kc_span_group));
        expect_ok(kc_packer_new(&packer, &gpu, reads.nspans, err), err);
        const struct kc_packed where = { to, NULL, (struct kc_span_group *)group };
        expect_ok(kc_pack_reads(&packer, &gpu, &reads, d.rules.k, &where, err), err);
        std::vector<uint64_t> kept(kc_pack_nwords(&reads));
        expect_ok(kc_gpu_read(&gpu, kept.data(), to, kept.size(), err), err);
        assert_int_equal(reads.nbases, bases.size());
        assert_string_equal(bases_of(kept.data(), 0, bases.size()).c_str(), bases.c_str());
        kc_packer_free(&packer, &gpu);
        guarded_free(&packed);
        guarded_free(&groups);
        guarded_free(&words);
        guarded_free(&spans);
        device_free(&d);
}

/* Every k finds its k-mers once, even where pieces of a sequence share bases for a larger k. */
static void several_k(void **state)
{
        (void)state;
        uint64_t seed = 10;
        const int kmers[] = { 15, 16, 33, 64 };
        struct rules rules = { 15, 64, 0, KC_GPU_TEXT_FASTA };
        struct device d;
        device_new(&d, &rules, 1 << 14);
        const std::string text = any_fasta(&seed, 10, 2000, "\n");
        std::vector<std::string> got[4];
        uint32_t noverlap = 0;
        for (size_t at = 0, end = 0; end < text.size();) {
                end = std::min(end + 300, text.size());
                const struct kc_gpu_text_result result =
                        parse(&d, text.substr(at, end - at), end == text.size(), noverlap, at % 16);
                struct kc_error err = {};
                assert_false(result.foreign);
                read_segments(&gpu, &d.out, rules.k, &got[0]);
                for (int i = 1; i < 4; i++) {
                        struct kc_gpu_text_out out = d.out;
                        bool full;
                        empty_out(&out);
                        expect_ok(kc_gpu_text_cut(d.text, kmers[i], &out, &full, &err), &err);
                        assert_false(full);
                        out.nwords = d.out.nwords;
                        read_segments(&gpu, &out, kmers[i], &got[i]);
                }
                at += result.consumed;
                noverlap = result.noverlap;
        }
        for (int i = 0; i < 4; i++) {
                rules.k = rules.max_k = kmers[i];
                check_segments(kmers_of(got[i], kmers[i]),
                               kmers_of(read_on_host(text, &rules).segments, kmers[i]));
        }
        device_free(&d);
}

int main(int argc, char **argv)
{
        need_device();
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(fastq),         cmocka_unit_test(long_reads),
                cmocka_unit_test(fasta),         cmocka_unit_test(long_lines),
                cmocka_unit_test(cuts),          cmocka_unit_test(foreign_fastq),
                cmocka_unit_test(foreign_fasta), cmocka_unit_test(damaged),
                cmocka_unit_test(high_names),    cmocka_unit_test(high_qualities),
                cmocka_unit_test(little_text),   cmocka_unit_test(many_lines),
                cmocka_unit_test(many_segments), cmocka_unit_test(little_room),
                cmocka_unit_test(gathered),      cmocka_unit_test(several_k),
        };
        if (argc > 1)
                cmocka_set_test_filter(argv[1]);
        return cmocka_run_group_tests(tests, open_gpu, close_gpu);
}
