#!/usr/bin/env python3
"""
Draw the k-mers of reads: how many have each count, and how the count varies with the number of G
and C. Needs matplotlib.

    spectrum.py READS PICTURE       such as data/phage.fq.gz docs/images/python-spectrum.webp
"""
import pathlib
import sys

import kcount
import matplotlib.pyplot as plt
import numpy

K, MOST = 21, 79  # higher counts are drawn as MOST


def gc(kmers):
    """How many bases are G (2) or C (1): those whose two bits differ."""
    differ = kmers ^ kmers >> 1
    return sum(differ >> 2 * i & 1 for i in range(K))


reads, picture = map(pathlib.Path, sys.argv[1:])
with kcount.count(reads, K) as counts:
    spectrum = counts.hist(max=MOST)
    table = numpy.zeros((K + 1, MOST + 1), int)
    for kmers, found in counts.batches():
        numpy.add.at(table, (gc(kmers), numpy.minimum(found, MOST)), 1)

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
left.step(*spectrum, where="mid")
left.set(xlabel="count", ylabel="distinct k-mers", ylim=(0, 3000))
mesh = right.pcolormesh(numpy.log10(table + 1), cmap="magma_r")
right.set(xlabel="count", ylabel="bases G or C", title="log10(distinct k-mers + 1)")
figure.colorbar(mesh)
figure.suptitle(f"{K}-mers of {reads.name}")
figure.savefig(picture)
