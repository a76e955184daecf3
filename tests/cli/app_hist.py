"""
The histogram straight from reads: the lines that hist prints of the .kc file that count writes with
the same options, without that file. And the histogram in count's JSON.

    app_hist.py KCOUNT SOURCE
"""
import gzip
import json
import os
import random
import re
import shlex
import subprocess

from lib.session import READS, SOURCE, Session, expect
from lib.terminal import Terminal, plain_environment
from lib.tools import SMALL, main

DATA = SOURCE / "data"


def of_a_file(s, inputs, options, printing=(), **how):
    """What count and then hist print."""
    s.kcount("count", *inputs, *options, "-o", "counted.kc", "--quiet", "--force", **how)
    rows = s.kcount("hist", "counted.kc", *printing)
    os.unlink(s.path / "counted.kc")
    return rows


def check(s, inputs, options, printing=()):
    what = f"hist {' '.join(map(str, (*inputs, *options, *printing)))}"
    before = s.names()
    rows = s.kcount("hist", *inputs, *options, *printing, "--quiet")
    expect(rows == "" or s.said == "", True, f"standard error of {what} --quiet: {s.said!r}")
    expect(s.names(), before, f"files after {what}")
    expect(rows == of_a_file(s, inputs, options, printing), True, f"rows of {what}")
    return rows


def test_same_rows():
    """Every format and width, strands, qualities, threads; several files."""
    s = Session()
    names = ["phage.fq.gz", "amplicon.fq.gz", "ont.fq.gz", "human.bam", "hairpin.fa.gz",
             "worm.fa.gz"]
    kmers = (1, 21, 32, 33, 65, 127, 255)
    for number, name in enumerate(names):
        for k in kmers[number % 3::3] if SMALL else kmers:
            options = ["-k", k, "-t", 1 + (k + number) % 3]
            options += ["--stranded"] if k % 2 == number % 2 else []
            rows = check(s, [DATA / name], options + (["-q", 20] if number < 4 and k == 21 else []))
            expect("\t" in rows or k > 21, True, f"some rows of {name} with k = {k}")
    check(s, [DATA / name for name in names], ["-k", 17])


def test_little_memory():
    """Bins are spilled and counted in several passes."""
    s = Session()
    bases = random.Random(5).choices("ACGT", k=300000 if SMALL else 1200000)
    s.write("large.fa", ">r\n" + "".join(bases) * 2 + "\n>s\n" + "A" * 3000 + "\n")
    little = ["--engine-memory", "2M", "-t", 2]
    s.kcount("hist", "large.fa", "-k", 31, *little, "--device", "cpu")
    expect(" spilled to disk\n" in s.said, True, f"spilling, in {s.said!r}")
    for k in (40,) if SMALL else (31, 40):
        check(s, ["large.fa"], ["-k", k, *little])


def test_gc():
    """The k-mers of reads are counted into a file that is gone in the end; hist --gc of a .kc file
    prints the same."""
    s = Session()
    phage, worm = DATA / "phage.fq.gz", DATA / "worm.fa.gz"
    for inputs, options, printing in (
            ([phage], ["-k", 21, "-q", 20], []), ([DATA / "human.bam"], ["-k", 33], []),
            ([phage, worm], ["-k", 31, "--stranded", "-t", 3], ["--max-count", 20]),
            ([worm], ["-k", 65, "--hpc"], ["--min", 2, "--max", 9]),
            ([phage], ["-k", 17, "--only", worm], []),
            (["a.fq", worm], ["-k", 3, "--engine-memory", "2M"], ["--min", 4])):
        rows = check(s, inputs, options, ["--gc", *printing])
        expect(rows.startswith("gc\tcount\tdistinct\tsum\n"), True, f"a table: {rows[:40]!r}")
    wanted = s.kcount("hist", "--gc", "a.fq", "-k", 3)
    for part in ("  3-mers                                 15\n",
                 "  seen once                             4   57.1%\n"):
        expect(part in s.said, True, f"summary of hist --gc has {part!r} in {s.said!r}")
    for part in ("wrote", "kept", "temporary"):
        expect(part in s.said, False, f"summary of hist --gc has {part!r}")
    expect(s.kcount("hist", "--gc", "-", "-k", 3, text=READS), wanted, "hist --gc -")
    got = json.loads(s.kcount("hist", "--gc", "a.fq", "-k", 3, "--json", "--min", 1))
    expect(("file", got["file"], got["k"]), ("file", "a.fq", 3), "hist --gc --json")
    expect(got["rows"], [list(map(int, row.split())) for row in wanted.splitlines()[1:]], "rows")
    matrix = s.kcount("hist", "--gc", "a.fq", "-k", 3, "--format", "kat", "--max-count", 6)
    expect(matrix.replace("a.fq", "a.kc"),
           of_a_file(s, ["a.fq"], ["-k", 3],
                     ["--gc", "--format", "kat", "--max-count", 6]).replace("counted.kc", "a.kc"),
           "hist --gc --format kat")
    expect(s.names(), ["a.fq"], "files")


