"""
What kcount export writes, read by the programs of the formats and by small readers of our own, is
what kcount dump prints.

    export.py KCOUNT SOURCE FORMAT
"""
import random
import sys

from session import SOURCE, Session, expect
from tools import main, same_text

FORMAT = sys.argv[3]
KMERS = (1, 2, 3, 4, 5, 7, 8, 15, 16, 21, 29, 31, 32, 33, 41, 55, 64, 101, 255)
ENDINGS = {"tsv": [""]}  # of a format's files


def read_tsv(s, name):
    return s.read(name)


READERS = {"tsv": read_tsv}  # each gives what kcount dump prints


def add_large_counts(s):
    """large.kc: the largest count, one over 16 bits, some about the limit of 15 bits, and 1."""
    s.write("largest.fa", ">a\n" + "A" * 100020 + "\n")
    s.kcount("largest.fa", "-k", 21, "-o", "0.kc", "--quiet")
    for turn in range(4):
        s.kcount("merge", *[f"{turn}.kc"] * 16, "-o", f"{turn + 1}.kc", "--quiet")
    repeats = ("C" * 70020, "AC" * (32767 + 10), "AG" * (32768 + 10), "AT" * (32766 + 10))
    s.write("others.fa", "".join(f">r\n{repeat}\n" for repeat in repeats))
    s.kcount("others.fa", "-k", 21, "-o", "others.kc", "--quiet")
    s.kcount("merge", "4.kc", "others.kc", "-o", "large.kc", "--quiet")


def make_stores():
    """Files for each k, canonical and stranded; none, one, and many k-mers; large counts."""
    s = Session()
    text = "".join(random.Random(7).choices("ACGT", k=2500))
    s.write("reads.fa", f">r\n{text}\n>again\n{text[:1200]}\n>third\n{text[:700]}\n")
    for k in KMERS:
        s.kcount("reads.fa", "-k", k, "-o", f"k{k}.kc", "--quiet")
        s.kcount("reads.fa", "-k", k, "--stranded", "-o", f"s{k}.kc", "--quiet")
    s.write("one.fa", f">r\n{text[:21]}\n")
    s.write("short.fa", ">r\nACGT\n")
    s.kcount("one.fa", "-k", 21, "-o", "one.kc", "--quiet")
    s.kcount("short.fa", "-k", 21, "-o", "empty.kc", "--quiet")
    s.kcount(*sorted((SOURCE / "data").glob("*.gz")), "-k", 31, "-o", "data.kc", "--quiet")
    add_large_counts(s)
    return s


STORES = make_stores()


def export(name, *options, to="out", **how):
    return STORES.kcount("export", f"{name}.kc", "--to", FORMAT, "-o", to, "--force", *options, **how)


def check(name, *options):
    """Export name.kc, and hold what readers find against the dump."""
    s = STORES
    bounds = dict(zip(options[::2], options[1::2]))
    low, high = bounds.get("--from-kmer", ""), bounds.get("--to-kmer", "TTTTTTTTTT")
    counts = [text for option in ("--min", "--max") if option in bounds for text in (option, bounds[option])]
    wanted = [line for line in s.kcount("dump", f"{name}.kc", *counts).splitlines(keepends=True)
              if low <= line.split("\t")[0] and line.split("\t")[0][:len(high)] <= high]
    export(name, *options)
    same_text(READERS[FORMAT](s, "out"), "".join(wanted), f"{FORMAT}: {name} {options}")


def test_every_k():
    for k in KMERS:
        check(f"k{k}")
        check(f"s{k}")


def test_sizes_and_counts():
    for name in ("empty", "one", "large", "data"):
        check(name)


def test_filters_and_ranges():
    check("data", "--min", 2, "--max", 5)
    check("data", "--from-kmer", "ACG", "--to-kmer", "ACG")
    check("data", "--min", 2, "--from-kmer", "C")
    check("data", "--to-kmer", "AAC")
    check("data", "--from-kmer", "TTTTTTTTTTTTT")
    check("k21", "--min", 1000)


def names_of(to):
    return sorted(to + ending for ending in ENDINGS[FORMAT])


def test_files():
    """Existing files stay without --force; nothing but the format's files appears."""
    s = STORES
    before = s.names()
    export("k21", to="new")
    expect(sorted(set(s.names()) - set(before)), names_of("new"), "new files")
    for name in names_of("new"):
        content = {other: (s.path / other).read_bytes() for other in names_of("new")}
        for other in names_of("new"):
            if other != name:
                (s.path / other).unlink()
        s.kcount("export", "k31.kc", "--to", FORMAT, "-o", "new", code=1, message=f"{name} already exists")
        expect(sorted(set(s.names()) - set(before)), [name], f"files beside {name}")
        expect((s.path / name).read_bytes(), content[name], name)
        for other in content:
            s.write(other, content[other])
    for name in names_of("new"):
        (s.path / name).unlink()


def test_usage():
    s = STORES
    s.kcount("export", "k21.kc", "--to", "fasta", "-o", "x", code=2, message="'fasta' is not a format")
    s.kcount("export", "k21.kc", "-o", "x", code=2, message="--to FORMAT is required")
    s.kcount("export", "k21.kc", "--to", FORMAT, code=2, message="is required")
    export("k21", to="-", code=2, message="standard output")
    export("k21", to="missing/x", code=1, message="cannot create")
    export("k21", "--min", 3, "--max", 2, code=2, message="--min 3 is above --max 2")
    export("k21", "--from", "C", "--to-kmer", "A", code=2, message="FROM, 'C', comes after TO, 'A'")
    export("k21", "--from", "C" * 22, code=2, message="letters long")
    if ENDINGS[FORMAT] == [""]:
        s.kcount("export", "k21.kc", "--to", FORMAT, "-o", "k21.kc", "--force", code=2, message="two different files")


main([test_every_k, test_sizes_and_counts, test_filters_and_ranges, test_files, test_usage])
