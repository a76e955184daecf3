"""Pictures of horizontal bars."""
import html

LINE, THICK = 20, 15                # from one bar to the next, and a bar


def heading(y, text):
    return f'<text x="10" y="{y + 14}" font-weight="bold">{html.escape(text)}</text>'


def bar(left, y, length, name, colour, text):
    """A bar, its name before it, and a text after it."""
    length = max(length, 1)
    return [f'<text x="{left - 6}" y="{y + 12}" text-anchor="end">{html.escape(name)}</text>',
            f'<rect x="{left}" y="{y}" width="{length:.1f}" height="{THICK}" fill="{colour}"/>',
            f'<text x="{left + length + 5:.1f}" y="{y + 12}">{html.escape(text)}</text>']
