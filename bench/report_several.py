"""
The several-GPU figures of the WarpDrive paper beside those of bench_multi, for
docs/dev/papers-results.md.
"""
import report_multi
from report_basis import device_of

# By data sheet, GB/s: the bus of a device in one direction, and the memory of the paper's devices.
BUS = 63
PAPER_MEMORY = 4 * 720
KEY_NBYTES, PAIR_NBYTES = 8, 12

TITLE = """\
Over several devices: the paper's four P100 beside our last rows of each part of `bench_multi`
([measurements](measurements.md#several-devices)); keys of 64 bits with values of 32 here, of 32
and 32 there. Rates inside the devices are divided by the bandwidth of all their memories, by data
sheets. From the host, what goes up counts as a share of the bus: 24 GB/s there, 63 for each
device here. These rows do not count:
"""
HEADS = ["figure", "of", "paper", "here", "devices", "paper, basis", "here, basis", "ratio",
         "at or above"]


def last_of(records, parts, what):
    """The best row of this operation with unique keys and the most devices, of the last commit that
    has some."""
    rows = [row for row in records if "stage" not in row and not row["virtual"]
            and report_multi.part_of(row) in parts and row["what"] == what and row["members"] > 1
            and row["shift"] == 0 and row.get("keys", "unique") == "unique"]
    rows = [row for row in rows if row["commit"] == rows[-1]["commit"]]
    most = max((row["members"] for row in rows), default=0)
    return max((row for row in rows if row["members"] == most), default=None,
               key=lambda row: row["per_s"])


def line(figure, of, theirs, row, ours, bases):
    """bases: the figures that are compared, as texts and as numbers."""
    (paper_text, paper), (here_text, here) = bases
    reached = here >= paper
    value = f"{here / paper:.2f}"
    cells = [figure, of, theirs, ours, f"{row['members']} x {row['gpu']}", paper_text, here_text,
             value if reached else f"**{value}**", "yes" if reached else "**no**"]
    return f"| {' | '.join(cells)} |"


def inside(records, what, theirs):
    row = last_of(records, ("scaling", "capacity"), what)
    if row is None:
        return []
    paper = theirs * 1e3 / PAPER_MEMORY
    here = row["per_s"] * 1e-6 / (row["members"] * device_of(row).bandwidth)
    return [line("9, 10", what, f"{theirs} G/s", row, f"{row['per_s'] * 1e-9:.1f} G/s",
                 [(f"{paper:.2f} M/s per GB/s", paper), (f"{here:.2f} M/s per GB/s", here)])]


def from_host(records, what, theirs, share, nbytes):
    row = last_of(records, ("host", "host-capacity"), f"host {what}")
    if row is None:
        return []
    here = row["per_s"] * 1e-9 * nbytes / (row["members"] * BUS)
    return [line("10", f"{what}, keys on the host", f"{theirs} G/s", row,
                 f"{row['per_s'] * 1e-9:.1f} G/s",
                 [(f"{share:.0%} of the bus", share), (f"{here:.0%} of the bus", here)])]


def overlap(records, what, theirs):
    """What overlapping batches save of the time."""
    best = last_of(records, ("host",), f"host {what}")
    if best is None:
        return []
    alone = [row for row in records if "in_flight" in row and row["in_flight"] == 1
             and all(row[name] == best[name]
                     for name in ("what", "members", "n", "keys", "commit"))]
    if not alone or best["in_flight"] == 1:
        return []
    here = 1 - best["median_ms"] / alone[-1]["median_ms"]
    return [line("11", f"{what}, what overlapping saves", f"{theirs:.0%}", best, f"{here:.0%}",
                 [("the same", theirs), ("the same", here)])]


def all_to_all(records):
    row = last_of(records, ("links",), "exchange")
    if row is None:
        return []
    here = row["per_s"] * 1e-9
    return [line("text", "all-to-all between the devices", "192 GB/s", row, f"{here:.0f} GB/s",
                 [("the same", 192), ("the same", here)])]


def table(records):
    rows = [*inside(records, "insert", 7), *inside(records, "retrieve", 9),
            *from_host(records, "insert", 2.7, 0.84, PAIR_NBYTES),
            *from_host(records, "retrieve", 2, 0.55, KEY_NBYTES),
            *overlap(records, "insert", 0.36), *overlap(records, "retrieve", 0.45),
            *all_to_all(records)]
    if not rows:
        return []
    return [TITLE, f"| {' | '.join(HEADS)} |", "|---|---|---:|---:|---|---:|---:|---:|---|", *rows,
            ""]
