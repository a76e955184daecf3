"""
kcount import: files of counts from other programs.

    import.py KCOUNT SOURCE
"""
import collections
import gzip
import json
import os
import random
import subprocess
import tarfile

from lib.session import KCOUNT, SOURCE, Session, expect
from lib.tools import Failure, main, same_text

COMPLEMENT = str.maketrans("ACGT", "TGCA")
KINDS = {"kmc": "a KMC database", "kmcsorted": "a KMC database", "kff": "a KFF file",
         "kfftools": "a KFF file", "jellyfish": "a Jellyfish file", "fastk": "a FastK table"}
ENDINGS = {"kmc": ".kmc_pre", "kmcsorted": ".kmc_suf", "kff": ".kff", "kfftools": ".kff",
           "jellyfish": ".jf", "fastk": ".ktab"}
LIMITS = {"clipped": 255, "recoded": 255, "presence": 1, "nodata": 1}
PEAK_KIB = 400 << 10  # far below what forged headers ask for; a part of it is the sanitizers'


def canonical(kmer):
    return min(kmer, kmer[::-1].translate(COMPLEMENT))


def lines(pairs, blank="\t"):
    return "".join(f"{kmer}{blank}{count}\n" for kmer, count in pairs.items())


def in_order(pairs):
    return lines(dict(sorted(pairs.items())))


def random_pairs(k, n, stranded):
    rng = random.Random(k)
    kmers = {"".join(rng.choices("ACGT", k=k)) for _ in range(n)}
    counts = 1, 2, 254, 255, 256, 70000, 2**32 - 1
    return {kmer if stranded else canonical(kmer): rng.choice(counts) for kmer in kmers}


def imported(s, source, *options):
    """Import a file; the dump of the .kc file, and the report."""
    report = json.loads(s.kcount("import", source, "-o", "x.kc", "--force", "--quiet", "--json",
                                 *options))
    expect("truncated" in s.said, False, f"a warning about {source}: {s.said}")
    return s.kcount("dump", "x.kc"), report


def check_import(s, source, pairs, what, *options):
    got, report = imported(s, source, *options)
    same_text(got, in_order(pairs), what)
    return report


def refused(s, source, message, *options, code=1, **how):
    s.kcount("import", source, "-o", "refused.kc", *options, code=code, message=message, **how)
    expect((s.path / "refused.kc").exists(), False, f"an output of {source}")


# ---- files of other programs ----

def unpacked():
    s = Session()
    with tarfile.open(SOURCE / "tests/foreign/files.tar.xz") as archive:
        archive.extractall(s.path)
    return s, sorted(path.stem for path in s.path.glob("*.dump"))


def check_foreign(s, name, number):
    kind, *words = name.split("-")
    turned, stranded = "turned" in words, "stranded" in words or kind == "kfftools"
    wanted = s.read(f"{name}.dump")
    options = ("--canonical",) if turned else ()
    got, report = imported(s, name + ENDINGS[kind], *options, "-t", 1 + number % 2)
    same_text(got, wanted, name)
    expect(report["format"], KINDS[kind], f"{name}: format")
    expect(report["stranded"], stranded and not turned, f"{name}: stranded")
    limit = 32767 if kind == "fastk" else next((LIMITS[w] for w in words if w in LIMITS), None)
    if limit is not None:
        expect(report["at_limit"], wanted.count(f"\t{limit}\n"), f"{name}: clipped counts")


def test_foreign_files():
    """k-mers, counts and strands are as the program itself prints them."""
    s, names = unpacked()
    expect(len(names), 96, "number of files")
    for number, name in enumerate(names):
        check_foreign(s, name, number)


def test_what_is_known():
    """info shows where the counts come from; a database can be named as its program names it."""
    s, names = unpacked()
    for name in "kmc-k31", "kff-k31-stranded", "jellyfish-k31", "fastk-k31":
        kind = name.split("-")[0]
        short = name if kind in ("kmc", "fastk") else name + ENDINGS[kind]
        s.kcount("import", short, "-o", f"{name}.kc")
        expect(f"\n{KINDS[kind]} does not record the numbers of reads and bases\n" in s.said, True,
               s.said)
        s.kcount("check", f"{name}.kc")
        info = s.kcount("info", f"{name}.kc")
        expect(f"imported from {KINDS[kind]}: {short}" in info, True, info)
    refused(s, "kmc-k31.kmc_pre", "their original strands are not known", "--stranded", code=2)


