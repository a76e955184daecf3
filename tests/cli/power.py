"""
Power loss during every command that writes: in each state in which the disk may be left (see
disk.py), the files are what docs/safety.md promises.

    power.py KCOUNT SOURCE FAULT [full | quick] [CASE...]
        FAULT: the library built from tests/fault; power_look is in the same folder
        full: tries at least 10,000 states, otherwise it fails; quick: a fixed sample

The last line is "power: states=N violations=N". With KC_POWER_KEEP=FOLDER the states of violations
are kept there; another KC_POWER_SEED takes other samples.
"""
import concurrent.futures
import os
import pathlib
import random
import shutil
import sys
import tempfile
import traceback

from lib import disk
from lib.faults import FAULT, Looker, run_faulty, run_killed
from lib.scenes import QUIET, dumped, one_run, reads, three_runs, two_files
from lib.session import SOURCE, Session
from lib.tools import SKIPPED, Failure

FULL = "full" in sys.argv[4:]
WANTED = [name for name in sys.argv[4:] if name not in ("full", "quick")]
LEAST = 10000  # states that a full run must try
BOUND = 1500 if FULL else 100  # most states tried at a flush
NSECOND = 40 if FULL else 4  # files left by earlier power failures
MOST_REPORTED = 5  # violations reported per case
REFERENCES, HEADER = 64, 128  # offsets in a .kc file: see docs/dev/kc-file.md
# Where states are examined: on a disk, thousands of flushes would take long.
MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
KEEP = os.environ.get("KC_POWER_KEEP")
SEED = os.environ.get("KC_POWER_SEED", "")


def files_of(s):
    """Path and content of all files; links are not files."""
    return {str(path): path.read_bytes() for path in s.path.resolve().rglob("*")
            if path.is_file() and not path.is_symlink()}


def contents(s):
    files, names = {}, {}
    for path, content in files_of(s).items():
        st = os.stat(path)
        names[path] = (f"{st.st_dev}:{st.st_ino}", 0)
        files[names[path]] = content
    return files, names


# ---- what a state of the folder is ----

class Judge:
    """Says what a file's content is; looks at each content only once."""
    def __init__(self, folder, looker):
        self.looker, self.scratch = looker, folder / "state.kc"
        self.known = {}

    def look(self, content, order="look"):
        key = order, disk.digest({"": content})
        if key not in self.known:
            self.scratch.write_bytes(content)
            self.known[key] = self.looker.ask(order, self.scratch)
        return self.known[key]


def append_verdict(judge, case, content):
    """add, remove: readable, old or new; it can grow, and is sound after that."""
    if content is None:
        return "absent", None
    now = judge.look(content)
    for name in ("before", "after"):
        wanted = case.looks[name]
        if now.outcome == "ok" and now.pairs == wanted.pairs:
            if now.histogram != wanted.histogram:
                return "wrong", "the histogram is not that of the k-mers"
            grown = judge.look(content, "grow")
            expected = case.grown[name]
            if (grown.outcome, grown.pairs, grown.tidy) != ("ok", expected.pairs, True):
                return name, f"cannot grow: {grown.outcome} {grown.message}"
            return name, None
    if now.outcome == "ok":
        return "wrong", "other k-mers"
    return "refused", now.message


def damaged_verdict(judge, case, content):
    """
    Power failed during an add, and later a byte of one of the header's references is damaged: the
    file may be refused, or hold all that an earlier killed add had written, but it must not turn
    out to be incomplete after it was opened.
    """
    at = REFERENCES + disk.digest({"": content})[0] % (HEADER - REFERENCES)
    content = content[:at] + bytes([content[at] ^ 0x55]) + content[at + 1:]
    now = judge.look(content)
    if now.outcome == "partly":
        return "wrong", f"opened, but {now.message}"
    if now.outcome == "refused":
        return "refused", now.message
    for name in ("before", "after", "unfinished"):
        if name in case.looks and now.pairs == case.looks[name].pairs:
            return name, None
    return "wrong", "other k-mers"


