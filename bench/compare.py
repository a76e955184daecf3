#!/usr/bin/env python3
"""
Time kcount and other k-mer counters side by side on the same reads.

    bench/compare.py --label simulated-1.2G --kmers 21,31,55 reads.fq reads.fq.gz

Every tool gets the same threads and memory and keeps every k-mer with its full count (hysortk those
from 2). bench/peers.sh builds most of them. The tools take turns, so that slow phases of the
machine affect all of them. Each run is one JSON line in
bench/results/LABEL.jsonl, written when the run ends; bench/report.py makes docs/benchmarks.md and
docs/dev/measurements.md from these lines. Tools that are not on the PATH are left out; a tool that
fails is not run again with the same reads and k. The label front-page is for the figures at the
top of README.md.

On a machine with a CUDA device, beside the CPU engine, the reader alone and other programs:

    bench/compare.py --label gpu --kmers 31 --tools 'kcount cuda,kcount,reader,kmc,gerbil' reads.fq
"""
import argparse
import datetime
import functools
import json
import os
import pathlib
import platform
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent


def inflate(path):
    """The fastest command to get plain text, for tools that read nothing else."""
    if not path.endswith(".gz"):
        return f"cat {path}"
    return f"{'pigz' if shutil.which('pigz') else 'gzip'} -dc {path}"


def kcount(run, device="cpu"):
    return f"kcount count {run.reads} -k {run.k} -t {run.threads} -m {run.memory}G --tmp tmp " \
           f"--device {device} --quiet --json -o out.kc"


def kcount_cuda(run):
    return kcount(run, "cuda")


def kcount_slab(run):
    return kcount(run, "cuda --table slab")


def kcount_small(run):
    """With far less device memory than the reads need."""
    return kcount(run, "cuda --gpu-memory 1G")


def reader(run):
    """Reads and parses as kcount does, but counts nothing."""
    return f"{kcount(run)} --reader-only"


def kmc(run, mode="", memory=None):
    kind = "-fq" if ".fq" in run.reads or ".fastq" in run.reads else "-fm"
    return f"kmc -k{run.k} -t{run.threads} -m{memory or run.memory} {mode}-ci1 -cs4294967295 " \
           f"{kind} {run.reads} out tmp"


def kmc_ram(run):
    return kmc(run, "-r ")


def kmc_small(run):
    """With less memory: KMC takes most of what it is allowed."""
    return kmc(run, memory=4)


def jellyfish(run):
    """-s: room for all distinct k-mers, so that the table never has to grow."""
    count = f"jellyfish count -m {run.k} -C -t {run.threads} -s {run.table_size} -o out.jf"
    if run.reads.endswith(".gz"):
        return f"{inflate(run.reads)} | {count} /dev/stdin"
    return f"{count} {run.reads}"


def gerbil(run):
    return f"gerbil -k {run.k} -t {run.threads} -e {run.memory}GB -l 1 {run.reads} tmp out.gerbil"


def fastk(run):
    return f"FastK -k{run.k} -t1 -T{run.threads} -M{run.memory} -Ptmp -Nout {run.reads}"


def yak(run):
    return f"yak count -k{run.k} -t{run.threads} -o out.yak {run.reads}"


def meryl(run):
    """Of Debian; it reads no compressed files."""
    return f"meryl -B -C -m {run.k} -threads {run.threads} -memory {run.memory * 1000} " \
           f"-s {run.reads} -o out.meryl"


