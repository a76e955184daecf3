"""Random options: those that decide what is counted, and those that must not change the result."""

USUAL_KMERS = (1, 2, 3, 15, 16, 17, 21, 27, 31, 32, 33, 55, 63, 64, 65, 101, 127, 128, 129, 254,
               255)
MAX_DEVICE_K = 128
TABLES = ("warpdrive", "slab", "linear", "hopscotch")


def draw_k(rng):
    return rng.choice(USUAL_KMERS) if rng.random() < 0.6 else rng.randint(1, 255)


class Counting:
    """What is counted: k, strands, the minimum quality, and the counts that are kept."""

    def __init__(self, rng, k=None):
        self.k = k or draw_k(rng)
        self.stranded = rng.random() < 0.3
        self.quality = rng.choice((2, 10, 20, 30, 41)) if rng.random() < 0.2 else 0
        self.least = rng.choice((2, 3, 5)) if rng.random() < 0.15 else 1
        self.most = self.least + rng.choice((0, 1, 4, 1000)) if rng.random() < 0.1 else 2**32 - 1

    def options(self):
        options = ["-k", self.k]
        options += ["--stranded"] if self.stranded else []
        options += ["-q", self.quality] if self.quality else []
        options += ["--min", self.least] if self.least > 1 else []
        return options + (["--max", self.most] if self.most < 2**32 - 1 else [])


def draw_threads(rng):
    return rng.choice((1, 1, 2, 2, 3, 4, 5, 7, 8, 12, 16))


def draw_device(rng, setting, k):
    """Sometimes the CPU or auto; k above 128 is counted on the CPU in any case."""
    draw = rng.random()
    if setting.device == "cpu" or draw < 0.2:
        return "cpu"
    return setting.device if k <= MAX_DEVICE_K and draw < 0.9 else "auto"


def device_bounds(rng):
    """Bounds so small that parts of the work leave the device, and that cases can share it."""
    bound = rng.choice(("256M", "300M", "1G", "4G"))
    options = ["--gpu-memory", bound] if rng.random() < 0.9 else []
    batch, walk = rng.choice((4096, 30000, 10**6)), rng.randint(1, 8)
    if rng.random() < 0.5:
        options += ["--gpu-walk", walk]
    return options + (["--gpu-batch", batch] if rng.random() < 0.5 else [])


def engine(rng, setting, k):
    """Options of count and add that must not change the resulting file."""
    threads, memory = draw_threads(rng), rng.random()
    options = ["-t", threads]
    if memory < 0.35:
        options += ["--engine-memory", f"{threads * rng.choice((8, 12, 24))}M", "--tmp", "."]
    elif memory < 0.5:
        options += ["-m", rng.choice(("512M", "768M", "1G", "1.5G", "3G"))]
    device = draw_device(rng, setting, k)
    options += ["--device", device]
    if device.startswith("cuda"):
        options += ["--table", rng.choice(TABLES), *device_bounds(rng)]
    return options


def merging(rng, setting, k):
    """Options of compact, merge and the set operations that must not change the result."""
    device = draw_device(rng, setting, k)
    options = ["-t", draw_threads(rng), "--device", device]
    return options + (device_bounds(rng) if device.startswith("cuda") else [])
