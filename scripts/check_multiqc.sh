#!/usr/bin/env bash
# Show two samples' files for MultiQC with MultiQC itself, which pip installs into a scratch folder.
#
#       scripts/check_multiqc.sh [--record] [BUILD [VERSION]]
#
# VERSION: of MultiQC; the newest one if it is not given. The table of general statistics that it
# writes is compared with tests/cli/expected/multiqc.tsv, and the test cli_report_pictures compares
# kcount's files with the same table. With --record, the table becomes this file.
set -euo pipefail
cd "$(dirname "$0")/.."

record=
[ "${1:-}" = --record ] && record=$1 && shift
build=${1:-build}
version=${2:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --build "$build" --target report_pictures
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet "multiqc${version:+==$version}" "setuptools<70"
mkdir "$work/examples" "$work/samples"
"$build/tests/report_pictures" "$work/examples"
cp "$work/examples/diploid/"*_mqc.json "$work/examples/haploid/"*_mqc.json "$work/samples"
(cd "$work/samples" && "$work/venv/bin/multiqc" --quiet --data-format json --outdir ../shown .)

python3 - "$work" "$record" << 'END'
import csv
import io
import json
import sys
from pathlib import Path

work, record = Path(sys.argv[1]), sys.argv[2] == "--record"
shown = json.loads((work / "shown/multiqc_data/multiqc_data.json").read_text())
page = (work / "shown/multiqc_report.html").read_text()

general = shown["report_general_stats_data"]  # a list, or by module since 1.30
rows = {}
for part in general.values() if isinstance(general, dict) else general:
    for sample, found in part.items():
        found = found[0].get("data", found[0]) if isinstance(found, list) else found
        rows[sample] = found
columns = list(rows["diploid"])
table = io.StringIO()
writer = csv.writer(table, delimiter="\t", lineterminator="\n")
writer.writerow(["Sample", *columns])
for sample in sorted(rows):
    writer.writerow([sample, *(rows[sample].get(column, "") for column in columns)])
kept = Path("tests/cli/expected/multiqc.tsv")
if record:
    kept.write_text(table.getvalue())
if table.getvalue() != kept.read_text():
    sys.exit(f"MultiQC shows\n{table.getvalue()}instead of\n{kept.read_text()}")

plot = shown["report_plot_data"]["kcount_spectrum_plot"]["datasets"][0]
for line in plot.get("lines", plot if isinstance(plot, list) else []):
    points = [(float(x), y) for x, y in line.get("pairs") or line["data"]]
    data = json.loads((work / f"samples/{line['name']}_spectrum_mqc.json").read_text())["data"]
    wanted = sorted((float(x), y) for x, y in data[line["name"]].items())
    if points != wanted:
        sys.exit(f"MultiQC draws {points[:5]}, not {wanted[:5]}")
    print(f"{line['name']}: {len(points)} points of its spectrum")
for words in ("diploid", "haploid", "Genome size", "k-mer spectrum"):
    if words not in page:
        sys.exit(f"'{words}' is not in the report")
print(table.getvalue(), end="")
END
