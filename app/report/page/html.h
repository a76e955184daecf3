/*
 * Pieces of HTML that several panels have. Text from outside goes through html_text alone.
 */
#ifndef APP_REPORT_PAGE_HTML_H
#define APP_REPORT_PAGE_HTML_H

#include "app/cli/text_out.h"
#include "app/report/page/caveats.h"

/* Text between tags or in an attribute: escaped, and shown as message_format shows it. */
void html_text(struct text_out *out, const char *text);
/* <tag>text</tag> */
void html_element(struct text_out *out, const char *tag, const char *text);

/* A shape and a word, so that the level is not said by colour alone. NULL: the level's word. */
void html_chip(struct text_out *out, enum page_level level, const char *word);

/* A section of the page: a line above its title names it, and its title is its finding. lead is
 * HTML. */
void html_begin_panel(struct text_out *out, const char *id, const char *name, const char *title,
                      const char *lead);
void html_end_panel(struct text_out *out);

struct html_choice {
        const char *value, *label; /* text */
};

/* Radio buttons, of which the first is on; ends with one that has no value. */
void html_radios(struct text_out *out, const char *name, const char *legend,
                 const struct html_choice *choices);
/* For a picture of k-mers by count, whose place is NAME-plot: the radio buttons NAME-kind and
 * NAME-y, and the buttons that save it. */
void html_stack_controls(struct text_out *out, const char *name);
/* A button that shows or hides a part of a picture, and is its legend, too. label is text. */
void html_key(struct text_out *out, const char *picture, const char *part, const char *label);
/* The same of a part that is always shown. */
void html_legend(struct text_out *out, const char *part, const char *label);

/* The buttons that save a picture and its data, and the table of its data. */
void html_save_buttons(struct text_out *out, const char *picture, const char *data);
void html_data_table(struct text_out *out, const char *data);
void html_plot(struct text_out *out, const char *id);

/* <table>, its heads, which end with NULL, and <tbody>; caption is for those who cannot see it. */
void html_begin_table(struct text_out *out, const char *caption, const char *const *heads);
void html_end_table(struct text_out *out);
/* <tr> and its first cell; further ones are html_cell's. */
void html_begin_row(struct text_out *out, const char *head, const char *note);
void html_cell(struct text_out *out, const char *text);
void html_end_row(struct text_out *out);

#endif
