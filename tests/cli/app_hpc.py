"""
Homopolymer compression: count, hist, query and remove take each run of equal bases as one base,
as a plain reference does, and files counted with and without --hpc are not mixed.

    app_hpc.py KCOUNT SOURCE [DEVICE]
"""
import collections
import itertools
import json
import random
import sys

from lib.session import Session, expect
from lib.tools import bgzf, fasta, fastq, main

DEVICE = ("--device", sys.argv[3] if len(sys.argv) > 3 else "cpu")
COMPLEMENT = str.maketrans("ACGT", "TGCA")


def compress(bases):
    """One of each run of equal bases; N stands for all other letters, which stay."""
    runs = itertools.groupby(bases.upper().replace("U", "T"))
    return "".join(base if base in "ACGT" else base * len(list(run)) for base, run in runs)


def kmers_of(bases, k):
    kmers = (bases[i:i + k] for i in range(len(bases) - k + 1))
    return [kmer for kmer in kmers if set(kmer) <= set("ACGT")]


def canonical(kmer):
    return min(kmer, kmer[::-1].translate(COMPLEMENT))


def count(sequences, k, stranded=False):
    counts = collections.Counter()
    for bases in sequences:
        for kmer in kmers_of(compress(bases), k):
            counts[kmer if stranded else canonical(kmer)] += 1
    return counts


LENGTHS = 1, 1, 1, 1, 1, 1, 2, 2, 3, 8, 60, 700


def random_sequence(rng, n, lengths):
    """Runs of these lengths, with an N between them now and then."""
    runs = []
    while n > 0:
        base = rng.choices("ACGTacgtuN", [20] * 9 + [1])[0]
        runs.append(base * min(n, rng.choice(lengths)))
        n -= len(runs[-1])
    return "".join(runs)


def random_sequences(seed, sizes, lengths=LENGTHS):
    """Sequences of these sizes, with some runs much longer than k."""
    rng = random.Random(seed)
    return [random_sequence(rng, n, lengths) for n in sizes]


def with_qualities(sequences):
    return [(bases.encode(), b"I" * len(bases)) for bases in sequences]


def lines_of(counts):
    return "".join(f"{kmer}\t{n}\n" for kmer, n in sorted(counts.items()))


def test_count():
    s = Session()
    sequences = random_sequences(1, [0, 1, 5, 40, 300, 3000] * 20 + [150_000])
    reads = with_qualities(sequences)
    for i, made in enumerate((fastq(reads), fastq(reads, 50), fasta(reads), fasta(reads, 60),
                              bgzf(fastq(reads)))):
        s.write("reads", made)
        for k in (1, 2, 21, 70)[i % 2::2]:
            for threads, stranded in ((1, ()), (3, ("--stranded",))):
                s.kcount("reads", "-k", k, "--hpc", "-o", "x.kc", "--force", "--quiet", "-t",
                         threads, *stranded, *DEVICE)
                expect(s.kcount("dump", "x.kc"), lines_of(count(sequences, k, bool(stranded))),
                       f"{k}-mers of form {i}")
    report = json.loads(s.kcount("reads", "-k", "1,5,33", "--hpc", "-o", "y.kc", "--json", "-q", 5,
                                 *DEVICE))
    expect((report[0]["hpc"], report[0]["bases"]), (True, sum(map(len, sequences))), "the summary")
    for k in 1, 5, 33:
        expect(s.kcount("dump", f"y.k{k}.kc"), lines_of(count(sequences, k)), "several k")


def test_quality():
    """A base of low quality parts a run, as N does."""
    s = Session()
    s.write("a.fq", "@a\nAAACCCGTT\n+\nIIII!IIII\n")
    s.kcount("a.fq", "-k", 2, "--hpc", "-q", 20, "--stranded", "--quiet")
    expect(s.kcount("dump", "a.kc"), "AC\t1\nCG\t1\nGT\t1\n", "with -q")


def test_query():
    """Queries are compressed: arguments, and files whose sequences come in pieces."""
    s = Session()
    sequences = random_sequences(2, [50, 700, 200_000, 30, 100_000])
    for k in 1, 3, 31:
        s.write("reads.fa", fasta(with_qualities(sequences[:3]), 80))
        s.write("asked.fa", fasta(with_qualities(sequences), 70))
        s.kcount("reads.fa", "-k", k, "--hpc", "-o", "x.kc", "--force", "--quiet")
        counts = count(sequences[:3], k)
        asked = [kmer for bases in sequences for kmer in kmers_of(compress(bases), k)]
        wanted = "".join(f"{kmer}\t{counts[canonical(kmer)]}\n" for kmer in asked)
        for threads in 1, 3:
            expect(s.kcount("query", "x.kc", "-f", "asked.fa", "-t", threads) == wanted, True,
                   f"query -f, k = {k}, {threads} threads")
    s.write("a.fa", ">a\nGATTTACA\n")
    s.kcount("a.fa", "-k", 4, "--hpc", "--quiet")
    expect(s.kcount("query", "a.kc", "GGGATTTTTACC", "gata"), "GATA\t1\nATAC\t1\nGATA\t1\n",
           "arguments")
    s.kcount("query", "a.kc", "GGGATTT", code=2, message="'GGGATTT' is GAT, 3 letters long")


