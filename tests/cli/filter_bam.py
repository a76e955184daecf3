"""
kcount filter with alignments, against a plain reference: all records of a name are kept, or none,
in their order and unchanged.

    filter_bam.py KCOUNT SOURCE [samtools]

With "samtools", only what samtools makes of the output is looked at.
"""
import collections
import gzip
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import time

from lib.filter_rules import COMPLEMENT, Rule, kmers
from lib.session import SOURCE, Session, expect, wait_for_output
from lib.tools import SKIPPED, Failure, few, main, run

K = 11
HEADER = b"@SQ\tSN:chr1\tLN:100000\n@SQ\tSN:chr2\tLN:5000\n@RG\tID:x\n@CO\ta comment\n"
GROUPED = b"@HD\tVN:1.6\tSO:unsorted\tGO:query\n"
SORTED = b"@HD\tVN:1.6\tSO:coordinate\n"
TABLE = b"name\twindows\tin_range\tmin\tmax\tsum\n"

Record = collections.namedtuple("Record", "line name flag bases")


# ---- alignments ----

def genome(rng, n):
    return bytes(rng.choices(b"ACGT", k=n))


def record(rng, name, flag, bases, tag=b"some text"):
    """A line of SAM; where the read is aligned to the other strand, SAM has its complement."""
    aligned = not flag & 4
    stored = bases.translate(COMPLEMENT)[::-1] if flag & 16 else bases
    quality = bytes(rng.choices(range(33, 75), k=len(bases)))
    fields = [name, b"%d" % flag, b"chr1" if aligned else b"*",
              b"%d" % (rng.randrange(1, 9000) if aligned else 0), b"60" if aligned else b"0",
              b"%dM" % (len(bases) or 20) if aligned else b"*", b"*", b"0", b"0",
              stored or b"*", quality or b"*", b"XX:i:%d" % rng.randrange(70000),
              b"XS:Z:" + tag]
    return Record(b"\t".join(fields) + b"\n", name, flag, bases)


def group(rng, number, origin):
    """The records of a name: a read or a pair, with secondary and supplementary ones or not."""
    name = b"read.%d" % number
    flags = rng.choice(((4,), (0,), (16,), (77, 141), (99, 147), (99, 147, 0x100 | 99),
                        (83, 163, 0x800 | 83, 0x900 | 147), (0x800,), (65, 129, 65)))
    for flag in flags:
        source = origin if rng.random() < 0.6 else genome(rng, 200)
        length = rng.choice((0, 5, 11, 30, 60)) if not flag & 0x900 else rng.choice((0, 20))
        at = rng.randrange(len(source) - length)
        bases = bytearray(source[at:at + length])
        for _ in range(rng.choice((0, 0, 1, 3))):
            if bases:
                bases[rng.randrange(len(bases))] = rng.choice(b"ACGTN")
        yield record(rng, name, flag, bytes(bases))


def scene(n=400):
    """A database, its counts, and groups of records."""
    rng, s = random.Random(n), Session()
    origin = genome(rng, 1500)
    s.write("counted.fa", b"".join(b">c\n%s\n" % origin[i:i + 400] for i in range(0, 1500, 150)))
    s.kcount("counted.fa", "-k", K, "-o", "db.kc")
    counts = collections.Counter(kmer for i in range(0, 1500, 150)
                                 for kmer in kmers(origin[i:i + 400], K))
    return s, counts, [list(group(rng, i, origin)) for i in range(n)]


def shuffled(groups):
    found = sum(groups, [])
    random.Random(9).shuffle(found)
    return found


def text_of(found, header=HEADER):
    return header + b"".join(one.line for one in found)


# ---- the reference ----

class Reference:
    def __init__(self, counts, rule, found):
        self.reads, self.windows, self.rule = 0, collections.defaultdict(list), rule
        self.table = TABLE
        for one in found:
            self.windows[one.name] += []
            if not one.flag & 0x900:
                windows = [kmer and counts[kmer] for kmer in kmers(one.bases, K)]
                self.windows[one.name].append(windows)
                self.reads += 1
                self.add_row(one, windows)
        self.kept = [one for one in found if self.keeps(one.name)]
        self.rest = [one for one in found if not self.keeps(one.name)]
        self.nkept = sum(not one.flag & 0x900 for one in self.kept)
        self.names = b"".join(b"%s\n" % name for name in dict.fromkeys(
            one.name for one in self.kept))

    def add_row(self, one, windows):
        valid = [c for c in windows if c is not None]
        found = sum(self.rule.low <= c <= self.rule.high for c in valid)
        self.table += b"%s\t%d\t%d\t%d\t%d\t%d\n" % (
            one.name, len(valid), found, min(valid, default=0), max(valid, default=0), sum(valid))

    def keeps(self, name):
        reads = self.windows[name]
        each = [self.rule.passes(windows) for windows in reads]
        passes = {"any": any(each), "both": bool(each) and all(each),
                  "pooled": self.rule.passes(sum(reads, []))}[self.rule.pairs]
        return passes != self.rule.drop


