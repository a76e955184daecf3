"""Peak memory beside the bound of -m, by bench/memory.py: a short section for users and a long
one."""
from report_counts import bases_text, machine_line, median, of_each
from report_prose import MEMORY, MEMORY_SHORT


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


def short_row(bases, bound, records):
    """The last run on each device."""
    cells = [bases_text(bases), f"{bound / 2**20:.0f}"]
    for device in ("cpu", "cuda"):
        mine = [record for record in records if record["asked"] == device]
        cells += [f"{mine[-1]['peak_bytes'] / 2**20:.0f}", f"{mine[-1]['wall']:.1f}"] if mine \
            else ["", ""]
    return f"| {' | '.join(cells)} |"


def short(records):
    """A row for each bound; runs of earlier versions are left out."""
    mine = [record for record in records if record["name"] == "kcount"]
    if not mine:
        return []
    return [MEMORY_SHORT, "| reads | -m, MiB | CPU: peak, MiB | CPU: time, s | GPU: peak, MiB "
            "| GPU: time, s |", "|---|" + "---:|" * 5,
            *(short_row(*setting, found) for setting, found in
              of_each(mine, "bases", "bound_bytes").items()), "",
            f"1 run each, {mine[-1]['threads']} threads. "
            f"{machine_line(mine, with_commit=False)}", ""]
