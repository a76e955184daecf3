"""
kcount profile against plain Python (lib/profiles.py): random sequences and the real reads of data/,
in all formats; the same bytes for any threads and memory.

    app_profile.py KCOUNT SOURCE
"""
import gzip
import json
import random
import re
import shutil
import subprocess

from lib import model, profiles
from lib.session import SOURCE, Session, expect
from lib.tools import few, main, run, same_text, write_formats

RANDOM = random.Random(34)
# -t and -m: with several threads and little memory, sequences come in more and smaller pieces.
SETUPS = (("-t", 1), ("-t", 2, "-m", "256M"), ("-t", 5))


def random_text(n, letters="ACGT"):
    return "".join(RANDOM.choices(letters, k=n))


def spoilt(text, nerrors):
    """With some letters replaced, by N and others too."""
    letters = list(text)
    for _ in range(nerrors):
        letters[RANDOM.randrange(len(letters))] = RANDOM.choice("ACGTNNacgtnRY-UU")
    return "".join(letters)


GENOME = random_text(3000)
# Some k-mers have small counts, those of the end have large ones, also beyond small tables.
COUNTED = [GENOME, GENOME[500:], GENOME[1000:], GENOME[1000:1100] * 30, "ACGGT" * 5000, "A" * 9000]
ASKED = [("contig", spoilt(GENOME, 40)), ("reverse", model.canonical(GENOME, True)[::-1]),
         ("lower", GENOME[:700].lower()), ("rna", GENOME[:300].replace("T", "U")),
         ("short", "ACGT"), ("empty", ""), ("n", "N" * 50), ("exact", GENOME[:21]),
         ("repeats", "ACGGT" * 40),
         ("mixed", "ACGGT" * 9 + GENOME[:95]), ("a", "A" * 120), ("foreign", random_text(400)),
         ("long", spoilt((GENOME + "A" * 70 + "ACGGT" * 50) * 20, 300)),
         ("next", spoilt(GENOME * 20, 300)), ("last", GENOME[-40:])]


def fasta(asked, width=10 ** 9):
    return "".join(f">{name} of a test\n" + "".join(text[i:i + width] + "\n"
                                                    for i in range(0, len(text), width))
                   for name, text in asked)


def expected(asked, k, counts, stranded=False):
    return [(name, len(text), profiles.counts_along(text, k, counts, stranded))
            for name, text in asked]


def session(k=21, stranded=False):
    """A folder with reads.kc, what it holds, and what is expected of asked.fa."""
    s = Session()
    s.write("reads.fa", fasta([(str(i), text) for i, text in enumerate(COUNTED)]))
    s.write("asked.fa", fasta(ASKED, 61))
    s.kcount("reads.fa", "-k", k, *(["--stranded"] if stranded else []))
    counts = model.count([profiles.normal(text) for text in COUNTED], k, stranded)
    return s, counts, expected(ASKED, k, counts, stranded)


FORMS = [((), profiles.table), (("--total",), profiles.total),
         *((("--positions", "--format", name), text) for name, text in profiles.FORMATS.items())]
FEW_FORMS = FORMS[0], FORMS[2]


def check_all(s, wanted, *files, setups=SETUPS, forms=FORMS, **how):
    """The table, the total and all formats of positions."""
    for options, text in forms:
        lines = text(wanted)
        for setup in setups:
            same_text(s.kcount("profile", "reads.kc", *files, *options, *setup, **how), lines,
                      f"{' '.join(files)} {options} {setup}")


def test_random():
    s, _, wanted = session()
    check_all(s, wanted, "asked.fa")
    same_text(s.kcount("profile", "reads.kc", "asked.fa", "--positions"), profiles.tsv(wanted),
              "tsv by default")


def test_k_and_strands():
    for k, stranded in few(((1, False), (20, True), (32, False), (33, True), (70, False),
                            (255, False)), 2):
        s, _, wanted = session(k, stranded)
        check_all(s, wanted, "asked.fa", setups=(("-t", 2),))


def test_bounds():
    s, counts, wanted = session()
    for low, high in ((2, 2 ** 32 - 1), (1, 1), (3, 4999), (4096, 4999)):
        for form in (), ("--total",):
            text = profiles.total if form else profiles.table
            same_text(s.kcount("profile", "reads.kc", "asked.fa", *form, "--min", low, "--max",
                               high), text(wanted, low=low, high=high), f"{low} to {high}")
    for low, high in ((1, 2), (2, 3), (4, 5000)):
        same_text(s.kcount("profile", "reads.kc", "asked.fa", "--positions", "--format", "bed",
                           "--unique-min", low, "--unique-max", high),
                  profiles.bed(wanted, low, high), f"unique from {low} to {high}")


