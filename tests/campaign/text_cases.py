"""
FASTA and FASTQ with something odd in one place, which must be an error or must not matter: files
that were joined by cat although one of them has no last line end, letters that no sequence has,
indented headers.
"""
import checks
import containers
import inputs
import outcome
import reading
import reference
from lib.tools import same_text

PRINTABLE = bytes(set(range(33, 127)) - set(b"@+>;"))
OTHER = bytes(set(range(256)) - set(range(32, 127)) - set(b"\t\n"))
JOINABLE = ("plain", "one gzip member", "large bgzf blocks", "zstd")  # nothing follows their ends
MISSING = "a line end is missing before '>'"


def draw_reads(rng, k):
    """Reads of at least one letter."""
    found = inputs.reads(rng, k, rng.choice((100, 1000, 20000)))
    return [read for read in found if read[0]] or [(b"ACGT", b"IIII")]


def joined(rng, k):
    """FASTA of which not all parts end with a line end."""
    texts = [containers.text_of(rng, draw_reads(rng, k), "fasta")
             for _ in range(rng.choice((2, 2, 3, 5)))]
    bare = rng.randrange(len(texts) - 1)
    texts[bare] = texts[bare].rstrip(b"\r\n")
    return texts, [MISSING]


def odd_letter(rng, k):
    """One letter of a sequence is another byte."""
    reads = draw_reads(rng, k)
    number, letter = rng.randrange(len(reads)), rng.choice((b">", b"printable", b"other"))
    if letter != b">":
        some = PRINTABLE if letter == b"printable" else OTHER
        letter = bytes([rng.choice(some)])
    bases, quality = reads[number]
    at = rng.randrange(len(bases))
    reads[number] = (bases[:at] + letter + bases[at + 1:], quality)
    return [containers.text_of(rng, reads, rng.choice(("fasta", "fastq")))], []


def indented(rng, k):
    """Blanks before a header; before the first one they do not matter."""
    form = rng.choice(("fasta", "fastq"))
    before, after = (containers.text_of(rng, draw_reads(rng, k), form) for _ in "ab")
    before = b"" if rng.random() < 0.2 else before.rstrip(b"\r\n") + b"\n"
    return [before + rng.choice((b" ", b"\t", b"    ", b" \t ")) + after], []


def packed(rng, texts):
    """The texts in one container, or each in its own, joined by cat."""
    if len(texts) == 1 or rng.random() < 0.3:
        return containers.PACKERS[rng.choice(list(containers.PACKERS))](rng, b"".join(texts))
    packer = containers.PACKERS[rng.choice(JOINABLE)]
    return b"".join(packer(rng, text) for text in texts)


def all_kmers(sequences, k):
    for bases in sequences:
        for part in reference.normal(bases).decode().split("N"):
            yield from (part[i:i + k] for i in range(len(part) - k + 1))


def check_query(case, counting, wanted):
    """query -f reads such files, too."""
    if wanted.sequences is None:
        case.write("good.fa", ">r\n" + "ACGGTTAC" * 40 + "\n")
        case.kcount("count", "good.fa", *counting.options(), "-o", "db.kc")
        case.kcount("query", "db.kc", "-f", "input-0", codes=(1,))
        return
    counts, _ = outcome.wanted_lines(wanted.sequences, counting)
    asked = all_kmers(wanted.sequences, counting.k)
    same_text(case.kcount("query", "out.kc", "-f", "input-0").out,
              checks.answer(counts, list(asked), counting.stranded), "query -f")


def text_case(case):
    rng, counting = case.rng, outcome.draw_counting(case.rng)
    make = rng.choice((joined, odd_letter, odd_letter, indented))
    texts, says = make(rng, counting.k)
    case.add("bases", sum(map(len, texts)))
    try:
        wanted = outcome.Wanted(reading.sequences(b"".join(texts)))
    except reading.Refused:
        wanted = outcome.Wanted(None, says)
    names, how = outcome.give(case, [packed(rng, texts)])
    outcome.check_count(case, counting, names, how, wanted, make.__name__)
    if make is not odd_letter and b";" not in b"".join(texts):  # query -f has no comments
        check_query(case, counting, wanted)