def summary(bases, counts, k):
    """The fields length, windows and found, and the counts of the windows."""
    found = [counts[canonical(kmer)] for kmer in kmers_of(compress(bases), k)]
    return len(bases), len(found), sum(n > 0 for n in found), found


def test_profile():
    """Sequences are compressed, even in pieces, but their length is the one in the file."""
    s = Session()
    sequences = random_sequences(4, [50, 700, 200_000, 0, 30, 100_000, 5])
    reads = with_qualities(sequences)
    s.write("reads.fa", fasta(reads[:3], 80))
    s.write("asked.fa", fasta(reads, 70))
    s.write("asked.fq", fastq(reads))
    for k in 1, 3, 31:
        s.kcount("reads.fa", "-k", k, "--hpc", "-o", "x.kc", "--force", "--quiet")
        counts = count(sequences[:3], k)
        wanted = [summary(bases, counts, k) for bases in sequences]
        for name in "asked.fa", "asked.fq":
            for threads in 1, 3:
                call = ("profile", "x.kc", name, "-t", threads, "--json", *DEVICE)
                report = json.loads(s.kcount(*call))
                for got, (length, windows, found, each) in zip(report["sequences"], wanted):
                    expect((got["length"], got["windows"], got["found"]), (length, windows, found),
                           f"k = {k}, {name}")
                    if each:
                        expect((got["min"], got["max"]), (min(each), max(each)), "min, max")
                        expect(abs(got["mean"] - sum(each) / len(each)) < 0.001, True, "mean")
                total = json.loads(s.kcount(*call, "--total"))["total"]
                expect([total[name] for name in ("length", "windows", "found")],
                       [sum(column) for column in list(zip(*wanted))[:3]], f"--total, k = {k}")
                expect(total, report["total"], "--total")


def test_filter():
    """Reads are judged by their compressed k-mers, and written as they are."""
    s = Session()
    sequences = random_sequences(5, [3000, 2000], LENGTHS[:-2])
    other = random_sequences(6, [300] * 30 + [150_000], LENGTHS[:-2])
    reads = [(b, b"I" * len(b)) for b in
             (bases[i:i + 200].encode() for bases in (*sequences, *other)
              for i in range(0, len(bases), 97))]
    reads += with_qualities([other[-1], sequences[0] * 20])
    s.write("0.fa", fasta(with_qualities(sequences)))
    s.kcount("0.fa", "-k", 15, "--hpc", "--quiet")
    counts = count(sequences, 15)
    kept = [read for read in reads
            if 0 < summary(read[0].decode(), counts, 15)[1] <=
            2 * summary(read[0].decode(), counts, 15)[2]]
    expect(40 < len(kept) < len(reads) - 40, True, "some are kept, and some are not")
    for name, form in (("fq", fastq), ("fa", fasta), ("60.fa", lambda some: fasta(some, 60))):
        s.write(f"r.{name}", form(reads))
        s.kcount("filter", "0.kc", f"r.{name}", "--at-least", "50%", "-o", f"o.{name}", "--force",
                 "-t", 3, *DEVICE)
        got = (s.path / f"o.{name}").read_bytes()
        expect(renumbered(got) == renumbered(form(kept)), True, f"what is kept of {name}")


def renumbered(text):
    """The lines without the names of records."""
    return [line for line in text.split(b"\n") if line[:1] not in (b"@", b">")]


def test_change():
    """add and remove take the flag from the file, and compact keeps it."""
    s = Session()
    sequences = random_sequences(3, [3000, 2000, 100])
    for i, bases in enumerate(sequences):
        s.write(f"{i}.fa", f">a\n{bases}\n")
    s.kcount("0.fa", "-k", 9, "--hpc", "--quiet")
    s.kcount("add", "0.kc", "1.fa", "--quiet", *DEVICE)
    counts = count(sequences[:2], 9)
    expect(s.kcount("dump", "0.kc"), lines_of(counts), "add")
    typed = "".join(2 * base for base in kmers_of(compress(sequences[0]), 15)[0])
    s.kcount("remove", "0.kc", "-f", "2.fa", typed, "--quiet")
    for kmer in count([sequences[2], typed], 9):
        counts.pop(kmer, None)
    expect(s.kcount("dump", "0.kc"), lines_of(counts), "remove")
    s.kcount("compact", "0.kc", "--quiet")
    expect(s.kcount("dump", "0.kc"), lines_of(counts), "compact")
    expect("compressed (--hpc)" in s.kcount("info", "0.kc"), True, "info")
    report = json.loads(s.kcount("info", "0.kc", "--json"))
    expect((report["hpc"], report["version"]), (True, 2), "info --json")
    s.kcount("merge", "0.kc", "-o", "1.kc", "--quiet")
    s.kcount("check", "1.kc")
    s.kcount("hist", "1.fa", "-k", 9, "--hpc", "--quiet")


