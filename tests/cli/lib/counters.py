"""Other k-mer counters: the counts of a file of reads, as lines KMER <TAB> COUNT in any order."""
from lib.tools import run


def jellyfish(reads, k, folder, stranded=False):
    run("jellyfish", "count", "-m", k, *([] if stranded else ["-C"]), "-s", "10M", "-t", 2, "-o",
        folder / "peer.jf", reads)
    return run("jellyfish", "dump", "-c", "-t", folder / "peer.jf")


def kmc(reads, k, folder, stranded=False):
    kind = "-fq" if reads.read_bytes()[:1] == b"@" else "-fm"
    run("kmc", f"-k{k}", "-ci1", "-cs4294967295", "-m2", "-t2", *(["-b"] if stranded else []), kind,
        reads, folder / "peer", folder)
    run("kmc_tools", "transform", folder / "peer", "dump", "-s", folder / "peer.txt")
    return (folder / "peer.txt").read_bytes()


PEERS = {"jellyfish": jellyfish, "kmc": kmc}


def in_order(lines):
    return b"".join(line + b"\n" for line in sorted(lines.splitlines()))
