"""
Help on one screen and in full: what fits, what is there, and in which order.

    app_help.py KCOUNT SOURCE CUDA MPI

CUDA and MPI are 1 in a build with them, otherwise 0.
"""
import re
import sys

from lib.session import Session, expect
from lib.tools import Failure, main

CUDA, MPI = (word == "1" for word in sys.argv[3:5])
GROUPS = {
    "Count": ["count"],
    "Look": ["hist", "model", "compare", "dump", "query", "profile", "report", "filter", "range",
             "info", "check"],
    "Combine": ["merge", "union", "intersect", "subtract"],
    "Change": ["add", "remove", "compact"],
    "Convert": ["export", "import"]}
COMMANDS = [*sum(GROUPS.values(), []), "help"]
NEEDS_CUDA, NEEDS_MPI = {"table", "map", "spread", "reader", "gpu-memory"}, {"no-mpi"}
OTHERS = {"filter": {"table"}}  # options with these names that need neither
GPU = "GPU and clusters:"
ENTRY = re.compile(r"^  (?:(-\w), |    )--([\w-]+)(?: ([A-Z]\S*))?(.*(?:\n {24}.*)*)", re.M)


def words(text):
    return " ".join(text.split())


def entries(text):
    """The explained options: (letter, name, argument) -> text."""
    return {found[:3]: words(found[3]) for found in ENTRY.findall(text)}


def expect_screen(text, what):
    lines = text.splitlines()
    if len(lines) > 24 or max(map(len, lines)) > 80:
        raise Failure(f"{what} is no screen of 24 lines of 80 columns:\n{text}")


def expect_order(text, parts, what):
    places = [text.find(part) for part in parts]
    if -1 in places or places != sorted(places):
        raise Failure(f"{what}: {parts} are at {places} of:\n{text}")


def unwrapped(text):
    return re.sub(r"\n +", " ", text)


def named(text):
    """Options of another command that are only named: its name, and theirs."""
    found = re.search(r"Also options of 'kcount (\w+) --help': (.*)", unwrapped(text))
    return (found.group(1), found.group(2).split()) if found else (None, [])


def manual_options(page):
    """The names of the options of each command, and those that all have in common."""
    commands = dict(re.findall(r"^\.Ss kcount (\w+) .*\n((?:.*\n)*?)(?=\.S[sh] )", page, re.M))
    common = re.search(r"^\.Sh COMMON OPTIONS\n((?:.*\n)*?)(?=\.Sh )", page, re.M).group(1)
    item = re.compile(r"^\.It .*Fl \\-([\w\\-]+)", re.M)
    names = lambda text: [name.replace("\\", "") for name in item.findall(text)]
    return {command: names(text) for command, text in commands.items()}, names(common), commands


def test_overview():
    """Every command in its group, with its summary, on one screen."""
    s = Session()
    text = s.kcount("help")
    expect_screen(text, "the overview")
    expect(s.kcount("--help"), text, "--help and help")
    s.kcount(code=None)
    expect(s.said, text, "messages of a call without arguments")
    groups, group = {}, None
    for title, command in re.findall(r"^(\w*) +(\w+) {2,}[A-Z].+$", text, re.M):
        group = title or group
        groups.setdefault(group, []).append(command)
    expect(groups, GROUPS, "groups of commands")
    expect_order(text, ["kcount reads.fq.gz -k 31", "count  ", "'kcount COMMAND -h'"], "overview")


def test_short_help():
    """-h: one screen, with the first sentences of --help, and the first examples."""
    s = Session()
    for command in COMMANDS:
        text, full = s.kcount(command, "-h"), s.kcount(command, "--help")
        expect_screen(text, f"{command} -h")
        expect(s.kcount(command, "--usage"), text, f"{command} --usage")
        expect_order(text, [f"Usage: kcount {command} ", "\n  kcount ",
                            f"'kcount {command} --help'"], f"{command} -h")
        explained = entries(full)
        for option, sentence in entries(text).items():
            if not re.match(re.escape(sentence) + r"\.( |$)", explained[option]):
                raise Failure(f"{command} -h on {option}: {sentence!r} does not begin "
                              f"{explained[option]!r}")
        names = {name for _, name, _ in entries(text)}
        rare = (NEEDS_CUDA | NEEDS_MPI) - OTHERS.get(command, set())
        expect(names & rare, set(), f"rare options in {command} -h")
        examples = [line for line in text.splitlines() if line.startswith("  kcount ")]
        for example in examples:
            expect(example in full, True, f"{example} in {command} --help")
    for option in ("--kmer", "--output", "--threads", "--memory", "--min", "--max", "--stranded",
                   "--format", "--json", "--quiet", "--force", "--tmp DIR", "--device NAME"):
        expect(option in s.kcount("count", "-h"), True, f"{option} in count -h")


