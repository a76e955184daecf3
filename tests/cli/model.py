"""
Models of genomes: the numbers are those of known genomes; --genomescope finds what GenomeScope 2's
own R code finds, which scripts/check_genomescope.sh records; inputs of all kinds are accepted or
refused.

    model.py KCOUNT SOURCE

The genomes are simulated, by bench/model/simulate.py; data/phage.fq.gz is real.
"""
import json
import random

from lib.session import SOURCE, Session, expect
from lib.tools import Failure, main

KEPT = SOURCE / "tests/cli/expected/model"
WITHOUT = "built without cminpack"


def near(got, wanted, share, what):
    if abs(got - wanted) > share * abs(wanted) + 1e-9:
        raise Failure(f"{what} is {got}, not {wanted}")


def model(s, *arguments, **how):
    return json.loads(s.kcount("model", *arguments, "--json", **how))


def test_genomescope():
    s = Session()
    for name, wanted in json.loads((KEPT / "genomescope.json").read_text()).items():
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
                          ("".join(rows[:16]), "has 16 rows")):
        s.write("bad.hist", text)
        s.kcount("model", "bad.hist", *genomescope, code=1, message=message)
    s.kcount("model", "missing.hist", *genomescope, code=1, message="cannot open missing.hist")
    s.kcount("model", KEPT / "phage.hist", "--genomescope", code=2, message="which k?")
    s.write("piped.hist", "".join(rows))
    expect(model(s, "-", *genomescope, text="".join(rows))["coverage"],
           model(s, "piped.hist", *genomescope)["coverage"], "of standard input")


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
        expect("its peak at a count of" in s.said or "no peak" in s.said, True, s.said)


def test_coverage_of_two_thousand():
    s = Session()
    rng = random.Random(2000)
    rows = [max(0, int(rng.gauss(0, 30) + 60000 * 2.718**(-(x - 2000)**2 / 9000)))
            for x in range(20, 6000)]
    s.write("deep.hist", "1\t900000\n2\t9000\n3\t100\n" +
            "".join(f"{x}\t{y}\n" for x, y in enumerate(rows, 20) if y > 30))
    found = model(s, "deep.hist", "-k", 21)
    near(found["verdict"]["coverage"]["value"] * found["verdict"]["ploidy"], 2000, 0.02, "coverage")


def skip_without_cminpack():
    s = Session()
    s.kcount("model", KEPT / "phage.hist", "-k", 21, "--genomescope", code=None)
    if WITHOUT in s.said:
        expect(s.code, 2, "exit code without cminpack")
        raise SystemExit(77)


skip_without_cminpack()
main([test_genomescope, test_known_genomes, test_ploidies, test_groups, test_refusals,
      test_no_verdict, test_store, test_bad_inputs, test_hostile_inputs,
      test_peaks_beyond_all_limits, test_coverage_of_two_thousand])
