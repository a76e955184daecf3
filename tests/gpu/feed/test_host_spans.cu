/*
 * Spans: every k-mer of every segment is in exactly one, none is too long, segments are cut evenly.
 */
#include "tests/gpu/support.cuh"

#include "gpu/feed/spans.cuh"

/* Check the spans of one segment, from *span on; moves *span past them. */
static void check_segment(const struct kc_segment *segment, int k, uint32_t first_word,
                          const struct kc_span **span)
{
        uint32_t nkmers = segment->nbases - (uint32_t)k + 1, least = UINT32_MAX, most = 0;
        for (uint32_t at = 0; at < nkmers; (*span)++) {
                const struct kc_span *s = *span;
                assert_in_range(s->nkmers, 1, KC_SPAN_NKMERS);
                assert_in_range(s->base, 0, 31);
                assert_int_equal(s->ends, at + s->nkmers == nkmers);
                assert_int_equal((uint64_t)s->word * 32 + s->base,
                                 (uint64_t)(first_word + segment->word) * 32 + at);
                at += s->nkmers;
                assert_true(at <= nkmers);
                least = s->nkmers < least ? s->nkmers : least;
                most = s->nkmers > most ? s->nkmers : most;
        }
        assert_true(most - least <= 1);
}

static void check(const struct kc_segment *segments, size_t n, int k, uint32_t first_word)
{
        uint64_t nkmers = 0, nbases = 0, words = 0;
        const struct kc_spans_size size = kc_gpu_spans_measure(segments, n, k);
        struct kc_span *spans = (struct kc_span *)malloc((size.nspans + 1) * sizeof *spans);
        memset(spans, 0xee, (size.nspans + 1) * sizeof *spans);
        kc_gpu_spans_cut(segments, n, k, first_word, spans);
        const struct kc_span *span = spans;
        for (size_t i = 0; i < n; i++) {
                check_segment(&segments[i], k, first_word, &span);
                nkmers += segments[i].nbases - (uint32_t)k + 1;
                nbases += segments[i].nbases;
                words += (segments[i].nbases + 31) / 32;
        }
        assert_int_equal(span - spans, size.nspans);
        assert_int_equal(span->word, 0xeeeeeeee); /* nothing is written after the last */
        assert_int_equal(size.nkmers, nkmers);
        assert_int_equal(size.nbases, nbases);
        assert_true(size.nspans <= kc_gpu_spans_most(n, words));
        free(spans);
}

static void one_segment(void **state)
{
        (void)state;
        for (int k : { 1, 2, 31, 32, 33, 63, 64 })
                for (uint32_t nkmers : { 1, 2, 31, 32, 33, 120, 127, 128, 129, 255, 256, 257, 1000,
                                         1280, 1281, 100000 }) {
                        struct kc_segment segment = { 3, nkmers + (uint32_t)k - 1, 0, 0 };
                        check(&segment, 1, k, 0);
                        check(&segment, 1, k, 1u << 31);
                }
}

static void no_segment(void **state)
{
        (void)state;
        check(NULL, 0, 31, 7);
}

static void many_segments(void **state)
{
        enum { N = 5000 };
        static struct kc_segment segments[N];
        uint64_t random = 5;
        (void)state;
        for (int k : { 1, 21, 64 }) {
                uint32_t word = 0;
                for (struct kc_segment &s : segments) {
                        uint32_t extra = next_random(&random) % 8 ? 300 : 20000;
                        s = { word, (uint32_t)k + (uint32_t)(next_random(&random) % extra), 0, 0 };
                        word += (s.nbases + 31) / 32;
                }
                check(segments, N, k, 123456);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(one_segment),
                cmocka_unit_test(no_segment),
                cmocka_unit_test(many_segments),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
