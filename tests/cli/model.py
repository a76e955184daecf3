"""
Models of genomes: the numbers are those of known genomes; --genomescope finds what GenomeScope 2's
own R code finds, which scripts/check_genomescope.sh records; inputs of all kinds are accepted or
refused.

    model.py KCOUNT SOURCE

The genomes are simulated, by bench/model/simulate.py; data/phage.fq.gz is real.
"""
import json
import math
import random

from lib.session import SOURCE, Session, expect
from lib.tools import SMALL, Failure, main

KEPT = SOURCE / "tests/cli/expected/model"
WITHOUT = "built without cminpack"


def near(got, wanted, share, what):
    if abs(got - wanted) > share * abs(wanted) + 1e-9:
        raise Failure(f"{what} is {got}, not {wanted}")


def model(s, *arguments, **how):
    return json.loads(s.kcount("model", *arguments, "--json", **how))


def test_genomescope():
    s = Session()
    known = json.loads((KEPT / "genomescope.json").read_text()).items()
    if SMALL:  # one genome of each ploidy
        known = {wanted["ploidy"]: (name, wanted) for name, wanted in known}.values()
    for name, wanted in known:
        got = model(s, KEPT / name, "--genomescope", "-k", wanted["k"], "-p", wanted["ploidy"])
        for field in ("genome_size", "heterozygosity", "coverage"):
            near(got[field]["value"], wanted[field], 0.01, f"{field} of {name}")
        near(got["genome_size"]["low"], wanted["genome_size_low"], 0.01, f"least size of {name}")
        near(got["genome_size"]["high"], wanted["genome_size_high"], 0.01, f"most of {name}")
        near(got["error_rate"], wanted["error_rate"], 0.01, f"error rate of {name}")
        near(got["fit_full"], wanted["fit_full"], 0.01, f"fit of {name}")


def test_known_genomes():
    """Numbers and ploidy are near the truth, or the genome is refused or has a runner-up."""
    s = Session()
    nrefused = nwrong = 0
    for name, truth in json.loads((KEPT / "truth.json").read_text()).items():
        printed = s.kcount("model", KEPT / f"{name}.hist", "-k", 21, "--json", code=None)
        if s.code != 0:
            expect("a model needs at least 8" in s.said and truth["kmer_coverage"] < 8.5, True,
                   f"why {name} is refused: {s.said}")
            nrefused += 1
            continue
        found = json.loads(printed)
        verdict = found["verdict"]
        if verdict["ploidy"] != truth["ploidy"]:
            expect(verdict["runner_up"], truth["ploidy"], f"runner-up of {name}")
            nwrong += 1
            continue
        near(verdict["genome_size"]["value"], truth["size"], 0.01, f"size of {name}")
        near(verdict["coverage"]["value"], truth["kmer_coverage"], 0.01, f"coverage of {name}")
        for field, known in (("genome_size", "size"), ("coverage", "kmer_coverage"),
                             ("heterozygosity", "heterozygosity"), ("error_rate", "error_rate")):
            if not verdict[field]["low"] <= truth[known] <= verdict[field]["high"]:
                raise Failure(f"{name}: {field} is {truth[known]}, not in {verdict[field]}")
        expect(any("is low" in text for text in found["caveats"]),
               verdict["coverage"]["value"] < 15, f"caveat on coverage of {name}")
    expect((nrefused, nwrong), (1, 1), "genomes that are refused, and that have another ploidy")


def test_ploidies():
    """Several ploidies are compared, and half the coverage is tried."""
    s = Session()
    path = KEPT / "compared018.hist"
    found = model(s, path, "-k", 21, "-p", "2,3,4,6")
    expect(sorted(fit["p"] for fit in found["ploidy"]), [2, 3, 4, 6], "ploidies")
    expect(found["verdict"]["ploidy"], 4, "ploidy")
    near(found["half_coverage"]["coverage"], found["verdict"]["coverage"]["value"] / 2, 0.6, "half")
    alone = model(s, path, "-k", 21, "-p", 4)
    expect(alone["verdict"], found["verdict"], "the verdict of ploidy 4 alone")
    s.kcount("model", path, "-k", 21, "-p", "2,4", "--genomescope", code=2, message="one ploidy")
    s.kcount("model", path, "-k", 21, "-p", 7, code=2, message="from 1 to 6")


