"""
Damaged .kc files: what the commands answer, warn about and refuse; check and check --repair.

    damage.py KCOUNT SOURCE
"""
import json
import shutil
import struct

from lib.session import SOURCE, Session, expect
from lib.tools import Failure, main

K = 21
READS = ["ACGTTGCAACGGATCCATTAGCAT" + "A" * (30 + i) for i in (1, 2, 3)]
GOLDEN = SOURCE / "tests/golden"
COMPLEMENT = str.maketrans("ACGT", "TGCA")


def count(reads, k=K):
    counts = {}
    for read in reads:
        for i in range(len(read) - k + 1):
            kmer = read[i:i + k]
            kmer = min(kmer, kmer[::-1].translate(COMPLEMENT))
            counts[kmer] = counts.get(kmer, 0) + 1
    return "".join(f"{kmer}\t{counts[kmer]}\n" for kmer in sorted(counts))


def patch(s, name, offset, data):
    content = bytearray((s.path / name).read_bytes())
    content[offset:offset + len(data)] = data
    s.write(name, bytes(content))


def warned(s, name, *words):
    """Standard error holds one warning about the file, with these words."""
    lines = s.said.splitlines()
    if len(lines) != 1 or not lines[0].startswith(f"kcount: warning: {name}: "):
        raise Failure(f"not one warning about {name}: {s.said!r}")
    for word in words:
        if word not in lines[0]:
            raise Failure(f"not about {word!r}: {lines[0]}")


def grown(nruns):
    s = Session()
    for i, read in enumerate(READS):
        s.write(f"r{i}.fa", f">r\n{read}\n")
    s.kcount("r0.fa", "-k", K, "-o", "d.kc", "--quiet")
    for i in range(1, nruns):
        s.kcount("add", "d.kc", f"r{i}.fa", "--quiet")
    return s


def test_damaged_reference():
    """A damaged byte in the reference in force, which once silently gave an older state."""
    s = grown(3)
    good = s.kcount("dump", "d.kc")
    expect(good, count(READS), "dump")
    patch(s, "d.kc", 66, b"\x55")
    expect(s.kcount("dump", "d.kc"), good, "dump of the damaged file")
    warned(s, "d.kc", "offset 64", "no data is lost")
    total = sum(int(line.split("\t")[1]) for line in good.splitlines())
    kmer, nkmers = READS[0][:K], len(good.splitlines())
    for call, wanted in ((["hist", "d.kc"], None), (["query", "d.kc", kmer], f"{kmer}\t3\n"),
                         (["range", "d.kc", "A", "T", "--count"], f"{nkmers}\t{total}\n"),
                         (["merge", "d.kc", "-o", "m.kc", "--force", "--quiet"], ""),
                         (["info", "d.kc"], None)):
        got = s.kcount(*call)
        warned(s, "d.kc", "offset 64")
        if wanted is not None:
            expect(got, wanted, call[0])
    expect(s.kcount("dump", "m.kc"), good, "what merge wrote")
    expect(json.loads(s.kcount("info", "d.kc", "--json"))["runs"], 3, "runs")
    expect(s.kcount("check", "d.kc", code=3, message="repairs it").split(":")[0], "d.kc", "check")
    expect(len(s.said.splitlines()), 1, "lines of check")
    report = json.loads(s.kcount("check", "d.kc", "--json", code=3))
    expect((report["ok"], "offset 64" in report["warning"]), (True, True), "check --json")

    damaged = (s.path / "d.kc").read_bytes()
    for change in (["add", "d.kc", "r0.fa", "--quiet"], ["remove", "d.kc", "C" * K, "--quiet"],
                   ["compact", "d.kc", "--quiet"]):
        s.write("d.kc", damaged)
        s.kcount(*change)
        warned(s, "d.kc", "offset 64")
        expect(s.kcount("check", "d.kc").startswith("d.kc: ok"), True, f"check after {change[0]}")
        wanted = count(READS + READS[:1]) if change[0] == "add" else good
        expect(s.kcount("dump", "d.kc"), wanted, f"dump after {change[0]}")
        expect(s.said, "", f"messages after {change[0]}")


