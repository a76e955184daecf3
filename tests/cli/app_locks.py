"""
Several processes use one file: one that changes or replaces it keeps out other writers but never
readers, and no change that ended with exit status 0 is lost.

    app_locks.py KCOUNT SOURCE
"""
import fcntl
import json
import os
import random
import signal
import subprocess
import threading
import time

from lib.session import READS, Session, expect, wait_for_output
from lib.tools import SMALL, Failure, main

LOCKED = "db.kc is being changed by another process; try again when it is done"
OTHER = ">x\nTTTTTGGGGGCCCCC\n"


def prepare():
    s = Session()
    s.write("other.fa", OTHER)
    s.kcount("a.fq", "-k", 3, "-o", "db.kc")
    s.kcount("other.fa", "-k", 3)
    return s


def start(s, *call, output="db.kc"):
    """Start a command that reads standard input, and wait until it has opened its output."""
    started = s.start(*call, "--quiet", stdin=subprocess.PIPE)
    wait_for_output(s, started, output)
    time.sleep(0.05)  # it calls flock after open
    return started


def finish(started, reads=READS):
    said = started.communicate(reads.encode(), timeout=60)[1].decode()
    return started.returncode, said


WRITERS = (["add", "db.kc", "a.fq"], ["remove", "db.kc", "ACG"], ["compact", "db.kc"],
           ["count", "other.fa", "-k", 3, "-o", "db.kc", "--force"],
           ["merge", "other.kc", "-o", "db.kc", "--force"],
           ["union", "other.kc", "-o", "db.kc", "--force"],
           ["intersect", "other.kc", "-o", "db.kc", "--force"],
           ["subtract", "other.kc", "other.kc", "-o", "db.kc", "--force"],
           ["dump", "other.kc", "-o", "db.kc", "--force"],
           ["range", "other.kc", "A", "T", "-o", "db.kc", "--force"])


def keeps_out(s):
    before = s.kcount("dump", "db.kc")
    bytes_before = (s.path / "db.kc").read_bytes()
    for call in WRITERS:
        s.kcount(*call, code=1, message=LOCKED)
    for call in (["hist", "db.kc"], ["info", "db.kc"], ["query", "db.kc", "ACG"],
                 ["range", "db.kc", "A", "T"],
                 ["merge", "db.kc", "other.kc", "-o", "c.kc", "--force"]):
        s.kcount(*call)
    expect(s.kcount("dump", "db.kc"), before, "what readers see")
    expect((s.path / "db.kc").read_bytes() == bytes_before, True, "the file while it is locked")


def test_check_while_another_process_appends():
    """Bytes after the footer need no repair as long as a process that appends holds the lock.
    Afterwards they do."""
    s = prepare()
    ok = s.kcount("check", "db.kc")
    report = json.loads(s.kcount("check", "db.kc", "--json"))
    with open(s.path / "db.kc", "ab") as file:
        file.write(b"what add has written so far.....")
        file.flush()
        fcntl.flock(file, fcntl.LOCK_EX)
        expect(s.kcount("check", "db.kc"),
               f"{ok}db.kc: another process was changing the file; what it appended was not "
               "checked\n", "check of a locked file")
        expect((json.loads(s.kcount("check", "db.kc", "--json")), s.said),
               ({**report, "being_changed": True}, ""), "check --json of a locked file")
    s.kcount("check", "db.kc", code=3, message="interrupted append")
    s.kcount("add", "db.kc", "a.fq")
    expect("another process" in s.kcount("check", "db.kc"), False, "check after add")


def test_add_keeps_others_out():
    s = prepare()
    started = start(s, "add", "db.kc", "-")
    keeps_out(s)
    expect(finish(started), (0, ""), "add")
    s.kcount("a.fq", "a.fq", "-k", 3, "-o", "twice.kc")
    expect(s.kcount("dump", "db.kc"), s.kcount("dump", "twice.kc"), "what add has added")
    for call in WRITERS:
        s.kcount(*call)


