/* Pairs of records, from two files or one, with any number of threads. */
#include "tests/io/records/records_support.h"

#include <sched.h>

struct pairs {
        struct kc_mates *mates;
        size_t npairs, nruns;
        bool *seen; /* [npairs] */
        const struct reads *reads[2];
        pthread_mutex_t lock;
};

static void check_mate(const struct pairs *p, const struct kc_mate_batch *run, size_t i, int mate)
{
        char name[64];
        const struct kc_seq_record *r =
                &run->batch[mate]->records[run->first[mate] + i * run->step];
        const char *bytes = run->batch[mate]->bytes, *seq = p->reads[mate]->seq[run->pair + i];
        snprintf(name, sizeof name, "p%zu/%d c", (size_t)run->pair + i, mate + 1);
        assert_int_equal(r->name_nbytes, strlen(name));
        assert_memory_equal(bytes + r->name, name, r->name_nbytes);
        assert_int_equal(r->nbases, strlen(seq));
        assert_memory_equal(bytes + r->bases, seq, r->nbases);
}

static enum kc_status pair_worker(void *ctx, int worker, struct kc_error *err)
{
        struct pairs *p = ctx;
        struct kc_mate_batch run;
        enum kc_status status;
        while ((status = kc_mates_next(p->mates, &run, err)) == KC_OK && run.n > 0) {
                for (size_t i = 0; i < run.n; i++)
                        for (int mate = 0; mate < 2; mate++)
                                check_mate(p, &run, i, mate);
                if (worker % 2 == 1)
                        sched_yield();
                pthread_mutex_lock(&p->lock);
                p->nruns = run.number >= p->nruns ? run.number + 1 : p->nruns;
                for (size_t i = 0; i < run.n; i++) {
                        assert_false(p->seen[run.pair + i]);
                        p->seen[run.pair + i] = true;
                }
                pthread_mutex_unlock(&p->lock);
                kc_mates_release(p->mates, &run);
        }
        return status;
}

static void put_mate(struct buffer *b, const struct reads *reads, size_t r, int mate, bool fasta)
{
        char line[64];
        snprintf(line, sizeof line, "%cp%zu/%d c\n", fasta ? '>' : '@', r, mate + 1);
        puts_to(b, line);
        puts_to(b, reads->seq[r]);
        puts_to(b, fasta ? "\n" : "\n+\n");
        puts_to(b, fasta ? "" : reads->qual[r]);
        puts_to(b, fasta ? "" : "\n");
}

/* Read the pairs of two files, or of one in which mates take turns, without nmissing records at the
 * end of each. */
static enum kc_status read_pairs(const struct reads reads[2], bool interleaved, bool fasta,
                                 const size_t nmissing[2], const struct kc_records_options *options,
                                 struct kc_error *err)
{
        const char *paths[] = { scratch_path("mates1"), scratch_path("mates2") };
        struct buffer texts[2] = { { 0 } };
        struct pairs p = { .npairs = reads[0].n, .reads = { &reads[0], &reads[1] } };
        for (size_t r = 0; r < p.npairs; r++)
                for (int mate = 0; mate < 2; mate++)
                        if (r + nmissing[mate] < p.npairs)
                                put_mate(&texts[interleaved ? 0 : mate], &reads[mate], r, mate,
                                         fasta);
        for (int i = 0; i < 2 - interleaved; i++)
                write_file(paths[i], texts[i].n > 0 ? texts[i].data : "", texts[i].n);
        p.seen = calloc(p.npairs, sizeof *p.seen);
        pthread_mutex_init(&p.lock, NULL);
        enum kc_status status =
                kc_mates_open(&p.mates, paths[0], interleaved ? NULL : paths[1], options, err);
        assert_int_equal(status, KC_OK);
        status = kc_parallel(options->nthreads, pair_worker, NULL, &p, err);
        assert_null(kc_records_header(kc_mates_stream(p.mates, 1)));
        kc_mates_close(p.mates);
        for (size_t r = 0; status == KC_OK && r < p.npairs; r++)
                assert_true(p.seen[r]);
        for (int i = 0; i < 2 - interleaved; i++)
                unlink(paths[i]);
        pthread_mutex_destroy(&p.lock);
        free(p.seen);
        drop(&texts[0]);
        drop(&texts[1]);
        return status;
}

