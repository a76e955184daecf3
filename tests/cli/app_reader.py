"""
Files that the device inflates and parses: the result, the totals and the messages are the same as
with the host's reader.

    app_reader.py KCOUNT SOURCE
"""
import json
import os
import pathlib
import random
import struct
import subprocess
import sys

from session import Session, expect
from tools import (SKIPPED, Failure, bam_record, bam_text, bgzf, bgzf_block, fasta, fastq,
                   gzip_members, main)

if subprocess.run([sys.argv[1], "info", "--devices"]).returncode != 0:
    sys.exit(SKIPPED)

HUMAN = (pathlib.Path(sys.argv[2]) / "data/human.bam").read_bytes()
SMALL = "KC_TEST_SMALL" in os.environ  # where counting is slow, as on the emulated device
TOTALS = ("reads", "bases", "skipped_letters", "low_quality_bases", "input_bytes", "text_bytes",
          "kmers", "distinct")
LEAST = ("--gpu-batch", 4096)  # the smallest rounds of text: half a megabyte


def reads(n, length, seed, letters="ACGT", spread=0):
    rng = random.Random(seed)
    made = []
    for _ in range(n):
        size = length + (rng.randrange(-spread, spread + 1) if spread else 0)
        bases = "".join(rng.choices(letters, k=size)).encode()
        made.append((bases, bytes(rng.randrange(33, 74) for _ in range(size))))
    return made


def count(session, reader, names, options):
    """The exit status, and what was written and reported or, on failure, the message."""
    name = f"{reader}.kc"
    out = session.kcount("count", *names, "-k", 31, "--device", "cuda", "--reader", reader, "-o",
                         name, "--force", "--json", "--quiet", *options, code=None)
    if session.code != 0:
        return session.code, session.said, None
    return session.code, (session.path / name).read_bytes(), json.loads(out)


def compare(session, what, names, *options, device=True):
    """device: whether the device should read all files itself, without falling back on the host."""
    host = count(session, "host", names, options)
    own = count(session, "device", names, options)
    expect(own[0], host[0], f"{what}: exit status")
    if own[1] != host[1]:
        raise Failure(f"{what}: the device's reader gives another "
                      + ("file" if own[0] == 0 else f"message: {own[1]!r}, not {host[1]!r}"))
    if own[0] == 0:
        expect([own[2][key] for key in TOTALS], [host[2][key] for key in TOTALS], what)
        expect(host[2]["device_text_bytes"], 0, f"{what}: text that the device read for the host")
        expect(own[2]["device_text_bytes"], own[2]["text_bytes"] if device else 0,
               f"{what}: text that the device read")
    elif device:
        raise Failure(f"{what}: failed: {own[1]}")


