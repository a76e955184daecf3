"""Random reads: lists of (bases, qualities), both bytes of the same length."""

ODD_LETTERS = b"NnRYKMSWBDHVrykm"
QUALITIES = bytes(set(range(33, 127)) - {ord("*")})  # in SAM, "*" alone means that there are none
NAIVE_NBYTES = 60_000_000
COMPLEMENT = bytes.maketrans(b"ACGT", b"TGCA")


def letters(rng, n, alphabet=b"ACGT"):
    """Random letters, almost equally frequent; much faster than choosing each one."""
    table = (alphabet * (256 // len(alphabet) + 1))[:256]
    return rng.getrandbits(8 * n).to_bytes(n, "little").translate(table) if n else b""


def repeat(rng, genome):
    """A repeat: a copy of a part, a short unit, a palindrome, or low complexity."""
    kind = rng.randrange(5)
    n = rng.choice((50, 300, 1000, 3000))
    start = rng.randrange(max(1, len(genome) - n))
    if kind == 0:
        return genome[start:start + n]
    if kind == 1:
        return genome[start:start + n].translate(COMPLEMENT)[::-1]
    if kind == 2:
        unit = letters(rng, rng.choice((1, 1, 2, 3, 5, 32, 171)))
        return unit * (n // len(unit) + 1)
    if kind == 3:
        half = genome[start:start + n // 2]
        return half + half.translate(COMPLEMENT)[::-1]
    return letters(rng, n, rng.choice((b"AT", b"GC", b"AC")))


def genome(rng, n):
    bases = letters(rng, max(n // 2, 10), b"ACGT" if rng.random() < 0.7 else b"AAATTTCG")
    while len(bases) < n:
        more = letters(rng, rng.choice((10, 500, 2000)))
        bases += repeat(rng, bases) if rng.random() < 0.3 else more
    return bases[:n]


# ---- one read ----

def with_errors(rng, bases, rate):
    if not bases or rate == 0:
        return bases
    bases = bytearray(bases)
    for _ in range(int(len(bases) * rate) + (rng.random() < len(bases) * rate % 1)):
        bases[rng.randrange(len(bases))] = rng.choice(b"ACGT")
    return bytes(bases)


def with_oddities(rng, bases):
    """Lower case, U, runs of N and other letters that break k-mers."""
    kind = rng.random()
    if kind < 0.3:
        bases = bases.lower()
    elif kind < 0.5:
        bases = bases.replace(b"T", b"U")
    elif kind < 0.8 and bases:
        at, n = rng.randrange(len(bases)), rng.choice((1, 1, 2, 30, 500))
        bases = bases[:at] + b"N" * len(bases[at:at + n]) + bases[at + n:]
    elif bases:
        at = rng.randrange(len(bases))
        bases = bases[:at] + bytes([rng.choice(ODD_LETTERS)]) + bases[at + 1:]
    return bases


def draw_length(rng, style, k):
    if style == "near k":
        return max(0, k + rng.choice((-2, -1, 0, 0, 1, 2, 31, 32, 33)))
    if style == "long":
        return rng.choice((k, 1000, 5000, 20000, 70000))
    if style == "short":
        return rng.choice((36, 72, 100, 150, 150, 151, 250, 300))
    return rng.choice((0, 1, 2, 31, 32, 33, 63, 64, 65, 127, 128, 255, 256, 257, 1000))


def draw_read(rng, source, style, k, rate):
    if rng.random() < 0.03:
        unit = rng.choice((b"A", b"T", b"C", b"AT", b"ACGT", b"N", b"GC", b"AAC"))
        bases = unit * (draw_length(rng, style, k) // len(unit))
    else:
        start = rng.randrange(len(source))
        bases = with_errors(rng, source[start:start + draw_length(rng, style, k)], rate)
    if rng.random() < 0.5:
        bases = bases.translate(COMPLEMENT)[::-1]
    return with_oddities(rng, bases) if rng.random() < 0.08 else bases


# ---- sets of reads ----

def draw_size(rng, k):
    """
    Bases in a set of reads: mostly few, because many small cases find more than a large one. The
    naive counter keeps every k-mer as text.
    """
    size = rng.choice((300, 5000, 30000, 30000, 100000, 100000, 400000, 2000000))
    return int(min(size, NAIVE_NBYTES / k) * rng.uniform(0.5, 1.5))


def reads(rng, k, size=None):
    size = draw_size(rng, k) if size is None else size
    style = rng.choice(("short", "short", "short", "near k", "long", "any"))
    source = genome(rng, max(300, int(size / rng.choice((0.7, 2, 10, 40)))))
    rate, found, nbases = rng.choice((0, 0.002, 0.01, 0.1)), [], 0
    while nbases < size and len(found) < 20000:
        bases = draw_read(rng, source, style, k, rate)
        copies = rng.choice((2, 20, 300)) if rng.random() < 0.01 else 1
        found += [(bases, letters(rng, len(bases), QUALITIES))] * copies
        nbases += len(bases) * copies
    return found


def nbases(found):
    return sum(len(bases) for bases, _ in found)
