#!/usr/bin/env python3
"""Time the readers of FASTQ and FASTA: the device's stages, and whole counts on a few cores.

    bench/gpu_reader.py reads.fq.gz ont.fq.gz              # stages, with bench_gpu_inflate
    bench/gpu_reader.py --cores 2,4,8,16 reads.fq reads.fq.gz

Without --cores, bench_gpu_inflate times each file on the device: inflate, parse and pack, the bus,
and text and BGZF streamed over it; if CMake found nvCOMP 6 (-Dnvcomp_DIR=...), also inflate with
nvCOMP, for comparison. With --cores, kcount counts each file on so many cores, with
taskset, once with the host's reader and once with the device's; the readers take turns, and must
find the same k-mers. Put the reads and --work in a RAM disk. Each run is one line in
bench/results/gpu-reader.jsonl; bench/report.py makes tables of them. Without a device the exit code
of the stages is 77, and that of counts 1.
"""
import argparse
import datetime
import itertools
import json
import os
import pathlib
import shlex
import sys
import tempfile

from runs import ROOT, add_no_record, commit, machine, open_log, timed
from gpu_stages import keep

READERS = ("host", "device")
KEPT = ("distinct", "kmers", "bases", "input_bytes", "text_bytes", "host_text_bytes",
        "host_fallback_bytes", "device_text_bytes", "device_inflated_bytes",
        "device_fallback_bytes", "device_peak_memory_bytes", "seconds")


def show_stage(record):
    bus = f", {record['gb_per_s']:.1f} GB/s over the bus" if record.get("gb_per_s") else ""
    print(f"{record['stage']:40} {record['median_ms']:9.3f} ms "
          f"{record['g_per_s']:8.2f} GB of text/s{bus}", flush=True)


def time_stages(arguments, log):
    program = arguments.build.resolve() / "bench" / "bench_gpu_inflate"
    words = [str(program), "-n", str(max(arguments.repeat, 1)), *map(str, arguments.reads)]
    return keep(words, log, show_stage, record=arguments.record)


def command(arguments, reads, reader, cores):
    return f"taskset -c 0-{cores - 1} kcount count {shlex.quote(str(reads.resolve()))} " \
           f"-k {arguments.k} --min {arguments.min} -t {cores} --device cuda --reader {reader} " \
           f"--tmp tmp --quiet --json -o out.kc"


def count(arguments, work, reads, reader, cores):
    words = command(arguments, reads, reader, cores)
    result, said, complained = timed(words, work)
    code = result.pop("exit")
    if code != 0:
        sys.exit(f"{words}: exit code {code}\n{complained}")
    summary = json.loads(said)
    print(f"{reads.name:24} {cores:3} cores, {reader:6}: {result['wall']:.2f} s, CPU "
          f"{result['user'] + result['system']:.2f} s", flush=True)
    return {"file": reads.name, "reader": reader, "cores": cores, "k": arguments.k,
            "min": arguments.min, "command": words.replace(str(reads.resolve()), reads.name),
            **result, "summary": {name: summary[name] for name in KEPT if name in summary}}


def check(record, found):
    """The same k-mers with both readers, and the reader that was asked for."""
    summary = record["summary"]
    wanted = found.setdefault(record["file"], summary["distinct"])
    if summary["distinct"] != wanted:
        sys.exit(f"{record['command']}: {summary['distinct']} distinct k-mers, not {wanted}")
    if summary[record["reader"] + "_text_bytes"] != summary["text_bytes"]:
        sys.exit(f"{record['command']}: the other reader read {record['file']}")


def cores_of(text):
    """The numbers of cores that this machine has."""
    wanted = [int(number) for number in text.split(",")]
    return [cores for cores in wanted if cores <= os.cpu_count()]


def time_counts(arguments, log):
    common = {"machine": machine(), "commit": commit(), "date": datetime.date.today().isoformat()}
    found = {}
    with tempfile.TemporaryDirectory(dir=arguments.work) as work, \
            open_log(log, arguments.record, arguments.build / "kcount") as lines:
        for reads in arguments.reads:  # into the page cache
            with open(reads, "rb") as file:
                while file.read(1 << 24):
                    pass
        for turn, cores, reads, reader in itertools.product(
                range(arguments.repeat), cores_of(arguments.cores), arguments.reads, READERS):
            record = count(arguments, pathlib.Path(work), reads, reader, cores)
            check(record, found)
            lines.write(json.dumps({**record, "turn": turn, **common}) + "\n")
            lines.flush()


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reads", nargs="+", type=pathlib.Path)
    parser.add_argument("--cores", help="count on these numbers of cores, as 2,4,8,16")
    parser.add_argument("--k", type=int, default=31)
    parser.add_argument("--min", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build",
                        help="folder that holds kcount and bench/bench_gpu_inflate")
    parser.add_argument("--results", type=pathlib.Path, default=ROOT / "bench" / "results")
    parser.add_argument("--work", type=pathlib.Path, help="folder for outputs (default: a new one)")
    add_no_record(parser)
    arguments = parser.parse_args()
    log = arguments.results / "gpu-reader.jsonl"
    if not arguments.cores:
        sys.exit(time_stages(arguments, log))
    os.environ["PATH"] = f"{arguments.build.resolve()}:{os.environ['PATH']}"
    time_counts(arguments, log)


if __name__ == "__main__":
    main()
