"""
kcount filter against a plain reference: which reads are kept, and every byte of the outputs.

    filter.py KCOUNT SOURCE
"""
import collections
import gzip
import itertools
import os
import random
import shutil
import signal
import subprocess
import time

from lib.filter_rules import Rule, kmers
from lib.session import SOURCE, Session, expect, wait_for_output
from lib.tools import Failure, bgzf, few, main, run, same_text

SPACE = b" \t\r\n"
HEADER = b"name\twindows\tin_range\tmin\tmax\tsum\n"

Read = collections.namedtuple("Read", "text name bases")


# ---- the reference ----

def records(text):
    """The records of FASTA or FASTQ, each with its text."""
    lines, at = text.splitlines(keepends=True), 0
    while at < len(lines):
        begin, fastq = at, lines[at].startswith(b"@")
        name, bases = lines[at].rstrip(b"\r\n")[1:], b""
        at += 1
        while at < len(lines) and not lines[at].startswith(b"+" if fastq else b">"):
            bases += lines[at].strip(SPACE)
            at += 1
        if fastq:
            at, left = at + 1, len(bases)
            while left > 0:
                left -= len(lines[at].strip(SPACE))
                at += 1
            at += not bases  # an empty line
        yield Read(b"".join(lines[begin:at]), name, bases)


def count(texts, k):
    counts = collections.Counter(kmer for text in texts for read in records(text)
                                 for kmer in kmers(read.bases, k))
    del counts[None]
    return counts


def cut(lines, n):
    """The first n letters, with the ends of their lines."""
    for line in lines:
        letters = line.rstrip(SPACE)
        if n <= 0:
            return
        yield letters[:n] + line[len(letters):]
        n -= len(letters)


def trimmed(read, n):
    """The text of the read's first n bases."""
    if n == len(read.bases):
        return read.text
    head, *lines = read.text.splitlines(keepends=True)
    if not head.startswith(b"@"):
        return head + b"".join(cut(lines, n))
    plus = [line.startswith(b"+") for line in lines].index(True)
    return (head + b"".join(cut(lines[:plus], n)) + lines[plus]
            + b"".join(cut(lines[plus + 1:], n)))


class Reference:
    def __init__(self, counts, k, rule):
        self.counts, self.k, self.rule = counts, k, rule
        self.kept, self.rest = [b"", b""], [b"", b""]
        self.names, self.table, self.nreads, self.nkept = b"", HEADER, 0, 0

    def look(self, read):
        """The counts of the windows, and the bases that stay."""
        windows = [kmer and self.counts[kmer] for kmer in kmers(read.bases, self.k)]
        valid = [c for c in windows if c is not None]
        found = sum(self.rule.low <= c <= self.rule.high for c in valid)
        self.table += b"%s\t%d\t%d\t%d\t%d\t%d\n" % (
            read.name.split(b" ")[0].split(b"\t")[0], len(valid), found, min(valid, default=0),
            max(valid, default=0), sum(valid))
        if not self.rule.trim:
            return windows, len(read.bases)
        lead = self.rule.lead(windows)
        return windows[:lead], lead and lead + self.k - 1

    def put(self, reads, windows, stays, passes, outputs):
        keeps = passes != self.rule.drop and all(stays) if self.rule.trim \
            else passes != self.rule.drop
        for read, stay, output in zip(reads, stays, outputs):
            self.nreads += 1
            self.nkept += keeps
            if keeps:
                self.kept[output] += trimmed(read, stay)
            else:
                self.rest[output] += read.text
        return keeps

    def single(self, text):
        for read in records(text):
            windows, stay = self.look(read)
            if self.put([read], [windows], [stay], self.rule.passes(windows), [0]):
                self.names += read.name.split(b" ")[0].split(b"\t")[0] + b"\n"
        return self

    def pairs(self, texts, outputs=(0, 1)):
        for mates in zip(*map(records, texts)):
            looks = [self.look(mate) for mate in mates]
            windows, stays = zip(*looks)
            each = [self.rule.passes(w) for w in windows]
            passes = {"any": any(each), "both": all(each),
                      "pooled": self.rule.passes(sum(windows, []))}[self.rule.pairs]
            if self.put(mates, windows, stays, passes, outputs):
                name = mates[0].name.split(b" ")[0].split(b"\t")[0]
                self.names += (name[:-2] if name[-2:] in (b"/1", b"/2") else name) + b"\n"
        return self


