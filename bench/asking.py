#!/usr/bin/env python3
"""
Time the programs that work with a table of counts: kcount filter, profile and query, which look up
the k-mers of reads, on the cores and on a device, beside reading alone, kmc_tools filter and
jellyfish query; kcount report of the reads, beside kcount count; and kcount compare.

    bench/asking.py reads.fq --about '5.1 Gbases' [--database genome.fq] [--threads 16]
                    [--programs 'filter cuda,filter']
    bench/asking.py reads.fq --about '5.1 Gbases of a genome of 128 Mbases' --assembly genome.fa
                    --other more.fq --programs 'count cuda,report cuda,compare cuda,compare'

The tables are made first, from the reads or from --database, and for compare another one from
--other; that is not timed. The programs take turns. Those that are not on the PATH are left out,
and so is what needs a device without one, or a file that is not given. Each run is a line in
bench/results/asking.jsonl; bench/report.py makes tables of them, which show only the last commit of
each --about. Put all files and --work in a RAM disk.
"""
import argparse
import datetime
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from compare import ROOT, add_no_record, commit, gpu, machine, open_log, timed

# name: (what it does, program, command)
PROGRAMS = {
    "reading": ("reading alone", "kcount",
                "kcount count {reads} -k {k} -t {threads} --reader host --reader-only --quiet"),
    **{f"filter{name}": (f"a line a read{words}", "kcount",
                         "kcount filter asked.kc {reads} --table /dev/null " + how)
       for name, words, how in (
           (" cuda", "", "--device cuda:0"), ("", "", "--device cpu"),
           (" slab", ", slab hash", "--device cuda:0 --map slab"),
           (" linear", ", linear probing", "--device cuda:0 --map linear"),
           (" lsm", ", LSM", "--device cuda:0 --map lsm"),
           (" two", ", two devices", "--device cuda:0,1"))},
    "total cuda": ("one line for all reads", "kcount",
                   "kcount profile asked.kc {reads} --total --device cuda:0"),
    "total two": ("one line for all reads, two devices", "kcount",
                  "kcount profile asked.kc {reads} --total --device cuda:0,1"),
    "total": ("one line for all reads", "kcount",
              "kcount profile asked.kc {reads} --total --device cpu"),
    "kept": ("the reads that pass", "kcount",
             "kcount filter asked.kc {reads} -o out.fq --device cpu"),
    "kmc_tools": ("the reads that pass", "kmc_tools",
                  "kmc_tools -t{threads} -hp filter asked {reads} -ci1 out.fq"),
    "query": ("a line a k-mer", "kcount",
              "kcount query asked.kc -f {reads} --device cpu > /dev/null"),
    "jellyfish": ("a line a k-mer", "jellyfish",
                  "jellyfish query -s {reads} asked.jf > /dev/null"),
    **{name + on: (what, "kcount", f"kcount {command} --device {device}")
       for name, what, command in (
           ("count", "`count`", "count {reads} -k {k} --tmp tmp -o out.kc"),
           ("report", "`report`, counting included", "report {reads} -k {k} --tmp tmp -o out.html"),
           ("report assembly", "`report --assembly`, counting included",
            "report {reads} --assembly assembly -k {k} --tmp tmp -o out.html"),
           ("compare", "`compare` with another table",
            "compare asked.kc other.kc -t {threads} --quiet -o out.tsv"))
       for on, device in ((" cuda", "cuda:0"), ("", "cpu"))},
}
OF_KCOUNT = " -t {threads} -m {memory}G --quiet"
DATABASES = {
    "kcount": "kcount count {database} -k {k} --min {min} -o {table}.kc --tmp tmp" + OF_KCOUNT,
    "kmc_tools": "kmc -hp -k{k} -t{threads} -m{memory} -ci{min} -cs4294967295 {database} "
                 "asked tmp",
    "jellyfish": "jellyfish count -m {k} -C -t {threads} -s {ndistinct} -L {min} -o asked.jf "
                 "{database}",
}


def line_of(name, values):
    """The command of a program; kcount's limits come before a redirection."""
    _, program, command = PROGRAMS[name]
    command, *rest = command.split(" >")
    if program == "kcount" and "-t {threads}" not in command:
        command += OF_KCOUNT
    return " >".join([command, *rest]).format(**values)


