"""
Calls that make no sense end with exit code 2 and a message that names what is wrong.

    app_usage.py KCOUNT SOURCE
"""
import os
import struct
import subprocess
import zlib

from lib.session import KCOUNT, Session, expect
from lib.tools import main

WRONG = [
    (["a.fq"], "which k? Try 'kcount a.fq -k 31' (21 for GenomeScope, 31 is common)\n"),
    (["count", "a.fq", "a.fq"], "which k? Try 'kcount count a.fq a.fq -k 31' (21 for"),
    (["count", *["a.fq"] * 99, "-q", "9"],
     "which k? Try 'kcount count a.fq -q 9 ... -k 31' (21 for"),
    (["a.fq", "-q", "10", "--min=2", "-o", "b.kc"],
     "which k? Try 'kcount a.fq -q 10 --min=2 -o b.kc -k 31' (21 for"),
    (["hist", "--plot", "a.fq", "--stranded"],
     "which k? Try 'kcount hist --plot a.fq --stranded -k 31' (21 for"),
    (["a.kc", "--format", "kmc"],
     "a.kc is already counted; try 'kcount export a.kc --to kmc -o a'\n"),
    (["remove", "a.kc", "-f", "A", "-m", "1G", "-f", "B"],
     "-f is given twice; give one file, or: cat A B | kcount remove -f - a.kc -m 1G\n"),
    (["query", "a.kc", "-fA b", "--file=B"],
     "-f is given twice; give one file, or: cat 'A b' B | kcount query -f - a.kc\n"),
    (["query", "a.kc", "-f", "A", "-f", "-"], "-f is given twice: A and -\n"),
    (["a.kc"],
     "a.kc is already counted; try 'kcount info a.kc', 'kcount dump a.kc' or 'kcount hist a.kc'\n"),
    (["a.fq", "a.kc", "--min", "2"], "a.kc is already counted"),
    (["count"], "no input; name a file, or - for standard input\n"),
    (["-k", "31"], "no input; name a file, or - for standard input\n"),
    (["a.fq", "-k"], "-k/--kmer needs an argument: K\n"),
    (["a.fq", "--kmer"], "-k/--kmer needs an argument: K"),
    (["a.fq", "-k", "0"], "-k/--kmer: '0' is not a whole number from 1 to 255"),
    (["a.fq", "-k", "256"], "'256'"),
    (["a.fq", "-k", "-1"], "'-1'"),
    (["a.fq", "-k", "3x"], "'3x' is not a whole number from 1 to 255\n"),
    (["a.fq", "-k=31"], "'=31' is not a whole number from 1 to 255; write -k 31\n"),
    (["a.fq", "-k", "3", "-t=4"], "; write -t 4\n"),
    (["a.fq", "-k", "3", "-m=4G"], "'=4G' is not a size such as 8G, 500M or 1.5G; write -m 4G\n"),
    (["a.fq", "-k", "21,", "31"], "-k 21,: remove the space after the comma (-k 21,31)\n"),
    (["a.fq", "-k21,31,", "51"], "-k 21,31,: remove the space after the comma (-k 21,31,51)\n"),
    (["a.fq", "-k", "21, 31"], "' 31' is not a whole number from 1 to 255; "
     "put a comma between numbers, and no space\n"),
    (["a.fq", "-k", "21", "31"], "there is no file 31; to count with several k: -k 21,31\n"),
    (["a.fq", "-k", "21,"], "'' is not a whole number from 1 to 255\n"),
    (["-k", "21,", "a.fq"], "'' is not a whole number from 1 to 255\n"),
    (["a.fq", "-k", ""], "''"),
    (["a.fq", "-k", "99999999999999999999"], "whole number"),
    (["a.fq", "-k", "3", "-t", "0"], "-t/--threads"),
    (["a.fq", "-k", "3", "-m", "lots"], "-m/--memory: 'lots' is not a size"),
    (["a.fq", "-k", "3", "-m", "1M"], "-m/--memory: 1M is too small; at least 256M is needed\n"),
    (["a.fq", "-k", "3", "-m", "0"], "-m/--memory: 0 is too small; at least 256M is needed\n"),
    (["a.fq", "-k", "3", "-m", "8"], "-m 8 is 8 bytes; did you mean -m 8G? (at least 256M)\n"),
    (["count", "-m", "31", "a.fq"],
     "-m is memory here; for k-mers of length 31, write -k 31 (for 31 GiB of memory, -m 31G)\n"),
    (["a.fq", "-m", "300"], "-m 300 is 300 bytes; did you mean -m 300M?"),
    (["a.fq", "-m", "31", "--mer-len", "3"], "-m 31 is 31 bytes; did you mean -m 31G?"),
    (["a.fq", "-k", "3", "-m1"], "-m 1 is 1 byte; did you mean -m 1G? (at least 256M)\n"),
    (["a.fq", "-k", "3", "--memory=500"],
     "-m 500 is 500 bytes; did you mean -m 500M? (at least 256M)\n"),
    (["a.fq", "-k", "3", "-m", "9999999"],
     "-m/--memory: 9999999 is too small; at least 256M is needed\n"),
    (["a.fq", "-k", "3", "--gpu-memory", "8"],
     "--gpu-memory 8 is 8 bytes; did you mean --gpu-memory 8G? (at least 256M)\n"),
    (["a.fq", "-k", "3", "-m", "-8G"], "not a size"),
    (["a.fq", "-k", "3", "-q", "94"],
     "-q/--min-quality: '94' is not a whole number from 0 to 93\n"),
    (["a.fq", "-q", "-k", "3"],
     "-q/--min-quality: '-k' is not a whole number from 0 to 93; "
     "for fewer messages, use --quiet\n"),
    (["a.fq", "-k", "3", "-q"],
     "-q/--min-quality needs an argument: Q; for fewer messages, use --quiet\n"),
    (["a.fq", "-k", "3", "--canonical", "--stranded"],
     "--canonical and --stranded cannot be used together\n"),
    (["a.fq", "-k", "3", "--min", "0"], "--min"),
    (["a.fq", "-k", "3", "--max", "4294967296"], "--max"),
    (["a.fq", "-k", "3", "--min", "5", "--max", "4"], "--min 5 is above --max 4"),
    (["a.fq", "-k", "3", "-o", "-"], "standard output"),
    (["a.fq", "-k", "3", "-o", ""], "empty"),
    (["a.fq", "-k", "3", "--device", "tpu"], "--device"),
    (["a.fq", "-k", "3", "--device", "cuda:"], "--device"),
    (["a.fq", "-k", "3", "--device", "cuda:0,"], "--device"),
    (["a.fq", "-k", "3", "--device", "cuda0"], "--device"),
    (["a.fq", "-k", "3", "--device", "cuda:0" + ",0" * 16],
     "--device: 17 devices are listed; at most 16"),
    (["merge", "a.kc", "b.kc", "-o", "c.kc", "--device", "cuda:0,1"],
     "--device: 'cuda:0,1' lists several devices; only counting"),
    (["a.fq", "-k", "3", "--device", "CUDA"], "'CUDA' is not one of auto, cpu, cuda"),
    (["a.fq", "-k", "3", "--table", "cuckoo"],
     "'cuckoo' is not one of warpdrive, slab, linear or hopscotch"),
    (["a.fq", "-k", "3", "--table", ""], "'' is not one of warpdrive, slab, linear or hopscotch"),
    (["missing.fq", "-k", "129", "--table", "warpdrive"], "--table warpdrive supports k up to 128"),
    (["missing.fq", "-k", "255", "--table", "slab", "--device", "auto"],
     "--table slab supports k up to 128"),
    (["missing.fq", "-k", "129", "--table", "linear"], "--table linear supports k up to 128"),
    (["missing.fq", "-k", "129", "--table", "hopscotch", "--device", "cuda"],
     "--table hopscotch supports k up to 128"),
    (["merge", "a.kc", "-o", "b.kc", "--device", "tpu"],
     "--device: 'tpu' is not one of auto, cpu, cuda"),
    (["compact", "a.kc", "--gpu-memory", "255M"], "at least 256M is needed\n"),
    (["a.fq", "-k", "3", "--table", "slab", "--device", "cpu"], "--table"),
    (["a.fq", "-k", "3", "--gpu-memory", "255M"], "at least 256M is needed\n"),
    (["a.fq", "-k", "3", "--gpu-memory", "some"], "--gpu-memory: 'some' is not a size"),
    (["a.fq", "-k", "3", "--nonsense"], "unknown option '--nonsense'\n"),
    (["a.fq", "-k", "3", "-Z"], "unknown option '-Z'\n"),
    (["a.fq", "-k", "3", "-name"], "unknown option '-n'\n"),
    (["a.fq", "-k", "3", "-stranded"], "unknown option '-stranded'; did you mean '--stranded'?\n"),
    (["a.fq", "-kmer=3"], "unknown option '-kmer'; did you mean '--kmer'?\n"),
    (["a.fq", "-help"], "unknown option '-help'; did you mean '--help'?\n"),
    (["a.fq", "-k", "3", "--treads", "2"],
     "unknown option '--treads'; did you mean '--threads'?\n"),
    (["a.fq", "-k", "3", "--thredas=2"], "unknown option '--thredas'; did you mean '--threads'?\n"),
    (["a.fq", "--kmersize", "3"], "unknown option '--kmersize'; did you mean '--kmer'?\n"),
    (["a.fq", "-k", "3", "--engine-memor", "2"], "unknown option '--engine-memor'\n"),
    (["a.fq", "-k", "3", "--quiet=yes"], "takes no argument"),
    (["--nonsense"], "'--nonsense'"),
    (["a.fq", "--k", "3"], "unknown option '--k'; did you mean '-k'?\n"),
    (["a.fq", "--KMER", "3"], "unknown option '--KMER'; did you mean '--kmer'?\n"),
    (["a.fq", "--km", "3"], "unknown option '--km'; did you mean '--kmer'?\n"),
    (["a.fq", "--kmer=3", "--mi=2"], "unknown option '--mi'; did you mean '--min'?\n"),
    (["a.fq", "-k", "3", "--mi", "2"], "unknown option '--mi'; did you mean '--min'?\n"),
    (["a.fq", "-k", "3", "--min-qualit", "2"],
     "unknown option '--min-qualit'; did you mean '--min-quality'?\n"),
    (["a.fq", "-k", "3", "--kmers", "4"], "unknown option '--kmers'; did you mean '--kmer'?\n"),
    (["a.fq", "-k", "3", "--=4"], "unknown option '--'\n"),
    (["info", "--device"], "unknown option '--device'; did you mean '--devices'?\n"),
    (["union", "a.kc", "a.kc", "-o", "b.kc", "--count", "max"],
     "unknown option '--count'; did you mean '--counts'?\n"),
    (["count", "--hel"], "unknown option '--hel'; did you mean '--help'?\n"),
    (["add", "a.kc", "a.fq", "--min", "30"],
     "unknown option '--min': bounds apply to the sum of all runs; "
     "give them to 'kcount compact', which changes the file, or to 'kcount dump', 'export' or "
     "'hist'\n"),
    (["add", "a.kc", "a.fq", "--max=30"],
     "unknown option '--max': bounds apply to the sum of all runs"),
    (["help", "nonsense"], "no command 'nonsense'\n"),
    (["help", "cuont"], "there is no command 'cuont'; did you mean 'count'?\n"),
    (["help", "dump", "hist"], "help takes one command\n"),
    (["dump"], "dump needs FILE.kc; for example: kcount dump "),
    (["dump", "a.kc", "b.kc"], "dump takes one .kc file; 'kcount merge' joins several\n"),
    (["export", "a.kc", "b.kc"], "export takes one .kc file; 'kcount merge' joins several\n"),
    (["compact", "a.kc", "b.kc"], "compact takes one .kc file; 'kcount merge' joins several\n"),
    (["check", "a.kc", "b.kc"], "check takes one .kc file; run it once for each file\n"),
    (["info", "a.kc", "b.kc"], "info takes one .kc file; run it once for each file\n"),
    (["import", "a", "b", "-o", "c.kc"],
     "import takes one file; import each file by itself, then join them with 'kcount merge'\n"),
    (["range", "a.kc", "A", "C", "T"],
     "range takes FILE.kc FROM TO; 'T' is one argument too many\n"),
    (["export", "a.kc", "--to", "csv", "-o", "b"],
     "'csv' is not a format; formats are tsv, kff, kmc, jellyfish, fastk, arrow; "
     "did you mean 'tsv'?\n"),
    (["a.fq", "-k", "3", "-o", "b.kc", "--format", "mtx"],
     "'mtx' is not a format; formats are tsv, kff, kmc, jellyfish, fastk, arrow\n"),
    (["export", "a.kc", "--to", "KMC", "-o", "b"], "; did you mean 'kmc'?\n"),
    (["export", "a.kc", "--to", "jf", "-o", "b"], "; did you mean 'jellyfish'?\n"),
    (["export", "a.kc", "--to", "fasta", "-o", "b"], "; did you mean 'kcount dump --fasta'?\n"),
    (["export", "a.kc", "--to", "kff"],
     "-o/--output NAME is required; for example: kcount export a.kc --to kff -o a.kff\n"),
    (["import", "a b.jf", "--min", "2"],
     "-o/--output FILE is required; for example: kcount import 'a b.jf' --min 2 -o 'a b.kc'\n"),
    (["merge", "a.kc", "b.kc"],
     "-o/--output FILE is required; for example: kcount merge a.kc b.kc -o out.kc\n"),
    (["merge", *["a.kc"] * 99],
     "-o/--output FILE is required; for example: kcount merge a.kc ... -o out.kc\n"),
    (["export", "a.kc"], "--to FORMAT is required; for example: kcount export "),
    (["export"], "export needs FILE.kc; for example: kcount export "),
    (["import"], "import needs FILE; for example: "),
    (["compact"], "compact needs FILE.kc; for example: kcount compact "),
    (["add", "a.kc"], "add needs FILE.kc FILE...; for example: kcount add "),
    (["remove", "a.kc"], "remove needs a SEQUENCE, or -f FILE; for example: kcount remove "),
    (["merge"], "merge needs FILE.kc...; for example: kcount merge "),
    (["merge", "a.kc"], "-o/--output FILE is required; for example: kcount merge "),
    (["subtract", "a.kc", "-o", "b.kc"],
     "subtract needs FILE.kc FILE.kc...; for example: kcount subtract "),
    (["dump", "a.kc", "-k", "3"], "'-k': leave it out; the file has its k\n"),
    (["dump", "-t", "a.kc"], "'a.kc' is not a whole number from 1 to 1024; a tab is the default\n"),
    (["dump", "a.kc", "--min", "4", "--max", "3"], "--min"),
    (["dump", "a.kc", "-o", "a.kc"], "a.kc is an input"),
    (["dump", "a.kc", "--columns", "comma"], "--columns: 'comma' is not one of tab or space"),
    (["dump", "a.kc", "--columns", "tab", "--fasta"], "--fasta prints no columns"),
    (["hist", "a.kc", "--max-count", "0"], "--max-count"),
    (["query", "a.kc"], "query needs a SEQUENCE, or -f FILE; for example: kcount query "),
    (["query", "a.kc", "a.fq"], "a.fq is a file, not a sequence; write -f a.fq\n"),
    (["query", "a.kc", "a.kc"],
     "a.kc is a .kc file, not a sequence; write: kcount intersect a.kc a.kc -o out.kc\n"),
    (["remove", "a.kc", "a.kc"],
     "a.kc is a .kc file, not a sequence; write: kcount subtract a.kc a.kc -o out.kc\n"),
    (["query", "ACG", "a.kc"], "the .kc file comes first: kcount query a.kc ACG\n"),
    (["range", "A", "C", "a.kc", "--count"],
     "the .kc file comes first: kcount range a.kc A C --count\n"),
    (["add", "-t", "1", "a.fq", "a.kc"],
     "the .kc file comes first: kcount add a.kc -t 1 a.fq\n"),
    (["remove", "a.fq", "a.kc"], "the .kc file comes first: kcount remove a.kc a.fq\n"),
    (["a.fq", "out", "."],
     "there is no file out, and kcount takes no output name there; write -o out.kc --tmp .\n"),
    (["query", "a.kc", "-"], "- is a file, standard input; write -f -\n"),
    (["query", "a.kc", "AC"], "'AC' is 2 letters long, but k is 3"),
    (["query", "a.kc", "ACNA"], "letter 3, 'N'"),
    (["profile", "a.kc"], "profile needs DB.kc FILE...; for example: kcount profile "),
    (["profile", "a.fq", "a.kc"], "the .kc file comes first: kcount profile a.kc a.fq\n"),
    (["profile", "a.kc", "a.fq", "--min", "4", "--max", "3"], "--min"),
    (["profile", "a.kc", "a.fq", "--format", "bed"],
     "--format is a format of positions: add --positions\n"),
    (["profile", "a.kc", "a.fq", "--positions", "--format", "gff"],
     "--format: 'gff' is not one of tsv, bedgraph, wig or bed\n"),
    (["profile", "a.kc", "a.fq", "--positions", "--unique-min", "2"],
     "add --positions --format bed\n"),
    (["profile", "a.kc", "a.fq", "--positions", "--format", "bed", "--unique-min", "2"],
     "--unique-min is above --unique-max\n"),
    (["profile", "a.kc", "a.fq", "--positions", "--min", "2"], "--positions prints all counts\n"),
    (["profile", "a.kc", "a.fq", "--positions", "--total"], "--positions and --total"),
    (["profile", "a.kc", "a.fq", "--positions", "--json"],
     "name a file for the positions with -o\n"),
    (["compare", "a.kc"], "compare needs A.kc B.kc [C.kc]; for example: kcount compare "),
    (["compare", *["a.kc"] * 4], "two or three .kc files; 'kcount merge' joins several\n"),
    (["compare", *["a.kc"] * 3, "--format", "kat"], "--format kat is a matrix of two files"),
    (["compare", "a.kc", "a.kc", "--format", "kat", "--max-count", "5,0"],
     "--max-count must be at least 1\n"),
    (["compare", "a.kc", "a.kc", "--format", "kat", "--max-count", "65535"],
     "--max-count 65535: give one number from 0 to 65534 for all files, or 2 with commas"),
    (["compare", "a.kc", "a.kc", "--format", "kat", "--json"],
     "name a file for the matrix with -o\n"),
    (["report", "a.kc", "--json", "--tracks", "a"], "--tracks needs an assembly: name it with "),
    (["report", "a.kc", "--assembly", "a.fq"], "name the page to write, with -o report.html\n"),
    (["report", "a.kc", "-o", "-", "--json"], "-o - and --json both print on standard output\n"),
    (["report", "a.kc", "--multiqc", "a.json"], "only if its name ends in _mqc.json: a.json\n"),
    (["report", "a.kc", "--assembly", "-", "--json"], "so it must be a file\n"),
    (["report", "a.kc", *["--assembly", "a.fq"] * 3, "--json"],
     "--assembly is given more than twice\n"),
    (["report", "a.kc", "--assembly", "a.fq", "--json", "--threshold", "0"], "--threshold"),
    (["hist", "a.kc", "--gc", "--plot"], "--gc prints a table by GC content: leave out --plot"),
    (["hist", "a.kc", "--json"], "add --gc\n"),
    (["hist", "a.kc", "--format", "kat"], "add --gc\n"),
    (["hist", "a.kc", "--gc", "--format", "kat", "--json"], "both print on standard output\n"),
    (["hist", "a.kc", "--gc", "--format", "kat", "--max-count", "65535"], "at most 65534\n"),
    (["hist", "a.fq", "a.fq", "--gc"], "which k? Try 'kcount hist a.fq a.fq --gc -k 31'"),
    (["range", "a.kc", "A"], "needs FILE.kc FROM TO"),
    (["range", "a.kc", "AAAA", "C"], "4 letters long"),
    (["range", "a.kc", "A", "CX"], "letter 2, 'X'"),
    (["range", "a.kc", "C", "A"], "comes after"),
    (["info"], "info needs either FILE.kc or --devices; for example: kcount info "),
    (["info", "a.kc", "--devices"], "FILE.kc or --devices"),
    (["check"], "needs FILE.kc"),
]


