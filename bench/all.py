#!/usr/bin/env python3
"""
Measure what docs/benchmarks.md shows, in the order of bench/plan.py.

    bench/all.py --machine 2-cores --folder /var/tmp/bench
    bench/all.py --machine 1-gpu --folder /mnt/bench --minutes 9 --results OUT --commit abc \\
                 --build build
    bench/all.py --take OUT/1-gpu.jsonl

Reads and other files are made in --folder when they are needed, and removed when nothing that is
left to do needs them. The human genome needs 85 GB there, and 180 GB on 2-gpus, best in a RAM disk
(as root: mount -t tmpfs -o size=100G none /mnt/bench). Programs take turns. Each run becomes a line
in RESULTS/NAME.jsonl at once, so a call continues where the last one ended: it skips what is there
or in bench/results for this commit and machine, and what would take longer than is left of
--minutes. A run is repeated until there are 5, or 3 of 20 s or more. Other programs are measured
again beside each commit. Between calls the results may change, but not the commit: once they are
committed, use --commit to name the one that was built, as you must where there is no git.

--take adds lines from another machine to bench/results, and moves the lines of earlier commits that
they replace to bench/results/archive. bench/report.py then makes the page; with --missing, it lists
what is not measured yet. --scale is for trials, which the page does not show.
"""
import argparse
import collections
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import time

import plan
from report_text import base_of, machine_text, outdated, state
from runs import RESULTS, ROOT, commit, load_lines, machine, open_log, today
from watch import watched

LONG, FEW, MANY = 20, 3, 5
SAID = re.compile(r"No\. of unique counted k-mers *: *(\d+)")
KEPT = ("bases", "seconds", "spilled_bytes", "device_peak_memory_bytes")


def version(name):
    """The version of another program: what the file EXECUTABLE.version beside it or the program
    itself says, or else the size of its file; nothing if the program is not here."""
    program = plan.PROGRAMS[name]
    path = shutil.which(program.executable)
    if not path:
        return ""
    note = pathlib.Path(f"{path}.version")
    if note.exists():
        return note.read_text().strip()
    words = program.version.format(executable=program.executable)
    done = subprocess.run(words or "true", shell=True, capture_output=True, text=True)
    found = re.search(r"\d+(\.\d+)+\S*", done.stdout + done.stderr)
    return found.group() if found else f"of {os.path.getsize(path)} bytes"


