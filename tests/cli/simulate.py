"""
bench/simulate: its text never changes, and --bgzf writes the same text as valid BGZF, whatever the
number of threads. With --profile, errors are as frequent, of the kinds and at the qualities that
the profile says; --truth tells where they are.

    simulate.py SIMULATE
"""
import collections
import gzip
import hashlib
import math
import pathlib
import re
import statistics
import struct
import subprocess
import sys
import tempfile

from lib.tools import Failure, main, run

SIMULATE = pathlib.Path(sys.argv[1]).resolve()
MOST_TEXT = 1 << 16  # bytes of text in a block of BGZF
END = bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000")

# Recorded results, and other tests, rely on this text.
TEXTS = (
    ("--genome 20K --coverage 5",
     "f719242819973a63dbd3325167983244767048922414057d54f447de3e163a8a"),
    ("--genome 20K --coverage 5 --repeats 0.5 --n-rate 0.01 --wrap 61 --seed 7",
     "f0381bd1f48baa3aed94133d2e833c88b521a0bf353e0083ba96381fb18f82a4"),
    ("--genome 20K --coverage 5 --format fasta --error 0.1 --length 99",
     "c48f6de514d9a5e86a95665e2fb7cfe012682fa05e3ce6183555a346cb81e9da"))
# No reads, fewer than a block of text, and several blocks of 1 MiB that threads share.
SIZES = ("--genome 1K --coverage 0", "--genome 1K --coverage 1",
         "--genome 300K --coverage 8", "--genome 300K --coverage 8 --error 1 --n-rate 0.5",
         "--genome 300K --coverage 8 --profile illumina --sequences 9 --abundance 2",
         "--genome 300K --coverage 8 --profile hifi --truth",
         "--genome 300K --coverage 8 --profile nanopore --wrap 80")

GENOME = 300_000
COMPLEMENT = str.maketrans("ACGT", "TGCA")
# For each profile, bounds of: the error rate, the shares of substitutions, insertions and
# deletions, the share of the latter two that is in homopolymers, and the lengths of reads.
PROFILES = {
    "illumina": ((0.0017, 0.0021), ((0.99, 1), (0, 0.004), (0.0005, 0.006)), (0, 0.3), (150, 150)),
    "hifi": ((0.0012, 0.0017), ((0.035, 0.065), (0.42, 0.48), (0.47, 0.53)), (0.82, 0.93),
             (10_000, 25_000)),
    "nanopore": ((0.030, 0.037), ((0.34, 0.36), (0.24, 0.26), (0.39, 0.41)), (0.52, 0.6),
                 (300, 150_000))}


def text_of(options):
    return run(SIMULATE, *options.split())


def blocks(packed):
    """(size, text) of each block of BGZF."""
    while packed:
        if packed[:4] != END[:4] or packed[10:16] != END[10:16]:
            raise Failure(f"not a block of BGZF: {packed[:18].hex()}")
        nbytes = struct.unpack("<H", packed[16:18])[0] + 1
        yield nbytes, gzip.decompress(packed[:nbytes])
        packed = packed[nbytes:]


def test_text():
    for options, digest in TEXTS:
        got = hashlib.sha256(text_of(options)).hexdigest()
        if got != digest:
            raise Failure(f"{options}: sha256 {got}")


def test_bgzf():
    for options in SIZES:
        wanted, packed = text_of(options), text_of(f"{options} --bgzf --threads 2")
        if subprocess.run(["gzip", "-t"], input=packed).returncode != 0:
            raise Failure(f"{options}: gzip -t refuses the file")
        parts = list(blocks(packed))
        if b"".join(text for _, text in parts) != wanted:
            raise Failure(f"{options}: --bgzf changed the text")
        if packed[-len(END):] != END or [n for n, text in parts if not text] != [len(END)]:
            raise Failure(f"{options}: not one empty block, at the end")
        if any(text.endswith(b"\n") for _, text in parts[:-2]):
            raise Failure(f"{options}: a block before the last ends with a line, and may end with "
                          "a record")
        if max(len(text) for _, text in parts) > MOST_TEXT:
            raise Failure(f"{options}: a block is too large")


def test_threads():
    for options in SIZES:
        one, three = (text_of(f"{options} --bgzf --threads {threads}") for threads in (1, 3))
        if one != three:
            raise Failure(f"{options}: the bytes depend on the number of threads")


