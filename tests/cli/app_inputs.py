"""
Inputs that are not as they should be: what kcount says, word for word, and that it leaves nothing
behind. Every message names the file, the record or the offset, what was found and what to do.

    app_inputs.py KCOUNT SOURCE
"""
import bz2
import gzip
import io
import json
import lzma
import os
import random
import shutil
import socket
import subprocess
import tarfile
import threading
import zipfile

from lib.session import READS, SOURCE, Session, expect
from lib.tools import bam_text, bgzf, bgzf_block, main

READ = b"@read%d\nACGTTGCAACGGATCCATTAGCAT\n+\nIIIIIIIIIIIIIIIIIIIIIIII\n"
FASTQ = b"".join(READ % i for i in range(40))
FASTA = b">a\nACGTTGCAACGGATCC\nATTAGCAT\n>b\nTTTTTTTTTTTTC\n"
MARK = b"\xef\xbb\xbf"
AGAIN = "; copy or download the file again"
CPU = ("--device", "cpu")  # no message about a missing device


MISSING = ": a line end is missing before '>', or blanks precede it"
INNER = " has '>' in its sequence" + MISSING


def packed(pack, *arguments):
    """An archive whose only file is FASTQ."""
    out = io.BytesIO()
    pack(out, *arguments)
    return out.getvalue()


def tar(out, name):
    with tarfile.open(fileobj=out, mode="w") as archive:
        about = tarfile.TarInfo(name)
        about.size = len(FASTQ)
        archive.addfile(about, io.BytesIO(FASTQ))


def zip_file(out):
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("reads.fq", FASTQ)


def pasteable(wanted, name, *arguments):
    """The message with the file's name, and with the command line that reads it from a pipe."""
    line = " ".join(["kcount", *("-" if word == name else str(word) for word in arguments)])
    return wanted.replace("kcount ... -", line).replace("FILE", name)


def unread(what, command):
    return f"in is {what}, which kcount cannot read; try: {command} | kcount ... -"


def neither(shown):
    return ("in is neither FASTQ nor FASTA (nor SAM, BAM or CRAM): it does not begin with '@' or "
            "'>', but with " + shown + "; name a file of reads: FASTQ, FASTA, SAM, BAM or CRAM")


def trailing(what, size, kind="gzip", read=""):
    return (f"in has {what} that {'is' if what == '1 byte' else 'are'} not {kind} after the end of "
            f"its {kind} data (offset {size}): the file is damaged there, or something was added "
            f"to it{read}; to read only what comes before: head -c {size} FILE | kcount ... -")


def cut_gzip(size):
    return f"in is truncated: its gzip data breaks off at byte {size}" + AGAIN


def cut_stream(kind, size):
    return f"in is truncated: its {kind} data breaks off at byte {size}" + AGAIN


def corrupt_stream(kind, size):
    return f"in is corrupt near byte {size}: {kind}: data or checksum is wrong" + AGAIN


def flipped(data, at):
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1:]


def no_end_block(size):
    return (f"in is truncated: it ends at byte {size} without BGZF's end-of-file block" + AGAIN
            + "; if you know that it is complete, try: gzip -dc FILE | kcount ... -")


EMPTY_SAM = b"@HD\tVN:1.6\n@SQ\tSN:chr\tLN:9\n"
OLD_MAC = unread("text whose lines end with a carriage return only (old Mac)",
                 "tr '\\r' '\\n' < FILE")
PAGE = ("is an HTML or XML page, as left by a failed download; look at it and download the file "
        "again")
BLANK_IN_SEQUENCE = b"@b\nAC GT\n+\nIIII\n@c\nA\n+\nI\n"
BLANK_WITH_QUALITY = b"@b\nACGT \n+\nIIIII\n@c\nA\n+\nI\n"
SHORT_QUALITY = b"@b\nACGT\n+\nIII\n@c\nA\n+\nI\n"

GZ, BGZ = gzip.compress(FASTQ, mtime=0), bgzf(FASTQ, 1000)
END = len(bgzf_block(b""))
BZ2, XZ = bz2.compress(FASTQ), lzma.compress(FASTQ)
LZMA = lzma.compress(FASTQ, lzma.FORMAT_ALONE)
OPEN_BGZ, OPEN_FASTA = BGZ[:-END], bgzf(FASTA, 30)[:-END]
CUT_BGZ = bgzf(FASTQ[:-5], 1000)[:-END]
TAR = packed(tar, "reads.fq")

