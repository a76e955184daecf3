"""Pictures of horizontal bars."""
import html

LINE, THICK = 20, 15                # from one bar to the next, and a bar
COLOURS = {"kcount cuda": "#9b1d33", "kcount slab": "#b5485b", "kcount cuda 1G": "#b5485b",
           "reader": "#edae49", "kcount": "#d1495b", "kmc": "#30638e", "kmc -r": "#6b9ac4",
           "kmc -m4": "#6b9ac4", "jellyfish": "#8d9f87", "gerbil": "#b08ea2", "FastK": "#c9a66b",
           "yak": "#7a7a7a"}


def heading(y, text):
    return f'<text x="10" y="{y + 14}" font-weight="bold">{html.escape(text)}</text>'


def bar(left, y, length, name, colour, text):
    """A bar, its name before it, and a text after it."""
    length = max(length, 1)
    return [f'<text x="{left - 6}" y="{y + 12}" text-anchor="end">{html.escape(name)}</text>',
            f'<rect x="{left}" y="{y}" width="{length:.1f}" height="{THICK}" fill="{colour}"/>',
            f'<text x="{left + length + 5:.1f}" y="{y + 12}">{html.escape(text)}</text>']
