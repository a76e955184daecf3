"""
Names and modes of outputs: an output that is an input as well, an empty name or a folder's, names
that a terminal would obey, files that are replaced.
"""
import os
import stat

from lib import model
import store_cases
from case import check_printable
from lib.tools import Failure

MODES = (0o600, 0o640, 0o400, 0o660, 0o644, 0o755)
ODD = ("\x1b[31m", "\x1b]0;title\x07", "\nkcount: forged", "\r", "\x9b", "\u202e", "\u2028",
       b"\xff", b"\xc3", "\x7f", "%s%n", "'", "\u00e9")


class Stored:
    """A .kc file of k-mers, the reads that it was made from, and the same counts as text."""

    def __init__(self, case):
        self.case, self.files = case, store_cases.Files(case)
        self.name = self.files.count()
        self.reads = self.files.files[self.name].plain[0]
        self.counts = self.files.files[self.name].counts
        case.write("counts.tsv", model.lines(self.counts) or "ACGTACGT\t1\n")

    def count(self):
        return ["count", self.reads, "-k", self.files.k, *self.files.strands(), "--device", "cpu"]

    def outputs(self):
        """Commands that write one file, whose name follows."""
        name = self.name
        return ([*self.count(), "-o"], ["merge", name, "-o"], ["union", name, name, "-o"],
                ["dump", name, "-o"], ["export", name, "--to", "kff", "-o"],
                ["import", "counts.tsv", "-o"])


def content_of(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def refused(case, *arguments):
    """Wrong usage: nothing is lost, and nothing new is there."""
    before, names = content_of(case.folder), case.names()
    done = case.kcount(*arguments, codes=(0, 1, 2))
    after = content_of(case.folder)
    lost = [name for name, content in before.items() if after.get(name) != content]
    if done.code != 2 or lost:
        raise Failure(f"{arguments}: exit {done.code}, not 2; lost: {lost}: {done.said[-1000:]}")
    case.expect_names(names, f"{arguments}")


# ---- files that are replaced ----

def modes(case, stored):
    """A file that replaces another one has its mode."""
    command, mode = case.rng.choice(stored.outputs()), case.rng.choice(MODES)
    path = case.write("old", "what was there before")
    path.chmod(mode)
    case.kcount(*command, "old", *([] if command[0] == "dump" else ["--force"]))
    now = stat.S_IMODE(path.stat().st_mode)
    if now != mode or path.read_bytes() == b"what was there before":
        raise Failure(f"{command}: mode {oct(now)}, not {oct(mode)}, or not replaced")


# ---- outputs that are inputs ----

def derived(case, stored):
    """Commands that would replace an input, under a name that they derive; and that input."""
    count, reads = stored.count(), stored.reads
    k = stored.files.k
    return case.rng.choice((
        ("y.kmc_pre", stored.name, ["export", "y.kmc_pre", "--to", "kmc", "-o", "y"]),
        ("y.kmc_suf", stored.name, ["export", "y.kmc_suf", "--to", "kmc", "-o", "y"]),
        ("y.hist", stored.name, ["export", "y.hist", "--to", "fastk", "-o", "y"]),
        ("y.ktab", stored.name, ["export", "y.ktab", "--to", "fastk", "-o", "y"]),
        ("y.tsv", reads, ["count", "y.tsv", *count[2:], "-o", "y.kc", "--format", "tsv"]),
        ("y.kff", reads, ["count", "y.kff", *count[2:], "-o", "y.kc", "--format", "kff"]),
        (f"y.k{k}.kc", reads, ["count", f"y.k{k}.kc", "-k", f"{k},{k % 255 + 1}", "-o", "y.kc"]),
        ("y.kc", stored.name, ["merge", "y.kc", "-o", "y.kc"]),
        ("y.kc", stored.name, ["export", "y.kc", "--to", "kff", "-o", "y.kc"]),
        ("y.kc", stored.name, ["dump", "y.kc", "-o", "y.kc"])))


def same_as_input(case, stored):
    name, source, command = derived(case, stored)
    case.write(name, (case.folder / source).read_bytes())
    if case.rng.random() < 0.3:  # the output's name is a link to the input
        os.rename(case.folder / name, case.folder / "there")
        os.symlink("there", case.folder / name)
    refused(case, *command, *([] if command[0] == "dump" else ["--force"]))


def other_half(case, stored):
    """Part of a database is an input, too."""
    case.kcount("export", stored.name, "--to", "kmc", "-o", "base")
    names = ["base", "base.kmc_pre", "base.kmc_suf"]
    refused(case, "import", case.rng.choice(names), "-o", case.rng.choice(names[1:]), "--force")


# ---- names ----

def no_file(case, stored):
    """No file can have such a name."""
    (case.folder / "folder").mkdir()
    name = case.rng.choice(("", "folder/", ".", "..", "./", "folder/.", "folder/.."))
    outputs = [*stored.outputs(), ["export", stored.name, "--to", "kmc", "-o"],
               ["export", stored.name, "--to", "fastk", "-o"],
               ["count", stored.reads, "-k", "5,6", "-o"], ["check", stored.name, "--repair"]]
    refused(case, *case.rng.choice(outputs), name)


def draw_name(rng):
    parts = [part if isinstance(part, bytes) else part.encode()
             for part in rng.choices(ODD, k=rng.choice((1, 2, 4)))]
    return os.fsdecode(b"in" + b"x".join(parts))


def obeyed(case, stored):
    """case.check_end() finds what a terminal would obey on standard error."""
    name, other = draw_name(case.rng), draw_name(case.rng) + ".kc"
    os.rename(case.folder / stored.reads, case.folder / name)
    case.kcount("count", name, *stored.count()[2:], "-o", other)
    commands = [(["info", other], (0,)), (["check", other], (0,)), (["check", name], (1,)),
                (["count", name, "-k", 5, "-o", other], (1,)), (["dump", f"no-{name}"], (1,)),
                (["merge", other, name, "-o", "new.kc"], (1,)), (["count", f"@{name}"], (1, 2)),
                (["query", other, name], (2,)), ([name], (1, 2)), (["count", f"--{name}"], (2,))]
    for command, codes in case.rng.sample(commands, 4):
        done = case.kcount(*command, codes=codes)
        check_printable(done.out, f"{command}, standard output")


def output_case(case):
    action = case.rng.choice((modes, same_as_input, other_half, no_file, obeyed))
    action(case, Stored(case))
