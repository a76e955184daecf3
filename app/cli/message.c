#include "app/cli/message.h"

#include "app/cli/utf8.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ESCAPE_NBYTES = 8 }; /* "\u202e" and its NUL, at least */

/* Append the character, or the byte, at s as it is shown. Returns its length in s. */
static int show(const char *s, char **to)
{
        const unsigned char *bytes = (const unsigned char *)s;
        const int n = utf8_length(bytes);
        const uint32_t c = n > 0 ? utf8_character(bytes, n) : *bytes;
        if (n > 0 && (c == '\t' || !utf8_is_obeyed(c)))
                *to = mempcpy(*to, s, (size_t)n);
        else if (c == '\n' || c == '\r')
                *to = stpcpy(*to, c == '\n' ? "\\n" : "\\r");
        else
                *to += snprintf(*to, ESCAPE_NBYTES, n > 1 ? "\\u%04" PRIx32 : "\\x%02" PRIx32, c);
        return n > 0 ? n : 1;
}

static size_t count_line_ends(const char *text)
{
        size_t n = 0;
        while ((text = strchr(text, '\n')) != NULL) {
                text++;
                n++;
        }
        return n;
}

enum line_ends { KEEP_LINE_ENDS, KEEP_FINAL_LINE_END, KEEP_NO_LINE_END };

static char *show_all(const char *text, enum line_ends ends)
{
        char *shown = malloc(strlen(text) * ESCAPE_NBYTES + 1), *to = shown;
        if (shown == NULL)
                return NULL;
        while (*text != '\0') {
                if (*text == '\n' &&
                    (ends == KEEP_LINE_ENDS || (ends == KEEP_FINAL_LINE_END && text[1] == '\0')))
                        *to++ = *text++;
                else
                        text += show(text, &to);
        }
        *to = '\0';
        return shown;
}

static enum line_ends choose_line_ends(const char *text, const char *format)
{
        const size_t length = strlen(format);
        if (count_line_ends(text) == count_line_ends(format))
                return KEEP_LINE_ENDS;
        return length > 0 && format[length - 1] == '\n' ? KEEP_FINAL_LINE_END : KEEP_NO_LINE_END;
}

char *message_format(const char *format, va_list args)
{
        char *text;
        if (vasprintf(&text, format, args) < 0)
                return NULL;
        char *shown = show_all(text, choose_line_ends(text, format));
        free(text);
        return shown;
}

/* No byte beyond the last may be taken for a part of a character. */
char *message_show(const char *bytes, size_t n, char *to)
{
        for (size_t i = 0; i < n;) {
                char character[5] = { 0 };
                memcpy(character, bytes + i, n - i < 4 ? n - i : 4);
                i += (size_t)show(character, &to);
        }
        return to;
}

/* ---- standard error ---- */

/* Guards `end` and what is written with it. The stream's own lock would do, but thread sanitizers
 * do not know it. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* What is at the end of what was written. */
static enum { A_LINE_END, A_STATUS, PART_OF_A_LINE } end;

/* If the terminal is gone, the work goes on. */
static ssize_t put(const char *text)
{
        return write(STDERR_FILENO, text, strlen(text));
}

static void clear_status(void)
{
        if (end == A_STATUS && put("\r\033[K") > 0)
                end = A_LINE_END;
}

void message_show_status(const char *text)
{
        char line[512];
        pthread_mutex_lock(&lock);
        if (*text == '\0') {
                clear_status();
        } else if (end != PART_OF_A_LINE) {
                snprintf(line, sizeof line, "\r%s\033[K", text);
                if (put(line) > 0)
                        end = A_STATUS;
        }
        pthread_mutex_unlock(&lock);
}

void message_print(const char *format, ...)
{
        va_list args;
        va_start(args, format);
        char *text = message_format(format, args);
        va_end(args);
        fputs(text != NULL ? text : "kcount: out of memory\n", stderr);
        free(text);
}

/* Write n bytes, which may be a library's, to standard error, in place of the status. */
static ssize_t write_shown(void *cookie, const char *bytes, size_t n)
{
        (void)cookie;
        char *text = strndup(bytes, n),
             *shown = text != NULL ? show_all(text, KEEP_LINE_ENDS) : NULL;
        pthread_mutex_lock(&lock);
        clear_status();
        const ssize_t written = shown != NULL ? put(shown) : -1;
        if (written > 0)
                end = shown[strlen(shown) - 1] == '\n' ? A_LINE_END : PART_OF_A_LINE;
        pthread_mutex_unlock(&lock);
        free(shown);
        free(text);
        return written < 0 ? 0 : (ssize_t)n;
}

void message_guard_libraries(void)
{
        FILE *guarded = fopencookie(NULL, "w", (cookie_io_functions_t){ .write = write_shown });
        if (guarded == NULL)
                return;
        setvbuf(guarded, NULL, _IONBF, 0);
        stderr = guarded;
}
