"""What the scripts in bench/ share: the machine, the commit, a log, and the timing of a command."""
import datetime
import functools
import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results"


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
    """KCOUNT_COMMIT, or that of the working tree, which is dirty if anything but results and pages
    has changed; nothing where there is no git."""
    if os.environ.get("KCOUNT_COMMIT"):
        return os.environ["KCOUNT_COMMIT"]
    git = ["git", "-C", ROOT]
    try:
        name = subprocess.check_output([*git, "describe", "--always"], text=True,
                                       stderr=subprocess.DEVNULL).strip()
    except (FileNotFoundError, subprocess.CalledProcessError):
        return ""
    changed = subprocess.run([*git, "diff", "--quiet", "HEAD", "--", ROOT,
                              *(f":!{ROOT}/{part}" for part in ("bench/results", "docs",
                                                                "README.md"))])
    return name + "-dirty" * (changed.returncode != 0)


def has_machine_code(kcount, index=0):
    """Whether kcount was built for the device; otherwise the driver compiles the kernels."""
    done = subprocess.run([str(kcount), "info", "--devices", "--json"], capture_output=True,
                          text=True)
    devices = json.loads(done.stdout) if done.returncode == 0 else []
    return index >= len(devices) or devices[index].get("compiled", True)


def load_lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def today():
    return datetime.date.today().isoformat()


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
