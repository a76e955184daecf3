"""
Signals: the program dies of the signal that it is sent, and leaves nothing behind.

    app_signals.py KCOUNT SOURCE [DEVICE [LIBRARY]]
        LIBRARY: built from tests/fault, to be preloaded: outputs then have temporary names
"""
import contextlib
import errno
import os
import pathlib
import platform
import pty
import random
import signal
import subprocess
import sys
import threading
import time

from lib.session import KCOUNT, READS, Session, expect, wait_for_output
from lib.tools import SKIPPED, main

DEVICE = sys.argv[3] if len(sys.argv) > 3 else "cpu"
if DEVICE != "cpu" and subprocess.run([sys.argv[1], "info", "--devices"]).returncode != 0:
    sys.exit(SKIPPED)
if len(sys.argv) > 4:
    os.environ.update(LD_PRELOAD=sys.argv[4], KC_FAULT_NAMED=str(errno.EOPNOTSUPP))

INTERRUPTED = "kcount: interrupted; nothing was written\n"
# All signals that end a process, can be caught, and do not indicate a crash.
DEADLY = [getattr(signal, "SIG" + name) for name in
          "HUP INT QUIT USR1 USR2 PIPE ALRM TERM VTALRM PROF IO PWR XCPU RTMIN RTMAX".split()]
DEADLY.append(16)  # SIGSTKFLT


def has_nameless_files(folder):
    if len(sys.argv) > 4:
        return False
    try:
        os.close(os.open(folder, os.O_TMPFILE | os.O_RDWR))
    except OSError:
        return False
    return True


def endless_reads(pipe):
    try:
        while True:
            pipe.write(READS.encode() * 1000)
    except (BrokenPipeError, ValueError):
        pass
    finally:
        try:
            pipe.close()
        except BrokenPipeError:
            pass


def feed(started):
    threading.Thread(target=endless_reads, args=(started.stdin,), daemon=True).start()


COUNT = ("count", "-", "-k", 21, "-o", "out.kc", "--device", DEVICE)
REPORT = ("report", "-", "-o", "out.html", "--device", DEVICE)


def interrupt(signals, fed, call=COUNT):
    """Start the call, send signals one after another; returns exit code, message, seconds."""
    s = Session()
    before = s.names()
    started = s.start(*call, stdin=subprocess.PIPE)
    if fed:
        feed(started)
    wait_for_output(s, started)
    time.sleep(0.3)
    begin = time.monotonic()
    for number in signals:
        started.send_signal(number)
        time.sleep(0.2)
    code = started.wait(timeout=120)
    seconds = time.monotonic() - begin
    expect(s.names(), before, f"files after {signals}")
    return code, started.stderr.read().decode(), seconds


def test_one_signal():
    for number, call in ((signal.SIGINT, COUNT), (signal.SIGTERM, COUNT), (signal.SIGHUP, COUNT),
                         (signal.SIGINT, REPORT)):
        code, said, seconds = interrupt([number], fed=True, call=call)
        expect(code, -number, f"exit of {call[0]} by {number}")
        expect(said, INTERRUPTED, f"message of {call[0]} after {number}")


def test_silent_input():
    """
    A blocked read cannot be woken; the program ends when the grace period is over, with the same
    message. What add has appended may remain, although it does not count.
    """
    s = Session()
    s.kcount("a.fq", "-k", 3)
    adding = s.start("add", "a.kc", "-", "--device", "cpu", stdin=subprocess.PIPE)
    wait_for_threads(adding)
    adding.send_signal(signal.SIGTERM)
    code, said, seconds = interrupt([signal.SIGTERM], fed=False)
    expect((code, seconds < 10), (-signal.SIGTERM, True), "SIGTERM while waiting for input")
    expect(said, INTERRUPTED, "message after the grace period")
    expect((adding.wait(timeout=120), adding.stderr.read()),
           (-signal.SIGTERM, b"kcount: interrupted\n"), "add, SIGTERM while waiting for input")


def test_twice():
    code, said, seconds = interrupt([signal.SIGINT, signal.SIGINT], fed=False)
    expect((code, seconds < 2), (-signal.SIGINT, True), f"two SIGINT took {seconds} s")
    expect(said, INTERRUPTED, "message after two SIGINT")


def interrupt_twice(s, messages, term="xterm"):
    """Count from a silent pipe until SIGINT comes twice; messages: descriptor of standard error."""
    started = subprocess.Popen([KCOUNT, "count", "-", "-k", "3", "-o", "out.kc",
                                "--device", DEVICE],
                               cwd=s.path, stdin=subprocess.PIPE, stderr=messages,
                               env={**os.environ, "TERM": term})
    wait_for_output(s, started)
    time.sleep(0.3)
    for _ in range(2):
        started.send_signal(signal.SIGINT)
        time.sleep(0.2)
    started.wait(timeout=120)
    return started


