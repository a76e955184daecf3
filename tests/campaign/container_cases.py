"""
Compressed files and BAM: without the mark of their end, joined, without any reads, or in a
container that is rare for them.
"""
import gzip
import struct

import containers
import outcome
import reading
import text_cases
from lib.tools import bam_text, bgzf, bgzf_block, fasta, sam

END = bgzf_block(b"")
MARK = "end-of-file block"
HEADERS = (b"@PG\tID:x\tPN:y", b"@SQ\tSN:chr1\tLN:9", b"@RG\tID:1", b"@HD\tVN:1.6", b"@CO\ttext")


def sequences_or_none(data):
    try:
        return reading.sequences(data)
    except reading.Refused:
        return None


# ---- BGZF that lacks its end ----

def open_bgzf(rng, text):
    """BGZF without its end-of-file block."""
    return bgzf(text, rng.choice((500, 5000, 65280)))[:-len(END)]


MEMBERS = {"open": open_bgzf, "bgzf": lambda rng, text: open_bgzf(rng, text) + END,
           "gzip": lambda rng, text: gzip.compress(text, rng.randrange(10))}


def split(rng, text):
    """Between or within lines; no part is empty."""
    places = {rng.randrange(1, len(text)) for _ in range(rng.choice((0, 1, 1, 2, 3)))}
    if rng.random() < 0.7:  # where lines begin
        places = {text.find(b"\n", place) + 1 for place in places} - {0, len(text)}
    places = sorted(places)
    return [text[begin:end] for begin, end in zip([0, *places], [*places, len(text)])]


def open_ends(names, parts):
    """(what precedes an end of BGZF that has no mark, whether gzip goes on)"""
    for name, part, following in zip(names, parts, [*names[1:], "end"]):
        if name == "open" and following in ("gzip", "end"):
            yield part, following == "gzip"


def without_mark(case, counting):
    """FASTQ that ends with a whole record is accepted, FASTA is not."""
    rng, form = case.rng, case.rng.choice(("fastq", "fastq", "fastq", "fasta"))
    text = containers.text_of(rng, text_cases.draw_reads(rng, counting.k), form)
    if rng.random() < 0.2:
        text = text[:rng.randrange(1, len(text))]
    parts = split(rng, text)
    names = rng.choices(("open", "open", "bgzf", "gzip"), k=len(parts))
    ends = list(open_ends(names, parts))
    bad = any(form == "fasta" or (goes_on and part[-1:] != b"\n") for part, goes_on in ends)
    found = None if bad else sequences_or_none(text)
    says = [MARK] if ends and (bad or found is not None) else []
    content = b"".join(MEMBERS[name](rng, part) for name, part in zip(names, parts))
    return [content], outcome.Wanted(found, says, [] if ends else [MARK])


def bam_without_mark(case, counting):
    text, rng = bam_text(text_cases.draw_reads(case.rng, counting.k)), case.rng
    return [open_bgzf(rng, text) + rng.choice((b"", gzip.compress(b"")))], outcome.Wanted(None)


# ---- nothing ----

def nothing(rng, setting):
    """A stream of zero bytes, a container without reads, or reads without bases."""
    return rng.choice((
        lambda: gzip.compress(b"") * rng.choice((1, 2)), lambda: END,
        lambda: containers.zstd_raw(rng, b""), lambda: containers.zstd_file(rng, b""),
        lambda: containers.bzip2_file(rng, b""), lambda: containers.xz_file(rng, b""),
        lambda: bgzf(bam_text([])), lambda: gzip.compress(bam_text([])), lambda: sam([]),
        lambda: b">r\n", lambda: b"@r\n\n+\n\n",
        lambda: containers.cram([]) if setting.has("samtools") else END))()


def no_reads(case, counting):
    """Alone or among others: no error, but a warning."""
    rng = case.rng
    reads = [text_cases.draw_reads(rng, counting.k) for _ in range(rng.choice((0, 0, 1, 2)))]
    contents = [fasta(some) for some in reads]
    contents.insert(rng.randrange(len(contents) + 1), nothing(rng, case.setting))
    bases = [bases for some in reads for bases, _ in some]
    return contents, outcome.Wanted(bases, ["holds no sequence"])


def no_bytes(case, counting):
    """Not even a container: some program failed to write this."""
    contents = [fasta(text_cases.draw_reads(case.rng, counting.k))] * case.rng.choice((0, 1))
    contents.insert(case.rng.randrange(len(contents) + 1), b"")
    return contents, outcome.Wanted(None, ["empty"])


# ---- rare containers ----

def bam(case, counting):
    """BAM in gzip, or not compressed."""
    text, rng = bam_text(text_cases.draw_reads(case.rng, counting.k)), case.rng
    pack = rng.choice((gzip.compress, bytes, lambda text: containers.gzip_member(rng, text)))
    return [pack(text)], outcome.Wanted(sequences_or_none(text))


def named_like_header(case, counting):
    """FASTQ whose first read, all of it in the first member, is named as in SAM's header."""
    rng, reads = case.rng, text_cases.draw_reads(case.rng, counting.k)
    text = containers.fastq_text(rng, reads, 10**9)
    text = rng.choice(HEADERS) + text[text.index(b"\n"):]
    packer = containers.PACKERS[rng.choice(text_cases.JOINABLE)]
    return [packer(rng, text)], outcome.Wanted([bases for bases, _ in reads])


def dictionary(case, counting):
    """zstd whose first or second frame needs a dictionary."""
    rng = case.rng
    texts = [fasta(text_cases.draw_reads(rng, counting.k))[:60000] for _ in "ab"]
    frame = struct.pack("<IBIQ", 0xfd2fb528, 0xe3, rng.randrange(1, 2**32), len(texts[1]))
    frame += struct.pack("<I", len(texts[1]) << 3 | 1)[:3] + texts[1]
    before = containers.zstd_raw(rng, texts[0]) if rng.random() < 0.3 else b""
    return [before + frame], outcome.Wanted(None, ["dictionary"], ["corrupt"])


def container_case(case):
    counting = outcome.draw_counting(case.rng)
    make = case.rng.choice((without_mark, without_mark, bam_without_mark, no_reads, no_bytes, bam,
                            named_like_header, dictionary))
    contents, wanted = make(case, counting)
    case.add("bases", sum(map(len, contents)))
    names, how = outcome.give(case, contents)
    outcome.check_count(case, counting, names, how, wanted, make.__name__)
