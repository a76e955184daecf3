"""
--only counts the k-mers of a file and no others: the result is that of counting everything and
leaving the rest out, as a plain reference does, and files that differ in it are not mixed.

    app_only.py KCOUNT SOURCE [DEVICE]
"""
import collections
import json
import random
import sys

from lib.session import Session, expect
from lib.tools import fasta, fastq, main

DEVICE = ("--device", sys.argv[3] if len(sys.argv) > 3 else "cpu")
COMPLEMENT = str.maketrans("ACGT", "TGCA")


def kmers_of(bases, k, stranded):
    found = (bases[i:i + k] for i in range(len(bases) - k + 1))
    found = (kmer for kmer in found if "N" not in kmer)
    return [kmer if stranded else min(kmer, kmer[::-1].translate(COMPLEMENT)) for kmer in found]


def count(sequences, only, k, stranded=False):
    wanted = {kmer for bases in only for kmer in kmers_of(bases, k, stranded)}
    counts = collections.Counter(kmer for bases in sequences
                                 for kmer in kmers_of(bases, k, stranded) if kmer in wanted)
    total = sum(len(kmers_of(bases, k, stranded)) for bases in sequences)
    return counts, total


def lines_of(counts, least=1):
    return "".join(f"{kmer}\t{n}\n" for kmer, n in sorted(counts.items()) if n >= least)


def with_qualities(sequences):
    return [(bases.encode(), b"I" * len(bases)) for bases in sequences]


