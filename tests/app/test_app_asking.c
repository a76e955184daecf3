/* Asking for the records of files: every record comes once, in order, with its answer, whatever the
 * threads, the memory and the pieces are; in rounds, and in a stream. */
#include "app/ask/asking.h"
#include "app/ask/blocks.h"
#include "app/ask/choice.h"
#include "app/library/device_asker.h"
#include "app/library/lookup_asker.h"
#include "base/job.h"
#include "kmer/kmer.h"
#include "tests/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/files.h"
#include "tests/sampling.h"

enum { K = 7, NKMERS = 1 << 2 * K, MAX_THREADS = 5, MOST_SLOTS = 4 * MAX_THREADS };
enum { MANY_RECORDS = 3000 }; /* enough that their k-mers are not looked up one by one */
enum { MANY_BLOCKS_RECORDS = 20000, FEWEST_READ = 5 };

static char folder[] = "/tmp/kcount-asking-XXXXXX";
static char store_path[64], paths[2][64];
static uint32_t counts[NKMERS]; /* 0: the store does not have it */

/* ---- the store ---- */

static uint32_t count_of(uint64_t kmer)
{
        return kmer % 3 == 0 ? 0 : (uint32_t)(random_mix(kmer) % 1000 + 1);
}

static void make_store(void)
{
        static uint64_t kmers[NKMERS];
        static uint32_t kept[NKMERS];
        struct kc_store_options options = { .k = K, .stranded = true };
        struct kc_run_pairs pairs = { .last = true, .kmers = kmers, .counts = kept };
        struct kc_store_origin origin = { 0 };
        struct kc_store_writer *writer;
        assert_non_null(mkdtemp(folder));
        snprintf(store_path, sizeof store_path, "%s/a.kc", folder);
        for (int i = 0; i < 2; i++)
                snprintf(paths[i], sizeof paths[i], "%s/%d", folder, i);
        for (uint64_t kmer = 0; kmer < NKMERS; kmer++) {
                if ((counts[kmer] = count_of(kmer)) == 0)
                        continue;
                kmers[pairs.n] = kmer;
                kept[pairs.n++] = counts[kmer];
                origin.nkmers += counts[kmer];
        }
        assert_int_equal(kc_store_create(&writer, store_path, &options, NULL), KC_OK);
        const struct kc_run_sink sink = kc_store_sink(writer);
        assert_int_equal(sink.put(sink.ctx, &pairs, NULL), KC_OK);
        assert_int_equal(kc_store_commit(writer, &origin, NULL, NULL), KC_OK);
}

/* ---- what is asked, and what is expected ---- */

struct text {
        char *data;
        size_t n, cap;
};

static void put_text(struct text *t, const void *data, size_t n)
{
        if (t->n + n > t->cap) {
                t->cap = 2 * (t->n + n);
                t->data = realloc(t->data, t->cap);
                assert_non_null(t->data);
        }
        if (n > 0)
                memcpy(t->data + t->n, data, n);
        t->n += n;
}

static void put_numbers(struct text *t, const uint32_t *numbers, size_t n)
{
        put_text(t, numbers, n * sizeof *numbers);
}

/* The expected log of a record: its number, and the counts of its valid windows. */
static void expect_record(struct text *log, uint32_t number, const char *bases, size_t n)
{
        uint64_t kmer;
        uint32_t *numbers = malloc((n + 2) * sizeof *numbers);
        size_t nnumbers = 2;
        assert_non_null(numbers);
        numbers[0] = UINT32_MAX;
        numbers[1] = number;
        for (size_t i = 0; i + K <= n; i++)
                if (kc_kmer_parse(bases + i, K, &kmer) == K)
                        numbers[nnumbers++] = counts[kmer];
        put_numbers(log, numbers, nnumbers);
        free(numbers);
}

static size_t make_bases(char *bases, size_t most, uint64_t *seed)
{
        const size_t n = next_random(seed) % 8 == 0 ? next_random(seed) % 10
                                                    : next_random(seed) % (most + 1);
        for (size_t i = 0; i < n; i++)
                bases[i] = next_random(seed) % 100 == 0 ? 'N' : "ACGTacguU"[next_random(seed) % 9];
        return n;
}