def hysortk(run):
    """
    FASTA, with an index beside it (samtools faidx); bench/peers.sh builds a program for each k.
    4 threads to a process are its default. It writes no table, but prints a histogram of the
    k-mers that it keeps: those with counts from 2 to 65535.
    """
    processes = max(run.threads // 4, 1)
    return f"OMP_NUM_THREADS={min(run.threads, 4)} mpirun --bind-to none --oversubscribe " \
           f"-n {processes} hysortk-{run.k} $(realpath {run.reads})"


# name: (program, command, how to get its version)
TOOLS = {
    "kcount cuda": ("kcount", kcount_cuda, "kcount --version"),
    "kcount": ("kcount", kcount, "kcount --version"),
    "kcount slab": ("kcount", kcount_slab, "kcount --version"),
    "kcount cuda 1G": ("kcount", kcount_small, "kcount --version"),
    "reader": ("kcount", reader, "kcount --version"),
    "kmc": ("kmc", kmc, "kmc --version"),
    "kmc -r": ("kmc", kmc_ram, "kmc --version"),
    "kmc -m4": ("kmc", kmc_small, "kmc --version"),
    "jellyfish": ("jellyfish", jellyfish, "jellyfish --version"),
    "gerbil": ("gerbil", gerbil, "gerbil -v"),
    "FastK": ("FastK", fastk, ""),
    "yak": ("yak", yak, "yak version"),
    "meryl": ("meryl", meryl, ""),
    "hysortk": ("hysortk-31", hysortk, ""),
}


ON_DEVICE = {"kcount cuda", "kcount slab", "kcount cuda 1G"}
DEFAULT_TOOLS = "kcount,kmc,kmc -r,jellyfish,gerbil,FastK,yak"


class Run:
    """One setting: what the commands above need, and the tools that take part."""

    def __init__(self, reads, k, threads, memory, tools):
        self.reads, self.k, self.threads, self.memory = reads, k, threads, memory
        self.tools = list(tools)
        self.distinct = 0

    @property
    def table_size(self):
        return max(self.distinct * 5 // 4, 1_000_000)


@functools.cache
def version(tool):
    command = TOOLS[tool][2]
    if not command:
        return ""
    done = subprocess.run(command, shell=True, capture_output=True, text=True)
    lines = (done.stdout + done.stderr).strip().splitlines()
    found = re.search(r"\d+(\.\d+)+\S*", lines[0]) if lines else None
    return found.group() if found else ""


def gpu():
    """The devices' names, or {} if there is none."""
    if not shutil.which("nvidia-smi"):
        return {}
    done = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version",
                           "--format=csv,noheader"],
                          capture_output=True, text=True)
    return {"gpu": done.stdout.strip().replace("\n", "; ")} if done.returncode == 0 else {}


@functools.cache
def machine():
    model = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {"cpu": model.group(1) if model else platform.processor(), "cores": os.cpu_count(),
            "memory_gib": round(pages / 2**30), "kernel": platform.release(), **gpu()}


def commit():
    done = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"],
                          capture_output=True, text=True)
    return done.stdout.strip()


def has_machine_code(kcount, index=0):
    """Whether kcount was built for the device; otherwise the driver compiles the kernels."""
    done = subprocess.run([str(kcount), "info", "--devices", "--json"], capture_output=True,
                          text=True)
    devices = json.loads(done.stdout) if done.returncode == 0 else []
    return index >= len(devices) or devices[index].get("compiled", True)


def open_log(path, record, kcount=None):
    """
    The file for a benchmark's lines; without `record`, one that keeps nothing.
    kcount: the program, if it works on a device. It must have been built for the device.
    """
    if not record:
        return open(os.devnull, "w")
    if kcount is not None and not has_machine_code(kcount):
        sys.exit(f"{kcount} has no machine code for the device, so the driver compiles its kernels "
                 "at the start: not recorded; build it with -DKCOUNT_CUDA_ARCHS set to the "
                 "device's compute capability, or add --no-record")
    path.parent.mkdir(exist_ok=True)
    return open(path, "a")


def add_no_record(parser):
    parser.add_argument("--no-record", dest="record", action="store_false",
                        help="print the results and keep none of them")


def clear(work):
    for path in work.glob("out*"):
        path.unlink()
    for path in work.glob(".out*"):
        path.unlink()
    shutil.rmtree(work / "tmp", ignore_errors=True)
    (work / "tmp").mkdir()


def timed(command, work):
    """Run a shell command; returns its wall and CPU time, the largest resident set of any process
    in it, its output and its messages."""
    clear(work)
    os.sync()
    with open(work / "stdout", "w+") as stdout, open(work / "stderr", "w+") as stderr:
        begin = time.monotonic()
        child = subprocess.Popen(["bash", "-o", "pipefail", "-c", command], cwd=work,
                                 stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr)
        _, status, usage = os.wait4(child.pid, 0)
        wall = time.monotonic() - begin
        child.returncode = os.waitstatus_to_exitcode(status)
        stdout.seek(0), stderr.seek(0)
        said, complained = stdout.read(), stderr.read()
    output = sum(path.stat().st_size for pattern in ("out*", ".out*")
                 for path in work.glob(pattern))
    return {"exit": child.returncode, "wall": round(wall, 3), "user": round(usage.ru_utime, 3),
            "system": round(usage.ru_stime, 3), "peak_bytes": usage.ru_maxrss * 1024,
            "output_bytes": output}, said, complained


def details(tool, said):
    """What a tool reports about its own work, as far as it is comparable."""
    if TOOLS[tool][0] == "kcount":
        summary = json.loads(said)
        wanted = ("distinct", "kmers", "bases", "seconds", "spilled_bytes", "device", "table",
                  "device_peak_memory_bytes", "device_passes", "device_walks",
                  "device_text_bytes", "host_text_bytes", "host_fallback_bytes")
        return {name: summary[name] for name in wanted if name in summary}
    if tool == "hysortk":
        timers = re.findall(r"^(.+):\n *total time \(user seconds\): ([\d.]+)", said, re.MULTILINE)
        return {"kept": sum(map(int, re.findall(r"^\d+\t(\d+)$", said, re.MULTILINE))),
                "timers": {name: float(seconds) for name, seconds in timers}}
    found = re.search(r"No\. of unique counted k-mers *: *(\d+)", said)
    return {"distinct": int(found.group(1))} if found else {}


