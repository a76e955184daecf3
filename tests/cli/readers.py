"""
Other programs read kcount's exports, and find the k-mers and counts that kcount dump prints.

    readers.py KCOUNT SOURCE READER [COMMAND]

READER is a key of READERS. COMMAND is its program, if that is not on PATH (such as the one built
from kmc_api.cpp). The test is skipped if the program is not installed.
"""
import collections
import importlib.util
import json
import os
import random
import shutil
import subprocess
import sys

from lib import foreign
from lib.exported import Exports
from lib.session import expect
from lib.tools import SKIPPED, main, run, same_text

KMERS = (1, 4, 7, 15, 21, 29, 31, 32, 41, 55, 101, 255)
COMPLEMENT = str.maketrans("ACGT", "TGCA")


def reverse_complement(kmer):
    return kmer[::-1].translate(COMPLEMENT)


def counts_of(text):
    return {kmer: int(count) for kmer, count in map(str.split, text.splitlines())}


def a_part_of(counts):
    """About 3000 of the k-mers at most: programs are slow to look them up one by one."""
    step = 1 + len(counts) // 3000
    return {kmer: counts[kmer] for kmer in list(counts)[::step]}


def check_text(text, name, options, what):
    same_text(text, EXPORTS.dump(name, options), f"{READER}: {name} {options}, {what}")


def checks_all(check, *, sizes=("empty", "one", "large", "all"), kinds="ks", kmers=KMERS):
    """A test that calls check for .kc files of all kinds, and for parts of one."""
    def test():
        for name in [*(f"{kind}{k}" for k in kmers for kind in kinds), *sizes]:
            check(name)
        check("data", "--min", 2, "--max", 5)
        check("data", "--from-kmer", "C", "--to-kmer", "CT")
    return test


# ---- KMC ----

def kmc_tools(*words):
    run("kmc_tools", "-hp", *words, cwd=S.path)


def check_kmc_dump(name, *options):
    EXPORTS.export(name, *options, to="db")
    kmc_tools("transform", "db", "dump", "-s", "dump.txt")
    check_text(S.read("dump.txt"), name, options, "kmc_tools transform dump")
    if EXPORTS.name == "kmc":
        run("kmc_dump", "db", "list.txt", cwd=S.path)
        check_text(S.read("list.txt"), name, options, "kmc_dump")


def test_kmc_operations():
    """kmc_tools computes the union and the intersection of two exports that overlap."""
    sides = []
    for low, high, to in (("A", "G", "one"), ("C", "T", "two")):
        EXPORTS.export("data", "--from-kmer", low, "--to-kmer", high, to=to)
        sides.append(counts_of(EXPORTS.dump("data", ("--from-kmer", low, "--to-kmer", high))))
    kmc_tools("simple", "one", "two", "union", "both", "-cs4294967295",
              "intersect", "common", "-ocleft", "-cs4294967295")
    both = collections.Counter(sides[0]) + collections.Counter(sides[1])
    common = {kmer: count for kmer, count in sides[0].items() if kmer in sides[1]}
    for name, wanted in (("both", both), ("common", common)):
        kmc_tools("transform", name, "dump", "-s", "dump.txt")
        wanted = foreign.lines(sorted(wanted.items()))
        same_text(S.read("dump.txt"), wanted, f"kmc_tools simple, {name}")


def number_found(read, k, counts, canonical):
    kmers = (read[i:i + k] for i in range(len(read) - k + 1))
    return sum((min(kmer, reverse_complement(kmer)) if canonical else kmer) in counts
               for kmer in kmers)


def some_reads():
    """Reads of the sequence in reads.fa, from both strands and with errors; and random reads."""
    rng = random.Random(11)
    text = S.read("reads.fa").split("\n")[1]
    for number in range(120):
        start = rng.randrange(len(text) - 150)
        read = text[start:start + 150]
        for place in rng.sample(range(150), number % 8):
            read = read[:place] + rng.choice("ACGT") + read[place + 1:]
        yield reverse_complement(read) if number % 3 == 0 else read
    yield from ("".join(rng.choices("ACGT", k=150)) for _ in range(10))


