"""
The bound on memory, -m, is kept. Two checks: a library aborts the program if it allocates more
(tests/memory_limit.c), and the peak of the resident set is below the bound.

    memory.py KCOUNT SIMULATE LIBRARY

With KC_TEST_LONG=1 the inputs are large enough for the bounds of 1G and 2G to bind, too: 3 GB of
disk, and some minutes.
"""
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from lib.tools import Failure, bam_text, bgzf, main, run

KCOUNT, SIMULATE, LIBRARY = (Path(path).resolve() for path in sys.argv[1:4])
LONG = os.environ.get("KC_TEST_LONG") == "1"
MIB = 1 << 20
SIZES = {"256M": 256 * MIB, "512M": 512 * MIB, "1G": 1024 * MIB, "2G": 2048 * MIB}
# Libraries, stacks and the reserves of malloc() take address space in addition to the bound.
SPACE_MIB, SPACE_MIB_PER_THREAD = 256, 8


def bounded(size, *command, space=None, stdout=subprocess.DEVNULL, fails=None):
    """Run kcount within a size; returns what it wrote to standard error."""
    command = [str(part) for part in (KCOUNT, *command)]
    environment = dict(os.environ)
    if space is None:
        environment.update(LD_PRELOAD=str(LIBRARY), KC_MEMORY_LIMIT=str(SIZES[size]))

    def limit():
        if space is not None:
            resource.setrlimit(resource.RLIMIT_AS, (space, space))

    process = subprocess.Popen(command, env=environment, stdout=stdout, stderr=subprocess.PIPE,
                               preexec_fn=limit)
    messages = process.stderr.read().decode()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    what = f"{' '.join(command[:12])}\n{messages}"
    if process.returncode != (0 if fails is None else 1) or (fails or "") not in messages:
        raise Failure(f"exit {process.returncode}: {what}")
    if usage.ru_maxrss * 1024 > SIZES[size]:
        raise Failure(f"{usage.ru_maxrss / 1024:.0f} MiB were used: {what}")
    return messages


def count(folder, size, nthreads, reads, output, *options, k=31, spills=False, **limits):
    """Count to folder/output; spills: the bound must make it spill."""
    command = ("count", reads, "-k", str(k), "-m", size, "-t", str(nthreads), "--device", "cpu",
               "--tmp", folder, "-o", folder / output, "--force", "--quiet", "--json", *options)
    with open(folder / "summary", "w+") as summary:
        bounded(size, *command, stdout=summary, **limits)
        summary.seek(0)
        if spills and json.load(summary)["spilled_bytes"] == 0:
            raise Failure(f"nothing was spilled with -m {size}: the test needs more reads")
    return folder / output


def simulate(folder, name, mbases, *options):
    """Reads in which nearly all k-mers are distinct."""
    path = folder / name
    run(SIMULATE, "--genome", f"{mbases}M", "--coverage", "1", "-o", path, *options)
    return path


def write_alignments(reads, path):
    """The reads of a FASTQ file as unaligned SAM, whose names come twice, far from each other."""
    lines = reads.read_bytes().split(b"\n")
    rows = [b"\t".join((lines[i][1:], b"4", *b"* 0 0 * * 0 0".split(), lines[i + 1], lines[i + 3]))
            for i in range(0, len(lines) - 1, 4)]
    path.write_bytes(b"\n".join(rows + rows) + b"\n")


def test_count(folder):
    """Many distinct k-mers, more threads than the bound has room for, and compressed input."""
    reads = simulate(folder, "reads.fq", 1000 if LONG else 100)
    small = reads if LONG else simulate(folder, "small.fq", 12)
    outputs = [count(folder, "256M", 16, reads, "256M.kc", spills=True),
               count(folder, "512M", 3, reads, "512M.kc", spills=True)]
    for size in ("1G", "2G"):
        for nthreads in (2, 16):
            count(folder, size, nthreads, small, f"{size}.kc", spills=LONG)
    if LONG:
        for size in SIZES:
            outputs.append(count(folder, size, 2, reads, f"{size}.2.kc"))
    for output in outputs:
        if output.read_bytes() != outputs[0].read_bytes():
            raise Failure(f"{output} is not {outputs[0]}")
    run(KCOUNT, "check", outputs[0])
    with open(folder / "hist", "wb") as rows:
        bounded("256M", "hist", reads, "-k", "31", "-m", "256M", "-t", "16", "--tmp", folder,
                "--device", "cpu", stdout=rows)
    if (folder / "hist").read_bytes() != run(KCOUNT, "hist", outputs[0]):
        raise Failure("hist of the reads is not hist of their .kc file")
    with open(folder / "gc", "wb") as rows:
        bounded("256M", "hist", "--gc", small, "-k", "31", "-m", "256M", "-t", "16", "--tmp",
                folder, "--device", "cpu", stdout=rows)
    if (folder / "gc").read_bytes() != run(KCOUNT, "hist", "--gc",
                                           count(folder, "256M", 2, small, "small.kc")):
        raise Failure("hist --gc of the reads is not that of their .kc file")
    count(folder, "256M", 2, reads, "min.kc", "--min", "2")
    with open(folder / "small.fq.gz", "wb") as packed:
        subprocess.run(["gzip", "-1", "-c", small], stdout=packed, check=True)
    count(folder, "256M", 16, folder / "small.fq.gz", "gz.kc")
    lines = simulate(folder, "few.fq", 12).read_bytes().split(b"\n")
    (folder / "small.bam").write_bytes(bgzf(bam_text(zip(lines[1::4], lines[3::4])), 65280))
    for options in ((), ("-q", "20")):
        count(folder, "256M", 16, folder / "small.bam", "bam.kc", *options)
    wide = count(folder, "256M", 16, small, "wide.kc", k=101)
    run(KCOUNT, "check", wide)