REFUSED = [
    # other kinds of files, and what they are packed in
    (LZMA, unread("compressed with lzma", "xz -dc FILE")),
    (gzip.compress(BZ2),
     unread("compressed with bzip2 inside gzip", "gzip -dc FILE | bzip2 -dc -")),
    (gzip.compress(GZ), unread("compressed with gzip inside gzip", "gzip -dc FILE | gzip -dc -")),
    (bgzf(GZ), unread("compressed with gzip inside BGZF", "gzip -dc FILE | gzip -dc -")),
    (TAR, unread("a tar archive", "tar -xOf FILE")),
    (packed(tar, "@reads.fq"), unread("a tar archive", "tar -xOf FILE")),
    (gzip.compress(TAR), unread("a tar archive inside gzip", "gzip -dc FILE | tar -xOf -")),
    (packed(zip_file), "in is a zip archive; try: unzip -p FILE | kcount ... -"),
    (b"<!DOCTYPE html>\n<html></html>\n", "in " + PAGE),
    (b"version https://git-lfs.github.com/spec/v1\n",
     "in is a Git LFS pointer, not the file itself; fetch the file: git lfs pull"),
    # text
    (FASTQ.decode().encode("utf-16"),
     unread("UTF-16 text", "iconv -f UTF-16 -t UTF-8 FILE")),
    (FASTQ.decode().encode("utf-16-be"),
     unread("UTF-16BE text", "iconv -f UTF-16BE -t UTF-8 FILE")),
    (FASTQ.replace(b"\n", b"\r"), OLD_MAC),
    (b"ACGTACGTACGT\nACGTTT\n",
     unread("a list of sequences without '>' lines",
            "awk '{ print \">\" NR \"\\n\" $1 }' FILE")),
    (b"hello, world\n", neither('"hello, world"')),
    (b"\xe9t\xe9\n", neither("the bytes e9 74 e9 0a")),
    # nothing
    (b"", "in is empty; find out why, or skip it with --skip-empty"),
    (b"\n \n\t\n", "in holds no reads: all of its lines are blank"),
    (bytes(4096),
     "in begins with NUL bytes, like a file that was not written completely; copy or download "
     "it again"),
    # damaged compression
    (GZ + b"\n", trailing("1 byte", len(GZ))),
    (GZ + b"x" * 100, trailing("100 bytes", len(GZ))),
    (BGZ + b"not gzip", trailing("8 bytes", len(BGZ))),
    (GZ[:-3], cut_gzip(len(GZ) - 3)),
    (GZ + GZ[:7], cut_gzip(len(GZ) + 7)),
    (BZ2 + b"x" * 100, trailing("100 bytes", len(BZ2), "bzip2")),
    (BZ2 + bytes(4), trailing("4 bytes", len(BZ2), "bzip2")),
    (BZ2[:-7], cut_stream("bzip2", len(BZ2) - 7)),
    (BZ2 + BZ2[:30], cut_stream("bzip2", len(BZ2) + 30)),
    (flipped(BZ2, len(BZ2) - 3), corrupt_stream("bzip2", len(BZ2))),
    (flipped(XZ, 8), corrupt_stream("xz", 12)),
    (XZ + b"x" * 100, trailing("100 bytes", len(XZ), "xz")),
    (XZ[:-7], cut_stream("xz", len(XZ) - 7)),
    (XZ + bytes(6), cut_stream("xz", len(XZ) + 6)),
    (XZ + bytes(8) + b"x", "in has 1 byte after zeros that end the xz data (offset "
     f"{len(XZ) + 8}): the file is damaged there, or something was added to it; to read only what "
     f"comes before: head -c {len(XZ) + 8} FILE | kcount ... -"),
    (bz2.compress(bam_text([])), unread("BAM inside bzip2", "bzip2 -dc FILE")),
    (lzma.compress(EMPTY_SAM), unread("SAM inside xz", "xz -dc FILE")),
    (bz2.compress(FASTQ + SHORT_QUALITY),
     "in: record 41 has 4 bases but 3 quality letters; to see whether the file is damaged: "
     "bzip2 -t in"),
    (GZ[:-8] + bytes(8),
     "in is corrupt: checksum or length of a gzip member is wrong, found before byte "
     f"{len(GZ)}" + AGAIN),
    (BGZ + BGZ[:7],
     f"in is truncated: the BGZF block at byte {len(BGZ)} is not complete" + AGAIN),
    (OPEN_FASTA, no_end_block(len(OPEN_FASTA))),
    (OPEN_FASTA + gzip.compress(FASTA),
     no_end_block(len(OPEN_FASTA)).replace("it ends at", "its BGZF data ends at")),
    (gzip.compress(FASTA, mtime=0) + OPEN_FASTA,
     no_end_block(len(gzip.compress(FASTA, mtime=0)) + len(OPEN_FASTA))),
    (OPEN_BGZ + bytes(50), no_end_block(len(OPEN_BGZ))),
    (GZ + OPEN_BGZ + bytes(50), no_end_block(len(GZ + OPEN_BGZ))),
    (CUT_BGZ,
     "in: record 40 is truncated: the file ends within it, with 24 bases but 20 quality letters"
     + AGAIN),
    # records
    (FASTQ + BLANK_IN_SEQUENCE,
     "in: record 41 has 5 bases but 4 quality letters: there is a space or tab in or after its "
     "sequence"),
    (FASTQ + BLANK_WITH_QUALITY,
     "in: record 41 has 4 bases but 5 quality letters: there is a space or tab in or after its "
     "sequence"),
    (FASTQ + b"done.\n", "in: record 41 does not begin with '@' but with \"done.\""),
    (gzip.compress(FASTQ + SHORT_QUALITY),
     "in: record 41 has 4 bases but 3 quality letters; to see whether the file is damaged: "
     "gzip -t in"),
    (FASTQ + b"@b\nAC\xe9T\n+\nIIII\n",
     "in: record 41 has the byte 0xe9 in its sequence: the file is damaged, or not FASTQ or FASTA"),
    (gzip.compress(FASTA + b"A\0C\n"),
     "in: record 2 holds binary data (byte 0x00): this is not FASTA, or it is damaged; to see "
     "whether the file is damaged: gzip -t in"),
    (FASTA + b">c\0\nACGT\n",
     "in: record 3 holds binary data (byte 0x00): this is not FASTA, or it is damaged"),
    (FASTA + b">c\nACGT>d part\nACGT\n", "in: record 3" + INNER),
    (gzip.compress(FASTA[:-1]) + gzip.compress(FASTA),
     "in: record 2" + INNER + "; to see whether the file is damaged: gzip -t in"),
    (bgzf(FASTA[:-1] + FASTA, 20), "in: record 2" + INNER),
    (FASTA + b" \t" + FASTA, "in: record 2" + INNER),
    (FASTQ + b"@b\nAC>T\n+\nII>I\n", "in: record 41" + INNER),
    (FASTQ + b"@b\nAC\nG\x1aT\n+\nII\nIII\n",
     "in: record 41 has the byte 0x1a in its sequence: the file is damaged, or not FASTQ or FASTA"),
    (FASTA + b"\x7f\n",
     "in: record 2 has the byte 0x7f in its sequence: the file is damaged, or not FASTQ or FASTA"),
    (FASTA + FASTA.replace(b"\n", b"\r"),
     "in: record 3 has a carriage return within a line, an old Mac line ending; try: "
     "tr '\\r' '\\n' < FILE | kcount ... -"),
]


