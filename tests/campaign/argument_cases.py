"""
What is given on the command line: lists of files from pipes, the same file more than once, -k more
than once, names of options that are cut short.
"""
import contextlib
import os
import re
import threading

import inputs
import options
import outcome
from lib.tools import Failure, fasta, same_file

COMMANDS = {"count": ["reads-0", "-k", 5, "-o", "out.kc"], "add": ["db.kc", "reads-0"],
            "remove": ["db.kc", "-f", "reads-0"], "query": ["db.kc", "-f", "reads-0"],
            "compact": ["db.kc"], "dump": ["db.kc"], "hist": ["db.kc"], "info": ["db.kc"],
            "check": ["db.kc"], "range": ["db.kc", "A", "C"],
            "merge": ["db.kc", "db.kc", "-o", "out.kc"],
            "union": ["db.kc", "db.kc", "-o", "out.kc"],
            "intersect": ["db.kc", "db.kc", "-o", "out.kc"],
            "subtract": ["db.kc", "db.kc", "-o", "out.kc"],
            "export": ["db.kc", "--to", "tsv", "-o", "out.tsv"],
            "import": ["counts.tsv", "-o", "out.kc"]}


class Reads:
    """Some files of reads."""

    def __init__(self, case, k):
        self.case, self.names, self.sequences = case, [], []
        for i in range(case.rng.choice((1, 2, 4))):
            found = inputs.reads(case.rng, k, case.rng.choice((100, 3000)))
            self.names.append(f"reads-{i}")
            self.sequences.append([bases for bases, _ in found])
            case.write(self.names[-1], fasta(found))
            case.add("bases", inputs.nbases(found))

    def of(self, numbers):
        """The sequences of these files."""
        return [bases for number in numbers for bases in self.sequences[number]]


# ---- lists from pipes ----

@contextlib.contextmanager
def descriptor(case, text):
    """A list in a pipe that kcount inherits, as in @<(ls)."""
    take, put = os.pipe()
    os.write(put, text)
    os.close(put)
    case.commands.append(f"# descriptor {take} is a pipe with {text!r}")
    yield f"@/dev/fd/{take}", {"pass_fds": (take,)}
    os.close(take)


@contextlib.contextmanager
def named_pipe(case, text):
    path = case.folder / "fifo"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(text,), daemon=True)
    writer.start()
    yield "@fifo", {}
    os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))  # if nobody has opened it
    writer.join()


@contextlib.contextmanager
def standard_input(_, text):
    yield "@/dev/stdin", {"feed": text}


def piped_list(case, counting):
    """auto: if no device can start, the CPU must not read the list again."""
    reads = Reads(case, counting.k)
    text = "".join(f"{name}\n" for name in reads.names).encode()
    place = case.rng.choice((descriptor, named_pipe, standard_input))
    wanted = outcome.Wanted(reads.of(range(len(reads.names))), never=["same file"])
    with place(case, text) as (name, how):
        outcome.check_count(case, counting, [name], how, wanted, f"list from a {place.__name__}",
                            ["--device", "auto"])


# ---- files that are given twice ----

def another_name(case, name):
    """Another way to name the file."""
    way = case.rng.choice(("same", "dots", "symbolic link", "hard link"))
    if way == "same":
        return name
    if way == "dots":
        return f"../{case.folder.name}/./{name}"
    (os.symlink if way == "symbolic link" else os.link)(case.folder / name, case.folder / "link")
    return "link"


def same_file_twice(case, counting):
    rng, reads = case.rng, Reads(case, counting.k)
    again = rng.randrange(len(reads.names))
    names = [*reads.names, another_name(case, reads.names[again])]
    numbers = [*range(len(reads.names)), again]
    wanted = outcome.Wanted(reads.of(numbers), ["counted twice"])
    how = {}
    if rng.random() < 0.2:
        how["stdin"] = case.folder / names[-1]
        names[-1] = "-"
    elif rng.random() < 0.5:
        begin = rng.randrange(len(names))
        case.write("list", "\n".join(names[begin:]) + "\n")
        names[begin:] = ["@list"]
    outcome.check_count(case, counting, names, how, wanted, "the same file twice")


# ---- -k more than once ----

def spelled(rng, ks):
    """-k with one or more numbers."""
    text = ",".join(map(str, ks))
    return rng.choice((["-k", text], [f"-k{text}"], [f"--kmer={text}"], ["--kmer", text]))


def repeated_lengths(case, counting):
    rng, reads = case.rng, Reads(case, counting.k)
    ks = rng.sample(range(1, 256), rng.choice((1, 2, 3)))
    given = [[k] for k in ks] if rng.random() < 0.7 else [ks, [rng.choice(ks)]]
    given = given if len(given) > 1 else given * 2
    names = {k: "all.kc" if len(ks) == 1 else f"all.k{k}.kc" for k in ks}
    before, strands = case.names(), ["--stranded"] if counting.stranded else []
    words = [word for some in given for word in spelled(rng, some)]
    done = case.kcount("count", *reads.names, *words, *strands, "--quiet", "-o", "all.kc",
                       "-t", options.draw_threads(rng), "--device", "cpu")
    times = "twice" if len(given) == 2 else f"{len(given)} times"
    outcome.check_said(done.said, outcome.Wanted([], [f"-k is given {times}"]),
                       "-k given again")
    case.expect_names([*before, *names.values()], "-k given again")
    for k, name in names.items():
        engine = options.engine(rng, case.setting, k)
        case.kcount("count", *reads.names, "-k", k, *strands, *engine, "--force", "-o", "one.kc")
        same_file(case.folder / name, case.folder / "one.kc", f"-k given again: {words}")


# ---- options that are cut short ----

def cut_short(rng, names):
    """A beginning of an option's name that is not a name itself."""
    while True:
        name = rng.choice(names)
        part = name[:rng.randrange(1, len(name))]
        if part not in names:
            return part


def abbreviation(case, counting):
    rng = case.rng
    Reads(case, counting.k)
    case.write("counts.tsv", "ACGTT\t3\n")
    case.kcount("count", "reads-0", *counting.options(), "-o", "db.kc")
    before, names = (case.folder / "db.kc").read_bytes(), case.names()
    command = rng.choice(sorted(COMMANDS))
    known = re.findall(r"--([a-z][a-z-]*)", case.kcount(command, "--help").out.decode())
    option = "--" + cut_short(rng, sorted(set(known)))
    value = rng.choice(([], ["2"], ["=2"]))
    words = [option + value[0]] if value == ["=2"] else [option, *value]
    done = case.kcount(command, *COMMANDS[command], *words, codes=(0, 1, 2))
    if done.code != 2:
        raise Failure(f"{command} {words}: exit {done.code}, not 2: {done.said[-1500:]}")
    outcome.check_said(done.said, outcome.Wanted([], [f"unknown option '{option}"]),
                       f"{command} {words}")
    case.expect_names(names, f"{command} {words}")
    if (case.folder / "db.kc").read_bytes() != before:
        raise Failure(f"{command} {words} changed the file")


def argument_case(case):
    action = case.rng.choice((piped_list, same_file_twice, repeated_lengths, abbreviation))
    action(case, outcome.draw_counting(case.rng))
