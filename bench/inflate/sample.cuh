/*
 * A file as BGZF and as text, for the benchmark of the device's inflate.
 */
#ifndef KC_BENCH_INFLATE_SAMPLE_CUH
#define KC_BENCH_INFLATE_SAMPLE_CUH

#include "base/status.h"
#include "io/input/bgzf_blocks.h"

#include <vector>

struct sample {
        std::vector<uint8_t> packed, text;
        std::vector<struct kc_bgzf_block> blocks; /* those with text */
};

/* The blocks of n copies of the sample, one after the other. */
std::vector<struct kc_bgzf_block> sample_blocks(const struct sample *sample, size_t n);

/* Read BGZF as it is; gzip or plain text becomes BGZF at this libdeflate level. KC_EINPUT, KC_EIO,
 * KC_ENOMEM. */
enum kc_status sample_load(struct sample *sample, const char *path, int level,
                           struct kc_error *err);

#endif
