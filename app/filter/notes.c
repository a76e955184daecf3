#include "app/filter/notes.h"

#include <stdlib.h>
#include <string.h>

enum kc_status notes_begin_table(struct outputs *outputs, struct kc_error *err)
{
        static const char header[] = "name\twindows\tin_range\tmin\tmax\tsum\n";
        return outputs_put(outputs, OUTPUTS_TABLE, header, strlen(header), err);
}

void notes_name(struct notes *notes, const char *name, size_t nbytes)
{
        line_buffer_text(&notes->names, name, nbytes);
        line_buffer_text(&notes->names, "\n", 1);
}

void notes_row(struct notes *notes, const char *name, size_t nbytes, const struct kc_ask_summary *s)
{
        const uint64_t numbers[] = { s->nvalid, s->nfound, s->nvalid > 0 ? s->min : 0, s->max,
                                     s->sum };
        line_buffer_row(&notes->table, name, nbytes, numbers, sizeof numbers / sizeof *numbers);
}

enum kc_status notes_put(struct notes *notes, struct outputs *outputs, struct notes_totals *totals,
                         struct kc_error *err)
{
        const struct line_buffer *names = &notes->names, *table = &notes->table;
        enum kc_status status;
        if (names->status != KC_OK || table->status != KC_OK)
                return kc_fail(err, KC_ENOMEM, "out of memory for the names of reads");
        KC_TRY(outputs_put(outputs, OUTPUTS_NAMES, names->text, names->n, err));
        KC_TRY(outputs_put(outputs, OUTPUTS_TABLE, table->text, table->n, err));
        totals->nreads += notes->totals.nreads;
        totals->nkept += notes->totals.nkept;
        notes_clear(notes);
out:
        return status;
}

uint64_t notes_nbytes(const struct notes *notes)
{
        return notes->names.room + notes->table.room;
}

void notes_clear(struct notes *notes)
{
        notes->names.n = notes->table.n = 0;
        notes->totals = (struct notes_totals){ 0 };
}

void notes_free(struct notes *notes)
{
        free(notes->names.text);
        free(notes->table.text);
}
