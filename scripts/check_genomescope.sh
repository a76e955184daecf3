#!/usr/bin/env bash
# Compare `kcount model --genomescope` with GenomeScope 2 itself.
#
#     scripts/check_genomescope.sh GENOMESCOPE [--record]
#
# GENOMESCOPE: a clone of https://github.com/tbenavi1/genomescope2.0. Needs build/kcount, and R with
# minpack.lm, argparse and jsonlite (Debian: r-base-core r-cran-minpack.lm r-cran-argparse
# r-cran-jsonlite).
# With --record, what R finds for the histograms in tests/cli/expected/model is written to
# genomescope.json in that folder; the test cli_model compares kcount with it. GenomeScope's own
# example histograms are compared only here. Takes a few minutes, most of them for ploidy 6.
set -euo pipefail
genomescope=$(realpath "$1")
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
R CMD INSTALL --no-docs --library="$work" "$genomescope" > "$work/install.log" 2>&1 ||
        { cat "$work/install.log" >&2; exit 1; }
R_LIBS=$work python3 - "$genomescope" "$work" "${2:-}" << 'END'
import json
import subprocess
import sys
from pathlib import Path

genomescope, work, record = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3] == "--record"
kept = Path("tests/cli/expected/model")


def run_r(histogram, ploidy, k):
    folder = work / f"{histogram.stem}.{ploidy}"
    subprocess.run(["Rscript", genomescope / "genomescope.R", "-i", histogram, "-o", folder,
                    "-p", str(ploidy), "-k", str(k), "--json_report"],
                   check=True, stdout=subprocess.DEVNULL)
    found = json.loads((folder / "report.json").read_text())
    return {"ploidy": ploidy, "k": k, "coverage": found["kcov"],
            "heterozygosity": found["heterozygous"]["avg"],
            "genome_size": found["genome_haploid_length"]["avg"],
            "genome_size_low": found["genome_haploid_length"]["min"],
            "genome_size_high": found["genome_haploid_length"]["max"],
            "error_rate": found["read_error_rate"], "fit_full": found["model_fit"]["full"]}


def run_kcount(histogram, ploidy, k):
    printed = subprocess.run(["build/kcount", "model", histogram, "--genomescope", "--json", "-p",
                              str(ploidy), "-k", str(k)], check=True, stdout=subprocess.PIPE).stdout
    found = json.loads(printed)
    return {name: found[name]["value"] for name in ("genome_size", "heterozygosity", "coverage")}


truth = json.loads((kept / "truth.json").read_text())
jobs = [(kept / f"{name}.hist", known["ploidy"], 21) for name, known in truth.items()]
jobs += [(kept / "phage.hist", 1, 21), (kept / "polyploid001.hist", 5, 21),
         (kept / "polyploid002.hist", 6, 21), (kept / "polyploid003.hist", 6, 21)]
jobs += [(genomescope / "tests" / name, ploidy, k) for ploidy in (1, 2) for name, k in (
    ("inputk21.hist", 21), ("inputk23.hist", 23), ("hugegenome.hist", 21))]
expected, nwrong = {}, 0
for histogram, ploidy, k in jobs:
    wanted, got = run_r(histogram, ploidy, k), run_kcount(histogram, ploidy, k)
    off = max(abs(got[name] - wanted[name]) / max(wanted[name], 1e-9) for name in got)
    nwrong += off > 0.01
    print(f"{histogram.name}, ploidy {ploidy}: {100 * off:.4f} % off{' WRONG' * (off > 0.01)}",
          flush=True)
    if histogram.parent == kept:
        expected[histogram.name] = wanted
if record:
    (kept / "genomescope.json").write_text(json.dumps(expected, indent=1) + "\n")
sys.exit(nwrong > 0)
END
