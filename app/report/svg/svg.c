#include "app/report/svg/svg.h"

#include "app/cli/utf8.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MARGIN = 20 };

/* ---- text ---- */

/* NULL: the character stands for itself. Names may have what XML must not. */
static const char *find_entity(uint32_t c)
{
        return c == '&'                      ? "&amp;"
               : c == '<'                    ? "&lt;"
               : c == '>'                    ? "&gt;"
               : c == '"'                    ? "&quot;"
               : (c | 1) == UINT32_C(0xffff) ? "\xef\xbf\xbd"
                                             : NULL;
}

static void put_text(struct text_out *out, const char *text)
{
        const unsigned char *s = (const unsigned char *)text;
        while (*s != '\0') {
                const int length = utf8_length(s), n = length > 0 ? length : 1;
                const char *entity = length > 0 ? find_entity(utf8_character(s, n)) : NULL;
                if (entity != NULL)
                        text_out_puts(out, entity);
                else
                        text_out_printf(out, "%.*s", n, (const char *)s);
                s += n;
        }
}

/* Like "%.1f", without a zero at the end. */
static void put_number(struct text_out *out, double value)
{
        char text[400];
        const size_t n = (size_t)snprintf(text, sizeof text, "%.1f", value);
        if (text[n - 1] == '0')
                text[n - 2] = '\0';
        text_out_puts(out, strcmp(text, "-0") == 0 ? "0" : text);
}

static void put_attribute(struct text_out *out, const char *name, double value)
{
        text_out_printf(out, " %s=\"", name);
        put_number(out, value);
        text_out_puts(out, "\"");
}

static void put_class(struct text_out *out, const char *name)
{
        text_out_printf(out, " class=\"%s\"", name);
}

double svg_measure(const char *text)
{
        const double of_character = 7.4; /* 13 px, sans-serif */
        double width = 0;
        for (; *text != '\0'; text++)
                width += (*text & 0xc0) == 0x80 ? 0 : of_character;
        return width;
}

/* ---- the file ---- */

void svg_begin(struct text_out *out, double width, double height, const char *title,
               const char *description)
{
        const double w = width + 2 * MARGIN, h = height + 2 * MARGIN;
        text_out_puts(out, "<svg xmlns=\"http://www.w3.org/2000/svg\"");
        put_attribute(out, "width", w);
        put_attribute(out, "height", h);
        text_out_printf(out,
                        " viewBox=\"0 0 %.0f %.0f\" role=\"img\" "
                        "aria-labelledby=\"title description\">\n<title id=\"title\">",
                        w, h);
        put_text(out, title);
        text_out_puts(out, "</title>\n<desc id=\"description\">");
        put_text(out, description);
        text_out_puts(out, "</desc>\n<style>\n");
        text_out_puts(out, svg_style);
        text_out_puts(out, "</style>\n");
        svg_rect(out, 0, 0, w, h, "sheet");
        svg_move_begin(out, MARGIN, MARGIN);
}

void svg_end(struct text_out *out)
{
        svg_group_end(out);
        text_out_puts(out, "</svg>\n");
}

/* ---- shapes ---- */

void svg_text(struct text_out *out, double x, double y, const char *name, const char *text)
{
        text_out_puts(out, "<text");
        put_attribute(out, "x", x);
        put_attribute(out, "y", y);
        put_class(out, name);
        text_out_puts(out, ">");
        put_text(out, text);
        text_out_puts(out, "</text>\n");
}

void svg_line(struct text_out *out, double x1, double y1, double x2, double y2, const char *name)
{
        text_out_puts(out, "<line");
        put_attribute(out, "x1", x1);
        put_attribute(out, "y1", y1);
        put_attribute(out, "x2", x2);
        put_attribute(out, "y2", y2);
        put_class(out, name);
        text_out_puts(out, "/>\n");
}

void svg_round_rect(struct text_out *out, double x, double y, double width, double height,
                    double radius, const char *name)
{
        text_out_puts(out, "<rect");
        put_attribute(out, "x", x);
        put_attribute(out, "y", y);
        put_attribute(out, "width", width);
        put_attribute(out, "height", height);
        if (radius > 0)
                put_attribute(out, "rx", radius);
        put_class(out, name);
        text_out_puts(out, "/>\n");
}

void svg_rect(struct text_out *out, double x, double y, double width, double height,
              const char *name)
{
        svg_round_rect(out, x, y, width, height, 0, name);
}

void svg_circle(struct text_out *out, double x, double y, double radius, const char *name)
{
        text_out_puts(out, "<circle");
        put_attribute(out, "cx", x);
        put_attribute(out, "cy", y);
        put_attribute(out, "r", radius);
        put_class(out, name);
        text_out_puts(out, "/>\n");
}

/* ---- paths ---- */

void svg_path_begin(struct text_out *out, const char *name)
{
        text_out_puts(out, "<path");
        put_class(out, name);
        text_out_puts(out, " d=\"");
}

static void put_point(struct text_out *out, const char *command, double x, double y)
{
        text_out_puts(out, command);
        put_number(out, x);
        text_out_puts(out, ",");
        put_number(out, y);
}

void svg_path_move(struct text_out *out, double x, double y)
{
        put_point(out, "M", x, y);
}

void svg_path_to(struct text_out *out, double x, double y)
{
        put_point(out, "L", x, y);
}

void svg_path_close(struct text_out *out)
{
        text_out_puts(out, "Z");
}

static void put_step(struct text_out *out, const char *command, double to)
{
        text_out_puts(out, command);
        put_number(out, to);
}

void svg_path_bar(struct text_out *out, double left, double right, double bottom, double top)
{
        if (!(fabs(bottom - top) > 0.05))
                return;
        svg_path_move(out, left, bottom);
        put_step(out, "V", top);
        put_step(out, "H", right);
        put_step(out, "V", bottom);
        svg_path_close(out);
}

void svg_path_end(struct text_out *out)
{
        text_out_puts(out, "\"/>\n");
}

/* ---- groups ---- */

void svg_clip_begin(struct text_out *out, double x, double y, double width, double height)
{
        text_out_puts(out, "<clipPath id=\"clip\">\n");
        svg_rect(out, x, y, width, height, "clip");
        text_out_puts(out, "</clipPath>\n<g clip-path=\"url(#clip)\">\n");
}

void svg_move_begin(struct text_out *out, double x, double y)
{
        text_out_puts(out, "<g transform=\"translate(");
        put_number(out, x);
        text_out_puts(out, " ");
        put_number(out, y);
        text_out_puts(out, ")\">\n");
}

void svg_group_end(struct text_out *out)
{
        text_out_puts(out, "</g>\n");
}
