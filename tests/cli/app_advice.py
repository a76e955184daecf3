"""
The advice in messages, word for word: each message about a file of the wrong kind, or about a
damaged one, ends with a command that can be pasted.

    app_advice.py KCOUNT SOURCE
"""
import bz2
import gzip
import lzma
import os
import shlex
import shutil
import subprocess

from lib.session import KCOUNT, SOURCE, Session, expect
from lib.tools import main

FASTQ = b"".join(b"@%d\nACGTTGCAACGGATCCATTAGCAT\n+\nIIIIIIIIIIIIIIIIIIIIIIII\n" % i
                 for i in range(9))
FASTA = b">a\nACGTTGCAACGGATCCATTAGCAT\n"
LZMA = "is compressed with lzma, which kcount cannot read; try: "
FOLDER = "is a folder, not a file; "


def scene():
    s = Session()
    s.write("reads.fq.gz", gzip.compress(FASTQ))
    s.write("my reads.fq", FASTQ)
    s.write("genome.fa", FASTA)
    shutil.copy(SOURCE / "data/human.bam", s.path)
    s.kcount("reads.fq.gz", "-k", 9, "--quiet")
    s.kcount("dump", "reads.kc", "-o", "counts.tsv")
    s.write("counts.txt.gz", gzip.compress((s.path / "counts.tsv").read_bytes()))
    s.write("reads.kc.gz", gzip.compress((s.path / "reads.kc").read_bytes()))
    for to, name in ("kmc", "rk"), ("jellyfish", "rk.jf"), ("kff", "rk.kff"), ("fastk", "rf"):
        s.kcount("export", "reads.kc", "--to", to, "-o", name)
    for name in "x.fq.lzma", "y.fq.lzma", "it's.fq.lzma":
        s.write(name, lzma.compress(FASTQ, lzma.FORMAT_ALONE))
    s.write("z.fq.bz2", bz2.compress(FASTQ))
    s.write("z.fq.xz", lzma.compress(FASTQ))
    s.write("bad.kc", (s.path / "reads.kc").read_bytes()[:-40])
    s.kcount("reads.fq.gz", "-k", 9, "--stranded", "-o", "stranded.kc", "--quiet")
    shutil.copy(s.path / "reads.kc", s.path / "grown.kc")
    s.kcount("add", "grown.kc", "reads.fq.gz", "--quiet")
    s.write("grown.kc", (s.path / "grown.kc").read_bytes()[:-40])
    s.write("cut.kff", (s.path / "rk.kff").read_bytes()[:-5])
    block = bytearray((s.path / "reads.kc").read_bytes())
    block[150] ^= 4
    s.write("flip.kc", bytes(block))
    s.write("empty.fq", "")
    s.write("text", "neither\n")
    for name in "folder", "no reads", "old.meryl":
        (s.path / name).mkdir()
    for name in "1.fastq.gz", "2.fastq.gz", "b.bam":
        s.write(f"folder/{name}", b"")
    s.write("old.meryl/merylIndex", b"")
    return s


# commands that read a .kc file, with words after it
READERS = (["dump"], ["info"], ["check"], ["compact"], ["hist"], ["query", "ACGTACGTA"],
           ["range", "A", "C"],
           ["export", "--to", "kff", "-o", "new"], ["merge", "reads.kc", "-o", "new.kc"],
           ["union", "reads.kc", "-o", "new.kc"], ["remove", "ACGTACGTA"], ["add", "reads.fq.gz"],
           ["check", "--repair", "new.kc"])