def test_wrong_usage():
    s = Session()
    s.kcount("a.fq", "-k", 3)
    for arguments, message in WRONG:
        expect(s.kcount(*arguments, code=2, message=message), "", "standard output of a wrong call")
    expect(s.names(), ["a.fq", "a.kc"], "what wrong calls leave behind")


def test_missing_files():
    """A missing file is reported before a missing option."""
    s = Session()
    for call, name in ((["nowhere.fq"], "nowhere.fq"), (["a.fq", "no/where.fq"], "no/where.fq"),
                       (["count", "nowhere"], "nowhere"), (["hist", "a.fq", "nowhere"], "nowhere"),
                       (["count", "@nowhere"], "nowhere")):
        s.kcount(*call, code=1, message=f"kcount: cannot open {name}: No such file or directory\n")
    s.write("mine.fq", s.read("a.fq"))
    for more in ([], ["--format", "tsv"]):
        s.kcount("nowhere.fq", "-k", 3, "-o", "mine.fq", *more, code=1,
                 message="kcount: cannot open nowhere.fq: No such file or directory\n")
    s.write("my reads.fq", s.read("a.fq"))
    s.kcount("my reads.fq", code=2, message="which k? Try 'kcount 'my reads.fq' -k 31'")


COMMANDS = {  # what is not a command: what is suggested
    "dmup": "dump", "cuont": "count", "Count": "count", "mrege": "merge", "substract": "subtract",
    "quer": "query", "histo": "hist", "histogram": "hist", "stats": "info", "view": "dump",
    "version": "--version",
    "MERGE": "merge", "sub": "subtract", "comp": "compare", "gcp": "hist --gc", "list": "info",
    "transform": "dump' or 'export", "simple": "intersect', 'union' or 'subtract",
    "filtre": "filter", "reduce": "merge --min", "plot": "hist --plot", "find": "query",
    "rm": "remove", "cat": "dump",
    "diff": "subtract", "lookup": "query", "distinct": "info", "nonsense": None, "x": None,
    "a" * 99: None,
}


