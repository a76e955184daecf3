"""docs/benchmarks.md, the users' page: a table for each kind of machine."""
import report_asking
import report_front
import report_human
import report_memory
from report_counts import (GPU, LAPTOP, SERVER, VARIANTS, allowed, bases_text, by_wall, device_gib,
                           gib, in_part, is_scaling, machine_line, machine_text, median, reference,
                           rivals, runs_text)
from report_front import is_front, program
from report_prose import BENCHMARKS, RULES

# Settings of the short table: label, reads, k.
SHORT = (("simulated-1.2G", "w.fq", 31), ("simulated-1.2G-compressed", "w.fq.gz", 31),
         ("simulated-1.2G-jellyfish", "w.fq", 31), ("sixteen-cores-4G", "r.fq", 31),
         ("gpu-5G", "g.fq", 31))


# ---- in short ----

def short_groups(groups):
    """(key, tools) of the settings in SHORT."""
    return [(key, tools) for wanted in SHORT for key, tools in groups.items()
            if key[:3] == wanted and reference(tools)]


def quick_cell(records):
    return f"{median(records, 'wall'):.2f} s, {gib(records):.2f} GiB ({runs_text(records)})"


def short_table(groups):
    found = short_groups(groups)
    if not found:
        return []
    lines = ["| machine | reads | k | allowed | kcount | others |", "|---|---|---:|---:|---|---|"]
    for key, tools in found:
        ours = tools[reference(tools)]
        where = f"{key[3]} cores" + " and an H200" * (reference(tools) == "kcount cuda")
        others = "; ".join(f"{program(name, records)} {quick_cell(records)}"
                           for name, records in rivals(tools) if name != "kmc -r")
        lines.append(f"| {where} | {bases_text(ours[0]['bases'])}, {key[1]} | {key[2]} "
                     f"| {allowed(ours)} | {quick_cell(ours)} | {others} |")
    return [*lines, ""]


# ---- by machine ----

def rows(key, tools, on_gpu):
    """A row for each program; only the first names the reads."""
    ours = tools[reference(tools)]
    where = [f"{key[1]}, {bases_text(ours[0]['bases'])}", str(key[2])]
    for name, records in by_wall(tools):
        if name in VARIANTS:
            continue
        ratio = median(records, "wall") / median(ours, "wall")
        cells = [*where, program(name, records), f"{median(records, 'wall'):.2f}",
                 str(len(records)), f"{ratio:.1f}", f"{gib(records):.2f}", allowed(records)]
        if on_gpu:
            cells.append(f"{device_gib(records):.1f}" if name == "kcount cuda" else "")
        yield f"| {' | '.join(cells)} |"
        where = ["", ""]


def machines(groups):
    """The machines, each with the days of its runs."""
    days = {}
    for tools in groups.values():
        for record in (record for records in tools.values() for record in records):
            days.setdefault(machine_text(record), set()).add(record["date"])
    return "; ".join(f"{text}; {' to '.join(sorted({min(dates), max(dates)}))}"
                     for text, dates in days.items()) + "."


def section(groups, part, more=()):
    """The settings that other sections and docs/dev/measurements.md leave to this page."""
    mine = {key: tools for key, tools in in_part(groups, part).items()
            if reference(tools) and "kcount slab" not in tools and not is_front(key)}
    if not mine:
        return []
    on_gpu = part is GPU
    columns = ["reads", "k", "program", "time, s", "runs", "times kcount" + ", GPU" * on_gpu,
               "memory, GiB", "allowed", *["GPU memory, GiB"] * on_gpu]
    return [f"## {part[0]}", "", f"| {' | '.join(columns)} |",
            "|---|---:|---|" + "---:|" * (len(columns) - 3),
            *(row for key, tools in mine.items() for row in rows(key, tools, on_gpu)), "",
            machines(mine), "", *more]


def scaling_lines(groups):
    """One row for each number of threads, of the same program on the same reads."""
    rows = [(key, tools["kcount"]) for key, tools in groups.items()
            if is_scaling(key) and "kcount" in tools]
    if not rows:
        return []
    rows.sort(key=lambda row: row[0][3])
    first = median(rows[0][1], "wall")
    lines = [f"### By number of threads: {rows[0][0][1]}, k = {rows[0][0][2]}", "",
             "| threads | time, s | runs | speed-up | Mbases/s | CPU time, s | memory, GiB |",
             "|---:|---:|---:|---:|---:|---:|---:|"]
    for key, records in rows:
        wall = median(records, "wall")
        lines.append(f"| {key[3]} | {wall:.2f} | {len(records)} | {first / wall:.1f} "
                     f"| {records[0]['bases'] / wall * 1e-6:.0f} "
                     f"| {median(records, 'user', 'system'):.1f} | {gib(records):.2f} |")
    return [*lines, "", machine_line(rows[-1][1], with_commit=False), ""]


def page(groups, human, memory, asking):
    """groups: in order; the others: the lines of bench/human.py, memory.py and asking.py."""
    return "\n".join([
        BENCHMARKS, *report_front.section(groups), *short_table(groups),
        *section(groups, LAPTOP), *section(groups, SERVER, scaling_lines(groups)),
        *section(groups, GPU), *report_human.short(human), *report_memory.short(memory),
        *report_asking.short(asking), RULES])
