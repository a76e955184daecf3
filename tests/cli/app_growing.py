"""
Inputs that change while they are counted: a file to which reads are appended, and a named pipe with
slow writers. What is counted is a prefix of the input, or the command fails.

    app_growing.py KCOUNT SOURCE [DEVICE]
"""
import gzip
import json
import os
import random
import subprocess
import sys
import threading
import time

from lib.session import Session, expect, wait_for_output
from lib.tools import SKIPPED, SMALL, Failure, bam_text, bgzf, fasta, fastq, gzip_members, main, sam

DEVICE = sys.argv[3] if len(sys.argv) > 3 else "cpu"
if DEVICE != "cpu" and subprocess.run([sys.argv[1], "info", "--devices"]).returncode != 0:
    sys.exit(SKIPPED)

K, NBASES = 31, 120
OPTIONS = ("-k", K, "--device", DEVICE, "--quiet", "--force")


def random_reads(n, seed):
    rng = random.Random(seed)
    return [("".join(rng.choices("ACGT", k=NBASES)).encode(), b"I" * NBASES) for _ in range(n)]


READS = random_reads(300 if SMALL else 1500, 1)
FORMATS = {
    "fastq": fastq(READS),
    "fasta": fasta(READS),
    "sam": sam(READS),
    "gzip": gzip.compress(fastq(READS), 1),
    "members": gzip_members(fastq(READS), 30000),
    "bgzf": bgzf(fastq(READS), 30000),
    "bam": bgzf(bam_text(READS), 30000),
}
if SMALL:
    FORMATS = {name: FORMATS[name] for name in ("fastq", "fasta", "members")}


def pieces_of(content, rng, most):
    at = 0
    while at < len(content):
        end = at + rng.randrange(1, most)
        yield content[at:end]
        at = end


class Writer(threading.Thread):
    """Writes pieces to a file, with a pause after each, until all are written or it is stopped."""
    def __init__(self, path, mode, pieces, pause=0.0002):
        super().__init__(daemon=True)
        self.path, self.mode, self.pieces, self.pause = path, mode, pieces, pause
        self.stopped = threading.Event()
        self.start()

    def run(self):
        with open(self.path, self.mode, buffering=0) as file:
            for piece in self.pieces:
                if self.stopped.is_set():
                    return
                file.write(piece)
                time.sleep(self.pause)

    def stop(self):
        self.stopped.set()
        self.join()


def expect_count(s, inputs, what):
    """out.kc is the count of these inputs: a dictionary from their names to what is in them."""
    other = Session()
    for name, content in inputs.items():
        other.write(name, content)
    other.kcount("count", *inputs, *OPTIONS, "-o", "out.kc")
    same = (s.path / "out.kc").read_bytes() == (other.path / "out.kc").read_bytes()
    expect(same, True, f"the same count, {what}")


def check_prefix(s, content, report, what):
    """
    out.kc is the count of as many bytes as were read, and they are whole records. But plain FASTA
    has no end of a record: the last one may be cut, unless the file no longer grew.
    """
    expect_count(s, {"in": content[:report["input_bytes"]]}, what)
    if what != "fasta":
        expect(report["kmers"], report["reads"] * (NBASES - K + 1), f"k-mers of reads, {what}")


def count_growing(name, content, start, pieces, pause=0.0002):
    """Count a file while pieces are appended to it. Returns whether that succeeded."""
    s = Session()
    s.write("in", content[:start])
    writer = Writer(s.path / "in", "ab", pieces, pause)
    try:
        done = s.kcount("count", "in", *OPTIONS, "--json", "-o", "out.kc", code=None)
    finally:
        writer.stop()
    if s.code == 0:
        check_prefix(s, content, json.loads(done), name)
        return True
    expect((s.code, s.names()), (1, ["a.fq", "in"]), f"exit code and files, {name}: {s.said}")
    expect("in is truncated: " in s.said or "truncated or damaged" in s.said or
           "is truncated: the file ends within it" in s.said or
           (name == "fasta" and "in became longer while it was being read" in s.said), True,
           f"message, {name}: {s.said}")
    return False


def test_torn_pieces():
    """The file may end within a record at any time."""
    rng = random.Random(2)
    for name, content in FORMATS.items():
        for _ in range(2 if SMALL else 4):
            start = rng.randrange(len(content) // 4, len(content) * 3 // 4)
            count_growing(name, content, start, pieces_of(content[start:], rng, 2000))


def test_whole_records():
    """Here the file ends after a record, except when it is read in the middle of a write."""
    records = [fastq([read]) for read in READS]
    content = b"".join(records)
    nsuccesses = 0
    for first in range(50, 250, 70):
        start = len(b"".join(records[:first]))
        nsuccesses += count_growing("fastq", content, start, records[first:])
    expect(nsuccesses > 0, True, "some counts of a file that grows by records")


def test_growing_fasta():
    """A file that grows all the time while it is read cannot be read."""
    lines = [b"ACGT\n"] * 200000
    start = FORMATS["fasta"] * (30 if SMALL else 60)
    content = start + b"".join(lines)
    for _ in range(20):  # on a busy machine, the writer may rest while kcount reads
        if not count_growing("fasta", content, len(start), lines, 0):
            return
    raise Failure("a FASTA file that grew was counted each time")


def test_grown_before_its_turn():
    """What is appended to a file before it is opened, while another input is read, is counted."""
    s = Session()
    os.mkfifo(s.path / "fifo")
    s.write("in", fastq(READS[:100]))
    started = s.start("count", "fifo", "in", *OPTIONS, "-t", 1, "-o", "out.kc")
    with open(s.path / "fifo", "wb", buffering=0) as fifo:
        wait_for_output(s, started)
        with open(s.path / "in", "ab") as grown:
            grown.write(fastq(READS[100:200]))
        fifo.write(fastq(READS[200:]))
    expect((started.wait(timeout=60), started.stderr.read()), (0, b""), "a file that has grown")
    expect_count(s, {"fifo": fastq(READS[200:]), "in": fastq(READS[:100]) + fastq(READS[100:200])},
                 "a file that has grown")


def test_slow_pipe():
    """Pieces of all sizes, by one writer after another; the pipe stays open between them."""
    rng = random.Random(3)
    s = Session()
    os.mkfifo(s.path / "fifo")
    for name, content in FORMATS.items():
        started = s.start("count", "fifo", *OPTIONS, "-o", "out.kc")
        half = rng.randrange(len(content) // 4, len(content) * 3 // 4)
        with open(s.path / "fifo", "wb", buffering=0):
            for part in (content[:half], content[half:]):
                Writer(s.path / "fifo", "wb", pieces_of(part, rng, 9000)).join()
        expect((started.wait(timeout=60), started.stderr.read()), (0, b""), f"a pipe, {name}")
        expect_count(s, {"fifo": content}, f"a pipe, {name}")
        os.unlink(s.path / "out.kc")


def test_broken_pipe():
    """A writer that dies within a record."""
    s = Session()
    os.mkfifo(s.path / "fifo")
    before = s.names()
    for name, content in FORMATS.items():
        if name == "fasta":  # nothing marks the end of its records
            continue
        started = s.start("count", "fifo", *OPTIONS, "-o", "out.kc")
        Writer(s.path / "fifo", "wb", [content[:len(content) * 2 // 3 + 1]]).join()
        said = started.stderr.read().decode()
        expect((started.wait(timeout=60), "truncated" in said, s.names()), (1, True, before),
               f"a writer that died, {name}: {said}")


main([test_torn_pieces, test_whole_records, test_growing_fasta, test_grown_before_its_turn,
      test_slow_pipe, test_broken_pipe])
