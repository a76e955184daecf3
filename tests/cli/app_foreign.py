"""
Options of kmc, Jellyfish and FastK that kcount lacks: the message says what to write instead.

    app_foreign.py KCOUNT SOURCE
"""
import re
import shutil
import subprocess

from lib.session import SOURCE, Session, expect
from lib.tools import main

ANY_COUNT = "leave it out; counts go up to 4,294,967,295"
BY_DEFAULT = "leave it out; it is the default"
BY_CONTENT = "leave it out; the content of a file decides, not its name"
BY_ITSELF = "leave it out; kcount chooses this by itself"
SPILLING = "leave it out; what does not fit in memory is spilled to disk"
GROWING = "leave it out; memory grows as needed"
REPORTED = "leave it out; kcount prints a summary, and --version prints the version"
THREADS = "-t sets the total number of threads"
COMPRESSION = "write --hpc\n"
NO_OUTPUT = "'kcount hist' counts reads without writing a .kc file"
NO_GENERATORS = "pipe the reads in: COMMAND | kcount - -k K -o FILE.kc"
NO_FILTER = "--min 2 leaves out exactly the k-mers that are seen once"
TO_FILE = "this goes to standard output; to write a file, end the line with > FILE"
ALL_ROWS = "hist prints a row for each count that occurs"
RECORDED = "'kcount info' prints all that a .kc file records"
USAGE = "-h prints the usage"
FILES_K = "leave it out; the file has its k\n"
IN_PLACE = "leave it out; the .kc file itself is changed\n"
TO_OTHER = "'kcount merge FILE.kc -o NEW.kc' writes another file\n"
AS_OPERAND = "name the file without an option"
BY_SPACE = "write --columns space (for Jellyfish's -c -t, leave out both)\n"

