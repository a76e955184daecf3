"""
Calls that make no sense end with exit code 2 and a message that names what is wrong.

    app_usage.py KCOUNT SOURCE
"""
import os
import struct
import zlib

from session import Session, expect
from tools import main

WRONG = [
    (["a.fq"], "-k/--kmer K is required"),
    (["count"], "needs FILE"),
    (["-k", "31"], "needs FILE"),
    (["a.fq", "-k"], "-k/--kmer needs an argument: K"),
    (["a.fq", "--kmer"], "-k/--kmer needs an argument: K"),
    (["a.fq", "-k", "0"], "-k/--kmer: '0' is not a whole number from 1 to 255"),
    (["a.fq", "-k", "256"], "'256'"),
    (["a.fq", "-k", "-1"], "'-1'"),
    (["a.fq", "-k", "3x"], "'3x'"),
    (["a.fq", "-k", ""], "''"),
    (["a.fq", "-k", "99999999999999999999"], "whole number"),
    (["a.fq", "-k", "3", "-t", "0"], "-t/--threads"),
    (["a.fq", "-k", "3", "-m", "lots"], "-m/--memory: 'lots' is not a size"),
    (["a.fq", "-k", "3", "-m", "1M"], "at least 256 MiB"),
    (["a.fq", "-k", "3", "-m", "-8G"], "not a size"),
    (["a.fq", "-k", "3", "-q", "94"], "-q/--min-quality"),
    (["a.fq", "-k", "3", "--min", "0"], "--min"),
    (["a.fq", "-k", "3", "--max", "4294967296"], "--max"),
    (["a.fq", "-k", "3", "--min", "5", "--max", "4"], "--min 5 is above --max 4"),
    (["a.fq", "-k", "3", "-o", "-"], "standard output"),
    (["a.fq", "-k", "3", "-o", ""], "empty"),
    (["a.fq", "-k", "3", "--device", "tpu"], "--device"),
    (["a.fq", "-k", "3", "--device", "cuda:"], "--device"),
    (["a.fq", "-k", "3", "--device", "cuda:0,"], "--device"),
    (["a.fq", "-k", "3", "--device", "cuda0"], "--device"),
    (["a.fq", "-k", "3", "--device", "cuda:0" + ",0" * 16], "--device: 17 devices are listed; at most 16"),
    (["merge", "a.kc", "b.kc", "-o", "c.kc", "--device", "cuda:0,1"],
     "--device: 'cuda:0,1' lists several devices; only counting"),
    (["a.fq", "-k", "3", "--device", "CUDA"], "'CUDA' is not one of auto, cpu, cuda"),
    (["a.fq", "-k", "3", "--table", "cuckoo"], "'cuckoo' is not one of warpdrive, slab, linear or hopscotch"),
    (["a.fq", "-k", "3", "--table", ""], "'' is not one of warpdrive, slab, linear or hopscotch"),
    (["missing.fq", "-k", "129", "--table", "warpdrive"], "--table warpdrive supports k up to 128"),
    (["missing.fq", "-k", "255", "--table", "slab", "--device", "auto"], "--table slab supports k up to 128"),
    (["missing.fq", "-k", "129", "--table", "linear"], "--table linear supports k up to 128"),
    (["missing.fq", "-k", "129", "--table", "hopscotch", "--device", "cuda"],
     "--table hopscotch supports k up to 128"),
    (["merge", "a.kc", "-o", "b.kc", "--device", "tpu"], "--device: 'tpu' is not one of auto, cpu, cuda"),
    (["compact", "a.kc", "--gpu-memory", "255M"], "at least 256 MiB"),
    (["a.fq", "-k", "3", "--table", "slab", "--device", "cpu"], "--table"),
    (["a.fq", "-k", "3", "--gpu-memory", "255M"], "at least 256 MiB"),
    (["a.fq", "-k", "3", "--gpu-memory", "some"], "--gpu-memory: 'some' is not a size"),
    (["a.fq", "-k", "3", "--nonsense"], "'--nonsense'"),
    (["a.fq", "-k", "3", "-Z"], "'-Z'"),
    (["a.fq", "-k", "3", "--quiet=yes"], "takes no argument"),
    (["dmup", "a.kc"], "'dmup' is neither a command nor a file"),
    (["--nonsense"], "'--nonsense'"),
    (["a.fq", "--km", "3"], "unknown option '--km'\n"),
    (["a.fq", "--kmer=3", "--mi=2"], "unknown option '--mi'\n"),
    (["a.fq", "-k", "3", "--mi", "2"], "unknown option '--mi'\n"),
    (["a.fq", "-k", "3", "--min-qualit", "2"], "unknown option '--min-qualit'\n"),
    (["a.fq", "-k", "3", "--kmers", "4"], "unknown option '--kmers'\n"),
    (["a.fq", "-k", "3", "--=4"], "unknown option '--'\n"),
    (["info", "--device"], "unknown option '--device'\n"),
    (["union", "a.kc", "a.kc", "-o", "b.kc", "--count", "max"], "unknown option '--count'\n"),
    (["count", "--hel"], "unknown option '--hel'\n"),
    (["add", "a.kc", "a.fq", "--min", "30"], "unknown option '--min': bounds apply to the sum of all runs; "
     "give them to 'kcount compact', which changes the file, or to 'kcount dump', 'export' or 'hist'\n"),
    (["add", "a.kc", "a.fq", "--max=30"], "unknown option '--max': bounds apply to the sum of all runs"),
    (["help", "nonsense"], "no command 'nonsense'"),
    (["dump"], "needs FILE.kc"),
    (["dump", "a.kc", "b.kc"], "too many: 'b.kc'"),
    (["dump", "a.kc", "-k", "3"], "'-k'"),
    (["dump", "a.kc", "--min", "4", "--max", "3"], "--min"),
    (["dump", "a.kc", "-o", "a.kc"], "a.kc is an input"),
    (["dump", "a.kc", "--columns", "comma"], "--columns: 'comma' is not one of tab or space"),
    (["dump", "a.kc", "--columns", "tab", "--fasta"], "--fasta prints no columns"),
    (["hist", "a.kc", "--max-count", "0"], "--max-count"),
    (["query", "a.kc"], "needs a SEQUENCE"),
    (["query", "a.kc", "AC"], "'AC' is 2 letters long, but k is 3"),
    (["query", "a.kc", "ACNA"], "letter 3, 'N'"),
    (["range", "a.kc", "A"], "needs FILE.kc FROM TO"),
    (["range", "a.kc", "AAAA", "C"], "4 letters long"),
    (["range", "a.kc", "A", "CX"], "letter 2, 'X'"),
    (["range", "a.kc", "C", "A"], "comes after"),
    (["info"], "FILE.kc or --devices"),
    (["info", "a.kc", "--devices"], "FILE.kc or --devices"),
    (["check"], "needs FILE.kc"),
]


