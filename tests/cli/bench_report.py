"""
bench/tables.py keeps what a program prints; bench/report.py makes the right tables and plots from
made-up rows; the pages in docs/ and the marked regions of README.md are what it makes from
bench/results.

    bench_report.py SOURCE
"""
import contextlib
import io
import json
import pathlib
import subprocess
import sys
import tempfile
import types
import unittest.mock
import xml.etree.ElementTree

from lib.tools import Failure, main, same_text

SOURCE = pathlib.Path(sys.argv[1]).resolve()
sys.path.insert(0, str(SOURCE / "bench"))
import asking  # noqa: E402
import compare  # noqa: E402
import gpu_stages  # noqa: E402
import report  # noqa: E402
import report_asking  # noqa: E402
import report_basis  # noqa: E402
import report_benchmarks  # noqa: E402
import report_counts  # noqa: E402
import report_front  # noqa: E402
import report_human  # noqa: E402
import report_lookups  # noqa: E402
import report_multi  # noqa: E402
import report_several  # noqa: E402
import report_tables  # noqa: E402

report_basis.DEVICES["New"] = report_basis.Device(5000, 60 * report_basis.MIB)

PUBLIC = [{"paper": "linear", "table": "another", "gpu": "New", "n": 1 << 28, "load": 0.5,
           "insert_ops_per_s": 7e9, "machine": "another run"},
          {"paper": "linear", "table": "a third", "gpu": "New", "n": 1 << 20,
           "find_ops_per_s": 5e6}]
FAKE = """#!{python}
import sys, time
paper = sys.argv[-1]
print('{{"paper": "%s", "figure": "a", "ops_per_s": 1e9, "ops_per_GB": 1e6}}' % paper, flush=True)
if paper == "hangs":
    print('{{"paper": "ha', end="", flush=True)
    time.sleep(60)
if "-J" in sys.argv:
    print('{{"paper": "compiled at the start", "figure": "a", "jit": true}}', flush=True)
sys.exit({{"fails": 1, "nothing": 77, "refused": 3}}.get(paper, 0))
"""
FAKE_KCOUNT = """#!/bin/sh
[ "$*" = "info --devices --json" ] && echo '[{"compiled": %s}, {"index": 1}]'
"""


def expect(is_so, what):
    if not is_so:
        raise Failure(what)


def row(paper, figure, series, x, ours, theirs=None, target=None, **more):
    """Rates per GB/s: our device has 4000 by a copy, 5000 by data sheet; the paper's has 100."""
    record = {"paper": paper, "figure": figure, "series": series, "x_name": "x", "x": x,
              "ops_per_s": ours * 4000, "bandwidth_GBps": 4000.0, "ops_per_GB": ours,
              "paper_gpu": "Old", "paper_bandwidth_GBps": 100.0,
              "shift": 0, "gpu": "New", "ms": [1, 2, 3], "commit": "abc", "date": "2000-01-01",
              "command": "bench_tables -n 7", **more}
    if theirs is not None:
        record.update({"paper_ops_per_s": theirs * 100, "paper_ops_per_GB": theirs})
    if target is not None:
        record["target_ops_per_s"] = target
    return record


