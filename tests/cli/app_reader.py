"""
Files that the device inflates and parses: the result, the totals and the messages are the same as
with the host's reader, and --json says which side read how much.

    app_reader.py KCOUNT SOURCE
"""
import json
import pathlib
import random
import struct
import subprocess
import sys

from lib.session import Session, expect
from lib.tools import (SKIPPED, SMALL, Failure, bam_record, bam_text, bgzf, bgzf_block, fasta,
                       fastq, gzip_members, main)

if subprocess.run([sys.argv[1], "info", "--devices"]).returncode != 0:
    sys.exit(SKIPPED)

HUMAN = (pathlib.Path(sys.argv[2]) / "data/human.bam").read_bytes()
TOTALS = ("reads", "bases", "skipped_letters", "low_quality_bases", "input_bytes", "text_bytes",
          "kmers", "distinct", "inputs_without_sequence", "inputs_without_end_block")
LEAST = ("--gpu-batch", 4096)  # the smallest rounds of text: half a megabyte


def reads(n, length, seed, letters="ACGT", spread=0):
    rng = random.Random(seed)
    made = []
    for _ in range(n):
        size = length + (rng.randrange(-spread, spread + 1) if spread else 0)
        bases = "".join(rng.choices(letters, k=size)).encode()
        made.append((bases, bytes(rng.randrange(33, 74) for _ in range(size))))
    return made


def count(session, names, options):
    """The exit status, and what was written and reported or, on failure, the message; without the
    command line that it may repeat, which has the options."""
    out = session.kcount("count", *names, "-k", 31, "-o", "out.kc", "--force", "--json", "--quiet",
                         *options, code=None)
    if session.code != 0:
        return session.code, session.said.partition(" | kcount ")[0], None
    return session.code, (session.path / "out.kc").read_bytes(), json.loads(out)


def sides(report):
    """Bytes of text that each side parsed, inflated, and read because the device gave up."""
    return {f"{side}_{kind}": report[f"{side}_{kind}_bytes"] for side in ("host", "device")
            for kind in ("text", "inflated", "fallback")}


def check_sides(what, own, host, left):
    """left: how the files come to the host, if not on the device's side."""
    wanted = dict.fromkeys(sides(own), 0)
    side = "host" if left else "device"
    wanted[side + "_text"] = own["text_bytes"]
    wanted[side + "_inflated"] = host["host_inflated_bytes"]
    if left == "given up":
        wanted["host_fallback"] = own["text_bytes"]
        wanted["device_fallback"] = own["device_fallback_bytes"]
    expect(sides(own), wanted, f"{what}: bytes on each side")


def compare(session, what, names, *options, left=None):
    """
    The device's reader against the CPU engine, whose .kc files and messages are the same.
    left: None: the device reads all files itself; "given up": it begins, and the host reads them
    again, or reports an error; "host": it does not begin.
    Returns what was reported about the device's reader, or None after an error.
    """
    engine = [option for option in options if option not in LEAST]
    host = count(session, names, [*engine, "--device", "cpu"])
    own = count(session, names, [*options, "--device", "cuda", "--reader", "device"])
    expect(own[0], host[0], f"{what}: exit status")
    if own[:2] != host[:2]:
        raise Failure(f"{what}: the device's reader gives another "
                      + ("file" if own[0] == 0 else f"message: {own[1]!r}, not {host[1]!r}"))
    if own[0] == 0:
        expect([own[2][key] for key in TOTALS], [host[2][key] for key in TOTALS], what)
        check_sides(what, own[2], host[2], left)
    elif left is None:
        raise Failure(f"{what}: failed: {own[1]}")
    return own[2]