def test_files():
    """-o writes what standard output gets; a full disk is an error."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "reads.fq.gz"
        run(SIMULATE, *SIZES[2].split(), "--bgzf", "-o", path)
        if path.read_bytes() != text_of(f"{SIZES[2]} --bgzf"):
            raise Failure("a file differs from standard output")
    full = subprocess.run([SIMULATE, "--bgzf", "-o", "/dev/full"], capture_output=True, text=True)
    if full.returncode != 1 or "No space left" not in full.stderr:
        raise Failure(f"a full disk: exit {full.returncode}, {full.stderr}")


def records(options):
    """(place, strand, operations, bases, qualities) of each read."""
    lines = text_of(f"{options} --truth").decode().splitlines()
    for name, bases, qualities in zip(lines[0::4], lines[1::4], lines[3::4]):
        _, place, strand, cigar = name.split(" ")
        operations = [(int(n), kind) for n, kind in re.findall(r"(\d+)([=XID])", cigar)]
        yield int(place), strand, operations, bases, qualities


def reverse(bases):
    return bases.translate(COMPLEMENT)[::-1]


def origin(genome, place, strand, operations):
    """The bases that a read is a copy of."""
    end = place + sum(n for n, kind in operations if kind != "I")
    return genome[place:end] if strand == "+" else reverse(genome[place:end])


def find_genome(profile):
    """A read of the whole genome is one of its strands; a read with a known strand tells which."""
    read = text_of(f"--genome {GENOME} --length {GENOME} --coverage 1 --error 0")
    one = read.decode().splitlines()[1]
    place, strand, operations, bases, _ = next(records(f"--genome {GENOME} --profile {profile}"))
    begin = bases[:operations[0][0]]
    return next(genome for genome in (one, reverse(one))
                if origin(genome, place, strand, operations).startswith(begin))


class Errors:
    """The errors of reads, by kind, by quality, and by place in the read."""

    def __init__(self, genome, options):
        self.kinds, self.wrong, self.letters = (collections.Counter() for _ in range(3))
        self.tenths, self.lengths, self.in_runs = collections.Counter(), [], 0
        for read in records(options):
            self.add(origin(genome, *read[:3]), *read[2:])

    def add(self, origin_bases, operations, bases, qualities):
        at = taken = 0
        for n, kind in operations:
            copied, made = origin_bases[taken:taken + n], bases[at:at + n]
            if kind in "=X" and (copied == made) != (kind == "="):
                raise Failure(f"{kind} where {copied} became {made}")
            if kind != "=":
                self.tenths[at * 10 // len(bases)] += n
                self.wrong[qualities[min(at, len(bases) - 1)]] += n
                run = origin_bases[taken:taken + 3]
                self.in_runs += kind in "ID" and len(set(run)) == 1 and len(run) == 3
            self.kinds[kind] += n
            at, taken = at + n * (kind != "D"), taken + n * (kind != "I")
        if (at, taken, len(bases)) != (len(bases), len(origin_bases), len(qualities)):
            raise Failure("a CIGAR string, the bases and the qualities differ in length")
        self.letters.update(qualities)
        self.lengths.append(len(bases))

    def total(self):
        return sum(self.kinds[kind] for kind in "XID")

    def shares(self):
        return [self.kinds[kind] / self.total() for kind in "XID"]


def error_of(letter):
    return min(10 ** (-(ord(letter) - 33) / 10), 0.75)


def expect_between(what, value, bounds):
    if not bounds[0] <= value <= bounds[1]:
        raise Failure(f"{what}: {value}, not in {bounds}")


def test_profiles():
    for profile, (rate, shares, in_runs, lengths) in PROFILES.items():
        options = f"--genome {GENOME} --coverage 8 --profile {profile}"
        errors = Errors(find_genome(profile), options)
        expect_between(f"{profile}: errors", errors.total() / sum(errors.lengths), rate)
        for kind, share, bounds in zip("XID", errors.shares(), shares):
            expect_between(f"{profile}: share of {kind}", share, bounds)
        indels = errors.kinds["I"] + errors.kinds["D"]
        expect_between(f"{profile}: in homopolymers", errors.in_runs / indels, in_runs)
        for length in (min(errors.lengths), max(errors.lengths)):
            expect_between(f"{profile}: length", length, lengths)
        check_qualities(profile, errors)
        if profile == "illumina":
            expect_between("rise of errors", errors.tenths[9] / errors.tenths[0], (4, 7))
        if profile == "nanopore":
            spread = statistics.stdev(map(math.log, errors.lengths))
            expect_between("spread of lengths", spread, (0.65, 0.85))


def check_qualities(profile, errors):
    """A quality says how often a base is wrong; those of the long tail are taken together."""
    most = max(errors.letters, key=errors.letters.get)
    expect_between(f"{profile}: bases of the commonest quality", errors.letters[most],
                   (1, 0.95 * sum(errors.lengths)))
    expected, found = 0, 0
    for letter in sorted(errors.letters):
        expected += errors.letters[letter] * error_of(letter)
        found += errors.wrong[letter]
        if expected > 400:
            expect_between(f"{profile}: errors up to {letter}", found / expected, (0.8, 1.25))
            expected = found = 0


def test_sequences():
    """Reads stay within a sequence, and abundances differ as much as they should."""
    for profile, n in (("", 50), ("--profile nanopore --length 2K", 50)):
        for deviation, bounds in ((0, (0, 0.25)), (1.5, (1.2, 1.8))):
            lines = text_of(f"--genome {GENOME} --coverage 20 --sequences {n} {profile} "
                            f"--abundance {deviation} --truth").decode().splitlines()
            reads, size = collections.Counter(), GENOME // n
            for name, bases in zip(lines[0::4], lines[1::4]):
                place = int(name.split(" ")[1])
                if place // size != (place + len(bases) * 0.9 - 1) // size:
                    raise Failure(f"a read from {place} on leaves its sequence")
                reads[place // size] += 1
            logs = [math.log(reads[i] + 0.5) for i in range(n)]
            expect_between(f"spread of {n} abundances", statistics.stdev(logs), bounds)


def test_fasta():
    options = "--genome 300K --coverage 1 --profile nanopore"
    fastq, fasta = (text_of(f"{options} --format {name}").splitlines()
                    for name in ("fastq", "fasta"))
    if fastq[1::4] != fasta[1::2]:
        raise Failure("the bases depend on the format")


def test_usage():
    for options, said in (("--profile none", "not a profile"),
                          ("--profile hifi --error 0.1", "not with --profile"),
                          ("--sequences 0", "--sequences"),
                          ("--genome 1K --sequences 9", "--length"), ("--length 0", "--length")):
        done = subprocess.run([SIMULATE, *options.split()], capture_output=True, text=True)
        if done.returncode != 2 or said not in done.stderr or done.stdout:
            raise Failure(f"{options}: exit {done.returncode}, {done.stderr}")


main([test_text, test_bgzf, test_threads, test_files, test_profiles, test_sequences, test_fasta,
      test_usage])