def run_in_space(space, *command):
    done = subprocess.run([str(part) for part in (KCOUNT, *command)], stderr=subprocess.PIPE,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (space, space)))
    if done.returncode not in (0, 1):
        raise Failure(f"exit {done.returncode} within {space // MIB} MiB of address space")


def test_address_space(folder):
    """With a limit on address space that leaves room for more than the bound."""
    reads = simulate(folder, "reads.fq", 20)
    for nthreads in (2, 6):
        space = SIZES["256M"] + (SPACE_MIB + SPACE_MIB_PER_THREAD * nthreads) * MIB
        count(folder, "256M", nthreads, reads, "space.kc", space=space)
    few = simulate(folder, "few.fq", 2)
    for margin in range(40, 130, 6):  # too little: it may fail, but must not crash
        run_in_space(SIZES["256M"] + margin * MIB, "count", few, "-k", "31", "-m", "256M",
                     "-t", "6", "-o", folder / "few.kc", "--device", "cpu", "--force")
    bounded("256M", "count", reads, "-k", "31", "-m", "100T", "-o", folder / "no.kc",
            "--device", "cpu", fails="cannot reserve")


def write_record(path, bases, quality):
    with open(path, "wb") as file:
        file.write(b"@one\n" + bases + b"\n+\n")
        for _ in range(0, len(bases), MIB):
            file.write(quality * MIB)
        file.truncate(2 * len(bases) + 8)
        file.seek(2 * len(bases) + 8)
        file.write(b"\n")


def one_sequence(folder, mbases):
    """A sequence of that many bases, and the .kc file of its k-mers."""
    text = simulate(folder, "reads.fa", mbases, "--format", "fasta").read_bytes()
    bases = b"".join(line for line in text.split(b"\n") if not line.startswith(b">"))
    (folder / "one.fa").write_bytes(b">one\n" + bases + b"\n")
    return bases, count(folder, "256M", 2, folder / "one.fa", "fasta.kc")


def read_in_pieces(folder, name, nbases, whole):
    """Count a file of one record; with -q, the memory that the message asks for is enough."""
    pieces = count(folder, "256M", 2, folder / name, "pieces.kc")
    if run(KCOUNT, "hist", whole) != run(KCOUNT, "hist", pieces):
        raise Failure(f"{name}: a record in pieces does not give the k-mers of the FASTA one")
    arguments = ("count", folder / name, "-k", "31", "-q", "20", "-t", "2", "-o",
                 folder / "q.kc", "--device", "cpu", "--force", "--tmp", folder)
    messages = bounded("256M", *arguments, "-m", "256M", fails=f"record 1 has {nbases} bases")
    wanted = re.search(r"allow more memory with -m (\w+), or count without", messages).group(1)
    SIZES[wanted] = int(wanted[:-1]) * MIB
    bounded(wanted, *arguments, "-m", wanted)
    if run(KCOUNT, "hist", whole) != run(KCOUNT, "hist", folder / "q.kc"):
        raise Failure(f"{name}: -q changes the k-mers of a record without low qualities")


def test_one_record(folder):
    """A FASTQ record is held in memory only if its qualities are wanted."""
    bases, whole = one_sequence(folder, 900 if LONG else 32)
    write_record(folder / "one.fq", bases, b"I")
    read_in_pieces(folder, "one.fq", len(bases), whole)


def test_one_bam_record(folder):
    """The same for BAM."""
    bases, whole = one_sequence(folder, 32)
    record = bam_text([(bases, b"I" * len(bases))])
    (folder / "one.bam").write_bytes(bgzf(record, 65280))
    read_in_pieces(folder, "one.bam", len(bases), whole)


