"""
add, remove, compact, merge, union, intersect, subtract: compared with dictionaries and, if the
result must be what counting all reads at once gives, byte for byte with that. With DEVICE, whatever
can run on the device does.

    lsm.py KCOUNT SOURCE [DEVICE]
"""
import collections
import json
import random
import subprocess
import sys

from lib import session
from lib.model import (COMPLEMENT, MOST, OPERATIONS, between, canonical, combine, count, histogram,
                       lines)
from lib.session import expect
from lib.tools import SKIPPED, SMALL, main

DEVICE = sys.argv[3] if len(sys.argv) > 3 else None
if DEVICE and subprocess.run([sys.argv[1], "info", "--devices"]).returncode != 0:
    sys.exit(SKIPPED)
ON_DEVICE = ("add", "remove", "compact", "merge", "union", "intersect", "subtract")
CASES = ((4, False), (11, True), (21, False), (32, False), (33, False), (64, True), (65, False),
         (101, True), (255, False))
if SMALL:
    CASES = CASES[1::3]


class Session(session.Session):
    def kcount(self, command, *arguments, **how):
        """On a device, use the shortest ranges and runs of few k-mers, so that there are many."""
        if DEVICE and command in ON_DEVICE:
            arguments += ("--device", DEVICE, "--gpu-batch", 4096, "--gpu-memory", "1G")
        return super().kcount(command, *arguments, **how)


def random_reads(rng, genome, n, k):
    reads = []
    for _ in range(n):
        start = rng.randrange(len(genome) - 300)
        read = list(genome[start:start + rng.choice((k - 1, k, k + 1, 100, 280, 300))])
        for _ in range(rng.choice((0, 0, 1, 2))):
            read[rng.randrange(len(read))] = rng.choice("ACGTN")
        reads.append("".join(read))
    return reads


def fasta(reads):
    return "".join(f">{i}\n{read}\n" for i, read in enumerate(reads))


def check(s, rng, name, model, what, k):
    """Every way to read a file agrees with the model."""
    expect(s.kcount("dump", name, "-t", rng.choice((1, 3))), lines(model), f"{what}: dump")
    expect(s.kcount("hist", name, "-t", rng.choice((1, 2, 5)), "--max-count", MOST),
           histogram(model), f"{what}: hist")
    s.kcount("check", name)
    asked = rng.sample(sorted(model), min(len(model), 30)) + ["".join(rng.choices("ACGT", k=k))
                                                              for _ in range(5)]
    stranded = json.loads(s.kcount("info", name, "--json"))["stranded"]
    wanted = "".join(f"{kmer}\t{model.get(canonical(kmer, stranded), 0)}\n" for kmer in asked)
    s.write("asked", "\n".join(asked) + "\n")
    expect(s.kcount("query", name, "-f", "asked"), wanted, f"{what}: query")
    bounds = sorted("".join(rng.choices("ACGT", k=min(k, 6))) for _ in range(2))
    inside = between(model, k, *bounds)
    expect(s.kcount("range", name, *bounds), lines(inside), f"{what}: range {bounds}")
    expect(s.kcount("range", name, *bounds, "--count"), f"{len(inside)}\t{sum(inside.values())}\n",
           f"{what}: range --count")


def test_histories():
    """Long random histories of changes to one file."""
    for number, (k, stranded) in enumerate(CASES):
        rng = random.Random(number)
        genome = "".join(rng.choices("ACGT", k=2000 + 300))
        s = Session()
        model = count(["ACGT" * 100], k, stranded)
        s.write("first.fa", fasta(["ACGT" * 100]))
        s.kcount("first.fa", "-k", k, *(["--stranded"] if stranded else []), "-o", "db.kc",
                 "--quiet")
        for step in range(7):
            what = f"k={k} stranded={stranded} step {step}"
            action = rng.choice(("add", "add", "remove", "remove", "remove few", "compact"))
            if action == "add":
                reads = random_reads(rng, genome, 40, k)
                s.write("more.fa", fasta(reads))
                s.kcount("add", "db.kc", "more.fa", "-t", rng.choice((1, 2)))
                for kmer, n in count(reads, k, stranded).items():
                    model[kmer] = model.get(kmer, 0) + n
            elif action == "remove":
                reads = random_reads(rng, genome, 10, k)
                s.write("gone.fa", fasta(reads))
                s.kcount("remove", "db.kc", "-f", "gone.fa", "-t", rng.choice((1, 2)))
                for kmer in count(reads, k, stranded):
                    model.pop(kmer, None)
            elif action == "remove few":
                gone = rng.sample(sorted(model), min(3, len(model))) + ["C" * k]
                asked = [kmer.translate(COMPLEMENT)[::-1] if not stranded else kmer
                         for kmer in gone]
                s.write("gone.txt", "".join(f"{kmer}\t7\n" for kmer in asked[1:]))
                s.kcount("remove", "db.kc", asked[0].lower(), "-f", "gone.txt")
                for kmer in gone:
                    model.pop(canonical(kmer, stranded), None)
            else:
                s.kcount("compact", "db.kc", "-t", rng.choice((1, 2, 5)))
                expect(json.loads(s.kcount("info", "db.kc", "--json"))["runs"], 1, f"{what}: runs")
            check(s, rng, "db.kc", model, f"{what} after {action}", k)
        before = json.loads(s.kcount("info", "db.kc", "--json"))
        s.kcount("compact", "db.kc")
        after = json.loads(s.kcount("info", "db.kc", "--json"))
        for key in ("counted_kmers", "reads", "bases", "skipped_letters", "inputs"):
            expect(after[key], before[key], f"k={k}: {key} after compact")
        expect((after["distinct"], after["sum"], after["tombstones"]),
               (len(model), sum(model.values()), 0), f"k={k}: info after compact")


