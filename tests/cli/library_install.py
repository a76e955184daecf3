"""
examples/ can be built with an installed libkcount that was moved to another folder: with pkg-config
and the shared library, with pkg-config and the archive, and with CMake's find_package. They print
what the program prints. The shared library exports only what kcount.h declares, which is what
debian/libkcount0.symbols lists, and has the ABI of tests/library/libkcount.abi (skipped without
abidiff). With --update, these two files get what is new. It does not print, end the process, change
signals or the locale, or have variables that calls share.

    library_install.py KCOUNT SOURCE BUILD CMAKE CC CXX [abi [--update]]
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

from lib.session import Session, expect
from lib.tools import Failure, main, run

KCOUNT, SOURCE, BUILD = (pathlib.Path(path).resolve() for path in sys.argv[1:4])
CMAKE, CC, CXX = sys.argv[4:7]
HEADER = SOURCE / "include/kcount.h"
MAP = SOURCE / "scripts/cmake/libkcount.map"
BASELINE = SOURCE / "tests/library/libkcount.abi"
PACKAGED = SOURCE / "debian/libkcount0.symbols"
PHAGE = SOURCE / "data/phage.fq.gz"
PREFIX = "ACGTA"
FORBIDDEN = {"stdout", "stderr", "printf", "puts", "putchar", "perror", "exit", "_exit", "_Exit",
             "quick_exit", "atexit", "signal", "sigaction", "setlocale", "setenv", "putenv",
             "chdir"}
PROJECT = """\
cmake_minimum_required(VERSION 3.18)
project(examples C CXX)
find_package(kcount REQUIRED)
foreach(example count.c ask.c range.cpp)
  add_executable(${example}.bin SOURCE/examples/${example})
  target_link_libraries(${example}.bin PRIVATE kcount::kcount)