# ---- reads ----

def genome(rng, n):
    return bytes(rng.choices(b"ACGT", k=n))


def damaged(rng, bases):
    """With errors, other letters and lower case."""
    bases = bytearray(bases)
    for _ in range(rng.choice((0, 0, 1, 2, 5))):
        bases[rng.randrange(len(bases))] = rng.choice(b"ACGTNacgtnURY")
    return bytes(bases).lower() if rng.random() < 0.1 else bytes(bases)


def make_reads(rng, origin, n):
    """Of the origin or foreign, some shorter than a k-mer, some empty."""
    for _ in range(n):
        length = rng.choice((0, 3, 10, 11, 12, 30, 60, 90))
        source = origin if rng.random() < 0.7 else genome(rng, 200)
        at = rng.randrange(len(source) - length)
        yield damaged(rng, source[at:at + length]) if length else b""


def qualities(rng, n):
    return bytes(rng.choices(range(33, 75), k=n))


def wrapped(line, width, end):
    return b"".join(line[i:i + width] + end for i in range(0, len(line), width)) or end


def fastq(rng, reads, suffix=b"", width=10**9, end=b"\n"):
    for i, bases in enumerate(reads):
        comment = rng.choice((b"", b" 1:N:0:ACGT", b"\ta comment"))
        plus = rng.choice((b"", b"r%d" % i))
        quality = qualities(rng, len(bases))
        yield (b"@r%d%s%s" % (i, suffix, comment) + end + wrapped(bases, width, end) + b"+" + plus
               + end + wrapped(quality, width, end))


def fasta(rng, reads, width, end=b"\n"):
    for i, bases in enumerate(reads):
        yield (b">r%d some text" % i + end + wrapped(bases, width, end)
               + rng.choice((b"", b"", end)))


def scene(k=11, n=400):
    """A database, its counts, and reads in several forms, by name."""
    rng, s = random.Random(k), Session()
    origin = genome(rng, 1500)
    counted = b"".join(b">c\n%s\n" % origin[i:i + 400] for i in range(0, 1500, 150))
    s.write("counted.fa", counted)
    s.kcount("counted.fa", "-k", k, "-o", "db.kc")
    reads = list(make_reads(rng, origin, n))
    some = [bases for bases in reads if bases]
    texts = {"lines.fq": b"".join(fastq(rng, reads)),
             "crlf.fq": b"".join(fastq(rng, reads, end=b"\r\n")),
             "wrapped.fq": b"".join(fastq(rng, some, width=17)),
             "cut.fq": b"".join(fastq(rng, some))[:-1],
             "reads.fa": b"".join(fasta(rng, reads, 10**9)),
             "wrapped.fa": b"".join(fasta(rng, some, 13)),
             "crlf.fa": b"".join(fasta(rng, some, 20, b"\r\n"))}
    for name, text in texts.items():
        s.write(name, text)
    return s, count([counted], k), texts


RULES = [Rule(), Rule("5"), Rule("5", "20"), Rule("0", "0"), Rule("50%"), Rule("33.3%", "90%"),
         Rule("100%"), Rule("50%", denominator="all"), Rule("12.5%", "75%", denominator="all"),
         Rule("2", low=2, high=3), Rule("1", low=0, high=1), Rule("10%", low=3),
         Rule("30%", drop=True), Rule("3", "40", drop=True), Rule(trim=True),
         Rule("20", trim=True), Rule("1", "30", low=2, trim=True)]


FEW_RULES = [RULES[i] for i in (0, 4, 12, 14)]