/* Append a record of at most so many bases to the file, and what is expected of it to the log. */
static void make_record(struct text *file, struct text *log, uint32_t number, size_t most,
                        bool fasta, uint64_t *seed)
{
        char *bases = malloc(most + 10), name[32];
        assert_non_null(bases);
        const size_t n = make_bases(bases, most, seed);
        put_text(file, name, (size_t)sprintf(name, "%cr%u\n", fasta ? '>' : '@', number));
        put_text(file, bases, n);
        put_text(file, "\n+\n", fasta ? 1 : 3);
        expect_record(log, number, bases, n);
        if (!fasta) {
                memset(bases, 'I', n); /* qualities */
                put_text(file, bases, n);
                put_text(file, "\n", 1);
        }
        free(bases);
}

static void write_text(const char *path, struct text *t)
{
        write_file(path, t->n > 0 ? t->data : "", t->n);
        free(t->data);
        *t = (struct text){ 0 };
}

/* ---- a prompt asker ---- */

/* What a slow start of a device sees. */
static struct {
        bool is_slow;           /* it waits until some blocks are read and no more follow */
        struct kc_job *cancels; /* then it cancels this job; may be NULL */
        bool fails;
        atomic_uint nreads; /* blocks that were read while it opened */
        atomic_bool is_open;
        atomic_uint_fast64_t most_nbytes; /* by which blocks and slots exceeded their bound */
} start;

enum kc_status __real_asking_blocks_next(struct asking_blocks *blocks, struct asking_block **block,
                                         bool *ended, struct kc_error *err);
enum kc_status __wrap_asking_blocks_next(struct asking_blocks *blocks, struct asking_block **block,
                                         bool *ended, struct kc_error *err);

enum kc_status __wrap_asking_blocks_next(struct asking_blocks *blocks, struct asking_block **block,
                                         bool *ended, struct kc_error *err)
{
        const enum kc_status status = __real_asking_blocks_next(blocks, block, ended, err);
        if (status != KC_OK || *block == NULL)
                return status;
        pthread_mutex_lock(&blocks->lock);
        const uint64_t all = blocks->nbytes + blocks->slots_nbytes;
        const uint64_t nbytes = all > blocks->bound_nbytes ? all - blocks->bound_nbytes : 0;
        if (nbytes > atomic_load(&start.most_nbytes))
                atomic_store(&start.most_nbytes, nbytes);
        pthread_mutex_unlock(&blocks->lock);
        if (!atomic_load(&start.is_open))
                atomic_fetch_add(&start.nreads, 1);
        return status;
}

static enum kc_status start_slowly(struct kc_error *err)
{
        unsigned before, naps = 1000;
        do {
                before = atomic_load(&start.nreads);
                usleep(50 * 1000);
        } while ((before < FEWEST_READ && --naps > 0) || before != atomic_load(&start.nreads));
        if (start.cancels != NULL)
                atomic_store(&start.cancels->cancel, true);
        atomic_store(&start.is_open, true);
        return start.fails ? kc_fail(err, KC_EIO, "the table cannot be read") : KC_OK;
}

/* The linker puts this in the place of kc_device_asker_open. It opens the asker that looks k-mers
 * up one by one, which can also be used as a prompt one. */
enum kc_status __wrap_kc_device_asker_open(struct kc_asker *asker, struct kc_store *store,
                                           const struct kc_gpu_ask_options *options,
                                           const struct kc_ask_setup *setup,
                                           enum kc_gpu_ask_way *way, struct kc_error *err);

