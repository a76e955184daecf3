"""
Standard output that cannot be written, closed pipes, and files written with -o.

    app_output.py KCOUNT SOURCE
"""
import os
import re
import signal
import stat
import subprocess
import time

from lib.session import KCOUNT, READS, Session, expect
from lib.terminal import Terminal
from lib.tools import main


def big():
    """A database whose dump is longer than any buffer or pipe on its way."""
    s = Session()
    random = os.urandom(200000).hex().translate(str.maketrans("0123456789abcdef", "ACGT" * 4))
    s.write("big.fa", ">r\n" + random + "\n")
    s.kcount("big.fa", "-k", 31)
    s.kcount("a.fq", "-k", 3)
    return s


def test_full_device():
    s = big()
    s.write("asked", "ACG\n" * 50000)
    calls = (["dump", "a.kc"], ["dump", "big.kc"], ["dump", "big.kc", "-t", 4], ["hist", "a.kc"],
             ["info", "a.kc"], ["check", "a.kc"], ["query", "a.kc", "ACG"],
             ["query", "a.kc", "-f", "asked"],
             ["range", "big.kc", "A", "T"], ["help"], ["--help"], ["dump", "--help"], ["--version"],
             ["a.fq", "-k", 3, "--force", "--json", "--quiet"])
    for call in calls:
        with open("/dev/full", "w") as full:
            s.kcount(*call, stdout=full, code=1, message="standard output: No space left on device")
    s.kcount("dump", "big.kc", "-o", "/dev/full", code=1,
             message="/dev/full: No space left on device")


def closed_pipe(s, ignore, *call):
    """kcount writes to a pipe whose reader leaves after one line: exit code and standard error."""
    started = s.start(*call, stdout=subprocess.PIPE, restore_signals=False, preexec_fn=lambda:
                      signal.signal(signal.SIGPIPE, signal.SIG_IGN if ignore else signal.SIG_DFL))
    started.stdout.readline()
    started.stdout.close()
    said = started.stderr.read()
    return started.wait(), said


def test_closed_pipe():
    s = big()
    for call in (["dump", "big.kc"], ["dump", "big.kc", "-t", 4], ["range", "big.kc", "A", "T"],
                 ["dump", "big.kc", "-o", "/dev/stdout"],
                 ["report", "big.kc", "-o", "/dev/stdout", "--svg", "pictures"]):
        expect(closed_pipe(s, False, *call), (-signal.SIGPIPE, b""), f"closed pipe, {call}")
        said = b""
        if "/dev/stdout" in call:
            said = b"kcount: cannot write to /dev/stdout: Broken pipe\n"
        expect(closed_pipe(s, True, *call), (1, said), f"closed pipe, SIGPIPE ignored, {call}")
    expect("pictures" in s.names(), False, "folder of pictures")


def test_closed_descriptors():
    s = big()
    before = s.names()
    for closed, code in ((1, 1), (2, 0)):
        done = subprocess.run([KCOUNT, "a.fq", "-k", "3", "--force", "--json"], cwd=s.path,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              preexec_fn=lambda: os.close(closed), stdin=subprocess.DEVNULL)
        expect(done.returncode, code, f"descriptor {closed} closed")
        expect(s.kcount("check", "a.kc").startswith("a.kc: ok"), True,
               "the file under closed descriptors")
    expect(s.names(), before, "files under closed descriptors")
    s.kcount("a.fq", "-", "-k", 3, "--force", code=1, message="standard input",
             preexec_fn=lambda: os.close(0))
    # No file may be opened as descriptor 2: libraries write their warnings there.
    started = s.start("-", "-k", 3, "-o", "b.kc", stdin=subprocess.PIPE,
                      preexec_fn=lambda: os.close(2))
    time.sleep(0.3)
    where = os.readlink(f"/proc/{started.pid}/fd/2")
    started.communicate(b"@r\nACGT\n+\nIIII\n")
    expect(where, "/dev/null", "what a closed standard error became")


def test_dump_to_files():
    s = big()
    wanted = s.kcount("dump", "big.kc", "-t", 1)
    expect(len(wanted.splitlines()) > 390000, True, "a big dump")
    some = s.kcount("range", "big.kc", "CAC", "G", "-t", 1)
    lines = [line for line in wanted.splitlines(True) if "CAC" <= line < "H"]
    expect(some == "".join(lines), True, "a big range")
    for threads in (2, 5):
        expect(s.kcount("dump", "big.kc", "-t", threads) == wanted, True,
               f"dump, {threads} threads")
        for first, last, right in ("A", "T", wanted), ("CAC", "G", some):
            expect(s.kcount("range", "big.kc", first, last, "-t", threads) == right, True,
                   f"range {first} {last}, {threads} threads")
    os.umask(0o027)
    s.kcount("dump", "big.kc", "-o", "out")
    expect(s.read("out") == wanted, True, "dump -o")
    expect(stat.S_IMODE(os.stat(s.path / "out").st_mode), 0o640, "mode of a dump")
    os.symlink("out", s.path / "link")
    s.kcount("dump", "a.kc", "-o", "link", "--force")
    expect((os.path.islink(s.path / "link"), len(s.read("out"))), (True, 7 * 6), "dump -o LINK")
    os.mkfifo(s.path / "fifo")
    reader = subprocess.Popen(["cat", s.path / "fifo"], stdout=subprocess.PIPE)
    s.kcount("dump", "a.kc", "-o", "fifo")
    expect(reader.communicate()[0].decode(), s.read("out"), "dump -o FIFO")
    s.kcount("dump", "a.kc", "-o", "nowhere/out", code=1, message="nowhere/out")
    expect([name for name in s.names() if "tmp" in name], [], "temporary files")


