"""Read a sound .kc file in every way and compare with the counts that it must hold."""
from lib import model
import options
from lib.tools import same_text


def check_dump(case, name, lines):
    got = case.kcount("dump", name, "-t", options.draw_threads(case.rng)).out
    same_text(got, lines, f"dump {name}")


def check_histogram(case, name, counts):
    threads = options.draw_threads(case.rng)
    got = case.kcount("hist", name, "--max-count", model.MOST, "-t", threads).out
    same_text(got, model.histogram(counts).encode(), f"hist {name}")


def some_kmers(rng, counts, k):
    """K-mers of the file, some of them reverse-complemented, and random ones."""
    there = rng.sample(sorted(counts), min(12, len(counts)))
    turned = [kmer.translate(model.COMPLEMENT)[::-1] for kmer in there[:4]]
    return there + turned + ["".join(rng.choices("ACGT", k=k)) for _ in range(3)]


def answer(counts, kmers, stranded):
    """What query must print."""
    found = (counts.get(model.canonical(kmer, stranded), 0) for kmer in kmers)
    return "".join(f"{kmer}\t{count}\n" for kmer, count in zip(kmers, found)).encode()


def check_query(case, name, counts, k, stranded):
    asked = some_kmers(case.rng, counts, k)
    wanted = answer(counts, asked, stranded)
    if case.rng.random() < 0.5:
        same_text(case.kcount("query", name, *asked).out, wanted, f"query {name}")
        return
    case.write("asked", "\n".join(asked) + "\n")
    same_text(case.kcount("query", name, "-f", "asked").out, wanted, f"query {name} -f")


def draw_bounds(rng, k):
    return sorted("".join(rng.choices("ACGT", k=min(k, rng.choice((1, 3, 8))))) for _ in "ab")


def check_range(case, name, counts, k):
    bounds = draw_bounds(case.rng, k)
    inside = model.between(counts, k, *bounds)
    got = case.kcount("range", name, *bounds).out
    same_text(got, model.lines(inside).encode(), f"range {name}")
    wanted = f"{len(inside)}\t{sum(inside.values())}\n".encode()
    same_text(case.kcount("range", name, *bounds, "--count").out, wanted, f"range {name} --count")


def check_file(case, name, counts, k, stranded):
    check_dump(case, name, model.lines(counts).encode())
    check_histogram(case, name, counts)
    case.kcount("check", name, "--quiet")
    check_query(case, name, counts, k, stranded)
    check_range(case, name, counts, k)