enum kc_status __wrap_kc_device_asker_open(struct kc_asker *asker, struct kc_store *store,
                                           const struct kc_gpu_ask_options *options,
                                           const struct kc_ask_setup *setup,
                                           enum kc_gpu_ask_way *way, struct kc_error *err)
{
        enum kc_status status = start.is_slow ? start_slowly(err) : KC_OK;
        assert_true(start.cancels == NULL || setup->job == start.cancels);
        if (status == KC_OK)
                status = kc_lookup_asker_open(asker, store, setup, err);
        asker->depth = options->batch_nbases;
        asker->answer = NULL;
        *way = KC_GPU_ASK_WHOLE;
        return status;
}

/* ---- the consumer ---- */

struct taker {
        struct text log, formatted[MOST_SLOTS];
        int nstreams; /* passed to begin; -1: it has not been called */
        uint64_t nblocks;
        uint64_t fail_at, cancel_at; /* numbers of blocks; UINT64_MAX: never */
        struct kc_job job;
        struct kc_store *store;
        struct kc_asker *shared; /* as in the options */
        uint64_t slot_nbytes;    /* memory that each slot is said to hold */
};

/* One record, or a piece; a number comes only where the record begins. */
static void log_record(struct text *log, const struct kc_seq_record *record,
                       const struct kc_ask_answer *answer)
{
        const struct kc_ask_setup setup = { .min_count = 5, .max_count = 600 };
        struct kc_ask_summary summary;
        kc_ask_summarize(&summary, K, &setup, record->nbases, answer->counts, answer->stretches,
                         answer->nstretches);
        assert_memory_equal(&summary, &answer->summary, sizeof summary);
        if (record->flags & KC_RECORD_BEGINS)
                put_numbers(log, (const uint32_t[]){ UINT32_MAX, (uint32_t)record->number }, 2);
        put_numbers(log, answer->counts, summary.nvalid);
}

static enum kc_status count_streams(void *ctx, const struct kc_records *const streams[2],
                                    struct kc_error *err)
{
        struct taker *taker = ctx;
        (void)err;
        assert_int_equal(taker->nstreams, -1);
        assert_int_equal(kc_records_kind(streams[0]), KC_RECORDS_TEXT);
        taker->nstreams = streams[1] != NULL ? 2 : 1;
        return KC_OK;
}

static enum kc_status format_block(void *ctx, int worker, const struct asked *block,
                                   struct kc_error *err)
{
        struct taker *taker = ctx;
        struct text *log = &taker->formatted[block->slot];
        (void)worker;
        (void)err;
        log->n = 0;
        for (size_t i = 0; block->batch != NULL && i < block->batch->n; i++)
                log_record(log, &block->batch->records[i], &block->answers[0][i]);
        for (size_t i = 0; block->pairs != NULL && i < block->pairs->n; i++)
                for (int mate = 0; mate < 2; mate++)
                        log_record(log,
                                   &block->pairs->batch[mate]->records[block->pairs->first[mate] +
                                                                       i * block->pairs->step],
                                   &block->answers[mate][i]);
        return KC_OK;
}

static enum kc_status write_block(void *ctx, const struct asked *block, struct kc_error *err)
{
        struct taker *taker = ctx;
        assert_true(taker->nstreams > 0);
        assert_int_equal(block->number, taker->nblocks++);
        if (block->number == taker->fail_at)
                return kc_fail(err, KC_EIO, "the disk is full");
        if (block->number == taker->cancel_at)
                atomic_store(&taker->job.cancel, true);
        put_text(&taker->log, taker->formatted[block->slot].data, taker->formatted[block->slot].n);
        return KC_OK;
}

static uint64_t say_nbytes(const void *ctx, int slot)
{
        const struct taker *taker = ctx;
        (void)slot;
        return taker->slot_nbytes;
}

/* depth: of a prompt asker; 0: in rounds. If it is odd, counts are not wanted, so each worker has
 * several slots; but this asker gives counts nevertheless. */
