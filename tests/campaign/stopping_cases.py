"""
Work that cannot be finished: signals at random times, and full disks. Existing files stay as they
were, nothing is left behind, and a message says what happened.
"""
import os
import resource
import shutil
import signal
import subprocess
import time

import inputs
from lib import model
import store_cases
from case import check_end
from lib.tools import Failure, fasta

ENDING = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGALRM", "SIGXCPU",
          "SIGVTALRM")
ROUNDS = 5
DISK = "64M"


class Work:
    """A command that writes a lot, and what its .kc file holds before and after it."""

    def __init__(self, case):
        self.case, rng = case, case.rng
        self.files = files = store_cases.Files(case, rng.choice((15, 21, 31, 33, 55, 101)))
        self.name, self.other = files.count(), files.count()
        genome = inputs.genome(rng, rng.choice((3000, 50000, 150000)))
        self.text = fasta([(genome, b"")])
        case.write("large.fa", self.text)
        self.large = model.count([genome.decode()], files.k, files.stranded)
        self.before = files.files[self.name].counts
        self.command, self.after, self.new = rng.choice(self.commands())
        self.good, self.names = (case.folder / self.name).read_bytes(), case.names()
        case.add("bases", len(genome))

    def commands(self):
        """(arguments, the counts of the file after it, the new file that it writes)"""
        name, old, large = self.name, self.before, self.large
        count = ["count", "large.fa", "-k", self.files.k, *self.files.strands(), "-o", name,
                 "--force", "--engine-memory", "16M", "-t", 2, "--device", "cpu"]
        added = model.combine("union", "sum", [old, large])
        less = {kmer: n for kmer, n in old.items() if kmer not in large}
        return [(count, large, None)] * 2 + [
            (["add", name, "large.fa", "--device", "cpu"], added, None),
            (["add", name, "large.fa", "--device", "cpu"], added, None),
            (["remove", name, "-f", "large.fa"], less, None),
            (["compact", name, "--min", 2], {kmer: n for kmer, n in old.items() if n > 1}, None),
            (["merge", self.other, name, "-o", "new.kc"], old, "new.kc"),
            (["dump", name, "-o", "new.txt"], old, "new.txt")]

    def restore(self):
        (self.case.folder / self.name).write_bytes(self.good)
        for name in set(self.case.names()) - set(self.names):
            (self.case.folder / name).unlink()

    def check(self, code, what):
        """After success the files are the new ones, after a failure the old ones, and no others."""
        new = [self.new] if self.new and self.new in self.case.names() and code <= 0 else []
        self.case.expect_names([*self.names, *new], f"{what}, exit {code}")
        self.check_counts(code, what)

    def check_counts(self, code, what):
        got = self.case.kcount("dump", self.name).out
        after = model.lines(self.after).encode()
        if got != after and (code == 0 or got != model.lines(self.before).encode()):
            raise Failure(f"{what}, exit {code}: the file is neither what it was nor what it was "
                          "to become")
        self.case.add("kmers", len(self.after))


# ---- signals ----

def duration(work):
    begin = time.monotonic()
    work.case.kcount(*work.command)
    took = time.monotonic() - begin
    work.restore()
    return took


def heed_signals():
    """Undo what a shell does to a campaign in the background: it makes it ignore some signals."""
    for name in ENDING:
        signal.signal(getattr(signal, name), signal.SIG_DFL)


def interrupt(work, number, delay):
    """Start the command, wait, send a signal; returns how it ended. The reads may be piped."""
    case, command = work.case, list(work.command)
    by_pipe = "large.fa" in command and command[0] != "remove" and case.rng.random() < 0.4
    if by_pipe:
        command[command.index("large.fa")] = "-"
    process = case.start(case.setting.kcount, *command, stdin=subprocess.PIPE,
                         preexec_fn=heed_signals)
    case.commands[-1] += f"  # {signal.Signals(number).name} after {delay:.4f} s"
    if by_pipe:
        process.stdin.write(work.text[:len(work.text) // 2])
        process.stdin.flush()
    time.sleep(delay)
    process.send_signal(number)
    return case.finish(process)


def signal_case(case):
    work = Work(case)
    took = duration(work)
    for _ in range(ROUNDS):
        work.restore()
        name = case.rng.choice(ENDING + ("SIGKILL",))
        number = getattr(signal, name)
        done = interrupt(work, number, case.rng.uniform(0, 1.2 * took))
        what = f"{name} during {work.command[0]}"
        if done.code != -number:
            check_end(done, what)
        if name != "SIGKILL":
            work.check(done.code, what)
            continue
        work.check_counts(done.code, what)
        work.restore()
        case.kcount(*work.command)  # the leftovers must not get in the way


# ---- full disks ----

class SmallDisk:
    """A small disk mounted on the case's folder."""

    def __init__(self, case):
        self.folder = case.folder

    def __enter__(self):
        command = ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "campaign", str(self.folder)]
        done = subprocess.run(command, stderr=subprocess.DEVNULL, check=False)
        return self if done.returncode == 0 else None

    def __exit__(self, *_):
        subprocess.run(["umount", "-l", str(self.folder)], stderr=subprocess.DEVNULL, check=False)

    def leave(self, nbytes):
        """Fill the disk so that only nbytes stay free."""
        free = shutil.disk_usage(self.folder).free
        with open(self.folder / "filler", "wb") as filler:
            os.posix_fallocate(filler.fileno(), 0, max(1, free - nbytes))


def run_limited(work, nbytes):
    """No file may grow beyond nbytes."""
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (nbytes, nbytes))

    work.case.commands.append(f"# ulimit -f, {nbytes} bytes")
    return work.case.kcount(*work.command, codes=(0, 1), preexec_fn=limit)


def run_on_full_disk(work, disk, nbytes):
    work.case.commands.append(f"# {nbytes} bytes are free on the disk")
    disk.leave(nbytes)
    try:
        return work.case.kcount(*work.command, codes=(0, 1))
    finally:
        (work.case.folder / "filler").unlink()


def fill_rounds(case, disk):
    work = Work(case)
    most = 4 * len(work.large) * (4 + work.files.k // 4)
    for _ in range(ROUNDS):
        work.restore()
        nbytes = int(most ** case.rng.random())
        done = run_on_full_disk(work, disk, nbytes) if disk else run_limited(work, nbytes)
        work.check(done.code, f"{work.command[0]} with room for {nbytes} bytes")
    with open("/dev/full", "wb") as full:
        code = 1 if work.files.files[work.other].counts else 0
        case.kcount("dump", work.other, codes=(code,), stdout=full)


def full_disk_case(case):
    if case.rng.random() < 0.5 and case.setting.can_mount:
        with SmallDisk(case) as disk:
            fill_rounds(case, disk)
    else:
        fill_rounds(case, None)
