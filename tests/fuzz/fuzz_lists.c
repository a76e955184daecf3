/*
 * Any bytes as a list of inputs (@LIST): either an error message, or names from the list, in order.
 */
#include "io/input/inputs.h"
#include "tests/fuzz/memory_input.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_names(const struct kc_inputs *inputs, const uint8_t *data, size_t size)
{
        const uint8_t *at = data, *end = data + size;
        REQUIRE(inputs->n > 0);
        for (size_t i = 0; i < inputs->n; i++) {
                const char *name = inputs->names[i];
                size_t n = strlen(name);
                REQUIRE(n > 0 && strchr(name, '\n') == NULL);
                REQUIRE(strchr("\r\t ", name[n - 1]) == NULL);
                at = memmem(at, (size_t)(end - at), name, n);
                REQUIRE(at != NULL);
                at += n;
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        char path[64];
        const char *paths[] = { path };
        struct kc_inputs inputs = { 0 };
        struct kc_error err = { 0 };
        int fd = memory_file(data, size);
        snprintf(path, sizeof path, "@/proc/self/fd/%d", fd);
        if (kc_inputs_resolve(&inputs, paths, 1, &err) == KC_OK)
                check_names(&inputs, data, size);
        else
                REQUIRE(err.message[0] != '\0');
        kc_inputs_free(&inputs);
        close(fd);
        return 0;
}