def test_other_programs():
    """No other format records the flag: export warns, and import takes it from the user."""
    s = Session()
    s.write("a.fa", fasta(with_qualities(random_sequences(7, [3000]))))
    for k in 9, 40:
        s.kcount("a.fa", "-k", k, "--hpc", "-o", "a.kc", "--quiet", "--force")
        for form, name in (("tsv", "x"), ("kff", "x.kff"), ("kmc", "x.kmc_pre"),
                           ("jellyfish", "x.jf"), ("fastk", "x.ktab")):
            s.kcount("export", "a.kc", "--to", form, "-o", name, "--force",
                     message="cannot record that homopolymers are compressed")
            s.kcount("import", name, "-o", "b.kc", "--hpc", "--force")
            report = json.loads(s.kcount("info", "b.kc", "--json"))
            expect((report["hpc"], report["stranded"]), (True, False), f"the flag, from {form}")
            expect(s.kcount("dump", "b.kc"), s.kcount("dump", "a.kc"), f"k-mers from {form}")
    s.kcount("a.fq", "-k", 3, "-o", "c.kc")
    s.kcount("export", "c.kc", "--to", "tsv", "-o", "y")
    expect("homopolymers" in s.said, False, s.said)
    for k in 2, 32, 33, 64, 65, 255:
        kmer = ("ACGT" * k)[:k]
        s.write("text", f"{kmer}\t1\n")
        s.kcount("import", "text", "--hpc", "-o", "b.kc", "--force")
        for i in {0, 1, k // 2, k - 34, k - 33, k - 32, k - 3, k - 2} & set(range(k - 1)):
            wrong = kmer[:i + 1] + kmer[i:-1]
            s.write("text", f"{kmer}\t1\n{wrong}\t1\n")
            s.kcount("import", "text", "--hpc", "--stranded", "-o", "d.kc", code=2,
                     message=f"text has the k-mer {wrong}, which is not homopolymer-compressed")
    s.kcount("import", "text", "--stranded", "-o", "d.kc")


def test_damage():
    """A damaged header is rebuilt with its flags."""
    s = Session()
    s.write("a.fa", ">a\nGATTTACATTACCGGA\n")
    s.kcount("a.fa", "-k", 5, "--hpc", "--quiet", "--stranded")
    whole = (s.path / "a.kc").read_bytes()
    dump = s.kcount("dump", "a.kc")
    for at in 8, 12, 16, 30, 56:
        s.write("a.kc", whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1:])
        s.kcount("dump", "a.kc", code=1, message="a.kc")
        if at != 8:  # another version may be sound
            s.kcount("check", "a.kc", "--repair", "b.kc", "--force", "--quiet", code=None)
            expect(s.kcount("dump", "b.kc"), dump, f"repaired at {at}")
            expect(json.loads(s.kcount("info", "b.kc", "--json"))["hpc"], True, "repaired")


def test_refused():
    s = Session()
    s.kcount("a.fq", "-k", 3, "--hpc", "-o", "x.kc", "--quiet")
    s.kcount("a.fq", "-k", 3, "-o", "y.kc", "--quiet")
    expect(json.loads(s.kcount("info", "y.kc", "--json"))["version"], 1, "a file without flags")
    for command in "merge", "union", "intersect", "subtract":
        s.kcount(command, "x.kc", "y.kc", "-o", "z.kc", code=2,
                 message="x.kc holds k-mers of homopolymer-compressed reads, but y.kc of uncomp")
        s.kcount(command, "y.kc", "x.kc", "-o", "z.kc", code=2,
                 message="y.kc holds k-mers of uncompressed reads, but x.kc of homopolymer-comp")
    s.kcount("profile", "x.kc", "a.fq", "--positions", code=2, message="leave out --positions")
    s.kcount("filter", "x.kc", "a.fq", "-o", "b.fq", "--trim", code=2, message="leave out --trim")
    s.kcount("a.fq", "-k", 3, "--hpc", "--skip", 2, code=2, message="--skip cannot be used if")
    s.kcount("add", "x.kc", "a.fq", "--skip", 2, code=2, message="--skip cannot be used if")
    s.kcount("a.fq", "-k", 3, "--compress", code=2, message="write --hpc")
    expect(s.names(), ["a.fq", "x.kc", "y.kc"], "what is left")


if __name__ == "__main__":
    main([test_count, test_quality, test_query, test_profile, test_filter, test_change,
          test_other_programs, test_damage, test_refused])
