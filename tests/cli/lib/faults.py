"""Running kcount with the library of tests/fault preloaded."""
import os
import pathlib
import subprocess
import sys
import tempfile

from lib.session import KCOUNT
from lib.tools import Failure

FAULT = pathlib.Path(sys.argv[3]).resolve()


class Done:
    """The result of a run: code, said, out, and calls: a list of (name of the call, path)."""
    def __init__(self, done, calls):
        self.code, self.out, self.calls = done.returncode, done.stdout, calls
        self.said = done.stderr.decode(errors="replace")


def run_faulty(s, arguments, code=None, timeout=60, program=KCOUNT, **settings):
    """Run kcount, or a link to it, with settings of the library, which are named without
    KC_FAULT_."""
    with tempfile.TemporaryDirectory() as aside:
        log = pathlib.Path(aside, "log")
        environment = dict(os.environ, LD_PRELOAD=str(FAULT), KC_FAULT_LOG=str(log))
        for name, value in settings.items():
            environment["KC_FAULT_" + name.upper()] = str(value)
        done = subprocess.run([program, *map(str, arguments)], cwd=s.path, env=environment,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=timeout)
        lines = log.read_text().splitlines() if log.exists() else []
    done = Done(done, [tuple(line.split("\t")) for line in lines])
    if code is not None and done.code != code:
        raise Failure(f"{arguments}: exit {done.code}: {done.said}")
    return done


def run_killed(s, arguments, which, kind="kill"):
    """
    Kill a command at a call that `which` chooses from the names of all its calls. Returns what the
    files would have become.
    """
    before = s.contents()
    calls = run_faulty(s, arguments, code=0).calls
    after = s.contents()
    for name, content in before.items():
        s.write(name, content)
    run_faulty(s, arguments, code=-9, at=which([name for name, path in calls]), kind=kind)
    return after


class Looker:
    """A running tests/power_look.c."""
    PROGRAM = FAULT.parent / "power_look"

    def __init__(self):
        self.process = subprocess.Popen([self.PROGRAM], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)

    def ask(self, order, path):
        self.process.stdin.write(f"{order} {path}\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise Failure(f"power_look died of: {order} {path}")
        return Look(*answer.rstrip("\n").split(" ", 5))

    def __enter__(self):
        return self

    def __exit__(self, *how):
        self.process.communicate()


class Look:
    """An answer of tests/power_look.c."""
    def __init__(self, outcome, pairs, histogram, tidy, nwrong, message):
        self.outcome, self.pairs, self.histogram = outcome, pairs, histogram
        self.tidy, self.nwrong, self.message = tidy == "1", int(nwrong), message
