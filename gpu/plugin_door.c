#include "gpu/plugin.h"

const struct kc_gpu_door *kcount_cuda_door(void)
{
        static const struct kc_gpu_door door = {
                .version = KCOUNT_VERSION,
                .layout_nbytes = sizeof(struct kc_gpu_layout),
                .archs = kc_gpu_archs,
                .devices = kc_gpu_devices,
                .count = kc_gpu_count,
                .count_all = kc_gpu_count_all,
                .combine = kc_gpu_combine,
                .joint = kc_gpu_joint,
                .ask_open = kc_gpu_ask_open,
                .ask_tally = kc_gpu_ask_tally,
        };
        return &door;
}
