"""
Random reads with every k and strand mode, and with varying threads, memory bounds and formats:
kcount dumps what the naive counter counts, the .kc file is byte for byte the same for all threads,
memory bounds and formats, and hist of the reads prints what hist of the file prints. With DEVICE
cuda, each file of the CUDA engine is byte for byte that of the CPU engine.

    matrix.py KCOUNT NAIVE SIMULATE TEST [DEVICE]
        TEST: SHARD/SHARDS, chunks, spill, quality, inputs, skew
"""
import itertools
import json
import pathlib
import random
import subprocess
import sys
import tempfile

from lib.tools import (SKIPPED, SMALL, Failure, fasta, fastq, gzip_members, main, run, same_file,
                       same_text, write_formats)

KMERS = (1, 2, 3, 5, 8, 15, 16, 17, 21, 27, 31, 32, 33, 41, 55, 63, 64, 65, 96, 97, 101, 127, 128,
         129, 200, 255)
THREADS = (1, 2, 4, 5)
MEMORY = (0, 8, 12, 24)  # MiB for each thread; 0: no bound


MAX_CUDA_K = 128
TABLES = ("warpdrive", "slab", "linear", "hopscotch")
GPU_MEMORY = (0, 256, 300, 1000)  # MiB; 0: no bound
GPU_BATCH = (0, 4096, 30000, 1000000)  # k-mers; 0: the engine decides
GPU_WALK = (0, 0, 2, 6)

KCOUNT, NAIVE, SIMULATE = (pathlib.Path(path).resolve() for path in sys.argv[1:4])
DEVICE = sys.argv[5] if len(sys.argv) > 5 else "cpu"


def random_read(rng, genome):
    """Mostly a stretch of the genome, sometimes empty, short, or the same few letters repeated."""
    kind = rng.random()
    length = rng.choice((0, 1, 2, 31, 32, 33, 64, 150, 150, 150, 255, 256, 300, 600, 900))
    if kind < 0.05:
        bases = rng.choice(("A", "T", "AT", "ACGT", "N", "GC", "AAC")) * length
    else:
        start = rng.randrange(len(genome) - 900)
        bases = genome[start:start + length]
    bases = list(bases[:length])
    for _ in range(rng.choice((0, 0, 0, 1, 3))):
        if bases:
            bases[rng.randrange(len(bases))] = rng.choice("ACGTacgtUuNnRY.")
    if kind > 0.9:
        bases = "".join(bases).lower()
    elif kind > 0.85:
        bases = "".join(bases).replace("T", "U")
    quality = bytes(rng.choices(b"!#+5:@DFI>JIII", k=len(bases)))
    return "".join(bases).encode(), quality


def random_reads(seed, n):
    rng = random.Random(seed)
    genome = "".join(rng.choices("ACGT", k=6000))
    genome += genome[1000:3000] + "".join(rng.choices("AT", k=500)) + "ACG" * 300
    return [random_read(rng, genome) for _ in range(n)]


def naive(path, k, stranded, *options):
    return run(NAIVE, "-k", k, *(["-s"] if stranded else []), *options, path)


def gpu_options(rng, table):
    """Bounds so small that many runs leave the device; a random table if table is None."""
    options = ["--table", table or rng.choice(TABLES)]
    for name, value in (("--gpu-memory", rng.choice(GPU_MEMORY)),
                        ("--gpu-batch", rng.choice(GPU_BATCH)),
                        ("--gpu-walk", rng.choice(GPU_WALK))):
        if value:
            options += [name, f"{value}M" if name == "--gpu-memory" else value]
    return options


def counting(tmp, k, stranded, threads=2, memory=0, device=DEVICE, rng=random.Random(31),
             table=None):
    """The options that count and hist share."""
    options = ["-k", k, "-t", threads, "--device", device, *(["--stranded"] if stranded else [])]
    if device != "cpu":
        options += gpu_options(rng, table)
    if memory:
        options += ["--engine-memory", f"{memory}M", "--tmp", tmp]
    return options


def count(folder, output, k, stranded, *options, inputs=("reads",), stdin=None, device=DEVICE,
          **how):
    command = [KCOUNT, "count", *inputs, "-o", output, "--json", "--force", *options,
               *counting(output.parent, k, stranded, device=device, **how)]
    counted = json.loads(run(*command, cwd=folder, stdin=stdin))
    if not counted["device"].startswith(device):
        raise Failure(f"counted on {counted['device']}, not {device}")
    return counted


