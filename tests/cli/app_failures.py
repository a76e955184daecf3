"""
Work that fails: exit code 1, a message that names the file, nothing half-written left behind, and
what was there before untouched.

    app_failures.py KCOUNT SOURCE
"""
import gzip
import json
import os
import resource
import shutil
import subprocess
import tempfile

from lib.session import READS, SOURCE, Session, expect
from lib.tools import Failure, main


def fails(s, *arguments, message, **how):
    before = s.names()
    expect(s.kcount(*arguments, code=1, message=message, **how), "", "standard output of a failure")
    expect(s.names(), before, f"what {arguments} leaves behind")


def test_bad_inputs():
    s = Session()
    s.write("empty.fq", "")
    s.write("short.fq", "@r\nACGT\n+\nIII\n")
    s.write("cut.fq", "@r\nACGTACGT\n+\nIIIIIIII\n@s\nACG")
    s.write("text.fq", "Dear reader,\nthis is no sequence.\n")
    zipped = gzip.compress(os.urandom(20000).hex().replace("f", "A").encode())
    s.write("zip.fq.gz", zipped)
    good = gzip.compress(("@r\n" + "ACGTTGCA" * 20 + "\n+\n" + "I" * 160 + "\n").encode() * 500)
    s.write("truncated.fq.gz", good[:-100])
    s.write("corrupt.fq.gz", good[:-8] + b"\0\0\0\0" + good[-4:])
    for name in ("empty.fq", "short.fq", "cut.fq", "text.fq", "zip.fq.gz", "truncated.fq.gz",
                 "corrupt.fq.gz"):
        fails(s, name, "-k", 3, message=name)
        fails(s, "a.fq", name, "-k", 3, message=name)
    fails(s, "nowhere.fq", "-k", 3, message="nowhere.fq")
    fails(s, "@nolist.txt", "-k", 3, message="nolist.txt")
    os.mkdir(s.path / "folder")
    fails(s, "folder", "-k", 3, message="folder")


def test_bad_outputs():
    s = Session()
    s.write("a.kc", "precious")
    fails(s, "a.fq", "-k", 3, message="a.kc already exists; name another")
    expect(s.read("a.kc"), "precious", "an existing output")
    s.write("bad.fq", "@r\nACGT\n+\nIII\n")
    fails(s, "bad.fq", "-k", 3, "-o", "a.kc", "--force", message="bad.fq")
    expect(s.read("a.kc"), "precious", "an existing output after a failure under --force")
    s.kcount("a.fq", "-k", 3, "--force")
    s.kcount("check", "a.kc")
    os.mkdir(s.path / "folder")
    fails(s, "a.fq", "-k", 3, "-o", "folder", message="folder is a folder")
    fails(s, "a.fq", "-k", 3, "-o", "nowhere/a.kc", message="nowhere")
    fails(s, "a.fq", "-k", 3, "-o", "/dev/null", "--force", message="/dev/null is not a regular")
    fails(s, "a.fq", "-k", 3, "-o", "b.kc", "--tmp", "nowhere", message="nowhere")
    fails(s, "a.fq", "-k", 3, "-o", "b.kc", "--tmp", "a.fq", message="Not a directory")
    expect(os.path.exists("/dev/null") and not os.path.isfile("/dev/null"), True, "/dev/null")


def test_tmp():
    """--tmp is checked before anything is read: nothing comes through the pipe."""
    s = Session()
    s.kcount("a.fq", "-k", 3, "-o", "db.kc")
    before = (s.path / "db.kc").read_bytes()
    reader, writer = os.pipe()
    for folder, message in (("/proc", "/proc: no file can be created there"),
                            ("nowhere", "nowhere: No such file"),
                            ("a.fq", "a.fq: Not a directory"),
                            ("/dev/null", "/dev/null: Not a directory")):
        fails(s, "-", "-k", 3, "-o", "b.kc", "--tmp", folder, message=message, stdin=reader)
        fails(s, "add", "db.kc", "-", "--tmp", folder, message=message, stdin=reader)
    os.close(reader)
    os.close(writer)
    expect((s.path / "db.kc").read_bytes() == before, True, "the file that was to be added to")


