#!/usr/bin/env python3
"""
Measure lengths and qualities of FASTQ files, real or simulated, for the profiles of simulate.

    bench/simulate/measure.py FILE...       plain or gzip; prints a row for each
"""
import collections
import gzip
import math
import statistics
import sys

HEAD = ("file", "reads", "bases", "mean length", "sd of log length", "mean Q", "sd of Q",
        "correlation of neighbours", "Q of reads: 10 %, 50 %, 90 %", "errors expected, %",
        "last tenth / first")


def error_of(quality):
    return min(10 ** (-quality / 10), 0.75)


def qualities(path):
    with open(path, "rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
    with (gzip.open if packed else open)(path, "rb") as file:
        for number, line in enumerate(file):
            if number % 4 == 3:
                yield [letter - 33 for letter in line.strip()]


def moments(pairs):
    """Mean, standard deviation and correlation of neighbouring qualities."""
    n = sum(pairs.values())
    mean = sum(a * times for (a, _), times in pairs.items()) / n
    variance = sum((a - mean) ** 2 * times for (a, _), times in pairs.items()) / n
    covariance = sum((a - mean) * (b - mean) * times for (a, b), times in pairs.items()) / n
    return mean, variance ** 0.5, covariance / variance


def row(path):
    pairs, lengths, reads = collections.Counter(), [], []
    ends = [0.0, 0.0]
    for read in qualities(path):
        errors = list(map(error_of, read))
        tenth = max(len(read) // 10, 1)
        for end, part in enumerate((errors[:tenth], errors[-tenth:])):
            ends[end] += sum(part)
        pairs.update(zip(read, read[1:]))
        lengths.append(len(read))
        reads.append(sum(errors) / len(errors))
    deciles = statistics.quantiles((-10 * math.log10(error) for error in reads), n=10)
    mean, deviation, correlation = moments(pairs)
    wrong = sum(error * n for error, n in zip(reads, lengths)) / sum(lengths)
    return (path.rsplit("/", 1)[-1], len(lengths), sum(lengths),
            f"{statistics.mean(lengths):.0f}", f"{statistics.pstdev(map(math.log, lengths)):.2f}",
            f"{mean:.1f}", f"{deviation:.1f}", f"{correlation:.2f}",
            ", ".join(f"{deciles[i]:.0f}" for i in (0, 4, 8)), f"{100 * wrong:.2f}",
            f"{ends[1] / ends[0]:.1f}")


def main():
    for cells in (HEAD, ["---"] * len(HEAD), *map(row, sys.argv[1:])):
        print("|", " | ".join(map(str, cells)), "|")


main()
