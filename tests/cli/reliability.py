"""
docs/dev/reliability.md, and the totals in docs/safety.md, are what bench/report_reliability.py
makes from the results; its sums are right, and the tests that it names exist.

    reliability.py SOURCE
"""
import pathlib
import sys

from lib.tools import Failure, main, same_text

SOURCE = pathlib.Path(sys.argv[1]).resolve()
sys.path.insert(0, str(SOURCE / "bench"))
import report_reliability  # noqa: E402


def kind(cases, faults):
    return {"cases": cases, "kmers": 1000 * cases, "bases": 7, "runs": 3 * cases,
            "device_runs": cases, "peer_runs": 1, "kcount_s": 1.0, "cpu_s": 2.0, "faults": faults}


def record(cpu, device, kinds, faults=(), sweeps=()):
    return {"date": "2000-01-01", "commit": "abc", "machine": {"cpu": cpu, "cores": 2},
            "device": device, "counters": {"tests/naive.c": "", "kmc": "KMC 3"},
            "command": "scripts/campaign.sh 1", "seed": 5, "wall_s": 3600, "cpu_s": 7200,
            "kinds": kinds, "faults": list(faults), "sweeps": list(sweeps)}


FAULT = {"case": 77, "kind": "count", "what": "wrong\n| counts"}
SWEEP = {"name": "power loss", "cases": 12345, "faults": 0, "what": ""}
RECORDS = [record("A", "cpu", {"count": kind(1000, 0), "store": kind(10, 0)}),
           record("A", "cpu", {"count": kind(500, 1)}, [FAULT]),
           record("B", "cuda", {"count": kind(1, 0)}, sweeps=[SWEEP])]
STORIES = [{"fault": "it fell over", "found": "a look", "guards": ["tests/naive.c"]}]
LINES = (
    "So far: **1,511 cases**, 4,533 runs of kcount, **1,511,000 k-mers compared**, 4 comparisons "
    "with jellyfish or KMC, in 6.00 hours of CPU time. Faults found: 1.",
    "| A, 2 cores | cpu | 2 | 2.00 | 4.00 | 1,510 | 4,530 | 1,510 | 1,510,000 | 1 |",
    "| B, 2 cores | cuda | 1 | 1.00 | 2.00 | 1 | 3 | 1 | 1,000 | 0 |",
    "| power loss | 1 | 12,345 | 0 | 2000-01-01, abc |",
    "| 2000-01-01 | abc | seed 5, case 77 (count) | wrong \\| counts |",
    "| it fell over | a look | `tests/naive.c` |")


def test_page():
    lines = report_reliability.page(RECORDS, STORIES, "# Intro\n").splitlines()
    for line in LINES:
        if line not in lines:
            raise Failure(f"no line {line!r} in\n" + "\n".join(lines))
    totals = report_reliability.sum_lines(RECORDS)[0]
    same_text(report_reliability.with_totals("a\nSo far: 1.\nb\n", RECORDS), f"a\n{totals}\nb\n",
              "the paragraph with the totals")
    if "No campaign yet." not in report_reliability.page([], STORIES, "# Intro\n"):
        raise Failure("a page without campaigns")


def test_up_to_date():
    same_text((SOURCE / "docs/dev/reliability.md").read_text(), report_reliability.made_now(),
              "docs/dev/reliability.md (run bench/report_reliability.py)")
    totals = report_reliability.sum_lines(report_reliability.load_lines(report_reliability.RESULTS))
    if totals[0] not in (SOURCE / "docs/safety.md").read_text().splitlines():
        raise Failure("docs/safety.md has other totals (run bench/report_reliability.py)")


def test_guards():
    for story in report_reliability.stories_kept():
        missing = [guard for guard in story["guards"] if not (SOURCE / guard).exists()]
        if missing or not story["guards"]:
            raise Failure(f"{story['fault']}: guarded by nothing, or missing: {missing}")


main([test_page, test_up_to_date, test_guards])
