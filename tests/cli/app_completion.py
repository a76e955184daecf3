"""
Completion of command lines: bash and fish offer what --help lists. The function for bash is called
as bash calls it, fish is asked with 'complete -C'; of zsh's script only the syntax is checked.

    app_completion.py KCOUNT SOURCE
"""
import os
import re
import shutil
import subprocess

from lib.session import Session, expect
from lib.tools import main

COMMAND = re.compile(r"^(?:\w+)? +(\w+) {2,}[A-Z]", re.M)
ENTRY = re.compile(r"\n  (?=-\w, --|    --)")
NAMES = ("a.fq", "a.kc", "b c.kc", "notes.txt", "lane1/d.kc")
FILES = {"a.fq", "a.kc", "b c.kc", "notes.txt", "lane1"}
BASH = """
source "$SCRIPTS/bash" || exit
[[ $(complete -p kcount) == *" -F _kcount kcount" ]] || exit
COMP_WORDS=(kcount "$@")
COMP_CWORD=$#
_kcount kcount "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
((${#COMPREPLY[@]} == 0)) || printf '%s\\n' "${COMPREPLY[@]}"
"""


class Completions(Session):
    """A session whose scripts are in another folder, so that their names complete nothing."""
    def __init__(self):
        super().__init__()
        self.scripts = Session()
        for shell in ("bash", "zsh", "fish"):
            self.scripts.write(shell, self.kcount("help", "--completion", shell))


def folder_of_names():
    s = Completions()
    os.mkdir(s.path / "lane1")
    for name in NAMES:
        s.write(name, "")
    return s


def ask(s, *command):
    environment = {"PATH": os.environ["PATH"], "HOME": str(s.path), "SCRIPTS": str(s.scripts.path)}
    done = subprocess.run(command, cwd=s.path, env=environment, timeout=60, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE)
    expect((done.returncode, done.stderr), (0, b""), f"exit code and messages of {command}")
    return done.stdout.decode().splitlines()


def bash(s, *words):
    """What bash offers for the last of these words."""
    offered = ask(s, "bash", "--norc", "-c", BASH, "bash", *words)
    expect(len(offered), len(set(offered)), f"each of {offered} is offered once")
    return set(offered)


def fish(s, line):
    script = "source $SCRIPTS/fish; complete -C $argv[1]"
    return [row.split("\t")[0] for row in ask(s, "fish", "--no-config", "-c", script, line)]


def base_of(text):
    """The command to which a --help leaves options, and their names; or None and nothing."""
    found = re.search(r"Also options of 'kcount (\w+) --help': ((?:.|\n +)*)", text)
    return (found.group(1), found.group(2).split()) if found else (None, [])


def entries_of(s, command):
    """(-letter or "", --name, what --help says), also of options that it leaves to another one."""
    text = s.kcount(command, "--help")
    base, named = base_of(text)
    found = [(entry, None) for entry in re.split(ENTRY, text)[1:]]
    if base:
        found += [(entry, named) for entry in re.split(ENTRY, s.kcount(base, "--help"))[1:]]
    for entry, wanted in found:
        letter, name = re.match(r"(?:(-\w), | +)(--[\w-]+)", entry).groups("")
        if wanted is None or letter in wanted or name in wanted:
            yield letter, name, entry


def options_of(s, command):
    """Both names of each option in --help."""
    return {name for row in entries_of(s, command) for name in row[:2] if name}


def commands_of(s):
    return [*COMMAND.findall(s.kcount("--help")), "help"]


def arguments_of(s, command):
    """(option, what --help says) for each option with an argument."""
    for _, name, entry in entries_of(s, command):
        found = re.match(rf"(?:-\w, | +){name} ([A-Z]\S*)\s", entry)
        if found:
            yield name, found.group(1), " ".join(entry.split())


def test_commands():
    s = folder_of_names()
    commands = set(commands_of(s))
    expect(bash(s, ""), commands | FILES, "the first word")
    expect(bash(s, "co"), {"count", "compact", "compare"}, "commands in co")
    expect(bash(s, "help", ""), commands, "words after help")
    expect(bash(s, "help", "s"), {"subtract"}, "help s")


