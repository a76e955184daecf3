"""
bench/tables.py keeps what a program prints; bench/report_tables.py makes plots and tables of rows that
are made up.

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

from tools import Failure, main

SOURCE = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(SOURCE / "bench"))
import compare  # noqa: E402
import gpu_stages  # noqa: E402
import report_tables  # noqa: E402

PUBLIC = [{"paper": "linear", "table": "another", "gpu": "New", "n": 1 << 28, "load": 0.5, "insert_ops_per_s": 7e9},
          {"paper": "linear", "table": "a third", "gpu": "New", "n": 1 << 20, "find_ops_per_s": 5e6}]
PAGE = "# The papers\n\nText before.\n"
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
    """Rates per GB/s of memory bandwidth; ours has 4000 of it, the paper's 100."""
    record = {"paper": paper, "figure": figure, "series": series, "x_name": "x", "x": x, "ops_per_s": ours * 4000,
              "bandwidth_GBps": 4000.0, "ops_per_GB": ours, "paper_gpu": "Old", "paper_bandwidth_GBps": 100.0,
              "shift": 0, "gpu": "New", "commit": "abc", "date": "2000-01-01", "command": "bench_tables", **more}
    if theirs is not None:
        record.update({"paper_ops_per_s": theirs * 100, "paper_ops_per_GB": theirs})
    if target is not None:
        record["target_ops_per_s"] = target
    return record


def rows():
    return [row("warpdrive", "7: insert", "|g| = 1", 0.4, 9e9, commit="older"),
            row("warpdrive", "7: insert", "|g| = 1", 0.4, 8e9, shift=3),
            row("warpdrive", "7: insert", "|g| = 1", 0.4, 3e6, 4e6),
            row("warpdrive", "7: insert", "|g| = 2", 0.4, 5e6),
            row("warpdrive", "7: insert", "|g| = 2", 0.9, 2e6),
            row("warpdrive", "64-bit keys: insert", "|g| = 1", 0.8, 2e6, target=9e9),
            row("warpdrive", "64-bit keys: insert", "|g| = 2", 0.8, 3e6, target=9e9),
            row("warpdrive", "64-bit keys: retrieve", "|g| = 2", 0.8, 1e6, target=9e9),
            *(row("slab", "5b: search all", "", 2.0**i, i * 1e6, 18e6) for i in range(16, 20)),
            *(row("lsm", "II: insertion", f"GPU LSM, {stat}", b, rate * 1e5, 15e5)
              for b in (15, 16) for stat, rate in (("min", b - 5), ("max", b + 5), ("mean", b))),
            row("lsm", "V-D: cleanup", "", 10, 2e6, 1e6, log2_b=20, r=63),
            row("lsm", "V-D: cleanup", "", 10, 3e6, 1e6, log2_b=18, r=127, median_ms=1.0),
            row("lsm", "V-D: lookup", "before cleanup", 18, 1e6, median_ms=9.0, n=1 << 22),
            row("lsm", "V-D: lookup", "after cleanup", 18, 3e6, 2e6, median_ms=2.0, n=1 << 22),
            row("linear", "utilization: insert", "", 15 / 32, 2e6, 1e6, mean_probes=1.4, most_probes=70),
            row("linear", "utilization: lookup", "", 15 / 32, 2e6),
            row("hopscotch", "11: [20,20,60]", "GLHT", 100, 1e6),
            {**row("hopscotch", "11: [20,20,60]", "GLHT over CPU", 100, 1), "ratio": 3.0, "paper_ratio_from": 4.0,
             "paper_ratio_to": 5.0},
            row("hopscotch", "9: build", "GLHT", 100, 1e6, rebuilds=2, load=0.4),
            row("hopscotch", "something new", "GLHT", 100, 7e6)]


def written(docs):
    """The page after a report, and the plots' names."""
    with contextlib.redirect_stderr(io.StringIO()) as said:
        report_tables.write(rows(), PUBLIC, docs)
    plots = sorted(path.name for path in (docs / "papers").iterdir())
    for name in plots:
        xml.etree.ElementTree.parse(docs / "papers" / name)
    return (docs / "papers.md").read_text(), plots, said.getvalue()