def gerbil_agrees(run, record):
    """Gerbil reports no number, but a pair takes k/4 bytes (rounded up) and 1 byte for its count,
    or 5 if that is 255 or more."""
    rest = record["output_bytes"] - run.distinct * (1 + (run.k + 3) // 4)
    return rest >= 0 and rest % 4 == 0


def check(run, tool, record):
    """All tools must find as many distinct k-mers as the first run of kcount."""
    if tool != "reader":
        run.distinct = run.distinct or record.get("distinct", 0)
    if "distinct" in record and tool != "reader" and record["distinct"] != run.distinct:
        sys.exit(f"{record['command']}: {record['distinct']} distinct k-mers; "
                 f"kcount found {run.distinct}")
    if tool == "gerbil" and run.distinct and not gerbil_agrees(run, record):
        sys.exit(f"{record['command']}: the output does not fit the {run.distinct} distinct k-mers "
                 "that kcount found")


def measure(tool, run, work, common):
    command = TOOLS[tool][1](run)
    result, said, complained = timed(command, work)
    record = {"tool": tool, "k": run.k, "reads": run.reads, "threads": run.threads,
              "memory_gb": run.memory, "command": command, **result}
    if result["exit"] == 0:
        record.update(details(tool, said))
        check(run, tool, record)
    else:
        run.tools.remove(tool)
        print(complained.strip()[-500:], file=sys.stderr)
    print(f"{tool:10} k={run.k:<3} {run.reads}: exit {result['exit']}, {result['wall']:.2f} s, "
          f"CPU {result['user'] + result['system']:.2f} s, {result['peak_bytes'] / 2**30:.2f} GiB",
          flush=True)
    return {**record, **common}


def take_turns(runs, work, log, common, arguments):
    """Run every setting with every tool, then all again, so that a spent budget is fair to all."""
    deadline = time.monotonic() + arguments.budget
    once = arguments.once.split(",")
    for turn in range(arguments.repeat):
        for run in runs:
            for tool in [tool for tool in run.tools if turn == 0 or tool not in once]:
                if time.monotonic() > deadline:
                    print(f"the budget was spent in turn {turn}", flush=True)
                    return
                record = measure(tool, run, work,
                                 {**common, "turn": turn, "version": version(tool)})
                log.write(json.dumps(record) + "\n")
                log.flush()


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reads", nargs="+", type=pathlib.Path)
    parser.add_argument("--label", required=True, help="name of the setting and of the result file")
    parser.add_argument("--kmers", default="21,31,55", help="values of k (default 21,31,55)")
    parser.add_argument("--tools", default=DEFAULT_TOOLS)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--memory", type=int, default=12,
                        help="gigabytes for each tool (default 12)")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--once", default="", help="tools that run in the first turn only")
    parser.add_argument("--budget", type=float, default=float("inf"),
                        help="seconds after which no further run starts")
    parser.add_argument("--results", type=pathlib.Path, default=ROOT / "bench" / "results",
                        help="folder of LABEL.jsonl")
    parser.add_argument("--kcount", type=pathlib.Path, default=ROOT / "build" / "kcount")
    parser.add_argument("--work", type=pathlib.Path, help="folder for outputs (default: a new one)")
    add_no_record(parser)
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    os.environ["PATH"] = f"{arguments.kcount.resolve().parent}:{os.environ['PATH']}"
    tools = [tool for tool in arguments.tools.split(",") if shutil.which(TOOLS[tool][0])]
    tools.sort(key=lambda tool: TOOLS[tool][0] != "kcount")  # first, as jellyfish needs its number
    common = {"label": arguments.label, "date": datetime.date.today().isoformat(),
              "commit": commit(), "machine": machine()}
    with tempfile.TemporaryDirectory(dir=arguments.work) as work, \
            open_log(arguments.results / f"{arguments.label}.jsonl", arguments.record,
                     arguments.kcount if ON_DEVICE & set(tools) else None) as log:
        work = pathlib.Path(work)
        for reads in arguments.reads:
            (work / reads.name).symlink_to(reads.resolve())
            subprocess.run(f"cat {shlex.quote(reads.name)} > /dev/null", shell=True, cwd=work,
                           check=True)
        runs = [Run(reads.name, k, arguments.threads, arguments.memory, tools)
                for reads in arguments.reads for k in map(int, arguments.kmers.split(","))]
        take_turns(runs, work, log, common, arguments)


if __name__ == "__main__":
    main()
