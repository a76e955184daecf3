#!/usr/bin/env python3
"""
Make the reads and assemblies of docs/report.md, whose truth is known: a small diploid genome.

    simulate_genome.py [FOLDER]

Writes reads.fq.gz, hap1.fa and hap2.fa to FOLDER, the current one by default, and prints what they
are. The files are the same in each run.
"""
import argparse
import bisect
import gzip
import math
import pathlib
import random

CHROMOSOMES = {"chr1": 500_000, "chr2": 300_000, "chr3": 200_000}
HETEROZYGOSITY, DEPTH, READ, ERROR_RATE = 0.01, 40, 150, 0.005
UNEVEN, WINDOW = 0.25, 500  # places are read up to so much more or less often than others
# Length, GC content, copies and how much these differ from each other.
REPEATS = ((5_000, 0.44, 5, 0.02), (600, 0.38, 20, 0.04), (1_500, 0.46, 10, 0))
ORGANELLE, MICROBE = (16_000, 0.27, 300), (30_000, 0.66, 70)  # length, GC content, depth

# Contigs of the first assembly: chromosome, beginning, end and wrong bases. A part of chr2 is left
# out, and ctg7 repeats a part of ctg2.
LEFT_OUT = 30_000
CONTIGS = {"ctg1": ("chr1", 0, 220_000, 8), "ctg2": ("chr1", 220_000, 360_000, 5),
           "ctg3": ("chr1", 360_000, 500_000, 4), "ctg4": ("chr2", 0, 130_000, 3),
           "ctg5": ("chr2", 130_000 + LEFT_OUT, 300_000, 35), "ctg6": ("chr3", 0, 200_000, 5),
           "ctg7": ("chr1", 260_000, 280_000, 0)}
ERRORS_OF_SECOND = 5  # in each chromosome of the second assembly

COMPLEMENT = bytes.maketrans(b"ACGT", b"TGCA")

# Only random() of this module is the same in all versions of Python.
draw = random.Random(1).random


def draw_below(n):
    return int(draw() * n)


def random_bases(n, gc):
    bounds = ((1 - gc) / 2, 0.5, (1 + gc) / 2)
    return bytearray(b"ACGT"[bisect.bisect(bounds, draw())] for _ in range(n))


def reverse(sequence):
    return sequence.translate(COMPLEMENT)[::-1]


def gaps(rate):
    """An endless series of places at which something happens."""
    place = -1
    while True:
        place += 1 + int(math.log(1 - draw()) / math.log1p(-rate))
        yield place


def change(sequence, place):
    """Put another base at this place."""
    sequence[place] = b"ACGT"[(b"ACGT".index(sequence[place]) + 1 + draw_below(3)) % 4]


def differing(sequence, rate):
    changed = bytearray(sequence)
    for place in gaps(rate) if rate > 0 else ():
        if place >= len(changed):
            break
        change(changed, place)
    return changed


def make_chromosome(length):
    """GC content differs from stretch to stretch."""
    chromosome = bytearray()
    while len(chromosome) < length:
        chromosome += random_bases(10_000, 0.41 + 0.12 * (draw() - 0.5))
    return chromosome


def scatter_repeats(chromosomes):
    for length, gc, ncopies, divergence in REPEATS:
        unit = random_bases(length, gc)
        for _ in range(ncopies):
            chromosome = chromosomes[draw_below(len(chromosomes))]
            copy = differing(unit, divergence)
            place = draw_below(len(chromosome) - length)
            chromosome[place:place + length] = copy if draw() < 0.5 else reverse(copy)


def with_errors(sequence, nerrors):
    changed = bytearray(sequence)
    for _ in range(nerrors):
        change(changed, draw_below(len(changed)))
    return changed


