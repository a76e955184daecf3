#!/usr/bin/env python3
"""
Compare peak memory with its bound: count the same reads with each -m, on the CPU and, if there is
one, on the device. Every run appends a line to bench/results/memory.jsonl; bench/report.py makes a
table of them.

    bench/memory.py KCOUNT SIMULATE --genome 1000M [--coverage 1] [--threads 16] [--bounds 256M,1G]
                    [--devices cpu,cuda] [--name kcount] [--folder DIR] [--commit NAME]
                    [--no-record]

--name labels the build, such as one of an earlier commit.
"""
import argparse
import datetime
import json
import os
import pathlib
import tempfile

from compare import add_no_record, commit, machine, open_log, timed

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results" / "memory.jsonl"
UNITS = {"M": 2**20, "G": 2**30}


def in_bytes(size):
    return int(float(size[:-1]) * UNITS[size[-1]])


def measure(arguments, work, bound, device):
    command = f"{arguments.kcount} count reads.fa -k 31 -t {arguments.threads} -m {bound} " \
              f"--tmp tmp -o out.kc --force --json --device {device}"
    result, said, complained = timed(command, work)
    if result["exit"] != 0:
        raise SystemExit(f"{command}: {complained}")
    summary = json.loads(said)
    del result["exit"]
    return {**result, "bound_bytes": in_bytes(bound), "asked": device,
            "device": summary.get("device", "cpu"), "bases": summary["bases"],
            "distinct": summary["distinct"], "spilled_bytes": summary.get("spilled_bytes", 0),
            "command": command.replace(str(arguments.kcount), "kcount")}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("kcount", type=pathlib.Path)
    parser.add_argument("simulate", type=pathlib.Path)
    parser.add_argument("--genome", default="1000M")
    parser.add_argument("--coverage", default="1")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--bounds", default="256M,512M,1G,2G")
    parser.add_argument("--devices", default="cpu,cuda")
    parser.add_argument("--name", default="kcount")
    parser.add_argument("--folder", default=None)
    parser.add_argument("--commit", default=None)
    add_no_record(parser)
    arguments = parser.parse_args()
    arguments.kcount, arguments.simulate = arguments.kcount.resolve(), arguments.simulate.resolve()
    reads = f"simulate --genome {arguments.genome} --coverage {arguments.coverage} --length 150 " \
            "--error 0.005 --format fasta"
    common = {"label": "memory", "date": datetime.date.today().isoformat(),
              "commit": arguments.commit or commit(), "machine": machine(), "reads": reads,
              "threads": arguments.threads, "name": arguments.name}
    on_device = "cuda" in arguments.devices
    open_log(RESULTS, arguments.record, arguments.kcount if on_device else None).close()
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        work = pathlib.Path(folder)
        (work / "tmp").mkdir()
        if os.system(f"{arguments.simulate.parent}/{reads} > {work}/reads.fa") != 0:
            raise SystemExit("simulate failed")
        for device in arguments.devices.split(","):
            for bound in arguments.bounds.split(","):
                line = {**common, **measure(arguments, work, bound, device)}
                print(f"{arguments.name} {device} -m {bound}: peak "
                      f"{line['peak_bytes'] / 2**20:.0f} MiB, "
                      f"{line['peak_bytes'] / line['bound_bytes']:.3f} of it, {line['wall']} s",
                      flush=True)
                with open_log(RESULTS, arguments.record) as log:
                    log.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
