"""
Several processes count together on CUDA devices: the file is the same as that of one process on the
CPU, and a failure of one ends all. On one machine, one process drives all devices, and the others
wait; on several machines, which KC_RANKS_HOST makes of one, every device counts.

    ranks_devices.py KCOUNT SOURCE MPIRUN

If there are more machines than devices, they share devices. With the emulator, there are two.
"""
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

from lib.mpi import (ENVIRONMENT, LAUNCH, fails, kill_a_rank, launch, launch_each, make_inputs,
                     processes, reads, wait_for_end, wait_for_ranks)
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
HOST = "KC_RANKS_HOST"
CORES = sorted(os.sched_getaffinity(0))
KEYS = ("kmers", "distinct", "unique", "dropped_distinct", "dropped_kmers", "saturated_kmers",
        "reads", "bases", "skipped_letters")


def machines(n):
    """Prefixes for n ranks, each of which is on a machine of its own, with one device."""
    return [["env", f"{HOST}=machine{rank}", "KC_EMULATOR_DEVICES=1",
             f"CUDA_VISIBLE_DEVICES={rank % NDEVICES}"] for rank in range(n)]


def look_at_ranks(what, one, many, n):
    """Every rank has counted something, and together they have counted and read everything."""
    for key in KEYS:
        expect(many[key], one[key], f"{what}: {key} of {n} ranks")
    if n == 1:  # mpirun -n 1 is an ordinary kcount
        expect("ranks" in many, False, f"{what}: ranks")
        return
    ranks = many["ranks"]
    expect(len(ranks), n, f"{what}: ranks")
    if min(rank["counted_distinct"] for rank in ranks) == 0 < one["distinct"]:
        raise Failure(f"{what}: a rank has counted nothing: {ranks}")
    expect(sum(rank["counted_distinct"] for rank in ranks), one["distinct"], f"{what}: counted")
    expect(sum(rank["bases"] for rank in ranks), one["bases"], f"{what}: read")
    expect(sum(rank["sent_bytes"] for rank in ranks), sum(rank["received_bytes"] for rank in ranks),
           f"{what}: sent and received")


def compare(s, what, names, *options, nranks=(2, 3), on_device=(), device="cuda", alone=False,
            prefixes=machines):
    """The same bytes as one process writes on the CPU. alone: one rank counts. Returns the last
    report."""
    one = json.loads(s.kcount("count", *names, *options, "--device", "cpu", "-o", "one.kc",
                              "--force", "--quiet", "--json"))
    wanted = (s.path / "one.kc").read_bytes()
    memory = () if "--gpu-memory" in on_device else MEMORY
    for n in nranks:
        many = json.loads(launch_each(s, prefixes(n), "count", *names, *options, *memory,
                                      *on_device, "--device", device, "-o", "many.kc", "--force",
                                      "--quiet", "--json")[0])
        if (s.path / "many.kc").read_bytes() != wanted:
            raise Failure(f"{what}: {n} ranks write another file")
        look_at_ranks(what, one, many, 1 if alone else n)
    return many


def one_machine(n):
    return [[]] * n


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
        launch_each(s, machines(3), "count", name, "-k", 5, *MEMORY, "--device", "cuda", "-o",
                    "many.kc", "--force", "--quiet")
        expect((s.path / "many.kc").read_bytes() == (s.path / "one.kc").read_bytes(), True, name)


def test_several_k():
    s = Session()
    make_inputs(s)
    for options in (), ("--min", 2, "--stranded"):
        s.kcount("count", "x.fq", "-k", "21,31,65", "--device", "cpu", "-o", "one.kc", "--quiet",
                 "--force", *options)
        for prefixes in machines(3), one_machine(3):
            launch_each(s, prefixes, "count", "x.fq", "-k", "21,31,65", "--device", "cuda", "-o",
                        "many.kc", "--quiet", "--force", *MEMORY, *options)
            for k in 21, 31, 65:
                many, one = (s.path / f"{name}.k{k}.kc" for name in ("many", "one"))
                expect(many.read_bytes() == one.read_bytes(), True, f"k = {k} {options}")


