"""
Several k in one run of count: each file is the same, to the byte, as that of a run with its k
alone, and either all files appear or none does.

    app_several.py KCOUNT SOURCE
"""
import json
import os
import random
import re
import resource
import signal
import subprocess

from lib.session import KCOUNT, READS, SOURCE, Session, expect, wait_for_output
from lib.tools import SMALL, bgzf, fasta, fastq, main

DATA = SOURCE / "data"


def check(s, inputs, ks, options=(), **how):
    """Count with all ks at once and with each alone, and compare the files. Returns the former's
    JSON."""
    report = s.kcount("count", *inputs, "-k", ",".join(map(str, ks)), *options, "-o", "all.kc",
                      "--quiet", "--json", **how)
    expect(s.said == "" or "warning" in s.said, True, f"standard error: {s.said!r}")
    expect([name for name in s.names() if name.startswith("all")],
           sorted(f"all.k{k}.kc" for k in ks), "files of all k")
    for k in ks:
        s.kcount("count", *inputs, "-k", k, *options, "-o", "one.kc", "--quiet", **how)
        same = (s.path / f"all.k{k}.kc").read_bytes() == (s.path / "one.kc").read_bytes()
        expect(same, True, f"same file for k = {k} of {ks}, {inputs}, {options}")
        os.unlink(s.path / "one.kc")
        os.unlink(s.path / f"all.k{k}.kc")
    return json.loads(report)


def test_same_files():
    """Every format; widths, strands, qualities, threads, filters; several inputs."""
    s = Session()
    names = ["phage.fq.gz", "amplicon.fq.gz", "ont.fq.gz", "human.bam", "hairpin.fa.gz",
             "worm.fa.gz"]
    lists = [(21, 31, 51), (31, 21), (255, 1, 64, 33), (32, 101), (127, 128, 15)]
    for number, name in enumerate(names[4:] if SMALL else names):
        ks = lists[number % len(lists)]
        check(s, [DATA / name], ks, ["-t", 1 + number % 3])
        check(s, [DATA / name], (21, 31, 51), ["-q", 20, "--stranded", "-t", 2])
    check(s, [DATA / name for name in names[4:]], (17, 41), ["--min", 2, "--max", 9])
    check(s, ["a.fq"], range(16, 0, -1), ["-q", 3])


def contig(n):
    """Bases with a few letters that break k-mers, some of them close together."""
    generator = random.Random(13)
    bases = bytearray(generator.choices(b"ACGT", k=n))
    for _ in range(40):
        at = generator.randrange(n - 2000)
        bases[at:at + 1] = b"N" * generator.choice((1, 1, 1, 1000))
        bases[at + generator.choice((20, 30, 40, 50))] = ord("n")
    return bytes(bases)


def test_contig():
    """A sequence far longer than a batch and a chunk, as one line and as many."""
    s = Session()
    bases = contig(200000 if SMALL else 5000000)
    s.write("line.fa", b">contig\n" + bases + b"\n")
    s.write("lines.fa",
            b">contig\n" + b"\n".join(bases[i:i + 60] for i in range(0, len(bases), 60)))
    s.write("long.fq", b"@contig\n" + bases + b"\n+\n" + bytes(
        random.Random(3).choices(b"III5", k=len(bases))) + b"\n")
    check(s, ["line.fa"], (21, 31, 255), ["-t", 2])
    check(s, ["line.fa"], (21, 64), ["-t", 1])
    check(s, ["lines.fa"], (51, 12), ["-t", 3])
    check(s, ["long.fq"], (31, 11, 21), ["-q", 25, "-t", 2])


def has_device():
    return subprocess.run([KCOUNT, "info", "--devices"], capture_output=True).returncode == 0


