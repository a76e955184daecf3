#include "app/store/sequences.h"

#include "app/cli/message.h"
#include "io/input/input.h"
#include "io/text_file.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct text {
        char *data;
        size_t length, cap;
};

struct sequences {
        const char *path;
        struct kc_text_file *file;
        const char *input;
        size_t input_length, input_position;
        struct text line, sequence;
        bool has_line; /* line has been read but not used */
        uint64_t line_number;
        char kind;               /* '>', '@', 'l' for lines, or 0: not known yet */
        struct kc_error failure; /* of a read; every later one fails in the same way */
};

enum kc_status sequences_open(struct sequences **sequences, const char *path, struct kc_error *err)
{
        struct sequences *s = calloc(1, sizeof *s);
        if (s == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        s->path = kc_input_name(path);
        enum kc_status status = kc_text_file_open(&s->file, path, err);
        if (status == KC_OK)
                *sequences = s;
        else
                free(s);
        return status;
}

static enum kc_status append(struct text *text, const char *data, size_t n, struct kc_error *err)
{
        if (text->length + n + 1 > text->cap) {
                size_t cap = 2 * (text->length + n + 64);
                char *grown = realloc(text->data, cap);
                if (grown == NULL)
                        return kc_fail(err, KC_ENOMEM, "out of memory for a sequence");
                text->data = grown;
                text->cap = cap;
        }
        memcpy(text->data + text->length, data, n);
        text->length += n;
        text->data[text->length] = '\0';
        return KC_OK;
}

/* Read the next line, without its end, into s->line; *found is false at the end of the file. */
static enum kc_status next_line(struct sequences *s, bool *found, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        *found = s->has_line;
        if (s->has_line) {
                s->has_line = false;
                return KC_OK;
        }
        s->line.length = 0;
        for (const char *end = NULL; end == NULL;) {
                if (s->input_position == s->input_length) {
                        KC_TRY(kc_text_file_read(s->file, &s->input, &s->input_length, err));
                        s->input_position = 0;
                }
                size_t left = s->input_length - s->input_position;
                if (left == 0)
                        break;
                const char *start = s->input + s->input_position;
                end = memchr(start, '\n', left);
                size_t n = end ? (size_t)(end - start) : left;
                KC_TRY(append(&s->line, start, n, err));
                s->input_position += n + (end != NULL);
                *found = true;
        }
        s->line_number += *found;
        while (s->line.length > 0 && isspace((unsigned char)s->line.data[s->line.length - 1]))
                s->line.length--;
out:
        return status;
}

static void skip_blanks(struct text *line)
{
        size_t n = 0;
        while (n < line->length && isspace((unsigned char)line->data[n]))
                n++;
        line->length -= n;
        memmove(line->data, line->data + n, line->length);
}

static enum kc_status refuse_letter(const struct sequences *s, size_t at, struct kc_error *err)
{
        const unsigned char letter = (unsigned char)s->line.data[at];
        char what[32];
        snprintf(what, sizeof what, "the byte 0x%02x", letter);
        return kc_fail(err, KC_EINPUT, "%s: line %llu is not a sequence: it contains %s", s->path,
                       (unsigned long long)s->line_number,
                       letter == ' '             ? "a space"
                       : letter == '\t'          ? "a tab"
                       : letter == '>' && at > 0 ? "'>'" KC_TEXT_INNER_HEADER
                                                 : what);
}

static enum kc_status append_letters(struct sequences *s, size_t n, struct kc_error *err)
{
        for (size_t i = 0; i < n; i++) {
                unsigned char c = (unsigned char)s->line.data[i];
                if (!isalpha(c) && c != '-' && c != '*' && c != '.')
                        return refuse_letter(s, i, err);
        }
        return append(&s->sequence, s->line.data, n, err);
}

/* Read the lines of a record up to one that begins with stop (kept for later) or the end. */
static enum kc_status read_letters(struct sequences *s, char stop, struct kc_error *err)
{
        enum kc_status status;
        for (;;) {
                bool found;
                KC_TRY(next_line(s, &found, err));
                if (!found)
                        break;
                if (s->line.length > 0 && s->line.data[0] == stop) {
                        s->has_line = true;
                        break;
                }
                KC_TRY(append_letters(s, s->line.length, err));
        }
out:
        return status;
}

/* Skip the "+" line and as many quality letters as the sequence has. */
static enum kc_status skip_qualities(struct sequences *s, struct kc_error *err)
{
        enum kc_status status;
        bool found;
        size_t length = 0;
        KC_TRY(next_line(s, &found, err));
        do {
                if (found)
                        KC_TRY(next_line(s, &found, err));
                length += found ? s->line.length : 0;
        } while (found && length < s->sequence.length);
        if (length != s->sequence.length)
                status = kc_fail(err, KC_EINPUT,
                                 "%s: line %llu: the record that ends here has %zu bases but %zu "
                                 "quality letters",
                                 s->path, (unsigned long long)s->line_number, s->sequence.length,
                                 length);
out:
        return status;
}

static size_t first_field(const struct text *line)
{
        size_t n = 0;
        while (n < line->length && line->data[n] != ' ' && line->data[n] != '\t')
                n++;
        return n;
}

static enum kc_status read_record(struct sequences *s, struct kc_error *err)
{
        enum kc_status status = KC_OK;
        if (s->kind == 'l')
                return append_letters(s, first_field(&s->line), err);
        if (s->line.data[0] != s->kind)
                return kc_fail(err, KC_EINPUT, "%s: line %llu: a record begins with '%c' here",
                               s->path, (unsigned long long)s->line_number, s->kind);
        KC_TRY(read_letters(s, s->kind == '@' ? '+' : '>', err));
        if (s->kind == '@')
                KC_TRY(skip_qualities(s, err));
out:
        return status;
}

static enum kc_status read_next(struct sequences *s, const char **text, size_t *length,
                                struct kc_error *err)
{
        enum kc_status status;
        bool found;
        *text = NULL;
        s->sequence.length = 0;
        do {
                KC_TRY(next_line(s, &found, err));
                if (!found)
                        goto out;
                if (s->kind == 0 || s->kind == 'l') /* as count does before the first header */
                        skip_blanks(&s->line);
        } while (s->line.length == 0);
        char first = s->line.data[0];
        if (s->kind == 0)
                s->kind = first == '>' || first == '@' ? first : 'l';
        KC_TRY(append(&s->sequence, "", 0, err));
        KC_TRY(read_record(s, err));
        *text = s->sequence.data;
        *length = s->sequence.length;
out:
        return status;
}

enum kc_status sequences_next(struct sequences *s, const char **text, size_t *length,
                              struct kc_error *err)
{
        if (s->failure.status == KC_OK && read_next(s, text, length, &s->failure) == KC_OK)
                return KC_OK;
        return kc_fail_as(err, &s->failure);
}

void sequences_close(struct sequences *s)
{
        if (s == NULL)
                return;
        kc_text_file_close(s->file);
        free(s->line.data);
        free(s->sequence.data);
        free(s);
}

void sequences_report_skipped(int k, uint64_t nshort, uint64_t nskipped)
{
        if (nshort)
                message_print("kcount: %" PRIu64 " sequence%s shorter than k = %d\n", nshort,
                              nshort == 1 ? " is" : "s are", k);
        if (nskipped)
                message_print("kcount: %" PRIu64 " letter%s outside ACGTU; k-mers that contain %s "
                              "were left out\n",
                              nskipped, nskipped == 1 ? "" : "s", nskipped == 1 ? "it" : "them");
}
