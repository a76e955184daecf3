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
import xml.etree.ElementTree

from lib.tools import Failure, main, same_text

SOURCE = pathlib.Path(sys.argv[1]).resolve()
sys.path.insert(0, str(SOURCE / "bench"))
import gpu_stages  # noqa: E402
import plan  # noqa: E402
import report  # noqa: E402
import report_basis  # noqa: E402
import report_lookups  # noqa: E402
import report_multi  # noqa: E402
import report_page  # noqa: E402
import report_several  # noqa: E402
import report_tables  # noqa: E402
import report_targets  # noqa: E402
import report_text  # noqa: E402
import runs  # noqa: E402

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


def measured(section, reads, name, walls, kind="2-cores", **more):
    """Rows of bench/all.py: some runs of one program."""
    executable = plan.PROGRAMS[name].executable
    ours = executable == "kcount"
    gpu = {"gpu": "NVIDIA New, 1; NVIDIA New, 1"} if kind == "1-gpu" else {}
    return [{"kind": kind, "section": section, "reads": reads, "program": name,
             "executable": executable, "version": "" if ours else "1",
             "k": 31, "min": 1, "threads": 2, "scale": 1, "memory": "12G", "run": run,
             "simulate": plan.setting(kind, plan.Task(section, reads, (), ()), 1, 2)["simulate"],
             "wall": wall, "user": wall, "system": 1, "peak_bytes": 3 << 30, "tmp_bytes": 7e9,
             "output_bytes": 5e9, "bases": 2e9, "status": "done", "commit": "abc",
             "date": "2000-01-01",
             "machine": {"cpu": "CPU(R) Processor", "cores": 2, "memory_gib": 9, **gpu},
             **({"seconds": {"partition": 1, "count": 2, "order": 1}} if ours else {}),
             **({"device_peak_memory_bytes": 80 << 30} if gpu and ours else {}), **more}
            for run, wall in enumerate(walls)]


ROWS = [
    *measured("front", "genome", "kmc", [8, 9, 7]), *measured("front", "genome", "kcount", [2, 4]),
    *measured("front", "genome", "jellyfish", [160]),
    *measured("front", "genome", "kmc -m4", [5], memory="4G"),
    *measured("front", "genome", "FastK", [480], status="timed out"),
    *measured("front", "genome", "kcount", [3], k=55),
    *measured("jobs", "human", "kcount cuda", [9, 10, 12], "1-gpu"),
    *measured("memory", "once", "kcount", [5], memory="4G"),
    *measured("growth", "growth-1", "kcount", [4]),
    *measured("cores", "genome", "kcount", [8], threads=1),
    *measured("cores", "genome", "kcount", [4]),
    *measured("asking", "genome", "filter", [4], scale=0.1)]
PAGE = (
    "| reads | k | program | time, s | runs | memory, GiB | allowed | temporary files, GB "
    "| output, GB | times kcount |",
    "| a plant or insect, 2.0 Gbases | 31 | kcount | 3.00 | 2 | 3.00 | 12 GiB | 7.0 | 5.0 | 1.0 |",
    "|  | 31 | KMC 1 -m4 | 5.00 | 1 | 3.00 | 4 GB | 7.0 | 5.0 | 1.7 |",
    "|  | 31 | KMC 1 | 8.00 | 3 | 3.00 | 12 GB | 7.0 | 5.0 | 2.7 |",
    "|  | 31 | Jellyfish 1 | 160.00 | 1 | 3.00 | no limit | 7.0 | 5.0 | 53.3 |",
    "|  | 31 | FastK 1 | not done in 480 | 1 | 3.00 | 12 GB | 7.0 | 5.0 |  |",
    "|  | 55 | kcount | 3.00 | 1 | 3.00 | 12 GiB | 7.0 | 5.0 | 1.0 |",
    "| human, 32x, 2.0 Gbases | kcount, GPU | 10.00 | 3 | 3.00 | 80.0 | 7.0 | 5.0 "
    "| 25 / 50 / 25 |",
    "| a genome, 1x, 2.0 Gbases | kcount | 4 GiB | 3.00 | 75% | 7.0 | 5.00 | 1 |",
    "| a genome, 30x, 2.0 Gbases | kcount | 4.00 | 2.000 | 3.00 | 1.500 | 1 |",
    "| a plant or insect, 2.0 Gbases | kcount | 1 | 8.00 | 3.00 | 1 | 1.0 |",
    "|  | kcount | 2 | 4.00 | 3.00 | 1 | 2.0 |",
    "Two cores: CPU, 9 GiB; commit abc, 2000-01-01.",
    "One GPU and 16 cores: CPU, 9 GiB; 2 x NVIDIA New; commit abc, 2000-01-01.",
    "| a genome, 30x | BGZF | `--length 150 --error 0.005` | 20M, 80M, 320M, 1280M, each x 30 "
    "| 5M, 20M, 80M, 320M, each x 30 |",
    "| human, 8x | BGZF | `--length 150 --error 0.005` | 3100M x 8 |  |",
    "| a small genome | FASTQ | `--length 150 --error 0.005` | 3.4M x 30 | 3.4M x 30 |")
