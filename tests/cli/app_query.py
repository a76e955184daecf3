"""
What `kcount query -f` prints, against a plain counter of strings: k, strands, runs, kinds of files,
threads, memory.

    app_query.py KCOUNT SOURCE
"""
import collections
import gzip
import random
import re
import shutil
import struct
import subprocess

from lib.session import SOURCE, Session, expect
from lib.tools import few, main

SWAP = str.maketrans("ACGT", "TGCA")
COUNTED = ((1, False), (9, False), (31, False), (32, True), (33, False), (64, False), (255, False))


def turned(text):
    return text.translate(SWAP)[::-1]


def kmers_of(sequence, k):
    """Its k-mers in order, in upper case."""
    for run in re.findall("[ACGT]+", sequence.upper().replace("U", "T")):
        for i in range(len(run) - k + 1):
            yield run[i:i + k]


class Reference:
    """Counts of strings."""

    def __init__(self, k, stranded):
        self.k, self.stranded, self.counts = k, stranded, collections.Counter()

    def key(self, kmer):
        return kmer if self.stranded else min(kmer, turned(kmer))

    def add(self, sequences):
        self.counts.update(self.key(m) for s in sequences for m in kmers_of(s, self.k))

    def remove(self, sequences):
        for s in sequences:
            for kmer in kmers_of(s, self.k):
                self.counts.pop(self.key(kmer), None)

    def query(self, sequences):
        return "".join(f"{kmer}\t{self.counts.get(self.key(kmer), 0)}\n"
                       for s in sequences for kmer in kmers_of(s, self.k))

    def report(self, sequences):
        short = sum(len(s) < self.k for s in sequences)
        skipped = sum(len(re.sub("[ACGTUacgtu]", "", s)) for s in sequences)
        text = ""
        if short:
            text += (f"kcount: {short} sequence{' is' if short == 1 else 's are'} shorter than "
                     f"k = {self.k}\n")
        if skipped:
            text += (f"kcount: {skipped} letter{'s' * (skipped != 1)} outside ACGTU; k-mers that "
                     f"contain {'it' if skipped == 1 else 'them'} were left out\n")
        return text


def fasta(sequences, width=70, end="\n"):
    return "".join(f">s{i}{end}" + "".join(s[j:j + width] + end for j in range(0, len(s), width))
                   for i, s in enumerate(sequences))


def fastq(sequences):
    return "".join(f"@s{i} @\n{s}\n+\n{'@' * len(s)}\n" for i, s in enumerate(sequences))


def sam(sequences):
    """Every third one aligned to the other strand, and with a secondary alignment."""
    lines = ["@SQ\tSN:c\tLN:1000000\n"]
    for i, s in enumerate(sequences):
        s = s.upper().replace("U", "T")
        flag, shown = (16, s.translate(SWAP)[::-1]) if i % 3 == 0 else (4, s)
        lines.append(f"s{i}\t{flag}\tc\t1\t0\t*\t*\t0\t0\t{shown or '*'}\t*\n")
        if i % 3 == 0:
            lines.append(f"s{i}\t256\tc\t1\t0\t*\t*\t0\t0\t{shown[:40] or '*'}\t*\n")
    return "".join(lines)


def random_reads(rng, genome, n, length, odd=True):
    reads = []
    for _ in range(n):
        at = rng.randrange(len(genome) - length)
        read = list(genome[at:at + rng.randrange(length)])
        for i in range(len(read)):
            if odd and rng.random() < 0.004:
                read[i] = rng.choice("NnacguUR")
        reads.append(turned("".join(read)) if rng.random() < 0.5 and not odd else "".join(read))
    return reads


def counted(s, rng, k, stranded):
    """A file of three runs, one of them of tombstones, and its reference."""
    reference = Reference(k, stranded)
    genome = "".join(rng.choice("ACGT") for _ in range(3000))
    parts = [random_reads(rng, genome, 60, 700) for _ in range(2)]
    removed = random_reads(rng, genome, 3, 700)
    for number, part in enumerate(parts):
        s.write(f"{number}.fa", fasta(part))
    s.write("removed.fa", fasta(removed))
    strands = ("--stranded",) if stranded else ()
    s.kcount("count", "0.fa", "-k", k, *strands, "-o", "db.kc", "--quiet", "--force")
    s.kcount("remove", "db.kc", "-f", "removed.fa", "--quiet")
    s.kcount("add", "db.kc", "1.fa", "--quiet")
    reference.add(parts[0])
    reference.remove(removed)
    reference.add(parts[1])
    return genome, reference


def check(s, reference, name, sequences, *options):
    expect(s.kcount("query", "db.kc", "-f", name, *options) == reference.query(sequences), True,
           f"k = {reference.k}: counts of {name} {options}")
    said = re.sub(r"looked up on .*\n$", "", s.said)  # only where there could be a device
    expect(said, reference.report(sequences), f"k = {reference.k}: messages about {name}")


