#!/usr/bin/env python3
"""
Make docs/benchmarks.md and its plots, docs/benchmarks*.svg, from the raw lines in bench/results/,
and docs/dev/papers-results.md and docs/dev/papers/*.svg from those of bench/tables.py.
"""
import html
import json
import pathlib

import report_gpu
import report_gunzip
import report_human
import report_memory
import report_multi
import report_ranks
import report_reader
import report_tables
from report_counts import (against_lines, by_wall, in_order, is_scaling, machine_line, median,
                           memory_lines, sections, short_table, title)
from report_gpu import load_lines
from report_prose import BENCHMARKS, MEASURED, QUESTIONS, STAGES

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results"
COLOURS = {"kcount cuda": "#9b1d33", "kcount slab": "#b5485b", "reader": "#edae49",
           "kcount": "#d1495b", "kmc": "#30638e", "kmc -r": "#6b9ac4", "jellyfish": "#8d9f87",
           "gerbil": "#b08ea2", "FastK": "#c9a66b", "yak": "#7a7a7a"}

def load():
    """{(label, reads, k, threads, machine): {tool: [records]}}, in the order of the page."""
    groups = {}
    for path in sorted(RESULTS.glob("*.jsonl")):
        for record in map(json.loads, path.read_text().splitlines()):
            if record.get("exit") != 0:
                continue
            key = (record["label"], record["reads"], record["k"], record["threads"],
                   record["machine"]["cpu"])
            groups.setdefault(key, {}).setdefault(record["tool"], []).append(record)
    return in_order(groups)


def stages_section(records):
    """Nanoseconds per base of every stage, each on one thread; the slowest in bold."""
    if not records:
        return []
    names = list(records[0]["ns_per_base"])
    lines = [STAGES, "| reads | k | " + " | ".join(names) + " | all |",
             "|---|---:|" + "---:|" * (len(names) + 1)]
    for record in records:
        stages = record["ns_per_base"]
        slowest = max(stages.values())
        cells = [f"**{ns:.2f}**" if ns == slowest else f"{ns:.2f}" for ns in stages.values()]
        lines.append(f"| {record['reads']} | {record['k']} | {' | '.join(cells)} "
                     f"| {sum(stages.values()):.2f} |")
    return [*lines, "", machine_line(records), ""]


def page(groups):
    inflated = [record for path in sorted(RESULTS.glob("gunzip*.jsonl"))
                for record in load_lines(path)]
    human = load_lines(RESULTS / "human.jsonl")
    questions = QUESTIONS.replace("- [How much", f"{report_human.LINK}- [How much") if human \
        else QUESTIONS
    lines = [BENCHMARKS, *short_table(groups), questions, *sections(groups)]
    lines += report_human.section(human)
    lines += ["## How much memory", "", *memory_lines(groups)]
    lines += report_memory.section(load_lines(RESULTS / "memory.jsonl"))
    lines += against_lines(groups)
    lines += ["![wall times](benchmarks.svg)", ""]
    lines += report_gunzip.section(inflated)
    lines += report_reader.section(load_lines(RESULTS / "gpu-reader.jsonl"))
    lines += stages_section(load_lines(RESULTS / "stages.jsonl"))
    lines += report_gpu.stages_section(load_lines(RESULTS / "gpu-stages.jsonl"))
    lines += report_gpu.timeline_section(load_lines(RESULTS / "gpu-timeline.jsonl"))
    lines += report_multi.section(load_lines(RESULTS / "multi.jsonl"))
    lines += report_ranks.section(load_lines(RESULTS / "ranks.jsonl"))
    return "\n".join([*lines, MEASURED])


def bar(x, y, width, tool, seconds):
    return [f'<text x="{x - 6}" y="{y + 12}" text-anchor="end">{html.escape(tool)}</text>',
            f'<rect x="{x}" y="{y}" width="{width:.1f}" height="15" fill="{COLOURS.get(tool, "#999")}"/>',
            f'<text x="{x + width + 5:.1f}" y="{y + 12}">{seconds:.1f} s</text>']


def plot(groups):
    """A panel of bars for each setting except those by threads, all on one scale of seconds."""
    left, width, line = 120, 560, 20
    longest = max(median(records, "wall") for tools in groups.values() for records in tools.values())
    body, y = [], 10
    for key, tools in groups.items():
        if is_scaling(key):
            continue
        body.append(f'<text x="10" y="{y + 14}" font-weight="bold">{html.escape(title(key))}</text>')
        y += line + 2
        for tool, records in by_wall(tools):
            wall = median(records, "wall")
            body += bar(left, y, max(wall / longest * width, 1), tool, wall)
            y += line
        y += line // 2
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 80}" height="{y}" '
                      'font-family="sans-serif" font-size="12">',
                      '<rect width="100%" height="100%" fill="white"/>', *body, "</svg>", ""])


def write(docs):
    """Write the pages and plots into a folder."""
    groups = load()
    if not groups:
        raise SystemExit("no results in bench/results; run bench/compare.py first")
    (docs / "benchmarks.md").write_text(page(groups))
    (docs / "benchmarks.svg").write_text(plot(groups))
    stages = load_lines(RESULTS / "gpu-stages.jsonl")
    timelines = load_lines(RESULTS / "gpu-timeline.jsonl")
    if stages:
        (docs / "benchmarks-gpu.svg").write_text(report_gpu.plot_stages(stages))
    if timelines:
        (docs / "benchmarks-timeline.svg").write_text(report_gpu.plot_timelines(timelines))
    report_tables.write(load_lines(RESULTS / "tables.jsonl"),
                        load_lines(RESULTS / "tables-public.jsonl"), docs / "dev")


if __name__ == "__main__":
    write(ROOT / "docs")
