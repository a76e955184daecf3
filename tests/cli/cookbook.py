"""
The recipes in docs/other-programs.md, and some of docs/usage.md: kcount's commands run as they are
printed there.

    cookbook.py KCOUNT SOURCE
"""
import gzip
import math
import os
import random
import re
import shutil
import subprocess

from lib.session import KCOUNT, SOURCE, Session, expect
from lib.tools import Failure, main, same_text

PAGE = (SOURCE / "docs/other-programs.md").read_text()
# What a workflow puts in place of the names in its command.
VALUES = {"{input}": "reads.fq.gz", "{output}": "sample.kc", "{threads}": "2",
          "{resources.mem_mb}": "300", "$reads": "reads_1.fq.gz", "$task.cpus": "2",
          "${task.memory.mega}": "300"}


def section(heading, page=PAGE):
    """The text below a heading, up to the next heading."""
    return page.partition(f"\n{heading}\n")[2].partition("\n#")[0]


def calls(heading):
    """A section's commands that run kcount, without those that need another program's files."""
    text = section(heading).replace("\\\n", " ")
    lines = [line.strip() for line in text.split("\n") if line.startswith("    ")]
    found = [line for line in lines if line.startswith(("kcount ", "zcat "))]
    expect(found != [], True, f"commands below '{heading}'")
    return found


