#include "app/report/svg/drawings.h"
#include "app/report/svg/svg.h"

#include <stdio.h>
#include <string.h>

/* How much of text makes a line of at most this many bytes, with the blank after it. */
static size_t measure_line(const char *text, size_t most)
{
        size_t n = strlen(text);
        if (n <= most)
                return n;
        for (n = most; n > 0 && text[n] != ' ';)
                n--;
        return n > 0 ? n + 1 : most;
}

void drawing_put_words(struct text_out *out, const char *title, const char *words)
{
        enum { MOST = 88, LINE = 22 };
        char line[MOST + 2];
        double y = 22;
        for (const char *rest = words; *rest != '\0'; rest += measure_line(rest, MOST))
                y += LINE;
        svg_begin(out, 640, y, title, words);
        svg_text(out, 0, 14, "strong", title);
        y = 14;
        for (const char *rest = words; *rest != '\0'; rest += measure_line(rest, MOST)) {
                snprintf(line, sizeof line, "%.*s", (int)measure_line(rest, MOST), rest);
                svg_text(out, 0, y += LINE, "axis", line);
        }
        svg_end(out);
}
