"""
What kcount export writes is what kcount dump prints, as read by our own readers (foreign.py), or by
the program whose format it is.

    export.py KCOUNT SOURCE FORMAT [PROGRAM]
"""
import collections
import importlib.util
import random
import shutil
import sys

import foreign
from session import SOURCE, Session, expect
from tools import SKIPPED, main, run, same_file, same_text

KMERS = (1, 2, 3, 4, 5, 7, 8, 15, 16, 21, 29, 31, 32, 33, 41, 55, 64, 101, 255)
PROGRAM_KMERS = (1, 4, 7, 15, 21, 29, 31, 32, 41, 55, 101, 255)  # programs take their time
LARGEST = 2**32 - 1

# the names of its files, our reader, the largest count, whether it can hold strands apart
Format = collections.namedtuple("Format", "files read limit stranded", defaults=(LARGEST, True))
FORMATS = {
    "tsv": Format(["{}"], lambda path, stranded: path.read_text()),
    "kff": Format(["{}"], foreign.read_kff),
    "kmc": Format(["{}.kmc_pre", "{}.kmc_suf"], foreign.read_kmc),
    "jellyfish": Format(["{}"], foreign.read_jellyfish),
    "fastk": Format([".{}.ktab.1", "{}.hist", "{}.ktab"], foreign.read_fastk, 32767, False),
    "arrow": Format(["{}"], foreign.read_arrow),
}
NAME = sys.argv[3]
FORMAT = FORMATS[NAME]


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
    s.kcount(SOURCE / "data/amplicon.fq.gz", "-k", 31, "-o", "data.kc", "--quiet")
    s.kcount(*sorted((SOURCE / "data").glob("*.gz")), "-k", 31, "-o", "all.kc", "--quiet")
    add_large_counts(s)
    return s


STORES = make_stores()


def export(name, *options, to="out", **how):
    STORES.kcount("export", f"{name}.kc", "--to", NAME, "-o", to, "--force", *options, **how)
    return STORES.path / to


def clipped(text):
    """A dump with the counts that the format can hold."""
    if FORMAT.limit == LARGEST:
        return text
    pairs = (line.split("\t") for line in text.splitlines())
    return "".join(f"{kmer}\t{min(int(count), FORMAT.limit)}\n" for kmer, count in pairs)


def is_between(kmer, low, high):
    """As kcount range has it: high stands for all k-mers that begin with it."""
    return low <= kmer and kmer[:len(high)] <= high


def dump(name, options):
    """What kcount dump prints of the k-mers that these options of export keep."""
    bounds = dict(zip(options[::2], options[1::2]))
    low, high = bounds.pop("--from-kmer", ""), bounds.pop("--to-kmer", "T" * 9)
    words = [word for bound in bounds.items() for word in bound]
    text = STORES.kcount("dump", f"{name}.kc", *words)
    return clipped("".join(line for line in text.splitlines(keepends=True)
                           if is_between(line.split("\t")[0], low, high)))


def check(name, *options):
    """Export name.kc, and hold what our reader finds against the dump."""
    found = FORMAT.read(export(name, *options), name.startswith("s"))
    same_text(found, dump(name, options), f"{NAME}: {name} {options}")


def test_every_k():
    for k in KMERS:
        check(f"k{k}")
        if FORMAT.stranded:
            check(f"s{k}")
        else:
            export(f"s{k}", code=2, message="stranded")


def test_sizes_and_counts():
    for name in ("empty", "one", "data", "large"):
        check(name)
    text = STORES.kcount("dump", "large.kc")
    nclipped = sum(int(line.split("\t")[1]) > FORMAT.limit for line in text.splitlines())
    export("large")
    warning = f"warning: out: {nclipped} counts above {FORMAT.limit} were written as {FORMAT.limit}"
    expect(warning in STORES.said if nclipped else STORES.said == "", True, "the warning")


def test_filters_and_ranges():
    check("data", "--min", 2, "--max", 5)
    check("data", "--from-kmer", "ACG", "--to-kmer", "ACG")
    check("data", "--min", 2, "--from-kmer", "C")
    check("data", "--to-kmer", "AAC")
    check("data", "--from-kmer", "TTTTTTTTTTTTT")
    check("k21", "--min", 1000)


def names_of(to):
    return sorted(name.format(to) for name in FORMAT.files)


