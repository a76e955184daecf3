#!/usr/bin/env python3
"""
What a human genome costs: count 32x reads of a genome of 3.1 Gbases, 100 Gbases in all, from one
BGZF file and from a pipe.

    mount -t tmpfs -o size=100G none /mnt/human         # as root; otherwise, a folder in /dev/shm
    bench/human.py --folder /mnt/human --tmp /var/tmp --device cuda

The file takes half a byte a base, some 51 GB. `simulate` makes it if the folder lacks it; at the
end it is removed, unless --keep is given. The folder holds one such file at a time, and the
outputs. With --keep, the ways can run one by one, for machines that are lent for a short time (on
one with 128 GiB of memory, run cat and pipe first, because they do not need the file):

    make    simulate writes the file, on all cores
    reader  kcount reads and parses the file, but counts nothing
    file    kcount counts the file, with each of --gpu-memory
    cat     simulate, on three quarters of the cores, into cat > /dev/null
    pipe    simulate, on three quarters of the cores, into kcount on the others
    kmc     KMC counts as much of the reads as it can in time: it tries --kmc-shares in turn

Each run gives one JSON line in bench/results/human.jsonl, even if it fails or is killed after
--limit seconds; its field "status" is "done", "failed" or "timed out". bench/report.py makes a
section of docs/benchmarks.md and one of docs/dev/measurements.md from these lines. They give the
memory of the program and, as "machine_bytes", how much less memory the machine had available
during the run, which includes pinned memory and files in RAM disks.

    bench/human.py --folder /tmp/human --scale 0.001 --device cpu --no-record     # a small trial
"""
import argparse
import datetime
import json
import os
import pathlib
import re
import shutil
import sys
import tempfile

from compare import ROOT, add_no_record, commit, machine, open_log, version
from watch import watched

GENOME_GBASES = 3.1
LENGTH = 150
K = 31
WAYS = "make,reader,file,cat,pipe,kmc"
ALL_MEMORY = "all"  # of the device: no --gpu-memory
NO_SUMMARY = ("command", "version", "inputs", "output")  # fields that are not kept


class Setting:
    """The reads: how they are made, and the name of their file."""

    def __init__(self, arguments, repeats, share=1.0):
        self.genome = f"{GENOME_GBASES * arguments.scale:g}G"
        self.coverage = arguments.coverage * share
        self.repeats, self.share = repeats, share
        self.file = f"human-{self.genome}-{self.coverage:g}x-r{repeats:g}.fq.gz"

    def simulate(self, threads):
        return f"simulate --genome {self.genome} --coverage {self.coverage:g} --length {LENGTH} " \
               f"--error 0.005 --repeats {self.repeats:g} --threads {threads}"

    @property
    def bases(self):
        """As simulate computes it."""
        return int(int(float(self.genome[:-1]) * 1e9) * self.coverage / LENGTH) * LENGTH

    def fields(self):
        return {"genome": self.genome, "coverage": self.coverage, "repeats": self.repeats,
                "share": self.share, "bases": self.bases}


# ---- commands ----

def cpu_list(cpus):
    """For taskset: 0-11, or 0,2,4."""
    if cpus == list(range(cpus[0], cpus[0] + len(cpus))) and len(cpus) > 1:
        return f"{cpus[0]}-{cpus[-1]}"
    return ",".join(map(str, cpus))