endforeach()
"""


class Installed(Session):
    """A folder with an installed copy that was moved after its installation."""

    def __init__(self):
        super().__init__()
        run(CMAKE, "--install", BUILD, "--prefix", self.path / "first", "--component", "library")
        self.prefix = self.path / "moved"
        (self.path / "first").rename(self.prefix)
        self.lib = next(self.prefix.rglob("libkcount.a")).parent
        self.kcount(PHAGE, "-k", 31, "-o", "phage.kc")
        dump = self.kcount("dump", "phage.kc").splitlines()
        self.asked = [line.split("\t")[0] for line in dump[::len(dump) // 5]] + ["A" * 31]

    def flags(self, *words):
        os.environ["PKG_CONFIG_PATH"] = str(self.lib / "pkgconfig")
        return run("pkg-config", *words, "kcount").decode().split()

    def compile(self, *words):
        """Compile the examples with what pkg-config says."""
        flags, libraries = self.flags("--cflags"), self.flags("--libs", *words)
        for compiler, source in (CC, "count.c"), (CC, "ask.c"), (CXX, "range.cpp"):
            run(compiler, "-Wall", "-Wextra", "-Werror", SOURCE / "examples" / source, *flags, "-o",
                self.path / f"{source}.bin", *libraries)

    def prints(self, folder, how):
        """The examples print what the program prints."""
        for words, wanted in (
                (["count.c.bin", PHAGE], self.kcount("hist", "phage.kc")),
                (["ask.c.bin", "phage.kc", *self.asked],
                 self.kcount("query", "phage.kc", *self.asked)),
                (["range.cpp.bin", "phage.kc", PREFIX],
                 self.kcount("range", "phage.kc", PREFIX, PREFIX))):
            done = subprocess.run([folder / words[0], *words[1:]], cwd=self.path,
                                  capture_output=True,
                                  env={**os.environ, "LD_LIBRARY_PATH": str(self.lib)})
            if done.returncode != 0 or done.stdout.decode() != wanted or not wanted:
                raise Failure(f"{how}: {words}: exit {done.returncode}, {done.stdout[:200]}, "
                              f"{done.stderr}; wanted {wanted[:200]}")


def pkg_config(s, how, *words):
    flag, = s.flags("--cflags")
    expect(pathlib.Path(flag[2:]).resolve(), s.prefix / "include", "--cflags of the moved copy")
    s.compile(*words)
    linked = run("readelf", "-d", s.path / "count.c.bin").decode()
    expect("libkcount.so.0" in linked, how == "shared", f"{how}: linked with the shared library")
    expect("libhts.so" in linked, how == "static", f"{how}: linked with its libraries, too")
    s.prints(s.path, how)


def absolute_folders():
    """The copy can also be moved if its folders were given as absolute paths."""
    s = Session()
    run(CMAKE, "-S", SOURCE, "-B", s.path / "build", "-DKCOUNT_CUDA=OFF", "-DBUILD_TESTING=OFF",
        f"-DCMAKE_C_COMPILER={CC}", "-DCMAKE_INSTALL_PREFIX=/opt/kc",
        "-DCMAKE_INSTALL_LIBDIR=/opt/kc/lib64", "-DCMAKE_INSTALL_INCLUDEDIR=/opt/kc/include")
    moved = s.path / "moved/lib64/pkgconfig"
    moved.mkdir(parents=True)
    (moved.parents[1] / "include").mkdir()
    shutil.copy(s.path / "build/kcount.pc", moved)
    os.environ["PKG_CONFIG_PATH"] = str(moved)
    for variable, folder in ("prefix", ""), ("libdir", "lib64"), ("includedir", "include"):
        found = run("pkg-config", f"--variable={variable}", "kcount").decode().strip()
        expect(pathlib.Path(found).resolve(), moved.parents[1] / folder, variable)


def find_package(s):
    s.write("CMakeLists.txt", PROJECT.replace("SOURCE", str(SOURCE)))
    run(CMAKE, "-S", s.path, "-B", s.path / "build", f"-DCMAKE_PREFIX_PATH={s.prefix}",
        f"-DCMAKE_C_COMPILER={CC}", f"-DCMAKE_CXX_COMPILER={CXX}")
    run(CMAKE, "--build", s.path / "build")
    s.prints(s.path / "build", "find_package")


def declared():
    """The functions of the header."""
    found = re.findall(r"^KCOUNT_API[^;(]*?(\w+)\(", HEADER.read_text(), re.MULTILINE)
    expect(len(found) > 20, True, f"{len(found)} functions: the header was understood")
    return sorted(found)


def packaged():
    """The functions that the Debian package lists, each with the first version that has it."""
    return sorted(re.findall(r"^ (kcount_\w+)@", PACKAGED.read_text(), re.MULTILINE))


def symbols():
    """The functions of the header, and no others."""
    shown = run("nm", "-D", "--defined-only", BUILD / "libkcount.so").decode().split("\n")
    # "A": the name of the version
    shown = [line.split()[2].split("@")[0] for line in shown if line and " A " not in line]
    expect(sorted(shown), declared(), "visible symbols")
    expect(packaged(), declared(), f"functions in {PACKAGED}")


def harmless():
    """What kcount.h says that the library never does."""
    used = run("nm", "-D", "--undefined-only", BUILD / "libkcount.so").decode().split("\n")
    used = {line.split()[1].split("@")[0] for line in used if line}
    expect({"malloc", "pthread_create"} <= used, True, "nm was understood")
    expect(used & FORBIDDEN, set(), "what the library uses")
    sizes = re.findall(r"^\.(?!data\.rel\.ro)((?:t?data|t?bss)\S*) +(\d+)",
                       run("size", "-A", BUILD / "libkcount.a").decode(), re.MULTILINE)
    expect(len(sizes) > 100, True, "size was understood")
    expect([size for size in sizes if size[1] != "0"], [], "variables of the library")


def update_packaged():
    version = run(KCOUNT, "--version").decode().split()[1]
    with open(PACKAGED, "a") as file:
        file.writelines(f" {name}@KCOUNT_0 {version}\n" for name in declared()
                        if name not in packaged())


def abi():
    """A library of the sources that implement the header, with debug information, has the ABI of
    the baseline: nothing is removed or changed."""
    if shutil.which("abidiff") is None:
        sys.exit(77)
    s = Session()
    library = s.path / "libkcount.so.0"
    run(CC, "-g", "-fPIC", "-shared", "-fvisibility=hidden", "-D_GNU_SOURCE",
        "-D_FILE_OFFSET_BITS=64", '-DKCOUNT_VERSION=""', f"-I{SOURCE}",
        *sorted((SOURCE / "app/library").glob("*.c")), f"-Wl,--version-script={MAP}",
        "-Wl,-soname,libkcount.so.0", "-o", library)
    shown = BASELINE if "--update" in sys.argv else s.path / "libkcount.abi"
    if "--update" in sys.argv:
        update_packaged()
    run("abidw", "--headers-dir", SOURCE / "include", "--drop-private-types", "--no-show-locs",
        "--no-comp-dir-path", "--no-corpus-path", "--exported-interfaces-only", "--out-file", shown,
        library)
    shown.write_text(shown.read_text().replace(f"path='{SOURCE}/", "path='"))
    done = subprocess.run(["abidiff", BASELINE, shown], capture_output=True)
    if done.returncode != 0:
        raise Failure(f"the ABI has changed:\n{done.stdout.decode()}{done.stderr.decode()}")


def installed():
    s = Installed()
    pkg_config(s, "shared")
    find_package(s)
    for path in s.lib.glob("libkcount.so*"):
        path.unlink()
    pkg_config(s, "static", "--static")


main([abi] if "abi" in sys.argv else [symbols, harmless, absolute_folders, installed])
