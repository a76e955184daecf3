/*
 * A condition that must hold in a fuzz target, checked in every build.
 */
#ifndef KC_FUZZ_REQUIRE_H
#define KC_FUZZ_REQUIRE_H

#include <stdio.h>
#include <stdlib.h>

#define REQUIRE(condition) \
        do { \
                if (!(condition)) { \
                        fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
                        abort(); \
                } \
        } while (0)

#endif
