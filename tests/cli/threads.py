"""
Every number of threads from 1 to 33, and 64 and 128, writes the same file, whatever the memory
bound, the format of the input and the device.

    threads.py KCOUNT SOURCE [DEVICE]
"""
import json
import random
import subprocess
import sys

from lib import tools
from lib.session import Session, expect
from lib.tools import SKIPPED, SMALL, Failure, main

DEVICE = sys.argv[3] if len(sys.argv) > 3 else "cpu"
THREADS = (*range(1, 34), 64, 128)
MEMORY = (4, 0, 24)  # MiB that the engine may use; 0: no bound


def random_reads(rng, n):
    """Reads of a small genome: many frequent k-mers, errors, and letters that break k-mers."""
    genome = rng.choices(b"ACGT", k=20000)
    reads = []
    for _ in range(n):
        start = rng.randrange(len(genome) - 200)
        bases = genome[start:start + rng.choice((0, 20, 31, 100, 150, 200))]
        for _ in range(rng.choice((0, 0, 1, 2)) if bases else 0):
            bases[rng.randrange(len(bases))] = rng.choice(b"ACGTN")
        reads.append((bytes(bases), b"I" * len(bases)))
    return reads


class Counts:
    """The same reads in every format, counted in many ways into files that must be the same."""

    def __init__(self, reads, k, *options):
        self.s, self.k, self.options = Session(), k, options
        self.formats = tools.write_formats(reads, self.s.path / "in")
        self.count(1, 0, "fastq", "first.kc")
        self.first = (self.s.path / "first.kc").read_bytes()

    def count(self, threads, memory, form, output):
        bound = ["--engine-memory", f"{memory}M", "--tmp", self.s.path] if memory else []
        device = DEVICE if threads % 3 == 0 else "cpu"
        report = self.s.kcount("count", "reads", "-k", self.k, *self.options, "-t", threads, *bound,
                             "--device", device, "-o", self.s.path / output, "--force", "--json",
                             "--quiet", cwd=self.s.path / "in" / form)
        return json.loads(report)["spilled_bytes"]

    def check(self, threads, memory, form):
        """Count into the same file; returns the number of bytes spilled."""
        spilled = self.count(threads, memory, form, "other.kc")
        same = (self.s.path / "other.kc").read_bytes() == self.first
        expect(same, True, f"k={self.k} -t {threads}, {memory} MiB, {form}: the same bytes")
        return spilled


def some_threads():
    return THREADS[2::12] if SMALL else THREADS


def test_count():
    """Each number of threads with each memory bound, over all formats in turn."""
    for k, options in ((21, ()), (55, ("--stranded", "--min", 2))):
        counts = Counts(random_reads(random.Random(k), 2000), k, *options)
        for i, threads in enumerate(some_threads()):
            for j, memory in enumerate(MEMORY):
                counts.check(threads, memory, counts.formats[(3 * i + j) % len(counts.formats)])


def test_spill():
    """More reads than fit into the memory bound."""
    letters = bytes(random.Random(31).choices(b"ACGT", k=500_000))
    reads = [(letters[i:i + 150], b"I" * 150) for i in range(0, len(letters) - 150, 75)]
    counts = Counts(reads, 31)
    for threads in some_threads():
        if counts.check(threads, 4, "fastq") == 0 and (DEVICE == "cpu" or threads % 3 != 0):
            raise Failure(f"-t {threads}: nothing was spilled")


def test_stores():
    """merge and compact, dump, hist and check of a file of several runs."""
    counts = Counts(random_reads(random.Random(31), 2000), 31)
    s = counts.s
    s.kcount("add", "first.kc", "in/fasta/reads")
    s.kcount("merge", "first.kc", "-o", "merged.kc", "-t", 1)
    wanted = [s.kcount("dump", "first.kc", "-t", 1), s.kcount("hist", "first.kc", "-t", 1)]
    merged = (s.path / "merged.kc").read_bytes()
    for threads in some_threads():
        s.kcount("merge", "first.kc", "-o", "other.kc", "-t", threads, "--force")
        same = (s.path / "other.kc").read_bytes() == merged
        expect(same, True, f"merge -t {threads}: the same bytes")
        got = [s.kcount(command, "first.kc", "-t", threads) for command in ("dump", "hist")]
        expect(got == wanted, True, f"dump and hist -t {threads}")
        s.kcount("check", "first.kc", "-t", threads)


if __name__ == "__main__":
    if DEVICE != "cpu" and subprocess.run([sys.argv[1], "info", "--devices"]).returncode != 0:
        sys.exit(SKIPPED)
    main([test_count, test_spill, test_stores])
