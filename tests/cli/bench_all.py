"""
bench/all.py on tiny reads: what it would run; that it resumes, takes turns, and keeps what failed;
that older lines go to the archive. bench/report.py refuses tables of two commits. bench/watch.py
finds named and unlinked temporary files.

    bench_all.py KCOUNT SIMULATE SOURCE
"""
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from lib.tools import Failure, main

KCOUNT, SIMULATE, SOURCE = (pathlib.Path(part).resolve() for part in sys.argv[1:4])
sys.path.insert(0, str(SOURCE / "bench"))
import plan  # noqa: E402
import report_page  # noqa: E402
import report_text  # noqa: E402
import watch  # noqa: E402

WRITER = """
import os, tempfile, time
open("{tmp}/named", "wb").write(os.urandom(3 << 20))
unlinked = tempfile.TemporaryFile(dir="{tmp}")
unlinked.write(os.urandom(5 << 20))
unlinked.flush()
print("written", flush=True)
time.sleep(10 * {period})
"""
COUNTED = """\
case "$1" in
  info) echo '[]' ;;
  *) echo '{"bases": 1, "distinct": 7, "dropped_distinct": 2, "seconds": {}}' ;;
esac"""
STAGE = """\
echo '{"stage": "a", "table": "", "k": 31, "median_ms": 1, "g_per_s": 1, "unit": "bases"}'"""
KMC = "echo 'No. of unique counted k-mers       :    %d'"


def expect(is_so, what):
    if not is_so:
        raise Failure(what)


def bench(work, *options, **more):
    """Start bench/all.py."""
    words = [sys.executable, SOURCE / "bench" / "all.py", "--scale", "0.0001", "--folder",
             work / "reads", "--results", work / "results", "--build", work / "build",
             "--commit", "abc", *options]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            **more)


def finished(work, *options):
    """Its exit code and what it said."""
    child = bench(work, *options)
    said, complained = child.communicate()
    return child.returncode, said + complained


def rows_of(work, kind="2-cores"):
    log = work / "results" / f"{kind}.jsonl"
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


def make_build(work, **programs):
    """A build folder with the simulator and other programs: the text of a script, or a target."""
    (work / "build" / "bench").mkdir(parents=True, exist_ok=True)
    programs = {"bench/simulate": SIMULATE, **programs}
    for name, text in programs.items():
        path = work / "build" / name.replace("nvidia_smi", "nvidia-smi")
        path.unlink(missing_ok=True)
        if isinstance(text, pathlib.Path):
            path.symlink_to(text)
        else:
            path.write_text(f"#!/bin/sh\n{text}\n")
            path.chmod(0o755)


def runs(rows):
    return [(row["program"], row["k"], row["threads"], row["run"]) for row in rows]


def test_dry_run():
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        make_build(work)
        for kind in "2-cores", "1-gpu":
            code, said = finished(work, "--machine", kind, "--dry-run", "--scale", "1")
            lines = [line for line in said.splitlines() if line[:6].strip(" .0123456789") == ""]
            tasks = plan.tasks_of(kind, plan.SECTIONS)
            expect(code == 0 and len(lines) == len(tasks) + 1, f"{kind}: {said}")
            expect(all(task.programs[0] in line for task, line in zip(tasks, lines)),
                   f"{kind}: in their order")
            expect("in all" in lines[-1] and not (work / "reads").exists(), "nothing runs")
        lost = bench(work, "--machine", "2-cores", "--dry-run", "--commit", "",
                     env={**os.environ, "GIT_DIR": "nowhere"})
        expect(lost.wait() == 1 and "--commit is needed" in lost.stderr.read(), "no git")
        expect(finished(work, "--machine", "laptop")[0] == 2, "a kind that there is not")
        if os.cpu_count() != 32:
            code, said = finished(work, "--machine", "2-gpus", "--scale", "1")
            expect(code == 1 and "cores and 0 GPUs" in said, f"another machine: {said}")


