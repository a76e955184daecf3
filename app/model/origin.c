#include "app/model/origin.h"

struct model_origin model_origin_of(const struct kc_store_info *info)
{
        return (struct model_origin){
                .stranded = info->stranded,
                .compressed = info->hpc,
                .selected = info->only_checksum != 0,
                .mixed = info->mixed != 0,
                .min_count = info->min_count,
                .max_count = info->max_count_kept < UINT32_MAX ? info->max_count_kept : 0,
        };
}
