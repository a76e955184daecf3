#include "app/filter/verdicts.h"

#include <string.h>

/* A value is a byte of these marks and, if the reads of a name are pooled, a struct pool. */
enum { NOTED = 1, PASSED = 2, FAILED = 4, FOUND = 8 };

struct pool {
        uint64_t nwindows, nvalid, nfound;
};

static bool has_pool(const struct verdicts *verdicts)
{
        return verdicts->judge->pairs == JUDGE_POOLED;
}

struct verdicts verdicts_begin(const struct judge *judge, uint64_t most_nbytes)
{
        struct verdicts verdicts = { .judge = judge, .names = { .most_nbytes = most_nbytes } };
        verdicts.names.value_nbytes = 1 + (has_pool(&verdicts) ? sizeof(struct pool) : 0);
        return verdicts;
}

void verdicts_free(struct verdicts *verdicts)
{
        names_free(&verdicts->names);
}

static struct judge_group load(const struct verdicts *verdicts, const char *value)
{
        struct judge_group group = JUDGE_NO_READS;
        group.has_passed = *value & PASSED;
        group.has_failed = *value & FAILED;
        if (has_pool(verdicts)) {
                struct pool pool;
                memcpy(&pool, value + 1, sizeof pool);
                group.pooled.nwindows = pool.nwindows;
                group.pooled.nvalid = pool.nvalid;
                group.pooled.nfound = pool.nfound;
        }
        return group;
}

static void store(const struct verdicts *verdicts, char *value, const struct judge_group *group)
{
        *value |= (char)((group->has_passed ? PASSED : 0) | (group->has_failed ? FAILED : 0));
        if (has_pool(verdicts)) {
                const struct pool pool = { group->pooled.nwindows, group->pooled.nvalid,
                                           group->pooled.nfound };
                memcpy(value + 1, &pool, sizeof pool);
        }
}

enum kc_status verdicts_note(struct verdicts *verdicts, const char *name, size_t nbytes,
                             bool *is_new, bool *fits, struct kc_error *err)
{
        void *value;
        const enum kc_status status = names_add(&verdicts->names, name, nbytes, &value, err);
        char *marks = value;
        *fits = marks != NULL;
        *is_new = *fits && (*marks & NOTED) == 0;
        if (*fits)
                *marks |= NOTED;
        return status;
}

enum kc_status verdicts_add(struct verdicts *verdicts, const char *name, size_t nbytes,
                            const struct kc_ask_summary *read, bool *fits, struct kc_error *err)
{
        void *value;
        const enum kc_status status = names_add(&verdicts->names, name, nbytes, &value, err);
        *fits = value != NULL;
        if (*fits && read != NULL) {
                struct judge_group group = load(verdicts, value);
                judge_add(verdicts->judge, &group, read);
                store(verdicts, value, &group);
        }
        return status;
}

bool verdicts_find(struct verdicts *verdicts, const char *name, size_t nbytes, bool *kept,
                   bool *is_first)
{
        char *value = names_find(&verdicts->names, name, nbytes);
        if (value == NULL)
                return false;
        const struct judge_group group = load(verdicts, value);
        *kept = judge_keeps_group(verdicts->judge, &group);
        *is_first = (*value & FOUND) == 0;
        *value |= FOUND;
        return true;
}