def test_kmc_filter():
    """kmc_tools keeps the reads that have at least 60 k-mers with counts of 2 or more."""
    reads = list(some_reads())
    S.write("some.fa", "".join(f">r\n{read}\n" for read in reads))
    for name in "k15", "k31", "k55", "s21":
        k, canonical = int(name[1:]), name[0] == "k"
        EXPORTS.export(name, to="db")
        kmc_tools("filter", "db", "-ci2", "some.fa", "-fa", "-ci60", "kept.fa", "-fa")
        counts = counts_of(EXPORTS.dump(name, ("--min", 2)))
        wanted = [read for read in reads if number_found(read, k, counts, canonical) >= 60]
        expect(0 < len(wanted) < len(reads), True, f"a part of the reads is kept, {name}")
        expect(S.read("kept.fa").split("\n")[1::2], wanted, f"kmc_tools filter, {name}")


def kmc_api(*words, asked=None):
    done = subprocess.run([COMMAND, *words], cwd=S.path, check=True, stdout=subprocess.PIPE,
                          input=asked and "".join(f"{line}\n" for line in asked).encode())
    return done.stdout.decode()


def check_kmc_api(name, *options):
    EXPORTS.export(name, *options, to="db")
    check_text(kmc_api("db"), name, options, "listing")
    counts = counts_of(EXPORTS.dump(name, options))
    stored = list(a_part_of(counts))
    absent = {kmer[1:] + base for kmer in stored[::7] for base in "ACGT"} - set(counts)
    asked = [*stored, *sorted(absent)]
    if asked:
        wanted = foreign.lines((kmer, counts.get(kmer, 0)) for kmer in asked)
        same_text(kmc_api("db", "random", asked=asked), wanted, f"random access, {name}")


def test_kmc_api_reads():
    reads = list(some_reads())
    for name in "k15", "k31", "k101", "s29":
        k, canonical = int(name[1:]), name[0] == "k"
        EXPORTS.export(name, to="db")
        counts = counts_of(EXPORTS.dump(name))
        for read, line in zip(reads, kmc_api("db", "reads", asked=reads).splitlines()):
            kmers = [read[i:i + k] for i in range(len(read) - k + 1)]
            stored = [min(kmer, reverse_complement(kmer)) if canonical else kmer for kmer in kmers]
            expect(list(map(int, line.split())), [counts.get(kmer, 0) for kmer in stored],
                   f"counts of a read, {name}")


def check_kff_tools(name, *options):
    """kff-tools uses the same library as vg."""
    EXPORTS.export(name, *options, to="db.kff")
    pairs = run("kff-tools", "outstr", "-i", "db.kff", cwd=S.path).decode().replace(" ", "\t")
    check_text(pairs, name, options, "kff-tools outstr")
    said = run("kff-tools", "validate", "-i", "db.kff", cwd=S.path).decode()
    expect("No problem detected" in said, True, f"kff-tools validate, {name}: {said}")


# ---- Jellyfish ----

def jellyfish(*words):
    return run("jellyfish", *map(str, words), cwd=S.path).decode()


def check_jellyfish(name, *options):
    EXPORTS.export(name, *options, to="db")
    check_text(jellyfish("dump", "-c", "-t", "db"), name, options, "jellyfish dump")
    wanted = EXPORTS.dump(name, options).splitlines()
    asked = [line.split("\t") for line in wanted[:50] + wanted[-50:]]
    if asked:
        answers = jellyfish("query", "db", *(kmer for kmer, count in asked)).splitlines()
        expect([line.split() for line in answers], asked, f"jellyfish query of {name}")


def test_jellyfish_operations():
    S.write("absent.fa", ">r\n" + "ACGTTGCA" * 20 + "\n")
    EXPORTS.export("data", to="db")
    absent = jellyfish("query", "-s", "absent.fa", "db").split()[1::2]
    expect(set(absent), {"0"}, "k-mers that are not in the file")
    histogram = jellyfish("histo", "-h", "100000", "db").replace(" ", "\t")
    wanted = S.kcount("hist", "data.kc", "--max-count", 100000)
    same_text(histogram, wanted, "jellyfish histo")
    for k in (31, 55):
        EXPORTS.export(f"k{k}", "--to-kmer", "G", to="one")
        EXPORTS.export(f"k{k}", "--from-kmer", "C", to="two")
        jellyfish("merge", "--max", "-o", "all", "one", "two")
        check_text(jellyfish("dump", "-c", "-t", "all"), f"k{k}", (), "jellyfish merge")


