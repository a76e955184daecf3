#include "app/filter/held.h"

#include "base/temp_file.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct held held_begin(const char *folder, size_t room)
{
        return (struct held){ .folder = folder, .room = room, .fd = -1 };
}

void held_free(struct held *held)
{
        free(held->memory);
        if (held->fd >= 0)
                close(held->fd);
}

static enum kc_status spill(struct held *held, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        if (held->fd < 0)
                KC_TRY(kc_temp_file_open(held->folder, &held->fd, err));
        KC_TRY(kc_temp_file_write(held->folder, held->fd, held->memory, held->used, held->nbytes,
                                  err));
        held->nbytes += held->used;
        held->spilled_nbytes += held->used;
        held->used = 0;
out:
        return status;
}

enum kc_status held_append(struct held *held, const char *text, size_t nbytes, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        if (held->memory == NULL && (held->memory = malloc(held->room)) == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory for a long record");
        while (nbytes > 0) {
                if (held->used == held->room)
                        KC_TRY(spill(held, err));
                const size_t left = held->room - held->used;
                const size_t n = nbytes < left ? nbytes : left;
                memcpy(held->memory + held->used, text, n);
                held->used += n;
                text += n;
                nbytes -= n;
        }
out:
        return status;
}

void held_forget(struct held *held)
{
        kc_temp_file_punch(held->fd, 0, held->nbytes);
        held->used = 0;
        held->nbytes = 0;
}

/* The text in the file comes first, and the memory is needed to read it: so the text in memory goes
 * to the end of the file. */
static enum kc_status release_file(struct held *held, filter_take *take, void *ctx,
                                   struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(spill(held, err));
        for (uint64_t at = 0; at < held->nbytes;) {
                const uint64_t left = held->nbytes - at;
                const size_t n = left < held->room ? (size_t)left : held->room;
                KC_TRY(kc_temp_file_read(held->folder, held->fd, held->memory, n, at, err));
                KC_TRY(take(ctx, held->memory, n, err));
                kc_temp_file_punch(held->fd, at, n);
                at += n;
        }
        held->nbytes = 0;
out:
        return status;
}

enum kc_status held_release(struct held *held, filter_take *take, void *ctx, struct kc_error *err)
{
        if (held->nbytes > 0)
                return release_file(held, take, ctx, err);
        const size_t used = held->used;
        held->used = 0;
        return used > 0 ? take(ctx, held->memory, used, err) : KC_OK;
}