def split_cpus():
    """The cores for simulate, three quarters, and those for the program that it feeds."""
    cpus = sorted(os.sched_getaffinity(0))
    first = max(len(cpus) * 3 // 4, 1)
    return cpus[:first], cpus[first:] or cpus[:1]


def count(arguments, reads, threads, bound):
    bounded = f" --gpu-memory {bound}" if bound != ALL_MEMORY else ""
    return f"kcount count {reads} -k {K} --min {arguments.min} -t {threads} --tmp tmp " \
           f"--device {arguments.device}{bounded} --quiet --json -o out.kc"


def pipeline(setting, command):
    """simulate, and a command that takes its text, each on its own cores."""
    makers, takers = split_cpus()
    return [f"taskset -c {cpu_list(makers)} {setting.simulate(len(makers))}",
            f"taskset -c {cpu_list(takers)} {command}"]


def stages(arguments, setting, way, bound):
    """The commands of a way, each of which gets the output of the one before it."""
    threads, takers = len(os.sched_getaffinity(0)), len(split_cpus()[1])
    if way == "make":
        return [f"{setting.simulate(threads)} --bgzf -o {setting.file}.part"]
    if way == "cat":
        return pipeline(setting, "cat > /dev/null")
    if way == "pipe":
        return pipeline(setting, count(arguments, "-", takers, bound))
    if way == "kmc":
        return [f"kmc -k{K} -t{threads} -m{arguments.kmc_memory} -ci{arguments.min} "
                f"-cs4294967295 -fq {setting.file} out tmp"]
    if way == "reader":
        return [f"kcount count {setting.file} -k {K} -t {threads} --device cpu --quiet --json "
                "-o out.kc --reader-only"]
    return [count(arguments, setting.file, threads, bound)]


# ---- runs ----

def details(way, said):
    """What the programs report: kcount's summary, or the number of k-mers that KMC kept."""
    if way in ("reader", "file", "pipe"):
        return {"summary": {name: value for name, value in json.loads(said).items()
                            if name not in NO_SUMMARY}}
    if way == "kmc":
        found = re.search(r"No\. of unique counted k-mers *: *(\d+)", said)
        return {"version": version("kmc"), "kept": int(found.group(1))}
    return {}


class Bench:
    """The runs of one invocation, and what they have in common."""

    def __init__(self, arguments, work, tmp, log, common):
        self.arguments, self.work, self.tmp = arguments, work, tmp
        self.log, self.common = log, common
        self.kept = {}  # distinct k-mers of a setting that the first run kept

    def clear(self):
        for path in (*self.work.glob("out*"), *self.work.glob(".out*"), *self.tmp.iterdir()):
            path.unlink()

    def size(self, pattern):
        return sum(path.stat().st_size for path in self.work.glob(pattern))

    def check(self, setting, record):
        """Check that all runs read the same input and keep the same number of k-mers."""
        summary = record.get("summary", {})
        if summary and summary["bases"] != setting.bases:
            sys.exit(f"{record['command']}: {summary['bases']} bases instead of {setting.bases}")
        if "distinct" in summary:
            record["kept"] = summary["distinct"] - summary["dropped_distinct"]
        kept = record.get("kept")
        if kept is not None and self.kept.setdefault(setting.file, kept) != kept:
            sys.exit(f"{record['command']}: {kept} distinct k-mers, not {self.kept[setting.file]}")

    def measure(self, setting, way, bound=ALL_MEMORY):
        """Run a way and keep its line. Returns whether it succeeded."""
        self.clear()
        commands = stages(self.arguments, setting, way, bound)
        os.sync()
        result, said, complained = watched(commands, self.work, self.tmp, self.arguments.limit)
        record = {"way": way, "gpu_memory": bound, "command": " | ".join(commands),
                  "limit": self.arguments.limit, "k": K, "min": self.arguments.min,
                  **setting.fields(), **result, "output_bytes": self.size("out*")}
        if way not in ("cat", "pipe"):
            record["input_bytes"] = self.size(f"{setting.file}*")
        if result["status"] == "done":
            record.update(details(way, said))
            self.check(setting, record)
        else:
            record["message"] = complained.strip()[-300:]
        self.clear()
        self.log.write(json.dumps({**record, **self.common}) + "\n")
        self.log.flush()
        show(record)
        return result["status"] == "done"

    def make(self, setting):
        """Make the file of a setting, unless it is there. Returns whether it is there now."""
        path = self.work / setting.file
        if path.exists():
            return True
        self.remove()
        if self.measure(setting, "make"):
            (self.work / f"{setting.file}.part").rename(path)
        else:
            self.remove()
        return path.exists()

    def remove(self):
        for path in self.work.glob("human-*.fq.gz*"):
            path.unlink()

    def run_kmc(self, repeats):
        for share in self.arguments.kmc_shares:
            setting = Setting(self.arguments, repeats, share)
            if self.make(setting) and self.measure(setting, "kmc"):
                return

    def run_all(self, repeats):
        setting = Setting(self.arguments, repeats)
        for way in self.arguments.only:
            if way == "make":
                self.make(setting)
            elif way == "kmc":
                self.run_kmc(repeats)
            elif way == "cat" or (way == "reader" and self.make(setting)):
                self.measure(setting, way)
            elif way == "pipe" or (way == "file" and self.make(setting)):
                for bound in self.arguments.gpu_memory:
                    self.measure(setting, way, bound)


def show(record):
    host, all_of_it = (record[field] / 2**30 for field in ("peak_bytes", "machine_bytes"))
    print(f"{record['way']:6} repeats {record['repeats']:g}, device memory {record['gpu_memory']}: "
          f"{record['status']}, {record['wall']:.2f} s, program {host:.2f} GiB, "
          f"machine {all_of_it:.2f} GiB, tmp {record['tmp_bytes'] * 1e-9:.2f} GB", flush=True)
    if "message" in record:
        print(record["message"], file=sys.stderr)


# ---- command line ----

def listed(kind):
    return lambda text: [kind(part) for part in text.split(",")]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=pathlib.Path, required=True,
                        help="for the file of reads and the outputs, and for nothing else: files "
                             "named out* or human-* are removed; made if it is missing")
    parser.add_argument("--tmp", type=pathlib.Path,
                        help="where temporary files go (default: the folder)")
    parser.add_argument("--only", type=listed(str), default=listed(str)(WAYS),
                        help=f"ways to run (default {WAYS})")
    parser.add_argument("--repeats", type=listed(float), default=[0.0, 0.5],
                        help="shares of the genome that are repeats (default 0,0.5)")
    parser.add_argument("--gpu-memory", type=listed(str), default=[ALL_MEMORY, "20G", "8G"],
                        help=f"bounds on the device memory (default {ALL_MEMORY},20G,8G)")
    parser.add_argument("--scale", type=float, default=1.0,
                        help="size of the genome, 1 for 3.1 Gbases (default 1)")
    parser.add_argument("--coverage", type=float, default=32.0)
    parser.add_argument("--min", type=int, default=2, help="lowest count of the k-mers to keep")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--limit", type=float, default=600, help="most seconds for each run")
    parser.add_argument("--turns", type=int, default=1, help="how often to run all of it")
    parser.add_argument("--kmc-shares", type=listed(float), default=[1.0, 0.5, 0.2],
                        help="shares of the reads that KMC tries, until one succeeds")
    parser.add_argument("--kmc-memory", type=int, default=max(machine()["memory_gib"] // 3, 2),
                        help="gigabytes for KMC (-m; default: a third of the memory)")
    parser.add_argument("--keep", action="store_true", help="do not remove the file of reads")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build",
                        help="folder that holds kcount and bench/simulate")
    parser.add_argument("--results", type=pathlib.Path, default=ROOT / "bench" / "results")
    parser.add_argument("--commit", help="of the build (default: the working tree's)")
    add_no_record(parser)
    arguments = parser.parse_args()
    unknown = set(arguments.only) - set(WAYS.split(","))
    if unknown:
        parser.error(f"--only: no way {', '.join(sorted(unknown))}")
    if arguments.device == "cpu":
        arguments.gpu_memory = [ALL_MEMORY]
    if not shutil.which("kmc"):
        arguments.only = [way for way in arguments.only if way != "kmc"]
    return arguments


def main():
    arguments = parse_arguments()
    build, work = arguments.build.resolve(), arguments.folder.resolve()
    os.environ["PATH"] = f"{build}:{build / 'bench'}:{os.environ['PATH']}"
    work.mkdir(parents=True, exist_ok=True)
    common = {"label": "human", "date": datetime.date.today().isoformat(),
              "commit": arguments.commit or commit(), "machine": machine(),
              "threads": len(os.sched_getaffinity(0))}
    with tempfile.TemporaryDirectory(prefix="human-tmp-", dir=arguments.tmp or work) as tmp, \
            open_log(arguments.results / "human.jsonl", arguments.record,
                     build / "kcount" if arguments.device != "cpu" else None) as log:
        (work / "tmp").unlink(missing_ok=True)
        (work / "tmp").symlink_to(tmp)  # a name without the machine's paths
        bench = Bench(arguments, work, pathlib.Path(tmp), log, common)
        for repeats in arguments.repeats:
            for _ in range(arguments.turns):
                bench.run_all(repeats)
        if not arguments.keep:
            bench.remove()
        for name in ("tmp", "stdout", "stderr"):
            (work / name).unlink(missing_ok=True)


if __name__ == "__main__":
    main()