def shell(s, call):
    environment = dict(os.environ, PATH=f"{KCOUNT.parent}:{os.environ['PATH']}")
    done = subprocess.run(["bash", "-e", "-o", "pipefail", "-c", call], cwd=s.path,
                          env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode != 0:
        raise Failure(f"{call}: exit {done.returncode}\n{done.stderr.decode()}")


def with_reads():
    s = Session()
    text = "".join(random.Random(9).choices("ACGT", k=400))
    reads = "".join(f"@r\n{text[i:i + 100]}\n+\n{'I' * 100}\n" for i in range(0, 300, 7)) * 3
    for name in "reads.fq.gz", "reads_1.fq.gz", "reads_2.fq.gz":
        s.write(name, gzip.compress(reads.encode()))
    return s


def with_assemblies(*names):
    """Reads, and these files of the sequence that they are of; the second contig has an error."""
    s = with_reads()
    right = "".join(random.Random(9).choices("ACGT", k=400))[:320]
    for name in names:
        s.write(name, f">a one\n{right}\n>b\n{right[:100]}{'ACGT' * 10}{right[100:200]}\n")
    return s


def run_usage(s, heading):
    """All commands in a section of docs/usage.md."""
    lines = section(heading, (SOURCE / "docs/usage.md").read_text()).split("\n")
    shell(s, "\n".join(line for line in lines if line.startswith("    ")))


def check_recipe(heading, *files):
    s = with_reads()
    for call in calls(heading):
        shell(s, call)
    for name in files:
        expect((s.path / name).stat().st_size > 0, True, f"{name} of '{heading}'")


def test_recipes():
    check_recipe("### Ploidy: Smudgeplot", "sample.ktab", ".sample.ktab.1", "sample.hist")
    check_recipe("### Quality of an assembly: Merqury.FK", "reads.ktab", ".reads.ktab.1")
    check_recipe("### Genotypes from a pangenome: PanGenie", "sample.jf")
    check_recipe("### A pangenome for one sample: vg haplotype sampling", "sample.kff")
    check_recipe("### Genome size, heterozygosity, repeats: GenomeScope 2", "histogram.txt")
    check_recipe("### Python: pandas and pyarrow", "reads.arrow")


def test_several_k():
    s = with_reads()
    shell(s, calls("## Recipes")[0])
    for k in 21, 29, 31:
        s.kcount("check", f"sample.k{k}.kc")


def test_workflows():
    s = with_reads()
    commands = re.findall(r'"(kcount [^"]*)"', section("### Workflows"))
    expect(len(commands), 2, "commands of workflows")
    for command in commands:
        for name, value in VALUES.items():
            command = command.replace(name, value)
        shell(s, command)
    s.kcount("check", "sample.kc")
    s.kcount("check", "reads_1.kc")


def test_multiqc():
    s = with_reads()
    s.kcount("reads.fq.gz", "-k", 21)
    for call in calls("### Plots in a report: MultiQC"):
        shell(s, call)
    expect("1 " in s.read("sample_jf.hist"), True, "rows")


def test_imports():
    """Each import restores the k-mers that its input was exported from."""
    s = with_reads()
    s.kcount("reads.fq.gz", "-k", 31)
    wanted = s.kcount("dump", "reads.kc")
    for name, to in (("sample.kff", "kff"), ("sample.jf", "jellyfish"), ("sample", "kmc"),
                     ("sample", "fastk")):
        s.kcount("export", "reads.kc", "--to", to, "-o", name)
    s.write("counts.tsv.gz", gzip.compress(wanted.encode()))
    found = calls("## Import")
    expect(len(found), 5, "number of imports")
    for call in found:
        shell(s, call)
        same_text(s.kcount("dump", "sample.kc"), wanted, call)
        os.unlink(s.path / "sample.kc")


def test_profile():
    """The commands of docs/usage.md that look for parts of an assembly in reads."""
    s = with_assemblies("assembly.fa")
    run_usage(s, "### Which parts of an assembly are in the reads?")
    expect(s.read("contigs.tsv").splitlines()[1].split("\t")[:5],
           ["a", "320", "290", "290", "1.000000"], "the first contig")
    expect(s.read("unsupported.bed"), "b\t71\t139\tabsent\n",
           "what no read supports: the insertion's ends happen to be right")


def test_report():
    """Reports on reads and on two assemblies of them; Merqury's files."""
    s = with_assemblies("hap1.fa", "hap2.fa", "hap1.fasta")
    run_usage(s, "### A genome and its assembly on one page: report")
    for name in "genome.html", "assembly.html":
        expect("<h1>" in s.read(name), True, name)
    expect(s.read("out.hap1.absent.bed").startswith("b\t"), True, "tracks")
    for call in calls("### Quality of an assembly: Merqury"):
        shell(s, call)
    name, absent, windows, value, _ = s.read("out.qv").splitlines()[0].split("\t")
    expect((name, int(windows), int(absent) > 0), ("hap1", 520, True), "out.qv")
    wanted = -10 * math.log10(1 - (1 - int(absent) / int(windows)) ** (1 / 21))
    expect(value, f"{wanted:.6g}", "QV")


def test_spectrum():
    """The commands of docs/usage.md that compare reads with an assembly."""
    s = with_reads()
    right = "".join(random.Random(9).choices("ACGT", k=400))[:320]
    s.write("assembly.fa", f">a\n{right[:250]}\n>b\n{'ACGT' * 10}{right[:100]}\n")
    run_usage(s, "### Which k-mers do reads and an assembly have, and how often? compare")
    reads, contigs = (dict(line.split("\t") for line in s.kcount("dump", name).splitlines())
                      for name in ("reads.kc", "assembly.kc"))
    solid = [kmer for kmer, count in reads.items() if int(count) >= 5]
    alone = sum(int(count) for kmer, count in contigs.items() if kmer not in reads)
    head, *lines = s.read("spectrum.tsv").splitlines()
    expect(head.split("\t"), ["count_a", "count_b", "distinct", "sum_a", "sum_b"], "columns")
    rows = [tuple(map(int, line.split("\t"))) for line in lines]
    expect([sum(n for a, b, n, *_ in rows if a >= 5 and b >= least) for least in (0, 1)],
           [len(solid), sum(kmer in contigs for kmer in solid)], "solid k-mers; those found")
    expect([sum(n for a, *_, n in rows if a == 0), sum(row[-1] for row in rows)],
           [alone, sum(map(int, contigs.values()))], "k-mers of the assembly alone; all of them")
    expect(0 < alone < 100, True, "some k-mers of the assembly alone")


def test_coming_from_kat():
    s = Session()
    worm, phage = fastq_of_worm()
    s.write("r.fq", "".join(worm + phage))
    s.write("a.fa", f">a\n{worm[0].splitlines()[1]}\n")
    rows = rows_of("## From KAT", (SOURCE / "docs/from-kmc-and-jellyfish.md").read_text())
    for call in [call for row in rows for call in row if call.startswith("kcount ")]:
        shell(s, f"{call} > printed" if ">" not in call and "-o" not in call else call)
    for name, nrows, ncolumns in (("r.mx", 28, 1001), ("ra-main.mx", 1001, 1001)):
        lines = s.read(name).split("###\n")[1].splitlines()
        expect((len(lines), {len(line.split(" ")) for line in lines}), (nrows, {ncolumns}), name)
    shell(s, f"{rows[2][-1]} {rows[3][0]} --force")
    expect(len(s.read("ra-main.mx").split("###\n")[1].splitlines()), 2001, "rows")


def test_comparison():
    """A .kc file has the names of its inputs; the comparison of docs/usage.md disregards them."""
    s = with_reads()
    s.kcount("reads.fq.gz", "-k", 21, "-o", "a.kc")
    s.kcount("./reads.fq.gz", "-k", 21, "-o", "b.kc")
    a, b = ((s.path / name).read_bytes() for name in ("a.kc", "b.kc"))
    expect(a == b, False, "the same bytes")
    text = section("### Are two files the same?", (SOURCE / "docs/usage.md").read_text())
    shell(s, re.search(r"(?m)^    (cmp .*)$", text)[1])


def fastq_of_worm():
    """Pieces of the worm's sequence as reads, and the first reads of the phage: FASTQ records."""
    lines = gzip.decompress((SOURCE / "data/worm.fa.gz").read_bytes()).decode().splitlines()
    bases = "".join(lines[1:201]).replace("N", "A")
    worm = [f"@worm{i}\n{bases[i:i + 150]}\n+\n{'I' * 150}\n" for i in range(0, 9000, 90)]
    text = gzip.decompress((SOURCE / "data/phage.fq.gz").read_bytes()).decode()
    lines = text.splitlines(keepends=True)[:4 * 100]
    return worm, ["".join(lines[i:i + 4]) for i in range(0, len(lines), 4)]


def sam_line(number, read):
    """A read that is not aligned, as SAM."""
    _, bases, _, quality = read.splitlines()
    return "\t".join((f"r{number}", "4", *"*00**00", bases, quality)) + "\n"


def test_filter():
    """Without the host's reads, those of one sequence, and those with rare k-mers."""
    s = Session()
    worm, phage = fastq_of_worm()
    both = [read for pair in zip(worm, phage) for read in pair]
    for name in "r_1.fq.gz", "r_2.fq.gz", "reads.fq.gz":
        s.write(name, gzip.compress("".join(both).encode()))
    s.write("x.bam", "".join(sam_line(i, read) for i, read in enumerate(both)))
    for name in "host.kc", "plastid.kc":
        s.kcount(SOURCE / "data/worm.fa.gz", "-k", 31, "-o", name)
    s.kcount("reads.fq.gz", "-k", 31)
    page = (SOURCE / "docs/usage.md").read_text()
    text = section("### Which reads have these k-mers? filter", page)
    found = [line.strip() for line in text.split("\n") if line.startswith("    kcount ")]
    expect(len(found), 4, "number of calls of filter")
    for call in found:
        shell(s, call)
    for name, reads in (("clean_1.fq.gz", phage), ("clean_2.fq.gz", phage), ("plastid.fq.gz", worm),
                        ("others.fq.gz", phage)):
        same_text(gzip.decompress((s.path / name).read_bytes()).decode(), "".join(reads), name)
    expect(len(s.read("reads.tsv").splitlines()), 201, "lines of reads.tsv")
    expect(0 < len(s.read("rare.txt").splitlines()) < 201, True, "some names")
    collate = re.search(r"`(samtools collate [^`]*)`", text)[1]
    if shutil.which("samtools"):
        shell(s, f"{collate} | kcount filter plastid.kc - --drop -o y.bam --names y")
        expect(len(s.read("y").splitlines()), len(phage), "alignments from a pipe")


def rows_of(heading, page):
    """For each row of a section's table, the commands and options in its last column."""
    lines = [line for line in section(heading, page).split("\n") if line.startswith("| ")]
    return [re.findall(r"`([^`]+)`", line.split(" | ")[-1]) for line in lines[1:]]


def mates(reads):
    """The reads, all with one name."""
    return ["@r\n" + read.partition("\n")[2] for read in reads]


def expect_reads(s, name, wanted):
    same_text(s.read(name), "".join(wanted), name)


def test_coming_from():
    """What other programs do, with kcount: the commands of the table, one after the other."""
    s = Session()
    worm, phage = fastq_of_worm()
    n = len(phage)
    mixed = [read for pair in zip(worm, phage) for read in pair]
    sequences = [f">s\n{read.splitlines()[1]}\n" for read in phage]
    first, second = mates(phage + worm[:n]), mates(2 * worm[:n])
    for name, text in (("r.fq", mixed), ("r_1.fq", first), ("r_2.fq", second),
                       ("s.fa", sequences[:2]), ("phix.fa", sequences), ("host.fa", sequences)):
        s.write(name, "".join(text))
    rows = rows_of("## From BBDuk, meryl-lookup or deacon",
                   (SOURCE / "docs/from-kmc-and-jellyfish.md").read_text())
    alone, counts, (pairs, both), (has, drop), existence, positions, host = rows
    for call in alone:
        shell(s, call)
    expect_reads(s, "o.fq", worm[:n])
    expect_reads(s, "m.fq", phage)
    for option in counts:
        shell(s, f"{alone[1]} {option} --force")
        expect_reads(s, "m.fq", phage)
    shell(s, pairs)
    expect_reads(s, "o_1.fq", first[n:])
    expect_reads(s, "o_2.fq", second[n:])
    shell(s, f"{pairs} {both} --force")
    expect_reads(s, "o_1.fq", first)
    shell(s, "cp phix.kc db.kc")
    shell(s, has)
    expect_reads(s, "i.fq", phage)
    shell(s, f"{has} {drop} --force")
    expect_reads(s, "i.fq", worm[:n])
    for call in existence + positions:
        shell(s, call)
    expect(len(s.read("s.tsv").splitlines()), 3, "lines of s.tsv")
    expect(s.read("s.wig").startswith(("track", "fixedStep", "variableStep")), True, "s.wig")
    for call in host:
        shell(s, call)
    expect_reads(s, "c_1.fq", first[n:])


main([test_filter, test_coming_from, test_recipes, test_several_k, test_workflows, test_multiqc,
      test_imports, test_profile, test_report, test_spectrum, test_coming_from_kat,
      test_comparison])
