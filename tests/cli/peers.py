"""
kcount against jellyfish or kmc on the real reads in data/.

    peers.py KCOUNT jellyfish|kmc DATA
"""
import gzip
import pathlib
import shutil
import sys
import tempfile

from tools import SKIPPED, main, run, same_text

KCOUNT, DATA = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[3])
KMERS = (15, 21, 31, 33, 55, 77)


def jellyfish(reads, k, folder):
    run("jellyfish", "count", "-m", k, "-C", "-s", "10M", "-t", 2, "-o", folder / "peer.jf", reads)
    return run("jellyfish", "dump", "-c", "-t", folder / "peer.jf")


def kmc(reads, k, folder):
    kind = "-fq" if reads.read_bytes()[:1] == b"@" else "-fm"
    run("kmc", f"-k{k}", "-ci1", "-cs4294967295", "-m2", "-t2", kind, reads, folder / "peer", folder)
    run("kmc_tools", "transform", folder / "peer", "dump", "-s", folder / "peer.txt")
    return (folder / "peer.txt").read_bytes()


PEERS = {"jellyfish": jellyfish, "kmc": kmc}


def readable(path):
    """Both peers want plain FASTQ or FASTA, and neither knows U."""
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return text if text[:1] in (b"@", b">") and b"\nU" not in text and b"UU" not in text else None


def compare():
    peer = PEERS[sys.argv[2]]
    for path in sorted(DATA.glob("*.f*q.gz")) + sorted(DATA.glob("*.fa*.gz")):
        text = readable(path)
        if text is None:
            continue
        for k in KMERS:
            with tempfile.TemporaryDirectory() as folder:
                folder = pathlib.Path(folder)
                (folder / "reads").write_bytes(text)
                theirs = b"\n".join(sorted(peer(folder / "reads", k, folder).splitlines())) + b"\n"
                run(KCOUNT, path, "-k", k, "-t", 2, "--quiet", "-o", folder / "ours.kc")
                ours = run(KCOUNT, "dump", folder / "ours.kc")
                same_text(ours, theirs, f"{path.name} k={k} against {sys.argv[2]}")


if __name__ == "__main__":
    if shutil.which(sys.argv[2]) is None:
        print(f"{sys.argv[2]} is not installed: skipped")
        sys.exit(SKIPPED)
    main([compare])
