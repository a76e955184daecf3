"""The last section of docs/papers.md: the papers' evaluations beside ours."""
import sys

from report_figures import PICTURES, picture
from report_plots import short
from report_rows import (STATS, at_best, figure_of, grouped, harmonic_means, has_paper, last_run, linear_depths,
                         name_of, ratio, rounded_x, series_of, stat_of, structure_of)

BEGIN, END = "<!-- made by bench/report.py: begin -->", "<!-- made by bench/report.py: end -->"
FEW = 3                             # rows of a curve that are shown one by one
DATA_SHEET = {"NVIDIA H200": 4800}  # GB/s
LSM_CLEANUP_GAIN = 4.8              # section V-D of the LSM paper

NAMES = {"warpdrive": "WarpDrive", "slab": "Slab hash and SlabAlloc", "lsm": "GPU LSM",
         "linear": "The simple hash table", "hopscotch": "GLHT"}
# The structure whose least, mean and greatest rates have tables of their own, as in its paper.
SPREADS = {("lsm", "GPU LSM")}
NOTES = {
    "warpdrive": """\
Figures 7 and 8 are drawings. The paper's text has 1.4 G insertions/s at load 0.95, and "up to 3.5 to 5.5" G
retrievals/s without a load: these are put at 0.95 and at 0.4. All are held against our best group size.""",
    "slab": """\
Figures 4 to 7 are drawings; the text has peaks (4, from 19 to 60 % utilization), harmonic means over the
sizes (5b) and one rate of 7a, at about 90 %.""",
    "lsm": """\
GPU SA is the paper's sorted array: here one level, into which batches are merged. Figure 4b is a drawing.""",
    "linear": """\
The author's keys are random. If they are drawn from all of 32 bits some come again: 124 * 2^20 of them fill
0.954 of the slots, where (1 / (1 - 0.954) - 1) / 2 = 10.4 slots from home are to be expected. Ours are all
different: 0.969 of the slots, 15.5 from home.""",
    "hopscotch": """\
Figures 9 to 12 are drawings; of 11 and 12 the text has ratios. Allocation is that of the chained table's
memory on the host, and the copy: how long these take depends on the machine.""",
}
# Curves of which every so many rows are shown, as they are a table in the paper.
EVERY = {("linear", "utilization: insert"): 4}


# ---- tables ----

def is_spread(record):
    return stat_of(record) is not None and (record["paper"], structure_of(record)) in SPREADS


def cell(text):
    return str(text).replace("|", "\\|")


def table(heads, rows):
    """Columns whose head ends with : are of text."""
    return ["| " + " | ".join(cell(head.rstrip(":")) for head in heads) + " |",
            "|" + "|".join("---" if head.endswith(":") else "---:" for head in heads) + "|",
            *("| " + " | ".join(map(cell, row)) + " |" for row in rows), ""]


def million(rate):
    return f"{rate * 1e-6:.0f}" if rate >= 1e8 else f"{rate * 1e-6:.3g}"


def ratio_text(value):
    text = f"{value:.3f}" if 0.995 <= value < 1 else f"{value:.2f}"
    return text if value >= 1 else f"**{text}**"


def where(record):
    if record.get("x") is None:
        return ""
    return f"{record.get('x_name', 'x')} {short(record['x'])}"


def paper_cells(record):
    return [million(record["paper_ops_per_s"]), million(record["ops_per_s"]),
            f"{record['paper_ops_per_GB'] * 1e-6:.3g}", f"{record['ops_per_GB'] * 1e-6:.3g}",
            ratio_text(ratio(record))]


def every(records):
    """Some rows of a curve, evenly, and the last."""
    step = EVERY.get((records[0]["paper"], records[0]["figure"]))
    shown = records[::step] if step else []
    return shown if not shown or shown[-1] is records[-1] else [*shown, records[-1]]


def yes_or_no(is_so):
    return "yes" if is_so else "**no**"


