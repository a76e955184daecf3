"""
Links between the pages of the project lead somewhere, the source files that they name exist, and
CONTRIBUTING.md has the environment variables that tests and benchmarks read.

    doc_links.py KCOUNT SOURCE
"""
import re

from lib.session import SOURCE, expect
from lib.tools import Failure, main

PAGES = [*SOURCE.glob("*.md"), *(SOURCE / "docs").rglob("*.md"), SOURCE / "data/README.md"]
FILE = re.compile(r"\b(?:app|base|bench|cpu|gpu|io|kmer|scripts|tests)"
                  r"/[\w./]+\.(?:c|cpp|cu|cuh|h|jsonl|py|sh)\b")


def anchor(heading):
    """The anchor of a heading, as in links on GitHub."""
    return re.sub(r"[^\w -]", "", heading.strip().lower()).replace(" ", "-")


def test_links():
    anchors = {page: {anchor(line.lstrip("#")) for line in page.read_text().splitlines()
                      if line.startswith("#")} for page in PAGES}
    nlinks = 0
    for page in PAGES:
        for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
            if re.match(r"\w+:", link):
                continue
            nlinks += 1
            path, _, place = link.partition("#")
            target = (page.parent / path).resolve() if path else page
            if not target.exists() or (place and place not in anchors.get(target, ())):
                raise Failure(f"{page.relative_to(SOURCE)}: {link} leads nowhere")
    expect(nlinks > 50, True, "links that are found")


def test_files():
    """NAME in a path stands for a name."""
    for page in PAGES:
        for name in FILE.findall(page.read_text()):
            if "NAME" not in name and not (SOURCE / name).exists():
                raise Failure(f"{page.relative_to(SOURCE)} names {name}, which does not exist")


def test_variables():
    name = r"KC(?:OUNT)?_[A-Z_]*[A-Z]"
    scripts = "".join(path.read_text() for path in (SOURCE / "scripts").glob("test*.sh"))
    read = set(re.findall(rf"\$\{{({name})", scripts))
    for path in [*(SOURCE / "tests").rglob("*.*"), SOURCE / "bench/runs.py"]:
        if path.suffix in (".c", ".cpp", ".cu", ".cuh", ".h", ".py"):
            read |= set(re.findall(rf'"({name})"', path.read_text()))
    macros = re.findall(rf"#define ({name})", (SOURCE / "include/kcount.h").read_text())
    read -= set(macros)  # messages that tests expect name them
    page = (SOURCE / "CONTRIBUTING.md").read_text()
    table = page.partition("Environment variables")[2].partition("For the compiler")[0]
    listed = {found for row in re.findall(r"(?m)^\| ([^|]*)", table)
              for found in re.findall(rf"`({name})", row)}
    expect(listed, read, "variables in CONTRIBUTING.md")


main([test_links, test_files, test_variables])
