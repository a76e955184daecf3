#!/usr/bin/env python3
"""Time counting with several processes on one machine, beside one process with as many threads.

    bench/ranks.py --ranks 1,2,4,8 reads.fq reads.fq.gz

kcount must have been built with -DKCOUNT_MPI=ON. The numbers of processes take turns; together,
the processes have the same threads and the same memory, and they must write the same file. Put the
reads and --work in a RAM disk. Each run is one line in bench/results/ranks.jsonl; bench/report.py
makes a table of them.

    bench/ranks.py --device cuda:0,1 --ranks 1,2 --mpirun mpirun --no-record reads.fq

times two processes on a machine with two devices, bound as mpirun binds them by default. One of
them counts, as a single process does; the time that MPI takes to start ("start") comes on top.
"""
import argparse
import datetime
import hashlib
import itertools
import json
import os
import pathlib
import shlex
import sys
import tempfile

from runs import ROOT, add_no_record, commit, machine, open_log, timed

KEPT = ("distinct", "kmers", "bases", "seconds", "ranks")


def command(arguments, reads, ranks):
    launch = f"{arguments.mpirun} -n {ranks} " if ranks > 1 else ""
    return f"{launch}kcount count {shlex.quote(str(reads.resolve()))} -k {arguments.k} " \
           f"--min {arguments.min} -t {arguments.threads // ranks} " \
           f"-m {arguments.memory * 1024 // ranks}M --device {arguments.device} --tmp tmp " \
           f"--quiet --json " \
           "-o out.kc"


def digest(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "blake2b").hexdigest()


def start(arguments, work, ranks):
    """Seconds that the launcher and MPI take: for processes that have hardly anything to do."""
    if ranks == 1:
        return 0
    return timed(f"{arguments.mpirun} -n {ranks} kcount --help", work)[0]["wall"]


def count(arguments, work, reads, ranks):
    words = command(arguments, reads, ranks)
    began = start(arguments, work, ranks)
    result, said, complained = timed(words, work)
    code = result.pop("exit")
    if code != 0:
        sys.exit(f"{words}: exit code {code}\n{complained}")
    result["start"] = began
    summary = json.loads(said)
    peaks = [rank["peak_memory_bytes"] for rank in summary.get("ranks", [])]
    result["all_peaks_bytes"] = sum(peaks) or result["peak_bytes"]
    print(f"{reads.name:24} {ranks:3} processes: {result['wall']:.2f} s, CPU "
          f"{result['user'] + result['system']:.2f} s, {result['all_peaks_bytes'] / 2**30:.2f} GiB"
          f", start {result['start']:.2f} s", flush=True)
    return {"file": reads.name, "ranks": ranks, "threads": arguments.threads, "k": arguments.k,
            "min": arguments.min, "device": arguments.device, "note": arguments.note,
            "command": words.replace(str(reads.resolve()), reads.name),
            **result, "summary": {name: summary[name] for name in KEPT if name in summary}}


def check(record, path, found):
    """The same file from any number of processes, each of which counted something, or one of which
    has counted everything, as on one machine."""
    if found.setdefault(record["file"], digest(path)) != digest(path):
        sys.exit(f"{record['command']}: another file than before")
    counted = [rank["counted_distinct"] for rank in record["summary"].get("ranks", [])]
    if len(counted) not in (0, record["ranks"]) or 0 in counted:
        sys.exit(f"{record['command']}: the processes counted {counted} k-mers")


def time_counts(arguments, log):
    common = {"machine": machine(), "commit": commit(), "date": datetime.date.today().isoformat()}
    found = {}
    with tempfile.TemporaryDirectory(dir=arguments.work) as work, \
            open_log(log, arguments.record) as lines:
        for turn, reads, ranks in itertools.product(
                range(arguments.repeat), arguments.reads, arguments.ranks):
            record = count(arguments, pathlib.Path(work), reads, ranks)
            check(record, pathlib.Path(work) / "out.kc", found)
            lines.write(json.dumps({**record, "turn": turn, **common}) + "\n")
            lines.flush()


def numbers(text):
    return [int(number) for number in text.split(",")]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reads", nargs="+", type=pathlib.Path)
    parser.add_argument("--ranks", type=numbers, default=[1, 2, 4, 8],
                        help="numbers of processes (default 1,2,4,8)")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="of all processes")
    parser.add_argument("--memory", type=int, default=12,
                        help="gigabytes for all processes (default 12)")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--k", type=int, default=31)
    parser.add_argument("--min", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--note", default="", help="of the machine's state, for the heading")
    parser.add_argument("--mpirun", default="mpirun --bind-to none --oversubscribe",
                        help="how to start several processes, without -n")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build",
                        help="folder that holds kcount")
    parser.add_argument("--results", type=pathlib.Path, default=ROOT / "bench" / "results")
    parser.add_argument("--work", type=pathlib.Path, help="folder for outputs (default: a new one)")
    add_no_record(parser)
    arguments = parser.parse_args()
    os.environ["PATH"] = f"{arguments.build.resolve()}:{os.environ['PATH']}"
    time_counts(arguments, arguments.results / "ranks.jsonl")


if __name__ == "__main__":
    main()