def test_rows_to_print():
    """--min and --max leave rows out before --max-count adds up the last ones."""
    s = Session()
    for printing in (["--min", 3], ["--max", 2], ["--min", 2, "--max", 3], ["--max-count", 2],
                     ["--max-count", 2, "--min", 3], ["--max-count", 2, "--max", 3],
                     ["--max-count", 4, "--genomescope"], ["--min", 7],
                     ["--max-count", 4, "--jellyfish", "--min", 2]):
        check(s, ["a.fq"], ["-k", 3], printing)
    expect(s.kcount("hist", "a.fq", "-k", 3), "1\t4\n2\t1\n3\t1\n6\t1\n", "hist of reads")
    expect(s.kcount("hist", "a.fq", "-k", 3, "--min", 2, "--max", 3), "2\t1\n3\t1\n",
           "--min --max")
    expect(s.kcount("hist", "a.fq", "-k", 3, "--max-count", 2, "--max", 3), "1\t4\n2\t2\n",
           "--max-count --max")
    for bounds in (["--min", 2], ["--max", 3], ["--min", 2, "--max", 2]):
        options = ["-k", 3, *bounds]
        expect(s.kcount("hist", "a.fq", *options), of_a_file(s, ["a.fq"], options), f"{bounds}")


def test_sources_of_reads():
    s = Session()
    wanted = s.kcount("hist", "a.fq", "-k", 3)
    twice = of_a_file(s, ["a.fq", "a.fq"], ["-k", 3])
    expect(s.kcount("hist", "-", "-k", 3, text=READS), wanted, "hist -")
    expect(s.kcount("hist", "-k", 3, "a.fq", "-", text=READS), twice, "hist of a file and a pipe")
    s.write("list.txt", "a.fq\n# and again\na.fq\n")
    expect(s.kcount("hist", "@list.txt", "-k", 3), twice, "hist @LIST")
    reading, writing = os.pipe()
    os.write(writing, READS.encode())
    os.close(writing)
    expect(s.kcount("hist", f"/dev/fd/{reading}", "-k", 3, pass_fds=[reading]), wanted,
           "hist of another descriptor")
    os.close(reading)
    os.mkfifo(s.path / "fifo")
    writer = subprocess.Popen(["sh", "-c", "cat a.fq > fifo"], cwd=s.path)
    expect(s.kcount("hist", "fifo", "-k", 3), wanted, "hist of a named pipe")
    expect(writer.wait(), 0, "the writer of a named pipe")
    s.kcount("a.fq", "-k", 3)
    with open(s.path / "a.kc") as file:
        expect(s.kcount("hist", "/dev/stdin", stdin=file), wanted, "hist of a .kc file on stdin")