FIRST = (
    "| 2.0 Gbases, k = 31, 2 threads | time | peak memory | allowed memory |",
    "|---|---:|---:|---:|",
    "| **kcount** | **3.0 s** | **3.0 GiB** | 12 GiB |",
    "| KMC 1 -m4 | 5.0 s | 3.0 GiB | 4 GB |", "| KMC 1 | 8.0 s | 3.0 GiB | 12 GB |",
    "| Jellyfish 1 | 160 s | 3.0 GiB | no limit |", "",
    "Simulated reads, every k-mer kept; 1 run each, except kcount: mean of 2 runs; KMC 1: median "
    "of 3 runs. CPU, 2 cores, 9", "GiB; commit abc, 2000-01-01.", "")


def test_page():
    """Tables by section and machine, each section with what limits it; nothing without rows."""
    lines = report_page.page(ROWS, []).split("\n")
    for line in PAGE:
        expect(line in lines, f"no line {line} in\n" + "\n".join(lines))
    heads = [line for line in lines if line.startswith("## ")]
    wanted = [f"## {report_page.PARTS[section][0]}"
              for section in ("jobs", "front", "memory", "growth", "cores")]
    expect(heads == [*wanted, "## How it was measured"], f"the sections with rows: {heads}")
    expect(report_page.part(measured("cores", "genome", "kcount", [8, 9]), "cores") == [],
           "one number of threads has nothing to be compared with")
    limits = [line for line in lines if line.startswith("**What limits it.**")]
    expect(len(limits) == len(wanted), "what limits each")
    expect("## " not in "\n".join(report_page.page([], []).split("## How it was measured")[:1]),
           "no section without rows")


def test_machines():
    """Machines have short names, and hosts that may differ in speed get different names."""
    def named(kind, cpu="Intel(R) Xeon(R) Processor", **gpu):
        return report_text.machine_text({**kind, "machine": {"cpu": cpu, "cores": 16,
                                                             "memory_gib": 9, **gpu}})
    two = {"gpu": "NVIDIA A, 1; NVIDIA A, 1"}
    for text, wanted in (
            (named({}), "Intel Xeon, 16 cores, 9 GiB"),
            (named({}, "AMD EPYC(tm) 7763 64-Core Processor"), "AMD EPYC 7763, 16 cores, 9 GiB"),
            (named({}, gpu="NVIDIA A, 1"), "Intel Xeon, 16 cores, 9 GiB; NVIDIA A"),
            (named({"kind": "1-gpu"}, **two), "Intel Xeon, 16 cores, 9 GiB; 2 x NVIDIA A"),
            (named({}, gpu="A, 1; B, 1"), "Intel Xeon, 16 cores, 9 GiB; A; B"),
            (named({"kind": "16-cores"}, gpu="A, 1"), "Intel Xeon, 16 cores, 9 GiB; A (not used)")):
        expect(text == wanted, f"{text}, not {wanted}")
    here = measured("jobs", "hifi", "kcount", [9], "16-cores")
    there = [{**row, "commit": "def", "machine": {**row["machine"], "gpu": "A, 1"}} for row in here]
    expect(len(report_page.machines([*here, *there], "jobs")) == 2, "a table for each machine")
    report_text.refuse_mixtures([*here, *there])  # each has its commit
    idle = [{**row, "kind": "2-gpus"} for row in there]
    for program, wanted in ("kcount", "9 GiB; A (not used); "), ("kcount cuda", "9 GiB; A; "):
        text = report_page.part([{**row, "program": program} for row in idle], "jobs")
        expect(any(wanted in line for line in text), f"{program}: {wanted} in {text}")
    expect(not report_text.outdated([*here, *there]), "a machine does not replace another")