def test_kinds():
    """The same sequences in every kind of file."""
    rng = random.Random(3)
    for k, stranded in few(COUNTED, 2):
        s = Session()
        genome, reference = counted(s, rng, k, stranded)
        asked = random_reads(rng, genome, 40, 900) + ["", "ACG", "N", "acgu" * 80, "NNN" * 9]
        s.write("q.fa", fasta(asked))
        s.write("crlf.fa", fasta(asked, 31, "\r\n"))
        s.write("q.fq", fastq(asked))
        s.write("q.fa.gz", gzip.compress(fasta(asked).encode()))
        for name in ("q.fa", "crlf.fa", "q.fq", "q.fa.gz"):
            for threads in (1, 3):
                check(s, reference, name, asked, "-t", threads, "-m", "256M")
        s.write("q.sam", sam(asked))
        given = [a.upper().replace("U", "T") for a in asked]
        check(s, reference, "q.sam", given)
        lines = [a for a in asked if a]
        s.write("lines", "".join(line + "\t7 x\n\n" for line in lines))
        check(s, reference, "lines", lines)
        expect(s.kcount("query", "db.kc", "-f", "-", text=fastq(asked)), reference.query(asked),
               "standard input")
        if shutil.which("zstd"):
            subprocess.run(["zstd", "-qf", "q.fq"], cwd=s.path, check=True)
            check(s, reference, "q.fq.zst", asked)


def test_no_name():
    Session().kcount("query", "", "ACGT", code=1, message="the name of a .kc file is empty")


def test_arguments_first():
    rng = random.Random(4)
    s = Session()
    genome, reference = counted(s, rng, 31, False)
    arguments = [genome[:31], genome[50:700].lower(), turned(genome[100:140])]
    asked = random_reads(rng, genome, 5, 300)
    s.write("q.fq", fastq(asked))
    expect(s.kcount("query", "db.kc", *arguments, "-f", "q.fq"),
           reference.query(arguments + asked), "arguments, then the file")
    wrong = genome[:31] + "N"
    expect(s.kcount("query", "db.kc", *arguments, wrong, code=2), "", "nothing after a mistake")


def test_pieces():
    """Sequences longer than what a thread reads at a time, and too many k-mers to look each up."""
    rng = random.Random(5)
    for k, stranded in few(COUNTED, 2):
        s = Session()
        genome, reference = counted(s, rng, k, stranded)
        long = [genome * 20, (genome[:2000] + "N" + genome[500:1500] * 2) * 9, "ACG", genome]
        s.write("long.fa", fasta(long, 60))
        s.write("long.fq", fastq(long))
        s.write("long", "\n".join(long))
        for name in ("long.fa", "long.fq", "long") if k == 33 else ("long.fa",):
            for threads in (1, 4):
                check(s, reference, name, long, "-t", threads, "-m", "256M")


def bam_reads(path):
    """The sequences of a BAM file's primary alignments, as sequenced."""
    data = gzip.open(path).read()
    at = 8 + struct.unpack_from("<i", data, 4)[0]
    nreferences, = struct.unpack_from("<i", data, at)
    at += 4
    for _ in range(nreferences):
        at += 8 + struct.unpack_from("<i", data, at)[0]
    while at < len(data):
        size, = struct.unpack_from("<i", data, at)
        name, ncigar, flag, length = struct.unpack_from("<B3xHHi", data, at + 12)
        begin = at + 36 + name + 4 * ncigar
        read = "".join("=ACMGRSVTWYHKDBN"[byte >> shift & 15]
                       for byte in data[begin:begin + (length + 1) // 2] for shift in (4, 0))
        read = read[:length]
        if not flag & 0x900:
            yield turned(read) if flag & 16 else read
        at += 4 + size


def test_real_reads():
    s = Session()
    folder = SOURCE / "data"
    reads = {"human.bam": list(bam_reads(folder / "human.bam"))}
    for name in ("phage.fq.gz", "ont.fq.gz"):
        lines = gzip.open(folder / name, "rt").read().split("\n")
        reads[name] = [line.rstrip("\r") for line in lines[1::4]]
    for k in (31,):
        reference = Reference(k, False)
        for name in reads:
            reference.add(reads[name])
        s.kcount("count", *(folder / name for name in reads), "-k", k, "-o", "db.kc", "--quiet",
                 "--force")
        for name, sequences in reads.items():
            check(s, reference, folder / name, sequences, "-t", 2)


if __name__ == "__main__":
    main([test_kinds, test_no_name, test_arguments_first, test_pieces, test_real_reads])