# what each of them says of a file, after its name
FOREIGN = {
    "reads.fq.gz": "holds reads; count them: kcount reads.fq.gz -k 31",
    "my reads.fq": "holds reads; count them: kcount 'my reads.fq' -k 31",
    "genome.fa": "holds reads; count them: kcount genome.fa -k 31",
    "human.bam": "holds reads; count them: kcount human.bam -k 31",
    "rk.kmc_pre": "is part of a KMC database; convert it: kcount import rk -o rk.kc",
    "rk.kmc_suf": "is part of a KMC database; convert it: kcount import rk -o rk.kc",
    "rk.jf": "is a Jellyfish file; convert it: kcount import rk.jf -o rk.kc",
    "rk.kff": "is a KFF file; convert it: kcount import rk.kff -o rk.kc",
    "rf.ktab": "is a FastK table; convert it: kcount import rf.ktab -o rf.kc",
    "rf.hist": "is a FastK histogram, which holds no k-mers; its .ktab file holds the k-mers",
    "counts.tsv": "is a list of k-mers and their counts; convert it: kcount import counts.tsv -o "
                  "counts.kc",
    "counts.txt.gz": "is a list of k-mers and their counts; convert it: kcount import "
                     "counts.txt.gz -o counts.kc",
    "reads.kc.gz": "is, once decompressed, a .kc file, which holds counts already; decompress it "
                   "first",
    "x.fq.lzma": LZMA + "xz -dc x.fq.lzma | kcount - -k 31 -o x.kc",
    "it's.fq.lzma": LZMA + "xz -dc 'it'\\''s.fq.lzma' | kcount - -k 31 -o 'it'\\''s.kc'",
    "z.fq.bz2": "holds reads; count them: kcount z.fq.bz2 -k 31",
    "z.fq.xz": "holds reads; count them: kcount z.fq.xz -k 31",
    "text": "is not a .kc file: it does not begin like one",
    "empty.fq": "is not a .kc file: it is empty",
    "folder": FOLDER + "name a file in it",
    "old.meryl": FOLDER + "convert it: meryl print old.meryl | kcount import - --canonical -o "
                          "old.kc",
}

