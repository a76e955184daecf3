/*
 * What a .kc file says about the reads that were counted.
 */
#ifndef APP_MODEL_ORIGIN_H
#define APP_MODEL_ORIGIN_H

#include "app/model/model.h"
#include "io/store.h"

struct model_origin model_origin_of(const struct kc_store_info *info);

#endif