def test_full_standard_error():
    """A pipe that is full and never read does not keep the program alive."""
    s = Session()
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(writer, bytes(4096))
    os.set_blocking(writer, True)
    started = interrupt_twice(s, writer)
    expect((started.returncode, s.names()), (-signal.SIGINT, ["a.fq"]),
           "SIGINT when standard error is full")
    os.close(reader)
    os.close(writer)


def test_terminal():
    """The message takes the place of the progress line; a dumb terminal has none."""
    message = INTERRUPTED.replace("\n", "\r\n").encode()
    for term in ("xterm", "dumb"):
        reader, writer = pty.openpty()
        started = interrupt_twice(Session(), writer, term)
        expect(started.returncode, -signal.SIGINT, "SIGINT on a terminal")
        os.close(writer)
        said = b""
        with contextlib.suppress(OSError):  # that is how the other side of a terminal ends
            while True:
                said += os.read(reader, 1 << 16)
        os.close(reader)
        expect(said.endswith(b"\r\033[K" + message) if term == "xterm" else said == message, True,
               f"message on a terminal: {said!r}")


def test_ignored():
    """Under nohup SIGHUP is ignored; SIGXFSZ, of the limit on file sizes, always is."""
    s = Session()
    started = s.start("-", "-k", 3, "-o", "out.kc", "--quiet", stdin=subprocess.PIPE,
                      preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    wait_for_output(s, started)
    started.send_signal(signal.SIGHUP)
    started.send_signal(signal.SIGXFSZ)
    said = started.communicate(READS.encode())[1]
    expect((started.returncode, said), (0, b""), "SIGHUP under nohup")
    s.kcount("check", "out.kc")


def test_existing_output():
    s = Session()
    s.write("out.kc", "precious")
    started = s.start("-", "-k", 3, "-o", "out.kc", "--force", stdin=subprocess.PIPE)
    wait_for_output(s, started)
    started.send_signal(signal.SIGTERM)
    started.send_signal(signal.SIGTERM)
    started.wait(timeout=120)
    expect((s.read("out.kc"), s.names()), ("precious", ["a.fq", "out.kc"]), "an existing output")


# ---- every signal ----

def contents(s):
    return {name: (s.path / name).read_bytes() for name in s.names()}


def send_each(signals, *command, fed, output=None, prepare=lambda s: None):
    """
    Run a process for each signal, all at once, each in a folder of its own. A process is stopped as
    soon as its output is open, so that it is at work when the signal comes.
        fed     whether it reads standard input, which then has no end; otherwise it may finish
                before the signal
        output  the file that it changes; None: it makes a new one, out
    """
    running = []
    for number in signals:
        s = Session()
        prepare(s)
        before = contents(s)
        started = s.start(*command, "-t", 1, stdin=subprocess.PIPE if fed else subprocess.DEVNULL)
        if fed:
            feed(started)
        wait_for_output(s, started, output)
        started.send_signal(signal.SIGSTOP)
        running.append((number, s, before, started))
    for number, s, before, started in running:
        started.send_signal(number)
        started.send_signal(signal.SIGCONT)
    nfaster = 0
    for number, s, before, started in running:
        code = started.wait(timeout=60)
        said = started.stderr.read().decode()
        what = f"{command[0]}, signal {number}: {said}"
        if code == 0 and not fed:
            before["out"] = contents(s).get("out")
            nfaster += 1
        else:
            expect(code, -number, what)
        expect(s.names(), sorted(before), what)
        if output is None:
            expect(contents(s) == before, True, what)
        else:
            s.kcount("dump", output)
            expect(contents(s)[output].startswith(before[output]), True, what)
    expect(nfaster < len(signals), True, f"{command} was ended by a signal")


def all_signals():
    """Includes SIGKILL if files get a name only when they are complete."""
    nameless = has_nameless_files(Session().path)
    return DEADLY + [signal.SIGKILL] if nameless else DEADLY


def test_report():
    send_each(all_signals(), *REPORT, "-m", "256M", fed=True)


def test_count():
    count = ["count", "-", "-k", 21, "-m", "256M", "-o", "out", "--device", DEVICE]
    send_each(all_signals(), *count, fed=True)
    send_each(DEADLY[:4], *count, "--force", fed=True, prepare=lambda s: s.write("out", "precious"))


def test_add():
    source = Session()
    source.kcount("a.fq", "-k", 3, "-o", "db.kc")
    database = (source.path / "db.kc").read_bytes()
    send_each(DEADLY, "add", "db.kc", "-", "-m", "256M", "--device", DEVICE, fed=True,
              output="db.kc", prepare=lambda s: s.write("db.kc", database))


def test_dump_and_merge():
    source = Session()
    source.write("big.fa", ">x\n" + "".join(random.Random(1).choices("ACGT", k=1000000)) + "\n")
    source.kcount("big.fa", "-k", 31, "-o", "db.kc")
    for command in (["dump", "db.kc", "-o", "out"], ["export", "db.kc", "--to", "tsv", "-o", "out"],
                    ["merge", "db.kc", "-o", "out", "--device", "cpu"],
                    ["profile", "db.kc", source.path / "big.fa", "--positions", "-o", "out"]):
        send_each(all_signals(), *command, fed=False,
                  prepare=lambda s: os.symlink(source.path / "db.kc", s.path / "db.kc"))


def test_dump():
    s = Session()
    letters = os.urandom(200000).hex().translate(str.maketrans("0123456789abcdef", "ACGT" * 4))
    s.write("big.fa", ">r\n" + letters + "\n")
    s.kcount("big.fa", "-k", 31)
    before, whole = s.names(), s.kcount("dump", "big.kc")
    for delay in (0, 0.002, 0.004, 0.008, 0.016):
        started = s.start("dump", "big.kc", "-t", 1, "-o", "out")
        time.sleep(delay)
        started.send_signal(signal.SIGINT)
        expect(started.wait() in (0, -signal.SIGINT), True, "dump interrupted: how it ends")
        if "out" in s.names():  # the signal may come after the output is complete
            expect(s.read("out") == whole, True, "dump interrupted: the output")
            os.unlink(s.path / "out")
        expect(s.names(), before, "dump interrupted: what it leaves")


READ, WAITS = {"0"}, {"7", "128", "271"}  # system calls of x86-64: poll, rt_sigtimedwait, ppoll


def call_of(task):
    """The system call that a thread is in; none if the thread has ended."""
    try:
        return (task / "syscall").read_text().split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return None


def threads_in(process, calls):
    """The threads that are in one of these system calls."""
    tasks = pathlib.Path(f"/proc/{process.pid}/task")
    return [int(task.name) for task in tasks.iterdir() if call_of(task) in calls]


def wait_for_threads(process):
    """Wait until one thread reads and others wait for signals; returns the latter."""
    for _ in range(1000):
        waiting = threads_in(process, WAITS)
        if waiting and threads_in(process, READ):
            break
        time.sleep(0.01)
    return waiting


def let_run_last(process, cpu):
    """Put all threads on one processor; the one that takes signals runs only when it is idle."""
    waiting = wait_for_threads(process)
    for task in pathlib.Path(f"/proc/{process.pid}/task").iterdir():
        os.sched_setaffinity(int(task.name), {cpu})
    for thread in waiting:
        os.sched_setscheduler(thread, os.SCHED_IDLE, os.sched_param(0))


def test_end_of_input():
    """
    Ctrl-C ends both sides of a pipe: the input is then incomplete and must not count as complete,
    even if it ends before the thread that takes signals has run. A busy processor keeps that thread
    from running.
    """
    if platform.machine() != "x86_64":
        return
    cpu = min(os.sched_getaffinity(0))
    busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    os.sched_setaffinity(busy.pid, {cpu})
    try:
        for command in ([["count", "-", "-k", 3, "-o", "out.kc", "--device", "cpu"],
                         ["add", "a.kc", "-", "--device", "cpu"], ["remove", "a.kc", "-f", "-"]] * 4
                        + [["report", "-", "-k", 3, "-o", "out.html", "--device", "cpu"]]):
            s = Session()
            s.kcount("a.fq", "-k", 3)
            before, good = s.names(), (s.path / "a.kc").read_bytes()
            started = s.start(*command, stdin=subprocess.PIPE)
            started.stdin.write(READS.encode())
            started.stdin.flush()
            let_run_last(started, cpu)
            started.send_signal(signal.SIGINT)
            started.stdin.close()
            expect((started.wait(300), s.names()), (-signal.SIGINT, before),
                   f"{command} and Ctrl-C")
            expect((s.path / "a.kc").read_bytes() == good, True, f"{command} and Ctrl-C: a.kc")
    finally:
        busy.kill()
        busy.wait()


def test_closed_standard_error():
    """If nobody reads the warnings and the summary, the count is still written."""
    s = Session()
    reader, writer = os.pipe()
    os.close(reader)
    for command in (["count", "a.fq", "-k", "3"], ["add", "a.kc", "a.fq"]):
        done = subprocess.run([KCOUNT, *command], cwd=s.path, stderr=writer)
        expect((done.returncode, s.names()), (0, ["a.fq", "a.kc"]), f"{command}, nobody listens")
        # a byte of the reference, so that the next command begins with a warning
        damaged = bytearray((s.path / "a.kc").read_bytes())
        damaged[66] ^= 1
        s.write("a.kc", bytes(damaged))
    os.close(writer)


# Of the others, the names of outputs change nothing; test_end_of_input keeps a processor busy.
OF_ANY_OUTPUT = [test_end_of_input, test_closed_standard_error] if len(sys.argv) <= 4 else []
main([test_one_signal, test_silent_input, test_twice, test_full_standard_error, test_terminal,
      test_ignored, test_existing_output, test_report, test_count, test_add,
      test_dump_and_merge, test_dump, *OF_ANY_OUTPUT])