def refuse(s, wanted, *arguments, **how):
    before = s.names()
    expect(s.kcount(*arguments, code=1, **how), "", "standard output of a failure")
    expect(s.said, f"kcount: {wanted}\n", f"{arguments}")
    expect(s.names(), before, f"what {arguments} leaves behind")


def test_refused():
    s = Session()
    for content, wanted in REFUSED:
        s.write("in", content)
        for threads in (1, 4):
            call = ("count", "in", "-k", 5, "-t", threads, "-o", "out.kc", *CPU)
            refuse(s, pasteable(wanted, "in", *call), *call)


def test_standard_input():
    """Less of a pipe can be inspected in advance, and its size is unknown."""
    s = Session()
    for content, wanted in (
            (LZMA, unread("compressed with lzma", "xz -dc FILE")),
            (XZ + b"no", trailing("bytes", len(XZ), "xz")),
            (BZ2[:-9], cut_stream("bzip2", len(BZ2) - 9)),
            (BGZ + b"not gzip", trailing("bytes", len(BGZ))),
            (OPEN_BGZ + bytes(5), no_end_block(len(OPEN_BGZ))),
            (FASTA[:-1] + FASTA, "in: record 2" + INNER)):
        with subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as pipe:
            feed = threading.Thread(target=lambda: (pipe.stdin.write(content), pipe.stdin.close()))
            feed.start()
            call = ("-", "-k", 5, "-o", "out.kc", *CPU)
            refuse(s, "standard input" + pasteable(wanted, "-", *call)[2:], *call,
                   stdin=pipe.stdout)
            feed.join()


def test_joined_zstd():
    if shutil.which("zstd") is None:
        return
    s = Session()
    halves = [subprocess.run(["zstd", "-qc"], input=text, stdout=subprocess.PIPE, check=True).stdout
              for text in (FASTA[:-1], FASTA)]
    s.write("in", b"".join(halves))
    refuse(s, "in: record 2" + INNER + "; to see whether the file is damaged: zstd -t in", "in",
           "-k", 5, "-o", "out.kc", *CPU)


def test_large_joined():
    """Cut in chunks, by several threads: the same record is blamed."""
    s = Session()
    lines = b"ACGTTGCAACGGATCCATTAGCATGG\n" * 40000
    text = b"".join(b">%d\n" % i + lines for i in range(4))
    s.write("in", text.replace(b"\n>2\n", b">2\n"))
    for threads in (1, 2, 7):
        refuse(s, "in: record 2" + INNER, "in", "-k", 5, "-t", threads, *CPU)