def rows():
    return [row("warpdrive", "7: insert", "|g| = 1", 0.4, 9e9, commit="older"),
            row("warpdrive", "7: insert", "|g| = 1", 0.4, 8e9, shift=3),
            row("warpdrive", "7: insert", "|g| = 1", 0.4, 3e6),
            row("warpdrive", "7: insert", "|g| = 2", 0.4, 5e6),
            row("warpdrive", "7: insert", "|g| = 1", 0.9, 3e6,
                4e6, layout="16-byte slots", slots=2**18),
            row("warpdrive", "7: insert", "|g| = 2", 0.9, 5e6, layout="16-byte slots", slots=2**18),
            row("warpdrive", "64-bit keys: insert", "|g| = 1",
                0.8, 2e6, target=9e9, layout="16-byte slots"),
            row("warpdrive", "64-bit keys: insert", "|g| = 2",
                0.8, 3e6, target=9e9, layout="16-byte slots"),
            row("warpdrive", "64-bit keys: insert", "|g| = 4", 0.8, 1e6, target=9e9,
                layout="keys and values apart"),
            row("warpdrive", "64-bit keys: retrieve", "|g| = 2",
                0.8, 1e6, target=9e9, layout="16-byte slots"),
            row("warpdrive", "64-bit keys in bulk: insert", "|g| = 1", 0.95, 6e6,
                layout="16-byte slots", ms=[1], slots=2**24),
            *(row("slab", "4a: build", lanes, load, rate, 1e6) for lanes, load, rate in
              (("light, 4 lanes", 0.2, 2e6), ("light, 4 lanes", 0.5, 1.2e6),
               ("light, 8 lanes", 0.5, 1e6))),
            *(row("slab", "5b: search all", "", 2.0**i, i * 1e6, 18e6, lists=2.0**i, mean_slabs=1)
              for i in range(16, 20)),
            *(row("lsm", "II: insertion", f"{name}, {stat}", b, rate * 1e5 / over,
                  15e5 / paper_over, x_name="log2 b")
              for b in (15, 16) for stat, rate in (("min", b - 5), ("max", b + 5), ("mean", b))
              for name, over, paper_over in (("GPU LSM", 1, 1), ("GPU SA", 3, 4))),
            row("lsm", "V-D: cleanup", "", 10, 2e6, 1e6, log2_b=20, r=63, n=2**20),
            row("lsm", "V-D: cleanup", "", 10, 3e6, 1e6, log2_b=18, r=127, median_ms=1.0, n=2**20),
            row("lsm", "V-D: lookup", "before cleanup", 18, 1e6, median_ms=9.0, n=1 << 22),
            row("lsm", "V-D: lookup", "after cleanup", 18, 3e6, 2e6, median_ms=2.0, n=1 << 22),
            row("linear", "utilization: insert", "", 15 / 32, 2e6,
                1e6, mean_probes=1.4, most_probes=70, n=2**17),
            row("linear", "utilization: lookup", "", 15 / 32, 2e6, n=2**17),
            row("hopscotch", "11: [20,20,60]", "GLHT, a thread an operation", 100, 15e5),
            row("hopscotch", "11: [20,20,60]", "GLHT, a warp an operation", 100, 1e6),
            row("hopscotch", "11: [20,20,60]", "CPU lock-based hopscotch, 16 threads", 100, 3e5),
            {**row("hopscotch", "11: [20,20,60]", "GLHT over CPU hopscotch", 100, 1), "ratio": 3.0,
             "paper_ratio_from": 4.0, "paper_ratio_to": 5.0, "ops_per_s": None},
            row("hopscotch", "9: build", "GLHT", 100, 1e6, rebuilds=2, load=0.4, n=1 << 16),
            row("hopscotch", "something new", "GLHT", 100, 7e6)]


def written(docs):
    """The page that a report makes, the names of its plots, and its messages."""
    made = [{field: value for field, value in record.items() if value is not None}
            for record in rows()]
    with contextlib.redirect_stderr(io.StringIO()) as said:
        report_tables.write(made, PUBLIC, [], docs)
    plots = sorted(path.name for path in (docs / "papers").iterdir())
    for name in plots:
        xml.etree.ElementTree.parse(docs / "papers" / name)
    return (docs / "papers-results.md").read_text(), plots, said.getvalue()


LINES = (
    # WarpDrive's 2.7 G, which recorded runs lack, and the paper's 400 M, both
    # at our best group size
    "| 7: insert | \\|g\\| = 2 | x 0.4 | 2700 | 20000 | 27 | 5 | 4 | **0.19** | **0.15** | 3 |  "
    "| **no** |",
    "| 7: insert | \\|g\\| = 2 | x 0.9 | 400 | 20000 | 4 | 5 | 4 | 1.25 | 1.00 | 3 | 4 (L2) "
    "| yes |",
    "| WarpDrive | 1 of 2 | 1 of 2 | 1 | 0 | 1 of 2 |",
    "| 7: insert | x 0.9 | \\|g\\| = 1 | x 0.95 | 400 | 24000 | 4 | 6 | 4.8 | 1.50 | 1.20 | 1 "
    "| 256 |",
    "| 64-bit keys: insert | x 0.8 | \\|g\\| = 2 | 12000 | 9000 | 1.33 | yes | 3 | 20.0 | 60% |",
    "| 64-bit keys: insert | x 0.8 | \\|g\\| = 4 | 4000 | 9000 | **0.44** | **no** | 3 | 15.0 "
    "| 80% |",
    # three rows with one peak count once, at the lowest of 4 lanes; four with
    # one mean count once, too
    "| Slab hash and SlabAlloc | 0 of 2 | 1 of 2 | 0 | 1 |  |",
    "| 5b: search all |  | lowest of 4: x 2^16 | 1800 | 64000 | 18 | 16 | 12.8 | **0.89** "
    "| **0.71** | 3 | 8 (L2) | **0 of 4** |",
    "| 5b: search all |  | x 2^17 | 1800 | 68000 | 18 | 17 | 13.6 | **0.94** | **0.76** | 3 "
    "| 16 (L2) |",
    "| GPU LSM | 5 of 9 | 7 of 9 | 3 | 6 |  |",
    "| 16 | 150 / 150 / 150 | 4400 / 6400 / 8400 | 1.1 / 1.6 / 2.1 | 0.88 / 1.28 / 1.68 "
    "| **0.73** / 1.07 / 1.40 | **0.59** / **0.85** / 1.12 | 7 a size | 1.07 to 2194 (part L2) |",
    "| II: insertion | 150 | 37.5 | 4.00 | 6194 | 2065 | **3.00** |",
    "| V-D: cleanup | b = 2^18, r = 127 | x 10 | 100 | 12000 | 1 | 3 | 2.4 | 3.00 | 2.40 | 3 "
    "| 8.57 (L2) | yes |",
    "V-D, b = 2^18, r = 127: a cleanup and 2^22 lookups are **3.0** times as fast as those lookups "
    "without it (the paper: 4.8).",
    "| depth: mean | 0.50 | 0.4774 | 0.4 | yes |", "| depth: most | 0.50 | 60 | 69 | **no** |",
    "| 11: [20,20,60] | 100 | GLHT over CPU hopscotch | 4 to 5 | 5.00 | **3.33** |",
    "At or above the paper's lower ratio: a thread an operation, 1 of 1; a warp an operation, "
    "0 of 1.",
    "| 9: build | GLHT | x 100 | 2 | 0.4 |",
    "| something new | x 100 | GLHT | 28000 | 7 | 5.6 | 3 |",
    "| another | 2^28 | 0.5 | 7000 |  |", "| a third | 2^20 |  |  | 5 |")


