"""docs/dev/papers-results.md: the papers' evaluations next to ours."""
import sys

import report_several
from report_basis import (MIB, by_copy, by_sheet, bytes_a_key, cached, data_text, device_of,
                          harmonic_mean, memory_in_use, ratio, ratio_by_copy, runs_text)
from report_figures import PICTURES, picture
from report_plots import short
from report_prose import BULK_NOTE, CPU_NOTE, GAIN_NOTE, HEADER, NOTES, REPEAT
from report_rows import (STATS, at_best, claims, figure_of, grouped, harmonic_means, has_paper,
                         is_baseline, last_run, linear_depths, name_of, rounded_x, series_of,
                         stat_of, structure_of, with_paper_text)

FEW = 3                             # rows of a curve that are listed one by one
LSM_CLEANUP_GAIN = 4.8              # section V-D of the LSM paper

NAMES = {"warpdrive": "WarpDrive", "slab": "Slab hash and SlabAlloc", "lsm": "GPU LSM",
         "linear": "The simple hash table", "hopscotch": "GLHT"}
# The structure whose least, mean and greatest rates have tables of their own, as in its paper.
SPREADS = {("lsm", "GPU LSM")}
# Drawings whose rates are listed, with a column for each curve: how their names start.
LISTED = {"warpdrive": ("7:", "8:"), "hopscotch": ("9:", "10:", "11:", "12:")}
# Curves of which every n-th row is listed, because they are a table in the paper.
EVERY = {("linear", "utilization: insert"): 4}


# ---- tables ----

def is_spread(record):
    return stat_of(record) is not None and (record["paper"], structure_of(record)) in SPREADS


def cell(text):
    return str(text).replace("|", "\\|")


def table(heads, rows):
    """A table; columns whose heads end with : are text."""
    return ["| " + " | ".join(cell(head.rstrip(":")) for head in heads) + " |",
            "|" + "|".join("---" if head.endswith(":") else "---:" for head in heads) + "|",
            *("| " + " | ".join(map(cell, row)) + " |" for row in rows), ""]


def million(rate):
    return f"{rate * 1e-6:.0f}" if rate >= 1e8 else f"{rate * 1e-6:.3g}"


def per_gb(rate):
    return f"{rate * 1e-6:.3g}"


def ratio_text(value, bound=1):
    text = f"{value:.3f}" if 0.995 <= value < 1 else f"{value:.2f}"
    return text if value >= bound else f"**{text}**"


def where(record):
    if record.get("x") is None:
        return ""
    return f"{record.get('x_name', 'x')} {short(record['x'])}"


PAPER_HEADS = ["paper M/s", "here M/s", "paper per GB/s", "here per GB/s, copy",
               "here per GB/s, data sheet", "ratio, copy", "ratio, data sheets", "runs",
               "data, MiB"]


def paper_cells(record):
    return [million(record["paper_ops_per_s"]), million(record["ops_per_s"]),
            per_gb(record["paper_ops_per_GB"]), per_gb(by_copy(record)), per_gb(by_sheet(record)),
            ratio_text(ratio_by_copy(record)), ratio_text(ratio(record)), runs_text(record),
            data_text(record)]


def every(records):
    """Evenly spaced rows of a curve, and the last."""
    step = EVERY.get((records[0]["paper"], records[0]["figure"]))
    listed = records[::step] if step else []
    return listed if not listed or listed[-1] is records[-1] else [*listed, records[-1]]


def yes_or_no(is_so):
    return "yes" if is_so else "**no**"


def paper_table(records):
    """All rows, but of long curves the lowest ratio; then all their rows below the paper's."""
    rows, below = [], []
    for (figure, name), mine in grouped(records, figure_of, series_of).items():
        worst = min(mine, key=ratio)
        misses = [record for record in mine if ratio(record) < 1]
        rows += [[figure, name, where(record), *paper_cells(record), yes_or_no(ratio(record) >= 1)]
                 for record in (mine if len(mine) <= FEW else every(mine))]
        if len(mine) <= FEW:
            continue
        reached = f"{len(mine) - len(misses)} of {len(mine)}"
        rows.append([figure, name, f"lowest of {len(mine)}: {where(worst)}", *paper_cells(worst),
                     f"**{reached}**" if misses else reached])
        below += misses if len(misses) > 1 else []
    heads = ["figure:", "of:", "at:", *PAPER_HEADS]
    lines = table([*heads, "at or above"], rows) if rows else []
    if below:
        lines += ["All rows of these curves that are below the paper's:", "",
                  *table(heads, [[record["figure"], series_of(record), where(record),
                                  *paper_cells(record)] for record in below])]
    return lines


