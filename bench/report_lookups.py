"""Looking k-mers up on a device, by bench_gpu -A: a section of docs/dev/measurements.md."""
import re

from report_gpu import latest
from report_prose import LOOKUPS

BY_LOAD = re.compile(r"look up, load (?P<load>[0-9.]+), group (?P<group>[0-9]+)")
HALF = ", half foreign"


def rate(records, stage, table):
    """10^9 k-mers a second, or an empty text if it was not measured."""
    found = [record["g_per_s"] for record in records
             if (record["stage"], record["table"]) == (stage, table)]
    return f"{found[0]:.1f}" if found else ""


def by_map(records):
    lines = ["| map | k-mers of reads | half of them foreign |", "|---|---:|---:|"]
    for record in records:
        if record["stage"] == "look up":
            half = rate(records, "look up" + HALF, record["table"])
            lines.append(f"| {record['table']} | {record['g_per_s']:.1f} | {half} |")
    added = rate(records, "add counts", "")
    return [*lines, f"| adding up the counts | {added} |  |", ""]


def by_load(records):
    """WarpDrive: a row for each load; in a cell, the k-mers of reads, then half of them foreign."""
    settings = [BY_LOAD.fullmatch(record["stage"]) for record in records]
    settings = [setting.groupdict() for setting in settings if setting]
    if not settings:
        return []
    groups = sorted({int(setting["group"]) for setting in settings})
    lines = [f"| load | {' | '.join(f'{group} slots' for group in groups)} |",
             "|---:|" + "---:|" * len(groups)]
    for load in sorted({setting["load"] for setting in settings}):
        names = [f"look up, load {load}, group {group}" for group in groups]
        cells = [", ".join(filter(None, (rate(records, name + more, "warpdrive")
                                         for more in ("", HALF)))) for name in names]
        lines.append(f"| {load} | {' | '.join(cells)} |")
    return [*lines, ""]


def section(records):
    """Two tables for each device and size of genome."""
    records = [record for record in records
               if record["stage"].startswith("look up") or record["stage"] == "add counts"]
    lines = [LOOKUPS] if records else []
    for gpu, genome, k in sorted({(record["gpu"], record["genome"], record["k"])
                                  for record in records}):
        mine = [record for record in records
                if (record["gpu"], record["genome"], record["k"]) == (gpu, genome, k)]
        mine = latest(mine, "stage", "table")
        about = mine[-1]
        lines += [f"### {gpu}: {genome * 1e-6:.0f} M k-mers, k = {k}", "", *by_map(mine),
                  *by_load(mine), f"{about['date']}; commit {about['commit']}; "
                  f"`{about['command']}`.", ""]
    return lines
