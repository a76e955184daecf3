"""
The basis on which a row of bench/results/tables.jsonl is compared: the bandwidth of the device's
memory, measured and by its data sheet, the data that its operations touch compared with the size of
the L2, and its number of runs.
"""
import collections
import re
import statistics

MIB = 2**20

# The bandwidth of the memory in GB/s, by data sheet, and the size of the L2 in bytes.
Device = collections.namedtuple("Device", "bandwidth l2")
DEVICES = {"NVIDIA H200": Device(4800, 60 * MIB),
           "NVIDIA H100 80GB HBM3": Device(3350, 50 * MIB)}

# Bytes of a slot of WarpDrive's layouts, and of the key and the value that it stands for.
Layout = collections.namedtuple("Layout", "slot payload")
LAYOUTS = {"32 + 32 bits": Layout(8, 8), "16-byte slots": Layout(16, 12),
           "keys and values apart": Layout(12, 12), "remainder and count": Layout(8, 12)}

SLAB_NBYTES = 128
# super blocks * memory blocks * slabs, in bits (bench/tables/slab.cu)
SLAB_BITMAPS = 32 * 256 * 1024 / 8
LSM_ELEMENT = 8 + 4 / 7                     # word and value; fences are 1/7 of the words
LSM_INSERTED, LSM_ASKED = 2**27, 2**24      # final elements (bench/tables/lsm.cu)
MIXED_SLOTS = 2**17                         # for 100 000 operations (bench/tables/hopscotch.cu)


def device_of(record):
    if record["gpu"] not in DEVICES:
        raise SystemExit(
            f"bench/report_basis.py: enter the data sheet of {record['gpu']} in DEVICES")
    return DEVICES[record["gpu"]]


# ---- operations per second for each GB/s ----

def by_copy(record):
    """Our rate for each GB/s of a copy measured in the same run."""
    return record["ops_per_GB"]


def by_sheet(record):
    return record["ops_per_s"] / device_of(record).bandwidth


def ratio_by_copy(record):
    """Our rate by a measured copy over the paper's by its data sheet, which flatters ours."""
    return by_copy(record) / record["paper_ops_per_GB"]


def ratio(record):
    """Our rate over the paper's, both by data sheets."""
    return by_sheet(record) / record["paper_ops_per_GB"]


# ---- memory ----

def slab_bytes(record):
    figure = record["figure"]
    if "lists" in record:
        return record["lists"] * record["mean_slabs"] * SLAB_NBYTES
    if figure == "V: slabs taken":
        return SLAB_BITMAPS
    if figure == "7a: mixed":  # 3n pairs before the n operations
        return 3 * record["n"] * 8 / record["x"]
    return None


def lsm_bytes(record):
    """An insertion moves from one batch up to all levels; queries search from 1 to all batches."""
    figure = record["figure"]
    batch = 2**record["x"] * LSM_ELEMENT if record.get("x_name") == "log2 b" else 0
    if figure == "II: insertion":
        return 2 * batch, 2 * LSM_INSERTED * LSM_ELEMENT
    if figure.startswith(("III:", "IV:")):
        return batch, LSM_ASKED * LSM_ELEMENT
    return record["n"] * LSM_ELEMENT if figure.startswith("V-") else None


def linear_bytes(record):
    if record["figure"].startswith("utilization"):
        return 32 * record["n"] * 8
    keys = record["n"] * (2 if record["figure"].endswith("delete") else 1)
    return keys / record["x"] * (16 if "64 bits" in record["figure"] else 8)


def hopscotch_bytes(record):
    figure, n = record["figure"], record.get("n", 0)
    if figure.startswith(("11:", "12:")):
        return MIXED_SLOTS * 8
    return (2 * n if figure.startswith("many") else n * 1.25) * 8


def warpdrive_bytes(record):
    layout = LAYOUTS.get(record.get("layout"))
    return record["slots"] * layout.slot if layout else None


BYTES = {"warpdrive": warpdrive_bytes, "slab": slab_bytes, "lsm": lsm_bytes,
         "linear": linear_bytes, "hopscotch": hopscotch_bytes}


def data_bytes(record):
    """(least, most) bytes that the timed operations can touch, except input and output; or None."""
    if "data_bytes" in record:
        return record["data_bytes"]
    found = BYTES[record["paper"]](record) if record["paper"] in BYTES else None
    return found if isinstance(found, tuple) or not found else (found, found)


def cached(record):
    """Whether these fit in the L2: "yes", "part" (at some of the sizes averaged), or "no"."""
    found = data_bytes(record)
    if found is None:
        return "no"
    least, most = (nbytes <= device_of(record).l2 for nbytes in found)
    return "yes" if most else "part" if least else "no"


def data_text(record):
    """The data in MiB, with a mark if they fit in the L2."""
    found = data_bytes(record)
    if found is None:
        return ""
    text = " to ".join(f"{nbytes / MIB:.3g}" if nbytes < 1000 * MIB else f"{nbytes / MIB:.0f}"
                       for nbytes in sorted(set(found)))
    return text + {"yes": " (L2)", "part": " (part L2)", "no": ""}[cached(record)]


def bytes_a_key(record):
    return LAYOUTS[record["layout"]].slot / record["x"]


def memory_in_use(record):
    """What the keys and values would take as plain arrays, as a share of the map's memory."""
    return LAYOUTS[record["layout"]].payload / bytes_a_key(record)


# ---- runs ----

def runs_text(record):
    """The number of runs of which a rate is the median."""
    if record["paper"] == "lsm" and record["figure"].startswith(("III:", "IV:")):
        return "1 a size"
    if record["paper"] == "lsm" and record["figure"].startswith("II:"):
        asked = re.search(r"-n (\d+)", record.get("command", ""))
        return f"{asked.group(1)} a size" if asked else ""
    return str(len(record["ms"])) if "ms" in record else ""


def over(records):
    """The (least, most) bytes of several rows."""
    found = [data_bytes(record) for record in records]
    return None if None in found else (
        min(least for least, _ in found), max(most for _, most in found))


def harmonic_mean(records, field):
    return statistics.harmonic_mean([record[field] for record in records])