def test_no_end_block():
    """FASTQ in BGZF without the end-of-file block is counted, with a warning, however it is
    joined."""
    s = Session()
    warning = ("kcount: warning: {} ends without BGZF's end-of-file block: it was counted, but "
               "whole records may be missing at its end\n")
    files = {"gz": GZ, "end": BGZ, "open": OPEN_BGZ}
    for first in files:
        for second in ("", *files):
            s.write("all.fq", FASTQ * (2 if second else 1))
            s.kcount("all.fq", "-k", 5, "--quiet", "--force")
            want = s.kcount("dump", "all.kc")
            s.write("in", files[first] + files.get(second, b""))
            shows = (second or first) == "open" or (first, second) == ("open", "gz")
            for threads in (1, 4):
                report = json.loads(s.kcount("in", "-k", 5, "-t", threads, "--quiet", "--force",
                                             "--json"))
                what = f"{first} {second}, {threads} threads"
                expect(s.said, warning.format("in") if shows else "", what)
                expect(report["inputs_without_end_block"], ["in"] if shows else [], what)
                expect(s.kcount("dump", "in.kc"), want, what)
    with subprocess.Popen(["cat", s.path / "in"], stdout=subprocess.PIPE) as pipe:
        s.kcount("-", "-k", 5, "--quiet", "-o", "in.kc", "--force", stdin=pipe.stdout)
    expect(s.said, warning.format("standard input"), "a pipe")
    for i in range(13):
        s.write(f"{i:02}", OPEN_BGZ)
    s.write("list", "".join(f"{i:02}\n" for i in range(13)))
    s.kcount("hist", "@list", "-k", 5, "--quiet")
    expect(s.said, "".join(warning.format(f"{i:02}") for i in range(10)) +
           "kcount: warning: 3 more inputs end without BGZF's end-of-file block\n", "13 files")


def without_sequence():
    """Whole files without any sequence, of every kind."""
    yield gzip.compress(b"")
    yield bgzf(b"")
    yield gzip.compress(b"") * 3 + bgzf(b"")
    yield bgzf(bam_text([]))
    yield gzip.compress(bam_text([]))
    yield bam_text([])
    yield EMPTY_SAM
    yield gzip.compress(EMPTY_SAM)
    yield bz2.compress(b"")
    yield bz2.compress(b"") * 3
    yield lzma.compress(b"")
    yield lzma.compress(b"") * 2 + bytes(12)
    yield b">none\n>nor here\n"
    yield gzip.compress(b">none\n")
    yield b"@none\n\n+\n\n"
    if shutil.which("zstd"):
        yield subprocess.run(["zstd", "-qc"], input=b"", stdout=subprocess.PIPE, check=True).stdout
    if shutil.which("samtools"):
        yield subprocess.run(["samtools", "view", "-C", "--output-fmt-option", "no_ref=1", "-"],
                             input=EMPTY_SAM, stdout=subprocess.PIPE, check=True).stdout


def test_without_sequence():
    s = Session()
    s.write("plain.fq", FASTQ)
    s.kcount("plain.fq", "-k", 5, "--quiet")
    want = s.kcount("dump", "plain.kc")
    warning = "kcount: warning: {} holds no sequence: no k-mer was counted in it\n"
    for content in without_sequence():
        s.write("in", content)
        report = json.loads(s.kcount("in", "plain.fq", "-k", 5, "--quiet", "--force", "--json"))
        expect(s.said, warning.format("in"), f"{content[:20]}, among others")
        expect(report["inputs_without_sequence"], ["in"], "inputs_without_sequence")
        expect(s.kcount("dump", "in.kc"), want, f"{content[:20]}")
        s.kcount("in", "-k", "5,7", "--quiet", "--force")
        expect(s.said, warning.format("in"), f"{content[:20]}, alone")
        expect(s.kcount("dump", "in.k7.kc"), "", f"{content[:20]}, alone")
        if not content.startswith(b"CRAM"):
            with subprocess.Popen(["cat", s.path / "in"], stdout=subprocess.PIPE) as pipe:
                s.kcount("-", "-k", 5, "--quiet", "-o", "in.kc", "--force", stdin=pipe.stdout)
            expect(s.said, warning.format("standard input"), f"{content[:20]}, a pipe")
    s.write("a", gzip.compress(b""))
    s.kcount("a", "in", "-k", 5, "--quiet", "--force")
    expect(s.said, warning.format("a") + warning.format("in") +
           "kcount: warning: no k-mer was kept: no input holds a sequence\n", "two files")
    s.kcount("a", "-k", 5, "-o", "out.kc")
    s.kcount("check", "out.kc")


PROTEIN = b"MKVLAAGIVGLLLAQPEFTSDRCHWYN" * 30
OTHER = sum(letter not in b"ACGTUN" for letter in PROTEIN) * 100 / len(PROTEIN)


