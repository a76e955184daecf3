#!/usr/bin/env python3
"""
How often the intervals of `kcount model` contain the truth, and how far off its numbers are.

    calibrate.py KCOUNT FOLDER [--record]

FOLDER: where simulate.py wrote. With --record, the result is written to bench/results/model.json.
"""
import json
import math
import subprocess
import sys
from pathlib import Path

NUMBERS = {"genome_size": "size", "heterozygosity": "heterozygosity", "coverage": "kmer_coverage",
           "error_rate": "error_rate"}


def run(kcount, path, *options):
    done = subprocess.run([kcount, "model", path, "-k", "21", "--json", *options],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return json.loads(done.stdout) if done.returncode == 0 else None, done.stderr.strip()


def off(verdict, truth):
    """For each number: by what share it is off, and whether the interval holds the truth."""
    found = {}
    for name, known in NUMBERS.items():
        value, true = verdict[name]["value"], truth[known]
        if true > 0:
            found[name] = (value / true - 1, verdict[name]["low"] <= true <= verdict[name]["high"])
    return found


def summarize(name, pairs):
    shares = sorted(abs(share) for share, _ in pairs)
    return {"genomes": len(pairs), "in_interval": sum(held for _, held in pairs),
            "mean": round(sum(share for share, _ in pairs) / len(pairs), 5),
            "deviation": round(math.sqrt(sum(share**2 for share in shares) / len(pairs)), 5),
            "median": round(shares[len(shares) // 2], 5), "largest": round(shares[-1], 5)}


def main():
    kcount, folder = sys.argv[1], Path(sys.argv[2])
    pairs, right, refused = {name: [] for name in NUMBERS}, 0, []
    truths = json.loads((folder / "truth.json").read_text())
    for name, truth in truths.items():
        found, message = run(kcount, folder / f"{name}.hist")
        if found is None or "verdict" not in found:
            refused.append(name)
            print(name, "refused:", message[-150:] or found["caveats"])
            continue
        ploidy = found["verdict"]["ploidy"]
        right += ploidy == truth["ploidy"]
        if ploidy != truth["ploidy"]:
            print(name, f"ploidy {ploidy}, not {truth['ploidy']}:",
                  f"heterozygosity {truth['heterozygosity']:.4f},",
                  f"coverage {truth['kmer_coverage']:.1f}, repeats {truth['repeats']},",
                  "runner-up", found["verdict"].get("runner_up"))
            found, _ = run(kcount, folder / f"{name}.hist", "-p", str(truth["ploidy"]))
            if found is None or "verdict" not in found:
                continue
        for number, pair in off(found["verdict"], truth).items():
            pairs[number].append(pair)
            if abs(pair[0]) > 0.03 and number == "genome_size" or not pair[1]:
                print(name, number, f"{100 * pair[0]:+.2f} %", truth["ploidy"], truth["coverage"],
                      round(truth["heterozygosity"], 4), truth["repeats"], truth["error_rate"],
                      truth["spread"], found["caveats"])
    result = {"genomes": len(truths), "right_ploidy": right, "refused": len(refused),
              **{name: summarize(name, found) for name, found in pairs.items()}}
    print(json.dumps(result, indent=1))
    if "--record" in sys.argv:
        Path("bench/results/model.json").write_text(json.dumps(result, indent=1) + "\n")


main()
