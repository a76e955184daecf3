#!/usr/bin/env python3
"""
Make docs/benchmarks.md and its plots, docs/benchmarks*.svg, from the raw lines in bench/results/, and
docs/papers-results.md and docs/papers/*.svg from those of bench/tables.py.
"""
import collections
import html
import json
import pathlib
import statistics

import report_gpu
import report_gunzip
import report_memory
import report_tables
from report_gpu import load_lines

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results"
COLOURS = {"kcount cuda": "#9b1d33", "kcount slab": "#b5485b", "reader": "#edae49", "kcount": "#d1495b", "kmc": "#30638e", "kmc -r": "#6b9ac4", "jellyfish": "#8d9f87",
           "gerbil": "#b08ea2", "FastK": "#c9a66b", "yak": "#7a7a7a"}

HEADER = """# Benchmarks

Made by `bench/report.py` from the raw runs in [bench/results/](../bench/results/), which
`bench/compare.py` wrote; every line there holds the command, the machine and the commit.
All tools keep every k-mer (`-ci1`) with counts up to 2^32-1 where they can, use the same threads
and may use the same memory. They took turns; shown are medians. CPU is user and system time; memory
is the largest resident set of a process. `kcount cuda` is `--device cuda`, `kcount` the CPU engine;
`reader` reads and parses as kcount does but counts nothing: the bound that the device cannot pass.
The GPU's tables by themselves, against the papers that they follow: [papers-results.md](papers-results.md).

The reads: `w.fq` is `simulate --genome 40M --coverage 30 --length 150 --error 0.005`, `w.fq.gz` the
same through `pigz -6`, `w.bgz.fq.gz` through `bgzip`; `r.fq` is `simulate --genome 100M --coverage 40
--length 150 --error 0.005`; `g.fq` the same with `--genome 128M` (5.1 Gbases), `g20.fq` with `--genome 512M`
(20.5 Gbases), `g.bgz.fq.gz` is `g.fq` through `bgzip`, `t.fq` has `--genome 120K` (10 MB); all of
these in a RAM disk, with the outputs; `reads.fq.gz` is `simulate --genome 15M --coverage 100` and
`usr.tar.gz` the first gigabyte of a tar of /usr, both through `pigz -6 -b 32768`, which is one deflate stream; `SRR059298.fq` is real, 100,000 Illumina reads of 72 bases from
Debian's package gasic-examples.

![wall times](benchmarks.svg)
"""


def load():
    """{(label, reads, k, threads, machine): {tool: [records]}}, in the order of the files."""
    groups = collections.OrderedDict()
    for path in sorted(RESULTS.glob("*.jsonl")):
        for record in map(json.loads, path.read_text().splitlines()):
            if record.get("exit") != 0:
                continue
            key = (record["label"], record["reads"], record["k"], record["threads"],
                   record["machine"]["cpu"])
            groups.setdefault(key, {}).setdefault(record["tool"], []).append(record)
    return groups


def median(records, *fields):
    return statistics.median(sum(record[field] for field in fields) for record in records)


def by_wall(tools):
    return sorted(tools.items(), key=lambda item: median(item[1], "wall"))


def reference(tools):
    """What the others are held against."""
    return next((name for name in ("kcount cuda", "kcount") if name in tools), None)


def title(key):
    label, reads, k, threads, _ = key
    return f"{label}: {reads}, k = {k}, {threads} threads"


def tools_table(tools):
    name = reference(tools)
    ours = tools.get(name)
    bases = ours[0]["bases"] if ours else 0
    lines = [f"| tool | wall s | against {name or ''} | Mbases/s | CPU s | memory GiB | output MB | runs |",
             "|---|---:|---:|---:|---:|---:|---:|---:|"]
    for tool, records in by_wall(tools):
        wall = median(records, "wall")
        ratio = f"{wall / median(ours, 'wall'):.2f} x" if ours else ""
        rate = f"{bases / wall * 1e-6:.0f}" if bases else ""
        version = records[-1]["version"]
        lines.append(f"| {tool} {version} | {wall:.2f} | {ratio} | {rate} "
                     f"| {median(records, 'user', 'system'):.1f} "
                     f"| {median(records, 'peak_bytes') / 2**30:.2f} "
                     f"| {median(records, 'output_bytes') / 1e6:.0f} | {len(records)} |")
    return lines


