"""
Whole counts, by bench/compare.py: the sections of docs/dev/measurements.md on how fast they are on
which machine, and beside which programs.
"""
import re
import statistics

from compare import TOOLS
from report_prose import BUILDS

OURS = ("kcount cuda", "kcount")            # others are compared with the first of these that ran
VARIANTS = ("kcount slab", "kcount cuda 1G", "reader")
FEW_CORES = 4                               # machines with more are servers
# Labels in the order of their sections; labels that are not listed come last.
ORDER = ("front-page", "simulated-1.2G", "simulated-1.2G-compressed", "simulated-1.2G-jellyfish",
         "simulated-1.2G-1GB", "real", "sixteen-cores-4G", "sixteen-cores-4G-1GB", "gpu-5G",
         "gpu-5G-bgzf", "gpu-20G", "gpu-10MB", "gpu-5G-other")
# What a command says about how much memory it may take.
LIMIT = re.compile(r"(?:kcount|kmc) .*-m *(\d+)|gerbil .*-e (\d+)|FastK .*-M(\d+)")


# ---- records ----

def of_each(records, *fields):
    """{values of the fields: [records]}, in the order of the records."""
    groups = {}
    for record in records:
        groups.setdefault(tuple(record[field] for field in fields), []).append(record)
    return groups


# ---- single settings ----

def median(records, *fields):
    return statistics.median(sum(record[field] for field in fields) for record in records)


def runs_text(records):
    """How to describe the median of these runs."""
    return {1: "1 run", 2: "mean of 2 runs"}.get(len(records), f"median of {len(records)} runs")


def gib(records):
    return median(records, "peak_bytes") / 2**30


def allowed(records):
    """How much memory the program was allowed."""
    found = LIMIT.search(records[-1]["command"])
    return f"{next(filter(None, found.groups()))} GB" if found else "no limit"


def device_gib(records):
    return median(records, "device_peak_memory_bytes") / 2**30


def bases_text(bases):
    return f"{bases * 1e-9:.1f} Gbases" if bases >= 1e9 else f"{bases * 1e-6:.1f} Mbases"


def by_wall(tools):
    return sorted(tools.items(), key=lambda item: median(item[1], "wall"))


def reference(tools):
    """The tool that the others are compared with."""
    return next((name for name in OURS if name in tools), None)


def rivals(tools):
    """Other programs, the fastest first."""
    return [(name, records) for name, records in by_wall(tools)
            if name not in OURS and name not in VARIANTS]


def title(key):
    label, reads, k, threads, _ = key
    return f"{reads}, k = {k}, {threads} thread{'s' if threads > 1 else ''} ({label})"


def machine_text(record):
    about = record["machine"]
    gpu = f"; {about['gpu']}" if "gpu" in about else ""
    return f"{about['cpu']}, {about['cores']} cores, {about['memory_gib']} GiB{gpu}"


def machine_line(records, with_commit=True):
    """The machine of the last of these records and, by default, the commit."""
    commit = f"commit {records[-1]['commit']}, " * with_commit
    return f"{machine_text(records[-1])}; {commit}{records[-1]['date']}."


def tools_table(tools):
    name = reference(tools)
    ours = tools.get(name)
    bases = ours[0]["bases"] if ours else 0
    lines = [f"| program | wall s | runs | times {name or ''} | Mbases/s | CPU s | memory GiB "
             "| allowed | output MB |", "|---|---:|---:|---:|---:|---:|---:|---:|---:|"]
    for tool, records in by_wall(tools):
        wall = median(records, "wall")
        ratio = f"{wall / median(ours, 'wall'):.2f}" if ours else ""
        rate = f"{bases / wall * 1e-6:.0f}" if bases else ""
        lines.append(f"| {tool} {records[-1]['version']} | {wall:.2f} | {len(records)} | {ratio} "
                     f"| {rate} | {median(records, 'user', 'system'):.1f} | {gib(records):.2f} "
                     f"| {allowed(records)} | {median(records, 'output_bytes') / 1e6:.0f} |")
    return [*lines, ""]


def stages_line(key, records):
    """kcount's stages: seconds, and nanoseconds per base and thread."""
    threads, bases = key[3], records[0]["bases"]
    cells = []
    for name in records[0]["seconds"]:
        if name not in ("wall", "user", "system"):
            seconds = statistics.median(record["seconds"][name] for record in records)
            cells.append(f"{name} {seconds:.2f} s ({seconds * threads / bases * 1e9:.2f} ns)")
    return ["Stages of kcount on the CPU (in brackets for each base and thread): "
            + ", ".join(cells) + ".", ""]


def reader_line(tools):
    """How close the CUDA engine comes to the reader's rate."""
    if "kcount cuda" not in tools or "reader" not in tools:
        return []
    share = median(tools["reader"], "wall") / median(tools["kcount cuda"], "wall")
    return [f"`kcount cuda` runs at {100 * share:.0f} % of the reader's rate.", ""]