PRINTERS = (["dump", "a.kc"], ["range", "a.kc", "A", "T"], ["range", "a.kc", "A", "T", "--count"])


def test_existing_files():
    """dump and range replace a file only with --force; a device or pipe is written in any case."""
    s = Session()
    s.kcount("a.fq", "-k", 3)
    s.write("out", "precious")
    os.symlink("out", s.path / "link")
    for call in PRINTERS:
        printed, before = s.kcount(*call), s.contents()
        for name in "out", "link":
            s.kcount(*call, "-o", name, code=1, message=f"{name} already exists; "
                     "name another file with -o, or replace it with --force")
        s.kcount(*call, "-o", "a.kc", "--force", code=2,
                 message="a.kc is an input and the output as well; name another file with -o\n")
        s.kcount(*call, "-o", "..", code=2, message="'..' is a folder")
        s.kcount(*call, "-o", "nowhere/out", code=1, message="cannot create nowhere/out")
        s.kcount(*call, "-o", "/dev/full", code=1, message="/dev/full: No space left on device")
        s.kcount(*call, "-o", "/dev/null")
        expect(s.kcount(*call, "-o", "/dev/stdout"), printed, f"{call} -o /dev/stdout")
        expect(s.kcount(*call, "-o", "-"), printed, f"{call} -o -")
        expect(s.contents(), before, f"files after {call}")
        s.kcount(*call, "-o", "link", "--force")
        expect(s.read("out"), printed, f"{call} --force")
        s.write("out", "precious")


def test_what_may_be_replaced():
    """Only what the command might have written is offered to --force: not reads, nor counts."""
    s = Session()
    s.kcount("a.fq", "-k", 3)
    s.write("empty", "")
    offer = ", or replace it with --force\n"
    for call, name, offered in ((["a.fq", "-k", 3], "a.kc", True),
                                (["a.fq", "-k", 3], "empty", True),
                                (["-", "-k", 3], "a.fq", False), (["merge", "a.kc"], "a.fq", False),
                                (["dump", "a.kc"], "a.fq", True),
                                (["dump", "b.kc"], "a.kc", False)):
        s.kcount(*call, "-o", name, code=1, message=f"{name} already exists; name another file "
                 f"with -o{offer if offered else chr(10)}")


def test_what_was_written():
    s = Session()
    s.kcount("a.fq", "-k", 3)
    calls = (["dump", "a.kc"], "out", "7 k-mers, 42 bytes"), \
        (["dump", "a.kc", "--min", 2, "--fasta"], "out", "3 k-mers, 21 bytes"), \
        (["range", "a.kc", "AC", "C"], "out", "3 k-mers, 18 bytes"), \
        (["range", "a.kc", "A", "T", "--count"], "out", "5 bytes"), \
        (["export", "a.kc", "--to", "tsv"], "out", "7 k-mers, 42 bytes"), \
        (["export", "a.kc", "--to", "kmc"], "out.kmc_suf and out.kmc_pre", "7 k-mers, "), \
        (["export", "a.kc", "--to", "fastk"], ".out.ktab.1, out.ktab and out.hist", "7 k-mers, ")
    for call, names, what in calls:
        s.kcount(*call, "-o", "out", message=f"wrote {names}, {what}")
        s.kcount(*call, "-o", "out", "--force", "--quiet")
        expect(s.said, "", f"{call} --quiet")
        if call[0] == "dump":
            s.kcount(*call)
            expect(s.said, "", f"{call} to standard output")
        for name in re.split(", | and ", names):
            os.unlink(s.path / name)


