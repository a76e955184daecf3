"""The targets of docs/benchmarks.md, and whether the measurements meet them."""
import collections
import operator
import re

import plan
from report_gpu import latest
from report_page import done
from report_prose import TARGETS
from report_text import base_of, machine_text, median, of_each

# at_least: True if figures must be at least the bound, False if at most.
Target = collections.namedtuple("Target", "what bound at_least figures")
KMCS = [name for name in plan.PROGRAMS if name.startswith("kmc") and name != "kmc_tools"]


def settings(rows, *programs):
    """The runs of these programs, grouped by setting; settings with a failed run are left out."""
    mine = [{**row, "on": machine_text(row), "base": base_of(row)} for row in rows
            if row["program"] in programs]
    return filter(done, of_each(mine, "kind", "on", "base").values())


def times(rows, programs):
    """{(machine, reads, k, threads): the least median time of these programs}."""
    found = {}
    for runs in settings(rows, *programs):
        row = runs[0]
        key = row["kind"], row["on"], row["reads"], row["k"], row["threads"]
        found[key] = min(median(runs, "wall"), found.get(key, float("inf")))
    return found


def compared(rows, programs, others, combine):
    """combine(time of others, time of programs) wherever both were measured."""
    ours, theirs = times(rows, programs), times(rows, others)
    return [combine(theirs[key], time) for key, time in ours.items() if key in theirs]


def lookups_per_core(rows, reads):
    """Millions of look-ups a second per core, on two cores, by the programs that look up every
    k-mer of the reads."""
    mine = [row for row in rows if row["kind"] == plan.LAPTOP and row["reads"] == reads]
    rates = []
    for runs in settings(mine, "filter", "total"):
        length = int(re.search(r"--length (\d+)", runs[0]["simulate"])[1])
        nkmers = runs[0]["bases"] / length * (length - runs[0]["k"] + 1)
        rates.append(nkmers / median(runs, "wall") / runs[0]["threads"] / 1e6)
    return rates


def human(rows, program, kind, card):
    """Median times for the human reads on machines of this kind with this GPU."""
    mine = [row for row in rows if row["reads"] == "human" and row["kind"] == kind
            and card in row["machine"].get("gpu", "")]
    return [median(runs, "wall") for runs in settings(mine, program)]


def rate_on_h200(stages, stage):
    """The latest rate of an H200, in 10^9 k-mers a second."""
    return [record["g_per_s"] for record in latest(stages, "stage", "table", "k", "gpu")
            if (record["stage"], record["table"], record["k"]) == (stage, "warpdrive", 31)
            and record["gpu"] == "NVIDIA H200"]


def one_process(ranks):
    """The time of one process with 32 threads over the best time of several processes, from the
    latest runs of each setting."""
    mine = [{"note": "", **run, "on": machine_text(run)} for run in ranks
            if run["threads"] == 32 and run.get("device", "cpu") == "cpu"]
    ratios = {}
    for (_, *setting), runs in of_each(mine, "commit", "on", "file", "k", "min", "note").items():
        walls = {number: median(same, "wall") for (number,), same in of_each(runs, "ranks").items()}
        if {1, 2, 4, 8} <= walls.keys():
            ratios[tuple(setting)] = walls[1] / min(walls[number] for number in (2, 4, 8))
    return list(ratios.values())


def targets(rows, stages, ranks):
    laptop = [row for row in rows if row["kind"] == plan.LAPTOP]
    counted = [row for row in laptop if row["section"] in ("jobs", "front")]
    report = [row for row in rows if row["section"] == "report"]
    in_memory = "H200, reads already in its memory{}: 10^9 k-mers counted a second".format
    genome = "human, 99 Gbases, `--min 2`, {}: seconds".format
    return (
        Target("two cores: time of the fastest KMC measured ÷ kcount's", 5, True,
               compared(counted, ["kcount"], KMCS, operator.truediv)),
        Target("two cores: 10^6 look-ups a second per core, a small genome", 45, True,
               lookups_per_core(rows, "few")),
        Target("two cores: 10^6 look-ups a second per core, a plant or insect", 27, True,
               lookups_per_core(rows, "genome")),
        Target("kmc_tools' time ÷ that of `filter -o`", 10, True,
               compared(laptop, ["kept"], ["kmc_tools"], operator.truediv)),
        Target(genome("one H100 and 16 cores"), 10.2, False,
               human(rows, "kcount cuda", plan.GPU, "H100")),
        Target(genome("one H200 and 32 cores"), 8.6, False,
               human(rows, "kcount cuda", plan.GPUS, "H200")),
        Target(genome("two H100s or H200s and 32 cores"), 6.8, False,
               human(rows, "kcount two", plan.GPUS, "")),
        Target(in_memory(""), 75, True, rate_on_h200(stages, "count")),
        Target(in_memory(", `--min 2`"), 95, True, rate_on_h200(stages, "count, --min 2")),
        Target("32 threads: time as one process ÷ best time as 2, 4 or 8 processes", 1.1, False,
               one_process(ranks)),
        Target("seconds that `report` (without `--assembly`) adds to counting", 1, False,
               compared(report, ["kcount"], ["report"], operator.sub)
               + compared(report, ["kcount cuda"], ["report cuda"], operator.sub)))


def is_met(target):
    meets = operator.ge if target.at_least else operator.le
    return all(meets(round(figure, 2), target.bound) for figure in target.figures)


def line(target):
    """A row of the table, with figures to two decimals."""
    bound = f"{target.bound:g} or {'more' if target.at_least else 'less'}"
    if not target.figures:
        return f"| {target.what} | {bound} | not measured |  |"
    texts = dict.fromkeys(f"{figure:.2f}" for figure in (min(target.figures), max(target.figures)))
    return f"| {target.what} | {bound} | {' to '.join(texts)} " \
           f"| {'yes' if is_met(target) else '**no**'} |"


def section(rows, stages, ranks):
    """The lines of the section; none if no target was measured."""
    found = targets(rows, stages, ranks)
    if not any(target.figures for target in found):
        return []
    return [TARGETS, "| quantity | target | measured | met |", "|---|---:|---:|---|",
            *map(line, found), ""]