def scene(seed, nbases=15_000):
    """Reads of a genome, and a set: pieces of it, and sequences that it does not have."""
    rng = random.Random(seed)
    genome = "".join(rng.choices("ACGTN", [50, 50, 50, 50, 1], k=nbases))
    places = [rng.randrange(nbases - 150) for _ in range(nbases // 30)]
    reads = [genome[at:at + 150] for at in places]
    pieces = [genome[at:at + 400] for at in range(0, nbases, 3000)]
    return reads, pieces + ["".join(rng.choices("ACGT", k=500)) for _ in range(5)]


def test_count():
    s = Session()
    reads, only = scene(1)
    s.write("reads.fq", fastq(with_qualities(reads)))
    s.write("only.fa", fasta(with_qualities(only), 60))
    for k in 1, 4, 21, 33, 140:
        for stranded in False, True:
            counts, total = count(reads, only, k, stranded)
            strands = ["--stranded"] if stranded else []
            call = ("reads.fq", "-k", k, "--only", "only.fa", "--force", "--quiet", *strands)
            if counts:
                s.kcount(*call, "-o", "one.kc", "-t", 1, "--device", "cpu")
                s.kcount(*call, "-o", "x.kc", "-t", 3, *DEVICE)
                expect((s.path / "one.kc").read_bytes() == (s.path / "x.kc").read_bytes(), True,
                       f"the same file, k = {k}")
                expect(s.kcount("dump", "x.kc"), lines_of(counts), f"k = {k}, {strands}")
                s.kcount("check", "x.kc")
                info = json.loads(s.kcount("info", "x.kc", "--json"))
                expect((info["only"], info["counted_kmers"], info["version"]), (True, total, 2),
                       "info")
                hist = "".join(f"{n}\t{kmers}\n" for n, kmers in
                               sorted(collections.Counter(counts.values()).items()))
                expect(s.kcount("hist", "reads.fq", "-k", k, "--only", "only.fa", "--quiet",
                                "--max-count", 10 ** 6, *strands, *DEVICE), hist, f"hist, k = {k}")


def test_options():
    """With --min, several k, little memory, and compressed homopolymers."""
    s = Session()
    reads, only = scene(2)
    s.write("reads.fq", fastq(with_qualities(reads)))
    s.write("only.fa", fasta(with_qualities(only), 60))
    s.kcount("reads.fq", "-k", "15,40", "--only", "only.fa", "-o", "x.kc", "--min", 3, "--quiet",
             "--engine-memory", "1M", *DEVICE)
    for k in 15, 40:
        expect(s.kcount("dump", f"x.k{k}.kc"), lines_of(count(reads, only, k)[0], 3), f"k = {k}")
    s.kcount("reads.fq", "-k", 9, "--hpc", "-o", "all.kc", "--quiet", *DEVICE)
    s.kcount("only.fa", "-k", 9, "--hpc", "-o", "only.kc", "--quiet", *DEVICE)
    s.kcount("intersect", "all.kc", "only.kc", "--counts", "left", "-o", "both.kc", "--quiet")
    s.kcount("reads.fq", "-k", 9, "--hpc", "--only", "only.fa", "-o", "y.kc", "--quiet", *DEVICE)
    expect(s.kcount("dump", "y.kc") == s.kcount("dump", "both.kc"), True, "with --hpc")
    rest = s.kcount("-", "-k", 15, "--only", "only.fa", "-o", "z.kc", "--quiet", *DEVICE,
                    text=s.read("reads.fq"))
    expect((rest, s.kcount("dump", "z.kc")), ("", lines_of(count(reads, only, 15)[0])), "a pipe")


def test_change():
    """add needs the same set again; compact and merge keep it."""
    s = Session()
    reads, only = scene(3, 6000)
    for i, part in enumerate((reads[:100], reads[100:])):
        s.write(f"{i}.fq", fastq(with_qualities(part)))
    s.write("only.fa", fasta(with_qualities(only)))
    s.write("other.fa", fasta(with_qualities(only[1:])))
    s.kcount("0.fq", "-k", 21, "--only", "only.fa", "-o", "x.kc", "--quiet", *DEVICE)
    s.kcount("0.fq", "-k", 21, "--only", "other.fa", "-o", "other.kc", "--quiet", *DEVICE)
    s.kcount("0.fq", "-k", 21, "-o", "all.kc", "--quiet", *DEVICE)
    before = s.contents()
    s.kcount("add", "x.kc", "1.fq", code=2, message="x.kc was counted with --only; give it again")
    s.kcount("add", "x.kc", "1.fq", "--only", "other.fa", code=2,
             message="x.kc was not counted with --only and these k-mers")
    s.kcount("add", "all.kc", "1.fq", "--only", "only.fa", code=2,
             message="all.kc was not counted with --only and these k-mers")
    for other in "other.kc", "all.kc":
        for command in "merge", "union", "intersect", "subtract":
            s.kcount(command, "x.kc", other, "-o", "z.kc", code=2,
                     message=f"x.kc and {other} do not hold counts of the same set of k-mers")
    expect(s.contents() == before, True, "nothing has changed")
    s.kcount("add", "x.kc", "1.fq", "--only", "only.fa", "--quiet", *DEVICE)
    wanted = lines_of(count(reads, only, 21)[0])
    expect(s.kcount("dump", "x.kc"), wanted, "add")
    s.kcount("merge", "x.kc", "-o", "y.kc", "--quiet")
    s.kcount("compact", "x.kc", "--quiet")
    expect((s.path / "x.kc").read_bytes() == (s.path / "y.kc").read_bytes(), True, "compact")
    expect(s.kcount("dump", "y.kc"), wanted, "compact")
    expect("those of a given set (--only)" in s.kcount("info", "x.kc"), True, "info")
    s.kcount("profile", "x.kc", "0.fq", "--total", message="x.kc holds only the k-mers given with")
    whole = (s.path / "y.kc").read_bytes()
    s.write("y.kc", whole[:12] + bytes([whole[12] ^ 1]) + whole[13:])
    s.kcount("check", "y.kc", "--repair", "z.kc", "--quiet", code=None)
    expect((s.kcount("dump", "z.kc"), json.loads(s.kcount("info", "z.kc", "--json"))["only"]),
           (wanted, True), "repaired")


def test_device():
    """The CPU counts. If the user named a device, a notice says so."""
    s = Session()
    call = ("a.fq", "-k", 3, "--only", "a.fq", "-o", "x.kc", "--force", "--json")
    notice = "kcount: the CUDA engine does not support --only: counting on the CPU\n"
    for options in ("--device", "cuda"), ("--device", "cuda:0,1"), ("--table", "slab"):
        report = json.loads(s.kcount(*call, *options, message=notice))
        expect((report["device"], report["only"]), ("cpu", True), f"the report with {options}")
    for device in "auto", "cpu":
        report = json.loads(s.kcount(*call, "--device", device))
        expect(("CUDA" in s.said, report["device"]), (False, "cpu"), f"--device {device}")


def test_refused():
    s = Session()
    s.write("short.fa", ">a\nACGTACGT\n")
    s.write("empty.fa", "")
    call = ("a.fq", "-k", 9, "-o", "x.kc", *DEVICE)
    s.kcount(*call, "--only", "short.fa", code=1, message="short.fa has no 9-mers")
    s.kcount(*call, "--only", "empty.fa", code=1, message="empty.fa is empty")
    s.kcount(*call, "--only", "nowhere.fa", code=1, message="nowhere.fa")
    s.kcount("a.fq", "-k", 5, "-o", "short.fa", "--force", "--only", "short.fa", code=2,
             message="short.fa is an input")
    s.kcount("-", "-k", 9, "-o", "x.kc", "--only", "-", code=2,
             message="standard input cannot be both")
    s.kcount(*call, "--only", "short.fa", "--only", "a.fq", code=2, message="--only is given twice")
    expect(s.names(), ["a.fq", "empty.fa", "short.fa"], "what is left")
    expect(s.read("short.fa"), ">a\nACGTACGT\n", "the set")


if __name__ == "__main__":
    main([test_count, test_options, test_change, test_device, test_refused])