def test_histogram():
    s = Session()
    make_inputs(s)
    for k in 3, 31:
        hist = ("hist", "x.fq", "one.fa", "-k", k, "--quiet", "--max-count", 10**9, *MEMORY,
                "--device")
        for prefixes in machines(3), one_machine(3):
            expect(launch_each(s, prefixes, *hist, "cuda")[0], s.kcount(*hist, "cpu"),
                   f"hist, k = {k}")


def test_standard_input():
    """Rank 0 reads it; nobody knows how long it is."""
    s = Session()
    make_inputs(s)
    s.kcount("count", "x.fq", "-k", 31, "--device", "cpu", "-o", "one.kc", "--quiet")
    for prefixes in machines(3), one_machine(3):
        with open(s.path / "x.fq", "rb") as file:
            launch_each(s, prefixes, "count", "-", "-k", 31, *MEMORY, "--device", "cuda", "-o",
                        "many.kc", "--quiet", "--force", stdin=file)
        expect(s.kcount("dump", "many.kc") == s.kcount("dump", "one.kc"), True, "from a pipe")


def test_leader():
    """On one machine, one rank drives the devices as one process does, and the others wait."""
    s = Session()
    make_inputs(s)
    every = ",".join(map(str, range(NDEVICES)))
    last = NDEVICES - 1
    for device, table, wanted in (("cuda", (), f"cuda:{every}"),
                                  ("auto", ("--table", "slab"), f"cuda:{every}"),
                                  (f"cuda:{last}", (), f"cuda:{last}")):
        for n in 2, 3, 8:
            many = compare(s, f"{device} {table}", ["x.fq"], "-k", 31, nranks=(n,), device=device,
                           on_device=table, alone=True, prefixes=one_machine)
            expect(many["device"], wanted, f"devices of {device}")
    compare(s, "auto", ["x.fq"], "-k", 31, device="auto", alone=True, prefixes=one_machine)
    compare(s, "the device reads", ["x.fq", "bgzf.fq.gz"], "-k", 31, alone=True,
            prefixes=one_machine, on_device=("--reader", "device"))
    # --gpu-memory may need all devices; without it, so few reads are not worth a second one
    launch(s, 3, "count", "x.fq", "-k", 31, "--device", "cuda", "-o", "many.kc", "--force")
    one = json.loads(launch(s, 3, "count", "x.fq", "-k", 31, "--device", "cuda", "-o", "many.kc",
                            "--force", "--quiet", "--json")[0])
    expect(one["device"], "cuda:0", "the device for few reads")
    expect(launch(s, 3, "count", "x.fq", "-k", 31, *MEMORY, "--device", "cuda", "-o", "x.kc")[1],
           [], "messages")


def test_leaders_of_several():
    """Two machines with two ranks each; and one on which ranks see different devices."""
    s = Session()
    make_inputs(s)
    hosts = [["env", f"{HOST}={host}", "KC_EMULATOR_DEVICES=1"] for host in "aabb"]
    hidden = [["env", "KC_EMULATOR_DEVICES=1", f"CUDA_VISIBLE_DEVICES={device}"]
              for device in (0, 0, "0,1")]
    for what, prefixes in ("machines", hosts), ("sets of devices", hidden):
        compare(s, what, ["x.fq", "bgzf.fq.gz"], "-k", 31, "--min", 2, nranks=(2,),
                prefixes=lambda n, prefixes=prefixes: prefixes)
    done = subprocess.run([*LAUNCH, *" : ".join(
        f"-n 1 {' '.join(prefix)} {KCOUNT} count x.fq -k 31 --device cuda -o said.kc "
        f"{' '.join(MEMORY)}" for prefix in hosts).split()], cwd=s.path, env=ENVIRONMENT,
                          stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, check=True)
    for part in ("rank 0 on a ", "rank 2 on b ", " s on 2 processes, up to ",
                 "2 other processes waited: one process drives all devices of a machine"):
        expect(done.stderr.decode().count(part), 1, f"{part!r} in {done.stderr.decode()!r}")


