"""
.kc files of many kinds, their exports in one format, and what kcount dump prints for them.
"""
import collections
import random

from lib import foreign
from lib.session import SOURCE, Session

LARGEST = 2**32 - 1

# the names of its files, our reader, the largest count, whether it can hold stranded k-mers
Format = collections.namedtuple("Format", "files read limit stranded", defaults=(LARGEST, True))
FORMATS = {
    "tsv": Format(["{}"], lambda path, stranded: path.read_text()),
    "kff": Format(["{}"], foreign.read_kff),
    "kmc": Format(["{}.kmc_pre", "{}.kmc_suf"], foreign.read_kmc),
    "jellyfish": Format(["{}"], foreign.read_jellyfish),
    "fastk": Format([".{}.ktab.1", "{}.hist", "{}.ktab"], foreign.read_fastk, 32767, False),
    "arrow": Format(["{}"], foreign.read_arrow),
}


def add_large_counts(s):
    """large.kc: the largest count, one above 16 bits, some around the limit of 15 bits, and 1."""
    s.write("largest.fa", ">a\n" + "A" * 100020 + "\n")
    s.kcount("largest.fa", "-k", 21, "-o", "0.kc", "--quiet")
    for turn in range(4):
        s.kcount("merge", *[f"{turn}.kc"] * 16, "-o", f"{turn + 1}.kc", "--quiet")
    repeats = ("C" * 70020, "AC" * (32767 + 10), "AG" * (32768 + 10), "AT" * (32766 + 10))
    s.write("others.fa", "".join(f">r\n{repeat}\n" for repeat in repeats))
    s.kcount("others.fa", "-k", 21, "-o", "others.kc", "--quiet")
    s.kcount("merge", "4.kc", "others.kc", "-o", "large.kc", "--quiet")


def make_stores(kmers):
    """Files for each k, canonical and stranded; with no, one and many k-mers; with large counts."""
    s = Session()
    text = "".join(random.Random(7).choices("ACGT", k=2500))
    s.write("reads.fa", f">r\n{text}\n>again\n{text[:1200]}\n>third\n{text[:700]}\n")
    for k in kmers:
        s.kcount("reads.fa", "-k", k, "-o", f"k{k}.kc", "--quiet")
        s.kcount("reads.fa", "-k", k, "--stranded", "-o", f"s{k}.kc", "--quiet")
    s.write("one.fa", f">r\n{text[:21]}\n")
    s.write("short.fa", ">r\nACGT\n")
    s.kcount("one.fa", "-k", 21, "-o", "one.kc", "--quiet")
    s.kcount("short.fa", "-k", 21, "-o", "empty.kc", "--quiet")
    s.kcount(SOURCE / "data/amplicon.fq.gz", "-k", 31, "-o", "data.kc", "--quiet")
    s.kcount(*sorted((SOURCE / "data").glob("*.gz")), "-k", 31, "-o", "all.kc", "--quiet")
    add_large_counts(s)
    return s


def is_between(kmer, low, high):
    """As in kcount range: high includes all k-mers that begin with it."""
    return low <= kmer and kmer[:len(high)] <= high


class Exports:
    """session: a folder with the .kc files."""

    def __init__(self, name, kmers):
        self.name, self.format = name, FORMATS[name]
        self.session = make_stores(kmers)

    def export(self, name, *options, to="out", **how):
        self.session.kcount("export", f"{name}.kc", "--to", self.name, "-o", to, "--force",
                            *options, **how)
        return self.session.path / to

    def clipped(self, text):
        """The dump, with counts capped at the largest that the format can hold."""
        limit = self.format.limit
        if limit == LARGEST:
            return text
        pairs = (line.split("\t") for line in text.splitlines())
        return "".join(f"{kmer}\t{min(int(count), limit)}\n" for kmer, count in pairs)

    def dump(self, name, options=()):
        """What kcount dump prints for the k-mers that export keeps with these options."""
        bounds = dict(zip(options[::2], options[1::2]))
        low, high = bounds.pop("--from-kmer", ""), bounds.pop("--to-kmer", "T" * 9)
        words = [word for bound in bounds.items() for word in bound]
        text = self.session.kcount("dump", f"{name}.kc", *words)
        return self.clipped("".join(line for line in text.splitlines(keepends=True)
                                    if is_between(line.split("\t")[0], low, high)))