def test_sizes():
    """Sizes with the same coverage stand together."""
    for sizes, wanted in (([None], ""), ([(5e6, 30)], "5M x 30"),
                          ([(5e6, 30), (2.5e9, 30), (1e6, 2)], "5M, 2500M, each x 30; 1M x 2")):
        text = report_page.sizes_text(sizes)
        expect(text == wanted, f"{text}, not {wanted}")


def test_beside_kcount():
    """Programs are compared with kcount on the cores and on a GPU."""
    lines = report_page.table([*measured("front", "genome", "kcount", [6], "1-gpu"),
                               *measured("front", "genome", "kcount cuda", [2], "1-gpu"),
                               *measured("front", "genome", "kcount", [1], "1-gpu", memory="4G",
                                         status="failed"),
                               *measured("front", "genome", "kmc", [30], "1-gpu"),
                               *measured("front", "genome", "kmc", [30], "1-gpu", k=55)], "front")
    expect(lines[0].endswith(" | times kcount | times kcount, GPU |"), lines[0])
    ends = [line.rsplit("|", 3)[1:3] for line in lines[2:-1]]
    empty = ["  ", "  "]
    expect(ends == [empty, [" 0.3 ", " 1.0 "], [" 1.0 ", " 3.0 "], [" 5.0 ", " 15.0 "], empty],
           f"{ends}")


def counted_on(gpu, stage, rate, table="warpdrive", k=31):
    """A line of bench_gpu."""
    return {"stage": stage, "table": table, "k": k, "gpu": gpu, "g_per_s": rate}


def processes(walls, commit="new", threads=32, **more):
    """Lines of bench/ranks.py."""
    return [{"ranks": number, "threads": threads, "file": "a.fq", "k": 31, "min": 2, "wall": wall,
             "commit": commit, "machine": {"cpu": "CPU", "cores": 32, "memory_gib": 9}, **more}
            for number, wall in walls.items()]


STAGES = [counted_on("NVIDIA H200", "count", 70), counted_on("NVIDIA H200", "count", 75.1),
          counted_on("NVIDIA H200", "count", 16, "slab"),
          counted_on("NVIDIA H200", "count", 16, k=55), counted_on("NVIDIA H100", "count", 16),
          counted_on("NVIDIA H200", "count, --min 2", 94.9)]
FAST = {1: 9, 2: 1, 4: 1, 8: 1}     # several processes would be faster
PROCESSES = [*processes(FAST, "old"), *processes(FAST, threads=16), *processes(FAST, device="cuda"),
             *processes({1: 9, 2: 1}, file="b.fq"),
             *processes({1: 4, 2: 4, 4: 5, 8: 8}, "old", file="c.fq"),
             *processes({1: 11.1, 2: 12, 4: 10, 8: 11}), *processes({1: 9, 2: 4}, note="slow")]
H100, H200, OLD = ({"cpu": "CPU", "cores": 32, "memory_gib": 9, "gpu": gpu}
                   for gpu in ("H100", "H200", "old"))