def test_proteins():
    """Inputs of which too many first letters are not bases are counted, with a warning."""
    s = Session()
    fasta = b">p\n" + PROTEIN + b"\n"
    fastq = b"@p\n" + PROTEIN + b"\n+\n" + b"I" * len(PROTEIN) + b"\n"
    warning = ("kcount: warning: {}% of the first letters in {} are not A, C, G, T, U or N; is "
               "this protein?\n")
    dna = b"ACGTTGCAACGGATCCATTAGCAT"
    noted = {
        fasta: round(OTHER), fastq: round(OTHER), gzip.compress(fasta): round(OTHER),
        bgzf(fastq, 300): round(OTHER), fasta.lower(): round(OTHER),
        b">p\n" + b"ACGTE" * 100 + b"L\n": 20,  # 101 of 501: just over a fifth
        b">p\nPROTEINSEQ\nACGTTGCA\n": 44,
        b">gaps\n" + b"-" * 999 + PROTEIN + b"\n": round(OTHER),
    }
    silent = [
        b">p\n" + b"ACGTE" * 100 + b"\n",
        b">gap\n" + b"N" * 9000 + dna + b"\n", b">masked\n" + b"X" * 9000 + dna.lower() + b"\n",
        b">codes\n" + (dna * 9 + b"RYSWKMBDHV") * 50 + b"\n", b">primer\nGTGYCAGCMGCCGCGGTAARRR\n",
        b">rna\n" + dna.replace(b"T", b"U") * 40 + b"\n", b">gaps\n" + (dna + b"---...***") * 40
        + b"\n",
        b"@lines\n" + dna + b"\n" + dna + b"\n+\n" + b"E" * 24 + b"\n@" + b"L" * 23 + b"\n",
        b"@empty\n\n+\n\n@EFILPQEFILPQEFILPQ\n" + dna + b"\n+\n" + b"E" * 24 + b"\n",
        FASTQ, (SOURCE / "data/human.bam").read_bytes(), b">EFILPQEFILPQEFILPQ\n" + dna + b"\r\n",
    ]
    for content, percent in (*noted.items(), *((content, 0) for content in silent)):
        s.write("in", content)
        for threads in (1, 4):
            s.kcount("in", "-k", 3, "-t", threads, "--quiet", "--force")
            expect(s.said, warning.format(percent, "in") if percent else "", f"{content[:60]}")
        with subprocess.Popen(["cat", s.path / "in"], stdout=subprocess.PIPE) as pipe:
            s.kcount("hist", "-", "-k", 3, "--quiet", stdin=pipe.stdout)
        expect(s.said, warning.format(percent, "standard input") if percent else "", "a pipe")
    names = [f"{i:02}.fa" for i in range(12)]
    for name in names:
        s.write(name, fasta)
    s.kcount(*names, "-k", 3, "--quiet")
    expect(s.said, "".join(warning.format(round(OTHER), name) for name in names[:10]) +
           "kcount: warning: 2 more inputs may hold proteins\n", "many inputs")


def test_nothing_at_all():
    """A file of 0 bytes is an error, unless the user says otherwise; then it has no sequence."""
    s = Session()
    s.write("plain.fq", FASTQ)
    s.write("empty", "")
    s.write("blank", "\n")
    s.kcount("plain.fq", "-k", 5, "--quiet")
    want = s.kcount("dump", "plain.kc")
    reason = "is empty; find out why, or skip it with --skip-empty"
    skipped = "kcount: warning: empty holds no sequence: no k-mer was counted in it\n"
    refuse(s, f"empty {reason}", "empty", "plain.fq", "-k", 5, *CPU)
    refuse(s, f"standard input {reason}", "-", "-k", 5, "-o", "out.kc", *CPU)
    refuse(s, f"empty {reason}", "hist", "plain.fq", "empty", "-k", 5, *CPU)
    for inputs in (("empty", "plain.fq"), ("plain.fq", "empty"), ("@list",)):
        s.write("list", "plain.fq\nempty\n")
        for threads in (1, 4):
            report = json.loads(s.kcount(*inputs, "-k", 5, "-t", threads, "-o", "out.kc", "--json",
                                         "--force", "--quiet", "--skip-empty"))
            expect(s.said, skipped, f"{inputs}")
            expect(report["inputs_without_sequence"], ["empty"], f"{inputs}")
            expect(s.kcount("dump", "out.kc"), want, f"{inputs}")
    s.kcount("add", "plain.kc", "empty", "--quiet", "--skip-empty")
    expect(s.said, skipped, "add")
    expect(s.kcount("dump", "plain.kc"), want, "add")
    s.kcount("hist", "empty", "-k", 5, "--quiet", "--skip-empty")
    expect(s.said, skipped, "hist")
    refuse(s, "blank holds no reads: all of its lines are blank", "blank", "-k", 5, *CPU,
           "--skip-empty")


def test_large_gzip():
    """Large enough for all threads to inflate it together."""
    s = Session()
    noise = random.Random(1).getrandbits(8 * 2600000).to_bytes(2600000, "big").hex()
    bases = noise.translate(str.maketrans("0123456789abcdef", "ACGT" * 4))
    text = "".join(f"@{at}\n{bases[at:at + 100]}\n+\n{'I' * 100}\n"
                   for at in range(0, len(bases), 100)).encode()
    large = gzip.compress(text, 1)
    expect(len(large) > 1 << 20, True, "a large file")
    s.write("zeros", large + bytes(1000))
    s.kcount("zeros", "-k", 5, "-t", 4, "--quiet")
    for more, what in ((b"\n", "1 byte"), (b"no" * 20, "40 bytes")):
        s.write("in", large + more)
        for threads in (1, 4):
            call = ("in", "-k", 5, "-t", threads, "-o", "out.kc", *CPU)
            refuse(s, pasteable(trailing(what, len(large)), "in", *call), *call)


