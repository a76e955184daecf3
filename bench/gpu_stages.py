#!/usr/bin/env python3
"""Time the CUDA engine's stages on the device, with bench_gpu, and record its lines.

    bench/gpu_stages.py --build build -- -k 31,55 -n 7

Arguments after -- are passed to bench_gpu (bench/gpu/bench_gpu.cu lists them). Each line that it
prints is appended, with machine, commit, date and command, to bench/results/gpu-stages.jsonl, or,
if look-ups were timed (-A), to gpu-lookups.jsonl; bench/report.py makes tables and a plot from
them. Without a device the exit code is 77. A program without machine code for the device is refused
with exit code 3, because the driver would compile its kernels at the start; --no-record runs it all
the same and keeps nothing.
"""
import argparse
import datetime
import json
import pathlib
import subprocess
import sys
import threading

from runs import ROOT, add_no_record, commit, machine, open_log


def show(record):
    share = ""
    if "bandwidth_share" in record:
        share = f", {100 * record['bandwidth_share']:.0f}% of a copy"
    print(f"{record['stage']:26} {record['table']:9} k={record['k']:<3} {record['median_ms']:9.3f} "
          f"ms {record['g_per_s']:8.2f} G {record['unit']}/s{share}", flush=True)


def keep(words, path, show, limit=None, record=True):
    """
    Run a program that prints lines of JSON. Append each line, with machine, commit, date and
    command, to path and pass it to show(). Kill the program after `limit` seconds. Returns its exit
    status. Without `record` nothing is kept; a line that says that the driver compiled the kernels
    never is.
    """
    words = words if record else [words[0], "-J", *words[1:]]
    common = {"command": " ".join([pathlib.Path(words[0]).name, *words[1:]]), "machine": machine(),
              "commit": commit(), "date": datetime.date.today().isoformat()}
    child = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    alarm = threading.Timer(limit or threading.TIMEOUT_MAX, child.kill)
    alarm.daemon = True
    alarm.start()
    with open_log(path, record) as log:
        for line in child.stdout:
            if not line.endswith("\n"):  # the program was killed in the middle of a line
                break
            row = json.loads(line)
            show(row)
            if not row.get("jit"):
                log.write(json.dumps({**row, **common}) + "\n")
                log.flush()
    alarm.cancel()
    return child.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "bench",
                        help="folder that holds bench_gpu")
    parser.add_argument("--results", type=pathlib.Path, default=ROOT / "bench" / "results")
    parser.add_argument("arguments", nargs="*", help="for bench_gpu, after --")
    add_no_record(parser)
    arguments = parser.parse_args()
    words = [str(arguments.build.resolve() / "bench_gpu"), *arguments.arguments]
    log = "gpu-lookups.jsonl" if "-A" in arguments.arguments else "gpu-stages.jsonl"
    sys.exit(keep(words, arguments.results / log, show, record=arguments.record))


if __name__ == "__main__":
    main()