def bam_lines(s, name):
    """What a BAM file holds, as SAM."""
    return run("samtools", "view", "-h", "--no-PG", s.path / name)


def split(text):
    """The lines of the header without the program's, the program's, and the records."""
    lines = text.splitlines(keepends=True)
    head = [line for line in lines if line.startswith(b"@")]
    return (b"".join(line for line in head if b"ID:kcount" not in line),
            [line for line in head if b"ID:kcount" in line],
            b"".join(line for line in lines if not line.startswith(b"@")))


def check_output(text, wanted, header, what):
    head, program, records = split(text)
    if records != b"".join(one.line for one in wanted):
        raise Failure(f"{what}: {records.count(10)} records, not the {len(wanted)} wanted ones")
    expect(head, header, f"{what}: the header")
    expect(len(program), 1, f"{what}: @PG lines")
    if b"\tPN:kcount\tVN:" not in program[0] or b"\tCL:" not in program[0]:
        raise Failure(f"{what}: {program}")


def check(s, counts, rule, found, call, header=HEADER, outputs=("kept.sam", "rest.sam"), **how):
    """Run filter, and compare all that it writes."""
    wanted = Reference(counts, rule, found)
    what = f"{call} {list(rule.options())} {rule.pairs}"
    s.kcount("filter", "db.kc", *call, "-o", outputs[0], "--rest", outputs[1], "--names", "names",
             "--table", "table", "--force", *rule.options(), "--pairs", rule.pairs,
             message=f"kept {wanted.nkept:,} of {wanted.reads:,} reads", **how)
    for name, records in zip(outputs, (wanted.kept, wanted.rest)):
        text = bam_lines(s, name) if name.endswith("bam") else (s.path / name).read_bytes()
        check_output(text, records, header, f"{what}: {name}")
    expect((s.path / "names").read_bytes(), wanted.names, f"{what}: names")
    expect((s.path / "table").read_bytes() == wanted.table, True, f"{what}: table")
    return wanted


RULES = [Rule(), Rule("20"), Rule("50%"), Rule("3", "25"), Rule("30%", drop=True),
         Rule("2", low=2, high=3), Rule("50%", denominator="all")]


# ---- which records are kept ----

def test_rules_and_orders():
    s, counts, groups = scene()
    collated, mixed = sum(groups, []), shuffled(groups)
    for order, found in (("collated", collated), ("mixed", mixed)):
        s.write(f"{order}.sam", text_of(found))
        for i, rule in enumerate(few(RULES if order == "mixed" else RULES[::3], 2)):
            for pairs in few(("any", "both", "pooled"), 2):
                rule.pairs = pairs
                wanted = check(s, counts, rule, found, [f"{order}.sam", "-t", 1 + i % 3])
                expect(0 < wanted.nkept < wanted.reads, True, f"{order} {i}: some are kept")
            rule.pairs = "any"


def test_parts():
    """There are so many reads that only a part of each is asked first, if that settles some."""
    s, counts, groups = scene(3000)
    for found, rule in ((sum(groups, []), Rule("40%")), (shuffled(groups), Rule(drop=True))):
        s.write("in.sam", text_of(found))
        for rule.pairs in ("any", "both", "pooled"):
            wanted = Reference(counts, rule, found)
            s.kcount("filter", "db.kc", "in.sam", "-o", "kept.sam", "--rest", "rest.sam", "--force",
                     *rule.options(), "--pairs", rule.pairs, "-t", 2)
            for name, records in (("kept.sam", wanted.kept), ("rest.sam", wanted.rest)):
                check_output((s.path / name).read_bytes(), records, HEADER, f"{name}, {rule.pairs}")


def test_headers():
    """Files whose headers say how they are sorted, whether that is true or not."""
    s, counts, groups = scene()
    for name, header, found in (("grouped", GROUPED, sum(groups, [])),
                                ("wrong", GROUPED, shuffled(groups)),
                                ("place", SORTED, shuffled(groups)),
                                ("name", b"@HD\tVN:1.6\tSO:queryname\n", sum(groups, []))):
        s.write(f"{name}.sam", text_of(found, header + HEADER))
        check(s, counts, Rule(), found, [f"{name}.sam"], header + HEADER)


