"""
merge, union, intersect and subtract of many files: more than a process may have open, named by
lists, or named twice.

    app_many.py KCOUNT SOURCE
"""
import json
import os
import random
import resource
import shutil

from lib.session import Session, expect
from lib.tools import main

OPERATIONS = [("merge", None), ("union", "min"), ("union", "max"), ("union", "difference"),
              ("union", "left"), ("union", "right"), ("intersect", "min"), ("intersect", "sum"),
              ("intersect", "left"), ("subtract", "left"), ("subtract", "difference")]
MOST = "4294967295"
CPU = ("--device", "cpu")  # no message about a missing device


def allow(soft, hard):
    """Arguments that limit the open files of a command to `soft`, which it can raise to `hard`."""
    return {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))}


def text_of(rng):
    return "".join(rng.choices("ACGT", k=60))


def with_stores(n):
    """n small files of several kinds, 0.kc to (n-1).kc."""
    s, rng = Session(), random.Random(5)
    for number in range(4):
        s.write(f"r{number}.fa", f">r\n{text_of(rng)}\n")
    s.kcount("r0.fa", "-k", 3, "-o", "0.kc")
    s.kcount("r1.fa", "-k", 3, "--min", 2, "-o", "1.kc")
    s.kcount("r2.fa", "-k", 3, "-o", "2.kc")
    s.kcount("add", "2.kc", "r3.fa")
    s.kcount("remove", "2.kc", "ACG", "TTT")
    s.kcount("add", "2.kc", "r0.fa")
    s.write("most.tsv", f"AAA\t{MOST}\nACG\t{MOST}\nCCC\t7\n")
    s.kcount("import", "most.tsv", "--canonical", "-o", "3.kc")
    for number in range(4, n):
        shutil.copy(s.path / f"{number % 4}.kc", s.path / f"{number}.kc")
    return s, [f"{number}.kc" for number in range(n)]


def test_more_files_than_may_be_open():
    """The same bytes, whether the limit is raised or is too low for all files."""
    s, names = with_stores(1100)
    s.write("list", "\n".join(names))
    s.kcount("merge", *names, "-o", "all.kc", **allow(4096, 4096))
    wanted = (s.path / "all.kc").read_bytes()
    for limits in (64, 4096), (256, 256), (24, 24):
        s.kcount("merge", "@list", "-o", "some.kc", "--force", "-m", "256M", **allow(*limits))
        expect((s.path / "some.kc").read_bytes() == wanted, True, f"merge with the limits {limits}")


def test_operations():
    """Every rule gives the same file and the same totals, counts above the largest included."""
    s, names = with_stores(41)
    for operation, rule in OPERATIONS:
        for number, options in enumerate((["-t", 1], ["--min", 3, "--max", 40], ["-t", 5])):
            call = [operation, *names[number:], *(["--counts", rule] if rule else []), *options,
                    "--json", *CPU, "--force", "-o"]
            reports = []
            for output, limits in (("all.kc", (4096, 4096)), ("some.kc", (20, 20))):
                report = json.loads(s.kcount(*call, output, **allow(*limits)))
                reports.append({key: value for key, value in report.items()
                                if isinstance(value, int)
                                and key != "peak_memory_bytes"})
            expect(reports[1], reports[0], f"the report of {call}")
            expect((s.path / "all.kc").read_bytes() == (s.path / "some.kc").read_bytes(), True,
                   f"the file of {call}")


def test_too_many():
    """The message names the limit of the merge itself."""
    s, names = with_stores(4)
    s.write("list", "0.kc\n1.kc\n" * 2049)
    s.kcount("union", "@list", "--counts", "max", "-o", "out.kc", code=2,
             message="kcount: 4098 files with 4098 runs are too many at once; the most is 4096 "
                     "files with 65536 runs\n", **allow(256, 256))
    expect("out.kc" in s.names(), False, "output")


def test_lists():
    s, names = with_stores(4)
    s.write("list", "# stores\n0.kc\n\n  1.kc \r\n")
    s.write("rest", "3.kc\n")
    for operation, rule in OPERATIONS:
        counts = ["--counts", rule] if rule else []
        report = json.loads(s.kcount(operation, "@list", "2.kc", "@rest", *counts, "--json",
                                     "--force", "-o", "a.kc"))
        expect(report["files"], names, f"files of {operation}")
        s.kcount(operation, *names, *counts, "--force", "-o", "b.kc")
        expect((s.path / "a.kc").read_bytes() == (s.path / "b.kc").read_bytes(), True, operation)
    reading, writing = os.pipe()
    os.write(writing, b"0.kc\n1.kc\n")
    os.close(writing)
    s.kcount("merge", "@/dev/stdin", "-o", "piped.kc", stdin=reading)
    os.close(reading)
    s.kcount("merge", "0.kc", "1.kc", "-o", "b.kc", "--force")
    expect((s.path / "piped.kc").read_bytes() == (s.path / "b.kc").read_bytes(), True, "a pipe")


def test_bad_lists():
    s, _ = with_stores(2)
    s.write("bad", "0.kc\nnone.kc\n")
    s.write("empty", "#\n")
    s.write("one", "0.kc\n")
    before = s.contents()
    for operands, code, message in (
            (["@bad"], 1, "line 2 of the list bad: cannot open none.kc: No such file"),
            (["@empty"], 1, "the list empty names no file"),
            (["@none"], 1, "cannot open the list none: No such file"),
            (["0.kc", "@one", "-o", "0.kc", "--force"], 2,
             "0.kc is an input and the output as well"),
            (["0.kc", "@one", "-o", "one", "--force"], 2,
             "one is an input and the output as well")):
        s.kcount("merge", *operands, *([] if "-o" in operands else ["-o", "out.kc"]), code=code,
                 message=message)
        expect(s.contents() == before, True, f"files after {operands}")
    s.kcount("subtract", "@one", "-o", "out.kc", code=2,
             message="subtract needs FILE.kc FILE.kc...")


def test_named_twice():
    """A file that is named twice is counted twice, with a warning, where counts are added up."""
    s, _ = with_stores(1)
    os.link(s.path / "0.kc", s.path / "hard.kc")
    os.symlink("0.kc", s.path / "soft.kc")
    shutil.copy(s.path / "0.kc", s.path / "copy.kc")
    s.write("list", "soft.kc\n")
    same = "are the same file, which is counted twice\n"
    for operands in (["0.kc", "0.kc"], ["0.kc", "hard.kc"], ["./0.kc", "@list"]):
        names = [operand.replace("@list", "soft.kc") for operand in operands]
        for command in (["merge"], ["union"], ["intersect", "--counts", "sum"],
                        ["subtract", "copy.kc", "--counts", "difference"]):
            s.kcount(*command, *operands, "-o", "out.kc", "--force", "--quiet")
            told = f"{names[0]} and {names[1]} {same}" if names[0] != names[1] else \
                f"{names[0]} is named twice, and counted twice\n"
            expect(s.said, f"kcount: warning: {told}", f"{command} {names}")
        for command in (["union", "--counts", "max"], ["intersect"], ["subtract", "copy.kc"]):
            s.kcount(*command, *operands, "-o", "out.kc", "--force", "--quiet")
            expect(s.said, "", f"{command} {names}")
    s.kcount("merge", "0.kc", "copy.kc", "-o", "twice.kc", "--quiet")
    expect(s.said, "", "a copy is another file")


main([test_more_files_than_may_be_open, test_operations, test_too_many, test_lists, test_bad_lists,
      test_named_twice])
