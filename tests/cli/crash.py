"""
add, remove and compact fail or die at each call that changes a file: the .kc file is what it was or
what it was to become, and nothing obstructs the next change.

    crash.py KCOUNT SOURCE FAULT
        FAULT: the library built from tests/fault
"""
import os
import random
import signal
import subprocess
import sys

from lib.faults import FAULT, run_faulty
from lib.session import Session, expect
from lib.tools import SKIPPED, Failure, main


def faulty(s, at, kind, *arguments):
    """Run kcount with a fault at its change number `at`: exit status, messages, calls."""
    done = run_faulty(s, arguments, at=at, kind=kind)
    return done.code, done.said, [name for name, path in done.calls]


def prepare():
    s, rng = Session(), random.Random(5)
    for name in "ab":
        s.write(name + ".fa", ">x\n" + "".join(rng.choices("ACGT", k=9000)) + "\n")
    s.kcount("a.fa", "-k", 21, "-o", "db.kc")
    s.kcount("add", "db.kc", "a.fa")
    return s


def check_state(s, before, after, what):
    """The file holds one of the two, can be changed again, and is sound after that."""
    now = s.kcount("dump", "db.kc")
    if now not in (before, after):
        raise Failure(f"{what}: the file is neither the old one nor the new one")
    s.write("one.fa", ">x\n" + "A" * 22 + "\n")
    s.kcount("add", "db.kc", "one.fa")
    s.kcount("check", "db.kc")
    wanted = sorted([line for line in now.splitlines()
                     if not line.startswith("A" * 21)] + ["A" * 21 + "\t2"])
    expect(s.kcount("dump", "db.kc").splitlines(), wanted, f"{what}, then add")
    return now == after


def die_everywhere(kind, *command):
    s = prepare()
    good = (s.path / "db.kc").read_bytes()
    names = s.names()
    before = s.kcount("dump", "db.kc")
    code, said, calls = faulty(s, 0, kind, *command)
    expect(code, 0, f"{command}: {said}")
    after = s.kcount("dump", "db.kc")
    # the run, its footer, the reference: each is flushed before the next refers to it
    wanted = ["fsync", "pwrite", "fsync", "pwrite", "fsync"]
    if command[0] == "compact":
        wanted = ["fsync", "fchmod", "link", "rename", "fsync"]
    expect(calls[-len(wanted):], wanted, f"{command}: the last calls")
    if command[0] != "compact" and before == after:
        raise Failure(f"{command} does nothing")
    became = []
    for at in range(1, len(calls) + 1):
        (s.path / "db.kc").write_bytes(good)
        what = f"{command}: {kind} at call {at}, {calls[at - 1]}"
        code, said, _ = faulty(s, at, kind, *command)
        if kind in ("kill", "torn"):
            expect(code, -signal.SIGKILL, what)
        elif code not in (0, 1) or code == 1 and not ("db.kc" in said or "temporary file" in said):
            raise Failure(f"{what}: exit {code}: {said}")
        if kind in ("full", "error") and code == 1 and (s.path / "db.kc").read_bytes() != good:
            if "fsync" != calls[at - 1] and "pwrite" != calls[at - 1] or at < len(calls) - 2:
                raise Failure(f"{what}: a failure that leaves the file changed")
        now_after = check_state(s, before, after, what)
        if code != 0:
            became.append(now_after)
        elif not now_after:
            raise Failure(f"{what}: exit 0, but the file is unchanged")
        for name in set(s.names()) - set(names) - {"one.fa"}:
            if kind in ("full", "error") and calls[at - 1] != "unlink":
                raise Failure(f"{what}: left {name}")
            (s.path / name).unlink()
    if command[0] != "compact" and became != sorted(became):
        raise Failure(f"{command}: {kind}: the change comes, then goes: {became} {calls}")


def test_add():
    for kind in ("kill", "torn", "full", "error"):
        die_everywhere(kind, "add", "db.kc", "b.fa", "-t", "2", "--quiet")


def test_remove():
    for kind in ("kill", "torn", "full", "error"):
        die_everywhere(kind, "remove", "db.kc", "-f", "a.fa", "-t", "1", "--quiet")


def test_compact():
    for kind in ("kill", "torn", "full", "error"):
        die_everywhere(kind, "compact", "db.kc", "-t", "2", "--quiet")


def test_trailing():
    """The next append cuts off what a killed one left, and so does compact."""
    s = prepare()
    before = s.kcount("dump", "db.kc")
    with open(s.path / "db.kc", "ab") as db:
        db.write(os.urandom(100000))
    expect(s.kcount("dump", "db.kc"), before, "dump with garbage after the footer")
    s.kcount("check", "db.kc", code=3, message="interrupted append")
    s.kcount("compact", "db.kc")
    s.kcount("check", "db.kc")
    good = (s.path / "db.kc").read_bytes()
    s.write("db.kc", good + b"x" * 1001)
    s.kcount("compact", "db.kc")
    expect((s.path / "db.kc").read_bytes() == good, True,
           "compact of one run with garbage after it")


def test_signals():
    """Ctrl-C at any time: the file is sound, and is what it was or what it was to become."""
    s = prepare()
    good = (s.path / "db.kc").read_bytes()
    before = s.kcount("dump", "db.kc")
    s.kcount("add", "db.kc", "b.fa")
    after = s.kcount("dump", "db.kc")
    for number, fed in ((signal.SIGINT, b""), (signal.SIGTERM, b">x\n" + b"ACGTT" * 5000)):
        (s.path / "db.kc").write_bytes(good)
        started = s.start("add", "db.kc", "-", stdin=subprocess.PIPE)
        started.stdin.write(fed)
        started.stdin.flush()
        try:
            started.wait(0.5)
        except subprocess.TimeoutExpired:
            pass
        s.kcount("add", "db.kc", "b.fa", code=1, message="being changed by another process")
        s.kcount("compact", "db.kc", code=1, message="being changed by another process")
        expect(s.kcount("dump", "db.kc"), before, "dump while another adds")
        started.send_signal(number)
        started.send_signal(number)
        started.wait(120)
        expect(started.returncode, -number, "add interrupted")
        check_state(s, before, after, "add interrupted")


def test_mode_and_links():
    """compact keeps the file's mode, and follows a link."""
    s = prepare()
    os.chmod(s.path / "db.kc", 0o640)
    os.symlink("db.kc", s.path / "link.kc")
    s.kcount("add", "link.kc", "b.fa")
    s.kcount("compact", "link.kc")
    expect((os.path.islink(s.path / "link.kc"), os.stat(s.path / "db.kc").st_mode & 0o777),
           (True, 0o640), "mode and link after compact")
    s.kcount("check", "db.kc")


if __name__ == "__main__":
    if not FAULT.exists():
        sys.exit(SKIPPED)
    main([test_add, test_remove, test_compact, test_trailing, test_signals, test_mode_and_links])
