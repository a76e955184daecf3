/*
 * Takes the place of least_squares.c in a program without cminpack.
 */
#include "app/model/least_squares.h"

bool least_squares_exist(void)
{
        return false;
}

enum kc_status least_squares_fit(const struct least_squares *problem, double *parameters,
                                 struct kc_error *err)
{
        (void)problem;
        (void)parameters;
        return kc_fail(err, KC_EUSAGE, "this kcount was built without cminpack, which fits models");
}
