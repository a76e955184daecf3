"""
A slow reader of files of reads that follows the rules of the formats. It accepts whatever kcount
may accept, so kcount must refuse every file that it refuses.
"""
import bz2
import lzma
import re
import shutil
import struct
import subprocess
import zlib

from lib.tools import Failure

SAM_HEADERS = (b"@HD\t", b"@SQ\t", b"@RG\t", b"@PG\t", b"@CO\t")
COMPLEMENT = bytes.maketrans(b"ACGTacgt", b"TGCAtgca")
ODD = re.compile(rb"[^\t -=?-~]")  # what no line of a sequence holds
AS_HTSLIB = bytes.maketrans(b"0123Uu", b"ACGTNN")  # what else htslib accepts as bases in SAM


class Refused(Failure):
    """The file does not hold reads."""


class Unknown(Failure):
    """No program here can read this."""


# ---- compression ----

def gunzip(data):
    """All members, each complete and correct; zeros may follow."""
    text = []
    while data.strip(b"\0"):
        inflate = zlib.decompressobj(31)
        try:
            text.append(inflate.decompress(data))
        except zlib.error as error:
            raise Refused(str(error)) from None
        if not inflate.eof:
            raise Refused("truncated gzip")
        data = inflate.unused_data
    return b"".join(text)


def unzstd(data):
    if shutil.which("zstd") is None:
        raise Unknown("zstd is not installed")
    done = subprocess.run(["zstd", "-dcq"], input=data, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, check=False)
    if done.returncode != 0:
        raise Refused("damaged zstd")
    return done.stdout


def unpack_streams(data, begin, unit):
    """All streams, each complete and correct; after each, zeros in units of so many."""
    text = []
    while data:
        stream = begin()
        try:
            text.append(stream.decompress(data))
        except (OSError, lzma.LZMAError) as error:
            raise Refused(str(error)) from None
        if not stream.eof:
            raise Refused("truncated")
        data = stream.unused_data
        while unit and data[:unit] == bytes(unit):
            data = data[unit:]
    return b"".join(text)


def unpack(data):
    if data[:3] == b"\x1f\x8b\x08":
        return gunzip(data)
    skippable = data[1:4] == b"\x2a\x4d\x18" and data[0] & 0xf0 == 0x50
    if data[:4] == b"\x28\xb5\x2f\xfd" or skippable:
        return unzstd(data)
    if data[:3] == b"BZh":
        return unpack_streams(data, bz2.BZ2Decompressor, 0)
    if data[:6] == b"\xfd7zXZ\0":
        return unpack_streams(data, lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ), 4)
    return data


# ---- alignments ----

def oriented(flag, bases):
    """A read as it was sequenced; None for what is not counted."""
    if flag & 0x900:
        return None
    return bases.translate(COMPLEMENT)[::-1] if flag & 16 else bases


def read_bam(data):
    try:
        at = 8 + struct.unpack_from("<i", data, 4)[0]
        nrefs, at = struct.unpack_from("<i", data, at)[0], at + 4
        for _ in range(nrefs):
            at += 8 + struct.unpack_from("<i", data, at)[0]
        while at < len(data):
            size, = struct.unpack_from("<i", data, at)
            name, ncigar, flag, n = struct.unpack_from("<B3xHHi", data, at + 12)
            packed = data[at + 36 + name + 4 * ncigar:][:(n + 1) // 2]
            codes = [code for byte in packed for code in (byte >> 4, byte & 15)]
            yield oriented(flag, bytes(b"=ACMGRSVTWYHKDBN"[code] for code in codes[:n]))
            at += 4 + size
    except (struct.error, IndexError):
        raise Refused("damaged BAM") from None


def read_sam(text):
    for line in text.replace(b"\r\n", b"\n").split(b"\n"):  # to htslib, any other return is an N
        if not line or line.startswith(b"@"):
            continue
        fields = line.split(b"\t")
        if len(fields) < 11 or not fields[1].isdigit():
            raise Refused("not a SAM line")
        yield oriented(int(fields[1]), b"" if fields[9] == b"*" else fields[9].translate(AS_HTSLIB))


# ---- text ----

def lines_of(text):
    lines = text.split(b"\n")
    lines = lines[:-1] if lines[-1] == b"" else lines
    lines = [line[:-1] if line.endswith(b"\r") else line for line in lines]
    return [line.rstrip(b" \t") for line in lines]


def sequence(lines):
    """The lines joined; none of them may hold '>', a control character or a byte over 127."""
    if any(ODD.search(line) for line in lines):
        raise Refused("no sequence")
    return b"".join(lines)


def read_fasta(lines):
    found = None
    for line in lines:
        if line[:1] == b">":
            if found is not None:
                yield sequence(found)
            found = []
        elif line[:1] != b";" and line:
            if found is None or line[:1] in b"@+":
                raise Refused("not FASTA")
            found.append(line)
    yield sequence(found or [])


def read_fastq(lines):
    """Sequence and qualities on any number of lines; blank lines between records."""
    lines = iter(lines)
    for line in lines:
        if not line:
            continue
        if line[:1] != b"@":
            raise Refused("no '@'")
        bases, quality = [], b""
        for line in lines:
            if line[:1] in (b"+", b"@", b">"):
                break
            bases.append(line)
        if line[:1] != b"+":
            raise Refused("no '+'")
        bases = sequence(bases)
        while len(quality) < len(bases):
            try:
                quality += next(lines)
            except StopIteration:
                raise Refused("truncated") from None
        if len(quality) > len(bases):
            raise Refused("more qualities than bases")
        yield bases


def is_sam(text):
    if text[:1] == b"@":
        second = text.split(b"\n", 2)[1:2]
        header = not second or second[0][:1] in (b"", b"@") or second[0].count(b"\t") >= 10
        return header and text.startswith(SAM_HEADERS)  # a read may have such a name
    return text[:1] not in (b">", b";") and text.split(b"\n", 1)[0].count(b"\t") >= 10


def sequences(data):
    """The sequences in a file's bytes; Refused if they are damaged, Unknown for CRAM."""
    if data[:4] == b"CRAM":
        raise Unknown("CRAM")
    text = unpack(data)
    if not text and text is not data:
        return []  # nothing was compressed
    if text[:4] == b"BAM\1":
        return [bases for bases in read_bam(text) if bases is not None]
    if is_sam(text):
        return [bases for bases in read_sam(text) if bases is not None]
    text = text[3:] if text.startswith(b"\xef\xbb\xbf") else text
    body = text.lstrip(b" \t\r\n")
    if body[:1] not in (b"@", b">", b";"):
        raise Refused("neither FASTA nor FASTQ")
    lines = lines_of(body)
    return list(read_fastq(lines) if body[:1] == b"@" else read_fasta(lines))
