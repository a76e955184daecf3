#!/usr/bin/env python3
"""Record the timeline of one count on a CUDA device: what overlaps, and what waits.

    bench/gpu_timeline.py --label plain reads.fq -k 31

Options that this script does not know are passed to kcount. One JSON line with all intervals, from
CUDA events and the host's clock, is appended to bench/results/gpu-timeline.jsonl; bench/report.py
draws it.
"""
import argparse
import datetime
import json
import pathlib
import tempfile

from runs import ROOT, add_no_record, commit, machine, open_log, timed


def intervals(path):
    """[stage, number, start_ms, end_ms] for each line of a trace."""
    rows = (line.split("\t") for line in path.read_text().splitlines())
    return [[row[0], int(row[1]), float(row[2]), float(row[3])] for row in rows if row[1].isdigit()]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reads", type=pathlib.Path)
    parser.add_argument("--label", required=True)
    parser.add_argument("--kcount", type=pathlib.Path, default=ROOT / "build" / "kcount")
    parser.add_argument("--results", type=pathlib.Path, default=ROOT / "bench" / "results")
    parser.add_argument("--work", type=pathlib.Path, help="folder for outputs (default: a new one)")
    add_no_record(parser)
    arguments, options = parser.parse_known_args()
    log = open_log(arguments.results / "gpu-timeline.jsonl", arguments.record, arguments.kcount)
    words = ["count", arguments.reads.name, *options, "--device", "cuda", "--gpu-trace", "out.tsv",
             "--quiet", "--json", "-o", "out.kc"]
    with tempfile.TemporaryDirectory(dir=arguments.work) as work:
        work = pathlib.Path(work)
        (work / arguments.reads.name).symlink_to(arguments.reads.resolve())
        result, said, complained = timed(" ".join([str(arguments.kcount.resolve()), *words]), work)
        if result["exit"] != 0:
            raise SystemExit(complained)
        trace = intervals(work / "out.tsv")
    summary = json.loads(said)
    record = {"label": arguments.label, "command": " ".join(["kcount", *words]),
              "wall": result["wall"], "bases": summary["bases"], "k": summary["k"],
              "seconds": summary["seconds"], "intervals": trace, "machine": machine(),
              "commit": commit(), "date": datetime.date.today().isoformat()}
    with log:
        log.write(json.dumps(record) + "\n")
    print(f"{arguments.label}: {result['wall']:.2f} s, {len(trace)} intervals")


if __name__ == "__main__":
    main()
