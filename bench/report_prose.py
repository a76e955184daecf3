"""The prose of docs/benchmarks.md, docs/dev/measurements.md and docs/dev/papers-results.md."""

NOTES = {
    "warpdrive": """\
Figures 7 and 8 are drawings. The text gives 1.4 G insertions/s at load 0.95 (abstract), and for
one device "(1.7 to 2.7)" G insertions/s and "(3.5 to 5.5)" G retrievals/s without a load (section
VI). The highest of these are put at load 0.4, 1.4 and 3.5 at 0.95. All are compared with our best
group size. |g| is a number of slots here, and of threads in the paper: here a group of |g| slots
is read by fewer lanes.

A slot of the layout "16-byte slots" holds 12 bytes, so at load 0.95 only 71 % of its memory is in
use. "Keys and values apart" wastes nothing and is slower, except in bulk. *Bytes a key* is slot /
load; *in use* is the size of the keys and values over the size of the map (more than 100 % if a
slot's position stands for a part of the key).""",
    "slab": """\
Figures 4 to 7 are drawings. The text has peaks (figure 4, from 19 to 60 % utilization), harmonic
means over the sizes (5b), "about 100 M" at about 90 % (7a), and the rate of SlabAlloc. Each of
these counts once in the summary, for light SlabAlloc and groups of 4 lanes, and at our lowest
ratio; the other variants are listed only. SlabAlloc touches bitmaps, whose size is given, and
writes one address for each slab.""",
    "lsm": """\
GPU SA, the sorted array, is the paper's baseline and does not count as a row of the paper. Ours
is one level of the LSM, fences included, into which batches are merged. It is timed at up to 8
sizes for insertion and at up to 4 for queries, the LSM at every number of batches. Figure 4b is a
drawing.

Tables III and IV are single runs: each number of batches is timed once, after a warm-up, and a
row is the least, the mean or the greatest of these rates. The paper asks as many queries as there
are elements. So do we for lookups; of the ranges there are at most 2^22 (L = 8) and 2^17 (L =
1024) in a call, so that the results fit in memory.""",
    "linear": """\
The author's keys are random. If they are drawn from all of 32 bits some occur twice: 124 * 2^20
of them fill 0.954 of the slots, where (1 / (1 - 0.954) - 1) / 2 = 10.4 slots from home are
expected. Ours are all different: 0.969 of the slots, 15.5 from home.""",
    "hopscotch": """\
Figures 9 to 12 are drawings; for 11 and 12 the text has ratios. The paper runs a warp for each
operation. Ours can, and can also run a thread for each operation, which is faster; both are
given. Allocation is that of the chained table's memory on the host, and the copy: how long these
take depends on the machine.""",
}

CPU_NOTE = """\
The ratio to the CPU's table says little about the GPU table: it compares an H200 with {threads}
threads of today's server, where the paper compares a GTX 1080 with a Xeon E5-2620 of six cores."""

BULK_NOTE = """\
The same figures of the paper beside our operations in bulk, which split a batch first. Keys have
64 bits and values 32, in place of 32 and 32. These rows do not count:"""

GAIN_NOTE = """\
The LSM over the sorted array: harmonic means over all batch sizes, in M/s. For insertion the
paper states 13.5."""

HEADER = """\
# The five papers: results

Made by `bench/report.py` from the rows in
[bench/results/tables.jsonl](../../bench/results/tables.jsonl), which `bench/tables.py` wrote; every
row has its command, machine and commit. What is built, and why, is in [papers.md](papers.md).

How to read the tables:

- *M/s* is millions of operations a second, by CUDA events, the median of the *runs* given. "1 a
  size" is a single run for each size that the row is a mean of.
- *per GB/s* is the rate divided by the bandwidth of the device's memory, so that devices of
  different years can be compared. The papers' bandwidths are those of data sheets. Ours is given
  on both bases: *copy* is a copy measured in the same run, which is less than the data sheet
  says, and so flatters us; *data sheet* is the same basis as the papers'. A verdict (*at or
  above*) goes by data sheets.
- *data* is what the timed operations can touch: the table, or, for an insertion into an LSM, what
  it reads and writes. **(L2)** means that it fits in the {l2:.0f} MiB of our device's L2, where
  the papers' devices had 1.5 to 4 MB. Such a rate is not bound by the memory's bandwidth, so
  dividing by that bandwidth flatters us. *(part L2)*: it fits at some of the sizes that the row
  is a mean of.
- **Bold** is what falls short: a ratio below 1, a target that is not reached. For a curve of more
  than three rows the one with the lowest ratio stands for all; all its rows below the paper's
  follow.
- A target is a rate that was to be reached on one H200, whatever the paper says. The best group
  size of each layout, or each variant, has a row; the summary counts a target as reached if one
  of them reaches it.
- If a paper has only a drawing no figure of the paper is given: the plot shows ours alone. In
  plots, solid is ours; hollow marks, dashed, are what the paper's tables or text say. Both are by
  data sheets.

The summary counts a figure that the paper gives once, however many of our rows stand beside it,
and leaves out the baselines of the papers.

"""

