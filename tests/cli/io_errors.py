"""
A system error at every single call on a file, in every command that writes and in readers: the
command fails with a message that names the file, or did not need the call. The old file is intact
or the new one is complete, and nothing else is left behind. An interrupted call, or half of a read
or write, changes nothing.

    io_errors.py KCOUNT SOURCE FAULT [full | quick] [CASE...]

full tries every call in every way, quick a fixed sample. The last line is
"io_errors: runs=N violations=N".
"""
import concurrent.futures
import gzip
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import traceback

from lib.faults import FAULT, Looker, run_faulty
from lib.scenes import QUIET, aligned, dumped, one_run, reads, three_runs, two_files
from lib.session import SOURCE, Session
from lib.tools import SKIPPED, Failure

FULL = "full" in sys.argv[4:]
WANTED = [name for name in sys.argv[4:] if name not in ("full", "quick")]
SHARE = 1 if FULL else 4  # one in this many runs is made, but every error on an ordinary file
MOST_REPORTED = 8  # violations reported per case
# Calls at which a fault must change nothing. Only libraries call read, and they do not retry after
# an interrupt; as kcount has no signal handler, none ever comes.
INVISIBLE = {"interrupt": {"pread", "write", "pwrite", "pwritev", "fallocate", "ftruncate", "fsync",
                           "fdatasync", "flock"},
             "short": {"read", "pread", "write", "pwrite", "pwritev"}}
WANT_SPACE = {"write", "pwrite", "pwritev", "create", "link", "fallocate"}
# Files with the amount of memory and the number of cores: without them kcount uses defaults.
SYSTEM = ("/proc/", "/sys/")


class Case:
    """
    A command.
        target  the file that it changes or makes; None: it only reads
        also    other files that it changes or makes, all or none together with target
        most    how many calls of one kind on one file are tried
        system  try the files of SYSTEM, too, which all commands use in the same way
        temporary  how the names begin of .kc files that it makes for itself
    """
    def __init__(self, name, prepare, arguments, target="db.kc", most=1000, system=False, also=(),
                 temporary=None):
        self.name, self.prepare, self.arguments, self.target = name, prepare, arguments, target
        self.most, self.system, self.also = most, system, also
        self.temporary = temporary
        # beside those of -t, a report has a thread for checksums
        self.threads = 2 if 2 in arguments or arguments[0] == "report" else 1


class Bench:
    """The folder of a case, and its files before and after a run without faults."""
    def __init__(self, case, looker):
        self.case, self.looker, self.s = case, looker, Session()
        case.prepare(self.s)
        self.before = self.s.contents()
        self.good = run_faulty(self.s, case.arguments, code=0, calls="all")
        self.after = self.s.contents()
        self.looks = {}

    def is_system(self, at):
        return self.good.calls[at - 1][1].startswith(SYSTEM)

    def restore(self):
        now = self.s.contents()
        for name in set(now) - set(self.before):
            (self.s.path / name).unlink()
        for name, content in self.before.items():
            if now.get(name) != content:
                self.s.write(name, content)

    def pairs(self, order, content):
        """What a .kc file holds; asks about a scratch copy, because `order` may change it."""
        if (order, content) not in self.looks:
            with tempfile.TemporaryDirectory() as aside:
                path = pathlib.Path(aside, "copy.kc")
                path.write_bytes(content)
                look = self.looker.ask(order, path)
            self.looks[order, content] = look.pairs if look.outcome == "ok" else look.message
        return self.looks[order, content]

    def is_one_of_both(self, now):
        """The target is what it was or what it was to be, and can be added to."""
        before, after = self.before.get(self.case.target), self.after.get(self.case.target)
        if now in (before, after):
            return True
        if None in (now, before) or not self.case.target.endswith(".kc"):
            return False
        return any(all(self.pairs(order, now) == self.pairs(order, right)
                       for order in ("look", "grow")) for right in (before, after))