def test_pipes():
    s, counts, groups = scene()
    collated, mixed = sum(groups, []), shuffled(groups)
    s.write("collated.sam", text_of(collated))
    for header in (b"", GROUPED):
        s.write("in.sam", text_of(collated, header + HEADER))
        with open(s.path / "in.sam", "rb") as stdin:
            check(s, counts, Rule("20"), collated, ["-"], header + HEADER, stdin=stdin)
    before = s.names()
    for header, says in ((b"", "comes again after others"), (GROUPED, "comes again after others"),
                         (SORTED, "standard input: it is sorted by position")):
        s.write("in.sam", text_of(mixed, header + HEADER))
        with open(s.path / "in.sam", "rb") as stdin:
            s.kcount("filter", "db.kc", "-", "-o", "new.bam", "--names", "new", code=1, stdin=stdin,
                     message=says)
        expect("samtools collate -O -u -" in s.said, True, s.said)
        expect(s.names(), before, "files after a refusal")


def test_standard_output():
    """What is not a file gets SAM, or the format of the other output; it cannot be begun again."""
    s, counts, groups = scene()
    for found in (sum(groups, []), shuffled(groups)):
        s.write("in.sam", text_of(found))
        wanted = Reference(counts, Rule(), found)
        text = s.kcount("filter", "db.kc", "in.sam", "-o", "-").encode()
        check_output(text, wanted.kept, HEADER, "standard output")
    expect(s.kcount("filter", "db.kc", "in.sam", "--count"), f"{wanted.nkept}\t{wanted.reads}\n",
           "--count")
    s.write("wrong.sam", text_of(shuffled(groups), GROUPED + HEADER))
    s.kcount("filter", "db.kc", "wrong.sam", "-o", "/dev/null", code=1,
             message="comes again after others; what was written cannot be taken back")


def test_compressed_sam():
    s, counts, groups = scene()
    found = shuffled(groups)
    s.write("in.sam.gz", gzip.compress(text_of(found)))
    wanted = Reference(counts, Rule(), found)
    s.kcount("filter", "db.kc", "in.sam.gz", "-o", "out.sam.gz")
    check_output(gzip.decompress((s.path / "out.sam.gz").read_bytes()), wanted.kept, HEADER,
                 "out.sam.gz")


def test_held():
    """A group that is longer than a block, and one that is longer than what is held in memory."""
    s, counts, groups = scene(40)
    rng = random.Random(5)
    origin = genome(rng, 400)
    for n, tag in ((3000, b"x" * 300), (3000, b"x" * 4000)):
        long = [record(rng, b"long", 0x800 | 16 if i else 0, origin[:60], tag) for i in range(n)]
        found = sum(groups[:20], []) + long + sum(groups[20:], [])
        s.write("in.sam", text_of(found, GROUPED + HEADER))
        for rule in (Rule("100%", drop=True), Rule("1")):
            check(s, counts, rule, found, ["in.sam", "-t", 3], GROUPED + HEADER)


def long_cigars():
    """A session with in.sam, whose CIGARs have more operations than BAM has room for, and out.bam
    that filter has made of it; and the records."""
    s, _, _ = scene(1)
    rng = random.Random(4)
    lines = []
    for n in (32767, 32768, 40000):
        bases, quality = genome(rng, 2 * n), bytes(rng.choices(range(33, 75), k=2 * n))
        lines.append(b"\t".join((b"r%d" % n, b"0", b"chr1", b"5", b"60", b"1M1I" * n, b"*", b"0",
                                 b"0", bases, quality, b"XX:i:1")) + b"\n")
    s.write("in.sam", HEADER + b"".join(lines))
    s.kcount("filter", "db.kc", "in.sam", "--at-least", 0, "--min", 0, "-o", "out.bam")
    return s, b"".join(lines)


def test_long_cigars():
    s, lines = long_cigars()
    s.kcount("filter", "db.kc", "out.bam", "--at-least", 0, "--min", 0, "-o", "out.sam")
    expect(split((s.path / "out.sam").read_bytes())[2] == lines, True, "records with long CIGARs")


# ---- samtools ----

