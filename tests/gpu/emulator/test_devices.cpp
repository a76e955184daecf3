/*
 * The emulator's several devices: what belongs to one device, and what needs access to another.
 */
#include "scarcity.h"

#include <cuda_runtime.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <functional>
#include <thread>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

extern "C" {
#include <cmocka.h>
}

enum { NDEVICES = 3, N = 100 };

#define EXPECT(call) assert_int_equal((call), cudaSuccess)

/* Device 0 and 1, each with a stream, a pool and memory. */
struct pair {
        cudaStream_t streams[2];
        cudaMemPool_t pools[2];
        char *memory[2];
};

/* Give `user` access to the pool of the other device. */
static cudaError_t give_access(struct pair *pair, int user)
{
        cudaMemAccessDesc access = { { cudaMemLocationTypeDevice, user },
                                     cudaMemAccessFlagsProtReadWrite };
        return cudaMemPoolSetAccess(pair->pools[1 - user], &access, 1);
}

/* shared: device 0 gets access to the pool of device 1. */
static void open_pair(struct pair *pair, bool shared)
{
        (void)cudaGetLastError();
        kc_emulator_devices(NDEVICES, 2);
        for (int i = 0; i < 2; i++) {
                cudaMemPoolProps properties = {};
                properties.location = { cudaMemLocationTypeDevice, i };
                EXPECT(cudaSetDevice(i));
                EXPECT(cudaStreamCreateWithFlags(&pair->streams[i], cudaStreamNonBlocking));
                EXPECT(cudaMemPoolCreate(&pair->pools[i], &properties));
                if (i == 1 && shared)
                        EXPECT(give_access(pair, 0));
                EXPECT(cudaMallocFromPoolAsync((void **)&pair->memory[i], N, pair->pools[i],
                                               pair->streams[i]));
                EXPECT(cudaMemsetAsync(pair->memory[i], 'a' + i, N, pair->streams[i]));
                EXPECT(cudaDeviceSynchronize());
        }
        EXPECT(cudaSetDevice(0));
}

static void close_pair(struct pair *pair)
{
        for (int i = 0; i < 2; i++) {
                EXPECT(cudaFreeAsync(pair->memory[i], pair->streams[i]));
                EXPECT(cudaStreamDestroy(pair->streams[i]));
                EXPECT(cudaMemPoolDestroy(pair->pools[i]));
        }
        assert_int_equal(kc_emulator_device_nbytes(), 0);
        kc_emulator_devices(1, 1);
        kc_emulator_peers(1);
}

static void expect_bytes(struct pair *pair, int i, char expected)
{
        char bytes[N];
        EXPECT(cudaSetDevice(i));
        EXPECT(cudaMemcpyAsync(bytes, pair->memory[i], N, cudaMemcpyDeviceToHost,
                               pair->streams[i]));
        EXPECT(cudaSetDevice(0));
        for (char byte : bytes)
                assert_int_equal(byte, expected);
}

static void current_device_of_a_thread(void **state)
{
        int device = -1, other = -1, n;
        (void)state;
        kc_emulator_devices(NDEVICES, 2);
        EXPECT(cudaGetDeviceCount(&n));
        assert_int_equal(n, NDEVICES);
        EXPECT(cudaSetDevice(1));
        assert_int_equal(cudaSetDevice(2), cudaErrorDevicesUnavailable);
        assert_int_equal(cudaSetDevice(NDEVICES), cudaErrorInvalidDevice);
        assert_int_equal(cudaSetDevice(-1), cudaErrorInvalidDevice);
        EXPECT(cudaGetDevice(&device));
        std::thread([&other] { (void)cudaGetDevice(&other); }).join();
        assert_int_equal(device, 1);
        assert_int_equal(other, 0);
        kc_emulator_devices(1, 1);
}

static void launch_on(cudaStream_t stream, char *memory)
{
        emulator::launch(emulator::config("writing", 1, N, 0, stream),
                         [](char *bytes) { bytes[threadIdx.x] = 'k'; })(memory);
}

/* A kernel runs on the device that is current, and an event is recorded there. */
static void streams_and_events(void **state)
{
        struct pair pair;
        cudaEvent_t event;
        (void)state;
        open_pair(&pair, false);
        launch_on(pair.streams[0], pair.memory[0]);
        assert_int_equal(cudaGetLastError(), cudaSuccess);
        launch_on(pair.streams[1], pair.memory[1]);
        assert_int_equal(cudaGetLastError(), cudaErrorInvalidResourceHandle);
        expect_bytes(&pair, 0, 'k');
        expect_bytes(&pair, 1, 'b');
        EXPECT(cudaEventCreate(&event));
        assert_int_equal(cudaEventRecord(event, pair.streams[1]), cudaErrorInvalidResourceHandle);
        EXPECT(cudaMemsetAsync(pair.memory[0], 'e', N, pair.streams[0]));
        EXPECT(cudaEventRecord(event, pair.streams[0]));
        EXPECT(cudaStreamWaitEvent(pair.streams[1], event, 0));
        EXPECT(cudaStreamSynchronize(pair.streams[1]));
        assert_int_equal(pair.memory[0][0], 'e');
        EXPECT(cudaEventDestroy(event));
        close_pair(&pair);
}

