"""
What query, profile and filter print if a device answers: the same as the CPU, with every map.

    app_ask_device.py KCOUNT SOURCE
"""
import json
import os
import random

from lib.devices import devices
from lib.session import Session, expect
from lib.tools import Failure, bam_text, bgzf, fasta, fastq, gzip_members, main

MAPS = {"warpdrive": 64, "slab": 32, "linear": 32, "lsm": 64}


def letters(generator, n):
    return "".join(generator.choices("ACGT", k=n))


def spoiled(read, generator):
    """Other letters in some reads."""
    i = generator.randrange(2 * len(read))
    return read[:i] + "Nn"[i % 2] + read[i + 1:] if i < len(read) else read


def make_files(s):
    """A genome, which is counted later, and reads of it and of others: more k-mers than are looked
    up one by one."""
    generator = random.Random(34)
    genome = letters(generator, 6000)
    s.write("a.fa", f">a\n{genome}\n>b\n{genome[:3000]}\n>c\n{'A' * 400}\n")
    sources = (genome, genome, letters(generator, 6000), "A" * 6000)
    reads = []
    for i in range(200):
        start = generator.randrange(5800)
        read = generator.choice(sources)[start:start + generator.randrange(150)]
        reads.append(f">r{i}\n{spoiled(read, generator) if read else read}\n")
    s.write("reads.fa", "".join(reads) + f">long\n{genome * 6}\n>short\nACGT\n")


def test_maps():
    """The lines are those of the CPU."""
    s = Session()
    make_files(s)
    for k, strands in ((31, ()), (32, ("--stranded",)), (33, ()), (64, ("--stranded",))):
        s.kcount("count", "a.fa", "-k", k, "-o", "a.kc", "--force", "--device", "cpu", *strands)
        want = s.kcount("query", "a.kc", "-f", "reads.fa", "--device", "cpu")
        expect(want.count("\n") > 1 << 15, True, "more than a few k-mers")
        for name, most in MAPS.items():
            if k <= most:
                got = s.kcount("query", "a.kc", "-f", "reads.fa", "--device", "cuda", "--map", name,
                               "-t", 3)
                expect(got == want, True, f"the same with {name}, k = {k}")


def test_commands():
    """profile and filter, with several runs and files."""
    s = Session()
    make_files(s)
    s.kcount("count", "a.fa", "-k", 31, "-o", "a.kc", "--device", "cpu")
    s.kcount("add", "a.kc", "reads.fa", "--device", "cpu")
    for command in (("profile", "a.kc", "reads.fa", "a.fa"),
                    ("profile", "a.kc", "reads.fa", "--positions", "--format", "bedgraph"),
                    ("filter", "a.kc", "reads.fa", "--min", 3, "--at-least", "50%", "-o", "-"),
                    ("filter", "a.kc", "reads.fa", "--min", 3, "--trim", "-o", "-")):
        want = s.kcount(*command, "--device", "cpu")
        expect(want.count("\n") > 10, True, "lines are printed")
        for name in MAPS:
            got = s.kcount(*command, "--device", "cuda", "--map", name, "-t", 2)
            expect(got == want, True, f"the same with {name}")


def some_reads(generator, genome, n):
    """Reads of all lengths, also 0, with other letters and in lower case; A alone."""
    reads = []
    for _ in range(n):
        source = generator.choice((genome, genome, "A" * len(genome)))
        start = generator.randrange(len(genome) - 160)
        read = source[start:start + generator.randrange(160)]
        if read and generator.random() < 0.3:
            read = spoiled(read, generator)
        if generator.random() < 0.1:
            read = read.lower()
        reads.append((read.encode(), b"I" * len(read)))
    return reads


def total(s, names, threads, *engine):
    """The row of --total, and what --json says of it."""
    command = ("profile", "a.kc", *names, "--total", "-t", threads, *engine)
    row = s.kcount(*command)
    report = json.loads(s.kcount(*command, "--min", 3, "--max", 60000, "--json"))
    return row, report["reads"], report["total"], report["inputs"]


def check_total(s, what, names, *options):
    """With few threads, the device inflates and parses all that it can; with more, the host parses
    plain text."""
    want = total(s, names, 2, "--device", "cpu")
    for threads in (2, 5):
        expect(total(s, names, threads, "--device", "cuda", *options), want,
               f"{what}, {threads} threads")


