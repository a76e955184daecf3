#!/usr/bin/env python3
"""Run the papers' evaluations on the device, by bench_tables, and keep its lines.

    bench/tables.py --papers warpdrive,lsm -- -n 5

Each paper is a run of its own, so that a paper that fails does not stop the others. Arguments after
-- are passed to bench_tables (bench/tables/main.cu lists them). Each line that it prints is
appended, with machine, commit, date and command, to bench/results/tables.jsonl; bench/report.py
makes docs/dev/papers-results.md and its plots from these lines. Without a device the exit code is
77. A program without machine code for the device is refused with exit code 3, because the driver
would compile its kernels at the start; --no-record runs it all the same and keeps nothing.
"""
import argparse
import pathlib
import sys

from runs import ROOT, add_no_record
from gpu_stages import keep

PAPERS = "warpdrive,slab,lsm,linear,hopscotch"
REFUSED, NO_DEVICE = 3, 77


def show(record):
    """Print a row and its paper's, in millions of operations per second for each GB/s."""
    name = ", ".join(str(record[field]) for field in ("figure", "series", "x") if field in record)
    rate = f"{record['ops_per_s'] * 1e-9:8.3f} G/s" if "ops_per_s" in record else " " * 12
    ours, paper = (f"{record[field] * 1e-6:8.4f}" if field in record else " " * 8
                   for field in ("ops_per_GB", "paper_ops_per_GB"))
    print(f"{record['paper']:10} {name:70.70} {rate} {ours} {paper}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--papers", default=PAPERS, help=f"default {PAPERS}")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "bench",
                        help="folder that holds bench_tables")
    parser.add_argument("--results", type=pathlib.Path, default=ROOT / "bench" / "results")
    parser.add_argument("--limit", type=float,
                        help="seconds for each paper; a run that takes longer is killed")
    parser.add_argument("arguments", nargs="*", help="for bench_tables, after --")
    add_no_record(parser)
    arguments = parser.parse_args()
    program, log = arguments.build.resolve() / "bench_tables", arguments.results / "tables.jsonl"
    failed = 0
    for paper in arguments.papers.split(","):
        status = keep([str(program), *arguments.arguments, paper], log, show, arguments.limit,
                      arguments.record)
        if status in (REFUSED, NO_DEVICE):
            sys.exit(status)
        if status != 0:
            print(f"{paper}: bench_tables ended with status {status}", file=sys.stderr)
            failed = 1
    sys.exit(failed)


if __name__ == "__main__":
    main()
