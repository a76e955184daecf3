"""
Run a pipeline and watch it: the time, CPU time and memory of its programs, the memory of the
machine, and the space that temporary files take, unlinked ones included.
"""
import contextlib
import os
import pathlib
import re
import signal
import subprocess
import threading
import time

PERIOD = 0.1  # seconds between two looks
BLOCK = 512   # bytes of a block in st_blocks


def available_bytes():
    """The memory that programs can still get, by the kernel's estimate."""
    meminfo = pathlib.Path("/proc/meminfo").read_text()
    return int(re.search(r"MemAvailable: *(\d+) kB", meminfo).group(1)) * 1024


def named_files(folder):
    """((device, inode), bytes on disk) of each file below a folder."""
    for path in folder.rglob("*"):
        with contextlib.suppress(FileNotFoundError):
            about = path.stat()
            yield (about.st_dev, about.st_ino), about.st_blocks * BLOCK


def unlinked_files(pid, folder):
    """The same for files in the folder that a process holds open, but that have no name."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError, PermissionError):
        for link in pathlib.Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(FileNotFoundError):
                about = link.stat()
                if about.st_nlink == 0 and os.readlink(link).startswith(f"{folder}/"):
                    yield (about.st_dev, about.st_ino), about.st_blocks * BLOCK


class Watch(threading.Thread):
    """Samples the machine's free memory and the space that a folder takes; keeps the extremes."""

    def __init__(self, pids, folder, before):
        super().__init__(daemon=True)
        self.pids, self.folder = pids, folder.resolve()
        self.done = threading.Event()
        self.before = self.least_available = before  # bytes of memory
        self.most_tmp = 0

    def look(self):
        self.least_available = min(self.least_available, available_bytes())
        files = dict(named_files(self.folder))
        for pid in self.pids:
            files.update(unlinked_files(pid, self.folder))
        self.most_tmp = max(self.most_tmp, sum(files.values()))

    def run(self):
        while not self.done.wait(PERIOD):
            self.look()

    def stop(self):
        self.done.set()
        self.join()
        return {"machine_bytes": self.before - self.least_available, "tmp_bytes": self.most_tmp}


def start(stages, work, stdout, stderr):
    """Start the commands of a pipeline, each in a process group of its own."""
    children, feed = [], subprocess.DEVNULL
    for stage in stages:
        last = stage is stages[-1]
        child = subprocess.Popen(["bash", "-c", f"exec {stage}"], cwd=work, stdin=feed,
                                 stdout=stdout if last else subprocess.PIPE, stderr=stderr,
                                 start_new_session=True)
        if feed is not subprocess.DEVNULL:
            feed.close()
        feed = child.stdout
        children.append(child)
    return children


def kill(children, late):
    for child in children:
        if child.returncode is None:
            late.set()
            with contextlib.suppress(ProcessLookupError):  # it has just ended
                os.killpg(child.pid, signal.SIGKILL)


def wait(child):
    """The exit code, CPU time and largest resident set of a process."""
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return {"code": child.returncode, "user": round(usage.ru_utime, 3),
            "system": round(usage.ru_stime, 3), "peak_bytes": usage.ru_maxrss * 1024}


def outcome(parts, late):
    """How a pipeline ended. If a program ends early, those before it die of SIGPIPE."""
    if late:
        return {"status": "timed out"}
    codes = [part["code"] for part in parts if part["code"] not in (0, -signal.SIGPIPE)]
    return {"status": "failed" if any(part["code"] for part in parts) else "done",
            "code": codes[-1] if codes else parts[-1]["code"]}


def watched(stages, work, tmp, limit):
    """
    Run shell commands as a pipeline in the folder `work`, and kill them after `limit` seconds.
    Returns the measurements, the last command's output and all messages. CPU time and memory are
    those of the last command; if there are several, those of the first are under "feeder".
    """
    late = threading.Event()
    with open(work / "stdout", "w+") as stdout, open(work / "stderr", "w+") as stderr:
        before, begin = available_bytes(), time.monotonic()
        children = start(stages, work, stdout, stderr)
        watch = Watch([child.pid for child in children], tmp, before)
        watch.start()
        timer = threading.Timer(limit, kill, [children, late])
        timer.start()
        try:
            parts = [wait(child) for child in children]
        finally:
            timer.cancel()
            kill(children, late)  # those that are left after an interrupt
        wall = time.monotonic() - begin
        feeder = {"feeder": parts[0]} if len(parts) > 1 else {}
        result = {"wall": round(wall, 3), **parts[-1], **outcome(parts, late.is_set()), **feeder,
                  **watch.stop()}
        stdout.seek(0), stderr.seek(0)
        return result, stdout.read(), stderr.read()
