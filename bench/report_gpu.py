"""The CUDA engine's part of docs/dev/measurements.md: stages on the device, and timelines of
counts."""
import html
import statistics

from report_bars import LINE, bar, heading
from report_plots import svg

LANE = 26
COLOURS = ["#d1495b", "#30638e", "#edae49", "#00798c", "#8d6a9f", "#7a9e7e", "#c9a66b", "#6b6b6b"]


def latest(records, *fields):
    """The last record of each setting, in the order in which the settings first occur."""
    found = {}
    for record in records:
        found[tuple(record.get(field) for field in fields)] = record
    return list(found.values())


# ---- stages ----

def stage_cells(record):
    ms = statistics.median(record["ms"])
    moved = record.get("bytes", 0)
    share = record.get("bandwidth_share")
    name = record["stage"] if not record["table"] else f"{record['stage']} ({record['table']})"
    return [name, str(record["k"] or ""), f"{record['n'] * 1e-6:.0f} M {record['unit']}",
            f"{ms:.2f}", f"{record['n'] / ms * 1e-6:.1f}", f"{moved * 1e-9:.2f}" if moved else "",
            f"{moved / ms * 1e-6:.0f}" if moved else "", f"{100 * share:.0f}%" if share else "",
            str(len(record["ms"])), record["commit"]]


def stages_lines(records):
    """One table for each device and size of genome."""
    lines = []
    settings = {(record["gpu"], record["genome"], record["reads"]) for record in records}
    for gpu, genome, nreads in sorted(settings):
        mine = [record for record in records if (record["gpu"], record["genome"], record["reads"])
                == (gpu, genome, nreads)]
        mine = latest(mine, "stage", "table", "k")
        lines += [f"### {gpu}: {genome / 2**20:.0f} Mi bases of genome, "
                  f"{nreads * 1e-6:.1f} M reads", "",
                  "| stage | k | of | ms | G/s | GB | GB/s | of a copy | runs | commit |",
                  "|---|---:|---:|---:|---:|---:|---:|---:|---:|---|"]
        lines += [f"| {' | '.join(stage_cells(record))} |" for record in mine]
        about = mine[-1]
        lines += ["", f"{about['date']}; `{about['command']}`.", ""]
    return lines


def stages_section(records):
    if not records:
        return []
    return ["## Stages on the device", "",
            "By `bench/gpu_stages.py`: CUDA events, medians of the runs given, after a warm-up.",
            "The reads (150 bases, 0.5 % substitutions) are packed in device memory; `count`",
            "ends with one sorted, summed run there, and `count: ...` are its parts, as the",
            "engine times them. GB is the least that must move: inputs read once and results",
            "written once. GB/s is that over the time, and the next column is its share of a",
            "copy within the device in the same run (bytes read and written). `up` and `down`",
            "cross the bus from and to pinned memory, in pieces of the size given; `encode`",
            "writes blocks of a .kc file to pinned host memory.", "",
            "![rates](gpu-stages.svg)", "", *stages_lines(records)]


# ---- the timeline ----

def lanes(intervals):
    """{stage: [(start, end)]}, in the order in which the stages start."""
    found = {}
    for stage, _, start, end in sorted(intervals, key=lambda interval: interval[2]):
        found.setdefault(stage, []).append((start, end))
    return found


def joined(spans, gap):
    """Intervals, sorted by start; those that overlap, or are less than gap apart, become one."""
    found = []
    for start, end in spans:
        if found and start - found[-1][1] < gap:
            found[-1][1] = max(found[-1][1], end)
        else:
            found.append([start, end])
    return found


def busy(spans):
    """Milliseconds in which at least one of the intervals, sorted by start, runs."""
    return sum(end - start for start, end in joined(spans, 0))


