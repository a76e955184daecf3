#include "app/report/reads.h"

#include "app/cli/output_name.h"
#include "io/input/input.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static bool is_named_counted(const char *operand)
{
        static const char ending[] = ".kc";
        const size_t n = strlen(operand), nending = sizeof ending - 1;
        return operand[0] != '@' && n > nending && strcmp(operand + n - nending, ending) == 0;
}

/* The first operand that is a .kc file, or NULL. */
static const char *find_counted(const struct invocation *call)
{
        for (int i = 0; i < call->noperands; i++)
                if (is_named_counted(call->operands[i]) || kc_store_recognizes(call->operands[i]))
                        return call->operands[i];
        return NULL;
}

/* The first option that the user gave and that is only for reads, or NULL. */
static const struct option_spec *find_option_for_reads(const struct invocation *call)
{
        static const char *const names[] = { "min-quality",   "skip",       "require-flags",
                                             "exclude-flags", "skip-empty", "reader" };
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
                if (invocation_has(call, names[i]))
                        return option_find(call->command->options, names[i]);
        return NULL;
}

enum kc_status reads_look(const struct invocation *call, bool *are_counted, struct kc_error *err)
{
        const char *counted = find_counted(call);
        const struct option_spec *option = find_option_for_reads(call);
        char name[OPTION_NAME_NBYTES];
        *are_counted = counted != NULL;
        if (counted == NULL)
                return KC_OK;
        if (call->noperands > 1)
                return kc_fail(err, KC_EUSAGE,
                               "%s is a .kc file: report takes one .kc file alone, or reads; "
                               "'kcount merge' adds .kc files up, and 'kcount add' adds reads to "
                               "one",
                               counted);
        if (option != NULL)
                return kc_fail(err, KC_EUSAGE,
                               "%s is a .kc file, whose k-mers are counted already: %s is only for "
                               "reads",
                               counted, option_name(option, name));
        return KC_OK;
}

enum kc_status reads_check_k(const struct option_numbers *ks, const char *path,
                             const struct kc_store_info *counted, struct kc_error *err)
{
        if (ks->n > 1)
                return kc_fail(err, KC_EUSAGE,
                               "a report is about one k; 'kcount count' takes several");
        if (ks->n == 1 && counted != NULL && ks->values[0] != (uint64_t)counted->k)
                return kc_fail(err, KC_EUSAGE,
                               "%s was counted with k = %d: leave out -k %" PRIu64
                               ", or name the reads",
                               path, counted->k, ks->values[0]);
        return KC_OK;
}

char *reads_sample(const char *input, bool are_counted)
{
        const char *slash = strrchr(input, '/');
        char *name = are_counted ? strdup(slash != NULL ? slash + 1 : input) : output_name(input);
        if (name != NULL)
                name[output_stem_length(name)] = '\0';
        return name;
}

char *reads_title(const char *const *inputs, size_t n)
{
        const char *first = kc_input_name(inputs[0]);
        char *title;
        if (n == 1)
                return strdup(first);
        return asprintf(&title, "%s and %zu more", first, n - 1) >= 0 ? title : NULL;
}

enum kc_status reads_count(struct kc_store **store, struct count_done *done,
                           const struct reads_setup *setup, struct kc_error *err)
{
        struct count_settings settings = *setup->counting;
        settings.ks = (struct option_numbers){ .n = 1,
                                               .ntimes = 1,
                                               .values = { (uint64_t)reads_k(&settings) } };
        settings.other_files = setup->outputs;
        settings.nother_files = setup->noutputs;
        assert(setup->noutputs <= COUNT_MAX_OTHER_FILES);
        return count_temporary(&settings, setup->inputs, setup->ninputs, store, done, err);
}