def test_total():
    """The line for all input, for all kinds of it. Counts over 65,535, and several runs."""
    s = Session()
    generator = random.Random(35)
    genome = letters(generator, 6000)
    reads = some_reads(generator, genome, 700)  # more k-mers than are looked up one by one
    text, lines = fastq(reads), fasta(reads, 60)
    fit = {
        "x.fq": text,
        "crlf.fq": text.replace(b"\n", b"\r\n"),
        "x.fq.gz": bgzf(text, 9000),
        "x.fa": lines,
        "x.fa.gz": bgzf(lines, 5000),
        "long.fa": fasta([(genome.encode() * 30, b"")], 70),
        "none.fa": b">none\n",
        "x.bam": bgzf(bam_text(reads)),
    }
    others = {
        "many.fq.gz": gzip_members(text, 5000),
        "wrapped.fq": b"@a\nACGTACGTAC\nGTACGTACGT\n+\nIIIIIIIIII\nIIIIIIIIII\n@b\n\n+\n\n",
        "symbols.fa": b";comment\n>a b\nACGT-ACGT*AC.GT\n>c\n\nACGTACGTACGT AACCA\nGGA\n>d\n",
    }
    for name, content in {**fit, **others}.items():
        s.write(name, content)
    s.write("a.fa", f">a\n{genome}\n>b\n{genome[:3000]}\n>c\n{'A' * 70000}\n")
    for k, strands in ((3, ()), (31, ()), (64, ("--stranded",))):
        s.kcount("count", "a.fa", "-k", k, "-o", "a.kc", "--force", "--device", "cpu", *strands)
        if k == 31:
            s.kcount("add", "a.kc", "x.fa", "--device", "cpu")
        check_total(s, f"k = {k}, files that the device reads", list(fit))
    check_total(s, "all files", [*fit, *others])
    check_total(s, "files that the device gives up", ["x.fq", "wrapped.fq"])
    check_total(s, "no k-mers", ["none.fa"])


def test_total_counts():
    """The largest counts, and many that are large and differ."""
    s = Session()
    generator = random.Random(36)
    genome = letters(generator, 3000)
    kmers = {genome[i:i + 31]: count for i, count in
             enumerate([4294967295, 4294967294, 65535, 65536, 4095, 4096, 4097,
                        *generator.choices(range(1, 1 << 32), k=2900)])}
    s.write("a.txt", "".join(f"{kmer}\t{count}\n" for kmer, count in sorted(kmers.items())))
    s.write("reads.fa", fasta([(genome.encode(), b"")] * 12))
    s.kcount("import", "a.txt", "--stranded", "-o", "a.kc")
    for name in MAPS:
        check_total(s, name, ["reads.fa"], "--map", name)


def check_failure(s, *names):
    said = []
    for device in ("cpu", "cuda"):
        s.kcount("profile", "a.kc", *names, "--total", "--device", device, code=1)
        said.append(s.said.partition(" | kcount ")[0])
    if said[0] != said[1]:
        raise Failure(f"{names}: the device's message is {said[1]!r}, not {said[0]!r}")


def test_total_failures():
    """Files that cannot be read: the messages are those of the CPU."""
    s = Session()
    make_files(s)
    s.kcount("count", "a.fa", "-k", 31, "-o", "a.kc", "--device", "cpu")
    text = fastq(some_reads(random.Random(37), letters(random.Random(38), 3000), 999))
    s.write("x.fq", text)
    s.write("cut.fq", text[:-11])
    s.write("cut.fq.gz", bgzf(text, 5000)[:-100])
    s.write("empty.fa", "")
    s.write("list.txt", "x.fq\nmissing.fq\n")
    for names in (["cut.fq"], ["x.fq", "cut.fq.gz"], ["empty.fa"], ["@list.txt"]):
        check_failure(s, *names)


def test_spread():
    """The k-mers are spread over several devices."""
    s = Session()
    make_files(s)
    s.kcount("count", "a.fa", "-k", 33, "-o", "a.kc", "--device", "cpu")
    s.kcount("add", "a.kc", "reads.fa", "--device", "cpu")
    for n, command in ((2, ("query", "a.kc", "-f", "reads.fa")),
                       (3, ("profile", "a.kc", "reads.fa", "a.fa")),
                       (4, ("profile", "a.kc", "reads.fa", "a.fa", "--total")),
                       (2, ("filter", "a.kc", "reads.fa", "--min", 3, "-o", "-"))):
        want = s.kcount(*command, "--device", "cpu")
        got = s.kcount(*command, "--device", devices(n), "--spread", "-t", 3,
                       message=f"looked up on {devices(n)}, map warpdrive, spread\n")
        expect(got == want, True, f"the same from {n} devices")
    report = json.loads(s.kcount("profile", "a.kc", "reads.fa", "--device", devices(2), "--spread",
                                 "--json"))
    expect((report["device"], report["map"], report["loaded"]),
           (devices(2), "warpdrive", "spread"), "the report")


def test_limits():
    """A map that does not hold k is refused; without a map, the CPU takes over."""
    s = Session()
    make_files(s)
    for k in (33, 65):
        s.kcount("count", "a.fa", "-k", k, "-o", "a.kc", "--force", "--device", "cpu")
        for name, most in MAPS.items():
            if k > most:
                s.kcount("query", "a.kc", "-f", "reads.fa", "--map", name, code=2,
                         message=f"--map {name} supports k up to {most}, but the file has k = {k}")
    want = s.kcount("query", "a.kc", "-f", "reads.fa", "--device", "cpu")
    got = s.kcount("query", "a.kc", "-f", "reads.fa", "--device", "cuda",
                   message="CUDA devices answer for k up to 64: answering on the CPU\n")
    expect(got == want, True, "the same lines")