def test_long_names():
    s = Session()
    s.kcount("a.fq", "-k", 3)
    name = "n" * 252 + ".kc"
    for call in (["a.fq", "-k", 3], ["a.fq", "-k", 3, "--force"], ["merge", "a.kc", "--force"],
                 ["dump", "a.kc", "--force"]):
        s.kcount(*call, "-o", name)
    expect(len(s.read(name).splitlines()), 7, "a dump of 255 letters")
    os.rename(s.path / "a.kc", s.path / name)
    s.kcount("add", name, "a.fq")
    s.kcount("compact", name)
    s.kcount("check", name)
    expect(s.names(), ["a.fq", name], "files with a long name")
    fails(s, "a.fq", "-k", 3, "-o", "n" * 256, message="File name too long")
    s.kcount("dump", name, "-o", "ä" * 127)
    expect(s.names(), ["a.fq", name, "ä" * 127], "a name of letters that have two bytes")


def test_links():
    """-o LINK creates or replaces the file that the link leads to, which need not exist yet."""
    s = Session()
    os.mkdir(s.path / "to")
    os.symlink("two", s.path / "to" / "one")
    os.symlink("../three", s.path / "to" / "two")
    os.symlink(s.path / "to" / "one", s.path / "link")
    for call in (["a.fq", "-k", 3, "--force"], ["merge", "a.kc", "--force"],
                 ["dump", "a.kc", "--force"]):
        s.kcount("a.fq", "-k", 3, "--force")
        for state in ("dangling", "replaced"):
            s.kcount(*call, "-o", "link")
            found = (os.path.islink(s.path / "link"), sorted(os.listdir(s.path / "to")), s.names())
            expect(found, (True, ["one", "two"], ["a.fq", "a.kc", "link", "three", "to"]),
                   f"{call} through a link, {state}")
        os.unlink(s.path / "three")
    os.symlink("loop2", s.path / "loop1")
    os.symlink("loop1", s.path / "loop2")
    os.symlink("nowhere/b.kc", s.path / "lost")
    for call in (["a.fq", "-k", 3], ["a.fq", "-k", 3, "--force"], ["merge", "a.kc"],
                 ["dump", "a.kc"]):
        fails(s, *call, "-o", "loop1", message="loop1: Too many levels of symbolic links")
        fails(s, *call, "-o", "lost",
              message="nowhere/b.kc, where the link lost leads: No such file")


def limited(nbytes):
    return {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (nbytes, nbytes))}


def test_failed_export():
    """What was counted stays, the message says so, and there is no JSON, as for any failure."""
    s = Session()
    letters = os.urandom(60000).hex().translate(str.maketrans("0123456789abcdef", "ACGT" * 4))
    s.write("big.fa", ">r\n" + letters + "\n")
    for ks, stays in (("31", "x.kc stays, and 'kcount export' can try again"),
                      ("31,32", "x.k31.kc stays, like the other .kc files, and 'kcount export'")):
        said = s.kcount("big.fa", "-k", ks, "-o", "x.kc", "--format", "tsv", "--json", code=1,
                        message="the limit on the size of files is reached", **limited(3 << 20))
        expect(stays in s.said, True, f"what stays: {s.said}")
        expect(said, "", "standard output of a failure")
    for name in "x.kc", "x.k31.kc", "x.k32.kc":
        s.kcount("check", name)
    expect([name for name in s.names() if name.endswith(".tsv")], [], "exports")


def test_file_limit():
    """ulimit -f: a message and exit code 1, not the signal; existing files stay as they were."""
    s = Session()
    letters = os.urandom(100000).hex().translate(str.maketrans("0123456789abcdef", "ACGT" * 4))
    s.write("big.fa", ">r\n" + letters + "\n")
    s.kcount("big.fa", "-k", 31, "-o", "db.kc")
    before = (s.path / "db.kc").read_bytes()
    limit = "the limit on the size of files is reached"
    for call in (["big.fa", "-k", 31], ["merge", "db.kc", "-o", "big.kc"],
                 ["dump", "db.kc", "-o", "big.kc"], ["range", "db.kc", "A", "T", "-o", "big.kc"],
                 ["export", "db.kc", "--to", "kff", "-o", "big.kc"]):
        fails(s, *call, message=limit, **limited(100000))
        fails(s, *call, message="big.kc", **limited(100000))
    fails(s, "add", "db.kc", "big.fa", message="db.kc", **limited(len(before) + 100000))
    fails(s, "add", "db.kc", "big.fa", message=limit, **limited(len(before) + 100000))
    expect((s.path / "db.kc").read_bytes() == before, True, "the file that was to be added to")
    s.write("many.fa", ">r\n" + letters * 20 + "\n")
    fails(s, "many.fa", "-k", 31, "-t", 1, "-m", "256M", "--engine-memory", "1M",
          message="temporary file in .: " + limit, **limited(100000))
    with open(s.path / "dump", "w") as out:
        s.kcount("dump", "db.kc", stdout=out, code=1, message="standard output: " + limit,
                 **limited(100000))