static void make_mates(struct reads reads[2], size_t n, uint64_t seed)
{
        /* of different lengths, so that batches end at different pairs */
        reads[0] = make_reads((struct reads_shape){ .n = n, .max_nbases = 150 }, seed);
        reads[1] = make_reads((struct reads_shape){ .n = n, .max_nbases = 30 }, seed + 1);
}

static void test_pairs(void **state)
{
        (void)state;
        static const size_t chunks[] = { 200, 1000, 9999, 0 };
        for (uint64_t seed = 0; seed < 6; seed++) {
                struct reads reads[2];
                make_mates(reads, seed == 5 ? 0 : 300 + seed, seed);
                for (size_t c = 0; c < 4; c++)
                        for (int nthreads = 1; nthreads < 9; nthreads += 3)
                                for (int how = 0; how < 4; how++) {
                                        struct kc_error err = { 0 };
                                        read_pairs(reads, how & 1, how & 2, (size_t[]){ 0, 0 },
                                                   &(struct kc_records_options){
                                                           .accepted = KC_RECORDS_LINES,
                                                           .nthreads = nthreads,
                                                           .chunk_nbytes = chunks[c] },
                                                   &err);
                                        assert_string_equal(err.message, "");
                                }
                free_reads(&reads[0]);
                free_reads(&reads[1]);
        }
}

static void test_missing(void **state)
{
        (void)state;
        static const struct {
                bool interleaved;
                size_t nmissing[2];
                const char *says;
        } cases[] = {
                { false, { 0, 1 }, "mates1: record 300 has no mate: /tmp/" },
                { false, { 0, 1 }, "mates2 ends there" },
                { false, { 250, 0 }, "mates2: record 51 has no mate: /tmp/" },
                { false, { 299, 0 }, "mates2: record 2 has no mate: /tmp/" },
                { true, { 0, 1 }, "mates1: record 599 has no mate: /tmp/" },
        };
        struct reads reads[2];
        make_mates(reads, 300, 77);
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
                for (int nthreads = 1; nthreads < 6; nthreads += 2)
                        for (size_t chunk = 300; chunk < 100000; chunk *= 10) {
                                struct kc_error err = { 0 };
                                const enum kc_status status = read_pairs(
                                        reads, cases[i].interleaved, false, cases[i].nmissing,
                                        &(struct kc_records_options){ .nthreads = nthreads,
                                                                      .chunk_nbytes = chunk },
                                        &err);
                                assert_int_equal(status, KC_EINPUT);
                                assert_non_null(strstr(err.message, cases[i].says));
                        }
        free_reads(&reads[0]);
        free_reads(&reads[1]);
}

/* Whatever is wrong with one of the files is reported, and a record in pieces cannot have a
 * mate. */
static void test_refused(void **state)
{
        (void)state;
        const char *paths[] = { scratch_path("good"), scratch_path("bad") };
        static const char *const bad[] = { ">a\nAC\n>b\nA C\n",
                                           ">a\nACGTACGTACGTACGTACGTACGTACGTACGT\n>b\nA\n" };
        static const char *const says[] = { "bad: line 4 is not a sequence",
                                            "bad: record 1 is too long to be one of a pair" };
        write_file(paths[0], ">a\nAC\n>b\nAC\n", 12);
        for (int i = 0; i < 2; i++) {
                const struct kc_records_options options = { .nthreads = 3, .chunk_nbytes = 20 };
                struct pairs p = { .npairs = 2 };
                struct kc_mate_batch run;
                struct kc_error err = { 0 };
                enum kc_status status = KC_OK;
                write_file(paths[1], bad[i], strlen(bad[i]));
                assert_int_equal(kc_mates_open(&p.mates, paths[0], paths[1], &options, NULL),
                                 KC_OK);
                while ((status = kc_mates_next(p.mates, &run, &err)) == KC_OK && run.n > 0)
                        kc_mates_release(p.mates, &run);
                assert_int_equal(status, KC_EINPUT);
                assert_non_null(strstr(err.message, says[i]));
                assert_int_equal(kc_mates_next(p.mates, &run, NULL), KC_EINPUT);
                kc_mates_close(p.mates);
                assert_int_equal(
                        kc_mates_open(&p.mates, paths[0], "/nonexistent/x", &options, &err),
                        KC_EINPUT);
                assert_null(p.mates);
        }
        unlink(paths[0]);
        unlink(paths[1]);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_pairs),
                cmocka_unit_test(test_missing),
                cmocka_unit_test(test_refused),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
