#include "app/report/page/html.h"

#include <stdio.h>
#include <string.h>

static const char *find_entity(char c)
{
        return c == '&'    ? "&amp;"
               : c == '<'  ? "&lt;"
               : c == '>'  ? "&gt;"
               : c == '"'  ? "&quot;"
               : c == '\'' ? "&#39;"
                           : NULL;
}

void html_text(struct text_out *out, const char *text)
{
        while (*text != '\0') {
                const size_t n = strcspn(text, "&<>\"' ");
                if (n > 0)
                        text_out_printf(out, "%.*s", (int)n, text);
                text += n;
                if (*text == ' ') /* no line ends within "5 %" */
                        text_out_puts(out, text[1] == '%' ? "&nbsp;" : " ");
                else if (*text != '\0')
                        text_out_puts(out, find_entity(*text));
                text += *text != '\0';
        }
}

void html_element(struct text_out *out, const char *tag, const char *text)
{
        text_out_printf(out, "<%s>", tag);
        html_text(out, text);
        text_out_printf(out, "</%s>", tag);
}

void html_chip(struct text_out *out, enum page_level level, const char *word)
{
        static const struct {
                const char *name, *word, *shape;
        } levels[] = {
                [PAGE_GOOD] = { "good", "Good", "<circle cx=\"5\" cy=\"5\" r=\"4.5\"/>" },
                [PAGE_CHECK] = { "check", "Check", "<path d=\"M5 .6 9.8 9.4H.2Z\"/>" },
                [PAGE_PROBLEM] = { "problem", "Problem", "<path d=\"M.8.8h8.4v8.4H.8Z\"/>" },
        };
        text_out_printf(out,
                        "<span class=\"chip %s\"><svg viewBox=\"0 0 10 10\" aria-hidden=\"true\">",
                        levels[level].name);
        text_out_puts(out, levels[level].shape);
        text_out_printf(out, "</svg>%s</span>", word != NULL ? word : levels[level].word);
}

void html_begin_panel(struct text_out *out, const char *id, const char *name, const char *title,
                      const char *lead)
{
        text_out_printf(out,
                        "\n<section class=\"panel\" id=\"%s\" aria-labelledby=\"%s-title\">"
                        "<p class=\"kicker\">%s</p><h2 id=\"%s-title\">",
                        id, id, name, id);
        html_text(out, title);
        text_out_puts(out, "</h2><p class=\"lead\">");
        text_out_puts(out, lead);
        text_out_puts(out, "</p>\n");
}

void html_end_panel(struct text_out *out)
{
        text_out_puts(out, "</section>\n");
}

void html_radios(struct text_out *out, const char *name, const char *legend,
                 const struct html_choice *choices)
{
        text_out_printf(out, "<fieldset class=\"radios\"><legend>%s</legend>", legend);
        for (int i = 0; choices[i].value != NULL; i++) {
                text_out_printf(out,
                                "<input type=\"radio\" name=\"%s\" id=\"%s-%s\" value=\"%s\"%s>"
                                "<label for=\"%s-%s\">",
                                name, name, choices[i].value, choices[i].value,
                                i == 0 ? " checked" : "", name, choices[i].value);
                html_text(out, choices[i].label);
                text_out_puts(out, "</label>");
        }
        text_out_puts(out, "</fieldset>");
}

void html_stack_controls(struct text_out *out, const char *name)
{
        static const struct html_choice kinds[] = { { "stacked", "Stacked" },
                                                    { "lines", "Lines" },
                                                    { 0 } };
        static const struct html_choice axes[] = { { "linear", "Linear" },
                                                   { "log", "Log" },
                                                   { 0 } };
        char kind[32], axis[32], plot[32];
        snprintf(kind, sizeof kind, "%s-kind", name);
        snprintf(axis, sizeof axis, "%s-y", name);
        snprintf(plot, sizeof plot, "%s-plot", name);
        html_radios(out, kind, "Drawing", kinds);
        html_radios(out, axis, "Vertical axis", axes);
        html_save_buttons(out, plot, plot);
}

void html_key(struct text_out *out, const char *picture, const char *part, const char *label)
{
        text_out_printf(out,
                        "<button type=\"button\" class=\"key\" data-picture=\"%s\" data-part=\"%s\""
                        " aria-pressed=\"true\"><i class=\"swatch k-%s\"></i>",
                        picture, part, part);
        html_text(out, label);
        text_out_puts(out, "</button>");
}

void html_legend(struct text_out *out, const char *part, const char *label)
{
        text_out_printf(out, "<span class=\"key\"><i class=\"swatch k-%s\"></i>", part);
        html_text(out, label);
        text_out_puts(out, "</span>");
}

void html_save_buttons(struct text_out *out, const char *picture, const char *data)
{
        text_out_printf(
                out,
                "<div class=\"save\"><button type=\"button\" data-svg=\"%s\" "
                "aria-label=\"Save the picture (%s) as SVG\">SVG</button>"
                "<button type=\"button\" data-tsv=\"%s\" "
                "aria-label=\"Save the data of the picture (%s) as TSV\">TSV</button></div>",
                picture, picture, data, data);
}

void html_data_table(struct text_out *out, const char *data)
{
        text_out_printf(out,
                        "<details class=\"data\" data-table=\"%s\"><summary>The numbers in this "
                        "picture</summary><div class=\"scroll\" tabindex=\"0\"></div></details>",
                        data);
}

void html_plot(struct text_out *out, const char *id)
{
        text_out_printf(out, "<div class=\"plot\" id=\"%s\"></div>", id);
}

void html_begin_table(struct text_out *out, const char *caption, const char *const *heads)
{
        text_out_printf(out,
                        "<div class=\"scroll\" tabindex=\"0\"><table><caption>%s</caption>"
                        "<thead><tr>",
                        caption);
        for (int i = 0; heads[i] != NULL; i++)
                text_out_printf(out, "<th scope=\"col\">%s</th>", heads[i]);
        text_out_puts(out, "</tr></thead><tbody>\n");
}

void html_end_table(struct text_out *out)
{
        text_out_puts(out, "</tbody></table></div>\n");
}

void html_begin_row(struct text_out *out, const char *head, const char *note)
{
        text_out_puts(out, "<tr><th scope=\"row\">");
        html_text(out, head);
        if (note != NULL) {
                text_out_puts(out, "<small>");
                html_text(out, note);
                text_out_puts(out, "</small>");
        }
        text_out_puts(out, "</th>");
}

void html_cell(struct text_out *out, const char *text)
{
        text_out_puts(out, "<td>");
        html_text(out, text);
        text_out_puts(out, "</td>");
}

void html_end_row(struct text_out *out)
{
        text_out_puts(out, "</tr>\n");
}
