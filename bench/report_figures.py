"""The papers' figures, redrawn as SVG: docs/dev/papers/*.svg."""
import collections

from report_basis import by_sheet
from report_plots import NCOLOURS, Axis, Curve, Panel, page
from report_rows import grouped, name_of, stat_of

PER_GB = "M operations/s per GB/s (data sheets)"

# A picture is docs/dev/papers/PAPER-NAME.svg. A part has the figures whose rows it
# shows, its x axis, and what y is.
Picture = collections.namedtuple("Picture", "paper name title note parts")
Part = collections.namedtuple("Part", "title figures x y_title y_log y_field x_field",
                              defaults=(PER_GB, False, "ops_per_GB", "x"))

LOAD, LOG2B = Axis("load factor"), Axis("log2 of the batch size b")
UTILIZATION, ELEMENTS = Axis("memory utilization"), Axis("elements in the table", True)
OPERATIONS, KEYS = Axis("operations", True), Axis("keys in the range", True)
SPREAD = "mean; band: least to greatest"
PICTURES = (
    Picture("warpdrive", "7", "WarpDrive, figure 7: unique keys", "2^27 pairs of 32 + 32 bits",
            (Part("insert", ("7: insert",), LOAD), Part("retrieve", ("7: retrieve",), LOAD))),
    Picture("warpdrive", "8", "WarpDrive, figure 8: Zipf keys", "2^27 pairs of 32 + 32 bits",
            (Part("insert", ("8: insert",), LOAD), Part("retrieve", ("8: retrieve",), LOAD))),
    Picture("slab", "4", "Slab hash, figure 4: by memory utilization", "2^22 pairs",
            (Part("4a: build", ("4a: build",), UTILIZATION),
             Part("4b: search, all there", ("4b: search all",), UTILIZATION),
             Part("4b: search, none there", ("4b: search none",), UTILIZATION),
             Part("4c: memory utilization", ("4a: build",), Axis("slabs per list, mean"),
                  "utilization", False, "utilization", "mean_slabs"))),
    Picture("slab", "5", "Slab hash, figure 5: by size", "60 % utilization",
            (Part("5a: build", ("5a: build",), ELEMENTS),
             Part("5b: search", ("5b: search all", "5b: search none"), ELEMENTS))),
    Picture("slab", "6", "Slab hash, figure 6: in batches",
            "2^21 pairs, 65 % utilization in the end; elements so far over the time so far",
            (Part("insert", ("6: batches",), Axis("elements so far", True)),)),
    Picture("slab", "7", "Slab hash, figure 7: operations of all kinds at once", "",
            (Part("7a: pairs", ("7a: mixed",), UTILIZATION),
             Part("7b: keys alone, a million operations", ("7b: mixed, keys alone",),
                  Axis("lists", True)))),
    Picture("lsm", "II", "GPU LSM, table II: insertion", f"2^27 pairs in all; {SPREAD}",
            (Part("insertion", ("II: insertion",), LOG2B, PER_GB, True),)),
    Picture("lsm", "4b", "GPU LSM, figure 4b: effective insertion rate",
            "elements so far over the time so far",
            (Part("insertion", ("4b: effective insertion rate",), Axis("elements so far", True)),)),
    Picture("lsm", "III", "GPU LSM, table III: lookup", f"up to 2^24 pairs; {SPREAD}",
            (Part("none existing", ("III: lookup, none existing",), LOG2B, PER_GB, True),
             Part("all existing", ("III: lookup, all existing",), LOG2B, PER_GB, True))),
    Picture("lsm", "IV", "GPU LSM, table IV: count and range", f"up to 2^24 pairs; {SPREAD}",
            tuple(Part(name, (f"IV: {name}",), LOG2B, PER_GB, True) for name in
                  ("count, L = 8", "count, L = 1024", "range, L = 8", "range, L = 1024"))),
    Picture("lsm", "cleanup", "GPU LSM, section V-D: cleanup", "r batches of b",
            (Part("elements cleaned", ("V-D: cleanup",), Axis("stale elements, %")),)),
    Picture("linear", "utilization", "The simple hash table, by utilization",
            "2^22 keys at a time into 2^27 slots",
            (Part("rate", ("utilization: insert", "utilization: lookup"), UTILIZATION),
             Part("depth of the keys that are in", ("depth: mean", "depth: most"), UTILIZATION,
                  "slots from home", True, "value"))),
    Picture("hopscotch", "9-10", "GLHT, figures 9 and 10: beside static tables",
            "0.8 of the slots in use",
            (Part("9: build", ("9: build",), OPERATIONS),
             Part("10: retrieve", ("10: retrieve",), OPERATIONS))),
    Picture("hopscotch", "11-12", "GLHT, figures 11 and 12: operations of all kinds at once",
            "100 000 operations; [insert, erase, find] in %",
            (Part("11: [20,20,60]", ("11: [20,20,60]",), KEYS, "operations/s", True, "ops_per_s"),
             Part("12: [40,40,20]", ("12: [40,40,20]",), KEYS, "operations/s", True, "ops_per_s"))),
)


