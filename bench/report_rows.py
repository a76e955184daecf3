"""
Rows of bench/results/tables.jsonl: their run, their curve, and the numbers in the papers' texts
that belong to them.
"""
from report_basis import harmonic_mean, over, ratio
from report_gpu import latest

RUN = ("gpu", "commit", "date", "command")
KEY = ("figure", "series", "x", "log2_b", "r")
STATS = ("min", "mean", "max")

# Depths in the author's table: utilization, mean, most ("the average depth was ...").
LINEAR_DEPTHS = ((0.5, 0.4774, 60), (31 / 32, 10.1757, 6474))
# Numbers in a paper's text that recorded runs lack: paper, figure, x, operations per second.
# WarpDrive, section VI: up to 2.7e9 insertions/s, assigned to its lowest load,
# as its 5.5e9 retrievals/s are.
PAPER_TEXT = (("warpdrive", "7: insert", 0.4, 2.7e9),)
# The paper gives a harmonic mean over the sizes of the curve.
HARMONIC = {("slab", "5b: search all"), ("slab", "5b: search none")}
# The paper gives the rate of the best group size.
BEST = {("warpdrive", "7: insert"), ("warpdrive", "7: retrieve")}
# The paper gives one number (a peak, or "about 100 M") for several of our rows: it counts once, at
# the lowest ratio of one variant (None: of all).
ONCE = {("slab", "4a: build"): "light, 4 lanes", ("slab", "4b: search all"): "light, 4 lanes",
        ("slab", "4b: search none"): "light, 4 lanes",
        ("slab", "V: slabs taken"): "regular, 1 at a time", ("slab", "7a: mixed"): None}
# What the papers compare their structures with.
BASELINES = {("lsm", "GPU SA")}


def last_run(records):
    """The rows of a paper's last run at full size; of two rows for one point, the later one."""
    whole = [record for record in records if record.get("shift", 0) == 0]
    if not whole:
        return []
    return latest([record for record in whole
                   if all(record.get(field) == whole[-1].get(field) for field in RUN)], *KEY)


def stat_of(record):
    """Which of STATS a row is, or None."""
    last = record.get("series", "").rpartition(", ")[2]
    return last if last in STATS else None


def structure_of(record):
    """The series without its STATS."""
    series = record.get("series", "")
    return series.rpartition(", ")[0] if stat_of(record) else series


def name_of(record):
    """The curve that a row belongs to."""
    more = [f"b = 2^{record['log2_b']}"] if "log2_b" in record else []
    more += [f"r = {record['r']}"] if "r" in record else []
    return ", ".join(([structure_of(record)] if structure_of(record) else []) + more)


def series_of(record):
    return f"{name_of(record)}, {stat_of(record)}" if stat_of(record) else name_of(record)


def is_baseline(record):
    return (record["paper"], structure_of(record)) in BASELINES


def with_paper_text(records):
    """The rows, with the numbers of PAPER_TEXT in the series with the figure's other numbers."""
    rows = list(records)
    for paper, figure, x, rate in PAPER_TEXT:
        mine = [row for row in rows if (row["paper"], row["figure"]) == (paper, figure)]
        there = [row for row in mine if row["x"] == x]
        others = [row["series"] for row in mine if "paper_ops_per_s" in row]
        if there and not any("paper_ops_per_s" in row for row in there):
            row = next((row for row in there if row["series"] in others), there[0])
            rows[rows.index(row)] = {**row, "paper_ops_per_s": rate,
                                     "paper_ops_per_GB": rate / row["paper_bandwidth_GBps"]}
    return rows


def linear_depths(records):
    """Rows of depths, two of them given by the author; x is the load after the batch, and a depth
    is a number of probes less 1."""
    rows = []
    for record in records:
        if record["figure"] != "utilization: insert":
            continue
        x = record["x"] + 1 / 32
        paper = next((row[1:] for row in LINEAR_DEPTHS if abs(row[0] - x) < 1e-3), (None, None))
        for theirs, name, field in zip(paper, ("mean", "most"), ("mean_probes", "most_probes")):
            if record.get(field, 1) > 1:
                rows.append({"paper": "linear", "figure": f"depth: {name}", "x": x,
                             "value": record[field] - 1, "paper_value": theirs})
    return rows


def at_best(records):
    """The rows, with the paper's numbers of BEST moved to the fastest row of the same x."""
    rows = list(records)
    for record in records:
        if (record["paper"], record["figure"]) in BEST and "paper_ops_per_s" in record:
            same = [row for row in rows
                    if (row["figure"], row["x"]) == (record["figure"], record["x"])]
            best = max(same, key=lambda row: row["ops_per_s"])
            theirs = {field: record[field] for field in ("paper_ops_per_s", "paper_ops_per_GB")}
            bare = {field: value for field, value in record.items() if field not in theirs}
            rows[rows.index(record)] = bare
            best = bare if best is record else best
            rows[rows.index(best)] = {**best, **theirs}
    return rows


def harmonic_means(records):
    """A row for each curve of HARMONIC: our mean over the sizes, as the paper's is."""
    rows = []
    for paper, figure in sorted(HARMONIC):
        mine = [record for record in records if "paper_ops_per_s" in record
                and (record["paper"], record["figure"]) == (paper, figure)]
        if mine:
            means = {field: harmonic_mean(mine, field) for field in ("ops_per_s", "ops_per_GB")}
            rows.append({**mine[0], **means, "series": "harmonic mean over the sizes", "x": None,
                         "data_bytes": over(mine)})
    return rows


def claims(records):
    """One row of ours for each number of the paper, without baselines."""
    stated = [record for record in at_best(records) if has_paper(record)
              and not is_baseline(record)]
    several = {*HARMONIC, *ONCE}
    rows = [record for record in stated if (record["paper"], record["figure"]) not in several]
    for (paper, figure), variant in ONCE.items():
        mine = [record for record in stated if (record["paper"], record["figure"]) == (paper,
                                                                                       figure)
                and variant in (None, structure_of(record))]
        rows += [min(mine, key=ratio)] if mine else []
    return rows + harmonic_means(records)


def has_paper(record):
    return "paper_ops_per_GB" in record and "ops_per_GB" in record


def grouped(records, *keys):
    groups = {}
    for record in records:
        groups.setdefault(tuple(key(record) for key in keys), []).append(record)
    return groups


def figure_of(record):
    return record["figure"]


def rounded_x(record):
    return None if record.get("x") is None else float(f"{record['x']:.3g}")