REPEAT = """\
To repeat it, on a machine with a device: `ninja -C build bench_tables`, then
`bench/tables.py -- -n 5` (or with `--papers lsm,slab`), which appends to the rows, and
`bench/report.py`, which remakes this page and its plots from the last run of each paper. Runs
at reduced size (`-s`) are kept but not shown.
"""

LOOKUPS = """\
## Look-ups on the device

By `bench/gpu_stages.py -- -A`: 10^9 k-mers a second, by CUDA events. The maps of `--map` hold all
k-mers of a random genome; the k-mers that are looked up are in device memory. They are those of
reads (150 bases, 0.5 % substitutions), of which about a seventh is not in the map, or every second
one is replaced by a random k-mer. First the maps as kcount sets them up; then WarpDrive's, by its
load and the number of slots in a window: k-mers of reads, half of them foreign. A cell is empty if
a map does not have so many windows.
"""

GUNZIP = """\
## One gzip file

By `bench/compare_gunzip.py`: GB of text inflated in a second. The text is discarded, except by
`reader`, which parses it, and `count cuda`, which counts it (k = 31). `zlib` and `isa-l` inflate
in one thread.
"""

READER = """\
## The device's reader

By `bench/gpu_reader.py`. Stages: GB of text in a second, medians, by CUDA events. *inflate* and
*parse and pack* find their input in device memory. *the bus* is a copy of the text from pinned
memory, in the same run and in the same rounds; *text streamed* also parses and packs it, and *BGZF
streamed* copies the file as BGZF, and inflates, parses and packs it. *nvCOMP*, if the program was
built with it, inflates the same blocks without checking their checksums. Counts: medians of whole
runs to a .kc file, wall time, by the same program on the same cores, with `--reader host` and
`--reader device`.
"""

STAGES = """\
## Stages on the CPU

By `bench/stages.py`: nanoseconds for each base, on one thread, in 1 run for each row. fill: read
the file and inflate it; super-k-mers: find minimizers and append to bins; sort, write: put the
distinct k-mers in order, encode and write them.
"""

BENCHMARKS = """\
# Benchmarks

How long counting k-mers takes, how much memory and disk space it needs, and how other programs
compare. `bench/all.py` measures, on reads that `simulate` makes, and `bench/report.py` makes this
page from [its rows](../bench/results/), each with its command, machine, commit and run number. All
rows of a table were measured beside one commit of kcount, each program in one version. Times are
wall-clock seconds, and memory is the largest resident set of a process. Figures are medians; for
two runs, their mean. [Measurements](dev/measurements.md) has the rest.
"""

MEASUREMENTS = """\
# Measurements

The figures behind [Benchmarks](../benchmarks.md), with the commit of each, and those that tell a
developer where the time goes. `bench/report.py` makes this page from the recorded runs in
[bench/results/](../../bench/results/); bench/results/archive/ has earlier runs of what the users'
page shows. Times are wall-clock seconds. The number of runs is given for each figure: with one run
the figure is that run, with two it is their mean, with more their median. The rules are
[those of the benchmarks](../benchmarks.md#how-it-was-measured). The GPU's hash tables and LSM by
themselves, beside the papers that they follow, are in [papers-results.md](papers-results.md).
`bench/all.py --dry-run` says what is measured where, and how long that takes.

`reader` is kcount's reader alone: it reads and parses the input without counting. `reads.fq.gz` is
`simulate --genome 15M --coverage 100` through `pigz -6 -b 32768`, one gzip stream, and `usr.tar.gz`
the first gigabyte of a tar of /usr, compressed in the same way. Under "What overlaps",
`g.bgz.fq.gz` was made by `bgzip`.
"""

