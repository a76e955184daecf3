#include "app/model/range.h"

void model_range_put_members(struct json *json, struct model_range range, int ndigits)
{
        json_decimal(json, "value", range.value, ndigits);
        json_decimal(json, "low", range.low, ndigits);
        json_decimal(json, "high", range.high, ndigits);
}

void model_range_put(struct json *json, const char *key, struct model_range range, int ndigits)
{
        json_begin(json, key, '{');
        model_range_put_members(json, range, ndigits);
        json_end(json, '}');
}