def points(records, x_field, y_field, factor):
    return [(record[x_field], record[y_field] * factor) for record in records
            if record.get(x_field) is not None and record.get(y_field) is not None]


def band(records, x_field, y_field, factor):
    """[(x, least, greatest)] for each x that has rows for both."""
    low, high = (dict(points([record for record in records if stat_of(record) == stat], x_field,
                             y_field, factor)) for stat in ("min", "max"))
    return [(x, low[x], high[x]) for x in sorted(low) if x in high]


def curve_name(record, part):
    name, what = name_of(record), record["figure"].rpartition(": ")[2]
    if not name:
        return what
    return f"{what}, {name}" if len(part.figures) > 1 else name


def on_data_sheets(records):
    """The rows, with our rates per GB/s by data sheet, as the papers' are."""
    return [{**record, "ops_per_GB": by_sheet(record)} if "ops_per_s" in record else record
            for record in records]


def part_curves(records, part, colours):
    """Our curves, each in its colour; the paper's in the same, or in ink if it has only one."""
    factor = 1e-6 if part.y_field == "ops_per_GB" else 1
    mine = [record for record in records if record["figure"] in part.figures]
    found, papers = [], {}
    for (name,), rows in grouped(mine, lambda record: curve_name(record, part)).items():
        middle = [row for row in rows if stat_of(row) in (None, "mean")]
        own = points(middle, part.x_field, part.y_field, factor)
        if not own:
            continue
        colour = colours.setdefault(name, len(colours))
        first, field = not found, f"paper_{part.y_field}"
        found.append(Curve(own, colour, False, band(rows, part.x_field, part.y_field, factor)
                           if first else ()))
        theirs = points(middle, part.x_field, field, factor)
        if theirs:
            papers.setdefault(tuple(theirs),
                              (colour, band(rows, part.x_field, field, factor) if first else ()))
    for theirs, (colour, about) in papers.items():
        found.append(Curve(list(theirs), colour if len(papers) > 1 else None, True, about))
    return found


def picture(records, spec):
    """The SVG, or None if there are no rows."""
    colours, panels = {}, []
    mine = on_data_sheets([record for record in records if record["paper"] == spec.paper])
    for part in spec.parts:
        curves = part_curves(mine, part, colours)
        if curves:
            panels.append(Panel(part.title, part.x, Axis(part.y_title, part.y_log), curves))
    if not panels:
        return None
    legend = [(name, Curve([], colour)) for name, colour in colours.items()]
    theirs = {curve.colour for panel in panels for curve in panel.curves if curve.paper}
    if theirs:
        gpu = next((f", {record['paper_gpu']}" for record in mine if "paper_gpu" in record), "")
        legend.append((f"the paper's{gpu}", Curve([], None if len(theirs) == 1 else NCOLOURS - 1,
                                                  True)))
    note = "; ".join(part for part in (mine[0].get("gpu", ""), spec.note) if part)
    return page(spec.title, note, panels, legend)