def check(s, wanted, call, kept, rest, what):
    """Run filter, and compare all that it writes."""
    s.kcount("filter", *call, "--names", "names", "--table", "table", "--force",
             message=f"kept {wanted.nkept:,} of {wanted.nreads:,} reads")
    for name, text in zip([*kept, *rest, "names", "table"],
                          [*wanted.kept[:len(kept)], *wanted.rest[:len(rest)], wanted.names,
                           wanted.table]):
        got = (s.path / name).read_bytes()
        if got != text:
            same_text(got, text, f"{what}: {name}")
            raise Failure(f"{what}: {name} differs in its line ends")


def test_single():
    s, counts, texts = scene()
    cases = [(name, rule) for name in texts for rule in RULES
             if name in ("lines.fq", "wrapped.fa") or rule in FEW_RULES]
    for name, rule in few(cases, 8):
        text = texts[name]
        wanted = Reference(counts, 11, rule).single(text)
        call = ["db.kc", name, "-o", "kept", "--rest", "rest", *rule.options(), "-t", 2]
        check(s, wanted, call, ["kept"], ["rest"], f"{name}, {call}")
        if rule is RULES[0]:
            expect(0 < wanted.nkept < wanted.nreads, True, "some are kept")


def test_other_k():
    for k in few((1, 4, 31, 33, 70), 2):
        s, counts, texts = scene(k, 100)
        for rule in (Rule(), Rule("50%"), Rule(trim=True)):
            for name in ("lines.fq", "wrapped.fa"):
                wanted = Reference(counts, k, rule).single(texts[name])
                check(s, wanted, ["db.kc", name, "-o", "kept", "--rest", "rest", *rule.options()],
                      ["kept"], ["rest"], f"k={k}, {name}, {list(rule.options())}")


def mates_scene(n=600):
    s, counts, _ = scene()
    rng = random.Random(3)
    origin = b"".join(read.bases for read in records((s.path / "counted.fa").read_bytes()))
    reads = list(make_reads(rng, origin, n))
    texts = [b"".join(fastq(rng, reads[i::2], suffix)) for i, suffix in enumerate((b"/1", b"/2"))]
    for i, text in enumerate(texts):
        s.write(f"m_{i + 1}.fq", text)
        s.write(f"m_{i + 1}.fq.gz", gzip.compress(text))
    both = b"".join(a.text + b.text for a, b in zip(*map(records, texts)))
    s.write("both.fq", both)
    return s, counts, texts


def test_pairs():
    s, counts, texts = mates_scene()
    rules = (*FEW_RULES, RULES[15])
    for rule, pairs in few(itertools.product(rules, ("any", "both", "pooled")), 4):
        rule.pairs = pairs
        wanted = Reference(counts, 11, rule).pairs(texts)
        options = [*rule.options(), "--pairs", pairs]
        check(s, wanted, ["db.kc", "m_1.fq", "m_2.fq.gz", "-o", "k1", "-o", "k2", "--rest", "r1",
                          "--rest", "r2", *options], ["k1", "k2"], ["r1", "r2"], f"{options}")
        wanted = Reference(counts, 11, rule).pairs(texts, (0, 0))
        check(s, wanted, ["db.kc", "both.fq", "--interleaved", "-o", "k1", "--rest", "r1",
                          *options], ["k1"], ["r1"], f"interleaved {options}")
        rule.pairs = "any"


def check_parts(s, wanted, call, rule):
    outputs = 1 + ("m_2.fq" in call)
    call = [*call, *rule.options(), "--force", "--names", "names"]
    for name in ("kept", "rest"):
        for i in range(outputs):
            call += ["-o" if name == "kept" else "--rest", f"{name}_{i}"]
    for threads in (1, 3):
        s.kcount("filter", *call, "-t", threads)
        for i in range(outputs):
            for name, texts in (("kept", wanted.kept), ("rest", wanted.rest)):
                if (s.path / f"{name}_{i}").read_bytes() != texts[i]:
                    raise Failure(f"{name}_{i} is not what {call} makes")
        expect((s.path / "names").read_bytes() == wanted.names, True, f"names of {call}")


