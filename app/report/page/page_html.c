#include "app/report/page/page_html.h"

#include "app/report/page/html.h"
#include "app/report/page/page_json.h"
#include "app/report/page/panels.h"

#include <string.h>

extern const char page_template[]; /* made by scripts/cmake/Page.cmake */

static void put_link(struct text_out *out, const char *id, const char *name)
{
        text_out_printf(out, "<a href=\"#%s\">%s</a>", id, name);
}

static void put_navigation(struct text_out *out, const struct page *page)
{
        text_out_puts(out, "<nav class=\"top\" aria-label=\"Panels\"><div class=\"page\">"
                           "<b>kcount report</b><div class=\"links\">");
        put_link(out, "spectrum", "Spectrum");
        if (page->ncandidates > 0)
                put_link(out, "ploidy", "Ploidy");
        if (page->gc.ncolumns > 0)
                put_link(out, "gc", "GC and depth");
        if (page->nassemblies > 0) {
                put_link(out, "copies", "Copies");
                if (page->nassemblies > 1)
                        put_link(out, "holders", "By assembly");
                put_link(out, "quality", "Quality");
                put_link(out, "sequences", "Sequences");
        }
        put_link(out, "provenance", "Provenance");
        text_out_puts(out, "</div><button type=\"button\" id=\"theme\" "
                           "aria-label=\"Colours: as set in the system\">Auto</button>"
                           "</div></nav>\n");
}

static void put_title(struct text_out *out, const struct page *page)
{
        html_text(out, page->sample);
        text_out_puts(out, ": kcount report");
}

static void put_body(struct text_out *out, const struct page *page)
{
        put_navigation(out, page);
        text_out_puts(out, "<main id=\"results\" class=\"page\">\n");
        panels_put_head(out, page);
        panels_put_verdict(out, page);
        panels_put_caveats(out, page);
        panels_put_spectrum(out, page);
        panels_put_ploidy(out, page);
        panels_put_gc(out, page);
        panels_put_copies(out, page);
        panels_put_holders(out, page);
        panels_put_quality(out, page);
        panels_put_sequences(out, page);
        panels_put_provenance(out, page);
        text_out_puts(out, "</main>\n");
}

static void put_json(struct text_out *out, const struct page *page)
{
        struct json json = { .out = out, .is_in_page = true };
        page_put_json(&json, page);
}

void page_put_html(struct text_out *out, const struct page *page)
{
        static const struct {
                const char *name;
                void (*put)(struct text_out *out, const struct page *page);
        } places[] = { { "@@TITLE@@", put_title },
                       { "@@BODY@@", put_body },
                       { "@@JSON@@", put_json } };
        const char *rest = page_template;
        for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
                const char *place = strstr(rest, places[i].name);
                text_out_write(out, rest, (size_t)(place - rest));
                places[i].put(out, page);
                rest = place + strlen(places[i].name);
        }
        text_out_puts(out, rest);
}
