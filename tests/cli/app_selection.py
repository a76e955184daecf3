"""
What of the reads is counted: --skip leaves out bases at the beginning of each read.

    app_selection.py KCOUNT SOURCE
"""
import gzip
import json
import random
import shutil
import subprocess

from lib.session import SOURCE, Session, expect
from lib.tools import bgzf, fasta, fastq, main

CPU = ("--device", "cpu")


def random_reads(n, seed):
    rng = random.Random(seed)
    lengths = (0, 1, 6, 7, 8, 30, 60, 150, 3000)
    made = []
    for _ in range(n):
        bases = "".join(rng.choices("ACGTN", (9, 9, 9, 9, 1), k=rng.choice(lengths))).encode()
        made.append((bases, bytes(rng.randrange(33, 74) for _ in bases)))
    return made


def trimmed(reads, n):
    return [(bases[n:], quality[n:]) for bases, quality in reads]


def counted(s, name, content, *options):
    """The .kc file that this file of reads leads to. Its name is the same for all contents."""
    (s.path / name).write_bytes(content)
    s.kcount(name, "-k", 21, "-o", "out.kc", "--force", "--quiet", *options, *CPU)
    return (s.path / "out.kc").read_bytes()


def test_text():
    """The same file as that of reads without these bases, in every format and with any threads."""
    s = Session()
    reads = random_reads(400, 1) + [(b"ACGTTGCA" * 200000, b"I" * 1600000)]
    makers = (fastq, lambda reads: fastq(reads, 50), fasta, lambda reads: fasta(reads, 60),
              lambda reads: gzip.compress(fastq(reads), 1), lambda reads: bgzf(fasta(reads)))
    for i, skip in enumerate((1, 7, 1000, 1599990)):
        for j, make in enumerate(makers):
            quality = ("-q", 20) if (i + j) % 2 else ()
            want = counted(s, "reads", make(trimmed(reads, skip)), *quality)
            for threads in 1, 3:
                got = counted(s, "reads", make(reads), "--skip", skip, "-t", threads, *quality)
                expect(got == want, True, f"--skip {skip} {quality} with {threads} threads")


def alignments(s, make):
    """The real alignments in this container, and the reads in it as they were sequenced."""
    human = SOURCE / "data/human.bam"
    made = subprocess.run(["samtools", "view", *make, human], check=True,
                          stdout=subprocess.PIPE).stdout
    text = subprocess.run(["samtools", "fastq", "-n", human], check=True, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL).stdout.splitlines()
    return made, list(zip(text[1::4], text[3::4]))


def test_alignments():
    if shutil.which("samtools") is None:
        return
    s = Session()
    for make in (["-h"], ["-b"], ["-C", "--output-fmt-option", "no_ref=1"]):
        made, reads = alignments(s, make)
        for skip in 0, 5, 30, 99:
            for quality in ((), ("-q", 20)):
                want = counted(s, "reads", fastq(trimmed(reads, skip)), *quality)
                got = counted(s, "reads", made, "--skip", skip, *quality)
                expect(got == want, True, f"--skip {skip} {quality} of {make}")


def test_commands():
    """add and hist of reads, and what is reported."""
    s = Session()
    reads = random_reads(200, 2)
    s.write("reads", fastq(reads))
    s.write("cut", fastq(trimmed(reads, 9)))
    s.kcount("cut", "-k", 11, "-o", "cut.kc", "--quiet", *CPU)
    rows = s.kcount("hist", "reads", "-k", 11, "--skip", 9, "--quiet", *CPU)
    expect(rows, s.kcount("hist", "cut.kc"), "hist --skip")
    s.kcount("cut", "cut", "-k", 11, "-o", "twice.kc", "--quiet", *CPU)
    s.kcount("add", "cut.kc", "reads", "--skip", 9, "--quiet", *CPU)
    expect(s.kcount("dump", "cut.kc"), s.kcount("dump", "twice.kc"), "add --skip")
    report = json.loads(s.kcount("reads", "-k", 11, "--skip", 9, "--json", "--quiet", *CPU))
    nbases = sum(len(bases) for bases, _ in reads)
    expect((report["skip"], report["bases"], report["left_out_bases"]),
           (9, sum(len(bases) for bases, _ in trimmed(reads, 9)),
            nbases - sum(len(bases) for bases, _ in trimmed(reads, 9))), "the report")
    s.kcount("reads", "-k", 11, "--skip", 3000, "-o", "none.kc", *CPU,
             message="no read has 11 usable bases in a row")
    expect("holds no sequence" in s.said, False, "a warning that the input is empty")


def test_usage():
    s = Session()
    for value in "-1", "x", "", "4294967296", "1.5", "5M":
        for command in (["count", "-k", 5], ["hist", "-k", 5]):
            s.kcount(*command, "a.fq", f"--skip={value}", code=2, message="--skip")
    s.kcount("a.fq", "-k", 5, "--skip", code=2, message="--skip")
    expect(s.names(), ["a.fq"], "what wrong usage leaves behind")


main([test_text, test_alignments, test_commands, test_usage])
