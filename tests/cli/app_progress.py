"""
The progress line on a terminal: it fits, never goes back, and leaves nothing behind.

    app_progress.py KCOUNT SOURCE
"""
import re

from lib.session import SOURCE, READS, Session, expect
from lib.terminal import Terminal, shown
from lib.tools import SMALL, Failure, main

PHAGE = SOURCE / "data/phage.fq.gz"
OFTEN = {"KC_REDRAW_MS": "1"}
LINE = re.compile(r"(?:(?:(\d+)/\d+ )?[a-z]+(?: \d+-mers)? *)?(?:\[=* *\] *)?"
                  r"(?:(\d+)%|(\d+) MB|[\d.]+ M k-mers)?(?: +[\d.]+ MB/s)?"
                  r"(?: {2,}([\d:]+)(?: elapsed|, [\d:]+ left))?")


def drawn(said):
    """The progress lines, in order."""
    return re.findall(r"\r([^\r\n\x1b]+)\x1b\[K", said)


def check_lines(lines, columns):
    """They fit and are of the known form; stages, shares and times only grow."""
    last = (0, 0, "")
    for line in lines:
        found = LINE.fullmatch(line)
        if found is None or len(line) >= columns:
            raise Failure(f"on {columns} columns: {line!r}")
        stage, percent, megabytes, seconds = found.groups()
        if stage is not None:
            now = (int(stage), int(percent or megabytes or 0), seconds or last[2])
            if now < last:
                raise Failure(f"{line!r} after {last}")
            last = now


def drawn_of(s, columns, call, *parts, text=""):
    """The lines of a call that is repeated until all parts were seen: each may be missed, because
    the calls are short."""
    for _ in range(300):
        said = Terminal(s, "stderr", (24, columns), *call, text=text, **OFTEN).finish()
        lines = drawn(said)
        check_lines(lines, columns)
        if all(any(part in line for line in lines) for part in parts):
            return said, lines
    raise Failure(f"{call} on {columns} columns never said all of {parts}, but {lines}")


def test_widths():
    """With several k, all stages are counted."""
    s = Session()
    call = ["count", PHAGE, "-k", "31,51", "-o", "x.kc", "--force", "-t", 1, "--device", "cpu"]
    for columns in (20, 80) if SMALL else (10, 19, 20, 26, 40, 50, 60, 80, 120, 200):
        parts = ["1/5 reading", "3/5 writing 31-mers", "5/5 writing 51-mers"]
        said, lines = drawn_of(s, columns, call, "%", *(parts if columns > 20 else ()))
        expect("\n" in said.partition("  reads")[0], False, f"line ends within progress: {said!r}")
        expect(any("[" in line for line in lines), columns >= 40, f"a bar on {columns} columns")
        expect(shown(said)[0].startswith("  reads  "), True, f"what is left: {shown(said)}")


def test_resize():
    """Each line fits the terminal as it is when that line is drawn."""
    s = Session()
    terminal = Terminal(s, "stderr", (24, 80), "-", "-k", 3, text=None, **OFTEN)
    terminal.wait_for("\r1/3 reading   0 MB  0.0 MB/s  0:0")
    check_lines(drawn(terminal.said), 80)
    for columns, wanted in ((40, "\r1/3 reading   0 MB  0:0"), (10, "\r0 MB\x1b"), (3, "\r\x1b"),
                            (60, "\r1/3 reading   0 MB  0.0 MB/s  0:0")):
        terminal.resize(24, columns)
        terminal.said = ""
        terminal.wait_for(wanted)
        check_lines(drawn(terminal.said[terminal.said.index(wanted):]), columns)
    terminal.feed(READS)
    expect(shown(terminal.finish())[0].startswith("  reads  "), True, "the summary takes its place")