def new_verdict(judge, case, content):
    """A new .kc file: absent, whole, or refused wherever it is not sound."""
    if content is None:
        return "absent", None
    now, wanted = judge.look(content), case.looks["after"]
    if now.nwrong or now.histogram not in ("-", wanted.histogram):
        return "wrong", f"{now.nwrong} wrong counts, or a wrong histogram"
    if now.outcome == "ok":
        return ("after", None) if now.pairs == wanted.pairs else ("wrong", "other k-mers")
    return "refused", now.message


def grown_verdict(judge, case, content):
    """A new .kc file that is added to: as new_verdict, but either of its states is right."""
    if content is None:
        return "absent", None
    now = judge.look(content)
    for name in ("before", "after"):
        wanted = case.looks[name]
        if (now.pairs, now.histogram) == (wanted.pairs, wanted.histogram):
            return name, None
    return ("wrong", "other k-mers") if now.outcome == "ok" else ("refused", now.message)


def whole_verdict(judge, case, content):
    """A file that is replaced: byte for byte the old one or the new one."""
    if content is None:
        return "absent", None
    for name, wanted in (("before", case.before_content), ("after", case.after_content)):
        if content == wanted:
            return name, None
    return "wrong", f"{len(content)} bytes that are neither the old file nor the new one"


class Case:
    """
    A command and its promise.
        prepare  makes the files that are there before; returns nothing
        calls    kcount's arguments, command after command; power fails in any of them, and "before"
                 is what the last one finds
        during   what the target may be if power fails while they run
        finally_ what it may be when the last one has returned
        settings of the library for all commands
    """
    def __init__(self, name, prepare, calls, verdict, during, finally_, target="db.kc",
                 bound=BOUND, **settings):
        self.name, self.prepare, self.calls, self.verdict = name, prepare, calls, verdict
        self.during, self.finally_, self.target = set(during), set(finally_), target
        self.bound, self.settings = bound, settings


def read_target(s, case):
    path = s.path / case.target
    return path.read_bytes() if path.exists() else None


def learn(s, case, judge, lie):
    """What the target is before and after the commands; the journal's calls."""
    files, names = contents(s)
    *first, last = case.calls
    with tempfile.TemporaryDirectory() as aside:
        journal = pathlib.Path(aside, "journal")
        for arguments in first:
            run_faulty(s, arguments, code=0, journal=journal, **case.settings)
        case.before_content = read_target(s, case)
        settings = dict(case.settings, at=lie, kind="lie") if lie else case.settings
        case.last = run_faulty(s, last, code=0, journal=journal, **settings)
        calls = disk.read_journal(journal)
    case.after_content = read_target(s, case)
    case.looks, case.grown = {}, {}
    for name, content in (("unfinished", getattr(s, "unfinished", None)),
                          ("before", case.before_content), ("after", case.after_content)):
        if case.verdict is not whole_verdict and content is not None:
            case.looks[name] = judge.look(content, "know")
        if case.verdict is append_verdict and content is not None:
            case.grown[name] = judge.look(content, "grow")
    check_replay(s, files, names, calls)
    return files, names, calls


def check_replay(s, files, names, calls):
    """If nothing is lost, replaying the journal gives the folder: the journal missed no call."""
    *_, last = disk.snapshots(files, names, calls)
    files, names = dict(last.files), dict(last.names)
    disk.change(files, last.changes, [disk.KEPT] * len(last.changes))
    disk.rename(names, last.renamings)
    got = {path: files[inode] for path, inode in names.items()}
    wanted = files_of(s)
    if got != wanted:
        different = [p for p in set(got) | set(wanted) if got.get(p) != wanted.get(p)]
        raise Failure(f"the journal misses changes of {different}")


