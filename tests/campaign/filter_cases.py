"""Random reads filtered by random rules, in every layout: what is kept, and the rest."""
import gzip

import containers
import inputs
from lib import model
from lib.filter_rules import Rule
import options
import reference
from lib.tools import Failure, fasta

LAYOUTS = ("fastq", "fasta", "pairs", "interleaved", "alignments")


class Read:
    """A read of a name, with its text; primary: it counts."""

    def __init__(self, name, bases, quality, primary=True):
        self.name, self.bases, self.quality, self.primary = name, bases, quality, primary
        self.windows, self.text = [], b""

    def cut(self, form, n):
        return text_of(form, Read(self.name, self.bases[:n], self.quality[:n]))


def text_of(form, read):
    if form == "fasta":
        return b">%s\n%s\n" % (read.name, read.bases)
    return b"@%s\n%s\n+\n%s\n" % (read.name, read.bases, read.quality)


def alignment(read, flag):
    return b"\t".join((read.name, b"%d" % flag, *b"* 0 0 * * 0 0".split(), read.bases or b"*",
                       read.quality or b"*")) + b"\n"


def windows(bases, k, counts, stranded):
    """For each window: the count of its k-mer, or None."""
    text = reference.normal(bases).decode()
    for i in range(len(text) - k + 1):
        kmer = text[i:i + k]
        yield None if "N" in kmer else counts.get(model.canonical(kmer, stranded), 0)


def draw_bound(rng, nwindows):
    return rng.choice((str(rng.randrange(nwindows + 2)), str(rng.randrange(4)),
                       f"{rng.randrange(101)}%", f"{rng.randrange(1000) / 10}%"))


def draw_rule(rng, k, layout):
    nwindows = max(2, 100 - k)
    rule = Rule(at_least=draw_bound(rng, nwindows), low=rng.choice((0, 1, 1, 2, 3, 5)),
                denominator=rng.choice(("valid", "valid", "all")), drop=rng.random() < 0.3)
    if rng.random() < 0.4:
        rule.at_most = draw_bound(rng, nwindows)
        if rule.at_least.endswith("%") == rule.at_most.endswith("%"):
            bounds = sorted((rule.at_least, rule.at_most), key=lambda text: float(text.strip("%")))
            rule.at_least, rule.at_most = bounds
    if rng.random() < 0.4:
        rule.high = rule.low + rng.randrange(6)
    rule.trim = not rule.drop and layout != "alignments" and rng.random() < 0.3
    rule.pairs = rng.choice(("any", "both", "pooled"))
    return rule


