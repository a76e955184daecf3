"""Recorded runs: groups, medians, and how machines and commits are named."""
import collections
import re
import statistics

import plan

MARKS = re.compile(r"\((R|TM)\)|( \d+-Core)? Processor", re.IGNORECASE)  # left out of CPU names
RUN = ("section", "reads", "program", "k", "min", "threads", "memory", "simulate", "scale")


def of_each(records, *fields):
    """{values of the fields: [records]}, in the order of the records."""
    groups = {}
    for record in records:
        groups.setdefault(tuple(record[field] for field in fields), []).append(record)
    return groups


def median(records, *fields):
    return statistics.median(sum(record[field] for field in fields) for record in records)


def runs_text(records):
    """How to describe the median of these runs."""
    return {1: "1 run", 2: "mean of 2 runs"}.get(len(records), f"median of {len(records)} runs")


def gib(records):
    return median(records, "peak_bytes") / 2**30


def bases_text(bases):
    return f"{bases * 1e-9:.1f} Gbases" if bases >= 1e9 else f"{bases * 1e-6:.1f} Mbases"


def gpus_text(about):
    """The names of the GPUs, without driver versions; identical GPUs are counted."""
    names = [name.split(", ")[0] for name in about["gpu"].split("; ")]
    return "; ".join(f"{n} x {name}" if n > 1 else name
                     for name, n in collections.Counter(names).items())


def machine_text(record, with_cores=True, used=None):
    """The name of a machine; machines with different names have tables of their own. An unused GPU
    is named, too, because the hosts of different GPUs differ in speed. used: whether the GPU was
    used; by default, as the kind of machine says."""
    about = record["machine"]
    cores = f"{about['cores']} cores" if with_cores else ""
    parts = filter(None, (MARKS.sub("", about["cpu"]), cores, f"{about['memory_gib']} GiB"))
    if used is None:
        used = "kind" not in record or plan.KINDS[record["kind"]].gpus
    gpus = f"; {gpus_text(about)}{'' if used else ' (not used)'}" if "gpu" in about else ""
    return f"{', '.join(parts)}{gpus}"


def machine_line(records, with_commit=True):
    """The machine of the last of these records and, by default, the commit."""
    commit = f"commit {records[-1]['commit']}, " * with_commit
    return f"{machine_text(records[-1])}; {commit}{records[-1]['date']}."


# ---- rows of bench/all.py ----

def base_of(row):
    """What was run."""
    return tuple(row[field] for field in RUN)


def is_ours(row):
    return row["executable"] == "kcount"


def state(row):
    """What a row is true for: the commit of kcount that was measured, and a peer's version. Peers
    are measured again beside each commit, because machines that look alike differ in speed, at
    times by a factor of two."""
    return row["commit"], row["version"]


def same_in_a_table(row):
    """{what has one state in a table: the state}: all rows, each peer, and how reads were made."""
    table = row["section"], row["kind"], row["scale"]
    peer = {} if is_ours(row) else {(*table, row["program"], machine_text(row)): row["version"]}
    return {**peer, (*table, "kcount", machine_text(row)): row["commit"],
            (*table, "reads", row["reads"]): row["simulate"]}


def outdated(rows):
    """Rows that later rows of their table replace; of one day, those further on in the file."""
    last = {}
    for row in sorted(rows, key=lambda row: row["date"]):
        last.update(same_in_a_table(row))
    return [row for row in rows if any(last[key] != value
                                       for key, value in same_in_a_table(row).items())]


def refuse_mixtures(rows):
    """Stop if a table has rows of two commits, of two versions of another program, or of reads that
    were made in two ways."""
    known = {}
    for row in rows:
        for key, value in same_in_a_table(row).items():
            if known.setdefault(key, value) != value:
                section, kind, _, program, _ = key
                raise SystemExit(f"{kind}.jsonl, section {section}: {program} at {known[key]} and "
                                 f"at {value}; move the rows of one to bench/results/archive "
                                 "(bench/all.py --take does)")
