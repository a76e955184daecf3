"""
docs/benchmarks.md, the marked regions of README.md and their picture, from the rows of
bench/all.py: a section for each question of a reader.
"""
import collections
import re
import textwrap

import plan
from report_bars import LINE, bar, heading
from report_plots import svg
from report_prose import BENCHMARKS, PARTS, RULES, SIMULATED
from report_text import (base_of, bases_text, gib, is_ours, machine_line, machine_text, median,
                         of_each, refuse_mixtures, runs_text)

PICTURE = "front-page.svg"
WIDTH = 120                         # of lines in README.md
FIRST = 5                           # rows of README.md's table
FIRST_KINDS = (plan.GPU, plan.SERVER, plan.LAPTOP)
COLOURS = {"kcount cuda": "#9b1d33", "kcount": "#d1495b", "kmc": "#30638e", "jellyfish": "#8d9f87",
           "gerbil": "#b08ea2", "FastK": "#c9a66b"}
OTHER = "#7a7a7a"
FILES = {"plain": "FASTQ", "bgzf": "BGZF", "gzip": "one gzip stream"}
REGION = re.compile(r"(<!-- (\S+): made by bench/report\.py -->\n).*?(<!-- end -->\n)", re.DOTALL)


# ---- rows ----

def shown(rows):
    """Rows of trials are left out."""
    rows = [row for row in rows if row["scale"] == 1]
    refuse_mixtures(rows)
    return rows


def in_mebibytes(memory):
    return float(memory[:-1]) * (1024 if memory[-1] == "G" else 1) if memory else 0


def runs_of(rows):
    """The runs of each setting, in the order of bench/plan.py; beside each other, programs that
    count the same stand in the order of their times."""
    reads, programs = list(plan.READS), list(plan.PROGRAMS)

    def place(runs):
        row = runs[0]
        return (list(plan.SECTIONS).index(row["section"]), reads.index(row["reads"]), row["k"],
                median(runs, "wall") if row["section"] in ("jobs", "front")
                else programs.index(row["program"]), row["threads"], in_mebibytes(row["memory"]))

    groups = of_each([{**row, "base": base_of(row)} for row in rows], "base").values()
    return sorted(groups, key=place)


def machines(rows, section):
    """The rows of a section, by machine, smaller machines first."""
    kinds = list(plan.KINDS)
    mine = [{**row, "on": machine_text(row)} for row in rows if row["section"] == section]
    groups = of_each(mine, "kind", "on")
    return [groups[key] for key in sorted(groups, key=lambda key: (kinds.index(key[0]), key[1]))]


def done(runs):
    return all(row["status"] == "done" for row in runs)


def program(runs):
    """The name of a program, with its version if it is not kcount, and its options."""
    row = runs[0]
    name, *options = re.split(r" (?=-)", plan.PROGRAMS[row["program"]].label)
    return " ".join(filter(None, (name, row["version"], *options)))


# ---- cells ----

def reads(runs):
    return f"{plan.READS[runs[0]['reads']].about}, {bases_text(runs[0]['bases'])}"


def wall(runs):
    """The time, or what went wrong."""
    if runs[0]["status"] == "timed out":
        return f"not done in {runs[0]['wall']:.0f}"
    return f"{median(runs, 'wall'):.2f}" if done(runs) else "failed"


def allowed(runs):
    has_limit = "{memory}" in plan.PROGRAMS[runs[0]["program"]].command
    unit = "iB" if is_ours(runs[0]) else "B"  # kcount's -m 1G is 2^30 bytes
    return re.sub("(?=[GM])", " ", runs[0]["memory"]) + unit if has_limit else "no limit"


def device(runs):
    known = all(row.get("device_peak_memory_bytes") for row in runs)
    return f"{median(runs, 'device_peak_memory_bytes') / 2**30:.1f}" if known else ""


def gigabytes(field):
    return lambda runs: f"{median(runs, field) / 1e9:.1f}" \
        if all(field in row for row in runs) else ""


def stages(runs):
    """What part of the time was reading, counting and writing, in percent."""
    seconds = runs[0].get("seconds", {})
    if not done(runs) or not {"partition", "count", "order"} <= seconds.keys():
        return ""
    parts = [sum(row["seconds"][name] for row in runs) for name in ("partition", "count", "order")]
    return " / ".join(f"{100 * part / sum(parts):.0f}" for part in parts)


