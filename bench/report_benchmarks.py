"""docs/benchmarks.md, the users' page: a table for each kind of machine."""
import report_asking
import report_front
import report_human
import report_memory
from report_counts import (GPU, LAPTOP, SERVER, VARIANTS, allowed, bases_text, by_wall, device_gib,
                           gib, in_part, machine_text, median, reference)
from report_front import is_front, program
from report_prose import BENCHMARKS, RULES

KMC_MODES = ("kmc", "kmc -r")


def shown(tools):
    """The programs, the fastest first; of KMC's two modes, only the faster."""
    programs = [item for item in by_wall(tools) if item[0] not in VARIANTS]
    slower = [name for name, _ in programs if name in KMC_MODES][1:]
    return [item for item in programs if item[0] not in slower]


def rows(key, tools, on_gpu):
    """A row for each program; only the first names the reads."""
    ours = tools[reference(tools)]
    where = [f"{key[1]}, {bases_text(ours[0]['bases'])}", str(key[2])]
    for name, records in shown(tools):
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


def section(groups, part):
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
            machines(mine), ""]


def page(groups, human, memory, asking):
    """groups: in order; the others: the lines of bench/human.py, memory.py and asking.py."""
    return "\n".join([
        BENCHMARKS, *report_front.section(groups), *section(groups, LAPTOP),
        *section(groups, SERVER), *section(groups, GPU), *report_human.short(human),
        *report_memory.short(memory), *report_asking.short(asking), RULES])