def test_store_in_a_pipe():
    """Each message says what to do, and doing it does not lead to the other one."""
    s = Session()
    s.kcount("a.fq", "-k", 3)
    for options, message in (
            (("--gc", "-k", 3), "/dev/stdin is a .kc file, which holds counts already; to print "
                                "its histogram, save it as a file and leave out -k"),
            ((), "/dev/stdin: a .kc file cannot be read from a pipe; name the file; to count the "
                 "k-mers of reads, add -k K"),
            (("-k", 3), "/dev/stdin is a .kc file, which holds counts already; to print its "
                        "histogram, save it as a file and leave out -k")):
        with subprocess.Popen(["cat", s.path / "a.kc"], stdout=subprocess.PIPE) as pipe:
            s.kcount("hist", "/dev/stdin", *options, code=1, message=message, stdin=pipe.stdout)
            expect("merge" in s.said, False, s.said)


def test_summary():
    s = Session()
    s.kcount("hist", "a.fq", "-k", 3, "--device", "cpu")
    for part in ("reads                                   2\n",
                 "3-mers                                 15\n",
                 "  distinct                              7\n",
                 "  seen once                             4   57.1%\n",
                 " MiB of memory\n"):
        expect(part in s.said, True, f"summary has {part!r} in {s.said!r}")
    for part in ("wrote", "kept"):
        expect(part in s.said, False, f"summary has {part!r}")
    expect(s.names(), ["a.fq"], "files")
    expect(s.kcount("hist", "a.fq", "-k", 9, message="warning: no k-mer was kept"), "",
           "hist of nothing")


PEAK = """\
   23    2,345  ###############################################################
   24    2,401  ################################################################
   25    2,354  ###############################################################
"""
FINDINGS = """\
over 41: 525 k-mers
errors below 11; peak at 24; about 43,500 bases in the genome if haploid
"""
HINT = """\
for a model:
  kcount hist phage.kc --genomescope > phage.hist
  genomescope2 -i phage.hist -o model -k 31
"""


def on_terminal(s, size, *call, **variables):
    """What kcount prints on a terminal of this size (rows, columns)."""
    return Terminal(s, "stdout", size, *call, **variables).finish().replace("\r\n", "\n")


def test_plot():
    """In a pipe, 80 columns; '#' or, in a UTF-8 locale, blocks; the same for reads."""
    s = Session()
    phage = DATA / "phage.fq.gz"
    s.kcount(phage, "-k", 31, "-o", "phage.kc")
    plot = s.kcount("hist", "phage.kc", "--plot", env=plain_environment(LANG="C"))
    expect(plot.startswith("count   k-mers\n    1  109,190  ###"), True, plot)
    expect((PEAK in plot, plot.endswith(FINDINGS + HINT)), (True, True), plot)
    expect(max(map(len, plot.splitlines())), 80, "width in a pipe")
    blocks = s.kcount("hist", "phage.kc", "--plot",
                      env=plain_environment(LC_ALL="C.UTF-8", LANG="C"))
    expect(("24    2,401  ████" in blocks, "#" in blocks), (True, False), blocks)
    reads = s.kcount("hist", phage, "-k", 31, "--plot", "--quiet",
                     env=plain_environment(LC_CTYPE="POSIX"))
    again = f"kcount hist {phage} -k 31 --genomescope --quiet"
    expect(reads, plot.replace("kcount hist phage.kc --genomescope", again), "plot of reads")
    with gzip.open(phage) as file:
        pipe = s.kcount("hist", "-", "-k", 31, "--plot", "--quiet", text=file.read().decode())
    expect(pipe.endswith("for a model: see 'kcount hist --help'\n"), True, "plot of a pipe")
    s.kcount(phage, "-k", 31, "--stranded", "-o", "odd 'name'.kc")
    stranded = s.kcount("hist", "odd 'name'.kc", "--plot", env=plain_environment())
    expect("in both strands of the genome if haploid for a model: " in
           stranded.replace("\n", " "), True, stranded)
    line = re.search("  kcount (.*) > (.*)\n  genomescope2 -i (.*) -o model -k 31\n$", stranded)
    expect([shlex.split(words) for words in line.groups()],
           [["hist", "odd 'name'.kc", "--genomescope"], ["odd 'name'.hist"], ["odd 'name'.hist"]],
           "the commands for a model")