class Sequencer:
    """Writes reads with errors, which have low qualities."""

    def __init__(self, out):
        self.out, self.nreads = out, 0
        self.errors, self.nbases = gaps(ERROR_RATE), 0
        self.next_error = next(self.errors)

    def read(self, bases):
        qualities = bytearray(b"F" * READ)
        while self.next_error < self.nbases + READ:
            change(bases, self.next_error - self.nbases)
            qualities[self.next_error - self.nbases] = ord("#")
            self.next_error = next(self.errors)
        self.nreads += 1
        self.nbases += READ
        return b"@read%d\n%s\n+\n%s\n" % (self.nreads, bases, qualities)

    def sequence(self, molecule, depth, is_circular=False):
        source = molecule + molecule[:READ - 1] if is_circular else molecule
        strands = source, reverse(source)
        weights = [1 - UNEVEN * draw() for _ in range(0, len(source), WINDOW)]
        nstarts, reads = len(source) - READ + 1, []
        while len(reads) < len(molecule) * depth // READ:
            start = draw_below(nstarts)
            if draw() < weights[start // WINDOW]:
                strand = strands[draw() < 0.5]
                reads.append(self.read(strand[start:start + READ]))
        self.out.write(b"".join(reads))


def write_reads(path, haplotypes, organelle, microbe):
    with open(path, "wb") as file, gzip.GzipFile("", "wb", 1, file, mtime=0) as out:
        sequencer = Sequencer(out)
        for haplotype in haplotypes:
            for chromosome in haplotype.values():
                sequencer.sequence(chromosome, DEPTH / 2)
        sequencer.sequence(organelle, ORGANELLE[2], is_circular=True)
        sequencer.sequence(microbe, MICROBE[2], is_circular=True)
    return sequencer.nreads


def write_fasta(path, contigs):
    with open(path, "wb") as out:
        for name, sequence in contigs.items():
            out.write(b">%s\n%s\n" % (name.encode(), sequence))


def tell(first, second, nreads, contigs):
    differences = sum(sum(map(int.__ne__, first[name], second[name])) for name in first)
    nbases, nwrong = sum(CHROMOSOMES.values()), sum(nerrors for *_, nerrors in CONTIGS.values())
    print(f"genome       2 x {nbases:,} bases in {len(first)} chromosomes; the two copies differ "
          f"at {differences:,}",
          f"reads.fq.gz  {nreads:,} reads, {100 * ERROR_RATE} % of their bases wrong: the genome "
          f"{DEPTH} times;",
          f"             an organelle of {ORGANELLE[0]:,} bases {ORGANELLE[2]} times; a microbe of "
          f"{MICROBE[0]:,} {MICROBE[2]} times",
          f"hap1.fa      the first copy: {nwrong} bases wrong, {LEFT_OUT:,} missing, "
          f"{len(contigs['ctg7']):,} twice; the microbe",
          f"hap2.fa      the second copy: {len(second) * ERRORS_OF_SECOND} bases wrong", sep="\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, usage="simulate_genome.py [FOLDER]",
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", default=".", type=pathlib.Path, help=argparse.SUPPRESS)
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    first = {name: make_chromosome(length) for name, length in CHROMOSOMES.items()}
    scatter_repeats(list(first.values()))
    second = {name: differing(chromosome, HETEROZYGOSITY) for name, chromosome in first.items()}
    organelle, microbe = random_bases(*ORGANELLE[:2]), random_bases(*MICROBE[:2])
    nreads = write_reads(folder / "reads.fq.gz", (first, second), organelle, microbe)
    contigs = {name: with_errors(first[chromosome][begin:end], nerrors)
               for name, (chromosome, begin, end, nerrors) in CONTIGS.items()}
    write_fasta(folder / "hap1.fa", {**contigs, "ctg8": microbe})
    write_fasta(folder / "hap2.fa", {f"{name}_2": with_errors(chromosome, ERRORS_OF_SECOND)
                                     for name, chromosome in second.items()})
    tell(first, second, nreads, contigs)


if __name__ == "__main__":
    main()