def test_accepted():
    """A byte order mark, padding, odd names, and lists with comments and blanks change nothing."""
    s = Session()
    s.write("plain.fq", FASTQ)
    s.kcount("plain.fq", "-k", 5, "--quiet")
    want = s.kcount("dump", "plain.kc")
    for content in (MARK + FASTQ, gzip.compress(MARK + FASTQ), bgzf(MARK + FASTQ, 100),
                    GZ + bytes(700), BGZ + bytes(5), BGZ + bytes(700),
                    FASTQ.replace(b"@", b"@\xe9\xc3\xa9").replace(b"+", b"+\xff")):
        s.write("in", content)
        s.kcount("in", "-k", 5, "--quiet", "--force")
        expect(s.kcount("dump", "in.kc"), want, f"{content[:4]} and so on")
    s.write("list", MARK + b"# comment\n\n\t plain.fq \r\n  # another\n")
    s.kcount("@list", "-k", 5, "--quiet", "-o", "list.kc")
    expect(s.kcount("dump", "list.kc"), want, "a list")


def test_lists():
    s = Session()
    s.write("good.fq", FASTQ)
    s.write("page", "<html>")
    for lines, wanted in (
            ("good.fq\n\nnowhere.fq\n",
             "line 3 of the list list: cannot open nowhere.fq: No such file or directory"),
            ("# one\n page\n", "line 2 of the list list: page " + PAGE),
            ("@other\n",
             "line 1 of the list list begins with '@', but a list cannot name another one; name "
             "both on the command line, or ./@other for a file of that name; if list holds reads, "
             "name it without '@'"),
            ("# nothing\n", "the list list names no file"),
            ("", "the list list names no file")):
        s.write("list", lines)
        refuse(s, wanted, "@list", "-k", 5, *CPU)


def test_database_as_reads():
    s = Session()
    s.kcount("a.fq", "-k", 3, "--quiet")
    wanted = ("a.kc is a .kc file, which holds counts already; to print it: kcount dump a.kc")
    refuse(s, wanted, "a.kc", "-k", 3, "-o", "b.kc", *CPU)
    refuse(s, wanted, "query", "a.kc", "-f", "a.kc")


def test_query_files():
    s = Session()
    s.write("plain.fq", FASTQ)
    s.kcount("plain.fq", "-k", 5, "-o", "db.kc", "--quiet")
    s.write("in", FASTA)
    want = s.kcount("query", "db.kc", "-f", "in")
    contents = [MARK + FASTA, gzip.compress(MARK + FASTA), bgzf(FASTA, 10),
                gzip.compress(FASTA) + bytes(9), bz2.compress(FASTA), lzma.compress(FASTA),
                bz2.compress(FASTA[:9]) + bz2.compress(FASTA[9:]),
                lzma.compress(FASTA[:9]) + bytes(4) + lzma.compress(FASTA[9:]) + bytes(8),
                b"\n \t" + FASTA,
                b" ACGTTGCAACGGATCCATTAGCAT x\n \n\t TTTTTTTTTTTTC\n"]
    if shutil.which("zstd"):
        done = subprocess.run(["zstd", "-qc"], input=FASTA, stdout=subprocess.PIPE, check=True)
        contents.append(done.stdout)
    for content in contents:
        s.write("in", content)
        expect(s.kcount("query", "db.kc", "-f", "in"), want, f"{content[:4]} and so on")
    small = gzip.compress(FASTA, mtime=0)
    for content, wanted in (
            (LZMA, unread("compressed with lzma", "xz -dc FILE")),
            (XZ[:-9], cut_stream("xz", len(XZ) - 9)),
            (BZ2 + b"x", trailing("1 byte", len(BZ2), "bzip2")),
            (FASTA.replace(b"\n", b"\r"), OLD_MAC),
            (small + b"not gzip", trailing("8 bytes", len(small))),
            (small[:-9], cut_gzip(len(small) - 9)),
            (b"ACGTACGT\nACGT ACGT\n>\n",
             "in: line 3 is not a sequence: it contains the byte 0x3e"),
            (b">a\nACGT ACGT\n", "in: line 2 is not a sequence: it contains a space (record 1)"),
            (FASTA[:-1] + FASTA,
             "in: line 5 is not a sequence: it contains '>'" + MISSING + " (record 2)")):
        s.write("in", content)
        for call in ("query", "remove"):
            refuse_file(s, wanted, call)
    s.write("in", (SOURCE / "data/human.bam").read_bytes())
    refuse_file(s, "in is SAM, BAM or CRAM, which is not read here; try: samtools fasta FILE | "
                "kcount ... -", "remove")


def refuse_file(s, wanted, call):
    s.kcount(call, "db.kc", "-f", "in", code=1)
    expect(s.said, f"kcount: {pasteable(wanted, 'in', call, 'db.kc', '-f', 'in')}\n", call)


class Proxy:
    """Records every connection."""

    def __init__(self):
        self.asked = []
        self.socket = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self.serve, daemon=True).start()
        address = f"http://127.0.0.1:{self.socket.getsockname()[1]}"
        self.environment = {name: value for name, value in os.environ.items()
                            if not name.startswith("REF_")}
        self.environment.update(http_proxy=address, https_proxy=address)

    def serve(self):
        while True:
            connection, _ = self.socket.accept()
            self.asked.append(connection.recv(1000))
            connection.close()