def test_wrong_usage():
    s = Session()
    s.kcount("a.fq", "-k", 3)
    for arguments, message in WRONG:
        expect(s.kcount(*arguments, code=2, message=message), "", "standard output of a wrong call")
    expect(s.names(), ["a.fq", "a.kc"], "what wrong calls leave behind")


def test_output_is_a_folder():
    """No command writes to a name that is empty or a folder's, not even beside it (.ktab)."""
    s = Session()
    os.mkdir(s.path / "folder")
    s.kcount("a.fq", "-k", 3, "-o", "a.kc")
    s.kcount("export", "a.kc", "--to", "kmc", "-o", "db")
    before = s.names()
    commands = (["missing.fq", "-k", 3], ["missing.fq", "-k", "3,4"], ["merge", "missing.kc"],
                ["union", "a.kc"], ["intersect", "a.kc"], ["subtract", "a.kc", "a.kc"],
                ["import", "db"], ["dump", "a.kc"],
                *(["export", "a.kc", "--to", to] for to in ("tsv", "kmc", "fastk")))
    for name in ("", ".", "..", "./", "../", "folder/", "folder/.", "folder/.."):
        what = "the file's name is empty" if name == "" else f"'{name}' is a folder, not a file"
        for command in commands:
            s.kcount(*command, "-o", name, code=2, message=f"-o/--output: {what}")
        s.kcount("check", "a.kc", "--repair", name, code=2, message=f"--repair: {what}")
    expect((s.names(), os.listdir(s.path / "folder")), (before, []), "what is left behind")