def sequence(rng, size, gc):
    return "".join(rng.choices("ACGT", [(1 - gc) / 2, gc / 2, gc / 2, (1 - gc) / 2], k=size))


def reads_of(rng, genome, coverage):
    for _ in range(len(genome) * coverage // 150):
        at = rng.randrange(len(genome) - 149)
        read = list(genome[at:at + 150])
        if rng.random() < 0.3:
            read[rng.randrange(150)] = rng.choice("ACGT")
        yield "".join(read)


def find_groups(kmers, depth, threshold):
    """The rules of docs/dev/model.md, written another way: [k-mers, sum] of each group."""
    firsts = sorted({round(2**(i / 12)) for i in range(385)})
    columns = {}
    for kmer, count in kmers:
        cell = columns.setdefault(max(first for first in firsts if first <= count), {})
        gc = kmer.count("G") + kmer.count("C")
        number, total = cell.get(gc, (0, 0))
        cell[gc] = (number + 1, total + count)
    main = {gc: sum(cell.get(gc, (0, 0))[0] for first, cell in columns.items()
                    if 0.85 * depth <= first <= 1.15 * depth) for gc in range(22)}
    size = sum(main.values())
    share = {gc: number / size for gc, number in main.items()}
    mean = sum(gc * part for gc, part in share.items())
    good = [gc for gc in share if share[gc] > 0.02]
    marks = {}
    for index, first in enumerate(firsts):
        cell = columns.get(first, {})
        number = {gc: cell.get(gc, (0, 0))[0] for gc in range(22)}
        if first < 1.3 * depth or sum(number.values()) < 50:
            continue
        scale = min(sum(number[gc] for gc in three) / sum(share[gc] for gc in three)
                    for three in zip(good, good[1:], good[2:]))
        over = {gc: max(0, number[gc] - scale * share[gc]) for gc in number}
        mass = sum(over.values())
        if mass <= 0.04 * sum(number.values()):
            continue
        shift = (sum(gc * part for gc, part in over.items()) / mass - mean) / 21
        if abs(shift) > 0.07:
            total = sum(over[gc] * cell[gc][1] / number[gc] for gc in number if number[gc])
            marks[index] = (shift > 0, mass, total, mass > 0.4 * sum(number.values()))
    runs = []
    for index in sorted(marks):
        if not runs or index - runs[-1][-1] > 2 or marks[index][0] != marks[runs[-1][-1]][0]:
            runs.append([])
        runs[-1].append(index)
    solid = sum(count >= threshold for _, count in kmers)
    sums = [[sum(marks[index][which] for index in run) for which in (1, 2)] for run in runs]
    return [found for found, run in zip(sums, runs)
            if found[0] > max(1000, solid / 1000) and any(marks[index][3] for index in run)]


def test_groups():
    """An organelle and a contaminant are found by their GC content, and left out of the size."""
    s = Session()
    rng = random.Random(41)
    genome = list(reads_of(rng, sequence(rng, 100_000, 0.41), 30))
    others = [*reads_of(rng, sequence(rng, 4_000, 0.27), 300),
              *reads_of(rng, sequence(rng, 6_000, 0.66), 52)]
    for name, reads in (("genome", genome), ("all", genome + others)):
        s.write(f"{name}.fa", "".join(f">r\n{read}\n" for read in reads))
        s.kcount("count", f"{name}.fa", "-k", 21, "-o", f"{name}.kc", "--force")
    alone, found = model(s, "genome.kc", "-p", 1), model(s, "all.kc", "-p", 1)
    expect(alone["gc"]["groups"], [], "groups of a genome alone")
    near(alone["gc"]["main_gc"], 0.41, 0.02, "GC content")
    size, whole = found["verdict"]["genome_size"], alone["verdict"]["genome_size"]
    expect(whole["all_kmers"], whole["value"], "both sizes of a genome alone")
    near(size["value"], 100_000, 0.03, "size")
    expect(size["low"] <= 100_000 <= size["high"], True, "interval")
    expect(size["all_kmers"] > 1.3 * size["value"], True, "the size with the groups")
    near(size["off_profile"] + size["value"], size["all_kmers"], 1e-4, "both sizes")
    groups = found["gc"]["groups"]
    expect([group["likeness"] for group in groups], ["contaminant", "organelle or plasmid"],
           "likenesses")
    kmers = [(kmer, int(count)) for kmer, count in
             (line.split() for line in s.kcount("dump", "all.kc").splitlines())]
    wanted = find_groups(kmers, found["verdict"]["coverage"]["value"], found["model"]["threshold"])
    expect(len(wanted), 2, "groups that are wanted")
    for group, (number, total) in zip(groups, wanted):
        near(group["kmers"], number, 1e-3, "k-mers of a group")
        near(group["instances"], total, 1e-3, "their counts")
    for nthreads in (1, 5):
        expect(model(s, "all.kc", "-p", 1, "-t", nthreads), found, f"with {nthreads} threads")
    text = s.kcount("model", "all.kc", "-p", 1)
    expect("besides the genome" in text and "are left out of its size" in text, True, text)
    s.write("all.hist", s.kcount("hist", "all.kc"))
    expect("gc" in model(s, "all.hist", "-k", 21), False, "groups of a histogram")


def test_refusals():
    s = Session()
    rows = (KEPT / "compared010.hist").read_text().splitlines(keepends=True)
    s.write("few.hist", "".join(rows[4:]))
    s.kcount("model", "few.hist", "-k", 21, code=1, message="counts under 5 are missing")
    s.write("less.hist", "".join(rows[2:]))
    less = model(s, "less.hist", "-k", 21)
    expect("error_rate" in less["verdict"], False, "an error rate without errors")
    expect("K-mers with counts under 3 are missing" in less["caveats"][-1], True, less["caveats"])
    s.write("errors.hist", "".join(rows[:3]))
    s.kcount("model", "errors.hist", "-k", 21, code=1, message="no peak beyond the errors")
    reads = SOURCE / "data/phage.fq.gz"
    s.write("some.fa", ">a\n" + "ACGTTGCAACGTAGCTAGGATCCA" * 3 + "\n")
    for options, message in ((["--stranded"], "of both strands"),
                             (["--only", "some.fa"], "of a given set"),
                             (["--min", 5], "counts under 5 are missing")):
        s.kcount("count", reads, "-k", 21, "-o", "r.kc", "--force", *options)
        s.kcount("model", "r.kc", code=1, message=message)
    s.kcount("count", reads, "-k", 21, "-o", "r.kc", "--force", "--hpc")
    expect("Homopolymers were compressed" in s.kcount("model", "r.kc", "-p", 1), True,
           "caveat of --hpc")


def mixed(first, second, shift):
    """The counts of two genomes together, those of the second times `shift`, errors excepted."""
    rows = {}
    for name, times in ((first, 1), (second, shift)):
        for line in (KEPT / name).read_text().splitlines():
            count, number = map(int, line.split())
            at = count if count < 4 else int(count * times)
            rows[at] = rows.get(at, 0) + number
    return "".join(f"{count}\t{rows[count]}\n" for count in sorted(rows))


def test_no_verdict():
    """If no ploidy explains the counts, all fits are shown, and none is chosen."""
    s = Session()
    s.write("mixed.hist", mixed("compared003.hist", "compared004.hist", 0.3))
    found = model(s, "mixed.hist", "-k", 21)
    expect("verdict" in found, False, found["ploidy"])
    expect("No ploidy explains the counts" in found["caveats"][0], True, found["caveats"])
    text = s.kcount("model", "mixed.hist", "-k", 21)
    expect("genome size" in text, False, "a size without a verdict")
    expect("about as well as" in text, False, "a runner-up without a verdict")


def test_store():
    """A .kc file is modelled as the histogram that hist --genomescope prints."""
    s = Session()
    s.kcount("count", SOURCE / "data/phage.fq.gz", "-k", 21, "-o", "phage.kc")
    s.write("phage.hist", s.kcount("hist", "--genomescope", "phage.kc"))
    of_file = model(s, "phage.kc", "--genomescope", "-p", 1)
    of_table = model(s, "phage.hist", "-k", 21, "--genomescope", "-p", 1)
    expect({**of_table, "file": "phage.kc"}, of_file, "the model of a .kc file")
    s.kcount("model", "phage.kc", "-k", 31, "--genomescope", code=2, message="of k = 21, not 31")
    text = s.kcount("model", "phage.kc", "--genomescope", "-p", 1)
    expect("haploid length" in text and "36,470 bp" in text, True, "text")
    expect(s.kcount("model", "phage.kc", "--genomescope", "-p", 1), text, "a second run")


def test_bad_inputs():
    s = Session()
    rows = (KEPT / "phage.hist").read_text().splitlines(keepends=True)
    genomescope = ("-k", 21, "--genomescope")
    for text, message in (("", "bad.hist holds no histogram"),
                          ("ACGT\t5\n", "bad.hist, line 1: 'ACGT\t5' is not a row"),
                          ("1 5\n1 6\n", "line 2: count 1 comes after count 1"),
                          ("".join(rows[:16]), "bad.hist: the histogram has 16 rows"),
                          ("1 5\n9007199254740994 6\n", "is too large")):
        s.write("bad.hist", text)
        s.kcount("model", "bad.hist", *genomescope, code=1, message=message)
    s.kcount("model", "missing.hist", *genomescope, code=1, message="cannot open missing.hist")
    s.kcount("model", "missing.hist", code=1, message="cannot open missing.hist")
    s.kcount("model", KEPT / "phage.hist", "--genomescope", code=2, message="which k?")
    model_rows(s, table({20: 3e18}, 0.6, 60))
    expect(" 3e+18 bp" in s.kcount("model", "rows.hist", "-k", 21, "-p", 1), True, "a vast size")
    s.write("piped.hist", "".join(rows))
    expect(model(s, "-", *genomescope, text="".join(rows))["coverage"],
           model(s, "piped.hist", *genomescope)["coverage"], "of standard input")
    s.kcount("count", SOURCE / "data/phage.fq.gz", "-k", 31, "-o", "./-.kc")
    s.path.joinpath("-.kc").rename(s.path / "-")
    expect(model(s, "-", *genomescope, text="".join(rows))["k"], 21, "k of standard input")


def test_hostile_inputs():
    """Whatever the numbers are, there is a model or a message, and no field is nan or inf."""
    s = Session()
    rng = random.Random(35)
    tables = ["1\t1\n", "18446744073709551615\t18446744073709551615\n",
              "".join(f"{x}\t{10**18}\n" for x in range(1, 40)),
              "".join(f"{x}\t0\n" for x in range(1, 40)),
              "".join(f"{x * 10**8}\t5\n" for x in range(1, 40)),
              *("".join(f"{x}\t{rng.randrange(10**rng.randrange(1, 9))}\n" for x in range(1, 60))
                for _ in range(5))]
    for table in tables:
        s.write("odd.hist", table)
        for options in (["--genomescope"], [], ["-p", "1,2,3,4,5,6"]):
            printed = s.kcount("model", "odd.hist", "-k", 21, *options, "--json", code=None)
            expect(s.code in (0, 1), True, f"exit code {s.code} with {table[:40]!r}")
            if s.code == 0:
                json.loads(printed)
                expect("nan" in printed or "inf" in printed, False, f"no number in {printed}")


def test_peaks_beyond_all_limits():
    s = Session()
    for at in (30_000, 10**8, 2**64 - 100):
        s.write("far.hist", "1\t1000\n2\t50\n" +
                "".join(f"{at + x}\t{10**6 - 100 * (x - 40)**2}\n" for x in range(90)))
        s.kcount("model", "far.hist", "-k", 21, code=1)
        expect(any(why in s.said for why in ("its peak at a count of", "no peak", "is too large")),
               True, s.said)


def test_coverage_of_two_thousand():
    s = Session()
    rng = random.Random(2000)
    rows = [max(0, int(rng.gauss(0, 30) + 60000 * 2.718**(-(x - 2000)**2 / 9000)))
            for x in range(20, 6000)]
    s.write("deep.hist", "1\t900000\n2\t9000\n3\t100\n" +
            "".join(f"{x}\t{y}\n" for x, y in enumerate(rows, 20) if y > 30))
    found = model(s, "deep.hist", "-k", 21)
    near(found["verdict"]["coverage"]["value"] * found["verdict"]["ploidy"], 2000, 0.02, "coverage")


def peak(x, mean, bias):
    """The negative binomial distribution of model.md."""
    size = mean / bias
    return math.exp(math.lgamma(x + size) - math.lgamma(x + 1) - math.lgamma(size) +
                    x * math.log(bias / (1 + bias)) - size * math.log1p(bias))


def table(peaks, bias, last, errors=2e8):
    """A histogram, computed: peaks of k-mers, {mean: number}, and errors with small counts."""
    rows = {x: round(sum(number * peak(x, mean, bias) for mean, number in peaks.items()) +
                     errors * math.exp(1.5 * (1 - x))) for x in range(1, last + 1)}
    return {x: y for x, y in rows.items() if y > 0}


def model_rows(s, rows, *options):
    s.write("rows.hist", "".join(f"{x}\t{y}\n" for x, y in sorted(rows.items())))
    return model(s, "rows.hist", "-k", 21, *options)


def is_haploid(found, size, coverage, what):
    expect(found["verdict"]["ploidy"], 1, f"ploidy of {what}")
    near(found["verdict"]["genome_size"]["value"], size, 0.01, f"size of {what}")
    near(found["verdict"]["coverage"]["value"], coverage, 0.01, f"coverage of {what}")


def test_kmers_that_are_not_there():
    """A fit whose k-mers have counts beyond the fitted rows, where there are none, loses."""
    s = Session()
    peaks = {40: 91e6, 80: 4e6 / 2, 120: 5e6 / 3}
    is_haploid(model_rows(s, table(peaks, 0.6, 480)), 1e8, 40, "a genome with three copies")


def test_deep_and_uneven():
    s = Session()
    found = model_rows(s, table({300: 5e6}, 27, 1200, 3e7))
    is_haploid(found, 5e6, 300, "a genome whose coverage varies by 30 %")
    near(found["model"]["bias"], 27, 0.01, "bias")


def test_many_rows():
    """Where the peak has thousands of rows, what is fitted are means of several."""
    s = Session()
    same = (1 - 0.01)**21
    rows = table({2000: 2e7 * (1 - same), 4000: 1e7 * same}, 20, 8100, 3e7)
    found = model_rows(s, rows)
    verdict = found["verdict"]
    expect(verdict["ploidy"], 2, "ploidy")
    near(verdict["genome_size"]["value"], 1e7, 0.001, "size")
    near(verdict["coverage"]["value"], 2000, 0.001, "coverage")
    near(verdict["heterozygosity"]["value"], 0.01, 0.005, "heterozygosity")
    near(found["model"]["bias"], 20, 0.01, "bias")
    expect(found["ploidy"][0]["explained"] > 0.999, True, "what the fit explains of the rows")


def test_low_shoulder():
    """K-mers of the genome with low counts are not errors, although the model lacks them."""
    s = Session()
    errors = 6e6
    rows = table({60: 9.5e5, 35: 5e4}, 0.6, 300, errors)
    found = model_rows(s, rows, "-p", 1)
    wrong = sum(x * errors * math.exp(1.5 * (1 - x)) for x in range(1, 20))
    near(found["model"]["error_kmers"], wrong, 0.01, "k-mers with errors")


def test_uneven_coverage():
    """The more the counts vary, the wider the intervals; the same with fewer reads."""
    s = Session()
    same = (1 - 0.001)**21

    def find(coverage, bias):
        rows = table({coverage: 2e8 * (1 - same), 2 * coverage: 1e8 * same}, bias, 400, 3e8)
        return model_rows(s, rows, "-p", 2)

    found = [find(coverage, bias) for coverage, bias in ((40, 0.5), (20, 0.5), (20, 2))]
    for field in ("genome_size", "heterozygosity"):
        widths = [(one["verdict"][field]["high"] - one["verdict"][field]["low"])
                  for one in found]
        expect(sorted(widths), widths, f"widths of the interval of {field}")
        expect(widths[2] > 1.5 * widths[0], True, f"widths of the interval of {field}: {widths}")
    for one, words in zip(found, ("known only to within", "known only to within",
                                  "heterozygosity is poorly known")):
        expect(words in " ".join(one["caveats"]), True, one["caveats"])


def test_close_peaks():
    """Four haplotypes need more coverage than two for the same interval of the heterozygosity."""
    s = Session()
    same = (1 - 0.01)**21

    def find(coverage, ploidy):
        peaks = {coverage: 1e8 * (1 - same), (ploidy - 1) * coverage: 1e8 * (1 - same),
                 ploidy * coverage: 1e8 * same}
        got = model_rows(s, table(peaks, 0.1, 400, 3e8), "-p", ploidy)["verdict"]["heterozygosity"]
        return got["high"] / got["value"] - 1

    expect(find(16, 4) > 1.5 * find(22, 4), True, "coverage of a tetraploid genome")
    expect(find(16, 2) < 1.2 * find(22, 2), True, "coverage of a diploid genome")


def test_rough_caveats():
    """Two genomes in the reads, and k-mers that are no genome's."""
    s = Session()
    same = (1 - 0.01)**21
    peaks = {20: 2e8 * (1 - same), 40: 1e8 * same}
    rows = table(peaks, 0.5, 400, 3e8)

    def caveats(more):
        found = model_rows(s, {x: rows.get(x, 0) + more.get(x, 0) for x in {*rows, *more}})
        return " ".join(found["caveats"])

    expect("unexplained" in caveats({}) or "of the size comes" in caveats({}), False, "no caveats")
    other = caveats(table({60: 7e6}, 0.5, 400, 0))
    expect("of the k-mers unexplained, more than those of one genome" in other, True, other)
    frequent = {5000 + x: 20 for x in range(1, 20001)}
    expect("% of the size comes from k-mers with more copies" in caveats(frequent), True,
           "caveat on the size")


def test_single_rows():
    """A last row that stands for all greater counts is not the peak, and is not fitted; nor is the
    row of a k-mer that is very frequent the peak."""
    s = Session()
    rows = table({20: 36e6, 40: 82e6}, 0.6, 200)
    whole = model_rows(s, rows)
    expect(any("last row" in text for text in whole["caveats"]), False, whole["caveats"])
    for count, number in ((10001, 400_000), (255, 10**7), (70, 10**7)):
        cut = {x: y for x, y in rows.items() if x < count}
        found = model_rows(s, {**cut, count: number})
        expect(found["verdict"]["ploidy"], whole["verdict"]["ploidy"], f"ploidy with row {count}")
        near(found["verdict"]["coverage"]["value"], whole["verdict"]["coverage"]["value"], 0.02,
             f"coverage with row {count}")
        expect(found["model"]["fit_last"], min(count - 1, whole["model"]["fit_last"]), "last row")
        expect(any(f"all counts from {count} on" in text for text in found["caveats"]), True,
               found["caveats"])
    errors = "".join(f"{x}\t{2**(20 - x)}\n" for x in range(1, 20))
    s.write("alone.hist", errors + "255\t1000000\n")
    s.kcount("model", "alone.hist", "-k", 21, code=1, message="no peak beyond the errors")
    rows = table({1000: 1e5}, 4, 2000, 1e6)
    is_haploid(model_rows(s, {**rows, 10**7: 1}, "-p", 1), 1e5 + 1e4, 1000, "a frequent k-mer")


def test_best_fit_decides():
    """There is a verdict if the best fit explains 90 %, also if the one that is chosen does not."""
    s = Session()
    same = (1 - 0.001)**21
    peaks = {30: 2e8 * (1 - same), 60: 1e8 * same}
    rows, wide = table(peaks, 0.5, 400, 3e8), table({81: 14e6}, 3, 400, 0)
    found = model_rows(s, {x: y + wide.get(x, 0) for x, y in rows.items()})
    shares = [fit["explained"] for fit in found["ploidy"]]
    expect((shares[0] < 0.9, max(shares) > 0.9), (True, True), f"explained shares {shares}")
    expect("verdict" in found, True, found["caveats"])


def test_filters():
    """Counts that are missing are noticed: zeros, an upper bound, a bound for some of the reads."""
    s = Session()
    rows = (KEPT / "compared010.hist").read_text().splitlines(keepends=True)
    s.write("zeros.hist", "1\t0\n2\t0\n" + "".join(rows[2:]))
    found = model(s, "zeros.hist", "-k", 21)
    expect("K-mers with counts under 3 are missing" in found["caveats"][-1], True, "zeros")
    s.write("zeros.hist", "".join(f"{x}\t0\n" for x in range(1, 5)) + "".join(rows[4:]))
    s.kcount("model", "zeros.hist", "-k", 21, code=1, message="counts under 5 are missing")
    for name, *options in (("all",), ("low", "--max", 60), ("cut", "--max", 500),
                           ("up", "--min", 2)):
        s.kcount("count", SOURCE / "data/phage.fq.gz", "-k", 21, "-o", f"{name}.kc", *options)
    s.kcount("model", "low.kc", code=1, message="counts over 60 are missing: a model needs those")
    expect("counts over 500 are missing, so the size may" in s.kcount("model", "cut.kc", "-p", 1),
           True, "caveat of --max")
    for name in "cut", "up":
        s.kcount("merge", "all.kc", f"{name}.kc", "-o", "m.kc", "--force")
        s.kcount("model", "m.kc", code=1, message="only some of the reads were counted with --min")


def skip_without_cminpack():
    s = Session()
    s.kcount("model", KEPT / "phage.hist", "-k", 21, "--genomescope", code=None)
    if WITHOUT in s.said:
        expect(s.code, 2, "exit code without cminpack")
        raise SystemExit(77)


skip_without_cminpack()
main([test_genomescope, test_known_genomes, test_ploidies, test_groups, test_refusals,
      test_no_verdict, test_store, test_bad_inputs, test_hostile_inputs,
      test_peaks_beyond_all_limits, test_coverage_of_two_thousand, test_kmers_that_are_not_there,
      test_deep_and_uneven, test_many_rows, test_low_shoulder, test_uneven_coverage,
      test_close_peaks, test_rough_caveats, test_single_rows, test_best_fit_decides, test_filters])