def test_order_of_full_help():
    """Usage, examples, options, and then prose."""
    s = Session()
    for command in COMMANDS:
        text = s.kcount(command, "--help")
        expect(s.kcount("help", command), text, f"help {command}")
        expect(max(map(len, text.splitlines())) < 80, True, f"width of {command} --help")
        expect_order(text, ["Usage: ", "\nExamples:\n", "\nCommon options:\n"], f"{command} --help")
        prose = text.splitlines()[-1]
        expect(prose != "" and not prose.startswith(" "), True, f"{command} --help ends with prose")
    expect_order(s.kcount("count", "--help"),
                 ["Examples:", "\nOptions:\n", "--kmer", "Common options:", "--device",
                  "\nFILE is FASTQ"], "count --help")


def test_every_option_is_in_help():
    """--help explains the options of the manual, or names them if another command explains them;
    those that the build cannot use are left out."""
    s = Session()
    own, common, sections = manual_options(s.kcount("help", "--man"))
    unusable = (set() if CUDA else NEEDS_CUDA) | (set() if MPI else NEEDS_MPI)
    for command in COMMANDS:
        text = s.kcount(command, "--help")
        shown = {name for _, name, _ in entries(text)}
        base, names = named(text)
        if base:
            theirs = entries(s.kcount(base, "--help"))
            for name in names:
                found = [long for short, long, _ in theirs if name in (short, "--" + long)]
                expect(len(found), 1, f"{name} of {command} in {base} --help")
                shown.add(found[0])
        for name in own[command]:
            expect(name in shown, True, f"--{name} in {command} --help")
        wanted = set(own[command])
        shared = re.search(r"^Common options:\n((?:\.Fl .*\n)*)", sections[command], re.M)
        for found in re.findall(r"\.Fl (\S+)", shared.group(1)) if shared else []:
            found = found.replace("\\", "")
            wanted |= {long for short, long, _ in entries(s.kcount("count", "--help"))
                       if short == "-" + found} if len(found) == 1 else {found[1:]}
        wanted |= {"usage", "help", "version", "no-mpi"}
        expect(shown, wanted - (unusable - OTHERS.get(command, set())), f"options of {command}")
        expect(GPU in text, (CUDA or MPI) and bool(wanted & ({"no-mpi"} if MPI else {"device"})),
               f"'{GPU}' in {command} --help")


def test_shared_options_are_explained_once():
    """Once in the manual; and with the same words by each command."""
    s = Session()
    own, common, _ = manual_options(s.kcount("help", "--man"))
    expect(len(common), len(set(common)), "options in COMMON OPTIONS")
    texts = {}
    for command in COMMANDS:
        for (_, name, _), text in entries(s.kcount(command, "--help")).items():
            if name in common and name not in own[command]:
                texts.setdefault(name, set()).add(text)
    for name in ("threads", "memory", "device", "min", "json", "quiet", "force"):
        expect(len(texts[name]), 1, f"texts about --{name}")
    expect([name for name in texts if len(texts[name]) > 1], [], "options with several texts")


def test_options_of_count():
    """hist and add name the options of count in a line, and do not repeat their texts."""
    s = Session()
    for command in ("hist", "add"):
        text = s.kcount(command, "--help")
        base, names = named(text)
        line = re.search("  Also options .*", s.kcount(command, "-h"))[0]
        expect("'kcount count --help'" in line, True, f"what -h says of them: {line!r}")
        expect(base, "count", f"whose options {command} has")
        expect({"-t", "-m", "--tmp", "--device", "-q"} <= set(names), True, f"options in {names}")
        expect("Hard limit" in text, False, f"{command} --help repeats count's")


def test_words():
    """What the words on help promise."""
    s = Session()
    text = unwrapped(s.kcount("count", "--help"))
    for said in ("Hard limit on memory", "are deleted at the end, even after a crash",
                 "such as N, are not counted", "For fewer messages, use --quiet",
                 "tsv, kff, kmc, jellyfish, fastk or arrow"):
        expect(said in words(text), True, f"{said!r} in count --help")
    for command, said in (("hist", "'jellyfish histo -h N' does; N: --max-count"),
                          ("union", "--counts RULE Count of a k-mer: min, max, sum, left, right or "
                                    "difference; default: sum (intersect: min)"),
                          ("import", "Count a k-mer and its reverse complement together")):
        expect(said in words(s.kcount(command, "-h")), True, f"{said!r} in {command} -h")


main([test_overview, test_short_help, test_order_of_full_help, test_every_option_is_in_help,
      test_shared_options_are_explained_once, test_options_of_count, test_words])
