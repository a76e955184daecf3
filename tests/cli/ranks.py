"""
Several processes count together: the file is the same as from one, each of them does its part, and
a failure of one ends all with one message and leaves nothing behind.

    ranks.py KCOUNT SOURCE MPIRUN [FAULT]

FAULT: the library of tests/fault, for the tests that need it.
"""
import json
import os
import random
import signal
import subprocess
import time

from lib.mpi import (APART, COMMAND, ENVIRONMENT, FAULT, LAUNCH, fails, kill_a_rank, launch,
                     launch_each, make_inputs, processes, reads, wait_for_end, wait_for_ranks,
                     with_faults)
from lib.session import KCOUNT, Session, expect
from lib.tools import Failure, bgzf, bgzf_block, fasta, fastq, gzip_members, main

COMMAND[:0] = APART


def compare(s, what, names, *options, nranks=(2, 3, 4)):
    """The same bytes as one process writes."""
    s.kcount("count", *names, *options, "-o", "one.kc", "--force", "--quiet")
    wanted = (s.path / "one.kc").read_bytes()
    for n in nranks:
        launch(s, n, "count", *names, *options, "-o", "many.kc", "--force", "--quiet")
        if (s.path / "many.kc").read_bytes() != wanted:
            raise Failure(f"{what}: {n} ranks write another file")


def test_bytes():
    """Inputs of each kind, alone and together, for k of several widths."""
    s = Session()
    make_inputs(s)
    compare(s, "plain FASTQ", ["x.fq"], "-k", 31)
    compare(s, "CRLF, no line end at the end", ["crlf.fq"], "-k", 21, "--stranded", nranks=(3,))
    compare(s, "BGZF", ["bgzf.fq.gz"], "-k", 31)
    compare(s, "FASTA", ["x.fa"], "-k", 5, nranks=(4,))
    compare(s, "one sequence", ["one.fa"], "-k", 101, "-t", 2, nranks=(2,))
    compare(s, "gzip: a rank without input", ["x.fq.gz"], "-k", 31, "--min", 2, nranks=(2,))
    compare(s, "all", ["x.fq", "crlf.fq", "x.fa", "one.fa", "x.fq.gz", "bgzf.fq.gz", "x.bam"],
            "-k", 55, "--min", 3, "--max", 60, "-q", 40)
    compare(s, "little memory", ["x.fq", "x.fq.gz"], "-k", 31, "-m", "256M", "--engine-memory",
            "1M", nranks=(3,))


def make_large_inputs(s):
    """Enough k-mers that every rank has whole blocks."""
    rng = random.Random(11)
    genome = "".join(rng.choices("ACGT", k=1000000)).encode()
    s.write("x.fa", fasta([(genome, b"")], 80))
    s.write("x.fq", fastq([(genome[at:at + 300], b"I" * 300) for at in range(100000, 900000, 200)]))


def test_several_outputs():
    """The first rank merges what all have counted, to one file or several."""
    s = Session()
    make_large_inputs(s)
    for options in (["-k", 31], ["-k", 21, "--min", 2, "-t", 2], ["-k", "15,31,101"],
                    ["-k", 65, "-m", "256M", "--engine-memory", "1M"]):
        s.kcount("count", "x.fq", "x.fa", *options, "-o", "one.kc", "--force", "--quiet")
        for nranks in 1, 2, 3, 4:
            out, _ = launch(s, nranks, "count", "x.fq", "x.fa", *options, "-o", "x.kc", "--force",
                            "--quiet", "--json")
            reports = json.loads(out)
            reports = reports if isinstance(reports, list) else [reports]
            expect(len(reports), str(options[1]).count(",") + 1, f"{nranks}, {options}: outputs")
            for report in reports:
                name = report["output"]
                if (s.path / name).read_bytes() != (s.path / name.replace("x", "one")).read_bytes():
                    raise Failure(f"{nranks}, {options}: {name} differs")
                if nranks > 1:
                    expect([rank["written_bytes"] for rank in report["ranks"]],
                           [report["output_bytes"]] + [0] * (nranks - 1), f"{nranks}: written")
        expect([name for name in s.names() if "tmp" in name], [], "temporary files")