def test_parts():
    """There are so many reads that only a part of each is asked first, if that settles some."""
    s, counts, texts = scene(n=3000)
    rules = (*RULES[:14:2], Rule("2%"), Rule("1", "2%"), Rule("20%", denominator="all"))
    for rule in few(rules, 3):
        check_parts(s, Reference(counts, 11, rule).single(texts["lines.fq"]),
                    ["db.kc", "lines.fq"], rule)


def test_parts_of_pairs():
    s, counts, texts = mates_scene(2500)
    for rule, pairs in few(itertools.product((Rule("2"), Rule("0", "30%", drop=True)),
                                             ("any", "both", "pooled")), 2):
        rule.pairs = pairs
        check_parts(s, Reference(counts, 11, rule).pairs(texts),
                    ["db.kc", "m_1.fq", "m_2.fq", "--pairs", pairs], rule)
    check_parts(s, Reference(counts, 11, rule).pairs(texts, (0, 0)),
                ["db.kc", "both.fq", "--interleaved", "--pairs", pairs], rule)


def test_names_of_outputs():
    s, counts, texts = mates_scene()
    wanted = Reference(counts, 11, Rule()).pairs(texts)
    for given, inputs, names in (("out", ("m_1.fq", "m_2.fq"), ("out_1.fq", "out_2.fq")),
                                 ("a.b", ("m_1.fq.gz", "m_2.fq"), ("a.b_1.fq.gz", "a.b_2.fq")),
                                 ("c.fastq.gz", ("m_1.fq", "m_2.fq"),
                                  ("c_1.fastq.gz", "c_2.fastq.gz"))):
        before = s.names()
        s.kcount("filter", "db.kc", *inputs, "-o", given)
        expect(sorted(set(s.names()) - set(before)), sorted(names), f"outputs of -o {given}")
        for name, text in zip(names, wanted.kept):
            content = (s.path / name).read_bytes()
            expect(gzip.decompress(content) if name.endswith("gz") else content, text, name)
    s.kcount("filter", "db.kc", "m_1.fq", "m_2.fq", "-o", "x", "-o", "y", "--rest", "z.fq")
    expect((s.path / "z_1.fq").read_bytes(), wanted.rest[0], "--rest of two inputs")


def test_compressed():
    """Any compression in and out; the bytes do not depend on threads or memory."""
    s, counts, texts = scene(n=6000)
    text = texts["lines.fq"]
    wanted = Reference(counts, 11, Rule("30%")).single(text)
    s.write("in.gz", gzip.compress(text))
    s.write("in.bgzf", bgzf(text))
    inputs = ["lines.fq", "in.gz", "in.bgzf"]
    if shutil.which("zstd"):
        run("zstd", "-q", s.path / "lines.fq", "-o", s.path / "in.zst")
        inputs.append("in.zst")
    first = {}
    for name, threads in few(itertools.product(inputs, (1, 2, 5)), 4):
        for output in ("out.fq", "out.gz", "out.zst"):
            s.kcount("filter", "db.kc", name, "--at-least", "30%", "-o", output, "--force", "-t",
                     threads, "-m", "256M", "--names", "names.gz")
            content = (s.path / output).read_bytes()
            expect(first.setdefault(output, content) == content, True,
                   f"{output} of {name} with {threads} threads as the first")
    expect(first["out.fq"], wanted.kept[0], "plain output")
    expect(gzip.decompress(first["out.gz"]), wanted.kept[0], "out.gz")
    expect(first["out.gz"].endswith(bgzf(b"")), True, "out.gz ends with BGZF's last block")
    expect(gzip.decompress((s.path / "names.gz").read_bytes()), wanted.names, "compressed names")
    for program, name in (("zstd", "out.zst"), ("gzip", "out.gz"), ("bgzip", "out.gz")):
        if shutil.which(program):
            expect(run(program, "-dc", s.path / name), wanted.kept[0], f"{program} of {name}")
    # blocks are full, but for the last two
    sizes = list(block_sizes(first["out.gz"]))
    expect(set(sizes[:-2]) <= {0xff00} and sizes[-1] == 0, True, f"sizes of blocks: {sizes}")


