"""
A full disk from every call on, and an error at every call, of an export to several files, and of
kcount-kmc with -j: either all files appear, or none does and those to be replaced are as before. An
interrupted or halved write changes nothing.

    export_faults.py KCOUNT SOURCE FAULT
"""
import pathlib
import random
import tempfile

from lib.faults import run_faulty
from lib.session import KCOUNT, Session, expect
from lib.tools import main

EXPORTS = {"kmc": {"out.kmc_pre", "out.kmc_suf"}, "fastk": {"out.ktab", "out.hist", ".out.ktab.1"}}


def prepare(name):
    s = Session()
    s.write("reads.fa", ">r\n" + "".join(random.Random(3).choices("ACGT", k=30000)) + "\n")
    s.kcount("reads.fa", "-k", 21, "-o", "db.kc", "--quiet")
    return s, ["export", "db.kc", "--to", name, "-o", "out", "--force"]


def restore(s, before):
    for name in set(s.names()) - set(before):
        (s.path / name).unlink()
    for name, content in before.items():
        s.write(name, content)


def try_every_call(s, arguments, before, after, kinds, outcomes):
    calls = run_faulty(s, arguments, code=0).calls
    expect(s.contents(), after, "the files of an export without faults")
    for kind in kinds:
        for at in range(1, len(calls) + 1):
            if calls[at - 1][0] == "unlink":
                continue  # then a temporary name remains
            restore(s, before)
            done = run_faulty(s, arguments, at=at, kind=kind)
            now = s.contents()
            what = f"{arguments}, {kind} at {calls[at - 1]}, exit {done.code}: {done.said}"
            expect(now in outcomes, True, f"{what}: all files or none, but {sorted(now)}")
            if done.code == 0:
                expect(now == after, True, f"{what}: all files")
            else:
                expect(done.code, 1, what)
                expect(done.said.startswith("kcount: "), True, what)
    return len(calls)


def test_exports():
    for name, files in EXPORTS.items():
        s, arguments = prepare(name)
        before = s.contents()
        run_faulty(s, arguments, code=0)
        after = s.contents()
        expect(set(after) - set(before), files, f"files of {name}")
        restore(s, before)
        ncalls = try_every_call(s, arguments, before, after, ["full", "error"], [before, after])
        expect(ncalls > 2 * len(files), True, f"calls that can fail in {name}: {ncalls}")
        try_every_call(s, arguments, before, after, ["short", "interrupt"], [after])
        old = dict(before, **{file: b"old" for file in files})
        restore(s, old)
        try_every_call(s, arguments, old, after, ["full"], [old, after])


def without_times(files):
    """The same files; a summary as JSON holds times, which differ from run to run."""
    return {name: b"a summary" if content.startswith(b"{") else content
            for name, content in files.items()}


def test_kmc_summary():
    """The database and the summary of kcount-kmc: both or neither."""
    s, _ = prepare("kmc")
    plain = s.contents()
    arguments = ["-k21", "-ci1", "-t1", "-jsummary.json", "reads.fa", "out", "."]
    with tempfile.TemporaryDirectory() as aside:
        program = pathlib.Path(aside, "kcount-kmc")
        program.symlink_to(KCOUNT)
        run_faulty(s, arguments, code=0, program=program)
        after = without_times(s.contents())
        made = set(after) - set(plain)
        expect(made, {"out.kmc_pre", "out.kmc_suf", "summary.json"}, "files of kcount-kmc")
        for before in plain, dict(plain, **{name: b"old" for name in made}):
            restore(s, before)
            calls = run_faulty(s, arguments, code=0, program=program).calls
            for kind in "full", "error":
                for at, call in enumerate(calls, 1):
                    if call[0] == "unlink":
                        continue  # then a temporary name remains
                    restore(s, before)
                    done = run_faulty(s, arguments, program=program, at=at, kind=kind)
                    now = without_times(s.contents())
                    what = f"{kind} at {call}, exit {done.code}: {done.said}"
                    expect(now in (before, after), True, f"{what}: all or none, but {sorted(now)}")
                    if done.code == 0:
                        expect(now, after, what)


main([test_exports, test_kmc_summary])
