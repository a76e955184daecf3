"""
bench/gpu_reader.py runs and records what it should, and stops if the readers differ;
bench/report_reader.py makes the right tables of its lines.

    bench_reader.py SOURCE
"""
import json
import pathlib
import subprocess
import sys
import tempfile

from lib.tools import Failure, main, same_text

SOURCE = pathlib.Path(sys.argv[1]).resolve()
sys.path.insert(0, str(SOURCE / "bench"))
import report  # noqa: E402
import report_reader  # noqa: E402

# Programs that print what kcount and bench_gpu_inflate would.
FAKE_KCOUNT = """#!{python}
import json, sys
if sys.argv[1] == "info":
    sys.exit(1)
reader = sys.argv[sys.argv.index("--reader") + 1]
open("out.kc", "w").close()
text = {{"host_text_bytes": 0, "device_text_bytes": 0, "{read_by}_text_bytes": 9}}
print(json.dumps({{**text, "distinct": {distinct}, "bases": 5, "text_bytes": 9, "runs": 1}}))
"""
FAKE_BENCH = """#!{python}
import sys
print('{{"stage": "inflate: %s", "median_ms": 2.0, "g_per_s": 1.0, "gpu": "New"}}' % sys.argv[-1])
"""
ABOUT = {"machine": {"cpu": "Some CPU", "cores": 16, "memory_gib": 64, "gpu": "New, 1.2"},
         "date": "2026-11-23"}
RATES = {"inflate": 70.5, "parse": 410, "bus": 50, "text": 48, "BGZF": 52.25}
STAGES = [{"stage": f"{stage}: {file}", "g_per_s": rate * factor, "gb_per_s": rate / 5,
           "gpu": "New", "ms": [1, 2, 3], "commit": commit, **ABOUT}
          for commit, factor, file in (("old", 1 / 2, "r.fq.gz"), ("new", 1, "r.fq.gz"))
          for stage, rate in RATES.items()]
STAGES += [{**STAGES[0], "stage": "inflate: x.tar.gz", "commit": "new"}]
COUNTS = [{"file": "r.fq", "reader": reader, "cores": cores, "k": 31, "min": 2, "turn": turn,
           "wall": wall + turn, "user": 3, "system": 1, "commit": commit,
           "summary": {"bases": 5.12e9}, **ABOUT}
          for commit, turn in (("old", 8), ("new", 0), ("new", 1), ("new", 2))
          for reader, cores, wall in (("host", 4, 3.5), ("device", 4, 2.0), ("host", 2, 7.0))]
PAGE = """\
### New: stages of the device's reader

| file | inflate | parse and pack | the bus | text streamed | of the bus \
| BGZF streamed | its GB/s over the bus | runs | commit |
|---|---:|---:|---:|---:|---:|---:|---:|---:|---|
| r.fq.gz | 70.5 | 410.0 | 50.0 | 48.0 | 96% | 52.2 | 10.4 | 3 | new |
| x.tar.gz | 35.2 |  |  |  |  |  |  | 3 | new |

Some CPU, 16 cores, 64 GiB; New; 2026-11-23.

### r.fq, 5.12 Gbases: counted on a few cores, k = 31, --min 2

| cores | host's reader, s | device's, s | ratio | CPU s, host's | CPU s, device's | runs | commit |
|---:|---:|---:|---:|---:|---:|---:|---|
| 2 | 8.00 |  |  | 4.0 |  | 3 | new |
| 4 | 4.50 | 3.00 | 1.50 | 4.0 | 4.0 | 3 | new |

Some CPU, 16 cores, 64 GiB; New; 2026-11-23.
"""


def test_nvcomp():
    """There is a column for nvCOMP if a program that was built with it has run."""
    lines = report_reader.stage_lines(STAGES + [{**STAGES[-1], "stage": "nvcomp: x.tar.gz",
                                                 "g_per_s": 49}])
    for line in "| file | inflate | nvCOMP | parse and pack |", "| r.fq.gz | 70.5 |  | 410.0 |", \
            "| x.tar.gz | 35.2 | 49.0 |  |":
        expect(any(row.startswith(line) for row in lines), f"{line} in {lines}")


def expect(is_so, what):
    if not is_so:
        raise Failure(what)


def test_section():
    """No section without lines."""
    expect(report_reader.section([]) == [], "no lines, no section")
    same_text("\n".join(report_reader.section(COUNTS + STAGES)[1:]), PAGE, "the tables")
    results = report.RESULTS
    try:
        with tempfile.TemporaryDirectory() as work:
            report.RESULTS = pathlib.Path(work)
            (report.RESULTS / "gpu-reader.jsonl").write_text(
                "".join(json.dumps(line) + "\n" for line in STAGES + COUNTS))
            expect(PAGE in report.measurements([]), "the section is in the page")
    finally:
        report.RESULTS = results


def run(work, *options, **fake):
    """The exit code and messages of bench/gpu_reader.py, and the lines that it kept."""
    (work / "bench").mkdir(exist_ok=True)
    programs = {work / "kcount": FAKE_KCOUNT, work / "bench" / "bench_gpu_inflate": FAKE_BENCH}
    for path, text in programs.items():
        path.write_text(text.format(python=sys.executable, **fake))
        path.chmod(0o755)
    (work / "r.fq").write_text("@r\nA\n+\nI\n")
    done = subprocess.run([sys.executable, SOURCE / "bench" / "gpu_reader.py", "--build", work,
                           "--results", work, "--repeat", "2", *options, work / "r.fq"],
                          capture_output=True, text=True)
    log = work / "gpu-reader.jsonl"
    lines = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    log.unlink(missing_ok=True)
    return done, lines


def test_runs():
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        counts = {"read_by": '" + reader + "', "distinct": "7"}
        done, lines = run(work, **counts)
        expect(done.returncode == 0 and [line["command"] for line in lines]
               == [f"bench_gpu_inflate -n 2 {work}/r.fq"], f"stages: {done}, {lines}")
        done, lines = run(work, "--cores", "1,1000000", **counts)
        expect(done.returncode == 0, done.stderr)
        expect([(line["cores"], line["reader"], line["turn"]) for line in lines]
               == [(1, reader, turn) for turn in (0, 1) for reader in ("host", "device")],
               f"readers in turns, on the cores that there are: {lines}")
        begin = "taskset -c 0-0 kcount count r.fq -k 31 --min 2 -t 1 "
        expect(lines[0]["command"].startswith(begin), lines[0]["command"])
        expect("exit" not in lines[0] and "runs" not in lines[0]["summary"], "what is kept")
        expect(run(work, "--cores", "1", "--no-record", **counts)[1] == [], "--no-record")
        done, lines = run(work, "--cores", "1", **{**counts, "distinct": "len(reader)"})
        expect("6 distinct k-mers, not 4" in done.stderr and len(lines) == 1, "other k-mers")
        done, lines = run(work, "--cores", "1", **{**counts, "read_by": "host"})
        expect("the other reader read r.fq" in done.stderr and len(lines) == 1, "the other reader")


main([test_section, test_nvcomp, test_runs])
