"""
Help, manual and usage agree: docs/kcount.1 is what the program prints, and every option of --help
is in it.

    app_manual.py KCOUNT SOURCE
"""
import re
import shutil

from session import SOURCE, Session, expect
from tools import Failure, main, run

COMMANDS = ("count", "dump", "hist", "query", "range", "export", "import", "info", "check", "add",
            "remove", "compact", "merge", "union", "intersect", "subtract", "help")


def test_manual_is_current():
    printed = Session().kcount("help", "--man")
    if printed != (SOURCE / "docs/kcount.1").read_text():
        raise Failure("docs/kcount.1 is not what 'kcount help --man' prints; run the target 'manual'")


def section(manual, command):
    return re.search(rf"^\.Ss kcount {command} .*?(?=^\.S[sh] )", manual, re.M | re.S).group(0)


def test_help_matches_the_manual():
    s = Session()
    manual = s.kcount("help", "--man")
    for command in COMMANDS:
        text = s.kcount(command, "--help")
        expect(text, s.kcount("help", command), f"help {command} and {command} --help")
        listed = set(re.findall(r"^  (?:-\w, |    )--([\w-]+)", text, re.M)) - {"help"}
        described = {name.replace("\\", "") for name in
                     re.findall(r"^\.It .*Fl \\-([\w\\-]+)", section(manual, command), re.M)}
        expect(listed, described, f"options of {command} in --help and in the manual")
        expect(max(map(len, text.splitlines())) < 80, True, f"width of {command} --help")
    overview = s.kcount("--help")
    expect(re.findall(r"^  (\w+) +\w", overview, re.M), list(COMMANDS), "commands in --help")


def test_contract():
    """The options that other programs rely on."""
    s = Session()
    for command, options in {
            "count": "kmer output threads memory tmp device table gpu-memory stranded min max min-quality json histogram "
                     "quiet no-progress force format",
            "hist": "plot max-count genomescope jellyfish min max kmer stranded threads memory tmp device table "
                    "gpu-memory min-quality quiet no-progress",
            "dump": "fasta columns min max output threads", "query": "file",
            "range": "count", "export": "to output force min max from-kmer to-kmer", "info": "json devices", "check": "json",
            "add": "threads memory tmp device table gpu-memory min-quality json quiet no-progress",
            "remove": "file threads json quiet no-progress", "compact": "min max threads json quiet no-progress",
            "merge": "output min max threads json quiet no-progress force",
            "union": "output counts min max threads json quiet no-progress force",
            "intersect": "output counts min max threads json quiet no-progress force",
            "subtract": "output counts min max threads json quiet no-progress force",
            "import": "output threads memory tmp canonical stranded min max force json quiet",
            "help": "completion"}.items():
        text = s.kcount(command, "--help")
        for option in options.split():
            expect(f"--{option}" in text, True, f"{command} has --{option}")


def test_versions():
    s = Session()
    version = s.kcount("--version")
    expect(re.fullmatch(r"kcount \d+\.\d+\.\d+\n", version) is not None, True, "--version")
    expect(s.kcount("-V"), version, "-V")
    expect(s.kcount("dump", "-V"), version, "dump -V")
    expect(s.kcount("-h"), s.kcount("help"), "-h and help")
    expect(s.kcount(code=None), "", "standard output of a call without arguments")
    expect(s.code, 2, "exit code of a call without arguments")


def test_layout():
    if shutil.which("mandoc"):
        run("mandoc", "-T", "lint", "-W", "warning", SOURCE / "docs/kcount.1")


main([test_manual_is_current, test_help_matches_the_manual, test_contract, test_versions, test_layout])