def three(rows, text):
    """The least, mean and greatest of the rows of one batch size, {stat: row}."""
    return " / ".join(text(rows[stat]) for stat in STATS if stat in rows)


def spread_cells(rows):
    some = next(iter(rows.values()))
    return [three(rows, lambda row: million(row["paper_ops_per_s"])),
            three(rows, lambda row: million(row["ops_per_s"])),
            three(rows, lambda row: per_gb(by_copy(row))),
            three(rows, lambda row: per_gb(by_sheet(row))),
            three(rows, lambda row: ratio_text(ratio_by_copy(row))),
            three(rows, lambda row: ratio_text(ratio(row))),
            runs_text(some), data_text(some)]


def spread_tables(records):
    """As in the LSM paper: for each batch size the least, the mean and the greatest rate."""
    lines, heads = [], [head for head in PAPER_HEADS if head != "paper per GB/s"]
    for (figure, name), mine in grouped(records, figure_of, name_of).items():
        rows = [[short(x), *spread_cells({stat_of(record): record for record in same})]
                for (x,), same in grouped(mine, lambda record: record["x"]).items()]
        lines += [f"{figure}, {name}: min / mean / max", "",
                  *table([mine[0].get("x_name", "x"), *heads], rows)]
    return lines


# ---- targets, and what has no figure in the paper ----

def variant_of(record):
    """What has rows of its own: a layout, with its best group size, or else a series."""
    return record.get("layout") or name_of(record)


def best_of_each(records):
    """The fastest row of each variant, for each figure and x."""
    return [max(mine, key=lambda record: record["ops_per_s"])
            for mine in grouped(records, figure_of, rounded_x, variant_of).values()]


def memory_heads(records):
    return ["bytes a key", "in use"] if any("layout" in record for record in records) else []


def memory_cells(record):
    if "layout" not in record:
        return []
    return [f"{bytes_a_key(record):.1f}", f"{100 * memory_in_use(record):.0f}%"]


def reached_targets(records):
    """(targets that a variant reaches, all targets)."""
    groups = grouped([record for record in records if "target_ops_per_s" in record], figure_of,
                     rounded_x)
    return (sum(any(record["ops_per_s"] >= record["target_ops_per_s"] for record in mine)
                for mine in groups.values()), len(groups))


def target_table(records):
    mine = [record for record in records if "target_ops_per_s" in record]
    rows = []
    for best in best_of_each(mine):
        share = best["ops_per_s"] / best["target_ops_per_s"]
        rows.append([best["figure"], where(best), name_of(best), million(best["ops_per_s"]),
                     million(best["target_ops_per_s"]), ratio_text(share), yes_or_no(share >= 1),
                     runs_text(best), *memory_cells(best)])
    heads = ["target:", "at:", "variant:", "here M/s", "target M/s", "of it", "reached", "runs"]
    return table([*heads, *memory_heads(mine)], rows) if rows else []


def other_table(records, drawn):
    """What is neither drawn nor compared with anything."""
    rest = [record for record in records if "ops_per_s" in record and record["figure"] not in drawn
            and not has_paper(record) and "target_ops_per_s" not in record]
    rows = [[best["figure"], where(best), name_of(best), million(best["ops_per_s"]),
             per_gb(by_copy(best)), per_gb(by_sheet(best)), runs_text(best), *memory_cells(best)]
            for best in best_of_each(rest)]
    heads = ["what:", "at:", "variant:", "here M/s", "here per GB/s, copy",
             "here per GB/s, data sheet", "runs", *memory_heads(rest)]
    return ["Also measured:", "", *table(heads, rows)] if rows else []