def test_compact_of_one_run():
    """A single run needs no compact, but a damaged reference does."""
    s = grown(1)
    good = (s.path / "d.kc").read_bytes()
    for offset in (70, 100):
        patch(s, "d.kc", offset, b"\x55")
        s.kcount("check", "d.kc", code=3)
        s.kcount("compact", "d.kc", "--quiet")
        expect((s.path / "d.kc").read_bytes() == good, True, "the file that compact wrote")


def test_tail():
    """What a killed append leaves: no warning, check exits with 3, the next append cuts it off."""
    s = grown(2)
    good = s.kcount("dump", "d.kc")
    s.write("d.kc", (s.path / "d.kc").read_bytes() + b"KCFOOTR3" * 100)
    expect(s.kcount("dump", "d.kc"), good, "dump")
    expect(s.said, "", "messages of dump")
    s.kcount("check", "d.kc", code=3, message="800 bytes")
    expect(s.kcount("check", "d.kc", "--repair", "c.kc"),
           "d.kc: nothing is lost; c.kc holds everything\n", "repair")
    expect(s.kcount("dump", "c.kc"), good, "the copy")
    s.kcount("add", "d.kc", "r2.fa", "--quiet")
    expect(s.said, "", "messages of add")
    s.kcount("check", "d.kc")
    expect(s.kcount("dump", "d.kc"), count(READS), "dump after add")


def test_lost_run():
    """Neither the reference nor the footer is sound: all commands refuse, nothing is cut off."""
    s = grown(3)
    footer = (s.path / "d.kc").read_bytes().rfind(b"KCFOOTR3")
    patch(s, "d.kc", footer + 60, b"\xff")
    patch(s, "d.kc", 66, b"\x55")
    damaged = (s.path / "d.kc").read_bytes()
    for call in (["dump"], ["hist"], ["query", "-f", "r0.fa"], ["info"], ["check"],
                 ["add", "r0.fa"], ["remove", "C" * K], ["compact"]):
        s.kcount(call[0], "d.kc", *call[1:], code=1, message="--repair")
        expect((s.path / "d.kc").read_bytes() == damaged, True, f"{call[0]} changes nothing")
    s.kcount("check", "d.kc", "--repair", "c.kc", code=1, message="added last is missing")
    s.kcount("check", "c.kc")
    expect(s.kcount("dump", "c.kc"), count(READS[:2]), "the copy")


def test_old_file_in_doubt():
    """In an old file with a damaged reference, it is unknown whether a run was committed."""
    s = Session()
    s.write("extra.fa", ">x\n" + "ACGTTGCATTAGGCCATACTT" * 3 + "\n")
    for name in ("footer1-two-k21", "footer2-tombstones-k15"):
        shutil.copy(GOLDEN / f"{name}.kc", s.path / "d.kc")
        newest = s.kcount("dump", "d.kc")
        content = (s.path / "d.kc").read_bytes()
        in_force = max((64, 96), key=lambda at: content[at:at + 8][::-1])
        for damage in (b"\0" * 32, b"\x5a"):
            s.write("d.kc", content)
            patch(s, "d.kc", in_force, damage)
            damaged = (s.path / "d.kc").read_bytes()
            if s.kcount("dump", "d.kc") == newest:
                raise Failure("the older state is the newer one")
            warned(s, "d.kc", f"offset {in_force}", "may be missing", "--repair")
            for call in (["add", "extra.fa"], ["remove", "-f", "extra.fa"], ["compact"]):
                s.kcount(call[0], "d.kc", *call[1:], "--quiet", code=1, message="--repair")
            s.kcount("check", "d.kc", code=1, message="may be missing")
            expect((s.path / "d.kc").read_bytes() == damaged, True, "nothing was changed")
            # the old footer ends the file: it is found by its layout
            s.kcount("check", "d.kc", "--repair", "c.kc", "--force")
            expect(s.kcount("dump", "c.kc"), newest, "the copy")
            s.kcount("check", "c.kc")