def paper_table(records):
    """Rows one by one, long curves by their lowest ratio; then those below the paper that this left out."""
    rows, below = [], []
    for (figure, name), mine in grouped(records, figure_of, series_of).items():
        worst = min(mine, key=ratio)
        misses = [record for record in mine if ratio(record) < 1]
        rows += [[figure, name, where(record), *paper_cells(record), yes_or_no(ratio(record) >= 1)]
                 for record in (mine if len(mine) <= FEW else every(mine))]
        if len(mine) <= FEW:
            continue
        reached = f"{len(mine) - len(misses)} of {len(mine)}"
        rows.append([figure, name, f"lowest of {len(mine)}: {where(worst)}", *paper_cells(worst),
                     f"**{reached}**" if misses else reached])
        below += misses if len(misses) > 1 else []
    heads = ["figure:", "of:", "at:", "paper M/s", "here M/s", "paper per GB/s", "here per GB/s", "ratio"]
    lines = table([*heads, "at or above"], rows) if rows else []
    if below:
        lines += ["All rows of these curves that are below the paper's:", "",
                  *table(heads, [[record["figure"], series_of(record), where(record), *paper_cells(record)]
                                 for record in below])]
    return lines


def three(rows, tell):
    """Of the rows of one batch size, {stat: row}."""
    return " / ".join(tell(rows[stat]) for stat in STATS if stat in rows)


def spread_cells(rows):
    return [three(rows, lambda row: million(row["paper_ops_per_s"])),
            three(rows, lambda row: million(row["ops_per_s"])),
            three(rows, lambda row: f"{row['paper_ops_per_GB'] * 1e-6:.3g}"),
            three(rows, lambda row: f"{row['ops_per_GB'] * 1e-6:.3g}"),
            three(rows, lambda row: ratio_text(ratio(row)))]


def spread_tables(records):
    """As the LSM paper has them: for each batch size the least, the mean and the greatest rate."""
    lines = []
    for (figure, name), mine in grouped(records, figure_of, name_of).items():
        rows = [[short(x), *spread_cells({stat_of(record): record for record in same})]
                for (x,), same in grouped(mine, lambda record: record["x"]).items()]
        lines += [f"{figure}, {name}: min / mean / max", "",
                  *table([mine[0].get("x_name", "x"), "paper M/s", "here M/s", "paper per GB/s", "here per GB/s",
                          "ratio"], rows)]
    return lines


def target_groups(records):
    """[(quickest row, how many variants reach the target, of how many)]."""
    groups = grouped([record for record in records if "target_ops_per_s" in record], figure_of, rounded_x)
    return [(max(mine, key=lambda record: record["ops_per_s"]),
             sum(record["ops_per_s"] >= record["target_ops_per_s"] for record in mine), len(mine))
            for mine in groups.values()]


def target_table(records):
    rows = []
    for best, reached, n in target_groups(records):
        share = best["ops_per_s"] / best["target_ops_per_s"]
        rows.append([best["figure"], where(best), name_of(best), million(best["ops_per_s"]),
                     million(best["target_ops_per_s"]), ratio_text(share), yes_or_no(share >= 1),
                     f"{reached} of {n}"])
    return table(["target:", "at:", "quickest variant:", "here M/s", "target M/s", "of it", "reached",
                  "variants that reach it"], rows) if rows else []


def depth_table(records):
    rows = [[record["figure"], f"{record['x']:.2f}", f"{record['paper_value']:g}",
             f"{record['value']:.0f}" if record["value"] >= 1e4 else f"{record['value']:.4g}",
             yes_or_no(record["value"] <= record["paper_value"])]
            for record in records if record["paper_value"] is not None]
    return table(["slots from home:", "utilization", "paper", "here", "no more"], rows) if rows else []


def cleanup_line(records):
    """V-D's last row: lookups with a cleanup before them, in the rate of those without."""
    lookups = {record["series"]: record for record in records if record["figure"] == "V-D: lookup"}
    cleanup = [record for record in records if record["figure"] == "V-D: cleanup"]
    before, after = (lookups.get(f"{when} cleanup") for when in ("before", "after"))
    if before is None or after is None or not cleanup:
        return []
    gain = before["median_ms"] / (after["median_ms"] + cleanup[-1]["median_ms"])
    text = f"{gain:.1f}" if gain >= LSM_CLEANUP_GAIN else f"**{gain:.1f}**"
    return [f"V-D, {name_of(cleanup[-1])}: a cleanup and {short(after['n'])} lookups are {text} times as quick as "
            f"those lookups without it (the paper: {LSM_CLEANUP_GAIN}).", ""]


