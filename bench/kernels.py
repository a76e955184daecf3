#!/usr/bin/env python3
"""
Compare what ptxas reports of the kernels of a build (the *.report files beside its objects) with
the last figures in bench/results/kernels.txt. Exits with 77 where it cannot compare, and says why.

    bench/kernels.py BUILD [--record]       --record: write the rows of the build's devices anew

The rows must be those of the build's kernels. A kernel fails if it needs more registers, rounded
up to the multiple of 8 that the hardware allocates, or over 3 % more static shared memory or
spills.
"""
import argparse
import pathlib
import re
import subprocess
import sys

from instructions import ROOT, advised, check_build, skip

GROWTH = 1.03
REGISTERS = 8           # allocated at a time
PATH = ROOT / "bench/results/kernels.txt"
HEAD = """\
# What each kernel needs: registers of a thread, bytes of static shared memory, bytes of spills
# (stores and loads). bench/kernels.py BUILD --record writes this file; CONTRIBUTING.md says when.
"""
REPORT = re.compile(r"Compiling entry function '(\w+)' for '(sm_\w+)'\n.*\n"
                    r".* (\d+) bytes spill stores, (\d+) bytes spill loads\n"
                    r".*Used (\d+) registers(?:.*? (\d+) bytes smem)?")


def compiler(build):
    said, = build.glob("CMakeFiles/*/CMakeCUDACompiler.cmake")
    return "nvcc " + re.search(r'CUDA_COMPILER_VERSION "([\d.]+)"', said.read_text())[1]


def reported(build):
    """{(architecture, kernel): (registers, shared, spilled)}, without CUB's kernels."""
    folder = build / "CMakeFiles/kc.dir"
    texts = [path.read_text() for path in sorted(folder.glob("gpu/**/*.cu.o.report"))
             if (ROOT / path.relative_to(folder)).with_suffix("").with_suffix("").is_file()]
    rows = REPORT.findall("".join(texts))
    if not rows or len(rows) != "".join(texts).count("Compiling entry"):
        sys.exit(f"{folder}: ptxas has left no reports, or not such as expected")
    names = subprocess.run(["c++filt", "--no-params"], check=True, capture_output=True, text=True,
                           input="\n".join(row[0] for row in rows)).stdout.splitlines()
    kernels = {}
    for name, (_, arch, stores, loads, registers, shared) in zip(names, rows):
        if not name.startswith("cub::"):
            need = (int(registers), int(shared or 0), int(stores) + int(loads))
            kernels[arch, name] = max(need, kernels.get((arch, name), need))
    return kernels


def recorded():
    """The compiler and the rows of the file."""
    if not PATH.is_file():
        return "", {}
    said, _, *rows = [line for line in PATH.read_text().splitlines() if line[0] != "#"]
    rows = [row.split(maxsplit=4) for row in rows]
    return said, {(arch, name): tuple(map(int, need)) for arch, *need, name in rows}


def record(built_by, kernels):
    said, last = recorded()
    archs = {arch for arch, _ in kernels}
    kept = {key: need for key, need in last.items() if key[0] not in archs and said == built_by}
    rows = [("arch", "registers", "shared", "spilled", "kernel")]
    rows += [(arch, *need, name) for (arch, name), need in sorted({**kept, **kernels}.items())]
    PATH.write_text(f"{HEAD}{built_by}\n" +
                    "".join("{:<7}{:>10}{:>8}{:>9}  {}\n".format(*row) for row in rows))


def grown(need, last):
    registers, *sizes = need
    before, *sizes_before = last
    return -(-registers // REGISTERS) > -(-before // REGISTERS) or \
        any(size > GROWTH * size_before for size, size_before in zip(sizes, sizes_before))


def compare(kernels, last):
    for (arch, name), need in sorted(kernels.items()):
        words = "{} registers, {} bytes of shared memory, {} bytes spilled"
        if (arch, name) not in last:
            yield f"{arch} {name}: not in {PATH.name}"
        elif grown(need, last[arch, name]):
            yield f"{arch} {name}: {words.format(*need)}; was {words.format(*last[arch, name])}"
    archs = {arch for arch, _ in kernels}
    for arch, name in sorted(set(last) - set(kernels)):
        if arch in archs:
            yield f"{arch} {name}: in {PATH.name}, but no longer in the build"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--record", action="store_true")
    arguments = parser.parse_args()
    check_build(arguments.build, "CMAKE_CUDA_FLAGS")
    built_by = compiler(arguments.build)
    if arguments.record:
        return record(built_by, reported(arguments.build))
    said, last = recorded()
    if said != built_by:
        skip(f"the figures are those of {said}, and this is {built_by}")
    kernels = reported(arguments.build)
    known = {arch for arch, _ in last}
    kernels = {key: need for key, need in kernels.items() if key[0] in known}
    if not kernels:
        skip(f"figures are recorded only for {', '.join(sorted(known))}")
    print(f"{len(kernels)} kernels")
    return advised(compare(kernels, last))


if __name__ == "__main__":
    sys.exit(main())
