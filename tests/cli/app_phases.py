"""
Ctrl-C and a full disk in each phase of a count with little memory: while reads are read, while
temporary files are written and read, and while the .kc file is written. The command fails and
leaves nothing. tests/gpu/emulator/test_scarcity.c does the same where the device's data go to
files.

    app_phases.py KCOUNT SOURCE FAULT [DEVICE]
"""
import os
import random
import signal
import subprocess
import sys
import tempfile

from lib.faults import run_faulty
from lib.session import Session, expect
from lib.tools import SKIPPED, Failure, main

DEVICE = sys.argv[4] if len(sys.argv) > 4 else "cpu"
if DEVICE != "cpu" and subprocess.run([sys.argv[1], "info", "--devices"]).returncode != 0:
    sys.exit(SKIPPED)

MOST = 6 if DEVICE == "cpu" else 3  # runs for each kind of fault and group of calls


class Scene:
    """A count whose data go to temporary files, and the calls on files that it makes."""
    def __init__(self):
        self.s, self.tmp = Session(), tempfile.TemporaryDirectory()
        rng = random.Random(3)
        genome = "".join(rng.choices("ACGT", k=150000 if DEVICE == "cpu" else 40000))
        starts = range(0, len(genome) - 400, 200)
        self.s.write("in.fa", "".join(f">r\n{genome[at:at + 400]}\n" for at in starts))
        self.command = ["count", "in.fa", "-k", 31, "-o", "out.kc", "--tmp", self.tmp.name, "-t", 1,
                        "--quiet", "--device", DEVICE, "--engine-memory", "1M"]
        if DEVICE != "cpu":
            self.command += ["--gpu-memory", "256M", "--gpu-batch", 4096]
        self.good = run_faulty(self.s, self.command, code=0, calls="all")
        self.whole = self.s.contents().pop("out.kc")
        os.unlink(self.s.path / "out.kc")
        self.before = self.s.names()

    def calls_on(self, folder, names):
        """The numbers of these calls on files of a folder; also of those without a name."""
        folder = os.path.realpath(folder)
        return [at for at, (name, path) in enumerate(self.good.calls, 1)
                if name in names and os.path.dirname(path) == folder]

    def phases(self):
        """Groups of calls: (what, numbers)."""
        tmp, own = self.tmp.name, self.s.path
        changes = ("write", "pwrite", "pwritev")
        read = [at for at in self.calls_on(own, ("read", "pread"))
                if self.good.calls[at - 1][1].endswith("in.fa")]
        return {
            "reading": read,
            "spilling": self.calls_on(tmp, changes),
            "reading what was spilled": self.calls_on(tmp, ("read", "pread")),
            "writing": self.calls_on(own, changes),
        }

    def expect_nothing(self, what):
        expect((self.s.names(), os.listdir(self.tmp.name)), (self.before, []), f"files, {what}")


def some(numbers):
    """At most MOST of the numbers, evenly spread, including the first and the last."""
    if len(numbers) <= MOST:
        return numbers
    return sorted({numbers[i * (len(numbers) - 1) // (MOST - 1)] for i in range(MOST)})


def check_full(scene, phase, at):
    what = f"a full disk, {phase}, call {at}: {scene.good.calls[at - 1]}"
    done = run_faulty(scene.s, scene.command, code=1, calls="all", at=at, kind="full")
    expect("No space left on device" in done.said, True, f"{what}: {done.said}")
    wanted = "out.kc" if phase == "writing" else f"temporary file in {scene.tmp.name}"
    expect(wanted in done.said, True, f"{what}: {done.said}")
    scene.expect_nothing(what)


def check_signal(scene, phase, at):
    """After the last write, the file may be complete before the signal is seen."""
    what = f"Ctrl-C, {phase}, call {at}: {scene.good.calls[at - 1]}"
    done = run_faulty(scene.s, scene.command, calls="all", at=at, kind="signal")
    if done.code == 0 and phase == "writing":
        expect(scene.s.contents().pop("out.kc") == scene.whole, True, f"{what}: out.kc")
        os.unlink(scene.s.path / "out.kc")
    else:
        expect((done.code, done.said),
               (-signal.SIGINT, "kcount: interrupted; nothing was written\n"), what)
    scene.expect_nothing(what)


def test_phases():
    scene = Scene()
    phases = scene.phases()
    for phase in phases if DEVICE == "cpu" else ("reading", "writing"):
        if not phases[phase]:
            raise Failure(f"no call on a file while {phase}")
        for at in some(phases[phase]):
            if phase in ("spilling", "writing"):
                check_full(scene, phase, at)
            check_signal(scene, phase, at)


main([test_phases])