def test_papers():
    with tempfile.TemporaryDirectory() as work:
        page, plots, said = written(pathlib.Path(work))
        expect(written(pathlib.Path(work))[0] == page, "a second report changes nothing")
    expect(plots == ["hopscotch-11-12.svg", "hopscotch-9-10.svg", "linear-utilization.svg",
                     "lsm-II.svg", "lsm-cleanup.svg", "slab-4.svg", "slab-5.svg",
                     "warpdrive-7.svg"], f"plots {plots}")
    expect("no rows for warpdrive-8.svg" in said, "a plot without rows is reported")
    lines = page.splitlines()
    for line in LINES:
        expect(line in lines, f"no line {line} in\n{page}")


COMMANDS = {"gerbil": "gerbil -k 31 -e 12GB", "kmc": "kmc -k31 -m12 -ci1", "kmc -m4": "kmc -m4",
            "jellyfish": "jellyfish count -m 31"}


def counted(tool, walls, cores=2, gib=1):
    """The records of a counter's runs."""
    return {tool: [{"wall": wall, "user": wall, "system": 0, "peak_bytes": gib << 30,
                    "version": "1", "output_bytes": 5e6, "bases": 2e9,
                    "command": COMMANDS.get(tool, f"{tool} -m 12G"),
                    "threads": cores,
                    "seconds": {"partition": 0.5, "count": 0.25, "order": 0.25, "wall": wall},
                    "device_peak_memory_bytes": 3 << 30, "commit": "abc", "date": "2000-01-01",
                    "machine": {"cpu": "CPU", "cores": cores, "memory_gib": 9}} for wall in walls]}


USERS_HEADS = ("## How fast on a laptop: two cores, no GPU",
               "## How fast on a server: 16 cores, no GPU", "## How fast on a GPU")