def test_inputs():
    """Several files, a list, a pipe; all kinds of files."""
    s, counts, wanted = session()
    again = [("b", GENOME[:90]), ("b", GENOME[50:200])]
    s.write("b.fa.gz", gzip.compress(fasta(again).encode()))
    both = wanted + expected(again, 21, counts)
    check_all(s, both, "asked.fa", "b.fa.gz", setups=(("-t", 2),))
    s.write("list", "asked.fa\n# the other\n\nb.fa.gz\n")
    check_all(s, both, "@list", setups=((),), forms=FEW_FORMS)
    check_all(s, both, "asked.fa", "-", setups=((),), forms=FEW_FORMS, text=fasta(again))
    reads = [(spoilt(GENOME[i:i + n], 3).encode(), b"I" * n)
             for i in range(0, 2500, 9) for n in (RANDOM.choice((10, 20, 21, 150)),)]
    of_reads = expected([(f"r{i}", bases.decode().replace("-", "N"))
                         for i, (bases, _) in enumerate(reads)], 21, counts)
    reads = [(bases.replace(b"-", b"N"), quality) for bases, quality in reads]
    for kind in write_formats(reads, s.path):
        if (s.path / kind).is_dir():
            check_all(s, of_reads, f"{kind}/reads", setups=(("-t", 2),), forms=FEW_FORMS)


def test_names():
    """Up to the first blank; control characters and what is not UTF-8 are shown, not obeyed."""
    s, counts, _ = session()
    headers = {b"plain more words": "plain", b"tab\tmore": "tab", b"": "*", b" blank": "*",
               "größe x".encode(): "größe", b"esc\x1b[2J": "esc\\x1b[2J",
               b"latin\xfc": "latin\\xfc",
               b"cut\xe2\x82 rest": "cut\\xe2\\x82", "\u202egnp".encode(): "\\u202egnp"}
    text = GENOME[:100]
    s.write("named.fa", b"".join(b">%s\n%s\n" % (h, text.encode()) for h in headers))
    check_all(s, expected([(name, text) for name in headers.values()], 21, counts), "named.fa",
              setups=(("-t", 2),))
    s.write("long.fa", ">" + "n" * 100000 + f" x\n{text}\n" + fasta(ASKED[:1]))
    check_all(s, expected([("n" * 100000, text), ASKED[0]], 21, counts), "long.fa",
              setups=(("-t", 2),))


def test_runs_and_filters():
    """A file of several runs; k-mers that a filter dropped are absent, with a warning."""
    s, counts, wanted = session()
    s.kcount("reads.fa", "-k", 21, "-o", "two.kc", "--min", 2)
    kept = {kmer: count for kmer, count in counts.items() if count >= 2}
    got = s.kcount("profile", "two.kc", "asked.fa",
                   message="warning: two.kc lacks k-mers that --min or --max dropped; they count "
                           "as absent\n")
    expect(s.said.count("warning"), 1, "warnings")
    same_text(got, profiles.table(expected(ASKED, 21, kept)), "filtered")
    s.kcount("add", "reads.kc", "reads.fa")
    s.kcount("remove", "reads.kc", GENOME[600:700])
    s.kcount("add", "reads.kc", "reads.fa")
    removed = model.count([GENOME[600:700]], 21, False)
    added = {kmer: count * (1 if kmer in removed else 3) for kmer, count in counts.items()}
    check_all(s, expected(ASKED, 21, added), "asked.fa", setups=(("-t", 2),))
    expect(re.sub("looked up on .*\n$", "", s.said), "", "messages")


def test_largest_counts():
    s = Session()
    kmers = [random_text(21) for _ in range(900)]
    counts = {model.canonical(kmer, False): 2 ** 32 - 1 - 7 * i * i for i, kmer in enumerate(kmers)}
    s.write("counts.tsv", "".join(f"{kmer}\t{count}\n" for kmer, count in counts.items()))
    s.kcount("import", "counts.tsv", "-o", "reads.kc", "--canonical")
    asked = [("all", "N".join(kmers)), ("one", kmers[0] + "N" + kmers[1])]
    s.write("asked.fa", fasta(asked))
    check_all(s, expected(asked, 21, counts), "asked.fa")


def test_json():
    s, _, wanted = session()
    table, total = profiles.as_json(profiles.table(wanted)), profiles.total(wanted)
    total = {name: value for name, value in profiles.as_json(total)[0].items() if name != "name"}
    found = json.loads(s.kcount("profile", "reads.kc", "asked.fa", "--json", "-t", 2))
    expect(found["sequences"], table, "sequences")
    for call in (), ("--total",), ("-o", "a.tsv"), ("-o", "b.tsv", "--total"), ("--positions", "-o",
                                                                                "c.tsv"):
        found = json.loads(s.kcount("profile", "reads.kc", "asked.fa", "--json", *call))
        expect(found["total"], total, f"total {call}")
        expect(found["reads"], len(ASKED), f"reads {call}")
        expect("sequences" in found, call == (), f"sequences {call}")
    same_text(s.read("a.tsv"), profiles.table(wanted), "-o")
    same_text(s.read("b.tsv"), profiles.total(wanted), "-o --total")
    same_text(s.read("c.tsv"), profiles.tsv(wanted), "-o --positions")
    s.write("none.fa", ">only a header\n")
    found = json.loads(s.kcount("profile", "reads.kc", "none.fa", "--json"))
    expect(found["sequences"], [{"name": "only", "length": 0, "windows": 0, "found": 0}],
           "a sequence without bases")