TARGET_ROWS = [
    *measured("jobs", "hifi", "kcount", [10, 10, 12]),
    *measured("jobs", "hifi", "kmc", [60, 1, 62]),
    *measured("front", "genome", "kcount", [10]), *measured("front", "genome", "kmc", [70]),
    *measured("front", "genome", "kmc -m4", [49.9], memory="4G"),
    # other sections, other machines, and runs that failed
    *measured("cores", "genome", "kcount", [1]), *measured("report", "genome", "kcount", [9]),
    *measured("jobs", "hifi", "kcount", [9], "16-cores"),
    *measured("jobs", "hifi", "kmc", [9], "16-cores"),
    *measured("front", "genome", "kmc_new", [1], status="failed"),
    *measured("asking", "genome", "filter", [29.7]), *measured("asking", "genome", "total", [29.5]),
    *measured("asking", "genome", "total", [1], "16-cores"),
    *measured("asking", "genome", "total", [1], k=55, status="failed"),
    *measured("asking", "few", "filter", [17.9]), *measured("asking", "few", "total", [17.7]),
    *measured("asking", "few", "kept", [20]), *measured("asking", "few", "kmc_tools", [199]),
    *measured("jobs", "human", "kcount cuda", [10.1], "1-gpu", machine=H100),
    *measured("devices", "human", "kcount cuda", [9, 7, 8.7], "2-gpus", machine=H200),
    *measured("devices", "human", "kcount cuda", [1], "2-gpus", machine=OLD),
    *measured("devices", "human", "kcount two", [6.79], "2-gpus", machine=H100),
    *measured("report", "genome", "report", [9.2]),
    *measured("report", "genome", "kcount cuda", [2], "1-gpu"),
    *measured("report", "genome", "report cuda", [3.1], "1-gpu")]
TARGET_LINES = (
    "| two cores: time of the fastest KMC measured ÷ kcount's | 5 or more | 4.99 to 6.00 "
    "| **no** |",
    "| two cores: 10^6 look-ups a second per core, a small genome | 45 or more "
    "| 44.69 to 45.20 | **no** |",
    "| two cores: 10^6 look-ups a second per core, a plant or insect | 27 or more "
    "| 26.94 to 27.12 | **no** |",
    "| kmc_tools' time ÷ that of `filter -o` | 10 or more | 9.95 | **no** |",
    "| human, 99 Gbases, `--min 2`, one H100 and 16 cores: seconds | 10.2 or less | 10.10 | yes |",
    "| human, 99 Gbases, `--min 2`, one H200 and 32 cores: seconds | 8.6 or less | 8.70 "
    "| **no** |",
    "| human, 99 Gbases, `--min 2`, two H100s or H200s and 32 cores: seconds | 6.8 or less | 6.79 "
    "| yes |",
    "| H200, reads already in its memory: 10^9 k-mers counted a second | 75 or more | 75.10 "
    "| yes |",
    "| H200, reads already in its memory, `--min 2`: 10^9 k-mers counted a second | 95 or more "
    "| 94.90 | **no** |",
    "| 32 threads: time as one process ÷ best time as 2, 4 or 8 processes | 1.1 or less "
    "| 1.00 to 1.11 | **no** |",
    "| seconds that `report` (without `--assembly`) adds to counting | 1 or less | 0.20 to 1.10 "
    "| **no** |")


def test_targets():
    """Only comparable runs count; the other rows change no figure."""
    lines = report_targets.section(TARGET_ROWS, STAGES, PROCESSES)
    same_text("\n".join(lines[3:-1]), "\n".join(TARGET_LINES), "the targets")
    few = "\n".join(report_targets.section([], STAGES, []))
    expect("| kmc_tools' time ÷ that of `filter -o` | 10 or more | not measured |  |" in few, few)
    expect(report_targets.section([], [], []) == [], "nothing without rows")


def every_row():
    """A row of all that bench/all.py measures."""
    for kind in plan.KINDS:
        for task in plan.tasks_of(kind, plan.SECTIONS):
            for name in () if task.script else task.programs:
                yield from measured(name=name, walls=[30], **plan.setting(kind, task, 1, 1000))


def test_every_row():
    """With all rows, nothing is missing, and the page is short enough to read."""
    rows = list(every_row())
    expect(list(report_page.missing(rows)) == [], "nothing is missing")
    targets = report_targets.section(TARGET_ROWS, STAGES, PROCESSES)
    nlines = len(report_page.page(rows, targets).splitlines())
    expect(nlines <= 400, f"{nlines} lines")


