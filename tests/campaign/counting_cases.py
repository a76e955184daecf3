"""Random reads in random files, counted with random options: the counts must be right."""
import json

import checks
import containers
import inputs
import options
import reference
from lib.tools import Failure, same_file, same_text

LARGE = 500000  # k-mers


def plural(rng, found):
    """The reads, in order, split among one to four files."""
    nfiles = rng.choice((1, 1, 1, 2, 3, 4))
    places = sorted(rng.randrange(len(found) + 1) for _ in range(nfiles - 1))
    parts = [found[begin:end] for begin, end in zip([0, *places], [*places, len(found)])]
    return [part for part in parts if part]


class Inputs:
    """
    Files of reads. Their names are fixed, because a .kc file stores them; their formats are drawn
    anew each time they are written.
    """

    def __init__(self, case, parts, counting):
        self.case, self.parts = case, parts
        self.formats = containers.WITH_QUALITY if counting.quality else containers.FORMATS
        self.names = [f"reads-{i}" for i in range(len(parts))]
        self.from_stdin = case.rng.randrange(len(parts)) if case.rng.random() < 0.1 else None

    def write(self, folder):
        rng = self.case.rng
        for i, (name, part) in enumerate(zip(self.names, self.parts)):
            form = rng.choice(self.formats)
            content = containers.render(rng, self.case.setting, part, form, i == self.from_stdin)
            self.case.write(f"{folder}/{name}", content)

    def arguments(self, folder):
        """The inputs on the command line, and where standard input comes from."""
        path, names = self.case.folder / folder, list(self.names)
        if self.from_stdin is not None:
            stdin = path / names[self.from_stdin]
            names[self.from_stdin] = "-"
            by_pipe = self.case.rng.random() < 0.5
            return names, {"feed": stdin.read_bytes()} if by_pipe else {"stdin": stdin}
        if self.case.rng.random() < 0.1:
            self.case.write(f"{folder}/list", "\n".join(names) + "\n")
            return ["@list"], {}
        return names, {}

    def count(self, folder, output, counting, engine):
        names, how = self.arguments(folder)
        arguments = [*names, *counting.options(), *engine, "-o", f"../{output}"]
        done = self.case.kcount("count", *arguments, "--json", "--quiet",
                                cwd=self.case.folder / folder, **how)
        summary = json.loads(done.out)
        if "auto" in engine and summary["device"].startswith("cuda"):
            self.case.add("device_runs", 1)
        return summary


    def hist(self, folder, counting, engine):
        names, how = self.arguments(folder)
        return self.case.kcount("hist", *names, *counting.options(), *engine, "--quiet",
                                cwd=self.case.folder / folder, **how).out


def check_summary(summary, reads, truth, wanted_lines, what):
    distinct = truth.lines.count(b"\n")
    wanted = {"reads": len(reads), "bases": inputs.nbases(reads), "kmers": truth.nkmers,
              "distinct": distinct, "dropped_distinct": distinct - wanted_lines.count(b"\n")}
    got = {name: summary[name] for name in wanted}
    if got != wanted:
        raise Failure(f"{what}: the summary says {got}, not {wanted}")


def check_first(case, truth, counting, wanted):
    """Read the first file in every way, or only dump and check it if it is large."""
    if truth.nkmers > LARGE:
        checks.check_dump(case, "first.kc", wanted)
        case.kcount("check", "first.kc", "--quiet", "-t", options.draw_threads(case.rng))
        return
    counts = reference.as_model(wanted)
    checks.check_file(case, "first.kc", counts, counting.k, counting.stranded)


def count_case(case):
    rng, counting = case.rng, options.Counting(case.rng)
    reads = inputs.reads(rng, counting.k) or [(b"A", b"I")]
    case.add("bases", inputs.nbases(reads))
    truth = reference.Reference(case, reads, counting)
    wanted = reference.kept(truth.lines, counting)
    files = Inputs(case, plural(rng, reads), counting)
    files.write("in")
    summary = files.count("in", "first.kc", counting, options.engine(rng, case.setting, counting.k))
    check_summary(summary, reads, truth, wanted, "the first count")
    check_first(case, truth, counting, wanted)
    case.add("kmers", truth.nkmers)
    for _ in range(rng.choice((1, 1, 2, 3))):
        if rng.random() < 0.6:
            files.write("in")
        engine = options.engine(rng, case.setting, counting.k)
        files.count("in", "other.kc", counting, [*engine, "--force"])
        same_file(case.folder / "other.kc", case.folder / "first.kc", f"another way: {engine}")
        case.add("kmers", truth.nkmers)
    if rng.random() < 0.2:
        reference.peers(case, truth, counting)
    if rng.random() < 0.5:
        engine = options.engine(rng, case.setting, counting.k)
        same_text(files.hist("in", counting, engine), case.kcount("hist", "first.kc").out,
                  f"hist of the reads: {engine}")
