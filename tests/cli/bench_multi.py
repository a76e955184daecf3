"""
bench_multi on emulated devices: the lines for figures 10 and 11 of the WarpDrive paper, and those
of the counter, have what bench/report_multi.py makes its tables of.

    bench_multi.py PROGRAM SOURCE
"""
import json
import pathlib
import subprocess
import sys

from lib.tools import Failure, main, same_text

PROGRAM, SOURCE = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
sys.path.insert(0, str(SOURCE / "bench"))
import report_multi  # noqa: E402

ABOUT = {"machine": {"cpu": "CPU", "cores": 1, "memory_gib": 1}, "commit": "abc",
         "date": "2000-01-01"}
KINDS = {"unique", "uniform", "zipf"}


def bench(*arguments, code=0):
    """The lines of a run with small sizes, and what it says on stderr."""
    done = subprocess.run([PROGRAM, "-n", "1", "-s", "31", *arguments], text=True,
                          capture_output=True, check=False)
    if done.returncode != code:
        raise Failure(f"exit code {done.returncode}, not {code}: {done.stderr}")
    return [json.loads(line) for line in done.stdout.splitlines()], done.stderr


def expect(is_so, what):
    if not is_so:
        raise Failure(what)


def tables(rows, title):
    """The lines of the report's table of this title, after its head."""
    page = "\n".join(report_multi.section([{**row, **ABOUT} for row in rows]))
    lines = page.partition(title)[2].partition("\n###")[0].splitlines()
    return [line for line in lines if line.startswith("| ")][1:]


def test_capacity():
    """Figure 10: five sizes of each distribution, of which skewed ones also without combining."""
    rows, _ = bench("-d", "0,1", "capacity", "host-capacity")
    for what, each in (("insert", 5), ("retrieve", 5), ("host insert", 5), ("host retrieve", 5)):
        for keys in KINDS:
            found = [row for row in rows if (row["what"], row["keys"]) == (what, keys)
                     and row.get("combining") != "never"]
            expect(len(found) == each, f"{len(found)} lines of {what}, {keys}")
    never = [row for row in rows if row.get("combining") == "never"]
    expect({row["keys"] for row in never} == {"uniform", "zipf"} and len(never) == 10, "never")
    expect(all(row["sent"] == row["n"] for row in never), "all keys are sent")
    expect(all(0 < row["sent"] <= row["n"] for row in rows if "sent" in row), "keys are sent")
    expect(len(tables(rows, "capacity and distributions")) == len(rows), "the table of figure 10")


def test_host():
    """Figure 11: the stages of one batch after the other add up to the time; answers come back."""
    rows, _ = bench("-d", "0,1,0", "host")
    found = [(row["what"], row["members"], row["in_flight"]) for row in rows]
    want = [(what, members, in_flight) for members in (1, 2, 3) for in_flight in (1, 2, 4)
            for what in ("host insert", "host retrieve")]
    same_text(str(found), str(want), "the lines of figure 11")
    for row in rows:
        stages = row["stages_ms"]
        expect(stages["upload"] > 0, "copies to the devices take time")
        expect((stages["download"] > 0) == (row["what"] == "host retrieve"), "copies of answers")
        if row["in_flight"] == 1:
            expect(sum(stages.values()) <= row["median_ms"] + 0.01, f"stages of {row}")
    expect(len(tables(rows, "keys on the host")) == len(rows), "the table of figure 11")


def test_no_memory():
    """What does not fit is skipped, and said."""
    rows, said = bench("-d", "0,1", "-m", "0", "host-capacity")
    expect(not rows and said.count("host-capacity skips 4096 keys") == 5, said)


def test_sizes():
    """With -l, every part takes these sizes."""
    rows, _ = bench("-d", "0,1", "-s", "8", "-l", "20,21", "capacity", "host-capacity")
    expect({row["n"] for row in rows} == {4096, 8192}, rows)


def test_usage():
    for arguments, why in ((["-z"], "unknown option"), (["figures"], "unknown part"),
                           (["-n", "0"], "REPEAT must be"), (["-s", "32"], "SHIFT must be"),
                           (["-d", "0,x"], "-d takes device numbers"),
                           (["-l", "28,41"], "-l takes numbers up to 40"),
                           (["-m", "x"], "-m takes a number of GiB")):
        _, said = bench(*arguments, code=2)
        expect(f"bench_multi: {why}" in said, said)


main([test_capacity, test_host, test_no_memory, test_sizes, test_usage])