def test_shares():
    """A leader has the threads, the cores and the memory of all that it counts for."""
    if len(CORES) < 2:
        return
    s = Session()
    make_inputs(s)
    a, b = CORES[:2]
    bound = [["taskset", "-c", f"{core}", "env"] for core in (a, b)]
    count = ("count", "x.fq", "-k", 31, *MEMORY, "--device", "cuda", "-o", "x.kc", "--force",
             "--quiet", "--json", "-m", "1G")
    whole = json.loads(s.kcount(*count))["memory_bound_bytes"]
    for what, hide, options, nthreads, nshares in (
            ("bound", ("", ""), (), 2, 2), ("hidden", ("0", "0,1"), (), 1, 1),
            ("-t 1", ("", ""), ("-t", 1), 2, 2), ("-t 4", ("", ""), ("-t", 4), 4, 2)):
        prefixes = [prefix + [f"CUDA_VISIBLE_DEVICES={shown}"] * (shown != "")
                    for prefix, shown in zip(bound, hide)]
        report = json.loads(launch_each(s, prefixes, *count, *options)[0])
        expect(report["threads"], nthreads, f"{what}: threads")
        expect(report["memory_bound_bytes"], nshares * whole, f"{what}: -m")


class Waiting:
    """A job whose leader waits for standard input, or works: its processes by rank."""

    def __init__(self, s, prefixes, inputs=("-",), options=(), launch=LAUNCH):
        name = f"{s.path}/waiting.kc"
        line = []
        for rank, prefix in enumerate(prefixes):
            line += [":"] * (rank > 0) + ["-n", "1", *prefix, KCOUNT, "count", *inputs, "-k",
                                          "31", "--device", "cuda", "-o", name, "--quiet", *MEMORY,
                                          *options]
        self.name = name
        self.job = subprocess.Popen([*launch, *line], cwd=s.path, env=ENVIRONMENT,
                                    stdin=subprocess.PIPE, stderr=subprocess.PIPE)
        wait_for_ranks(name, len(prefixes))
        self.ranks = sorted(processes(name), key=self.rank)

    def cores(self, rank):
        """Those that each of its threads may use."""
        return {tuple(sorted(os.sched_getaffinity(int(task.name))))
                for task in pathlib.Path(f"/proc/{self.ranks[rank]}/task").glob("*")}

    @staticmethod
    def rank(process):
        variables = pathlib.Path(f"/proc/{process}/environ").read_bytes().split(b"\0")
        return next(int(v.split(b"=")[1]) for v in variables
                    if v.startswith(b"OMPI_COMM_WORLD_RANK="))

    def end(self, text):
        _, said = self.job.communicate(text, timeout=60)
        wait_for_end(self.name)
        return said.decode()


def cpu_seconds(process):
    fields = pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


def test_waiting():
    """Ranks that wait take hardly any time of a core, and leave theirs to the leader."""
    s = Session()
    make_inputs(s)
    pinned = [["taskset", "-c", f"{core}"] for core in CORES[:2]] * 2
    waiting = Waiting(s, pinned)
    before = [cpu_seconds(process) for process in waiting.ranks[1:]]
    begun = time.time()
    time.sleep(3)
    for process, seconds in zip(waiting.ranks[1:], before):
        share = (cpu_seconds(process) - seconds) / (time.time() - begun)
        if share > 0.011:  # a clock tick more than 1 %
            raise Failure(f"a rank that waits takes {share:.1%} of a core")
    if tuple(CORES[:2]) not in waiting.cores(0):
        raise Failure(f"no thread of the leader may use the cores of all: {waiting.cores(0)}")
    waiting.end((s.path / "x.fq").read_bytes())
    expect(waiting.job.returncode, 0, "the exit code")
    s.kcount("count", "x.fq", "-k", 31, "--device", "cpu", "-o", "one.kc", "--quiet")
    expect(s.kcount("dump", "waiting.kc") == s.kcount("dump", "one.kc"), True, "what was counted")


