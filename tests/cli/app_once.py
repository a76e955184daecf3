"""
Lists and inputs that can be read only once, because they are pipes. Where no device can start, the
CPU counts instead, and must not need them a second time.

    app_once.py KCOUNT SOURCE
"""
import json
import os
import subprocess
import threading

from lib.session import KCOUNT, READS, Session, expect
from lib.tools import main

K = ("-k", 5)
MORE = "@m1\nTTGACCATGGCATCGATTACG\n+\nIIIIIIIIIIIIIIIIIIIII\n"
NAMES = "a.fq\n# a comment\nb.fq\n"


def session():
    s = Session()
    s.write("b.fq", MORE)
    s.kcount("a.fq", "b.fq", *K, "-o", "want.kc", "--quiet", "--device", "cpu")
    os.mkfifo(s.path / "fifo")
    return s


class Feeder:
    """Writes content to the fifo once, when a reader opens it."""

    def __init__(self, s, content):
        self.path, self.content = s.path / "fifo", content.encode()
        self.thread = threading.Thread(target=lambda: self.path.write_bytes(self.content))

    def __enter__(self):
        self.thread.start()

    def __exit__(self, *failure):
        if failure[0] is None:
            self.thread.join()
        else:  # let the writer go
            os.close(os.open(self.path, os.O_RDONLY | os.O_NONBLOCK))


def check(s, what):
    expect(s.kcount("dump", "out.kc"), s.kcount("dump", "want.kc"), what)


def piped(content):
    """A pipe's reading end, with all of content in it and no writer left."""
    reading, writing = os.pipe()
    os.write(writing, content.encode())
    os.close(writing)
    return reading


def once(content, call):
    """Call with a file that holds content and can be read once."""
    reading = piped(content)
    try:
        return call(f"/dev/fd/{reading}", reading)
    finally:
        os.close(reading)


def test_lists():
    s = session()
    to = ("-o", "out.kc", "--force")
    once(NAMES, lambda name, fd: s.kcount("@" + name, *K, *to, pass_fds=[fd]))
    check(s, "@/dev/fd/N")
    once(NAMES, lambda name, fd: s.kcount("@/dev/stdin", *K, *to, stdin=fd))
    check(s, "@/dev/stdin")
    with Feeder(s, NAMES):
        s.kcount("@fifo", *K, *to)
    check(s, "@fifo")
    s.write("names", NAMES)
    with open(s.path / "names") as names:
        s.kcount("@/dev/stdin", *K, *to, stdin=names)
    check(s, "@/dev/stdin, a file")


def test_commands():
    s = session()
    with Feeder(s, NAMES):
        s.kcount("@fifo", "-k", "5,7", "-o", "out.kc")
    os.rename(s.path / "out.k5.kc", s.path / "out.kc")
    check(s, "several k")
    with Feeder(s, NAMES):
        got = s.kcount("hist", "@fifo", *K)
    expect(got, s.kcount("hist", "want.kc"), "hist")
    s.kcount("a.fq", *K, "-o", "out.kc", "--force", "--device", "cpu")
    with Feeder(s, "b.fq\n"):
        s.kcount("add", "out.kc", "@fifo")
    check(s, "add")


def test_kmc():
    s = session()
    (s.path / "tmp").mkdir()
    os.symlink(KCOUNT, s.path / "kcount-kmc")
    with Feeder(s, "a.fq\nb.fq\n"):
        done = subprocess.run(["./kcount-kmc", "-k5", "-ci1", "-okff", "@fifo", "out", "tmp"],
                              cwd=s.path, timeout=120, capture_output=True)
    expect(done.returncode, 0, f"kcount-kmc: {done.stderr.decode()}")
    s.kcount("import", "out.kff", "-o", "out.kc")
    check(s, "kcount-kmc")


def test_inputs():
    """Pipes among the inputs, named on the command line and in lists."""
    s = session()
    to = ("-o", "out.kc", "--force", "--json")
    for names in (["a.fq", "fifo"], ["fifo", "a.fq"]):
        with Feeder(s, MORE):
            report = json.loads(s.kcount(*names, *K, *to))
        expect((report["inputs"], report["reads"]), (names, READS.count("\n+\n") + 1), f"{names}")
        check(s, f"{names}")
    s.write("names", "a.fq\nfifo\n")
    with Feeder(s, MORE):
        s.kcount("@names", *K, *to)
    check(s, "a list that names a pipe")
    once(MORE, lambda name, fd: once("a.fq\n", lambda names, other: s.kcount(
        "@" + names, name, *K, *to, pass_fds=[fd, other])))
    check(s, "a list and an input, both from pipes")
    s.kcount("a.fq", "-", *K, *to, text=MORE)
    check(s, "standard input")


def test_failures():
    """The messages are about what the list holds, not about a second look at it."""
    s = session()
    for names, wanted in (("a.fq\nnowhere.fq\n", "line 2 of the list fifo: cannot open nowhere.fq"),
                          ("\n# none\n", "the list fifo names no file"),
                          ("a.fq\ndamaged.fq\n", "damaged.fq: record 1 is truncated")):
        s.write("damaged.fq", "@a\nACGT\n+\nII\n")
        before = s.names()
        with Feeder(s, names):
            s.kcount("@fifo", *K, "-o", "out.kc", code=1, message=wanted)
        expect(s.names(), before, "what is left behind")


if __name__ == "__main__":
    main([test_lists, test_commands, test_kmc, test_inputs, test_failures])
