#include "app/library/same_file.h"

#include "base/new_file.h"
#include "kmer/remedy.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *base_of(const char *path)
{
        const char *slash = strrchr(path, '/');
        return slash != NULL ? slash + 1 : path;
}

/* What a name refers to. */
struct place {
        dev_t device;
        ino_t inode; /* of the file or, if there is none, of its folder; 0: unknown */
        char *path;  /* of the missing file, with links followed; NULL: it exists */
};

static bool is_stdin(const char *input)
{
        return strcmp(input, "-") == 0;
}

/* A terminal, /dev/null or a socket may well be read and written at once. */
static struct place place_of(const struct stat *found)
{
        if (S_ISCHR(found->st_mode) || S_ISSOCK(found->st_mode))
                return (struct place){ 0 };
        return (struct place){ .device = found->st_dev, .inode = found->st_ino };
}

bool kc_input_stat(const char *path, struct stat *found)
{
        return (is_stdin(path) ? fstat(STDIN_FILENO, found) : stat(path, found)) == 0;
}

static struct place find_input(const char *path)
{
        struct stat found;
        return kc_input_stat(path, &found) ? place_of(&found) : (struct place){ 0 };
}

/* Errors are ignored: creating the file will report them. The caller frees place.path. */
static struct place find_output(const char *path)
{
        struct stat found;
        if (stat(path, &found) == 0)
                return place_of(&found);
        struct place place = { .path = kc_path_follow(path) };
        char *folder = place.path != NULL ? kc_path_folder(place.path) : NULL;
        if (folder != NULL && stat(folder, &found) == 0) {
                place.device = found.st_dev;
                place.inode = found.st_ino;
        }
        free(folder);
        return place;
}

static bool are_same(const struct place *a, const struct place *b)
{
        if (a->inode == 0 || a->device != b->device || a->inode != b->inode)
                return false;
        if (a->path == NULL || b->path == NULL)
                return a->path == b->path;
        return strcmp(base_of(a->path), base_of(b->path)) == 0;
}

static enum kc_status fail_twice(const char *output, const char *other, struct kc_error *err)
{
        if (strcmp(output, other) == 0)
                return kc_fail(err, KC_EUSAGE, "two outputs have the name %s", output);
        return kc_fail(err, KC_EUSAGE, "the outputs %s and %s are the same file", output, other);
}

static enum kc_status check_outputs(const char *const *outputs, const struct place *places,
                                    size_t n, struct kc_error *err)
{
        for (size_t i = 0; i < n; i++)
                for (size_t j = 0; j < i; j++)
                        if (are_same(&places[i], &places[j]))
                                return fail_twice(outputs[j], outputs[i], err);
        return KC_OK;
}

static enum kc_status check_input(const char *input, const char *const *outputs,
                                  const struct place *places, size_t n, struct kc_error *err)
{
        const struct place place = find_input(input);
        for (size_t i = 0; i < n; i++)
                if (are_same(&places[i], &place))
                        return kc_fail_remedy(err, KC_EUSAGE, KC_REMEDY_OTHER_OUTPUT,
                                              "%s is an input%s and the output as well", outputs[i],
                                              is_stdin(input) ? " (standard input)" : "");
        return KC_OK;
}

static enum kc_status check_all(const char *const *outputs, size_t noutputs,
                                const char *const *inputs, size_t ninputs, bool has_lists,
                                struct kc_error *err)
{
        enum kc_status status;
        if (noutputs == 0)
                return KC_OK;
        struct place *places = calloc(noutputs, sizeof *places);
        if (places == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        for (size_t i = 0; i < noutputs; i++)
                places[i] = find_output(outputs[i]);
        KC_TRY(check_outputs(outputs, places, noutputs, err));
        for (size_t i = 0; i < ninputs; i++)
                KC_TRY(check_input(inputs[i] + (has_lists && inputs[i][0] == '@'), outputs, places,
                                   noutputs, err));
out:
        for (size_t i = 0; i < noutputs; i++)
                free(places[i].path);
        free(places);
        return status;
}

enum kc_status kc_output_check_files(const char *const *outputs, size_t noutputs,
                                     const char *const *inputs, size_t ninputs,
                                     struct kc_error *err)
{
        return check_all(outputs, noutputs, inputs, ninputs, false, err);
}

enum kc_status kc_output_check_operands(const char *const *outputs, size_t noutputs,
                                        const char *const *operands, size_t noperands,
                                        struct kc_error *err)
{
        return check_all(outputs, noutputs, operands, noperands, true, err);
}