def test_no_device():
    """A device that is named must exist; auto also works without one. If there is a device that
    cannot be used, auto says why."""
    s = Session()
    s.kcount("info", "--devices", code=None)
    if s.code == 0:
        fails(s, "a.fq", "-k", 3, "--device", "cuda:999", message="no device cuda:999")
        return
    reason = s.said.removesuffix("\n")
    for choice in (["--device", "cuda"], ["--device", "cuda:1"], ["--table", "slab"],
                   ["--table", "linear"], ["--table", "hopscotch"],
                   ["--device", "cuda:0", "--table", "warpdrive", "--gpu-memory", "256M"]):
        fails(s, "a.fq", "-k", 3, *choice, message=reason)
    s.kcount("a.fq", "-k", 3, "--device", "auto", "--gpu-memory", "1G")
    report = [line for line in s.said.splitlines() if line.endswith(": counting on the CPU")]
    absent = any(what in reason for what in ("no CUDA engine", "no NVIDIA driver",
                                             "no CUDA device"))
    expect(report, [] if absent else [f"{reason}: counting on the CPU"], "auto")
    expect(" on the CPU, " in s.said.splitlines()[-1], "no CUDA engine" not in reason,
           "the last line")
    s.kcount("a.fq", "-k", 3, "--force", "--quiet")
    expect(s.said, "", "auto with --quiet")
    for call in (["compact", "a.kc", "--min", 2], ["merge", "a.kc", "-o", "b.kc"],
                 ["union", "a.kc", "-o", "b.kc"], ["intersect", "a.kc", "a.kc", "-o", "b.kc"],
                 ["subtract", "a.kc", "a.kc", "-o", "b.kc"], ["compare", "a.kc", "a.kc"],
                 ["compare", "a.kc", "a.kc", "-o", "b.tsv"]):
        fails(s, *call, "--device", "cuda", message=reason)
    s.kcount("merge", "a.kc", "-o", "c.kc", "--device", "auto")
    expect("merging on the CPU" in s.said, False, "auto, merging")
    s.kcount("compare", "a.kc", "c.kc")
    expect(s.said, "", "auto, comparing")
    # htslib moves the offset of the shared open file: a second reading would not begin at 0
    for _ in range(5):
        with open(SOURCE / "data" / "human.bam", "rb") as bam:
            report = json.loads(s.kcount("-", "-k", 3, "-o", "b.kc", "--force", "--json",
                                         stdin=bam))
        expect(report["reads"], 569, "auto, a BAM file on standard input")


def test_large_k_on_the_cpu():
    """The CUDA engine ends at k = 128; what was asked for is done all the same."""
    s = Session()
    s.write("long.fa", ">r\n" + "ACGTTGCATT" * 16 + "\n")
    for device in ("cuda", "cuda:0", "auto"):
        notice = "supports k up to 128: " if device != "auto" else ""
        report = json.loads(s.kcount("long.fa", "-k", 129, "--device", device, "--force", "--json",
                                     message=notice and notice + "counting on the CPU"))
        expect("kcount: " in s.said, bool(notice), f"a notice for --device {device}")
        expect((report["device"], report["kmers"]), ("cpu", 32), f"k = 129 with --device {device}")
        report = json.loads(s.kcount("merge", "long.kc", "-o", "m.kc", "--device", device,
                                     "--force", "--json",
                                     message=notice and notice + "merging on the CPU"))
        expect((report["device"], report["sum"]), ("cpu", 32),
               f"merge of k = 129 with --device {device}")
        report = json.loads(s.kcount("compare", "long.kc", "m.kc", "--device", device, "--json",
                                     message=notice and notice + "comparing on the CPU"))
        expect((report["device"], report["distinct_in_all"]), ("cpu", 10),
               f"compare of k = 129 with --device {device}")
    s.kcount("add", "long.kc", "long.fa", "--table", "linear", code=2,
             message="--table linear supports k up to 128")
    expect(json.loads(s.kcount("info", "long.kc", "--json"))["runs"], 1, "runs after that")


