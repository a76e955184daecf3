/* Histograms as text: rows that are read ascend, and when they are printed and read again, they are
 * the same. */
#include "app/model/table.h"
#include "tests/fuzz/require.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
        struct kc_histogram_row *rows, *again;
        struct kc_error err = { 0 };
        size_t nrows, nagain, used = 0;
        char *text;
        if (table_parse((const char *)data, nbytes, "table", &rows, &nrows, &err) != KC_OK) {
                REQUIRE(err.message[0] != '\0');
                return 0;
        }
        REQUIRE(nrows > 0 && (text = malloc(nrows * 64)) != NULL);
        for (size_t i = 0; i < nrows; i++) {
                REQUIRE(rows[i].count > (i > 0 ? rows[i - 1].count : 0));
                used += (size_t)sprintf(text + used, "%" PRIu64 "\t%" PRIu64 "\n", rows[i].count,
                                        rows[i].ndistinct);
        }
        REQUIRE(table_parse(text, used, "copy", &again, &nagain, &err) == KC_OK);
        REQUIRE(nagain == nrows && memcmp(rows, again, nrows * sizeof *rows) == 0);
        free(rows);
        free(again);
        free(text);
        return 0;
}
