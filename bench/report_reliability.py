#!/usr/bin/env python3
"""
Make docs/dev/reliability.md from the lines that scripts/campaign.sh has appended to
bench/results/campaign.jsonl, and from the files kept by hand in bench/reliability/; and bring the
paragraph of docs/safety.md that has their totals up to date.
"""
import json
import pathlib
import re
import sys

from runs import load_lines

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "campaign"))
from kinds import ABOUT  # noqa: E402

RESULTS = ROOT / "bench" / "results" / "campaign.jsonl"
HAND_KEPT = ROOT / "bench" / "reliability"
SUMS = ("cases", "runs", "device_runs", "kmers", "bases", "peer_runs", "faults")


def added(totals):
    """The sums over the totals of some kinds."""
    return {name: sum(kind.get(name, 0) for kind in totals) for name in SUMS}


def totals_of(record):
    return added(record["kinds"].values())


def number(value):
    return f"{value:,}"


def hours(seconds):
    return f"{seconds / 3600:.2f}"


def table(columns, rows):
    """A table; columns whose names end in '#' hold numbers."""
    heads = [name.rstrip("#") for name in columns]
    rule = ["---:" if name.endswith("#") else "---" for name in columns]
    cells = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    return ["| " + " | ".join(heads) + " |", "|" + "|".join(rule) + "|",
            *("| " + " | ".join(row) + " |" for row in cells), ""]


def machine_of(record):
    about = record["machine"]
    where = f"{about['cpu']}, {about['cores']} cores"
    return where + (f"; {about['gpu']}" if "gpu" in about else "")


def groups_of(records, key):
    groups = {}
    for record in records:
        groups.setdefault(key(record), []).append(record)
    return groups


def sum_lines(records):
    """One sentence about all campaigns."""
    sums = added([totals_of(record) for record in records])
    swept = [sweep for record in records for sweep in record["sweeps"]]
    faults = sums["faults"] + sum(sweep["faults"] for sweep in swept)
    cpu = sum(record["cpu_s"] for record in records)
    return [f"So far: **{number(sums['cases'])} cases**, {number(sums['runs'])} runs of kcount, "
            f"**{number(sums['kmers'])} k-mers compared**, {number(sums['peer_runs'])} comparisons "
            f"with jellyfish or KMC, in {hours(cpu)} hours of CPU time. Faults found: "
            f"{number(faults)}.", ""]


def machine_lines(records):
    rows = []
    groups = groups_of(records, lambda record: (machine_of(record), record["device"]))
    for (machine, device), mine in groups.items():
        sums = added([totals_of(record) for record in mine])
        seconds = [sum(record[name] for record in mine) for name in ("wall_s", "cpu_s")]
        shown = [sums[name] for name in ("cases", "runs", "device_runs", "kmers", "faults")]
        rows.append([machine, device, number(len(mine)), *map(hours, seconds), *map(number, shown)])
    return table(["machine", "--device", "campaigns#", "hours#", "CPU hours#", "cases#", "runs#",
                  "of these on the device#", "k-mers compared#", "faults#"], rows)


def kind_lines(records):
    rows = []
    for kind, about in ABOUT.items():
        sums = added([record["kinds"][kind] for record in records if kind in record["kinds"]])
        shown = [sums[name] for name in ("cases", "runs", "kmers", "faults")]
        rows.append([kind, about, *map(number, shown)])
    return table(["kind", "what it is", "cases#", "runs#", "k-mers compared#", "faults#"], rows)


def sweep_lines(records):
    """The number of runs of each long sweep, and its newest run."""
    swept = [(sweep, record) for record in records for sweep in record["sweeps"]]
    if not swept:
        return []
    rows = []
    for name, mine in sorted(groups_of(swept, lambda pair: pair[0]["name"]).items()):
        newest, record = mine[-1]
        rows.append([name, number(len(mine)), number(newest["cases"]), number(newest["faults"]),
                     f"{record['date']}, {record['commit']}"])
    return ["The long sweeps, and the newest run of each:", "",
            *table(["sweep", "runs#", "states, calls or inputs#", "faults#", "when"], rows)]


def campaign_lines(records):
    rows = []
    for record in records:
        sums = totals_of(record)
        counters = [f"{name} {version}".strip() for name, version in record["counters"].items()]
        rows.append([record["date"], record["commit"],
                     f"`{record['command']}`, seed {record['seed']}", ", ".join(counters),
                     number(sums["cases"]), number(sums["kmers"]), number(sums["faults"])])
    columns = ["date", "commit", "command", "against", "cases#", "k-mers compared#", "faults#"]
    return ["Each campaign:", "", *table(columns, rows)]


def one_line(text, most=200):
    text = " ".join(text.split())
    return text if len(text) <= most else text[:most] + "..."


def found_lines(records):
    """The faults that the campaigns on the page found."""
    rows = [[record["date"], record["commit"],
             f"seed {record['seed']}, case {fault['case']} ({fault['kind']})",
             one_line(fault["what"])] for record in records for fault in record["faults"]]
    rows += [[record["date"], record["commit"], f"sweep: {sweep['name']}", one_line(sweep["what"])]
             for record in records for sweep in record["sweeps"] if sweep["faults"]]
    if not rows:
        return ["The campaigns on this page found none.", ""]
    return ["Found by the campaigns above:", "", *table(["date", "commit", "case", "what"], rows)]


def story_lines(stories):
    """The faults whose stories are kept by hand, and the tests that fail if one comes back."""
    rows = [[story["fault"], story["found"], ", ".join(f"`{guard}`" for guard in story["guards"])]
            for story in stories]
    return ["These faults are fixed; each has a test that fails without the fix:",
            "", *table(["fault", "found by", "guarded by"], rows)]


def page(records, stories, intro):
    lines = [intro, "## What was run", ""]
    if records:
        lines += [*sum_lines(records), *machine_lines(records), *kind_lines(records),
                  *sweep_lines(records), *campaign_lines(records)]
    else:
        lines += ["No campaign yet.", ""]
    lines += ["## Faults", "", *found_lines(records), *story_lines(stories)]
    return "\n".join(lines).rstrip("\n") + "\n"


def stories_kept():
    return json.loads((HAND_KEPT / "faults.json").read_text())


def made_now():
    """The page made from the current files."""
    return page(load_lines(RESULTS), stories_kept(), (HAND_KEPT / "intro.md").read_text())


def with_totals(text, records):
    """A page whose paragraph that begins with "So far:" has the totals of the records."""
    return re.sub(r"(?m)^So far: .*$", lambda _: sum_lines(records)[0], text)


def main():
    docs = ROOT / "docs"
    (docs / "dev" / "reliability.md").write_text(made_now())
    safety = docs / "safety.md"
    safety.write_text(with_totals(safety.read_text(), load_lines(RESULTS)))


if __name__ == "__main__":
    main()