# command lines, and the message; K stands for "kcount"
CALLS = [
    ("count x.fq.lzma -k 9", "x.fq.lzma " + LZMA + "xz -dc x.fq.lzma | K count - -k 9 -o x.kc"),
    ("x.fq.lzma -k 9", "x.fq.lzma " + LZMA + "xz -dc x.fq.lzma | K - -k 9 -o x.kc"),
    ("x.fq.lzma y.fq.lzma -k 9,11 --min 2",
     "x.fq.lzma " + LZMA + "xz -dc x.fq.lzma y.fq.lzma | K - -k 9,11 --min 2 -o x.kc"),
    ("reads.fq.gz x.fq.lzma -k 9 -o 'a b.kc'",
     "x.fq.lzma " + LZMA + "xz -dc x.fq.lzma | K reads.fq.gz - -k 9 -o 'a b.kc'"),
    ("hist x.fq.lzma -k 9", "x.fq.lzma " + LZMA + "xz -dc x.fq.lzma | K hist - -k 9"),
    ("add reads.kc x.fq.lzma", "x.fq.lzma " + LZMA + "xz -dc x.fq.lzma | K add reads.kc -"),
    ("query reads.kc -f x.fq.lzma",
     "x.fq.lzma " + LZMA + "xz -dc x.fq.lzma | K query reads.kc -f -"),
    ("import x.fq.lzma -o x.kc", "x.fq.lzma " + LZMA + "xz -dc x.fq.lzma | K import - -o x.kc"),
    ("@list -k 9", "line 1 of the list list: x.fq.lzma " + LZMA + "xz -dc x.fq.lzma | K ... -"),
    ("rk.kmc_suf -k 9", "rk.kmc_suf is part of a KMC database; convert it: K import rk -o rk.kc"),
    ("counts.tsv -k 9", "counts.tsv is a list of k-mers and their counts; convert it: K import "
                        "counts.tsv -o counts.kc"),
    ("folder -k 9", "folder " + FOLDER + "name the files: folder/*.fastq.gz"),
    ("'no reads/' -k 9", "no reads/ " + FOLDER + "it holds no file that looks like reads"),
    ("old.meryl/ -k 9", "old.meryl/ " + FOLDER + "convert it: meryl print old.meryl/ | K import - "
                                              "--canonical -o old.kc"),
    ("query reads.kc -f folder", "folder " + FOLDER + "name a file in it"),
    ("text -k 9", "text is neither FASTQ nor FASTA (nor SAM, BAM or CRAM): it does not begin with "
                  "'@' or '>', but with \"neither\"; name a file of reads: FASTQ, FASTA, SAM, BAM "
                  "or CRAM"),
    ("list -k 9", "list is neither FASTQ nor FASTA (nor SAM, BAM or CRAM): it does not begin with "
                  "'@' or '>', but with \"x.fq.lzma\"; name a file of reads: FASTQ, FASTA, SAM, "
                  "BAM or CRAM; if it is a list of files, write @list"),
    ("add 'no.kc' 'my reads.fq' x.fq.lzma",
     "there is no no.kc yet; to make it: K 'my reads.fq' x.fq.lzma -k 31 -o no.kc"),
    ("reads.fq.gz -k 9 -o none/x.kc", "cannot create none/x.kc: there is no folder none"),
    ("reads.fq.gz reads.kc flip.kc -k 9 -o x.kc",
     "reads.kc is a .kc file, which holds counts already; to add up the .kc files: K merge "
     "reads.kc flip.kc -o all.kc, or to print it: K dump reads.kc"),
    ("add reads.kc flip.kc",
     "flip.kc is a .kc file, which holds counts already; to add up the .kc files: K merge reads.kc "
     "flip.kc -o all.kc, or to print it: K dump flip.kc"),
    ("hist reads.kc flip.kc",
     "reads.kc is a .kc file: hist takes one .kc file alone, or reads; to add up the .kc files: K "
     "merge reads.kc flip.kc -o all.kc, or to print it: K hist reads.kc"),
    ("merge reads.kc stranded.kc -o x.kc",
     "reads.kc holds canonical k-mers, but stranded.kc holds stranded ones; count all files with "
     "--stranded, or all without it; if one was imported, import it again with --canonical"),
    ("dump bad.kc", "bad.kc is truncated: it has BAD bytes, but its footer ends at WHOLE, and it "
                    "has no other; count the reads again"),
    ("reads.fq.gz empty.fq -k 9 -o x.kc",
     "empty.fq is empty; find out why, or skip it with --skip-empty"),
    ("dump empty", "cannot open empty: No such file or directory"),
    ("https://a.org/x.fq.gz -k 9",
     "cannot open https://a.org/x.fq.gz: kcount reads files, not URLs; try: curl -fL "
     "https://a.org/x.fq.gz | K - -k 9 -o x.kc"),
    ("hist reads.fq.gz --max-count 9",
     "reads.fq.gz holds reads; count them: K hist reads.fq.gz --max-count 9 -k 31"),
    ("import reads.fq.gz -o x.kc", "reads.fq.gz holds reads; count them: K reads.fq.gz -k 31"),
    ("import genome.fa -o x.kc", "genome.fa holds reads; count them: K genome.fa -k 31"),
    ("import human.bam -o x.kc", "human.bam holds reads; count them: K human.bam -k 31"),
    ("dump -", "standard input: a .kc file cannot be read from a pipe; name the file"),
    ("import cut.kff -o x.kc",
     "cut.kff is truncated: it does not end with KFF; copy or download the file again"),
    *((f"{command} {name}.kc", None)
      for command in ("dump", "check") for name in ("grown", "flip")),
]


def refused(s, said, *arguments, **how):
    before = s.names()
    s.kcount(*arguments, code=None, **how)
    expect(s.said.splitlines()[:1], [f"kcount: {said}"], f"{arguments}")
    expect(s.code in (1, 2), True, f"{arguments}: exit code {s.code}")
    expect(s.names(), before, f"what {arguments} leaves behind")