def listed_tables(records, paper):
    """The rates of drawings, with a column for each curve."""
    lines, starts = [], LISTED.get(paper, ())
    listed = [record for record in records
              if "ops_per_s" in record and record["figure"].startswith(starts)]
    for (figure,), mine in grouped(listed, figure_of).items():
        names = [name for (name,) in grouped(mine, name_of)]
        rows = []
        for (x,), same in grouped(mine, lambda record: record["x"]).items():
            rates = {name_of(record): million(record["ops_per_s"]) for record in same}
            rows.append([short(x), data_text(same[0]), *(rates.get(name, "") for name in names)])
        lines += [f"{figure}, M/s, medians of {runs_text(mine[0])} runs:", "",
                  *table([mine[0].get("x_name", "x"), "data, MiB", *names], rows)]
    return lines


# ---- of single papers ----

def bulk_table(records, stated):
    """WarpDrive's published numbers next to our bulk operations, at the paper's load or the next
    higher."""
    rows = []
    for theirs in stated:
        what = theirs["figure"].rpartition(": ")[2]
        bulk = [record for record in records if record["figure"] == f"64-bit keys in bulk: {what}"
                and record["x"] >= theirs["x"]]
        if bulk:
            load = min(record["x"] for record in bulk)
            best = max((record for record in bulk if record["x"] == load),
                       key=lambda record: record["ops_per_s"])
            beside = {**best, "paper_ops_per_s": theirs["paper_ops_per_s"],
                      "paper_ops_per_GB": theirs["paper_ops_per_GB"]}
            rows.append([theirs["figure"], where(theirs), name_of(best), where(best),
                         *paper_cells(beside)])
    heads = ["figure:", "paper at:", "here:", "here at:", *PAPER_HEADS]
    return [BULK_NOTE, "", *table(heads, rows)] if rows else []


def lsm_table(records):
    """The LSM next to the sorted array: harmonic means over the batch sizes that both have."""
    rows = []
    means = [record for record in records if stat_of(record) == "mean" and has_paper(record)]
    for (figure,), mine in grouped(means, figure_of).items():
        both = [[record for record in mine if structure_of(record) == name]
                for name in ("GPU LSM", "GPU SA")]
        if not all(both):
            continue
        theirs, ours = ([harmonic_mean(rows_of, field) for rows_of in both]
                        for field in ("paper_ops_per_s", "ops_per_s"))
        paper_gain, gain = theirs[0] / theirs[1], ours[0] / ours[1]
        rows.append([figure, *map(million, theirs), f"{paper_gain:.2f}", *map(million, ours),
                     ratio_text(gain, paper_gain)])
    heads = ["figure:", "paper LSM", "paper SA", "paper LSM over SA", "here LSM", "here SA",
             "here LSM over SA"]
    return [GAIN_NOTE, "", *table(heads, rows)] if rows else []


def depth_table(records):
    rows = [[record["figure"], f"{record['x']:.2f}", f"{record['paper_value']:g}",
             f"{record['value']:.0f}" if record["value"] >= 1e4 else f"{record['value']:.4g}",
             yes_or_no(record["value"] <= record["paper_value"])]
            for record in records if record["paper_value"] is not None]
    heads = ["slots from home:", "utilization", "paper", "here", "no more than the paper's"]
    return table(heads, rows) if rows else []


def cleanup_line(records):
    """V-D's last row: lookups after a cleanup, compared with the same lookups without one."""
    lookups = {record["series"]: record for record in records if record["figure"] == "V-D: lookup"}
    cleanup = [record for record in records if record["figure"] == "V-D: cleanup"]
    before, after = (lookups.get(f"{when} cleanup") for when in ("before", "after"))
    if before is None or after is None or not cleanup:
        return []
    gain = before["median_ms"] / (after["median_ms"] + cleanup[-1]["median_ms"])
    text = f"{gain:.1f}" if gain >= LSM_CLEANUP_GAIN else f"**{gain:.1f}**"
    return [f"V-D, {name_of(cleanup[-1])}: a cleanup and {short(after['n'])} lookups are {text} "
            f"times as fast as those lookups without it (the paper: {LSM_CLEANUP_GAIN}).", ""]