static enum kc_status take_all(struct taker *taker, const struct asking_input *input, int nthreads,
                               uint32_t depth, uint64_t memory_nbytes, uint64_t *nrecords,
                               struct kc_error *err)
{
        struct device_answers device = { .cuda = depth > 0, .options = { .batch_nbases = depth } };
        const struct asking_options options = { .nthreads = nthreads,
                                                .memory_nbytes = memory_nbytes,
                                                .min_count = 5,
                                                .max_count = 600,
                                                .wants_counts = depth % 2 == 0,
                                                .device = &device,
                                                .shared = taker->shared,
                                                .job = &taker->job };
        const struct asking_consumer consumer = { .ctx = taker,
                                                  .begin = count_streams,
                                                  .format = format_block,
                                                  .slot_nbytes = say_nbytes,
                                                  .write = write_block };
        const enum kc_status status =
                asking_run(taker->store, input, &options, &consumer, nrecords, err);
        for (int i = 0; i < MOST_SLOTS; i++)
                free(taker->formatted[i].data);
        return status;
}

static struct taker taker_of(struct kc_store *store, struct kc_asker *shared)
{
        return (struct taker){ .nstreams = -1,
                               .fail_at = UINT64_MAX,
                               .cancel_at = UINT64_MAX,
                               .store = store,
                               .shared = shared };
}

static struct kc_store *open_store(void)
{
        struct kc_store *store;
        assert_int_equal(kc_store_open(&store, store_path, NULL), KC_OK);
        return store;
}

static void check_with(struct kc_store *store, struct kc_asker *shared,
                       const struct asking_input *input, const struct text *wanted, uint64_t n,
                       uint64_t input_nbytes, int nthreads, uint32_t depth, uint64_t memory_nbytes)
{
        struct taker taker = taker_of(store, shared);
        struct kc_error err = { 0 };
        uint64_t nrecords = 77;
        const enum kc_status status =
                take_all(&taker, input, nthreads, depth, memory_nbytes, &nrecords, &err);
        if (status != KC_OK)
                print_error("%s\n", err.message);
        assert_int_equal(status, KC_OK);
        assert_int_equal(nrecords, n);
        assert_int_equal(taker.nstreams, input->paths[1] != NULL ? 2 : 1);
        assert_int_equal(taker.log.n, wanted->n);
        if (wanted->n > 0)
                assert_memory_equal(taker.log.data, wanted->data, wanted->n);
        assert_int_equal(atomic_load(&taker.job.done), input_nbytes);
        assert_int_equal(atomic_load(&taker.job.total), input_nbytes);
        free(taker.log.data);
}

static void check(const struct asking_input *input, const struct text *wanted, uint64_t n,
                  uint64_t input_nbytes, int nthreads, uint32_t depth, uint64_t memory_nbytes)
{
        struct kc_store *store = open_store();
        check_with(store, NULL, input, wanted, n, input_nbytes, nthreads, depth, memory_nbytes);
        kc_store_close(store);
}

/* Twice, with an asker that stays open. */
static void check_shared(const struct asking_input *input, const struct text *wanted, uint64_t n,
                         uint64_t input_nbytes, int nthreads, uint32_t depth,
                         uint64_t memory_nbytes)
{
        struct kc_store *store = open_store();
        struct kc_asker shared = { 0 };
        check_with(store, &shared, input, wanted, n, input_nbytes, nthreads, depth, memory_nbytes);
        const void *first = shared.ctx;
        assert_true(first != NULL || n < MANY_RECORDS);
        check_with(store, &shared, input, wanted, n, input_nbytes, nthreads, depth, memory_nbytes);
        assert_ptr_equal(shared.ctx, first);
        kc_asking_close(&shared);
        assert_null(shared.ctx);
        kc_store_close(store);
}

/* The input has that log with all numbers of threads and bounds on memory. */
static void check_all(const struct asking_input *input, const struct text *wanted, uint64_t n,
                      uint64_t input_nbytes)
{
        const int nthreads[] = { 1, 2, MAX_THREADS };
        const uint32_t depths[] = { 0, 1, 4 };
        const uint64_t sizes[] = { 1 << 20, 8 << 20, 256 << 20 };
        for (int t = FEW_CASES ? 2 : 0; t < 3; t++)
                for (int m = 0; m < 3; m += FEW_CASES ? 2 : 1)
                        for (int d = 0; d < 3; d++)
                                if (d == 0 || (m == t && d == 2 - t % 2))
                                        check(input, wanted, n, input_nbytes, nthreads[t],
                                              depths[d], sizes[m]);
        check_shared(input, wanted, n, input_nbytes, 2, 0, 8 << 20);
        check_shared(input, wanted, n, input_nbytes, MAX_THREADS, 4, 1 << 20);
}

