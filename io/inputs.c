#include "io/inputs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum kc_status add(struct kc_inputs *inputs, const char *name, struct kc_error *err)
{
        if (strcmp(name, "-") == 0)
                for (size_t i = 0; i < inputs->n; i++)
                        if (strcmp(inputs->names[i], "-") == 0)
                                return kc_fail(err, KC_EINPUT,
                                               "standard input (-) is named twice as an input");
        if (inputs->n == inputs->cap) {
                size_t cap = 2 * inputs->cap + 8;
                char **names = realloc(inputs->names, cap * sizeof *names);
                if (names == NULL)
                        return kc_fail(err, KC_ENOMEM, "out of memory for the inputs' names");
                inputs->names = names;
                inputs->cap = cap;
        }
        inputs->names[inputs->n] = strdup(name);
        if (inputs->names[inputs->n] == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for the inputs' names");
        inputs->n++;
        return KC_OK;
}

static enum kc_status read_lines(struct kc_inputs *inputs, FILE *file, const char *list,
                                 struct kc_error *err)
{
        char *line = NULL;
        size_t cap = 0, before = inputs->n;
        ssize_t n;
        enum kc_status status = KC_OK;
        while ((n = getline(&line, &cap, file)) >= 0) {
                while (n > 0 && strchr("\r\n\t ", line[n - 1]) != NULL)
                        line[--n] = 0;
                if (n == 0)
                        continue;
                if (strlen(line) != (size_t)n) {
                        status = kc_fail(err, KC_EINPUT, "%s is not a list of file names", list);
                        goto out;
                }
                KC_TRY(add(inputs, line, err));
        }
        if (ferror(file))
                status = kc_fail(err, KC_EIO, "cannot read the list %s: %s", list, strerror(errno));
        else if (inputs->n == before)
                status = kc_fail(err, KC_EINPUT, "the list %s names no file", list);
out:
        free(line);
        return status;
}

static enum kc_status add_list(struct kc_inputs *inputs, const char *list, struct kc_error *err)
{
        FILE *file = fopen(list, "re");
        if (file == NULL)
                return kc_fail(err, KC_EINPUT, "cannot open the list %s: %s", list,
                               strerror(errno));
        enum kc_status status = read_lines(inputs, file, list, err);
        fclose(file);
        return status;
}

enum kc_status kc_inputs_resolve(struct kc_inputs *inputs, const char *const *paths, size_t npaths,
                                 struct kc_error *err)
{
        enum kc_status status = KC_OK;
        for (size_t i = 0; i < npaths; i++) {
                if (paths[i][0] == '@')
                        KC_TRY(add_list(inputs, paths[i] + 1, err));
                else
                        KC_TRY(add(inputs, paths[i], err));
        }
        if (inputs->n == 0)
                status = kc_fail(err, KC_EINPUT, "no input file is named");
out:
        return status;
}

void kc_inputs_free(struct kc_inputs *inputs)
{
        for (size_t i = 0; i < inputs->n; i++)
                free(inputs->names[i]);
        free(inputs->names);
        *inputs = (struct kc_inputs){ 0 };
}