def test_plot_on_terminal():
    s = Session()
    s.kcount(DATA / "phage.fq.gz", "-k", 31, "-o", "phage.kc")
    for rows, columns in ((50, 80), (24, 120), (24, 60), (16, 20), (100, 200)):
        plot = on_terminal(s, (rows, columns), "hist", "phage.kc", "--plot", LANG="en_US.utf8")
        lines = plot.splitlines()
        expect(plot.endswith(HINT), True, f"commands on {columns} columns:\n{plot}")
        expect(max(map(len, lines[:-2])) <= columns, True, f"width on {columns} columns:\n{plot}")
        expect(len(lines) < rows, True, f"height on {rows} rows:\n{plot}")
        expect("█" in plot, True, "blocks on a terminal")
    zero = on_terminal(s, (0, 0), "hist", "phage.kc", "--plot")
    expect(zero, s.kcount("hist", "phage.kc", "--plot", env=plain_environment()),
           "a terminal that does not know its size")


def test_plot_of_little():
    s = Session()
    s.kcount("a.fq", "-k", 3)
    plain = plain_environment()
    none = "no peak: too few reads to see one, or not the reads of one genome\n"
    expect(s.kcount("hist", "a.kc", "--plot", env=plain).endswith(none), True, "a peak in a.kc")
    expect(s.kcount("hist", "a.kc", "--plot", "--min", 2, "--max", 3, env=plain),
           f"count  k-mers\n    2       1  {65 * '#'}\n    3       1  {65 * '#'}\n{none}",
           "--min --max")
    expect(s.kcount("hist", "a.kc", "--plot", "--min", 7, env=plain), "no k-mers\n", "--min 7")


WRONG = [
    (["a.fq", "a.fq"], "which k? Try 'kcount hist a.fq a.fq -k 31'"),
    (["-"], "which k? Try 'kcount hist - -k 31'"),
    (["@list"], "which k? Try 'kcount hist @list -k 31'"),
    (["a.fq", "--stranded"], "which k? Try 'kcount hist a.fq --stranded -k 31'"),
    (["a.kc", "-k", "3"],
     "a.kc is a .kc file, whose k-mers are counted already: -k/--kmer is only for reads"),
    (["a.kc", "--stranded"], "--stranded is only for reads"),
    (["a.kc", "-q", "0"], "-q/--min-quality is only for reads"),
    (["a.kc", "-m", "1G"], "-m/--memory is only for reads"),
    (["a.kc", "--tmp", "."], "--tmp is only for reads"),
    (["a.kc", "--device", "cpu"], "--device is only for reads"),
    (["a.kc", "--gpu-memory", "1G"], "--gpu-memory is only for reads"),
    (["a.kc", "a.kc"],
     "a.kc is a .kc file: hist takes one .kc file alone, or reads; to add up the .kc files: "
     "kcount merge a.kc a.kc -o all.kc, or to print it: kcount hist a.kc"),
    (["a.fq", "a.kc", "-k", "3"], "a.kc is a .kc file: hist takes one .kc file alone"),
    (["a.kc", "--min", "3", "--max", "2"], "--min 3 is above --max 2"),
    (["a.fq", "-k", "3", "--min", "3", "--max", "2"], "--min 3 is above --max 2"),
    (["a.kc", "--genomescope", "--jellyfish"], "ask for different last rows"),
    (["a.kc", "--plot", "--max-count", "10000"], "--plot draws bars: --max-count,"),
    (["a.kc", "--plot", "--genomescope"], "--plot draws bars: "),
    (["a.fq", "-k", "3", "--plot", "--jellyfish"], "--plot draws bars: "),
    (["a.fq", "-k", "256"], "'256'"),
    (["a.fq", "-k", "3", "--device", "tpu"], "--device: 'tpu'"),
    (["a.fq", "-k", "3", "-o", "x"], "'-o'"),
    (["a.fq", "-k", "3", "--json"], "add --gc"),
    (["a.fq", "-k", "3", "--force"], "'--force'"),
    ([], "hist needs FILE.kc | FILE... -k K; for example: kcount hist "),
]