def sweep(case, bound, lie=None):
    """
    Returns (number of states, of flushes, verdicts, violations).
        lie  the number of a call of the last command: a flush to leave out
    """
    s = Session()
    case.prepare(s)
    seen, verdicts, violations, nsnapshots = set(), {}, [], 0
    rng = random.Random(case.name + SEED)
    with tempfile.TemporaryDirectory(dir=MEMORY) as scratch, Looker() as looker:
        judge = Judge(pathlib.Path(scratch), looker)
        files, names, calls = learn(s, case, judge, lie)
        target = str((s.path / case.target).resolve())
        for snapshot in disk.snapshots(files, names, calls):
            nsnapshots += 1
            returned = snapshot.ncalls == len(calls)
            if returned:
                seen.clear()  # what was right before may be wrong now
            for state in disk.states(snapshot, rng, bound, seen):
                what, trouble = case.verdict(judge, case, state.files.get(target))
                moment = "returned" if returned else "during"
                verdicts[moment, what] = verdicts.get((moment, what), 0) + 1
                allowed = case.finally_ if returned else case.during
                if what not in allowed or trouble and what != "refused":
                    violations.append((what, moment, trouble, state))
                    if lie:  # one is enough
                        return sum(verdicts.values()), nsnapshots, verdicts, violations
    return sum(verdicts.values()), nsnapshots, verdicts, violations


def unnoticed(case, flushes):
    """
    Leave out each of these flushes of a command in turn. If that makes no state wrong, the flush is
    useless or this test is blind. Returns the number of states, and a line for each such flush.
    """
    nstates, lines = 0, []
    sweep(case, 1)
    calls = [at for at, (name, path) in enumerate(case.last.calls, 1) if name == "fsync"]
    for number in flushes:
        if number >= len(calls):
            lines.append(f"{case.name}: only {len(calls)} flushes")
            continue
        result = sweep(case, case.bound, calls[number])
        nstates += result[0]
        if not result[3]:
            name, path = case.last.calls[calls[number] - 1]
            lines.append(f"{case.name}: nothing depends on flush {number} of {len(calls)}, "
                         f"which is of {path}")
    return nstates, lines


def report(case, nstates, nsnapshots, verdicts, violations):
    text = ", ".join(f"{count} {what}" + (" on return" if moment == "returned" else "")
                     for (moment, what), count in sorted(verdicts.items()))
    lines = [f"{case.name}: {nstates} states at {nsnapshots} flushes and the end: {text}"]
    for number, (what, moment, trouble, state) in enumerate(violations[:MOST_REPORTED]):
        lines.append(f"  VIOLATION, {moment}: {what}" + (f": {trouble}" if trouble else ""))
        lines.append(f"    {state.story}")
        keep(case, number, state)
    if len(violations) > MOST_REPORTED:
        lines.append(f"  and {len(violations) - MOST_REPORTED} more violations")
    return lines


def keep(case, number, state):
    if KEEP:
        folder = pathlib.Path(KEEP, f"{case.name.replace(' ', '-')}-{number}")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "story").write_text(state.story + "\n")
        for path, content in state.files.items():
            (folder / os.path.basename(path)).write_bytes(content)


# ---- the cases ----

def many_runs(s):
    """A file whose footer spans several sectors."""
    reads(s)
    s.kcount("a.fa", "-k", 55, "-o", "db.kc")
    for i in range(24):
        s.write("one.fa", f">x\n{'ACGTTGCA' * 9}{'ACGT'[i % 4] * 60}\n")
        s.kcount("add", "db.kc", "one.fa")


MORE = ("add", "db.kc", "a.fa", "b.fa", *QUIET)


def killed_add(s, distance):
    """A file after an add that was killed this many calls before its end."""
    three_runs(s)
    s.unfinished = run_killed(s, MORE, lambda names: len(names) - distance)["db.kc"]


def torn_reference(s):
    """A file after an add that was killed in the middle of writing the footer's reference."""
    three_runs(s)
    run_killed(s, MORE, lambda names: max(i for i, name in enumerate(names, 1) if name == "pwrite"),
               kind="torn")