def share_of_limit(runs):
    limit = in_mebibytes(runs[0]["memory"])
    return f"{100 * median(runs, 'peak_bytes') / 2**20 / limit:.0f}%" if limit else ""


def a_gbase(field, unit):
    return lambda runs: f"{median(runs, field) / unit / runs[0]['bases'] * 1e9:.3f}"


# Columns: [(heading, cell of the runs)]; what compares with other runs is added by its section.
Column = collections.namedtuple("Column", "head cell")
RUNS = Column("runs", lambda runs: str(len(runs)))
READS, K = Column("reads", reads), Column("k", lambda runs: str(runs[0]["k"]))
PROGRAM, WALL = Column("program", program), Column("time, s", wall)
MEMORY = Column("memory, GiB", lambda runs: f"{gib(runs):.2f}")
ALLOWED, DEVICE = Column("allowed", allowed), Column("GPU memory, GiB", device)
TMP = Column("temporary files, GB", gigabytes("tmp_bytes"))
OUTPUT = Column("output, GB", gigabytes("output_bytes"))
CPU = Column("CPU time, s", lambda runs: f"{median(runs, 'user', 'system'):.1f}")
THREADS = Column("threads", lambda runs: str(runs[0]["threads"]))
RATE = Column("10^6 bases a second",
              lambda runs: f"{runs[0]['bases'] / median(runs, 'wall') / 1e6:.0f}")
STAGES = Column("reading / counting / writing, %", stages)
LEFT = ("reads", "program")         # headings of columns of text


def ratio(runs, others):
    """The time of these runs over that of others; nothing if either are missing or failed."""
    if not (runs and others and done(runs) and done(others)):
        return ""
    return f"{median(runs, 'wall') / median(others, 'wall'):.1f}"


def same_by(name, runs, every):
    """The runs of another program for the same reads and k, if there are any."""
    return next((others for others in every if done(others) and others[0]["program"] == name
                 and (others[0]["reads"], others[0]["k"]) == (runs[0]["reads"], runs[0]["k"])),
                None)


def times(name):
    return lambda runs, every: ratio(runs, same_by(name, runs, every))


def speed_up_over(name):
    return lambda runs, every: ratio(same_by(name, runs, every), runs)


def speed_up(runs, every):
    """Over the fewest threads."""
    return ratio(min(every, key=lambda others: others[0]["threads"]), runs)


# section: (its columns, {heading: cell} of comparisons)
TABLES = {
    "jobs": ([READS, PROGRAM, WALL, RUNS, MEMORY, DEVICE, TMP, OUTPUT, STAGES], {}),
    "front": ([READS, K, PROGRAM, WALL, RUNS, MEMORY, DEVICE, ALLOWED, TMP, OUTPUT],
              {"times kcount": times("kcount"), "times kcount, GPU": times("kcount cuda")}),
    "memory": ([READS, PROGRAM, ALLOWED, MEMORY, Column("of what is allowed", share_of_limit),
                DEVICE, TMP, WALL, RUNS], {}),
    "growth": ([READS, PROGRAM, WALL, Column("s per Gbase", a_gbase("wall", 1)), MEMORY,
                Column("GiB per Gbase", a_gbase("peak_bytes", 2**30)), DEVICE, RUNS], {}),
    "cores": ([READS, PROGRAM, THREADS, WALL, MEMORY, RUNS],
              {"speed-up over the fewest threads": speed_up}),
    "devices": ([READS, PROGRAM, WALL, RUNS, MEMORY, DEVICE, STAGES],
                {"speed-up": speed_up_over("kcount cuda")}),
    "asking": ([READS, PROGRAM, THREADS, WALL, RATE, RUNS, CPU, MEMORY], {}),
    "report": ([READS, PROGRAM, THREADS, WALL, RUNS, CPU, MEMORY], {}),
}


def table(rows, section):
    """A table of one machine. Columns that are empty are left out; reads are named once."""
    columns, comparisons = TABLES[section]
    every = runs_of(rows)
    heads = [*(column.head for column in columns), *comparisons]
    lines = [[*(column.cell(runs) for column in columns),
              *(compare(runs, every) for compare in comparisons.values())] for runs in every]
    used = [i for i in range(len(heads)) if any(line[i] for line in lines)]
    last, text = None, []
    for line in lines:
        cells = [line[i] for i in used]
        text.append(["" if cells[0] == last else cells[0], *cells[1:]])
        last = cells[0]
    heads = [heads[i] for i in used]
    return [f"| {' | '.join(heads)} |",
            "|" + "|".join("---" if name in LEFT else "---:" for name in heads) + "|",
            *(f"| {' | '.join(cells)} |" for cells in text), ""]