def test_count_names_the_format():
    s, names = unpacked()
    for file, what in (("kmc-k31.kmc_pre", "part of a KMC database"),
                       ("kmc-k31.kmc_suf", "part of a KMC database"), ("kff-k31.kff", "a KFF file"),
                       ("jellyfish-k31.jf", "a Jellyfish file"),
                       ("fastk-k31.ktab", "a FastK table")):
        s.kcount("count", file, "-k", 31, "-o", "y.kc", code=1,
                 message=f"{file} is {what}; convert it: kcount import {file.partition('.kmc')[0]} "
                         f"-o {file.rpartition('.')[0]}.kc")
        expect("y.kc" in s.names(), False, "an output")


def test_own_files():
    s = Session()
    (s.path / "a.fa").write_text(">r\nACGTACGTAC\n")
    s.kcount("count", "a.fa", "-k", 5, "-o", "a.kc")
    refused(s, "a.kc", "a.kc is a .kc file, which holds counts already; to print it: kcount "
            "dump a.kc")


def test_names():
    s, names = unpacked()
    for name in "kmc-k21", "fastk-k21":  # a folder of this name is not the database
        (s.path / name).mkdir()
        same_text(imported(s, name)[0], s.read(f"{name}.dump"), f"{name} beside a folder")
    for name, other, message in (("kff-k31.kff", "x.txt", ""), ("jellyfish-k31.jf", "kff", ""),
                                 ("kmc-k31.kmc_pre", "x", "its name ends neither with .kmc_pre"),
                                 ("fastk-k31.ktab", "x", "its name does not end with .ktab")):
        os.rename(s.path / name, s.path / other)
        if message:
            refused(s, other, message)
        else:
            imported(s, other)
    os.remove(s.path / "kmc-k21.kmc_suf")
    os.remove(s.path / ".fastk-k41.ktab.2")
    refused(s, "kmc-k21.kmc_pre", "cannot open kmc-k21.kmc_suf")
    refused(s, "fastk-k41.ktab", "cannot open .fastk-k41.ktab.2")
    with open(s.path / "kff-k41.kff", "rb") as file:
        s.kcount("import", "-", "-o", "in.kc", stdin=file)
    same_text(s.kcount("dump", "in.kc"), s.read("kff-k41.dump"), "standard input")


def test_pipes_and_compression():
    """Only text can come like this; the advice is not to do what the user is doing."""
    s, names = unpacked()
    advice = "; import it from an uncompressed file, not from a pipe"
    for name, what in (("kff-k41.kff", "a KFF file"), ("jellyfish-k31.jf", "a Jellyfish file"),
                       ("kmc-k31.kmc_pre", "part of a KMC database"),
                       ("kmc-k31.kmc_suf", "part of a KMC database"),
                       ("fastk-k31.ktab", "a FastK table")):
        content = (s.path / name).read_bytes()
        with subprocess.Popen(["cat", s.path / name], stdout=subprocess.PIPE) as pipe:
            refused(s, "-", f"standard input is {what}{advice}", stdin=pipe.stdout)
        os.mkfifo(s.path / "fifo")
        with subprocess.Popen(["sh", "-c", f"cat {name} > fifo"], cwd=s.path):
            refused(s, "fifo", f"fifo is {what}{advice}")
        os.remove(s.path / "fifo")
        s.write("packed.gz", gzip.compress(content))
        refused(s, "packed.gz", f"packed.gz is, once decompressed, {what}{advice}")
    os.mkfifo(s.path / "fifo")
    with subprocess.Popen(["sh", "-c", "cat kff-k41.dump > fifo"], cwd=s.path):
        check_import(s, "fifo", dict(line.split() for line in s.read("kff-k41.dump").splitlines()),
                     "text from a named pipe")


def test_own_exports():
    for k, stranded, n in (1, False, 4), (31, True, 500), (255, False, 100), (32, True, 0):
        s = Session()
        kmers = random_pairs(k, n, stranded)
        s.write("in.txt", lines(kmers) or "A" * k + " 0\n")
        options = ("--stranded",) if stranded else ()
        s.kcount("import", "in.txt", "-o", "a.kc", *options)
        for to, name in ("kff", "a.kff"), ("kmc", "a"), ("jellyfish", "a.jf"), ("fastk", "b"):
            if stranded and to == "fastk":
                continue
            s.kcount("export", "a.kc", "--to", to, "-o", name)
            limit = 32767 if to == "fastk" else 2**32
            wanted = {kmer: min(count, limit) for kmer, count in kmers.items()}
            report = check_import(s, name, wanted, f"{to}, k {k}")
            expect(report["stranded"], stranded, f"{to}, k {k}: stranded")