def test_usual_interval():
    """Redrawn five times a second; the summary follows."""
    s = Session()
    terminal = Terminal(s, "stderr", (24, 80), "-", "-k", 3, text=None)
    terminal.wait_for("\r1/3 reading   0 MB  0.0 MB/s  0:00 elapsed\x1b[K")
    expect(shown(terminal.said), ["1/3 reading   0 MB  0.0 MB/s  0:00 elapsed"], "the line")
    terminal.feed(READS)
    expect("wrote stdin.kc" in terminal.finish(), True, "the summary")


def test_no_line():
    """None on a dumb terminal, with --quiet or --no-progress, or where nothing is a terminal."""
    s = Session()
    call = ["count", PHAGE, "-k", 31, "-o", "x.kc", "--force"]
    for options, variables in (([], {"TERM": "dumb"}), ([], {"TERM": ""}), (["--no-progress"], {}),
                               (["--quiet"], {})):
        said = Terminal(s, "stderr", (24, 80), *call, *options, **OFTEN, **variables).finish()
        what = f"{options} {variables}: {said!r}"
        expect(("\x1b" in said, "reading" in said), (False, False), what)
        expect(said == "", options == ["--quiet"], what)
    s.kcount(*call)
    expect("\r" in s.said, False, "progress in a pipe")


def test_other_commands():
    s = Session()
    s.kcount(PHAGE, "-k", 31, "-o", "a.kc")
    s.kcount("export", "a.kc", "--to", "kmc", "-o", "kmc")
    for call, parts in (
            (("merge", "a.kc", "a.kc", "-o", "m.kc", "--force"), ["merging  ["]),
            (("subtract", "a.kc", "a.kc", "-o", "s.kc", "--force"), ["merging  ["]),
            (("import", "kmc.kmc_pre", "-o", "i.kc", "--force"),
             ["1/2 reading  [", "2/2 sorting  ["]),
            (("export", "a.kc", "--to", "kff", "-o", "x.kff", "--force"), ["writing  ["]),
            (("export", "a.kc", "--to", "tsv", "-o", "x.tsv", "--from-kmer", "C", "--force"),
             ["writing  0.0 M k-mers"]),
            (("dump", "a.kc", "-o", "d.tsv", "--force"), ["writing  ["]),
            (("check", "a.kc"), ["checking  ["]),
            (("check", "a.kc", "--repair", "r.kc", "--force"), ["repairing  ["]),
            (("hist", PHAGE, "-k", 31, "-t", 1), ["1/2 reading   [", "2/2 counting  ["])):
        drawn_of(s, 80, call, *parts)
    drawn_of(s, 80, ("import", "-", "-o", "t.kc", "--force"), "1/2 reading  0.", " M k-mers  0:00",
             "2/2 sorting  [", text=s.kcount("dump", "a.kc"))


def test_messages():
    """A message takes the line's place: nothing of it stays in front, behind or above."""
    s = Session()
    s.kcount(PHAGE, "-k", 31, "-o", "a.kc")
    damaged = bytearray((s.path / "a.kc").read_bytes())
    for at in range(20000, len(damaged) - 100000, 60000):
        damaged[at:at + 16] = bytes(16)
    s.write("a.kc", bytes(damaged))
    call = ["check", "a.kc", "--repair", "r.kc"]
    terminal = Terminal(s, "stderr", (24, 400), *call, **OFTEN)
    said = terminal.finish(code=1)
    lines = shown(said)
    expect("repairing" in said, True, "progress of repair")
    expect((all(line.startswith("kcount: ") for line in lines[:-1]), lines[-1], len(lines) > 4),
           (True, "", True), f"what is left: {lines}")
    s.write("short.fq", READS[:-6])
    terminal = Terminal(s, "stderr", (24, 80), "-", "-k", 3, text=None, **OFTEN)
    terminal.wait_for("reading")
    terminal.feed(READS[:-6])
    lines = shown(terminal.finish(code=1))
    expect(lines[0].startswith("kcount: standard input"), True, f"an error: {lines}")


main([test_widths, test_resize, test_usual_interval, test_no_line, test_other_commands,
      test_messages])