def test_files():
    """Existing files stay without --force; nothing but the format's files appears."""
    s = STORES
    before = set(s.names())
    export("k21", to="new")
    expect(sorted(set(s.names()) - before), names_of("new"), "new files")
    contents = {name: (s.path / name).read_bytes() for name in names_of("new")}
    for name in contents:
        for other in set(s.names()) - before:
            (s.path / other).unlink()
        s.write(name, contents[name])
        s.kcount("export", "k31.kc", "--to", NAME, "-o", "new", code=1,
                 message=f"{name} already exists")
        expect(set(s.names()) - before, {name}, f"files beside {name}")
        expect((s.path / name).read_bytes(), contents[name], name)
    export("k21", to="new")
    expect({name: (s.path / name).read_bytes() for name in contents}, contents, "files made again")


def test_usage():
    s = STORES
    s.kcount("export", "k21.kc", "--to", "fasta", "-o", "x", code=2,
             message="'fasta' is not a format")
    s.kcount("export", "k21.kc", "-o", "x", code=2, message="--to FORMAT is required")
    s.kcount("export", "k21.kc", "--to", NAME, code=2, message="is required")
    export("k21", to="-", code=2, message="standard output")
    export("k21", to="missing/x", code=1, message="cannot create")
    export("k21", "--min", 3, "--max", 2, code=2, message="--min 3 is above --max 2")
    export("k21", "--from", "C", "--to-kmer", "A", code=2, message="FROM, 'C', comes after TO, 'A'")
    export("k21", "--from", "C" * 22, code=2, message="letters long")
    if FORMAT.files == ["{}"]:
        export("k21", to="k21.kc", code=2, message="two different files")


def test_count_and_export():
    """count --format writes what export would write, for each k."""
    s = STORES
    before = set(s.names())
    s.kcount("reads.fa", "-k", "21,31", "-o", "n.kc", "--min", 2, "--format", NAME, "--quiet")
    ending = {"jellyfish": ".jf", "kmc": "", "fastk": ""}.get(NAME, f".{NAME}")
    exported = {k: names_of(f"n.k{k}{ending}") for k in (21, 31)}
    wanted = {"n.k21.kc", "n.k31.kc", *exported[21], *exported[31]}
    expect(set(s.names()) - before, wanted, "files of count --format")
    for k, names in exported.items():
        export(f"n.k{k}", "--min", 2)
        for name, again in zip(names, names_of("out")):
            same_file(s.path / name, s.path / again, "count --format and export")
    for name in wanted - set(exported[21][:1]):
        (s.path / name).unlink()
    s.kcount("missing.fa", "-k", "21,31", "-o", "n.kc", "--format", NAME, code=1,
             message=f"{exported[21][0]} already exists")
    (s.path / exported[21][0]).unlink()
    s.kcount("reads.fa", "-k", 21, "-o", "n.kc", "--format", "fasta", code=2,
             message="'fasta' is not a format")
    if not FORMAT.stranded:
        s.kcount("reads.fa", "-k", 21, "-o", "n.kc", "--stranded", "--format", NAME, code=2,
                 message="stranded")
    expect(set(s.names()), before, "files after failures")


def test_fastk_histogram():
    """It has all k-mers, whatever --min and --max, as FastK's."""
    counts = [int(line.split("\t")[1]) for line in STORES.kcount("dump", "large.kc").splitlines()]
    path = export("large", "--min", 2, "--max", 40000)
    k, first, last, rows = foreign.read_fastk_histogram(path)
    large = sum(count for count in counts if count >= 32767)
    expect((k, first, last), (21, counts.count(1), large), "header of the histogram")
    expect(rows, collections.Counter(min(count, 32767) for count in counts), "histogram")


# ---- the programs ----

def check_text(text, name, options, what):
    same_text(text, dump(name, options), f"{NAME}: {name} {options}, {what}")


def kmc_tools(*words):
    run("kmc_tools", "-hp", *words, cwd=STORES.path)


def check_kmc(name, *options):
    export(name, *options, to="db")
    kmc_tools("transform", "db", "dump", "-s", "dump.txt")
    check_text(STORES.read("dump.txt"), name, options, "kmc_tools transform dump")
    if NAME == "kmc":
        run("kmc_dump", "db", "list.txt", cwd=STORES.path)
        check_text(STORES.read("list.txt"), name, options, "kmc_dump")


def test_kmc_operations():
    """kmc_tools adds up two exports that have k-mers in common, and intersects them."""
    sides = []
    for low, high, to in (("A", "G", "one"), ("C", "T", "two")):
        export("data", "--from-kmer", low, "--to-kmer", high, to=to)
        text = dump("data", ("--from-kmer", low, "--to-kmer", high))
        sides.append({kmer: int(count) for kmer, count in map(str.split, text.splitlines())})
    kmc_tools("simple", "one", "two", "union", "both", "-cs4294967295",
              "intersect", "common", "-ocleft", "-cs4294967295")
    both = collections.Counter(sides[0]) + collections.Counter(sides[1])
    common = {kmer: count for kmer, count in sides[0].items() if kmer in sides[1]}
    for name, wanted in (("both", both), ("common", common)):
        kmc_tools("transform", name, "dump", "-s", "dump.txt")
        wanted = foreign.lines(sorted(wanted.items()))
        same_text(STORES.read("dump.txt"), wanted, f"kmc_tools simple, {name}")


