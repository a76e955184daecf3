"""
report --assembly: every number is what counting with dictionaries gives, and QVs and percentages
are those of the formulas; Merqury's files are those that Merqury itself has written; BED files
follow the rules; what is refused, what it warns about, and hostile input.

    app_report.py KCOUNT SOURCE
"""
import collections
import functools
import json
import math
import random
import re
import shutil
import statistics

from lib.assemblies import K, assemble, fasta, haplotypes, read, reverse, scene, substitute
from lib.model import canonical, count
from lib.session import SOURCE, Session, expect
from lib.tools import main, same_text

MERQURY = SOURCE / "tests/cli/expected/merqury"


def bases(sequences):
    return [letters.upper() for _, letters in sequences]


# ---- formulas ----

def poisson_at_most(n, mean):
    """The chance that a Poisson variable is at most n, which need not be whole: 1 minus the sum of
    the chances of n + 1, n + 2, ..."""
    chances = (math.exp(i * math.log(mean) - mean - math.lgamma(i + 1))
               for i in (n + 1 + j for j in range(int(mean + 20 * math.sqrt(mean) + 60))))
    return 1 - math.fsum(chances)


@functools.cache
def limit(n, chance):
    """The mean at which a variable is at most n with this chance."""
    low, high = 0.0, 10 * n + 30
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if poisson_at_most(n, middle) > chance else (low, middle)
    return low


def quality(absent, kmers, k=K):
    def value(n):
        most = kmers - 1 if kmers > 2 else kmers / 2  # not all can be absent
        return -10 * math.log10(-math.expm1(math.log1p(-min(n, most) / kmers) / k))
    n = absent / k
    least = 3 if absent == 0 else limit(n, 0.025)
    return {"assembly_only": absent, "kmers": kmers, "value": value(absent) if absent else None,
            "low": value(least * k),
            "high": value(limit(n - 1, 0.975) * k) if n >= 1 else None}


def close(got, wanted, what, digits=6):
    if wanted is None or got is None:
        expect(got, wanted, what)
    else:
        expect(abs(got - wanted) < 2 * 10 ** -digits, True, f"{what}: {got}, wanted {wanted}")


def check_quality(got, wanted, what, digits=4):
    for key in "assembly_only", "kmers":
        expect(got[key], wanted[key], f"{what}, {key}")
    for key in "value", "low", "high":
        close(got[key], wanted[key], f"{what}, {key}", digits)


# ---- an independent count ----

def first_minimum(reads):
    """Where the histogram first rises again; 0: nowhere."""
    rows = sorted(collections.Counter(reads.values()).items())
    for (_, before), (n, after) in zip(rows, rows[1:]):
        if after > before:
            return n - 1
    return 0


def main_peak(reads, threshold):
    rows = collections.Counter(n for n in reads.values() if n >= threshold)
    return max(rows, key=lambda n: (n * rows[n], -n))


def added(assemblies):
    total = collections.Counter()
    for model in assemblies:
        total.update(model)
    return total


def check_numbers(got, reads, assembly, threshold, what):
    solid = {kmer: n for kmer, n in reads.items() if n >= threshold}
    found = {kmer: n for kmer, n in solid.items() if kmer in assembly}
    whole = got["completeness"]
    expect((whole["threshold"], whole["solid"], whole["found"]),
           (threshold, len(solid), len(found)), f"{what}, solid k-mers")
    close(whole["value"], 100 * len(found) / len(solid), f"{what}, completeness")
    close(whole["weighted"], 100 * sum(found.values()) / sum(solid.values()), f"{what}, weighted")
    check_quality(got["qv"], quality(sum(n for kmer, n in assembly.items() if kmer not in reads),
                                     sum(assembly.values())), f"{what}, QV")
    cells = collections.Counter((reads.get(kmer, 0), min(assembly.get(kmer, 0), 5))
                                for kmer in reads.keys() | assembly.keys())
    check_spectrum(got["copy_number"], cells, 6, f"{what}, copy number")


def check_spectrum(got, cells, ncolumns, what):
    last = len(got["kmers"])
    expect(got["kmers"], [[cells[n, c] for c in range(ncolumns)] for n in range(1, last + 1)],
           f"{what}, rows")
    expect(got["beyond"], [sum(m for (n, c), m in cells.items() if n > last and c == column)
                           for column in range(ncolumns)], f"{what}, beyond")
    expect(got["assembly_only"], [cells[0, c] for c in range(1, ncolumns)],
           f"{what}, in the assembly only")
    expect(sum(map(sum, got["kmers"])) + sum(got["beyond"]) + sum(got["assembly_only"]),
           sum(cells.values()), f"{what}, sum")


