#!/usr/bin/env python3
"""
Time different ways to inflate one gzip file, from one thread to all.

    bench/compare_gunzip.py --label gunzip --threads 1,2,4 reads.fq.gz tree.tar.gz

The text is discarded, except by "reader", which parses it, and "count ...", which counts k-mers.
Each run is one JSON line in bench/results/LABEL.jsonl; bench/report.py makes a section of
docs/dev/measurements.md from labels that begin with "gunzip". Programs that are not on
the PATH are left out.
"""
import argparse
import datetime
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

from runs import ROOT, add_no_record, commit, machine, open_log, timed


def count(device):
    return f"kcount count {{file}} -k 31 -t {{threads}} -m 64G --tmp tmp --device {device} " \
           f"--quiet --json -o out.kc"


# way: (program, command, whether it takes threads, whether it wants reads)
WAYS = {
    "zlib": ("bench_gunzip", "bench_gunzip zlib 1 {file}", False, False),
    "isa-l": ("bench_gunzip", "bench_gunzip isa-l 1 {file}", False, False),
    "kcount": ("bench_gunzip", "bench_gunzip kcount {threads} {file}", True, False),
    "pigz -d": ("pigz", "pigz -dc {file} > /dev/null", False, False),
    "rapidgzip": ("rapidgzip", "rapidgzip -d -c -f -P {threads} {file} > /dev/null", True, False),
    "reader": ("kcount", count("cpu") + " --reader-only", True, True),
    "count cuda": ("kcount", count("cuda"), True, True),
}


def measure(way, threads, path, work, common):
    command = WAYS[way][1].format(file=path.name, threads=threads)
    result, said, complained = timed(command, work)
    failed = result.pop("exit") != 0
    print(f"{way:10} {threads:3} threads {path.name}: {result['wall']:.2f} s, "
          f"CPU {result['user'] + result['system']:.2f} s{', failed' if failed else ''}",
          flush=True)
    if failed:
        print(complained.strip()[-500:], file=sys.stderr)
        return None
    if WAYS[way][0] == "bench_gunzip":
        result["text_bytes"] = int(said.split("\t")[2])
    return {"way": way, "file": path.name, "threads": threads, "command": command,
            "packed_bytes": path.stat().st_size, **result, **common}


def settings(arguments):
    """(way, threads, file), all ways for each file in turn, so that slow phases affect all ways."""
    for path in arguments.files:
        for way in arguments.ways.split(","):
            program, _, scales, wants_reads = WAYS[way]
            if not shutil.which(program) or (wants_reads and ".tar" in path.name):
                continue
            for threads in arguments.threads if scales else [1]:
                if not wants_reads or threads == max(arguments.threads):
                    yield way, threads, path


def take_turns(arguments, work, log, common):
    deadline = time.monotonic() + arguments.budget
    once = arguments.once.split(",")
    for turn in range(arguments.repeat):
        for way, threads, path in settings(arguments):
            if turn > 0 and way in once:
                continue
            if time.monotonic() > deadline:
                print(f"the budget was spent in turn {turn}", flush=True)
                return
            record = measure(way, threads, path, work, {**common, "turn": turn})
            if record is not None:
                log.write(json.dumps(record) + "\n")
                log.flush()


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    parser.add_argument("--label", required=True, help="name of the result file")
    parser.add_argument("--threads", default=f"1,{os.cpu_count()}",
                        type=lambda text: [int(number) for number in text.split(",")])
    parser.add_argument("--ways", default=",".join(WAYS))
    parser.add_argument("--once", default="zlib,pigz -d",
                        help="ways that run in the first turn only")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--budget", type=float, default=float("inf"),
                        help="seconds after which no further run starts")
    parser.add_argument("--results", type=pathlib.Path, default=ROOT / "bench" / "results")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build",
                        help="folder that holds kcount and bench/bench_gunzip")
    parser.add_argument("--work", type=pathlib.Path, help="folder for outputs (default: a new one)")
    add_no_record(parser)
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    build = arguments.build.resolve()
    os.environ["PATH"] = f"{build}:{build / 'bench'}:{os.environ['PATH']}"
    on_device = "count cuda" in arguments.ways
    common = {"label": arguments.label, "date": datetime.date.today().isoformat(),
              "commit": commit(), "machine": machine()}
    with tempfile.TemporaryDirectory(dir=arguments.work) as work, \
            open_log(arguments.results / f"{arguments.label}.jsonl", arguments.record,
                     build / "kcount" if on_device else None) as log:
        work = pathlib.Path(work)
        for path in arguments.files:
            (work / path.name).symlink_to(path.resolve())
            subprocess.run(["cat", path], stdout=subprocess.DEVNULL, check=True)
        take_turns(arguments, work, log, common)


if __name__ == "__main__":
    main()