def mixed_reads(n):
    """Bases and qualities: many are shorter than the larger k, or than all, and many have Ns."""
    generator = random.Random(5)
    reads = []
    for i in range(n):
        length = generator.randrange(1, 5000 if i % 40 == 0 else 60 if i % 3 == 0 else 300)
        letters = b"ACGTACGTACGTACGTACGTacgtuN" if i % 2 else b"ACGT"
        reads.append((bytes(generator.choices(letters, k=length)),
                      bytes(generator.choices(range(40, 74), k=length))))
    return reads


def check_device(s, inputs, ks, options=(), reader="device", own=True, **how):
    """The same on the device, where all input is read once; own: by the device."""
    reports = check(s, inputs, ks, ["--device", "cuda", "--reader", reader, "--json", *options],
                    **how)
    for report in reports:
        expect(report["device"], reports[0]["device"], "device")
        expect(report["device"].startswith("cuda:"), True, f"counted on {report['device']}")
        expect(report["device_text_bytes"], report["text_bytes"] if own else 0,
               f"text that the device read of {inputs}")
        expect(report["device_passes"] > 0, True, "passes")
    if "text" not in how:
        sizes = sum(os.path.getsize(s.path / name) for name in inputs)
        expect([report["input_bytes"] for report in reports], [sizes] * len(ks), "input bytes")
    return reports


SMALL_PASSES = ["--gpu-batch", 4096]  # and the smallest rounds of text: half a megabyte


def test_device():
    """All k come from the same reads, which the host or the device has read."""
    if not has_device():
        return
    s = Session()
    reads = mixed_reads(200 if SMALL else 4000)
    s.write("x.fq.gz", bgzf(fastq(reads)))
    s.write("x.fq", fastq(reads))
    s.write("x.fa", fasta(reads, 70))
    s.write("odd.fq", b"\n" + fastq(reads))
    lists = [(31, 5, 101), (64, 33, 97), (21, 31, 51), (128, 12)]
    for number, ks in enumerate(lists[:2] if SMALL else lists):
        small = SMALL_PASSES if number % 2 == 0 else []
        check_device(s, ["x.fq.gz"], ks, small)
        check_device(s, ["x.fq.gz", "x.fa"], ks, ["-q", 20, "--stranded", *small])
        check_device(s, ["x.fq"], ks, ["-t", 1, *small], reader="host", own=False)
    check_device(s, [DATA / "human.bam"], (21, 65), ["-q", 20])
    for report in check_device(s, ["x.fq", "x.fa"], (41, 17, 65), SMALL_PASSES):
        expect(report["device_passes"] > 1, True, f"passes of k = {report['k']}")
    check_device(s, ["x.fq.gz"], (15, 7, 31), ["--min", 2, "--max", 3, "--histogram"])
    check_device(s, ["odd.fq"], (31, 5, 101), SMALL_PASSES, own=False)
    check_device(s, ["-"], (31, 5, 101), SMALL_PASSES, own=False, text=READS * 50)


def test_device_contig():
    """A sequence across rounds of text, and across batches, for all k of different widths."""
    if not has_device():
        return
    s = Session()
    bases = contig(550000 if SMALL else 5000000)
    s.write("contig.fa.gz", bgzf(fasta([(bases, b"")], 60), 60000))
    check_device(s, ["contig.fa.gz"], (31, 101, 5), SMALL_PASSES)
    s.write("line.fa", b">contig\n" + bases[:60000 if SMALL else 1000000])
    check_device(s, ["line.fa"], (40, 65, 21), SMALL_PASSES, reader="host", own=False)


def test_little_memory():
    """Bins of all k are spilled, and the bound on the process holds."""
    s = Session()
    s.write("large.fa", b">r\n" + contig(300000 if SMALL else 1200000) * 2)
    ks = (21, 31, 51)
    for k in check(s, ["large.fa"], ks, ["--engine-memory", "2M", "-t", 2, "--device", "cpu"]):
        expect(k["spilled_bytes"] > 0, True, f"spilling of k = {k['k']}")
    if SMALL:
        return
    for k in check(s, ["large.fa"], ks, ["-m", "256M", "--device", "cpu"]):
        expect(k["peak_memory_bytes"] < 256 << 20, True, "peak memory")