def fails_after_htslib(s, wanted, *arguments, **how):
    """As refuse, but messages of htslib come first."""
    before = s.names()
    s.kcount(*arguments, code=None, **how)
    *others, last = s.said.splitlines()
    expect((s.code, last), (1, "kcount: " + wanted), f"{arguments}")
    expect([line for line in others if line and not line.startswith("[E::")], [], "other messages")
    expect(s.names(), before, f"what {arguments} leaves behind")
    return others


def test_cram():
    """CRAM without its reference is refused, and the network is not used."""
    s, proxy = Session(), Proxy()
    bases = (SOURCE / "tests/alignments/reference.fa").read_text().split("\n")[1]
    cram = (SOURCE / "tests/alignments/reference.cram").read_bytes()
    proxy.environment["HOME"] = str(s.path)
    s.write("in", cram)
    wanted = ("in: the reference sequence that this CRAM file needs was not found, or is a "
              "different one (alignment records read: 0); set REF_PATH or REF_CACHE to its place "
              "(it is fetched from the network only if REF_PATH is a URL), or try: samtools fastq "
              "--reference REF.fa in | kcount - -k 5 -t 1 --device cpu -o in.kc")
    for path in ({}, {"REF_PATH": "/nonexistent/%s"}):
        others = fails_after_htslib(s, wanted, "in", "-k", 5, "-t", 1, *CPU,
                                    env={**proxy.environment, **path})
        expect(len(others) > 0, True, "htslib's own messages")
    # the reference is found in the cache of samtools, and where REF_PATH says
    cache = s.path / ".cache/hts-ref/9f/4f"
    cache.mkdir(parents=True)
    (cache / "4ee4e8e72f5a9992eb7897a8b8bf").write_text(bases)
    s.write("9f4f4ee4e8e72f5a9992eb7897a8b8bf", bases)
    s.write("reads.fa", "".join(f">\n{bases[at:at + 50]}\n" for at in (0, 10, 20)))
    s.kcount("reads.fa", "-k", 5, "--quiet")
    for path in ({}, {"REF_PATH": str(s.path / "%s"), "HOME": "/"}):
        s.kcount("in", "-k", 5, "--force", "--quiet", env={**proxy.environment, **path})
        expect(s.kcount("dump", "in.kc"), s.kcount("dump", "reads.kc"), f"with {path}")
    expect(proxy.asked, [], "the network")
    s.write("in", cram[:-20])
    refuse(s, "in is truncated: it does not end with CRAM's end-of-file container (or something "
           "was added after it)" + AGAIN, "in", "-k", 5, "-o", "out.kc", *CPU)


def test_bam():
    s = Session()
    bam = (SOURCE / "data/human.bam").read_bytes()
    for content, wanted in (
            (bam[:-28],
             f"in is truncated: it ends at byte {len(bam) - 28} without BGZF's end-of-file block"
             + AGAIN + " (alignment records read: 569); if you know that it is complete, try: "
             "samtools fastq FILE | kcount ... -"),
            (bam[:-100],
             "in is truncated: the BGZF block at byte 67671 is not complete" + AGAIN
             + " (alignment records read: 536)"),
            (bam + b"more",
             trailing("4 bytes", len(bam), "BGZF", " (alignment records read: 569)"))):
        s.write("in", content)
        call = ("in", "-k", 5, "-o", "out.kc", *CPU)
        refuse(s, pasteable(wanted, "in", *call), *call)


def test_bam_in_other_containers():
    """BAM in gzip or not compressed is counted, as a file and from a pipe."""
    s = Session()
    bam = (SOURCE / "data/human.bam").read_bytes()
    s.write("x.bam", bam)
    s.kcount("x.bam", "-k", 21, "--quiet")
    want = s.kcount("dump", "x.kc")
    text = gzip.decompress(bam)
    for content in (text, gzip.compress(text)):
        s.write("in", content)
        for threads in (1, 4):
            s.kcount("in", "-k", 21, "-t", threads, "--quiet", "--force")
            expect(s.kcount("dump", "in.kc"), want, f"{content[:4]}, {threads} threads")
        with subprocess.Popen(["cat", s.path / "in"], stdout=subprocess.PIPE) as pipe:
            s.kcount("-", "-k", 21, "--quiet", "-o", "in.kc", "--force", stdin=pipe.stdout)
        expect(s.kcount("dump", "in.kc"), want, f"{content[:4]}, a pipe")
    s.write("in", text[:-9])
    refuse(s, "in: alignment record 569 is truncated: the file ends within it" + AGAIN, "in",
           "-k", 21, "-o", "out.kc", *CPU)


def test_reads_named_like_headers():
    """FASTQ whose first line could be one of SAM's header."""
    s = Session()
    s.write("plain.fq", FASTQ)
    s.kcount("plain.fq", "-k", 5, "--quiet")
    want = s.kcount("dump", "plain.kc")
    for name in (b"@PG\tID:x", b"@SQ\tSN:chr1\tLN:9", b"@CO\ta comment"):
        text = FASTQ.replace(b"@read0", name)
        for content in (text, gzip.compress(text), bgzf(text)):
            s.write("in", content)
            s.kcount("in", "-k", 5, "--quiet", "--force")
            expect(s.kcount("dump", "in.kc"), want, f"{name}, {content[:4]}")