def test_same_bytes():
    """add and compact, or merge, give what counting everything at once gives."""
    for number, (k, stranded) in enumerate(CASES):
        rng = random.Random(100 + number)
        genome = "".join(rng.choices("ACGT", k=30000))
        s, strands = Session(), ["--stranded"] if stranded else []
        for name in "abc":
            s.write(name + ".fa", fasta(random_reads(rng, genome, 300, k)))
            s.kcount(name + ".fa", "-k", k, *strands)
        all_at_once = lambda *options: s.kcount("a.fa", "b.fa", "c.fa", "-k", k, *strands, *options,
                                                "--force", "-o", "all.kc")
        read = lambda name: (s.path / name).read_bytes()
        same = lambda name, what: expect(read(name) == read("all.kc"), True,
                                         f"k={k} {what}: same bytes")
        all_at_once()
        s.kcount("merge", "a.kc", "b.kc", "c.kc", "-o", "m.kc")
        same("m.kc", "merge")
        s.kcount("a.fa", "-k", k, *strands, "-o", "d.kc")
        s.kcount("add", "d.kc", "b.fa", "-t", 1)
        s.kcount("merge", "d.kc", "c.kc", "-o", "e.kc", "-t", 5)
        same("e.kc", "merge of a file of two runs")
        s.kcount("add", "d.kc", "c.fa")
        (s.path / "runs.kc").write_bytes((s.path / "d.kc").read_bytes())
        s.kcount("compact", "d.kc")
        same("d.kc", "add and compact")
        for bounds in (["--min", 2], ["--max", 3], ["--min", 2, "--max", 5]):
            all_at_once(*bounds)
            s.kcount("merge", "a.kc", "b.kc", "c.kc", "-o", "m.kc", "--force", *bounds)
            same("m.kc", f"merge {bounds}")
            (s.path / "d.kc").write_bytes((s.path / "runs.kc").read_bytes())
            s.kcount("compact", "d.kc", *bounds)
            same("d.kc", f"compact {bounds}")
            s.kcount("union", "runs.kc", "-o", "m.kc", "--force", *bounds)
            same("m.kc", f"union of one {bounds}")


def files_of_all_kinds(s, rng, k, stranded):
    """Files of one run or several, with or without tombstones, or empty; returns their models."""
    genome, models = "".join(rng.choices("ACGT", k=1000)), {}
    strands = ["--stranded"] if stranded else []
    for name in ("one", "runs", "tombs", "buried"):
        reads = random_reads(rng, genome, 60, k)
        s.write("x.fa", fasta(reads))
        s.kcount("x.fa", "-k", k, *strands, "-o", name + ".kc")
        models[name] = collections.Counter(count(reads, k, stranded))
        for _ in range(0 if name == "one" else 3):
            more = random_reads(rng, genome, 20, k)
            s.write("x.fa", fasta(more))
            if name == "tombs" and rng.random() < 0.7:
                s.kcount("remove", "tombs.kc", "-f", "x.fa")
                for kmer in count(more, k, stranded):
                    del models[name][kmer]
            else:
                s.kcount("add", name + ".kc", "x.fa")
                models[name] += collections.Counter(count(more, k, stranded))
    s.kcount("dump", "buried.kc", "-o", "all.txt")
    s.kcount("remove", "buried.kc", "-f", "all.txt")
    models["buried"] = {}
    s.write("x.fa", ">x\nA\n")
    s.kcount("x.fa", "-k", k, *strands, "-o", "none.kc")
    models["none"] = {}
    return {name: dict(model) for name, model in models.items()}


