"""
What bench/all.py measures: kinds of machines, reads, other files, programs, and the measurements in
the order of their importance. Sizes, rates and options are all here.

A program runs in a folder of its own, in which files named out* are its output and tmp/ is for
temporary files; what it reads is one folder up. A file is made in the same way.
"""
import collections
import itertools
import math

Kind = collections.namedtuple("Kind", "about cores gpus memory")
KINDS = {
    "2-cores": Kind("Two cores", 2, 0, "12G"),
    "16-cores": Kind("16 cores", 16, 0, "32G"),
    "1-gpu": Kind("One GPU and 16 cores", 16, 1, "32G"),
    "2-gpus": Kind("Two GPUs and 32 cores", 32, 2, "32G"),
}
LAPTOP, SERVER, GPU, GPUS = KINDS
CPUS = LAPTOP, SERVER

# ---- reads and the files that are made from them ----

# Reads of genomes have more errors than most Illumina reads (0.2 %), evenly spread, and so more
# k-mers.
EVEN = "--length 150 --error 0.005"
ILLUMINA, HIFI, NANOPORE = "--profile illumina", "--profile hifi", "--profile nanopore"
METAGENOME, RNA = "--sequences 500 --abundance 1.5", "--sequences 20000 --abundance 2"
# small, large: bases of the genome and coverage, on two cores and on larger machines.
# form: plain text, BGZF, or one gzip member.
Reads = collections.namedtuple("Reads", "about options small large form")
READS = {
    "human": Reads("human, 32x", EVEN, None, (3.1e9, 32), "bgzf"),
    "human-8x": Reads("human, 8x", EVEN, None, (3.1e9, 8), "bgzf"),
    "genome": Reads("a plant or insect", EVEN, (40e6, 30), (128e6, 40), "plain"),
    "bacterium": Reads("a bacterium, 100x", ILLUMINA, (5e6, 100), (5e6, 100), "gzip"),
    "metagenome": Reads("as diverse as a metagenome", f"{ILLUMINA} {METAGENOME}", (600e6, 2),
                        (2.5e9, 2), "bgzf"),
    "hifi": Reads("HiFi", HIFI, (40e6, 30), (128e6, 40), "bgzf"),
    "rna": Reads("as skewed as RNA", f"{ILLUMINA} {RNA}", (40e6, 30), (128e6, 40), "bgzf"),
    "nanopore": Reads("nanopore", NANOPORE, (40e6, 30), (128e6, 40), "bgzf"),
    "growth-1": Reads("a genome, 30x", EVEN, (5e6, 30), (20e6, 30), "bgzf"),
    "growth-2": Reads("a genome, 30x", EVEN, (20e6, 30), (80e6, 30), "bgzf"),
    "growth-3": Reads("a genome, 30x", EVEN, (80e6, 30), (320e6, 30), "bgzf"),
    "growth-4": Reads("a genome, 30x", EVEN, (320e6, 30), (1280e6, 30), "bgzf"),
    "once": Reads("a genome, 1x", EVEN, (1e9, 1), (1e9, 1), "bgzf"),
    "few": Reads("a small genome", EVEN, (3.4e6, 30), (3.4e6, 30), "plain"),
}
FORMS = {"plain": ("fq", "-o out.fq"), "bgzf": ("fq.gz", "--bgzf -o out.fq.gz"),
         "gzip": ("fq.gz", "| gzip -1 > out.fq.gz")}
FREQUENT = ("human", "human-8x")  # those of which k-mers that occur once are left out
# ending of a file: (how it is made from the reads, what is needed for it)
MADE = {
    "kc": ("kcount count ../{reads} -k {k} --min {min} -t {threads} --tmp tmp --quiet -o out.kc",
           ()),
    "kmc_pre": ("kmc -hp -k{k} -t{threads} -ci{min} -cs4294967295 ../{reads} out tmp", ()),
    "jf": ("jellyfish count -m {k} -C -t {threads} -s {table} -L {min} -o out.jf ../{reads}", ()),
    "hist": ("kcount hist ../{name}.kc > out.hist", ("kc",)),
    "fasta": ("simulate {simulate} --format fasta -o out.fasta && samtools faidx out.fasta", ()),
    "assembly.fa": ("simulate --genome {genome} --coverage 1 --length {genome} --error 0 "
                    "--format fasta -o out.assembly.fa", ()),
    "assembly.kc": ("kcount count ../{name}.assembly.fa -k {k} -t {threads} --tmp tmp --quiet "
                    "-o out.assembly.kc", ("assembly.fa",)),
}

# ---- programs ----

# executable: its name on the PATH. Under the names kmc_new and meryl2 are a KMC that was built from
# source and a meryl of 2020 or later, which has nothing but its name in common with Debian's.
# rates: estimates of 10^6 bases a second, on two cores and on larger machines.
Program = collections.namedtuple("Program", "label executable command rates needs version",
                                 defaults=((), "{executable} --version"))


