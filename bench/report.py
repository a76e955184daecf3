#!/usr/bin/env python3
"""
Make docs/benchmarks.md, docs/dev/measurements.md and their pictures from the raw lines in
bench/results/, docs/dev/papers-results.md and docs/dev/papers/*.svg from those of bench/tables.py,
and the marked regions of README.md.

    bench/report.py [--missing]

--missing lists what bench/all.py has not measured yet, and makes nothing. Such rows and sections
are left out of the page. A table whose rows are of two commits is refused.
"""
import argparse

import plan
import report_gpu
import report_gunzip
import report_lookups
import report_multi
import report_page
import report_ranks
import report_reader
import report_tables
import report_targets
from report_prose import MEASUREMENTS, STAGES
from report_text import machine_line
from runs import RESULTS, ROOT, load_lines


def named(name):
    return load_lines(RESULTS / f"{name}.jsonl")


def load():
    """The rows of bench/all.py."""
    return [row for kind in plan.KINDS for row in named(kind)]


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


def measurements(rows):
    """docs/dev/measurements.md."""
    inflated = [record for path in sorted(RESULTS.glob("gunzip*.jsonl"))
                for record in load_lines(path)]
    return "\n".join([
        MEASUREMENTS, *report_page.behind(rows), *report_gunzip.section(inflated),
        *report_reader.section(named("gpu-reader")), *stages_section(named("stages")),
        *report_gpu.stages_section(named("gpu-stages")),
        *report_lookups.section(named("gpu-lookups")),
        *report_gpu.timeline_section(named("gpu-timeline")), *report_multi.section(named("multi")),
        *report_ranks.section(named("ranks"))])


def pictures(rows):
    """{path in docs/: picture}; those without lines are left out."""
    made = {}
    if report_page.first_rows(report_page.shown(rows)):
        made[report_page.PICTURE] = report_page.picture(rows)
    for name, draw in (("gpu-stages", report_gpu.plot_stages),
                       ("gpu-timeline", report_gpu.plot_timelines)):
        if named(name):
            made[f"dev/{name}.svg"] = draw(named(name))
    return made


def write(docs):
    """Write the pages and pictures into a folder."""
    rows = load()
    (docs / "dev").mkdir(exist_ok=True)
    targets = report_targets.section(report_page.shown(rows), named("gpu-stages"), named("ranks"))
    (docs / "benchmarks.md").write_text(report_page.page(rows, targets))
    (docs / "dev/measurements.md").write_text(measurements(rows))
    for path, picture in pictures(rows).items():
        (docs / path).write_text(picture)
    report_tables.write(named("tables"), named("tables-public"), named("multi"),
                        docs / "dev")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--missing", action="store_true", help="list what is not measured yet")
    if parser.parse_args().missing:
        print("\n".join(report_page.missing(load())))
        return
    write(ROOT / "docs")
    readme = ROOT / "README.md"
    readme.write_text(report_page.filled(readme.read_text(), report_page.regions(load())))


if __name__ == "__main__":
    main()
