#include "app/filter/paths.h"

#include "app/cli/output_name.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The endings of the input, changed to .gz if the input is compressed in a way in which outputs are
 * not. */
static char *endings_of(const char *input)
{
        const char *endings = output_endings(input);
        const char *last = strrchr(endings, '.');
        enum kc_compression compression;
        char *text;
        if (outputs_compression(input, &compression))
                return strdup(endings);
        return asprintf(&text, "%.*s.gz", (int)(last - endings), endings) < 0 ? NULL : text;
}

static char *make_path(const char *name, int number, const char *input)
{
        const char *own = output_endings(name);
        char *endings = *own != '\0' ? strdup(own) : endings_of(input), *path = NULL;
        if (endings != NULL &&
            asprintf(&path, "%.*s_%d%s", (int)(own - name), name, number, endings) < 0)
                path = NULL;
        free(endings);
        return path;
}

enum kc_status paths_of_reads(const struct option_names *given, const char *option,
                              const char *const *inputs, int ninputs, enum outputs_number which,
                              struct outputs_settings *settings, struct paths_made *made,
                              struct kc_error *err)
{
        if (given->n == 2 && ninputs == 1)
                return kc_fail(err, KC_EUSAGE, "%s is given twice, but there is one input", option);
        for (size_t i = 0; i < given->n; i++)
                settings->paths[which + i] = given->names[i];
        if (given->n != 1 || ninputs == 1)
                return KC_OK;
        if (!text_out_makes_file(given->names[0]))
                return kc_fail(err, KC_EUSAGE, "%s %s: mates go to two outputs; give %s twice",
                               option, given->names[0], option);
        for (int i = 0; i < 2; i++) {
                char **path = &made->names[which != OUTPUTS_KEPT][i];
                *path = make_path(given->names[0], i + 1, inputs[i]);
                if (*path == NULL)
                        return kc_fail(err, KC_ENOMEM, "out of memory");
                settings->paths[which + (unsigned)i] = *path;
        }
        return KC_OK;
}

void paths_free(struct paths_made *made)
{
        for (int i = 0; i < 4; i++)
                free(made->names[i / 2][i % 2]);
}
