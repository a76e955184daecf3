/*
 * The threads of a block as fibers, and their meetings.
 *
 * A fiber consists of its stack and the registers that a call preserves; switch_stack swaps these.
 * (swapcontext makes a system call for the signal mask each time, and longjmp walks the cleanup
 * handlers: both take longer than what a lane does between two meetings.) The next block uses the
 * same fibers.
 */
#include "emulator.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

#ifdef KC_REPORT_STACKS
#include <sanitizer/common_interface_defs.h>
#endif

dim3 threadIdx, blockIdx, blockDim, gridDim;

namespace emulator
{

unsigned char *dynamic_shared;
uint64_t block_number;

enum {
        MAX_WARPS = MAX_THREADS / WARP,
        STACK_NBYTES = 256 << 10, /* only pages in use are touched */
        MAX_MEETINGS = 33,        /* different masks of a warp in a block: all lanes, and tiles */
};

/* ---- fibers ---- */

struct fiber {
        void **top; /* of its stack, while it is not running */
        bool made;
};

static struct fiber fibers[MAX_THREADS], caller;
static char *stacks; /* of all fibers, one behind the other */

/* Save the top of the running stack in *from and continue where the stack `to` was left. The
 * floating-point control words are the same in all fibers. */
extern "C" void switch_stack(void ***from, void **to);

#ifndef __x86_64__
#error "switch_stack is written for x86-64"
#endif
asm(R"(
        .text
        .type switch_stack, @function
switch_stack:
        push %rbp
        push %rbx
        push %r12
        push %r13
        push %r14
        push %r15
        mov %rsp, (%rdi)
        mov %rsi, %rsp
        pop %r15
        pop %r14
        pop %r13
        pop %r12
        pop %rbx
        pop %rbp
        pop %rcx
        jmp *%rcx
        .size switch_stack, . - switch_stack
)");

/* The sanitizer takes the stacks of all fibers for one, so it need not be told each time that one
 * fiber continues after another, only when the first of a block begins and when the last one has
 * ended. */
#ifdef KC_REPORT_STACKS
struct stack_of_caller {
        const void *lowest;
        size_t nbytes;
        void *fake_stack;
};

static void report_fibers(struct stack_of_caller *left)
{
        __sanitizer_start_switch_fiber(&left->fake_stack, stacks,
                                       (size_t)MAX_THREADS * STACK_NBYTES);
        __sanitizer_finish_switch_fiber(NULL, &left->lowest, &left->nbytes);
}

static void report_caller(const struct stack_of_caller *left)
{
        __sanitizer_start_switch_fiber(NULL, left->lowest, left->nbytes);
        __sanitizer_finish_switch_fiber(left->fake_stack, NULL, NULL);
}
#else
struct stack_of_caller {
};

static void report_fibers(struct stack_of_caller *)
{
}

static void report_caller(const struct stack_of_caller *)
{
}
#endif

static void switch_fiber(struct fiber *from, const struct fiber *to)
{
        switch_stack(&from->top, to->top);
}

static void enter(void); /* the first function on a fiber's stack */

static void map_stacks(void)
{
        void *memory = mmap(NULL, (size_t)MAX_THREADS * STACK_NBYTES, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED)
                fail("no memory for the stacks of threads");
        stacks = (char *)memory;
}

/* At the low end of the stack is a guard page. Tops are at different page offsets, in different
 * cache lines. */
static void make_fiber(unsigned thread)
{
        enum { NPRESERVED = 6 };
        struct fiber *fiber = &fibers[thread];
        char *lowest = stacks + (size_t)thread * STACK_NBYTES;
        if (mprotect(lowest, (size_t)sysconf(_SC_PAGESIZE), PROT_NONE) != 0)
                fail("no memory for the stacks of threads");
        fiber->top = (void **)(lowest + STACK_NBYTES - thread * 192 % 4096);
        *--fiber->top = NULL; /* where `enter` would return to: aligns the stack as after a call */
        *--fiber->top = (void *)enter;
        fiber->top -= NPRESERVED;
        fiber->made = true;
}

/* ---- the block ---- */

/* Lanes that wait for each other. There are two sets of values: while slower lanes still read one,
 * faster ones may be at the next meeting. */
struct meeting {
        uint32_t mask, arrived, lanes[2], nonzero[2];
        unsigned ndone;
        struct place place;
        uint64_t values[2][WARP];
};

/* Each meeting belongs to one mask until the block ends. */
struct warp {
        uint32_t live;
        unsigned char ready[WARP]; /* lanes, in turn: a ring of nready from first_ready on */
        unsigned first_ready, nready;
        unsigned nmeetings;
        struct meeting meetings[MAX_MEETINGS];
};

struct block {
        const struct config *config;
        const std::function<void()> *thread;
        unsigned current, nlive;

        uint32_t ready;                         /* warps with lanes that are ready */
        const struct place *waits[MAX_THREADS]; /* NULL: not waiting */
        struct warp warps[MAX_WARPS];

