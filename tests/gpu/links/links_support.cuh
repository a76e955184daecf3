/*
 * What tests of several devices share: members on the devices that there are, taken in turn.
 */
#ifndef KC_TESTS_GPU_LINKS_LINKS_SUPPORT_CUH
#define KC_TESTS_GPU_LINKS_LINKS_SUPPORT_CUH

#include "gpu/links/links.cuh"
#include "tests/gpu/support.cuh"

static inline void open_links(struct kc_links *links, int n, bool staged, size_t limit_nbytes = 0)
{
        struct kc_error error = {}, *err = &error;
        struct kc_links_options options = { limit_nbytes, staged };
        int devices[KC_GPU_MAX_DEVICES], ndevices;
        expect_ok(kc_gpu_devices(NULL, 0, &ndevices, err), err);
        for (int i = 0; i < n; i++)
                devices[i] = i % ndevices;
        expect_ok(kc_links_open(links, devices, n, &options, err), err);
}

/* All memory of the members must have been released. */
static inline void close_links(struct kc_links *links)
{
        for (int i = 0; i < links->n; i++)
                assert_int_equal(links->gpus[i].used_nbytes, 0);
        kc_links_close(links);
}

#endif
