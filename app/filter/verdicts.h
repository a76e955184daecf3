/*
 * What is known about the reads of each name, in memory that is bounded.
 */
#ifndef APP_FILTER_VERDICTS_H
#define APP_FILTER_VERDICTS_H

#include "app/filter/judge.h"
#include "app/filter/names.h"

#include <stdbool.h>

struct verdicts {
        const struct judge *judge;
        struct names names;
};

/* Free it with verdicts_free. */
struct verdicts verdicts_begin(const struct judge *judge, uint64_t most_nbytes);
void verdicts_free(struct verdicts *verdicts);

/* Note a name. *is_new: it was not there before; *fits: there was room for it. KC_ENOMEM if there
 * is less memory than allowed. */
enum kc_status verdicts_note(struct verdicts *verdicts, const char *name, size_t nbytes,
                             bool *is_new, bool *fits, struct kc_error *err);

/* Add a name and, unless read is NULL, a read of that name to what is known about it. *fits and
 * KC_ENOMEM as for verdicts_note. */
enum kc_status verdicts_add(struct verdicts *verdicts, const char *name, size_t nbytes,
                            const struct kc_ask_summary *read, bool *fits, struct kc_error *err);

/* Find out whether the reads of the name are kept. *is_first: this name was not asked for before.
 * Returns false if the name is not there. */
bool verdicts_find(struct verdicts *verdicts, const char *name, size_t nbytes, bool *kept,
                   bool *is_first);

#endif