class Bench:
    """The runs of one call, and what is known from earlier ones."""

    def __init__(self, arguments, log):
        self.arguments, self.log = arguments, log
        self.kind, self.scale = arguments.machine, arguments.scale
        self.folder = arguments.folder.resolve() if arguments.folder else None
        self.cores = len(os.sched_getaffinity(0)) if self.scale != 1 else 1 << 20  # trials: fewer
        self.deadline = time.monotonic() + 60 * arguments.minutes
        self.about = {"commit": commit(), "machine": machine(), "date": today()}
        self.versions, self.failed = {}, set()
        self.rows = collections.defaultdict(list)
        for folder in dict.fromkeys((RESULTS, arguments.results)):
            for row in load_lines(folder / f"{self.kind}.jsonl"):
                self.remember(row)
                if arguments.dry_run and row["commit"] == self.about["commit"]:
                    self.about["machine"] = row["machine"]  # the plan may be made elsewhere

    # ---- what is left ----

    def remember(self, row):
        known = self.rows[base_of(row), state(row), machine_text(row)]
        if all((row["run"], row["wall"]) != (other["run"], other["wall"]) for other in known):
            known.append(row)

    def here(self, name, task):
        """Whether a program can run: it and its device are there."""
        if task.script or self.arguments.dry_run:
            return True
        return shutil.which(plan.PROGRAMS[name].executable) and \
            (name not in plan.ON_DEVICE or "gpu" in self.about["machine"])

    def common(self, name, task):
        """What the rows of a program have in common."""
        executable = plan.PROGRAMS[name].executable
        if executable != "kcount" and name not in self.versions:
            self.versions[name] = version(name)
        return {**plan.setting(self.kind, task, self.scale, self.cores), "program": name,
                "executable": executable, "version": self.versions.get(name, ""), **self.about}

    def done(self, name, task):
        """The rows that there are."""
        about = self.common(name, task)
        return self.rows[base_of(about), state(about), machine_text(about)]

    def left(self, name, task):
        """How many runs are left to do."""
        if task.script:
            return 0 if (name, task.script) in self.failed or self.script_done(task) else 1
        if not self.here(name, task):
            return 0
        done = self.done(name, task)
        if any(row["status"] != "done" for row in done):
            return 0
        short = not done or statistics.median(row["wall"] for row in done) < LONG
        return max((MANY if short else FEW) - len(done), 0)

    def script_done(self, task):
        """Whether a script's lines, recognized by its options, are there."""
        words, result, _ = task.script
        ours = (self.about["commit"], machine_text(self.about), words)
        return any((row["commit"], machine_text(row), row.get("script")) == ours
                   for folder in (RESULTS, self.arguments.results)
                   for row in load_lines(folder / f"scripts-{self.kind}.jsonl"))

    def estimate(self, name, task):
        """Seconds of one run."""
        done = [] if task.script else self.done(name, task)
        return done[-1]["wall"] if done else plan.seconds(name, self.kind, task, self.scale)

    def fits(self, seconds):
        return time.monotonic() + seconds < self.deadline

    def planned(self):
        return plan.tasks_of(self.kind, self.arguments.sections)

    def tasks(self):
        """The tasks that have runs left: [(task, its programs)]."""
        tasks = [(task, [name for name in task.programs if self.left(name, task)])
                 for task in self.planned()]
        return [(task, names) for task, names in tasks if names]

    # ---- files ----

    def clear(self):
        shutil.rmtree(self.folder / "run", ignore_errors=True)
        (self.folder / "run").mkdir(parents=True)
        if self.arguments.tmp:
            shutil.rmtree(self.arguments.tmp / "tmp", ignore_errors=True)
            (self.arguments.tmp / "tmp").mkdir(parents=True)
            (self.folder / "run" / "tmp").symlink_to(self.arguments.tmp.resolve() / "tmp")
        else:
            (self.folder / "run" / "tmp").mkdir()

    def how(self, file, task):
        """How a file is made; what kcount makes is made anew for another commit."""
        words = plan.how_made(file, self.kind, task, self.scale, self.cores)
        return words, words + f" # {self.about['commit']}" * words.startswith("kcount")

    def missing(self, name, task):
        """The files that a program needs, but that are not there, or were made in another way."""
        def there(file):
            note = self.folder / f"{file}.how"
            return (self.folder / file).exists() and note.exists() \
                and note.read_text() == self.how(file, task)[1]

        return [file for file in plan.files_for(name, task) if not there(file)]

    def make(self, name, task):
        """Make the files that a program needs. Returns whether all are there."""
        for file in self.missing(name, task):
            words, note = self.how(file, task)
            if not self.fits(plan.seconds_to_make(file, self.kind, task, self.scale)):
                return False
            if plan.room(file, task, self.kind, self.scale) > shutil.disk_usage(self.folder).free:
                print(f"no room for {file}", file=sys.stderr)
                return False
            print(f"making {file}", flush=True)
            self.clear()
            made = subprocess.run(["bash", "-o", "pipefail", "-c", words], text=True,
                                  cwd=self.folder / "run", stdout=subprocess.DEVNULL,
                                  stderr=subprocess.PIPE)
            if made.returncode != 0:
                print(f"{words}: {made.stderr.strip()[-300:]}", file=sys.stderr)
                return False
            for path in (self.folder / "run").glob("out.*"):
                path.rename(self.folder / f"{task.reads}{path.name.removeprefix('out')}")
            (self.folder / f"{file}.how").write_text(note)
        return True

    def tidy(self):
        """Remove what nothing needs any more."""
        needed = {file for task, names in self.tasks() for name in names
                  for file in plan.files_for(name, task)}
        for path in self.folder.iterdir():
            name = path.name.replace("kmc_suf", "kmc_pre").removesuffix(".fai").removesuffix(".how")
            if path.is_file() and name.split(".")[0] in plan.READS and name not in needed:
                path.unlink()

    # ---- runs ----

    def details(self, name, said):
        """What a program reports about its work."""
        if name in plan.COUNTERS and plan.PROGRAMS[name].executable == "kcount":
            summary = json.loads(said)
            kept = summary["distinct"] - summary.get("dropped_distinct", 0)
            return {"kept": kept, **{key: summary[key] for key in KEPT if key in summary}}
        found = SAID.search(said)
        return {"kept": int(found.group(1))} if found else {}

    def check(self, row):
        """All programs must find the same number of k-mers."""
        same = ("reads", "k", "min", "simulate")
        for rows in self.rows.values():
            for other in rows:
                if "kept" in row and all(row[key] == other[key] for key in same) \
                        and other.get("kept", row["kept"]) != row["kept"]:
                    sys.exit(f"{row['command']}: {row['kept']} k-mers, not {other['kept']}")

    def measure(self, name, task):
        """One run. Returns whether there was time for it."""
        needed = 1.2 * self.estimate(name, task)
        if not self.fits(needed) or not self.make(name, task) or not self.fits(needed):
            return False
        return self.run_script(name, task) if task.script else self.run_program(name, task)

    def run_program(self, name, task):
        """One run becomes a line, unless the time or the room in the folder runs out first."""
        words = plan.command(name, self.kind, task, self.scale, self.cores)
        self.clear()
        if self.scale == 1:
            os.sync()
        work = self.folder / "run"
        limit = min(self.arguments.limit, self.deadline - time.monotonic() + 30)
        result, said, complained = watched(words.split(" | "), work, work / "tmp", limit)
        if result["status"] == "timed out" and limit < self.arguments.limit:
            return False
        if result["status"] != "done" and "No space left" in complained:
            print(f"{words}: {complained.strip()[-300:]}", file=sys.stderr)
            return False
        row = {**self.common(name, task), "run": len(self.done(name, task)), "command": words,
               **result, "output_bytes": sum(
                   path.stat().st_size for path in work.rglob("*")
                   if path.is_file() and path.name not in ("stdout", "stderr")),
               "input_bytes": (self.folder / plan.file_of(task.reads)).stat().st_size,
               "bases": plan.sizes(self.kind, task.reads, self.scale)[2]}
        if row["status"] == "done":
            row.update(self.details(name, said))
            self.check(row)
        else:
            row["message"] = complained.strip()[-300:]
        self.remember(row)
        self.keep(row, self.log)
        print(f"{task.section:8} {task.reads:12} {name:16} k={task.k} run {row['run']}: "
              f"{row['status']}, {row['wall']:.2f} s, {row['peak_bytes'] / 2**30:.2f} GiB "
              f"{row.get('message', '')}", flush=True)
        return True

    def run_script(self, name, task):
        """Run a script that keeps lines of its own; another line says that it has run."""
        words, _, _ = task.script
        words = words.format(build=self.arguments.build, results=self.arguments.results.resolve(),
                             folder=self.folder)
        print(words, flush=True)
        self.failed.add((name, task.script))  # one attempt a call
        if subprocess.run([sys.executable, *f"{ROOT}/bench/{words}".split()]).returncode != 0:
            return False
        with open(self.arguments.results / f"scripts-{self.kind}.jsonl", "a") as log:
            self.keep({"script": task.script[0], **self.about}, log)
        return True

    def keep(self, row, log):
        log.write(json.dumps(row) + "\n")
        log.flush()

    def run(self):
        for task, names in self.tasks():
            while names := [name for name in names if self.left(name, task)
                            and self.measure(name, task)]:
                pass
            self.tidy()
        shutil.rmtree(self.folder / "run", ignore_errors=True)
        left = self.minutes_left()
        print(f"{left:.0f} minutes are left" if left else "all is measured")

    # ---- what would run ----

    def seconds_left(self, task, names, made):
        """Of a task; made: the files that are there by then."""
        files = [file for name in names for file in plan.files_for(name, task)
                 if not (file in made or made.add(file))]
        runs = sum(self.estimate(name, task) * min(
            FEW if self.estimate(name, task) >= LONG else MANY, self.left(name, task))
            for name in names)
        return runs + sum(plan.seconds_to_make(file, self.kind, task, self.scale)
                          for file in files)

    def minutes_left(self, show=lambda *_: None):
        made, total = set(), 0
        for task, names in self.tasks():
            seconds = self.seconds_left(task, names, made)
            total += seconds
            show(task, names, seconds / 60)
        return total / 60

    def dry_run(self):
        def show(task, names, minutes):
            more = ", ".join(filter(None, (
                f"k = {task.k}" if task.k != 31 else "",
                f"{task.threads} threads" if task.threads else "",
                f"-m {task.memory}" if task.memory else "")))
            print(f"{minutes:6.1f}  {task.section:8} {task.reads:12} {', '.join(names)}"
                  f"{' (' + more + ')' if more else ''}")

        print("minutes  what")
        print(f"{self.minutes_left(show):6.1f}  in all")
        programs = {plan.PROGRAMS[name].executable for task in self.planned() for name in
                    task.programs if not task.script}
        gone = sorted(program for program in programs if not shutil.which(program))
        if gone:
            print(f"Not on the PATH: {', '.join(gone)}")