def test_failed_writes():
    """The disk is full, or the file cannot be flushed: the message appears, and the old file
    stays."""
    if FAULT is None:
        return
    s = Session()
    make_large_inputs(s)
    s.kcount("count", "x.fq", "-k", 11, "-o", "old.kc", "--quiet")
    old = (s.path / "old.kc").read_bytes()
    s.write("x.kc", old)
    before = s.names()
    for call, at, kind, said in (
        ("pwrite", 10, "full", "cannot write to a temporary file in .: No space left on device; "
                               "choose a folder with more room with --tmp"),
        ("pwrite", 90, "full", "cannot write x.kc at offset"),
        ("fsync", 1, "error", "cannot write x.kc: ")):
        prefixes = [with_faults(only=call, at=at, kind=kind), []]
        lines = launch_each(s, prefixes, "count", "x.fq", "x.fa", "-k", 31, "-o", "x.kc", "--force",
                            "--quiet", code=1)[1]
        if len(lines) != 1 or "rank 0 on" not in lines[0] or said not in lines[0]:
            raise Failure(f"{call}: said {lines}")
        expect(s.names(), before, "files")
        expect((s.path / "x.kc").read_bytes() == old, True, "the old file")


def test_more_ranks_than_records():
    s = Session()
    for name in "tiny.fq", "tiny.fa":
        form = fastq if name.endswith("fq") else fasta
        s.write(name,
                form([(b"ACGTACGTTGCA", b"@+@+@+@+@+@+"), (b"TTTTTTTTTTTT", b"+@+@+@+@+@+@")]))
        compare(s, name, [name], "-k", 3, nranks=(4,))


def test_skew():
    """One bin has nearly all k-mers, in few messages and in many."""
    s = Session()
    s.write("x.fa", fasta([(b"A" * 2000000, b""), (b"AC" * 500000, b"")] + reads(50, 2), 70))
    compare(s, "skew", ["x.fa"], "-k", 31, nranks=(3,))


def test_cuts():
    """Cuts at every kind of place: qualities that look like headers, records longer than a
    window."""
    s = Session()
    odd = [(b"ACGTTGCAAC" * 3, b"@" * 30), (b"TGCATTGACA" * 3, b"+" * 30)] * 2000
    s.write("odd.fq", fastq(odd))
    s.write("long.fq", fastq(reads(3, 5, "ACGT", 19000) + [(b"ACGT" * 60000, b"@" * 240000)] * 3))
    compare(s, "odd qualities", ["odd.fq"], "-k", 15, nranks=(2, 5))
    s.write("wrapped.fq", fastq(reads(2000, 6), 70))
    compare(s, "FASTQ of many lines a record", ["wrapped.fq", "odd.fq"], "-k", 15, nranks=(3,))
    compare(s, "long records", ["long.fq"], "-k", 15, nranks=(4,))


def test_cuts_of_bgzf():
    """Blocks shorter than records and longer than a part, empty ones, and FASTA."""
    s = Session()
    some = reads(400, 7)
    s.write("tiny.fq.gz", bgzf(fastq(some), 37))
    s.write("large.fq.gz", bgzf(fastq(some * 5), 65000))
    s.write("x.fa.gz", bgzf(fasta(some, 60), 1000))
    gap = bgzf_block(b"")
    s.write("gaps.fq.gz", b"".join(bgzf_block(fastq([read])) + gap for read in some) + gap)
    s.write("long.fq.gz", bgzf(fastq([(b"ACGT" * 60000, b"@" * 240000)] * 3 + some), 60000))
    for name in "tiny.fq.gz", "large.fq.gz", "x.fa.gz", "gaps.fq.gz", "long.fq.gz":
        compare(s, name, [name], "-k", 21, nranks=(3, 4))
    blocks, members = bgzf(fastq(some * 5), 3000), gzip_members(fastq(some), 100000)
    s.write("two.fq.gz", blocks + members)
    compare(s, "gzip after BGZF", ["two.fq.gz"], "-k", 21, nranks=(3,))
    s.write("three.fq.gz", blocks + members + blocks)
    fails(s, 4, "cannot be shared among processes", "count", "three.fq.gz", "-k", 21, "-o",
          "new.kc")
    out, _ = launch(s, 3, "count", "large.fq.gz", "tiny.fq.gz", "-k", 21, "-o", "out.kc", "--quiet",
                    "--json")
    for rank in json.loads(out)["ranks"]:
        if rank["reads"] == 0:
            raise Failure("a rank has read nothing of large.fq.gz and tiny.fq.gz")


