/*
 * NVIDIA's nvCOMP inflating the same blocks, for comparison. bench_gpu_inflate has it only if CMake
 * finds nvCOMP, version 6, which is closed-source and not part of the CUDA Toolkit.
 */
#ifndef KC_BENCH_INFLATE_PEER_CUH
#define KC_BENCH_INFLATE_PEER_CUH

#include "bench/gpu/stage.cuh"
#include "bench/inflate/sample.cuh"

/*
 * Time nvCOMP on about nblocks blocks, and print the stage "nvcomp: FILE". nvCOMP needs each
 * block's deflate data at an aligned place; they are copied there before the clock starts. It
 * checks no CRC. KC_EDEVICE, also if the text is wrong.
 */
enum kc_status bench_peer(struct bench *bench, const struct sample *sample, const char *file,
                          size_t nblocks, struct kc_error *err);

#endif
