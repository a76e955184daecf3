/* Streams and events: see streams.h. */
#include "streams.h"

#include "devices.h"

#include <cuda_runtime.h>

#include <cstdlib>
#include <ctime>
#include <deque>
#include <memory>
#include <mutex>
#include <set>

struct kc_emulated_stream {
        int device;
        std::deque<std::function<void()>> work;
};

/* A moment of a stream, which comes when the work before it is done. */
struct moment {
        kc_emulated_stream *stream;
        bool reached;
        struct timespec time;
};

struct kc_emulated_event {
        int device;
        std::shared_ptr<moment> last; /* NULL: not recorded */
};

/* Also held while work is done: all devices together do one thing at a time. */
static std::recursive_mutex working;
static std::set<kc_emulated_stream *> streams;

/* NULL: the current device's default stream, which waits for no other one. */
static kc_emulated_stream *stream_of(cudaStream_t stream)
{
        static kc_emulated_stream defaults[emulator::MAX_DEVICES];
        if (stream != NULL)
                return stream;
        std::lock_guard<std::recursive_mutex> held(working);
        const int device = emulator::current_device();
        defaults[device].device = device;
        streams.insert(&defaults[device]);
        return &defaults[device];
}

/* The next of a sequence of random numbers that KC_EMULATOR_STREAMS chooses; 0 without it. */
static uint64_t draw(void)
{
        static uint64_t seed = getenv("KC_EMULATOR_STREAMS") == NULL
                                       ? 0
                                       : strtoull(getenv("KC_EMULATOR_STREAMS"), NULL, 10);
        if (seed != 0)
                seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
        return seed >> 33;
}

static void do_first(kc_emulated_stream *stream)
{
        std::function<void()> first = std::move(stream->work.front());
        stream->work.pop_front();
        first();
}

/* What was recorded last: a copy, because another thread may record the event again meanwhile. */
static std::shared_ptr<moment> last_of(cudaEvent_t event)
{
        std::lock_guard<std::recursive_mutex> held(working);
        return event->last;
}

static void reach(const moment &moment)
{
        std::lock_guard<std::recursive_mutex> held(working);
        while (!moment.reached)
                do_first(moment.stream);
}

/* Some streams run ahead. */
static void do_some(void)
{
        for (kc_emulated_stream *stream : streams)
                if (draw() % 2 != 0 && !stream->work.empty())
                        do_first(stream);
}

namespace emulator
{

int device_of(cudaStream_t stream)
{
        return stream_of(stream)->device;
}

void enqueue(cudaStream_t stream, std::function<void()> work)
{
        std::lock_guard<std::recursive_mutex> held(working);
        stream_of(stream)->work.push_back(std::move(work));
        do_some();
}

void finish(cudaStream_t stream)
{
        std::lock_guard<std::recursive_mutex> held(working);
        while (!stream_of(stream)->work.empty())
                do_first(stream_of(stream));
}

void finish_all(void)
{
        std::lock_guard<std::recursive_mutex> held(working);
        for (kc_emulated_stream *stream : streams)
                finish(stream);
}

} // namespace emulator

cudaError_t cudaDeviceSynchronize(void)
{
        std::lock_guard<std::recursive_mutex> held(working);
        for (kc_emulated_stream *stream : streams)
                if (stream->device == emulator::current_device())
                        emulator::finish(stream);
        return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
        if (flags != cudaStreamNonBlocking)
                emulator::fail("a stream that waits for the default stream is not emulated");
        std::lock_guard<std::recursive_mutex> held(working);
        *stream = new kc_emulated_stream();
        (*stream)->device = emulator::current_device();
        streams.insert(*stream);
        return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
        std::lock_guard<std::recursive_mutex> held(working);
        emulator::finish(stream);
        streams.erase(stream);
        delete stream;
        return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
        emulator::finish(stream);
        return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned)
{
        std::shared_ptr<moment> last = last_of(event);
        if (last != NULL)
                emulator::enqueue(stream, [last] { reach(*last); });
        return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
        *event = new kc_emulated_event();
        (*event)->device = emulator::current_device();
        return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned)
{
        return cudaEventCreate(event);
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
        delete event;
        return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
        if (event->device != emulator::device_of(stream))
                return emulator::note(cudaErrorInvalidResourceHandle);
        std::lock_guard<std::recursive_mutex> held(working);
        std::shared_ptr<moment> last(new moment());
        last->stream = stream_of(stream);
        emulator::enqueue(stream, [last] {
                clock_gettime(CLOCK_MONOTONIC, &last->time);
                last->reached = true;
        });
        event->last = last;
        return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
        std::shared_ptr<moment> last = last_of(event);
        if (last != NULL)
                reach(*last);
        return cudaSuccess;
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t begin, cudaEvent_t end)
{
        if (begin->last == NULL || end->last == NULL || begin->device != end->device)
                return cudaErrorInvalidResourceHandle;
        if (!begin->last->reached || !end->last->reached)
                return cudaErrorNotReady;
        const struct timespec *from = &begin->last->time, *to = &end->last->time;
        *ms = (float)((double)(to->tv_sec - from->tv_sec) * 1e3 +
                      (double)(to->tv_nsec - from->tv_nsec) * 1e-6);
        return cudaSuccess;
}