def commit_of(rows):
    return next((row["commit"] for row in rows if is_ours(row)), rows[-1]["commit"])


def part(rows, section):
    """A section with a table for each machine, and what limits it; nothing without rows."""
    found = machines(rows, section)
    if TABLES[section][1]:  # a single setting has nothing to be compared with
        found = [mine for mine in found if len(runs_of(mine)) > 1]
    if not found:
        return []
    title, intro, limits = PARTS[section]
    lines = [f"## {title}", "", *filled_text(intro)]
    for mine in found:
        used = any(row["program"] in plan.ON_DEVICE for row in mine)
        lines += [*filled_text(f"{plan.KINDS[mine[0]['kind']].about}: "
                               f"{machine_text(mine[-1], with_cores=False, used=used)}; "
                               f"commit {commit_of(mine)}, {mine[-1]['date']}."),
                  *table(mine, section)]
    return [*lines, *filled_text(f"**What limits it.** {limits}")]


def filled_text(text):
    return [*textwrap.wrap(text, 100), ""] if text else []


def sizes_text(sizes):
    """Sizes of genomes and coverage; sizes with the same coverage are listed together."""
    found = {}
    for bases, coverage in filter(None, sizes):
        found.setdefault(coverage, []).append(f"{bases / 1e6:g}M")
    return "; ".join(f"{', '.join(bases)}{', each' * (len(bases) > 1)} x {coverage}"
                     for coverage, bases in found.items())


def reads_table():
    """How the reads are made, on larger machines and on two cores."""
    lines = [SIMULATED, "| reads | file | options of `simulate` | larger machines | two cores |",
             "|---|---|---|---:|---:|"]
    for (about, form, options), mine in of_each((each._asdict() for each in plan.READS.values()),
                                                "about", "form", "options").items():
        cells = [sizes_text(each[size] for each in mine) for size in ("large", "small")]
        lines.append(f"| {about} | {FILES[form]} | `{options}` | {' | '.join(cells)} |")
    return [*lines, ""]


def page(rows, targets):
    """docs/benchmarks.md, with the lines of the section about targets."""
    rows = shown(rows)
    lines = [BENCHMARKS, *front(rows)]
    for section in PARTS:
        lines += part(rows, section)
    return "\n".join([*lines, *targets, RULES, *reads_table()])


# ---- the first figures ----

def first_rows(rows):
    """The runs of README.md's table: kcount and the fastest others, on the largest machine that
    has them; of several machines of a kind, the one that was measured last."""
    for kind in FIRST_KINDS:
        mine = [row for row in rows if row["section"] == "front" and row["k"] == 31
                and row["kind"] == kind]
        if mine:
            mine = [row for row in mine if machine_text(row) == machine_text(mine[-1])]
            found = sorted(filter(done, runs_of(mine)), key=lambda runs: median(runs, "wall"))
            others = [runs for runs in found if not is_ours(runs[0])]
            ours = [runs for runs in found if is_ours(runs[0])]
            return sorted(ours + others[:FIRST - len(ours)], key=lambda runs: median(runs, "wall"))
    return []


def seconds(runs):
    time = median(runs, "wall")
    return f"{time:.1f} s" if time < 100 else f"{time:.0f} s"


def memory(runs):
    on_device = f", {float(device(runs)):.0f} GiB of the GPU" if device(runs) else ""
    return f"{gib(runs):.1f} GiB{on_device}"


def number_of_runs(found):
    """The usual number of runs of a program, and the programs that had another number."""
    by_number = collections.defaultdict(list)
    for runs in found:
        by_number[len(runs)].append(runs)
    usual = max(sorted(by_number), key=lambda number: len(by_number[number]))
    others = "; ".join(f"{' and '.join(map(program, same))}: {runs_text(same[0])}"
                       for number, same in by_number.items() if number != usual)
    return f"{runs_text(by_number[usual][0])} each" + f", except {others}" * bool(others)


def what(found):
    row = found[0][0]
    return f"{bases_text(row['bases'])}, k = {row['k']}, {row['threads']} threads"


