/* Reads in, k-mers out: every format, layout, compression, chunk size and number of threads. */
#include "tests/io/parse/reader_support.h"
#include "tests/sampling.h"

static const size_t chunk_sizes[] = { 64, 100, 257, 4096, 0 };
static const size_t record_maxima[] = { 0, 1, 90, 2000 }; /* longer records come in pieces */
static const uint32_t skips[] = { 0, 0, 0, 1, 8, 60, 1500, UINT32_MAX };
static const int ks[] = { 1, 2, 21, 31, 32, 33, 255 };

static void check_text(const struct buffer *text, const struct reads *reads, bool qualities,
                       struct setting setting)
{
        struct outcome want = expect_reads(reads, qualities, &setting);
        struct outcome got = read_bytes(text, &setting);
        assert_outcome(&got, &want);
        assert_int_equal(got.done, text->n);
        assert_int_equal(got.total, text->n);
        assert_int_equal(got.totals.input_nbytes, text->n);
}

static void check_layout(const struct layout *layout, struct reads_shape shape, uint64_t seed)
{
        enum { NSIZES = sizeof chunk_sizes / sizeof *chunk_sizes };
        struct reads reads = make_reads(shape, seed);
        struct buffer text = format_reads(&reads, layout);
        for (int packing = PLAIN; packing < NPACKINGS; packing++) {
                struct buffer packed = pack_text(&text, (enum packing)packing, 50 + seed % 300);
                const int first = packing % THREAD_STRIDE;
                for (int c = first; c < NSIZES; c += THREAD_STRIDE)
                        for (int t = 1; t <= 4; t += THREAD_STRIDE) {
                                struct setting setting = {
                                        .k = ks[next_random(&seed) % 7],
                                        .min_quality = next_random(&seed) & 1 ? 20 : 0,
                                        .nworkers = t,
                                        .chunk_nbytes = chunk_sizes[c],
                                        .words_cap = next_random(&seed) & 1 ? 64 : 1000,
                                        .segments_cap = 1 + next_random(&seed) % 100,
                                        .record_max = record_maxima[next_random(&seed) % 4],
                                        .selection.nskip = skips[next_random(&seed) % 8],
                                };
                                add_others(&setting, &seed);
                                check_text(&packed, &reads, !layout->fasta, setting);
                        }
                drop(&packed);
        }
        drop(&text);
        free_reads(&reads);
}

static const struct reads_shape short_reads = { .n = 60, .max_nbases = 150, .odd_letters = true };
static const struct reads_shape long_reads = { .n = 8, .max_nbases = 5000, .odd_letters = false };

static void test_fastq(void **state)
{
        (void)state;
        for (int i = 0; i < 16; i++) {
                struct layout layout = { .crlf = i & 1,
                                         .plus_name = i & 2,
                                         .no_final_eol = i & 4,
                                         .blank_lines = i & 8 ? i % 7 : 0 };
                /* without its last line an empty last read may not lose its '+' line too */
                struct reads_shape shape = short_reads;
                check_layout(&layout, shape, 1000 + (uint64_t)i);
        }
}

static void test_fastq_long(void **state)
{
        (void)state;
        check_layout(&(struct layout){ 0 }, long_reads, 21);
        check_layout(&(struct layout){ .crlf = true }, long_reads, 22);
}

static void test_fastq_lines(void **state)
{
        (void)state;
        for (int i = 0; i < 4; i++) {
                struct layout layout = { .width = 17 + 13 * (size_t)i,
                                         .crlf = i & 1,
                                         .plus_name = i & 2,
                                         .blank_lines = i };
                check_layout(&layout, short_reads, 31 + (uint64_t)i);
        }
        check_layout(&(struct layout){ .width = 70 }, long_reads, 41);
}

static void test_fasta(void **state)
{
        (void)state;
        static const size_t widths[] = { 0, 1, 60, 61, 300 };
        for (size_t i = 0; i < 5; i++) {
                struct layout layout = { .fasta = true,
                                         .width = widths[i],
                                         .crlf = i & 1,
                                         .no_final_eol = i & 2,
                                         .blank_lines = i == 4 ? 3 : 0 };
                check_layout(&layout, short_reads, 51 + i);
                layout.crlf = !layout.crlf;
                check_layout(&layout, short_reads, 61 + i);
                check_layout(&layout, long_reads, 71 + i);
        }
}

/* Spaces and tabs before a line end belong to it, wherever chunks cut the text. */
static void test_blanks(void **state)
{
        (void)state;
        static const size_t widths[] = { 0, 1, 60, 300 };
        for (size_t i = 0; i < 8; i++) {
                struct layout layout = { .fasta = i & 1,
                                         .width = widths[i / 2],
                                         .crlf = i & 2,
                                         .blank_lines = i == 4 ? 3 : 0,
                                         .max_blanks = i < 6 ? 4 : 200 };
                check_layout(&layout, i % 3 == 2 ? long_reads : short_reads, 91 + i);
        }
}

