"""
tests/golden: files of every version of the format can be read and added to as before.

    golden.py KCOUNT SOURCE
"""
import collections
import itertools
import json
import shutil
import subprocess

from lib.session import KCOUNT, SOURCE, Session, expect
from lib.tools import Failure, main

GOLDEN = SOURCE / "tests/golden"
NEWEST = "footer3"
INPUTS = {"tombstones-k129": ["middle.fa", "middle_b.fa"], "one-k255": ["long.fa"],
          "blocks-k6": ["dense.fa"], "one-k21": ["a.fa"], "hpc-k13": ["a.fa"],
          "only-k17": ["a.fa"]}
COMPLEMENT = str.maketrans("ACGT", "TGCA")
EXTRA = "ACGTTGCATTAGGCCATAC" * 20 + "A" * 20


def stores():
    """Path, k, whether stranded, and the dump of each file."""
    found = sorted(GOLDEN.glob("*.kc"))
    if len(found) != 19:
        raise Failure(f"{len(found)} golden files, not 19")
    for path in found:
        _, _, name = path.stem.partition("-")
        k = int(name.rpartition("-k")[2])
        yield path, k, k in (6, 33), (GOLDEN / f"{name}.dump").read_text()


def pairs(dump):
    return {kmer: int(count) for kmer, count in (line.split("\t") for line in dump.splitlines())}


def reverse(kmer):
    return kmer[::-1].translate(COMPLEMENT)


def count(text, k, stranded):
    kmers = (text[i:i + k] for i in range(len(text) - k + 1))
    return collections.Counter(kmer if stranded else min(kmer, reverse(kmer)) for kmer in kmers)


def compress(text):
    return "".join(base for base, _ in itertools.groupby(text))


def quietly(s, *arguments):
    got = s.kcount(*arguments)
    expect(s.said, "", f"messages of {arguments[0]} about {arguments[1]}")
    return got


def check_file(s, name, k, stranded, wanted):
    """Every way of reading a file gives these pairs."""
    expect(pairs(quietly(s, "dump", name)), wanted, f"dump {name}")
    rows = sorted(collections.Counter(wanted.values()).items())
    hist = "".join(f"{number}\t{kmers}\n" for number, kmers in rows)
    expect(quietly(s, "hist", name), hist, f"hist {name}")
    absent = ["CA" * k, "GT" * k] if "-hpc-" in name else ["C" * k, "G" * k]
    asked = [kmer if stranded else reverse(kmer) for kmer in list(wanted)[::7]]
    asked += [kmer[:k] for kmer in absent]
    answers = [wanted.get(kmer if stranded else min(kmer, reverse(kmer)), 0) for kmer in asked]
    expect(quietly(s, "query", name, *asked),
           "".join(f"{kmer}\t{answer}\n" for kmer, answer in zip(asked, answers)), f"query {name}")
    in_range = "".join(f"{kmer}\t{wanted[kmer]}\n" for kmer in sorted(wanted)
                       if "AC" <= kmer < "G")
    expect(quietly(s, "range", name, "AC", "C"), in_range, f"range {name}")
    quietly(s, "check", name)


def test_read():
    s = Session()
    for path, k, stranded, dump in stores():
        shutil.copy(path, s.path)
        expect(quietly(s, "dump", path.name), dump, f"dump {path.name}")
        check_file(s, path.name, k, stranded, pairs(dump))
        report = json.loads(quietly(s, "info", path.name, "--json"))
        nruns = 3 if "tombstones" in path.name else 2 if "two" in path.name else 1
        version = 2 if report["hpc"] or report["only"] else 1
        expect((report["k"], report["stranded"], report["runs"], report["version"]),
               (k, stranded, nruns, version), f"info {path.name}")
        expect((report["hpc"], report["only"]), ("-hpc-" in path.name, "-only-" in path.name),
               f"info {path.name}")
        expect((report["min_count_is_mixed"], report["max_count_is_mixed"]),
               ("mixed" in path.name,) * 2, f"bounds of {path.name}")
        names = INPUTS.get(path.stem.partition("-")[2], ["a.fa", "b.fa"])
        expect(report["inputs"], names, f"inputs of {path.name}")
        expect((s.path / path.name).read_bytes() == path.read_bytes(), True,
               "reading changes nothing")


def test_grow():
    s = Session()
    s.write("extra.fa", f">x\n{EXTRA}\n")
    for path, k, stranded, dump in stores():
        shutil.copy(path, s.path)
        model = collections.Counter(pairs(dump))
        extra = compress(EXTRA) if "-hpc-" in path.name else EXTRA
        only = ["--only", GOLDEN / "inputs/b.fa"] if "-only-" in path.name else []
        added = count(extra, k, stranded)
        if only:  # the set has one of these
            added = {"A" * k: added["A" * k]}
        model.update(added)
        s.kcount("add", path.name, "extra.fa", "--quiet", *only)
        expect("lacks k-mers that --min" in s.said,
               "filtered" in path.name or "mixed" in path.name, s.said)
        check_file(s, path.name, k, stranded, model)
        quietly(s, "remove", path.name, "-f", "extra.fa", "--quiet")
        for kmer in count(extra, k, stranded):
            model.pop(kmer, None)
        check_file(s, path.name, k, stranded, model)
        quietly(s, "merge", path.name, "-o", "merged.kc", "--force", "--quiet")
        quietly(s, "compact", path.name, "--quiet")
        expect((s.path / path.name).read_bytes() == (s.path / "merged.kc").read_bytes(), True,
               f"{path.name}: compact and merge")
        check_file(s, path.name, k, stranded, model)


def test_same_bytes():
    """Files in the newest format are written byte for byte as before."""
    s = Session()
    shutil.copytree(GOLDEN / "inputs", s.path / "inputs")
    done = subprocess.run(["sh", GOLDEN / "make.sh", KCOUNT, NEWEST, s.path], cwd=s.path,
                          stderr=subprocess.PIPE)
    expect((done.returncode, done.stderr), (0, b""), "make.sh")
    for path in GOLDEN.glob(f"{NEWEST}-*.kc"):
        if (s.path / path.name).read_bytes() != path.read_bytes():
            raise Failure(f"{path.name} is written differently")


def test_compact_old():
    """compact turns a one-run file of an earlier version into what is written today."""
    s = Session()
    for path in GOLDEN.glob("footer1-*.kc"):
        newest = GOLDEN / path.name.replace("footer1", NEWEST)
        if "-two-" in path.name:
            continue
        shutil.copy(path, s.path)
        quietly(s, "compact", path.name, "--quiet")
        expect((s.path / path.name).read_bytes() == newest.read_bytes(), True,
               f"{path.name} after compact")


if __name__ == "__main__":
    main([test_read, test_grow, test_same_bytes, test_compact_old])