def relative_cell(record):
    """Ours, and from where to where the paper's is."""
    low, high, ours = record["paper_ratio_from"], record["paper_ratio_to"], f"{record['ratio']:.3g}"
    theirs = f"{low:g}" if low == high else f"{low:g} to {high:g}"
    return f"{ours if record['ratio'] >= low else f'**{ours}**'} ({theirs})"


def relative_table(records):
    """GLHT's rate in those of others, as its paper tells it: a column for each of them."""
    shown = [record for record in records if "paper_ratio_from" in record]
    if not shown:
        return []
    others = [name for (name,) in grouped(shown, series_of)]
    rows = []
    for (figure, x), mine in grouped(shown, figure_of, lambda record: record["x"]).items():
        cells = {series_of(record): relative_cell(record) for record in mine}
        rows.append([figure, short(x), *(cells.get(name, "") for name in others)])
    return ["The rate of one in that of the other: here (the paper)", "",
            *table(["figure:", shown[0].get("x_name", "x"), *others], rows)]


def rebuilt_table(records):
    """Tables in which a key found no room."""
    rows = [[record["figure"], series_of(record), where(record), record["rebuilds"], f"{record.get('load', 0):g}"]
            for record in records if record.get("rebuilds")]
    return ["Built anew, as a key found no room; the time is that of all attempts:", "",
            *table(["figure:", "of:", "at:", "times", "load in the end"], rows)] if rows else []


def other_table(records, drawn):
    """What is neither drawn nor held against anything."""
    rest = [record for record in records if "ops_per_s" in record and record["figure"] not in drawn
            and not has_paper(record) and "target_ops_per_s" not in record]
    rows = []
    for mine in grouped(rest, figure_of, rounded_x).values():
        best = max(mine, key=lambda record: record["ops_per_s"])
        rows.append([best["figure"], where(best), name_of(best), million(best["ops_per_s"]),
                     f"{best['ops_per_GB'] * 1e-6:.3g}"])
    return ["Measured besides, the quickest variant of each:", "",
            *table(["what:", "at:", "variant:", "here M/s", "here per GB/s"], rows)] if rows else []


PUBLIC_RATES = {"insert": "insert", "find": "find", "find_missing": "find missing", "count": "count",
                "count_8": "count, L = 8", "count_1024": "count, L = 1024", "range_8": "range, L = 8",
                "range_1024": "range, L = 1024"}


def public_table(records):
    """Others' code, the authors' among it, on a device like ours."""
    if not records:
        return []
    shown = [(name, head) for name, head in PUBLIC_RATES.items()
            if any(f"{name}_ops_per_s" in record for record in records)]
    rows = [[record["table"], short(record["n"]), record.get("load") or "",
             *(million(record[f"{name}_ops_per_s"]) if f"{name}_ops_per_s" in record else "" for name, _ in shown)]
            for record in records]
    return [f"Public code on an {records[0]['gpu']}, in a run of its own (M/s; n keys, operations or elements):", "",
            *table(["code:", "n", "load", *(head for _, head in shown)], rows)]


# ---- the section ----

def about_line(records):
    about, theirs = records[-1], next((row for row in records if "paper_gpu" in row), None)
    sheet = DATA_SHEET.get(about["gpu"])
    copied = next((row["bandwidth_GBps"] for row in records if "bandwidth_GBps" in row), 0)
    line = f"{len(records)} rows; {about['gpu']}, a copy at {copied:.0f} GB/s"
    line += f" (data sheet: {sheet}; by that the ratios would be {copied / sheet:.2f} of these)" if sheet else ""
    line += f"; the paper's {theirs['paper_gpu']}: {theirs['paper_bandwidth_GBps']:g} GB/s" if theirs else ""
    return f"{line}. Commit {about.get('commit', '')}, {about.get('date', '')}; `{about.get('command', '')}`."