# section of bench/plan.py: (question, introduction, what limits it), in the order of the page
PARTS = {
    "jobs": ("How long does my job take?",
             "Reads of several kinds, with k = 31. For the human genome, k-mers that occur once "
             "are left out (`--min 2`). The files are BGZF, except the bacterium's, which is one "
             "gzip stream.",
             "The percentages are shares of the time of these three stages. Reading is parsing "
             "and, with .gz, inflating: it ends sooner with more cores or faster disks. A GPU "
             "inflates and parses BGZF itself, so more cores help it little; its reading includes "
             "a fixed cost of some tenths of a second, which dominates small inputs. Counting "
             "waits for the memory of the host or of the GPU. Counting and writing grow with the "
             "number of distinct k-mers, so diverse reads and reads with many errors cost the most "
             "per base. On 16 cores, a single gzip stream leaves some of them idle."),
    "front": ("How do other programs compare?",
              "All count the same plain FASTQ. On the machine with a GPU, the row *kcount* uses "
              "only its 16 cores. *allowed*: the memory that a program may take. KMC takes more if "
              "it is allowed more, and may then be slower than with 4 GB (`-m4`), a setting "
              "measured only in this section.",
              "kcount, Jellyfish and Gerbil keep nearly all cores busy; KMC, FastK, HySortK and "
              "meryl leave some idle. Most of the difference is work: see [the CPU "
              "times](dev/measurements.md). On another host, one run each of Jellyfish and meryl "
              "took 30% less time."),
    "memory": ("How much memory and disk does it need?",
               "`-m` is a hard limit: kcount takes less if it can, and writes to temporary files "
               "what does not fit; how much that is varies between runs. If a genome is sequenced "
               "to 1x, most k-mers of the reads are distinct, which is the most costly case. With "
               "a GPU, `-m` limits what kcount itself allocates; the CUDA driver comes on top. "
               "`--gpu-memory` limits the GPU's memory in the same way.",
               "Temporary files were on a RAM disk here; on a real disk, the disk may be the "
               "limit. Each thread sorts one part of the k-mers at a time, in its share of the "
               "memory. On 16 cores, some parts do not fit with 1 GiB, and hardly any part fits "
               "with less; threads then wait for one another to write. With 512 MiB or less, "
               "kcount also uses fewer threads."),
    "growth": ("How does the cost grow with the reads?",
               "Genomes of several sizes, each sequenced to 30x. If the seconds per Gbase stay the "
               "same, the time grows in proportion to the reads.",
               "With a GPU, small inputs are limited by the start-up of the CUDA driver. On two "
               "cores, larger tables miss the caches more often; files there were on a disk. "
               "Memory grows with the number of distinct k-mers up to the limit (`-m`), but with a "
               "GPU only once the GPU's memory is full."),
    "cores": ("How much do more cores help?", "",
              "The memory, which all cores share: a k-mer that is new misses the caches, and the "
              "kernel clears each page when it is first touched."),
    "devices": ("How much does a second GPU help?", "",
                "The GPUs share the input, the host and a single output file. A second GPU hardly "
                "helps if the input is small or if writing takes most of the time."),
    "asking": ("How fast can I look k-mers up?",
               "Each k-mer of the reads is looked up in a table of the same reads, k = 31, except "
               "by `filter -o`, which stops at a read as soon as its fate is decided. The times "
               "include reading the table.",
               "Without a GPU, the memory's latency: in a large table, most look-ups miss the "
               "caches. With a GPU, reading the input and, with one line per read, formatting the "
               "lines."),
    "report": ("What does a report cost?",
               "`report` counts the reads, models the genome, and draws a page. The row *kcount* "
               "(with a GPU, *kcount, GPU*) is `count` alone. On two cores, GenomeScope 2 models "
               "the same histogram.",
               "On the CPU, counting. With a GPU and an assembly, finding where it differs from "
               "the reads, which takes a walk along each of its sequences."),
}

TARGETS = """\
## Does kcount meet its targets?

A range covers every comparable measurement, and all of them must meet the target. The rows for
reads in memory and for processes are from [Measurements](dev/measurements.md), with their commits.
"""

SIMULATED = """\
The reads are made by `simulate --genome BASES --coverage X` with these options. Genomes are random
sequences without repeats or heterozygosity; names such as "human" only indicate a comparable size.
"""

RULES = """\
## How it was measured

All programs count both strands as one, keep every k-mer (KMC: `-ci1`), except for the human genome,
where only those that occur at least twice are kept, with counts up to 2^32-1 where they can, use
the same number of threads, and are allowed the same nominal memory, except where the table says
otherwise. Jellyfish has room for all distinct k-mers. Settings are those that their authors
recommend: KMC with its default bins and, with `-r`, without temporary files; FastK with its table
sorted (`-t`); HySortK, which takes FASTA with an index and prints a histogram of counts up to
65535, with 4 threads per process or, on two cores, 2. `bench/peers.sh` builds from source every
program listed with the date of a commit. Programs run in turn, 5 times each, or at least 3 if a run
takes about 20 seconds or more; settings still being measured have fewer runs. kcount and KMC must
find the same number of k-mers. *GPU memory* is what kcount took on the first GPU, not what it
needs: with less, it uses the host's memory and then temporary files. Machines differ, so the same
command can take about 30% longer (Jellyfish and meryl: 45%) in one table than in another; compare
times only within a table. `jellyfish query` has no option for threads, and kmc_tools used only one
core. Files are on a RAM disk, except for the growth on two cores, which are those of a server.
"""