def test_bad_databases():
    s = Session()
    s.kcount("a.fq", "-k", 3)
    good = (s.path / "a.kc").read_bytes()
    s.write("cut.kc", good[:len(good) // 2])
    s.write("none.kc", "")
    s.write("other.kc", READS * 100)
    for name in ("cut.kc", "none.kc", "other.kc", "nowhere.kc"):
        for call in (["dump", name], ["hist", name], ["query", name, "ACG"],
                     ["range", name, "A", "C"], ["info", name], ["check", name]):
            fails(s, *call, message=name)
    report = json.loads(s.kcount("check", "cut.kc", "--json", code=1))
    expect((report["ok"], "cut.kc" in report["error"]), (False, True),
           "check --json of a damaged file")
    missed = []
    for i in range(len(good)):
        s.write("bit.kc", good[:i] + bytes([good[i] ^ 4]) + good[i + 1:])
        s.kcount("check", "bit.kc", code=None)
        if s.code != (3 if 64 <= i < 128 else 1):  # a damaged reference loses nothing
            missed.append(i)
    expect(missed, [], "bytes that can be changed without 'check' noticing")


def test_bad_queries():
    s = Session()
    s.kcount("a.fq", "-k", 3)
    fails(s, "query", "a.kc", "-f", "nowhere", message="nowhere")
    s.write("cut.gz", gzip.compress(os.urandom(5000).hex().encode())[:-20])
    s.write("binary", b"\x00\x01\x02")
    s.write("bad.fq", "@r\nACGT\n+\nIII\n@s\n")
    s.write("bad.fa", ">r\nACGT\n(c) 1999\n")
    for name in ("cut.gz", "binary", "bad.fq", "bad.fa"):
        s.kcount("query", "a.kc", "-f", name, code=1, message=name)


def full_disk(test):
    """Run test(session, folder) with a folder on a full file system; only root can make one."""
    mount = shutil.which("mount")
    if os.geteuid() != 0 or mount is None:
        print("skipped: a full disk (needs root)")
        return
    folder = tempfile.mkdtemp()
    made = subprocess.run([mount, "-t", "tmpfs", "-o", "size=64k", "tmpfs", folder],
                          stderr=subprocess.DEVNULL)
    if made.returncode != 0:
        print("skipped: a full disk (mount is not allowed)")
        os.rmdir(folder)
        return
    try:
        test(Session(), folder)
        if os.listdir(folder):
            raise Failure(f"left on a full disk: {os.listdir(folder)}")
    finally:
        subprocess.run(["umount", folder], check=True)
        os.rmdir(folder)


def test_open_files():
    """With too many open files, a file that does not exist is not one that cannot be replaced."""
    s = Session()
    few = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (4, 4))}
    for force in ([], ["--force"]):
        fails(s, "a.fq", "-k", 3, "-o", "b.kc", *force, message="cannot create b.kc: Too many open",
              **few)


def test_full_disk():
    def work(s, folder):
        random = os.urandom(100000).hex().translate(str.maketrans("0123456789abcdef", "ACGT" * 4))
        s.write("big.fa", ">r\n" + random + "\n")
        s.kcount("big.fa", "-k", 31, "--force")
        s.kcount("big.fa", "-k", 31, "-o", folder + "/big.kc", code=1,
                 message="No space left on device")
        expect(os.listdir(folder), [], "a full disk after count")
        for call in (["dump", "big.kc"], ["range", "big.kc", "A", "T"],
                     ["export", "big.kc", "--to", "tsv"], ["filter", "big.kc", "big.fa"]):
            s.kcount(*call, "-o", folder + "/dump", code=1, message="No space left on device")
            expect(os.listdir(folder), [], f"a full disk after {call}")
        s.kcount("report", "big.fa", "-o", "big.html", "--tmp", folder, code=1,
                 message=f"cannot write to a temporary file in {folder}: No space left on device; "
                         "choose a folder with more room with --tmp")
        expect(("No space left on device" in s.said, "big.html" in s.names()), (True, False),
               "a full disk for the reads of a report")
    full_disk(work)


main([test_bad_inputs, test_bad_outputs, test_tmp, test_long_names, test_links, test_failed_export,
      test_file_limit, test_no_device, test_large_k_on_the_cpu, test_bad_databases,
      test_bad_queries, test_open_files, test_full_disk])