# ---- Jellyfish files that lack their end ----

def after_header(content):
    """Where the records begin."""
    return 9 + int(content[:9])


def cut_files(content, record):
    """The file without some of its last records, as a full disk leaves it: whole records only."""
    begin = after_header(content)
    n = (len(content) - begin) // record
    for kept in n // 40, n // 3, n // 2, n - n // 10:
        yield kept, content[:begin + kept * record]


def test_cut_jellyfish():
    """Jellyfish does not record how many records there are, but in which order they are."""
    s, names = unpacked()
    for name, record in (("k15", 8), ("k31", 12), ("k31-stranded", 11), ("k101", 30),
                         ("k101-stranded", 29), ("clipped", 9)):
        for kept, content in cut_files((s.path / f"jellyfish-{name}.jf").read_bytes(), record):
            s.write("cut.jf", content)
            s.kcount("import", "cut.jf", "-o", "cut.kc", "--force", "--quiet",
                     message=f"warning: cut.jf is probably truncated: its {kept} records end at ")
    content = (s.path / "jellyfish-text.jf").read_bytes()
    ends = [at for at in range(after_header(content), len(content)) if content[at] == 10]
    for kept in 10, len(ends) // 2, len(ends) - 40:
        s.write("cut.jf", content[:ends[kept - 1] + 1])
        s.kcount("import", "cut.jf", "-o", "cut.kc", "--force", "--quiet",
                 message=f"warning: cut.jf is probably truncated: its {kept} records end at ")
    s.write("cut.jf", content[:ends[-1]])
    s.kcount("import", "cut.jf", "-o", "cut.kc", "--force", "--quiet",
             message="warning: cut.jf may be truncated: its last line has no line end")
    content = (s.path / "jellyfish-k31.jf").read_bytes()
    s.write("cut.jf", content[:after_header(content)])
    s.kcount("import", "cut.jf", "-o", "cut.kc", "--force", "--quiet",
             message="warning: cut.jf may be truncated: it ends after its header")
    expect("warning: no k-mer was kept: cut.jf holds none" in s.said, True, s.said)


def test_cut_export():
    """kcount's own Jellyfish files state how many records they have."""
    s = Session()
    for k, stranded in (5, False), (31, True), (65, False):
        s.write("in.txt", lines(random_pairs(k, 300, stranded)))
        s.kcount("import", "in.txt", "-o", "a.kc", "--force", "--stranded")
        s.kcount("export", "a.kc", "--to", "jellyfish", "-o", "a.jf", "--min", 2, "--force")
        content, record = (s.path / "a.jf").read_bytes(), (k + 3) // 4 + 4
        n = (len(content) - after_header(content)) // record
        imported(s, "a.jf")
        for kept in 0, 1, n // 2, n - 1:
            s.write("b.jf", content[:after_header(content) + kept * record])
            refused(s, "b.jf", f"b.jf is truncated or damaged: its header states {n} records, but "
                    f"it holds {kept}")
        s.write("b.jf", content + content[-record:])
        refused(s, "b.jf", f"its header states {n} records, but it holds {n + 1}")


def test_fastk_parts():
    """Parts of many sizes, an empty one among them: a batch begins in one part and ends in
    another."""
    s = Session()
    pairs = {kmer: min(count, 32767) for kmer, count in random_pairs(21, 9000, False).items()}
    s.write("in.txt", lines(pairs))
    s.kcount("import", "in.txt", "-o", "a.kc")
    s.kcount("export", "a.kc", "--to", "fastk", "-o", "x")
    part = (s.path / ".x.ktab.1").read_bytes()
    stub = (s.path / "x.ktab").read_bytes()
    size, records = (len(part) - 12) // len(pairs), part[12:]
    ends = 0, 5000, 5000, 8999, len(pairs)
    for number, (begin, end) in enumerate(zip(ends, ends[1:]), 1):
        s.write(f".x.ktab.{number}", part[:4] + (end - begin).to_bytes(8, "little")
                + records[begin * size:end * size])
    s.write("x.ktab", stub[:4] + (len(ends) - 1).to_bytes(4, "little") + stub[8:])
    for threads in 1, 3:
        check_import(s, "x", pairs, "parts", "-t", threads)


# ---- KFF files that none of these programs writes ----

def number(value, nbytes=8):
    return value.to_bytes(nbytes, "big")


