"""
Models of genomes: --genomescope against the figures of GenomeScope 2's own R code, which
scripts/check_genomescope.sh writes, and inputs of all kinds.

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
    """Whatever the numbers are, there is a model or a message, and no field is no number."""
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
        printed = s.kcount("model", "odd.hist", "-k", 21, "--genomescope", "--json", code=None)
        expect(s.code in (0, 1), True, f"exit code {s.code} with {table[:40]!r}")
        if s.code == 0:
            json.loads(printed, parse_constant=lambda name: expect(name, "a number", table[:40]))


def skip_without_cminpack():
    s = Session()
    s.kcount("model", KEPT / "phage.hist", "-k", 21, "--genomescope", code=None)
    if WITHOUT in s.said:
        expect(s.code, 2, "exit code without cminpack")
        raise SystemExit(77)


skip_without_cminpack()
main([test_genomescope, test_store, test_bad_inputs, test_hostile_inputs])
