"""
A million look-ups, half of k-mers that are absent: kcount must answer as dna_jellyfish does, and 30
times as fast, for lists of str and for arrays. scripts/check_python.sh runs this, on a machine that
does nothing else: the best of five turns counts.
"""
import os
import random
import subprocess
import sys
import tempfile
import time

import dna_jellyfish

import kcount

K = 31
HALF = 500_000


def make_kmers(draw):
    genome = "".join(draw.choices("ACGT", k=2 * HALF))
    with open("reads.fa", "w") as reads:
        reads.write(f">genome\n{genome}\n>half\n{genome[:HALF]}\n")
    kmers = [genome[at:at + K] for at in draw.choices(range(len(genome) - K + 1), k=HALF)]
    kmers += ["".join(draw.choices("ACGT", k=K)) for _ in range(HALF)]
    draw.shuffle(kmers)
    return kmers


def ask_jellyfish(query, kmers):
    found = []
    for kmer in kmers:
        mer = dna_jellyfish.MerDNA(kmer)
        mer.canonicalize()
        found.append(query[mer])
    return found


def timed(function, *arguments):
    begin = time.perf_counter()
    found = function(*arguments)
    elapsed = time.perf_counter() - begin
    return list(found), elapsed


def main():
    kmers = make_kmers(random.Random(1))
    subprocess.run(f"jellyfish count -C -m {K} -s 4M -o reads.jf reads.fa".split(), check=True)
    kcount.count("reads.fa", K, out="reads.kc")
    numbers = kcount.encode(kmers)
    best = {}
    for _ in range(5):
        query = dna_jellyfish.QueryMerFile("reads.jf")
        turns = {"dna_jellyfish": timed(ask_jellyfish, query, kmers),
                 "kcount, list of str": timed(kcount.open("reads.kc").query_many, kmers),
                 "kcount, array of uint64": timed(kcount.open("reads.kc").query_many, numbers)}
        for name, (found, seconds) in turns.items():
            if found != turns["dna_jellyfish"][0]:
                sys.exit("the counts differ")
            best[name] = min(seconds, best.get(name, seconds))
    theirs = best["dna_jellyfish"]
    for name, ours in best.items():
        print(f"{name}: {2 * HALF / ours / 1e6:.3f} million look-ups a second, "
              f"{theirs / ours:.1f} times")
    if any(theirs < 30 * ours for name, ours in best.items() if name.startswith("kcount")):
        sys.exit("kcount takes more than a thirtieth of the time of dna_jellyfish")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        main()