def test_wrong_usage():
    s = Session()
    s.kcount("a.fq", "-k", 3)
    s.write("list", "a.fq\n")
    before = s.names()
    for arguments, message in WRONG:
        expect(s.kcount("hist", *arguments, code=2, message=message), "", f"hist {arguments}")
    expect(s.names(), before, "files")


def test_failures():
    s = Session()
    before = s.names()

    def fails(*arguments, message):
        expect(s.kcount("hist", *arguments, code=1, message=message), "", f"hist {arguments}")
    fails("a.fq", message="a.fq holds reads; count them: kcount hist a.fq -k 31\n")
    fails("--gc", "a.fq", message="a.fq holds reads; count them: kcount hist --gc a.fq -k 31\n")
    fails("--gc", "nowhere", "-k", 3, message="cannot open nowhere")
    fails("--gc", "a.fq", "-k", 3, "--tmp", "nowhere", message="there is no folder nowhere\n")
    s.write("odd", "neither\n")
    fails("odd",
          message="odd is not a .kc file: it does not begin like one; to count the k-mers of "
                         "reads, add -k K\n")
    os.remove(s.path / "odd")
    fails("nowhere", message="cannot open nowhere")
    fails("nowhere", "-k", 3, message="cannot open nowhere")
    fails(s.path, "-k", 3, message=str(s.path))
    fails("-", "-k", 3, message="standard input is empty")
    fails("a.fq", "-k", 3, "--tmp", "nowhere", message="choose another folder with --tmp")
    expect(s.names(), before, "files")
    s.write("bad.fq", READS + "@r3\nACGT\n+\nIII\n" + READS)
    fails("bad.fq", "-k", 3, message="record 3 has 4 bases but 3 quality letters")
    s.kcount("a.fq", "-k", 3)
    with open(s.path / "a.kc") as file:
        s.kcount("hist", "-", "-k", 3, stdin=file, code=1, message="standard input is a .kc file")
    with open("/dev/full", "w") as full:
        s.kcount("hist", "a.fq", "-k", 3, "--quiet", stdout=full, code=1, message="No space left")


def test_interrupted():
    s = Session()
    for options in (["--device", "cpu"], ["--device", "auto"], ["--gc"]):
        started = s.start("hist", "-", "-k", 21, *options, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE)
        started.stdin.write(READS.encode() * 1000)
        started.stdin.flush()
        started.terminate()
        started.stdin.close()
        output = started.stdout.read()
        expect((started.wait(timeout=60) != 0, output), (True, b""), "hist after SIGTERM")
        started.stdout.close()
        started.stderr.close()
    expect(s.names(), ["a.fq"], "files after SIGTERM")


def test_json_of_count():
    s = Session()
    for options in ([], ["--min", 2], ["--max", 3], ["-q", 20]):
        report = json.loads(s.kcount("a.fq", "-k", 3, "--json", "--histogram", "--force", *options))
        rows = "".join(f"{count}\t{kmers}\n" for count, kmers in report["histogram"])
        expect(rows, s.kcount("hist", "a.kc"), f"count --json --histogram {options}")
    report = json.loads(s.kcount(DATA / "phage.fq.gz", "-k", 21, "--json", "--histogram"))
    expect(sum(kmers for _, kmers in report["histogram"]), report["distinct"], "sum of the rows")
    expect(sum(count * kmers for count, kmers in report["histogram"]), report["kmers"],
           "sum of the counts in the rows")
    report = json.loads(s.kcount("a.fq", "-k", 9, "--json", "--histogram", "--force"))
    expect(report["histogram"], [], "count --json --histogram of nothing")
    expect("histogram" in json.loads(s.kcount("a.fq", "-k", 3, "--json", "--force")), False,
           "histogram without --histogram")
    s.kcount("a.fq", "-k", 3, "--force", "--histogram", code=2, message="it needs --json")


main([test_same_rows, test_little_memory, test_gc, test_rows_to_print, test_sources_of_reads,
      test_store_in_a_pipe, test_summary, test_plot, test_plot_on_terminal, test_plot_of_little,
      test_wrong_usage, test_failures, test_interrupted, test_json_of_count])