def lost_power(s, seed):
    """A file as one power failure left it."""
    three_runs(s)
    files, names = contents(s)
    rng = random.Random(f"{seed}{SEED}")
    with tempfile.TemporaryDirectory() as aside:
        journal = pathlib.Path(aside, "journal")
        run_faulty(s, MORE, code=0, journal=journal)
        moments = list(disk.snapshots(files, names, disk.read_journal(journal)))
    state = rng.choice(list(disk.states(rng.choice(moments), rng, 200, set())))
    for path, content in state.files.items():
        pathlib.Path(path).write_bytes(content)


def linked(s):
    """A link to a file in another folder."""
    three_runs(s)
    os.mkdir(s.path / "folder")
    os.rename(s.path / "db.kc", s.path / "folder/db.kc")
    os.symlink("folder/db.kc", s.path / "link.kc")


def short_reads(s):
    one_run(s)
    s.write("no.fa", ">x\nACGT\n")


def golden(name):
    """A file that an older kcount wrote."""
    def prepare(s):
        reads(s)
        shutil.copy(SOURCE / "tests/golden" / name, s.path / "db.kc")
    return prepare


BOTH, NEW, WHOLE = {"before", "after"}, {"absent", "refused", "after"}, {"absent", "after"}
AFTER = {"after"}


def anew(name, prepare, *arguments, target="db.kc", **settings):
    return Case(name, prepare, [(*arguments, *QUIET)], new_verdict, NEW, NEW, target, **settings)


def appending(name, prepare, *arguments, bound=BOUND):
    calls = [("add", "db.kc", *arguments, *QUIET)]
    return Case(name, prepare, calls, append_verdict, BOTH, AFTER, bound=bound)


def damaged(name, prepare, *arguments):
    calls = [("add", "db.kc", *arguments, *QUIET)]
    return Case(name, prepare, calls, damaged_verdict, BOTH | {"refused", "unfinished"}, AFTER)


def removing(name, prepare, *arguments):
    calls = [("remove", "db.kc", "-f", *arguments, *QUIET)]
    return Case(name, prepare, calls, append_verdict, BOTH, AFTER)


def replacing(name, prepare, *arguments, target="db.kc", during=BOTH, **settings):
    return Case(name, prepare, [arguments], whole_verdict, during, AFTER, target, **settings)


COUNT = ("a.fa", "b.fa", "-k", 21, "-o", "db.kc")
COUNT_OTHER = ("b.fa", "c.fa", "-k", 21, "-o", "db.kc", "--force", *QUIET)
COMPACT = ("compact", "db.kc", *QUIET)
MERGE_OTHER = ("merge", "db.kc", "db.kc", "-o", "other.kc", "--force", *QUIET)
DUMP = ("dump", "db.kc", "-o", "db.txt")

