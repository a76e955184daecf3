"""
Counting through kcount.h (tests/library/counter.c) writes the files that the program writes, with
the counts of a plain reference program. Failures leave nothing behind.

    library_count.py KCOUNT SOURCE COUNTER NAIVE
"""
import json
import pathlib
import random
import struct
import sys

from lib.library import Counts, random_reads
from lib.session import expect
from lib.tools import SMALL, bgzf, fasta, fastq, main, run

NAIVE = pathlib.Path(sys.argv[4]).resolve()
KS = 1, 21, 31, 33, 64, 128, 129, 255


LENGTHS = 0, 1, 20, 21, 33, 100, 150, 254, 255, 256, 700


def pairs_of(text):
    return [line for line in text.splitlines() if not line.startswith("#")]


def footer_offset(content):
    return struct.unpack_from("<Q", content, 64)[0]


def files():
    """The program's bytes and the reference's k-mers, for all k, strands and numbers of threads."""
    s = Counts()
    reads = random_reads(1, 40 if SMALL else 300, LENGTHS)
    s.write("reads.fq", fastq(reads))
    s.write("more.fa.gz", bgzf(fasta(random_reads(2, 50, LENGTHS))))
    s.write("list", "reads.fq\nmore.fa.gz\n")
    for i, k in enumerate(KS):
        stranded = i % 2 == 1
        flags = ["-s"] if stranded else []
        s.kcount("@list", "-k", k, "-o", "p.kc", "--force", "-t", 2,
                 *(["--stranded"] if stranded else []))
        wanted = run(NAIVE, "-k", k, *flags, "reads.fq", "more.fa.gz", cwd=s.path)
        for nthreads in (2, 7) if SMALL else (1, 2, 7):
            got = s.count("files", "l.kc", "@list", k=k, stranded=stranded, nthreads=nthreads,
                          replace=True)
            expect(pairs_of(got), wanted.decode().splitlines(), f"k = {k}, the reference's k-mers")
            expect((s.path / "l.kc").read_bytes(), (s.path / "p.kc").read_bytes(),
                   f"k = {k}, {nthreads} threads: the file")
        expect(s.count("files", "", "@list", k=k, stranded=stranded), got, "without a name")
    expect(s.names(), ["a.fq", "l.kc", "list", "more.fa.gz", "p.kc", "reads.fq"], "files")


def selections():
    """min_count, max_count, min_quality, hpc, skip, flags and only are the program's options."""
    s = Counts()
    s.write("reads.fq", fastq(random_reads(3, 40 if SMALL else 300, LENGTHS)))
    s.write("long.fa", fasta(random_reads(4, 1, [3000])))
    s.write("only.fa", fasta(random_reads(3, 1, [700])))
    s.write("a.sam", "".join(f"r{i}\t{4 + i % 3 * 64}\t*\t0\t0\t*\t*\t0\t0\t{b.decode()}\t*\n"
                             for i, (b, _) in enumerate(random_reads(5, 30, [150]))))
    for options, words in (({"min_count": 2}, ["--min", 2]),
                           ({"min_count": 2, "max_count": 5}, ["--min", 2, "--max", 5]),
                           ({"min_quality": 20}, ["--min-quality", 20]),
                           ({"hpc": True}, ["--hpc"]),
                           ({"skip": 30}, ["--skip", 30]),
                           ({"require_flags": 64}, ["--require-flags", 64]),
                           ({"exclude_flags": 64}, ["--exclude-flags", 64]),
                           ({"only": "only.fa"}, ["--only", "only.fa"]),
                           ({"memory_nbytes": 256 << 20, "tmp_folder": "."}, ["-m", "256M"])):
        inputs = "reads.fq", "long.fa", "a.sam"
        s.kcount(*inputs, "-k", 21, "-o", "p.kc", "--force", *words)
        s.count("files", "l.kc", *inputs, k=21, replace=True, **options)
        expect((s.path / "l.kc").read_bytes(), (s.path / "p.kc").read_bytes(), f"{words}")