def test_samtools_standard_output():
    """BAM goes to standard output if the other output is BAM."""
    s, counts, groups = scene()
    for found in (sum(groups, []), shuffled(groups)):
        s.write("in.sam", text_of(found))
        wanted = Reference(counts, Rule(), found)
        with open(s.path / "out.bam", "wb") as out:
            s.kcount("filter", "db.kc", "in.sam", "-o", "-", "--rest", "r.bam", "--force",
                     stdout=out)
        check_output(bam_lines(s, "out.bam"), wanted.kept, HEADER, "BAM on standard output")
        check_output(bam_lines(s, "r.bam"), wanted.rest, HEADER, "BAM beside it")


def test_samtools_cram():
    """CRAM is refused."""
    s, _, groups = scene(50)
    s.write("in.sam", text_of(sum(groups, [])))
    run("samtools", "view", "-C", "--output-fmt-option", "no_ref=1", "-o", s.path / "in.cram",
        s.path / "in.sam")
    check_refusal(s, ["in.cram", "-o", "x.bam"], 1,
                  "samtools collate -O -u in.cram | kcount filter")


def test_samtools_long_cigars():
    s, lines = long_cigars()
    expect(split(bam_lines(s, "out.bam"))[2] == lines, True, "as samtools reads them")


def test_samtools():
    """The records of the names that are kept, as samtools finds them; also of real reads."""
    s, counts, groups = scene(3000)
    found = shuffled(groups)
    s.write("in.sam", text_of(found))
    run("samtools", "sort", "-o", s.path / "in.bam", s.path / "in.sam")
    run("samtools", "sort", "-n", "-o", s.path / "byname.bam", s.path / "in.sam")
    run("samtools", "collate", "-o", s.path / "collated.bam", s.path / "in.sam")
    shutil.copy(SOURCE / "data/human.bam", s.path / "human.bam")
    s.kcount("human.bam", "-k", K, "-o", "human.kc")
    few, many = ["db.kc", "--at-least", 20], ["human.kc", "--at-least", "99%", "--min", 9]
    for name, call in (("in.bam", few), ("byname.bam", few), ("collated.bam", few),
                       ("human.bam", many)):
        for threads in (1, 4):
            s.kcount("filter", *call[:1], name, *call[1:], "-o", "ours.bam", "--names", "names",
                     "--force", "-t", threads)
            run("samtools", "quickcheck", s.path / "ours.bam")
            ours = run("samtools", "view", s.path / "ours.bam")
            theirs = run("samtools", "view", "-N", s.path / "names", s.path / name)
            every = run("samtools", "view", s.path / name)
            expect(0 < ours.count(b"\n") < every.count(b"\n"), True, f"{name}: some are kept")
            expect(ours == theirs, True, f"{name}: records as samtools view -N finds them")
    wanted = Reference(counts, Rule("20"), found)
    for name in ("in.bam", "byname.bam", "collated.bam"):
        s.kcount("filter", "db.kc", name, "--at-least", 20, "-o", "ours.bam", "--force")
        got = sorted(split(bam_lines(s, "ours.bam"))[2].splitlines(keepends=True))
        expect(got == sorted(one.line for one in wanted.kept), True, f"{name}: records")


def inflated(path):
    """The text of a BGZF file, and the sizes of its blocks' texts."""
    content, at, sizes = path.read_bytes(), 0, []
    while at < len(content):
        at += struct.unpack_from("<H", content, at + 16)[0] + 1
        sizes.append(struct.unpack_from("<I", content, at - 4)[0])
    return gzip.decompress(content), sizes


def test_bam_bytes():
    """The same blocks with any number of threads, full up to the last; then the empty one."""
    s, _, groups = scene(2000)
    s.write("in.sam", text_of(sum(groups, [])))
    found = set()
    for threads in (1, 2, 5):
        s.kcount("filter", "db.kc", "in.sam", "-t", threads, "-o", "out.bam", "--force")
        text, sizes = inflated(s.path / "out.bam")
        found.add(text.replace(b"-t %d" % threads, b"-t N"))
        expect(set(sizes[:-2]) == {0xff00} and sizes[-1] == 0, True, f"sizes of blocks: {sizes}")
    expect(len(found), 1, "texts of BAM, but for the command lines in their headers")


# ---- what goes wrong ----

def check_refusal(s, call, code, message):
    before = s.names()
    s.kcount("filter", "db.kc", *call, code=None, message=message)
    expect(s.code, code, f"exit status of {call}")  # htslib may have said more
    expect(s.names(), before, f"files after {call}")


