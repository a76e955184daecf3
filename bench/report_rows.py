"""Rows of bench/results/tables.jsonl: which run, which curve, and what the papers tell in other words."""
import statistics

from report_gpu import latest

RUN = ("gpu", "commit", "date", "command")
KEY = ("figure", "series", "x", "log2_b", "r")
STATS = ("min", "mean", "max")

# Depth in the author's table: utilization, mean, most ("the average depth was ...").
LINEAR_DEPTHS = ((0.5, 0.4774, 60), (31 / 32, 10.1757, 6474))
# What the paper's text has is a harmonic mean over the sizes of the curve.
HARMONIC = {("slab", "5b: search all"), ("slab", "5b: search none")}
# What the paper's text has is the rate of the best group size.
BEST = {("warpdrive", "7: insert"), ("warpdrive", "7: retrieve")}


def last_run(records):
    """The rows of a paper's last run at its full size; of a row that is there twice, the later."""
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


def linear_depths(records):
    """Rows of depths, which the author gives twice; records have probes, from 1, after the batch."""
    rows = []
    for record in records:
        if record["figure"] != "utilization: insert":
            continue
        x = record["x"] + 1 / 32
        paper = next((row[1:] for row in LINEAR_DEPTHS if abs(row[0] - x) < 1e-3), (None, None))
        for theirs, name, field in zip(paper, ("mean", "most"), ("mean_probes", "most_probes")):
            if record.get(field, 1) > 1:
                rows.append({"paper": "linear", "figure": f"depth: {name}", "x": x, "value": record[field] - 1,
                             "paper_value": theirs})
    return rows


def at_best(records):
    """The paper's figures of BEST are moved to the quickest row of the same x."""
    rows = list(records)
    for record in records:
        if (record["paper"], record["figure"]) in BEST and "paper_ops_per_s" in record:
            same = [row for row in rows
                    if row["figure"] == record["figure"] and row["x"] == record["x"]]
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
        mine = [record for record in records if (record["paper"], record["figure"]) == (paper, figure)
                and "paper_ops_per_s" in record]
        if mine:
            means = {field: statistics.harmonic_mean([record[field] for record in mine])
                     for field in ("ops_per_s", "ops_per_GB")}
            rows.append({**mine[0], **means, "series": "harmonic mean over the sizes", "x": None})
    return rows


def ratio(record):
    """Ours in the paper's, both as operations a second for each GB/s."""
    return record["ops_per_GB"] / record["paper_ops_per_GB"]


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
