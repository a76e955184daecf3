"""
kcount against jellyfish or kmc on the real reads in data/.

    peers.py KCOUNT jellyfish|kmc DATA
"""
import gzip
import pathlib
import shutil
import sys
import tempfile

from lib.counters import PEERS, in_order
from lib.tools import SKIPPED, Failure, main, run, same_text

KCOUNT, DATA = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[3])
KMERS = (15, 21, 31, 33, 55, 77)


def readable(path):
    """The text of a file that both peers can read, or None: they want FASTQ or FASTA, without U."""
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return text if text[:1] in (b"@", b">") and b"\nU" not in text and b"UU" not in text else None


def compare():
    """All files of a format in one call, because kmc takes a second for a call."""
    peer = PEERS[sys.argv[2]]
    for pattern in ("*.f*q.gz", "*.fa*.gz"):
        texts = {path: readable(path) for path in sorted(DATA.glob(pattern))}
        paths = [path for path, text in texts.items() if text is not None]
        for k in KMERS:
            with tempfile.TemporaryDirectory() as folder:
                folder = pathlib.Path(folder)
                (folder / "reads").write_bytes(b"".join(texts[path] for path in paths))
                theirs = in_order(peer(folder / "reads", k, folder))
                run(KCOUNT, *paths, "-k", k, "-t", 2, "--quiet", "-o", folder / "ours.kc")
                ours = run(KCOUNT, "dump", folder / "ours.kc")
                same_text(ours, theirs, f"{pattern} k={k} against {sys.argv[2]}")


def kmc_operations(folder, k):
    """(our call, their text) for each operation of kmc_tools that kcount also has."""
    for name in "ab":
        run("kmc", f"-k{k}", "-ci1", "-cs4294967295", "-m2", "-t2", "-fq", folder / name,
            folder / f"{name}.kmc", folder)
    rules = ("", "min", "max", "sum", "left", "right")
    for theirs, rule in (*(("union", rule) for rule in rules),
                         *(("intersect", rule) for rule in rules),
                         ("intersect", "diff"), ("kmers_subtract", ""), ("counters_subtract", "")):
        run("kmc_tools", "simple", folder / "a.kmc", folder / "b.kmc", theirs, folder / "c.kmc",
            *([f"-oc{rule}"] if rule else []), "-ci1", "-cs4294967295")
        run("kmc_tools", "transform", folder / "c.kmc", "dump", "-s", folder / "c.txt")
        ours = {"kmers_subtract": "subtract", "counters_subtract": "subtract"}.get(theirs, theirs)
        rule = "difference" if rule == "diff" or theirs == "counters_subtract" else rule
        yield [ours, *(["--counts", rule] if rule else [])], (folder / "c.txt").read_bytes()


def jellyfish_operations(folder, k):
    for name in "ab":
        run("jellyfish", "count", "-m", k, "-C", "-s", "10M", "-t", 2, "-o", folder / f"{name}.jf",
            folder / name)
    for option, call in (([], ["merge"]), (["--max"], ["union", "--counts", "max"])):
        run("jellyfish", "merge", *option, "-o", folder / "c.jf", folder / "a.jf", folder / "b.jf")
        yield call, run("jellyfish", "dump", "-c", "-t", folder / "c.jf")


def jellyfish_dumps(reads, k, folder):
    """(our options, what the other program prints)"""
    run("jellyfish", "count", "-m", k, "-C", "-s", "10M", "-o", folder / "theirs.jf", reads)
    for ours, theirs in ((["--fasta"], []), (["--columns", "space"], ["-c"]),
                         (["--columns", "tab"], ["-c", "-t"])):
        yield ours, run("jellyfish", "dump", *theirs, folder / "theirs.jf")


def kmc_dumps(reads, k, folder):
    run("kmc", f"-k{k}", "-ci1", "-cs4294967295", "-m2", "-t2", "-fq", reads, folder / "theirs",
        folder)
    for call in (["kmc_dump"], ["kmc_tools", "transform"]):
        run(*call, folder / "theirs", *(["dump"] if len(call) > 1 else []), folder / "theirs.txt")
        yield ["--columns", "tab"], (folder / "theirs.txt").read_bytes()


DUMPS = {"jellyfish": jellyfish_dumps, "kmc": kmc_dumps}