N = 300 if SMALL else 3000
MIXED = reads(N, 150, 1, "ACGTACGTACGTACGTacgtuNRYn", 60) + reads(N // 40, 5000, 2, spread=4000)


# Every start of the program on a device takes long, so several files share a run; one by one, and
# with every kind of damage, tests/gpu/intake/test_device_intake.cu reads them.

def test_clean_files():
    """Records and blocks across rounds and portions, in every kind of file that the device
    reads."""
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
        "noend.fq.gz": bgzf(text[:-1])[:-28],
        "none.fa": b">none\n",
        "one.fa": one,
        "wrapped.fa": fasta([(one.split(b"\n")[1], b"")], 70),
        "x.fa.gz": bgzf(fasta(MIXED, 80), 30000),
        # blocks whose text is a thousand times as long as they are
        "n.fq.gz": bgzf(fastq([(b"N" * 60000, b"I" * 60000)] * 30 + MIXED[:200]), 65000),
    }
    for name, content in files.items():
        s.write(name, content)
    report = compare(s, "all files", list(files), *LEAST)
    expect((report["inputs_without_end_block"], report["inputs_without_sequence"]),
           (["noend.fq.gz"], ["none.fa"]), "warnings")
    compare(s, "FASTQ, large rounds, -q", ["x.fq.gz", "crlf.fq", "n.fq.gz"], "-q", 33)
    compare(s, "little device memory", ["x.fq.gz", "x.fa"], "--gpu-memory", "600M")


def test_many_files():
    """A thousand files, of all kinds in turn."""
    s = Session()
    for i in range(1000):
        few = [(bases[:100], quality[:100]) for bases, quality in MIXED[i % N:i % N + 2]]
        kinds = (fastq(few), bgzf(fastq(few), 150), fasta(few), bgzf(fasta(few, 30), 99),
                 b">none\n")
        s.write(f"{i:03}.reads", kinds[i % len(kinds)])
    s.write("names.txt", "".join(f"{i:03}.reads\n" for i in range(1000)))
    compare(s, "1,000 files", ["@names.txt"], *LEAST)


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
        compare(s, name, [name], *LEAST, left="given up")


def test_flipped_bam():
    """Bits of records and of packed blocks: the device accepts what the host accepts."""
    s = Session()
    rng = random.Random(6)
    for i in range(4 if SMALL else 12):
        flipped = bytearray(bam_text(MIXED[:50]))
        flipped[rng.randrange(60, len(flipped))] ^= 1 << rng.randrange(8)
        s.write("text.bam", bgzf(bytes(flipped)))
        sound = count(s, ["text.bam"], ["--device", "cpu"])[0] == 0
        compare(s, f"text, flip {i}", ["text.bam"], *LEAST, left=None if sound else "given up")
        packed = bytearray(HUMAN)
        packed[rng.randrange(1000, len(HUMAN) - 1000)] ^= 1 << rng.randrange(8)
        s.write("packed.bam", bytes(packed))
        compare(s, f"packed, flip {i}", ["packed.bam"], *LEAST, left="given up")