def test_resume():
    """An interrupted call loses one run at most, and the next one does only what is left."""
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        make_build(work, kcount=KCOUNT)
        (work / "reads").mkdir()
        for name in "genome.fq", "genome.fq.how":
            (work / "reads" / name).write_text("other reads, which are not used")
        options = ("--machine", "2-cores", "--sections", "cores")
        expect(finished(work, *options, "--minutes", "0")[0] == 0 and not rows_of(work), "no time")
        child = bench(work, *options)
        while not rows_of(work) and child.poll() is None:
            time.sleep(0.01)
        child.kill(), child.communicate()
        began = len(rows_of(work))
        expect(1 <= began < 10, f"{began} rows after an interruption")
        code, said = finished(work, *options)
        rows = rows_of(work)
        threads = min(2, len(os.sched_getaffinity(0)))
        numbers = [*range(5)] if threads == 1 else [*range(5)] * 2
        expect(code == 0 and [row["run"] for row in rows] == numbers, f"{said}{runs(rows)}")
        expect({(row["commit"], row["status"], row["reads"]) for row in rows}
               == {("abc", "done", "genome")}, "what the rows say")
        expect(all("cores" in row["machine"] and row["kept"] > 0 and row["output_bytes"] > 0
                   and str(work) not in json.dumps(row) for row in rows), f"{rows[0]}")
        expect(not list((work / "reads").iterdir()), "nothing is left")
        code, said = finished(work, *options)
        expect("all is measured" in said and rows_of(work) == rows, f"again: {said}")
        finished(work, *options, "--commit", "new")
        archive = (work / "results" / "archive" / "2-cores.jsonl").read_text().splitlines()
        expect({row["commit"] for row in rows_of(work)} == {"new"} and len(archive) == len(rows),
               "an older commit's rows go to the archive")


def test_turns():
    """Programs take turns; those that fail or take too long are not run again, but all are for
    another commit; a wrong number of k-mers is an error."""
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        make_build(work, kcount=COUNTED, kmc=KMC % 5, jellyfish="echo it broke >&2; exit 3",
                   gerbil='[ "$1" = -v ] || exec sleep 60', FastK="",
                   meryl2="exit 1", hysortk="exit 1", mpirun="")
        (work / "build" / "FastK.version").write_text("1 of May\n")
        options = ("--machine", "2-cores", "--sections", "front")
        code, said = finished(work, *options, "--limit", "1")
        rows = rows_of(work)
        expect(code == 0, said)
        names = [row["program"] for row in rows if row["k"] == 21]
        expect(names == ["kcount", "kmc"] * 5, f"turns: {names}")
        ends = collections.Counter((row["program"], row["status"]) for row in rows
                                   if row["k"] == 31 and row["status"] != "done")
        expect(ends["jellyfish", "failed"] == ends["gerbil", "timed out"] == 1, f"{ends}")
        versions = {row["program"]: row["version"] for row in rows}
        expect((versions["FastK"], versions["hysortk"]) == ("1 of May", "of 17 bytes"), versions)
        broken = next(row for row in rows if row["program"] == "jellyfish")
        expect(broken["code"] == 3 and broken["message"] == "it broke", f"{broken}")
        finished(work, *options, "--commit", "new", "--limit", "1")
        again = collections.Counter(row["program"] for row in rows_of(work)
                                    if row["commit"] == "new")
        expect(again == collections.Counter(row["program"] for row in rows), f"again: {again}")
        make_build(work, kcount="echo 'No space left on device' >&2; exit 1")
        code, said = finished(work, *options, "--commit", "full", "--sections", "cores")
        expect("No space left" in said and "full" not in {row["commit"] for row in rows_of(work)},
               "a full folder")
        make_build(work, kcount=COUNTED, kmc=KMC % 6)
        code, said = finished(work, *options, "--commit", "c", "--sections", "jobs")
        expect(code == 1 and "6 k-mers, not 5" in said, f"a wrong number: {said}")


def test_devices():
    """On machines with devices, which are only pretended."""
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        make_build(work, kcount=COUNTED, nvidia_smi="echo 'New, 1'; echo 'New, 1'")
        for kind, programs in (("2-gpus", {"kcount two", "kcount cuda"}), ("1-gpu", set())):
            code, said = finished(work, "--machine", kind, "--sections", "devices", "--scale",
                                  "0.000001")
            rows = rows_of(work, kind)
            expect(code == 0 and {row["program"] for row in rows} == programs, f"{kind}: {said}")
        names = {row["reads"] for row in rows_of(work, "2-gpus")}
        expect(names == {"human", "genome", "growth-4"}, f"reads {names}")