def test_refusals():
    s, _, groups = scene(50)
    found = sum(groups, [])
    s.write("in.sam", text_of(found))
    s.write("none.sam", HEADER + b"*\t4\t*\t0\t0\t*\t*\t0\t0\tACGT\tIIII\n")
    s.write("cut.sam", text_of(found)[:-30])
    for call, code, message in (
            (["in.sam", "-o", "x.fq"], 2, "names of outputs must end in .bam or .sam"),
            (["in.sam", "-o", "x"], 2, "samtools fastq in.sam | kcount filter db.kc - -o x"),
            (["a.fq", "-o", "x.bam"], 2, "does not become SAM or BAM"),
            (["in.sam", "-o", "x.bam", "--rest", "y.sam"], 2, "x.bam and y.sam"),
            (["in.sam", "-o", "x.bam", "--names", "y.sam"], 2, "y.sam: this output has lines"),
            (["in.sam", "-o", "x.cram"], 2, "other formats"),
            (["in.sam", "-o", "x.bam", "--trim"], 2, "--trim is for FASTQ and FASTA"),
            (["in.sam", "-o", "x.bam", "--interleaved"], 2, "give it alone"),
            (["in.sam", "a.fq", "-o", "x", "-o", "y"], 2, "give it alone"),
            (["a.fq", "in.sam", "-o", "x", "-o", "y"], 2, "give it alone"),
            (["none.sam", "-o", "x.sam"], 1, "alignment record 1 has no name"),
            (["cut.sam", "-o", "x.sam", "--names", "y"], 1, "is truncated or damaged")):
        check_refusal(s, call, code, message)


def test_memory():
    """Names that do not fit in -m; where records are said to be grouped, that does not matter."""
    s, _, _ = scene(1)
    lines = b"".join(b"%0250d\t4\t*\t0\t0\t*\t*\t0\t0\tAC\tII\n" % i for i in range(450000))
    for header, code in ((GROUPED, 0), (b"", 1), (SORTED, 1)):
        s.write("in.sam", header + lines)
        s.kcount("filter", "db.kc", "in.sam", "-o", "out.sam", "--drop", "-m", "256M", "--force",
                 code=code, message="" if code == 0 else "names of its reads do not fit in memory")
        expect(code == 0 or "samtools collate" in s.said and "-m" in s.said, True, s.said)
        if code == 0:
            expect((s.path / "out.sam").read_bytes().endswith(lines), True, "all records")
            (s.path / "out.sam").unlink()
        expect("out.sam" in s.names(), False, "an output")


def test_full_outputs():
    s, _, groups = scene()
    for found in (sum(groups, []), shuffled(groups)):
        s.write("in.sam", text_of(found))
        with open("/dev/full", "w") as full:
            s.kcount("filter", "db.kc", "in.sam", "-o", "-", stdout=full, code=1,
                     message="standard output: No space left on device")
        s.kcount("filter", "db.kc", "in.sam", "-o", "/dev/full", "--rest", "new.bam", code=1,
                 message="/dev/full: No space left on device")
        expect("new.bam" in s.names(), False, "an output beside one that failed")


def test_interrupted():
    s, _, groups = scene()
    s.write("old.bam", "old")
    before = s.contents()
    started = s.start("filter", "db.kc", "-", "-o", "new.bam", "--rest", "old.bam", "--force",
                      stdin=subprocess.PIPE)
    wait_for_output(s, started)
    started.stdin.write(text_of(sum(groups, [])))
    started.stdin.flush()
    time.sleep(0.3)
    started.send_signal(signal.SIGINT)
    started.stdin.close()
    expect(started.wait(timeout=60), -signal.SIGINT, "exit code")
    expect(started.stderr.read(), b"kcount: interrupted; nothing was written\n", "message")
    expect(s.contents(), before, "files afterwards")


def test_closed_pipe():
    s, _, groups = scene(3000)
    s.write("in.sam", text_of(shuffled(groups)))
    started = s.start("filter", "db.kc", "in.sam", "-o", "-", "--quiet", stdout=subprocess.PIPE)
    started.stdout.readline()
    started.stdout.close()
    said = started.stderr.read()
    expect((started.wait(), said), (-signal.SIGPIPE, b""), "closed pipe")


if sys.argv[3:] == ["samtools"]:
    if shutil.which("samtools") is None:
        print("samtools is not installed: skipped")
        sys.exit(SKIPPED)
    main([test_samtools, test_samtools_standard_output, test_samtools_cram,
          test_samtools_long_cigars])
else:
    main([test_rules_and_orders, test_parts, test_headers, test_pipes, test_standard_output,
          test_compressed_sam, test_held, test_long_cigars, test_bam_bytes, test_refusals,
          test_memory, test_full_outputs, test_interrupted, test_closed_pipe])
