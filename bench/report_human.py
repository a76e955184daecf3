"""What a human genome costs, by bench/human.py: a short section for users and a long one."""
from report_counts import machine_line, median, of_each
from report_prose import HUMAN, HUMAN_SHORT

HEAD = "What a human genome costs"
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


def device(record):
    """The GPU, as "H100"; nothing if the machine has none."""
    return (record["machine"].get("gpu") or "").removeprefix("NVIDIA ").split(",")[0].split(" ")[0]


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


def sizes_of(records, *names):
    """Memory in GiB and files in GB; nothing for the device if none was used."""
    cells = []
    for name in names:
        size = median(records, f"{name}_bytes") / (1e9 if name in ("tmp", "output") else 2**30)
        cells.append(f"{size:.1f}" if size or name != "device" else "")
    return cells


def row(records, walls):
    sizes = sizes_of(records, "peak", "machine", "device", "tmp", "output")
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


def tables(records):
    """The flat lines of each table."""
    return of_each(map(flat, records), "on", "threads", "genome", "full_coverage", "repeats", "k",
                   "min").values()


def section(records):
    if not records:
        return []
    lines = [f"## {HEAD}", "", HUMAN]
    for mine in tables(records):
        lines += [title(mine[0]), "", *table(mine),
                  f"{mine[-1]['threads']} threads. {machine_line(mine, with_commit=False)}", ""]
    return lines


def short_row(records):
    first = records[0]
    sizes = sizes_of(records, "peak", "device", "tmp", "output")
    gbases = float(first["genome"][:-1]) * first["coverage"]
    repeats = f"{100 * first['repeats']:g}% repeats" if first["repeats"] else "no repeats"
    reads = ", ".join(filter(None, (f"{gbases:.1f} Gbases, {repeats}", device(first))))
    cells = [reads, name(first), f"{median(records, 'wall'):.1f}",
             str(len(records)), *sizes]
    return f"| {' | '.join(cells)} |"


def newest(records):
    """The counts that succeeded: of each row, the lines of the machine that was measured last."""
    rows = {}
    for mine in tables(records):
        counts = [record for record in shown(mine) if record["status"] == "done"
                  and record["way"] in ("file", "pipe", "kmc")]
        names = "genome", "coverage", "repeats", "k", "min", "way", "gpu_memory", "share"
        rows.update(of_each(counts, *names))
    return sorted(rows.values(), key=lambda row: (row[0]["repeats"], WAYS.index(row[0]["way"])))


def short(records):
    found = newest(records)
    if not found:
        return []
    machines = dict.fromkeys(machine_line(row, with_commit=False)
                             for row in of_each(sum(found, []), "on").values())
    return [f"## {HEAD}", "", HUMAN_SHORT,
            "| reads, GPU | what | time, s | runs | memory, GiB | GPU memory, GiB "
            "| temporary files, GB | output, GB |", "|---|---|" + "---:|" * 6,
            *map(short_row, found), "", *machines, ""]