# For GLHT: each ratio in the rows, and how the series that it divides by starts.
OTHERS = {"GLHT over CPU hopscotch": "CPU lock-based", "GLHT over chained without allocation":
          "GPU chained, without", "GLHT over chained with allocation": "GPU chained, with a"}


def relative_rows(records):
    """[(row with the paper's ratio, our ratios by way to run GLHT, None if unknown)]; the ways."""
    rates = [record for record in records if "ops_per_s" in record]
    ways = [name for (name,) in grouped(rates, name_of) if name.startswith("GLHT, ")]
    rows = []
    for stated in (record for record in records if "paper_ratio_from" in record):
        same = [record for record in rates
                if (record["figure"], record["x"]) == (stated["figure"], stated["x"])]
        other = max((record["ops_per_s"] for record in same
                     if name_of(record).startswith(OTHERS[series_of(stated)])), default=None)
        own = {name_of(record): record["ops_per_s"] for record in same}
        rows.append((stated, [own[way] / other if other and way in own else None for way in ways]))
    return rows, ways


def relative_cells(stated, ratios):
    low, high = stated["paper_ratio_from"], stated["paper_ratio_to"]
    theirs = f"{low:g}" if low == high else f"{low:g} to {high:g}"
    return [stated["figure"], short(stated["x"]), series_of(stated), theirs,
            *("" if ours is None else ratio_text(ours, low) for ours in ratios)]


def relative_table(records):
    rows, ways = relative_rows(records)
    if not rows:
        return []
    threads = max((name_of(record).rpartition(", ")[2].split()[0] for record in records
                   if name_of(record).startswith("CPU lock-based")), default="the")
    ways = [way.partition(", ")[2] for way in ways]
    reached = [sum(ours[i] is not None and ours[i] >= stated["paper_ratio_from"]
                   for stated, ours in rows) for i in range(len(ways))]
    counts = "; ".join(f"{way}, {n} of {len(rows)}" for way, n in zip(ways, reached))
    return ["GLHT's rate divided by that of another table:", "",
            *table(["figure:", "keys", "ratio:", "paper", *(f"here, {way}" for way in ways)],
                   [relative_cells(*row) for row in rows]),
            f"At or above the paper's lower ratio: {counts}.", "",
            CPU_NOTE.format(threads=threads), ""]


def rebuilt_table(records):
    """Tables that were rebuilt because a key found no room."""
    rows = [[record["figure"], series_of(record), where(record), record["rebuilds"],
             f"{record.get('load', 0):g}"] for record in records if record.get("rebuilds")]
    return ["Rebuilt, because a key found no room; the time includes all attempts:", "",
            *table(["figure:", "of:", "at:", "rebuilds", "load in the end"], rows)] if rows else []


PUBLIC_RATES = {"insert": "insert", "find": "find", "find_missing": "find missing",
                "count": "count", "count_8": "count, L = 8", "count_1024": "count, L = 1024",
                "range_8": "range, L = 8", "range_1024": "range, L = 1024"}


def public_table(records):
    """Other code, including the authors', on a device like ours."""
    if not records:
        return []
    rates = [(name, head) for name, head in PUBLIC_RATES.items()
             if any(f"{name}_ops_per_s" in record for record in records)]
    rows = [[record["table"], short(record["n"]), record.get("load") or "",
             *(million(record[f"{name}_ops_per_s"]) if f"{name}_ops_per_s" in record else ""
               for name, _ in rates)] for record in records]
    return [f"Public code on an {records[0]['gpu']}, in M/s (n: keys, operations or elements). "
            f"These rates are not from the run above but from {records[0]['machine']}:", "",
            *table(["code:", "n", "load", *(head for _, head in rates)], rows)]


# ---- the page ----

