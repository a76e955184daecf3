"""
compare and hist --gc: every row is what counting with dictionaries gives, for all widths of k-mers,
strands, several runs, saturated counts and numbers of threads; KAT's matrices; what is refused.

    app_compare.py KCOUNT SOURCE [DEVICE]
"""
import collections
import gzip
import json
import random
import sys

from lib.model import MOST, count
from lib.devices import devices
from lib.session import SOURCE, Session, expect
from lib.tools import main, same_text

NAMES = "abc"
DEVICE = sys.argv[3] if len(sys.argv) > 3 else "cpu"
if DEVICE != "cpu":
    devices(1)  # or the test is skipped


def compare(s, *arguments, **how):
    return s.kcount("compare", *arguments, "--device", DEVICE, **how)


def joint_rows(models, most=None):
    """[(counts, distinct, sums)] in order; counts over most[i] are most[i] + 1."""
    most = most or [MOST] * len(models)
    cells = collections.defaultdict(lambda: [0] * (len(models) + 1))
    for kmer in set().union(*models):
        counts = [model.get(kmer, 0) for model in models]
        cell = cells[tuple(min(n, bound + 1) for n, bound in zip(counts, most))]
        for i, n in enumerate([1, *counts]):
            cell[i] += n
    return [(*counts, *cell) for counts, cell in sorted(cells.items())]


def table(rows, names):
    return "".join("\t".join(map(str, row)) + "\n" for row in (names, *rows))


def joint_table(models, most=None):
    n = len(models)
    return table(joint_rows(models, most), [f"count_{c}" for c in NAMES[:n]] + ["distinct"]
                 + [f"sum_{c}" for c in NAMES[:n]])


def gc_rows(model, low=1, high=MOST, last=10000):
    cells = collections.defaultdict(lambda: [0, 0])
    for kmer, n in model.items():
        if low <= n <= high:
            cell = cells[kmer.count("C") + kmer.count("G"), min(n, last)]
            cell[0] += 1
            cell[1] += n
    return [(*place, *cell) for place, cell in sorted(cells.items())]


def gc_table(model, **how):
    return table(gc_rows(model, **how), ["gc", "count", "distinct", "sum"])


def parse_matrix(text):
    """Read as by KAT's scripts: {key: value} of the header, and the rows."""
    head, _, body = text.partition("###\n")
    lines = [line.removeprefix("# ").partition(":") for line in head.splitlines()]
    return ({key: value for key, _, value in lines},
            [list(map(int, line.split(" "))) for line in body.splitlines()])


def check_joint(s, files, models, *options, most=None, **how):
    for threads in 1, 3:
        same_text(compare(s, *files, "-t", threads, *options, **how),
                  joint_table(models, most), f"compare {' '.join(files)}, {threads} threads")


def check_gc(s, file, model):
    for threads in 1, 3:
        same_text(s.kcount("hist", "--gc", file, "-t", threads), gc_table(model),
                  f"hist --gc {file}, {threads} threads")


