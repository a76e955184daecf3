"""
What every command prints, letter by letter, on reads small enough to be checked by hand.

    app_commands.py KCOUNT SOURCE
"""
import gzip
import json
import re

from lib.session import READS, Session, expect, expect_file
from lib.tools import main


def counted(*options):
    s = Session()
    s.kcount("a.fq", "-k", 3, "--quiet", *options)
    expect(s.said, "", "standard error under --quiet")
    return s


def test_dump():
    s = counted()
    expect_file(s.kcount("dump", "a.kc"), "dump")
    expect_file(s.kcount("dump", "a.kc", "-t", 1), "dump")
    expect_file(s.kcount("dump", "a.kc", "--fasta"), "dump.fa")
    tabs = s.kcount("dump", "a.kc")
    expect(s.kcount("dump", "a.kc", "--columns", "tab"), tabs, "dump --columns tab")
    expect(s.kcount("dump", "a.kc", "--columns", "space"), tabs.replace("\t", " "),
           "dump --columns space")
    expect(s.kcount("dump", "a.kc", "--min", 3), "ACG\t6\nGTA\t3\n", "dump --min")
    expect(s.kcount("dump", "a.kc", "--min", 2, "--max", 3), "AAA\t2\nGTA\t3\n", "dump --min --max")
    s.kcount("dump", "a.kc", "-o", "dump.txt")
    expect_file(s.read("dump.txt"), "dump")
    s.kcount("dump", "a.kc", "--fasta", "-o", "dump.txt", "--force")
    expect_file(s.read("dump.txt"), "dump.fa")
    expect_file(s.kcount("dump", "a.kc", "-o", "-"), "dump")


def test_stranded_quality_and_bounds():
    expect_file(counted("--stranded").kcount("dump", "a.kc"), "dump.stranded")
    expect_file(counted("-q", 20).kcount("dump", "a.kc"), "dump.quality")
    s = counted("--min", 2, "--max", 3)
    expect(s.kcount("dump", "a.kc"), "AAA\t2\nGTA\t3\n", "count --min --max")
    s.kcount("check", "a.kc")


def test_hist():
    s = counted()
    expect(s.kcount("hist", "a.kc"), "1\t4\n2\t1\n3\t1\n6\t1\n", "hist")
    expect(s.kcount("hist", "a.kc", "--max-count", 2), "1\t4\n2\t3\n", "hist --max-count 2")
    expect(s.kcount("hist", "a.kc", "--max-count", 4), "1\t4\n2\t1\n3\t1\n4\t1\n", "hist, no row 4")
    expect(s.kcount("hist", "a.kc", "--max-count", 6), "1\t4\n2\t1\n3\t1\n6\t1\n",
           "hist at the top")
    below = "1\t4\n2\t1\n3\t1\n"
    for most, wanted in ((1, "1\t15\n"), (2, "1\t4\n2\t5\n"), (4, below + "4\t1\n"),
                         (5, below + "5\t1\n"), (6, below + "6\t1\n"), (7, below + "6\t1\n")):
        expect(s.kcount("hist", "a.kc", "--genomescope", "--max-count", most), wanted,
               f"hist --genomescope --max-count {most}")
    below = below.replace("\t", " ")
    for most, wanted in ((1, "1 4\n2 3\n"), (3, below + "4 1\n"), (5, below + "6 1\n"),
                         (6, below + "6 1\n"), (2**32 - 1, below + "6 1\n")):
        expect(s.kcount("hist", "a.kc", "--jellyfish", "--max-count", most), wanted,
               f"hist --jellyfish --max-count {most}")
    expect(s.kcount("hist", "a.kc", "--jellyfish"), below + "6 1\n", "hist --jellyfish")


