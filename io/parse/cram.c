#include "io/parse/cram.h"

#include <htslib/cram.h>
#include <htslib/hfile.h>
#include <htslib/kstring.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_sound(cram_fd *fd, cram_container *container)
{
        bool sound = true;
        for (int32_t i = cram_container_get_num_blocks(container); i > 0 && sound; i--) {
                cram_block *block = cram_read_block(fd);
                sound = block != NULL && cram_uncompress_block(block) == 0;
                if (block != NULL)
                        cram_free_block(block);
        }
        return sound;
}

/* htslib has read the first container, which holds the header. */
static uint64_t walk(cram_fd *fd, const struct kc_input *in)
{
        for (;;) {
                uint64_t at = (uint64_t)htell(cram_fd_get_fp(fd)) - in->base;
                cram_container *container = at < in->size ? cram_read_container(fd) : NULL;
                bool sound = container != NULL && is_sound(fd, container);
                if (container != NULL)
                        cram_free_container(container);
                if (!sound)
                        return at;
        }
}

void kc_cram_find_damage(const struct kc_input *in, uint64_t *offset)
{
        char path[64];
        *offset = 0;
        /* a new open file description, with its own position */
        snprintf(path, sizeof path, "/proc/self/fd/%d", in->fd);
        hFILE *stream = hopen(path, "r");
        if (stream == NULL)
                return;
        htsFile *file = hseek(stream, (off_t)in->base, SEEK_SET) < 0
                                ? NULL
                                : hts_hopen(stream, in->name, "r");
        if (file == NULL) {
                hclose_abruptly(stream);
                return;
        }
        *offset = walk(file->fp.cram, in);
        hts_close(file);
}

enum kc_status kc_cram_stay_local(htsFile *file, struct kc_error *err)
{
        sam_hdr_t *header = cram_fd_get_header(file->fp.cram);
        kstring_t place = KS_INITIALIZE;
        enum kc_status status = KC_OK;
        int n = sam_hdr_count_lines(header, "SQ");
        for (int i = 0; i < n && status == KC_OK; i++) {
                const char *name = sam_hdr_line_name(header, "SQ", i);
                if (name == NULL || sam_hdr_find_tag_pos(header, "SQ", i, "UR", &place) != 0 ||
                    strstr(place.s, "://") == NULL || strncmp(place.s, "file:", 5) == 0)
                        continue;
                if (sam_hdr_remove_tag_id(header, "SQ", "SN", name, "UR") < 0)
                        status = kc_fail(err, KC_ENOMEM, "out of memory for reading");
        }
        free(place.s);
        return status;
}