/* A chromosome on one line, in much smaller chunks. */
static void test_fasta_one_line(void **state)
{
        (void)state;
        struct reads reads = make_reads(
                (struct reads_shape){ .n = 1, .max_nbases = 0, .odd_letters = false }, 5);
        uint64_t seed = 81;
        size_t n = 300000;
        free(reads.seq[0]);
        reads.seq[0] = calloc(1, n + 1);
        for (size_t i = 0; i < n; i++)
                reads.seq[0][i] =
                        next_random(&seed) % 5000 == 0 ? 'N' : "ACGT"[next_random(&seed) & 3];
        struct buffer text = format_reads(&reads, &(struct layout){ .fasta = true });
        for (int t = 1; t <= 4; t++) {
                struct setting setting = { .k = 255, .nworkers = t, .chunk_nbytes = 1000 };
                struct outcome want = { .totals = { .nreads = 1, .nbases = n } };
                digest_sequence(&want.digest, reads.seq[0], NULL, n, 255, 0, false);
                for (size_t i = 0; i < n; i++)
                        want.totals.nskipped += reads.seq[0][i] == 'N';
                struct outcome got = read_bytes(&text, &setting);
                assert_outcome(&got, &want);
        }
        drop(&text);
        free_reads(&reads);
}

/* nskipped: letters of whole sequences that are no bases. */
static struct outcome expect_sequences(const char *const *seqs, size_t nseqs, size_t nskipped,
                                       const struct setting *setting)
{
        struct outcome want = { .totals = { .nreads = nseqs, .nskipped = nskipped } };
        for (size_t i = 0; i < nseqs; i++) {
                const size_t all = strlen(seqs[i]), skipped = skipped_of(setting, all);
                digest_sequence(&want.digest, seqs[i] + skipped, NULL, all - skipped, setting->k, 0,
                                false);
                want.totals.nbases += all - skipped;
                want.totals.nleft_out += skipped;
                for (size_t j = 0; j < skipped; j++)
                        want.totals.nskipped -= !upper_base(seqs[i][j]);
        }
        return want;
}

/* Texts written by hand, read in chunks of every small size. */
static void check_oddity(const char *text, const char *const *seqs, size_t nseqs, size_t nskipped)
{
        for (size_t chunk = 1; chunk < 70; chunk += CUT_STRIDE)
                for (int t = 1; t <= 3; t += 2) {
                        static const uint32_t nskip[] = { 0, 2, 0, 6 };
                        struct setting setting = { .k = 3,
                                                   .nworkers = t,
                                                   .chunk_nbytes = chunk,
                                                   .selection.nskip = nskip[(chunk + t / 2) % 4] };
                        struct outcome want = expect_sequences(seqs, nseqs, nskipped, &setting);
                        struct outcome got = read_text(text, &setting);
                        assert_outcome(&got, &want);
                }
}

