#include "app/library/references.h"

#include "app/library/same_file.h"

#include <fcntl.h>
#include <htslib/hts.h>
#include <htslib/kstring.h>
#include <htslib/sam.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Check the reference of each sequence that the header names. */
static enum kc_status check_header(sam_hdr_t *header, const char *const *outputs, size_t noutputs,
                                   struct kc_error *err)
{
        static const char scheme[] = "file:";
        kstring_t place = KS_INITIALIZE;
        enum kc_status status = KC_OK;
        const int n = sam_hdr_count_lines(header, "SQ");
        for (int i = 0; i < n && status == KC_OK; i++) {
                if (sam_hdr_find_tag_pos(header, "SQ", i, "UR", &place) != 0)
                        continue;
                const bool has_scheme = strncmp(place.s, scheme, sizeof scheme - 1) == 0;
                const char *path = place.s + (has_scheme ? sizeof scheme - 1 : 0);
                status = kc_output_check_files(outputs, noutputs, &path, 1, err);
        }
        free(place.s);
        return status;
}

/* fd: an input, at its beginning. htslib opens it by its descriptor, because it takes some names
 * for URLs. */
static enum kc_status check_cram(int fd, const char *const *outputs, size_t noutputs,
                                 struct kc_error *err)
{
        enum kc_status status = KC_OK;
        char path[32];
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        htsFile *file = hts_open(path, "r");
        sam_hdr_t *header = file != NULL ? sam_hdr_read(file) : NULL;
        if (header != NULL)
                status = check_header(header, outputs, noutputs, err);
        sam_hdr_destroy(header);
        if (file != NULL)
                hts_close(file);
        return status;
}

/* The descriptor of a regular file that begins as CRAM files do; otherwise -1. */
static int open_cram(const char *input)
{
        static const char mark[] = { 'C', 'R', 'A', 'M' };
        char head[sizeof mark];
        struct stat st;
        if (stat(input, &st) != 0 || !S_ISREG(st.st_mode)) /* opening a pipe would wait */
                return -1;
        const int fd = open(input, O_RDONLY | O_CLOEXEC);
        if (fd < 0 || (pread(fd, head, sizeof head, 0) == (ssize_t)sizeof head &&
                       memcmp(head, mark, sizeof mark) == 0))
                return fd;
        close(fd);
        return -1;
}

/* If no output exists yet, none can be a reference, and no input needs to be opened. */
static bool some_exist(const char *const *outputs, size_t noutputs)
{
        for (size_t i = 0; i < noutputs; i++)
                if (access(outputs[i], F_OK) == 0)
                        return true;
        return false;
}

enum kc_status kc_references_check(const char *const *outputs, size_t noutputs,
                                   const char *const *inputs, size_t ninputs, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        if (!some_exist(outputs, noutputs))
                return KC_OK;
        for (size_t i = 0; i < ninputs && status == KC_OK; i++) {
                const int fd =
                        open_cram(strcmp(inputs[i], "-") == 0 ? "/proc/self/fd/0" : inputs[i]);
                if (fd < 0)
                        continue;
                const enum htsLogLevel level = hts_get_log_level();
                hts_set_log_level(HTS_LOG_OFF);
                status = check_cram(fd, outputs, noutputs, err);
                hts_set_log_level(level);
                close(fd);
        }
        return status;
}