def first_table(found):
    lines = [f"| {what(found)} | time | peak memory | allowed memory |", "|---|---:|---:|---:|"]
    for runs in found:
        cells = [program(runs), seconds(runs), memory(runs)]
        if is_ours(runs[0]):
            cells = [f"**{cell}**" for cell in cells]
        lines.append(f"| {' | '.join([*cells, allowed(runs)])} |")
    about = f"Simulated reads, every k-mer kept; {number_of_runs(found)}. " \
            f"{machine_line(next((runs for runs in found if is_ours(runs[0])), found[0]))}"
    return [*lines, "", *textwrap.wrap(about, WIDTH), ""]


def image(folder=""):
    return [f"![Time and peak memory of kcount and other programs]({folder}{PICTURE})", ""]


def front(rows):
    found = first_rows(rows)
    return [*image(), *first_table(found)] if found else []


def picture(rows):
    """A bar for each program, as long as its time; the memory stands at its end."""
    found = first_rows(shown(rows))
    left, width, y = 150, 360, 44
    longest = max(median(runs, "wall") for runs in found)
    body = [heading(12, f"Time and peak memory: {what(found)}")]
    for runs in found:
        body += bar(left, y, median(runs, "wall") / longest * width, program(runs),
                    COLOURS.get(runs[0]["program"], OTHER), f"{seconds(runs)}, {memory(runs)}")
        y += LINE + 10
    return svg(left + width + 190, y, body)


# ---- README.md ----

def human_sentence(rows):
    """The whole genome, on one device."""
    mine = [row for row in rows if row["reads"] == "human" and row["program"] == "kcount cuda"
            and row["section"] == "jobs" and row["status"] == "done"]
    if not mine:
        return []
    mine = [row for row in mine if machine_text(row) == machine_text(mine[-1])]
    card = mine[0]["machine"]["gpu"].removeprefix("NVIDIA ").split(",")[0].split(" ")[0]
    text = f"A simulated human genome, {bases_text(mine[0]['bases'])} of BGZF, takes " \
           f"{seconds(mine)} with `--min {mine[0]['min']}` on {mine[0]['threads']} cores and an " \
           f"{card} ({runs_text(mine)})."
    return textwrap.wrap(text, WIDTH)


def regions(rows):
    """{name: lines} of the marked regions."""
    rows = shown(rows)
    found = first_rows(rows)
    first = [*image("docs/"), *first_table(found)][:-1] if found else []
    return {"front-page": first, "human-genome": human_sentence(rows)}


def filled(readme, found):
    """README.md with these regions; each of them must be there once."""
    if sorted(name for _, name, _ in REGION.findall(readme)) != sorted(found):
        raise SystemExit(f"README.md should have the regions {', '.join(found)}")
    return REGION.sub(lambda old: old[1] + "".join(f"{line}\n" for line in found[old[2]]) + old[3],
                      readme)


# ---- docs/dev/measurements.md and what is missing ----

BEHIND = [Column("section", lambda runs: runs[0]["section"]), READS, K, PROGRAM, THREADS, ALLOWED,
          Column("commit", lambda runs: runs[-1]["commit"] if is_ours(runs[0]) else ""),
          WALL, Column("least", lambda runs: f"{min(row['wall'] for row in runs):.2f}"),
          Column("most", lambda runs: f"{max(row['wall'] for row in runs):.2f}"), RUNS, CPU, MEMORY,
          OUTPUT]


def behind(rows):
    """Every setting of the users' page."""
    lines = []
    for (kind, _), mine in of_each([{**row, "on": machine_text(row)} for row in shown(rows)],
                                   "kind", "on").items():
        lines += [f"### {plan.KINDS[kind].about}: {machine_text(mine[-1])}", "",
                  f"| {' | '.join(column.head for column in BEHIND)} |",
                  "|" + "---|" * len(BEHIND),
                  *(f"| {' | '.join(column.cell(runs) for column in BEHIND)} |"
                    for runs in runs_of(mine)), ""]
    return ["## Behind the users' page", "", *lines] if lines else []


def missing(rows):
    """What bench/all.py has not measured yet, a line for each machine and measurement."""
    there = {(row["kind"], *base_of(row)) for row in rows}
    for kind in plan.KINDS:
        for task in plan.tasks_of(kind, PARTS):
            base = plan.setting(kind, task, 1, plan.KINDS[kind].cores)
            gone = [name for name in task.programs
                    if (kind, *base_of({**base, "program": name})) not in there]
            if gone:
                yield f"{kind}: {task.section}: {task.reads}, k = {task.k}: {', '.join(gone)}"
