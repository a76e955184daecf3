"""
What the tests of several ranks have in common: they start processes with mpirun, which is
sys.argv[3]. sys.argv[4], if there is one, is the library of tests/fault.
"""
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import time

from lib.session import KCOUNT, expect
from lib.tools import SKIPPED, Failure, bam_text, bgzf, fasta, fastq, gzip_members

MPIRUN = sys.argv[3]
FAULT = os.path.abspath(sys.argv[4]) if len(sys.argv) > 4 else None
VERSION = subprocess.run([MPIRUN, "--version"], stdout=subprocess.PIPE, text=True).stdout
ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
LAUNCH = [MPIRUN, "--oversubscribe", "--bind-to", "none"]
# Each rank is on a machine of its own if this stands before KCOUNT; otherwise one rank counts.
APART = ["sh", "-c", 'KC_RANKS_HOST=machine$OMPI_COMM_WORLD_RANK exec "$@"', "sh"]
COMMAND = [KCOUNT]
if not re.search("Open ?(MPI|RTE)", VERSION) or subprocess.run([*LAUNCH, "-n", "2", "true"],
                                                               env=ENVIRONMENT).returncode:
    sys.exit(SKIPPED)  # LAUNCH has options of Open MPI; or it starts nothing here


def launch(s, nranks, *arguments, code=0, **how):
    """Run kcount as nranks processes. Returns standard output, and kcount's own lines of standard
    error."""
    return launch_each(s, [[]] * nranks, *arguments, code=code, **how)


def launch_each(s, prefixes, *arguments, code=0, **how):
    """Like launch, with a prefix for the command of each rank, such as ["env", "A=1"]."""
    how.setdefault("stdin", subprocess.DEVNULL)
    how.setdefault("cwd", s.path)
    line = list(LAUNCH)
    for rank, prefix in enumerate(prefixes):
        line += [":"] * (rank > 0) + ["-n", "1", *map(str, prefix), *COMMAND, *map(str, arguments)]
    done = subprocess.run(line, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=120, **how)
    said = done.stderr.decode(errors="replace")
    if (done.returncode != 0) != (code != 0):
        raise Failure(f"{len(prefixes)} ranks, {arguments}: exit {done.returncode}\n{said}")
    return done.stdout.decode(), [line for line in said.splitlines() if line.startswith("kcount: ")]


def reads(n, seed, letters="ACGTACGTACGTN", longest=400):
    rng = random.Random(seed)
    genome = "".join(rng.choices(letters, k=20000)).encode()
    # many characters that can also begin a line: @ + >
    qualities = bytes(rng.choices(b"@@@++>IIF#", k=2 * longest))
    made = []
    for _ in range(n):
        size = rng.randrange(30, longest)
        at = rng.randrange(len(genome) - size)
        begin = rng.randrange(longest)
        made.append((genome[at:at + size], qualities[begin:begin + size]))
    return made


def make_inputs(s):
    some = reads(3000, 1)
    text = fastq(some)
    s.write("x.fq", text)
    s.write("crlf.fq", text.replace(b"\n", b"\r\n")[:-2])
    s.write("x.fa", fasta(some, 60))
    s.write("one.fa", fasta([(b"".join(bases for bases, _ in some), b"")], 80))
    s.write("x.fq.gz", gzip_members(text, 200000))
    s.write("bgzf.fq.gz", bgzf(text, 5000))
    s.write("x.bam", bgzf(bam_text(some)))


def with_faults(**settings):
    return ["env", f"LD_PRELOAD={FAULT}",
            *(f"KC_FAULT_{name.upper()}={value}" for name, value in settings.items())]


def fails(s, ranks, message, *arguments, **how):
    """One line says what failed, and no file is left. ranks: their number, or prefixes for them."""
    before = s.names()
    prefixes = [[]] * ranks if isinstance(ranks, int) else ranks
    said = launch_each(s, prefixes, *arguments, code=1, **how)[1]
    first = [line for line in said if not line.startswith("kcount: see ")]
    if len(first) != 1 or message not in first[0]:
        raise Failure(f"{arguments}: said {said}, not once {message!r}")
    expect(s.names(), before, f"{arguments}: files")


def processes(output):
    """The processes of kcount that write this file."""
    found = []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            line = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue  # it has ended
        if line[0] == bytes(KCOUNT) and output.encode() in line:
            found.append(int(folder.name))
    return sorted(found)


def wait_for_ranks(output, n):
    """Wait until n processes write this file and have begun to count."""
    deadline = time.time() + 30
    while len(processes(output)) < n:
        if time.time() > deadline:
            raise Failure("the ranks do not start")
        time.sleep(0.05)
    time.sleep(0.5)


def wait_for_end(output):
    deadline = time.time() + 10
    while processes(output):
        if time.time() > deadline:
            raise Failure("a rank is still there")
        time.sleep(0.05)


def kill_a_rank(s, *options):
    """The job ends soon and leaves nothing behind, whether the first rank waits for standard input
    or has an output with a temporary name, which it must live long enough to remove: without FAULT,
    it would be done too soon."""
    waits, cases = ([], ["-", "x.fq"]), []
    if FAULT:
        works = (with_faults(named=95), ["x.fq"] * 1000)
        cases = [(-1, signal.SIGKILL, works), (0, signal.SIGTERM, works)]
    for victim, signo, (prefix, inputs) in ((0, signal.SIGKILL, waits), (-1, signal.SIGKILL, waits),
                                            (-1, signal.SIGTERM, waits), *cases):
        before = s.names()
        name = f"{s.path}/new.kc"
        job = subprocess.Popen([*LAUNCH, "-n", "3", *prefix, *COMMAND, "count", *inputs, "-k", "31",
                                "-o", name,
                                "--quiet", *options], cwd=s.path, env=ENVIRONMENT,
                               stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
        wait_for_ranks(name, 3)
        os.kill(processes(name)[victim], signo)
        try:
            job.wait(timeout=30)
        except subprocess.TimeoutExpired:
            raise Failure("30 s after a rank was killed, the job is still there") from None
        job.stdin.close()
        expect(job.returncode != 0, True, "the job fails")
        wait_for_end(name)
        expect(s.names(), before, "files after a rank was killed")