def scene(rng, nbases):
    """Reads with errors; an assembly that has a piece twice; another one with other errors."""
    genome = "".join(rng.choices("ACGT", k=nbases))
    reads = [genome[at:at + 280] for at in rng.choices(range(nbases - 280), k=nbases // 40)]
    reads = [read[:at] + rng.choice("ACGTN") + read[at + 1:]
             for read in reads for at in [rng.randrange(280)]]
    return [reads, [genome, genome[:nbases // 4]], [genome[nbases // 3:] + "A" * 300]]


def write(s, name, reads):
    s.write(name, "".join(f">r\n{read}\n" for read in reads))


def test_all_widths():
    s, rng = Session(), random.Random(1)
    for number, k in enumerate((1, 2, 31, 32, 33, 64, 65, 128, 255)):
        stranded, models = number % 2 == 1, []
        for name, reads in zip(NAMES, scene(rng, 2000)):
            write(s, name + ".fa", reads)
            s.kcount(name + ".fa", "-k", k, "-o", name + ".kc", "--force", "--quiet",
                     *(["--stranded"] if stranded else []))
            models.append(count(reads, k, stranded))
        files = [name + ".kc" for name in NAMES]
        check_joint(s, files[:2], models[:2])
        check_joint(s, files, models)
        check_gc(s, "a.kc", models[0])


def test_real_reads():
    s = Session()
    lines = gzip.decompress((SOURCE / "data/phage.fq.gz").read_bytes()).decode().splitlines()
    reads = lines[1::4][:1500]
    models = []
    for name, part in zip(NAMES, (reads[:700], reads[700:])):
        write(s, name + ".fa", part)
        s.kcount(name + ".fa", "-k", 21, "--quiet")
        models.append(count(part, 21, False))
    check_joint(s, ["a.kc", "b.kc"], models)
    check_gc(s, "a.kc", models[0])
    wanted = joint_rows(models)
    got = json.loads(compare(s, "a.kc", "b.kc", "--json"))
    expect(got["rows"], [list(row) for row in wanted], "rows of --json")
    expect(got["device"], {"cuda": "cuda:0"}.get(DEVICE, DEVICE), "device")
    expect(got.get("device_ranges"), 1 if DEVICE == "cuda" else None, "device_ranges")
    expect("device_peak_memory_bytes" in got, DEVICE == "cuda", "device_peak_memory_bytes")
    expect(got["columns"], ["count_a", "count_b", "distinct", "sum_a", "sum_b"], "columns")
    expect(got["distinct"], len(models[0].keys() | models[1].keys()), "distinct")
    expect(got["distinct_in_all"], len(models[0].keys() & models[1].keys()), "distinct_in_all")
    expect(got["distinct_in"], [len(model) for model in models], "distinct_in")
    expect(got["distinct_only_in"], [len(models[0].keys() - models[1].keys()),
                                     len(models[1].keys() - models[0].keys())], "distinct_only_in")
    got = json.loads(s.kcount("hist", "--gc", "a.kc", "--json"))
    expect(got["rows"], [list(row) for row in gc_rows(models[0])], "rows of hist --gc --json")
    # a file, and what is said about it
    printed = json.loads(compare(s, "a.kc", "b.kc", "-o", "joint.tsv", "--json"))
    same_text(s.read("joint.tsv"), joint_table(models), "compare -o")
    expect("rows" in printed, False, "rows beside a file")
    expect(printed["distinct"], len(models[0].keys() | models[1].keys()), "distinct beside a file")
    expect(s.said.startswith(f"{printed['distinct']:,} distinct 21-mers, "
                             f"{printed['distinct_in_all']:,} in all files\n"), True, s.said)
    expect("compared on cuda:0, " in s.said, DEVICE == "cuda", s.said)
    if DEVICE == "cuda":
        same_text(compare(s, "a.kc", "b.kc", "--gpu-batch", 10000, "--gpu-memory", "256M",
                          "--gpu-trace", "trace.json"), joint_table(models), "range by range")
        expect("join" in s.read("trace.json"), True, "trace")


def test_runs():
    """Runs are added up, removed k-mers are absent, and sums stop at the largest count."""
    s, rng = Session(), random.Random(2)
    k, (reads, contigs, _) = 5, scene(rng, 400)
    write(s, "reads.fa", reads)
    write(s, "contigs.fa", contigs)
    a, b = count(reads, k, False), count(contigs, k, False)
    s.kcount("reads.fa", "-k", k, "-o", "a.kc")
    s.kcount("contigs.fa", "-k", k, "-o", "b.kc")
    s.kcount("add", "a.kc", "contigs.fa")
    removed = sorted(b)[::3]
    s.write("gone.txt", "".join(kmer + "\n" for kmer in removed))
    s.kcount("remove", "a.kc", "-f", "gone.txt")
    s.kcount("add", "a.kc", "reads.fa")
    sums = {kmer: (0 if kmer in removed else a.get(kmer, 0) + b.get(kmer, 0)) + a.get(kmer, 0)
            for kmer in a | b}
    sums = {kmer: n for kmer, n in sums.items() if n > 0}
    check_joint(s, ["a.kc", "b.kc"], [sums, b])
    check_joint(s, ["b.kc", "a.kc", "b.kc"], [b, sums, b])
    check_joint(s, ["a.kc", "a.kc"], [sums, sums])
    check_gc(s, "a.kc", sums)
    large = {kmer: MOST - i for i, kmer in enumerate(sorted(b)[:9])}
    s.write("large.tsv", "".join(f"{kmer}\t{n}\n" for kmer, n in large.items()))
    s.kcount("import", "large.tsv", "-o", "c.kc")
    s.kcount("add", "c.kc", "contigs.fa")
    sums = {kmer: min(MOST, large.get(kmer, 0) + b.get(kmer, 0)) for kmer in large | b}
    check_joint(s, ["c.kc", "b.kc"], [sums, b])
    check_joint(s, ["c.kc", "b.kc"], [sums, b], "--max-count", f"{MOST - 1},3", most=[MOST - 1, 3])
    check_gc(s, "c.kc", sums)


def test_bounds():
    """Counts above --max-count are taken together; --min and --max of hist leave counts out."""
    s, rng = Session(), random.Random(3)
    models = []
    for name, reads in zip(NAMES, scene(rng, 300)):
        write(s, name + ".fa", reads)
        s.kcount(name + ".fa", "-k", 3, "--quiet")
        models.append(count(reads, 3, False))
    for text, most in (("1", [1, 1]), ("4,1", [4, 1]), ("0,2", [MOST, 2]), ("7,0", [7, MOST]),
                       ("0", None), ("300", [300, 300]), ("4294967294", None)):
        check_joint(s, ["a.kc", "b.kc"], models[:2], "--max-count", text, most=most)
    check_joint(s, ["a.kc", "b.kc", "c.kc"], models, "--max-count", "9,1,1", most=[9, 1, 1])
    check_joint(s, ["a.kc", "b.kc", "c.kc"], models, "--max-count", "2", most=[2, 2, 2])
    for options, how in ((["--max-count", 5], {"last": 5}), (["--min", 3], {"low": 3}),
                         (["--max", 9], {"high": 9}),
                         (["--max-count", 5, "--min", 7], {"last": 5, "low": 7}),
                         (["--max-count", 5, "--max", 7], {"last": 5, "high": 7})):
        same_text(s.kcount("hist", "--gc", "a.kc", *options), gc_table(models[0], **how),
                  f"hist --gc {options}")


def test_kat():
    """The header of KAT 2.4, and every cell."""
    s, rng = Session(), random.Random(4)
    s.path.joinpath("d").mkdir()
    models = []
    for name, reads in zip(NAMES, scene(rng, 600)[:2]):
        write(s, name + ".fa", reads)
        s.kcount(name + ".fa", "-k", 5, "-o", f"d/{name}.kc", "--quiet")
        models.append(count(reads, 5, False))
    for options, rows, columns in (((), 1001, 1001), (("--max-count", "6,2"), 7, 3),
                                   (("--max-count", 1), 2, 2)):
        wanted = [[0] * columns for _ in range(rows)]
        for row in joint_rows(models):
            wanted[min(row[0], rows - 1)][min(row[1], columns - 1)] += row[2]
        head, got = parse_matrix(compare(s, "d/a.kc", "d/b.kc", "--format", "kat", *options))
        expect(got, wanted, f"kat {options}")
        expect(head, {"Title": "K-mer comparison plot", "XLabel": "5-mer frequency for: a.kc",
                      "YLabel": "5-mer frequency for: b.kc", "ZLabel": "# distinct 5-mers",
                      "Columns": str(columns), "Rows": str(rows),
                      "MaxVal": str(max(map(max, wanted))), "Transpose": "1", "Kmer value": "5",
                      "Input 1": "d/a.kc", "Input 2": "d/b.kc"}, "header")
    for options, columns in ((), 1001), (("--max-count", 9), 10):
        wanted = [[0] * columns for _ in range(6)]
        for gc, n, distinct, _ in gc_rows(models[0]):
            wanted[gc][min(n, columns - 1)] += distinct
        head, got = parse_matrix(s.kcount("hist", "--gc", "d/a.kc", "--format", "kat", *options))
        expect(got, wanted, f"hist --gc kat {options}")
        expect(head, {"Title": "K-mer coverage vs GC count plot for: a.kc",
                      "XLabel": "5-mer frequency", "YLabel": "GC count",
                      "ZLabel": "# distinct 5-mers", "Columns": str(columns), "Rows": "6",
                      "MaxVal": str(max(map(max, wanted))), "Transpose": "0", "Kmer value": "5",
                      "Input 1": "d/a.kc"}, "header of gcp")


def test_nothing():
    """Files without k-mers; those that --min dropped count as absent, with a warning."""
    s = Session()
    s.write("short.fa", ">r\nAC\n")
    s.kcount("a.fq", "-k", 3)
    s.kcount("short.fa", "-k", 3, "-o", "b.kc")
    model = count(["ACGTACGTNACGTA", "TTTTGACA"], 3, False)
    check_joint(s, ["a.kc", "b.kc"], [model, {}])
    check_joint(s, ["b.kc", "b.kc", "b.kc"], [{}, {}, {}])
    check_gc(s, "b.kc", {})
    _, got = parse_matrix(compare(s, "b.kc", "b.kc", "--format", "kat", "--max-count", 1))
    expect(got, [[0, 0], [0, 0]], "matrix of nothing")
    s.kcount("merge", "a.kc", "--min", 2, "-o", "c.kc")
    kept = {kmer: n for kmer, n in model.items() if n > 1}
    check_joint(s, ["a.kc", "c.kc"], [model, kept],
                message="c.kc lacks k-mers that --min or --max dropped; they count as absent\n")
    expect(s.said.count("warning"), 1, s.said)


def test_refusals():
    s = Session()
    s.kcount("a.fq", "-k", 3)
    for name, options in (("k4", ["-k", 4]), ("strands", ["-k", 3, "--stranded"]),
                          ("hpc", ["-k", 3, "--hpc"]), ("only", ["-k", 3, "--only", "a.fq"])):
        s.kcount("a.fq", *options, "-o", name + ".kc")
    for name, message in (("k4", "a.kc has k = 3, but k4.kc has k = 4"),
                          ("strands", "a.kc holds canonical k-mers, but strands.kc holds stranded "
                                      "ones"),
                          ("hpc", "a.kc holds k-mers of uncompressed reads, but hpc.kc of "
                                  "homopolymer-compressed ones"),
                          ("only", "a.kc and only.kc do not hold counts of the same set of "
                                   "k-mers")):
        compare(s, "a.kc", name + ".kc", code=2, message=message)
        compare(s, name + ".kc", name + ".kc")
    compare(s, "a.kc", "a.fq", code=1, message="a.fq holds reads")
    compare(s, "a.kc", "none.kc", code=1, message="none.kc: No such file")
    for text in ("x", "", ",", "1,", ",1", "1,2,3", "-1", "4294967295", "1 2", "9" * 30):
        compare(s, "a.kc", "a.kc", f"--max-count={text}", code=2,
                message="" if text == "" else f"--max-count {text}: give one number from 0 to "
                                              "4294967294 for all files, or 2 with commas between "
                                              "them\n")
    compare(s, *["a.kc"] * 3, "--max-count", "1,2", code=2, message="or 3 with commas")
    s.kcount("compare", "a.kc", "a.kc", "--device", "cuda:0,1", code=2,
             message="--device: 'cuda:0,1' lists several devices")
    compare(s, "a.kc", "a.kc", "--gpu-trace", "./a.kc", code=2, message="a.kc")
    s.write("x.tsv", "kept")
    before = s.contents()
    compare(s, "a.kc", "a.kc", "-o", "a.kc", "--force", code=2, message="a.kc")
    compare(s, "a.kc", "a.kc", "-o", "x.tsv", code=1, message="x.tsv already exists")
    content = bytearray((s.path / "a.kc").read_bytes())
    content[130] ^= 1
    s.write("bad.kc", bytes(content))
    before["bad.kc"] = bytes(content)
    compare(s, "a.kc", "bad.kc", "-o", "y.tsv", code=1, message="bad.kc is damaged")
    s.kcount("hist", "--gc", "bad.kc", code=1, message="bad.kc is damaged")
    expect(s.contents(), before, "files")


main([test_all_widths, test_real_reads, test_runs, test_bounds, test_kat, test_nothing,
      test_refusals])