def test_several_k_and_histogram():
    s = Session()
    make_inputs(s)
    s.kcount("count", "x.fq", "-k", "21,31,65", "-o", "one.kc", "--quiet")
    launch(s, 3, "count", "x.fq", "-k", "21,31,65", "-o", "many.kc", "--quiet")
    for k in 21, 31, 65:
        expect((s.path / f"many.k{k}.kc").read_bytes() == (s.path / f"one.k{k}.kc").read_bytes(),
               True, f"k = {k}")
    wanted = s.kcount("hist", "x.fq", "one.fa", "-k", 3, "--quiet", "--max-count", 10**9)
    expect(launch(s, 3, "hist", "x.fq", "one.fa", "-k", 3, "--quiet", "--max-count", 10**9)[0],
           wanted, "hist")


def test_report():
    """Each rank reads its part, sends, receives and counts; together that is everything."""
    s = Session()
    make_inputs(s)
    one = json.loads(s.kcount("count", "x.fq", "-k", 31, "-o", "one.kc", "--quiet", "--json"))
    out, _ = launch(s, 3, "count", "x.fq", "-k", 31, "-o", "many.kc", "--quiet", "--json")
    many = json.loads(out)
    for key in "reads", "bases", "skipped_letters", "input_bytes", "kmers", "distinct", "unique":
        expect(many[key], one[key], key)
    ranks = many["ranks"]
    expect(len(ranks), 3, "ranks")
    for key in "reads", "bases", "sent_bytes", "received_bytes", "counted_distinct":
        if min(rank[key] for rank in ranks) == 0:
            raise Failure(f"a rank has {key} = 0: {ranks}")
    expect(sum(rank["counted_distinct"] for rank in ranks), one["distinct"], "counted by the ranks")
    expect(sum(rank["bases"] for rank in ranks), one["bases"], "read by the ranks")
    expect(sum(rank["sent_bytes"] for rank in ranks), sum(rank["received_bytes"] for rank in ranks),
           "sent and received")


def test_summary():
    """Only the first process prints it, with a line about each."""
    s = Session()
    make_inputs(s)
    done = subprocess.run([*LAUNCH, "-n", "2", *COMMAND, "count", "x.fq", "-k", "31", "-o",
                           "many.kc"],
                          cwd=s.path, env=ENVIRONMENT, stderr=subprocess.PIPE,
                          stdin=subprocess.DEVNULL, timeout=120)
    said = done.stderr.decode()
    for part in ("31-mers ", "rank 0 on ", "rank 1 on ", "wrote many.kc, ",
                 " s on 2 processes, up to "):
        expect(said.count(part), 1, f"{part!r} in {said!r}")
    expect(said.endswith(" of memory each\n"), True, f"the last line of {said!r}")


def test_one_machine():
    """One process counts, with the threads and the memory of all; the others only wait, even if
    they see other devices."""
    s = Session()
    hiding = ["sh", "-c", 'CUDA_VISIBLE_DEVICES=$OMPI_COMM_WORLD_RANK exec "$@"', "sh"]
    make_inputs(s)
    count = ("count", "x.fq", "bgzf.fq.gz", "-k", "31", "-o", "x.kc", "--force")
    s.kcount(*count, "--quiet")
    wanted = (s.path / "x.kc").read_bytes()
    for options, nthreads in ([], len(os.sched_getaffinity(0))), (["-t", "1"], 1):
        done = subprocess.run([*LAUNCH, "-n", "3", *hiding, KCOUNT, *count, *options, "--json",
                               "-m", "1G"], cwd=s.path, env=ENVIRONMENT, timeout=120,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, check=True)
        report = json.loads(done.stdout)
        expect("ranks" in report, False, "one rank")
        expect(report["threads"] >= nthreads, True, "threads")
        expect(report["memory_bound_bytes"] > 2 << 30, True, "memory")
        expect((s.path / "x.kc").read_bytes() == wanted, True, "the same file")
    done = subprocess.run([*LAUNCH, "-n", "3", KCOUNT, *count], cwd=s.path, env=ENVIRONMENT,
                          stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, check=True)
    said = done.stderr.decode()
    waited = "2 other processes waited: one process uses all processors of a machine"
    expect(said.count(waited), 1, said)
    many = subprocess.run([*LAUNCH, "-n", "3", KCOUNT, "hist", "x.fq", "-k", "15", "--quiet"],
                          cwd=s.path, env=ENVIRONMENT, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, check=True).stdout.decode()
    expect(many, s.kcount("hist", "x.fq", "-k", 15, "--quiet"), "hist")