def names_the_file(said, path, case):
    """Whether a message names the file; for a temporary one, its target or 'temporary file in'."""
    known = [os.path.basename(path), case.target or "", *case.also]
    if path.endswith("(deleted)") or case.temporary and case.temporary in path:
        known.append(case.temporary)
    if case.threads > 1:  # only with one thread is it certain which call failed
        known += [name for name in case.arguments if "." in str(name)] + [case.temporary]
    return any(name and name in said for name in known) or "temporary file in" in said or \
        path.startswith("pipe:") and "standard output" in said


def trouble(bench, done, kind, at):
    """What is wrong with a run, or None."""
    case, now = bench.case, bench.s.contents()
    name, path = done.calls[at - 1] if len(done.calls) >= at else ("nothing", "")
    if name == "unlink":  # what cannot be removed stays
        now.pop(os.path.basename(path), None)
    if name in INVISIBLE.get(kind, ()) and done.code != 0:
        return f"a harmless fault made it fail: {done.said}"
    if done.code == 0:
        if done.out != bench.good.out:
            return "exit 0 with other output"
        if now != bench.after:
            different = [f for f in set(now) | set(bench.after) if now.get(f) != bench.after.get(f)]
            return f"exit 0, but {different} is not what it should be"
        return None
    if done.code != 1:
        return f"exit {done.code}: {done.said}"
    if not any(line.startswith("kcount: ") for line in done.said.splitlines()):
        return f"no message from kcount: {done.said!r}"
    if path.startswith(SYSTEM):
        return f"failed, but no command needs this system file: {done.said}"
    if not names_the_file(done.said, path, case):
        return f"the message does not name the file: {done.said}"
    stray = set(now) - set(bench.before) - {case.target, *case.also}
    if stray:
        return f"left {sorted(stray)}"
    damaged = [f for f in bench.before
               if f not in (case.target, *case.also) and now.get(f) != bench.before[f]]
    if damaged:
        return f"{damaged} changed"
    together = [case.target, *case.also]
    if case.also and not any(all(now.get(f) == right.get(f) for f in together)
                             for right in (bench.before, bench.after)):
        return f"some of {together} are new, others are not: {sorted(now)}"
    if not bench.is_one_of_both(now.get(case.target)):
        return f"{case.target} is neither the old file nor the new one"
    return None


def faults_of(case, calls, rng):
    """(kind of fault, number of the call) for each run to make."""
    groups = {}
    for at, (name, path) in enumerate(calls, 1):
        if case.system or not path.startswith(SYSTEM):
            groups.setdefault((name, path), []).append(at)
    for (name, path), numbers in groups.items():
        if len(numbers) > case.most:
            numbers = numbers[:2] + sorted(rng.sample(numbers[2:-2], case.most - 4)) + numbers[-2:]
        kinds = ["error"] + [kind for kind, names in INVISIBLE.items() if name in names]
        if name in WANT_SPACE:
            kinds.append("full")
        yield from ((kind, at) for kind in kinds for at in numbers)


def try_fault(bench, kind, at):
    """Returns what is wrong, or None; and the call that failed without harm, or None."""
    try:
        done = run_faulty(bench.s, bench.case.arguments, calls="all", at=at, kind=kind, timeout=60)
    except subprocess.TimeoutExpired:
        return f"{kind} at call {at}: hangs", None
    wrong = trouble(bench, done, kind, at)
    name, path = (done.calls if len(done.calls) >= at else bench.good.calls)[at - 1]
    if wrong:
        return f"{kind} at call {at}, {name} {path}: {wrong.strip()}", None
    if kind != "error" or done.code != 0:
        return None, None
    return None, name + " " + (path if path.startswith(SYSTEM) else os.path.basename(path))


def sweep(case):
    rng = random.Random(case.name)
    nruns, violations, harmless = 0, [], {}
    with Looker() as looker:
        bench = Bench(case, looker)
        for kind, at in faults_of(case, bench.good.calls, rng):
            if rng.random() * SHARE >= 1 and (kind != "error" or bench.is_system(at)):
                continue
            bench.restore()
            nruns += 1
            wrong, call = try_fault(bench, kind, at)
            if wrong:
                violations.append(wrong)
            if call:
                harmless[call] = harmless.get(call, 0) + 1
    return nruns, violations, harmless