def test_counts():
    """Tables by machine, with the number of runs; other programs and memory next to kcount's."""
    groups = report_counts.in_order({
        ("gpu-5G", "g.fq", 31, 16, "CPU"): {
            **counted("kcount cuda", [1, 2], 16), **counted("kcount", [4], 16),
            **counted("gerbil", [6], 16, 2)},
        ("scaling-4G", "r.fq", 31, 2, "CPU"): counted("kcount", [4], 16),
        ("scaling-4G", "r.fq", 31, 1, "CPU"): counted("kcount", [6], 16),
        ("another", "r.fq", 31, 16, "CPU"): counted("kcount", [4], 16),
        ("simulated-1.2G", "w.fq", 31, 2, "CPU"): {
            **counted("kmc", [9, 7, 8], gib=4), **counted("kcount", [2, 3, 9])}})
    lines = [*report_benchmarks.page(groups, [], [], []).split("\n"),
             *report_counts.sections(groups), *report_counts.scaling_lines(groups),
             *report_counts.against_lines(groups)]
    expect([line for line in lines if line.startswith("#")] ==
           ["# Benchmarks", *USERS_HEADS, "## How it was measured",
            USERS_HEADS[0], "### w.fq, k = 31, 2 threads (simulated-1.2G)",
            USERS_HEADS[1], "### r.fq, k = 31, 16 threads (another)",
            USERS_HEADS[2], "### g.fq, k = 31, 16 threads (gpu-5G)",
            "## By number of threads: r.fq, k = 31", "## Against whom"],
           "sections in the order of the questions")
    for line in ("| w.fq, 2.0 Gbases | 31 | kcount | 3.00 | 3 | 1.0 | 1.00 | 12 GB |",
                 "|  |  | KMC 1 | 8.00 | 3 | 2.7 | 4.00 | 12 GB |",
                 "| g.fq, 2.0 Gbases | 31 | kcount, GPU | 1.50 | 2 | 1.0 | 1.00 | 12 GB | 3.0 |",
                 "|  |  | Gerbil 1 | 6.00 | 1 | 4.0 | 2.00 | 12 GB |  |",
                 "| kmc 1 | 8.00 | 3 | 2.67 | 250 | 8.0 | 4.00 | 12 GB | 5 |",
                 "| 2 | 4.00 | 1 | 1.5 | 500 | 4.0 | 1.00 |",
                 "| gerbil 1 | g.fq, k = 31, 16 threads (gpu-5G) | 6.00 | 1 | kcount | 4.00 | 1 "
                 "| 1.50 |",
                 "`bench/compare.py` also runs kmc -r, kmc -m4, jellyfish, FastK, yak, meryl and "
                 "hysortk; there are no recorded runs of them."):
        expect(line in lines, f"no line {line} in\n" + "\n".join(lines))
    tools = {**counted("kmc", [9]), **counted("kmc -r", [8]), **counted("kcount", [2]),
             **counted("reader", [1])}
    expect([name for name, _ in report_benchmarks.shown(tools)] == ["kcount", "kmc -r"],
           "only the faster of KMC's modes, and nothing but programs that count")


FRONT = {("front-page", "g.fq", 31, 16, "CPU"): {
    **counted("kmc", [8, 9, 7], 16, 5), **counted("kcount cuda", [1, 2, 1], 16),
    **counted("kcount", [4, 4, 4], 16), **counted("kmc -m4", [12, 11, 13], 16, 3),
    **counted("jellyfish", [160], 16)}}
FRONT_LINES = (
    "| 2.0 Gbases, k = 31, 16 threads | time | peak memory | allowed memory |",
    "|---|---:|---:|---:|",
    "| **kcount, GPU** | **1.0 s** | **1.0 GiB, 3 GiB of the GPU** | 12 GB |",
    "| **kcount** | **4.0 s** | **1.0 GiB** | 12 GB |",
    "| KMC 1 | 8.0 s | 5.0 GiB | 12 GB |", "| KMC 1 -m4 | 12.0 s | 3.0 GiB | 4 GB |",
    "| Jellyfish 1 | 160 s | 1.0 GiB | no limit |", "",
    "Simulated reads, every k-mer kept; median of 3 runs each (Jellyfish 1: 1 run). CPU, 16 cores, "
    "9 GiB; 2000-01-01.", "")


def test_front():
    """The first figures: a table and a picture, and nothing at all without lines."""
    same_text("\n".join(report_front.table(FRONT)), "\n".join(FRONT_LINES), "the first table")
    texts = [text.text for text in xml.etree.ElementTree.fromstring(report_front.picture(FRONT))
             if text.tag.endswith("text")]
    expect(texts[1::2] == ["kcount, GPU", "kcount", "KMC 1", "KMC 1 -m4", "Jellyfish 1"],
           f"bars {texts}")
    expect(texts[-1] == "160 s, 1.0 GiB", "time and memory at the end of a bar")
    page = report_benchmarks.page
    expect("front-page.svg" in page(FRONT, [], [], []), "the picture in the page")
    expect("front-page.svg" not in page({}, [], [], []), "no picture without lines")
    expect(report_front.regions({}, HUMAN)["front-page"] == [], "no figures without lines")


def asked(name, wall, program="kcount", **more):
    """A line of bench/asking.py."""
    return {"name": name, "what": f"what {name.split()[0]} does", "program": program,
            "command": "kcount --device cuda:0" if "cuda" in name else program, "wall": wall,
            "user": wall, "system": 1, "peak_bytes": 1 << 30, "about": "reads", "distinct": 5e6,
            "k": 31, "threads": 2, "commit": "abc", "date": "2000-01-01",
            "machine": {"cpu": "CPU", "cores": 2, "memory_gib": 9}, **more}