def test_output():
    s, _, wanted = session()
    call = ("profile", "reads.kc", "asked.fa", "-o", "out.tsv")
    expect(s.kcount(*call, message="wrote out.tsv, 15 sequences\n"), "", "standard output")
    same_text(s.read("out.tsv"), profiles.table(wanted), "-o")
    s.kcount(*call, code=1, message="out.tsv already exists")
    s.kcount(*call, "--force", "--quiet")
    expect(s.said, "", "messages with --quiet")
    (s.path / "folder").mkdir()
    s.kcount("profile", "reads.kc", "asked.fa", "-o", "folder", code=1,
             message="folder is a folder, not a file; name another file with -o")
    s.write("list", "asked.fa\n")
    for name, given in ("asked.fa", "asked.fa"), ("reads.kc", "asked.fa"), ("asked.fa", "@list"):
        s.kcount("profile", "reads.kc", given, "-o", name, "--force", code=2, message="is an input")
    with open("/dev/full", "wb") as full:
        s.kcount("profile", "reads.kc", "asked.fa", code=1, stdout=full, message="No space left")
    s.write("bad.fq", "@a\n" + GENOME[:100] + "\n+\n!\n")
    before = s.names()
    s.kcount("profile", "reads.kc", "asked.fa", "bad.fq", "-o", "x.tsv", code=1, message="bad.fq")
    expect(s.names(), before, "what a failure leaves behind")


def test_bad_inputs():
    """The same messages as count's."""
    s, _, _ = session()
    whole = gzip.compress(fasta(ASKED).encode())
    files = {"empty": b"", "cut.gz": whole[:-20], "text": b"hello world\n", "a.kc": b"KCOUNT",
             "cut.fq": b"@a\nACGT\n+\n", "crc.gz": whole[:-8] + bytes(8),
             "mixed.fa": b">a\nAC\n@b\nC\n"}
    for name, content in files.items():
        s.write(name, content)
    s.kcount("profile", "reads.kc", "ACGTACGT", code=1,
             message="for the counts of a sequence: kcount query reads.kc ACGTACGT\n")
    for name in [*files, "nowhere", "reads.kc", "."]:
        s.kcount("count", name, "-k", 21, "-o", "x.kc", code=None)
        wanted, code = s.said.partition(";")[0].rstrip("\n"), s.code
        expect(s.kcount("profile", "reads.kc", name, code=None), "", f"output for {name}")
        expect((s.said.partition(";")[0].rstrip("\n"), s.code != 0), (wanted, code != 0), name)
    s.write("list", "asked.fa\nempty\n")
    s.kcount("profile", "reads.kc", "@list", code=1, message="line 2 of the list list: empty ")


def real_reads(path):
    """[(name, text)] of FASTA, or of FASTQ with four lines a read."""
    lines = gzip.decompress(path.read_bytes()).decode().splitlines()
    if lines[0][0] == "@":
        return [(lines[i].split()[0][1:], lines[i + 1]) for i in range(0, len(lines), 4)]
    parts = gzip.decompress(path.read_bytes()).decode()[1:].split("\n>")
    return [(part.split()[0], "".join(part.splitlines()[1:])) for part in parts]


def test_real_reads():
    s = Session()
    for name, k in (("phage.fq.gz", 31), ("ont.fq.gz", 15), ("hairpin.fa.gz", 9),
                    ("worm.fa.gz", 12)):
        reads = [(name, text[:40000]) for name, text in real_reads(SOURCE / "data" / name)[:800]]
        s.write("reads.fa", fasta(reads, 70))
        s.write("part.fa", fasta(reads[:200], 70))
        s.kcount("reads.fa", "-k", k, "-o", "reads.kc", "--force", "--quiet")
        counts = model.count([profiles.normal(text) for _, text in reads], k, False)
        check_all(s, expected(reads[:200], k, counts), "part.fa", setups=(("-t", 2),),
                  forms=FEW_FORMS)


def test_alignments():
    """Reads of a BAM file as they were sequenced, without those that repeat others."""
    s = Session()
    path = SOURCE / "data/human.bam"
    s.kcount(path, "-k", 15, "-o", "reads.kc", "--quiet")
    if shutil.which("samtools") is None:
        return
    # samtools fastq leaves out secondary and supplementary alignments, and turns reads back
    text = subprocess.run(["samtools", "fastq", "-N", path], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, check=True).stdout
    (s.path / "reads.fq").write_bytes(text)
    got = s.kcount("profile", "reads.kc", path, "--positions").splitlines()
    wanted = s.kcount("profile", "reads.kc", "reads.fq", "--positions").splitlines()
    without_mate = [line.replace("/1\t", "\t").replace("/2\t", "\t") for line in wanted]
    expect(sorted(got), sorted(without_mate), "positions of a BAM file")


main([test_random, test_k_and_strands, test_bounds, test_inputs, test_names, test_runs_and_filters,
      test_largest_counts, test_json, test_output, test_bad_inputs, test_real_reads,
      test_alignments])
