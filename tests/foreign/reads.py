"""Print reads of a random sequence, on both strands, some parts at high depth: counts of 1 to
69,900."""
import random

COMPLEMENT = str.maketrans("ACGT", "TGCA")
rng = random.Random(16)
genome = "".join(rng.choices("ACGT", k=500))
reads = [genome[at:at + 160] for at in rng.choices(range(340), k=30)]
reads += [genome[:130]] * 300 + ["A" * 70000]
for read in reads:
    turned = read[::-1].translate(COMPLEMENT) if rng.random() < 0.5 else read
    print(f">read\n{turned}")
