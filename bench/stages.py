#!/usr/bin/env python3
"""Time the stages of a count, each on one thread, to show which is the slowest.

    bench/stages.py reads.fq reads.fq.gz reads.bgz.fq.gz

Reading is timed by bench_reader (fill: read and inflate; parse; pack), encoding and writing by
bench_store, the rest by kcount's own summary. One JSON line for each file goes to
bench/results/stages.jsonl; bench/report.py makes a table from them.
"""
import argparse
import datetime
import json
import pathlib
import re
import subprocess
import tempfile

from runs import ROOT, commit, machine


def run(*command, cwd=None):
    return subprocess.run([str(word) for word in command], check=True, capture_output=True,
                          text=True, cwd=cwd, stdin=subprocess.DEVNULL).stdout


def reading(build, reads):
    """Nanoseconds for each base of fill, parse and pack."""
    said = run(build / "bench" / "bench_reader", reads, 1)
    return {name: float(re.search(rf"^{name}\t.*\t([\d.]+) ns a base", said, re.M).group(1))
            for name in ("fill", "parse", "pack")}


def storing(build, k, work):
    """Nanoseconds of CPU to encode and write a k-mer with its count."""
    said = run(build / "bench" / "bench_store", "-n", 50_000_000, "-k", k, "-t", 1, "-o",
               work / "store.kc")
    alone, both = (float(re.search(rf"^{name} .* ([\d.]+) ns CPU each", said, re.M).group(1))
                   for name in ("generator alone", "generator, store"))
    return both - alone


def measure(build, reads, k, work):
    summary = json.loads(run(build / "kcount", "count", reads, "-k", k, "-t", 1, "--quiet",
                             "--json", "--force", "-o", work / "out.kc"))
    bases = summary["bases"]
    stages = reading(build, reads)
    seconds = {name: summary["seconds"][name] * 1e9 / bases
               for name in ("partition", "count", "order")}
    write = storing(build, k, work) * summary["distinct"] / bases
    stages.update({"super-k-mers": seconds["partition"] - sum(stages.values()),
                   "count": seconds["count"], "sort": seconds["order"] - write, "write": write})
    return {"reads": reads.name, "k": k, "bases": bases, "distinct": summary["distinct"],
            "ns_per_base": {name: round(ns, 3) for name, ns in stages.items()}}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reads", nargs="+", type=pathlib.Path)
    parser.add_argument("--kmers", default="31")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--work", type=pathlib.Path, help="folder for outputs (default: a new one)")
    arguments = parser.parse_args()
    common = {"machine": machine(), "commit": commit(), "date": datetime.date.today().isoformat()}
    with tempfile.TemporaryDirectory(dir=arguments.work) as work, \
            open(ROOT / "bench" / "results" / "stages.jsonl", "a") as log:
        for reads in arguments.reads:
            for k in map(int, arguments.kmers.split(",")):
                record = measure(arguments.build.resolve(), reads, k, pathlib.Path(work))
                print(record, flush=True)
                log.write(json.dumps({**record, **common}) + "\n")


if __name__ == "__main__":
    main()
