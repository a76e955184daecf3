"""Damaged .kc files: every command gives the right answer, or fails and changes nothing."""
import json

import checks
from lib import model
import mutations
import store_cases
from lib.tools import Failure

BYTES = (mutations.flip_bit, mutations.set_byte)
KINDS = (*BYTES, *BYTES, mutations.truncate, mutations.truncate, mutations.zero, mutations.noise,
         mutations.overwrite, mutations.insert, mutations.delete, mutations.exchange)
FIELDS = ("k", "stranded", "runs", "tombstone_runs", "distinct", "sum", "counted_kmers",
          "reads")
CHECKED = (0, 1, 3)  # 3: sound, with bytes after it


def draw_store(case):
    """A sound .kc file of one or more runs, and another of the same k and strands."""
    files = store_cases.Files(case)
    name, other = files.count(), files.count()
    for _ in range(case.rng.choice((0, 1, 3))):
        (files.remove if case.rng.random() < 0.3 else files.add)(name)
    return files, name, other


def swap_blocks(rng, data, other):
    """Copy or swap parts of equal size, which may be whole blocks with right checksums."""
    size = rng.choice((8, 64, 512, 4096))
    if len(data) < 2 * size:
        return mutations.flip_bit(rng, data, other)
    a, b = sorted(rng.randrange(len(data) // size) * size for _ in "ab")
    taken = other[a:a + size] if rng.random() < 0.5 else data[b:b + size]
    changed = data[:a] + taken + data[a + len(taken):]
    if rng.random() < 0.5:
        changed = changed[:b] + data[a:a + size] + changed[b + size:]
    return changed


def damage_once(rng, data, other):
    kind = rng.random()
    if kind < 0.15:
        return swap_blocks(rng, data, other)
    if kind < 0.2:
        return data + bytes(rng.choices(range(256), k=rng.choice((1, 8, 100, 5000))))
    if kind < 0.35:  # header and references, where each byte matters most
        return mutations.mutate(rng, data[:128], other, BYTES) + data[128:]
    return mutations.mutate(rng, data, other, KINDS)


def damage(rng, data, other):
    """
    Damage the data. The result never begins with the whole other file: that would be a sound file
    with bytes after its footer, as a killed add leaves them.
    """
    changed = other
    while changed.startswith(other):
        changed = damage_once(rng, data, other)
    return changed


class Damaged:
    """A damaged file, and what it held before the damage."""

    def __init__(self, case, files, name, bounds):
        self.case, self.name, self.bounds = case, name, bounds
        self.counts, self.k = files.files[name].counts, files.k
        self.bytes = (case.folder / name).read_bytes()

    def run(self, *arguments, wanted=None, codes=(0, 1)):
        """Run kcount, which must fail or give the right answer."""
        before = self.case.names()
        done = self.case.kcount(*arguments, codes=codes)
        self.case.expect_names(before, f"{arguments}, exit {done.code}")
        if done.code == 0 and wanted is not None and done.out != wanted.encode():
            raise Failure(f"{arguments}: a wrong answer with exit 0: {done.out[:500]!r}, "
                          f"not {wanted[:500]!r}")
        return done.code

    def read(self):
        """Run all commands that only read."""
        case, name, counts = self.case, self.name, self.counts
        checked = self.run("check", name, codes=CHECKED)
        dumped = self.run("dump", name, wanted=model.lines(counts))
        if checked == 0 and dumped != 0:
            raise Failure("check says ok, dump fails")
        self.run("hist", name, "--max-count", model.MOST, wanted=model.histogram(counts))
        inside = model.between(counts, self.k, *self.bounds)
        self.run("range", name, *self.bounds, wanted=model.lines(inside))
        asked = case.rng.sample(sorted(counts), min(5, len(counts))) or ["A" * self.k]
        answer = "".join(f"{kmer}\t{counts.get(kmer, 0)}\n" for kmer in asked)
        self.run("query", name, *asked, wanted=answer)
        if (case.folder / name).read_bytes() != self.bytes:
            raise Failure("a command that only reads changed the file")

    def info(self, before):
        done = self.case.kcount("info", self.name, "--json", codes=(0, 1))
        if done.code == 0:
            now = json.loads(done.out)
            wrong = [key for key in FIELDS if now[key] != before[key]]
            if wrong:
                raise Failure(f"info: {wrong} are wrong with exit 0: {now}")

    def merge(self, other, others):
        """Merge into a new file, which must be right or absent."""
        before = self.case.names()
        done = self.case.kcount("merge", self.name, other, "-o", "merged.kc", codes=(0, 1, 2))
        new = ["merged.kc"] if done.code == 0 else []
        self.case.expect_names([*before, *new], f"merge, exit {done.code}")
        if done.code == 0:
            self.case.kcount("check", "merged.kc", "--quiet")
            wanted = model.lines(model.combine("union", "sum", [self.counts, others])).encode()
            if self.case.kcount("dump", "merged.kc").out != wanted:
                raise Failure("merge of a damaged file: wrong counts with exit 0")

    def change(self, files):
        """Run add, remove or compact, which must not silently lose what was committed."""
        rng, case = self.case.rng, self.case
        action = rng.choice(("add", "remove", "compact"))
        reads, counts = files.draw_reads(10)
        command = {"add": ["add", self.name, reads], "remove": ["remove", self.name, "-f", reads],
                   "compact": ["compact", self.name]}[action]
        before = case.names()
        done = case.kcount(*command, codes=(0, 1))
        case.expect_names(before, f"{command}, exit {done.code}")
        if done.code != 0:
            if (case.folder / self.name).read_bytes() != self.bytes:
                raise Failure(f"{action} failed, but changed the file")
            return
        if action == "add":
            self.counts = model.combine("union", "sum", [self.counts, counts])
        elif action == "remove":
            self.counts = {kmer: n for kmer, n in self.counts.items() if kmer not in counts}
        self.run("dump", self.name, wanted=model.lines(self.counts))


def damage_case(case):
    rng = case.rng
    files, name, other = draw_store(case)
    before = json.loads(case.kcount("info", name, "--json").out)
    good, foreign = (case.folder / name).read_bytes(), (case.folder / other).read_bytes()
    case.write("sound", good)  # to compare with after a failure
    bounds = checks.draw_bounds(rng, files.k)
    for _ in range(rng.choice((3, 6))):
        (case.folder / name).write_bytes(damage(rng, good, foreign))
        damaged = Damaged(case, files, name, bounds)
        damaged.read()
        damaged.info(before)
        if rng.random() < 0.5:
            damaged.merge(other, files.files[other].counts)
        if rng.random() < 0.5:
            damaged.change(files)
        if "merged.kc" in case.names():
            (case.folder / "merged.kc").unlink()
        case.add("kmers", len(files.files[name].counts))
    case.add("bases", len(good))