def paper_lines(paper, records, public):
    pictures = [spec for spec in PICTURES if spec.paper == paper]
    drawn = {figure for spec in pictures for part in spec.parts for figure in part.figures}
    shown = [record for record in at_best(records) if has_paper(record)]
    lines = [f"### {NAMES.get(paper, paper)}", "", about_line(records), ""]
    lines += [NOTES[paper], ""] if paper in NOTES else []
    lines += target_table(records)
    lines += paper_table([*harmonic_means(records), *(record for record in shown if not is_spread(record))])
    lines += spread_tables([record for record in shown if is_spread(record)])
    lines += cleanup_line(records) + relative_table(records) + rebuilt_table(records)
    if paper == "linear":
        lines += depth_table(linear_depths(records))
    lines += other_table(records, drawn) + public_table(public)
    for spec in pictures:
        lines += [f"![{spec.title}](papers/{paper}-{spec.name}.svg)", ""]
    return lines


def summary(papers):
    rows = []
    for paper, records in papers.items():
        shown = [record for record in at_best(records) if has_paper(record)]
        targets = target_groups(records)
        rows.append([NAMES.get(paper, paper),
                     f"{sum(ratio(record) >= 1 for record in shown)} of {len(shown)}" if shown else "no rates given",
                     f"{sum(reached > 0 for _, reached, _ in targets)} of {len(targets)}" if targets else ""])
    return table(["paper:", "rows at or above the paper's", "targets reached"], rows)


HEADER = """\
## Side by side

Made by `bench/report.py` from the rows in [bench/results/tables.jsonl](../bench/results/tables.jsonl), which
`bench/tables.py` wrote; every row has its command, machine and commit. A rate is a median of several runs, by
CUDA events, in millions of operations a second. *per GB/s* is the rate divided by the bandwidth of the device's
memory, so that devices of different years can be compared: ours is that of a copy measured in the same run, the
paper's that of its data sheet. *ratio* is ours by the paper's, both per GB/s. **Bold** is what falls short: a
ratio below 1, a target that is not reached. Of a curve of more than three rows the one with the lowest ratio
stands for all; all its rows below the paper's follow. A target is reached if one variant (a layout, a group
size) reaches it. Where a paper has only a drawing no figure of the paper's is given: the plot shows ours alone.
In plots, solid is ours; hollow marks, dashed, are what the paper's tables or text say.

To repeat it, on a machine with a device: `ninja -C build bench_tables`, then `bench/tables.py -- -n 5` (or
`--papers lsm,slab`), which appends to the rows, and `bench/report.py`, which makes this section and its plots anew
from the last run of each paper. Runs at reduced size (`-s`) are kept, and not shown.
"""


def header(papers):
    return [HEADER, *summary(papers)]


def by_paper(records):
    """{paper: rows of its last run}, in the order of NAMES."""
    papers = grouped(records, lambda record: record["paper"])
    order = [*NAMES, *(paper for (paper,) in papers if paper not in NAMES)]
    runs = {paper: last_run(papers.get((paper,), [])) for paper in order}
    return {paper: rows for paper, rows in runs.items() if rows}


def replace_section(text, lines):
    """The page with what is between the marks made anew; at its end where there are none."""
    before, _, rest = text.partition(BEGIN)
    after = rest.partition(END)[2] or "\n"
    return "\n".join([before.rstrip("\n"), "", BEGIN, "", *lines, END]) + after


def write(records, public, docs):
    """Write docs/papers/*.svg and the section of docs/papers.md; says on stderr what has no rows.
    public: rows of bench/results/tables-public.jsonl."""
    papers = by_paper(records)
    if not papers:
        return
    lines = header(papers)
    (docs / "papers").mkdir(exist_ok=True)
    for paper, rows in papers.items():
        lines += paper_lines(paper, rows, [record for record in public if record["paper"] == paper])
    for spec in PICTURES:
        rows = papers.get(spec.paper, [])
        drawn = picture(rows + linear_depths(rows), spec)
        if drawn is None:
            print(f"no rows for {spec.paper}-{spec.name}.svg", file=sys.stderr)
            continue
        (docs / "papers" / f"{spec.paper}-{spec.name}.svg").write_text(drawn)
    page_path = docs / "papers.md"
    page_path.write_text(replace_section(page_path.read_text(), lines))