FOREIGN = [  # a command line of kmc, Jellyfish or FastK up to the option, and the advice
    ("count -ci2", "write --min 2"), ("count -ci", "write --min N"),
    ("count -ci 2", "write --min 2"), ("dump -ci2", "write --min 2"),
    ("count -cx100", "write --max 100"), ("count -cs65535", ANY_COUNT),
    ("query -ci2", "'kcount count' has --min 2 for this; query has no such option"),
    ("add -ci2",
     "bounds apply to the sum of all runs; give them to 'kcount compact', which changes the "
     "file, or to 'kcount dump', 'export' or 'hist'"),
    ("count -b", "write --stranded"), ("hist -b", "write --stranded"),
    ("dump -b", "'kcount count --stranded' counts the strands separately"),
    ("count -fkmc", "'kcount import' converts a KMC database"), ("count -fa", BY_CONTENT),
    ("hist -fq", BY_CONTENT), ("count -fm", BY_CONTENT), ("add -fbam", BY_CONTENT),
    ("count -f q", BY_CONTENT), ("hist -f", ALL_ROWS),
    ("count -sm", "leave it out; -m is always a hard limit"),
    ("count -r", "leave it out; the disk is used only if memory is short"),
    ("info -r", "leave it out; a .kc file records its totals"),
    ("info --recompute", "leave it out; a .kc file records"), ("count -hp", "write --no-progress"),
    ("info -hp", "leave it out; there is no progress bar here"), ("count -hc", COMPRESSION),
    ("count --compress", COMPRESSION),
    ("count -e", "'kcount hist READS -k K' prints the exact histogram\n"),
    ("count -okff", "write --format kff (for a file of this name: -o ./kff)\n"),
    ("count -okmc", "write --format kmc (for a file of this name: -o ./kmc)\n"),
    ("hist -h 100", "write --max-count 100\n"),
    ("hist -h100", "write --max-count 100\n"), ("add -k 31", FILES_K), ("import -k31", FILES_K),
    ("dump --kmer=31", FILES_K), ("count -K 31", "write -k 31\n"), ("add -K 31", FILES_K),
    ("count --kmer-length=31", "write -k 31\n"), ("compact -o b.kc", TO_OTHER),
    ("compact --output=b.kc", TO_OTHER), ("add -o b.kc", IN_PLACE),
    ("remove --output b.kc", IN_PLACE),
    ("export --format kff", "write --to kff\n"), ("count --to kmc", "write --format kmc\n"),
    ("dump --to fasta", "write --fasta for FASTA; 'kcount export' has the others"),
    ("count --tmpdir /scratch", "write --tmp /scratch\n"),
    ("import --overwrite", "write --force\n"),
    ("count --gpu", "write --device cuda\n"), ("merge --cuda", "write --device cuda\n"),
    ("count -jout.json", "write --json > out.json"), ("info -j a.kc", "write --json\n"),
    ("merge -j", "kcount computes no similarities"),
    ("merge --jaccard", "kcount computes no similarities"), ("count -w", NO_OUTPUT),
    ("count -n512", BY_ITSELF), ("count -sf4", THREADS), ("count -sp4", THREADS),
    ("count -sr4", THREADS), ("count -v", REPORTED), ("dump --verbose", REPORTED),
    ("count --opt-out-size", "leave it out; a .kc file is small as it is"),
    ("count -T8", "write -t 8"), ("count -T", "write -t N"), ("count -M8", "write -m 8G"),
    ("count -M 16", "write -m 16G"), ("count -M", "write -m SIZE"),
    ("merge -M", "'kcount union --counts max' keeps the largest count"),
    ("count -P/scratch", "write --tmp /scratch"), ("count -P.", "write --tmp ."),
    ("count -Nsample", "write -o sample"),
    ("count -bc16", "trim the reads first; kcount counts whole reads"), ("count -p9", BY_ITSELF),
    ("count -p 126", BY_ITSELF), ("count --reprobes=126", BY_ITSELF),
    ("count -p", "'kcount profile' prints the counts along given sequences"),
    ("count -p:table", "'kcount profile' prints the counts"), ("count -s 100M", GROWING),
    ("count -s100M", GROWING), ("count --size=3G", GROWING), ("hist -s 9", GROWING),
    ("query -s genes.fa", "write -f genes.fa"), ("query --sequence=genes.fa", "write -f genes.fa"),
    ("info -s", "'kcount dump' prints what a .kc file holds"),
    ("info --skip", "'kcount dump' prints what a .kc"), ("count -C", BY_DEFAULT),
    ("dump --canonical", BY_DEFAULT), ("count --both-strands", BY_DEFAULT), ("dump -c", BY_SPACE),
    ("dump -ct", BY_DEFAULT), ("dump --column", BY_SPACE), ("dump --tab", BY_DEFAULT),
    ("count -c 7", ANY_COUNT), ("count -c7", ANY_COUNT), ("count -c", COMPRESSION),
    ("count --counter-len=7", ANY_COUNT), ("count --out-counter-len 4", ANY_COUNT),
    ("info -c", RECORDED), ("info --cmd", RECORDED),
    ("count --sam=a.sam", "name the file like any other input; its content decides"),
    ("count -F 2", BY_ITSELF), ("count --Files=2", BY_ITSELF), ("count -g cmds", NO_GENERATORS),
    ("count --generator cmds", NO_GENERATORS), ("count -G 2", NO_GENERATORS),
    ("count --Generators 2", NO_GENERATORS), ("count -S /bin/sh", NO_GENERATORS),
    ("count --shell=/bin/sh", NO_GENERATORS), ("count --bc=a.bc", NO_FILTER),
    ("count --bf-size 10G", NO_FILTER), ("count --bf-fp=0.1", NO_FILTER),
    ("count --if=a.fa", "write --only a.fa\n"),
    ("query --if=a.fa", "'kcount count --only' counts the k-mers of a file\n"),
    ("count -Q 5", "write -q 20"), ("count -Q5", "write -q 20"), ("count -Q", "write -q Q"),
    ("count -Q 20", "write -q 20"), ("count --min-qual-char=+", "write -q 10"),
    ("count --quality-start=33", "leave it out; qualities begin at 33 ('!')"),
    ("count --text", "'kcount dump' prints text"), ("count --disk", SPILLING),
    ("count --no-merge", SPILLING), ("count --no-unlink", SPILLING),
    ("count --no-write", NO_OUTPUT), ("count -L 2", "write --min 2"),
    ("merge --lower-count=2", "write --min 2"), ("query -L", BY_ITSELF),
    ("count -U 100", "write --max 100"), ("dump --upper-count", "write --max N"),
    ("query -U", USAGE), ("count --timing=a.txt", "--json reports how long each stage took"),
    ("count --full-help", "--help prints all options"),
    ("hist -l 2", "write --min 2"), ("hist --low=2", "write --min 2"), ("query -l", BY_ITSELF),
    ("hist --high=1000", "write --max-count 1000"),
    ("count --high", "'kcount hist' has --max-count N for this; count has no such option"),
    ("hist -i 2", ALL_ROWS), ("hist --increment=2", ALL_ROWS), ("hist --full", ALL_ROWS),
    ("profile -f a.fa", AS_OPERAND), ("filter -1 a.fq", AS_OPERAND), ("filter -2", AS_OPERAND),
    ("query -sequence a.fa", "write -f a.fa"), ("filter -sequence a.fa", AS_OPERAND),
    ("profile -mers a.kc", AS_OPERAND), ("filter -v", "write --drop"),
    ("filter -d", "write --drop"),
    ("filter -exclude", "write --drop"), ("filter --invert", "write --drop"),
    ("filter -include", BY_DEFAULT), ("filter -O b.fq", "give -o twice"), ("profile -v", REPORTED),
    ("profile --bed", "write --positions --format bed\n"),
    ("profile --wig", "write --positions --format wig\n"),
    ("profile --bedgraph", "write --positions --format bedgraph\n"),
    ("query -i", "write -f -"), ("hist -o x", TO_FILE), ("query --output=x", TO_FILE),
    ("query --interactive", "write -f -"), ("hist --buffer-size=9", BY_ITSELF),
    ("query --load", BY_ITSELF), ("query --no-load", BY_ITSELF),
]


