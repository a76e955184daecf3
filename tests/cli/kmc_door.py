"""
kcount-kmc: kmc's command line, output files, report and exit codes.

    kmc_door.py KCOUNT SOURCE [kmc]

With the last argument, outputs and reports are compared with those of kmc itself.
"""
import gzip
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile

from lib.tools import SKIPPED, Failure, bam_text, bgzf, fasta, fastq, main, run, same_text

KCOUNT, SOURCE = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
VG = ("-k29", "-m128", "-okff", "-t16", "-hp")  # vg's documentation, and pipelines around it


def make_reads():
    """Reads of a genome with a repeat, so that some counts exceed 255; some reads contain N."""
    choose = random.Random(29)
    genome = bytes(choose.choice(b"ACGT") for _ in range(6000)) + b"ACGATTAC" * 80
    reads = []
    for i in range(1500):
        at = choose.randrange(len(genome) - 150)
        bases = genome[at:at + 150]
        if i % 9 == 0:
            bases = bases[:70] + b"N" + bases[71:]
        reads.append((bases, b"I" * len(bases)))
    return reads


class Folder:
    """A folder with the reads in several formats, and links to the program named kcount-kmc and
    kmc."""

    def __init__(self, folder):
        self.path = pathlib.Path(folder)
        reads = make_reads()
        (self.path / "a.fq").write_bytes(fastq(reads))
        (self.path / "a.fa").write_bytes(fasta(reads))
        (self.path / "wrapped.fa").write_bytes(fasta(reads, 61))
        (self.path / "a.fq.gz").write_bytes(gzip.compress(fastq(reads)))
        (self.path / "b.fq").write_bytes(fastq(reads[:400]))
        (self.path / "list").write_text("a.fq.gz\nb.fq\n")
        (self.path / "a.bam").write_bytes(bgzf(bam_text(reads)))
        (self.path / "tmp").mkdir()
        (self.path / "bin").mkdir()
        for link in ("kcount-kmc", "bin/kmc"):
            os.symlink(KCOUNT, self.path / link)

    def call(self, *arguments, program="./kcount-kmc", code=0, message="", **options):
        """Run kcount-kmc and return its standard output. Standard error must contain message, or be
        empty."""
        done = subprocess.run([program, *map(str, arguments)], cwd=self.path,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
        if done.returncode != code or message not in done.stderr or (not message and done.stderr):
            raise Failure(f"{arguments}: exit {done.returncode}, wanted {code}; {done.stderr!r}, "
                          f"wanted {message!r}")
        return done.stdout

    def kcount(self, *arguments):
        return run(KCOUNT, *arguments, cwd=self.path)

    def counts(self, name):
        """The dump of an output of kcount-kmc."""
        self.kcount("import", name, "-o", "imported.kc", "--force", "--quiet")
        return self.kcount("dump", "imported.kc")

    def names(self):
        return sorted(path.name for path in self.path.iterdir()) + os.listdir(self.path / "tmp")


def in_folder(test):
    def wrapped():
        with tempfile.TemporaryDirectory() as folder:
            test(Folder(folder))
    return wrapped


def capped(dump, cap):
    pairs = (line.split(b"\t") for line in dump.splitlines())
    return b"".join(b"%s\t%d\n" % (kmer, min(int(count), cap)) for kmer, count in pairs)


@in_folder
def test_outputs(f):
    """The k-mers are those of kcount with the same bounds; counts are capped after the filter."""
    for options, ours, cap in (((), ("-k25", "--min=2"), 255),
                               (("-k21", "-ci3", "-cs6", "-cx300"),
                                ("-k21", "--min=3", "--max=300"), 6),
                               (("-k64", "-ci0", "-b"), ("-k64", "--stranded"), 255),
                               (("-k5", "-ci300", "-cs7"), ("-k5", "--min=300"), 7),
                               (("-k9", "-cs99999999999"), ("-k9", "--min=2"), 2**32)):
        f.kcount("a.fq", *ours, "-o", "ours.kc", "--force", "--quiet")
        wanted = capped(f.kcount("dump", "ours.kc"), cap)
        if not wanted:
            raise Failure(f"{ours}: nothing to compare")
        for form, ending in (("kmc", ".kmc_pre"), ("kff", ".kff")):
            f.call(*options, f"-o{form}", "-m2", "-t2", "a.fq", "out", "tmp")
            same_text(f.counts(f"out{ending}"), wanted, f"{options} -o{form}")


@in_folder
def test_cap_of_zero(f):
    """As in kmc, all counts are then written as 0; import leaves such k-mers out."""
    f.kcount("a.fq", "-k", 21, "--min", 2, "-o", "ours.kc", "--quiet")
    distinct = json.loads(f.kcount("info", "ours.kc", "--json"))["distinct"]
    for form, ending in (("kmc", ".kmc_pre"), ("kff", ".kff")):
        f.call("-k21", "-k21", "-cs0", f"-o{form}", "a.fq", "out", "tmp")
        report = f.kcount("import", f"out{ending}", "-o", "i.kc", "--force", "--quiet", "--json")
        got = json.loads(report)["zero_counts"]
        if got != distinct:
            raise Failure(f"-cs0 -o{form}: {got} k-mers with a count of 0, not {distinct}")


@in_folder
def test_inputs(f):
    """The content decides, whatever format is declared; a list names several files."""
    f.kcount("a.fq", "-k", 25, "--min", 2, "-o", "ours.kc", "--quiet")
    wanted = capped(f.kcount("dump", "ours.kc"), 255)
    for arguments in (("-fq", "a.fq.gz"), ("-fa", "a.fa"), ("-fm", "wrapped.fa"),
                      ("-fbam", "a.bam"), ("a.fa",), ("-fa", "/dev/stdin")):
        with open(f.path / "a.fa") as stdin:
            f.call(*arguments, "out", "tmp", stdin=stdin)
        same_text(f.counts("out.kmc_pre"), wanted, str(arguments))
    f.call("@list", "out", "tmp")
    f.kcount("a.fq", "b.fq", "-k", 25, "--min", 2, "-o", "both.kc", "--quiet")
    same_text(f.counts("out.kmc_pre"), capped(f.kcount("dump", "both.kc"), 255), "@list")


@in_folder
def test_vg(f):
    """vg's command line, with a link named kmc on PATH; nothing is left in the working
    directory."""
    path = f"{f.path}/bin:{os.environ['PATH']}"
    text = f.call(*VG, "a.fq", "sample", "tmp", program="kmc", env={**os.environ, "PATH": path})
    if not text.startswith("1st stage: ") or len(text.splitlines()) != 13:
        raise Failure(f"standard output is {text!r}")
    f.kcount("a.fq", "-k", 29, "--min", 2, "-o", "ours.kc", "--quiet")
    same_text(f.counts("sample.kff"), capped(f.kcount("dump", "ours.kc"), 255), "vg")
    if os.listdir(f.path / "tmp"):
        raise Failure(f"left behind: {os.listdir(f.path / 'tmp')}")


@in_folder
def test_tuning(f):
    """Options that only tune kmc do not change the output; with -w there is none."""
    f.call("-fm", "a.fa", "plain", "tmp")
    before = f.names()
    f.call("-w", "-jsummary.json", "a.fq", "none", "tmp")
    if f.names() != sorted([*before, "summary.json"]):
        raise Failure(f"-w wrote {set(f.names()) - set(before)}")
    f.call("-sm", "-r", "-v", "-hp", "-p7", "-n64", "-sf1", "-sp1", "-sr1", "--opt-out-size", "-t3",
           "-fa", "a.fq", "tuned", "tmp")
    for ending in (".kmc_pre", ".kmc_suf"):
        if (f.path / f"plain{ending}").read_bytes() != (f.path / f"tuned{ending}").read_bytes():
            raise Failure(f"tuning changed {ending}")


@in_folder
def test_refusals(f):
    before = f.names()
    names = ("a.fq", "out", "tmp")
    for arguments, message in ((("-e", *names), "-e is not supported"),
                               (("-hc", *names), "-hc is not supported"),
                               (("-fkmc", *names), "-fkmc is not supported"),
                               (("-fx", *names), "'-fx': expected -f<a/q/m/bam>"),
                               (("-ovcf", *names), "'-ovcf': expected -o"),
                               (("-okmc kff", *names), "'-okmc kff': expected -o"),
                               (("--foo", *names), "'--foo' is not an option"),
                               (("-z5", *names), "'-z5' is not an option"),
                               (("-k256", *names), "-k: '256' is not"),
                               (("-k", "29", *names), "-k: '' is not"),
                               (("-cx1e9", *names), "-cx: '1e9' is not"),
                               (("-k21", "-k31", *names), "-k21 and -k31 exclude each other"),
                               (("-m0", *names), "-m: '0' is not"),
                               (("-j", *names), "'-j': expected -j"),
                               ((*names, "-k31"), "unexpected '-k31' after"),
                               (("a.fq", "out"), "are needed"),
                               (("missing", "out", "tmp"), "cannot open missing"),
                               (("a.fq", "out", "nowhere"),
                                "kcount-kmc: there is no folder nowhere\n"),
                               (("a.fq", "nowhere/out", "tmp"), "nowhere/out"),
                               (("-jnowhere/j", *names), "nowhere/j")):
        text = f.call(*arguments, code=1, message=message)
        if text or f.names() != before:
            raise Failure(f"{arguments}: printed {text!r}, left {set(f.names()) - set(before)}")


@in_folder
def test_own_meanings(f):
    """Options mean what they mean to kmc, and no name of kcount's own is accepted."""
    for option in ("-m8", "-m1", "-cs5", "-ci2", "-cx9", "-b"):
        f.call("-k21", option, "a.fq", "out", "tmp")
    for option, message in (("-m8G", "-m: '8G' is not a number from 1 to 1024"),
                            ("-m1025", "-m: '1025' is not"), ("-@4", "'-@4' is not an option"),
                            ("-L2", "'-L2' is not an option"), ("-C", "'-C' is not an option"),
                            ("--kmer-size=21", "'--kmer-size=21' is not an option"),
                            ("--min-count=2", "'--min-count=2' is not an option"),
                            ("--canonical", "'--canonical' is not an option"),
                            ("-q20", "'-q20' is not an option")):
        f.call(option, "a.fq", "out", "tmp", code=1, message=f"kcount-kmc: {message}")


@in_folder
def test_same_names(f):
    """No file is input and output, or two outputs, even though kmc replaces existing files."""
    for name in ("x.kff", "x.kmc_pre", "x.kmc_suf"):
        shutil.copy(f.path / "a.fa", f.path / name)
    (f.path / "names").write_text("x.kff\n")
    before, files = f.names(), {path: path.read_bytes() for path in f.path.glob("*.*")}
    for arguments, message in ((("-okff", "x.kff", "x", "tmp"), "x.kff is an input"),
                               (("x.kmc_pre", "x", "tmp"), "x.kmc_pre is an input"),
                               (("x.kmc_suf", "./x", "tmp"), "x.kmc_suf is an input"),
                               (("-okff", "@names", "x", "tmp"), "x.kff is an input"),
                               (("-ja.fa", "a.fa", "new", "tmp"), "a.fa is an input"),
                               (("-w", "-jx.kff", "@names", "new", "tmp"), "x.kff is an input"),
                               (("-jnames", "@names", "new", "tmp"), "names is an input"),
                               (("-jnew.kmc_pre", "a.fa", "new", "tmp"),
                                "two outputs have the name new.kmc_pre"),
                               (("-j./new.kff", "-okff", "a.fa", "new", "tmp"),
                                "are the same file"),
                               (("a.fa", "tmp/", "tmp"), "'tmp/' is a folder"),
                               (("a.fa", "", "tmp"), "is empty"),
                               (("-jtmp/.", "a.fa", "new", "tmp"), "'tmp/.' is a folder")):
        f.call("-k5", *arguments, code=1, message=message)
        if f.names() != before or any(path.read_bytes() != text for path, text in files.items()):
            raise Failure(f"{arguments} changed something")


@in_folder
def test_failures(f):
    """After a damaged input, existing files are unchanged and there are no new ones."""
    f.call("-okff", "a.fq", "out", "tmp")
    f.call("a.fq", "out", "tmp")
    (f.path / "cut.fq.gz").write_bytes((f.path / "a.fq.gz").read_bytes()[:-2000])
    before, files = f.names(), {path: path.read_bytes() for path in f.path.glob("out.*")}
    for form in ("kmc", "kff"):
        f.call(f"-o{form}", "-jsummary.json", "cut.fq.gz", "out", "tmp", code=1,
               message="cut.fq.gz")
    if f.names() != before or any(path.read_bytes() != text for path, text in files.items()):
        raise Failure("a failed count changed something")


@in_folder
def test_without_sequence(f):
    """Inputs that hold nothing are counted as no reads, as kmc counts them, with a warning."""
    (f.path / "none.fq.gz").write_bytes(gzip.compress(b""))
    (f.path / "none.fq").write_bytes(b"")
    (f.path / "some").write_text("none.fq.gz\na.fq\nnone.fq\n")
    for name in ("none.fq.gz", "none.fq"):
        text = f.call("-ci1", "-okff", name, "none", "tmp", message=f"{name} holds no sequence")
        if not re.search(r"Total no. of reads +: +0\n", text):
            raise Failure(f"{name}: {text!r}")
        f.call("-ci1", name, "none", "tmp", message=f"{name} holds no sequence")
    wanted = f.call("-okff", "a.fq", "a", "tmp").split("Stats:")[1]
    got = f.call("-okff", "@some", "some", "tmp",
                 message="none.fq holds no sequence").split("Stats:")[1]
    if got != wanted or (f.path / "some.kff").read_bytes() != (f.path / "a.kff").read_bytes():
        raise Failure(f"@some: {got!r}, not {wanted!r}")


@in_folder
def test_summary(f):
    """A summary that cannot be written leaves the output as it was; "-" is a file, as for kmc."""
    for form in ("kmc", "kff"):
        before = f.names()
        text = f.call(f"-o{form}", "-j/dev/full", "a.fq", "new", "tmp", code=1,
                      message="cannot write to /dev/full")
        if text or f.names() != before:
            raise Failure(f"-o{form} -j/dev/full: printed {text!r}, left "
                          f"{set(f.names()) - set(before)}")
        f.call(f"-o{form}", "a.fq", "out", "tmp")
        files = {path: path.read_bytes() for path in f.path.glob("out.*")}
        f.call(f"-o{form}", "-j/dev/full", "b.fq", "out", "tmp", code=1,
               message="cannot write to /dev/full")
        if any(path.read_bytes() != text for path, text in files.items()):
            raise Failure(f"-o{form} -j/dev/full replaced an output")
    f.call("-w", "-j/dev/full", "a.fq", "none", "tmp", code=1, message="cannot write to /dev/full")
    for name in ("summary.json", "-"):
        text = f.call("-j" + name, "a.fq", "out", "tmp")
        stats = json.loads((f.path / name).read_text())["Stats"]
        if not re.search(rf"No. of unique k-mers +: +{stats['#Unique_k-mers']}\n", text):
            raise Failure(f"-j{name} has {stats}, standard output {text!r}")


@in_folder
def test_help(f):
    """Scripts read kmc's version from the first line."""
    for arguments in ((), ("--help",), ("-h",), ("--version",)):
        text = f.call(*arguments)
        if "KMC) ver. 3.2.1 " not in text.splitlines()[0] or " -k<len>" not in text:
            raise Failure(f"{arguments}: {text!r}")


# ---- against kmc ----

def same_files(f, options, operands):
    """
    kmc and kcount-kmc write the same k-mers and counts, and report the same numbers. kmc gets a
    lower -m, because it allocates all of that memory at once, which may be more than this machine
    has.
    """
    reports = []
    for name, program in (("theirs", "kmc"), ("ours", "./kcount-kmc")):
        given = ["-m2" if option == "-m128" and program == "kmc" else option for option in options]
        done = subprocess.run([program, *given, f"-j{name}.json", *operands, name, "tmp"],
                              cwd=f.path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if done.returncode != 0:
            raise Failure(f"{program} {options}: {done.stderr}")
        stats = json.loads((f.path / f"{name}.json").read_text())["Stats"]
        stats.pop("#Total_super-k-mers")
        lines = re.findall(r"(?m)^ .*(?<!super-k-mers) : .*$", done.stdout)
        reports.append((stats, [line for line in lines if "super-k-mers" not in line]))
        database = f"{name}.kff" if "-okff" in options else name
        run("kmc_tools", "-hp", "transform", database, "dump", "-s", f"{name}.txt", cwd=f.path)
    if reports[0] != reports[1]:
        raise Failure(f"{options}: kmc reports {reports[0]}, kcount-kmc {reports[1]}")
    text = (f.path / "theirs.txt").read_bytes()
    if not text:
        raise Failure(f"{options}: nothing to compare")
    same_text((f.path / "ours.txt").read_bytes(), text, f"{options} {operands}")


@in_folder
def test_like_kmc(f):
    for options, operand in ((("-m2",), "a.fq"), (("-k21", "-ci3", "-cs6", "-cx300"), "a.fq.gz"),
                             (("-k31", "-b", "-ci1"), "a.fq"), (("-k5", "-cs4294967295"), "a.fq"),
                             (("-k77", "-fa"), "a.fa"), (("-k27", "-fm", "-cx3"), "wrapped.fa"),
                             (("-k21", "-ci0", "-cs0"), "a.fq"),
                             (("-k33", "-ci1", "-cs100000"), "@list"),
                             (("-k21", "-fbam"), "a.bam")):
        for form in (("-okmc",), ("-okff",)):
            same_files(f, (*options, *form, "-t2"), (operand,))
    for operand in ("a.fq", "@list"):
        same_files(f, VG, (operand,))


if __name__ == "__main__":
    if len(sys.argv) < 4:
        main([test_outputs, test_cap_of_zero, test_inputs, test_vg, test_tuning, test_refusals,
              test_own_meanings, test_same_names, test_failures, test_without_sequence,
              test_summary, test_help])
    elif shutil.which("kmc") is None:
        print("kmc is not installed: skipped")
        sys.exit(SKIPPED)
    else:
        main([test_like_kmc])