def test_failures():
    s = Session()
    make_inputs(s)
    s.write("cut.fq.gz", (s.path / "x.fq.gz").read_bytes()[:50000])
    fails(s, 3, "cannot open nowhere.fq", "count", "nowhere.fq", "-k", 31, "-o", "new.kc")
    fails(s, 3, "cut.fq.gz is truncated", "count", "x.fq", "cut.fq.gz", "-k", 31, "-o", "new.kc")
    fails(s, 2, "which k? Try 'kcount count x.fq -o new.kc -k 31'", "count", "x.fq", "-o", "new.kc")
    fails(s, 2, "--tmp", "count", "x.fq", "-k", 31, "-o", "new.kc", "--tmp", "nowhere")
    s.kcount("count", "x.fq", "-k", 31, "-o", "old.kc", "--quiet")
    fails(s, 2, "old.kc already exists", "count", "x.fq", "-k", 31, "-o", "old.kc")
    fails(s, 2, "dump runs as one process", "dump", "old.kc")
    fails(s, 2, "hist of a .kc file runs as one process", "hist", "old.kc")
    fails(s, 2, "hist --gc runs as one process", "hist", "--gc", "x.fq", "-k", 3)


def test_exit_codes():
    """All ranks end with the same code: the launcher ends with that of the first one to fail."""
    s = Session()
    noting = ["sh", "-c", '"$@"; echo $? > code$OMPI_COMM_WORLD_RANK', "sh"]
    for arguments, code in ((["a.fq", "-k", 0], 2), (["a.fq", "-k", 3, "--min", 2, "--max", 1], 2),
                            (["dump", "a.kc"], 2), (["help", "nonsense"], 2),
                            (["missing.fq", "-k", 3], 1), (["a.fq", "-k", 3], 0)):
        launch_each(s, [noting] * 3, *arguments)
        expect([s.read(f"code{rank}") for rank in range(3)], [f"{code}\n"] * 3,
               f"codes of {arguments}")


def test_help():
    """Help is printed once, however it is asked for."""
    s = Session()
    for arguments in (["help", "count"], ["count", "--help"], ["count", "-h"], ["--help"]):
        expect(launch(s, 2, *arguments)[0], s.kcount(*arguments), f"{arguments}")


def beside_another_program(s, *arguments, **settings):
    """Run kcount as one process, and another program as the second one. Returns the exit code of
    mpirun, and kcount's messages."""
    call = [*LAUNCH, "-n", "1", KCOUNT, "count", "a.fq", "-k", "3", "-o", "x.kc", "--quiet",
            *arguments, ":", "-n", "1", "sleep", "2"]
    done = subprocess.run(call, cwd=s.path, env=dict(ENVIRONMENT, **settings), timeout=60,
                          stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE)
    said = done.stderr.decode().splitlines()
    return done.returncode, [line for line in said if line.startswith("kcount: ")]


def test_another_program():
    """MPI waits for a program that never joins. kcount says so; --no-mpi makes it run alone."""
    s = Session()
    soon = {"KC_LONG_WAIT_MS": "300"}
    code, said = beside_another_program(s, **soon)
    if code == 0 or len(said) != 1 or "use --no-mpi or KCOUNT_MPI=off" not in said[0]:
        raise Failure(f"exit {code}, said {said}")
    expect(s.names(), ["a.fq"], "files")
    for options, settings in ((["--no-mpi"], {}), ([], dict(KCOUNT_MPI="off"))):
        ended = beside_another_program(s, *options, **soon, **settings)
        expect(ended, (0, []), f"exit code and messages with {options}, {settings}")
        s.kcount("check", "x.kc")
        (s.path / "x.kc").unlink()
    launch(s, 2, "count", "a.fq", "-k", 3, "-o", "x.kc", "--quiet")
    launch_each(s, [["env", "KCOUNT_MPI=on"], ["env", "KCOUNT_MPI="]], "count", "a.fq", "-k", 3,
                "-o", "y.kc", "--quiet")
    expect((s.path / "x.kc").read_bytes() == (s.path / "y.kc").read_bytes(), True, "the same file")


