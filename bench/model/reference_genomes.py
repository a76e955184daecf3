#!/usr/bin/env python3
"""
What `kcount model` says about GenomeScope's simulated reads of three reference genomes.

    reference_genomes.py KCOUNT GENOMESCOPE [--record]

GENOMESCOPE: a clone of https://github.com/schatzlab/genomescope. analysis/simulation_results_* has
the histograms: two haplotypes of E. coli, Arabidopsis or Drosophila that differ at 0.1, 1 or 2 % of
the positions, reads of 100 bases with 0.1, 1 or 2 % errors that cover both together 10 to 100
times, and counts whose variance exceeds their mean by about 1, 2 or 3 times the mean (br1 to br3).
With --record, the result is added to bench/results/model.json.
"""
import json
import re
import statistics
import subprocess
import sys
from pathlib import Path

RECORD = Path("bench/results/model.json")
NAME = re.compile(r"(\w)\w+_.*_het([\d.]+)_br(\d)_rl100_cov(\d+)_err([\d.]+)_reads")
SIZES = {"A": 119_481_543, "E": 4_646_332}  # of Drosophila, only some sequences were taken
NUMBERS = ("genome_size", "heterozygosity", "coverage", "error_rate")
K, READ = 21, 100


def find_truth(path):
    genome, rate, bias, coverage, errors = NAME.match(path.name).groups()
    kept = (READ - K + 1) / READ * (1 - float(errors))**K
    complete = coverage != "50"  # those histograms end at a count of 601
    return {"bias": int(bias), "heterozygosity": float(rate), "error_rate": float(errors),
            "coverage": int(coverage) / 2 * kept, "genome_size": complete and SIZES.get(genome)}


def run(kcount, path, *options):
    done = subprocess.run([kcount, "model", path, "-k", str(K), "--json", *options],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    found = json.loads(done.stdout) if done.returncode == 0 else {}
    return found.get("verdict")


def summarize(rows, name):
    pairs = [(verdict[name], truth[name]) for truth, verdict in rows if truth[name]]
    shares = [found["value"] / true - 1 for found, true in pairs]
    return {"genomes": len(pairs),
            "in_interval": sum(found["low"] <= true <= found["high"] for found, true in pairs),
            "mean": round(statistics.mean(shares), 5),
            "median": round(statistics.median(map(abs, shares)), 5),
            "largest": round(max(shares, key=abs), 5)}


def main():
    kcount, folder = sys.argv[1], Path(sys.argv[2]) / "analysis"
    rows, nright, nrefused = [], 0, 0
    paths = sorted(folder.glob("simulation_results_*/*.hist"))
    for path in paths:
        truth, verdict = find_truth(path), run(kcount, path)
        nrefused += verdict is None
        if verdict is None:
            continue
        nright += verdict["ploidy"] == 2
        if verdict["ploidy"] != 2:
            verdict = run(kcount, path, "-p", "2")
        if verdict is not None:
            rows.append((truth, verdict))
    result = {"genomes": len(paths), "refused": nrefused, "right_ploidy": nright}
    for bias in (1, 2, 3):
        for name, low, high in (("under 15", 0, 15), ("15 or more", 15, 100)):
            some = [(truth, verdict) for truth, verdict in rows
                    if truth["bias"] == bias and low <= truth["coverage"] < high]
            result[f"bias {bias}, coverage {name}"] = {number: summarize(some, number)
                                                       for number in NUMBERS}
    print(json.dumps(result, indent=1))
    if "--record" in sys.argv:
        record = json.loads(RECORD.read_text())
        record["reference genomes"] = result
        RECORD.write_text(json.dumps(record, indent=1) + "\n")


main()