def test_replacing_keeps_others_out():
    s = prepare()
    started = start(s, "count", "-", "-k", 3, "-o", "db.kc", "--force")
    keeps_out(s)
    expect(finish(started, OTHER), (0, ""), "count --force")
    expect(s.kcount("dump", "db.kc"), s.kcount("dump", "other.kc"), "what count has written")


def test_a_file_that_comes_up():
    """There is no file to lock at the start, but there is one at the end."""
    s = prepare()
    os.rename(s.path / "db.kc", s.path / "was.kc")
    started = start(s, "count", "-", "-k", 3, "-o", "db.kc", "--force", output=None)
    os.rename(s.path / "was.kc", s.path / "db.kc")
    adding = start(s, "add", "db.kc", "-")
    expect(finish(started, OTHER), (1, f"kcount: {LOCKED}\n"),
           "count --force onto a file that has appeared, locked")
    expect(finish(adding), (0, ""), "add to it")
    s.kcount("a.fq", "a.fq", "-k", 3, "-o", "twice.kc")
    expect(s.kcount("dump", "db.kc"), s.kcount("dump", "twice.kc"), "what add has added")
    os.rename(s.path / "db.kc", s.path / "was.kc")
    started = start(s, "count", "-", "-k", 3, "-o", "db.kc", "--force", output=None)
    os.rename(s.path / "was.kc", s.path / "db.kc")
    expect(finish(started, OTHER), (0, ""), "count --force onto a file that has appeared")
    expect(s.kcount("dump", "db.kc"), s.kcount("dump", "other.kc"), "what count has written")
    started = start(s, "count", "-", "-k", 3, "-o", "db.kc", "--force")
    os.unlink(s.path / "db.kc")
    expect(finish(started), (0, ""), "count --force onto a file that has disappeared")
    s.kcount("check", "db.kc")
    expect(s.names(), ["a.fq", "db.kc", "other.fa", "other.kc", "twice.kc"], "files")


def test_replaced_by_others():
    """Other programs take no lock: if they replace the file, add must report its data as lost."""
    for command in (["add", "db.kc", "-"], ["remove", "db.kc", "-f", "-"]):
        for action in (lambda s: os.replace(s.path / "other.kc", s.path / "db.kc"),
                       lambda s: os.unlink(s.path / "db.kc")):
            s = prepare()
            started = start(s, *command)
            action(s)
            names = s.names()
            code, said = finish(started)
            reported = "db.kc was removed or replaced" in said and "is lost" in said
            expect((code, reported, s.names()), (1, True, names), f"{command}: {said}")


def test_compact_replaced_by_others():
    s = prepare()
    letters = "".join(random.Random(1).choices("ACGT", k=300000))
    s.write("big.fa", f">x\n{letters}\n")
    s.kcount("big.fa", "-k", 31, "-o", "big.kc")
    s.kcount("add", "big.kc", "big.fa")
    for _ in range(20):
        os.link(s.path / "big.kc", s.path / "db2.kc")
        started = s.start("compact", "db2.kc", "-t", 1, "--quiet")
        wait_for_output(s, started)
        started.send_signal(signal.SIGSTOP)
        s.write("precious", "precious")
        finished = started.poll() is not None
        os.replace(s.path / "precious", s.path / "db2.kc")
        started.send_signal(signal.SIGCONT)
        said = started.communicate(timeout=60)[1].decode()
        expect((s.path / "db2.kc").read_bytes(), b"precious", "the file that replaced compact's")
        os.unlink(s.path / "db2.kc")
        if not finished and started.returncode != 0:
            reported = "db2.kc was removed or replaced" in said
            expect((started.returncode, reported), (1, True), f"compact: {said}")
            return
    raise Failure("compact always finished before its file was replaced")


