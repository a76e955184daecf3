/*
 * A number that a model finds, with the range in which it lies.
 */
#ifndef APP_MODEL_RANGE_H
#define APP_MODEL_RANGE_H

#include "app/cli/json.h"

/* The range is a 95 % interval; GenomeScope's is two standard errors below and above. */
struct model_range {
        double value, low, high;
};

/* The members of a JSON object, and a member that is such an object. */
void model_range_put_members(struct json *json, struct model_range range, int ndigits);
void model_range_put(struct json *json, const char *key, struct model_range range, int ndigits);

#endif
