"""
Reads as files: text in every format that kcount reads, plain or compressed. Where possible, this
module writes the format itself, so that it is available on every machine.
"""
import bz2
import gzip
import lzma
import shutil
import struct
import subprocess
import tempfile
import zlib

from lib.tools import bam_text, bgzf, bgzf_block, sam, wrapped

# ---- text ----


def record_name(rng, number):
    """A random name: kcount must ignore names, whatever they contain."""
    names = (b"r%d", b"r%d some text", b"r%d @ > +\t;", b"%d", b"r%d " + b"x" * 500)
    return rng.choice(names) % number


def fastq_text(rng, reads, width):
    plus = rng.random() < 0.2
    parts = []
    for number, (bases, quality) in enumerate(reads):
        name = record_name(rng, number)
        parts.append(b"@%s\n%s\n+%s\n%s\n" % (name, wrapped(bases, width), name if plus else b"",
                                              wrapped(quality, width)))
        if width < 10**9 and rng.random() < 0.02:
            parts.append(b"\n")
    return b"".join(parts)


def fasta_text(rng, reads, width):
    parts = []
    for number, (bases, _) in enumerate(reads):
        if rng.random() < 0.01:
            parts.append(b"; a comment\n")
        parts.append(b">%s\n%s\n" % (record_name(rng, number), wrapped(bases, width)))
        if rng.random() < 0.02:
            parts.append(b"\n")
    return b"".join(parts)


def line_ends(rng, text):
    """Sometimes CRLF; sometimes no newline after the last line, unless that line is empty."""
    if rng.random() < 0.15 and text[-2:-1] not in (b"\n", b""):
        text = text[:-1]
    return text.replace(b"\n", b"\r\n") if rng.random() < 0.15 else text


def text_of(rng, reads, form):
    if form == "sam":
        return sam(reads)
    widths = (10**9, 10**9, 60, 70, 1, 13) if len(reads) < 2000 else (10**9, 80)
    make = fastq_text if form == "fastq" else fasta_text
    return line_ends(rng, make(rng, reads, rng.choice(widths)))


# ---- CRAM ----

def cram(reads):
    with tempfile.NamedTemporaryFile() as file:
        file.write(sam(reads))
        file.flush()
        command = ["samtools", "view", "-C", "--output-fmt-option", "no_ref=1", file.name]
        return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              check=True).stdout


# ---- compression ----

def deflated(rng, text, wbits):
    """A deflate stream of any level and strategy; sometimes flushed in the middle, as pigz does."""
    strategy = rng.choice((zlib.Z_DEFAULT_STRATEGY, zlib.Z_DEFAULT_STRATEGY, zlib.Z_FILTERED,
                           zlib.Z_HUFFMAN_ONLY, zlib.Z_RLE, zlib.Z_FIXED))
    level, memory = rng.randrange(10), rng.choice((1, 8, 9))
    deflate = zlib.compressobj(level, zlib.DEFLATED, wbits, memory, strategy)
    flush = rng.choice((None, None, zlib.Z_SYNC_FLUSH, zlib.Z_FULL_FLUSH))
    if flush is None:
        return deflate.compress(text) + deflate.flush()
    size = rng.choice((5000, 32768, 131072))
    parts = [deflate.compress(text[i:i + size]) + deflate.flush(flush)
             for i in range(0, len(text), size)]
    return b"".join(parts) + deflate.flush()


def gzip_header(rng):
    """A gzip header, sometimes with optional fields."""
    flags = rng.choice((0, 0, 0, rng.randrange(32) & ~2))
    parts = [b"\x1f\x8b\x08", bytes([flags]), b"\0" * 6]
    if flags & 4:
        extra = b"XY\4\0abcd"
        parts.append(struct.pack("<H", len(extra)) + extra)
    parts += [b"name.fq\0"] if flags & 8 else []
    parts += [b"a comment\0"] if flags & 16 else []
    return b"".join(parts)