def stages_line(key, records):
    """kcount's stages: seconds, and nanoseconds a base and thread."""
    threads, bases = key[3], records[0]["bases"]
    stages = [name for name in records[0]["seconds"] if name not in ("wall", "user", "system")]
    cells = []
    for name in stages:
        seconds = statistics.median(record["seconds"][name] for record in records)
        cells.append(f"{name} {seconds:.2f} s ({seconds * threads / bases * 1e9:.2f} ns)")
    return "kcount's stages, and nanoseconds a base and thread: " + ", ".join(cells) + "."


def reader_line(tools):
    """How near the device's engine comes to the reader's rate."""
    if "kcount cuda" not in tools or "reader" not in tools:
        return []
    share = median(tools["reader"], "wall") / median(tools["kcount cuda"], "wall")
    return [f"kcount cuda reaches {100 * share:.0f}% of the reader's rate.", ""]


def device_line(tools):
    """The CUDA engine's stages: the host's view, since they overlap."""
    records = tools.get("kcount cuda")
    if not records or "partition" not in records[0]["seconds"]:
        return []
    read, count, order = (statistics.median(record["seconds"][name] for record in records)
                          for name in ("partition", "count", "order"))
    device = median(records, "device_peak_memory_bytes") / 2**30
    return [f"kcount cuda: the last base was read after {read:.2f} s, counted {count:.2f} s later, merged and "
            f"written after {order:.2f} s more; {device:.1f} GiB of device memory.", ""]


def machine_line(records):
    about = records[-1]["machine"]
    gpu = f"{about['gpu']}, " if "gpu" in about else ""
    return f"{about['cpu']}, {about['cores']} cores, {about['memory_gib']} GiB; {gpu}commit " \
           f"{records[-1]['commit']}, {records[-1]['date']}."


def stages_section(records):
    """Nanoseconds a base of every stage, each on one thread; the slowest in bold."""
    if not records:
        return []
    names = list(records[0]["ns_per_base"])
    lines = ["## Stages, ns a base on one thread", "",
             "By `bench/stages.py`. fill: read the file and inflate it; super-k-mers: find minimizers and",
             "append to bins; sort, write: put the distinct k-mers in order, encode and write them.", "",
             "| reads | k | " + " | ".join(names) + " | all |",
             "|---|---:|" + "---:|" * (len(names) + 1)]
    for record in records:
        stages = record["ns_per_base"]
        slowest = max(stages.values())
        cells = [f"**{ns:.2f}**" if ns == slowest else f"{ns:.2f}" for ns in stages.values()]
        lines.append(f"| {record['reads']} | {record['k']} | {' | '.join(cells)} "
                     f"| {sum(stages.values()):.2f} |")
    return [*lines, "", machine_line(records), ""]


def page(groups):
    lines = [HEADER]
    for key, tools in groups.items():
        lines += [f"## {title(key)}", "", *tools_table(tools), "", *reader_line(tools), *device_line(tools)]
        if "kcount" in tools:
            lines += [stages_line(key, tools["kcount"]), ""]
        lines += [machine_line(next(iter(tools.values()))), ""]
    lines += stages_section(load_lines(RESULTS / "stages.jsonl"))
    inflated = [record for path in sorted(RESULTS.glob("gunzip*.jsonl")) for record in load_lines(path)]
    lines += report_gunzip.section(inflated, machine_line)
    lines += report_memory.section(load_lines(RESULTS / "memory.jsonl"), machine_line)
    lines += report_gpu.stages_section(load_lines(RESULTS / "gpu-stages.jsonl"))
    lines += report_gpu.timeline_section(load_lines(RESULTS / "gpu-timeline.jsonl"))
    return "\n".join(lines)


def bar(x, y, width, tool, seconds):
    return [f'<text x="{x - 6}" y="{y + 12}" text-anchor="end">{html.escape(tool)}</text>',
            f'<rect x="{x}" y="{y}" width="{width:.1f}" height="15" fill="{COLOURS.get(tool, "#999")}"/>',
            f'<text x="{x + width + 5:.1f}" y="{y + 12}">{seconds:.1f} s</text>']


def plot(groups):
    """A panel of bars for each setting, all on one scale of seconds."""
    left, width, line = 90, 560, 20
    longest = max(median(records, "wall") for tools in groups.values() for records in tools.values())
    body, y = [], 10
    for key, tools in groups.items():
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
    report_tables.write(load_lines(RESULTS / "tables.jsonl"), load_lines(RESULTS / "tables-public.jsonl"), docs)


if __name__ == "__main__":
    write(ROOT / "docs")
