"""
The manual is what the program prints, and has the sections that are expected; the program has the
options that others rely on. app_help.py compares the manual with --help.

    app_manual.py KCOUNT SOURCE
"""
import re
import shutil

from lib.session import SOURCE, Session, expect
from lib.tools import Failure, main, run

COMMANDS = ("count", "hist", "model", "compare", "dump", "query", "profile", "report", "filter",
            "range", "info", "check", "merge", "union", "intersect", "subtract", "add", "remove",
            "compact", "export", "import", "help")


def test_manual_is_current():
    printed = Session().kcount("help", "--man")
    if printed != (SOURCE / "docs/kcount.1").read_text():
        raise Failure("docs/kcount.1 is not what 'kcount help --man' prints; run the target "
                      "'manual'")


def test_sections():
    """The examples come early, the options that commands share once, and a section per command."""
    page = Session().kcount("help", "--man")
    expect(re.findall(r"^\.Sh (.*)$", page, re.M),
           ["NAME", "SYNOPSIS", "DESCRIPTION", "EXAMPLES", "COMMANDS", "COMMON OPTIONS", "K\\-MERS",
            "EXIT CODES", "FILES AND SIGNALS", "SEE ALSO"], "sections")
    expect(re.findall(r"^\.Ss kcount (\w+) ", page, re.M), list(COMMANDS), "commands")
    for option in ("threads", "device", "json", "quiet", "force",
                   "no\\-mpi"):
        expect(len(re.findall(rf"^\.It .*Fl \\-{re.escape(option)}(?: |$)", page, re.M)), 1,
               f"explanations of --{option}")
    for option in ("min", "max"):  # filter and profile explain theirs
        expect(len(re.findall(rf"^\.It .*Fl \\-{option}(?: |$)", page, re.M)), 3,
               f"explanations of --{option}")
    for program in ("jellyfish", "kmc", "samtools"):
        expect(f".Xr {program} 1" in page, True, f"{program} in SEE ALSO")


def test_contract():
    """The options that other programs rely on."""
    s = Session()
    for command, options in {
            "count": "kmer output threads memory tmp device table gpu-memory stranded min max "
                     "min-quality json histogram quiet no-progress force format",
            "compare": "max-count format output threads json quiet no-progress force",
            "hist": "max-count genomescope jellyfish plot gc format json min max kmer stranded "
                    "threads memory tmp device table gpu-memory min-quality quiet no-progress",
            "dump": "fasta columns min max output threads", "query": "file threads memory",
            "profile": "total positions format unique-min unique-max min max output threads memory "
                       "json quiet no-progress force",
            "filter": "output at-least at-most min max denominator drop pairs interleaved trim "
                      "rest names table count threads memory tmp json quiet no-progress force",
            "report": "assembly merqury tracks ploidy threshold sample force threads memory tmp "
                      "json quiet no-progress",
            "range": "count", "export": "to output force min max from-kmer to-kmer",
            "model": "kmer ploidy genomescope threads json",
            "info": "json devices", "check": "json",
            "add": "threads memory tmp device table gpu-memory min-quality json quiet no-progress",
            "remove": "file threads json quiet no-progress",
            "compact": "min max threads json quiet no-progress",
            "merge": "output min max threads json quiet no-progress force",
            "union": "output counts min max threads json quiet no-progress force",
            "intersect": "output counts min max threads json quiet no-progress force",
            "subtract": "output counts min max threads json quiet no-progress force",
            "import": "output threads memory tmp canonical stranded min max force json quiet",
            "help": "completion"}.items():
        for option in options.split():
            s.kcount(command, f"--{option}", 1, "--help", code=None)
            expect("unknown option" in s.said, False, f"{command} has --{option}")


def test_versions():
    s = Session()
    version = s.kcount("--version")
    expect(re.fullmatch(r"kcount \d+\.\d+\.\d+\n", version) is not None, True, "--version")
    expect(s.kcount("-V"), version, "-V")
    expect(s.kcount("dump", "-V"), version, "dump -V")
    expect(s.kcount("-h"), s.kcount("help"), "-h and help")
    expect(s.kcount("--usage"), s.kcount("help"), "--usage and help")
    expect(s.kcount(code=None), "", "standard output of a call without arguments")
    expect(s.code, 2, "exit code of a call without arguments")


def test_layout():
    if shutil.which("mandoc"):
        run("mandoc", "-T", "lint", "-W", "warning", SOURCE / "docs/kcount.1")


main([test_manual_is_current, test_sections, test_contract, test_versions, test_layout])
