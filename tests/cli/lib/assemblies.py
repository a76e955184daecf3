"""
A small genome with two haplotypes, reads of it, and an assembly of each haplotype with faults:
wrong bases, a piece twice, a piece left out, a repeat once that the genome has twice.

    assemblies.py FOLDER    write reads.fa, hap1.fasta and hap2.fa there
"""
import pathlib
import random
import sys

K = 21
COMPLEMENT = str.maketrans("ACGTacgt", "TGCAtgca")


def reverse(bases):
    return bases.translate(COMPLEMENT)[::-1]


def substitute(rng, bases, n):
    """Replaces n bases by others."""
    bases = list(bases)
    for at in rng.sample(range(len(bases)), n):
        bases[at] = rng.choice("ACGT".replace(bases[at], ""))
    return "".join(bases)


def haplotypes(rng, nbases=12000, repeat=500):
    first = "".join(rng.choice("ACGT") for _ in range(nbases))
    first = first[:9000] + first[1000:1000 + repeat] + first[9000:]
    return [first, substitute(rng, first, nbases // 100)]


def read(rng, genomes, depth=30, length=100, error=0.004):
    """Reads of both haplotypes, depth of them together at each place, from both strands."""
    reads = []
    for genome in genomes:
        for _ in range(depth // 2 * len(genome) // length):
            at = rng.randrange(len(genome) - length + 1)
            bases = genome[at:at + length]
            nerrors = sum(rng.random() < error for _ in range(length))
            bases = substitute(rng, bases, nerrors)
            reads.append(bases if rng.random() < 0.5 else reverse(bases))
    return reads


def assemble(rng, genome, repeat=500):
    """[(header, bases)]"""
    left_out, doubled = genome[4000:4400], genome[6000:6600]
    whole = genome.replace(left_out, "").replace(genome[9000:9000 + repeat], "", 1)
    return [("ctg1 the first", substitute(rng, whole[:7000], 3)),
            ("ctg2", reverse(substitute(rng, whole[7000:], 5)).lower()),
            ("ctg3", doubled[:300] + "NNNNN" + doubled[300:])]


def fasta(sequences):
    """On single lines: some snapshots of meryl lose a base at the end of each line."""
    return "".join(f">{header}\n{bases}\n" for header, bases in sequences)


def scene():
    """The reads, and two assemblies. The same in every run."""
    rng = random.Random(20)
    genomes = haplotypes(rng)
    reads = [(f"r{i}", bases) for i, bases in enumerate(read(rng, genomes))]
    return reads, [assemble(rng, genome) for genome in genomes]


def write(folder):
    reads, assemblies = scene()
    for name, sequences in (("reads.fa", reads), ("hap1.fasta", assemblies[0]),
                            ("hap2.fa", assemblies[1])):
        (pathlib.Path(folder) / name).write_text(fasta(sequences))


if __name__ == "__main__":
    write(sys.argv[1])
