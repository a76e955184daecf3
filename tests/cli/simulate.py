"""
bench/simulate: its text never changes, and --bgzf writes the same text as valid BGZF, whatever the
number of threads.

    simulate.py SIMULATE
"""
import gzip
import hashlib
import pathlib
import struct
import subprocess
import sys
import tempfile

from lib.tools import Failure, main, run

SIMULATE = pathlib.Path(sys.argv[1]).resolve()
MOST_TEXT = 1 << 16  # bytes of text in a block of BGZF
END = bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000")

# Recorded results, and other tests, rely on this text.
TEXTS = (
    ("--genome 20K --coverage 5",
     "f719242819973a63dbd3325167983244767048922414057d54f447de3e163a8a"),
    ("--genome 20K --coverage 5 --repeats 0.5 --n-rate 0.01 --wrap 61 --seed 7",
     "f0381bd1f48baa3aed94133d2e833c88b521a0bf353e0083ba96381fb18f82a4"),
    ("--genome 20K --coverage 5 --format fasta --error 0.1 --length 99",
     "c48f6de514d9a5e86a95665e2fb7cfe012682fa05e3ce6183555a346cb81e9da"))
# No reads, fewer than a block of text, and several blocks of 1 MiB that threads share.
SIZES = ("--genome 1K --coverage 0", "--genome 1K --coverage 1",
         "--genome 300K --coverage 8", "--genome 300K --coverage 8 --error 1 --n-rate 0.5")


def text_of(options):
    return run(SIMULATE, *options.split())


def blocks(packed):
    """(size, text) of each block of BGZF."""
    while packed:
        if packed[:4] != END[:4] or packed[10:16] != END[10:16]:
            raise Failure(f"not a block of BGZF: {packed[:18].hex()}")
        nbytes = struct.unpack("<H", packed[16:18])[0] + 1
        yield nbytes, gzip.decompress(packed[:nbytes])
        packed = packed[nbytes:]


def test_text():
    for options, digest in TEXTS:
        got = hashlib.sha256(text_of(options)).hexdigest()
        if got != digest:
            raise Failure(f"{options}: sha256 {got}")


def test_bgzf():
    for options in SIZES:
        wanted, packed = text_of(options), text_of(f"{options} --bgzf --threads 2")
        if subprocess.run(["gzip", "-t"], input=packed).returncode != 0:
            raise Failure(f"{options}: gzip -t refuses the file")
        parts = list(blocks(packed))
        if b"".join(text for _, text in parts) != wanted:
            raise Failure(f"{options}: --bgzf changed the text")
        if packed[-len(END):] != END or [n for n, text in parts if not text] != [len(END)]:
            raise Failure(f"{options}: not one empty block, at the end")
        if any(text.endswith(b"\n") for _, text in parts[:-2]):
            raise Failure(f"{options}: a block before the last ends with a line, and may end with "
                          "a record")
        if max(len(text) for _, text in parts) > MOST_TEXT:
            raise Failure(f"{options}: a block is too large")


def test_threads():
    for options in SIZES:
        one, three = (text_of(f"{options} --bgzf --threads {threads}") for threads in (1, 3))
        if one != three:
            raise Failure(f"{options}: the bytes depend on the number of threads")


def test_files():
    """-o writes what standard output gets; a full disk is an error."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "reads.fq.gz"
        run(SIMULATE, *SIZES[2].split(), "--bgzf", "-o", path)
        if path.read_bytes() != text_of(f"{SIZES[2]} --bgzf"):
            raise Failure("a file differs from standard output")
    full = subprocess.run([SIMULATE, "--bgzf", "-o", "/dev/full"], capture_output=True, text=True)
    if full.returncode != 1 or "No space left" not in full.stderr:
        raise Failure(f"a full disk: exit {full.returncode}, {full.stderr}")


main([test_text, test_bgzf, test_threads, test_files])
