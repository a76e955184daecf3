"""
What kcount export writes is what kcount dump prints, as read by our own readers (foreign.py).

    export.py KCOUNT SOURCE FORMAT
"""
import collections
import json
import os
import random
import re
import sys

from lib import foreign
from lib.exported import Exports
from lib.session import expect
from lib.tools import main, same_file, same_text

KMERS = (1, 2, 3, 4, 5, 7, 8, 15, 16, 21, 29, 31, 32, 33, 41, 55, 64, 101, 255)

NAME = sys.argv[3]
EXPORTS = Exports(NAME, KMERS)
FORMAT, STORES = EXPORTS.format, EXPORTS.session
export, dump = EXPORTS.export, EXPORTS.dump


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
    export("large", "--quiet")
    warning = f"warning: out: {nclipped} counts above {FORMAT.limit} were written as {FORMAT.limit}"
    expect(warning in STORES.said if nclipped else STORES.said == "", True, "the warning")


def test_threads():
    """The threads change nothing; files of one run and of several have many parts."""
    s = STORES
    s.write("long.fa", ">r\n" + "".join(random.Random(9).choices("ACGT", k=200000)) + "\n")
    s.kcount("long.fa", "-k", 31, "-o", "parts.kc", "--quiet")
    for runs in 1, 2:
        check("parts", "-t", 1)
        wanted = {name: (s.path / name).read_bytes() for name in names_of("out")}
        for threads in 2, 7:
            export("parts", "-t", threads)
            for name in wanted:
                expect((s.path / name).read_bytes() == wanted[name], True,
                       f"{name}, {threads} threads")
        s.kcount("add", "parts.kc", "reads.fa", "--quiet")


def test_report():
    """What was written is said, and in JSON too."""
    s = STORES
    nkmers = len(dump("data", ["--min", 2]).splitlines())
    found = json.loads(s.kcount("export", "data.kc", "--to", NAME, "-o", "out", "--force", "--json",
                                "--min", 2))
    nbytes = sum(os.path.getsize(s.path / name) for name in found["files"])
    expect((sorted(found["files"]), found["distinct"], found["output_bytes"],
            found["clipped_counts"]),
           (names_of("out"), nkmers, nbytes, 0), "the JSON")
    line = re.search(r"(?m)^wrote (.*), ([\d,]+) k-mers, [\d.]+ \w+$", s.said)
    expect((re.split(", | and ", line[1]), line[2]), (found["files"], f"{nkmers:,}"), "the line")
    export("data", "--quiet")
    expect(s.said, "", "with --quiet")


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


def test_endings():
    """An ending that the format adds may be there already; a hidden file's is not one."""
    s = STORES
    for form in FORMAT.files:
        if form == "{}" or not form.startswith("{}"):
            continue
        before = set(s.names())
        export("k21", to=form.format("ended"))
        expect(sorted(set(s.names()) - before), names_of("ended"), f"the files of -o {form}")
        for name in names_of("ended"):
            (s.path / name).unlink()
    os.mkdir(s.path / "folder")
    ending = FORMAT.files[-1].format("")
    export("k21", to=f"folder/{ending or '.x'}")
    expect(len(os.listdir(s.path / "folder")), len(FORMAT.files), f"a file called {ending}")


def test_usage():
    s = STORES
    s.kcount("export", "k21.kc", "--to", "fasta", "-o", "x", code=2,
             message="'fasta' is not a format")
    s.kcount("export", "k21.kc", "-o", "x", code=2, message="--to FORMAT is required")
    s.kcount("export", "k21.kc", "--to", NAME, code=2, message="is required")
    export("k21", to="-", code=2, message="standard output")
    export("k21", to="missing/x", code=1, message="cannot create")
    export("k21", "--min", 3, "--max", 2, code=2, message="--min 3 is above --max 2")
    export("k21", "--from-kmer", "C", "--to-kmer", "A", code=2,
           message="FROM, 'C', comes after TO, 'A'")
    export("k21", "--from-kmer", "C" * 22, code=2, message="letters long")
    if FORMAT.files == ["{}"]:
        export("k21", to="k21.kc", code=2, message="the output as well; name another file with -o")


def test_count_and_export():
    """count --format writes what export would write, for each k."""
    s = STORES
    before = set(s.names())
    said = s.kcount("reads.fa", "-k", "21,31", "-o", "n.kc", "--min", 2, "--format", NAME, "--json")
    ending = {"jellyfish": ".jf", "kmc": "", "fastk": ""}.get(NAME, f".{NAME}")
    exported = {k: names_of(f"n.k{k}{ending}") for k in (21, 31)}
    wanted = {"n.k21.kc", "n.k31.kc", *exported[21], *exported[31]}
    expect(set(s.names()) - before, wanted, "files of count --format")
    for report, k in zip(json.loads(said), (21, 31)):
        expect(sorted(report["exports"]), sorted(exported[k]), "exports in the JSON")
        line = "\nexported to " + ", ".join(report["exports"]) + "\n"
        expect(line in s.said, True, f"{line!r} in the summary {s.said!r}")
    for k, names in exported.items():
        export(f"n.k{k}", "--min", 2)
        for name, again in zip(names, names_of("out")):
            same_file(s.path / name, s.path / again, "count --format and export")
    for name in wanted - set(exported[21][:1]):
        (s.path / name).unlink()
    s.kcount("-", "-k", "21,31", "-o", "n.kc", "--format", NAME, text="", code=1,
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


main([test_every_k, test_sizes_and_counts, test_threads, test_report, test_filters_and_ranges,
      test_files, test_endings, test_usage, test_count_and_export] + ([test_fastk_histogram]
                                                                      if NAME == "fastk" else []))
