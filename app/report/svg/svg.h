/*
 * Shapes of SVG. Coordinates are pixels, written to a tenth; classes are those of report.css.
 */
#ifndef APP_REPORT_SVG_SVG_H
#define APP_REPORT_SVG_SVG_H

#include "app/cli/text_out.h"

extern const char svg_style[]; /* made by scripts/cmake/Style.cmake */

/* The size is that of the space within the margin. title and description are for those who cannot
 * see the picture. */
void svg_begin(struct text_out *out, double width, double height, const char *title,
               const char *description);
void svg_end(struct text_out *out);

/* Text of one line, of any bytes. name: a class or several; "middle" and "end" say which part of it
 * is at x. */
void svg_text(struct text_out *out, double x, double y, const char *name, const char *text);
void svg_line(struct text_out *out, double x1, double y1, double x2, double y2, const char *name);
void svg_rect(struct text_out *out, double x, double y, double width, double height,
              const char *name);
void svg_round_rect(struct text_out *out, double x, double y, double width, double height,
                    double radius, const char *name);
void svg_circle(struct text_out *out, double x, double y, double radius, const char *name);

/* A path, piece by piece. A path without pieces is valid and draws nothing. */
void svg_path_begin(struct text_out *out, const char *name);
void svg_path_move(struct text_out *out, double x, double y);
void svg_path_to(struct text_out *out, double x, double y);
void svg_path_close(struct text_out *out);
/* A whole rectangle, unless it is too low to be seen. */
void svg_path_bar(struct text_out *out, double left, double right, double bottom, double top);
void svg_path_end(struct text_out *out);

/* What is drawn until svg_group_end is seen only within the rectangle; once in a picture. */
void svg_clip_begin(struct text_out *out, double x, double y, double width, double height);
/* The same, moved */
void svg_move_begin(struct text_out *out, double x, double y);
void svg_group_end(struct text_out *out);

/* About as wide as text is: fonts differ. */
double svg_measure(const char *text);

#endif