def test_scripts():
    """Scripts with results of their own run once for each commit."""
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        make_build(work, kcount=COUNTED, **{"bench/bench_gpu": STAGE})
        for _ in range(2):
            code, said = finished(work, "--machine", "1-gpu", "--sections", "scripts")
            expect(code == 0 and "all is measured" in said, said)
        for name in "gpu-stages", "gpu-lookups":
            rows = rows_of(work, name)
            expect([row["commit"] for row in rows] == ["abc"], f"{name}: {rows}")


def made_up(commit, program="kcount", wall=1.0, version="", **more):
    return {"kind": "2-cores", "section": "front", "reads": "genome", "program": program,
            "executable": program, "version": version, "k": 31, "min": 1, "threads": 2,
            "scale": 1, "memory": "12G", "simulate": "--genome 1", "commit": commit,
            "date": "2000-01-01", "run": 0,
            "machine": {"cpu": "CPU", "cores": 2, "memory_gib": 9}, "wall": wall, "user": 1,
            "system": 0, "peak_bytes": 1 << 30, "output_bytes": 0, "bases": 2e9, "command": "",
            "status": "done", **more}


def test_mixtures():
    """A table has rows beside one commit of kcount, and one version of each other program."""
    good = [made_up("a"), made_up("a", wall=3), made_up("a", "kmc", version="1")]
    report_text.refuse_mixtures([*good, made_up("b", section="growth")])
    for other, what in ((made_up("b"), "kcount at a and at b"),
                        (made_up("b", "kmc", version="1"), "kcount at a and at b"),
                        (made_up("a", "kmc", version="2"), "kmc at 1 and at 2"),
                        (made_up("a", simulate="--genome 2"),
                         "reads at --genome 1 and at --genome 2")):
        try:
            report_page.page([*good, other], [])
        except SystemExit as refused:
            expect(what in str(refused) and "archive" in str(refused), str(refused))
        else:
            raise Failure(f"a mixture: {what}")
    report_page.page([*good, made_up("b", scale=0.1)], [])  # trials are not shown


def test_take():
    """Lines from elsewhere replace those of their table."""
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        (work / "results").mkdir()
        there = [made_up("a"), made_up("a", "kmc", version="1"), made_up("a", section="growth")]
        new = [there[1], made_up("b"), made_up("b", run=1)]
        for path, rows in ((work / "results", there), (work, new)):
            (path / "2-cores.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        code, said = finished(work, "--take", work / "2-cores.jsonl")
        expect(code == 0 and "2 lines added, 2 moved" in said, said)
        expect(rows_of(work) == [there[2], *new[1:]], "what is left")
        report_text.refuse_mixtures(rows_of(work))


def test_plan():
    """Every command can be written, and each file that it reads can be made."""
    for kind in plan.KINDS:
        for task in plan.tasks_of(kind, plan.SECTIONS):
            for name in () if task.script else task.programs:
                words = plan.command(name, kind, task, 1, 1000)
                expect("{" not in words and "/" in words, words)
                for file in plan.files_for(name, task):
                    expect("{" not in plan.how_made(file, kind, task, 1, 1000), file)
                expect(plan.seconds(name, kind, task, 1) < 3600, f"{kind}: {name}, {task}")


def test_watch():
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        tmp = work / "tmp"
        tmp.mkdir()
        (work / "writer.py").write_text(WRITER.format(tmp=tmp, period=watch.PERIOD))
        result, said, _ = watch.watched([f"{sys.executable} writer.py"], work, tmp, 60)
        expect(said == "written\n" and result["status"] == "done", f"result {result}")
        expect(8 << 20 <= result["tmp_bytes"] < 9 << 20, f"temporary files: {result['tmp_bytes']}")


main([test_dry_run, test_resume, test_turns, test_devices, test_scripts, test_mixtures, test_take,
      test_plan, test_watch])