def packed(bases, encoding):
    code = {base: encoding >> 6 - 2 * i & 3 for i, base in enumerate("ACGT")}
    value = 0
    for base in bases:
        value = value << 2 | code[base]
    return number(value, (len(bases) + 3) // 4)


def field(value, largest):
    """A value in ceil(log2(largest)) bits, rounded up to whole bytes."""
    return number(value, ((largest - 1).bit_length() + 7) // 8) if largest > 1 else b""


def values(**given):
    return b"v" + number(len(given)) + b"".join(
        name.encode() + b"\0" + number(value) for name, value in given.items())


def counts_of(counts, nbytes):
    return b"".join(number(count, nbytes) for count in counts)


def raw(blocks, largest, nbytes, encoding):
    return b"r" + number(len(blocks)) + b"".join(
        field(len(counts), largest) + packed(bases, encoding) + counts_of(counts, nbytes)
        for bases, counts in blocks)


def minimizers(k, place, m, bases, counts, largest, nbytes, encoding):
    rest = bases[:place] + bases[place + m:]
    return b"m" + packed(bases[place:place + m], encoding) + number(1) \
        + field(len(counts), largest) + field(place, k + largest - 1) + packed(rest, encoding) \
        + counts_of(counts, nbytes)


def kff(*sections, encoding=0x1b, unique=0, one_strand=0, free=b""):
    return b"KFF\1\0" + bytes((encoding, unique, one_strand)) + number(len(free), 4) + free \
        + b"".join(sections) + b"KFF"


def test_kff_blocks():
    """Blocks of all sizes, even larger than a batch, in any encoding, under changing values."""
    s = Session()
    rng = random.Random(2)
    for k, encoding, nbytes in ((21, 0x1b, 2), (32, 0x4e, 1), (65, 0xe4, 8), (3, 0x2d, 4),
                                (255, 0x1e, 3)):
        pairs = collections.Counter()
        sections = [values(other=7), b"i" + number(2) + bytes(18) + number(0)]
        for n, largest in (1, 1), (3, 200), (20000, 65535), (5000, 2**40):
            bases = "".join(rng.choices("ACGT", k=n + k - 1))
            counts = [rng.randrange(1, min(256**nbytes, 10**6)) for _ in range(n)]
            m = rng.randrange(1, k + 1)
            place = rng.choice((0, n + k - 1 - m, rng.randrange(0, n + k - m)))
            if n == 5000:  # the first slice ends within the minimizer
                place = 4096 + k - 1 - m // 2
            sections += [values(k=k, m=m, max=largest, data_size=nbytes, ordered=1),
                         raw([(bases, counts)] * 2, largest, nbytes, encoding),
                         minimizers(k, place, m, bases, counts, largest, nbytes, encoding)]
            for i, count in enumerate(counts):
                pairs[bases[i:i + k]] += 3 * count
        s.write("x.kff", kff(*sections, encoding=encoding, free=b"some text"))
        for threads in 1, 3:
            check_import(s, "x.kff", pairs, f"k {k}, {threads} threads", "-t", threads)


def test_kff_damage():
    s = Session()
    good = dict(k=5, max=1, data_size=1)
    block = raw([("ACGTC", [3])], 1, 1, 0x1b)
    for content, message in (
            (kff(values(**good), b"x" + bytes(20)), "at byte 61, a section has an unknown type"),
            (kff(values(**good), b"h" + bytes(20)), "a section has an unknown type"),
            (kff(values(k=5, max=1), block), 'needs the value "data_size", which is missing'),
            (kff(block), 'needs the value "k", which is missing'),
            (kff(values(**good), values(max=1), block), 'needs the value "k"'),
            (kff(values(k=5, max=1, data_size=9), block), "holds 9 bytes of data for each k-mer"),
            (kff(values(k=300, max=1, data_size=1), block), "k-mers of length 300"),
            (kff(values(k=5, max=2**60, data_size=1), block), 'the value "max" is out of range'),
            (kff(values(k=5, max=1, data_size=1, m=6), b"m" + bytes(30)), '"m" is out of range'),
            (kff(values(k=1, m=1, max=1, data_size=0), b"m\0" + b"\xff" * 8), "blocks of 0 bytes"),
            (kff(values(**good), b"r" + b"\xff" * 8), "it ends within the section at byte"),
            (kff(values(**good), block, values(k=6, max=1, data_size=1), block),
             "different lengths: 5 bases, and 6 bases in the section at byte"),
            (kff(values(k=5, max=9, data_size=1), raw([("ACGTC", [])], 9, 1, 0x1b), values()),
             "invalid number of k-mers"),
            (kff(values(k=5, max=2**50, data_size=1),
                 b"r" + number(1) + number(2**49, 7) + bytes(99)),
             "it ends within the section at byte"),
            (kff(values(k=5, m=2, max=9, data_size=1), b"m\0" + number(1) + b"\1\5" + bytes(9)),
             "a minimizer is outside its block"),
            (kff(values(**good), block, encoding=0x1a), "gives two bases the same code"),
            (kff(values(**good), block, one_strand=2), "a flag is neither 0 nor 1"),
            (kff(values(**good), block, block, unique=1), "should hold each k-mer once"),
            (kff(b"v" + number(1) + b"n" * 400), "the name of a value is too long"),
            (kff(b"v" + b"\xff" * 8), "it ends within the section"),
            (kff(b"i" + b"\xff" * 8), "it ends within the section"),
            (kff(), "holds no k-mers, so their length is not known"),
            (kff()[:-1] + b"?", "it does not end with KFF"),
            (b"KFF\2\0" + kff()[5:], "a KFF file of version 2.0; kcount reads version 1")):
        s.write("x.kff", content)
        refused(s, "x.kff", message)
        expect("x.kff" in s.said, True, s.said)
    s.write("x.kff", kff(values(**good), block, block[:-1] + b"\0", one_strand=1))
    check_import(s, "x.kff", {"ACGTC": 3}, "equal k-mers, one with count 0")
    s.write("x.kff", kff(values(**good), raw([("GACGT", [3])], 1, 1, 0x1b), one_strand=1, unique=1))
    check_import(s, "x.kff", {"ACGTC": 3}, "the other form")
    s.write("x.kff", kff(values(**good)))
    check_import(s, "x.kff", {}, "no k-mers")


def test_forged_sizes():
    """Headers that declare huge sizes are refused before they cost memory."""
    s = Session()
    huge = 2**31 - 1
    stub = b"".join(n.to_bytes(4, "little") for n in (21, huge, 1, 3))
    with open(s.path / "x.ktab", "wb") as file:
        file.write(stub)
        file.truncate(16 + (8 << 24))
    s.write(".x.ktab.1", (21).to_bytes(4, "little") + bytes(8))
    s.write("x.jf", b'999999999{"format":"binary/sorted"}')
    s.write("x.kff", kff(values(k=5, max=2**56, data_size=8), b"r" + number(2**40) + bytes(99)))
    for name in "x.ktab", "x.jf", "x.kff":
        process = s.start("import", name, "-o", "refused.kc", "-m", "256M",
                          stdout=subprocess.DEVNULL)
        said = process.stderr.read().decode()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.WEXITSTATUS(status)  # wait4 has taken it from Popen
        process.stderr.close()
        expect(process.returncode, 1, f"{name}: exit code: {said}")
        if usage.ru_maxrss > PEAK_KIB:
            raise Failure(f"{name}: {usage.ru_maxrss} KiB")


# ---- text ----

def test_text_forms():
    s = Session()
    for k in 1, 3, 15, 32, 33, 101, 255:
        for stranded in False, True:
            pairs = random_pairs(k, 300, stranded)
            s.write("counts.txt", lines(pairs))
            report = check_import(s, "counts.txt", pairs, f"k {k}, stranded {stranded}",
                                  "-m", "256M")
            expect(report["stranded"], any(kmer != canonical(kmer) for kmer in pairs), f"k {k}")
    pairs = random_pairs(31, 3000, False)
    text = lines(pairs)
    for whole in text, f">1\n{'A' * 31}\n":
        s.write("counts.txt", whole[:-1])
        s.kcount("import", "counts.txt", "-o", "x.kc", "--force", "--quiet",
                 message="warning: counts.txt may be truncated: its last line has no line end")
    fasta = "".join(f">{count}\n{kmer}\n" for kmer, count in pairs.items())
    for form in (lines(pairs, " "), text.replace("\n", " \r\n"), fasta, fasta.replace("\n", "\r\n"),
                 gzip.compress(text.encode()), text.lower().replace("t", "u"), "\n" + text,
                 "\n" + fasta, " \n\t\r\n" + fasta, fasta.replace("\n>", "\n\n\n>")):
        s.write("counts.txt", form)
        check_import(s, "counts.txt", pairs, f"a form of text: {form[:40]}")
    s.kcount("import", "-", "-o", "pipe.kc", text=text)
    same_text(s.kcount("dump", "pipe.kc"), in_order(pairs), "a pipe")


def test_text_strands_and_counts():
    s = Session()
    s.write("a.txt", "ACG 3\nCGT 4\nAAA 1\n")
    check_import(s, "a.txt", {"AAA": 1, "ACG": 7}, "--canonical", "--canonical")
    check_import(s, "a.txt", {"AAA": 1, "ACG": 3, "CGT": 4}, "no option")
    refused(s, "a.txt", "cannot be used together", "--canonical", "--stranded", code=2)
    s.write("a.txt", "ACG 3\nAAA 1\n")
    expect(imported(s, "a.txt", "--stranded")[1]["stranded"], True, "--stranded")
    s.write("a.txt", f"AAA {2**32 - 1}\nAAC {2**32}\nAAA 1\nACC 0\nACG {10**30}\n")
    highest = {kmer: 2**32 - 1 for kmer in ("AAA", "AAC", "ACG")}
    report = check_import(s, "a.txt", highest, "saturation")
    expect(report["zero_counts"], 1, "k-mers with count 0")
    s.kcount("check", "x.kc")
    s.write("a.txt", "AAA 2\nAAC 5\nAAA 2\nACC 9\n")
    report = check_import(s, "a.txt", {"AAA": 4, "AAC": 5}, "filter", "--min", "4", "--max", "5")
    expect((report["repeated_kmers"], report["dropped_distinct"]), (1, 1), "repeated, dropped")


def test_nothing_kept():
    """An output without k-mers: import says so, and why."""
    s = Session()
    for text, options, why in (
            ("ACG 0\nACT 0\n", (), "all counts in a.txt are 0"),
            ("ACG 1\nACT 2\n", ("--min", 3), "the counts of all 3-mers are outside the bounds"),
            ("ACG 9\nACT 8\n", ("--max", 7), "the counts of all 3-mers are outside the bounds")):
        s.write("a.txt", text)
        s.kcount("import", "a.txt", "-o", "x.kc", "--force", "--quiet", *options,
                 message=f"kcount: warning: no k-mer was kept: {why}\n")
        expect(s.kcount("dump", "x.kc"), "", "a dump of nothing")
    s.kcount("a.fq", "-k", 3, "--min", 100,
             message="warning: no k-mer was kept: the counts of all 3-mers are outside the bounds")
    s.write("x.kff", kff(values(k=5, max=1, data_size=1)))
    s.kcount("import", "x.kff", "-o", "x.kc", "--force", message="kept: x.kff holds none")


def test_text_damage():
    s = Session()
    for content, message in (("", "no k-mers"), ("\n\n", "no k-mers"),
                             ("ACG 1\nACGT 2\n", "line 2: there should be 3 bases and a count"),
                             ("ACG\n", "line 1"), ("ACG 1\nACN 2\n", "line 2"),
                             ("ACG -1\n", "line 1"),
                             ("ACG 1 1\n", "line 1"), (">5\nACG\n>6\n", "line 3"),
                             ("A" * 256 + " 1\n", "k-mers of length 256"), ("hello 5\n", "line 1"),
                             ("ACG 1\n" + " " * 70000 + "\n", "too long"), ("ACG 1\nAC", "line 2"),
                             ("ACG 1\nACT ", "line 2"), ("ACG 1\nACT", "line 2")):
        s.write("damaged.txt", content)
        refused(s, "damaged.txt", message)
        expect("damaged.txt" in s.said, True, s.said)


def test_many_and_repeated():
    """More pairs than a thread's buffers hold, each k-mer several times, in random order."""
    s = Session()
    pairs = random_pairs(31, 40000, False)
    rows = lines(pairs, " ").splitlines(True) * 3
    random.Random(5).shuffle(rows)
    s.write("many.txt", "".join(rows))
    wanted = {kmer: min(3 * count, 2**32 - 1) for kmer, count in pairs.items()}
    for threads in 1, 3:
        check_import(s, "many.txt", wanted, "repeated", "-t", threads)
        s.kcount("check", "x.kc")


main([test_foreign_files, test_what_is_known, test_count_names_the_format, test_own_files,
      test_names, test_pipes_and_compression, test_own_exports, test_cut_jellyfish,
      test_cut_export, test_fastk_parts, test_kff_blocks, test_kff_damage,
      test_forged_sizes, test_text_forms, test_text_strands_and_counts, test_nothing_kept,
      test_text_damage, test_many_and_repeated])
