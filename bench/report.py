#!/usr/bin/env python3
"""
Make docs/benchmarks.md, docs/dev/measurements.md and their pictures from the raw lines in
bench/results/, docs/dev/papers-results.md and docs/dev/papers/*.svg from those of bench/tables.py,
and the marked regions of README.md.
"""
import json
import pathlib

import report_asking
import report_benchmarks
import report_front
import report_gpu
import report_gunzip
import report_human
import report_lookups
import report_memory
import report_multi
import report_ranks
import report_reader
import report_tables
from report_bars import COLOURS, LINE, bar, heading
from report_counts import (against_lines, by_wall, in_order, is_scaling, machine_line, median,
                           scaling_lines, sections, title)
from report_gpu import load_lines
from report_plots import svg
from report_prose import MEASUREMENTS, STAGES

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results"


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


def named(name):
    return load_lines(RESULTS / f"{name}.jsonl")


def measurements(groups):
    """docs/dev/measurements.md."""
    inflated = [record for path in sorted(RESULTS.glob("gunzip*.jsonl"))
                for record in load_lines(path)]
    return "\n".join([
        MEASUREMENTS, *sections(groups), *scaling_lines(groups),
        *report_human.section(named("human")),
        *report_memory.section(named("memory")), *report_asking.section(named("asking")),
        *against_lines(groups),
        "![wall times](measurements.svg)", "", *report_gunzip.section(inflated),
        *report_reader.section(named("gpu-reader")), *stages_section(named("stages")),
        *report_gpu.stages_section(named("gpu-stages")),
        *report_lookups.section(named("gpu-lookups")),
        *report_gpu.timeline_section(named("gpu-timeline")), *report_multi.section(named("multi")),
        *report_ranks.section(named("ranks"))])


def plot(groups):
    """A panel of bars for each setting except those by threads, all on one scale of seconds."""
    left, width = 120, 560
    longest = max(median(records, "wall") for tools in groups.values()
                  for records in tools.values())
    body, y = [], 10
    for key, tools in groups.items():
        if is_scaling(key):
            continue
        body.append(heading(y, title(key)))
        y += LINE + 2
        for tool, records in by_wall(tools):
            wall = median(records, "wall")
            body += bar(left, y, wall / longest * width, tool, COLOURS[tool], f"{wall:.1f} s")
            y += LINE
        y += LINE // 2
    return svg(left + width + 80, y, body)


def pictures(groups):
    """{path in docs/: picture}; those without lines are left out."""
    made = {"dev/measurements.svg": plot(groups)}
    if report_front.setting(groups):
        made[report_front.PICTURE] = report_front.picture(groups)
    for name, draw in (("gpu-stages", report_gpu.plot_stages),
                       ("gpu-timeline", report_gpu.plot_timelines)):
        if named(name):
            made[f"dev/{name}.svg"] = draw(named(name))
    return made


def write(docs):
    """Write the pages and pictures into a folder."""
    groups = load()
    if not groups:
        raise SystemExit("no results in bench/results; run bench/compare.py first")
    (docs / "dev").mkdir(exist_ok=True)
    (docs / "benchmarks.md").write_text(
        report_benchmarks.page(groups, named("human"), named("memory"), named("asking")))
    (docs / "dev/measurements.md").write_text(measurements(groups))
    for path, picture in pictures(groups).items():
        (docs / path).write_text(picture)
    report_tables.write(named("tables"), named("tables-public"), named("multi"),
                        docs / "dev")


def main():
    write(ROOT / "docs")
    readme = ROOT / "README.md"
    readme.write_text(report_front.filled(readme.read_text(),
                                          report_front.regions(load(), named("human"))))


if __name__ == "__main__":
    main()
