#!/usr/bin/env python3
"""
How often the intervals of `kcount model` contain the truth, and how far off its numbers are.

    calibrate.py KCOUNT FOLDER [--record NAME]

FOLDER: where simulate.py wrote. Prints each genome with another ploidy than the true one, with a
number outside its interval, or with a size or heterozygosity that is over 3 % off, and its caveats.
With --record, the result is written to bench/results/model.json under this name.
"""
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

NUMBERS = {"genome_size": "size", "heterozygosity": "heterozygosity", "coverage": "kmer_coverage",
           "error_rate": "error_rate"}
RECORD = Path("bench/results/model.json")


def run(kcount, path, *options):
    """What kcount says, or None with its message, and the seconds that it took."""
    start = time.perf_counter()
    done = subprocess.run([kcount, "model", path, "-k", "21", "--json", *options],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    seconds = time.perf_counter() - start
    return json.loads(done.stdout) if done.returncode == 0 else None, done.stderr.strip(), seconds


def off(verdict, truth):
    """For each number: by what share it is off, and whether the interval holds the truth."""
    found = {}
    for name, known in NUMBERS.items():
        value, true = verdict[name]["value"], truth[known]
        if true > 0:
            found[name] = (value / true - 1, verdict[name]["low"] <= true <= verdict[name]["high"])
    return found


def describe(truth):
    return (f"ploidy {truth['ploidy']}, coverage {truth['kmer_coverage']:.1f}, heterozygosity "
            f"{100 * truth['heterozygosity']:.2f} %, repeats {truth['repeats']}, errors "
            f"{truth['error_rate']}, spread {truth['spread']}, pairs {truth['pairs']}")


def summarize(pairs):
    if not pairs:
        return {"genomes": 0}
    shares = [share for share, _ in pairs]
    return {"genomes": len(pairs), "in_interval": sum(held for _, held in pairs),
            "mean": round(statistics.mean(shares), 5),
            "median": round(statistics.median(abs(share) for share in shares), 5),
            "largest": round(max(shares, key=abs), 5)}


def judge(name, truth, kcount, path):
    """The genome's row: whether it is refused, has the right ploidy, and how far its numbers are
    off, if need be those of the true ploidy."""
    found, message, seconds = run(kcount, path)
    row = {"truth": truth, "seconds": seconds, "refused": found is None or "verdict" not in found}
    if row["refused"]:
        print(name, "refused:", message[-150:] or found["caveats"], describe(truth))
        return row
    verdict = found["verdict"]
    row["ploidy"], row["off"] = verdict["ploidy"], {}
    row["runner_up"] = verdict.get("runner_up")
    if row["ploidy"] != truth["ploidy"]:
        print(name, f"ploidy {row['ploidy']}, runner-up {row['runner_up']}:", describe(truth))
        found, message, _ = run(kcount, path, "-p", str(truth["ploidy"]))
        if found is None or "verdict" not in found:
            print(name, "refused with the true ploidy:", message[-150:])
            return row
        verdict = found["verdict"]
    row["off"] = off(verdict, truth)
    for number, (share, held) in row["off"].items():
        if not held or (abs(share) > 0.03 and number in ("genome_size", "heterozygosity")):
            print(name, number, f"{100 * share:+.2f} %", "in" if held else "OUT:",
                  f"{verdict[number]['low']:.5g}..{verdict[number]['high']:.5g}", describe(truth),
                  [text[:40] for text in found["caveats"]])
    return row


def tell(rows):
    numbers = {name: [row["off"][name] for row in rows if name in row.get("off", {})]
               for name in NUMBERS}
    judged = [row for row in rows if not row["refused"]]
    right = [row for row in judged if row["ploidy"] == row["truth"]["ploidy"]]
    named = [row for row in judged if row["runner_up"] == row["truth"]["ploidy"]]
    return {"genomes": len(rows), "refused": len(rows) - len(judged), "right_ploidy": len(right),
            "runner_up_is_right": len(named),
            **{name: summarize(pairs) for name, pairs in numbers.items()}}


def main():
    kcount, folder = sys.argv[1], Path(sys.argv[2])
    truths = json.loads((folder / "truth.json").read_text())
    rows = [judge(name, truth, kcount, folder / f"{name}.hist") for name, truth in truths.items()]
    result = tell(rows)
    for ploidy in sorted({row["truth"]["ploidy"] for row in rows}):
        result[f"ploidy {ploidy}"] = tell([row for row in rows
                                           if row["truth"]["ploidy"] == ploidy])
    print(json.dumps(result, indent=1))
    print(f"The slowest took {max(row['seconds'] for row in rows):.3f} s.")
    if "--record" in sys.argv:
        record = json.loads(RECORD.read_text())
        record[sys.argv[sys.argv.index("--record") + 1]] = result
        RECORD.write_text(json.dumps(record, indent=1) + "\n")


main()
