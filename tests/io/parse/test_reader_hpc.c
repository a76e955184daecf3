/* Homopolymer compression: runs of every length, cut by chunks, pieces of records and batches. */
#include "tests/io/parse/bam_support.h"

enum { NREADS = 12, MAX_RUN = 400 };

/* Runs of the same base: mostly short, some longer than a chunk, some parted by other letters. */
static void fill_runs(char *seq, char *qual, size_t n, uint64_t *seed)
{
        for (size_t i = 0; i < n;) {
                const uint64_t x = next_random(seed);
                const size_t run = x % 16 == 0 ? 1 + (x >> 8) % MAX_RUN : 1 + (x >> 8) % 3;
                const char base = x % 64 == 1 ? 'N' : "ACGT"[(x >> 32) % 4];
                for (size_t j = 0; j < run && i < n; j++, i++) {
                        seq[i] = next_random(seed) % 4 == 0 ? (char)(base | 0x20) : base;
                        seq[i] = seq[i] == 't' ? 'u' : seq[i];
                        qual[i] = next_random(seed) % 40 == 0 ? '#' : 'I';
                }
        }
}

static struct reads make_runs(uint64_t seed)
{
        const struct reads_shape shape = { .n = NREADS, .max_nbases = 3000 };
        struct reads reads = make_reads(shape, seed);
        for (size_t r = 0; r < reads.n; r++)
                fill_runs(reads.seq[r], reads.qual[r], strlen(reads.seq[r]), &seed);
        return reads;
}

static void check_text(const struct layout *layout, uint64_t seed)
{
        static const size_t chunk_sizes[] = { 64, 100, 257, 4096 };
        static const size_t record_maxima[] = { 0, 1, 90, 2000 };
        static const int ks[] = { 1, 1, 2, 3, 15, 31, 64, 255 };
        struct reads reads = make_runs(seed);
        struct buffer text = format_reads(&reads, layout);
        for (int round = 0; round < 64; round++) {
                struct setting setting = { .k = ks[next_random(&seed) % 8],
                                           .min_quality = next_random(&seed) & 1 ? 20 : 0,
                                           .nworkers = 1 + round % 3,
                                           .chunk_nbytes = chunk_sizes[round % 4],
                                           .record_max = record_maxima[next_random(&seed) % 4],
                                           .selection.hpc = true };
                if (round % 2)
                        add_others(&setting, &seed);
                const struct outcome want = expect_reads(&reads, !layout->fasta, &setting);
                const struct outcome got = read_bytes(&text, &setting);
                assert_outcome(&got, &want);
        }
        drop(&text);
        free_reads(&reads);
}

static void test_text(void **state)
{
        (void)state;
        for (int i = 0; i < 8; i++) {
                const struct layout layout = { .fasta = i & 1,
                                               .width = i & 2 ? 70 : 0,
                                               .crlf = i & 4 };
                check_text(&layout, 100 + (uint64_t)i);
        }
}

static void test_bam(void **state)
{
        (void)state;
        static const size_t record_maxima[] = { 0, 1, 300 };
        uint64_t seed = 5;
        for (uint64_t round = 0; round < 24; round++) {
                size_t nbases[NREADS];
                for (size_t i = 0; i < NREADS; i++)
                        nbases[i] = next_random(&seed) % 600;
                struct buffer raw = make_bam(nbases, NREADS,
                                             (struct shape){ .nrefs = 1, .max_nops = 3 }, round);
                struct buffer bam = pack_bam(&raw, 100, round);
                struct setting setting = { .k = 1 + (int)(next_random(&seed) % 20),
                                           .min_quality = round % 2 ? 20 : 0,
                                           .nworkers = 1 + (int)(round % 3),
                                           .chunk_nbytes = 1,
                                           .record_max = record_maxima[round % 3],
                                           .selection.hpc = true };
                const struct outcome want = expect(&raw, &setting);
                const struct outcome got = read_bytes(&bam, &setting);
                assert_as(&got, &want, "round", round);
                drop(&bam);
                drop(&raw);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_text),
                                            cmocka_unit_test(test_bam) };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