def gzip_member(rng, text):
    trailer = struct.pack("<II", zlib.crc32(text), len(text) & 0xffffffff)
    return gzip_header(rng) + deflated(rng, text, -15) + trailer


def cut(rng, text, most=6):
    """The text in up to `most` pieces, some of which may be empty."""
    places = sorted(rng.randrange(len(text) + 1) for _ in range(rng.randrange(most)))
    return [text[begin:end] for begin, end in zip([0, *places], [*places, len(text)])]


def gzip_file(rng, text):
    padding = b"\0" * rng.choice((0, 0, 0, 1, 512))
    pieces = cut(rng, text) if rng.random() < 0.4 else [text]
    return b"".join(gzip_member(rng, piece) for piece in pieces) + padding


def bgzf_file(rng, text):
    """Blocks of any size, sometimes with empty ones."""
    size = rng.choice((1, 500, 20000, 65280)) if len(text) < 20000 else rng.choice((5000, 65280))
    return bgzf_block(b"") * rng.choice((0, 0, 1, 2)) + bgzf(text, size)


def zstd_raw(rng, text):
    """Frames of uncompressed blocks, sometimes with skippable frames between them."""
    parts = []
    for piece in cut(rng, text):
        if rng.random() < 0.3:
            parts.append(struct.pack("<II", 0x184d2a50 + rng.randrange(16), 5) + b"skip!")
        parts.append(struct.pack("<IBQ", 0xfd2fb528, 0xe0, len(piece)))
        blocks = [piece[i:i + 100000] for i in range(0, len(piece), 100000)] or [b""]
        for i, block in enumerate(blocks):
            head = len(block) << 3 | (i + 1 == len(blocks))
            parts.append(struct.pack("<I", head)[:3] + block)
    return b"".join(parts)


def zstd_file(rng, text):
    if shutil.which("zstd") is None or rng.random() < 0.3:
        return zstd_raw(rng, text)
    options = [rng.choice(("-1", "-3", "-9")), rng.choice(("--check", "--no-check"))]
    command = ["zstd", "-q", "-c", *options]
    return subprocess.run(command, input=text, stdout=subprocess.PIPE, check=True).stdout


def bzip2_file(rng, text):
    """One stream or several, with blocks of 100,000 to 900,000 bytes."""
    return b"".join(bz2.compress(piece, rng.choice((1, 9))) for piece in cut(rng, text, 3))


def xz_file(rng, text):
    """Streams with padding between them and after the last one."""
    checks = (lzma.CHECK_CRC32, lzma.CHECK_CRC64, lzma.CHECK_SHA256)
    return b"".join(lzma.compress(piece, check=rng.choice(checks), preset=rng.choice((0, 6)))
                    + bytes(rng.choice((0, 0, 4, 512))) for piece in cut(rng, text, 3))


# ---- formats ----

PACKERS = {"plain": lambda rng, text: text, "gzip": gzip_file, "bgzf": bgzf_file, "zstd": zstd_file,
           "bzip2": bzip2_file, "xz": xz_file,
           "large bgzf blocks": lambda rng, text: bgzf(text, 65280),
           "one gzip member": lambda rng, text: gzip.compress(text, rng.randrange(10))}
# htslib recognizes SAM by its first block alone, and rejects zeros after gzip data.
WITH_QUALITY = [("fastq", packer) for packer in PACKERS] + [
    ("fastq", "plain"), ("sam", "plain"), ("sam", "large bgzf blocks"), ("sam", "one gzip member"),
    ("bam", ""), ("bam", ""), ("cram", "")]
FORMATS = WITH_QUALITY + [("fasta", packer) for packer in PACKERS]


def render(rng, setting, reads, form, by_pipe=False):
    """The bytes of a file of these reads. BAM stands in for CRAM in a pipe or without samtools."""
    text, packer = form
    if text == "cram" and setting.has("samtools") and reads and not by_pipe:
        return cram(reads)
    if text in ("bam", "cram"):
        return bgzf(bam_text(reads), rng.choice((5000, 65280)))
    return PACKERS[packer](rng, text_of(rng, reads, text))