N = 300 if SMALL else 3000
MIXED = reads(N, 150, 1, "ACGTACGTACGTACGTacgtuN", 60) + reads(N // 40, 5000, 2, spread=4000)


def test_clean_files():
    """Records and blocks across rounds and portions, in every kind of file that the device reads."""
    s = Session()
    text = fastq(MIXED)
    one = fasta([(b"".join(bases for bases, _ in MIXED), b"")])
    files = {
        "x.fq": text,
        "crlf.fq": text.replace(b"\n", b"\r\n"),
        "open.fq": text[:-1],
        "x.fq.gz": bgzf(text),
        "large.fq.gz": bgzf(text, 65280),
        "tiny.fq.gz": bgzf(text[:text.index(b"@r99 ")], 37),
        "x.fa": fasta(MIXED, 60),
        "one.fa": one,
        "wrapped.fa": fasta([(one.split(b"\n")[1], b"")], 70),
        "x.fa.gz": bgzf(fasta(MIXED, 80), 30000),
    }
    for name, content in files.items():
        s.write(name, content)
        compare(s, name, [name], *LEAST)
    compare(s, "one large round", ["x.fq.gz"])
    compare(s, "-q", ["x.fq.gz"], *LEAST, "-q", 20)
    compare(s, "-q, CRLF", ["crlf.fq"], *LEAST, "-q", 33)
    compare(s, "many files", list(files), *LEAST)
    compare(s, "little device memory", ["x.fq.gz", "x.fa"], "--gpu-memory", "600M")


def test_high_ratio():
    """Blocks whose text is a thousand times as long as they are."""
    s = Session()
    s.write("n.fq.gz", bgzf(fastq([(b"N" * 60000, b"I" * 60000)] * 30 + MIXED[:200]), 65000))
    compare(s, "long runs", ["n.fq.gz"], *LEAST)


def test_bam():
    """Records, and headers, across rounds, portions and blocks; aligned reads of every kind."""
    s = Session()
    header = b"".join(b"@CO\t%0*d\n" % (1 + i % 200, i) for i in range(8000))
    files = {
        "human.bam": HUMAN,
        "x.bam": bgzf(bam_text(MIXED)),
        "tiny.bam": bgzf(bam_text(MIXED[:99]), 37),
        "header.bam": bgzf(bam_text(MIXED[-40:], header, 9000)),
        "long.bam": bgzf(bam_text(reads(9, 60000, 3, spread=9000) + MIXED[:40])),
        "none.bam": bgzf(bam_text([])),
        "only.bam": bgzf(bam_text([], header)),
        "x.fq.gz": bgzf(fastq(MIXED[:50])),
        "x.fa.gz": bgzf(fasta(MIXED[:50], 60)),
    }
    for name, content in files.items():
        s.write(name, content)
    compare(s, "all files", list(files), *LEAST)
    compare(s, "BAM, -q", ["human.bam", "x.bam"], *LEAST, "-q", 20)
    compare(s, "BAM, large rounds, stranded", ["header.bam", "human.bam"], "-q", 35, "--stranded")


def test_bam_and_the_host():
    """What the device does not accept: a long record, and whatever the host refuses, too."""
    s = Session()
    text = bam_text(MIXED)
    half = text.index(b"r%d\0" % (N // 2)) - 36
    files = {
        "long.bam": bgzf(bam_text(MIXED[:9] + [(b"ACGT" * 99999, b"I" * 399996)])),
        "torn.bam": bgzf(text[:half + 21]),
        "length.bam": bgzf(text[:half] + b"\7\0\0\0" + text[half + 4:]),
        "ref.bam": bgzf(text[:half + 4] + struct.pack("<i", 0) + text[half + 8:]),
        "name.bam": bgzf(text[:half + 12] + b"\0" + text[half + 13:]),
        "after.bam": bgzf(text + bam_record(0, b"ACGT", b"IIII")[:-1]),
        "header.bam": bgzf(bam_text(MIXED[:9], b"@HD\nHD\n")),
        "cut.bam": bgzf(text)[:-28],
        "open.bam": bgzf(bam_text([], b"@CO\t%0*d\n" % (99999, 0))[:-4]),
    }
    for name, content in files.items():
        s.write(name, content)
        compare(s, name, [name], *LEAST, device=False)


def test_flipped_bam():
    """Bits of records and of packed blocks: the device accepts what the host accepts."""
    s = Session()
    rng = random.Random(6)
    for i in range(4 if SMALL else 12):
        flipped = bytearray(bam_text(MIXED[:50]))
        flipped[rng.randrange(60, len(flipped))] ^= 1 << rng.randrange(8)
        s.write("text.bam", bgzf(bytes(flipped)))
        sound = count(s, "host", ["text.bam"], LEAST)[0] == 0
        compare(s, f"text, flip {i}", ["text.bam"], *LEAST, device=sound)
        packed = bytearray(HUMAN)
        packed[rng.randrange(1000, len(HUMAN) - 1000)] ^= 1 << rng.randrange(8)
        s.write("packed.bam", bytes(packed))
        compare(s, f"packed, flip {i}", ["packed.bam"], *LEAST, device=False)


def test_left_to_the_host():
    """Files that are not strict, each in another way, but that the host accepts."""
    s = Session()
    text = fastq(MIXED)
    half = text.index(b"@r%d " % (N // 2))
    files = {
        "multi.fq": text[:half] + fastq(MIXED[:3], 40),
        "blank.fq": text[:half] + b"\n" + text[half:],
        "first.fq": b"\n" + text,
        "bom.fq": b"\xef\xbb\xbf" + text,
        "members.fq.gz": bgzf(text[:half])[:-28] + gzip_members(text[half:], 30000),
        "long.fq": fastq(MIXED + [(b"ACGT" * 60000, b"I" * 240000)]),
        "no.fq.gz": gzip_members(text, 1 << 30),
    }
    for name, content in files.items():
        s.write(name, content)
        compare(s, name, [name], *LEAST, device=False)
    compare(s, "clean and not", ["first.fq", "long.fq"], *LEAST, device=False)
    s.write("x.fq", text)
    s.kcount("count", "x.fq", "-k", "21,31", "--device", "cuda", "--reader", "device", "-o", "x.kc")


def test_bad_files():
    """The host's messages name the file and the record, or the block."""
    s = Session()
    text = fastq(MIXED)
    half = text.index(b"@r%d " % (N // 2))
    packed = bytearray(bgzf(text))
    middle = len(packed) // 2
    rng = random.Random(5)
    files = {
        "plus.fq": text[:half] + text[half:].replace(b"\n+\n", b"\n-\n", 1),
        "quality.fq": text[:-2] + b"\n",
        "torn.fq": text[:len(text) // 2 + 11],
        "end.fq.gz": bytes(packed[:-28]),
        "cut.fq.gz": bytes(packed[:middle]),
        "half.fq.gz": bgzf(text[:len(text) // 2 + 11]),
        "text.fa": fasta(MIXED) + b"ACGT\n+\n",
        "crc.fq.gz": bgzf(text)[:-28] + bgzf_block(b"@x\nA\n+\nI\n")[:-8] + bytes(8) + bgzf_block(b""),
    }
    for i in range(4 if SMALL else 12):
        flipped = bytearray(packed)
        flipped[rng.randrange(100, len(packed))] ^= 1 << rng.randrange(8)
        files[f"flip{i}.fq.gz"] = bytes(flipped)
    for name, content in files.items():
        s.write(name, content)
        compare(s, name, [name], *LEAST, device=False)


def test_option():
    s = Session()
    s.kcount("count", "a.fq", "-k", 3, "--reader", "gpu", code=2, message="--reader: 'gpu' is not one of")
    s.kcount("count", "a.fq", "-k", 3, "--reader", "host", "--device", "cpu", "-o", "x.kc")


main([test_clean_files, test_high_ratio, test_bam, test_bam_and_the_host, test_flipped_bam,
      test_left_to_the_host, test_bad_files, test_option])
