"""The rules of kcount filter, from the counts of a read's windows."""
import fractions
import itertools

COMPLEMENT = bytes.maketrans(b"ACGT", b"TGCA")


def kmers(bases, k):
    """For each window: its canonical k-mer, or None."""
    bases = bases.upper().replace(b"U", b"T")
    for i in range(len(bases) - k + 1):
        kmer = bases[i:i + k]
        yield min(kmer, kmer.translate(COMPLEMENT)[::-1]) if not kmer.strip(b"ACGT") else None


class Rule:
    """Options of filter, and what they mean."""
    def __init__(self, at_least="1", at_most=None, low=1, high=2**32 - 1, denominator="valid",
                 drop=False, pairs="any", trim=False):
        self.at_least, self.at_most, self.low, self.high = at_least, at_most, low, high
        self.denominator, self.drop, self.pairs, self.trim = denominator, drop, pairs, trim

    def options(self):
        yield from ("--at-least", self.at_least, "--min", self.low, "--max", self.high,
                    "--denominator", self.denominator)
        yield from ("--at-most", self.at_most) if self.at_most is not None else ()
        yield from ["--drop"] * self.drop + ["--trim"] * self.trim

    def bound(self, text, nwindows, nvalid):
        if not text.endswith("%"):
            return int(text)
        share = fractions.Fraction(text[:-1]) / 100
        return share * nvalid if self.denominator == "valid" else int(share * nwindows)

    def passes(self, windows):
        """windows: the counts, None where there is no k-mer."""
        valid = [c for c in windows if c is not None]
        found = sum(self.low <= c <= self.high for c in valid)
        sizes = len(windows), len(valid)
        return (bool(valid) and found >= self.bound(self.at_least, *sizes)
                and (self.at_most is None or found <= self.bound(self.at_most, *sizes)))

    def lead(self, windows):
        return len(list(itertools.takewhile(
            lambda c: c is not None and self.low <= c <= self.high, windows)))
