"""
report READS counts the reads into a file without a name, which has the same bytes as the file that
count writes; what is refused, and that nothing stays.

    app_report_reads.py KCOUNT SOURCE [DEVICE]
"""
import fcntl
import gzip
import json
import os
import random
import struct
import subprocess
import sys
import termios
import time

from lib.assemblies import fasta, scene
from lib.session import SOURCE, Session, expect
from lib.tools import Failure, main

DEVICE = ("--device", sys.argv[3] if len(sys.argv) > 3 else "cpu")
F_SETPIPE_SZ = 1031
PIPE_NBYTES = 4096  # less than any report


def prepare():
    """A session with reads in several files, in FASTQ, FASTA and BAM, and a list of them."""
    s = Session()
    reads, assemblies = scene()
    half = len(reads) // 2
    s.write("reads.fa", fasta(reads))
    s.write("a.fa.gz", gzip.compress(fasta(reads[:half]).encode()))
    s.write("b.fq", "".join(f"@{name}\n{bases}\n+\n{'I5' * (len(bases) // 2)}\n"
                            for name, bases in reads[half:]))
    s.write("c.bam", (SOURCE / "data/human.bam").read_bytes())
    s.write("list.txt", "a.fa.gz\n# a comment\nb.fq\n")
    s.write("hap1.fasta", fasta(assemblies[0]))
    return s


def pending(pipe):
    """How many bytes can be read."""
    return struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)))[0]


def nameless_files(process):
    """What is in the files without a name that the process has open."""
    folder, found = f"/proc/{process.pid}/fd", []
    for fd in os.listdir(folder):
        path = f"{folder}/{fd}"
        if os.readlink(path).endswith(" (deleted)"):
            with open(path, "rb") as file:
                found.append(file.read())
    return found


def report_and_look(s, *arguments, text=None):
    """Run a report, and look at its temporary files while it waits with the JSON, which is large,
    at a full pipe."""
    s.write("many.fa", fasta([("long", "ACGTTGCATT" * 20),
                              *((f"c{i}", "ACGTACGTAC") for i in range(2000))]))
    before = s.names()
    started = s.start("report", *arguments, "--assembly", "many.fa", "--json", *DEVICE,
                      stdout=subprocess.PIPE,
                      stdin=subprocess.PIPE if text is not None else subprocess.DEVNULL)
    fcntl.fcntl(started.stdout, F_SETPIPE_SZ, PIPE_NBYTES)
    if text is not None:
        started.stdin.write(text.encode())
        started.stdin.close()
    while pending(started.stdout) < PIPE_NBYTES and started.poll() is None:
        time.sleep(0.002)
    if started.poll() is not None:
        raise Failure(f"report {arguments}: exit {started.returncode}: {started.stderr.read()}")
    found = nameless_files(started)
    report = json.loads(started.stdout.read())
    s.said = started.stderr.read().decode()
    expect((started.wait(), s.names()), (0, before), f"report {arguments}: how it ends")
    return found, report


def check_file(s, inputs, *options, k=None, text=None):
    s.kcount("count", *inputs, "-k", k or 21, *options, "-o", "wanted.kc", *DEVICE, text=text)
    wanted = (s.path / "wanted.kc").read_bytes()
    (s.path / "wanted.kc").unlink()
    found, report = report_and_look(s, *inputs, *(["-k", k] if k else []), *options, text=text)
    what = f"{inputs}, k = {k}, {options}"
    expect(wanted in found, True, f"{what}: the same file as count's")
    expect(report["k"], k or 21, f"{what}: k")


def test_same_file():
    s = prepare()
    for k in 15, 33:
        check_file(s, ["a.fa.gz", "b.fq"], k=k)
    check_file(s, ["c.bam"])
    check_file(s, ["@list.txt", "c.bam"], "-q", 21)
    check_file(s, ["reads.fa"], "--skip", 3, "-t", 1)
    check_file(s, ["c.bam"], "--exclude-flags", "REVERSE", "--require-flags", "PAIRED")


def test_same_file_on_device():
    s = prepare()
    check_file(s, ["b.fq"])
    check_file(s, ["b.fq", "c.bam"], k=65)
    check_file(s, ["-"], text=s.read("b.fq"))


def test_spilled():
    s = Session()
    letters = "".join(random.Random(1).choices("ACGT", k=600000))
    s.write("large.fa", ">r\n" + letters + "\n")
    check_file(s, ["large.fa"], "--engine-memory", "1M", "-m", "256M", "-t", 2)
    expect(" spilled to disk" in s.said, True, "spilled bytes in the summary")
    (s.path / "tmp").mkdir()
    expect(os.listdir(s.path / "tmp"), [], "files left in --tmp")
    check_file(s, ["large.fa"], "--tmp", "tmp")
    expect(os.listdir(s.path / "tmp"), [], "files left in --tmp")


def without_names(report):
    """The report without what depends on the names of the reads' files."""
    report.pop("sample")
    report["provenance"].pop("command")
    for key in "file", "sha256":
        report["provenance"]["reads"].pop(key)
    return report


def test_same_report():
    """With an assembly: the reads are counted, or are a .kc file."""
    s = prepare()
    s.kcount("reads.fa", "-k", 21, "-o", "reads.kc", "--quiet")
    call = ["--assembly", "hap1.fasta", "--json", *DEVICE]
    got = json.loads(s.kcount("report", "a.fa.gz", "b.fq", *call))
    wanted = json.loads(s.kcount("report", "reads.kc", *call))
    shown = got["provenance"]["reads"]
    expect((got["sample"], shown["file"], shown["sha256"]),
           ("a", "a.fa.gz and 1 more", None), "names")
    expect(without_names(got), without_names(wanted), "report of reads and of their .kc file")
    s.kcount("hap1.fasta", "-k", 15, "-o", "hap1.kc", "--quiet")
    got = json.loads(s.kcount("report", "-", "-k", 15, "--assembly", "hap1.kc", "--json", *DEVICE,
                              text=s.read("reads.fa")))
    expect((got["sample"], got["provenance"]["reads"]["file"]), ("stdin", "standard input"),
           "names of standard input")


