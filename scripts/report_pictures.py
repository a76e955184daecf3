#!/usr/bin/env python3
"""
Make the pictures of docs/report.md and README.md again: simulate the genome of that page, report on
it, and take screenshots of parts of the report.

    report_pictures.py KCOUNT     such as build/kcount

Writes docs/images/tutorial-*.webp. Needs Debian's chromium.
"""
import base64
import pathlib
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(SOURCE / "tests/page"))
from devtools import Browser  # noqa: E402

WIDTH, MARGIN, QUALITY = 1160, 12, 75
# The first and the last element of each picture.
PICTURES = {"front": (".head .kicker", ".verdict"), "caveats": (".caveats h2", ".caveats"),
            "spectrum": ("#spectrum .kicker", "#spectrum-plot"),
            "gc": ("#gc .kicker", "#gc figure"), "copies": ("#copies .kicker", "#copies-plot"),
            "sequences": ("#sequences .kicker", "#sequences .scroll")}


def make_page(kcount, folder):
    subprocess.run([sys.executable, SOURCE / "scripts/simulate_genome.py", folder], check=True)
    subprocess.run([kcount, "report", "reads.fq.gz", "--assembly", "hap1.fa", "-o", "report.html"],
                   cwd=folder, check=True)
    return pathlib.Path(folder) / "report.html"


def take(browser, first, last):
    """What is from one element to the other, as the bytes of a WebP file."""
    top, bottom = browser.run(
        f"[document.querySelector('{first}').getBoundingClientRect().top + scrollY,"
        f" document.querySelector('{last}').getBoundingClientRect().bottom + scrollY]")
    clip = {"x": 0, "y": top - MARGIN, "width": WIDTH, "height": bottom - top + MARGIN, "scale": 1}
    shot = browser.call("Page.captureScreenshot", format="webp", quality=QUALITY, clip=clip,
                        captureBeyondViewport=True)
    return base64.b64decode(shot["data"])


def main():
    kcount = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as folder, Browser() as browser:
        browser.resize(WIDTH)
        browser.open(make_page(kcount, folder))
        browser.run("document.querySelector('nav').remove()")  # it would stick to each picture
        browser.settle()
        for name, (first, last) in PICTURES.items():
            path = SOURCE / f"docs/images/tutorial-{name}.webp"
            path.write_bytes(take(browser, first, last))
            print(f"{path.relative_to(SOURCE)}: {path.stat().st_size:,} bytes")


main()
