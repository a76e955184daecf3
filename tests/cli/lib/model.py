"""What counts and .kc files must hold, computed with dictionaries {k-mer as text: count}."""
import collections
import itertools

MOST = 2 ** 32 - 1
COMPLEMENT = str.maketrans("ACGT", "TGCA")


def canonical(kmer, stranded):
    return kmer if stranded else min(kmer, kmer.translate(COMPLEMENT)[::-1])


def count(reads, k, stranded):
    """Count the k-mers of reads over ACGTN; N breaks k-mers."""
    found = collections.Counter()
    for part in itertools.chain.from_iterable(read.split("N") for read in reads):
        found.update(part[i:i + k] for i in range(len(part) - k + 1))
    if stranded:
        return dict(found)
    counts = collections.Counter()
    for kmer, n in found.items():
        counts[canonical(kmer, False)] += n
    return dict(counts)


def lines(model):
    """What dump prints."""
    return "".join(f"{kmer}\t{n}\n" for kmer, n in sorted(model.items()))


def histogram(model):
    """What hist prints."""
    return "".join(f"{n}\t{m}\n" for n, m in sorted(collections.Counter(model.values()).items()))


def between(model, k, low, high):
    """The k-mers that range prints."""
    low, high = low.ljust(k, "A"), high.ljust(k, "T")
    return {kmer: n for kmer, n in model.items() if low <= kmer <= high}


def combine(operation, rule, models):
    first, others = models[0], models[1:]
    result = {}
    for kmer in set(itertools.chain(*models)):
        counts = [model[kmer] for model in models if kmer in model]
        if operation == "intersect" and len(counts) < len(models):
            continue
        if operation == "subtract" and kmer not in first:
            continue
        if operation == "subtract" and rule == "left" and len(counts) > 1:
            continue
        rest = sum(model.get(kmer, 0) for model in others)
        result[kmer] = {"sum": min(MOST, sum(counts)), "min": min(counts), "max": max(counts),
                        "left": counts[0], "right": counts[-1],
                        "difference": first.get(kmer, 0) - rest}[rule]
    return {kmer: n for kmer, n in result.items() if n > 0}


# {operation: {argument of --counts, "" without it: the rule}}
RULES = {rule: rule for rule in ("sum", "min", "max", "left", "right", "difference")}
OPERATIONS = {"merge": {"": "sum"}, "union": {"": "sum", **RULES},
              "intersect": {"": "min", **RULES},
              "subtract": {"": "left", "left": "left", "difference": "difference"}}