def test_operations():
    for number, (k, stranded) in enumerate(CASES[:-1]):
        rng = random.Random(200 + number)
        s = Session()
        models = files_of_all_kinds(s, rng, k, stranded)
        for operation, rules in OPERATIONS.items():
            for given, rule in rules.items():
                names = rng.choices(sorted(models), k=rng.choice((2, 2, 3, 5)))
                least, most = rng.choice(((1, MOST), (1, MOST), (2, MOST), (1, 4), (2, 6)))
                call = [operation, *(name + ".kc" for name in names),
                        *(["--counts", given] if given else []),
                        *(["--min", least] if least > 1 else []),
                        *(["--max", most] if most < MOST else [])]
                report = json.loads(s.kcount(*call, "-o", "out.kc", "--force", "--json", "-t",
                                             rng.choice((1, 2, 5))))
                kind = "union" if operation == "merge" else operation
                wanted = {kmer: n for kmer,
                          n in combine(kind, rule, [models[name] for name in names]).items()
                          if least <= n <= most}
                what = f"k={k} {call}"
                expect(s.kcount("dump", "out.kc"), lines(wanted), what)
                expect((report["distinct"], report["sum"], report["operation"], report["counts"]),
                       (len(wanted), sum(wanted.values()), kind, rule), what)
                if rng.random() < 0.3:
                    s.kcount("check", "out.kc")
        s.kcount("merge", "none.kc", "-o", "out.kc", "--force")
        expect((s.path / "out.kc").read_bytes() == (s.path / "none.kc").read_bytes(), True,
               "merge of nothing")


def test_merge_of_parts():
    """Merging files gives the same as merging them after compact, with tombstones or without."""
    s = Session()
    files_of_all_kinds(s, random.Random(7), 15, False)
    names = ["runs.kc", "tombs.kc", "buried.kc"]
    s.kcount("merge", *names, "-o", "m.kc")
    for name in names:
        s.kcount("compact", name)
    s.kcount("merge", *names, "-o", "n.kc")
    expect((s.path / "m.kc").read_bytes() == (s.path / "n.kc").read_bytes(), True,
           "merge of compact files")


def test_filtered_files():
    """The result keeps the bounds of the files' own filters where they still hold."""
    s = Session()
    s.write("x.fa", fasta(["ACGTTGCATTACG" * 3, "ACGTTGCATTT", "GGGGGGGGGGG"]))
    s.kcount("x.fa", "-k", 5, "--min", 2, "--max", 4, "-o", "f.kc")
    s.kcount("merge", "f.kc", "-o", "g.kc")
    expect((s.path / "f.kc").read_bytes() == (s.path / "g.kc").read_bytes(), True,
           "merge of a filtered file")
    s.kcount("merge", "f.kc", "f.kc", "-o", "h.kc")
    s.kcount("check", "h.kc")
    report = json.loads(s.kcount("info", "h.kc", "--json"))
    expect((report["min_count"], report["max_count"]), (2, MOST), "bounds of two filtered files")
    for bounds in (["--max", 1], ["--min", 5]):
        s.kcount("merge", "f.kc", *bounds, "-o", "i.kc", "--force")
        expect(s.kcount("dump", "i.kc"), "", f"merge of a filtered file with {bounds}")
        s.kcount("check", "i.kc")
    for rule in ("min", "difference", "left"):
        s.kcount("intersect", "f.kc", "h.kc", "--counts", rule, "-o", "i.kc", "--force")
        s.kcount("check", "i.kc")


def test_summaries():
    s = Session()
    s.kcount("a.fq", "-k", 3)
    s.write("b.fa", ">b\nACGTACN\n")
    report = json.loads(s.kcount("add", "a.kc", "b.fa", "--json"))
    for key, value in {"output": "a.kc", "inputs": ["b.fa"], "runs": 2, "kmers": 4, "distinct": 2,
                       "reads": 1, "bases": 7, "skipped_letters": 1, "k": 3,
                       "stranded": False}.items():
        expect(report[key], value, f"add --json, {key}")
    expect("added to a.kc, now 2 runs" in s.said, True, "summary of add")
    report = json.loads(s.kcount("remove", "a.kc", "ACG", "-f", "b.fa", "--json"))
    for key, value in {"output": "a.kc", "runs": 3, "k": 3, "sequences": 2, "distinct": 2,
                       "skipped_letters": 1, "short_sequences": 0}.items():
        expect(report[key], value, f"remove --json, {key}")
    expect("1 letter outside ACGTU" in s.said and "removed from a.kc, now 3 runs" in s.said, True,
           "summary of remove")
    report = json.loads(s.kcount("info", "a.kc", "--json"))
    expect((report["runs"], report["tombstone_runs"], report["tombstones"], report["inputs"]),
           (3, 1, 2, ["a.fq", "b.fa"]), "info --json")
    expect("k-mers in these        2\n" in s.kcount("info", "a.kc"), True, "info")
    report = json.loads(s.kcount("compact", "a.kc", "--json"))
    for key, value in {"output": "a.kc", "runs_read": 3, "written": True,
                       "dropped_distinct": 2}.items():
        expect(report[key], value, f"compact --json, {key}")
    expect(json.loads(s.kcount("compact", "a.kc", "--json"))["written"], False,
           "compact of one run")
    for call in (["add", "a.kc", "b.fa"], ["remove", "a.kc", "ACG"], ["compact", "a.kc"],
                 ["merge", "a.kc", "-o", "c.kc"]):
        s.kcount(*call, "--quiet")
        expect(s.said, "", f"standard error of {call} --quiet")