def test_unknown_commands():
    s = Session()
    for word, name in COMMANDS.items():
        advice = f"; did you mean '{name}'?" if name else ""
        for more in ([], ["a.fq", "-k", 3]):
            s.kcount(word, *more, code=2)
            expect(s.said, f"kcount: no command or file '{word}'{advice}\n"
                           "kcount: see 'kcount help'\n", word)
    s.write("dmup", s.read("a.fq"))
    s.kcount("dmup", "-k", 3, "-o", "a.kc")


def test_other_names():
    """The names of options in other programs work as well, but are not shown."""
    s = Session()
    s.kcount("a.fq", "-k", 3, "--min", 2, "--max", 3, "-t", 2, "-o", "a.kc", "--quiet")
    wanted = s.kcount("dump", "a.kc")
    for number, words in enumerate((
            ["--kmer-size", 3, "--min-count", 2, "--max-count", 3, "-@", 2, "--canonical"],
            ["--mer-len=3", "--min-count=2", "--max-count=3", "-@2"])):
        s.kcount("a.fq", *words, "-o", f"b{number}.kc", "--quiet")
        expect(s.kcount("dump", f"b{number}.kc"), wanted, str(words))
    expect(s.kcount("dump", "a.kc", "-@", 1, "--min-count", 3),
           s.kcount("dump", "a.kc", "--min", 3), "dump with other names")
    s.kcount("hist", "a.fq", "--kmer-size", 3, "--canonical", "-@", 1, "--min-count", 2)
    expect(s.kcount("hist", "a.kc", "--max-count", 2, "--min-count", 2),
           s.kcount("hist", "a.kc", "--max-count", 2, "--min", 2), "hist has its own --max-count")
    s.kcount("add", "a.kc", "a.fq", "--min-count", 2, code=2,
             message="unknown option '--min': bounds apply to the sum of all runs")
    s.kcount("info", "a.kc", "-@", 2, code=2, message="unknown option '-@'\n")
    for command in ("count", "hist", "dump"):
        shown = s.kcount(command, "--help") + s.kcount("help", "--completion", "bash")
        for name in ("-@", "--kmer-size", "--mer-len", "--min-count"):
            expect(name in shown, False, f"{name} in the help of {command}")


