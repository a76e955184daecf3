"""
Ctrl-C and its relatives: the program ends by the signal, and leaves nothing behind.

    app_signals.py KCOUNT SOURCE [DEVICE]
"""
import os
import signal
import subprocess
import sys
import threading
import time

from session import READS, Session, expect
from tools import SKIPPED, main

DEVICE = sys.argv[3] if len(sys.argv) > 3 else "cpu"
if DEVICE != "cpu" and subprocess.run([sys.argv[1], "info", "--devices"]).returncode != 0:
    sys.exit(SKIPPED)


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


def wait_for_temporary(s, before):
    for _ in range(500):
        if s.names() != before:
            return
        time.sleep(0.01)


def interrupt(signals, feed):
    """Start counting, send signals one after another; returns exit code, message, files, seconds."""
    s = Session()
    before = s.names()
    started = s.start("-", "-k", 21, "-o", "out.kc", "--device", DEVICE, stdin=subprocess.PIPE)
    if feed:
        threading.Thread(target=endless_reads, args=(started.stdin,), daemon=True).start()
    wait_for_temporary(s, before)
    time.sleep(0.3)
    begin = time.monotonic()
    for number in signals:
        started.send_signal(number)
        time.sleep(0.2)
    code = started.wait(timeout=30)
    seconds = time.monotonic() - begin
    expect(s.names(), before, f"files after {signals}")
    return code, started.stderr.read().decode(), seconds


def test_one_signal():
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        code, said, seconds = interrupt([number], feed=True)
        expect(code, -number, f"exit by {number}")
        expect(said, "kcount: interrupted; nothing was written\n", f"message after {number}")


def test_silent_input():
    """A read that does not return cannot be woken; the grace time ends it."""
    code, said, seconds = interrupt([signal.SIGTERM], feed=False)
    expect((code, seconds < 10), (-signal.SIGTERM, True), "SIGTERM while waiting for input")


def test_twice():
    code, said, seconds = interrupt([signal.SIGINT, signal.SIGINT], feed=False)
    expect((code, seconds < 2), (-signal.SIGINT, True), f"two SIGINT took {seconds} s")


def test_ignored():
    """Under nohup a hang-up is no reason to stop."""
    s = Session()
    started = s.start("-", "-k", 3, "-o", "out.kc", "--quiet", stdin=subprocess.PIPE,
                      preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    time.sleep(0.3)
    started.send_signal(signal.SIGHUP)
    said = started.communicate(READS.encode())[1]
    expect((started.returncode, said), (0, b""), "SIGHUP under nohup")
    s.kcount("check", "out.kc")


def test_existing_output():
    s = Session()
    s.write("out.kc", "precious")
    started = s.start("-", "-k", 3, "-o", "out.kc", "--force", stdin=subprocess.PIPE)
    time.sleep(0.3)
    started.send_signal(signal.SIGTERM)
    started.send_signal(signal.SIGTERM)
    started.wait(timeout=30)
    expect((s.read("out.kc"), s.names()), ("precious", ["a.fq", "out.kc"]), "an existing output")


def test_dump():
    s = Session()
    random = os.urandom(200000).hex().translate(str.maketrans("0123456789abcdef", "ACGT" * 4))
    s.write("big.fa", ">r\n" + random + "\n")
    s.kcount("big.fa", "-k", 31)
    before = s.names()
    for delay in (0, 0.002, 0.004, 0.008, 0.016):
        started = s.start("dump", "big.kc", "-t", 1, "-o", "out")
        time.sleep(delay)
        started.send_signal(signal.SIGINT)
        if started.wait() != 0:
            expect((started.returncode, s.names()), (-signal.SIGINT, before), "dump interrupted")
        elif "out" in s.names():
            os.unlink(s.path / "out")


main([test_one_signal, test_silent_input, test_twice, test_ignored, test_existing_output, test_dump])