def test_query():
    s = counted()
    expect(s.kcount("query", "a.kc", "CGT", "acguA", "TTT", "GGG"),
           "CGT\t6\nACG\t6\nCGT\t6\nGTA\t3\nTTT\t2\nGGG\t0\n", "query of arguments")
    wanted = "TAC\t3\nGGG\t0\nTTT\t2\n"
    s.write("plain.txt", "TAC\t17\n\nggg\r\nTTT")
    s.write("q.fa", ">a b\nT\nAC\n\n>empty\n>b\nGGG\n>c\nTTT")
    s.write("q.fq", "@a\nTA\nC\n+a\n@@\n@\n@b\nGGG\n+\nIII\n@c\nTTT\n+\n+++")
    s.write("q.fa.gz", gzip.compress(s.read("q.fa").encode()))
    for name in ("plain.txt", "q.fa", "q.fq", "q.fa.gz"):
        expect(s.kcount("query", "a.kc", "-f", name), wanted, f"query -f {name}")
    expect(s.kcount("query", "a.kc", "-f", "-", text="TAC\nGGG\nTTT\n"), wanted, "query -f -")
    expect(s.kcount("query", "a.kc", "AAA", "--file=plain.txt"), "AAA\t2\n" + wanted,
           "query of both")
    s.write("odd.fa", ">n\nTTTNACGNN\n>short\nAC\n")
    expect(s.kcount("query", "a.kc", "-f", "odd.fa", message="3 letters outside ACGTU"),
           "TTT\t2\nACG\t6\n", "query over N")
    s.kcount("query", "a.kc", "-f", "odd.fa", message="1 sequence is shorter than k = 3")
    s.kcount("query", "a.kc", "-f", "odd.fa", "--quiet")
    expect(s.said, "", "query --quiet")
    s.write("empty", "")
    expect(s.kcount("query", "a.kc", "-f", "empty", message="warning: empty has no sequences"), "",
           "query of nothing")
    expect(s.kcount("dump", "a.kc"), s.kcount("query", "a.kc", "-f", "-",
                                              text=s.kcount("dump", "a.kc")),
           "query of a dump")


def test_sums_with_filtered_files():
    """Adding to a file from which k-mers were dropped gives a warning."""
    s = counted()
    warning = "warning: few.kc lacks k-mers that --min or --max dropped"
    s.write("more.fa", ">r\nACGTACGGGTT\n")
    s.kcount("count", "more.fa", "-k", 3, "--min", 2, "-o", "few.kc")
    for command, options, warns in (("merge", (), True), ("union", (), True),
                                    ("union", ("--counts", "max"), False),
                                    ("intersect", (), False), ("subtract", (), False)):
        s.kcount(command, "a.kc", "few.kc", *options, "--force", "-o", "x.kc", "--quiet")
        expect(warning in s.said, warns, f"{command} {options}: {s.said}")
    s.kcount("add", "few.kc", "more.fa", message=warning)
    s.kcount("add", "a.kc", "more.fa", "--quiet")
    expect(s.said, "", "add to a whole file")


