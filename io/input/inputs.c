#include "io/input/inputs.h"

#include "io/input/foreign.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum kc_status no_memory(struct kc_error *err)
{
        return kc_fail(err, KC_ENOMEM, "out of memory for the inputs' names");
}

static enum kc_status grow(struct kc_inputs *inputs, struct kc_error *err)
{
        size_t cap = 2 * inputs->cap + 8;
        char **names = realloc(inputs->names, cap * sizeof *names);
        if (names == NULL)
                return no_memory(err);
        inputs->names = names;
        struct kc_input_place *places = realloc(inputs->places, cap * sizeof *places);
        if (places == NULL)
                return no_memory(err);
        inputs->places = places;
        inputs->cap = cap;
        return KC_OK;
}

static enum kc_status add(struct kc_inputs *inputs, const char *name, struct kc_input_place place,
                          struct kc_error *err)
{
        enum kc_status status = KC_OK;
        if (*name == 0)
                return kc_fail(err, KC_EINPUT,
                               "the name of an input is empty; is it an unset variable?");
        if (strcmp(name, "-") == 0)
                for (size_t i = 0; i < inputs->n; i++)
                        if (strcmp(inputs->names[i], "-") == 0)
                                return kc_fail(err, KC_EINPUT,
                                               "standard input (-) is named twice as an input");
        if (inputs->n == inputs->cap)
                KC_TRY(grow(inputs, err));
        inputs->names[inputs->n] = strdup(name);
        if (inputs->names[inputs->n] == NULL)
                return no_memory(err);
        inputs->places[inputs->n++] = place;
out:
        return status;
}

/* ---- lists ---- */

static bool is_text(const char *line, size_t n)
{
        for (size_t i = 0; i < n; i++)
                if ((unsigned char)line[i] < '\t')
                        return false;
        return true;
}

/* Strip the blanks at both ends of a line, and the byte order mark from the first line. */
static char *trim(char *line, size_t n, bool first)
{
        static const char blanks[] = " \t\r\n";
        while (n > 0 && strchr(blanks, line[n - 1]) != NULL)
                line[--n] = 0;
        if (first && strncmp(line, KC_BOM, KC_BOM_NBYTES) == 0)
                line += KC_BOM_NBYTES;
        return line + strspn(line, blanks);
}

static enum kc_status add_line(struct kc_inputs *inputs, char *line, size_t n,
                               struct kc_input_place place, struct kc_error *err)
{
        const struct kc_error_place at = { place.list, KC_UNIT_LINE, place.line };
        char shown[KC_SHOWN_NBYTES];
        if (!is_text(line, n))
                return kc_fail_at(err, KC_EINPUT, 0, at,
                                  "%s is not a list of file names: its line %llu holds binary "
                                  "data, %s; a list is plain text, in ASCII or UTF-8",
                                  place.list, (unsigned long long)place.line,
                                  kc_foreign_show(shown, (const uint8_t *)line, n));
        const char *name = trim(line, n, place.line == 1);
        if (*name == 0 || *name == '#')
                return KC_OK;
        if (*name == '@')
                return kc_fail_at(err, KC_EINPUT, 0, at,
                                  "line %llu of the list %s begins with '@', but a list cannot "
                                  "name another one; name both on the command line, or ./%s for "
                                  "a file of that name; if %s holds reads, name it without '@'",
                                  (unsigned long long)place.line, place.list, name, place.list);
        return add(inputs, name, place, err);
}

static enum kc_status read_lines(struct kc_inputs *inputs, FILE *file, const char *list,
                                 struct kc_error *err)
{
        struct kc_input_place place = { .list = list };
        char *line = NULL;
        size_t cap = 0, before = inputs->n;
        ssize_t n;
        enum kc_status status = KC_OK;
        while ((n = getline(&line, &cap, file)) >= 0) {
                place.line++;
                KC_TRY(add_line(inputs, line, (size_t)n, place, err));
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
        if (*list == 0)
                return kc_fail(err, KC_EINPUT,
                               "'@' stands alone: the name of a list follows it, as in @files.txt");
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
                        KC_TRY(add(inputs, paths[i], (struct kc_input_place){ 0 }, err));
        }
        if (inputs->n == 0)
                status = kc_fail(err, KC_EINPUT, "no input file was given");
out:
        return status;
}

enum kc_status kc_inputs_blame(const struct kc_inputs *inputs, size_t i,
                               const struct kc_error *failure, struct kc_error *err)
{
        const struct kc_input_place *place = &inputs->places[i];
        if (place->list == NULL)
                return kc_fail_as(err, failure);
        return kc_fail_reworded(err, failure, "line %llu of the list %s: %s",
                                (unsigned long long)place->line, place->list, failure->message);
}

enum kc_status kc_inputs_copy(struct kc_inputs *inputs, const struct kc_inputs *from,
                              struct kc_error *err)
{
        enum kc_status status = KC_OK;
        for (size_t i = 0; i < from->n; i++)
                KC_TRY(add(inputs, from->names[i], from->places[i], err));
out:
        return status;
}

void kc_inputs_free(struct kc_inputs *inputs)
{
        for (size_t i = 0; i < inputs->n; i++)
                free(inputs->names[i]);
        free(inputs->names);
        free(inputs->places);
        *inputs = (struct kc_inputs){ 0 };
}