def test_several():
    """Each of several devices has a copy of the k-mers."""
    s = Session()
    make_files(s)
    s.kcount("count", "a.fa", "-k", 31, "-o", "a.kc", "--device", "cpu")
    for command in (("query", "a.kc", "-f", "reads.fa"), ("profile", "a.kc", "reads.fa"),
                    ("filter", "a.kc", "reads.fa", "--min", 3, "-o", "-")):
        want = s.kcount(*command, "--device", "cpu")
        for threads in (1, 2, 5):
            got = s.kcount(*command, "--device", devices(2), "-t", threads)
            expect(got == want, True, f"the same with two devices and {threads} threads")


DEVICE, CPU = "looked up on cuda:0, map warpdrive\n", "looked up on the CPU\n"


def test_auto():
    """How much comes from a pipe is unknown, so a device answers, if there is one. A small file is
    for the CPU. The last line says which of them has answered."""
    s = Session()
    make_files(s)
    s.kcount("count", "a.fa", "-k", 31, "-o", "a.kc", "--device", "cpu")
    reads = s.read("reads.fa")
    without = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "KC_EMULATOR_DEVICES": "0"}
    for command, where in ((("query", "a.kc", "-f"), "-"), (("profile", "a.kc"), "-"),
                           (("profile", "a.kc", "--total"), "-"),
                           (("query", "a.kc", "-f"), "reads.fa"),
                           (("profile", "a.kc", "--total"), "reads.fa")):
        want = s.kcount(*command, where, "--device", "cpu", text=reads)
        said = s.said
        expect("looked up" in said, False, "no other engine could have answered")
        for env in (os.environ, without):
            got = s.kcount(*command, where, text=reads, env=env)
            expect(got == want, True, f"the same with {command} {where}")
            line = DEVICE if where == "-" and env is os.environ else CPU
            expect(s.said, said + line, f"what is said with {command} {where}")


def test_reports():
    """Which engine has answered: the same line and fields from all three commands."""
    s = Session()
    make_files(s)
    s.write("few.fa", ">few\n" + s.read("a.fa").splitlines()[1][:100] + "\n")
    s.kcount("count", "a.fa", "-k", 31, "-o", "a.kc", "--device", "cpu")
    s.kcount("query", "a.kc", "ACGT" * 8, "--device", "cuda")
    expect(s.said, "", "arguments are always for the CPU")
    fields = {"device": "cuda:0", "map": "slab", "loaded": "whole"}
    for command in (("query", "a.kc", "-f"), ("profile", "a.kc"), ("profile", "a.kc", "--total"),
                    ("profile", "a.kc", "-o", "x", "--force"),
                    ("filter", "a.kc", "-o", "y", "--force")):
        s.kcount(*command, "reads.fa", "--map", "slab", message="looked up on cuda:0, map slab\n")
        s.kcount(*command, "few.fa", "--device", "cuda", message=CPU)
        s.kcount(*command, "reads.fa", "--device", "cuda", "--quiet")
        expect(s.said, "", f"{command} --quiet")
        if command[0] != "query":
            for name, wanted in (("reads.fa", fields), ("few.fa", {"device": "cpu"})):
                found = json.loads(s.kcount(*command, name, "--map", "slab", "--json"))
                expect({f: found[f] for f in fields if f in found}, wanted, f"{command} {name}")
    s.kcount("profile", "a.kc", "few.fa", "reads.fa", "--device", devices(2),
             message=f"looked up on {devices(2)}, map warpdrive\n")


def test_usage():
    """What cannot be, and a device that is not there."""
    s = Session()
    make_files(s)
    s.kcount("count", "a.fa", "-k", 31, "-o", "a.kc", "--device", "cpu")
    query = ("query", "a.kc", "-f", "reads.fa")
    s.kcount(*query, "--map", "lsm", "--device", "cpu", code=2, message="--map chooses a map in")
    s.kcount(*query, "--map", "glht", code=2,
             message="--map: 'glht' is not one of warpdrive, slab, linear or lsm")
    s.kcount(*query, "--device", "gpu", code=2, message="--device: 'gpu' is not one of")
    s.kcount(*query, "--spread", code=2, message="--spread needs several devices, such as")
    s.kcount(*query, "--spread", "--device", "cuda:0,1", "--map", "slab", code=2,
             message="--spread works with --map warpdrive, not with slab")
    for options in ["--device", "cuda:77"], ["--device", "cuda:0,77", "-t", 1]:
        s.kcount(*query, *options, code=1, message="there is no device cuda:77")


devices(1)
main([test_maps, test_commands, test_total, test_total_counts, test_total_failures, test_spread,
      test_several, test_limits, test_auto, test_reports, test_usage])
