"""
The pages for users and the examples stay short enough to read; docs/dev has what only developers
need.

    pages.py SOURCE
"""
import pathlib
import sys

SOURCE = pathlib.Path(sys.argv[1])
MOST = 2000                         # lines of all pages for users together
MOST_OF = {"docs/benchmarks.md": 170,
           **{f"examples/{path.name}": 59 for path in (SOURCE / "examples").iterdir()}}


def nlines(page):
    return len(page.read_text().splitlines())


def main():
    pages = [SOURCE / "README.md", *sorted((SOURCE / "docs").glob("*.md"))]
    total = sum(map(nlines, pages))
    print(f"{len(pages)} pages, {total} lines")
    long = [f"{name} has more than {most} lines" for name, most in MOST_OF.items()
            if nlines(SOURCE / name) > most]
    if total > MOST:
        long.append(f"the pages for users have more than {MOST} lines")
    sys.exit("\n".join(long) or 0)


main()
