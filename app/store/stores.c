#include "app/store/stores.h"

#include "app/cli/advice.h"
#include "app/cli/bridge.h"
#include "app/cli/message.h"
#include "app/library/inside.h"
#include "io/input/detect.h"
#include "io/rescue.h"
#include "kmer/remedy.h"

#include <string.h>
#include <sys/stat.h>

/* Whether this is a file of reads. Otherwise, known: why it is not, if its kind is known. */
static bool holds_reads(const char *path, struct kc_error *known)
{
        struct kc_detected found = { 0 };
        struct kc_input in;
        enum kc_status status = kc_input_open(&in, path, known);
        if (status == KC_OK)
                status = kc_detect(&in, KC_ACCEPT_EMPTY, &found, known);
        kc_input_close(&in);
        return status == KC_OK && (found.bam || found.container == KC_CONTAINER_ALIGNMENTS ||
                                   found.bases_per_byte > 0);
}

/* Say what is there instead of a .kc file, if that is known. */
static enum kc_status blame(const char *path, const struct kc_error *failure, struct kc_error *err)
{
        const bool is_standard = strcmp(path, "-") == 0;
        struct kc_error known = { 0 };
        struct stat st;
        if (!is_standard && (!(failure->remedies & KC_REMEDY_COUNT) || stat(path, &st) != 0))
                return kc_fail_as(err, failure);
        if (!is_standard && S_ISDIR(st.st_mode))
                return kc_input_is_folder(path, failure->status, err);
        if (is_standard || !S_ISREG(st.st_mode))
                return kc_fail_remedy(err, failure->status, KC_REMEDY_COUNT,
                                      "%s: a .kc file cannot be read from a pipe; name the file",
                                      kc_input_name(path));
        if (st.st_size == 0)
                return kc_fail_remedy(err, failure->status, KC_REMEDY_COUNT,
                                      "%s is not a .kc file: it is empty", path);
        if (holds_reads(path, &known))
                return kc_fail_file(err, failure->status, KC_REMEDY_COUNT, path, "%s holds reads",
                                    path);
        if (known.status != KC_EINPUT || (known.remedies & KC_REMEDY_OTHER_INPUT))
                return kc_fail_as(err, failure);
        known.status = failure->status;
        if (known.remedies & KC_REMEDY_FILTER)
                known.remedies |= KC_REMEDY_COUNT;
        return kc_fail_as(err, &known);
}

static enum kc_status check_name(const char *path, struct kc_error *err)
{
        if (*path == '\0')
                return kc_fail(err, KC_EINPUT,
                               "the name of a .kc file is empty; is it an unset variable?");
        return KC_OK;
}

enum kc_status stores_open_checked(struct kc_store **store, const char *path, struct kc_error *err)
{
        struct kc_error own = { 0 };
        const enum kc_status status = check_name(path, err);
        if (status != KC_OK)
                return status;
        return kc_store_open(store, path, &own) == KC_OK ? KC_OK : blame(path, &own, err);
}

enum kc_status stores_open(struct kc_store **store, const char *path, struct kc_error *err)
{
        enum kc_status status = stores_open_checked(store, path, err);
        if (status == KC_OK)
                advice_warn(kc_store_warning(*store));
        return status;
}

enum kc_status stores_open_counts(struct kcount_counts **counts, const char *path,
                                  struct kc_error *err)
{
        struct kcount_error *error = NULL;
        struct kc_error own = { 0 };
        enum kc_status status;
        KC_TRY(check_name(path, err));
        if (bridge_check(kcount_open(counts, path, &error), &error, &own) != KC_OK)
                return blame(path, &own, err);
        bridge_warn(*counts);
out:
        return status;
}

enum kc_status stores_open_rescue(struct kc_store **store, const char *path, struct kc_error *err)
{
        struct kc_error own = { 0 };
        if (kc_store_open_rescue(store, path, &own) != KC_OK)
                return blame(path, &own, err);
        advice_warn(kc_store_warning(*store));
        return KC_OK;
}

bool stores_warn_filtered(bool lacks_dropped, const char *path)
{
        if (!lacks_dropped)
                return false;
        message_print(
                "kcount: warning: %s lacks k-mers that --min or --max dropped, so sums with it can "
                "be too low\n",
                path);
        return true;
}

void stores_warn_absent(const struct kc_store_info *info, const char *path)
{
        if (info->only_checksum != 0)
                message_print("kcount: warning: %s holds only the k-mers given with --only; all "
                              "others count as absent\n",
                              path);
        if (kc_library_describe(info).lacks_dropped)
                message_print("kcount: warning: %s lacks k-mers that --min or --max dropped; they "
                              "count as absent\n",
                              path);
}

enum kc_status stores_append(struct kc_store_writer **writer, const char *path, bool tombstones,
                             int *k, bool *stranded, struct kc_error *err)
{
        struct kc_error own = { 0 };
        if (kc_store_append(writer, path, tombstones, k, stranded, &own) != KC_OK)
                return blame(path, &own, err);
        advice_warn(kc_store_writer_warning(*writer));
        return KC_OK;
}
