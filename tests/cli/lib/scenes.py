"""Input files for commands, the same in every run."""
import random

# One thread and no search for a device, which runs beside the first reads: the calls on files are
# then the same in every run.
QUIET = ("-t", 1, "--device", "cpu", "--quiet")


def reads(s):
    rng = random.Random(5)
    for name, n in (("a", 9000), ("b", 7000), ("c", 2500)):
        s.write(name + ".fa", ">x\n" + "".join(rng.choices("ACGT", k=n)) + "\n")
    s.write("list.txt", "b.fa\nc.fa\n")


def one_run(s):
    reads(s)
    s.kcount("a.fa", "-k", 21, "-o", "db.kc")


def three_runs(s):
    one_run(s)
    s.kcount("add", "db.kc", "b.fa")
    s.kcount("add", "db.kc", "c.fa")


def aligned(s):
    """Alignments of two names, which have to be read twice."""
    three_runs(s)
    bases = "".join(s.read("c.fa").split("\n")[1:])[:60]
    s.write("a.sam", "".join(f"{name}\t4\t*\t0\t0\t*\t*\t0\t0\t{bases[at:at + 30]}\t*\n"
                             for at, name in ((0, "r"), (5, "q"), (9, "r"))))


def two_files(s):
    three_runs(s)
    s.kcount("b.fa", "c.fa", "-k", 21, "-o", "other.kc")


def dumped(s):
    one_run(s)
    s.write("db.txt", "an older dump\n" * 1000)
