/* Devices and peer access: see devices.h. */
#include "devices.h"
#include "scarcity.h"
#include "streams.h"

#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>

using emulator::MAX_DEVICES;

enum { NMULTIPROCESSORS = 2, L2_NBYTES = 1 << 20 };

static int number_in_environment(const char *name, int usual)
{
        const char *text = getenv(name);
        return text != NULL ? std::min(atoi(text), (int)MAX_DEVICES) : usual;
}

static int ndevices = number_in_environment("KC_EMULATOR_DEVICES", 1), nusable = ndevices;
static bool are_peers = number_in_environment("KC_EMULATOR_PEERS", 1) != 0;
static cudaError_t kernels = cudaSuccess;
static thread_local int current;

static struct {
        bool enabled[MAX_DEVICES][MAX_DEVICES]; /* of whom, to whom */
        std::mutex lock;
} peers;

void kc_emulator_devices(int n, int usable)
{
        ndevices = n;
        nusable = usable;
        current = 0;
}

void kc_emulator_peers(int possible)
{
        std::lock_guard<std::mutex> held(peers.lock);
        are_peers = possible != 0;
        memset(peers.enabled, 0, sizeof peers.enabled);
}

void kc_emulator_kernels(int code)
{
        kernels = (cudaError_t)code;
}

cudaError_t emulator::kernel_state(void)
{
        return kernels;
}

namespace emulator
{

int current_device(void)
{
        return current;
}

int count_devices(void)
{
        return ndevices;
}

bool is_peer_enabled(int device, int other)
{
        std::lock_guard<std::mutex> held(peers.lock);
        return peers.enabled[device][other];
}

bool can_access(int device, int other)
{
        return device == other || are_peers;
}

} // namespace emulator

static cudaError_t check_device(int device)
{
        return emulator::note(device < 0 || device >= ndevices ? cudaErrorInvalidDevice
                              : device < nusable               ? cudaSuccess
                                                               : cudaErrorDevicesUnavailable);
}

cudaError_t cudaDriverGetVersion(int *version)
{
        *version = CUDART_VERSION;
        return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int *n)
{
        *n = ndevices;
        return cudaSuccess;
}

cudaError_t cudaGetDevice(int *device)
{
        *device = current;
        return cudaSuccess;
}

cudaError_t cudaSetDevice(int device)
{
        cudaError_t code = check_device(device);
        if (code == cudaSuccess)
                current = device;
        return code;
}

cudaError_t cudaInitDevice(int device, unsigned, unsigned)
{
        return check_device(device);
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int device)
{
        *properties = {};
        if (device < 0 || device >= ndevices)
                return emulator::note(cudaErrorInvalidDevice);
        snprintf(properties->name, sizeof properties->name, "emulated");
        properties->major = 9;
        properties->multiProcessorCount = NMULTIPROCESSORS;
        properties->totalGlobalMem = emulator::total_of(device);
        return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int device)
{
        *value = attribute == cudaDevAttrMultiProcessorCount ? (int)NMULTIPROCESSORS
                 : attribute == cudaDevAttrL2CacheSize       ? (int)L2_NBYTES
                 : attribute == cudaDevAttrCooperativeLaunch ? 0
                                                             : (int)emulator::MAX_SHARED_NBYTES;
        return check_device(device);
}

cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
        *can = device != peer && emulator::can_access(device, peer);
        cudaError_t code = check_device(device);
        return code != cudaSuccess ? code : check_device(peer);
}

cudaError_t cudaDeviceGetP2PAttribute(int *value, cudaDeviceP2PAttr, int device, int peer)
{
        return cudaDeviceCanAccessPeer(value, device, peer);
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned)
{
        if (peer == current || check_device(peer) != cudaSuccess)
                return emulator::note(cudaErrorInvalidDevice);
        if (!emulator::can_access(current, peer))
                return emulator::note(cudaErrorPeerAccessUnsupported);
        std::lock_guard<std::mutex> held(peers.lock);
        if (peers.enabled[current][peer])
                return emulator::note(cudaErrorPeerAccessAlreadyEnabled);
        peers.enabled[current][peer] = true;
        return cudaSuccess;
}