def test_query_in_order_with_threads():
    s = Session()
    s.kcount("a.fq", "-k", 2, "--quiet")
    asked = "".join("ACGT"[i * i * 7 % 4] + "ACGT"[i // 5 % 4] for i in range(300000))
    s.write("long.fa", ">x\n" + asked + "\n")
    counts = dict(line.split("\t") for line in s.kcount("dump", "a.kc").splitlines())
    swap = str.maketrans("ACGT", "TGCA")

    def answer(kmer):
        other = kmer.translate(swap)[::-1]
        return kmer + "\t" + counts.get(min(kmer, other), "0")
    wanted = [answer(asked[i:i + 2]) for i in range(len(asked) - 1)]
    for threads in (1, 3):
        got = s.kcount("query", "a.kc", "-f", "long.fa", "-t", threads).splitlines()
        expect(got == wanted, True, f"300,000 queries in order, {threads} threads")


def test_range():
    s = counted()
    expect(s.kcount("range", "a.kc", "A", "AC"), "AAA\t2\nACA\t1\nACG\t6\n", "range A AC")
    expect(s.kcount("range", "a.kc", "aca", "CAA"), "ACA\t1\nACG\t6\nCAA\t1\n",
           "range, both included")
    expect(s.kcount("range", "a.kc", "A", "AC", "--count"), "3\t9\n", "range --count")
    expect(s.kcount("range", "a.kc", "", ""), s.kcount("dump", "a.kc"), "range of all")
    expect(s.kcount("range", "a.kc", "TG", "U"), "", "range of nothing")
    expect(s.kcount("range", "a.kc", "TG", "U", "--count"), "0\t0\n", "range of nothing --count")


def test_info_and_check():
    s = counted()
    report = json.loads(s.kcount("info", "a.kc", "--json"))
    for key, value in {"k": 3, "stranded": False, "distinct": 7, "unique": 4, "largest_count": 6,
                       "sum": 15, "counted_kmers": 15, "reads": 2, "bases": 22,
                       "skipped_letters": 1, "inputs": ["a.fq"], "file": "a.kc", "runs": 1}.items():
        expect(report[key], value, f"info --json, {key}")
    expect("distinct k-mers        7\n" in s.kcount("info", "a.kc"), True, "info")
    expect(s.kcount("check", "a.kc"),
           "a.kc: ok, 7 distinct k-mers, sum of counts 15, 15 k-mers counted\n", "check")
    expect(json.loads(s.kcount("check", "a.kc", "--json")),
           {"file": "a.kc", "ok": True, "distinct": 7, "sum": 15, "counted_kmers": 15},
           "check --json")


def test_derived_sums():
    """The sum is that of the file, counted_kmers that of its inputs; no field is called kmers."""
    s = counted()
    s.kcount("merge", "a.kc", "--min", 2, "-o", "b.kc")
    for command in "info", "check":
        report = json.loads(s.kcount(command, "b.kc", "--json"))
        expect((report["distinct"], report["sum"], report["counted_kmers"], "kmers" in report),
               (3, 11, 15, False), command)
    text = s.kcount("info", "b.kc")
    for line in "sum of counts          11\n", "k-mers counted         15\n":
        expect(line in text, True, text)
    expect(s.kcount("check", "b.kc"),
           "b.kc: ok, 3 distinct k-mers, sum of counts 11, 15 k-mers counted\n", "check")


def bounds(s, name):
    """What info says about the filter, as text, without a bound that is none; its JSON must say the
    same."""
    report = json.loads(s.kcount("info", name, "--json"))
    found = {"min": "1", "max": "4294967295"}
    for line in s.kcount("info", name).splitlines():
        if "est count kept" in line:
            which, bound = "min" if line.startswith("small") else "max", line[23:].replace(",", "")
            expect(bound == found[which], False, f"a bound that is none, in {line!r}")
            found[which] = bound
    wanted = [f"mixed at {word} {report[key]}" if report[f"{key}_is_mixed"] else str(report[key])
              for key, word in (("min_count", "least"), ("max_count", "most"))]
    expect(list(found.values()), wanted, f"bounds of {name}")
    return wanted


def test_mixed_filters():
    """A file whose counts were filtered differently before they were added up does not look as if
    it were unfiltered."""
    s, most = counted(), "4294967295"
    s.kcount("a.fq", "-k", 3, "--min", 2, "--max", 5, "-o", "both.kc")
    s.kcount("a.fq", "-k", 3, "--min", 2, "-o", "two.kc")
    expect(bounds(s, "both.kc"), ["2", "5"], "one run")
    for name, wanted in (("both.kc", ["mixed at least 1", f"mixed at most {most}"]),
                         ("two.kc", ["mixed at least 1", most])):
        s.kcount("merge", name, "a.kc", "-o", "merged.kc", "--force")
        s.kcount("add", name, "a.fq")
        expect(bounds(s, name), wanted, f"{name} after add")
        s.kcount("compact", name)
        expect(bounds(s, name), wanted, f"{name} after compact")
        expect((s.path / name).read_bytes() == (s.path / "merged.kc").read_bytes(), True, "merge")
        s.kcount("add", name, "a.fq")
        expect("lacks k-mers that --min or --max dropped" in s.said, True, s.said)
        s.kcount("compact", name, "--min", 3)
        expect(bounds(s, name), ["mixed at least 3", wanted[1]], f"{name} after compact --min")
        s.kcount("check", name, "--repair", "copy.kc", "--force")
        expect((s.path / name).read_bytes() == (s.path / "copy.kc").read_bytes(), True, "repair")
        s.kcount("intersect", name, "a.kc", "-o", "common.kc", "--force")
        expect(bounds(s, "common.kc"), ["1", most], "intersect")
    s.kcount("a.fq", "-k", 3, "--max", 5, "-o", "five.kc")
    s.kcount("a.fq", "-k", 3, "--max", 5, "-o", "other.kc")
    s.kcount("union", "five.kc", "other.kc", "-o", "ten.kc")
    expect(bounds(s, "ten.kc"), ["1", f"mixed at most {most}"], "sums may be above the bound")
    s.kcount("add", "a.kc", "a.fq")
    s.kcount("compact", "a.kc")
    expect(bounds(s, "a.kc"), ["1", most], "no filter")


def test_summary():
    s = Session()
    s.kcount("a.fq", "-k", 3, "--device", "cpu")
    wanted = """\
  reads                                   2
  bases                                  22   1 skipped (not A, C, G, T)
  3-mers                                 15
    distinct                              7
    seen once                             4   57.1%
wrote a.kc, """
    expect(s.said[:len(wanted)], wanted, "all but the size and the last line")
    s.kcount("a.fq", "-k", 3, "--force", "-t", 1, "--device", "cpu")
    expect(re.search(r", [\d.]+ (bytes|KiB)\n\d\.\d\d s on 1 thread, [\d.]+ MiB of memory\n$",
                     s.said)
           is not None, True, f"the last lines of {s.said!r}")
    s.write("clean.fa", ">c\nACGT\n")
    s.kcount("clean.fa", "-k", 3)
    expect("  bases                                   4\n" in s.said, True,
           f"nothing skipped in {s.said!r}")
    report = json.loads(s.kcount("count", "a.fq", "-k", 3, "--force", "--json", "--min", 2, "-q",
                                 20,
                               "--no-progress"))
    for key, value in {"k": 3, "reads": 2, "bases": 22, "skipped_letters": 1,
                       "low_quality_bases": 1,
                       "distinct": 4, "dropped_distinct": 1, "output": "a.kc",
                       "inputs": ["a.fq"]}.items():
        expect(report[key], value, f"count --json, {key}")
    expect(report["device"] == "cpu" or report["device"].startswith("cuda:"), True,
           "count --json, device")
    report = json.loads(s.kcount("a.fq", "-k", 3, "--force", "--json", "--device", "cpu"))
    expect(report["device"], "cpu", "count --json --device cpu, device")
    s.write("odd \"name\"\\\n.fq", READS)
    report = json.loads(s.kcount("odd \"name\"\\\n.fq", "-k", 3, "--json"))
    expect(report["inputs"], ["odd \"name\"\\\n.fq"], "a name with quotes, as JSON")


def test_filtered_summary():
    """The summary says what is in the file, as info does."""
    s = Session()
    for options, words in ((["--min", 2], "2 or more"), (["--max", 3], "3 or fewer"),
                           (["--min", 2, "--max", 4], "2 to 4"),
                           (["--min", 2, "--max", 2], "exactly 2"),
                           (["--max", 1], "1 or fewer"), (["--min", 1], None)):
        s.kcount("a.fq", "-k", 3, "-q", 1, "--force", *options)
        found = re.findall(r"\n    kept \((.*)\) +([\d,]+)   [\d.]+%\n", s.said)
        distinct = re.search(r"\ndistinct k-mers +(.*)\n", s.kcount("info", "a.kc"))[1]
        expect(found, [(words, distinct)] if words else [], f"kept with {options}")
        s.kcount("a.fq", "-k", 3, "-q", 20, "--force", *options)
        expect("\n    under quality 20                      1   4.5%\n" in s.said, True, s.said)
    s.kcount("add", "a.kc", "a.fq")
    expect("kept" in s.said, False, "a run that was added is not filtered")


def test_info():
    """info leaves out what is 0 or the default, and no line of it is long."""
    s = Session()
    s.kcount("a.fq", "-k", 3)
    labels = [line[:22].strip() for line in s.kcount("info", "a.kc").splitlines()]
    expect(labels, ["file", "size", "format version", "k", "strands", "distinct k-mers",
                    "seen once",
                    "largest count", "sum of counts", "k-mers counted", "reads", "bases",
                    "letters skipped", "inputs"], "lines of info")
    s.kcount("compact", "a.kc", "--min", 2)
    lines = s.kcount("info", "a.kc")
    for label in "smallest count kept", "distinct dropped", "k-mers dropped":
        expect(label in lines, True, f"{label} in {lines}")
    expect("largest count kept" in lines, False, lines)
    s.kcount("add", "a.kc", "a.fq")
    lines = s.kcount("info", "a.kc").splitlines()
    expect([line for line in lines if len(line) > 80], [], "long lines")
    expect("sorted runs            2" in lines, True, f"sorted runs in {lines}")


def test_combining_summary():
    """The summary of what reads .kc files."""
    s = Session()
    s.kcount("a.fq", "-k", 3)
    s.kcount("merge", "a.kc", "a.kc", "-o", "b.kc",
             message="2 files, 14 3-mers -> 7 distinct, sum of counts 30\nwrote b.kc, ")
    s.kcount("add", "a.kc", "a.fq")
    s.kcount("compact", "a.kc",
             message="1 file with 2 sorted runs, 14 3-mers -> 7 distinct, sum of counts 30\n"
                     "wrote a.kc, ")
    s.kcount("subtract", "a.kc", "a.kc", "-o", "none.kc", message=" 3-mers -> none left\n")
    s.kcount("compact", "a.kc", message="\nnothing to do for a.kc, ")
    s.kcount("remove", "a.kc", "ACG", "-t", 1, message=" on 1 thread, ")
    expect("removed from a.kc, now 2 runs, " in s.said, True, s.said)


def test_reader_only():
    s = Session()
    report = json.loads(s.kcount("a.fq", "-k", 3, "--reader-only", "--json"))
    expect((report["reads"], report["bases"], "distinct" in report), (2, 22, False),
           "--reader-only --json")
    expect("3-mers" in s.said or "wrote" in s.said, False, "--reader-only")
    expect(s.names(), ["a.fq"], "what --reader-only leaves behind")


def test_names_of_the_output():
    s = Session()
    s.write("count", READS)
    s.write("list.txt", "a.fq\ncount\n")
    for arguments, output in ((["./count"], "count.kc"), (["@list.txt"], "list.kc"),
                              (["-"], "stdin.kc"),
                              (["a.fq", "-o", "x y"], "x y"), (["--", "a.fq"], "a.kc")):
        s.kcount("-k", 3, *arguments, text=READS)
        s.kcount("check", output)
    expect(s.kcount("info", "list.kc", "--json").count("\"a.fq\""), 1, "@LIST is resolved")
    s.kcount("count", "count", "-k", 3, "--force")
    s.kcount("count", "--output=other.kc", "-k3", "a.fq", "-t2")


def test_nothing_to_count():
    s = Session()
    s.kcount("a.fq", "-k", 9, message="warning: no k-mer was kept")
    expect(s.kcount("dump", "a.kc"), "", "dump of nothing")
    expect(s.kcount("hist", "a.kc"), "", "hist of nothing")
    expect(s.kcount("query", "a.kc", "ACGTACGTA"), "ACGTACGTA\t0\n", "query of nothing")
    s.kcount("check", "a.kc")


main([test_dump, test_stranded_quality_and_bounds, test_hist, test_query,
      test_sums_with_filtered_files, test_query_in_order_with_threads, test_range,
      test_info_and_check, test_derived_sums, test_mixed_filters, test_summary,
      test_filtered_summary, test_info, test_combining_summary, test_reader_only,
      test_names_of_the_output, test_nothing_to_count])