def test_zstd_dictionary():
    if not shutil.which("zstd"):
        return
    s = Session()
    choose = random.Random(1)
    for i in range(200):
        s.write(f"sample{i}", "".join(f"@machine:1:{choose.randrange(9999)}\n"
                                      f"{''.join(choose.choices('ACGT', k=40))}\n+\n{'I' * 40}\n"
                                      for _ in range(5)))
    samples = [f"sample{i}" for i in range(200)]
    subprocess.run(["zstd", "-q", "--train", *samples, "--maxdict=2048", "-o", "dict"], cwd=s.path,
                   check=True)
    subprocess.run(["zstd", "-q", "-D", "dict", "sample0", "-o", "in"], cwd=s.path, check=True)
    for name in samples:
        os.unlink(s.path / name)
    for threads in (1, 4):
        refuse(s, "in was compressed with a zstd dictionary, without which it cannot be read; "
               f"try: zstd -dc -D DICT in | kcount - -k 5 -t {threads} --device cpu -o in.kc", "in",
               "-k", 5, "-t", threads, *CPU)


def test_same_file():
    """A file that is named twice, in whatever way, is counted twice; one warning names both."""
    s = Session()
    os.link(s.path / "a.fq", s.path / "hard.fq")
    os.symlink("a.fq", s.path / "soft.fq")
    s.write("b.fq", s.read("a.fq"))
    s.write("list", "a.fq\nb.fq\n")
    same = "are the same file, which is counted"
    s.kcount("a.fq", "b.fq", "-k", 3, "-o", "twice.kc", *CPU)
    expect("warning" in s.said, False, f"a warning about two files: {s.said!r}")
    twice = s.kcount("dump", "twice.kc")
    for a, b in (("a.fq", "a.fq"), ("a.fq", "./a.fq"), ("a.fq", "hard.fq"), ("soft.fq", "hard.fq")):
        s.kcount(a, b, "-k", 3, "-o", "out.kc", "--force", "--quiet", *CPU)
        told = f"{a} and {b} {same} twice" if a != b else f"{a} is named twice, and counted twice"
        expect(s.said, f"kcount: warning: {told}\n", f"about {a} and {b}")
        expect(s.kcount("dump", "out.kc"), twice, f"counts of {a} and {b}")
    s.kcount("hist", "@list", "hard.fq", "-k", 3, *CPU, message=f"a.fq and hard.fq {same} twice")
    s.kcount("add", "twice.kc", "b.fq", "a.fq", "a.fq", "soft.fq", *CPU,
             message="a.fq is named 3 times, and counted 3 times\n")
    with open(s.path / "a.fq") as file:
        s.kcount("-", "b.fq", "a.fq", "-k", 3, *CPU, stdin=file,
                 message=f"standard input and a.fq {same} twice")


def test_many_same_files():
    """The warnings do not bury what comes after them."""
    s = Session()
    names = [f"{i}.fq" for i in range(12)]
    for name in names:
        s.write(name, READS)
    s.kcount(*names * 2, "-k", 3, "-o", "out.kc", "--quiet", *CPU)
    expect((s.said.count("is named twice"), s.said.count("\n")), (10, 11),
           "warnings about many files")
    expect("warning: 2 more files are named more than once\n" in s.said, True, "the last one")


def test_same_device():
    """A file that is not regular is not read twice."""
    s = Session()
    s.kcount("a.fq", "/dev/null", "/dev/null", "-k", 3, *CPU, code=None)
    expect("same file" in s.said, False, "a warning about a device")


def test_no_qualities():
    """If no input has qualities, -q leads to a warning, whatever the container."""
    s = Session()
    s.write("x.fa", FASTA)
    s.write("x.fa.gz", gzip.compress(FASTA))
    s.write("x.fa.bgz", bgzf(FASTA))
    told = "kcount: warning: -q has no effect: FASTA has no qualities\n"
    for names, has in ((["x.fa"], False), (["x.fa.gz", "x.fa.bgz"], False),
                       (["x.fa", "a.fq"], True),
                       (["-"], False), ([SOURCE / "data/human.bam"], True)):
        for options, wanted in ((["-q", 9], "" if has else told), ([], "")):
            s.kcount(*names, "-k", 3, "-o", "out.kc", "--force", "--quiet", *options,
                     text=FASTA.decode() if names == ["-"] else "")
            expect(s.said, wanted, f"about {names} with {options}")
    s.kcount("hist", "x.fa", "-k", 3, "-q", 9, message=told)


main([test_refused, test_standard_input, test_no_end_block, test_without_sequence,
      test_nothing_at_all, test_proteins,
      test_joined_zstd, test_large_joined, test_large_gzip, test_accepted, test_lists,
      test_database_as_reads, test_query_files, test_cram, test_bam, test_bam_in_other_containers,
      test_reads_named_like_headers, test_zstd_dictionary, test_same_file, test_many_same_files,
      test_same_device, test_no_qualities])
