"""Random changes and combinations of .kc files, compared with a dictionary after every step."""
import checks
import inputs
from lib import model
import options
import reference
from lib.tools import Failure, fasta, same_file

MOST_FILES = 4


class Stored:
    """What a .kc file must hold; plain: the inputs, if it holds exactly their counts."""

    def __init__(self, counts, plain):
        self.counts, self.plain = counts, plain


class Files:
    """The .kc files of a case, all of the same k and strands, by name."""

    def __init__(self, case, k=None):
        self.case, self.k = case, k or options.draw_k(case.rng)
        self.stranded = case.rng.random() < 0.3
        self.genome = inputs.genome(case.rng, case.rng.choice((300, 3000, 20000)))
        self.files, self.ninputs, self.noutputs = {}, 0, 0

    def engine(self):
        return options.engine(self.case.rng, self.case.setting, self.k)

    def merging(self):
        return options.merging(self.case.rng, self.case.setting, self.k)

    def draw_reads(self, most=60):
        """Write reads of the genome to a file; returns its name and its counts."""
        rng, k = self.case.rng, self.k
        styles = rng.choices(("short", "near k", "any"), k=rng.randrange(1, most))
        reads = [inputs.draw_read(rng, self.genome, style, k, 0.003) for style in styles]
        self.ninputs += 1
        name = f"input-{self.ninputs}"
        self.case.write(name, fasta([(bases, b"") for bases in reads]))
        self.case.add("bases", sum(map(len, reads)))
        sequences = [reference.normal(bases).decode() for bases in reads]
        return name, model.count(sequences, k, self.stranded)

    def strands(self):
        return ["--stranded"] if self.stranded else []

    def count(self):
        name, counts = self.draw_reads()
        output = self.new_name()
        self.case.kcount("count", name, "-k", self.k, *self.strands(), *self.engine(), "-o", output)
        self.files[output] = Stored(counts, [name])
        return output

    def new_name(self):
        self.noutputs += 1
        return f"{self.noutputs}.kc"

    # ---- changes in place ----

    def add(self, name):
        stored, (reads, counts) = self.files[name], self.draw_reads()
        self.case.kcount("add", name, reads, *self.engine())
        self.files[name] = Stored(model.combine("union", "sum", [stored.counts, counts]),
                                  stored.plain and [*stored.plain, reads])

    def remove(self, name):
        rng, stored = self.case.rng, self.files[name]
        reads, gone = self.draw_reads(10)
        some = rng.sample(sorted(stored.counts), min(3, len(stored.counts)))
        self.case.kcount("remove", name, "-f", reads, *some, "-t", options.draw_threads(rng))
        gone = set(gone) | set(some)
        left = {kmer: n for kmer, n in stored.counts.items() if kmer not in gone}
        self.files[name] = Stored(left, None)

    def compact(self, name):
        least, most = self.bounds()
        self.case.kcount("compact", name, *self.bound_options(least, most), *self.merging())
        stored = self.files[name]
        left = {kmer: n for kmer, n in stored.counts.items() if least <= n <= most}
        self.files[name] = Stored(left, stored.plain if (least, most) == (1, model.MOST) else None)
        self.check_bytes(name)

    def bounds(self):
        every = (1, model.MOST)
        return self.case.rng.choice((every, every, every, (2, model.MOST), (1, 4), (2, 6)))

    @staticmethod
    def bound_options(least, most):
        return [*(["--min", least] if least > 1 else []),
                *(["--max", most] if most < model.MOST else [])]

    def check_bytes(self, name):
        """If a file holds just the counts of some inputs, counting those at once gives it, too."""
        stored = self.files[name]
        if stored.plain and len(stored.plain) <= 250:
            options_now = ["-k", self.k, *self.strands(), *self.engine(), "--force"]
            self.case.kcount("count", *stored.plain, *options_now, "-o", "at-once.kc")
            same_file(self.case.folder / name, self.case.folder / "at-once.kc", "counted at once")

    # ---- combinations ----

    def combine(self):
        """A new file from two or more, possibly with the same one twice."""
        rng, operation = self.case.rng, self.case.rng.choice(sorted(model.OPERATIONS))
        given, rule = rng.choice(sorted(model.OPERATIONS[operation].items()))
        names = rng.choices(sorted(self.files), k=rng.choice((2, 2, 3, 5)))
        least, most = self.bounds()
        output = self.new_name()
        self.case.kcount(operation, *names, *(["--counts", given] if given else []),
                         *self.bound_options(least, most), *self.merging(), "-o", output)
        kind = "union" if operation == "merge" else operation
        counts = model.combine(kind, rule, [self.files[name].counts for name in names])
        left = {kmer: n for kmer, n in counts.items() if least <= n <= most}
        parts = [self.files[name].plain for name in names]
        plain = operation == "merge" and (least, most) == (1, model.MOST) and all(parts)
        self.files[output] = Stored(left, sum(parts, []) if plain else None)
        self.check_bytes(output)
        return output

    def double(self, name):
        """Double the counts, sometimes so often that they saturate."""
        for _ in range(self.case.rng.choice((1, 5, 33))):
            output = self.new_name()
            self.case.kcount("merge", name, name, "-o", output, *self.merging())
            counts = {kmer: min(model.MOST, 2 * n) for kmer, n in self.files[name].counts.items()}
            self.files[output] = Stored(counts, None)
            self.drop(name)
            name = output
        return name

    def drop(self, name):
        (self.case.folder / name).unlink()
        del self.files[name]

    # ---- checks ----

    def check(self, name):
        counts = self.files[name].counts
        checks.check_file(self.case, name, counts, self.k, self.stranded)
        self.case.add("kmers", len(counts))


def step(files):
    """Make one change; returns the name of the file that it made or changed."""
    rng = files.case.rng
    action = rng.choice(("count", "add", "add", "add", "remove", "remove", "compact", "combine",
                         "combine", "double"))
    name = rng.choice(sorted(files.files))
    if action == "count":
        return files.count()
    if action == "combine":
        return files.combine()
    if action == "double" and len(files.files[name].counts) < 5000:
        return files.double(name)
    getattr(files, action if action != "double" else "compact")(name)
    return name


def store_case(case):
    files = Files(case)
    files.count()
    for _ in range(case.rng.choice((2, 4, 8, 12))):
        name = step(files)
        files.check(name)
        while len(files.files) > MOST_FILES:
            files.drop(case.rng.choice(sorted(set(files.files) - {name})))
    leftovers = [name for name in case.names() if name.startswith(".") or ".tmp" in name]
    if leftovers:
        raise Failure(f"left behind {leftovers}")