def block_sizes(content):
    at = 0
    while at < len(content):
        n = int.from_bytes(content[at + 16:at + 18], "little") + 1
        yield int.from_bytes(content[at + n - 4:at + n], "little")
        at += n


def test_nothing_kept():
    s, _, _ = scene()
    for name in ("none.fq", "none.gz", "none.zst"):
        s.kcount("filter", "db.kc", "lines.fq", "--at-least", 1000, "-o", name,
                 message="kept 0 of 400 reads")
    expect(s.read("none.fq"), "", "no reads")
    expect((s.path / "none.gz").read_bytes(), bgzf(b""), "no reads in BGZF")
    if shutil.which("zstd"):
        expect(run("zstd", "-dc", s.path / "none.zst"), b"", "no reads in zstd")


def test_places():
    """Standard output, pipes and devices."""
    s, counts, texts = scene()
    wanted = Reference(counts, 11, Rule()).single(texts["lines.fq"])
    for call in (["-o", "-"], ["-o", "/dev/stdout"], ["--rest", "/dev/null", "-o", "-"]):
        expect(s.kcount("filter", "db.kc", "lines.fq", *call).encode(), wanted.kept[0], str(call))
    with open(s.path / "lines.fq", "rb") as reads:
        expect(s.kcount("filter", "db.kc", "-", "-o", "-", stdin=reads).encode(), wanted.kept[0],
               "standard input")
    os.mkfifo(s.path / "pipe")
    reader = subprocess.Popen(["cat", "pipe"], cwd=s.path, stdout=subprocess.PIPE)
    s.kcount("filter", "db.kc", "lines.fq", "-o", "pipe")
    expect(reader.communicate()[0], wanted.kept[0], "a pipe")
    expect(s.kcount("filter", "db.kc", "lines.fq", "--count"), f"{wanted.nkept}\t400\n", "--count")
    expect(s.kcount("filter", "db.kc", "lines.fq", "--table", "-").encode(), wanted.table, "table")


def test_long_records():
    """Sequences that come in pieces, between short ones."""
    rng, s, k = random.Random(8), Session(), 13
    long = [genome(rng, n) for n in (1_200_000, 1_100_000)]
    reads = [b"ACGTTGCATGCAACCGT", long[0], b"ACG", genome(rng, 300), long[1],
             b"ACGTTGCATGCAACCGT"]
    text = b"".join(fasta(rng, reads, 70))
    s.write("long.fa", text)
    s.write("part.fa", b">p\n" + long[0][:100_000] + b"\n")
    s.kcount("part.fa", "-k", k, "-o", "db.kc")
    lines = [read.text for read in records(text)]
    for threads in (1, 3):
        s.kcount("filter", "db.kc", "long.fa", "--at-least", 60_000, "-o", "out.fa", "--rest",
                 "rest.fa", "--table", "table", "--force", "-t", threads)
        expect((s.path / "out.fa").read_bytes() == lines[1], True, "the long record")
        expect((s.path / "rest.fa").read_bytes() == b"".join(lines[:1] + lines[2:]), True,
               "the other records")
        windows = [row.split("\t")[1] for row in s.read("table").splitlines()[1:]]
        expect(windows, [str(max(0, len(bases) - k + 1)) for bases in reads], "windows")
        s.kcount("filter", "db.kc", "long.fa", "--trim", "-o", "out.fa", "--force", "-t", threads)
        found = next(iter(records((s.path / "out.fa").read_bytes())))
        expect(found.bases == long[0][:len(found.bases)] and len(found.bases) >= 100_000, True,
               "the trimmed record")


