"""
The pages for users and the examples stay short enough to read; docs/dev has what only developers
need.

    pages.py SOURCE
"""
import pathlib
import sys

SOURCE = pathlib.Path(sys.argv[1])
MOST = 1850                         # lines of all pages for users together, without these:
MOST_OF = {"docs/benchmarks.md": 400,
           **{f"examples/{path.name}": 59 for path in (SOURCE / "examples").iterdir()}}


def nlines(page):
    return len(page.read_text().splitlines())


def main():
    pages = [SOURCE / "README.md", *sorted((SOURCE / "docs").glob("*.md"))]
    total = sum(nlines(page) for page in pages if str(page.relative_to(SOURCE)) not in MOST_OF)
    print(f"{len(pages)} pages, {total} lines without those of {', '.join(MOST_OF)}")
    long = [f"{name} has more than {most} lines" for name, most in MOST_OF.items()
            if nlines(SOURCE / name) > most]
    if total > MOST:
        long.append(f"the pages for users have more than {MOST} lines")
    sys.exit("\n".join(long) or 0)


main()