def windows(letters, k=K):
    """(position, k-mer) of all windows."""
    letters = letters.upper()
    for at in range(len(letters) - k + 1):
        if "N" not in letters[at:at + k]:
            yield at, canonical(letters[at:at + k], False)


KINDS = {"absent": lambda n, copies, depth: n == 0,
         "duplicated": lambda n, copies, depth: copies > 1 and 0 < n <= 1.5 * depth,
         "collapsed": lambda n, copies, depth: copies < 255 and n > (copies + 0.5) * depth}


def probability_above(count, mean, bias):
    """The chance that a count is more than this one: negative binomial, or Poisson."""
    def log_chance(x):
        if bias == 0:
            return x * math.log(mean) - mean - math.lgamma(x + 1)
        size = mean / bias
        return (math.lgamma(x + size) - math.lgamma(size) - math.lgamma(x + 1)
                - size * math.log1p(bias) + x * math.log(bias / (1 + bias)))
    first = math.floor(count) + 1
    return math.fsum(math.exp(log_chance(x)) for x in range(first, first + 2000))


def windows_by_chance(report, depth, reads, nwindows):
    """How long a stretch may look collapsed by chance; reads: their lengths."""
    bias = report["model"]["bias"] if report["verdict"]["genome_size"] is not None else 0
    span = statistics.mean(reads) - K + 1
    if span < 1 or nwindows <= span:
        return 0
    n = span * math.log(nwindows / span) / -math.log(probability_above(1.5 * depth, depth, bias))
    return min(1000, math.floor(n))


def stretches(hits, k, kind, least=0):
    """The lines of BED of windows at these positions."""
    furthest = k if kind == "absent" else 2 * k
    lines, group = [], []
    for at in [*hits, math.inf]:
        if group and at - group[-1] > furthest:
            enough = len(group) >= k and 2 * len(group) >= group[-1] - group[0] + 1
            if kind == "collapsed" and group[-1] - group[0] + 1 < least:
                enough = False
            if kind == "absent" or enough:
                lines.append((group[0], group[-1] + k))
            group = []
        group.append(at)
    return lines


def rounded(value):
    return math.floor(value + 0.5)


