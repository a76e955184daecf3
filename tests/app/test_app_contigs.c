/*
 * Strips and tracks of sequences, whole or cut into pieces anywhere, against what plain loops over
 * all windows give.
 */
#include "app/report/strip.h"
#include "app/report/tracks.h"
#include "io/joint.h"
#include "tests/random.h"

#include <assert.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { MOST = 60000, DEPTH = 20, TEXT_NBYTES = 8 << 20, NFILES = TRACKS_NKINDS + 2 };

/* A sequence: which of its windows are valid, and their counts. */
static struct {
        size_t n;
        bool valid[MOST];
        uint32_t pairs[MOST];
} genome;

static uint64_t below(uint64_t *random, uint64_t n)
{
        return next_random(random) % n;
}

/* Stretches of windows that are alike, with some others among them; what is possible varies. */
static void draw_genome(uint64_t *random)
{
        static const uint32_t limits[] = { 2, 50, 100, 20000, 1 << 24 };
        genome.n = below(random, 8) == 0 ? below(random, 3) : below(random, MOST);
        const uint64_t longest = 1 + below(random, 300), rare = 2 + below(random, 20);
        const uint32_t limit = limits[below(random, 5)];
        for (size_t i = 0; i < genome.n;) {
                const size_t end = i + 1 + below(random, longest);
                const uint32_t count = below(random, 3) > 0 ? (uint32_t)below(random, limit) : 0;
                const uint32_t copies = 1 + (uint32_t)below(random, 3);
                const bool valid = below(random, 6) > 0;
                for (; i < end && i < genome.n; i++) {
                        const bool other = below(random, rare) == 0;
                        genome.valid[i] = valid;
                        genome.pairs[i] =
                                kc_pair_of(other ? (uint32_t)below(random, limit) : count, copies);
                }
        }
}

/* The next run of valid windows, from *begin on; false: there is none. */
static bool next_windows(size_t *begin, size_t *end, size_t limit)
{
        while (*begin < limit && !genome.valid[*begin])
                ++*begin;
        for (*end = *begin; *end < limit && genome.valid[*end];)
                ++*end;
        return *begin < limit;
}

/* ---- strips ---- */

static int compare(const void *a, const void *b)
{
        const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
        return (x > y) - (x < y);
}

/* What the windows of [begin, end) give. */
static struct strip_total naive_total(uint64_t begin, uint64_t end)
{
        static uint32_t counts[MOST];
        struct strip_total total = { 0 };
        size_t n = 0;
        for (uint64_t i = begin; i < end && i < genome.n; i++) {
                const uint32_t count = kc_pair_first(genome.pairs[i]);
                if (!genome.valid[i])
                        continue;
                total.nwindows++;
                total.nabsent += count == 0;
                total.nextra +=
                        kc_pair_second(genome.pairs[i]) > 1 && count > 0 && count <= 3 * DEPTH / 2;
                if (count > 0)
                        counts[n++] = count;
        }
        qsort(counts, n, sizeof *counts, compare);
        if (n > 0)
                total.quarters = 2 * ((uint64_t)counts[(n - 1) / 2] + counts[n / 2]);
        return total;
}

static uint64_t last_window(size_t begin, size_t end)
{
        while (end > begin && !genome.valid[end - 1])
                end--;
        return end > begin ? end - 1 : 0;
}

/* A sequence of any length keeps at most 2 KiB of bins: -m does not count them. */
static_assert(STRIP_NBINS * sizeof(struct strip_result) <= 2048, "bins of a sequence");

