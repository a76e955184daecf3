"""What kcount should reach, beside what was measured: the last table of docs/benchmarks.md."""
import collections
import operator
import re

import plan
from report_gpu import latest
from report_prose import TARGETS
from report_text import base_of, machine_text, median, of_each

# least: whether figures should be at least the bound; else, at most.
Target = collections.namedtuple("Target", "what bound least figures")
KMCS = [name for name in plan.PROGRAMS if name.startswith("kmc") and name != "kmc_tools"]


def settings(rows, *programs):
    """{(kind, machine, setting): runs} of each of these programs that was run to its end."""
    mine = [{**row, "on": machine_text(row), "base": base_of(row)} for row in rows
            if row["program"] in programs]
    return {key: runs for key, runs in of_each(mine, "kind", "on", "base").items()
            if all(row["status"] == "done" for row in runs)}


def times(rows, programs, same):
    """{values of the fields `same`: the least median time of these programs}."""
    found = {}
    for runs in settings(rows, *programs).values():
        key = machine_text(runs[0]), *(runs[0][field] for field in same)
        found[key] = min(median(runs, "wall"), found.get(key, float("inf")))
    return found


def compared(rows, programs, others, combine, same=("kind", "reads", "k", "threads")):
    """combine(time of others, time of programs) wherever both were measured."""
    ours, theirs = times(rows, programs, same), times(rows, others, same)
    return [combine(theirs[key], time) for key, time in ours.items() if key in theirs]


def lookups_per_core(rows, reads):
    """10^6 a second, on two cores, if each k-mer of the reads is looked up."""
    mine = [row for row in rows if row["kind"] == plan.LAPTOP and row["reads"] == reads]
    rates = []
    for runs in settings(mine, "filter", "total").values():
        length = int(re.search(r"--length (\d+)", runs[0]["simulate"])[1])
        nkmers = runs[0]["bases"] / length * (length - runs[0]["k"] + 1)
        rates.append(nkmers / median(runs, "wall") / runs[0]["threads"] / 1e6)
    return rates


def human(rows, program, kind, card):
    """The time of a whole human genome on such a machine."""
    mine = [row for row in rows if row["reads"] == "human" and row["kind"] == kind
            and card in row["machine"].get("gpu", "")]
    return [median(runs, "wall") for runs in settings(mine, program).values()]


def rate_on_h200(stages, stage):
    """10^9 k-mers that an H200 counts in a second, by the last runs."""
    return [record["g_per_s"] for record in latest(stages, "stage", "table", "k", "gpu")
            if (record["stage"], record["table"], record["k"]) == (stage, "warpdrive", 31)
            and record["gpu"] == "NVIDIA H200"]


def one_process(ranks):
    """The time of one process on 32 threads over the best of several, for each file at the commit
    that was measured last."""
    mine = [{"note": "", **run, "on": machine_text(run)} for run in ranks
            if run["threads"] == 32 and run.get("device", "cpu") == "cpu"]
    ratios = []
    for runs in of_each(mine, "commit", "on", "file", "k", "min", "note").values():
        walls = {number: median(same, "wall") for (number,), same in of_each(runs, "ranks").items()}
        if runs[0]["commit"] == mine[-1]["commit"] and {1, 2, 4, 8} <= walls.keys():
            ratios.append(walls.pop(1) / min(walls.values()))
    return ratios


def targets(rows, stages, ranks):
    laptop = [row for row in rows if row["kind"] == plan.LAPTOP]
    counted = [row for row in laptop if row["section"] in ("jobs", "front")]
    report = [row for row in rows if row["section"] == "report"]
    genome = "human, 99 Gbases, `--min 2`, {}: seconds".format
    return (
        Target("KMC's time in its fastest setting ÷ kcount's, two cores", 5, True,
               compared(counted, ["kcount"], KMCS, operator.truediv)),
        Target("look-ups per core, 10^6 a second, two cores: a small genome", 45, True,
               lookups_per_core(rows, "few")),
        Target("look-ups per core, 10^6 a second, two cores: a plant or insect", 27, True,
               lookups_per_core(rows, "genome")),
        Target("kmc_tools' time ÷ that of `filter -o`", 10, True,
               compared(laptop, ["kept"], ["kmc_tools"], operator.truediv)),
        Target(genome("one H100 and 16 cores"), 10.2, False,
               human(rows, "kcount cuda", plan.GPU, "H100")),
        Target(genome("one H200 and 32 cores"), 8.6, False,
               human(rows, "kcount cuda", plan.GPUS, "H200")),
        Target(genome("two H100s or H200s and 32 cores"), 6.8, False,
               human(rows, "kcount two", plan.GPUS, "")),
        Target("k-mers counted on an H200, 10^9 a second", 75, True, rate_on_h200(stages, "count")),
        Target("k-mers counted on an H200 with `--min 2`, 10^9 a second", 95, True,
               rate_on_h200(stages, "count, --min 2")),
        Target("one process's time ÷ the best of 2, 4 and 8, 32 threads in all", 1.1, False,
               one_process(ranks)),
        Target("time that `report` adds to counting, s", 1, False,
               compared(report, ["kcount"], ["report"], operator.sub)
               + compared(report, ["kcount cuda"], ["report cuda"], operator.sub)))


def is_met(target):
    meets = operator.ge if target.least else operator.le
    return all(meets(figure, target.bound) for figure in target.figures)


def line(target):
    """A row of the table. Figures have two decimals, or three digits if they are large."""
    bound = f"{target.bound:g} or {'more' if target.least else 'less'}"
    if not target.figures:
        return f"| {target.what} | {bound} | not measured |  |"
    texts = dict.fromkeys(f"{figure:.2f}" if figure < 100 else f"{figure:.0f}"
                          for figure in (min(target.figures), max(target.figures)))
    return f"| {target.what} | {bound} | {' to '.join(texts)} " \
           f"| {'yes' if is_met(target) else '**no**'} |"


def section(rows, stages, ranks):
    """Nothing without rows."""
    found = targets(rows, stages, ranks)
    if not any(target.figures for target in found):
        return []
    return [TARGETS, "| target | bound | measured | met |", "|---|---:|---:|---|",
            *map(line, found), ""]