def some_jellyfish_files():
    """Canonical and stranded, from tables that grew or are sparse, merged, filtered, as text."""
    text = "".join(random.Random(3).choices("ACGT", k=15000))
    S.write("some.fa", f">r\n{text}\n>again\n{text[:9000]}\n")
    S.write("few.fa", f">r\n{text[:130]}\n")
    for k, size, *options in ((31, "1M", "-C"), (31, "1k", "-C"), (21, "100"), (15, "20k"),
                              (100, "64k", "-C"), (31, "1M", "-C", "-L", 2),
                              (31, "16k", "--text"), (9, "2k", "-C"),
                              (31, "16k", "-C", "--out-counter-len", 1)):
        jellyfish("count", "-m", k, "-s", size, *options, "-o", "some.jf", "some.fa")
        yield f"k {k}, {size} {options}"
    jellyfish("count", "-m", 31, "-s", "64k", "-C", "-o", "one.jf", "few.fa")
    os.rename(S.path / "one.jf", S.path / "some.jf")
    yield "few k-mers"
    for name in "few", "some":
        jellyfish("count", "-m", 31, "-s", "64k", "-C", "-o", f"{name}.jf", f"{name}.fa")
    jellyfish("merge", "-o", "some.jf", "few.jf", "some.jf")
    yield "merged"


def is_noticed(what):
    S.kcount("import", "cut.jf", "-o", "x.kc", "--force", "--quiet", code=None)
    expect(S.code in (0, 1), True, f"{what}: exit code {S.code}")
    return "truncated" in S.said or "there should be" in S.said


