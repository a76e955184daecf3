/*
 * The parts of a run on their way to the sink: a part whose writer waits does not hold up the
 * others, and if no more memory can be pinned, the run goes through the slots there are. And
 * several lanes, which put ranges in turn, produce the run that one would.
 */
#include "scarcity.h"

#include "gpu/output/emit.cuh"
#include "kmer/block_codec.h"
#include "tests/gpu/support.cuh"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <pthread.h>
#include <thread>
#include <unistd.h>
#include <vector>

enum { K = 31, NPARTS = 40, NSLOTS = 6, NWRITERS = 3, NPAIRS = NPARTS * KC_BLOCK_NKMERS };

/* A sink in which the first part waits for others to be written. */
struct waiting_sink {
        std::mutex lock;
        std::condition_variable changed;
        int awaited; /* parts that must be written before part 0 */
        std::vector<size_t> parts;
        int nput, nwrong; /* nwrong: those that begin with the k-mer of another */
};

static uint64_t kmer_at(uint64_t i)
{
        return i * 1000003;
}

static void put_part(struct waiting_sink *sink, uint64_t part, size_t n, const uint64_t *first)
{
        const bool wrong = n > 0 && *first != kmer_at(part * KC_BLOCK_NKMERS);
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        std::unique_lock<std::mutex> held(sink->lock);
        if (part == 0)
                sink->changed.wait(held, [&] { return sink->nput >= sink->awaited; });
        sink->nput++;
        sink->nwrong += wrong;
        if (sink->parts.size() <= part)
                sink->parts.resize(part + 1);
        sink->parts[part] += n;
        sink->changed.notify_all();
}

static enum kc_status put(void *ctx, const struct kc_run_pairs *pairs, struct kc_error *)
{
        put_part((struct waiting_sink *)ctx, pairs->part, pairs->n, pairs->kmers);
        return KC_OK;
}

static enum kc_status put_blocks(void *ctx, const struct kc_run_blocks *blocks, struct kc_error *)
{
        put_part((struct waiting_sink *)ctx, blocks->part, blocks->n, blocks->firsts);
        return KC_OK;
}

static void cancel(void *)
{
}

struct passage {
        struct kc_gpu gpu;
        struct kc_gate gate;
        struct kc_gpu_trace trace;
        struct kc_gpu_emitter<kc_key64> *emitter;
        struct kc_gpu_run<kc_key64> run;
        struct kc_error err;
};

static void begin(struct passage *p, const struct kc_run_sink *sink)
{
        expect_ok(kc_gpu_open(&p->gpu, 0, 0, &p->err), &p->err);
        kc_gate_init(&p->gate, NULL);
        kc_gpu_trace_open(&p->trace, NULL);
        expect_ok(kc_gpu_emitter_new(&p->emitter, K, sink, NULL, &p->gate, &p->trace, &p->err),
                  &p->err);
        expect_ok(kc_gpu_run_new(&p->gpu, &p->run, NPAIRS, &p->err), &p->err);
        p->run.n = NPAIRS;
        cudaDeviceSynchronize();
        for (uint64_t i = 0; i < NPAIRS; i++) { /* the emulated device's memory is the host's */
                p->run.kmers[i] = kmer_at(i);
                p->run.counts[i] = 1;
        }
}

static void end(struct passage *p)
{
        kc_gpu_run_free(&p->gpu, &p->run);
        kc_gpu_emitter_free(p->emitter);
        kc_gpu_trace_close(&p->trace);
        assert_int_equal(p->gpu.used_nbytes, 0);
        kc_gpu_close(&p->gpu);
        kc_gate_destroy(&p->gate);
}

/* A thread that the system does not run for a while: it stays in a signal's handler until it may
 * return, or for a second, in case it holds a lock that others need. */
static std::atomic<bool> is_held, may_return;

static void hold(int)
{
        is_held = true;
        for (int ms = 0; ms < 1000 && !may_return; ms++)
                usleep(1000);
}

static void hold_back(std::thread *thread)
{
        struct sigaction action = {};
        action.sa_handler = hold;
        is_held = may_return = false;
        assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
        assert_int_equal(pthread_kill(thread->native_handle(), SIGUSR1), 0);
        while (!is_held)
                usleep(100);
}

static void write_parts(struct passage *p)
{
        struct kc_error err = {};
        expect_ok(kc_gpu_emitter_write(p->emitter, &err), &err);
}

/* Attach, and pass the run in two ranges; npinned: memory can be pinned this many times. Returns
 * false if that is not enough to begin. late: the writer of part 0 is held back until all other
 * parts are filled. */