def test_first():
    """The first figures: a table and a picture, and nothing at all without rows."""
    found = report_page.first_rows(ROWS)
    same_text("\n".join(report_page.first_table(found)), "\n".join(FIRST), "the first table")
    texts = [text.text for text in xml.etree.ElementTree.fromstring(report_page.picture(ROWS))
             if text.tag.endswith("text")]
    expect(texts[1::2] == ["kcount", "KMC 1 -m4", "KMC 1", "Jellyfish 1"], f"bars {texts}")
    expect(texts[-1] == "160 s, 3.0 GiB", "time and memory at the end of a bar")
    many = [*ROWS, *(row for wall, name in enumerate(("gerbil", "meryl", "hysortk"))
                     for row in measured("front", "genome", name, [wall + 20]))]
    expect([runs[0]["program"] for runs in report_page.first_rows(many)]
           == ["kcount", "kmc -m4", "kmc", "gerbil", "meryl"], "kcount and the fastest others")
    found = [measured("front", "genome", name, times) for name, times in
             (("gerbil", [1]), ("kmc -m4", [1, 2, 3]), ("jellyfish", [1]), ("kmc", [1, 2, 3]))]
    same_text(report_page.number_of_runs(found),
              "1 run each, except KMC 1 -m4 and KMC 1: median of 3 runs", "programs by runs")
    expect(report_page.regions([]) == {"front-page": [], "human-genome": []}, "without rows")
    sentence = " ".join(report_page.regions(ROWS)["human-genome"])
    expect("2.0 Gbases of BGZF, takes 10.0 s with `--min 1` on 2 cores and an New (median of 3 "
           "runs)" in sentence, sentence)
    on_gpu = [*ROWS, *measured("front", "genome", "kcount cuda", [1], "1-gpu")]
    expect("**3.0 GiB, 80 GiB of the GPU**" in "\n".join(report_page.front(on_gpu)),
           "the machine with a GPU goes first")


def test_behind():
    """Every setting, with its commit and extremes; and what is missing."""
    lines = report_page.behind(ROWS)
    line = "| front | a plant or insect, 2.0 Gbases | 31 | KMC 1 | 2 | 12 GB |  | 8.00 | 7.00 " \
           "| 9.00 | 3 | 9.0 | 3.00 | 5.0 |"
    expect(line in lines, f"no line {line} in\n" + "\n".join(lines))
    expect(report_page.behind([]) == [], "nothing without rows")
    gone = list(report_page.missing(ROWS))
    line = "2-cores: front: genome, k = 31: kmc_new, gerbil, meryl, hysortk"  # there are two others
    expect(line in gone, f"no line {line} in {gone}")
    expect("2-cores: asking: genome, k = 31: filter, total" in gone, "a trial does not count")


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
        nlines = len((docs / "benchmarks.md").read_text().splitlines())
        expect(nlines <= 400, f"docs/benchmarks.md has {nlines} lines, more than 400")


def test_readme():
    """The marked regions of README.md hold what bench/report.py makes from bench/results."""
    page = (SOURCE / "README.md").read_text()
    found = report_page.regions(report.load())
    same_text(page, report_page.filled(page, found), "README.md (run bench/report.py)")
    filled = report_page.filled(page, {name: ["| new |"] for name in found})
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
            has_code = runs.has_machine_code(kcount)
            expect(has_code == (compiled == "true"), f"compiled: {compiled}")
            expect(runs.has_machine_code(kcount, 1), "an earlier build, which does not say it")
        runs.open_log(log, True).close()
        runs.open_log(log, False, kcount).close()
        try:
            runs.open_log(log, True, kcount)
        except SystemExit as refused:
            expect("not recorded" in str(refused) and "--no-record" in str(refused), str(refused))
        else:
            raise Failure("a build without machine code for the device was recorded")


main([test_papers, test_page, test_machines, test_sizes, test_beside_kcount, test_every_row,
      test_targets, test_first, test_behind, test_lookups, test_multi, test_several,
      test_up_to_date, test_readme, test_runner, test_no_record, test_machine_code])