def dump(path):
    return run(KCOUNT, "dump", path)


def check_hist(folder, stored, k, stranded, what, **how):
    """Compare the histogram of the reads with that of their .kc file."""
    rows = run(KCOUNT, "hist", "reads", "--quiet", *counting(stored.parent, k, stranded, **how),
               cwd=folder)
    same_text(rows, run(KCOUNT, "hist", stored), f"{what} hist {how}")


def check_case(folder, formats, k, stranded, rng):
    """Compare one k and strand mode with the oracle, and random ways of counting with that."""
    plain, what = folder / "in" / "fastq", f"k={k} stranded={stranded}"
    first, other = folder / "first.kc", folder / "other.kc"
    count(plain, first, k, stranded, device="cpu")
    same_text(dump(first), naive(plain / "reads", k, stranded), what)
    run(KCOUNT, "check", first)
    for form in rng.sample(formats, 5):
        threads = rng.choice(THREADS)
        memory = threads * rng.choice(MEMORY)
        count(folder / "in" / form, other, k, stranded, threads=threads, memory=memory, rng=rng)
        same_file(other, first, f"{what} {form} -t {threads} memory {memory}")
    check_hist(folder / "in" / form, first, k, stranded, f"{what} {form}", threads=threads,
               memory=memory, rng=rng)


def matrix(shard, nshards):
    """Every k x strand mode, on three sets of reads."""
    kmers = [k for k in KMERS if DEVICE == "cpu" or k <= MAX_CUDA_K]
    cases = list(itertools.product(kmers, (False, True)))[shard::nshards]
    for seed in (11,) if SMALL else (11, 12, 13):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            rng = random.Random(seed * 1000 + shard)
            formats = write_formats(random_reads(seed, 1200), folder / "in")
            for k, stranded in cases:
                check_case(folder, formats, k, stranded, rng)


def long_reads(seed):
    """Reads longer than any piece that the reader takes, one with a gap; short ones between."""
    rng = random.Random(seed)
    long = ["".join(rng.choices("ACGT", k=n)) for n in (900_000, 1_300_001)]
    long[1] = long[1][:700_000] + "N" * 5000 + long[1][705_000:]
    reads = [(text.encode(), bytes(rng.choices(b"#+5:@DFI>J", k=len(text)))) for text in long]
    return [reads[0], *random_reads(seed, 20), reads[1], *random_reads(seed + 1, 20)]


def chunks():
    """Text much larger than the reader's chunks: records cross every kind of boundary."""
    sets = ((random_reads(14, 4000 if SMALL else 12000), 25), (long_reads(15), 32))
    for number, (reads, k) in enumerate(sets):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            first, other = folder / "first.kc", folder / "other.kc"
            formats = write_formats(reads, folder / "in")
            count(folder / "in" / "fastq", first, k, False, threads=1, device="cpu")
            same_text(dump(first), naive(folder / "in" / "fastq" / "reads", k, False),
                      f"chunks k={k}")
            for form in formats[number::3] if SMALL else formats:
                for threads in (5,) if SMALL else (1, 2, 5):
                    count(folder / "in" / form, other, k, False, threads=threads)
                    same_file(other, first, f"chunks {form} k={k} -t {threads}")


def spill():
    """More reads than fit into the bound: spilled bytes are reported, the file stays the same."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        run(SIMULATE, "--genome", "150K", "--coverage", "20", "--repeats", "0.3", "--n-rate",
            "0.001", "--error", "0.01", "--threads", "2", "-o", folder / "reads")
        first, other = folder / "first.kc", folder / "other.kc"
        modes = ((12, False), (31, False), (31, True), (55, True), (101, False))
        for k, stranded in modes[1::3] if SMALL else modes:
            if DEVICE != "cpu" and k > MAX_CUDA_K:
                continue
            count(folder, first, k, stranded, device="cpu")
            same_text(dump(first), naive(folder / "reads", k, stranded), f"spill k={k}")
            for threads, memory in ((1, 4), (2, 8), (5, 40)):
                totals = count(folder, other, k, stranded, threads=threads, memory=memory)
                same_file(other, first, f"spill k={k} -t {threads} memory {memory}")
                if threads == 2 or not SMALL:
                    check_hist(folder, first, k, stranded, "spill", threads=threads, memory=memory)
                if DEVICE == "cpu" and k > 12 and threads < 5 and totals["spilled_bytes"] == 0:
                    raise Failure(f"spill k={k} -t {threads} memory {memory}: nothing was spilled")


def quality():
    """--min-quality, in every format that has qualities."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        formats = write_formats(random_reads(21, 400), folder / "in")
        formats = [form for form in formats if "fasta" not in form]
        for (k, bound), form in zip(itertools.product((4, 21, 40), (1, 2, 11, 30, 41)),
                                    itertools.cycle(formats)):
            wanted = naive(folder / "in" / "fastq" / "reads", k, False, "-q", bound)
            count(folder / "in" / form, folder / "a.kc", k, False, "--min-quality", bound)
            same_text(dump(folder / "a.kc"), wanted, f"{form} k={k} --min-quality {bound}")