def test_replaced_while_it_begins():
    """A command that looks at its output while others replace it does not take it for a link whose
    target has no name."""
    s = prepare()
    stop = threading.Event()

    def replace():
        while not stop.is_set():
            s.write("next", "not a store")
            os.replace(s.path / "next", s.path / "out.tsv")

    s.write("out.tsv", "")
    replacing = threading.Thread(target=replace)
    replacing.start()
    try:
        said = [s.start("dump", "db.kc", "-o", "out.tsv", "--force",
                        "--quiet").communicate(timeout=60)[1]
                for _ in range(NCOMMANDS * 5)]
    finally:
        stop.set()
        replacing.join()
    expect(set(text for text in said if text and b"changed by another process" not in text), set(),
           "other failures")


# ---- all at once ----

NCOMMANDS = 14 if SMALL else 40

def marker(number):
    """A sequence that is a single 15-mer."""
    return "".join("ACGT"[number >> 2 * i & 3] for i in range(6)) + "ACCGTTAGA"


def commands(s, number, kind):
    s.write(f"{number}.fa", f">x\n{marker(number)}\n")
    return {"add": ["add", "db.kc", f"{number}.fa"], "compact": ["compact", "db.kc"],
            "count": ["count", "base.fa", "-k", 15, "--stranded", "-o", "db.kc", "--force"],
            "merge": ["merge", "base.kc", "-o", "db.kc", "--force"]}[kind]


def work(s, kinds, numbers, lock, done):
    """One command after another; done gets (number, kind, whether it succeeded, begin, end and what
    an unexpected failure said)."""
    while True:
        with lock:
            number = next(numbers, None)
        if number is None:
            return
        kind = kinds[number % len(kinds)]
        begin = time.monotonic()
        started = s.start(*commands(s, number, kind), "-t", 1, "--quiet")
        said = started.communicate(timeout=60)[1].decode()
        good = started.returncode == 0
        expected = good or started.returncode == 1 and LOCKED in said
        done.append((number, kind, good, begin, time.monotonic(), None if expected else said))


def race(kinds):
    """Six processes at a time. What add reports as done is there, unless the file was replaced."""
    s = Session()
    s.write("base.fa", ">base\n" + "GATTACA" * 5 + "\n")
    for name in ("base.kc", "db.kc"):
        s.kcount("base.fa", "-k", 15, "--stranded", "-o", name)
    done, lock = [], threading.Lock()
    for first in range(0, 20 * NCOMMANDS, NCOMMANDS):  # usually one round
        numbers = iter(range(first, first + NCOMMANDS))
        workers = [threading.Thread(target=work, args=(s, kinds, numbers, lock, done))
                   for _ in range(6)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        expect([kind + ": " + said for _, kind, _, _, _, said in done if said is not None], [],
               "unexpected failures")
        expect(len(done), first + NCOMMANDS, "commands that ended")
        # With so few commands, it may happen that no add gets the lock; then try another round.
        if any(kind == "add" and good for _, kind, good, *_ in done):
            break
    else:
        raise Failure("no add succeeded")
    s.kcount("check", "db.kc")
    found = set(line.split("\t")[0] for line in s.kcount("dump", "db.kc").splitlines())
    for number, kind, good, begin, *_ in done:
        replaced = any(kind2 in ("count", "merge") and good2 and end > begin
                       for _, kind2, good2, _, end, _ in done)
        if kind == "add" and not (good and replaced):
            expect(marker(number) in found, good, f"the reads of add number {number} are there")
    expect([name for name in s.names() if "tmp" in name], [], "temporary files")


def test_race():
    race(("add", "add", "compact"))
    race(("add", "count", "add", "merge", "add", "add", "compact"))


main([test_check_while_another_process_appends, test_add_keeps_others_out,
      test_replacing_keeps_others_out, test_a_file_that_comes_up,
      test_replaced_by_others, test_compact_replaced_by_others,
      test_replaced_while_it_begins, test_race])