def of_kcount(label, words, rates, needs=(), limits=" -t {threads} -m {memory}G"):
    return Program(label, "kcount", f"kcount {words}{limits}", rates, needs)


COUNT = "count ../{reads} -k {k} --min {min} --tmp tmp --quiet --json -o out.kc --device "
FILTER = "filter ../{name}.kc ../{reads} --table /dev/null --quiet --device "
TOTAL = "profile ../{name}.kc ../{reads} --total --quiet --device "
REPORT = "report ../{reads} -k {k} --tmp tmp --quiet -o out.html --device "
ASSEMBLED = "report ../{reads} --assembly ../{name}.assembly.fa -k {k} --tmp tmp --quiet " \
            "-o out.html --device "
COMPARE = "compare ../{name}.kc ../{name}.assembly.kc --quiet -o out.tsv --device "
KMC = "kmc -k{k} -t{threads} -m{memory} {mode}-ci{min} -cs4294967295 -fq ../{reads} out tmp"
ONE, TWO = "cuda:0", "cuda:0,1"
PROGRAMS = {
    **{"kcount" + name: of_kcount("kcount" + label, COUNT + device, rates)
       for name, label, device, rates in (
           ("", "", "cpu", (180, 900)), (" cuda", ", GPU", ONE, (0, 6000)),
           (" two", ", two GPUs", TWO, (0, 9000)),
           (" 20G", ", GPU, `--gpu-memory 20G`", f"{ONE} --gpu-memory 20G", (0, 3000)))},
    "kmc": Program("KMC", "kmc", KMC.replace("{mode}", ""), (45, 250)),
    "kmc -r": Program("KMC -r", "kmc", KMC.replace("{mode}", "-r "), (45, 250)),
    "kmc_new": Program("KMC, built from source", "kmc_new",
                       KMC.replace("kmc", "kmc_new").replace("{mode}", ""), (45, 250)),
    "kmc -m4": Program("KMC -m4", "kmc", KMC.replace("{mode}", ""), (45, 250)),
    "jellyfish": Program("Jellyfish", "jellyfish",
                         "jellyfish count -m {k} -C -t {threads} -s {table} -L {min} -o out.jf "
                         "../{reads}", (6, 60)),
    "FastK": Program("FastK", "FastK", "FastK -k{k} -t{min} -T{threads} -M{memory} -Ptmp -Nout "
                     "../{reads}", (40, 250), (), ""),
    "gerbil": Program("Gerbil", "gerbil", "gerbil -k {k} -t {threads} -e {memory}GB -l {min} "
                      "../{reads} tmp out.gerbil", (40, 320), (), "gerbil -v"),
    "meryl": Program("meryl", "meryl2", "meryl2 count k={k} threads={threads} memory={memory} "
                     "../{reads} output out.meryl", (15, 100)),
    "hysortk": Program("HySortK", "hysortk", "env OMP_NUM_THREADS={team} mpirun --bind-to none "
                       "--oversubscribe -n {processes} hysortk ../{name}.fasta", (40, 250),
                       ("fasta",), ""),
    **{name + more: of_kcount(label + words, command + device, rates, needs, limits)
       for more, words, device, each in ((" cuda", ", GPU", ONE, 7), (" two", ", two GPUs", TWO, 8),
                                         ("", "", "cpu", 1))
       for name, label, command, rates, needs, limits in (
           ("filter", "one line per read: `filter --table`", FILTER, (85, 350 * each), ("kc",),
            " -t {threads} -m {memory}G"),
           ("total", "one line for all reads: `profile --total`", TOTAL, (85, 400 * each),
            ("kc",), " -t {threads} -m {memory}G"),
           ("report", "`report`, counting included", REPORT, (120, 600 * each), (),
            " -t {threads} -m {memory}G"),
           ("assembled", "`report --assembly`, counting included", ASSEMBLED, (60, 250 * each),
            ("assembly.fa",), " -t {threads} -m {memory}G"),
           ("compare", "`compare` with the assembly's k-mers", COMPARE, (1000, 6000),
            ("kc", "assembly.kc"), " -t {threads}"))
       if more != " two" or name in ("filter", "total")},
    "kept": of_kcount("the reads that pass: `filter -o`", "filter ../{name}.kc ../{reads} "
                      "-o out.fq --quiet --device cpu", (85, 85), ("kc",)),
    "kmc_tools": Program("the reads that pass: kmc_tools", "kmc_tools", "kmc_tools -t{threads} -hp "
                         "filter ../{name} ../{reads} -ci1 out.fq", (2.5, 2.5), ("kmc_pre",),
                         "kmc --version"),
    "query": of_kcount("one line per k-mer: `query -f`", "query ../{name}.kc -f ../{reads} "
                       "--quiet --device cpu", (80, 80), ("kc",),
                       " -t {threads} -m {memory}G > /dev/null"),
    "jellyfish query": Program("one line per k-mer: Jellyfish", "jellyfish", "jellyfish query "
                               "-s ../{reads} ../{name}.jf > /dev/null", (1.6, 1.6), ("jf",)),
    "model": of_kcount("the model of a histogram: `model`", "model ../{name}.hist -k {k}",
                       (1000, 5000), ("hist",), ""),
    "GenomeScope": Program("the model of a histogram: GenomeScope", "genomescope2",
                           "genomescope2 -i ../{name}.hist -o out -k {k}", (80, 300), ("hist",)),
}
COUNTERS = ("kcount two", "kcount cuda", "kcount", "kcount 20G", "kmc", "kmc_new", "kmc -r",
            "kmc -m4", "jellyfish", "FastK", "gerbil", "meryl", "hysortk")