ASKED = [asked("filter cuda", 9, commit="older"), asked("reading", 1), asked("filter cuda", 2),
         asked("filter slab", 3), asked("filter cuda", 4), asked("filter cuda", 5),
         asked("kmc_tools", 60, "kmc_tools"), asked("filter", 8, threads=4)]


def test_asking():
    """Only the last commit's runs; the users' page leaves reading and other maps out."""
    short, long = report_asking.short(ASKED), report_asking.section(ASKED)
    first = "| reads; 5 million k-mers, k = 31 | 2 | what filter does | kcount, GPU | 4.00 | 3 " \
            "| 5.0 | 1.00 |"
    for line in (first, "|  |  | what kmc_tools does | kmc_tools | 60.00 | 1 | 61.0 | 1.00 |",
                 "| reads; 5 million k-mers, k = 31 | 4 | what filter does | kcount | 8.00 | 1 "
                 "| 9.0 | 1.00 |", "CPU, 2 cores, 9 GiB; 2000-01-01."):
        expect(line in short, f"no line {line} in\n" + "\n".join(short))
    expect(not any("what reading" in line or "| 3.00 |" in line for line in short),
           "less for users")
    for line in ("### reads; 5 million k-mers, k = 31, 2 threads",
                 "| what reading does | kcount | 1.00 | 1 | 2.0 | 1.00 |",
                 "| what filter does | kcount | 3.00 | 1 | 4.0 | 1.00 |"):
        expect(line in long, f"no line {line} in\n" + "\n".join(long))
    expect([*report_asking.short([]), *report_asking.section([])] == [], "nothing without lines")
    expect(short[0] == long[0] == "## Looking up the k-mers of reads", "the heading")
    reported = report_asking.short([*ASKED, asked("report cuda", 3, about="a genome")])
    expect(reported[0] == f"{short[0]}, reports and comparisons", "the heading with reports")
    expect("| a genome; 5 million k-mers, k = 31 | 2 | what report does | kcount, GPU | 3.00 | 1 "
           "| 4.0 | 1.00 |" in reported, "\n".join(reported))


@unittest.mock.patch.object(asking.shutil, "which", lambda program: program == "kcount")
def test_asked_programs():
    """What needs a device, a file or a program that is not there is left out; no command has an
    option that kcount does not know."""
    arguments = types.SimpleNamespace(programs=None, assembly=None, other=None)
    every = [name for name in asking.PROGRAMS if asking.PROGRAMS[name][1] == "kcount"]
    for gpu, assembly, other in ({}, None, None), ({"gpu": "New"}, "a", None), ({}, None, "o"):
        arguments.assembly, arguments.other = assembly, other
        with unittest.mock.patch.object(asking, "gpu", lambda gpu=gpu: gpu):
            found = list(asking.wanted(arguments))
        same_text("\n".join(found), "\n".join(
            name for name in every if (gpu or "cuda" not in asking.PROGRAMS[name][2])
            and (assembly or "assembly" not in name) and (other or "compare" not in name)),
            "the programs")
    values = {"reads": "reads", "k": 31, "threads": 2, "memory": 1}
    for name, limits in (("reading", ["-t"]), ("filter", ["-t", "-m"]), ("report", ["-t", "-m"]),
                         ("query", ["-t", "-m"]), ("compare cuda", ["-t"])):
        words = asking.line_of(name, values).split()
        expect([word for word in words if word in ("-t", "-m")] == limits, words)
        expect(words.count("--quiet") == 1, words)


def looked_up(stage, rate, table="warpdrive", **more):
    """A line of bench_gpu -A."""
    return {"stage": stage, "table": table, "k": 31, "g_per_s": rate, "gpu": "New",
            "genome": 64000000, "commit": "abc", "date": "2000-01-01", "command": "bench_gpu -A",
            **more}


LOOKED_UP = [looked_up("look up", 1), looked_up("look up", 20), looked_up("copy", 9, ""),
             looked_up("look up, half foreign", 15), looked_up("look up", 18, "slab"),
             looked_up("add counts", 300, ""), looked_up("look up, load 0.50, group 4", 27),
             looked_up("look up, load 0.50, group 4, half foreign", 25),
             looked_up("look up, load 0.50, group 16", 13),
             looked_up("look up, load 0.95, group 4", 12),
             looked_up("look up", 7, genome=3000000000)]


