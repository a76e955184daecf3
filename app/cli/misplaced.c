#include "app/cli/misplaced.h"

#include "app/cli/command.h"
#include "app/cli/output_name.h"
#include "app/cli/shell.h"
#include "app/cli/typed_kmer.h"
#include "io/store.h"

#include <string.h>
#include <unistd.h>

enum kc_status misplaced_check_first(const struct invocation *call, struct kc_error *err)
{
        const char *first = call->operands[0], *front[] = { NULL, NULL };
        if (output_stem_length(first) < strlen(first) || kc_store_recognizes(first))
                return KC_OK;
        for (int i = 1; i < call->noperands && front[0] == NULL; i++)
                if (kc_store_recognizes(call->operands[i]))
                        front[0] = call->operands[i];
        if (front[0] == NULL)
                return KC_OK;
        char line[SHELL_LINE_NBYTES];
        return kc_fail(err, KC_EUSAGE, "the .kc file comes first: %s",
                       invocation_line(call, front, front, line));
}

/* The text is the name of a file. */
static enum kc_status refuse_file(const struct invocation *call, const char *text,
                                  struct kc_error *err)
{
        const char *const words[] = { call->operands[0], text };
        char files[SHELL_LINE_NBYTES];
        if (!kc_store_recognizes(text))
                return kc_fail(err, KC_EUSAGE, "%s is a file, not a sequence; write -f %s", text,
                               shell_word(text, files));
        return kc_fail(err, KC_EUSAGE,
                       "%s is a .kc file, not a sequence; write: kcount %s %s -o out.kc", text,
                       call->command == &command_remove ? "subtract" : "intersect",
                       shell_line(words, 2, files));
}

enum kc_status misplaced_check_sequence(const struct invocation *call, const char *text, int k,
                                        struct kc_error *err)
{
        struct kc_error refused = { 0 };
        if (strcmp(text, "-") == 0)
                return kc_fail(err, KC_EUSAGE, "- is a file, standard input; write -f -");
        if (typed_kmer_check(text, k, &refused) == KC_OK)
                return KC_OK;
        return access(text, R_OK) == 0 ? refuse_file(call, text, err) : kc_fail_as(err, &refused);
}
