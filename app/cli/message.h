/*
 * Text for people. What it quotes (names of files, arguments, names in somebody else's .kc file)
 * may hold any byte, but the terminal must not obey it: a name could clear the screen, set the
 * clipboard, or forge a line.
 *
 * All of the program's text is formatted here: messages by message_print, reports and answers by
 * text_out_printf. JSON has escapes of its own.
 */
#ifndef APP_CLI_MESSAGE_H
#define APP_CLI_MESSAGE_H

#include <stdarg.h>
#include <stddef.h>

/*
 * Format like vasprintf, but show as text what a terminal would obey: control characters,
 * characters that change the direction of writing, and bytes that are not UTF-8 (\x1b, \u202e,
 * \xff). Tabs stay, and so do the line ends of the format. But if an argument contains a line end,
 * only a line end at the end of the format stays, so that the text is a single line.
 * The caller frees the text; NULL when out of memory.
 */
char *message_format(const char *format, va_list args) __attribute__((format(printf, 1, 0)));

/* Write n bytes as messages show an argument, to a place with room for message_shown_nbytes(n).
 * Returns the end of the text. */
static inline size_t message_shown_nbytes(size_t n)
{
        return 4 * n + 1; /* "\xff", and a NUL after the last one */
}
char *message_show(const char *bytes, size_t n, char *to);

/* Print a line on standard error. The format ends it. */
void message_print(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Show a line in the place of the one that was shown before; "" removes that. It is not a message:
 * the next message takes its place. Nothing is shown between the parts of a library's message.
 * text: ASCII, shorter than the terminal is wide. */
void message_show_status(const char *text);

/* From now on, treat what libraries print on stdio's stderr in the same way, because htslib quotes
 * names that it finds in files. Call it before starting any thread. */
void message_guard_libraries(void);

#endif