/* ---- tests ---- */

static void check_records(uint32_t n, size_t most, bool fasta, uint64_t seed)
{
        struct text file = { 0 }, log = { 0 };
        for (uint32_t i = 0; i < n; i++)
                make_record(&file, &log, i, most, fasta, &seed);
        const uint64_t nbytes = file.n;
        write_text(paths[0], &file);
        const struct asking_input input = { .paths = { paths[0] }, .accepted = KC_RECORDS_LINES };
        check_all(&input, &log, n, nbytes);
        free(log.data);
}

static void test_few_records(void **state)
{
        (void)state;
        check_records(0, 0, true, 1);
        check_records(1, 50, true, 2);
        check_records(70, 100, false, 3);
}

static void test_many_records(void **state)
{
        (void)state;
        check_records(FEW_CASES ? 5000 : 20000, 200, false, 4);
        if (!FEW_CASES)
                check_records(3000, 2000, true, 5);
}

/* Records that are longer than what a thread reads at a time. */
static void test_pieces(void **state)
{
        (void)state;
        check_records(5, 300000, true, 6);
        check_records(20, 60000, true, 7);
        check_records(20, 60000, false, 8);
}

static void test_pairs(void **state)
{
        (void)state;
        for (int interleaved = 0; interleaved < 2; interleaved++) {
                struct text files[2] = { { 0 } }, log = { 0 };
                uint64_t seed = 9, nbytes;
                const uint32_t n = FEW_CASES ? 1000 : 5000;
                for (uint32_t i = 0; i < n; i++)
                        for (uint32_t mate = 0; mate < 2; mate++)
                                make_record(&files[interleaved ? 0 : mate], &log,
                                            interleaved ? 2 * i + mate : i, mate ? 400 : 50, false,
                                            &seed);
                nbytes = files[0].n + files[1].n;
                write_text(paths[0], &files[0]);
                write_text(paths[1], &files[1]);
                const struct asking_input input = { .paths = { paths[0],
                                                               interleaved ? NULL : paths[1] },
                                                    .interleaved = interleaved };
                check_all(&input, &log, 2 * (uint64_t)n, nbytes);
                free(log.data);
        }
}

/* ---- alignments ---- */

struct alignments_seen {
        uint64_t nprimary, nrepeated;
};

static enum kc_status see_nothing(void *ctx, int worker, const struct asked *block,
                                  struct kc_error *err)
{
        (void)ctx, (void)worker, (void)block, (void)err;
        return KC_OK;
}

static enum kc_status see_alignments(void *ctx, const struct asked *block, struct kc_error *err)
{
        struct alignments_seen *seen = ctx;
        (void)err;
        for (size_t i = 0; i < block->batch->n; i++) {
                const struct kc_seq_record *record = &block->batch->records[i];
                const bool repeated = record->flags & KC_RECORD_REPEATED;
                assert_int_equal(record->nbases, 20);
                assert_int_equal(block->answers[0][i].summary.nwindows, repeated ? 0 : 20 - K + 1);
                seen->nprimary += !repeated;
                seen->nrepeated += repeated;
        }
        return KC_OK;
}