def test_bound_by_mpirun():
    """A binding that mpirun makes by default is ignored; one that the user chose is obeyed."""
    if len(CORES) < 2:
        return
    s = Session()
    make_inputs(s)
    hidden = [["env", f"CUDA_VISIBLE_DEVICES={shown}"] for shown in ("0", "0,1")]  # two leaders
    for options, free in ([], True), (["--bind-to", "core"], False), (["--map-by", "core"], False):
        waiting = Waiting(s, hidden, launch=[LAUNCH[0], "--oversubscribe", *options])
        for rank in 0, 1:
            expect(tuple(CORES) in waiting.cores(rank), free, f"{options}: the cores of {rank}")
        waiting.end((s.path / "x.fq").read_bytes())
        expect(waiting.job.returncode, 0, "the exit code")
        (s.path / "waiting.kc").unlink()


def test_interrupted():
    """Ctrl-C, or a signal to one rank, ends all of them, and no file is left."""
    s = Session()
    make_inputs(s)
    for whom, signo in ("job", signal.SIGINT), (0, signal.SIGTERM), (1, signal.SIGTERM):
        before = s.names()
        waiting = Waiting(s, one_machine(3), ["x.fq"] * 5000, ["--gpu-batch", "4096"])
        while cpu_seconds(waiting.ranks[0]) < 1 and waiting.job.poll() is None:
            time.sleep(0.05)  # until the leader counts, and the others wait
        begun = time.time()
        os.kill(waiting.job.pid if whom == "job" else waiting.ranks[whom], signo)
        waiting.job.wait(timeout=30)
        said = waiting.end(b"")
        expect(waiting.job.returncode != 0, True, f"{whom}: it fails")
        # a rank that is alone would not know, when it has to die, whether something was written
        if time.time() - begun > 15 or "kcount: interrupted; nothing was written\n" not in said:
            raise Failure(f"{whom}: after {time.time() - begun:.0f} s, said {said}")
        expect(s.names(), before, f"{whom}: files")


def test_failed_leader():
    """Its message is printed once, by itself, and all ranks end with the same code."""
    s = Session()
    make_inputs(s)
    s.write("cut.fq.gz", (s.path / "x.fq.gz").read_bytes()[:50000])
    noting = ["sh", "-c", '"$@"; echo $? > $OMPI_COMM_WORLD_RANK.code', "sh"]
    for n in 2, 3, 8:
        said = launch_each(s, [noting] * n, "count", "cut.fq.gz", "-k", 31, "-o", "new.kc", *MEMORY,
                           "--device", "cuda")[1]
        if len(said) != 1 or "rank 0 on " not in said[0] or "cut.fq.gz is truncated" not in said[0]:
            raise Failure(f"{n} ranks: said {said}")
        expect([s.read(f"{rank}.code") for rank in range(n)], ["1\n"] * n, f"codes of {n} ranks")
        expect((s.path / "new.kc").exists(), False, "an output")


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
    for prefixes in machines(3), one_machine(3):
        fails(s, prefixes, "cut.fq.gz is truncated", *count, "cuda", "cut.fq.gz")
        fails(s, prefixes, "--tmp", *count, "cuda", "--tmp", "nowhere")
    fails(s, machines(2), "--reader device: with processes on several machines", *count, "cuda",
          "--reader", "device")


def test_killed_rank():
    s = Session()
    make_inputs(s)
    kill_a_rank(s, "--device", "cuda", *MEMORY)


main([test_bytes, test_little_memory, test_many_reads, test_skew, test_next_to_nothing,
      test_several_k, test_histogram, test_standard_input, test_leader, test_leaders_of_several,
      test_shares, test_waiting, test_bound_by_mpirun, test_interrupted, test_failed_leader,
      test_failures, test_killed_rank])