        unsigned narrived, ndone; /* at the barrier */
        bool any[2];
        struct place place;
};

static struct block block;
static const char *last_kernel;
static uint64_t seed;

/* lanes: at least one lane of the warp */
static void make_lanes_ready(struct warp *warp, uint32_t lanes)
{
        const unsigned number = (unsigned)(warp - block.warps);
        unsigned nready = warp->nready;
        for (uint32_t left = lanes; left != 0; left &= left - 1) {
                const unsigned lane = (unsigned)__builtin_ctz(left);
                block.waits[number * WARP + lane] = NULL;
                warp->ready[(warp->first_ready + nready++) % WARP] = (unsigned char)lane;
        }
        warp->nready = nready;
        block.ready |= UINT32_C(1) << number;
}

static void make_ready(unsigned thread)
{
        make_lanes_ready(&block.warps[thread / WARP], UINT32_C(1) << thread % WARP);
}

static unsigned draw(unsigned n)
{
        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
        return (unsigned)((seed >> 33) % n);
}

/* The first warp from `number` on, in a ring, that has ready lanes. */
static unsigned next_warp(unsigned number)
{
        const uint32_t later = block.ready & ~((UINT32_C(1) << number) - 1);
        return (unsigned)__builtin_ctz(later != 0 ? later : block.ready);
}

/* The lane that became ready first; with a seed, any of them. */
static unsigned take_lane(struct warp *warp)
{
        unsigned char *first = &warp->ready[warp->first_ready];
        if (seed != 0)
                std::swap(*first, warp->ready[(warp->first_ready + draw(warp->nready)) % WARP]);
        warp->first_ready = (warp->first_ready + 1) % WARP;
        warp->nready--;
        return *first;
}

/*
 * A thread that is ready: of warp `number`, or of the next warp that has one; with a seed, of any
 * warp. That a warp runs as far as it can keeps the stacks of its lanes in the caches.
 */
static unsigned take_ready(unsigned number)
{
        if (seed != 0)
                number = draw(MAX_WARPS);
        number = next_warp(number);
        struct warp *warp = &block.warps[number];
        const unsigned lane = take_lane(warp);
        if (warp->nready == 0)
                block.ready &= ~(UINT32_C(1) << number);
        return number * WARP + lane;
}

static void fail_waiting(void);

/* Continue with a ready thread of warp `number`, or of another one. */
static void run_others(unsigned number)
{
        unsigned from = block.current;
        if (block.ready == 0)
                fail_waiting();
        block.current = take_ready(number);
        threadIdx.x = block.current;
        if (block.current != from)
                switch_fiber(&fibers[from], &fibers[block.current]);
}

void pass(void)
{
        if (seed == 0 || draw(4) != 0)
                return;
        make_ready(block.current);
        run_others((block.current / WARP + 1) % MAX_WARPS);
}

void let_others_continue(void)
{
        if (block.config == NULL || (seed != 0 && draw(2) == 0))
                return;
        make_ready(block.current);
        run_others((block.current / WARP + 1) % MAX_WARPS);
}

/* ---- meetings ---- */

[[gnu::cold, gnu::noinline]] static void expect_same_file(const struct place &first,
                                                          const struct place &other)
{
        if (first.line != other.line || strcmp(first.file, other.file) != 0)
                fail("threads that should meet are at different places: in %s, %s:%d, and in %s, "
                     "%s:%d",
                     first.function, first.file, first.line, other.function, other.file,
                     other.line);
}

/* This is inline because every lane calls it at every meeting. */
static inline void expect_same(const struct place &first, const struct place &other)
{
        if (first.line != other.line || first.file != other.file)
                expect_same_file(first, other);
}

static struct meeting *find_meeting(struct warp *warp, uint32_t mask)
{
        for (unsigned i = 0; i < warp->nmeetings; i++)
                if (warp->meetings[i].mask == mask)
                        return &warp->meetings[i];
        if (warp->nmeetings == MAX_MEETINGS)
                fail("more masks in a warp than are emulated");
        struct meeting *meeting = &warp->meetings[warp->nmeetings++];
        meeting->mask = mask;
        meeting->arrived = meeting->ndone = 0;
        return meeting;
}

/* If all lanes have arrived, they may continue. */
static bool end_meeting(struct warp *warp, struct meeting *meeting)
{
        if (meeting->arrived == 0 || meeting->arrived != (meeting->mask & warp->live))
                return false;
        uint32_t others = meeting->arrived;
        if (warp == &block.warps[block.current / WARP])
                others &= ~(UINT32_C(1) << block.current % WARP);
        if (others != 0)
                make_lanes_ready(warp, others);
        meeting->lanes[meeting->ndone++ % 2] = meeting->arrived;
        meeting->arrived = 0;
        return true;
}

struct exchange meet_warp(uint32_t mask, uint64_t value, const struct place &place)
{
        unsigned thread = block.current, lane = thread % WARP;
        struct warp *warp = &block.warps[thread / WARP];
        struct meeting *meeting = find_meeting(warp, mask);
        unsigned turn = meeting->ndone % 2;
        if (!(mask >> lane & 1))
                fail("thread %u is not in its own mask, %08x, in %s, %s:%d", thread, mask,
                     place.function, place.file, place.line);
        if (meeting->arrived != 0) {
                expect_same(meeting->place, place);
        } else {
                meeting->place = place;
                meeting->nonzero[turn] = 0;
        }
        meeting->values[turn][lane] = value;
        meeting->nonzero[turn] |= (uint32_t)(value != 0) << lane;
        meeting->arrived |= UINT32_C(1) << lane;
        block.waits[thread] = &meeting->place;
        if (!end_meeting(warp, meeting))
                run_others(thread / WARP);
        block.waits[thread] = NULL;
        return { meeting->lanes[turn], meeting->nonzero[turn], meeting->values[turn] };
}

static bool end_barrier(void)
{
        if (block.narrived == 0 || block.narrived != block.nlive)
                return false;
        for (unsigned i = 0; i < block.config->block.x; i++)
                if (i != block.current && block.waits[i] == &block.place)
                        make_ready(i);
        block.narrived = 0;
        block.ndone++;
        block.any[block.ndone % 2] = false;
        return true;
}

bool meet_block(bool value, const struct place &place)
{
        unsigned turn = block.ndone % 2;
        if (block.narrived == 0)
                block.place = place;
        else
                expect_same(block.place, place);
        block.any[turn] |= value;
        block.narrived++;
        block.waits[block.current] = &block.place;
        if (!end_barrier())
                run_others(block.current / WARP);
        block.waits[block.current] = NULL;
        return block.any[turn];
}

/* ---- running ---- */

/* Threads that wait for this one need no longer do so. */
static void end_thread(unsigned thread)
{
        struct warp *warp = &block.warps[thread / WARP];
        warp->live &= ~(UINT32_C(1) << thread % WARP);
        block.nlive--;
        for (unsigned i = 0; i < warp->nmeetings; i++)
                (void)end_meeting(warp, &warp->meetings[i]);
        (void)end_barrier();
}

/* Runs as thread `thread` of all blocks to come. */
static void run_threads(unsigned thread)
{
        for (;;) {
                (*block.thread)();
                end_thread(thread);
                if (block.nlive == 0)
                        switch_fiber(&fibers[thread], &caller);
                else
                        run_others(thread / WARP);
        }
}

static void enter(void)
{
        run_threads(block.current);
}

static void run_block(void)
{
        unsigned n = block.config->block.x;
        struct stack_of_caller left;
        block_number++;
        block.nlive = n;
        block.any[0] = block.any[1] = false;
        block.narrived = block.ndone = 0;
        for (unsigned i = 0; i < n; i++) {
                unsigned in_warp = n - i / WARP * WARP;
                block.warps[i / WARP].live = in_warp < WARP ? (1u << in_warp) - 1 : UINT32_MAX;
                block.warps[i / WARP].nmeetings = 0;
                make_ready(i);
        }
        block.current = take_ready(0);
        threadIdx.x = block.current;
        report_fibers(&left);
        switch_fiber(&caller, &fibers[block.current]);
        report_caller(&left);
}

void run_grid(const struct config &config, unsigned char *shared,
              const std::function<void()> &thread)
{
        block.config = &config;
        block.thread = &thread;
        blockDim = config.block;
        gridDim = config.grid;
        dynamic_shared = shared;
        if (getenv("KC_EMULATOR_SEED") != NULL)
                seed = strtoull(getenv("KC_EMULATOR_SEED"), NULL, 10);
        if (stacks == NULL)
                map_stacks();
        for (unsigned i = 0; i < config.block.x; i++)
                if (!fibers[i].made)
                        make_fiber(i);
        for (unsigned y = 0; y < config.grid.y; y++)
                for (unsigned x = 0; x < config.grid.x; x++) {
                        blockIdx = dim3(x, y, 0);
                        memset(shared, POISON, config.shared_nbytes);
                        run_block();
                }
        block.config = NULL;
        last_kernel = config.kernel;
}

/* ---- failing ---- */

void fail(const char *format, ...)
{
        va_list arguments;
        va_start(arguments, format);
        fflush(stdout);
        fprintf(stderr, "emulator: ");
        if (block.config != NULL)
                fprintf(stderr, "kernel %s, block (%u, %u), thread %u: ", block.config->kernel,
                        blockIdx.x, blockIdx.y, block.current);
        else if (last_kernel != NULL)
                fprintf(stderr, "after kernel %s: ", last_kernel);
        vfprintf(stderr, format, arguments);
        fprintf(stderr, "\n");
        va_end(arguments);
        abort();
}

/* One line for neighbouring threads that wait at the same place. */
static void fail_waiting(void)
{
        const struct place *last = NULL;
        for (unsigned i = 0; i < block.config->block.x; i++) {
                const struct place *place = block.waits[i];
                if (place != NULL && place != last)
                        fprintf(stderr, "emulator: from thread %u on: waits in %s, %s:%d\n", i,
                                place->function, place->file, place->line);
                last = place;
        }
        fail("all threads wait for others");
}

} // namespace emulator