/* Nobody uses answers to secondary and supplementary alignments, so there are none. */
static void test_repeated_alignments(void **state)
{
        static const int flags[] = { 0, 256, 16, 2048 };
        (void)state;
        for (uint32_t n = 4; n <= 2 * MANY_RECORDS; n += 2 * MANY_RECORDS - 4) {
                struct text file = { 0 };
                struct kc_store *store = open_store();
                struct device_answers device = { .cuda = false };
                struct alignments_seen seen = { 0 };
                const struct asking_input input = { .paths = { paths[0] },
                                                    .accepted = KC_RECORDS_ALIGNMENTS };
                const struct asking_options options = { .nthreads = 2,
                                                        .memory_nbytes = 8 << 20,
                                                        .device = &device };
                const struct asking_consumer consumer = { .ctx = &seen,
                                                          .format = see_nothing,
                                                          .write = see_alignments };
                char line[100];
                put_text(&file, "@SQ\tSN:c\tLN:9\n", 14);
                for (uint32_t i = 0; i < n; i++)
                        put_text(&file, line,
                                 (size_t)sprintf(line,
                                                 "r%u\t%d\tc\t1\t0\t20M\t*\t0\t0\t"
                                                 "ACGTTGCAACGTACGTTGCA\t*\n",
                                                 i, flags[i % 4]));
                write_text(paths[0], &file);
                assert_int_equal(asking_run(store, &input, &options, &consumer, NULL, NULL), KC_OK);
                assert_int_equal(seen.nprimary, n / 2);
                assert_int_equal(seen.nrepeated, n / 2);
                kc_store_close(store);
        }
}

/* Records that fill many blocks, and their log; several tests use them. */
static struct text many_blocks, many_log;

static void make_many_blocks(void)
{
        uint64_t seed = 10;
        for (uint32_t i = 0; i < MANY_BLOCKS_RECORDS; i++)
                make_record(&many_blocks, &many_log, i, 200, false, &seed);
}

static void write_many_blocks(const char *end)
{
        struct text file = { 0 };
        put_text(&file, many_blocks.data, many_blocks.n);
        put_text(&file, end, strlen(end));
        write_text(paths[0], &file);
}

/* Ask for a file of many blocks while the device starts slowly. */
static enum kc_status start_with(struct taker *taker, int nthreads, uint64_t memory_nbytes,
                                 uint64_t *nrecords, struct kc_error *err)
{
        const struct asking_input input = { .paths = { paths[0] } };
        start.is_slow = true;
        start.nreads = 0;
        start.most_nbytes = 0;
        start.is_open = false;
        const enum kc_status status =
                take_all(taker, &input, nthreads, 3, memory_nbytes, nrecords, err);
        start.is_slow = start.fails = false;
        start.cancels = NULL;
        return status;
}

/* While the device starts, some blocks are read, within the memory that they may take. They are
 * answered in order afterwards. */
static void test_slow_start(void **state)
{
        const uint64_t sizes[] = { 2 << 20, 256 << 20 };
        unsigned nreads[2] = { 0 };
        (void)state;
        write_many_blocks("");
        for (int i = 0; i < 2; i++) {
                struct kc_store *store = open_store();
                struct taker taker = taker_of(store, NULL);
                uint64_t nrecords = 0;
                assert_int_equal(start_with(&taker, 2, sizes[i], &nrecords, NULL), KC_OK);
                nreads[i] = start.nreads;
                assert_int_equal(nrecords, MANY_BLOCKS_RECORDS);
                assert_int_equal(taker.log.n, many_log.n);
                assert_memory_equal(taker.log.data, many_log.data, many_log.n);
                /* a batch of each thread may exceed the bound */
                assert_true(start.most_nbytes < sizes[i] / 4);
                free(taker.log.data);
                kc_store_close(store);
        }
        assert_true(nreads[0] >= FEWEST_READ);
        assert_true(nreads[1] >= FEWEST_READ && nreads[1] <= 2 * 16 + 2);
}

/* What is formatted leaves less memory to the blocks of the next rounds. */
static void test_large_slots(void **state)
{
        enum { NTHREADS = 2, NBYTES = 4 << 20 };
        const struct asking_input input = { .paths = { paths[0] } };
        struct kc_store *store = open_store();
        struct taker taker = taker_of(store, NULL);
        (void)state;
        write_many_blocks("");
        taker.slot_nbytes = NBYTES / 16;
        start.most_nbytes = 0;
        assert_int_equal(take_all(&taker, &input, NTHREADS, 0, NBYTES, NULL, NULL), KC_OK);
        assert_int_equal(taker.log.n, many_log.n);
        assert_memory_equal(taker.log.data, many_log.data, many_log.n);
        /* a batch of each thread may exceed the bound */
        assert_true(start.most_nbytes < NBYTES / 16);
        free(taker.log.data);
        kc_store_close(store);
}