def test_pieces_after_parts():
    """Half of a long sequence is in the database, so all windows of its pieces are asked."""
    rng, s = random.Random(9), Session()
    known = genome(rng, 100_000)
    s.write("known.fa", b">k\n" + known + b"\n")
    s.kcount("known.fa", "-k", 21, "-o", "db.kc")
    reads = [known[i:i + 60] for i in range(0, 90_000, 60)]
    for i, parts in enumerate(((genome(rng, 1_000_000), 10 * known), (10 * known, b"ACGT"),
                               (genome(rng, 1_000_000), 5 * known))):
        reads.insert(1000 + 100 * i, b"".join(parts))
    texts = list(fasta(rng, reads, 10**9))
    s.write("long.fa", b"".join(texts))
    kept = b"".join(text for i, text in enumerate(texts) if i != 1200)
    for threads in (1, 3):
        s.kcount("filter", "db.kc", "long.fa", "--at-least", "40%", "-o", "out.fa", "--force", "-t",
                 threads)
        expect((s.path / "out.fa").read_bytes() == kept, True, "all but the last long one")


def test_real_reads():
    s, k = Session(), 21
    data = SOURCE / "data"
    text = gzip.decompress((data / "amplicon.fq.gz").read_bytes())
    text = b"".join(read.text for read in itertools.islice(records(text), 600))
    s.write("reads.fq", text)
    s.kcount("reads.fq", "-k", k, "-o", "db.kc")
    for rule in (Rule("50%", low=5), Rule(low=3, trim=True), Rule("100%", high=50, drop=True)):
        wanted = Reference(count([text], k), k, rule).single(text)
        check(s, wanted, ["db.kc", "reads.fq", "-o", "kept", "--rest", "rest", *rule.options()],
              ["kept"], ["rest"], f"amplicon {list(rule.options())}")
        expect(0 < wanted.nkept < wanted.nreads, True, f"some of {list(rule.options())}")


def test_other_databases():
    """Several runs, and strands kept apart; one warning where --min dropped k-mers."""
    s, counts, texts = scene()
    s.kcount("add", "db.kc", "counted.fa")
    double = collections.Counter({kmer: 2 * n for kmer, n in counts.items()})
    wanted = Reference(double, 11, Rule("3", low=3)).single(texts["lines.fq"])
    check(s, wanted, ["db.kc", "lines.fq", "-o", "kept", "--at-least", 3, "--min", 3], ["kept"], [],
          "two runs")
    s.kcount("counted.fa", "-k", 11, "--min", 2, "-o", "min.kc")
    s.kcount("filter", "min.kc", "lines.fq", "-o", "two.fq")
    expect(s.said.count("warning"), 1, f"warnings in {s.said}")
    expect("min.kc lacks k-mers" in s.said, True, s.said)
    rare = collections.Counter({kmer: n for kmer, n in counts.items() if n > 1})
    wanted = Reference(rare, 11, Rule()).single(texts["lines.fq"])
    expect((s.path / "two.fq").read_bytes(), wanted.kept[0], "a database without rare k-mers")
    s.write("one.fa", ">x\nACGTTGCATGCAACCGTAAA\n")
    s.write("two.fa", ">y\nTTTACGGTTGCATGCAACGT\n>x\nACGTTGCATGCAACCGTAAA\n")
    s.kcount("one.fa", "-k", 19, "--stranded", "-o", "strands.kc")
    expect(s.kcount("filter", "strands.kc", "two.fa", "-o", "-"),
           ">x\nACGTTGCATGCAACCGTAAA\n", "stranded")


# ---- what goes wrong ----

