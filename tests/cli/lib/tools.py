"""What the command-line tests share: running programs, comparing, writing reads in every format."""
import bz2
import gzip
import lzma
import os
import shutil
import struct
import subprocess
import sys
import time
import zlib

SKIPPED = 77  # exit status that ctest reports as skipped
# Only a part, where starting and counting are slow: with ThreadSanitizer, on an emulated device.
SMALL = "KC_TEST_SMALL" in os.environ
LEVEL = 1  # zlib's fastest: most files are read only once or twice


class Failure(Exception):
    pass


def few(cases, most):
    """The cases or, if SMALL, at most so many, spread over the list: all must start the same
    threads."""
    cases = list(cases)
    return cases[::-(-len(cases) // most)] if SMALL else cases


def run(*command, cwd=None, stdin=None):
    """Run a program that must succeed; returns what it printed."""
    command = [str(part) for part in command]
    done = subprocess.run(command, cwd=cwd, stdin=stdin, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE)
    if done.returncode != 0:
        raise Failure(f"{' '.join(command)}\n  in {cwd}: exit {done.returncode}\n"
                      + done.stderr.decode(errors="replace"))
    return done.stdout


def same_text(got, wanted, what):
    """Fail with the first line that differs."""
    if got == wanted:
        return
    got, wanted = got.splitlines(), wanted.splitlines()
    for number, (ours, theirs) in enumerate(zip(got, wanted), 1):
        if ours != theirs:
            raise Failure(f"{what}: line {number}: got {ours!r}, wanted {theirs!r}")
    raise Failure(f"{what}: got {len(got)} lines, wanted {len(wanted)}")


def same_file(path, wanted, what):
    if path.read_bytes() != wanted.read_bytes():
        raise Failure(f"{what}: {path} and {wanted} differ")


def main(tests):
    """Run functions until one fails; the exit status is ctest's."""
    try:
        for test in tests:
            begin = time.monotonic()
            test()
            print(f"passed: {test.__name__}, {time.monotonic() - begin:.1f} s")
    except Failure as failure:
        sys.exit(f"FAILED: {failure}")


# ---- reads: lists of (bases, quality), both bytes ----

def wrapped(line, width):
    return b"\n".join(line[i:i + width] for i in range(0, len(line), width)) or b""


def fastq(reads, width=10**9):
    return b"".join(b"@r%d some text\n%s\n+\n%s\n" % (i, wrapped(bases, width),
                                                      wrapped(quality, width))
                    for i, (bases, quality) in enumerate(reads))


def fasta(reads, width=10**9):
    return b"".join(b">r%d some text\n%s\n" % (i, wrapped(bases, width))
                    for i, (bases, quality) in enumerate(reads))


def sam(reads):
    """
    Unmapped reads, and secondary and supplementary alignments that must not be counted. U is
    written as T: BAM has no code for it.
    """
    lines = [b"@HD\tVN:1.6\tSO:unsorted", b"@SQ\tSN:chr\tLN:100000"]
    extra = b"ACGTTGCATGCA" * 25
    for i, (bases, quality) in enumerate(reads):
        if i % 50 == 7:
            flag = 256 if i % 100 < 50 else 2048
            lines.append(b"r%d\t%d\tchr\t%d\t0\t%dM\t*\t0\t0\t%s\t*" % (i, flag, i + 1, len(extra),
                                                                        extra))
        bases = bases.replace(b"U", b"T").replace(b"u", b"t")
        lines.append(b"r%d\t4\t*\t0\t0\t*\t*\t0\t0\t%s\t%s" % (i, bases or b"*", quality or b"*"))
    return b"\n".join(lines) + b"\n"


def nt16_table():
    """For bytes.translate: a letter's code in BAM, that of N for letters that BAM lacks."""
    table = bytearray([15] * 256)
    for code, letter in enumerate(b"=ACMGRSVTWYHKDBN"):
        table[letter] = table[letter | 32] = code
    table[ord("U")] = table[ord("u")] = table[ord("T")]
    return bytes(table)


NT16 = nt16_table()
BAM_QUALITY = bytes(max(byte - 33, 0) for byte in range(256))  # like NT16, for qualities


def bam_record(number, bases, quality):
    """An unaligned read."""
    name = b"r%d\0" % number
    codes = bases.translate(NT16) + b"\0" * (len(bases) % 2)
    high, low = (int.from_bytes(codes[start::2], "big") for start in (0, 1))
    packed = (high << 4 | low).to_bytes(len(codes) // 2, "big")
    body = struct.pack("<iiBBHHHiiii", -1, -1, len(name), 0, 4680, 0, 4, len(bases), -1, -1, 0)
    body += name + packed + quality.translate(BAM_QUALITY)
    return struct.pack("<i", len(body)) + body


def bam_text(reads, header=b"@HD\tVN:1.6\n", nrefs=0):
    """A BAM file before compression."""
    parts = [b"BAM\1", struct.pack("<i", len(header)), header, struct.pack("<i", nrefs)]
    parts += [struct.pack("<i6si", 6, b"c%04d\0" % i, 1000) for i in range(nrefs)]
    return b"".join(parts + [bam_record(i, *read) for i, read in enumerate(reads)])


def gzip_members(text, size):
    return b"".join(gzip.compress(text[i:i + size], LEVEL) for i in range(0, len(text), size))


def bgzf_block(text, level=LEVEL):
    deflate = zlib.compressobj(level, zlib.DEFLATED, -15)
    body = deflate.compress(text) + deflate.flush()
    head = struct.pack("<4BI2BH2BHH", 31, 139, 8, 4, 0, 0, 255, 6, 66, 67, 2, len(body) + 25)
    return head + body + struct.pack("<II", zlib.crc32(text), len(text))


def bgzf(text, size=20000, level=LEVEL):
    """Blocks that end in the middle of lines, and the empty one that marks the end."""
    return b"".join(bgzf_block(text[i:i + size], level)
                    for i in range(0, len(text), size)) + bgzf_block(b"")


def write_formats(reads, folder):
    """
    Write the same reads in every format possible here, each as folder/FORMAT/reads: one name for
    all, because a .kc file keeps the names of its inputs.
    """
    text = fastq(reads)
    files = {
        "fastq": text,
        "fastq-multi-line": fastq(reads, 47),
        "fastq-blanks": fastq(reads, 53).replace(b"\n", b" \t\n"),
        "fastq-crlf": text.replace(b"\n", b"\r\n")[:-2],
        "fasta": fasta(reads)[:-1],
        "fasta-multi-line": fasta(reads, 60) + b"\n\n",
        "fasta-blanks-bgzf": bgzf(fasta(reads, 31).replace(b"\n", b"\t  \r\n")),
        "fasta-crlf-gzip": gzip.compress(fasta(reads, 70).replace(b"\n", b"\r\n"), LEVEL),
        "gzip": gzip.compress(text, 6),
        "gzip-members": gzip_members(text, 30001),
        "bgzf": bgzf(text, level=6),
        "bgzf-multi-line": bgzf(fastq(reads, 61), 5000),
        "bzip2": bz2.compress(text[:40001], 1) + bz2.compress(text[40001:]),
        "xz": lzma.compress(text[:40001]) + bytes(8) + lzma.compress(text[40001:], preset=0),
        "sam": sam(reads),
    }
    for name, content in files.items():
        (folder / name).mkdir(parents=True)
        (folder / name / "reads").write_bytes(content)
    for name, source, program, *command in (
            ("zstd", "fastq", "zstd", "-q", "-c"),
            ("zstd-fasta", "fasta-multi-line", "zstd", "-q", "-c"),
            ("bam", "sam", "samtools", "view", "-b"),
            ("cram", "sam", "samtools", "view", "-C", "--output-fmt-option", "no_ref=1")):
        if shutil.which(program):
            (folder / name).mkdir()
            content = run(program, *command, folder / source / "reads")
            (folder / name / "reads").write_bytes(content)
    return sorted(os.listdir(folder))