CASES = [
    anew("count", reads, *COUNT),
    anew("count, named", reads, *COUNT, named=1),
    anew("merge", two_files, "merge", "db.kc", "other.kc", "-o", "sum.kc", target="sum.kc"),
    Case("count, add", reads, [(*COUNT, *QUIET), ("add", "db.kc", "c.fa", *QUIET)], grown_verdict,
         NEW | BOTH, AFTER),
    appending("add", one_run, "b.fa"),
    appending("second add", three_runs, "a.fa", "b.fa"),
    appending("add to many runs", many_runs, "c.fa"),
    Case("add by two threads", three_runs, [("add", "db.kc", "a.fa", "b.fa", "-t", 2, "--quiet")],
         append_verdict, BOTH, AFTER),
    appending("add after a killed add", lambda s: killed_add(s, 3), "c.fa"),
    appending("add after an add killed before its reference", lambda s: killed_add(s, 1), "c.fa"),
    appending("add onto a torn reference", torn_reference, "c.fa"),
    appending("add to an old file", golden("footer1-two-k21.kc"), "c.fa"),
    appending("add to old tombstones", golden("footer2-tombstones-k15.kc"), "c.fa"),
    Case("add of no k-mers", short_reads, [("add", "db.kc", "no.fa", *QUIET)], append_verdict,
         BOTH, BOTH),
    damaged("second add, then a damaged byte", three_runs, "a.fa", "b.fa"),
    damaged("add after a killed add, then a damaged byte", lambda s: killed_add(s, 1), "c.fa"),
    removing("remove", three_runs, "b.fa"),
    removing("remove onto a torn reference", torn_reference, "c.fa"),
    replacing("count --force", three_runs, *COUNT_OTHER),
    replacing("count --force, named", three_runs, *COUNT_OTHER, named=1),
    replacing("compact", three_runs, *COMPACT),
    replacing("compact, named", three_runs, *COMPACT, named=1),
    replacing("compact through a link", linked, "compact", "link.kc", *QUIET,
              target="folder/db.kc"),
    replacing("compact onto a torn reference", torn_reference, *COMPACT),
    replacing("merge --force", two_files, *MERGE_OTHER, target="other.kc"),
    replacing("dump -o", one_run, *DUMP, target="db.txt", during=WHOLE),
    replacing("dump -o over a file", dumped, *DUMP, "--force", target="db.txt"),
    replacing("compare -o", two_files, "compare", "db.kc", "other.kc", "-o", "x.tsv", "-t", 1,
              "--quiet", target="x.tsv", during=WHOLE),
]
for seed in range(NSECOND):
    CASES.append(appending(f"add after a power failure, number {seed}",
                           lambda s, seed=seed: lost_power(s, seed), "c.fa", bound=BOUND // 5))


# The flushes, numbered from 0, that are left out in turn. An append flushes the name, then what it
# mends or cuts off, the run, the footer, the reference.
LIES = {
    "count, add": [0],
    "second add": [2, 3],
    "remove": [2, 3],
    "add to many runs": [2, 3],
    "add onto a torn reference": [1, 3, 4],
    "second add, then a damaged byte": [1],
    "add after a killed add, then a damaged byte": [1, 2],
    "count --force": [0, 1],
    "compact": [0, 1],
    "compact, named": [0, 1],
    "compact through a link": [0, 1],
    "merge --force": [0, 1],
    "dump -o": [0, 1],
    "dump -o over a file": [0, 1],
    "compare -o": [0, 1],
}


def work(number, lies):
    """Returns the numbers of states and of violations, and lines to print."""
    case = CASES[number]
    try:
        if lies:
            nstates, lines = unnoticed(case, LIES[case.name])
            return nstates, len(lines), lines
        result = sweep(case, case.bound)
        return result[0], len(result[3]), report(case, *result)
    except Failure as failure:
        return 0, 1, [f"{case.name}: FAILED: {failure}"]
    except Exception:
        return 0, 1, [f"{case.name}: FAILED: {traceback.format_exc()}"]


def main():
    if not FAULT.exists():
        sys.exit(SKIPPED)
    chosen = [i for i, case in enumerate(CASES) if not WANTED or case.name in WANTED]
    jobs = [(i, False) for i in chosen] + [(i, True) for i in chosen if CASES[i].name in LIES]
    nstates = nviolations = nlies = 0
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        for (i, lies), (states, violations, lines) in zip(jobs, pool.map(work, *zip(*jobs))):
            for line in lines:
                print(line, flush=True)
            nlies += states if lies else 0
            nstates += 0 if lies else states
            nviolations += violations
    print(f"with a flush left out: {nlies} more states")
    print(f"power: states={nstates} violations={nviolations}")
    if FULL and not WANTED and nstates < LEAST:
        print(f"FAILED: fewer than {LEAST} states")
        sys.exit(1)
    sys.exit(nviolations > 0)


if __name__ == "__main__":
    main()
