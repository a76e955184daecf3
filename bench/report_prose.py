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

BENCHMARKS = """\
# Benchmarks

This page compares the time and memory that kcount and other programs need, on the same machine
with the same reads. `bench/report.py` makes it from [bench/results/](../bench/results/): runs, each
with its command, machine and commit. Times are seconds of wall clock, and memory is the largest
resident set of a process. Figures are medians; of two runs, their mean. *allowed*: the memory that
a program may take; KMC takes more if it may. [Measurements](dev/measurements.md) has the rest.
"""

MEASUREMENTS = """\
# Measurements

The figures behind [Benchmarks](../benchmarks.md), with the commit of each, and those that tell a
developer where the time goes. `bench/report.py` makes this page from the recorded runs in
[bench/results/](../../bench/results/). Times are seconds of wall clock. The number of runs is given
for each figure: with one run the figure is that run, with two it is their mean, with more their
median. The rules are [those of the benchmarks](../benchmarks.md#how-it-was-measured). The GPU's
hash tables and LSM by themselves, beside the papers that they follow, are in
[papers-results.md](papers-results.md).

`kcount` is the CPU engine, `kcount cuda` is `--device cuda`, `kcount slab` the same with `--table
slab`, `kcount cuda 1G` with `--gpu-memory 1G`. `reader` is kcount's reader alone: it reads and
parses the input without counting, so no device can make a run faster than that. `reads.fq.gz` is
`simulate --genome 15M --coverage 100` through `pigz -6 -b 32768`, one gzip stream, and `usr.tar.gz`
the first gigabyte of a tar of /usr, compressed in the same way. Under "What overlaps",
`g.bgz.fq.gz` was made by `bgzip`.
"""

HUMAN_SHORT = """\
Reads of 150 bases with 0.5 % errors, 32 times a genome of 3.1 Gbases, from one BGZF file in a RAM
disk, or from a pipe (their maker has three quarters of the cores); k = 31, `--min 2`, 16 threads.
"""

MEMORY_SHORT = """\
## How much memory

`-m` is a hard limit: kcount takes less if it can, and writes to temporary files what does not fit.
The input is simulated reads of a genome that is read only once, counted with k = 31, so most k-mers
are distinct. With a GPU, `-m` limits what kcount itself allocates; the CUDA driver and its
libraries come on top, and are most of what the small input takes there.
"""

ASKING_SHORT = """\
By `bench/asking.py`: `filter --table`, `profile --total`, `filter -o` beside `kmc_tools filter`,
and `query -f` beside `jellyfish query -s`. The times include reading the table.
"""

HUMAN = """\
By `bench/human.py`: simulated reads of 150 bases with 0.5 % substitutions; the human genome has 3.1
Gbases. "The file" is one BGZF file, in a RAM disk as the outputs are; in the rows from commit
779f142 on, the device inflates and parses it. A pipe comes from `simulate`, which has three
quarters of the cores; the program that it feeds has the others. CPU time and *program*, the largest
resident set, are those of the program that is named. *machine* is how much less memory the machine
had available during the run: it includes pinned memory and what the run wrote to the RAM disk.
*temporary* is the most space that temporary files took at one time, unlinked ones included.
"""

ASKING = """\
By `bench/asking.py`: as on the [users' page](../benchmarks.md), with all maps of the device. Where
no map is named, it is WarpDrive's.
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

MEMORY = """\
## The peak beside the bound

By `bench/memory.py`: the largest resident set of a count with k = 31, as a share of `-m`. With a
device, `-m` bounds what kcount allocates itself, pinned memory included; the resident set also
has pages of the CUDA driver and its libraries, which dominate in the rows of the small input.
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

BUILDS = """\
`bench/peers.sh FOLDER` builds HySortK, KMC, FastK and Gerbil from their sources, each at a fixed
commit, and puts the programs into `FOLDER/bin`, for the PATH; Jellyfish and meryl are Debian's.
HySortK is built for one k and range of counts (31, and 2 to 65535), with `M=17` as in its README
and otherwise the settings of its Makefile. It reads FASTA with an index (`samtools faidx`), runs as
processes with 4 threads each, and prints a histogram, but writes no table.
"""

RULES = """\
## How it was measured

`bench/compare.py` runs the programs. All count both strands as one, keep every k-mer (`-ci1` of
KMC) with counts up to 2^32-1 where they can, use the same number of threads, and are allowed the
same memory, except where the table says otherwise: Jellyfish has no limit, and room for all
distinct k-mers. They take turns, and must find equally many. Of KMC's two modes (`-r`: no temporary
files), the faster is shown. "Two cores" are two cores of a server, as many as a small laptop has.

| reads | what |
|---|---|
| `w.fq` | `simulate --genome 40M --coverage 30 --length 150 --error 0.005` |
| `w.fq.gz`, `w.bgz.fq.gz` | `w.fq` compressed with `pigz -6` and with `bgzip` |
| `r.fq` | `simulate --genome 100M --coverage 40 --length 150 --error 0.005` |
| `g.fq`, `g20.fq`, `t.fq` | the same with `--genome 128M`, `512M`, `120K`; `g.bgz.fq.gz`: BGZF |
| `SRR059298.fq` | 100,000 real Illumina reads of 72 bases, from Debian's gasic-examples |

`r.fq`, `g.fq`, `g.bgz.fq.gz`, `g20.fq` and `t.fq` were in a RAM disk, with the outputs.
"""