def test_lookups():
    """A table of maps and one by load for each genome, with the rates measured last."""
    lines = report_lookups.section(LOOKED_UP)
    for line in ("### New: 64 M k-mers, k = 31", "| warpdrive | 20.0 | 15.0 |",
                 "| slab | 18.0 |  |", "| adding up the counts | 300.0 |  |",
                 "| load | 4 slots | 16 slots |", "| 0.50 | 27.0, 25.0 | 13.0 |",
                 "| 0.95 | 12.0 |  |", "### New: 3000 M k-mers, k = 31", "| warpdrive | 7.0 |  |"):
        expect(line in lines, f"no line {line} in\n" + "\n".join(lines))
    expect("| warpdrive | 1.0 | 15.0 |" not in lines, "an older line is left out")
    expect(report_lookups.section([looked_up("copy", 9, "")]) == [], "nothing without look-ups")


def human(way, wall, status="done", **more):
    """A line of bench/human.py."""
    return {"way": way, "wall": wall, "status": status, "code": 0, "gpu_memory": "all", "k": 31,
            "min": 2, "genome": "3.1G", "coverage": 32.0 * more.get("share", 1), "repeats": 0.0,
            "share": 1.0, "bases": 99.2e9, "limit": 600, "user": 9, "system": 1,
            "peak_bytes": 3 << 30, "machine_bytes": 5 << 30, "tmp_bytes": 7e9, "output_bytes": 8e9,
            "commit": "abc", "date": "2000-01-01", "threads": 16,
            "machine": {"cpu": "CPU", "cores": 16, "memory_gib": 126, "gpu": "New"}, **more}


HUMAN = [human("file", 600, "timed out", commit="older"),
         human("file", 30, summary={"device_peak_memory_bytes": 80 << 30}), human("reader", 24),
         human("cat", 80), human("make", 62),
         human("file", 28, summary={"device_peak_memory_bytes": 90 << 30}),
         human("pipe", 100, repeats=0.5), human("cat", 80, repeats=0.5),
         human("file", 9, "failed", gpu_memory="8G", code=1, message="kcount: a | b\nno space"),
         human("make", 30, share=0.5), human("kmc", 600, "timed out"),
         human("kmc", 400, share=0.5, bases=49.6e9, version="3.2.1")]
HUMAN_LINES = (
    "### 99.2 Gbases (3.1G at 32x), no repeats, k = 31, --min 2",
    "| `simulate` writes the file | abc | 62.0 |  | 1600 | 10 | 3.0 | 5.0 |  | 7.0 | 8.0 | 1 |",
    "| the host's reader alone, from the file | abc | 24.0 |  | 4133 | 10 | 3.0 | 5.0 |  | 7.0 | "
    "8.0 | 1 |",
    "| kcount, from the file | abc | 29.0 | reader +5.0 s | 3421 | 10 | 3.0 | 5.0 | 85.0 | 7.0 "
    "| 8.0 | 2 |",
    "| kcount, from the file, `--gpu-memory 8G` | abc | failed, exit code 1: no space |  |  | 10 "
    "| 3.0 | 5.0 |  | 7.0 | 8.0 | 1 |",
    "| `simulate` into `cat` | abc | 80.0 |  | 1240 | 10 | 3.0 | 5.0 |  | 7.0 | 8.0 | 1 |",
    "| KMC, from the file | abc | not finished in 600 s |  |  | 10 | 3.0 | 5.0 |  | 7.0 | 8.0 "
    "| 1 |",
    "| KMC 3.2.1, from the file, 50% of the reads | abc | 400.0 |  | 124 | 10 | 3.0 | 5.0 |  | 7.0 "
    "| 8.0 | 1 |",
    "### 99.2 Gbases (3.1G at 32x), 50% of the genome repeats, k = 31, --min 2",
    "| `simulate` into `cat` | abc | 80.0 |  | 1240 | 10 | 3.0 | 5.0 |  | 7.0 | 8.0 | 1 |",
    "| kcount, from a pipe | abc | 100.0 | 1.25 x `cat` | 992 | 10 | 3.0 | 5.0 |  | 7.0 | 8.0 "
    "| 1 |")