def wanted(arguments):
    """The programs that are here, and what they need, among those that were asked for."""
    missing = {word for word, there in (("cuda:0", gpu()), ("cuda:0,1", gpu()),
                                        ("assembly", arguments.assembly),
                                        ("other.kc", arguments.other)) if not there}
    for name in arguments.programs.split(",") if arguments.programs else PROGRAMS:
        _, program, command = PROGRAMS[name]
        if shutil.which(program) and not missing & set(command.split()):
            yield name


def prepare(programs, values, work):
    """Make the tables; returns how many k-mers kcount has counted for the first one."""
    counted = 0
    for program in dict.fromkeys(PROGRAMS[name][1] for name in programs):
        command = DATABASES[program].format(**values, ndistinct=max(counted * 5 // 4, 1_000_000))
        (work / "tmp").mkdir(exist_ok=True)
        subprocess.run(command, shell=True, cwd=work, check=True, stdout=subprocess.DEVNULL)
        if program == "kcount":
            said = subprocess.check_output(["kcount", "info", "--json", "asked.kc"], cwd=work)
            counted = json.loads(said)["distinct"]
    if any("other.kc" in PROGRAMS[name][2] for name in programs):
        other = {**values, "database": "other", "table": "other"}
        subprocess.run(DATABASES["kcount"].format(**other), shell=True, cwd=work, check=True)
    return counted


def measure(name, values, work):
    command = line_of(name, values)
    result, _, complained = timed(command, work)
    if result.pop("exit") != 0:
        sys.exit(f"{command}: {complained}")
    print(f"{name:20} {result['wall']:8.2f} s, CPU {result['user'] + result['system']:8.2f} s, "
          f"{result['peak_bytes'] / 2**30:.2f} GiB", flush=True)
    what, program, _ = PROGRAMS[name]
    return {"name": name, "what": what, "program": program, "command": command, **result}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reads", type=pathlib.Path)
    parser.add_argument("--database", type=pathlib.Path, help="reads to make the tables from")
    parser.add_argument("--assembly", type=pathlib.Path, help="FASTA for kcount report")
    parser.add_argument("--other", type=pathlib.Path,
                        help="reads to make the table from that compare compares")
    parser.add_argument("--about", required=True, help="what the reads are, for the page")
    parser.add_argument("--programs", help=f"some of {', '.join(PROGRAMS)} (default: all)")
    parser.add_argument("--k", type=int, default=31)
    parser.add_argument("--min", type=int, default=1, help="rarer k-mers are not in the tables")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--memory", type=int, default=12, help="gigabytes for each program")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--kcount", type=pathlib.Path, default=ROOT / "build" / "kcount")
    parser.add_argument("--results", type=pathlib.Path, default=ROOT / "bench" / "results")
    parser.add_argument("--work", type=pathlib.Path, help="folder for outputs (default: a new one)")
    parser.add_argument("--commit", help="of the program, where git does not know it")
    add_no_record(parser)
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    os.environ["PATH"] = f"{arguments.kcount.resolve().parent}:{os.environ['PATH']}"
    programs = list(wanted(arguments))
    common = {"label": "asking", "about": arguments.about, "k": arguments.k,
              "threads": arguments.threads, "memory_gb": arguments.memory, "machine": machine(),
              "commit": arguments.commit or commit(), "date": datetime.date.today().isoformat()}
    with tempfile.TemporaryDirectory(dir=arguments.work) as folder, \
            open_log(arguments.results / "asking.jsonl", arguments.record,
                     arguments.kcount) as log:
        work = pathlib.Path(folder)
        for name in "reads", "database", "assembly", "other":
            if getattr(arguments, name):
                (work / name).symlink_to(getattr(arguments, name).resolve())
        values = {"reads": "reads", "database": "database" if arguments.database else "reads",
                  "table": "asked",
                  "k": arguments.k, "min": arguments.min, "threads": arguments.threads,
                  "memory": arguments.memory}
        common["distinct"] = prepare(programs, values, work)
        common["reads_bytes"] = arguments.reads.stat().st_size
        for turn in range(arguments.repeat):
            for name in programs:
                record = {**measure(name, values, work), "turn": turn, **common}
                log.write(json.dumps(record) + "\n")
                log.flush()


if __name__ == "__main__":
    main()