class Filtering:
    """A .kc file, and reads that are filtered by it."""

    def __init__(self, case):
        self.case, self.k = case, options.draw_k(case.rng)
        self.layout = case.rng.choice(LAYOUTS)
        self.form = "fasta" if self.layout == "fasta" else "fastq"
        self.stranded = case.rng.random() < 0.2
        self.count()
        self.groups = self.draw_groups()
        self.write()

    def count(self):
        rng = self.case.rng
        self.genome = inputs.genome(rng, rng.choice((300, 2000)))
        found = [(inputs.draw_read(rng, self.genome, "short", self.k, 0.01), b"")
                 for _ in range(rng.choice((5, 40)))]
        self.case.write("counted.fa", fasta(found))
        self.case.kcount("count", "counted.fa", "-k", self.k, "-o", "db.kc",
                         *["--stranded"] * self.stranded)
        self.counts = model.count([reference.normal(bases).decode() for bases, _ in found], self.k,
                                  self.stranded)
        self.case.add("bases", inputs.nbases(found))

    def draw_bases(self):
        rng = self.case.rng
        source = self.genome if rng.random() < 0.7 else inputs.genome(rng, 400)
        bases = inputs.draw_read(rng, source, rng.choice(("short", "near k")), self.k, 0.01)
        if self.layout == "alignments":
            return reference.normal(bases)
        return bases or (b"A" if self.layout == "fasta" else b"")

    def draw_read(self, name, primary=True):
        bases = self.draw_bases()
        read = Read(name, bases, inputs.letters(self.case.rng, len(bases), inputs.QUALITIES),
                    primary)
        read.windows = list(windows(bases, self.k, self.counts, self.stranded)) if primary else []
        read.text = text_of(self.form, read)
        return read

    def draw_groups(self):
        """Reads that are kept or dropped together."""
        rng = self.case.rng
        paired = self.layout in ("pairs", "interleaved")
        groups = []
        for i in range(rng.choice((1, 30, 100, 900))):
            suffixes = (b"/1", b"/2") if paired else (b"",)
            if self.layout == "alignments":
                suffixes = (b"",) * rng.choice((1, 2, 2))
            group = [self.draw_read(b"r%d%s" % (i, suffix)) for suffix in suffixes]
            if self.layout == "alignments":
                self.align(group)
            groups.append(group)
        return groups

    def align(self, group):
        flags = [77, 141] if len(group) == 2 else [4]
        if self.case.rng.random() < 0.3:
            group.append(self.draw_read(group[0].name, False))
            flags.append(self.case.rng.choice((0x804, 0x104)))
        for read, flag in zip(group, flags):
            read.text = alignment(read, flag)

    def write(self):
        rng = self.case.rng
        self.order = sum(self.groups, [])
        packer = containers.PACKERS[rng.choice(("plain", "gzip", "bgzf", "zstd"))]
        if self.layout == "alignments":
            if rng.random() < 0.5:
                rng.shuffle(self.order)
            packer = containers.PACKERS["plain"]
        for i in range(2 if self.layout == "pairs" else 1):
            reads = self.order[i::2] if self.layout == "pairs" else self.order
            head = b"@HD\tVN:1.6\n" if self.layout == "alignments" else b""
            text = head + b"".join(read.text for read in reads)
            self.case.write(f"input-{i + 1}", packer(rng, text))

    # ---- what is expected ----

    def stay(self, rule, read):
        lead = rule.lead(read.windows)
        return lead and lead + self.k - 1

    def keeps(self, rule, group):
        reads = [read for read in group if read.primary]
        lists = [read.windows[:rule.lead(read.windows)] if rule.trim else read.windows
                 for read in reads]
        each = [rule.passes(some) for some in lists]
        passes = {"any": any(each), "both": all(each),
                  "pooled": rule.passes(sum(lists, []))}[rule.pairs if len(each) > 1 else "any"]
        return passes != rule.drop and not (rule.trim and not all(lists))

    def wanted(self, rule):
        """The texts of both outputs, for each input."""
        kept = {id(read) for group in self.groups if self.keeps(rule, group) for read in group}
        texts = [[b"", b""], [b"", b""]]
        for i, read in enumerate(self.order):
            is_kept, text = id(read) in kept, read.text
            if is_kept and rule.trim and self.stay(rule, read) < len(read.bases):
                text = read.cut(self.form, self.stay(rule, read))
            texts[i % 2 if self.layout == "pairs" else 0][not is_kept] += text
        return texts

    # ---- runs ----

    def check(self, rule):
        rng, paired = self.case.rng, self.layout == "pairs"
        ending = ".sam" if self.layout == "alignments" else rng.choice(("", ".gz"))
        outputs = [(f"kept-{i}{ending}", f"others-{i}{ending}") for i in range(1 + paired)]
        call = ["filter", "db.kc", *[f"input-{i + 1}" for i in range(1 + paired)], *rule.options(),
                "--force", "-t", options.draw_threads(rng)]
        for pair in outputs:
            call += ["-o", pair[0], "--rest", pair[1]]
        if self.layout not in ("fastq", "fasta"):
            call += ["--pairs", rule.pairs]
        call += ["--interleaved"] if self.layout == "interleaved" else []
        call += ["-m", "256M"] if rng.random() < 0.3 else []
        self.case.kcount(*call)
        for names, texts in zip(outputs, self.wanted(rule)):
            for name, text in zip(names, texts):
                if self.read(name) != text:
                    raise Failure(f"{name} is not what {call[2:]} keeps, or the rest")

    def read(self, name):
        content = (self.case.folder / name).read_bytes()
        if name.endswith(".sam"):
            return b"".join(line for line in content.splitlines(True) if not line.startswith(b"@"))
        return gzip.decompress(content) if name.endswith(".gz") else content


def filter_case(case):
    filtering = Filtering(case)
    for _ in range(6):
        filtering.check(draw_rule(case.rng, filtering.k, filtering.layout))
    case.add("kmers", sum(len(read.windows) for read in filtering.order))