/* If something fails while the device starts, the run ends with that failure. */
static void test_failing_start(void **state)
{
        const enum kc_status wanted[] = { KC_EIO, KC_ECANCELED, KC_EINPUT };
        (void)state;
        for (int what = 0; what < 3; what++) {
                struct kc_store *store = open_store();
                struct taker taker = taker_of(store, NULL);
                struct kc_error err = { 0 };
                write_many_blocks(what == 2 ? "@r\nACGT\n+\nIII\n" : "");
                start.fails = what == 0;
                start.cancels = what == 1 ? &taker.job : NULL;
                assert_int_equal(start_with(&taker, 3, 256 << 20, NULL, &err), wanted[what]);
                assert_int_equal(err.status, wanted[what]);
                if (what == 0)
                        assert_string_equal(err.message, "the table cannot be read");
                assert_true(what == 2 || taker.nblocks == 0);
                free(taker.log.data);
                kc_store_close(store);
        }
}

static void test_failures(void **state)
{
        (void)state;
        const struct asking_input input = { .paths = { paths[0] } };
        for (int way = FEW_CASES ? 4 : 0; way < 6; way++)
                for (int what = 0; what < 3; what++) {
                        const int nthreads = 1 + way / 2 * 2;
                        struct kc_store *store = open_store();
                        struct taker taker = taker_of(store, NULL);
                        struct kc_error err = { 0 };
                        const enum kc_status wanted[] = { KC_EIO, KC_ECANCELED, KC_EINPUT };
                        write_many_blocks(what == 2 ? "@r\nACGT\n+\nIII\n" : "");
                        taker.fail_at = what == 0 ? 2 : UINT64_MAX;
                        taker.cancel_at = what == 1 ? 2 : UINT64_MAX;
                        assert_int_equal(take_all(&taker, &input, nthreads, way % 2 * 3, 1 << 20,
                                                  NULL, &err),
                                         wanted[what]);
                        assert_int_equal(err.status, wanted[what]);
                        if (what == 0)
                                assert_string_equal(err.message, "the disk is full");
                        free(taker.log.data);
                        kc_store_close(store);
                }
}

/* A device has to start and to load the table, which pays only for many bases. */
static void test_choice(void **state)
{
        const uint64_t nkmers = 10 * 1000 * 1000;
        (void)state;
        assert_false(asking_device_is_faster(nkmers, 1000 * 1000, 1));
        assert_true(asking_device_is_faster(nkmers, 1000 * nkmers, 1));
        assert_true(asking_device_is_faster(nkmers, KC_ASKING_UNKNOWN, 1));
        for (uint64_t nbases = 1; nbases < 1000 * nkmers; nbases *= 2)
                if (!asking_device_is_faster(nkmers, nbases, 1))
                        assert_false(asking_device_is_faster(nkmers, nbases, 16));
}

static int set_up(void **state)
{
        (void)state;
        make_store();
        make_many_blocks();
        return 0;
}

static int tear_down(void **state)
{
        (void)state;
        free(many_blocks.data);
        free(many_log.data);
        unlink(store_path);
        unlink(paths[0]);
        unlink(paths[1]);
        return rmdir(folder);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_few_records),   cmocka_unit_test(test_many_records),
                cmocka_unit_test(test_pieces),        cmocka_unit_test(test_pairs),
                cmocka_unit_test(test_slow_start),    cmocka_unit_test(test_large_slots),
                cmocka_unit_test(test_failing_start), cmocka_unit_test(test_failures),
                cmocka_unit_test(test_choice),        cmocka_unit_test(test_repeated_alignments),
        };
        return cmocka_run_group_tests(tests, set_up, tear_down);
}