def test_foreign_options():
    """An option of kmc, Jellyfish or FastK leads to a message that says what to write instead."""
    s = Session()
    tried = set()
    for line, advice in FOREIGN:
        command, word, *more = line.split(" ")
        shown = word.partition("=")[0] if word.startswith("--") else word
        s.kcount(command, word, *more, code=2,
                 message=f"kcount: unknown option '{shown}': {advice}")
        expect(s.said.count("\n"), 2, f"lines about {line}")
        tried.add(shown)
    rows = set(re.findall(r'\{ "(-[^"]+)"', (SOURCE / "app/cli/foreign_options.c").read_text()))
    untried = {row for row in rows if not any(word.startswith(row) for word in tried)}
    expect((len(rows) > 80, untried), (True, set()), "options without a case here")
    s.kcount("a.fq", "-k", 3, "-o", "a.kc")
    expect(s.kcount("hist", "a.kc", "-h").startswith("Usage: "), True, "-h is help")


def options_of(program):
    """The options in the help of kmc or a command of Jellyfish; short ones first."""
    done = subprocess.run(program, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return set(re.findall(r"(?m)^ +(-[A-Za-z][a-z]*)", done.stdout) +
               re.findall(r"(?m)^ [-A-Za-z, ]+(--[A-Za-z-]+)", done.stdout) +
               re.findall(r"(?m)^ +(--[A-Za-z-]+)", done.stdout))


def test_all_foreign_options():
    """Where these programs are installed, every option that they list leads to such advice."""
    s = Session()
    programs = [("count", ["kmc"])] if shutil.which("kmc") else []
    if shutil.which("jellyfish"):
        programs += [(own, ["jellyfish", name, f"--{form}"]) for own, name, form in (
            ("count", "count", "full-help"), ("hist", "histo", "full-help"),
            ("dump", "dump", "help"), ("query", "query", "help"), ("merge", "merge", "help"),
            ("info", "info", "help"), ("info", "stats", "full-help"))]
    for command, program in programs:
        options = options_of(program)
        expect(len(options) > 5, True, f"{program} lists {options}")
        for option in sorted(options):
            s.kcount(command, option, code=None)
            expect(f"unknown option '{option}'\n" in s.said, False,
                   f"{option} of {program}: {s.said}")


main([test_foreign_options, test_all_foreign_options])
