"""Inflating one gzip file: its part of docs/dev/measurements.md, by bench/compare_gunzip.py."""
from report_text import machine_line, median, of_each
from report_prose import GUNZIP


def runs_of(records):
    """Runs for each number of threads."""
    numbers = sorted({len(runs) for runs in of_each(records, "threads").values()})
    return f"{numbers[0]}" if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}"


def file_table(records):
    """A row for each way, a column for each number of threads."""
    text = max(record.get("text_bytes", 0) for record in records)
    packed = records[0]["packed_bytes"]
    counts = sorted({record["threads"] for record in records})
    single = [record for record in records if record["way"] == "isa-l"]
    lines = [f"{records[0]['file']}: {text * 1e-9:.2f} GB of text, packed "
             f"{text / packed:.1f} to 1.",
             "", "| way | " + " | ".join(f"{threads} thread{'s' * (threads > 1)}"
                                         for threads in counts)
             + " | best over isa-l | CPU s | memory MiB | runs |",
             "|---|" + "---:|" * (len(counts) + 4)]
    for (way,), mine in of_each(records, "way").items():
        walls = {threads: median(runs, "wall")
                 for (threads,), runs in of_each(mine, "threads").items()}
        rates = [f"{text / walls[threads] * 1e-9:.2f}" if threads in walls else ""
                 for threads in counts]
        best = min(walls, key=walls.get)
        runs = [record for record in mine if record["threads"] == best]
        ratio = f"{median(single, 'wall') / walls[best]:.1f}" if single else ""
        lines.append(f"| {way} | {' | '.join(rates)} | {ratio} "
                     f"| {median(runs, 'user', 'system'):.1f} "
                     f"| {median(runs, 'peak_bytes') / 2**20:.0f} | {runs_of(mine)} |")
    return lines


def section(records):
    if not records:
        return []
    lines = [GUNZIP]
    for _, mine in of_each(records, "label", "file").items():
        lines += [*file_table(mine), "", machine_line(mine), ""]
    return lines
