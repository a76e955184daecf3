"""Plots of curves as SVG: panels on one page, readable on light and on dark pages."""
import collections
import html
import math

WIDTH, HEIGHT = 340, 240            # of a panel's axes
LEFT, RIGHT, TOP, BOTTOM = 70, 22, 34, 46  # around them
LINE = 18                           # of text

# Page, ink, softer ink and grid of light and of dark pages, then the curves' colours.
LIGHT = ("#ffffff", "#1f2328", "#59636e", "#e3e6ea", "#0b62b8", "#c8501e", "#1a7f4b", "#a03b8f",
         "#9a6b00", "#2b8ca3", "#d0344b", "#6e7781")
DARK = ("#0d1117", "#e6edf3", "#9198a1", "#2a3038", "#58a6ff", "#f0883e", "#56d364", "#db8fd0",
        "#e3b341", "#5fd0e6", "#ff7b86", "#a5adb6")
NCOLOURS = len(LIGHT) - 4


def colours_of(theme):
    """Classes for each colour: s strokes, f and h are full and hollow marks, b is a band."""
    page_colour, text, soft, grid, *curves = theme
    rules = [f".page {{ fill: {page_colour}; }} text {{ fill: {text}; }} .soft {{ fill: {soft}; }}",
             f".grid {{ stroke: {grid}; }} .axis {{ stroke: {soft}; }}"]
    for name, colour in (("ink", text), *enumerate(curves)):
        rules.append(f".s{name} {{ stroke: {colour}; }} "
                     f".f{name} {{ stroke: {colour}; fill: {colour}; }} "
                     f".h{name} {{ stroke: {colour}; fill: {page_colour}; }} "
                     f".b{name} {{ fill: {colour}; }}")
    return "\n".join(rules)


STYLE = f"""<style>
{colours_of(LIGHT)}
@media (prefers-color-scheme: dark) {{
{colours_of(DARK)}
}}
.axis, .curve, .paper {{ fill: none; }} .curve {{ stroke-width: 2; }} .mark {{ stroke-width: 1.4; }}
.paper {{ stroke-width: 1.6; stroke-dasharray: 5 4; }} .band {{ fill-opacity: 0.15; }}
</style>"""

# A line of a plot. points: [(x, y)], in the order in which they are joined; colour: a number, or
# None for the ink of the text; paper: a line of the paper's, dashed with hollow marks; band:
# [(x, low, high)] around it, in the order of x.
Curve = collections.namedtuple("Curve", "points colour paper band", defaults=(False, ()))
Axis = collections.namedtuple("Axis", "title log", defaults=(False,))
Panel = collections.namedtuple("Panel", "title x y curves")


def short(value):
    """A number in few characters: 2^22, 50K, 1.5M, 0.25."""
    if value >= 1024 and abs(math.log2(value) - round(math.log2(value))) < 1e-5:
        return f"2^{round(math.log2(value))}"
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "K")):
        if value >= max(size, 1e4):
            return f"{value / size:.3g}{letter}"
    return f"{value:.4g}"


def decades(low, high):
    """1, 2 and 5 times powers of ten; only the powers if the axis is long."""
    steps = (1,) if math.log10(high / low) > 2.5 else (1, 2, 5)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    return [step * 10.0**power for power in powers for step in steps
            if low * 0.999 <= step * 10.0**power <= high * 1.001]


def even(low, high):
    """At most seven round numbers."""
    span = high - low or 1
    power = 10.0**math.floor(math.log10(span / 6))
    step = next(power * factor for factor in (1, 2, 5, 10) if span / (power * factor) <= 6)
    first = math.ceil(low / step - 1e-9)
    return [step * i for i in range(first, math.floor(high / step + 1e-9) + 1)]


def limits(values, axis, from_zero):
    """The ends of the axis, with a margin."""
    low, high = min(values), max(values)
    if axis.log:
        return low / 1.15, high * 1.15
    margin = (high - low) * 0.05 or high * 0.05 or 1
    return 0 if from_zero else low - margin, high + margin


class Scale:
    """Maps values of an axis to a panel's pixels."""

    def __init__(self, axis, values, begin, end, from_zero=False):
        self.axis = axis
        self.low, self.high = limits(values, axis, from_zero)
        self.begin, self.end = begin, end

    def __call__(self, value):
        low, high = self.low, self.high
        if self.axis.log:
            low, high, value = math.log(low), math.log(high), math.log(max(value, low * 1e-3))
        return self.begin + (value - low) / (high - low) * (self.end - self.begin)

    def ticks(self):
        return (decades if self.axis.log else even)(self.low, self.high)


