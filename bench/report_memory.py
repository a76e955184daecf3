"""Peak memory compared with the bound: a part of docs/benchmarks.md, by bench/memory.py."""
from report_counts import machine_line, median, of_each
from report_prose import MEMORY


def section(records):
    if not records:
        return []
    lines = [MEMORY]
    for (_, _), mine in of_each([{**record, "cpu": record["machine"]["cpu"]} for record in records],
                                "cpu", "threads").items():
        lines += ["| program | commit | reads | device | -m, MiB | peak, MiB | of the bound "
                  "| wall s | runs |", "|---|---|---|---|---:|---:|---:|---:|---:|"]
        for (name, reads, device, bound), runs in of_each(mine, "name", "reads", "asked",
                                                          "bound_bytes").items():
            peak = median(runs, "peak_bytes")
            lines.append(f"| {name} | {runs[-1]['commit']} | `{reads}` | {device} "
                         f"| {bound / 2**20:.0f} | {peak / 2**20:.0f} | {100 * peak / bound:.0f}% "
                         f"| {median(runs, 'wall'):.1f} | {len(runs)} |")
        lines += ["", f"{mine[-1]['threads']} threads. {machine_line(mine, with_commit=False)}", ""]
    return lines