def test_stdin():
    s = Session()
    text = READS * 50
    check(s, ["-"], (3, 5, 2), text=text)
    s.kcount("-", "-k", "3,4", "--quiet", text=text)
    expect(s.names(), ["a.fq", "stdin.k3.kc", "stdin.k4.kc"], "files of standard input")


def test_names():
    s = Session()
    for options, names in (([], ["a.k3.kc", "a.k4.kc"]), (["-o", "x.kc"], ["x.k3.kc", "x.k4.kc"]),
                           (["-o", "x"], ["x.k3.kc", "x.k4.kc"]),
                           (["-o", "x.KC"], ["x.k3.kc", "x.k4.kc"]),
                           (["-o", "x.kc.old"], ["x.kc.old.k3.kc", "x.kc.old.k4.kc"])):
        s.kcount("a.fq", "-k", "3,4", *options, "--quiet")
        expect(s.names(), sorted(["a.fq", *names]), f"names for {options}")
        for name in names:
            os.unlink(s.path / name)
    s.kcount("a.fq", "-k", "3", "-o", "x.kc")
    expect(s.names(), ["a.fq", "x.kc"], "a single k")
    os.unlink(s.path / "x.kc")
    s.kcount("a.fq", "-k", "3", "-o", "X.KC", "--format", "kff", "--quiet")
    expect(s.names(), ["X.KC", "X.kff", "a.fq"], "an ending in capital letters, and an export")


def test_repeated_option():
    """Each -k adds to the others, and a warning says which files to expect, even with --quiet."""
    for given, ks in ((["-k", 3, "-k", 4], [3, 4]), (["-k4", "--kmer=3,4", "-k", "5,4"], [4, 3, 5]),
                      (["-k", 3, "--kmer", 3], [3])):
        s = Session()
        names = {k: f"x.k{k}.kc" if len(ks) > 1 else "x.kc" for k in ks}
        s.kcount("a.fq", *given, "-o", "x.kc", "--quiet")
        ntimes = sum(str(word).startswith("-") for word in given)
        times = "twice" if ntimes == 2 else f"{ntimes} times"
        told = [f"kcount: warning: -k is given {times}: k = {k} is counted into {name}"
                for k, name in names.items()]
        expect(s.said.splitlines(), told, f"warnings about {given}")
        expect(s.names(), sorted(["a.fq", *names.values()]), f"files for {given}")
        for k, name in names.items():
            s.kcount("a.fq", "-k", k, "-o", "one.kc", "--force", "--quiet")
            expect(s.said, "", "messages about a single -k")
            expect(s.kcount("dump", name), s.kcount("dump", "one.kc"), f"k-mers of {name}")
    expect(s.kcount("hist", "a.fq", "-k", 3, "-k", 3, "--quiet"), s.kcount("hist", "x.kc"), "hist")


def table_of(s):
    """The rows of the table in the summary; only what a device did and the costs come after it."""
    lines = s.said.splitlines()
    after = [line for line in lines[lines.index("") + 1:-1]
             if not line.startswith(("k = ", "cuda:"))]
    expect(" of memory" in lines[-1], True, f"last line {lines[-1]!r}")
    return after


def test_wide_tables():
    """Columns are as wide as their numbers; the usual ones fit a terminal."""
    s = Session()
    for options in ((), ("--min", 2, "-q", 20)):
        s.kcount(DATA / "phage.fq.gz", "-k", "9,21,31", "--force", *options)
        table = table_of(s)
        expect([len(line) for line in table if len(line) > 80], [], f"wide lines in {table}")
        expect(len({len(line.rsplit("  ", 1)[0]) for line in table}), 1, f"aligned rows in {table}")
        expect(len(table), 4, f"rows in {table}")
        for line, k in zip(table[1:], (9, 21, 31)):
            distinct = re.search(r"\ndistinct k-mers +(.*)\n",
                                 s.kcount("info", f"phage.k{k}.kc"))[1]
            expect(f" {distinct} " in line, True, f"{distinct} of info in {line!r}")
            expect(line.endswith(f"  phage.k{k}.kc"), True, line)
    expect("         kept      size  file" in table[0], True, table[0])


