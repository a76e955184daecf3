"""
What of the reads is counted: --skip leaves out bases at the beginning of each read, and
--require-flags and --exclude-flags leave out alignments.

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


def alignments_with_flags(seed):
    """SAM with reads of all kinds of flags, and the same as (flags, bases as sequenced)."""
    rng = random.Random(seed)
    lines, reads = [b"@HD\tVN:1.6", b"@SQ\tSN:chr\tLN:100000"], []
    for i, (bases, quality) in enumerate(random_reads(400, seed)):
        flags = sum(rng.choice((0, 0, 1)) << bit for bit in range(12))
        flags = flags if rng.random() < 0.7 else flags & 0x6ff
        place = b"*\t0\t0\t*" if flags & 4 else b"chr\t9\t3\t%dM" % (len(bases) or 5)
        lines.append(b"r%d\t%d\t%s\t*\t0\t0\t%s\t%s" % (i, flags, place, bases or b"*",
                                                       quality or b"*"))
        turned = bases.translate(bytes.maketrans(b"ACGT", b"TGCA"))[::-1]
        reads.append((flags, turned if flags & 16 else bases))
    return b"\n".join(lines) + b"\n", reads


def forms(s, text):
    """The same alignments in every format."""
    yield text
    if shutil.which("samtools"):
        s.write("text.sam", text)
        for make in (["-b"], ["-C", "--output-fmt-option", "no_ref=1"]):
            yield subprocess.run(["samtools", "view", *make, s.path / "text.sam"], check=True,
                                 stdout=subprocess.PIPE).stdout


CHOICES = [
    # options, required flags, excluded flags
    ((), 0, 0),
    (("--require-flags", "0"), 0, 0),
    (("--require-flags", "2"), 2, 0),
    (("--require-flags", "0x10"), 16, 0),
    (("--exclude-flags", "02000"), 0, 1024),
    (("--exclude-flags", "dup,QCFAIL"), 0, 0x600),
    (("--require-flags", "PAIRED,READ1", "--exclude-flags", "UNMAP"), 0x41, 4),
    (("--exclude-flags", "0xf00", "--require-flags", "1"), 1, 0xf00),
    (("--exclude-flags", "65535"), 0, 0xffff),
]


def test_flags():
    s = Session()
    text, reads = alignments_with_flags(3)
    for form in forms(s, text):
        for options, required, excluded in CHOICES:
            taken = [bases for flags, bases in reads if not flags & (0x900 | excluded)
                     and flags & required == required]
            left = sum(len(bases) for flags, bases in reads if not flags & 0x900) - sum(
                len(bases) for bases in taken)
            what = f"{options} of {form[:4]}"
            for skip in 0, 7:
                cut = fasta([(bases[skip:], b"") for bases in taken]) or b">none\n"
                want = counted(s, "reads", cut, "--stranded")
                got = counted(s, "reads", form, *options, "--skip", skip, "--stranded", "-t", 3)
                expect(got == want or not taken, True, what)
            report = json.loads(s.kcount("reads", "-k", 21, "--json", "--force", "--quiet",
                                         *options, *CPU))
            expect([report[key] for key in ("reads", "bases", "left_out_bases", "require_flags",
                                            "exclude_flags")],
                   [len(taken), sum(map(len, taken)), left, required, excluded], what)


def test_real_flags():
    if shutil.which("samtools") is None:
        return
    s = Session()
    human = SOURCE / "data/human.bam"
    for choose in (["-f", "16"], ["-F", "0x10"], ["-f", "0x40", "-F", "DUP"]):
        chosen = subprocess.run(["samtools", "view", "-b", *choose, human], check=True,
                                stdout=subprocess.PIPE).stdout
        want = counted(s, "reads", chosen)
        options = [{"-f": "--require-flags", "-F": "--exclude-flags"}.get(word, word)
                   for word in choose]
        expect(counted(s, "reads", human.read_bytes(), *options) == want, True, f"{choose}")


def test_flags_without_alignments():
    s = Session()
    said = ("kcount: warning: --require-flags and --exclude-flags have no effect: no input is SAM, "
            "BAM or CRAM\n")
    s.kcount("a.fq", "-k", 5, "--exclude-flags", "DUP", "--quiet", *CPU)
    expect(s.said, said, "about FASTQ")
    s.kcount("a.fq", SOURCE / "data/human.bam", "-k", 5, "--exclude-flags", 4, "--quiet", *CPU,
             "-o", "both.kc")
    expect(s.said, "", "about FASTQ and BAM")
    s.write("sam", b"@HD\tVN:1.6\nr\t4\t*\t0\t0\t*\t*\t0\t0\tACGTACGT\t*\n")
    s.kcount("sam", "-k", 5, "--exclude-flags", "UNMAP", "--quiet", *CPU,
             message="no read has 5 usable bases in a row")
    expect("holds no sequence" in s.said, False, "a warning that the input is empty")


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
    for option in "--require-flags", "--exclude-flags":
        for value in "", "x", "DUP,x", "-1", "65536", "4,8", "0x", "1.5", "99999999999999999999":
            s.kcount("a.fq", "-k", 5, f"{option}={value}", code=2,
                     message=f"{option}: '{value}' is neither a number up to 0xffff nor a list")
    s.kcount("a.fq", "-k", 5, "--require-flags", "0x101", code=2, message="are never counted")
    s.kcount("a.fq", "-k", 5, "--require-flags", 20, "--exclude-flags", "REVERSE", code=2,
             message="have 0x10 in common")
    expect(s.names(), ["a.fq"], "what wrong usage leaves behind")


main([test_text, test_alignments, test_flags, test_real_flags, test_flags_without_alignments,
      test_commands, test_usage])
