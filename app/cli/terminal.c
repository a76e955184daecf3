#include "app/cli/terminal.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

struct terminal_size terminal_size(int fd, struct terminal_size otherwise)
{
        struct winsize size;
        if (ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0)
                return otherwise;
        return (struct terminal_size){ size.ws_col, size.ws_row };
}

bool terminal_can_redraw(int fd)
{
        const char *term = getenv("TERM");
        return term != NULL && *term != '\0' && strcmp(term, "dumb") != 0 && isatty(fd);
}

/* POSIX: the first of these that is set and not empty decides. */
bool terminal_takes_utf8(void)
{
        static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
                const char *locale = getenv(names[i]);
                if (locale == NULL || *locale == '\0')
                        continue;
                const char *charset = strchr(locale, '.');
                return charset != NULL && (strncasecmp(charset, ".UTF-8", 6) == 0 ||
                                           strncasecmp(charset, ".UTF8", 5) == 0);
        }
        return false;
}