def test_output_is_an_input_by_ending():
    """Names that follow from -o are compared with every file that is read."""
    s = Session()
    s.kcount("a.fq", "-k", 3, "-o", "in.kc")
    for to in ("kmc", "fastk"):
        s.kcount("export", "in.kc", "--to", to, "-o", "db")
    exported = {"kmc": ("y.kmc_pre", "y.kmc_suf"), "fastk": ("y.ktab", ".y.ktab.1", "y.hist")}
    for name in (*exported["kmc"], *exported["fastk"]):
        s.write(name, (s.path / "in.kc").read_bytes())
    s.write("z.tsv", s.read("a.fq"))
    s.write("list", "z.tsv\n")
    os.link(s.path / "z.tsv", s.path / "w.k4.tsv")
    before = s.contents()
    calls = [["export", name, "--to", to, "-o", "y"] for to in exported for name in exported[to]]
    calls += [["z.tsv", "-k", 3, "-o", "z.kc", "--format", "tsv"],
              ["z.tsv", "-k", "3,4", "-o", "w.kc", "--format", "tsv"],
              ["@list", "-k", 3, "-o", "z", "--format", "tsv"],
              ["@list", "-k", 3, "-o", "./z.kc", "--format", "tsv"]]
    calls += [["import", name, "-o", other]
              for name, other in (("db.kmc_pre", "db.kmc_suf"), ("db.kmc_suf", "db.kmc_pre"),
                                  ("db", "db.kmc_suf"), ("db.ktab", ".db.ktab.1"))]
    for call in calls:
        s.kcount(*call, "--force", code=2, message="is an input and the output as well")
        expect(s.contents() == before, True, f"{call} leaves all as it was")


def itf8(n):
    return bytes([n]) if n < 0x80 else bytes([0x80 | n >> 8, n & 0xff])


def checked(data):
    return data + struct.pack("<I", zlib.crc32(data))


def cram_of(reference):
    """A CRAM file without reads, whose header names this reference."""
    text = f"@HD\tVN:1.6\n@SQ\tSN:a\tLN:9\tM5:{'0' * 32}\tUR:{reference}\n".encode()
    text = struct.pack("<i", len(text)) + text
    block = checked(b"\0\0\0" + itf8(len(text)) * 2 + text)
    header = checked(struct.pack("<i", len(block)) + bytes([0, 0, 0, 0, 0, 0, 1, 1, 0]))
    end = bytes.fromhex("0f000000ffffffff0fe0454f46000000000100"
                        "05bdd94f0001000606010001000100ee63014b")
    return b"CRAM\3\0" + bytes(20) + header + block + end


def test_output_is_a_reference():
    """A file that a CRAM input names as its reference is an input, too."""
    s = Session()
    s.write("r.fa", ">a\nACGTACGTA\n")
    for reference in ("r.fa", s.path / "r.fa", f"file:{s.path}/r.fa", f"file://{s.path}/./r.fa"):
        s.write("a.cram", cram_of(reference))
        s.write("list", "a.fq\na.cram\n")
        before = s.contents()
        with open(s.path / "a.cram") as cram:
            for call in (["a.cram", "-k", 3], ["@list", "-k", "3"], ["-", "-k", "3"]):
                s.kcount(*call, "-o", "r.fa", "--force", code=2, stdin=cram,
                         message="r.fa is an input and the output as well")
        expect(s.contents() == before, True, f"{reference} leaves all as it was")
    s.write("a.cram", cram_of("http://localhost/r.fa"))
    s.kcount("a.cram", "-k", 3, "-o", "r.fa", "--force", message="a.cram holds no sequence")


def test_two_outputs_are_one():
    """Also if the file is not there yet, and through a link."""
    s = Session()
    os.symlink("v.k4.tsv", s.path / "v.k3.tsv")
    for call, message in ((["-k", 3, "-o", "x.ktab", "--format", "fastk"],
                           "two outputs have the name x.ktab"),
                          (["-k", "3,4", "-o", "v", "--format", "tsv"],
                           "the outputs v.k3.tsv and v.k4.tsv are the same file")):
        s.kcount("a.fq", *call, "--force", code=2, message=message)
    expect(s.names(), ["a.fq", "v.k3.tsv"], "what is left behind")