def test_left_to_the_host():
    """Files that the host accepts, but not the device: other FASTQ, and streams it cannot read."""
    s = Session()
    text = fastq(MIXED)
    half = text.index(b"@r%d " % (N // 2))
    other = text[:half] + fastq(MIXED[:3], 40)
    s.write("x.fq", text)
    s.write("multi.fq", other)
    s.write("members.fq.gz", bgzf(text[:half])[:-28] + gzip_members(text[half:], 30000))
    s.write("no.fq.gz", gzip_members(text, 1 << 30))
    report = compare(s, "FASTQ of several lines", ["x.fq", "multi.fq"], *LEAST, left="given up")
    expect(len(text) <= report["device_fallback_bytes"] <= len(text) + half, True,
           f"{report['device_fallback_bytes']} bytes parsed before the device gave up")
    compare(s, "BGZF, then other gzip", ["members.fq.gz"], *LEAST, left="given up")
    compare(s, "one gzip stream", ["x.fq", "no.fq.gz"], *LEAST, left="host")
    s.write("nothing.fq.gz", bgzf_block(b""))
    report = compare(s, "nothing, compressed", ["x.fq", "nothing.fq.gz"], *LEAST, left="host")
    expect(report["inputs_without_sequence"], ["nothing.fq.gz"], "nothing, compressed")
    s.write("zero.fq", b"")
    report = compare(s, "0 bytes", ["x.fq", "zero.fq"], *LEAST, "--skip-empty", left="host")
    expect(report["inputs_without_sequence"], ["zero.fq"], "0 bytes")
    s.write("protein.fa", b">p\n" + b"LEA" * 99 + b"\n")
    compare(s, "proteins", ["x.fq", "protein.fa"], *LEAST)
    expect("67% of the first letters in protein.fa" in s.said, True, s.said)
    s.kcount("count", "x.fq", "-k", "21,31", "--device", "cuda", "--reader", "device", "-o", "x.kc")


def test_selection():
    """Reads that are left out, or begin late: the host reads, whatever --reader says."""
    s = Session()
    s.write("x.fq.gz", bgzf(fastq(MIXED[:80])))
    s.write("human.bam", HUMAN)
    every = compare(s, "all reads", ["x.fq.gz", "human.bam"], *LEAST)
    for options in (("--skip", 9), ("--require-flags", "0x10"),
                    ("--skip", 40, "--exclude-flags", 16, "-q", 9)):
        some = compare(s, f"{options}", ["x.fq.gz", "human.bam"], *LEAST, *options, left="host")
        expect(0 < some["kmers"] < every["kmers"], True, f"k-mers with {options}")


def test_host_reader():
    s = Session()
    text = fastq(MIXED)
    names = ["x.fq", "x.fq.gz", "one.fq.gz"]
    for name, content in zip(names, (text, bgzf(text), gzip_members(text, 1 << 30))):
        s.write(name, content)
    host = count(s, names, ["--device", "cpu"])
    own = count(s, names, ["--device", "cuda", "--reader", "host"])
    expect(own[:2], host[:2], "--reader host")
    expect((host[2]["host_text_bytes"], host[2]["host_inflated_bytes"]),
           (3 * len(text), 2 * len(text)), "text that the host parsed and inflated")
    check_sides("--reader host", own[2], host[2], "host")


def test_bad_files():
    """The host's messages name the file and the record, or the block; also an empty file's."""
    s = Session()
    text = fastq(MIXED)
    half = text.index(b"@r%d " % (N // 2))
    packed = bytearray(bgzf(text))
    packed[len(packed) // 2] ^= 4
    files = {
        "plus.fq": text[:half] + text[half:].replace(b"\n+\n", b"\n-\n", 1),
        "cut.fq.gz": bgzf(text)[:len(packed) // 2],
        "crc.fq.gz": (bgzf(text)[:-28] + bgzf_block(b"@x\nA\n+\nI\n")[:-8] + bytes(8)
                      + bgzf_block(b"")),
        "flip.fq.gz": bytes(packed),
        "joined.fa": fasta(MIXED, 60)[:-1] + fasta(MIXED[:9], 60),
        "indented.fa.gz": bgzf(fasta(MIXED, 60) + b" " + fasta(MIXED[:9], 60)),
        "escape.fq": text[:half] + b"@x\nACG\033T\n+\nIIIII\n" + text[half:],
        "empty.fq": b"",
        "cut.fa.gz": bgzf(fasta(MIXED))[:-28],
    }
    s.write("x.fq", text)
    for name, content in files.items():
        s.write(name, content)
        expect(compare(s, name, ["x.fq", name, "x.fq"], *LEAST, left="given up"), None, name)


def test_option():
    s = Session()
    s.kcount("count", "a.fq", "-k", 3, "--reader", "gpu", code=2,
             message="--reader: 'gpu' is not one of")
    s.kcount("count", "a.fq", "-k", 3, "--reader", "host", "--device", "cpu", "-o", "x.kc")


main([test_clean_files, test_many_files, test_bam, test_bam_and_the_host, test_flipped_bam,
      test_left_to_the_host, test_selection, test_host_reader, test_bad_files, test_option])