def inputs():
    """Several files of mixed kinds, in either order, from @LIST, from standard input."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        reads = random_reads(22, 600)
        (folder / "whole").write_bytes(fastq(reads))
        (folder / "a").write_bytes(fastq(reads[:100]))
        (folder / "b").write_bytes(gzip_members(fasta(reads[100:350], 50), 9999))
        (folder / "c").write_bytes(fasta(reads[350:]))
        (folder / "list").write_text("a\nb\nc\n")
        wanted = naive(folder / "whole", 25, False)
        for names in (("a", "b", "c"), ("c", "b", "a"), ("@list",), ("c", "-", "b")):
            with open(folder / "a", "rb") as stdin:
                count(folder, folder / "a.kc", 25, False, inputs=names, stdin=stdin)
            same_text(dump(folder / "a.kc"), wanted, f"inputs {names}")


def skewed_reads():
    """(name, reads) of sets that load bins and tables as unevenly as possible."""
    rng = random.Random(23)
    letters = rng.choices("ACGT", k=600_000)
    one = "".join(letters[:150])
    yield "poly-A", ["A" * 150] * 8000
    yield "one long A", ["A" * 2_000_000]
    yield "all identical", [one] * 20000
    yield "one read very often", [one] * 10000 + ["".join(letters[i:i + 150])
                                                  for i in range(0, 300_000, 90)]
    yield "two letters", ["AT" * 75, "TA" * 75, "A" * 75 + "T" * 75] * 3000
    yield "all distinct", ["".join(letters)]
    yield "shorter than most k", ["".join(letters[i:i + 20]) for i in range(0, 200_000, 10)]


def compare_engines(folder, k, stranded, what):
    """Compare DEVICE with first.kc for every table, then both engines with k-mers filtered out."""
    some = [["--min", 2], ["--max", 3], ["--min", 3, "--max", 1000]] if k == 31 else []
    for table, bounds in [*((table, []) for table in TABLES), *((None, bounds) for bounds in some)]:
        if bounds:
            count(folder, folder / "first.kc", k, stranded, *bounds, device="cpu")
        count(folder, folder / "other.kc", k, stranded, *bounds, table=table)
        same_file(folder / "other.kc", folder / "first.kc",
                  f"{what} k={k} {table} {bounds} {DEVICE}")


def skew():
    """Both engines and the oracle on skewed reads."""
    modes = ((11, False), (31, False), (32, True), (55, False), (64, False), (96, False),
             (101, True))
    for number, (name, bases) in enumerate(skewed_reads()):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "reads").write_bytes(fasta([(text.encode(), b"") for text in bases]))
            for k, stranded in modes[number::7] if SMALL else modes:
                count(folder, folder / "first.kc", k, stranded, device="cpu")
                wanted = naive(folder / "reads", k, stranded)
                same_text(dump(folder / "first.kc"), wanted, f"{name} k={k}")
                check_hist(folder, folder / "first.kc", k, stranded, f"{name} k={k}")
                if DEVICE != "cpu":
                    compare_engines(folder, k, stranded, name)


def chosen():
    name = sys.argv[4]
    if "/" in name:
        shard, nshards = map(int, name.split("/"))
        return lambda: matrix(shard, nshards)
    return {"chunks": chunks, "spill": spill, "quality": quality, "inputs": inputs,
            "skew": skew}[name]


if __name__ == "__main__":
    if DEVICE != "cpu" and subprocess.run([KCOUNT, "info", "--devices"]).returncode != 0:
        sys.exit(SKIPPED)
    main([chosen()])