def test_reports():
    s = Session()
    objects = json.loads(s.kcount("a.fq", "-k", "4,3", "--json", "--histogram"))
    expect(s.said.startswith("  reads                                   2\n"
                             "  bases                                  22   1 skipped (not A, C, "
                             "G, T)\n\n"),
           True, s.said)
    expect([re.sub(r"[\d.]+ (bytes|KiB)", "SIZE", row).split() for row in table_of(s)],
           [["k", "k-mers", "distinct", "seen", "once", "size", "file"],
            ["4", "12", "8", "6", "75.0%", "SIZE", "a.k4.kc"],
            ["3", "15", "7", "4", "57.1%", "SIZE", "a.k3.kc"]], "table")
    expect([o["k"] for o in objects], [4, 3], "k of the objects")
    expect([o["output"] for o in objects], ["a.k4.kc", "a.k3.kc"], "outputs of the objects")
    for o in objects:
        s.kcount("a.fq", "-k", o["k"], "-o", "one.kc", "--force")
        one = json.loads(s.kcount("a.fq", "-k", o["k"], "-o", "one.kc", "--force", "--json",
                                  "--histogram"))
        for field in ("kmers", "distinct", "unique", "reads", "bases", "histogram", "output_bytes"):
            expect(o[field], one[field], f"{field} of k = {o['k']}")
        expect(set(o), set(one), "fields")
    s.kcount("a.fq", "-k", "9,8", message="warning: no k-mer was kept: no read has 9 usable")
    expect("has 8 usable" in s.said, False, "a warning for k = 8")


WRONG = [
    (["a.fq", "-k", "21,21"], "-k/--kmer: 21 is given twice"),
    (["a.fq", "-k", "21,31,021"], "-k/--kmer: 021 is given twice"),
    (["a.fq", "-k", "21,"], "-k/--kmer: '' is not a whole number from 1 to 255"),
    (["a.fq", "-k", ",21"], "-k/--kmer: '' is not a whole number from 1 to 255"),
    (["a.fq", "-k", "21,,31"], "-k/--kmer: '' is not a whole number from 1 to 255"),
    (["a.fq", "-k", "21, 31"], "-k/--kmer: ' 31' is not a whole number from 1 to 255"),
    (["a.fq", "-k", "21,256"], "-k/--kmer: '256' is not a whole number from 1 to 255"),
    (["a.fq", "-k", "0,21"], "-k/--kmer: '0' is not a whole number from 1 to 255"),
    (["a.fq", "-k", ",".join(map(str, range(1, 18)))], "-k/--kmer: more than 16 numbers"),
    (["a.fq", "-k", "3,4", "-o", "folder/"], "-o/--output: 'folder/' is a folder, not a file"),
    (["a.fq", "-k", "3,4", "-o", "-"], "a .kc file cannot be written to standard output"),
    (["hist", "a.fq", "-k", "3,4"], "hist prints the histogram of one k"),
    (["a.fq", "-k", "4", "-k", "3,3"], "-k/--kmer: 3 is given twice"),
    (["a.fq", *["-k", "1,2,3,4,5,6,7,8", "-k", "8,9,10,11,12,13,14,15", "-k", "16,17"]],
     "-k/--kmer: more than 16 numbers"),
    (["hist", "a.fq", "-k", "3", "-k", "4"], "hist prints the histogram of one k"),
    (["hist", "a.fq", "-k", "3,3"], "-k/--kmer: 3 is given twice"),
    (["add", "one.kc", "a.fq", "-k", "3,4"], "unknown option '-k'"),
]