static bool emit(struct passage *p, long npinned, bool late)
{
        const struct kc_gpu_encoder_caps caps = { NPAIRS / 2, KC_BLOCK_NKMERS, NSLOTS };
        const struct kc_gpu_run<kc_key64> none = {
        };
        kc_emulator_scarcity(npinned < 0 ? KC_SCARCITY_NONE : KC_SCARCITY_PINNED, npinned);
        enum kc_status status = kc_gpu_emitter_attach(p->emitter, &p->gpu, &caps, &p->err);
        if (status == KC_ENOMEM && npinned >= 0)
                return false;
        expect_ok(status, &p->err);
        std::vector<std::thread> writers;
        writers.emplace_back(write_parts, p);
        if (late) {
                std::this_thread::sleep_for(
                        std::chrono::milliseconds(20)); /* it waits for part 0 */
                hold_back(&writers[0]);
        }
        for (int i = 1; i < NWRITERS; i++)
                writers.emplace_back(write_parts, p);
        expect_ok(kc_gpu_emitter_put_range(p->emitter, &p->run, &p->err), &p->err);
        expect_ok(kc_gpu_emitter_put(p->emitter, &none, &p->err), &p->err);
        may_return = true;
        for (std::thread &writer : writers)
                writer.join();
        return true;
}

/* One emitter's life. *met: memory was refused. */
static bool try_emit(bool blocks, long npinned, int awaited, bool late, bool *met)
{
        struct waiting_sink state = {};
        struct kc_run_sink sink = {};
        struct passage p = {};
        state.awaited = awaited;
        sink.ctx = &state;
        sink.filter = { 1, UINT32_MAX };
        sink.put = put;
        sink.put_blocks = blocks ? put_blocks : NULL;
        sink.cancel = cancel;
        begin(&p, &sink);
        const bool through = emit(&p, npinned, late);
        *met = kc_emulator_was_scarce();
        kc_emulator_scarcity(KC_SCARCITY_NONE, 0);
        if (through) {
                size_t sum = 0;
                for (size_t n : state.parts)
                        sum += n;
                assert_int_equal(sum, NPAIRS);
                for (size_t part = 0; part < NPARTS; part++)
                        assert_int_equal(state.parts[part], KC_BLOCK_NKMERS);
                assert_int_equal(state.nput, state.parts.size());
                assert_int_equal(state.nwrong, 0);
                assert_true(state.nput >= NPARTS);
        }
        end(&p);
        assert_int_equal(kc_emulator_npinned(), 0);
        return through;
}

static void a_waiting_writer_holds_up_nobody(void **)
{
        bool met;
        for (bool blocks : { false, true })
                assert_true(try_emit(blocks, -1, NPARTS - 1, false, &met));
}

static void a_late_writer_finds_its_part(void **)
{
        bool met;
        for (bool blocks : { false, true })
                assert_true(try_emit(blocks, -1, 0, true, &met));
}

/* Some of the refusals come when slots are already in use. */
static void too_little_to_pin(void **)
{
        for (bool blocks : { false, true }) {
                int nfailed = 0, nthrough = 0;
                bool met = true;
                for (long n = 0; met; n++) {
                        const bool through = try_emit(blocks, n, NSLOTS, false, &met);
                        assert_true(through || met);
                        nfailed += !through;
                        nthrough += through && met;
                }
                assert_true(nfailed > 0 && nthrough > 0);
        }
}

/* ---- lanes ---- */

enum { NLANES = 3 };

/* What a part begins with, and how much it holds. */
struct arrived {
        std::vector<uint64_t> firsts; /* of its blocks, or all k-mers */
        size_t n;
};

struct collecting_sink {
        std::mutex lock;
        std::vector<struct arrived> parts;
        struct kc_run_dropped dropped;
};

static void collect(struct collecting_sink *sink, uint64_t part, const uint64_t *firsts,
                    size_t nfirsts, size_t n, const struct kc_run_dropped *dropped)
{
        std::lock_guard<std::mutex> held(sink->lock);
        if (sink->parts.size() <= part)
                sink->parts.resize(part + 1);
        assert_int_equal(sink->parts[part].n, 0);
        sink->parts[part] = { std::vector<uint64_t>(firsts, firsts + nfirsts), n };
        kc_run_add_dropped(&sink->dropped, dropped);
}

static enum kc_status collect_pairs(void *ctx, const struct kc_run_pairs *pairs, struct kc_error *)
{
        collect((struct collecting_sink *)ctx, pairs->part, pairs->kmers, pairs->n, pairs->n,
                &pairs->dropped);
        return KC_OK;
}

static enum kc_status collect_blocks(void *ctx, const struct kc_run_blocks *blocks,
                                     struct kc_error *)
{
        collect((struct collecting_sink *)ctx, blocks->part, blocks->firsts, blocks->nblocks,
                blocks->n, &blocks->dropped);
        return KC_OK;
}

/* A run cut into ranges, and the lanes that put them. */
struct lanes {
        struct passage passage;
        struct kc_gpu gpus[NLANES]; /* of lanes 1 and 2: the same device again */
        std::vector<struct kc_gpu_run<kc_key64>> ranges;
};