def test_jellyfish_cuts():
    """A file cut where a full disk cuts it gives an error or a warning; a whole one does not."""
    for what in some_jellyfish_files():
        whole = (S.path / "some.jf").read_bytes()
        for at in range(4096, len(whole), 4096 * (1 + len(whole) // 4096 // 12)):
            S.write("cut.jf", whole[:at])
            expect(is_noticed(what), True, f"{what}: {at} of {len(whole)} bytes are noticed")
        S.write("cut.jf", whole)
        expect(is_noticed(what), False, f"{what}: the whole file")


def test_jellyfish_of_exports():
    """jellyfish merge leaves out our number of records, which is not that of its output."""
    for k in (21, 41):
        for part, options in ("one", ("--to-kmer", "C")), ("two", ("--from-kmer", "AG")):
            EXPORTS.export(f"k{k}", *options, to=part)
        jellyfish("merge", "--max", "-o", "all", "one", "two")
        S.kcount("import", "all", "-o", "x.kc", "--force", "--canonical", "--quiet")
        expect(S.said, "", "warnings about a merged file")
        same_text(S.kcount("dump", "x.kc"), EXPORTS.dump(f"k{k}"), "import of a merged file")


# Prints all pairs, then the count of each k-mer on standard input. With Debian 12's package, a for
# loop over a ReadMerFile crashes on any file.
DNA_JELLYFISH = """
import sys
from dna_jellyfish import MerDNA, QueryMerFile, ReadMerFile
pairs, lines = ReadMerFile(sys.argv[1]), []
while pairs.next_mer():
    lines.append(f"{pairs.mer()}\\t{pairs.count()}\\n")
query = QueryMerFile(sys.argv[1])
lines += [f"{query[MerDNA(line.strip())]}\\n" for line in sys.stdin]
sys.stdout.write("".join(lines))
"""


def check_dna_jellyfish(name, *options):
    EXPORTS.export(name, *options, to="db")
    pairs = EXPORTS.dump(name, options)
    counts = a_part_of(counts_of(pairs))
    done = subprocess.run([COMMAND, "-c", DNA_JELLYFISH, "db"], cwd=S.path, check=True,
                          stdout=subprocess.PIPE, input="".join(f"{k}\n" for k in counts).encode())
    wanted = pairs + "".join(f"{count}\n" for count in counts.values())
    same_text(done.stdout.decode(), wanted, f"dna_jellyfish: {name} {options}")


# ---- FastK, and programs that read its tables ----

def below_1000(histogram):
    """The rows of counts below 1000: Histex -G sums up the rest in its last row."""
    rows = histogram.splitlines(keepends=True)
    return "".join(row for row in rows if int(row.split("\t")[0]) < 1000)


def check_fastk(name, *options):
    """Also checks the histogram of a whole file, with Histex, which comes with Tabex."""
    EXPORTS.export(name, *options, to="db")
    pairs = run("Tabex", "-A", "db", cwd=S.path).decode().upper()
    check_text(pairs, name, options, "Tabex")
    if not options:
        rows = run("Histex", "-G", "db", cwd=S.path).decode()
        wanted = S.kcount("hist", f"{name}.kc", "--max-count", 32766)
        same_text(below_1000(rows), below_1000(wanted), f"Histex of {name}")


def diploid_reads():
    """Reads of two haplotypes that differ at every hundredth base."""
    rng = random.Random(3)
    first = "".join(rng.choices("ACGT", k=2000))
    second = "".join(base if place % 100 else rng.choice("ACGT".replace(base, ""))
                     for place, base in enumerate(first))
    for number in range(600):
        start = rng.randrange(len(first) - 100)
        yield rng.choice((first, second))[start:start + 100]


def later_neighbours(kmer):
    return (kmer[:place] + base + kmer[place + 1:]
            for place in range(len(kmer)) for base in "ACGT" if base > kmer[place])


def pairs_of(counts):
    """Counts of pairs of k-mers that differ in one base and from no other k-mer in one base."""
    both = {form: count for kmer, count in counts.items()
            for form in (kmer, reverse_complement(kmer))}
    pairs = [(kmer, other) for kmer in both for other in later_neighbours(kmer) if other in both]
    number = collections.Counter(kmer for pair in pairs for kmer in pair)
    return collections.Counter(tuple(sorted((both[kmer], both[other]))) for kmer, other in pairs
                               if number[kmer] == number[other] == 1)


def test_smudgeplot():
    """hetmers finds the same pairs as pairs_of does in the dump."""
    S.write("diploid.fa", "".join(f">r\n{read}\n" for read in diploid_reads()))
    for k in 21, 40:
        S.kcount("diploid.fa", "-k", k, "-o", "diploid.kc", "--force", "--quiet")
        EXPORTS.export("diploid", to="table")
        run("smudgeplot", "hetmers", "-L", 4, "-t", 2, "-o", f"pairs{k}", "table", cwd=S.path)
        rows = (tuple(map(int, row.split())) for row in S.read(f"pairs{k}.smu").splitlines())
        found = {(low, high): number for low, high, number in rows}
        wanted = pairs_of(counts_of(S.kcount("dump", "diploid.kc", "--min", 4)))
        expect(len(wanted) > 10, True, "there are pairs")
        expect(found, dict(wanted), f"smudgeplot hetmers, k = {k}")


# ---- Arrow ----

def check_pyarrow(name, *options):
    import pyarrow.feather
    import pyarrow.ipc
    path = EXPORTS.export(name, *options, to="db")
    table = pyarrow.ipc.open_file(path).read_all()
    table.validate(full=True)
    expect(pyarrow.feather.read_table(path) == table, True, f"{name} as a Feather file")
    with open(path, "rb") as stream:
        stream.seek(8)  # the bytes between the markers are also a stream
        expect(pyarrow.ipc.open_stream(stream).read_all() == table, True, f"{name} as a stream")
    pairs = zip(table["kmer"].to_pylist(), table["count"].to_pylist())
    check_text(foreign.lines(pairs), name, options, "pyarrow")


# ---- text, through pipes ----

def check_meryl(database, name):
    text = run("meryl", "print", f"{database}.meryl", cwd=S.path).decode()
    S.kcount("import", "-", "--canonical", "-o", "meryl.kc", "--force", text=text)
    same_text(S.kcount("dump", "meryl.kc"), EXPORTS.dump(name), f"meryl print {name}")


def test_meryl():
    """meryl's databases are read and written as text. meryl-import takes a minute for any file."""
    for k in 21, 31, 41:
        run("meryl", f"k={k}", "threads=2", "memory=1", "count", "reads.fa", "output", f"{k}.meryl",
            cwd=S.path)
        check_meryl(k, f"k{k}")
    if "KC_TEST_LONG" in os.environ:
        EXPORTS.export("data", to="dump.txt")
        run("meryl-import", "-k", 31, "-kmers", "dump.txt", "-output", "data.meryl", cwd=S.path)
        check_meryl("data", "data")


def test_old_meryl():
    """The meryl of 2015, which Debian packages, prints FASTA."""
    meryl = os.path.join(os.path.dirname(COMMAND), "meryl")
    for k in 15, 21, 31:
        run(meryl, "-B", "-C", "-m", k, "-s", "reads.fa", "-o", "old", cwd=S.path)
        text = run(meryl, "-Dt", "-n", 1, "-s", "old", cwd=S.path).decode()
        S.kcount("import", "-", "-o", "meryl.kc", "--force", text=text)
        same_text(S.kcount("dump", "meryl.kc"), EXPORTS.dump(f"k{k}"), f"meryl -Dt, k = {k}")


def test_yak():
    for k in 15, 21, 29, 31:
        run("yak", "count", "-b0", f"-k{k}", "-o", "counts.yak", "reads.fa", cwd=S.path)
        text = run("yak", "print", "-c", "counts.yak", cwd=S.path).decode()
        S.kcount("import", "-", "-o", "yak.kc", "--force", text=text)
        same_text(S.kcount("dump", "yak.kc"), EXPORTS.dump(f"k{k}"), f"yak print, k = {k}")


# ---- MultiQC ----

def test_multiqc():
    """MultiQC plots count times k-mers, for all rows of hist --jellyfish except the last."""
    drawn = {}
    for name in "k15", "data", "all":
        S.write(f"{name}_jf.hist", S.kcount("hist", "--jellyfish", f"{name}.kc"))
        counts = counts_of(EXPORTS.dump(name)).values()
        rows = collections.Counter(min(count, 10001) for count in counts)
        del rows[max(rows)]
        drawn[f"{name}_jf"] = {count: count * nkmers for count, nkmers in rows.items()}
    run("multiqc", "--module", "jellyfish", "--no-version-check", "--outdir", "report", ".",
        cwd=S.path)
    report = json.loads((S.path / "report/multiqc_data/multiqc_data.json").read_text())
    plot = report["report_plot_data"]["Jellyfish_kmer_plot"]
    found = {line["name"]: dict(line["pairs"]) for line in plot["datasets"][0]["lines"]}
    largest = plot["pconfig"]["xmax"]
    for name, rows in drawn.items():
        wanted = {count: size for count, size in rows.items() if count <= largest}
        expect({count: found[name].get(count) for count in wanted}, wanted, f"the line of {name}")
    expect(set(found), set(drawn), "lines")


# ---- which reader ----

def in_path(command):
    return shutil.which(command)


def is_here(module):
    return importlib.util.find_spec(module)


def python_with(module):
    """An interpreter that has the module: only the system's own finds the system's packages."""
    for python in (sys.executable, shutil.which("python3"), "/usr/bin/python3"):
        if python and shutil.which(python) and subprocess.run(
                [python, "-c", f"import {module}"], stderr=subprocess.DEVNULL).returncode == 0:
            return python
    return None


Reader = collections.namedtuple("Reader", "format find program tests")
READERS = {
    "kmc_tools": Reader("kmc", in_path, "kmc_tools",
                        (checks_all(check_kmc_dump), test_kmc_operations, test_kmc_filter)),
    "kmc_tools_kff": Reader("kff", in_path, "kmc_tools",
                            (checks_all(check_kmc_dump), test_kmc_operations)),
    "kff_tools": Reader("kff", in_path, "kff-tools", (checks_all(check_kff_tools),)),
    "libkmc": Reader("kmc", in_path, "libkmc-dev",
                     (checks_all(check_kmc_api, kmers=KMERS[3:-1]), test_kmc_api_reads)),
    "jellyfish": Reader("jellyfish", in_path, "jellyfish",
                        (checks_all(check_jellyfish), test_jellyfish_operations,
                         test_jellyfish_cuts, test_jellyfish_of_exports)),
    "dna_jellyfish": Reader("jellyfish", python_with, "dna_jellyfish",
                            (checks_all(check_dna_jellyfish),)),
    "fastk": Reader("fastk", in_path, "Tabex",  # its smallest k is 7, and it has no empty tables
                    (checks_all(check_fastk, kinds="k", kmers=KMERS[2:],
                                sizes=("one", "large", "all")),)),
    "smudgeplot": Reader("fastk", in_path, "smudgeplot", (test_smudgeplot,)),
    "pyarrow": Reader("arrow", is_here, "pyarrow", (checks_all(check_pyarrow),)),
    "meryl": Reader("tsv", in_path, "meryl-import", (test_meryl,)),
    "old_meryl": Reader("tsv", in_path, "existDB", (test_old_meryl,)),
    "yak": Reader("tsv", in_path, "yak", (test_yak,)),
    "multiqc": Reader("tsv", in_path, "multiqc", (test_multiqc,)),
}

READER = sys.argv[3]
FORMAT, FIND, PROGRAM, TESTS = READERS[READER]
COMMAND = sys.argv[4] if len(sys.argv) > 4 else FIND(PROGRAM)
if not COMMAND:
    print(f"{PROGRAM} is not installed: skipped")
    sys.exit(SKIPPED)
EXPORTS = Exports(FORMAT, KMERS)
S = EXPORTS.session
main(TESTS)