def device_line(tools):
    """The CUDA engine's stages as the host sees them, because they overlap."""
    records = tools.get("kcount cuda")
    if not records or "partition" not in records[0]["seconds"]:
        return []
    read, count, order = (statistics.median(record["seconds"][name] for record in records)
                          for name in ("partition", "count", "order"))
    return [f"`kcount cuda` had read the last base after {read:.2f} s and counted it {count:.2f} s "
            f"later; merging and writing took {order:.2f} s more. It used "
            f"{device_gib(records):.1f} GiB of device memory.", ""]


def setting(key, tools):
    lines = [f"### {title(key)}", "", *tools_table(tools), *reader_line(tools), *device_line(tools)]
    if "kcount" in tools:
        lines += stages_line(key, tools["kcount"])
    return [*lines, machine_line(next(iter(tools.values()))), ""]


# ---- by machine ----

def has_device(tools):
    return "kcount cuda" in tools


def is_small(tools):
    return next(iter(tools.values()))[0]["machine"]["cores"] <= FEW_CORES


def is_scaling(key):
    return key[0].startswith("scaling")


def place(key):
    return (ORDER.index(key[0]) if key[0] in ORDER else len(ORDER), key[1], key[2], key[3])


def in_order(groups):
    """The settings in the order of the page."""
    return {key: groups[key] for key in sorted(groups, key=place)}


# The settings of each kind of machine.
LAPTOP, SERVER, GPU = PARTS = (
    ("How fast on a laptop: two cores, no GPU",
     lambda tools: is_small(tools) and not has_device(tools)),
    ("How fast on a server: 16 cores, no GPU",
     lambda tools: not is_small(tools) and not has_device(tools) and "kcount slab" not in tools),
    ("How fast on a GPU", has_device))


def in_part(groups, part):
    _, wanted = part
    return {key: tools for key, tools in groups.items() if wanted(tools) and not is_scaling(key)}


def sections(groups):
    """How fast kcount is, by machine; groups: in order."""
    lines = []
    for part in PARTS:
        found = [line for key, tools in in_part(groups, part).items()
                 for line in setting(key, tools)]
        if found:
            lines += [f"## {part[0]}", "", *found]
    return lines


# ---- other programs ----

def names(words):
    return " and ".join(part for part in (", ".join(words[:-1]), words[-1]) if part)


def against_lines(groups):
    """A row for each other program and setting; also names the programs without a run. groups: in
    order."""
    rows, seen = [], set()
    for key, tools in groups.items():
        for name, theirs in rivals(tools):
            seen.add(name)
            for mine in (own for own in OURS if own in tools):
                ours = tools[mine]
                ratio = median(theirs, "wall") / median(ours, "wall")
                rows.append((name, f"| {name} {theirs[-1]['version']} | {title(key)} "
                             f"| {median(theirs, 'wall'):.2f} | {len(theirs)} | {mine} "
                             f"| {median(ours, 'wall'):.2f} | {len(ours)} | {ratio:.2f} |"))
    if not rows:
        return []
    absent = [name for name in TOOLS
              if name not in seen and name not in OURS and name not in VARIANTS]
    lines = ["## Against whom", "",
             "Every recorded comparison, by program: the other program's time over kcount's.", "",
             "| program | setting | its wall s | runs | beside | wall s | runs | times |",
             "|---|---|---:|---:|---|---:|---:|---:|",
             *(text for _, text in sorted(rows, key=lambda row: row[0])), ""]
    if absent:
        lines += [f"`bench/compare.py` also runs {names(absent)}; there are no recorded "
                  "runs of them.", ""]
    return lines + [BUILDS]


def scaling_lines(groups):
    """One row for each number of threads, of the same program on the same reads."""
    rows = [(key, tools["kcount"]) for key, tools in groups.items()
            if is_scaling(key) and "kcount" in tools]
    if not rows:
        return []
    rows.sort(key=lambda row: row[0][3])
    first = median(rows[0][1], "wall")
    lines = [f"## By number of threads: {rows[0][0][1]}, k = {rows[0][0][2]}", "",
             "| threads | time, s | runs | speed-up | Mbases/s | CPU time, s | memory, GiB |",
             "|---:|---:|---:|---:|---:|---:|---:|"]
    for key, records in rows:
        wall = median(records, "wall")
        lines.append(f"| {key[3]} | {wall:.2f} | {len(records)} | {first / wall:.1f} "
                     f"| {records[0]['bases'] / wall * 1e-6:.0f} "
                     f"| {median(records, 'user', 'system'):.1f} | {gib(records):.2f} |")
    return [*lines, "", machine_line(rows[-1][1], with_commit=False), ""]