def several():
    """Several k in one walk make the same files and counts as one k after another."""
    s = Counts()
    s.write("reads.fq", fastq(random_reads(3, 40 if SMALL else 300, LENGTHS)))
    wanted = "".join(s.count("files", f"l.{k}", "reads.fq", k=k, min_count=2) for k in (21, 9, 40))
    expect(s.count("several", "m", "reads.fq", min_count=2), wanted, "counts of several k")
    for k in 21, 9, 40:
        expect((s.path / f"m.{k}").read_bytes(), (s.path / f"l.{k}").read_bytes(), f"k = {k}")
    expect(s.count("several", "", "reads.fq", min_count=2), wanted, "without names")
    (s.path / "m.21").unlink()
    s.fails("EEXIST", "m.9 already exists", "several", "m", "reads.fq", advice="replace")


def histogram():
    """Only a histogram: the rows are those of kcount hist, with statistics and warnings."""
    s = Counts()
    s.write("reads.fq", fastq(random_reads(3, 40 if SMALL else 300, LENGTHS)))
    s.write("none.fa", ">a\n>b\n")
    s.write("protein.fa", ">a\n" + "MSLIVEKRQPW" * 30 + "\n")
    for options, words in ({}, []), ({"min_quality": 20}, ["-q", 20]), ({"skip": 9}, ["--skip", 9]):
        s.kcount("reads.fq", "-k", 21, "-o", "p.kc", "--force", *words)
        rows = s.kcount("hist", "reads.fq", "-k", 21, *words)
        end = json.loads(s.kcount("count", "reads.fq", "-k", 21, "-o", "p.kc", "--force", "--json",
                                  *words))
        said = (f"# reads {end['reads']} bases {end['bases']} skipped {end['skipped_letters']} "
                f"low {end['low_quality_bases']} left out {end['left_out_bases']} threads 2 "
                "devices 0\n")
        expect(s.count("histogram", "", "reads.fq", k=21, nthreads=2, **options), rows + said,
               f"histogram, {words}")
    some = "".join(line + "\n" for line in s.kcount("hist", "reads.fq", "-k", 9).splitlines()
                   if 2 <= int(line.split()[0]) <= 4)
    got = s.count("histogram", "", "reads.fq", k=9, min_count=2, max_count=4)
    expect(got[:got.index("#")], some, "some rows")
    got = s.count("histogram", "", "none.fa", "protein.fa", k=9)
    for text in "none.fa holds no sequence", "of the first letters in protein.fa are not":
        expect(got.count(text), 1, f"{text!r} in {got!r}")
    s.fails("EINPUT", "no.fq", "histogram", "", "no.fq")


def info_of(s, name):
    info = json.loads(s.kcount("info", "--json", name))
    for other in "file", "file_bytes", "inputs", "names", "version", "command":
        info.pop(other, None)
    return info


def sequences():
    """From memory: what the program counts in a FASTA file of the sequences, except file names."""
    rng = random.Random(5)
    s = Counts()
    sequences = [bases.decode() for bases, _ in random_reads(6, 40 if SMALL else 400, LENGTHS)]
    # longer than a worker's chunk, and an N now and then, also near the ends of chunks
    long = "".join(rng.choices("ACGT", k=300 << 10))
    for _ in range(200):
        at = rng.choice([rng.randrange(len(long)), (256 << 10) + rng.randrange(-600, 600)])
        long = long[:at] + "N" + long[at + 1:]
    sequences.insert(7, long)
    s.write("lines", "".join(f"{bases}\n" for bases in sequences))
    s.write("reads.fa", fasta([(bases.encode(), b"") for bases in sequences]))
    for i, k in enumerate(KS):
        options = {"k": k, "stranded": i % 2 == 0, "min_count": 1 + i % 3}
        s.kcount("reads.fa", "-k", k, "-o", "p.kc", "--force", "--min", 1 + i % 3,
                 *(["--stranded"] if i % 2 == 0 else []))
        wanted = (s.path / "p.kc").read_bytes()
        for nthreads in (2, 7) if SMALL else (1, 2, 7):
            s.count("lines", "l.kc", "lines", nthreads=nthreads, replace=True, print=0, **options)
            content = (s.path / "l.kc").read_bytes()
            end = footer_offset(wanted)
            expect(footer_offset(content), end, f"k = {k}: where the footer begins")
            expect(content[128:end], wanted[128:end], f"k = {k}, {nthreads} threads: the blocks")
        expect(info_of(s, "l.kc"), info_of(s, "p.kc"), f"k = {k}: kcount info")
        s.kcount("check", "l.kc")
    got = s.count("lines", "", "lines", **options)
    expect(pairs_of(got), s.kcount("dump", "p.kc").splitlines(), f"k = {k}: kcount dump")


