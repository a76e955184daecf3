"""
Reads from gzip files that other programs wrote: whether or not a file can be split, and for any
number of threads, the .kc file is that of the plain text.

    gunzip.py KCOUNT SOURCE

Programs that are not installed are left out.
"""
import gzip
import random
import shutil
import subprocess
import zlib

from lib.session import Session, expect
from lib.tools import SMALL, main

PACKERS = [
    *(f"gzip -{level}" for level in range(1, 10)), "pigz -1", "pigz -6", "pigz -i",
    "zopfli -c --i1 reads", "bgzip", "libdeflate-gzip -12", "igzip -0", "igzip -3",
]


def fastq(nreads):
    """FASTQ large enough for many threads even when packed: some 2 MB."""
    draw = random.Random(1)
    lines = []
    for number in range(nreads):
        bases = "".join(draw.choices("ACGT", k=120))
        qualities = "".join(draw.choices("IIIIIIFFF:,#", k=120))
        lines.append(f"@read.{number}/1\n{bases}\n+\n{qualities}\n")
    return "".join(lines).encode()


def write_reads(s, form, content):
    """The file always has the same name, because the .kc file holds it."""
    (s.path / form).mkdir(exist_ok=True)
    s.write(f"{form}/reads", content)


def count(s, form, threads, ncopies=1):
    """The bytes of the .kc file of the reads in this form."""
    s.kcount("count", *["reads"] * ncopies, "-k", 21, "-t", threads, "-o", s.path / "out.kc",
             "--force", "--quiet", cwd=s.path / form)
    return (s.path / "out.kc").read_bytes()


def python_streams(text):
    yield "gzip.compress", gzip.compress(text, 6)
    half = len(text) // 2
    yield "two members", gzip.compress(text[:half],
                                       1) + gzip.compress(b"") + gzip.compress(text[half:], 9)
    for name, strategy in (("huffman", zlib.Z_HUFFMAN_ONLY), ("fixed", zlib.Z_FIXED),
                           ("rle", zlib.Z_RLE)):
        packer = zlib.compressobj(6, zlib.DEFLATED, 31, 9, strategy)
        yield name, packer.compress(text) + packer.flush()


def test_packers():
    s = Session()
    text = fastq(12000)
    write_reads(s, "plain", text)
    want = count(s, "plain", 2)
    streams = list(python_streams(text))
    for packer in PACKERS:
        if shutil.which(packer.split()[0]):
            done = subprocess.run(packer.split(), cwd=s.path / "plain", input=text,
                                  stdout=subprocess.PIPE, check=True)
            streams.append((packer, done.stdout))
    for name, packed in streams[::5] if SMALL else streams:
        write_reads(s, "packed", packed)
        for threads in (3,) if SMALL else (1, 3, 4):
            expect(count(s, "packed", threads) == want, True,
                   f"{name}, {threads} threads: the same bytes")


def test_several_files():
    """One worker for each file, then all of them for the last."""
    s = Session()
    text = fastq(9000)
    write_reads(s, "plain", text)
    want = count(s, "plain", 2, ncopies=3)
    write_reads(s, "packed", gzip.compress(text))
    for threads in (1, 2, 6, 8):
        expect(count(s, "packed", threads, ncopies=3) == want, True,
               f"{threads} threads: the same bytes")


def test_damaged():
    s = Session()
    packed = bytearray(gzip.compress(fastq(12000)))
    s.write("cut.fq.gz", bytes(packed[:-5]))
    packed[len(packed) // 2] ^= 0x10
    s.write("bad.fq.gz", bytes(packed))
    for threads in (1, 3, 4):
        s.kcount("count", "cut.fq.gz", "-k", 21, "-t", threads, code=1,
                 message=f"cut.fq.gz is truncated: its gzip data breaks off at byte "
                         f"{len(packed) - 5}")
        s.kcount("count", "bad.fq.gz", "-k", 21, "-t", threads, code=1, message="bad.fq.gz")


main([test_packers, test_several_files, test_damaged])