def about_line(records):
    about, theirs = records[-1], next((row for row in records if "paper_gpu" in row), None)
    copied = next((row["bandwidth_GBps"] for row in records if "bandwidth_GBps" in row), 0)
    line = f"{len(records)} rows; {about['gpu']}: a copy at {copied:.0f} GB/s, " \
           f"{device_of(about).bandwidth} GB/s by its data sheet"
    if theirs:
        line += f"; the paper's {theirs['paper_gpu']}: {theirs['paper_bandwidth_GBps']:g} GB/s"
    return f"{line}. Commit {about.get('commit', '')}, {about.get('date', '')}; " \
           f"`{about.get('command', '')}`."


def paper_lines(paper, records, public, several):
    pictures = [spec for spec in PICTURES if spec.paper == paper]
    drawn = {figure for spec in pictures for part in spec.parts for figure in part.figures}
    stated = [record for record in at_best(records) if has_paper(record)]
    singles = [*harmonic_means(records), *(record for record in stated if not is_spread(record))]
    lines = [f"## {NAMES.get(paper, paper)}", "", about_line(records), ""]
    lines += [NOTES[paper], ""] if paper in NOTES else []
    lines += paper_table([record for record in singles if not is_baseline(record)])
    if paper == "warpdrive":
        lines += bulk_table(records, stated) + report_several.table(several)
    lines += spread_tables([record for record in stated if is_spread(record)])
    lines += lsm_table(stated) + cleanup_line(records)
    lines += relative_table(records) + rebuilt_table(records)
    if paper == "linear":
        lines += depth_table(linear_depths(records))
    targets = target_table(records)
    lines += ["Targets:", "", *targets] if targets else []
    lines += other_table(records, drawn) + listed_tables(records, paper)
    baselines = paper_table([record for record in singles if is_baseline(record)])
    if baselines:
        lines += ["Baselines of the paper, which do not count as its rows:", "", *baselines]
    lines += public_table(public)
    for spec in pictures:
        lines += [f"![{spec.title}](papers/{paper}-{spec.name}.svg)", ""]
    return lines


def summary(papers):
    rows = []
    for paper, records in papers.items():
        counted = claims(records)
        inside = [sum(cached(record) == how for record in counted) for how in ("yes", "part")]
        reached, targets = reached_targets(records)
        shares = [f"{sum(of(record) >= 1 for record in counted)} of {len(counted)}" if counted
                  else "no rates given" for of in (ratio, ratio_by_copy)]
        rows.append([NAMES.get(paper, paper), *shares, *inside,
                     f"{reached} of {targets}" if targets else ""])
    return table(["paper:", "figures of the paper reached, by data sheets", "by our measured copy",
                  "of these figures, here in the L2", "in part", "targets reached"], rows)





def header(papers):
    l2 = device_of(next(iter(papers.values()))[0]).l2
    return [HEADER.format(l2=l2 / MIB).rstrip("\n"), "", *summary(papers), REPEAT]


def by_paper(records):
    """{paper: rows of its last run}, in the order of NAMES."""
    papers = grouped(records, lambda record: record["paper"])
    order = [*NAMES, *(paper for (paper,) in papers if paper not in NAMES)]
    runs = {paper: with_paper_text(last_run(papers.get((paper,), []))) for paper in order}
    return {paper: rows for paper, rows in runs.items() if rows}


def write(records, public, several, docs):
    """Write papers-results.md and papers/*.svg into docs/dev; report plots without rows on stderr.
    public, several: rows of bench/results/tables-public.jsonl and multi.jsonl."""
    papers = by_paper(records)
    if not papers:
        return
    lines = header(papers)
    (docs / "papers").mkdir(parents=True, exist_ok=True)
    for paper, rows in papers.items():
        lines += paper_lines(paper, rows, [record for record in public if record["paper"] == paper],
                             several)
    for spec in PICTURES:
        rows = papers.get(spec.paper, [])
        drawn = picture(rows + linear_depths(rows), spec)
        if drawn is None:
            print(f"no rows for {spec.paper}-{spec.name}.svg", file=sys.stderr)
            continue
        (docs / "papers" / f"{spec.paper}-{spec.name}.svg").write_text(drawn)
    (docs / "papers-results.md").write_text("\n".join(lines))