def test_ends():
    """BGZF without its end-of-file block, and inputs that hold nothing: the same warnings as from
    one process, no matter which rank reads them."""
    s = Session()
    some = reads(3000, 5)
    s.write("open.fq.gz", bgzf(fastq(some), 5000)[:-28])
    s.write("joined.fq.gz", bgzf(fastq(some), 5000)[:-28] + gzip_members(fastq(some[:9]), 1 << 20))
    s.write("open.fa.gz", bgzf(fasta(some), 5000)[:-28])
    s.write("none.fq.gz", bgzf_block(b""))
    s.write("none.fa", b">none\n")
    s.write("x.fq", fastq(some[:100]))
    s.write("zero.fq", b"")
    s.write("protein.fa", b">p\n" + b"LEA" * 99 + b"\n")
    names = ["x.fq", "none.fq.gz", "open.fq.gz", "none.fa", "joined.fq.gz"]
    compare(s, "open ends", names, "-k", 31)
    for nranks in 2, 3, 4:
        out, said = launch(s, nranks, "count", *names, "-k", 31, "-o", "x.kc", "--force", "--quiet",
                           "--json")
        report = json.loads(out)
        expect(report["inputs_without_end_block"], ["open.fq.gz", "joined.fq.gz"],
               f"{nranks} ranks: open ends")
        expect(report["inputs_without_sequence"], ["none.fq.gz", "none.fa"],
               f"{nranks} ranks: empty inputs")
        expect([line.split()[2] for line in said], ["open.fq.gz", "joined.fq.gz", "none.fq.gz",
                                                    "none.fa"], "warnings")
        # nothing at all, and proteins
        for inputs in (["x.fq", "zero.fq", "protein.fa"], ["zero.fq", "protein.fa"]):
            out, said = launch(s, nranks, "count", *inputs, "-k", 31, "-o", "x.kc", "--force",
                               "--quiet", "--json", "--skip-empty")
            expect(json.loads(out)["inputs_without_sequence"], ["zero.fq"],
                   f"{nranks} ranks: 0 bytes")
            expect(said[:2], [
                "kcount: warning: zero.fq holds no sequence: no k-mer was counted in it",
                "kcount: warning: 67% of the first letters in protein.fa are not A, C, G, T, U or "
                "N; is this protein?"], f"{nranks} ranks: {inputs}")
        fails(s, nranks, "zero.fq is empty", "count", "x.fq", "zero.fq", "-k", 31, "-o", "new.kc")
        fails(s, nranks, "open.fa.gz is truncated", "count", "open.fa.gz", "-k", 31, "-o", "new.kc")
        out, said = launch(s, nranks, "hist", "none.fa", "-k", 31, "--quiet")
        expect((out, len(said)), ("", 1), "hist of nothing")


def test_lists():
    """A list is read by every rank, so it cannot be a pipe."""
    s = Session()
    make_inputs(s)
    s.write("list", "x.fq\n")
    os.mkfifo(s.path / "fifo")
    compare(s, "a list", ["@list"], "-k", 31, nranks=(2,))
    before = s.names()
    said = launch(s, 2, "count", "@fifo", "-k", 31, "-o", "new.kc", code=1)[1]
    expect(any("fifo is not a regular file: with several processes" in line for line in said), True,
           f"{said}")
    expect(s.names(), before, "files")


def fails_elsewhere(s, message):
    """The third rank works in another folder, finds another x.fq there or none, and says so; no
    other one does."""
    count = (f"KC_RANKS_HOST=machine$OMPI_COMM_WORLD_RANK exec {KCOUNT} count x.fq -k 31 -o new.kc "
             "--quiet")
    done = subprocess.run([*LAUNCH, "-n", "2", "sh", "-c", count, ":", "-n", "1", "sh",
                           "-c", f"cd elsewhere && {count}"], cwd=s.path, env=ENVIRONMENT,
                          stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=60)
    said = [line for line in done.stderr.decode().splitlines() if line.startswith("kcount: ")]
    expect(done.returncode != 0, True, "it fails")
    if len(said) != 1 or "rank 2 on " not in said[0] or message not in said[0]:
        raise Failure(f"said {said}")
    expect((s.path / "new.kc").exists(), False, "an output")