def test_human():
    """Rows of the last commit, with what failed; no section, and no link to it, without lines."""
    lines = report_human.section(HUMAN)
    found = [line for line in lines if line.startswith(("###", "| `", "| the", "| k", "| K"))]
    same_text("\n".join(found), "\n".join(HUMAN_LINES), "the section about a human genome")
    results = report.RESULTS
    try:
        with tempfile.TemporaryDirectory() as work:
            report.RESULTS = pathlib.Path(work)
            expect("uman genome" not in report.measurements({}), "no lines, no section")
            text = "".join(json.dumps(line) + "\n" for line in HUMAN)
            (report.RESULTS / "human.jsonl").write_text(text)
            page = report.measurements({})
    finally:
        report.RESULTS = results
    expect("\n".join(lines) in page, "the section is in the page")
    users = report_human.short(HUMAN)
    for line in ("| 99.2 Gbases, no repeats, New | kcount, from the file | 29.0 | 2 | 3.0 | 85.0 "
                 "| 7.0 | 8.0 |",
                 "| 99.2 Gbases, 50% repeats, New | kcount, from a pipe | 100.0 | 1 | 3.0 |  | 7.0 "
                 "| 8.0 |"):
        expect(line in users, f"no line {line} in\n" + "\n".join(users))
    expect(not any("`simulate`" in line or "failed" in line for line in users), "counts alone")
    expect(report_human.short([]) == [], "no lines, no section for users")


def multi(part, what, ms, **more):
    """A line of bench_multi. Lines that are older than the parts' names have no part."""
    line = {"bench": "multi", "what": what, "way": "written", "keys": "unique", "unit": "keys",
            "members": 2, "n": 2000000, "per_s": 2e9 / ms, "median_ms": ms, "ms": [ms, ms],
            "commit": "abc", "date": "2000-01-01",
            "machine": {"cpu": "CPU", "cores": 16, "memory_gib": 126, "gpu": "New"}, **more}
    return line if part is None else {"part": part, **line}


def stages(**more):
    return {name: more.get(name, 0.0) for name in ("table", "split", "operation", *more)}


MULTI = [
    multi(None, "exchange", 4, way="through the host", n=1 << 21),
    multi(None, "insert", 2, members=1, stages_ms=stages(operation=2.0)),
    multi("scaling", "insert", 1, stages_ms=stages(split=0.25, operation=0.5)),
    multi("capacity", "insert", 0.5, keys="zipf", combining="if it pays", sent=500000,
          stages_ms=stages()),
    multi("host-capacity", "host retrieve", 8, keys="uniform", in_flight=2, stages_ms=stages()),
    multi("host", "host insert", 10, in_flight=1, stages_ms=stages(operation=2.0, upload=7.5)),
    multi("host", "host insert", 8, in_flight=2, stages_ms=stages(operation=2.0, upload=7.5))]
MULTI_LINES = (
    "| 2 | through the host | 2 | 0.5 | 4.000 | 2 |",
    "| insert | 1 | 2 | written | 1.0 | 1.00 | 1.00 | 0.00 | 0.00 | 2.00 | 2 |",
    "| insert | 2 | 2 | written | 2.0 | 2.00 |  | 0.00 | 0.25 | 0.50 | 2 |",
    "| insert | 2 | zipf | 2 | if it pays | 0.5 | 4.00 | 0.50 | 2 |",
    "| host retrieve | 2 | uniform | 2 |  |  | 0.25 | 8.00 | 2 |",
    "| host insert | 2 | 2 | 1 | 0.20 | 0.0 | 0.0 | 2.0 | 7.5 | 9.5 | 10.0 | 1.00 | 2 |",
    "| host insert | 2 | 2 | 2 | 0.25 | 0.0 | 0.0 | 2.0 | 7.5 | 9.5 | 8.0 | 0.80 | 2 |")


def test_multi():
    """A table for each part of bench_multi; no section without lines."""
    lines = [line for text in report_multi.section(MULTI) for line in text.split("\n")]
    found = [line for line in lines if line.startswith(("| 2", "| insert", "| host"))]
    same_text("\n".join(found), "\n".join(MULTI_LINES), "the section about several devices")
    expect(report_multi.section([]) == [], "no section")


def several(*arguments, **more):
    """A row of figures that are compared with the paper's: 2e6 keys on two devices."""
    return {**multi(*arguments, **more), "shift": 0, "virtual": False,
            "gpu": "NVIDIA H200"}


def test_several():
    """Figures beside the paper's; the last commit's rows with unique keys, the best of them."""
    rows = [several("scaling", "insert", 0.01), several("capacity", "insert", 0.001, keys="zipf"),
            several("scaling", "insert", 0.02),
            several("host", "host insert", 0.4, keys="unique", in_flight=1),
            several("host", "host insert", 0.2, keys="unique", in_flight=2)]
    wanted = ("| 9, 10 | insert | 7 G/s | 200.0 G/s | 2 x NVIDIA H200 | 2.43 M/s per GB/s "
              "| 20.83 M/s per GB/s | 8.57 | yes |",
              "| 10 | insert, keys on the host | 2.7 G/s | 10.0 G/s | 2 x NVIDIA H200 "
              "| 84% of the bus | 95% of the bus | 1.13 | yes |",
              "| 11 | insert, what overlapping saves | 36% | 50% | 2 x NVIDIA H200 | the same "
              "| the same | 1.39 | yes |")
    same_text("\n".join(report_several.table(rows)[3:-1]), "\n".join(wanted), "beside the paper")
    newer = {**several("scaling", "insert", 1), "commit": "newer"}
    found = report_several.table([*rows, newer])[3]
    expect("| 2.0 G/s |" in found and "| **0.09** | **no** |" in found, found)
    expect(report_several.table([]) == [], "no table")


