"""Several devices, by bench_multi and bench_gpu -d: their section of docs/benchmarks.md."""
from report_counts import machine_line

MULTI = """## Several devices

The links between the devices, the map of WarpDrive over them (Jünger et al., figures 9 and 10),
and the counter. *written*: the multisplit writes keys straight into their owner's memory;
*copied*: it writes to a buffer, which is then copied, as in the paper. The map has unique keys
only. When the counter was measured, at the commit below, the first device alone merged all runs; now
all devices merge and encode.
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


def map_lines(records):
    """Rates against one device with as many keys, and with as many keys for each device."""
    alone = {(row["what"], row["n"]): row["per_s"] for row in records if row["members"] == 1}
    stages = list(records[0]["stages_ms"])
    lines = ["### The map: bulk insert and retrieve", "",
             "| operation | devices | M keys | way | G keys/s | of one device, same keys "
             f"| of one device, same keys a device | {' | '.join(f'{name}, ms' for name in stages)} "
             "| runs |", "|---|---:|---:|---|" + "---:|" * (len(stages) + 4)]
    for row in records:
        what, n, members = row["what"], row["n"], row["members"]
        ratios = [ratio(row["per_s"], alone.get((what, keys))) for keys in (n, n // members)]
        cells = [what, str(members), f"{n * 1e-6:.0f}", row["way"], f"{row['per_s'] * 1e-9:.1f}",
                 *ratios, *(f"{row['stages_ms'][name]:.2f}" for name in stages),
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


def section(records):
    if not records:
        return []
    links = [row for row in records if row.get("what") == "exchange"]
    maps = [row for row in records if row.get("what") in ("insert", "retrieve")]
    counts = [row for row in records if "stage" in row]
    return [MULTI, *(link_lines(links) if links else []), *(map_lines(maps) if maps else []),
            *(count_lines(counts) if counts else []), machine_line(records), ""]