def test_input_that_one_rank_cannot_see():
    s = Session()
    make_inputs(s)
    (s.path / "elsewhere").mkdir()
    fails_elsewhere(s, "cannot open x.fq")


def test_inputs_of_different_sizes():
    """A file is still being written, or a rank sees it late: its parts would overlap, or leave a
    gap."""
    s = Session()
    make_inputs(s)
    (s.path / "elsewhere").mkdir()
    s.write("elsewhere/x.fq", (s.path / "x.fq").read_bytes() + fastq(reads(100, 9)))
    fails_elsewhere(s, "does not see the same inputs")


def test_different_command_lines():
    """Each process counts by itself."""
    s = Session()
    make_inputs(s)
    subprocess.run([*LAUNCH, "-n", "3", "sh", "-c",
                    f"exec {KCOUNT} count x.fq -k 3$OMPI_COMM_WORLD_RANK "
                    "-o own$OMPI_COMM_WORLD_RANK.kc --quiet"], cwd=s.path, env=ENVIRONMENT,
                   check=True, stdin=subprocess.DEVNULL, timeout=60)
    for rank in range(3):
        s.kcount("count", "x.fq", "-k", f"3{rank}", "-o", "one.kc", "--force", "--quiet")
        expect((s.path / f"own{rank}.kc").read_bytes() == (s.path / "one.kc").read_bytes(), True,
               f"process {rank}")


def test_standard_input():
    """Rank 0 reads it; the others count."""
    s = Session()
    make_inputs(s)
    s.kcount("count", "x.fq", "-k", 31, "-o", "one.kc", "--quiet")
    with open(s.path / "x.fq", "rb") as file:
        launch(s, 3, "count", "-", "-k", 31, "-o", "many.kc", "--quiet", stdin=file)
    expect(s.kcount("dump", "many.kc") == s.kcount("dump", "one.kc"), True, "from a pipe")


def test_killed_rank():
    s = Session()
    make_inputs(s)
    kill_a_rank(s)


def stop_a_rank(s, delay):
    """Stop the last of three processes, some time after they have started. Returns the exit status
    and kcount's messages; None if the process was stopped so early that MPI still waits for it."""
    name = f"{s.path}/new.kc"
    job = subprocess.Popen([*LAUNCH, "-n", "3", *COMMAND, "count", "-", "x.fq", "-k", "31", "-o",
                            name, "--quiet",
                            "--rank-patience", "3"], cwd=s.path, env=ENVIRONMENT,
                           stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_for_ranks(name, 3)
    time.sleep(delay)
    victim = processes(name)[-1]
    os.kill(victim, signal.SIGSTOP)
    try:
        _, said = job.communicate((s.path / "x.fq").read_bytes(), timeout=20)
    except subprocess.TimeoutExpired:
        for process in processes(name):
            os.kill(process, signal.SIGKILL)
        job.communicate()
        said = None
    wait_for_end(name)
    return said and (job.returncode,
                     [line for line in said.decode().splitlines() if line.startswith("kcount: ")])


def test_silent_rank():
    """A rank that is stopped, like one that cannot be reached, ends the job."""
    s = Session()
    make_inputs(s)
    before = s.names()
    ended = next(filter(None, (stop_a_rank(s, delay) for delay in (0, 2, 5, 10))), None)
    if ended is None:
        raise Failure("20 s after a rank was stopped, the job is still there")
    code, said = ended
    expect(code != 0, True, "the job fails")
    # another rank may report it as well, before it is ended
    # the launcher interrupts the others
    lost = [line for line in said if "nothing was heard from rank " in line]
    if not lost or not all(line in lost or "interrupted" in line for line in said):
        raise Failure(f"exit status {code}, said {said}")
    expect(s.names(), before, "files after a rank was stopped")


main([test_bytes, test_several_outputs, test_failed_writes,
      test_more_ranks_than_records, test_skew, test_cuts, test_cuts_of_bgzf,
      test_several_k_and_histogram,
      test_report, test_summary, test_one_machine, test_failures, test_ends, test_lists,
      test_exit_codes, test_help,
      test_another_program, test_input_that_one_rank_cannot_see,
      test_inputs_of_different_sizes, test_different_command_lines,
      test_standard_input, test_killed_rank, test_silent_rank])