def own_bins(seen, depth):
    """The windows seen, in bins that are as narrow as 128 of them allow: [absent windows,
    duplicated ones, all, median count]."""
    step = 100
    while seen[-1][0] // step > 127:
        step *= 2
    windows_of = [[] for _ in range(seen[-1][0] // step + 1)]
    for at, n, copies in seen:
        windows_of[at // step].append((n, copies))
    bins = []
    for inside in windows_of:
        counts = [n for n, _ in inside if n > 0]
        bins.append([len(inside) - len(counts),
                     sum(KINDS["duplicated"](n, copies, depth) for n, copies in inside),
                     len(inside), statistics.median(counts) if counts else None])
    return step, bins


def check_bins(got, step, own, what):
    """Bins of several bins: the median is that of their medians."""
    width, wanted = step // own[0], []
    for at in range(0, len(own[1]), width):
        bins = own[1][at:at + width]
        absent, extra, windows = (sum(one[i] for one in bins) for i in range(3))
        medians = [one[3] for one in bins if one[3] is not None]
        wanted.append([absent, rounded(100 * extra / windows) if windows else 0,
                       rounded(statistics.median(medians)) if medians else 0])
    expect(got["bins"], wanted, what)


def check_sequences(s, got, step, sequences, reads, assembly, depth, prefix, least):
    """got: not in the order of the sequences."""
    got = {one["name"]: one for one in got}
    expect(sorted(got), sorted(header.split()[0] for header, _ in sequences), "names")
    tracks = collections.defaultdict(str)
    for header, letters in sequences:
        name = header.split()[0]
        one = got[name]
        seen = [(at, reads.get(kmer, 0), assembly[kmer]) for at, kmer in windows(letters)]
        counts = [n for _, n, _ in seen if n > 0]
        expect(one["length"], len(letters), f"{name}, length")
        if seen:
            check_quality(one["qv"], quality(len(seen) - len(counts), len(seen)), name, 2)
            extra = sum(KINDS["duplicated"](n, copies, depth) for _, n, copies in seen)
            close(one["extra"], 100 * extra / len(seen), f"{name}, extra", 2)
            check_bins(one, step, own_bins(seen, depth), f"{name}, bins")
        expect(one["median"], statistics.median(counts) if counts else None, f"{name}, depth")
        valid = [c for c in letters.upper() if c in "ACGT"]
        close(one["gc"], 100 * sum(c in "GC" for c in valid) / len(valid), f"{name}, GC", 1)
        for kind, holds in KINDS.items():
            hits = [at for at, n, copies in seen if holds(n, copies, depth)]
            tracks[kind] += "".join(f"{name}\t{begin}\t{end}\n"
                                    for begin, end in stretches(hits, K, kind, least))
    for kind in KINDS:
        same_text(s.read(f"{prefix}.{kind}.bed"), tracks[kind], f"{prefix}.{kind}.bed")


# ---- tests ----

def prepare(reads, assemblies):
    """A session with reads.kc, and FASTA of the assemblies; the options that name these."""
    s = Session()
    s.write("reads.fa", fasta(reads))
    s.kcount("reads.fa", "-k", K, "--quiet")
    names = ["hap1.fasta", "hap2.fa"][:len(assemblies)]
    for name, sequences in zip(names, assemblies):
        s.write(name, fasta(sequences))
    return s, [word for name in names for word in ("--assembly", name)]


def solid_threshold(report, reads):
    """Where half of the k-mers or more are the model's, or above the first minimum."""
    if report["verdict"]["genome_size"] is None:
        return first_minimum(reads) + 1
    rows = collections.Counter(reads.values())
    model = report["model"]
    for n, shares in enumerate(zip(model["heterozygous"], model["homozygous"],
                                   model["repeated"]), 1):
        if sum(shares) >= 0.5 * max(rows[n], sum(shares)):
            return n


def genome_depth(report, reads, threshold):
    if report["verdict"]["genome_size"] is None:
        return main_peak(reads, threshold)
    return rounded(report["model"]["ploidy"] * report["model"]["coverage"])


def common_step(assemblies):
    """Bins of this width cover the longest sequence with at most 100 of them."""
    step = 100
    for own, bins in (own_bins([(at, 0, 0) for at, _ in windows(letters)], 0)
                      for sequences in assemblies for _, letters in sequences
                      if list(windows(letters))):
        while step < own or len(bins) * own > 100 * step:
            step *= 2
    return step


def check_report(s, options, reads, assemblies):
    models = [count(bases(sequences), K, False) for sequences in assemblies]
    report = json.loads(s.kcount("report", "reads.kc", *options, "--tracks", "t", "--json"))
    threshold = solid_threshold(report, reads)
    depth = genome_depth(report, reads, threshold)
    expect((report["schema"], report["k"], report["sample"], report["step"]),
           ("kcount-report/1", K, "reads", common_step(assemblies)), "head")
    check_numbers(report, reads, added(models), threshold, "all")
    head = report["verdict"]["assembly"]
    expect((head["qv"], head["qv_low"], head["completeness"]),
           (report["qv"]["value"], report["qv"]["low"], report["completeness"]["value"]), "verdict")
    if len(models) > 1:
        for got, model in zip(report["assemblies"], models):
            check_numbers(got, reads, model, threshold, got["name"])
        cells = collections.Counter(
            (reads.get(kmer, 0), (kmer in models[0]) + 2 * (kmer in models[1]))
            for kmer in set(reads).union(*models))
        check_spectrum(report["holders"], cells, 4, "holders")
    got = report["sequences"]
    for i, (model, sequences) in enumerate(zip(models, assemblies)):
        mine = [one for one in got if one.get("assembly", "hap1") == f"hap{i + 1}"]
        lengths = [len(line) for line in s.read("reads.fa").splitlines()[1::2]]
        least = windows_by_chance(report, depth, lengths, sum(model.values()))
        check_sequences(s, mine, report["step"], sequences, reads, model, depth, f"t.hap{i + 1}",
                        least)
    return report


def test_numbers():
    reads, assemblies = scene()
    assemblies[0].append(("short", "ACGTACGT"))
    assemblies[0].append(("cloud", "ACGTTGCA" * 3 + "n" * 40))
    model = count(bases(reads), K, False)
    for n in 1, 2:
        s, options = prepare(reads, assemblies[:n])
        report = check_report(s, options, model, assemblies[:n])
        found = {one["name"]: one for one in report["sequences"]
                 if one.get("assembly", "hap1") == "hap1"}
        expect({name: flag for name, one in found.items() for flag in one["flags"]},
               {"ctg1": "part doubled", "ctg3": "second copy"}, "flags")
        expect((found["short"]["qv"], found["cloud"]["qv"]["kmers"]), (None, 4), "short ones")


def test_merqury():
    reads, assemblies = scene()
    for name, n in ("one", 1), ("two", 2):
        s, options = prepare(reads, assemblies[:n])
        for threads in 1, 3:
            s.kcount("report", "reads.kc", *options, "--merqury", "m/out", "-t", threads, code=1,
                     message="m/out.qv")
            (s.path / "m").mkdir()
            s.kcount("report", "reads.kc", *options, "--merqury", "m/out", "-t", threads)
            wanted = {path.name: path.read_text() for path in (MERQURY / name).iterdir()}
            expect(sorted(path.name for path in (s.path / "m").iterdir()), sorted(wanted), "files")
            for file, text in wanted.items():
                same_text(s.read(f"m/{file}"), text, f"Merqury's {file}")
                (s.path / "m" / file).unlink()
            (s.path / "m").rmdir()


def test_stretches():
    """Stretches that are just long enough, and just too far from each other; a repeat of over 255
    copies is not collapsed."""
    rng = random.Random(6)
    genome = "".join(rng.choices("ACGT", k=3000)) + "ACT" * 310
    def wrong(letters, *places):
        return "".join(reverse(c) if i in places else c for i, c in enumerate(letters))
    assembly = [("all", genome), ("enough", genome[500:500 + 2 * K - 1]),
                ("short", genome[1000:1000 + 2 * K - 2]),
                ("near", wrong(genome[1500:1700], 80, 80 + K - 1)),
                ("far", wrong(genome[2000:2200], 80, 80 + K))]
    reads = [("r", genome)] * 20
    s, options = prepare(reads, [assembly])
    check_report(s, options, count(bases(reads), K, False), [assembly])
    lines = [line.split("\t")[0] for line in s.read("t.hap1.duplicated.bed").splitlines()]
    expect(lines, ["all"] * 4 + ["enough", "near", "far", "far"], "stretches")


def test_chance():
    """Of reads that cover a genome 20 times, many stretches look collapsed by chance."""
    rng = random.Random(9)
    genome = "".join(rng.choices("ACGT", k=80000))
    repeat = genome[30000:31500]
    reads = [("r", letters) for letters in read(rng, [genome], depth=40)
             + read(rng, [repeat], depth=40)]
    s, options = prepare(reads, [[("all", genome)]])
    model = count(bases(reads), K, False)
    report = check_report(s, options, model, [[("all", genome)]])
    lines = [list(map(int, line.split("\t")[1:]))
             for line in s.read("t.hap1.collapsed.bed").splitlines()]
    near = [29900 < begin < end < 31600 for begin, end in lines]
    expect((len(lines) > 0, near.count(False) <= 1), (True, True), f"collapsed: {lines}")
    hits = [at for at, kmer in windows(genome)
            if model.get(kmer, 0) > 1.5 * report["depth"]]
    expect(len(stretches(hits, K, "collapsed")) > 10, True, "stretches by chance")


def names(report):
    return [caveat["name"] for caveat in report["caveats"]]


def data_of(page):
    """The JSON within a page."""
    return json.loads(re.search(r'<script type="application/json" id="report">(.*?)</script>',
                                page, re.S)[1])


def test_page():
    """The page has what --json prints, and the same input gives the same bytes."""
    reads, assemblies = scene()
    s, options = prepare(reads, assemblies)
    for given in [], options[:2], options:
        pages, printed = [], []
        for threads in 1, 3:
            printed.append(s.kcount("report", "reads.kc", *given, "-o", "page.html", "--json",
                                    "--sample", "<b>name", "-t", threads))
            pages.append(s.read("page.html"))
            (s.path / "page.html").unlink()
        for one, other in pages, printed:
            same_text(one.replace("-t 1", "-t 3"), other, "with 1 and 3 threads")
        expect(data_of(pages[1]), json.loads(printed[1]), "the JSON of the page")
        expect(printed[1][-3:], "\n}\n", "the end of the JSON")
        expect((data_of(pages[1])["sample"], "<b>name" in pages[1]), ("<b>name", False), "name")
    s.write("page.html", "kept")
    s.kcount("report", "reads.kc", "-o", "page.html", code=1,
             message="page.html already exists; name another file with -o, or")
    s.kcount("report", "reads.kc", "-o", "reads.kc", "--force", code=2, message="reads.kc")
    expect(s.read("page.html"), "kept", "a file that was there")
    s.kcount("report", "reads.kc", "-o", "page.html", "--force")
    expect(s.read("page.html")[:15], "<!doctype html>", "a file that is replaced")


def merqury_tracks(name, letters, reads):
    """The lines of absent windows, and of how many of them have each base."""
    hits = [at for at, kmer in windows(letters) if kmer not in reads]
    depth = collections.Counter(at + i for at in hits for i in range(K))
    return ("".join(f"{name}\t{at}\t{at + K}\n" for at in hits),
            f"variableStep chrom={name}\n" +
            "".join(f"{base + 1}\t{depth[base]}\n" for base in sorted(depth)))


def test_pieces():
    """Several threads look at pieces of long sequences; stretches of all kinds go beyond them."""
    rng = random.Random(8)
    genome = "".join(rng.choices("ACGT", k=30000))
    parts = [substitute(rng, genome, 60), genome[:20000], "N" * 500, reverse(genome),
             "".join(rng.choices("ACGTN", [100, 100, 100, 100, 1], k=30000)), genome[15000:]]
    assembly = [("first", genome[:300]), ("long", "".join(parts)), ("short", "ACGT"),
                ("other", "N" * 20000 + genome[:25000]), ("last", genome[500:800])]
    reads = [("r", genome)] * 10 + [("r", genome[9000:13000])] * 45
    s, options = prepare(reads, [assembly])
    model = count(bases(reads), K, False)
    lines = [merqury_tracks(name, letters, model) for name, letters in assembly]
    for threads in 1, 2, 7:
        how = [*options, "-t", threads, "--force"]
        report = check_report(s, how, model, [assembly]) if threads == 7 else json.loads(
            s.kcount("report", "reads.kc", *how, "--tracks", f"t{threads}", "--json"))
        s.kcount("report", "reads.kc", *how, "--merqury", "out")
        for i, ending in enumerate(["bed", "wig"]):
            same_text(s.read(f"hap1_only.{ending}"), "".join(pair[i] for pair in lines), ending)
        if threads == 1:
            wanted = report["sequences"]
        expect(report["sequences"], wanted, f"sequences, {threads} threads")
    for kind in KINDS:
        expect(s.read(f"t.hap1.{kind}.bed").count("long") > 0, True, f"{kind} stretches")
        for threads in 1, 2:
            same_text(s.read(f"t{threads}.hap1.{kind}.bed"), s.read(f"t.hap1.{kind}.bed"), kind)


def test_pictures():
    """Pictures and files for MultiQC appear together, or nothing does."""
    reads, assemblies = scene()
    s, options = prepare(reads, assemblies)
    for given, more in (([], []), (options[:2], ["copies", "sequences"]),
                        (options, ["copies", "copies-1", "copies-2", "holders", "sequences"])):
        s.kcount("report", "reads.kc", *given, "--svg", "pictures", "--multiqc", "s_mqc.json",
                 "--force")
        wanted = ["spectrum", "spectrum-log", "ploidy", "gc", *more]
        expect(sorted(path.name for path in (s.path / "pictures").iterdir()),
               sorted(f"{name}.svg" for name in wanted), "pictures")
        expect(json.loads(s.read("s_mqc.json"))["data"].keys(), {"reads"}, "samples of MultiQC")
        shutil.rmtree(s.path / "pictures")
    before = s.names()
    s.write("hap1.fasta", ">short\nACGT\n")
    s.kcount("report", "reads.kc", *options, "--svg", "pictures", "--multiqc", "t_mqc.json",
             code=1, message="has no 21-mers")
    s.kcount("report", "reads.kc", "--multiqc", "t.json", code=2, message="_mqc.json: t.json")
    expect(s.names(), before, "files left")


def test_counted_assemblies():
    """.kc files give the same numbers, except those of sequences."""
    reads, assemblies = scene()
    s, options = prepare(reads, assemblies)
    wanted = json.loads(s.kcount("report", "reads.kc", *options, "--json"))
    for name in "hap1.fasta", "hap2.fa":
        s.kcount(name, "-k", K, "--quiet")
    counted = ["--assembly", "hap1.kc", "--assembly", "hap2.kc"]
    got = json.loads(s.kcount("report", "reads.kc", *counted, "--json", "--merqury", "out",
                              message="hap2 is a file of counts"))
    for key in "verdict", "qv", "completeness", "copy_number", "holders", "assemblies":
        expect(got[key], wanted[key], key)
    expect((got["sequences"], names(got).count("assembly_counted")), ([], 2), "what is missing")
    same_text(s.read("out.qv"), (MERQURY / "two" / "out.qv").read_text(), "QVs of .kc files")
    expect("hap1_only.bed" in s.names() or "out.hap1.qv" in s.names(), False, "files of sequences")


def test_thresholds():
    reads, assemblies = scene()
    s, options = prepare(reads, assemblies[:1])
    model = count(bases(reads), K, False)
    assembly = count(bases(assemblies[0]), K, False)
    for least in 1, 2, 9, 50:
        got = json.loads(s.kcount("report", "reads.kc", *options, "--json", "--threshold", least))
        solid = [kmer for kmer, n in model.items() if n >= least]
        whole = got["completeness"]
        expect((whole["solid"], whole["found"]),
               (len(solid), sum(kmer in assembly for kmer in solid)), f"--threshold {least}")
        expect(whole["first_minimum"]["threshold"], first_minimum(model) + 1, "first minimum")


def shares_of(model):
    """Of a diploid genome's k-mers, those that are in one and in two haplotypes."""
    differ, copied = 1 - (1 - model["rates"][0]) ** K, model["duplication"]
    same = 1 - differ
    alone = 2 * (1 - copied) * differ + 2 * copied * differ ** 2 + 2 * copied * same * differ
    pairs = (1 - copied) * same + copied * differ ** 2
    total = alone + pairs + 2 * copied * same * differ + copied * same ** 2
    return alone / total, pairs / total


def test_model():
    """A QV that is adjusted by what the model says."""
    reads, assemblies = scene()
    s, options = prepare(reads, assemblies)
    got = json.loads(s.kcount("report", "reads.kc", *options, "-p", 2, "--json"))
    model = got["model"]
    if model is None:
        expect("built without the library" in s.said, True, "why there is no model")
        return
    mean, bias, e = model["coverage"], model["bias"], got["verdict"]["error_rate"]["value"]
    expect(model["ploidy"] == 2 and abs(mean / 12 - 1) < 0.15 and 0.003 < e < 0.005, True,
           f"what was simulated: {mean}, {e}")  # of 15 reads of 100 bases, 80 k-mers each
    phi = 1 - math.exp(-2 * mean * (e / 3) / (1 - e))
    for name, one in ("all", got), *((one["name"], one) for one in got["assemblies"]):
        raw, adjusted = one["qv"], one["qv"]["adjusted"]
        unseen = sum(raw["kmers"] * share * (1 + bias) ** (-i * mean / bias)
                     for i, share in enumerate(shares_of(model), 1))
        close(adjusted["unseen"], unseen, f"{name}, unseen", 3)
        close(adjusted["chance"], phi, f"{name}, chance")
        wrong = (raw["assembly_only"] - unseen) / (1 - phi)
        wanted = quality(wrong, raw["kmers"])
        wanted["assembly_only"] = rounded(wrong)
        check_quality(adjusted, wanted, f"{name}, adjusted")
    flat = [("r", "".join(random.Random(1).choices("ACGT", k=300)))]
    s.write("flat.fa", fasta(flat))
    s.kcount("flat.fa", "-k", K, "--quiet")
    got = json.loads(s.kcount("report", "flat.kc", *options, "--json",
                              message="There is no model"))
    expect((got["model"], "no_model" in names(got)), (None, True), "no model")


def test_perfect():
    """Without absent k-mers, the QV has only a lower limit, but Merqury says inf."""
    rng = random.Random(3)
    genomes = haplotypes(rng)[:1]
    s, options = prepare([("r", letters) for letters in genomes * 20],
                         [[("all", genomes[0])]])
    got = json.loads(s.kcount("report", "reads.kc", *options, "--json", "--merqury", "out",
                              message="QV over "))
    n = len(genomes[0]) - K + 1
    check_quality(got["qv"], quality(0, n), "no absent k-mer")
    close(got["qv"]["low"], -10 * math.log10(1 - (1 - 3 * K / n) ** (1 / K)), "O < 3 k", 4)
    expect((got["qv"]["value"], got["qv"]["high"]), (None, None), "no upper limit")
    same_text(s.read("out.qv"), f"hap1\t0\t{n}\tinf\t0\n", "Merqury's inf")
    expect("no_minimum" in names(got), True, "caveats")


def test_no_quality():
    """If something makes QVs wrong, there are none, and files with them are refused."""
    reads, assemblies = scene()
    s, options = prepare(reads, assemblies[:1])
    for name, how, caveat, words in (
            ("min", ["--min", 2], "reads_filtered", "counts under 2 were left out"),
            ("max", ["--max", 40], "reads_filtered", "counts over 40 were left out"),
            ("hpc", ["--hpc"], "homopolymers_compressed", "Runs of equal bases were shortened")):
        s.kcount("reads.fa", "-k", K, *how, "-o", f"{name}.kc", "--quiet")
        got = json.loads(s.kcount("report", f"{name}.kc", *options, "--json", message=words))
        expect((got["qv"], got["verdict"]["assembly"]["qv"]), (None, None), f"QV, {name}")
        expect(caveat in names(got), True, f"caveat, {name}")
        expect(got["completeness"]["value"] > 0, True, f"completeness, {name}")
        s.kcount("report", f"{name}.kc", *options, "--merqury", "out", code=2, message=words)
    s.kcount("reads.fa", "-k", K, "-o", "removed.kc", "--quiet")
    s.kcount("remove", "removed.kc", bases(reads)[0][:K])
    got = json.loads(s.kcount("report", "removed.kc", *options, "--json", message="no QV"))
    expect((got["qv"], "reads_filtered" in names(got)), (None, True), "removed k-mers")
    expect([name for name in s.names() if name.startswith("out")], [], "files left")
    s.write("hap1.fasta", fasta(reads * 2))
    got = json.loads(s.kcount("report", "reads.kc", *options, "--json",
                              message="Are these reads?"))
    expect((got["qv"], "larger_than_genome" in names(got)), (None, True), "QV of reads")
    s.kcount("report", "reads.kc", *options, "--merqury", "out", code=2,
             message="Are these reads?")


def test_phased():
    """An assembly of all six haplotypes is no set of reads."""
    rng, s = random.Random(6), Session()
    first = "".join(rng.choices("ACGT", k=12000))
    genomes = [substitute(rng, first, 60) for _ in range(6)]
    s.write("reads.fa", fasta([("r", letters) for letters in read(rng, genomes, depth=40)]))
    s.write("asm.fa", fasta([(f"h{i}", genome) for i, genome in enumerate(genomes)]))
    call = ["report", "reads.fa", "-k", K, "-p", 6, "--assembly", "asm.fa", "--json"]
    got = json.loads(s.kcount(*call))
    if got["model"] is None:
        return
    expect(got["verdict"]["ploidy"]["value"], 6, "ploidy")
    expect((got["qv"] is None, "larger_than_genome" in names(got)), (False, False),
           "six haplotypes")
    s.write("asm.fa", fasta([(f"h{i}", genome) for i, genome in enumerate(genomes * 6)]))
    got = json.loads(s.kcount(*call, message="five times as large as all haplotypes"))
    expect(got["qv"], None, "36 haplotypes")


def test_small_k():
    rng = random.Random(4)
    s = Session()
    genome = "".join(rng.choices("ACGT", k=5000))
    s.write("r.fa", fasta([("r", genome)] * 8))
    s.write("a.fa", fasta([("a", substitute(rng, genome, 20))]))
    s.kcount("r.fa", "-k", 9, "--quiet")
    got = json.loads(s.kcount("report", "r.kc", "--assembly", "a.fa", "--json", "--threshold", 2,
                              message="k = 9 is small for"))
    expect("k_too_small" in names(got), True, "caveats")


def test_refusals():
    reads, assemblies = scene()
    s, options = prepare(reads, assemblies[:1])
    for name, how, words in (("stranded", ["--stranded"],
                              "stranded.kc was counted with --stranded"),
                             ("only", ["--only", "hap1.fasta"], "only.kc was counted with --only")):
        s.kcount("reads.fa", "-k", K, *how, "-o", f"{name}.kc", "--quiet")
        s.kcount("report", f"{name}.kc", *options, "--json", code=2, message=words)
    for name, how, words in (("few", ["--min", 2], "few.kc lacks k-mers of the assembly"),
                             ("k", ["-k", 15], "reads.kc has k = 21, but k.kc has k = 15")):
        s.kcount("hap1.fasta", *(["-k", K] if "-k" not in how else []), *how, "-o", f"{name}.kc",
                 "--quiet")
        s.kcount("report", "reads.kc", "--assembly", f"{name}.kc", "--json", code=2, message=words)
    for option in ["--merqury", "m"], ["--tracks", "t"], ["--threshold", 3]:
        s.kcount("report", "reads.kc", *option, "--json", code=2,
                 message=f"{option[0]} needs an assembly")
    s.kcount("report", "reads.kc", *options, code=2, message="name the page to write, with -o")
    s.kcount("report", "reads.kc", "-o", "", code=2, message="the file's name is empty")
    s.kcount("report", "reads.kc", "-o", "-", "--json", code=2, message="-o - and --json both")
    s.kcount("report", "reads.kc", "-o", "/dev/null")
    expect("wrote /dev/null" in s.said, True, s.said)
    s.kcount("report", "reads.kc", "-o", "-")
    expect("wrote" in s.said, False, f"a page on standard output was written: {s.said!r}")
    s.kcount("hap1.fasta", "-k", K, "--quiet")
    s.kcount("report", "reads.kc", "--assembly", "hap1.kc", "--tracks", "t", code=2,
             message="no sequences for --tracks")
    s.kcount("report", "reads.kc", *options * 3, "--json", code=2, message="more than twice")
    for pipe in "-", "/dev/null":
        s.kcount("report", "reads.kc", "--assembly", pipe, "--json", code=2,
                 message=f"--assembly {pipe}: an assembly is read twice, so it must be a file")
    s.kcount("report", "reads.kc", "--assembly", "@hap1.fasta", "--json", code=2,
             message="name the file itself")
    s.kcount("report", "reads.kc", "--assembly", "none.fa", "--json", code=1, message="none.fa")
    (s.path / "x").mkdir()
    s.write("x/hap1.fa", ">a\nACGT\n")
    s.kcount("report", "reads.kc", *options, "--assembly", "x/hap1.fa", "--json", code=2,
             message="same name without folder and ending")
    s.kcount("report", "reads.kc", "--ploidy", 1, "-o", "one.html")
    expect("told by the places" in s.read("one.html"), False, "a ploidy that is given")
    s.write("out.qv", "kept")
    s.kcount("report", "reads.kc", *options, "--merqury", "out", code=1,
             message="out.qv already exists; name another prefix with --merqury, or")
    (s.path / "pictures").mkdir()
    s.write("pictures/spectrum.svg", "kept")
    s.kcount("report", "reads.kc", "--svg", "pictures", "--sample", "pictures", code=1,
             message="spectrum.svg already exists; name another folder with --svg, or")
    expect(s.read("out.qv"), "kept", "a file that was there")
    s.kcount("report", "reads.kc", *options, "--merqury", "out", "--force")
    expect(s.read("out.qv").split("\t")[0], "hap1", "a file that is replaced")


def test_hostile():
    rng = random.Random(5)
    reads, assemblies = scene()
    s, options = prepare(reads, assemblies[:1])
    before = s.names()
    for content, words in (("", "hap1.fasta is empty"), (">a\n\n", "hap1.fasta has no 21-mers"),
                           (">a\nACGT\n", "hap1.fasta has no 21-mers")):
        s.write("hap1.fasta", content)
        s.kcount("report", "reads.kc", *options, "--json", "--tracks", "t", code=1, message=words)
        expect(s.names(), before, "files left")
    name = "</script><img\x1b[31m"
    letters = "".join(rng.choices("ACGT", k=100030))
    many = [(f"c{i}", letters[i:i + 30]) for i in range(100000)]
    s.write("hap1.fasta", fasta([(name, "ACGT" * 20), *many]))
    s.kcount("report", "reads.kc", *options, "--merqury", "out", "--threshold", 4, code=2,
             message="Are these reads?")
    got = json.loads(s.kcount("report", "reads.kc", *options, "--json", "-o", "page.html"))
    found = [one["name"] for one in got["sequences"]]
    expect((len(found), r"</script><img\x1b[31m" in found), (100001, True), "100,001 sequences")
    page = s.read("page.html")
    expect((len(page) < 500_000, len(data_of(page)["sequences"])), (True, 200), "a page of them")
    expect("<img" in page, False, "a name as HTML")
    s.write("r.fa", ">r\n" + "A" * 500 + "\n")
    s.kcount("r.fa", "-k", K, "--quiet")
    got = json.loads(s.kcount("report", "r.kc", *options, "--json", "--quiet"))
    expect(got["completeness"]["solid"], 1, "reads of one k-mer")
    expect("larger_than_genome" in names(got), False, "the assembly is larger than one k-mer")
    expect("NaN" in json.dumps(got), False, "NaN")


def test_other_assemblies():
    """Random assemblies, of which some windows are in several sequences and on both strands."""
    for seed in range(3):
        rng = random.Random(seed)
        genomes = haplotypes(rng, nbases=11000)
        reads = [("r", letters) for letters in read(rng, genomes, depth=20)]
        both = [assemble(rng, genome) for genome in genomes]
        both[1] = [(f"{i}{header}", letters)
                   for i, (header, letters) in enumerate(both[1] * 3 + both[0])]
        both[0].append(("long", "N".join(genomes)))
        s, options = prepare(reads, both[:1 + seed % 2])
        check_report(s, options, count(bases(reads), K, False), both[:1 + seed % 2])


main([test_numbers, test_merqury, test_stretches, test_chance, test_pieces, test_page,
      test_pictures, test_counted_assemblies, test_thresholds, test_model, test_perfect,
      test_no_quality, test_phased, test_small_k, test_refusals, test_hostile,
      test_other_assemblies])