def test_old_file_mended():
    """The older of two references is damaged, or the only run's second one: no doubt."""
    s = Session()
    s.write("extra.fa", ">x\n" + "ACGTTGCATTAGGCCATACTT" * 3 + "\n")
    for name, at in (("footer1-two-k21", 64), ("footer1-one-k21", 96)):
        shutil.copy(GOLDEN / f"{name}.kc", s.path / "d.kc")
        newest = s.kcount("dump", "d.kc")
        patch(s, "d.kc", at, b"\x5a")
        expect(s.kcount("dump", "d.kc"), newest, "dump")
        warned(s, "d.kc", f"offset {at}", "no data is lost")
        s.kcount("check", "d.kc", code=3)
        s.kcount("add", "d.kc", "extra.fa", "--quiet")
        s.kcount("remove", "d.kc", "-f", "extra.fa", "--quiet")
        s.kcount("check", "d.kc")
        expect(s.kcount("dump", "d.kc"), newest, "dump after add and remove")


def test_repair():
    s = Session()
    shutil.copy(GOLDEN / "footer3-blocks-k6.kc", s.path / "d.kc")
    dump = s.kcount("dump", "d.kc").splitlines()
    patch(s, "d.kc", 140, b"\x99\x99")
    s.kcount("dump", "d.kc", code=1, message="offset 128")
    s.kcount("check", "d.kc", "--repair", "d.kc", "--force", code=2, message="input")
    s.kcount("check", "d.kc", "--force", code=2, message="--repair")
    s.kcount("check", "d.kc", "--repair", "-", code=2, message="standard output")
    s.write("c.kc", "precious")
    s.kcount("check", "d.kc", "--repair", "c.kc", code=1,
             message="c.kc already exists; name another file with --repair")
    expect(s.read("c.kc"), "precious", "a file that exists")
    s.kcount("check", "d.kc", "--repair", "c.kc", "--force", code=1,
             message="1,024 k-mers with counts of")
    first, behind = dump[0].split("\t")[0], dump[1024].split("\t")[0]
    loss = f"1,024 k-mers of run 1 are lost, from {first} up to, but not including, {behind}\n"
    expect(loss in s.said, True, f"the interval of the loss in {s.said!r}")
    s.kcount("check", "c.kc")
    expect(s.kcount("dump", "c.kc").splitlines(), dump[1024:], "the copy")
    report = json.loads(s.kcount("check", "d.kc", "--repair", "e.kc", "--json", code=1))
    expect((report["lost_distinct"], report["lost_tombstones"], report["newest_state_lost"]),
           (1024, 0, False), "check --repair --json")
    # a run of tombstones
    shutil.copy(GOLDEN / "footer3-tombstones-k15.kc", s.path / "t.kc")
    footer = (s.path / "t.kc").read_bytes().rfind(b"KCFOOTR3")
    content = (s.path / "t.kc").read_bytes()
    record = footer + 32 + 8 * 3
    # after the first run's record, rows, first k-mer and checksum of its page, and names
    words = struct.unpack_from("<17Q", content, record)
    record += 136 + 16 * words[14] + 16 + (words[16] + 7) // 8 * 8
    blocks, = struct.unpack_from("<Q", content, record)
    patch(s, "t.kc", blocks + 9, b"\x99")
    s.kcount("check", "t.kc", "--repair", "u.kc", code=1, message="removed may be back")
    expect("tombstones of run 2 are lost" in s.said, True, "the loss of tombstones")
    s.kcount("check", "u.kc")
    s.write("x.kc", "no store")
    s.kcount("check", "x.kc", "--repair", "y.kc", code=1, message="not a .kc file")
    expect([name for name in s.names() if name.startswith("y.kc")], [], "what a failure leaves")


if __name__ == "__main__":
    main([test_damaged_reference, test_compact_of_one_run, test_tail, test_lost_run,
          test_old_file_in_doubt, test_old_file_mended, test_repair])