def axes(panel, x, y):
    body = [f'<text x="{x.begin}" y="{y.end - 14}" '
            f'font-weight="bold">{html.escape(panel.title)}</text>']
    for tick in y.ticks():
        body += [f'<line class="grid" x1="{x.begin}" x2="{x.end}" y1="{y(tick):.1f}" '
                 f'y2="{y(tick):.1f}"/>',
                 f'<text class="soft" x="{x.begin - 6}" y="{y(tick) + 4:.1f}" '
                 f'text-anchor="end">{short(tick)}</text>']
    for tick in x.ticks():
        body += [f'<line class="grid" x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="{y.begin}" '
                 f'y2="{y.end}"/>',
                 f'<text class="soft" x="{x(tick):.1f}" y="{y.begin + 16}" '
                 f'text-anchor="middle">{short(tick)}</text>']
    middle = (y.begin + y.end) / 2
    return [*body,
            f'<rect class="axis" x="{x.begin}" y="{y.end}" width="{WIDTH}" height="{HEIGHT}"/>',
            f'<text x="{(x.begin + x.end) / 2}" y="{y.begin + 34}" text-anchor="middle">'
            f'{html.escape(panel.x.title)}</text>',
            f'<text transform="translate({x.begin - 54} {middle}) rotate(-90)" '
            f'text-anchor="middle">{html.escape(panel.y.title)}</text>']


def ink(colour):
    return "ink" if colour is None else colour % NCOLOURS


def mark(x, y, curve):
    kind, radius = ("h", 3.4) if curve.paper else ("f", 2.8)
    name = f"mark {kind}{ink(curve.colour)}"
    return f'<circle class="{name}" cx="{x:.1f}" cy="{y:.1f}" r="{radius}"/>'


def path(spots):
    return "M" + "L".join(f"{a:.1f} {b:.1f}" for a, b in spots)


def line(spots, curve):
    name = "paper" if curve.paper else "curve"
    return f'<path class="{name} s{ink(curve.colour)}" d="{path(spots)}"/>'


def draw_curve(curve, x, y):
    """If a paper has only two points, they are not joined, because they are no curve."""
    spots = [(x(a), y(b)) for a, b in curve.points]
    body = []
    if curve.band:
        corners = [(x(a), y(high)) for a, _, high in curve.band] + \
                  [(x(a), y(low)) for a, low, _ in reversed(curve.band)]
        body.append(f'<path class="band b{ink(curve.colour)}" d="{path(corners)}Z"/>')
    if len(spots) > 2 or not curve.paper:
        body.append(line(spots, curve))
    return body + [mark(a, b, curve) for a, b in spots]


def draw_panel(panel, left, top):
    points = [point for curve in panel.curves for point in curve.points]
    heights = [b for _, b in points] + [b for curve in panel.curves for _, *both in curve.band
                                        for b in both]
    x = Scale(panel.x, [a for a, _ in points], left + LEFT, left + LEFT + WIDTH)
    y = Scale(panel.y, heights, top + TOP + HEIGHT, top + TOP, from_zero=True)
    body = axes(panel, x, y)
    for curve in sorted(panel.curves, key=lambda curve: (curve.paper, not curve.band)):
        body += draw_curve(curve, x, y)
    return body


def draw_legend(entries, top, width):
    """entries: [(name, curve without points)], in as many columns as the names allow."""
    columns = max(1, min(4, int((width - LEFT) / (44 + 7 * max(len(name) for name, _ in entries)))))
    body = []
    for i, (name, curve) in enumerate(entries):
        x, y = LEFT + i % columns * (width - LEFT) / columns, top + i // columns * LINE
        body += [line([(x, y), (x + 28, y)], curve), mark(x + 14, y, curve),
                 f'<text x="{x + 34:.0f}" y="{y + 4}">{html.escape(name)}</text>']
    return body, top + -(-len(entries) // columns) * LINE


def svg(width, height, body):
    """A whole picture, whose page and ink follow the reader's light or dark theme."""
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
                      f'width="{width}" '
                      f'height="{height}" font-family="sans-serif" font-size="12">', STYLE,
                      '<rect class="page" width="100%" height="100%"/>', *body, "</svg>", ""])


def page(title, note, panels, legend):
    """The whole picture: panels in two columns, and the legend."""
    wide, high, head = LEFT + WIDTH + RIGHT, TOP + HEIGHT + BOTTOM, 42
    columns = min(2, len(panels))
    width = columns * wide
    body = [f'<text x="12" y="20" font-size="14" font-weight="bold">{html.escape(title)}</text>',
            f'<text class="soft" x="12" y="38">{html.escape(note)}</text>']
    for i, panel in enumerate(panels):
        body += draw_panel(panel, i % columns * wide, head + i // columns * high)
    lines, bottom = draw_legend(legend, head + -(-len(panels) // columns) * high + 14, width)
    return svg(width, bottom + 6, [*body, *lines])