static void test_oddities(void **state)
{
        (void)state;
        check_oddity("@a\nACGT\n+\nIIII\n", (const char *[]){ "ACGT" }, 1, 0);
        check_oddity("\n\r\n  \n@a\nACGT\n+\nIIII\n\n\n\n\n\n", (const char *[]){ "ACGT" }, 1, 0);
        check_oddity("@a\nACGT\n+\nIIII\n\n\n@b\nGGGTT\n+x\n@+@+@\n",
                     (const char *[]){ "ACGT", "GGGTT" }, 2, 0);
        check_oddity("@a\n\n+\n\n@b\nGGG\n+\nIII", (const char *[]){ "", "GGG" }, 2, 0);
        check_oddity("@a\nGGG\n+\nIII\n@b\n\n+\n", (const char *[]){ "GGG", "" }, 2, 0);
        check_oddity("@a\nGGG\n+\nIII\n@b\n\n+", (const char *[]){ "GGG", "" }, 2, 0);
        check_oddity("@a\r\nGGGNAA\r\n+\r\nIIIIII\r\n", (const char *[]){ "GGGNAA" }, 1, 1);
        check_oddity("@a\nGGG\nAA\n+\nI\nII@@\n@b\nCCCC\n+\nIIII\n",
                     (const char *[]){ "GGGAA", "CCCC" }, 2, 0);
        check_oddity(">a\nGGG\nAA\n\n>b\n>c\n\nC\nC\nC\r\nC\n",
                     (const char *[]){ "GGGAA", "", "CCCC" }, 3, 0);
        check_oddity("; comment\n>a\nGGG\n;another > one\nAA\n>b\nCC;C\n",
                     (const char *[]){ "GGGAA", "CC;C" }, 2, 1);
        check_oddity(">a\r\nGGG\r\nAATT\r\n\r\n>b\r\nCCC\r", (const char *[]){ "GGGAATT", "CCC" },
                     2, 0);
        check_oddity(">a\nACG \t \nTTT\t\r\nA C  C   \n", (const char *[]){ "ACGTTTA C  C" }, 1, 3);
        check_oddity(";c\n  \n> a \n \t\nACG    \n    T     TT    ;     AC   ",
                     (const char *[]){ "ACG    T     TT    ;     AC" }, 1, 19);
        check_oddity(">a     b    \n;   c   \n  ACG\n <TTT\n>   \n   \nACGT",
                     (const char *[]){ "  ACG <TTT", "ACGT" }, 2, 4);
        check_oddity("\n\n  >a > b\nAC\n\n \t\n>b>c\n\n>>d>\n;>\n\nGT\n",
                     (const char *[]){ "AC", "", "GT" }, 3, 0);
        check_oddity(">a\n!\"#$%&'(),/0123456789:\n<=?[\\]^_`{|}~\nACG@+;\n",
                     (const char *[]){ "!\"#$%&'(),/0123456789:<=?[\\]^_`{|}~ACG@+;" }, 1, 38);
        check_oddity("@a>\nA<-\tGT\n+>\n>>>@>>\n@b\nAC~\nGT\n+\n>>@\n>>\n",
                     (const char *[]){ "A<-\tGT", "AC~GT" }, 2, 4);
        check_oddity("@a \nACGT   \n+\t\nIIII\n@b\nGGGTT \t\r\n+ \r\nIIIII\t \r\n",
                     (const char *[]){ "ACGT", "GGGTT" }, 2, 0);
        check_oddity("@a\nAC \nG   T  \n \t\n+\nI\t\nII II\nI\n \n@b\nGGG\n+\nIII   ",
                     (const char *[]){ "ACG   T", "GGG" }, 2, 3);
        check_oddity(">\xe9t\xe9 \xc3\xa9\nACGT\n;\xff\xa0\nTT\n>\xa0\nCCC\n",
                     (const char *[]){ "ACGTTT", "CCC" }, 2, 0);
        check_oddity("@\xe9t\xe9\nACGT\n+\xc3\xa9\nIIII\n@\200\nGG\nGT\n+\xff\nIIII\n",
                     (const char *[]){ "ACGT", "GGGT" }, 2, 0);
        check_oddity(">only a name", (const char *[]){ "" }, 1, 0);
        check_oddity("\n\n>a\nACGTN-*ACG\n", (const char *[]){ "ACGTN-*ACG" }, 1, 3);
}

/* Wrapped records begin in mid-file: what threads have parsed ahead on a guess is undone. */
static void test_fastq_becomes_general(void **state)
{
        (void)state;
        for (uint64_t seed = 0; seed < 6; seed += THREAD_STRIDE) {
                struct reads first = make_reads(short_reads, seed);
                struct reads second = make_reads(short_reads, 100 + seed);
                struct buffer text = format_reads(&first, &(struct layout){ 0 });
                struct buffer more = format_reads(&second, &(struct layout){ .width = 40 });
                put(&text, more.data, more.n);
                for (int t = 1; t <= 4; t += THREAD_STRIDE)
                        for (size_t chunk = 64; chunk < 5000; chunk = 3 * chunk + 1) {
                                struct setting setting = { .k = 21,
                                                           .nworkers = t,
                                                           .min_quality = 10,
                                                           .selection.nskip = chunk % 3 * 9,
                                                           .chunk_nbytes = chunk };
                                struct outcome want = expect_reads(&first, true, &setting);
                                struct outcome also = expect_reads(&second, true, &setting);
                                want.digest.nkmers += also.digest.nkmers;
                                want.digest.sum += also.digest.sum;
                                want.totals.nreads += also.totals.nreads;
                                want.totals.nbases += also.totals.nbases;
                                want.totals.nskipped += also.totals.nskipped;
                                want.totals.nlow_quality += also.totals.nlow_quality;
                                want.totals.nleft_out += also.totals.nleft_out;
                                struct outcome got = read_bytes(&text, &setting);
                                assert_outcome(&got, &want);
                        }
                drop(&text);
                drop(&more);
                free_reads(&first);
                free_reads(&second);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_oddities),   cmocka_unit_test(test_fastq),
                cmocka_unit_test(test_fastq_long), cmocka_unit_test(test_fastq_lines),
                cmocka_unit_test(test_fasta),      cmocka_unit_test(test_fasta_one_line),
                cmocka_unit_test(test_blanks),     cmocka_unit_test(test_fastq_becomes_general),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
