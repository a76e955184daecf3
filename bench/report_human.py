"""What a human genome costs: the section of docs/benchmarks.md on the runs of bench/human.py."""
from report_counts import machine_line, median, of_each
from report_prose import HUMAN

HEAD = "What a human genome costs"
LINK = f"- [{HEAD}](#{HEAD.lower().replace(' ', '-')})\n"
WAYS = ("make", "reader", "file", "cat", "pipe", "kmc")  # in the order of the rows
NAMES = {"make": "`simulate` writes the file", "reader": "the host's reader alone, from the file",
         "file": "kcount, from the file", "cat": "`simulate` into `cat`",
         "pipe": "kcount, from a pipe", "kmc": "KMC, from the file"}
COLUMNS = ("what", "commit", "wall s", "beside", "Mbases/s", "CPU s", "program GiB", "machine GiB",
           "device GiB", "temporary GB", "output GB", "runs")


def flat(record):
    """A line, with the fields by which tables are grouped, and with kcount's device memory."""
    about, summary = record["machine"], record.get("summary", {})
    return {**record, "on": (about["cpu"], about.get("gpu")),
            "full_coverage": round(record["coverage"] / record["share"], 6),
            "device_bytes": summary.get("device_peak_memory_bytes", 0)}


def shown(records):
    """The lines of each row that come from the same commit as its last line. The making of smaller
    files for KMC is left out."""
    whole = [record for record in records if record["way"] != "make" or record["share"] == 1]
    rows = of_each(whole, "way", "gpu_memory", "share")
    return [record for mine in rows.values() for record in mine
            if record["commit"] == mine[-1]["commit"]]


def name(record):
    text = NAMES[record["way"]]
    if "version" in record:
        text = text.replace(",", f" {record['version']},", 1)
    if record["share"] < 1:
        text += f", {100 * record['share']:g}% of the reads"
    if record["gpu_memory"] != "all":
        text += f", `--gpu-memory {record['gpu_memory']}`"
    return text


def beside(record, wall, walls):
    """The time compared with that of reading alone, or of making the reads alone."""
    if record["way"] == "file" and "reader" in walls:
        return f"reader {wall - walls['reader']:+.1f} s"
    if record["way"] == "pipe" and "cat" in walls:
        return f"{wall / walls['cat']:.2f} x `cat`"
    return ""


def time_cells(records, walls):
    """Time, comparison and rate, or what went wrong if the runs did not succeed."""
    first = records[0]
    if first["status"] == "timed out":
        return [f"not finished in {first['limit']:g} s", "", ""]
    if first["status"] != "done":
        message = records[-1]["message"].replace("|", "/").splitlines()[-1:]
        return [": ".join([f"failed, exit code {records[-1]['code']}", *message]), "", ""]
    wall = median(records, "wall")
    return [f"{wall:.1f}", beside(first, wall, walls), f"{first['bases'] / wall * 1e-6:.0f}"]


def row(records, walls):
    sizes = [f"{median(records, field) / unit:.1f}" for field, unit in
             (("peak_bytes", 2**30), ("machine_bytes", 2**30), ("device_bytes", 2**30),
              ("tmp_bytes", 1e9), ("output_bytes", 1e9))]
    on_device = any(record["device_bytes"] for record in records)
    sizes[2] = sizes[2] if on_device else ""
    cells = [name(records[0]), records[-1]["commit"], *time_cells(records, walls)]
    cells.insert(5, f"{median(records, 'user', 'system'):.0f}")
    return f"| {' | '.join([*cells, *sizes, str(len(records))])} |"


def title(record):
    gbases = float(record["genome"][:-1]) * record["full_coverage"]
    repeats = f"{100 * record['repeats']:g}% of the genome repeats" if record["repeats"] else \
        "no repeats"
    return f"### {gbases:.1f} Gbases ({record['genome']} at {record['full_coverage']:g}x), " \
           f"{repeats}, k = {record['k']}, --min {record['min']}"


def table(records):
    records = shown(records)
    walls = {way: median(mine, "wall")
             for (way, status), mine in of_each(records, "way", "status").items()
             if status == "done"}
    rows = of_each(sorted(records, key=lambda record: WAYS.index(record["way"])),
                   "way", "gpu_memory", "share", "status")
    return ["| " + " | ".join(COLUMNS) + " |",
            "|---|---|---:|---|" + "---:|" * (len(COLUMNS) - 4),
            *(row(mine, walls) for mine in rows.values()), ""]


def section(records):
    if not records:
        return []
    lines = [f"## {HEAD}", "", HUMAN]
    for mine in of_each(map(flat, records), "on", "threads", "genome", "full_coverage", "repeats",
                        "k", "min").values():
        lines += [title(mine[0]), "", *table(mine),
                  f"{mine[-1]['threads']} threads. {machine_line(mine, with_commit=False)}", ""]
    return lines
