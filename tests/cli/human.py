"""
bench/human.py on a small genome: the lines that it keeps, also of programs that fail or take too
long; bench/watch.py finds named and unlinked temporary files.

    human.py KCOUNT SIMULATE SOURCE
"""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

from lib.tools import SKIPPED, Failure, main

KCOUNT, SIMULATE, SOURCE = (pathlib.Path(part).resolve() for part in sys.argv[1:4])
sys.path.insert(0, str(SOURCE / "bench"))
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
FEW_BASES = """echo '{"bases": 1, "distinct": 1, "dropped_distinct": 0}'"""


def expect(is_so, what):
    if not is_so:
        raise Failure(what)


def human(work, *options, build=None):
    """Run bench/human.py; returns its exit code and its lines."""
    log = work / "results" / "human.jsonl"
    log.unlink(missing_ok=True)
    done = subprocess.run([sys.executable, SOURCE / "bench" / "human.py",
                           "--folder", work / "reads", "--scale", "0.0001", "--coverage", "8",
                           "--device", "cpu", "--repeats", "0", "--results", work / "results",
                           "--commit", "abc", "--build", build or work / "build", *options],
                          capture_output=True, text=True)
    lines = log.read_text().splitlines() if log.exists() else []
    return done.returncode, [json.loads(line) for line in lines]


def make_build(folder, kcount):
    """A build folder: the simulator, and a program, or the text of a script, as kcount."""
    (folder / "bench").mkdir(parents=True)
    (folder / "bench" / "simulate").symlink_to(SIMULATE)
    if isinstance(kcount, pathlib.Path):
        (folder / "kcount").symlink_to(kcount)
    else:
        (folder / "kcount").write_text(f"#!/bin/sh\n{kcount}\n")
        (folder / "kcount").chmod(0o755)
    return folder


def ends(lines):
    return [(line["way"], line["status"]) for line in lines]


def test_runs():
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        make_build(work / "build", KCOUNT)
        code, lines = human(work, "--only", "make,reader,file,cat,pipe", "--keep")
        expect((code, ends(lines)) == (0, [(way, "done") for way in
                                           ("make", "reader", "file", "cat", "pipe")]),
               f"exit {code}, {ends(lines)}")
        for line in lines:
            expect(line["bases"] == 2479950 and line["commit"] == "abc" and line["wall"] > 0
                   and "cores" in line["machine"] and str(work) not in json.dumps(line),
                   f"line {line}")
        _, reader, counted, cat, piped = lines
        expect(reader["summary"]["bases"] == 2479950, "the reader's summary")
        expect(counted["kept"] == piped["kept"] > 0 and counted["output_bytes"] > 0, "counts")
        expect("feeder" in cat and " | taskset" in piped["command"], "a pipeline's lines")
        kept = [path.name for path in (work / "reads").iterdir()]
        expect(kept == ["human-0.00031G-8x-r0.fq.gz"], f"--keep leaves {kept}")
        code, lines = human(work, "--only", "file")
        expect((code, ends(lines)) == (0, [("file", "done")]), "the file that was kept")
        expect(not list((work / "reads").iterdir()), "nothing is left without --keep")
        expect(human(work, "--only", "fill")[0] == 2, "a way that there is not")


def test_failures():
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        broken = make_build(work / "broken", "echo it broke >&2; exit 3")
        code, lines = human(work, "--only", "pipe,file,cat", build=broken)
        expect((code, ends(lines)) == (0, [("pipe", "failed"), ("make", "done"),
                                           ("file", "failed"), ("cat", "done")]), "a failure")
        expect(all(line["code"] == 3 and line["message"].endswith("it broke")
                   for line in lines if line["status"] == "failed"), f"lines {lines}")
        slow = make_build(work / "slow", "exec sleep 60")
        begin = time.monotonic()
        code, lines = human(work, "--only", "pipe", "--limit", "0.5", build=slow)
        expect((code, ends(lines)) == (0, [("pipe", "timed out")]), "a timeout")
        expect(time.monotonic() - begin < 30, "a program that takes too long is killed")
        wrong = make_build(work / "wrong", f"cat > /dev/null; {FEW_BASES}")
        code, lines = human(work, "--only", "pipe", build=wrong)
        expect((code, lines) == (1, []), "a program that counts too few bases")


def test_watch():
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        tmp = work / "tmp"
        tmp.mkdir()
        (work / "writer.py").write_text(WRITER.format(tmp=tmp, period=watch.PERIOD))
        result, said, _ = watch.watched([f"{sys.executable} writer.py"], work, tmp, 60)
        expect(said == "written\n" and result["status"] == "done", f"result {result}")
        expect(8 << 20 <= result["tmp_bytes"] < 9 << 20, f"temporary files: {result['tmp_bytes']}")


if not shutil.which("taskset"):
    sys.exit(SKIPPED)
main([test_runs, test_failures, test_watch])