/* Some ranges are empty or shorter than a block; others are longer than what a lane encodes at
 * once. */
static void cut(struct lanes *l, uint64_t seed)
{
        const struct kc_gpu_run<kc_key64> run = l->passage.run;
        for (size_t at = 0, n; at < run.n; at += n) {
                seed = random_mix(seed + 1);
                n = std::min(run.n - at, (size_t)(seed % (seed % 3 == 0 ? 700 : 6000)));
                if (seed % 7 == 0)
                        n = 0;
                l->ranges.push_back({ run.kmers + at, run.counts + at, n, 0 });
        }
}

/* What was dropped before the pairs came to the emitter, which learns it last. */
static const struct kc_run_dropped dropped = { 300, 70000, 20 };

static void put_lane(struct lanes *l, int lane)
{
        struct kc_error err = {};
        struct kc_gpu_emitter<kc_key64> *emitter = l->passage.emitter;
        for (size_t i = (size_t)lane; i < l->ranges.size(); i += NLANES)
                expect_ok(kc_gpu_emitter_put_turn(emitter, lane, i, &l->ranges[i], &err), &err);
        if (lane != 0)
                return;
        kc_gpu_emitter_drop(emitter, &dropped);
        expect_ok(kc_gpu_emitter_end_turns(emitter, l->ranges.size(), &err), &err);
}

static void add_lanes(struct lanes *l)
{
        struct kc_error err = {};
        for (int i = 0; i < NLANES; i++) {
                const size_t parts = (size_t)i + 1; /* lanes may have parts of other lengths */
                const struct kc_gpu_encoder_caps caps = { 3 * KC_BLOCK_NKMERS + 100,
                                                          parts * KC_BLOCK_NKMERS, NSLOTS };
                if (i == 0) {
                        expect_ok(kc_gpu_emitter_attach(l->passage.emitter, &l->passage.gpu, &caps,
                                                        &err),
                                  &err);
                        continue;
                }
                expect_ok(kc_gpu_open(&l->gpus[i], 0, 0, &err), &err);
                for (int again = 0; again < 2; again++) { /* what is removed can be added */
                        if (again)
                                kc_gpu_emitter_remove_lane(l->passage.emitter, i);
                        expect_ok(kc_gpu_emitter_add_lane(l->passage.emitter, i, &l->gpus[i],
                                                          KC_GATE_FOLLOWERS, &caps, &err),
                                  &err);
                }
        }
}

static void put_all(struct lanes *l)
{
        std::vector<std::thread> threads;
        for (int i = 0; i < NWRITERS; i++)
                threads.emplace_back(write_parts, &l->passage);
        for (int i = 0; i < NLANES; i++)
                threads.emplace_back(put_lane, l, i);
        for (std::thread &thread : threads)
                thread.join();
}

static void expect_run(const struct lanes *l, const struct collecting_sink *got, bool blocks)
{
        std::vector<uint64_t> wanted, firsts;
        size_t n = 0;
        for (size_t i = 0; i < l->passage.run.n; i += blocks ? KC_BLOCK_NKMERS : 1)
                wanted.push_back(l->passage.run.kmers[i]);
        for (const struct arrived &part : got->parts) {
                firsts.insert(firsts.end(), part.firsts.begin(), part.firsts.end());
                n += part.n;
        }
        assert_int_equal(n, l->passage.run.n);
        assert_memory_equal(&got->dropped, &dropped, sizeof dropped);
        assert_true(firsts == wanted);
}

static void try_lanes(bool blocks, uint64_t seed)
{
        struct collecting_sink state = {};
        struct kc_run_sink sink = {};
        struct lanes l = {};
        sink.ctx = &state;
        sink.put = collect_pairs;
        sink.put_blocks = blocks ? collect_blocks : NULL;
        sink.cancel = cancel;
        begin(&l.passage, &sink);
        cut(&l, seed);
        add_lanes(&l);
        put_all(&l);
        expect_run(&l, &state, blocks);
        kc_gpu_emitter_free(l.passage.emitter);
        l.passage.emitter = NULL;
        for (int i = 1; i < NLANES; i++) {
                assert_int_equal(l.gpus[i].used_nbytes, 0);
                kc_gpu_close(&l.gpus[i]);
        }
        end(&l.passage);
        assert_int_equal(kc_emulator_npinned(), 0);
}

static void lanes_take_turns(void **)
{
        for (uint64_t seed = 0; seed < 4; seed++)
                for (bool blocks : { false, true })
                        try_lanes(blocks, seed);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_waiting_writer_holds_up_nobody),
                cmocka_unit_test(a_late_writer_finds_its_part),
                cmocka_unit_test(too_little_to_pin),
                cmocka_unit_test(lanes_take_turns),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