# ---- the cases ----

def torn(s):
    """A file with garbage after its footer, as a killed add leaves it."""
    three_runs(s)
    with open(s.path / "db.kc", "ab") as db:
        db.write(random.Random(1).randbytes(5000))


def packed(s):
    reads(s)
    s.write("a.fa.gz", gzip.compress((s.path / "a.fa").read_bytes()))
    s.write("human.bam", (SOURCE / "data" / "human.bam").read_bytes())


def many(s, nbases=200000):
    rng = random.Random(7)
    s.write("many.fa", ">x\n" + "".join(rng.choices("ACGT", k=nbases)) + "\n")


def more(s):
    many(s, 600000)


def several(s):
    """One of three outputs exists."""
    reads(s)
    s.kcount("b.fa", "-k", 31, "-o", "db.k31.kc")


def exported(s):
    one_run(s)
    for to, name in (("kmc", "x"), ("kff", "x.kff"), ("fastk", "x"), ("jellyfish", "x.jf"),
                     ("tsv", "x.txt")):
        s.kcount("export", "db.kc", "--to", to, "-o", name)
    (s.path / "x.txt.gz").write_bytes(gzip.compress((s.path / "x.txt").read_bytes()))


CASES = [
    Case("count", reads, ("a.fa", "@list.txt", "-k", 21, "-o", "db.kc", *QUIET), system=True),
    Case("count --force", three_runs, ("a.fa", "-k", 21, "-o", "db.kc", "--force", *QUIET)),
    Case("count of packed files", packed,
         ("a.fa.gz", "human.bam", "-k", 21, "-o", "db.kc", *QUIET)),
    Case("count with little memory", many,
         ("many.fa", "-k", 31, "-o", "db.kc", "--engine-memory", "4M", *QUIET), most=20),
    Case("count of several k", reads,
         ("a.fa", "-k", "21,31,40", "-o", "db.kc", *QUIET), "db.k21.kc",
         also=("db.k31.kc", "db.k40.kc")),
    Case("count --force of several k", several,
         ("a.fa", "b.fa", "-k", "21,31,40", "-o", "db.kc", "--force", *QUIET), "db.k21.kc",
         also=("db.k31.kc", "db.k40.kc")),
    Case("add", three_runs, ("add", "db.kc", "a.fa", *QUIET)),
    Case("add by two threads", three_runs, ("add", "db.kc", "a.fa", "b.fa", "-t", 2, "--quiet")),
    Case("add after a killed add", torn, ("add", "db.kc", "a.fa", *QUIET)),
    Case("remove", three_runs, ("remove", "db.kc", "-f", "b.fa", *QUIET)),
    Case("compact", three_runs, ("compact", "db.kc", *QUIET)),
    Case("merge", two_files, ("merge", "db.kc", "other.kc", "-o", "sum.kc", *QUIET), "sum.kc"),
    Case("merge --force", two_files,
         ("merge", "db.kc", "db.kc", "-o", "other.kc", "--force", *QUIET), "other.kc"),
    *(Case(f"import of {name}", exported, ("import", name, "-o", "new.kc", "-t", 1, "--quiet"),
           "new.kc")
      for name in ("x.kmc_pre", "x.kff", "x.ktab", "x.jf", "x.txt.gz")),
    Case("dump -o", one_run, ("dump", "db.kc", "-o", "db.txt"), "db.txt"),
    Case("dump -o over a file", dumped, ("dump", "db.kc", "-o", "db.txt", "--force"), "db.txt"),
    Case("range -o", three_runs, ("range", "db.kc", "A", "T", "-o", "db.txt"), "db.txt"),
    Case("export", three_runs, ("export", "db.kc", "--to", "arrow", "-o", "db.arrow", "-t", 1),
         "db.arrow"),
    Case("dump", three_runs, ("dump", "db.kc"), None),
    Case("hist", three_runs, ("hist", "db.kc"), None),
    Case("hist --gc", three_runs, ("hist", "--gc", "db.kc", "-t", 1), None),
    Case("compare", two_files, ("compare", "db.kc", "other.kc", "-t", 1), None),
    Case("compare -o", two_files,
         ("compare", "db.kc", "other.kc", "-o", "x.tsv", "-t", 1, "--quiet"), "x.tsv"),
    Case("hist of reads", packed,
         ("hist", "a.fa.gz", "human.bam", "@list.txt", "-k", 21, *QUIET), None),
    Case("hist --gc of reads", packed,
         ("hist", "--gc", "a.fa.gz", "human.bam", "@list.txt", "-k", 21, *QUIET), None, most=4,
         temporary="kcount.temporary."),
    Case("hist of reads with little memory", more,
         ("hist", "many.fa", "-k", 31, "--engine-memory", "1M", *QUIET), None, most=20),
    Case("profile", three_runs, ("profile", "db.kc", "c.fa"), None, most=20),
    Case("profile -o", three_runs, ("profile", "db.kc", "c.fa", "-o", "c.tsv"), "c.tsv", most=20),
    Case("query -f", three_runs, ("query", "db.kc", "-f", "c.fa"), None, most=20),
    Case("filter", three_runs,
         ("filter", "db.kc", "b.fa", "c.fa", "-o", "x", "--rest", "y", "--names", "names.zst", "-t",
          1, "--quiet"), "x_1.fa", also=("x_2.fa", "y_1.fa", "y_2.fa", "names.zst"), most=20),
    Case("filter --force", three_runs,
         ("filter", "db.kc", "c.fa", "-o", "b.fa", "--table", "t.gz", "--force", "-t", 1,
          "--quiet"), "b.fa", also=("t.gz",), most=20),
    Case("filter of alignments", aligned,
         ("filter", "db.kc", "a.sam", "-o", "x.bam", "--rest", "y.bam", "-t", 1, "--quiet"),
         "x.bam", also=("y.bam",), most=20),
    Case("report", three_runs,
         ("report", "db.kc", "--assembly", "c.fa", "--tracks", "x", "--merqury", "y", "-t", 1,
          "--quiet"), "y.qv",
         also=(*(f"x.c.{kind}.bed" for kind in ("absent", "duplicated", "collapsed")),
               *(f"y.{kind}" for kind in ("c.spectra-cn.hist", "c.only.hist", "c.qv",
                                          "completeness.stats", "spectra-asm.hist",
                                          "dist_only.hist")),
               "c_only.bed", "c_only.wig", "db.hist", "db.hist.ploidy", "db.filt"),
         most=4, temporary="kcount.temporary."),
    Case("report of reads", packed,
         ("report", "a.fa.gz", "human.bam", "@list.txt", "-o", "x.html", *QUIET), "x.html", most=4,
         temporary="kcount.temporary."),
    Case("check", three_runs, ("check", "db.kc", "-t", 1), None),
]


def work(number):
    case = CASES[number]
    try:
        nruns, violations, harmless = sweep(case)
    except Exception:
        return 0, 1, [f"{case.name}: FAILED: {traceback.format_exc()}"]
    lines = [f"{case.name}: {nruns} runs, {len(violations)} violations"]
    lines += [f"  VIOLATION: {violation}" for violation in violations[:MOST_REPORTED]]
    if FULL:
        ours = {what: n for what, n in harmless.items() if not any(p in what for p in SYSTEM)}
        lines.append("  errors that did no harm: "
                     f"{sum(harmless.values()) - sum(ours.values())} at system files; "
                     + ", ".join(f"{n} {what}" for what, n in sorted(ours.items())))
    return nruns, len(violations), lines


def main():
    if not FAULT.exists():
        sys.exit(SKIPPED)
    chosen = [i for i, case in enumerate(CASES) if not WANTED or case.name in WANTED]
    nruns = nviolations = 0
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        for runs, violations, lines in pool.map(work, chosen):
            print("\n".join(lines), flush=True)
            nruns += runs
            nviolations += violations
    print(f"io_errors: runs={nruns} violations={nviolations}")
    sys.exit(nviolations > 0)


if __name__ == "__main__":
    main()