def test_up_to_date():
    """The pages and pictures are what bench/report.py makes from bench/results."""
    with tempfile.TemporaryDirectory() as work:
        docs = pathlib.Path(work)
        report.write(docs)
        for made in (path for path in docs.rglob("*") if path.is_file()):
            name = f"docs/{made.relative_to(docs)}"
            same_text((SOURCE / name).read_text(), made.read_text(),
                      f"{name} (run bench/report.py)")


def test_readme():
    """The marked regions of README.md hold what bench/report.py makes from bench/results."""
    page = (SOURCE / "README.md").read_text()
    found = report_front.regions(report.load(), report.named("human"))
    same_text(page, report_front.filled(page, found), "README.md (run bench/report.py)")
    filled = report_front.filled(page, {name: ["| new |"] for name in found})
    expect(filled.count("made by bench/report.py -->\n| new |\n<!-- end -->") == len(found),
           "old figures are replaced")


def kept(work, papers):
    """bench/tables.py's exit status and the papers of the rows it kept."""
    done = subprocess.run([sys.executable, SOURCE / "bench" / "tables.py", "--build", work,
                           "--results", work, "--limit", "5", "--papers", papers, "--", "-n", "3"],
                          capture_output=True, text=True)
    lines = [json.loads(line) for line in (work / "tables.jsonl").read_text().splitlines()]
    (work / "tables.jsonl").unlink()
    for line in lines:
        expect(line["command"] == f"bench_tables -n 3 {line['paper']}",
               f"command {line['command']}")
        expect("cores" in line["machine"] and "commit" in line and "date" in line, "where and when")
    return done.returncode, [line["paper"] for line in lines]


def test_runner():
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        (work / "bench_tables").write_text(FAKE.format(python=sys.executable))
        (work / "bench_tables").chmod(0o755)
        expect(kept(work, "lsm,slab") == (0, ["lsm", "slab"]), "two papers")
        expect(kept(work, "fails,hangs,slab") == (
            1, ["fails", "hangs", "slab"]), "those that fail stop no others")
        expect(kept(work, "nothing,slab")[0] == 77, "no device")
        expect(kept(work, "refused,slab")[0] == 3, "no machine code for the device")


def test_no_record():
    """With --no-record nothing is kept; a line measured after a compilation at start never is."""
    with tempfile.TemporaryDirectory() as work:
        work, rows = pathlib.Path(work), []
        program, log = work / "bench_tables", work / "log.jsonl"
        program.write_text(FAKE.format(python=sys.executable))
        program.chmod(0o755)
        gpu_stages.keep([str(program), "lsm"], log, rows.append, record=False)
        expect([row.get("jit", False) for row in rows] == [False, True], f"rows {rows}")
        expect(not log.exists(), "a run that is not recorded")
        gpu_stages.keep([str(program), "-J", "lsm"], log, rows.append)
        expect([json.loads(line)["paper"] for line in log.read_text().splitlines()] == ["lsm"],
               "a line with jit is not kept")


def test_machine_code():
    with tempfile.TemporaryDirectory() as work:
        kcount, log = pathlib.Path(work) / "kcount", pathlib.Path(work) / "log.jsonl"
        for compiled in ("true", "false"):
            kcount.write_text(FAKE_KCOUNT % compiled)
            kcount.chmod(0o755)
            has_code = compare.has_machine_code(kcount)
            expect(has_code == (compiled == "true"), f"compiled: {compiled}")
            expect(compare.has_machine_code(kcount, 1), "an earlier build, which does not say it")
        compare.open_log(log, True).close()
        compare.open_log(log, False, kcount).close()
        try:
            compare.open_log(log, True, kcount)
        except SystemExit as refused:
            expect("not recorded" in str(refused) and "--no-record" in str(refused), str(refused))
        else:
            raise Failure("a build without machine code for the device was recorded")


main([test_papers, test_counts, test_front, test_asking, test_asked_programs, test_lookups,
      test_human, test_multi, test_several, test_up_to_date, test_readme, test_runner,
      test_no_record, test_machine_code])