def test_output_is_an_input():
    s = Session()
    before = s.read("a.fq")
    s.kcount("a.fq", "-k", 3, "-o", "a.fq", "--force", code=2, message="a.fq is an input")
    s.write("list", "a.fq\n")
    s.kcount("@list", "-k", 3, "-o", "./a.fq", "--force", code=2, message="is an input")
    expect(s.read("a.fq"), before, "the input")


def test_output_is_standard_input():
    """Files are compared, not names: through links and standard input, too."""
    s = Session()
    s.kcount("a.fq", "-k", 3, "-o", "db.kc")
    s.write("list", "a.fq\n")
    os.link(s.path / "a.fq", s.path / "hard.fq")
    os.symlink("a.fq", s.path / "soft.fq")
    before = {name: (s.path / name).read_bytes() for name in s.names()}
    calls = [("a.fq", ["count", name, "-k", 3, "-o", output, "--force"])
             for name in ("-", "/dev/stdin", "/proc/self/fd/0")
             for output in ("a.fq", "hard.fq", "soft.fq")]
    calls += [("list", ["count", "@list", "-k", 3, "-o", "list", "--force"]),
              ("list", ["count", "@/dev/stdin", "-k", 3, "-o", "list", "--force"]),
              ("db.kc", ["add", "db.kc", "-"]),
              ("db.kc", ["add", "db.kc", "/dev/stdin"]),
              ("db.kc", ["remove", "db.kc", "-f", "-"]),
              ("db.kc", ["remove", "db.kc", "-f", "db.kc"]),
              ("db.kc", ["merge", "/dev/stdin", "-o", "db.kc", "--force"]),
              ("db.kc", ["dump", "/dev/stdin", "-o", "db.kc"])]
    for name, call in calls:
        with open(s.path / name) as file:
            s.kcount(*call, stdin=file, code=2, message="is an input")
        after = {name: (s.path / name).read_bytes() for name in s.names()}
        expect(after == before, True, f"{call} leaves all as it was")


def test_options_anywhere():
    s = Session()
    s.write("-x.fq", s.read("a.fq"))
    for call in (["-k", 3, "a.fq"], ["a.fq", "-k3"], ["count", "--kmer=3", "a.fq"], ["a.fq", "--kmer", 3],
                 ["count", "-k", 3, "--", "-x.fq"]):
        s.kcount(*call, "-o", "out.kc", "--force") if "--" not in call else s.kcount(*call)
    s.kcount("check", "-x.kc" if "-x.kc" not in s.names() else "./-x.kc")
    s.kcount("-k", 3, "a.fq", "-o", "p.kc", env=os.environ | {"POSIXLY_CORRECT": "1"})
    s.kcount("a.fq", "-k", 3, "-o", "q.kc", env=os.environ | {"POSIXLY_CORRECT": "1"})


def test_without_mpi():
    """Every command of every build accepts --no-mpi, which changes nothing for a lone process."""
    s = Session()
    s.kcount("a.fq", "--no-mpi", "-k", 3, "-o", "a.kc", "--quiet")
    s.kcount("count", "a.fq", "-k", 3, "-o", "b.kc", env=dict(os.environ, KCOUNT_MPI="off"))
    expect(s.kcount("dump", "a.kc", "--no-mpi"), s.kcount("dump", "b.kc"), "k-mers")
    s.kcount("a.fq", "-k", 3, "--no-mpi=yes", code=2, message="--no-mpi takes no argument")
    s.kcount("a.fq", "-k", 3, "-o", "c.kc", "--", "--no-mpi", code=1, message="cannot open --no-mpi")
    s.kcount("dump", "a.kc", env=dict(os.environ, KCOUNT_MPI="of"), code=2,
             message="the environment variable KCOUNT_MPI is 'of', not on or off")


main([test_wrong_usage, test_output_is_a_folder, test_output_is_an_input_by_ending,
      test_output_is_a_reference, test_two_outputs_are_one, test_output_is_an_input, test_output_is_standard_input,
      test_options_anywhere, test_without_mpi])