def test_usage():
    s, _, _ = mates_scene()
    db, one, two = ["db.kc", "m_1.fq"], ["db.kc", "m_1.fq", "m_2.fq"], ["-o", "x"]
    for call, message in (
            (db, "-o/--output FILE is required"),
            ([*db, *two, "-o", "y"], "there is one input"),
            ([*one, *two, "-o", "y", "-o", "z"], "more than twice"),
            ([*one, "-o", "-"], "give -o twice"),
            ([*one, "-o", "x", "-o", "x"], "two outputs have the name x"),
            ([*db, "-o", "m_1.fq", "--force"], "m_1.fq is an input"),
            ([*db, "-o", "db.kc", "--force"], "db.kc is an input"),
            ([*db, *two, "--table", "x"], "two outputs"),
            ([*db, "-o", "x.bam"], "does not become SAM or BAM"),
            ([*db, "-o", "x.cram"], "plain text, .gz, .zst, .bam and .sam"),
            ([*db, "-o", "x.fq.xz"], "plain text, .gz, .zst, .bam and .sam"),
            ([*db, *two, "--at-least", "half"], "neither a whole number nor a share"),
            ([*db, *two, "--at-most", "101%"], "neither a whole number nor a share"),
            ([*db, *two, "--at-most", "0"], "--at-least 1 is above --at-most 0"),
            ([*db, *two, "--min", 5, "--max", 4], "--min 5 is above --max 4"),
            ([*db, *two, "--pairs", "both"], "--pairs needs two inputs"),
            ([*one, *two, "--pairs", "one"], "'one' is not one of any, both or pooled"),
            ([*db, *two, "--denominator", "x"], "'x' is not one of valid or all"),
            ([*one, *two, "--interleaved"], "--interleaved is for one input"),
            ([*db, *two, "--trim", "--drop"], "give one of them"),
            (["db.kc", "-", "-", *two], "standard input cannot be both"),
            ([*db, "-o", "-", "--json"], "--json prints on standard output"),
            ([*db, "-o", "-", "--count"], "--count prints on standard output"),
            (["m_1.fq", "db.kc", *two], "the .kc file comes first"),
            ([*one, "m_1.fq", *two], "a file of reads, and one of mates")):
        s.kcount("filter", *call, code=2, message=message)
    expect([name for name in s.names() if name[0] in "xyz"], [], "outputs of wrong usage")


def test_bad_inputs():
    s, _, texts = mates_scene()
    before = s.names()
    lines = texts[1].splitlines(keepends=True)
    s.write("fewer.fq", b"".join(lines[:-8]))
    s.write("other.fq", b"".join(lines[4:8] + lines[:4] + lines[8:]))
    s.write("odd.fq", b"".join(lines[:4]))
    s.write("cut.fq", texts[0][:-30])
    s.write("empty.fq", "")
    s.write("cut.gz", gzip.compress(texts[0])[:-20])
    before = s.names()
    for call, message in ((["m_1.fq", "fewer.fq"], "m_1.fq: record 299 has no mate"),
                          (["m_1.fq", "other.fq"], "are not mates: their names differ"),
                          (["odd.fq", "--interleaved"], "odd.fq: record 1 has no mate"),
                          (["cut.fq"], "cut.fq"), (["empty.fq"], "empty.fq"),
                          (["cut.gz"], "cut.gz"), (["nowhere.fq"], "nowhere.fq"),
                          ([SOURCE / "data/human.bam"], "human.bam"), (["db.kc"], "db.kc")):
        s.kcount("filter", "db.kc", *call, "-o", "out", "--names", "names",
                 code=2 if message == "human.bam" else 1, message=message)
        expect(s.names(), before, f"files after {call}")
    (s.path / "folder").mkdir()
    for option in "-o", "--names":
        s.kcount("filter", "db.kc", "m_1.fq", "--count", option, "folder", code=1,
                 message="folder is a folder, not a file; name another")
    s.kcount("filter", "db.kc", "m_1.fq", "-o", "-")
    expect(s.said.startswith("kept "), True, s.said)
    s.write("out.fq", "old")
    s.kcount("filter", "db.kc", "m_1.fq", "-o", "out.fq", code=1, message="out.fq already exists")
    s.kcount("filter", "db.kc", "cut.fq", "-o", "out.fq", "--force", code=1, message="cut.fq")
    expect(s.read("out.fq"), "old", "an output that exists")
    s.kcount("filter", "m_1.fq", "m_1.fq", "-o", "x", code=1, message="m_1.fq holds reads")