def jellyfish(*words):
    return run("jellyfish", *words, cwd=STORES.path).decode()


def check_jellyfish(name, *options):
    export(name, *options, to="db")
    check_text(jellyfish("dump", "-c", "-t", "db"), name, options, "jellyfish dump")
    wanted = dump(name, options).splitlines()
    asked = [line.split("\t") for line in wanted[:50] + wanted[-50:]]
    if asked:
        answers = jellyfish("query", "db", *(kmer for kmer, count in asked)).splitlines()
        expect([line.split() for line in answers], asked, f"jellyfish query of {name}")


def test_jellyfish_operations():
    s = STORES
    s.write("absent.fa", ">r\n" + "ACGTTGCA" * 20 + "\n")
    export("data", to="db")
    absent = jellyfish("query", "-s", "absent.fa", "db").split()[1::2]
    expect(set(absent), {"0"}, "k-mers that are not in the file")
    histogram = jellyfish("histo", "-h", "100000", "db").replace(" ", "\t")
    wanted = s.kcount("hist", "data.kc", "--max-count", 100000)
    same_text(histogram, wanted, "jellyfish histo")
    for k in (31, 55):
        export(f"k{k}", "--to-kmer", "G", to="one")
        export(f"k{k}", "--from-kmer", "C", to="two")
        jellyfish("merge", "--max", "-o", "all", "one", "two")
        check_text(jellyfish("dump", "-c", "-t", "all"), f"k{k}", (), "jellyfish merge")


def below_1000(histogram):
    """What Histex -G puts together in its last row is left out."""
    rows = histogram.splitlines(keepends=True)
    return "".join(row for row in rows if int(row.split("\t")[0]) < 1000)


def check_fastk(name, *options):
    """With the histogram of the whole file: Histex comes with Tabex."""
    if name.startswith("s") or name == "empty" or name.startswith("k") and int(name[1:]) < 7:
        return  # FastK's smallest k is 7
    export(name, *options, to="db")
    pairs = run("Tabex", "-A", "db", cwd=STORES.path).decode().upper()
    check_text(pairs, name, options, "Tabex")
    if not options:
        rows = run("Histex", "-G", "db", cwd=STORES.path).decode()
        wanted = STORES.kcount("hist", f"{name}.kc", "--max-count", 32766)
        same_text(below_1000(rows), below_1000(wanted), f"Histex of {name}")


def check_nothing():
    """There are no operations to try."""


def check_pyarrow(name, *options):
    import pyarrow.ipc
    path = export(name, *options, to="db")
    table = pyarrow.ipc.open_file(path).read_all()
    table.validate(full=True)
    pairs = zip(table["kmer"].to_pylist(), table["count"].to_pylist())
    check_text(foreign.lines(pairs), name, options, "pyarrow")


def test_pyarrow_stream():
    """What lies between the markers is a stream, too."""
    import pyarrow.ipc
    path = export("data", to="db")
    with open(path, "rb") as stream:
        stream.seek(8)
        table = pyarrow.ipc.open_stream(stream).read_all()
        expect(table == pyarrow.ipc.open_file(path).read_all(), True, "stream")


PROGRAMS = {
    "kmc_tools": (check_kmc, test_kmc_operations),
    "jellyfish": (check_jellyfish, test_jellyfish_operations),
    "Tabex": (check_fastk, check_nothing),
    "pyarrow": (check_pyarrow, test_pyarrow_stream),
}


def test_program():
    check_one, test_operations = PROGRAMS[sys.argv[4]]
    names = [f"{kind}{k}" for k in PROGRAM_KMERS for kind in "ks"]
    for name in [*names, "empty", "one", "large", "all"]:
        check_one(name)
    check_one("data", "--min", 2, "--max", 5)
    check_one("data", "--from-kmer", "C", "--to-kmer", "CT")
    test_operations()


def is_installed(program):
    return shutil.which(program) or importlib.util.find_spec(program)


def tests():
    if len(sys.argv) == 4:
        yield from (test_every_k, test_sizes_and_counts, test_filters_and_ranges)
        yield from (test_files, test_usage, test_count_and_export)
        if NAME == "fastk":
            yield test_fastk_histogram
    elif is_installed(sys.argv[4]):
        yield test_program
    else:
        print(f"{sys.argv[4]} is not installed")
        sys.exit(SKIPPED)


main(tests())