static void memory_of_each(void **state)
{
        size_t first, total, second;
        void *memory;
        (void)state;
        kc_emulator_devices(2, 2);
        kc_emulator_total_of(1, N);
        EXPECT(cudaSetDevice(1));
        EXPECT(cudaMemGetInfo(&first, &total));
        assert_int_equal(total, N);
        assert_int_equal(cudaMalloc(&memory, N + 1), cudaErrorMemoryAllocation);
        EXPECT(cudaMalloc(&memory, N));
        EXPECT(cudaMemGetInfo(&second, &total));
        assert_int_equal(first - second, N);
        EXPECT(cudaSetDevice(0));
        EXPECT(cudaMemGetInfo(&second, &total));
        assert_int_equal(second, total);
        EXPECT(cudaFree(memory));
        kc_emulator_total_of(1, 0);
        kc_emulator_devices(1, 1);
}

static void copies_need_access(void **state)
{
        struct pair pair;
        (void)state;
        open_pair(&pair, false);
        assert_int_equal(cudaMemcpyAsync(pair.memory[1], pair.memory[0], N,
                                         cudaMemcpyDeviceToDevice, pair.streams[0]),
                         cudaErrorInvalidValue);
        assert_int_equal(
                cudaMemcpyPeerAsync(pair.memory[1], 1, pair.memory[0], 0, N, pair.streams[0]),
                cudaErrorInvalidValue);
        char bytes[N];
        assert_int_equal(
                cudaMemcpyAsync(bytes, pair.memory[1], N, cudaMemcpyDeviceToHost, pair.streams[1]),
                cudaErrorInvalidValue); /* device 0 is the current one */
        expect_bytes(&pair, 1, 'b');
        assert_int_equal(give_access(&pair, 0), cudaErrorIllegalAddress); /* too late */
        close_pair(&pair);
        open_pair(&pair, true);
        assert_int_equal(
                cudaMemcpyPeerAsync(pair.memory[1], 0, pair.memory[0], 0, N, pair.streams[0]),
                cudaErrorInvalidValue); /* not that device's memory */
        EXPECT(cudaMemcpyPeerAsync(pair.memory[1], 1, pair.memory[0], 0, N, pair.streams[0]));
        EXPECT(cudaStreamSynchronize(pair.streams[0]));
        expect_bytes(&pair, 1, 'a');
        close_pair(&pair);
}

static void no_peers(void **state)
{
        struct pair pair;
        int can;
        (void)state;
        open_pair(&pair, false);
        EXPECT(cudaDeviceCanAccessPeer(&can, 0, 1));
        assert_int_equal(can, 1);
        EXPECT(cudaDeviceCanAccessPeer(&can, 0, 0));
        assert_int_equal(can, 0);
        EXPECT(cudaDeviceEnablePeerAccess(1, 0));
        assert_int_equal(cudaDeviceEnablePeerAccess(1, 0), cudaErrorPeerAccessAlreadyEnabled);
        assert_int_equal(cudaDeviceEnablePeerAccess(0, 0), cudaErrorInvalidDevice);
        kc_emulator_peers(0);
        EXPECT(cudaDeviceCanAccessPeer(&can, 0, 1));
        assert_int_equal(can, 0);
        assert_int_equal(cudaDeviceEnablePeerAccess(1, 0), cudaErrorPeerAccessUnsupported);
        assert_int_equal(give_access(&pair, 0), cudaErrorInvalidDevice);
        close_pair(&pair);
}

/* Whether the work ends the program. */
static bool is_fatal(const std::function<void()> &work)
{
        int status;
        pid_t child = fork();
        if (child == 0) {
                (void)freopen("/dev/null", "w", stderr);
                signal(SIGABRT, SIG_DFL);
                work();
                _exit(0);
        }
        assert_true(child > 0 && waitpid(child, &status, 0) == child);
        return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void kernels_need_access(void **state)
{
        struct pair pair;
        (void)state;
        open_pair(&pair, false);
        assert_true(is_fatal([&] { launch_on(pair.streams[0], pair.memory[1] + N / 2); }));
        close_pair(&pair);
        open_pair(&pair, true);
        launch_on(pair.streams[0], pair.memory[1]);
        EXPECT(cudaStreamSynchronize(pair.streams[0]));
        expect_bytes(&pair, 1, 'k');
        assert_true(is_fatal([&] {
                (void)cudaSetDevice(1);
                launch_on(pair.streams[1], pair.memory[0]);
        }));
        close_pair(&pair);
}

/* Padding that holds one half of an address, beside a number that equals the other half. */
static void padding_is_no_address(void **state)
{
        struct number {
                uint64_t unused;
                uint32_t n;
        } number;
        struct pair pair;
        (void)state;
        open_pair(&pair, false);
        memset(&number, 0, sizeof number);
        memcpy((char *)&number + sizeof number.unused, &pair.memory[1], sizeof pair.memory[1]);
        emulator::launch(emulator::config("reading", 1, N, 0, pair.streams[0]),
                         [](struct number) {})(number);
        EXPECT(cudaStreamSynchronize(pair.streams[0]));
        close_pair(&pair);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(current_device_of_a_thread),
                cmocka_unit_test(streams_and_events),
                cmocka_unit_test(memory_of_each),
                cmocka_unit_test(copies_need_access),
                cmocka_unit_test(no_peers),
                cmocka_unit_test(kernels_need_access),
                cmocka_unit_test(padding_is_no_address),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