ON_DEVICE = tuple(name for name, program in PROGRAMS.items() if "cuda:0" in program.command)

# ---- measurements ----

Task = collections.namedtuple("Task", "section reads programs kinds k memory threads script",
                              defaults=(31, None, None, None))
OTHERS = ("kmc_new", "FastK", "gerbil", "jellyfish", "meryl", "hysortk")
JOBS = ("bacterium", "hifi", "metagenome", "rna")
GROWTH = tuple(f"growth-{number}" for number in range(1, 5))


def job(reads):
    """Counting on cores, beside KMC, and on a device."""
    yield Task("jobs", reads, ("kcount", "kmc"), CPUS)
    yield Task("jobs", reads, ("kcount cuda",), (GPU,))


# Scripts whose lines docs/dev/measurements.md shows, with their results and seconds.
STAGES = "gpu_stages.py --build {build}/bench --results {results} -- "
SCRIPTS = ((GPU, STAGES + "-k 31,55 -n 7", "gpu-stages", 60),
           (GPU, STAGES + "-A -k 31", "gpu-lookups", 60),
           (GPUS, "ranks.py --build {build} --results {results} --work {folder} --ranks 1,2,4,8 "
                  "--memory 32 {folder}/genome.fq", "ranks", 200))
TASKS = (
    Task("devices", "human", ("kcount two", "kcount cuda"), (GPUS,)),
    Task("jobs", "human", ("kcount cuda",), (GPU,)),
    # On larger machines, the front and look-ups on cores are measured only where there is a GPU;
    # the cores of that machine represent a server's.
    Task("front", "genome", ("kcount", "kmc"), (LAPTOP,)),
    Task("front", "genome", ("kcount cuda", "kcount", "kmc"), (GPU,)),
    Task("jobs", "human-8x", ("kcount", "kmc"), (SERVER,)),
    *itertools.chain.from_iterable(map(job, JOBS)),
    Task("memory", "human", ("kcount 20G",), (GPU,)),
    Task("asking", "human", ("total cuda",), (GPU,)),
    Task("asking", "human", ("total two", "total cuda"), (GPUS,)),
    Task("asking", "genome", ("filter cuda", "total cuda", "filter", "total"), (GPU,)),
    Task("asking", "genome", ("filter two", "total two", "filter cuda", "total cuda"), (GPUS,)),
    Task("asking", "genome", ("filter", "total"), (LAPTOP,)),
    Task("asking", "few", ("filter", "total", "kept", "kmc_tools", "query", "jellyfish query"),
         (LAPTOP,)),
    Task("report", "genome", ("kcount cuda", "report cuda", "assembled cuda", "compare cuda"),
         (GPU,)),
    Task("report", "genome", ("kcount", "report", "assembled", "compare"), CPUS),
    Task("report", "genome", ("model", "GenomeScope"), (LAPTOP,)),
    *(Task("growth", reads, (program,), kinds) for reads in GROWTH
      for program, kinds in (("kcount", CPUS), ("kcount cuda", (GPU,)))),
    *(Task("devices", reads, ("kcount two", "kcount cuda"), (GPUS,)) for reads in
      ("genome", "growth-4")),
    # With 128 GiB of memory, a RAM disk has no room for the reads and the temporary files.
    Task("jobs", "human", ("kcount",), (GPUS,)),
    *(Task("cores", "genome", ("kcount",), kinds, threads=threads) for threads, kinds in
      ((32, (GPUS,)), (16, (SERVER, GPUS)), (4, (SERVER,)), (2, (LAPTOP,)), (1, CPUS))),
    *(Task("memory", "once", (program,), kinds, memory=memory)
      for memory in ("2G", "1G", "512M", "256M")
      for program, kinds in (("kcount", (SERVER, LAPTOP)), ("kcount cuda", (GPU,)))),
    Task("front", "genome", OTHERS, (LAPTOP, GPU)),
    Task("front", "genome", ("kmc -m4",), (LAPTOP, GPU), memory="4G"),
    *job("nanopore"),
    Task("front", "genome", ("kcount", "kmc"), (LAPTOP,), 21),
    Task("front", "genome", ("kcount", "kmc", "kmc -r"), (LAPTOP,), 55),
    Task("front", "genome", ("kcount cuda", "kcount", "kmc"), (GPU,), 55),
    *(Task("scripts", "genome", (result,), (kind,), script=(command, result, seconds))
      for kind, command, result, seconds in SCRIPTS),
)


