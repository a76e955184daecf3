"""
bench/ranks.py runs and records what it should, and stops if the files differ; bench/report_ranks.py
makes the right tables of its lines.

    bench_ranks.py SOURCE
"""
import json
import pathlib
import subprocess
import sys
import tempfile

from lib.tools import Failure, main, same_text

SOURCE = pathlib.Path(sys.argv[1]).resolve()
sys.path.insert(0, str(SOURCE / "bench"))
import report_ranks  # noqa: E402

# Programs that print what kcount would, as rank 0 of so many processes.
FAKE_KCOUNT = """#!{python}
import json, os
n = int(os.environ.get("RANKS", 1))
open("out.kc", "w").write({output})
n = 1 if {leader} else n
ranks = [{{"counted_distinct": 5, "peak_memory_bytes": 7}}] * n
print(json.dumps({{"distinct": 5, "bases": 9, **({{"ranks": ranks}} if n > 1 else {{}})}}))
"""
FAKE_MPIRUN = """#!/bin/sh
shift
RANKS=$1
export RANKS
shift
exec "$@"
"""
SECONDS = {1: (1.0, 2.0, 0.5), 2: (4.0, 1.0, 1.0)}  # reading, counting, order
SENT = {1: 4 << 30, 2: 3 << 30}  # by rank 0, for values of --min


def record(ranks, least, turn, commit="new"):
    stages = dict(zip(("partition", "count", "order"), SECONDS[ranks]))
    rank_0 = {"sent_bytes": SENT[least], "received_bytes": SENT[least] + (1 << 30)}
    return {"file": "r.fq", "ranks": ranks, "threads": 16, "k": 31, "min": least, "turn": turn,
            "wall": 4.0 * ranks + turn, "user": 3, "system": 1, "commit": commit,
            "peak_bytes": 3 << 30, "all_peaks_bytes": ranks * (3 << 30),
            "output_bytes": (4 - least) << 30,
            "summary": {"bases": 1 << 30, "seconds": stages,
                        **({"ranks": [rank_0] * ranks} if ranks > 1 else {})},
            "machine": {"cpu": "Some CPU", "cores": 16, "memory_gib": 64}, "date": "2026-11-24"}


RECORDS = [record(1, 2, 9, "old")] + [record(ranks, least, turn) for least in (2, 1)
                                      for turn in (0, 1, 2) for ranks in (1, 2)]
TABLE = """\
| 1 | 16 | 5.00 | 1.00 |  | 4.0 | 3.00 | 3.00 | 3 | new |
| 2 | 8 | 9.00 | 1.80 |  | 4.0 | 3.00 | 6.00 | 3 | new |
"""
# With --min 1, rank 0 sends 1 GiB more and the output has 1 GiB more. So of the 3 GiB that it sends
# with --min 2, 2 GiB are counted k-mers, as many bytes as the output has, and 1 GiB super-k-mers.
MODEL = """\
| 1 | 466 | 0 | 931 | 0 | 1397 |
| 2 | 233 | 3725 | 466 | 931 | 5122 |
"""


def expect(is_so, what):
    if not is_so:
        raise Failure(what)


def test_section():
    expect(report_ranks.section([]) == [], "no lines, no section")
    page = "\n".join(report_ranks.section(RECORDS))
    expect(TABLE in page, f"the table: {page}")
    expect(MODEL in page, f"the model: {page}")
    few = "\n".join(report_ranks.section([line for line in RECORDS if line["min"] == 2]))
    expect("A model" not in few, "no model without both values of --min")
    page = "\n".join(report_ranks.section([{**line, "device": "cuda"} for line in RECORDS]))
    expect("--min 2, --device cuda\n" in page and "A model" not in page, "no model of devices")
    page = "\n".join(report_ranks.section([{**line, "note": "slow"} for line in RECORDS]))
    expect("--min 2, slow\n" in page, "the note is in the heading")


def run(work, *options, output="'same'", leader=False):
    """The exit code and messages of bench/ranks.py, and the lines that it kept."""
    for name, text in (("kcount", FAKE_KCOUNT.format(python=sys.executable, output=output,
                                                      leader=leader)),
                       ("start", FAKE_MPIRUN)):
        (work / name).write_text(text)
        (work / name).chmod(0o755)
    (work / "r.fq").write_text("@r\nA\n+\nI\n")
    done = subprocess.run([sys.executable, SOURCE / "bench" / "ranks.py", "--build", work,
                           "--results", work, "--repeat", "2", "--ranks", "1,2", "--threads", "4",
                           "--mpirun", work / "start", *options, work / "r.fq"],
                          capture_output=True, text=True)
    log = work / "ranks.jsonl"
    lines = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    log.unlink(missing_ok=True)
    return done, lines


def test_runs():
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        done, lines = run(work)
        expect(done.returncode == 0, done.stderr)
        expect([(line["ranks"], line["turn"]) for line in lines] == [(1, 0), (2, 0), (1, 1),
                                                                     (2, 1)],
               f"numbers of processes in turns: {lines}")
        same_text(lines[1]["command"].replace(str(work), "W"),
                  "W/start -n 2 kcount count r.fq -k 31 --min 2 -t 2 -m 6144M --device cpu --tmp "
                  "tmp --quiet --json -o out.kc", "the command")
        expect(lines[1]["all_peaks_bytes"] == 14, "the memory of all processes")
        expect(run(work, "--no-record")[1] == [], "--no-record")
        done, lines = run(work, "--device", "cuda:0,1", leader=True)
        expect(all(" --device cuda:0,1 " in line["command"] for line in lines), "the device")
        expect([line["start"] > 0 for line in lines] == [False, True] * 2, "MPI's start")
        done, lines = run(work, output="str(n)")
        expect("another file than before" in done.stderr and len(lines) == 1, "another file")


main([test_section, test_runs])