def test_report():
    with tempfile.TemporaryDirectory() as work:
        docs = pathlib.Path(work)
        (docs / "papers.md").write_text(PAGE)
        page, plots, said = written(docs)
        expect(page.startswith(PAGE), "what was there stays")
        expect(written(docs)[0] == page, "a second report changes nothing")
        (docs / "papers.md").write_text(page + "\nText behind.\n")
        expect(written(docs)[0] == page + "\nText behind.\n", "what is behind stays")
    expect(plots == ["hopscotch-11-12.svg", "hopscotch-9-10.svg", "linear-utilization.svg", "lsm-II.svg",
                     "lsm-cleanup.svg", "slab-5.svg", "warpdrive-7.svg"], f"plots {plots}")
    expect("no rows for warpdrive-8.svg" in said, "what has no rows is told")
    lines = page.splitlines()
    for line in ("| WarpDrive | 1 of 1 | 1 of 2 |",
                 "| 7: insert | \\|g\\| = 2 | x 0.4 | 400 | 20000 | 4 | 5 | 1.25 | yes |",
                 "| 64-bit keys: insert | x 0.8 | \\|g\\| = 2 | 12000 | 9000 | 1.33 | yes | 1 of 2 |",
                 "| 64-bit keys: retrieve | x 0.8 | \\|g\\| = 2 | 4000 | 9000 | **0.44** | **no** | 0 of 1 |",
                 "| 5b: search all |  | lowest of 4: x 2^16 | 1800 | 64000 | 18 | 16 | **0.89** | **2 of 4** |",
                 "| 5b: search all |  | x 2^17 | 1800 | 68000 | 18 | 17 | **0.94** |",
                 "| 16 | 150 / 150 / 150 | 4400 / 6400 / 8400 | 1.5 / 1.5 / 1.5 | 1.1 / 1.6 / 2.1 "
                 "| **0.73** / 1.07 / 1.40 |",
                 "| V-D: cleanup | b = 2^18, r = 127 | x 10 | 100 | 12000 | 1 | 3 | 3.00 | yes |",
                 "V-D, b = 2^18, r = 127: a cleanup and 2^22 lookups are **3.0** times as quick as those lookups without "
                 "it (the paper: 4.8).",
                 "| depth: mean | 0.50 | 0.4774 | 0.4 | yes |", "| depth: most | 0.50 | 60 | 69 | **no** |",
                 "| 11: [20,20,60] | 100 | **3** (4 to 5) |", "| 9: build | GLHT | x 100 | 2 | 0.4 |",
                 "| something new | x 100 | GLHT | 28000 | 7 |",
                 "| another | 2^28 | 0.5 | 7000 |  |", "| a third | 2^20 |  |  | 5 |"):
        expect(line in lines, f"no line {line}")


def kept(work, papers):
    """bench/tables.py's exit status and the papers of the rows it kept."""
    done = subprocess.run([sys.executable, SOURCE / "bench" / "tables.py", "--build", work, "--results", work,
                           "--limit", "5", "--papers", papers, "--", "-n", "3"], capture_output=True, text=True)
    lines = [json.loads(line) for line in (work / "tables.jsonl").read_text().splitlines()]
    (work / "tables.jsonl").unlink()
    for line in lines:
        expect(line["command"] == f"bench_tables -n 3 {line['paper']}", f"command {line['command']}")
        expect("cores" in line["machine"] and "commit" in line and "date" in line, "where and when")
    return done.returncode, [line["paper"] for line in lines]


def test_runner():
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        (work / "bench_tables").write_text(FAKE.format(python=sys.executable))
        (work / "bench_tables").chmod(0o755)
        expect(kept(work, "lsm,slab") == (0, ["lsm", "slab"]), "two papers")
        expect(kept(work, "fails,hangs,slab") == (1, ["fails", "hangs", "slab"]), "those that fail stop no others")
        expect(kept(work, "nothing,slab")[0] == 77, "no device")
        expect(kept(work, "refused,slab")[0] == 3, "no machine code for the device")


def test_no_record():
    """Without recording nothing is kept, and a line of code compiled at the start never is."""
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


main([test_report, test_runner, test_no_record, test_machine_code])
