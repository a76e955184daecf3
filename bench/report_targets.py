"""Rates that kcount should reach, beside those measured: the last figures of docs/benchmarks.md."""
import collections

import plan
from report_prose import TARGETS
from report_text import base_of, median, of_each

# figures: the measured values; is_reached: whether one of them is good enough.
Target = collections.namedtuple("Target", "what aim is_reached figures")


def at_least(bound):
    return lambda value: value >= bound


def at_most(bound):
    return lambda value: value <= bound


def medians(rows, **wanted):
    """{(kind, machine, setting): median time} of the runs that have these values."""
    mine = [{**row, "same": base_of({**row, "program": None, "section": None}),
             "on": str(row["machine"])} for row in rows
            if row["status"] == "done" and all(row[name] in values
                                               for name, values in wanted.items())]
    return {key: median(runs, "wall") for key, runs in of_each(mine, "kind", "on", "same").items()}


def compared(rows, program, other, combine, **wanted):
    """How another program's times compare with those of a program for the same setting."""
    ours, theirs = (medians(rows, program=(name,), **wanted) for name in (program, other))
    return [combine(theirs[key], ours[key]) for key in ours.keys() & theirs.keys()]


def over(a, b):
    return a / b


def asked(rows, reads, *programs):
    """10^6 k-mers of reads of 150 bases that a core looks up in a second, on two cores."""
    mine = [row for row in rows if row["kind"] == plan.LAPTOP and row["reads"] == reads
            and row["program"] in programs]
    length = 150
    return [runs[0]["bases"] * (length - runs[0]["k"] + 1) / length / median(runs, "wall")
            / runs[0]["threads"] / 1e6 for runs in of_each(mine, "program").values()]


def whole_genome(rows, program, card):
    mine = [row for row in rows if row["reads"] == "human" and row["program"] == program
            and card in row["machine"].get("gpu", "")]
    return [median(runs, "wall") for runs in of_each(mine, "kind").values()]


def report_more(rows):
    """Seconds that a report takes longer than the count."""
    return [seconds for device in ("", " cuda")
            for seconds in compared(rows, f"kcount{device}", f"report{device}",
                                    lambda a, b: a - b, section=("report",))]


def on_device(stages, stage):
    """10^9 k-mers that an H200 counts in a second, from reads in its memory, by the last runs."""
    mine = [record["g_per_s"] for record in stages
            if (record["stage"], record["table"], record["k"]) == (stage, "warpdrive", 31)
            and record["gpu"] == "NVIDIA H200"]
    return mine[-1:]


def one_process(ranks):
    """The time of one process on 32 threads over the best of several, for each file."""
    last = [{"device": "cpu", "note": "", **run} for run in ranks if run["threads"] == 32]
    found = []
    for runs in of_each(last, "commit", "file", "k", "min", "device", "note").values():
        times = {number: median(mine, "wall") for (number,), mine in of_each(runs, "ranks").items()}
        if {1, 2, 4, 8} <= times.keys():
            found.append((runs[-1]["commit"], times.pop(1) / min(times.values())))
    return [ratio for commit, ratio in found if commit == found[-1][0]]


def targets(rows, stages, ranks):
    card = "{}: 99 Gbases, seconds".format
    return (
        Target("two cores: KMC's time / kcount's", "5 or more", at_least(5),
               compared(rows, "kcount", "kmc", over, kind=(plan.LAPTOP,))),
        Target("two cores: 10^6 look-ups a second on a core, a small genome", "45 or more",
               at_least(45), asked(rows, "few", "kept")),
        Target("the same, a plant or insect", "27 or more", at_least(27),
               asked(rows, "genome", "filter", "total")),
        Target("the reads that pass: kmc_tools's time / kcount's", "10 or more", at_least(10),
               compared(rows, "kept", "kmc_tools", over)),
        Target(card("one H100"), "10.2 or less", at_most(10.2),
               whole_genome(rows, "kcount cuda", "H100")),
        Target(card("one H200"), "8.6 or less", at_most(8.6),
               whole_genome(rows, "kcount cuda", "H200")),
        Target(card("two H100s or H200s"), "6.8 or less", at_most(6.8),
               whole_genome(rows, "kcount two", "")),
        Target("H200: 10^9 k-mers a second, from reads in its memory", "75 or more", at_least(75),
               on_device(stages, "count")),
        Target("the same with `--min 2`", "95 or more", at_least(95),
               on_device(stages, "count, --min 2")),
        Target("32 threads: one process's time / the best of 2, 4 and 8", "1.1 or less",
               at_most(1.1), one_process(ranks)),
        Target("a report's time - the count's, seconds", "1 or less", at_most(1),
               report_more(rows)))


def text_of(figures):
    least, most = (f"{value:.3g}" for value in (min(figures), max(figures)))
    return least if least == most else f"{least} to {most}"


def section(rows, stages, ranks):
    """Targets that were not measured are left out."""
    lines = [f"| {target.what} | {target.aim} | {text_of(target.figures)} "
             f"| {'yes' if all(map(target.is_reached, target.figures)) else '**no**'} |"
             for target in targets(rows, stages, ranks) if target.figures]
    heads = ["| what | aim | measured | reached |", "|---|---:|---:|---|"]
    return [TARGETS, *heads, *lines, ""] if lines else []