def test_other_commands(folder):
    """add, merge, compact, remove, and commands that only read, on files of several runs."""
    size, common = "256M", ("-t", "16", "-m", "256M", "--quiet")
    parts = []
    for seed in range(4):
        reads = simulate(folder, f"{seed}.fq", 6, "--seed", seed + 1)
        parts.append(count(folder, size, 16, reads, f"{seed}.kc"))
    grown = folder / "grown.kc"
    grown.write_bytes(parts[0].read_bytes())
    for seed in (1, 2, 3):
        bounded(size, "add", grown, folder / f"{seed}.fq", *common, "--tmp", folder,
                "--device", "cpu")
    for command in ("merge", "union", "intersect", "subtract"):
        bounded(size, command, *parts, "-o", folder / "set.kc", *common, "--force",
                "--device", "cpu")
    run(SIMULATE, "--genome", "50000", "--length", "500", "-o", folder / "few.fq", "--coverage",
        "1")
    for k, nfiles, fails in ((31, 900, None),
                             (255, 950,
                              "is not enough for a merge of 950 sorted runs; allow more memory "
                                        "with -m")):
        few = count(folder, size, 1, folder / "few.fq", "few.kc", k=k)
        bounded(size, "merge", *([few] * nfiles), "-o", folder / "set.kc", *common, "--force",
                "--device", "cpu", "--min", "2", fails=fails)
    write_alignments(folder / "0.fq", folder / "mixed.sam")
    with open(folder / "list", "wb") as kmers:
        bounded(size, "dump", grown, "-t", "16", "--max", "1", stdout=kmers)
    for command in (("hist",), ("query", "-f", folder / "list", "-m", size), ("check",),
                    ("profile", folder / "0.fq", "-m", size),
                    ("profile", folder / "0.fq", "-m", size, "--positions", "--format", "bed"),
                    ("filter", folder / "0.fq", "-m", size, "-o", folder / "kept.fq.gz", "--rest",
                     folder / "rest.fq.zst", "--table", folder / "table", "--force"),
                    ("filter", folder / "mixed.sam", "-m", size, "-o", folder / "kept.bam",
                     "--names", folder / "names", "--force")):
        bounded(size, command[0], grown, *command[1:], "-t", "16")
    bounded(size, "remove", grown, "-f", folder / "list", *common)
    bounded(size, "compact", grown, *common, "--device", "cpu")
    if run(KCOUNT, "hist", grown).startswith(b"1\t"):
        raise Failure("k-mers that were removed are still there")


def test_limit():
    """The library does end the program; otherwise the other tests would prove nothing."""
    try:
        with tempfile.TemporaryDirectory() as folder:
            SIZES["8M"] = 8 * MIB
            reads = simulate(Path(folder), "reads.fq", 1)
            bounded("8M", "count", reads, "-k", "31", "-o", Path(folder) / "no.kc")
    except Failure as failure:
        if "bytes are allocated" in str(failure):
            return
        raise
    raise Failure("more was allocated than the limit, and the program went on")


def test_many_sequences(folder):
    """An assembly of many short sequences, whose numbers a report keeps."""
    reads = simulate(folder, "reads.fq", 1)
    counts = count(folder, "256M", 2, reads, "reads.kc")
    bases = reads.read_bytes().split(b"\n")[1::4]
    for n, fails in ((450_000, None), (900_000, "a bound of 256 MiB is not enough for the numbers "
                                       "of 900000 sequences; allow more memory with -m 413M")):
        assembly = folder / "assembly.fa"
        assembly.write_bytes(b"".join(b">contig_%d\n%s\n" % (i, bases[i % len(bases)][:60])
                                      for i in range(n)))
        bounded("256M", "report", counts, "--assembly", assembly, "-o", folder / "report.html",
                "--force", "-m", "256M", "-t", "7", "--tmp", folder, "--quiet", fails=fails)


def test_many_outputs(folder):
    """All outputs that filter has, each with the larger compressor for every thread."""
    reads = simulate(folder, "reads.fq", 40)
    (folder / "mates.fq").symlink_to(reads)
    with open(reads, "rb") as file:
        (folder / "few.fq").write_bytes(b"".join(file.readlines()[:80000]))
    few = count(folder, "256M", 2, folder / "few.fq", "few.kc")
    options = (("-o", "a"), ("-o", "b"), ("--rest", "c"), ("--rest", "d"), ("--names", "e"),
               ("--table", "f"))
    outputs = [part for option, name in options for part in (option, folder / f"{name}.zst")]
    bounded("256M", "filter", few, reads, folder / "mates.fq", *outputs, "-m", "256M", "-t", "16")


def in_a_folder(test):
    def within():
        with tempfile.TemporaryDirectory(prefix="kcount-memory-") as folder:
            test(Path(folder))
    within.__name__ = test.__name__
    return within


if __name__ == "__main__":
    main([test_limit, *(in_a_folder(test) for test in (
        test_count, test_address_space, test_one_record, test_one_bam_record,
        test_other_commands, test_many_sequences, test_many_outputs))])