def test_modes():
    """A file that is replaced keeps its mode: what was private stays private."""
    s = Session()
    os.umask(0o022)
    s.kcount("a.fq", "-k", 3, "-o", "db.kc")
    s.kcount("dump", "db.kc", "-o", "counts")
    calls = (["a.fq", "-k", 3, "-o", "a.kc", "--force", "--format", "tsv"],
             ["a.fq", "-k", "3,4", "-o", "a.kc", "--force"],
             ["merge", "db.kc", "-o", "a.kc", "--force"],
             ["check", "db.kc", "--repair", "a.kc", "--force"],
             ["dump", "db.kc", "-o", "a.kc", "--force"],
             ["range", "db.kc", "A", "T", "-o", "a.kc", "--force"],
             ["import", "counts", "-o", "a.kc", "--force"],
             *(["export", "db.kc", "--to", to, "-o", "a", "--force"]
               for to in ("tsv", "kff", "kmc", "jellyfish", "fastk", "arrow")))
    inputs = s.names()
    for call in calls:
        s.kcount(*call)
        written = [name for name in s.names() if name not in inputs]
        for mode in (0o600, 0o640, 0o664):
            for name in written:
                os.chmod(s.path / name, mode)
            s.kcount(*call)
            expect([oct(stat.S_IMODE(os.stat(s.path / name).st_mode)) for name in written],
                   [oct(mode)] * len(written), f"modes after {call}")
        for name in written:
            os.unlink(s.path / name)


HOSTILE = b"\x1b[31m\x1b]0;t\a\nkcount: forged\xc2\x9b\xe2\x80\xae\xff\xc3\xa9.fq"
SHOWN = r"\x1b[31m\x1b]0;t\x07\nkcount: forged\u009b\u202e\xff".encode() + "\u00e9.fq".encode()
OBEYED = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\x8e\x8f\xa8-\xae]|\xff"
                    rb"|^kcount: forged", re.MULTILINE)


def test_hostile_names():
    """No name makes a terminal do anything, or forges a line; letters stay as they are."""
    s = Session()
    os.rename(os.fsencode(s.path / "a.fq"), os.fsencode(s.path) + b"/" + HOSTILE)
    s.write("list", "nowhere\u202e\n")
    s.write("a.sam", "@HD\tVN:1.6\n@SQ\tSN:c\tLN:9\nr\t0\tc\t1\t60\t\x1b[31m2M\t*\t0\t0\tAC\tII\n")
    named = HOSTILE + b".kc"

    def run(wanted, code, *call):
        done = subprocess.run([KCOUNT, *call], cwd=s.path, stdin=subprocess.DEVNULL,
                              capture_output=True)
        text = done.stdout + done.stderr
        expect((done.returncode, wanted in text, OBEYED.findall(text)), (code, True, []),
               f"{call}: {text}")

    run(b"wrote a.kc", 0, HOSTILE, "-k3", "-o", "a.kc")
    for call in ((0, "info", "a.kc"), (0, HOSTILE, "-k3", "-o", named), (0, "add", named, HOSTILE),
                 (0, "info", named),
                 (0, "merge", named, "-o", named + b".2"), (0, "remove", named, "-f", HOSTILE),
                 (0, "compact", named), (0, "check", named),
                 (0, "check", named, "--repair", named + b".3"),
                 (1, HOSTILE + b".no", "-k3"), (1, "info", HOSTILE),
                 (1, HOSTILE, "-k3", "-o", named), (2, "--" + os.fsdecode(HOSTILE)),
                 (2, "a.kc", "-k", HOSTILE), (2, "query", "a.kc", b"ACG" + HOSTILE),
                 (2, "range", "a.kc", "A", "C", HOSTILE), (2, "help", HOSTILE)):
        run(SHOWN, *call)
    run(b"nowhere\\u202e", 1, "@list", "-k3", "-o", "b.kc")
    run(b"position 1 (\\x1b[31m2M", 1, "a.sam", "-k3", "-o", "b.kc")
    run(b"'dum\\x1bp'", 2, "dum\x1bp")


def on_terminal(s, *call):
    """What kcount writes to a terminal."""
    return Terminal(s, "stderr", (24, 80), *call, text=READS).finish()


def test_next():
    """The last line, on a terminal only, says how to look at the file; it can be pasted."""
    s = Session()
    for output, shown in (("x.kc", "x.kc"), ("it's a.kc", "'it'\\''s a.kc'"), ("@x.kc", "./@x.kc")):
        said = on_terminal(s, "-", "-k", "3", "-o", output)
        expect(said.splitlines()[-1], f"next: kcount hist --plot {shown}", "the last line")
        rows = subprocess.run(["sh", "-c", f"'{KCOUNT}' hist {shown}"], cwd=s.path,
                              capture_output=True)
        expect(rows.stdout.decode(), s.kcount("hist", "a.fq", "-k", 3), f"hist {shown}")
    for call in (["-", "-k", "3", "--force", "--quiet"], ["add", "x.kc", "-"],
                 ["hist", "-", "-k", "3"]):
        expect("next: " in on_terminal(s, *call), False, f"{call}")
    s.kcount("a.fq", "-k", 3)
    expect("next: " in s.said, False, "not on a terminal")


main([test_full_device, test_closed_pipe, test_closed_descriptors, test_dump_to_files,
      test_existing_files, test_what_may_be_replaced,
      test_what_was_written, test_modes, test_hostile_names, test_next])
