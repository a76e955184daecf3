"""
What query, profile and filter print if a device answers: the same as the CPU, with every map.

    app_ask_device.py KCOUNT SOURCE
"""
import random
import sys

from lib.session import Session, expect
from lib.tools import SKIPPED, main

MAPS = {"warpdrive": 64, "slab": 32, "linear": 32, "lsm": 64}


def need_device():
    s = Session()
    s.kcount("info", "--devices", code=None)
    if s.code != 0:
        print("no device: skipped")
        sys.exit(SKIPPED)


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
    s.kcount(*query, "--device", "cuda:0,1", code=2, message="only counting can use more than one")
    s.kcount(*query, "--device", "cuda:77", code=1, message="there is no device cuda:77")


need_device()
main([test_maps, test_commands, test_limits, test_usage])
