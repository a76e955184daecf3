"""
The first figures that a reader sees: one file on one machine, beside other programs. From them come
the picture docs/front-page.svg and the marked regions of README.md.
"""
import re
import textwrap

import report_human
from report_bars import COLOURS, LINE, bar, heading
from report_counts import (VARIANTS, allowed, bases_text, by_wall, device_gib, gib, machine_text,
                           median, runs_text)
from report_plots import svg

LABEL = "front-page"
PICTURE = "front-page.svg"
WIDTH = 120                         # of lines in README.md
NAMES = {"kmc": "KMC", "gerbil": "Gerbil", "jellyfish": "Jellyfish"}
REGION = re.compile(r"(<!-- (\S+): made by bench/report\.py -->\n).*?(<!-- end -->\n)", re.DOTALL)


def is_front(key):
    return key[0] == LABEL


def setting(groups):
    """(key, tools) of the front page, or None if nothing was recorded."""
    return next((item for item in groups.items() if is_front(item[0])), None)


def program(tool, records):
    """The name of a program, with its version if it is not kcount, and its options."""
    name, _, options = tool.partition(" ")
    if name == "kcount":
        return "kcount, GPU" if options == "cuda" else tool
    return " ".join(filter(None, (NAMES.get(name, name), records[-1]["version"], options)))


def shown(tools):
    """The programs, the fastest first."""
    return [item for item in by_wall(tools) if item[0] not in VARIANTS]


def seconds(records):
    wall = median(records, "wall")
    return f"{wall:.1f} s" if wall < 100 else f"{wall:.0f} s"


def memory(tool, records):
    text = f"{gib(records):.1f} GiB"
    return f"{text}, {device_gib(records):.0f} GiB of the GPU" if tool == "kcount cuda" else text


def runs(tools):
    """The number of runs of all programs, and of those that had another number."""
    numbers = [len(records) for records in tools.values()]
    usual = max(sorted(set(numbers)), key=numbers.count)
    others = [f"{program(name, records)}: {runs_text(records)}"
              for name, records in tools.items() if len(records) != usual]
    text = runs_text(max(tools.values(), key=lambda records: len(records) == usual))
    return f"{text} each" + f" ({'; '.join(others)})" * bool(others)


def what(key, tools):
    bases = bases_text(tools["kcount"][0]["bases"])
    return f"{bases}, k = {key[2]}, {key[3]} threads"


def table(groups):
    key, tools = setting(groups)
    lines = [f"| {what(key, tools)} | time | peak memory | allowed memory |",
             "|---|---:|---:|---:|"]
    for name, records in shown(tools):
        cells = [program(name, records), seconds(records), memory(name, records)]
        if name.startswith("kcount"):
            cells = [f"**{cell}**" for cell in cells]
        lines.append(f"| {' | '.join([*cells, allowed(records)])} |")
    record = tools[shown(tools)[0][0]][-1]
    about = f"Simulated reads, every k-mer kept; {runs(dict(shown(tools)))}. " \
            f"{machine_text(record)}; {record['date']}."
    return [*lines, "", *textwrap.wrap(about, WIDTH), ""]


def picture(groups):
    """A bar for each program, as long as its time; the memory stands at its end."""
    key, tools = setting(groups)
    left, width, y = 150, 360, 44
    longest = max(median(records, "wall") for _, records in shown(tools))
    body = [heading(12, f"Time and peak memory: {what(key, tools)}")]
    for name, records in shown(tools):
        length = median(records, "wall") / longest * width
        body += bar(left, y, length, program(name, records), COLOURS[name],
                    f"{seconds(records)}, {memory(name, records)}")
        y += LINE + 10
    return svg(left + width + 190, y, body)


def image(folder=""):
    return [f"![Time and peak memory of kcount and other programs]({folder}{PICTURE})", ""]


def section(groups):
    """The part of docs/benchmarks.md."""
    return [*image(), *table(groups)] if setting(groups) else []


# ---- README.md ----

def human_sentence(records):
    """The whole genome from a file, with all of the device's memory."""
    mine = report_human.shown([record for record in records if record["way"] == "file"
                               and record["gpu_memory"] == "all" and not record["repeats"]])
    text = f"A simulated human genome, {bases_text(mine[0]['bases'])} of BGZF, takes " \
           f"{seconds(mine)} with `--min {mine[0]['min']}` on {mine[0]['threads']} cores and an " \
           f"{report_human.device(mine[0])} ({runs_text(mine)})."
    return textwrap.wrap(text, WIDTH)


def regions(groups, human):
    """{name: lines} of the marked regions."""
    front = [*image("docs/"), *table(groups)][:-1] if setting(groups) else []
    return {"front-page": front, "human-genome": human_sentence(human)}


def filled(readme, found):
    """README.md with these regions; each of them must be there once."""
    if sorted(name for _, name, _ in REGION.findall(readme)) != sorted(found):
        raise SystemExit(f"README.md should have the regions {', '.join(found)}")
    return REGION.sub(lambda old: old[1] + "".join(f"{line}\n" for line in found[old[2]]) + old[3],
                      readme)