def settle(path):
    """Move lines to the archive if newer lines of their table replace them. Returns how many."""
    rows = load_lines(path)
    gone = outdated(rows)
    if gone:
        archive = path.parent / "archive"
        archive.mkdir(exist_ok=True)
        with open(archive / path.name, "a") as log:
            log.writelines(json.dumps(row) + "\n" for row in gone)
        path.write_text("".join(json.dumps(row) + "\n" for row in rows if row not in gone))
    return len(gone)


def take(path, results):
    """Add a file's lines to those of the results."""
    old, new = load_lines(results / path.name), load_lines(path)
    new = [row for row in new if row not in old]
    with open(results / path.name, "a") as log:
        log.writelines(json.dumps(row) + "\n" for row in new)
    gone = settle(results / path.name) if path.stem in plan.KINDS else 0
    print(f"{path.name}: {len(new)} lines added, {gone} moved to the archive")


def check_machine(kind):
    about, wanted = machine(), plan.KINDS[kind]
    gpus = len(about["gpu"].split("; ")) if "gpu" in about else 0
    if about["cores"] != wanted.cores or gpus < wanted.gpus:
        sys.exit(f"this machine has {about['cores']} cores and {gpus} GPUs; {kind} needs "
                 f"{wanted.cores} and {wanted.gpus} (--scale is for trials)")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--machine", choices=plan.KINDS, help="what this machine is")
    parser.add_argument("--minutes", type=float, default=1e6, help="time for this call")
    parser.add_argument("--limit", type=float, default=480,
                        help="seconds after which a run is killed (default 480)")
    parser.add_argument("--dry-run", action="store_true", help="print what would run")
    parser.add_argument("--folder", type=pathlib.Path, help="for reads and outputs")
    parser.add_argument("--tmp", type=pathlib.Path, help="for temporary files (default: --folder)")
    parser.add_argument("--sections", type=lambda text: text.split(","), default=plan.SECTIONS,
                        help=f"some of {','.join(plan.SECTIONS)}")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build",
                        help="folder that holds kcount and bench/simulate")
    parser.add_argument("--commit", help="of the build (default: the working tree's)")
    parser.add_argument("--results", type=pathlib.Path, default=RESULTS)
    parser.add_argument("--scale", type=float, default=1.0, help="size of the genomes")
    parser.add_argument("--take", type=pathlib.Path, nargs="+", help="files of another machine")
    arguments = parser.parse_args()
    if not arguments.take and not arguments.machine:
        parser.error("--machine or --take is needed")
    if arguments.machine and not arguments.dry_run and not arguments.folder:
        parser.error("--folder is needed")
    return arguments


def main():
    arguments = parse_arguments()
    for path in arguments.take or []:
        take(path, arguments.results)
    if arguments.take:
        return
    if arguments.commit:
        os.environ["KCOUNT_COMMIT"] = arguments.commit
    for name in ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"):
        os.environ[name] = "1"  # in containers
    build = arguments.build.resolve()
    os.environ["PATH"] = f"{build}:{build / 'bench'}:{os.environ['PATH']}"
    if not commit():
        sys.exit("--commit is needed where there is no git")
    if arguments.dry_run:
        Bench(arguments, None).dry_run()
        return
    if arguments.scale == 1:
        check_machine(arguments.machine)
    arguments.folder.mkdir(parents=True, exist_ok=True)
    arguments.results.mkdir(parents=True, exist_ok=True)
    gpus = plan.KINDS[arguments.machine].gpus
    with open_log(arguments.results / f"{arguments.machine}.jsonl", True,
                  build / "kcount" if gpus else None) as log:
        try:
            Bench(arguments, log).run()
        except KeyboardInterrupt:
            sys.exit("interrupted")
    settle(arguments.results / f"{arguments.machine}.jsonl")


if __name__ == "__main__":
    main()
