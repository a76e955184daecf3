"""Several devices, by bench_multi and bench_gpu -d: their section of docs/dev/measurements.md."""
from report_text import machine_line, of_each

MULTI = """## Several devices

The links between the devices, the map of WarpDrive over them (Jünger et al.), and the counter, on
one machine after the other. When strong and weak scaling of the counter were measured, the first
device alone merged all runs; now all devices merge and encode. An earlier version (15622e2) could
also send super-k-mers, with their bases, to the devices that count them: on two H100, from the
reads to sorted runs, that ran at 0.55 times the rate of sending all reads to all devices with
k = 31 (49.2 ms against 26.9), and at 0.77 times with k = 55 (53.1 against 41.1).
"""
SCALING = """### The map: bulk insert and retrieve

Unique keys in the devices' memory (figure 9). *by parts*: the multisplit is also the first split by
part, and stretches of parts are copied while the owners insert or look up those before; *written*:
it writes keys straight into their owner's memory; *copied*: it writes to a buffer, which is then
copied, as in the paper.
"""
CAPACITY = """### The map: capacity and distributions

Figure 10. *sent* are the keys that were handed to their owners: fewer than were inserted if equal
keys were combined.
"""
HOST = """### The map: keys on the host

Figure 11: the time of each stage. With one batch in flight, the stages come one after the other;
with more, copies to the devices (upload) and to the host (download) overlap with the rest. The last
ratio is the time against one batch in flight.
"""


def ratio(over, under):
    return f"{over / under:.2f}" if over and under else ""


def link_lines(records):
    lines = ["### All-to-all between the devices", "",
             "| devices | way | MiB in all | GB/s | median ms | runs |",
             "|---:|---|---:|---:|---:|---:|"]
    for row in records:
        lines.append(f"| {row['members']} | {row['way']} | {row['n'] >> 20} "
                     f"| {row['per_s'] * 1e-9:.1f} | {row['median_ms']:.3f} | {len(row['ms'])} |")
    return [*lines, ""]


def scaling_lines(records):
    """Rates against one device with as many keys, and with as many keys for each device."""
    alone = {(row["what"], row["n"]): row["per_s"] for row in records if row["members"] == 1}
    stages = list(records[0]["stages_ms"])
    lines = [SCALING,
             "| operation | devices | M keys | way | G keys/s | of one device, same keys "
             f"| of one device, same keys a device | "
             f"{' | '.join(f'{name}, ms' for name in stages)} "
             "| runs |", "|---|---:|---:|---|" + "---:|" * (len(stages) + 4)]
    for row in records:
        what, n, members = row["what"], row["n"], row["members"]
        ratios = [ratio(row["per_s"], alone.get((what, keys))) for keys in (n, n // members)]
        cells = [what, str(members), f"{n * 1e-6:.0f}", row["way"], f"{row['per_s'] * 1e-9:.1f}",
                 *ratios, *(f"{row['stages_ms'][name]:.2f}" for name in stages),
                 str(len(row["ms"]))]
        lines.append(f"| {' | '.join(cells)} |")
    return [*lines, ""]


def capacity_lines(records):
    lines = [CAPACITY,
             "| operation | devices | keys | M keys | equal keys combined | M sent | G keys/s "
             "| median ms | runs |", "|---|---:|---|---:|---|" + "---:|" * 4]
    for row in records:
        sent = f"{row['sent'] * 1e-6:.1f}" if "sent" in row else ""
        lines.append(f"| {row['what']} | {row['members']} | {row['keys']} | {row['n'] * 1e-6:.0f} "
                     f"| {row.get('combining', '')} | {sent} | {row['per_s'] * 1e-9:.2f} "
                     f"| {row['median_ms']:.2f} | {len(row['ms'])} |")
    return [*lines, ""]


def host_lines(records):
    """Each line against the same work with one batch in flight."""
    def work(row):
        return row["what"], row["members"], row["n"]

    alone = {work(row): row["median_ms"] for row in records if row["in_flight"] == 1}
    stages = list(records[0]["stages_ms"])
    lines = [HOST,
             "| operation | devices | M keys | in flight | G keys/s "
             f"| {' | '.join(f'{name}, ms' for name in stages)} | sum, ms | wall, ms | ratio "
             "| runs |", "|---|" + "---:|" * (len(stages) + 8)]
    for row in records:
        times = [row["stages_ms"][name] for name in stages]
        cells = [row["what"], str(row["members"]), f"{row['n'] * 1e-6:.0f}", str(row["in_flight"]),
                 f"{row['per_s'] * 1e-9:.2f}", *(f"{ms:.1f}" for ms in [*times, sum(times)]),
                 f"{row['median_ms']:.1f}", ratio(row["median_ms"], alone.get(work(row))),
                 str(len(row["ms"]))]
        lines.append(f"| {' | '.join(cells)} |")
    return [*lines, ""]


def count_lines(records):
    """Each line against one device with the same reads, and with the smallest genome."""
    def work(row):
        return row["stage"].split(" on ")[0]

    alone = {(work(row), row["genome"]): row for row in records
             if row["stage"].endswith(" on 1 device")}
    least = min(row["genome"] for row in records)
    lines = ["### The counter: strong and weak scaling", "",
             "`count shares` ends with sorted runs; `count and merge` merges them as well. The "
             "speedup is against one device with the same reads; the last ratio is the rate "
             "against one device with the smallest genome.", "",
             "| stage | k | genome, Mbases | M k-mers | median ms | G k-mers/s | speedup "
             "| of one device, smallest genome | runs |", "|---|" + "---:|" * 8]
    for row in records:
        same, small = (alone.get((work(row), genome)) for genome in (row["genome"], least))
        lines.append(
            f"| {row['stage']} | {row['k']} | {row['genome'] * 1e-6:.0f} | {row['n'] * 1e-6:.0f} "
            f"| {row['median_ms']:.2f} | {row['g_per_s']:.1f} "
            f"| {ratio(same and same['median_ms'], row['median_ms'])} "
            f"| {ratio(row['g_per_s'], small and small['g_per_s'])} | {len(row['ms'])} |")
    return [*lines, ""]


def part_of(row):
    """The part of bench_multi, which older lines do not name, or the counter."""
    if "stage" in row:
        return "counter"
    return row.get("part", "links" if row["what"] == "exchange" else "scaling")


TABLES = ((link_lines, ("links",)), (scaling_lines, ("scaling",)),
          (capacity_lines, ("capacity", "host-capacity")), (host_lines, ("host",)),
          (count_lines, ("counter",)))


def section(records):
    if not records:
        return []
    lines = [MULTI]
    for mine in of_each(records, "commit").values():
        for make, parts in TABLES:
            chosen = [row for row in mine if part_of(row) in parts]
            lines += make(chosen) if chosen else []
        lines += [machine_line(mine), ""]
    return lines