def records(text):
    """The records of a dump, in order: a FASTA record has two lines."""
    lines = text.splitlines()
    return sorted(zip(lines[::2], lines[1::2]) if text.startswith(b">") else lines)


def compare_dumps():
    """The same lines, in our order."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "reads").write_bytes(gzip.decompress((DATA / "phage.fq.gz").read_bytes()))
        run(KCOUNT, folder / "reads", "-k", 25, "--quiet", "-o", folder / "ours.kc")
        for options, theirs in DUMPS[sys.argv[2]](folder / "reads", 25, folder):
            ours = run(KCOUNT, "dump", folder / "ours.kc", *options)
            if len(ours) != len(theirs) or records(ours) != records(theirs):
                raise Failure(f"dump {' '.join(options)} is not what {sys.argv[2]} prints")


def compare_histograms():
    """hist --jellyfish is jellyfish histo, to the byte."""
    if sys.argv[2] != "jellyfish":
        return
    for name, k in (("phage.fq.gz", 21), ("hairpin.fa.gz", 3)):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            text = gzip.decompress((DATA / name).read_bytes())
            (folder / "reads").write_bytes(text.replace(b"U", b"T")
                                           if name.startswith("hairpin") else text)
            run("jellyfish", "count", "-m", k, "-C", "-s", "10M", "-o", folder / "theirs.jf",
                folder / "reads")
            run(KCOUNT, folder / "reads", "-k", k, "--quiet", "-o", folder / "ours.kc")
            for high in (1, 2, 7, 100, 10000):
                ours = run(KCOUNT, "hist", "--jellyfish", "--max-count", high, folder / "ours.kc")
                same_text(ours, run("jellyfish", "histo", "-h", high, folder / "theirs.jf"),
                          f"{name} histo -h {high}")
            ours = run(KCOUNT, "hist", "--jellyfish", folder / "ours.kc")
            same_text(ours, run("jellyfish", "histo", folder / "theirs.jf"), f"{name} histo")


def compare_positions():
    """profile --positions has the counts that jellyfish query -s prints, in the same order."""
    if sys.argv[2] != "jellyfish":
        return
    for name, k in (("phage.fq.gz", 21), ("worm.fa.gz", 31)):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "reads").write_bytes(gzip.decompress((DATA / name).read_bytes()))
            run("jellyfish", "count", "-m", k, "-C", "-s", "10M", "-o", folder / "theirs.jf",
                folder / "reads")
            run(KCOUNT, folder / "reads", "-k", k, "--quiet", "-o", folder / "ours.kc")
            theirs = run("jellyfish", "query", "-s", folder / "reads", folder / "theirs.jf")
            ours = run(KCOUNT, "profile", folder / "ours.kc", folder / "reads", "--positions")
            same_text(b"\n".join(line.rsplit(b"\t", 1)[1] for line in ours.splitlines()),
                      b"\n".join(line.rsplit(b" ", 1)[1] for line in theirs.splitlines()),
                      f"positions of {name}")


OPERATIONS = {"jellyfish": jellyfish_operations, "kmc": kmc_operations}


def compare_operations():
    """Two halves of the same reads: many k-mers in common, many not."""
    text = gzip.decompress((DATA / "phage.fq.gz").read_bytes())
    half = 4 * (text.count(b"\n") // 8)
    lines = text.splitlines(keepends=True)
    for k in (15, 31, 55):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "a").write_bytes(b"".join(lines[:half]))
            (folder / "b").write_bytes(b"".join(lines[half:]))
            for name in "ab":
                run(KCOUNT, folder / name, "-k", k, "--quiet", "-o", folder / f"{name}.kc")
            for call, theirs in OPERATIONS[sys.argv[2]](folder, k):
                run(KCOUNT, *call, folder / "a.kc", folder / "b.kc", "-o", folder / "c.kc",
                    "--force", "--quiet")
                same_text(run(KCOUNT, "dump", folder / "c.kc"), in_order(theirs),
                          f"k={k} {call} against {sys.argv[2]}")


if __name__ == "__main__":
    if shutil.which(sys.argv[2]) is None:
        print(f"{sys.argv[2]} is not installed: skipped")
        sys.exit(SKIPPED)
    main([compare_dumps, compare_histograms, compare_positions, compare_operations, compare])
