#include "app/count/only.h"

#include "app/library/same_file.h"

#include <string.h>

enum kc_status only_check(const struct count *count, struct kc_error *err)
{
        const char *only = count->settings->only, *files[COUNT_MAX_FILES];
        const size_t nfiles = count_list_files(count, files);
        enum kc_status status = KC_OK;
        if (only == NULL)
                return KC_OK;
        for (size_t i = 0; i < count->ninputs && strcmp(only, "-") == 0; i++)
                if (strcmp(count->inputs[i], "-") == 0)
                        return kc_fail(err, KC_EUSAGE,
                                       "standard input cannot be both reads and --only");
        if (strcmp(only, "-") == 0 && count->ranks != NULL)
                return kc_fail(err, KC_EUSAGE,
                               "--only cannot read standard input if there are several processes: "
                               "each of them reads the file");
        KC_TRY(kc_output_check_operands(files, nfiles, &only, 1, err));
        KC_TRY(kc_output_check_files(files, nfiles, &only, 1, err));
out:
        return status;
}

enum kc_status only_check_added(const struct count *count, struct kc_error *err)
{
        const struct kc_store_writer *writer = count->outputs[0].counted->writer;
        if (!count_adds(count))
                return KC_OK;
        const uint64_t own = kc_counter_storing(&count->counter, 0).only_checksum;
        if (kc_store_writer_only_checksum(writer) == own)
                return KC_OK;
        return kc_fail(err, KC_EUSAGE,
                       own == 0 ? "%s was counted with --only; give it again, with the same file"
                                : "%s was not counted with --only and these k-mers",
                       count->outputs[0].path);
}