def timeline_lines(record):
    found = lanes(record["intervals"])
    end = max(end for spans in found.values() for _, end in spans)
    lines = [f"### {record['label']}: k = {record['k']}, {record['bases'] * 1e-9:.2f} Gbases, "
             f"{record['wall']:.2f} s", "",
             "| stage | intervals | busy ms | of the time | first starts at ms |",
             "|---|---:|---:|---:|---:|"]
    for stage, spans in found.items():
        lines.append(f"| {stage} | {len(spans)} | {busy(spans):.1f} | "
                     f"{100 * busy(spans) / end:.0f}% | {spans[0][0]:.1f} |")
    about = record["machine"]
    return [*lines, "", f"{about.get('gpu', 'no device')}, {about['cores']} cores; commit "
            f"{record['commit']}, {record['date']}.", ""]


def timeline_section(records):
    if not records:
        return []
    lines = ["## What overlaps", "",
             "By `bench/gpu_timeline.py`, from `kcount count --gpu-trace`: the stages of a single",
             "count, from CUDA events and, for the host's stages, its clock. Where intervals of a",
             "stage overlap, as those of several threads do, the time counts once.", "",
             "![timeline](gpu-timeline.svg)", ""]
    for record in latest(records, "label"):
        lines += timeline_lines(record)
    return lines


def ticks(end):
    """Multiples of a round step, about ten at most."""
    steps = (step * 10.0**power for power in range(7) for step in (1, 2, 5))
    step = next(step for step in steps if end / step <= 10)
    return [step * i for i in range(int(end / step) + 1)]


def draw_timeline(record, top, left, width):
    found = lanes(record["intervals"])
    end = max(end for spans in found.values() for _, end in spans)
    scale = width / end
    title = f"{record['label']}: k = {record['k']}, {record['wall']:.2f} s"
    body = [heading(top, title)]
    y = top + LANE
    for lane, (stage, spans) in enumerate(found.items()):
        colour = COLOURS[lane % len(COLOURS)]
        body.append(f'<text x="{left - 6}" y="{y + 14}" '
                    f'text-anchor="end">{html.escape(stage)}</text>')
        body += [f'<rect x="{left + start * scale:.2f}" y="{y}" '
                 f'width="{max((stop - start) * scale, 0.3):.2f}" '
                 f'height="{LANE - 6}" fill="{colour}"/>'
                 for start, stop in joined(spans, 0.5 / scale)]
        y += LANE
    for tick in ticks(end):
        x = left + tick * scale
        body += [f'<line x1="{x:.1f}" y1="{top + LANE - 4}" x2="{x:.1f}" y2="{y}" stroke="#ccc"/>',
                 f'<text x="{x:.1f}" y="{y + 14}" text-anchor="middle">{tick:g} ms</text>']
    return body, y + LANE + 8


def plot_timelines(records):
    """A panel for each timeline, with a lane for each stage."""
    left, width, y, body = 110, 760, 10, []
    for record in latest(records, "label"):
        panel, y = draw_timeline(record, y, left, width)
        body += panel
    return svg(left + width + 50, y, body)


def plot_stages(records):
    """A bar for each stage: 10^9 of its units a second."""
    shown = [record for record in latest(records, "gpu", "stage", "table", "k") if record["k"]]
    fastest = max(record["g_per_s"] for record in shown)
    left, width, y = 230, 480, 34
    body = [heading(6, f"{shown[-1]['gpu']}: 10^9 k-mers or pairs a second")]
    for record in shown:
        table = f", {record['table']}" if record["table"] else ""
        name = f"{record['stage']}{table}, k = {record['k']}"
        share = ""
        if "bandwidth_share" in record:
            share = f", {100 * record['bandwidth_share']:.0f}% of a copy"
        body += bar(left, y, record["g_per_s"] / fastest * width, name,
                    COLOURS[0] if record["stage"] == "count" else COLOURS[1],
                    f"{record['g_per_s']:.1f}{share}")
        y += LINE
    return svg(left + width + 150, y + 10, body)
