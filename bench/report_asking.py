"""
Programs that work with a table of counts, by bench/asking.py: a short section for users and a long
one.
"""
from report_counts import gib, machine_line, median, of_each
from report_prose import ASKING, ASKING_SHORT

# The users' page leaves these out.
VARIANTS = ("reading", "filter slab", "filter linear", "filter lsm", "filter two")


def head(records):
    """The heading of the section, with reports and comparisons if they were measured."""
    more = any(record["name"].startswith(("report", "compare")) for record in records)
    return "## Looking up the k-mers of reads" + ", reports and comparisons" * more


def program(record):
    on_device = "--device cuda" in record["command"]
    return record["program"] + ", GPU" * on_device


def groups(records):
    """Runs of the same machine, reads and number of threads, from the commit measured last."""
    known = [{**record, "cpu": record["machine"]["cpu"], "gpu": record["machine"].get("gpu", "")}
             for record in records]
    for mine in of_each(known, "cpu", "gpu", "about", "threads").values():
        yield [record for record in mine if record["commit"] == mine[-1]["commit"]]


def cells(runs):
    """Of the runs of one program."""
    return [runs[0]["what"], program(runs[0]), f"{median(runs, 'wall'):.2f}", str(len(runs)),
            f"{median(runs, 'user', 'system'):.1f}", f"{gib(runs):.2f}"]


def about(mine):
    first = mine[0]
    return f"{first['about']}; {first['distinct'] * 1e-6:.0f} million k-mers, k = {first['k']}"


COLUMNS = ["what", "program", "time, s", "runs", "CPU time, s", "memory, GiB"]


def section(records):
    """A table for each setting, with all that was measured."""
    lines = [head(records), "", ASKING] if records else []
    for mine in groups(records):
        lines += [f"### {about(mine)}, {mine[0]['threads']} threads", "",
                  f"| {' | '.join(COLUMNS)} |", "|---|---|" + "---:|" * 4,
                  *(f"| {' | '.join(cells(runs))} |" for runs in of_each(mine, "name").values()),
                  "", machine_line(mine), ""]
    return lines


def short(records):
    """One table with the last machine's runs of each row; only the first row of a setting names
    it."""
    if not records:
        return []
    lines = [head(records), "", ASKING_SHORT, f"| reads; table | threads | {' | '.join(COLUMNS)} |",
             "|---|---:|---|---|" + "---:|" * 4]
    rows = {}
    for mine in groups(records):
        rows.update(of_each([run for run in mine if run["name"] not in VARIANTS],
                            "about", "threads", "name"))
    for mine in of_each([runs[0] for runs in rows.values()], "about", "threads").values():
        where = [about(mine), str(mine[0]["threads"])]
        for first in mine:
            runs = rows[first["about"], first["threads"], first["name"]]
            lines.append(f"| {' | '.join([*where, *cells(runs)])} |")
            where = ["", ""]
    machines = of_each(sum(rows.values(), []), "cpu", "gpu").values()
    return [*lines, "", *(machine_line(mine, with_commit=False) for mine in machines), ""]
