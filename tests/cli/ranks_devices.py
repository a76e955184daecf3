"""
Several processes count together on CUDA devices: the file is the same as that of one process on the
CPU, every device counts, and a failure of one ends all.

    ranks_devices.py KCOUNT SOURCE MPIRUN

If there are more ranks than devices, ranks share devices. With the emulator, there are two devices.
"""
import json
import subprocess
import sys

from lib.mpi import ENVIRONMENT, LAUNCH, fails, kill_a_rank, launch, make_inputs, reads
from lib.session import KCOUNT, Session, expect
from lib.tools import SKIPPED, Failure, fasta, fastq, main

ENVIRONMENT["KC_EMULATOR_DEVICES"] = "2"
LISTED = subprocess.run([KCOUNT, "info", "--devices", "--json"], env=ENVIRONMENT,
                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
if LISTED.returncode != 0:
    print("no device: skipped")
    sys.exit(SKIPPED)
NDEVICES = len(json.loads(LISTED.stdout))
MEMORY = ("--gpu-memory", "1G")  # of a device that ranks share
KEYS = ("kmers", "distinct", "unique", "dropped_distinct", "dropped_kmers", "saturated_kmers",
        "reads", "bases", "skipped_letters")


def look_at_ranks(what, one, many, n):
    """Every rank has counted something, and together they have counted and read everything."""
    for key in KEYS:
        expect(many[key], one[key], f"{what}: {key} of {n} ranks")
    if n == 1:  # mpirun -n 1 is an ordinary kcount
        return
    ranks = many["ranks"]
    expect(len(ranks), n, f"{what}: ranks")
    if min(rank["counted_distinct"] for rank in ranks) == 0 < one["distinct"]:
        raise Failure(f"{what}: a rank has counted nothing: {ranks}")
    expect(sum(rank["counted_distinct"] for rank in ranks), one["distinct"], f"{what}: counted")
    expect(sum(rank["bases"] for rank in ranks), one["bases"], f"{what}: read")
    expect(sum(rank["sent_bytes"] for rank in ranks), sum(rank["received_bytes"] for rank in ranks),
           f"{what}: sent and received")


def compare(s, what, names, *options, nranks=(2, 3), on_device=(), device="cuda"):
    """The same bytes as one process writes on the CPU. Returns the last report."""
    one = json.loads(s.kcount("count", *names, *options, "--device", "cpu", "-o", "one.kc",
                              "--force", "--quiet", "--json"))
    wanted = (s.path / "one.kc").read_bytes()
    memory = () if "--gpu-memory" in on_device else MEMORY
    for n in nranks:
        many = json.loads(launch(s, n, "count", *names, *options, *memory, *on_device, "--device",
                                 device, "-o", "many.kc", "--force", "--quiet", "--json")[0])
        if (s.path / "many.kc").read_bytes() != wanted:
            raise Failure(f"{what}: {n} ranks write another file")
        look_at_ranks(what, one, many, n)
    return many


def test_bytes():
    s = Session()
    make_inputs(s)
    for k, nranks in (21, (3,)), (31, (1, 2, 3)), (55, (2,)), (128, (3,)):
        compare(s, f"k = {k}", ["x.fq"], "-k", k, nranks=nranks)
        compare(s, f"k = {k}, stranded", ["x.fq", "x.fa"], "-k", k, "--stranded", "-t", 2,
                nranks=(2,))
    compare(s, "gzip: a rank without input", ["x.fq.gz"], "-k", 31, "--min", 2, nranks=(2,))
    compare(s, "all", ["x.fq", "crlf.fq", "x.fa", "one.fa", "x.fq.gz", "bgzf.fq.gz", "x.bam"],
            "-k", 55, "--min", 3, "--max", 60, "-q", 40)
    compare(s, "many threads", ["x.fq", "bgzf.fq.gz"], "-k", 31, "-t", 10, nranks=(2,))
    compare(s, "tables", ["x.fq"], "-k", 31, on_device=("--table", "hopscotch"), nranks=(2,))


def test_little_memory():
    """Several passes, and pairs that are spilled."""
    s = Session()
    s.write("x.fa", fasta(reads(20000, 3, "ACGT") + [(b"ACGTTGCA" * 40000, b"")], 60))
    many = compare(s, "little memory", ["x.fa"], "-k", 31, "-t", 3, nranks=(2,),
                   on_device=("-m", "256M", "--engine-memory", "2M", "--gpu-memory", "256M",
                              "--gpu-batch", 20000))
    if many["device_passes"] < 2:
        raise Failure(f"only {many['device_passes']} passes")


def test_many_reads():
    """The reads take many messages for each rank, more than a rank holds at a time."""
    s = Session()
    s.write("x.fa", fasta([(b"A" * 60000000, b"")] + reads(500, 4), 70))
    compare(s, "many reads", ["x.fa"], "-k", 31, nranks=(2,))


def test_skew():
    """One minimizer has nearly all k-mers."""
    s = Session()
    s.write("x.fa", fasta([(b"A" * 300000, b""), (b"AC" * 50000, b"")] + reads(500, 2), 70))
    compare(s, "skew", ["x.fa"], "-k", 31, nranks=(2,))
    compare(s, "skew, filtered", ["x.fa"], "-k", 21, "--max", 100, nranks=(3,))


def test_next_to_nothing():
    s = Session()
    s.write("tiny.fq",
            fastq([(b"ACGTACGTTGCA", b"@+@+@+@+@+@+"), (b"TTTTTTTTTTTT", b"+@+@+@+@+@+@")]))
    s.write("none.fa", b">short\nACG\n")
    for name in "tiny.fq", "none.fa":
        s.kcount("count", name, "-k", 5, "--device", "cpu", "-o", "one.kc", "--force", "--quiet")
        launch(s, 3, "count", name, "-k", 5, *MEMORY, "--device", "cuda", "-o", "many.kc",
               "--force", "--quiet")
        expect((s.path / "many.kc").read_bytes() == (s.path / "one.kc").read_bytes(), True, name)


def test_several_k():
    s = Session()
    make_inputs(s)
    for options in (), ("--min", 2, "--stranded"):
        s.kcount("count", "x.fq", "-k", "21,31,65", "--device", "cpu", "-o", "one.kc", "--quiet",
                 "--force", *options)
        launch(s, 3, "count", "x.fq", "-k", "21,31,65", "--device", "cuda", "-o", "many.kc",
               "--quiet", "--force", *MEMORY, *options)
        for k in 21, 31, 65:
            many, one = (s.path / f"{name}.k{k}.kc" for name in ("many", "one"))
            expect(many.read_bytes() == one.read_bytes(), True, f"k = {k} {options}")


def test_histogram():
    s = Session()
    make_inputs(s)
    for k in 3, 31:
        hist = ("hist", "x.fq", "one.fa", "-k", k, "--quiet", "--max-count", 10**9, *MEMORY,
                "--device")
        expect(launch(s, 3, *hist, "cuda")[0], s.kcount(*hist, "cpu"), f"hist, k = {k}")


def test_standard_input():
    """Rank 0 reads it; nobody knows how long it is."""
    s = Session()
    make_inputs(s)
    s.kcount("count", "x.fq", "-k", 31, "--device", "cpu", "-o", "one.kc", "--quiet")
    with open(s.path / "x.fq", "rb") as file:
        launch(s, 3, "count", "-", "-k", 31, *MEMORY, "--device", "cuda", "-o", "many.kc",
               "--quiet", stdin=file)
    expect(s.kcount("dump", "many.kc") == s.kcount("dump", "one.kc"), True, "from a pipe")


def test_devices():
    """Without a number, the ranks of a machine take its devices in turn."""
    s = Session()
    make_inputs(s)
    in_turn = [f"cuda:{rank % NDEVICES}" for rank in range(3)]
    last = NDEVICES - 1
    for device, table, wanted in (("cuda", (), in_turn),
                                  ("auto", ("--table", "slab"), in_turn),
                                  (f"cuda:{last}", (), [f"cuda:{last}"] * 3),
                                  (f"cuda:0,{last}", (), [f"cuda:0,{last}"] * 3),
                                  ("auto", (), ["cpu"] * 3)):
        many = compare(s, device, ["x.fq"], "-k", 31, nranks=(3,), device=device, on_device=table)
        expect([rank["device"] for rank in many["ranks"]], wanted, f"devices of {device}")


def fails_on_last(s, devices, message, *options):
    """The last of three ranks sees a different number of devices, and the job fails."""
    count = f"{KCOUNT} count x.fq -k 31 -o new.kc --quiet {' '.join(options)}"
    shown = ",".join(map(str, range(devices))) or "none"  # for real devices
    before = s.names()
    done = subprocess.run([*LAUNCH, "-n", "2", "sh", "-c", f"exec {count}", ":", "-n", "1", "sh",
                           "-c",
                           f"KC_EMULATOR_DEVICES={devices} CUDA_VISIBLE_DEVICES={shown} exec "
                           f"{count}"], cwd=s.path, env=ENVIRONMENT,
                          stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=60)
    said = [line for line in done.stderr.decode().splitlines() if line.startswith("kcount: ")
            and not line.startswith("kcount: see ")]
    expect(done.returncode != 0, True, "it fails")
    if len(said) != 1 or "rank 2 on " not in said[0] or message not in said[0]:
        raise Failure(f"said {said}, not {message}")
    expect(s.names(), before, "files")


def test_failures():
    s = Session()
    make_inputs(s)
    s.write("cut.fq.gz", (s.path / "x.fq.gz").read_bytes()[:50000])
    fails_on_last(s, 0, "no CUDA device on this machine", "--device", "cuda", *MEMORY)
    if NDEVICES > 1:
        fails_on_last(s, 1, "cuda:1", "--device", "cuda:1", *MEMORY)
    count = ("count", "x.fq", "-k", 31, "-o", "new.kc", *MEMORY, "--device")
    fails(s, 3, "cut.fq.gz is truncated", *count, "cuda", "cut.fq.gz")
    fails(s, 2, "--reader device: with several processes, the host reads", *count, "cuda",
          "--reader", "device")
    fails(s, 2, "--tmp", *count, "cuda", "--tmp", "nowhere")


def test_killed_rank():
    s = Session()
    make_inputs(s)
    kill_a_rank(s, "--device", "cuda", *MEMORY)


main([test_bytes, test_little_memory, test_many_reads, test_skew, test_next_to_nothing,
      test_several_k, test_histogram,
      test_standard_input, test_devices, test_failures, test_killed_rank])