def test_options():
    s = folder_of_names()
    for command in commands_of(s):
        expect(bash(s, command, "-"), options_of(s, command), f"options of {command}")
    expect(bash(s, "dump", "--co"), {"--columns"}, "dump --co")
    expect(bash(s, "a.fq", "--min"), {"--min", "--min-quality"}, "options without a command")
    expect(bash(s, "-"), options_of(s, "count"), "options in the first word")


def test_arguments():
    """Words are those that --help names; names of files follow only options that take them."""
    s = folder_of_names()
    nwords = 0
    for command in commands_of(s):
        for option, argument, text in arguments_of(s, command):
            offered = bash(s, command, option, "")
            if argument == "DIR":
                expect(offered, {"lane1"}, f"{command} {option}")
            elif argument in ("FILE", "COPY.kc"):
                expect(offered, FILES, f"{command} {option}")
            elif offered and offered != FILES:
                nwords += 1
                for word in offered:
                    expect(re.search(rf"\b{word}\b", text) is not None, True,
                           f"{command} {option} {word} is in --help")
    expect(nwords >= 16, True, f"options with words: {nwords}")
    expect(bash(s, "dump", "--columns", ""), {"tab", "space"}, "dump --columns")
    expect(bash(s, "dump", "--columns", "="), {"tab", "space"}, "dump --columns=")
    expect(bash(s, "dump", "--columns", "=", "s"), {"space"}, "dump --columns=s")
    expect(bash(s, "union", "a.kc", "--counts", "m"), {"min", "max"}, "union --counts m")
    expect(bash(s, "a.fq", "--table", ""), {"warpdrive", "slab", "linear", "hopscotch"}, "--table")
    expect(bash(s, "a.fq", "-k", ""), set(), "-k")
    expect(bash(s, "dump", "-o", "n"), {"notes.txt"}, "dump -o n")


def test_words_are_accepted():
    s = Completions()
    s.kcount("a.fq", "-k", 3)
    for word in bash(s, "dump", "--columns", ""):
        s.kcount("dump", "a.kc", "--columns", word)
    for command in ("union", "intersect", "subtract"):
        for word in bash(s, command, "--counts", ""):
            s.kcount(command, "a.kc", "a.kc", "--counts", word, "-o", "b.kc", "--force")
    for word in bash(s, "count", "--reader", ""):
        s.kcount("a.fq", "-k", 3, "--reader", word, "--force", "--device", "cpu", code=None)
        expect("is not one of" in s.said, False, f"--reader {word}")
    for word in bash(s, "help", "--completion", ""):
        s.kcount("help", "--completion", word)
    s.kcount("help", "--completion", "tcsh", code=2, message="'tcsh' is not one of bash, zsh")


def test_operands():
    s = folder_of_names()
    for command in ("dump", "query", "info", "check", "compact", "merge", "subtract"):
        expect(bash(s, command, ""), {"a.kc", "b c.kc", "lane1"}, f".kc files of {command}")
    expect(bash(s, "dump", "--fasta", "b"), {"b c.kc"}, "dump b")
    expect(bash(s, "dump", "lane1/"), {"lane1/d.kc"}, "dump lane1/")
    for command in ("count", "add", "hist"):
        expect(bash(s, command, "a"), {"a.fq", "a.kc"}, f"files of {command}")
    expect(bash(s, "notes.txt", "a"), {"a.fq", "a.kc"}, "files without a command")


def test_other_shells():
    s = folder_of_names()
    for shell in ("zsh", "fish"):
        if shutil.which(shell):
            ask(s, shell, "-n", s.scripts.path / shell)
    if not shutil.which("fish"):
        return
    for command in commands_of(s):
        wanted = {name for name in options_of(s, command) if name.startswith("--")}
        expect(set(fish(s, f"kcount {command} --")), wanted, f"options of {command} in fish")
    expect(fish(s, "kcount inter"), ["intersect"], "a command in fish")
    expect(set(fish(s, "kcount a.fq --device ")), {"auto", "cpu", "cuda"}, "words in fish")
    expect(fish(s, "kcount dump a"), ["a.kc", "a.fq"], ".kc files come first in fish")
    expect(fish(s, "kcount help r"), ["range", "remove", "report"], "words after help in fish")


main([test_commands, test_options, test_arguments, test_words_are_accepted, test_operands,
      test_other_shells])
