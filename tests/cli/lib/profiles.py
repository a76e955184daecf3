"""What profile must print, computed with dictionaries {k-mer as text: count} (lib/model.py)."""
import json

from lib.model import canonical

HEADER = "name\tlength\twindows\tfound\tshare\tmin\tq1\tmedian\tq3\tmax\tmean\n"
BASES = str.maketrans("acgtuU", "ACGTTT")


def normal(text):
    """A sequence over ACGTN."""
    return "".join(c if c in "ACGT" else "N" for c in text.translate(BASES))


def counts_along(text, k, model, stranded=False):
    """[(position, count)] of all windows without N."""
    text = normal(text)
    return [(i, model.get(canonical(text[i:i + k], stranded), 0))
            for i in range(len(text) - k + 1) if "N" not in text[i:i + k]]



def ratio(a, b, digits):
    """a / b, rounded half up."""
    scaled = (2 * a * 10 ** digits + b) // (2 * b)
    return f"{scaled // 10 ** digits}.{scaled % 10 ** digits:0{digits}}"


def quartile(ordered, q):
    """numpy.percentile and R's quantile: as a number of quarters."""
    at, beyond = divmod((len(ordered) - 1) * q, 4)
    return (4 - beyond) * ordered[at] + (beyond * ordered[at + 1] if beyond else 0)


def row(name, length, counts, low=1, high=2 ** 32 - 1):
    found = sum(low <= count <= high for count in counts)
    if not counts:
        return "\t".join(map(str, [name, length, 0, 0] + ["NA"] * 7)) + "\n"
    ordered, n = sorted(counts), len(counts)
    quarters = [quartile(ordered, q) for q in (1, 2, 3)]
    values = [f"{v // 4}{('', '.25', '.5', '.75')[v % 4]}" for v in quarters]
    return "\t".join(map(str, [name, length, n, found, ratio(found, n, 6), ordered[0], *values,
                               ordered[-1], ratio(sum(counts), n, 3)])) + "\n"


def table(profiles, **bounds):
    """profiles: [(name, length, [(position, count)])]"""
    return HEADER + "".join(row(name, length, [count for _, count in along], **bounds)
                            for name, length, along in profiles)


def total(profiles, **bounds):
    return HEADER + row("total", sum(length for _, length, _ in profiles),
                        [count for _, _, along in profiles for _, count in along], **bounds)


def as_json(table_text):
    """The objects that --json prints for the rows of a table."""
    names, *rows = [line.split("\t") for line in table_text.splitlines()]
    objects = [{name: value for name, value in zip(names, values) if value != "NA"}
               for values in rows]
    return [{name: value if name == "name" else json.loads(value)
             for name, value in thing.items()} for thing in objects]


def tsv(profiles):
    return "".join(f"{name}\t{at}\t{count}\n" for name, _, along in profiles for at, count in along)


def wig(profiles):
    return "".join(f"variableStep chrom={name}\n" + "".join(f"{at + 1} {count}\n"
                                                            for at, count in along)
                   for name, _, along in profiles if along)


def runs(profiles, value):
    """A line for each run of neighbours with the same value."""
    lines = []
    for name, _, along in profiles:
        begin = 0
        for i in range(1, len(along) + 1):
            (at, count), after = along[i - 1], along[i] if i < len(along) else None
            if after is None or after[0] != at + 1 or value(after[1]) != value(count):
                lines.append(f"{name}\t{along[begin][0]}\t{at + 1}\t{value(count)}\n")
                begin = i
    return "".join(lines)


def bedgraph(profiles):
    return runs(profiles, lambda count: count)


def bed(profiles, low=1, high=1):
    return runs(profiles, lambda count: "absent" if count < low else
                "unique" if count <= high else "repeated")


FORMATS = {"tsv": tsv, "wig": wig, "bedgraph": bedgraph, "bed": bed}