def test_repeated_options():
    """The last value counts, except for -f, whose advice can be pasted."""
    s = Session()
    s.kcount("a.fq", "-k", 3, "-o", "b.kc", "-oa.kc", "--min=9", "--min-count", 1, "-t1", "-@2",
             "--quiet", "--quiet")
    expect(s.names(), ["a.fq", "a.kc"], "files")
    s.write("A", ">a\nACGT\n")
    s.write("B", ">b\nTTT\n")
    s.kcount("query", "a.kc", "-f", "A", "-t", 1, "-f", "B", code=2)
    advice = s.said.splitlines()[0].partition(", or: ")[2].replace("kcount", str(KCOUNT))
    found = subprocess.run(advice, shell=True, cwd=s.path, stdout=subprocess.PIPE, text=True)
    expect([line.split("\t")[0] for line in found.stdout.splitlines()], ["ACG", "CGT", "TTT"],
           advice)


def test_many_threads():
    """More than four threads a core are obeyed, and commented on."""
    s = Session()
    ncores = len(os.sched_getaffinity(0))
    notice = f" core{'s' if ncores > 1 else ''}: more threads than cores cost time and memory\n"
    for more, noticed in ((["-t", 999], True), (["-t", 999, "--quiet"], False), (["-t", 1], False)):
        s.kcount("a.fq", "-k", 3, "-o", "a.kc", "--force", *more)
        expect(notice in s.said, noticed, f"{more}: {s.said}")
    s.kcount("dump", "a.kc", "-t", 999, message="kcount: -t 999 on ")


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
    for call in (["-k", 3, "a.fq"], ["a.fq", "-k3"], ["count", "--kmer=3", "a.fq"],
                 ["a.fq", "--kmer", 3], ["count", "-k", 3, "--", "-x.fq"]):
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
    s.kcount("a.fq", "-k", 3, "-o", "c.kc", "--", "--no-mpi", code=1,
             message="cannot open --no-mpi")
    s.kcount("dump", "a.kc", env=dict(os.environ, KCOUNT_MPI="of"), code=2,
             message="the environment variable KCOUNT_MPI is 'of', not on or off")


main([test_wrong_usage, test_missing_files, test_unknown_commands, test_other_names,
      test_repeated_options, test_many_threads, test_output_is_a_folder,
      test_output_is_an_input_by_ending,
      test_output_is_a_reference, test_two_outputs_are_one, test_output_is_an_input,
      test_output_is_standard_input, test_options_anywhere, test_without_mpi])