def tasks_of(kind, sections):
    return [task for task in TASKS if kind in task.kinds and task.section in sections]


SECTIONS = tuple(dict.fromkeys(task.section for task in TASKS))

# ---- sizes and commands ----


def is_small(kind):
    return KINDS[kind].cores <= 2


def sizes(kind, name, scale):
    """Bases of the genome, coverage, and bases of all reads."""
    genome, coverage = READS[name].small if is_small(kind) else READS[name].large
    genome = max(int(genome * scale), 20000)
    return genome, coverage, genome * coverage


def file_of(name):
    return f"{name}.{FORMS[READS[name].form][0]}"


def in_gigabytes(memory):
    return math.ceil(float(memory[:-1]) / (1 if memory[-1] == "G" else 1024))


def values(kind, task, scale, cores):
    """What the commands of a task need. The table of Jellyfish has room for every k-mer."""
    genome, coverage, nbases = sizes(kind, task.reads, scale)
    memory = task.memory or KINDS[kind].memory
    threads = min(task.threads or KINDS[kind].cores, cores)
    simulate = f"--genome {genome} --coverage {coverage} {READS[task.reads].options}"
    return {"name": task.reads, "reads": file_of(task.reads), "k": task.k, "genome": genome,
            "min": 2 if task.reads in FREQUENT else 1, "memory": in_gigabytes(memory),
            "threads": threads, "processes": max(threads // 4, 1), "team": min(threads, 4),
            "simulate": simulate, "table": genome + max(nbases // 5, 1000000)}


def setting(kind, task, scale, cores):
    """What the rows of a task have in common."""
    given = values(kind, task, scale, cores)
    return {"kind": kind, "section": task.section, "reads": task.reads, "k": task.k, "scale": scale,
            **{field: given[field] for field in ("min", "threads", "simulate")},
            "memory": task.memory or KINDS[kind].memory}


def command(name, kind, task, scale, cores):
    words = PROGRAMS[name].command
    if task.memory:
        words = words.replace("{memory}G", task.memory)
    return words.format(**values(kind, task, scale, cores))


def files_for(name, task):
    """What a program reads, in the order in which it can be made."""
    found = [] if task.script and "genome.fq" not in task.script[0] else [file_of(task.reads)]
    for ending in PROGRAMS[name].needs if not task.script else ():
        found += [f"{task.reads}.{other}" for other in (*MADE[ending][1], ending)]
    return list(dict.fromkeys(found))


def how_made(file, kind, task, scale, cores):
    """The command that makes a file, whose other files are there."""
    known = values(kind, task._replace(k=31, memory=None, threads=None), scale, cores)
    if file == known["reads"]:
        return f"simulate {known['simulate']} {FORMS[READS[task.reads].form][1]}"
    return MADE[file.split(".", 1)[1]][0].format(**known)


def seconds(name, kind, task, scale):
    """An estimate of one run."""
    if task.script:
        return task.script[2]
    small, large = PROGRAMS[name].rates
    rate = small if is_small(kind) else large
    if task.threads:
        rate *= task.threads / KINDS[kind].cores
    if task.memory and task.memory != "2G" and name == "kcount":
        rate /= 4  # most goes to temporary files
    return 0.5 + sizes(kind, task.reads, scale)[2] / 1e6 / rate


def seconds_to_make(file, kind, task, scale):
    rate = (30, 40) if READS[task.reads].form == "gzip" else (90, 850)
    if file != file_of(task.reads):
        rate = (100, 3000 if KINDS[kind].gpus else 800)
        if file.endswith(("jf", "kmc_pre")):
            rate = (6, 60)
    return 0.5 + sizes(kind, task.reads, scale)[2] / 1e6 / rate[not is_small(kind)]


def room(file, task, kind, scale):
    """Bytes that a file of reads takes, approximately."""
    each = {"plain": 2.2, "bgzf": 0.55, "gzip": 0.55}[READS[task.reads].form]
    return sizes(kind, task.reads, scale)[2] * each if file == file_of(task.reads) else 0
