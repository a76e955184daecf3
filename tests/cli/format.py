"""
docs/dev/kc-file.md against the program: a reader written from that page alone (and, for footers of
builds before 0.1.0, from docs/dev/kc-writing.md) prints what `kcount dump` prints, and finds every
checksum right and where it belongs.

    format.py KCOUNT DATA
"""
import collections
import ctypes
import ctypes.util
import pathlib
import struct
import sys
import tempfile

from lib.tools import Failure, main, run, same_text

KCOUNT, DATA = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
GOLDEN = DATA.parent / "tests/golden"
KMERS = (1, 4, 15, 31, 32, 33, 64, 77, 128, 255)
LINKED = 256

# Python has no XXH3 of its own; this is the library that the program uses.
XXH3 = ctypes.CDLL(ctypes.util.find_library("xxhash") or "libxxhash.so.0").XXH3_64bits
XXH3.restype, XXH3.argtypes = ctypes.c_uint64, (ctypes.c_char_p, ctypes.c_size_t)


def divide_up(a, b):
    return -(-a // b)


def verify(data, begin, end, wanted=None):
    """The part's last word is the checksum of the rest, and equals `wanted` if that is given."""
    stored, = struct.unpack_from("<Q", data, end - 8)
    if XXH3(data[begin:end - 8], end - 8 - begin) != stored:
        raise ValueError(f"a wrong checksum from {begin} to {end}")
    if wanted not in (None, stored):
        raise ValueError(f"what lies from {begin} to {end} does not belong there")


class Words:
    """The words of a part of the file, read one section after the other."""

    def __init__(self, data, offset):
        self.data, self.offset = data, offset

    def take(self, n):
        words = struct.unpack_from(f"<{n}Q", self.data, self.offset)
        self.offset += 8 * n
        return words

    def number(self, n):
        """n words as one number."""
        begin, self.offset = self.offset, self.offset + 8 * n
        return int.from_bytes(self.data[begin:self.offset], "little")

    def fields(self, n, width):
        packed = self.number(divide_up(n * width, 64))
        return [packed >> i * width & (1 << width) - 1 for i in range(n)]


def read_kmers(words, first, n, low_nbits, high_words):
    high = words.number(high_words)
    planes = [words.take(n) for _ in range(low_nbits // 64)]
    fields = words.fields(n, low_nbits % 64)
    position = -1
    for i in range(n):
        position += 1
        while not high >> position & 1:
            position += 1
        value = (position - i << low_nbits) + (fields[i] << 64 * len(planes))
        yield first + value + sum(plane[i] << 64 * j for j, plane in enumerate(planes))


def read_counts(words, n, width, nexceptions):
    bits = words.number(divide_up(n, 64))
    big = [i for i in range(n) if bits >> i & 1]
    counts = [1] * n
    for i, field in zip(big, words.fields(len(big), width)):
        counts[i] = field + 2
    for exception in words.take(nexceptions):
        counts[exception >> 32] = exception & 0xffffffff
    return counts


def read_block(data, offset, end, first):
    words = Words(data, offset)
    head, = words.take(1)
    n, low_nbits, nexceptions, high_words, width = (
        head & 0xffff, head >> 16 & 0xffff, head >> 32 & 0xffff, head >> 48 & 0xff, head >> 56)
    kmers = list(read_kmers(words, first, n, low_nbits, high_words))
    counts = read_counts(words, n, width, nexceptions)
    if words.offset + 8 != end:
        raise ValueError(f"the block at {offset} does not end at {end}")
    return zip(kmers, counts)


def read_run(data, key_words, record, page_checksums):
    """The run's pairs. page_checksums: empty if the run is not linked."""
    index, ndistinct = record[1:3]
    nleft = divide_up(ndistinct, 1024)
    words = Words(data, index)
    pages = iter(page_checksums)
    while nleft > 0:
        page = words.offset
        n, = words.take(1)
        firsts = [words.number(key_words) for _ in range(n)]
        offsets = words.take(n + 1)
        checksums = words.take(n) if page_checksums else [None] * n
        words.take(1)
        verify(data, page, words.offset, next(pages, None))
        for i in range(n):
            verify(data, offsets[i], offsets[i + 1], checksums[i])
            yield from read_block(data, offsets[i], offsets[i + 1], firsts[i])
        nleft -= n


def read_footer(data, offset, nbytes):
    """The words of the run records, the kinds, and the offset at which the records end."""
    words = Words(data, offset)
    magic, second = words.take(2)
    magic = magic.to_bytes(8, "little")
    if magic == b"KCFOOTR3":
        own_offset, nruns = words.take(2)
        if (own_offset, second) != (offset, nbytes):
            raise ValueError("a footer that is not where and as long as it says")
        verify(data, offset, offset + nbytes)
    elif magic in (b"KCFOOTER", b"KCFOOTR2"):
        nruns = second
    else:
        raise ValueError("not a footer")
    kinds = (0,) * nruns if magic == b"KCFOOTER" else words.take(nruns)
    return words, kinds, offset + nbytes - (8 if magic == b"KCFOOTR3" else 0)


def read_records(words, kinds, key_words, end):
    for kind in kinds:
        record = words.take(17)
        rows = words.take(2 * record[14])
        npages = divide_up(divide_up(record[2], 1024), 256)
        words.take(key_words * npages)
        page_checksums = words.take(npages) if kind & LINKED else ()
        words.take(divide_up(record[16], 8))
        yield kind & ~LINKED, record, rows, page_checksums
    if words.offset != end:
        raise ValueError("the footer does not end with its last record")


def check_run(record, rows, pairs):
    counts = [count for _, count in pairs]
    if rows != tuple(x for row in sorted(collections.Counter(counts).items()) for x in row):
        raise ValueError("the histogram is not that of the counts")
    if len(pairs) != record[2] or sum(counts) != record[3]:
        raise ValueError("the totals are not those of the counts")


def footer_in_force(data):
    """Its offset and length; both references must be present, or one of them in an old file."""
    verify(data, 0, 64)
    offsets = [at for at in (64, 96) if any(data[at:at + 32])]
    for at in offsets:
        verify(data, at, at + 32)
    offset, nbytes, checksum = max(struct.unpack_from("<3Q", data, at) for at in offsets)
    if XXH3(data[offset:offset + nbytes], nbytes) != checksum:
        raise ValueError("a footer that is not that of its reference")
    return offset, nbytes


def read_store(data):
    """k and the pairs of a file, merged."""
    version, k, flags = struct.unpack_from("<III", data, 8)
    footer, nbytes = footer_in_force(data)
    magic = bytes.fromhex("894b430d0a1a0a00")
    only, = struct.unpack_from("<Q", data, 24)
    known = flags <= 7 and version == (2 if flags > 1 else 1) and (only != 0) == (flags > 3)
    if data[:8] != magic or not known or footer + nbytes != len(data):
        raise ValueError("not a .kc file")
    key_words = divide_up(2 * k, 64)
    words, kinds, end = read_footer(data, footer, nbytes)
    merged = collections.Counter()
    for kind, record, rows, page_checksums in read_records(words, kinds, key_words, end):
        pairs = list(read_run(data, key_words, record, page_checksums))
        check_run(record, rows, pairs)
        for kmer, count in pairs:
            if kind == 1:
                merged.pop(kmer, None)
            else:
                merged[kmer] += count
    return k, sorted(merged.items())


def letters(kmer, k):
    return "".join("ACGT"[kmer >> 2 * (k - 1 - i) & 3] for i in range(k))


def as_text(data):
    k, pairs = read_store(data)
    return "".join(f"{letters(kmer, k)}\t{count}\n" for kmer, count in pairs).encode()


def compare():
    with tempfile.TemporaryDirectory() as folder:
        store = pathlib.Path(folder) / "x.kc"
        for k in KMERS:
            run(KCOUNT, DATA / "human.bam", "-k", k, "--quiet", "-o", store, "--force")
            data = store.read_bytes()
            if data[64:96] != data[96:128]:
                raise Failure(f"k={k}: the references of a new file differ")
            same_text(as_text(data), run(KCOUNT, "dump", store), f"k={k}")
            _, kinds, _ = read_footer(data, *footer_in_force(data))
            if kinds != (LINKED,):
                raise Failure(f"k={k}: the kinds of the runs are {kinds}")


def compare_golden():
    """Read files of several runs, and of earlier versions."""
    paths = sorted(GOLDEN.glob("*.kc"))
    for path in paths:
        same_text(as_text(path.read_bytes()), run(KCOUNT, "dump", path), path.name)
    if not paths:
        raise Failure(f"there is nothing in {GOLDEN}")


if __name__ == "__main__":
    main([compare, compare_golden])