def fails(s, *arguments, message, code=1):
    before = {name: (s.path / name).read_bytes() for name in s.names()}
    expect(s.kcount(*arguments, code=code, message=message), "", "standard output of a failure")
    after = {name: (s.path / name).read_bytes() for name in s.names()}
    expect(after == before, True, f"{arguments} leaves all as it was")


def test_failures():
    s = Session()
    s.kcount("a.fq", "-k", 3)
    s.kcount("a.fq", "-k", 4, "-o", "four.kc")
    s.kcount("a.fq", "-k", 3, "--stranded", "-o", "strands.kc")
    good = (s.path / "a.kc").read_bytes()
    s.write("cut.kc", good[:-9])
    s.write("flipped.kc", good[:200] + bytes([good[200] ^ 1]) + good[201:])
    s.write("cut.fq", "@r\nACGT\n+\nII\n")
    s.write("short.fa", ">x\nAC\n")
    for call in (["merge"], ["union"], ["intersect"], ["subtract"]):
        fails(s, *call, "a.kc", "four.kc", "-o", "x.kc", message="four.kc has k = 4", code=2)
        fails(s, *call, "a.kc", "strands.kc", "-o", "x.kc",
              message="strands.kc holds stranded ones", code=2)
        fails(s, *call, "a.kc", "cut.kc", "-o", "x.kc", message="cut.kc")
        fails(s, *call, "a.kc", "flipped.kc", "-o", "x.kc", message="flipped.kc")
        fails(s, *call, "a.kc", "nowhere.kc", "-o", "x.kc", message="nowhere.kc")
        fails(s, *call, "a.kc", "a.kc", "-o", "four.kc", message="four.kc already exists")
        fails(s, *call, "four.kc", "four.kc", "-o", "four.kc", "--force",
              message="four.kc is an input", code=2)
        fails(s, *call, "a.kc", "a.kc", "-o", "nowhere/x.kc", message="nowhere")
        fails(s, *call, "a.kc", "a.kc", message="output", code=2)
        fails(s, *call, "a.kc", "a.kc", "-o", "-", message="standard output", code=2)
        fails(s, *call, "a.kc", "a.kc", "-o", "x.kc", "--min", 5, "--max", 4, message="--min",
              code=2)
        fails(s, *call, "-o", "x.kc", message="", code=2)
    fails(s, "union", "a.kc", "--counts", "mean", "-o", "x.kc", message="'mean' is not one of",
          code=2)
    fails(s, "subtract", "a.kc", "a.kc", "--counts", "max", "-o", "x.kc",
          message="'max' is not one of left or difference", code=2)
    fails(s, "subtract", "a.kc", "-o", "x.kc", message="", code=2)
    for call in (["add", "DB", "a.fq"], ["remove", "DB", "ACG"], ["compact", "DB"]):
        for name in ("nowhere.kc", "cut.kc", "a.fq"):
            fails(s, *(name if word == "DB" else word for word in call), message=name)
    fails(s, "compact", "flipped.kc", "--min", 2, message="flipped.kc")
    fails(s, "add", "a.kc", "cut.fq", message="cut.fq")
    fails(s, "add", "a.kc", "nowhere.fq", message="nowhere.fq")
    fails(s, "add", "a.kc", "a.kc", message="a.kc is an input and the output", code=2)
    fails(s, "add", "a.kc", message="", code=2)
    fails(s, "remove", "a.kc", message="needs a SEQUENCE", code=2)
    fails(s, "remove", "a.kc", "AC", message="'AC' is 2 letters long", code=2)
    fails(s, "remove", "a.kc", "ACX", message="letter 3", code=2)
    fails(s, "remove", "a.kc", "-f", "nowhere", message="nowhere")
    fails(s, "remove", "a.kc", "-f", "cut.fq", message="cut.fq")
    s.kcount("remove", "a.kc", "-f", "short.fa", message="no k-mer to remove")
    expect((s.path / "a.kc").read_bytes() == good, True, "nothing to remove")


main([test_histories, test_same_bytes, test_operations, test_merge_of_parts, test_filtered_files,
      test_summaries, test_failures])
