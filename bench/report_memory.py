"""Peak memory compared with the bound: a section of docs/benchmarks.md, from the lines of bench/memory.py."""
import statistics

HEADER = ["## Memory: the peak and the bound", "",
          "By `bench/memory.py`: the largest resident set of a count with k = 31 that spills, as a share of `-m`.",
          "With a device, `-m` bounds what kcount takes itself, pinned memory included; the resident set also",
          "holds pages of the CUDA driver and its libraries, which dominate in the rows of the small input.", ""]


def of_each(records, *fields):
    groups = {}
    for record in records:
        groups.setdefault(tuple(record[field] for field in fields), []).append(record)
    return groups


def median(records, field):
    return statistics.median(record[field] for record in records)


def section(records, machine_line):
    if not records:
        return []
    lines = list(HEADER)
    for (_, _), mine in of_each([{**record, "cpu": record["machine"]["cpu"]} for record in records],
                                "cpu", "threads").items():
        lines += ["| program | reads | device | -m, MiB | peak, MiB | of the bound | wall s | runs |",
                  "|---|---|---|---:|---:|---:|---:|---:|"]
        for (name, reads, device, bound), runs in of_each(mine, "name", "reads", "asked",
                                                          "bound_bytes").items():
            peak = median(runs, "peak_bytes")
            lines.append(f"| {name} | `{reads}` | {device} | {bound / 2**20:.0f} | {peak / 2**20:.0f} "
                         f"| {100 * peak / bound:.0f}% | {median(runs, 'wall'):.1f} | {len(runs)} |")
        lines += ["", f"{mine[-1]['threads']} threads; {machine_line(mine)}", ""]
    return lines