def test_foreign_files():
    s = scene()
    for command, *others in READERS:
        for name, said in FOREIGN.items():
            wanted = f"{name} {said}"
            if command == "hist":
                wanted = wanted.replace("count them: kcount ", "count them: kcount hist ")
                if said.startswith("is not a .kc"):
                    wanted += "; to count the k-mers of reads, add -k K"
            if name in ("folder", "old.meryl") and command in ("add", "remove", "compact"):
                continue  # such a file is opened for writing first
            refused(s, wanted, command, name, *others)


def test_calls():
    s = scene()
    s.write("list", "x.fq.lzma\n")
    whole, bad = ((s.path / name).stat().st_size for name in ("reads.kc", "bad.kc"))
    for call, said in CALLS:
        if said is None:
            name = call.split()[-1].partition(".")[0]
            s.kcount(*shlex.split(call), code=1, message="; to copy what is sound: kcount check "
                     f"{name}.kc --repair {name}.repaired.kc\n")
        else:
            said = said.replace("BAD", str(bad)).replace("WHOLE", str(whole))
            refused(s, said.replace("K ", "kcount "), *shlex.split(call))


def test_pipes():
    s = scene()
    said = "a .kc file cannot be read from a pipe; name the file"
    for command, *others in READERS:
        if command in ("add", "remove", "compact"):
            continue
        more = "; to count the k-mers of reads, add -k K" if command == "hist" else ""
        if command == "hist":
            refused(s, "/dev/stdin: " + said + more, command, "/dev/stdin", stdin=subprocess.PIPE)
            continue
        refused(s, "standard input: " + said, command, "-", *others)
        with subprocess.Popen(["cat", s.path / "reads.kc"], stdout=subprocess.PIPE) as pipe:
            refused(s, f"/dev/stdin: {said}", command, "/dev/stdin", *others, stdin=pipe.stdout)
        os.mkfifo(s.path / "fifo")
        refused(s, f"fifo: {said}", command, "fifo", *others)
        os.remove(s.path / "fifo")
    with open(s.path / "reads.kc", "rb") as file:
        expect(s.kcount("dump", "/dev/stdin", stdin=file), s.read("counts.tsv"), "a file on stdin")


def test_short_queries():
    s = scene()
    for path, text, word in ("reads.kc", "ACGT", "ACGT"), ("a b.kc", "acgu", "acgu"):
        shutil.copy(s.path / "reads.kc", s.path / "a b.kc")
        refused(s, f"'{text}' is 4 letters long, but k is 9; for k-mers that begin with it: kcount "
                f"range {shlex.quote(path)} {word} {word}", "query", path, text)
        expect(s.kcount("range", path, text, text),
               "".join(line for line in s.read("counts.tsv").splitlines(True)
                       if line.startswith("ACGT")), "what the advice prints")
    for text in "ACNT", "":
        refused(s, f"'{text}' is {len(text)} letters long, but k is 9", "query", "reads.kc", text)


def test_advice_works():
    """The commands do what they promise."""
    if shutil.which("xz") is None:
        return
    s = scene()
    bin_folder = s.path / "bin"
    bin_folder.mkdir()
    (bin_folder / "kcount").symlink_to(KCOUNT)
    want = s.read("counts.tsv")
    for call, made in ((["dump", "rk.kmc_pre"], "rk.kc"), (["info", "counts.txt.gz"], "counts.kc"),
                       (["x.fq.lzma", "-k", "9", "--quiet"], "x.kc"),
                       (["dump", "rf.ktab"], "rf.kc")):
        s.kcount(*call, code=1)
        advice = s.said.strip().partition("it: " if "it: " in s.said else "try: ")[2]
        subprocess.run(advice, shell=True, cwd=s.path, check=True, stderr=subprocess.PIPE,
                       env={**os.environ, "PATH": f"{bin_folder}:{os.environ['PATH']}"})
        expect(s.kcount("dump", made), want, advice)


main([test_foreign_files, test_calls, test_pipes, test_short_queries, test_advice_works])