def test_full_outputs():
    s, _, _ = scene()
    for name in ("lines.fq", "reads.fa"):
        with open("/dev/full", "w") as full:
            s.kcount("filter", "db.kc", name, "-o", "-", stdout=full, code=1,
                     message="standard output: No space left on device")
    s.kcount("filter", "db.kc", "lines.fq", "-o", "/dev/full", "--names", "names", code=1,
             message="/dev/full: No space left on device")
    expect("names" in s.names(), False, "names beside an output that failed")


def test_closed_pipe():
    s, _, _ = scene(n=3000)
    for output in ("-", "/dev/stdout"):
        started = s.start("filter", "db.kc", "lines.fq", "-o", output, "--at-least", 0, "--quiet",
                          stdout=subprocess.PIPE)
        started.stdout.readline()
        started.stdout.close()
        said = started.stderr.read()
        expect((started.wait(), said), (-signal.SIGPIPE, b""), f"closed pipe, {output}")


def test_interrupted():
    s, _, texts = scene()
    s.write("old.fq", "old")
    before = s.contents()
    for number in (signal.SIGINT, signal.SIGTERM):
        started = s.start("filter", "db.kc", "-", "-o", "new.gz", "--rest", "old.fq", "--force",
                          stdin=subprocess.PIPE)
        wait_for_output(s, started)
        started.stdin.write(texts["lines.fq"] * 20)
        started.stdin.flush()
        time.sleep(0.3)
        started.send_signal(number)
        started.stdin.close()
        expect(started.wait(timeout=60), -number, "exit code")
        expect(started.stderr.read(), b"kcount: interrupted; nothing was written\n", "message")
        expect(s.contents(), before, "files afterwards")


# ---- other programs ----

def kmc_filter(folder, k, low, bounds, output, *mode):
    run("kmc_tools", "filter", *mode, folder / "kmc", f"-ci{low}", folder / "reads.fq", *bounds,
        folder / output)


def test_kmc_tools():
    """The same reads as kmc_tools keeps, of those with at least k bases."""
    if shutil.which("kmc_tools") is None:
        print("skipped: kmc_tools is not installed")
        return
    s, k = Session(), 25
    text = gzip.decompress((SOURCE / "data/phage.fq.gz").read_bytes())
    text = b"".join(read.text for read in itertools.islice(records(text), 2000))
    s.write("reads.fq", text)
    s.kcount("reads.fq", "-k", k, "-o", "db.kc")
    run("kmc", f"-k{k}", "-ci1", "-cs4294967295", "-m2", "-t2", s.path / "reads.fq", s.path / "kmc",
        s.path)
    for low, theirs, ours in (
            (3, ["-ci20", "-cx100"], ["--at-least", 20, "--at-most", 100]),
            (4, ["-ci0.25", "-cx0.75"], ["--at-least", "25%", "--at-most", "75%",
                                         "--denominator", "all"])):
        kmc_filter(s.path, k, low, theirs, "theirs.fq")
        s.kcount("filter", "db.kc", "reads.fq", "--min", low, *ours, "-o", "ours.fq", "--force")
        got, wanted = (sorted(records((s.path / name).read_bytes()))
                       for name in ("ours.fq", "theirs.fq"))
        expect(0 < len(wanted) < 2000, True, f"kmc_tools {theirs} keeps some")
        expect([read.name for read in got], [read.name for read in wanted], f"{ours}")
    kmc_filter(s.path, k, 3, [], "theirs.fq", "-t")
    s.kcount("filter", "db.kc", "reads.fq", "--min", 3, "--trim", "-o", "ours.fq", "--force")
    got, wanted = ({read.name: read.bases for read in records((s.path / name).read_bytes())}
                   for name in ("ours.fq", "theirs.fq"))
    expect(got == wanted and len(got) > 0, True, "trimmed reads as kmc_tools has them")


main([test_single, test_other_k, test_pairs, test_parts, test_parts_of_pairs,
      test_names_of_outputs, test_compressed, test_nothing_kept, test_places, test_long_records,
      test_pieces_after_parts, test_real_reads, test_other_databases, test_usage,
      test_bad_inputs, test_full_outputs, test_closed_pipe, test_interrupted, test_kmc_tools])