static void check_strip(struct strip *strip)
{
        struct strip_result results[STRIP_NBINS];
        struct strip_total total;
        uint64_t step = STRIP_FIRST_STEP, last = last_window(0, genome.n);
        while (last / step >= STRIP_NBINS)
                step *= 2;
        const struct strip_total want = naive_total(0, genome.n);
        assert_int_equal(strip->step, step);
        assert_int_equal(strip->nbins, want.nwindows > 0 ? last / step + 1 : 0);
        strip_results(strip, results);
        for (size_t i = 0; i < strip->nbins; i++) {
                const struct strip_total bin = naive_total(i * step, (i + 1) * step);
                assert_int_equal(results[i].nwindows, bin.nwindows);
                assert_int_equal(results[i].nabsent, bin.nabsent);
                assert_int_equal(results[i].nextra, bin.nextra);
                assert_int_equal(results[i].quarters, bin.quarters);
        }
        assert_int_equal(strip_total(strip, &total, NULL), KC_OK);
        assert_int_equal(total.nwindows, want.nwindows);
        assert_int_equal(total.nabsent, want.nabsent);
        assert_int_equal(total.nextra, want.nextra);
        assert_int_equal(total.quarters, want.quarters);
}

/* Make the strip of the windows of [begin, end). */
static void make_strip(struct strip *strip, size_t begin, size_t end)
{
        strip_begin(strip, last_window(begin, end));
        for (size_t i = begin, to; next_windows(&i, &to, end); i = to)
                assert_int_equal(strip_put(strip, i, genome.pairs + i, to - i, DEPTH, NULL), KC_OK);
        assert_int_equal(strip_end(strip, NULL), KC_OK);
}

static void test_strips(void **state)
{
        struct strip *whole = calloc(1, sizeof *whole), *piece = calloc(1, sizeof *piece);
        uint64_t random = 1;
        (void)state;
        assert_true(whole && piece);
        for (int i = 0; i < 60; i++) {
                draw_genome(&random);
                make_strip(whole, 0, genome.n);
                check_strip(whole);
                const uint64_t longest = 1 + below(&random, i % 2 ? 500 : MOST);
                strip_begin(whole, 0);
                for (size_t begin = 0, end; begin < genome.n; begin = end) {
                        end = begin + 1 + below(&random, longest);
                        end = end < genome.n ? end : genome.n;
                        make_strip(piece, begin, end);
                        assert_int_equal(strip_join(whole, piece, NULL), KC_OK);
                }
                check_strip(whole);
        }
        strip_free(whole);
        strip_free(piece);
        free(whole);
        free(piece);
}

/* ---- tracks ---- */

static struct text_out *files[NFILES];
static char *texts[2]; /* [TEXT_NBYTES] wanted, written */

static void open_files(struct tracks_setup *setup)
{
        struct text_out **wanted[NFILES] = { &setup->stretches[0], &setup->stretches[1],
                                             &setup->stretches[2], &setup->absent_windows,
                                             &setup->absent_depth };
        for (int i = 0; i < NFILES; i++) {
                FILE *file = tmpfile();
                files[i] = malloc(sizeof *files[i]);
                assert_true(file && files[i]);
                text_out_stdout(files[i]);
                files[i]->fd = dup(fileno(file));
                fclose(file);
                *wanted[i] = files[i];
        }
}

static void close_files(void)
{
        for (int i = 0; i < NFILES; i++) {
                close(files[i]->fd);
                free(files[i]);
        }
}

static void check_file(int i, const char *wanted)
{
        text_out_flush(files[i]);
        const ssize_t n = pread(files[i]->fd, texts[1], TEXT_NBYTES - 1, 0);
        assert_true(n >= 0);
        texts[1][n] = 0;
        assert_string_equal(texts[1], wanted);
        assert_int_equal(ftruncate(files[i]->fd, 0), 0);
        assert_int_equal(lseek(files[i]->fd, 0, SEEK_SET), 0);
}

static bool naive_is(int kind, size_t i)
{
        const uint64_t count = kc_pair_first(genome.pairs[i]);
        const uint64_t copies = kc_pair_second(genome.pairs[i]);
        if (!genome.valid[i])
                return false;
        if (kind == TRACKS_ABSENT)
                return count == 0;
        return kind == TRACKS_DUPLICATED ? copies > 1 && count > 0 && count <= DEPTH * 3 / 2
                                         : 2 * count > (2 * copies + 1) * DEPTH;
}

