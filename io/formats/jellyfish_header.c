#include "io/formats/jellyfish_header.h"

#include <math.h>
#include <string.h>

/* Skip a string; at: its opening quote. */
static const char *skip_string(const char *at)
{
        for (at++; *at != '\0' && *at != '"'; at++)
                if (*at == '\\' && at[1] != '\0')
                        at++;
        return *at == '"' ? at + 1 : at;
}

static const char *skip_blanks(const char *at)
{
        return at + strspn(at, " \n\t");
}

const char *kc_jellyfish_member(const char *json, const char *name)
{
        const size_t length = strlen(name);
        int depth = 0;
        for (const char *at = json; *at != '\0';) {
                if (*at == '"') {
                        const char *end = skip_string(at), *after = skip_blanks(end);
                        if (depth == 1 && *after == ':' && (size_t)(end - at) == length + 2 &&
                            memcmp(at + 1, name, length) == 0)
                                return skip_blanks(after + 1);
                        at = end;
                        continue;
                }
                depth += (*at == '{') + (*at == '[') - (*at == '}') - (*at == ']');
                if (depth <= 0)
                        return NULL;
                at++;
        }
        return NULL;
}

/* Parse digits, and move *at past them; false if there are none. */
static bool parse_number(const char **at, uint64_t *number)
{
        const char *begin = *at;
        uint64_t n = 0;
        for (; **at >= '0' && **at <= '9'; ++*at)
                if (__builtin_mul_overflow(n, 10, &n) ||
                    __builtin_add_overflow(n, (uint64_t)(**at - '0'), &n))
                        n = UINT64_MAX;
        *number = n;
        return *at > begin;
}

bool kc_jellyfish_number(const char *json, const char *name, uint64_t *number)
{
        const char *at = kc_jellyfish_member(json, name);
        *number = 0;
        return at != NULL && parse_number(&at, number);
}

/* ---- the hash function ---- */

/* Read n numbers in brackets. */
static bool read_columns(const char *at, uint64_t *columns, int n)
{
        for (int i = 0; i < n; i++) {
                if (*at != (i == 0 ? '[' : ','))
                        return false;
                at = skip_blanks(at + 1);
                if (!parse_number(&at, &columns[i]))
                        return false;
                at = skip_blanks(at);
        }
        return *at == ']';
}

bool kc_jellyfish_read_hash(struct kc_jellyfish_hash *hash, const char *json, int k)
{
        const char *matrix = kc_jellyfish_member(json, "matrix1");
        uint64_t nrows, ncolumns;
        if (matrix == NULL || !kc_jellyfish_number(matrix, "r", &nrows) || nrows < 1 ||
            nrows > 64 || !kc_jellyfish_number(matrix, "c", &ncolumns) ||
            ncolumns != 2 * (uint64_t)k)
                return false;
        hash->nrows = (int)nrows;
        const char *columns = kc_jellyfish_member(matrix, "columns"); /* none: the identity */
        if (columns == NULL || !read_columns(columns, hash->columns, 2 * k))
                return false;
        for (int i = 0; i < 2 * k; i++)
                if (__builtin_popcountll(hash->columns[i]) > 1)
                        return true;
        return false;
}

double kc_jellyfish_place(const struct kc_jellyfish_hash *hash, const uint64_t *kmer, int k)
{
        uint64_t product = 0;
        for (int bit = 0; bit < 2 * k; bit++)
                if (kmer[bit / 64] >> bit % 64 & 1)
                        product ^= hash->columns[2 * k - 1 - bit];
        return ldexp((double)product + 1, -hash->nrows);
}