def empty():
    """Having no sequences, or only short ones, is not a failure; a file of 0 bytes is one unless
    accept_empty is set."""
    s = Counts()
    s.write("none", "")
    s.write("short", "ACG\n\nA\n")
    end = ("# k 31 stranded 0 hpc 0 distinct 0 unique 0 sum 0\n"
           "# reads {} bases {} kmers 0 dropped 0 0\n")
    expect(s.count("lines", "", "none"), end.format(0, 0), "no sequence")
    expect(s.count("lines", "o.kc", "short"), end.format(3, 4), "short sequences")
    s.kcount("check", "o.kc")
    s.fails("EINPUT", "none", "files", "new.kc", "none", advice="accept_empty")
    expect(s.count("files", "", "none", accept_empty=True), end.format(0, 0), "a file of 0 bytes")


def failures():
    """Each failure has its status, says what is wrong, and leaves nothing behind."""
    s = Counts()
    s.write("lines", "ACGTACGTACGTAAAACCGT\n")
    s.write("reads.fa", ">r\nACGTACGTTTGACGT\n")
    s.write("cut.fq.gz", bgzf(fastq(random_reads(8, 200, LENGTHS)))[:-300])
    s.kcount("reads.fa", "-k", 5, "-o", "old.kc")
    for kind, name in ("files", "reads.fa"), ("lines", "lines"):
        for wrong in ({"k": 0}, {"k": 256}, {"k": 5, "min_count": 0}, {"k": 5, "nthreads": -1},
                      {"k": 5, "min_count": 3, "max_count": 2}, {"k": 5, "min_quality": 94},
                      {"k": 5, "min_quality": -1}, {"k": 5, "memory_nbytes": 1 << 20},
                      {"k": 5, "device": "gpu"}, {"k": 5, "device": "cuda:"}):
            s.fails("EUSAGE", "", kind, "new.kc", name, **wrong)
        s.fails("ENODEVICE", "no CUDA engine", kind, "new.kc", name, k=5, device="cuda:0",
                advice='"cpu"')
        s.fails("EEXIST", "old.kc already exists", kind, "old.kc", name, k=5, advice="replace")
        s.fails("EIO", "missing", kind, "missing/new.kc", name, k=5)
        s.fails("EIO", "missing", kind, "", name, k=5, tmp_folder="missing", advice="tmp_folder")
        s.fails("EUSAGE", "standard output", kind, "-", name, k=5)
    s.fails("EUSAGE", "no file", "files", "new.kc", k=5)
    s.fails("EINPUT", "missing.fa", "files", "new.kc", "reads.fa", "missing.fa", k=5)
    s.fails("EINPUT", "old.kc", "files", "new.kc", "old.kc", k=5)
    s.fails("EINPUT", "cut.fq.gz", "files", "new.kc", "reads.fa", "cut.fq.gz", k=5)
    s.fails("EINPUT", "cut.fq.gz", "files", "", "cut.fq.gz", k=5)
    s.fails("EUSAGE", "the output as well", "files", "reads.fa", "./reads.fa", k=5, replace=True)
    s.fails("EUSAGE", "not for sequences", "lines", "new.kc", "lines", k=5, hpc=True)
    s.fails("EUSAGE", "not for sequences", "lines", "new.kc", "lines", k=5, min_quality=9)
    s.fails("EUSAGE", "not for sequences", "lines", "new.kc", "lines", k=5, skip=9)
    s.fails("EUSAGE", "together", "files", "new.kc", "reads.fa", k=5, skip=9, hpc=True)
    s.fails("EUSAGE", "0x100", "files", "new.kc", "reads.fa", k=5, require_flags=0x101)
    s.fails("EUSAGE", "0x1", "files", "new.kc", "reads.fa", k=5, require_flags=1, exclude_flags=3)
    s.fails("EUSAGE", "the output as well", "files", "reads.fa", "old.kc", k=5, only="./reads.fa",
            replace=True)
    s.fails("EUSAGE", "standard input", "files", "new.kc", "-", k=5, only="-")
    s.fails("EINPUT", "has no 20-mers", "files", "new.kc", "reads.fa", k=20, only="reads.fa")


main([files, selections, several, histogram, sequences, empty, failures])