def test_warnings():
    s = prepare()
    s.write("empty.fa", "")
    s.write("protein.fa", ">p\n" + "EFILPQ" * 30 + "\n")
    s.kcount("report", "reads.fa", "-q", 20, "-o", "x.html", message="-q has no effect")
    s.kcount("report", "reads.fa", "protein.fa", "-o", "y.html", message="is this protein?")
    s.kcount("report", "reads.fa", "reads.fa", "-o", "twice.html", message="reads.fa")
    s.kcount("report", "reads.fa", "empty.fa", "--skip-empty", "-o", "z.html", message="empty.fa")
    s.kcount("report", "reads.fa", "empty.fa", "-o", "no.html", code=1, message="--skip-empty")
    expect("no.html" in s.names(), False, "a page of inputs that are refused")


def test_low_quality():
    """It is said if bases of low quality were left out, in this run or before."""
    s = prepare()
    s.kcount("a.fa.gz", "b.fq", "-k", 21, "-q", 25, "-o", "q.kc", "--quiet")
    for reads in ["a.fa.gz", "b.fq", "-q", 25], ["q.kc"]:
        got = json.loads(s.kcount("report", *reads, "--assembly", "hap1.fasta", "--json"))
        said = [caveat["text"] for caveat in got["caveats"]
                if caveat["name"] == "low_quality_left_out"]
        expect(len(said), 1, f"caveats about low quality of {reads}")
        expect(said[0].startswith("25.0 % of the bases were left out"), True, said[0])
        expect("its QV is too low" in said[0], True, said[0])
    got = json.loads(s.kcount("report", "a.fa.gz", "b.fq", "-q", 20, "--json"))
    expect("low_quality_left_out" in [caveat["name"] for caveat in got["caveats"]], False,
           "low quality without bases of low quality")


def test_refusals():
    s = prepare()
    s.kcount("reads.fa", "-k", 21, "-o", "reads.kc", "--quiet")
    s.kcount("hap1.fasta", "-k", 15, "-o", "hap1.kc", "--quiet")
    s.kcount("hap1.fasta", "-k", 21, "--stranded", "-o", "stranded.kc", "--quiet")
    s.write("outputs.txt", "reads.fa\nx.html\n")
    s.write("x.html", fasta([("r", "ACGT" * 20)]))
    s.write("broken.kc", "no counts")
    before = s.contents()
    for arguments, code, words in (
            (["reads.kc", "-k", 31], 2, "reads.kc was counted with k = 21: leave out -k 31"),
            (["reads.fa", "-k", "21,31"], 2, "a report is about one k"),
            (["reads.kc", "reads.fa"], 2, "reads.kc is a .kc file: report takes one .kc file"),
            (["reads.fa", "reads.kc"], 2, "and 'kcount add' adds reads to one"),
            (["reads.kc", "-q", 20], 2, "-q/--min-quality is only for reads"),
            (["reads.kc", "--skip-empty"], 2, "--skip-empty is only for reads"),
            (["broken.kc"], 1, "broken.kc is not a .kc file: it does not begin like one\n"),
            (["none.fa"], 1, "none.fa"),
            (["@none.txt"], 1, "none.txt"),
            (["reads.fa", "--assembly", "hap1.kc"], 2, "hap1.kc has k = 15"),
            (["reads.fa", "--assembly", "stranded.kc"], 2, "stranded.kc was counted with"),
            (["@outputs.txt", "-o", "x.html", "--force"], 2, "x.html"),
            (["x.html", "-o", "x.html", "--force"], 2, "x.html"),
            (["reads.fa", "--tmp", "none"], 1, "there is no folder none"),
            (["reads.fa", "--require-flags", "odd"], 2, "--require-flags")):
        output = [] if "-o" in arguments else ["-o", "y.html"]
        s.kcount("report", *arguments, *output, *DEVICE, code=code, message=words)
        expect(s.contents(), before, f"files after {arguments}")


def test_failure_ends_checksums():
    """The checksum of the assembly would take about ten seconds more."""
    s = Session()
    s.write("bad.fq", "@r\nACGT\n+\nIII\n@s\n")
    s.write("huge.fa", "")
    os.truncate(s.path / "huge.fa", 30 << 30)
    begin = time.monotonic()
    s.kcount("report", "bad.fq", "--assembly", "huge.fa", "-o", "x.html", code=1, message="bad.fq")
    expect(time.monotonic() - begin < 5, True, "how long a report on bad reads takes")
    expect(s.names(), ["a.fq", "bad.fq", "huge.fa"], "files left")


def test_no_device():
    """auto then takes the CPU, and says nothing about it."""
    s = prepare()
    nothing = {**os.environ, "KC_EMULATOR_DEVICES": "0", "CUDA_VISIBLE_DEVICES": ""}
    s.kcount("report", "b.fq", "-o", "x.html", "--device", "auto", env=nothing)
    expect("counting on the CPU" in s.said, False, "auto without a device")
    s.kcount("report", "b.fq", "-o", "y.html", "--device", "cuda", env=nothing, code=1,
             message="CUDA")


if DEVICE[1] != "cpu":
    main([test_same_file_on_device, test_no_device])
else:
    main([test_same_file, test_same_file_on_device, test_spilled, test_same_report, test_warnings,
          test_low_quality, test_refusals, test_failure_ends_checksums, test_no_device])
