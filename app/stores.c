#include "app/stores.h"

#include "app/advice.h"
#include "app/message.h"
#include "io/rescue.h"

enum kc_status stores_open(struct kc_store **store, const char *path, struct kc_error *err)
{
        enum kc_status status = kc_store_open(store, path, err);
        if (status == KC_OK)
                advice_warn(kc_store_warning(*store));
        return status;
}

enum kc_status stores_open_rescue(struct kc_store **store, const char *path, struct kc_error *err)
{
        enum kc_status status = kc_store_open_rescue(store, path, err);
        if (status == KC_OK)
                advice_warn(kc_store_warning(*store));
        return status;
}

bool stores_warn_filtered(const struct kc_store_info *info, const char *path)
{
        const bool filtered =
                info->min_count > 1 || info->max_count_kept < UINT32_MAX || info->mixed != 0;
        if (!filtered || info->ndropped_distinct == 0)
                return false;
        message_print(
                "kcount: warning: %s lacks k-mers that --min or --max dropped, so sums with it can "
                "be too low\n",
                path);
        return true;
}

enum kc_status stores_append(struct kc_store_writer **writer, const char *path, bool tombstones,
                             int *k, bool *stranded, struct kc_error *err)
{
        enum kc_status status = kc_store_append(writer, path, tombstones, k, stranded, err);
        if (status == KC_OK)
                advice_warn(kc_store_writer_warning(*writer));
        return status;
}
