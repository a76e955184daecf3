"""Several processes, by bench/ranks.py: their section of docs/dev/measurements.md."""
import statistics

from report_text import machine_line, median, of_each

MODEL_BASES, MODEL_CORES, MODEL_NODES = 1e12, 32, (1, 2, 4, 8, 16, 32, 64)

RANKS = """\
## Several processes

By `bench/ranks.py`: medians of whole runs to a .kc file, wall time with MPI's start, on one
machine. The processes of a row have the same threads and the same bound on memory together, and
write the same file. *ratio* is the time over that of one process, and *start* what `mpirun` takes
to start the processes of a program that does nothing. Since b92d46ce, one process of a machine uses
all of these and the others wait; before, each counted a part. *a process* is the largest resident
set of any process, and *all* the sum of the largest of each.
"""

MODEL = """\
### A model of more machines

This is computed, not measured: {tbases:.0f} Tbases like the reads above, with --min 2, and one
process on each node of {cores} cores. Its numbers come from the runs above. Reading a Gbase takes
{core_seconds:.1f} core-seconds and counting it {count:.1f}. A base makes {bytes:.2f} bytes of
super-k-mers, of which a process sends {pump:.2f} GB/s, in one thread, while it receives as much; a
network is faster. A base makes {parts:.2f} bytes of output, and rank 0, which writes all of it,
receives {write:.2f} GB/s of it. Reading and the exchange overlap. Rates of disks are left out.
"""


def rows(runs):
    """A row for each number of processes, from the commit that was measured last."""
    last = [run for run in runs if run["commit"] == runs[-1]["commit"]]
    groups = sorted(of_each(last, "ranks").items())
    alone = dict(groups).get((1,))
    for (ranks,), mine in groups:
        wall = median(mine, "wall")
        ratio = f"{wall / median(alone, 'wall'):.2f}" if alone else ""
        peaks = [median(mine, field) / 2**30 for field in ("peak_bytes", "all_peaks_bytes")]
        start = f"{median(mine, 'start'):.2f}" if all("start" in run for run in mine) else ""
        yield f"| {ranks} | {mine[-1]['threads'] // ranks} | {wall:.2f} | {ratio} | {start} " \
              f"| {median(mine, 'user', 'system'):.1f} | {peaks[0]:.2f} | {peaks[1]:.2f} " \
              f"| {len(mine)} | {mine[-1]['commit']} |"


def seconds(runs, stage):
    return statistics.median(run["summary"]["seconds"][stage] for run in runs)


def rates(frequent, everything):
    """What the model needs, from runs with --min 2 (frequent) and --min 1 of one file:
    {processes: runs} each, the smallest number first.

    Rank 0 sends super-k-mers and counted k-mers. The latter are taken to be in proportion to the
    output, so two values of --min tell the two apart. Besides the same from the others, rank 0
    receives the encoded parts of the run.
    """
    alone, two, most = frequent[1], frequent[2], frequent[max(frequent)]
    bases, threads = alone[-1]["summary"]["bases"], alone[-1]["threads"]

    def of_rank_0(runs):
        return runs[-1]["summary"]["ranks"][0]

    kept, all_kept = (runs[-1]["output_bytes"] for runs in (two, everything[2]))
    sent, all_sent = (of_rank_0(runs)["sent_bytes"] for runs in (two, everything[2]))
    superkmers = sent - kept * (all_sent - sent) / (all_kept - kept)
    last = of_rank_0(most)
    return {"read": seconds(alone, "partition") * threads / bases,
            "count": seconds(alone, "count") * threads / bases,
            "bytes": 4 * superkmers / bases, # a quarter of all goes from rank 0 to rank 1
            "pump": superkmers / seconds(two, "partition"),
            "parts": alone[-1]["output_bytes"] / bases,
            "write": (last["received_bytes"] - last["sent_bytes"]) / seconds(most, "order")}


def times(rate, nodes):
    """Seconds of the stages with a process on each of these nodes."""
    others = (nodes - 1) / nodes
    read = MODEL_BASES * rate["read"] / nodes / MODEL_CORES
    exchange = MODEL_BASES * rate["bytes"] * others / nodes / rate["pump"]
    count = MODEL_BASES * rate["count"] / nodes / MODEL_CORES
    return read, exchange, count, MODEL_BASES * rate["parts"] * others / rate["write"]


def model_runs(gathered):
    """From the last commit that has what the model needs: its runs with --min 2 and --min 1."""
    for commit in dict.fromkeys(run["commit"] for run in reversed(gathered)):
        mine = [run for run in gathered if run["commit"] == commit]
        for (_, _), runs in of_each(mine, "file", "threads").items():
            by_min = {least: {ranks: few for (ranks,), few in of_each(all_of, "ranks").items()}
                      for (least,), all_of in of_each(runs, "min").items()}
            if {1, 2} <= by_min.keys() and {1, 2} <= by_min[2].keys() and 2 in by_min[1]:
                return by_min[2], by_min[1]
    return None


def model_lines(records):
    """The model, from runs in which each process counted a part."""
    found = model_runs([run for run in records
                        if run.get("device", "cpu") == "cpu"
                        and (run["ranks"] == 1 or "ranks" in run["summary"])])
    if found is None:
        return []
    rate = rates(*found)
    lines = [MODEL.format(core_seconds=1e9 * rate["read"], count=1e9 * rate["count"],
                          cores=MODEL_CORES, tbases=MODEL_BASES / 1e12, **{
                              name: rate[name] for name in ("bytes", "parts")},
                          pump=rate["pump"] / 1e9, write=rate["write"] / 1e9),
             "| nodes | read s | exchange s | count s | write s | all s |", "|" + "---:|" * 6]
    for nodes in MODEL_NODES:
        read, exchange, count, write = times(rate, nodes)
        total = max(read, exchange) + count + write
        lines.append(f"| {nodes} | {read:.0f} | {exchange:.0f} | {count:.0f} | {write:.0f} "
                     f"| {total:.0f} |")
    return [*lines, ""]


def section(records):
    if not records:
        return []
    lines = [RANKS]
    of_cpu = [{"device": "cpu", "note": "", **record, "cpu": record["machine"]["cpu"]}
              for record in records]
    for (_, threads, file, k, least, device, note), runs in of_each(
            of_cpu, "cpu", "threads", "file", "k", "min", "device", "note").items():
        bases = runs[-1]["summary"]["bases"]
        lines += [f"### {file}, {bases * 1e-9:.2f} Gbases: {threads} threads, k = {k}, "
                  f"--min {least}{', --device ' + device if device != 'cpu' else ''}"
                  f"{', ' + note if note else ''}", "",
                  "| processes | threads of each | wall s | ratio | start s | CPU s "
                  "| a process GiB | all GiB | runs | commit |",
                  "|" + "---:|" * 9 + "---|", *rows(runs), "",
                  machine_line(runs, with_commit=False), ""]
    return lines + model_lines(records)