static const char *naive_stretches(int kind, size_t k)
{
        const size_t most = kind == TRACKS_ABSENT ? k : 2 * k;
        char *to = texts[0];
        *to = 0;
        for (size_t i = 0; i < genome.n; i++) {
                size_t last = i, nhits = 0;
                for (size_t j = i; j < genome.n && j <= last + most; j++)
                        if (naive_is(kind, j)) {
                                last = j;
                                nhits++;
                        }
                if (!naive_is(kind, i))
                        continue;
                if (kind == TRACKS_ABSENT || (nhits >= k && 2 * nhits >= last - i + 1))
                        to += sprintf(to, "chr\t%zu\t%zu\n", i, last + k);
                i = last;
        }
        return texts[0];
}

static const char *naive_windows(size_t k)
{
        char *to = texts[0];
        *to = 0;
        for (size_t i = 0; i < genome.n; i++)
                if (naive_is(TRACKS_ABSENT, i))
                        to += sprintf(to, "chr\t%zu\t%zu\n", i, i + k);
        return texts[0];
}

static const char *naive_depth(size_t k)
{
        char *to = texts[0] + sprintf(texts[0], "variableStep chrom=chr\n");
        for (size_t base = 0; base < genome.n + k - 1; base++) {
                int depth = 0;
                for (size_t i = base < k ? 0 : base - k + 1; i <= base && i < genome.n; i++)
                        depth += naive_is(TRACKS_ABSENT, i);
                if (depth > 0)
                        to += sprintf(to, "%zu\t%d\n", base + 1, depth);
        }
        return texts[0];
}

/* Add the windows of [begin, end), found by themselves. */
static void put_piece(struct tracks *tracks, struct tracks_found *found, size_t begin, size_t end)
{
        tracks_found_begin(found);
        for (size_t i = begin, to; next_windows(&i, &to, end); i = to)
                assert_int_equal(
                        tracks_find(found, tracks->setup, i, genome.pairs + i, to - i, NULL),
                        KC_OK);
        for (size_t i = 0; i < TRACKS_NLISTS; i++)
                tracks_put(tracks, i, found->lists[i].all + found->lists[i].begin,
                           found->lists[i].n - found->lists[i].begin);
}

static void check_tracks(struct tracks_setup *setup, uint64_t longest, uint64_t *random)
{
        const size_t k = (size_t)setup->k;
        struct tracks_found found = { 0 };
        struct tracks tracks;
        tracks_begin(&tracks, setup, "chromosome", 3);
        for (size_t begin = 0, end; begin < genome.n; begin = end) {
                end = begin + 1 + below(random, longest);
                end = end < genome.n ? end : genome.n;
                put_piece(&tracks, &found, begin, end);
                if (below(random, 2) > 0)
                        tracks_found_clear(&found);
        }
        tracks_end(&tracks);
        for (int kind = 0; kind < TRACKS_NKINDS; kind++)
                check_file(kind, naive_stretches(kind, k));
        check_file(TRACKS_NKINDS, naive_windows(k));
        check_file(TRACKS_NKINDS + 1, naive_depth(k));
        tracks_found_free(&found);
}

static void test_tracks(void **state)
{
        static const int ks[] = { 1, 2, 5, 21, 31, 64 };
        struct tracks_setup setup = { .depth = DEPTH };
        uint64_t random = 2;
        (void)state;
        texts[0] = malloc(TEXT_NBYTES);
        texts[1] = malloc(TEXT_NBYTES);
        assert_true(texts[0] && texts[1]);
        open_files(&setup);
        for (int i = 0; i < 60; i++) {
                setup.k = ks[i % 6];
                draw_genome(&random);
                check_tracks(&setup, i % 3 == 0 ? MOST : i % 3 == 1 ? 200 : 5, &random);
        }
        close_files();
        free(texts[0]);
        free(texts[1]);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_strips),
                cmocka_unit_test(test_tracks),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