def test_wrong_usage():
    s = Session()
    s.kcount("a.fq", "-k", 3, "-o", "one.kc")
    before = s.contents()
    for arguments, message in WRONG:
        expect(s.kcount(*arguments, code=2, message=message), "", f"{arguments}")
    expect(s.contents(), before, "files")


def test_existing_outputs():
    """They are refused before anything is read, and replaced with --force."""
    s = Session()
    s.write("a.k4.kc", "mine")
    before = s.contents()
    for ks in ("3,4", "4,3"):
        s.kcount("-", "-k", ks, "-o", "a.kc", text="", code=1, message="a.k4.kc already exists")
        expect(s.contents(), before, "files")
    s.kcount("a.fq", "a.k4.kc", "-k", "3,4", "--force", code=2, message="an input and the output")
    expect(s.contents(), before, "files")
    os.mkdir(s.path / "a.k5.kc")
    s.kcount("a.fq", "-k", "4,5", "--force", code=1, message="a.k5.kc is a folder")
    os.rmdir(s.path / "a.k5.kc")
    s.kcount("a.fq", "-k", "3,4", "--force")
    expect(s.names(), ["a.fq", "a.k3.kc", "a.k4.kc"], "files")
    s.kcount("check", "a.k4.kc")


def fails_late(s, ks, event, code, message=None, force=False):
    """Count a pipe, let something happen after all outputs are open, and expect a failure."""
    started = s.start("-", "-k", ks, "-o", "x.kc", *(["--force"] if force else []),
                      stdin=subprocess.PIPE)
    started.stdin.write(READS.encode() * 100)
    started.stdin.flush()
    wait_for_output(s, started)
    while len([path for path in os.listdir(f"/proc/{started.pid}/fd")]) < 6:
        pass
    event(started)
    started.stdin.close()
    said = started.stderr.read().decode()
    expect(started.wait(timeout=60), code, f"exit code; it said {said!r}")
    expect(message is None or message in said, True, f"message {message!r} in {said!r}")
    started.stderr.close()


def test_all_or_none():
    for taken in (3, 4, 5):
        s = Session()
        fails_late(s, "3,4,5", lambda _: s.write(f"x.k{taken}.kc", "taken"), 1, "already exists")
        expect(s.names(), ["a.fq", f"x.k{taken}.kc"], "files after a name was taken")
        expect(s.read(f"x.k{taken}.kc"), "taken", "the file that took the name")
    s = Session()
    for k in (3, 5):
        s.write(f"x.k{k}.kc", f"old {k}")
    before = s.contents()
    fails_late(s, "3,4,5", lambda _: os.mkdir(s.path / "x.k4.kc"), 1, "x.k4.kc", force=True)
    os.rmdir(s.path / "x.k4.kc")
    expect(s.contents(), before, "files that were to be replaced")
    fails_late(s, "3,4,5", lambda started: started.terminate(), -signal.SIGTERM,
               "nothing was written", force=True)
    expect(s.contents(), before, "files after SIGTERM")


def test_limit_on_file_sizes():
    """Only the largest of the files cannot be written."""
    s = Session()
    s.write("large.fa", b">r\n" + contig(100000))
    limit = 600000

    def set_limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    s.kcount("large.fa", "-k", 15, preexec_fn=set_limit)
    os.unlink(s.path / "large.kc")
    s.kcount("large.fa", "-k", "15,101,16", preexec_fn=set_limit, code=1, message="101")
    expect(s.names(), ["a.fq", "large.fa"], "files")


main([test_same_files, test_contig, test_device, test_device_contig, test_little_memory, test_stdin,
      test_names, test_repeated_option,
      test_reports, test_wide_tables, test_wrong_usage, test_existing_outputs, test_all_or_none,
      test_limit_on_file_sizes])
