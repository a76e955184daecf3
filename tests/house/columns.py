"""
Find lines that are too long: above 100 columns in sources and scripts, above 120 in pages.

    columns.py SOURCE

clang-format breaks neither comments nor strings. In a page, the lines of a table, of HTML and of an
indented example may be longer.
"""
import pathlib
import re
import sys

SOURCE = pathlib.Path(sys.argv[1])
MOST = 100
MOST_OF_PAGE = 120
FOLDERS = ("app", "base", "bench", "cpu", "examples", "gpu", "include", "io", "kmer", "ranks",
           "scripts", "tests")
SUFFIXES = {".c", ".h", ".cu", ".cuh", ".cpp", ".inc", ".js", ".py", ".sh"}
# Scripts write these pages, and a line of the others.
GENERATED = {"measurements.md", "papers-results.md", "reliability.md"}
UNBROKEN = re.compile(r"\||<|!\[|    |So far: ")


def sources():
    for folder in FOLDERS:
        yield from sorted(path for path in (SOURCE / folder).rglob("*") if path.suffix in SUFFIXES)
    yield SOURCE / ".ci/run"


def pages():
    yield from sorted(SOURCE.glob("*.md"))
    for path in sorted((SOURCE / "docs").rglob("*.md")):
        if path.name not in GENERATED:
            yield path


def too_long(path, most, unbroken=None):
    for number, line in enumerate(path.read_text().splitlines(), 1):
        ncolumns = len(line.expandtabs())
        if ncolumns > most and not (unbroken and unbroken.match(line)):
            yield f"{path.relative_to(SOURCE)}:{number}: {ncolumns} columns, more than {most}"


def main():
    found = [line for path in sources() for line in too_long(path, MOST)]
    found += [line for path in pages() for line in too_long(path, MOST_OF_PAGE, UNBROKEN)]
    sys.exit("\n".join(found) or 0)


main()
