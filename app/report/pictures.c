#include "app/report/pictures.h"

#include "app/report/svg/drawings.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct picture {
        const char *name;
        void (*put)(struct text_out *out, const struct page *page);
        size_t nassemblies; /* at least */
        bool of_sequences;
};

static const struct picture all[PICTURES_MOST] = {
        { "spectrum", drawing_put_spectrum, 0, false },
        { "spectrum-log", drawing_put_log_spectrum, 0, false },
        { "ploidy", drawing_put_ploidy, 0, false },
        { "gc", drawing_put_gc, 0, false },
        { "copies", drawing_put_copies, 1, false },
        { "copies-1", drawing_put_first_copies, 2, false },
        { "copies-2", drawing_put_second_copies, 2, false },
        { "holders", drawing_put_holders, 2, false },
        { "sequences", drawing_put_sequences, 1, true },
};

static enum kc_status make_folder(struct pictures *pictures, struct kc_error *err)
{
        struct stat found;
        pictures->made_folder = mkdir(pictures->folder, 0777) == 0;
        if (pictures->made_folder)
                return KC_OK;
        if (errno != EEXIST)
                return kc_fail(err, KC_EIO, "cannot make the folder %s: %s", pictures->folder,
                               strerror(errno));
        if (stat(pictures->folder, &found) == 0 && !S_ISDIR(found.st_mode))
                return kc_fail(err, KC_EUSAGE, "%s is a file, not a folder for pictures",
                               pictures->folder);
        return KC_OK;
}

enum kc_status pictures_add(struct pictures *pictures, struct files *files, const char *folder,
                            size_t nassemblies, bool has_sequences, struct kc_error *err)
{
        enum kc_status status;
        pictures->folder = folder;
        KC_TRY(make_folder(pictures, err));
        for (size_t i = 0; i < PICTURES_MOST; i++) {
                const struct picture *picture = &all[i];
                if (nassemblies >= picture->nassemblies &&
                    (has_sequences || !picture->of_sequences))
                        KC_TRY(files_add(files, &pictures->outs[i], err, "%s/%s.svg", folder,
                                         picture->name));
        }
out:
        return status;
}

void pictures_put(const struct pictures *pictures, const struct page *page)
{
        for (size_t i = 0; i < PICTURES_MOST; i++) {
                if (pictures->outs[i] == NULL)
                        continue;
                if (page->spectrum.n > 0)
                        all[i].put(pictures->outs[i], page);
                else
                        drawing_put_words(pictures->outs[i], "No picture",
                                          "The reads have no k-mers.");
        }
}

void pictures_close(const struct pictures *pictures)
{
        if (pictures->made_folder)
                (void)rmdir(pictures->folder); /* fails, as it should, if files are in it */
}
