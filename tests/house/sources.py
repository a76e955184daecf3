"""What the tests in this folder read of the sources: files, comments and string literals."""
import re

LIBRARIES = ("base", "cpu", "gpu", "io", "kmer", "ranks")
ROOMS = ("app",) + LIBRARIES
SUFFIXES = {".c", ".h", ".cu", ".cuh"}

COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
LITERAL = r'"(?:[^"\\\n]|\\.)*"'
# A macro such as PRIu64 between two literals joins them, too.
JOINED = rf"{LITERAL}(?:\s*(?:[A-Z]\w+\s*)?{LITERAL})*"


def files(source, folders=ROOMS):
    """All C and CUDA files of these folders, and of the folders within, in order."""
    for folder in folders:
        for path in sorted((source / folder).rglob("*")):
            if path.suffix in SUFFIXES:
                yield path


def without_comments(path):
    return COMMENT.sub("", path.read_text())


def literals(path):
    """The file's string literals, without their quotes; adjacent ones are joined."""
    for joined in re.findall(JOINED, path.read_text()):
        pieces = re.findall(LITERAL, joined)
        yield "".join(piece[1:-1] for piece in pieces).replace('\\"', '"')
