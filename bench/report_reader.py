"""The readers of FASTQ and FASTA, by bench/gpu_reader.py: their section of
docs/dev/measurements.md."""
from report_text import machine_line, median, of_each
from report_prose import READER

STAGES = ("inflate", "parse", "bus", "text", "BGZF")
READERS = ("host", "device")


def split(record):
    """A line of bench_gpu_inflate, whose stages are named "STAGE: FILE"."""
    stage, file = record["stage"].split(": ", 1)
    return {**record, "stage": stage, "file": file}


def stage_cells(stages, with_nvcomp):
    rates = [stages[stage]["g_per_s"] if stage in stages else None for stage in STAGES]
    cells = ["" if rate is None else f"{rate:.1f}" for rate in rates]
    share = rates[3] / rates[2] if rates[2] and rates[3] else None
    cells.insert(4, f"{100 * share:.0f}%" if share else "")
    if with_nvcomp:
        cells.insert(1, f"{stages['nvcomp']['g_per_s']:.1f}" if "nvcomp" in stages else "")
    packed = stages.get("BGZF")
    return [*cells, f"{packed['gb_per_s']:.1f}" if packed else ""]


def stage_lines(records):
    """A row for each file, from the last run of each stage."""
    lines = []
    for (gpu,), mine in of_each(map(split, records), "gpu").items():
        with_nvcomp = any(row["stage"] == "nvcomp" for row in mine)
        lines += [f"### {gpu}: stages of the device's reader", "",
                  f"| file | inflate |{' nvCOMP |' if with_nvcomp else ''} parse and pack "
                  "| the bus | text streamed | of the bus | BGZF streamed "
                  "| its GB/s over the bus | runs | commit |",
                  "|---|" + "---:|" * (8 + with_nvcomp) + "---|"]
        for (file,), rows in of_each(mine, "file").items():
            stages = {row["stage"]: row for row in rows}
            cells = [file, *stage_cells(stages, with_nvcomp), str(len(rows[-1]["ms"])),
                     rows[-1]["commit"]]
            lines.append(f"| {' | '.join(cells)} |")
        lines += ["", machine_line(mine, with_commit=False), ""]
    return lines


def row(cores, runs):
    """The readers beside each other, both from the commit that was measured last."""
    cells, walls = [], {}
    for reader in READERS:
        mine = [record for record in runs if record["reader"] == reader]
        if mine:
            walls[reader] = median(mine, "wall")
        cells.append([f"{walls[reader]:.2f}", f"{median(mine, 'user', 'system'):.1f}"] if mine
                     else ["", ""])
    (host, host_cpu), (device, device_cpu) = cells
    ratio = f"{walls['host'] / walls['device']:.2f}" if len(walls) == 2 else ""
    turns = len({record["turn"] for record in runs})
    return f"| {cores} | {host} | {device} | {ratio} | {host_cpu} | {device_cpu} | {turns} " \
           f"| {runs[-1]['commit']} |"


def count_lines(records):
    """A table for each file and setting, with a row for each number of cores."""
    lines = []
    of_cpu = [{**record, "cpu": record["machine"]["cpu"], "gpu": record["machine"].get("gpu", "")}
              for record in records]
    for (_, _, file, k, least), mine in of_each(of_cpu, "cpu", "gpu", "file", "k", "min").items():
        about = mine[-1]["summary"]
        lines += [f"### {file}, {about['bases'] * 1e-9:.2f} Gbases: counted on a few cores, "
                  f"k = {k}, --min {least}", "",
                  "| cores | host's reader, s | device's, s | ratio "
                  "| CPU s, host's | CPU s, device's | runs | commit |", "|" + "---:|" * 7 + "---|"]
        for (cores,), runs in sorted(of_each(mine, "cores").items()):
            lines.append(row(cores, [run for run in runs if run["commit"] == runs[-1]["commit"]]))
        lines += ["", machine_line(mine, with_commit=False), ""]
    return lines


def section(records):
    if not records:
        return []
    stages = [record for record in records if "stage" in record]
    counts = [record for record in records if "cores" in record]
    return [READER, *stage_lines(stages), *count_lines(counts)]
