"""Counting through kcount.h: what tests/library/counter.c prints, and reads for it."""
import pathlib
import random
import subprocess
import sys

from lib.session import Session, expect
from lib.tools import Failure

COUNTER = pathlib.Path(sys.argv[3]).resolve()


class Counts(Session):
    def count(self, kind, output, *inputs, code=0, **options):
        """What the counter prints."""
        words = [f"{name}={int(value) if isinstance(value, bool) else value}"
                 for name, value in options.items()]
        done = subprocess.run([COUNTER, kind, output, *words, "--", *inputs], cwd=self.path,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=120)
        if done.returncode != code or done.stderr:
            raise Failure(f"{kind} {output} {words} {inputs}: exit {done.returncode}, "
                          f"{done.stdout[:600]}, {done.stderr}")
        return done.stdout.decode()

    def fails(self, status, message, *arguments, advice="", **options):
        """The call fails with this status, message and advice, and leaves nothing behind."""
        before = self.contents()
        lines = self.count(*arguments, code=1, **options).splitlines()
        expect(lines[0], status, f"status, {lines}")
        for said, wanted in (lines[1], message), (lines[3] if len(lines) > 3 else "", advice):
            if wanted not in said:
                raise Failure(f"{arguments}: {said!r}, not {wanted!r}")
        expect(self.contents(), before, "files after a failure")


def random_reads(seed, n, lengths):
    """Pairs of bases and qualities, as bytes; some letters are not bases, or in lower case."""
    rng = random.Random(seed)
    genome = "".join(rng.choices("ACGT", k=4000))
    reads = []
    for _ in range(n):
        length = rng.choice(lengths)
        at = rng.randrange(max(1, len(genome) - length))
        bases = list(genome[at:at + length])
        for j in range(len(bases)):
            if rng.random() < 0.002:
                bases[j] = rng.choice("NRacgtu-")
        qualities = "".join(rng.choices("!5I", [1, 3, 30], k=len(bases)))
        reads.append(("".join(bases).encode(), qualities.encode()))
    return reads
