"""The right counts of reads, from the naive counter or Python, and from other counters."""
from lib import counters
from lib import model
from lib.tools import Failure, fastq, run, same_text

BASES = dict(zip(b"ACGTUacgtu", b"ACGTTACGTT"))
NORMAL = bytes(BASES.get(letter, ord("N")) for letter in range(256))
PYTHON_KMERS = 20000  # Python counts up to this many
PEER_KMERS = {"jellyfish": range(5, 128), "kmc": range(5, 257)}


def normal(bases, quality=None, least=0):
    """The bases in upper case, with T for U, and N for whatever breaks k-mers."""
    bases = bases.translate(NORMAL)
    if not least:
        return bases
    return bytes(base if mark - 33 >= least else ord("N") for base, mark in zip(bases, quality))


def nkmers(sequences, k):
    return sum(max(0, len(part) - k + 1) for bases in sequences for part in bases.split(b"N"))


def kept(lines, counting):
    """The lines of counts that --min and --max keep."""
    if counting.least == 1 and counting.most == 2**32 - 1:
        return lines
    return b"".join(line for line in lines.splitlines(True)
                    if counting.least <= int(line.split(b"\t")[1]) <= counting.most)


class Reference:
    """
    The counts of reads, before --min and --max.
        lines      KMER <TAB> COUNT, in order
        sequences  the reads as normal() gives them; low-quality bases are N
    """

    def __init__(self, case, reads, counting):
        self.sequences = [normal(*read, counting.quality) for read in reads]
        self.nkmers = nkmers(self.sequences, counting.k)
        if case.setting.naive and (self.nkmers > PYTHON_KMERS or case.rng.random() < 0.8):
            self.lines = naive(case, reads, counting)
        else:
            self.lines = self.in_python(counting)

    def in_python(self, counting):
        sequences = [bases.decode() for bases in self.sequences]
        return model.lines(model.count(sequences, counting.k, counting.stranded)).encode()


def naive(case, reads, counting):
    path = case.write("reference/reads.fq", fastq(reads))
    options = ["-s"] if counting.stranded else []
    options += ["-q", counting.quality] if counting.quality else []
    return run(case.setting.naive, "-k", counting.k, *options, path)


def as_model(lines):
    pairs = (line.split("\t") for line in lines.decode().splitlines())
    return {kmer: int(count) for kmer, count in pairs}


def peers(case, reference, counting):
    """Compare with jellyfish and kmc, where they are installed and support k."""
    whole = [bases for bases in reference.sequences if len(bases) >= counting.k]
    names = [name for name in counters.PEERS
             if case.setting.has(name) and counting.k in PEER_KMERS[name]]
    if not names or reference.nkmers == 0:
        return
    path = case.write("peer/reads.fa", b"".join(b">r\n%s\n" % bases for bases in whole))
    for name in names:
        try:
            theirs = counters.PEERS[name](path, counting.k, path.parent, counting.stranded)
        except Failure as failure:  # the other counter failed, not kcount
            case.commands.append(f"# {name} failed: {str(failure)[:500]}")
            continue
        case.add("peer_runs", 1)
        case.add("kmers", reference.nkmers)
        same_text(reference.lines, counters.in_order(theirs), f"the reference against {name}")
