"""
A disk that loses power, simulated from a journal of tests/fault/journal.h.

What has been flushed is on the disk. Of each later change it may hold all, nothing or a part:

- a write may be missing, or only some of its sectors may be there (a sector is written whole; of a
  write of at most 128 bytes any prefix may be there, as if sectors were smaller), and the file may
  have grown to the write's end before the data came, with zeros in their place;
- a truncation may be missing;
- of the changes of a folder since the folder was flushed, any subset may be there (POSIX promises
  no order); a rename happens or does not. Flushing a file does not make its name durable.

A change that is lost does not stop later ones: writes reach the disk in any order. Where
two writes overlap, the older one never wins over the newer one if both are there.
"""
import hashlib
import itertools
import os
from typing import NamedTuple

SECTOR = 512
SMALL = 128  # every prefix of a write up to this long is tried
EVERY = 10  # all subsets of up to this many changes are tried


class Call(NamedTuple):
    name: str
    inode: object
    a: int  # a write's offset, a truncated file's size
    folder: bool
    path: str
    second: str
    data: bytes

    def __str__(self):
        if self.name == "write":
            return f"write of {len(self.data)} bytes at {self.a}"
        names = " to ".join(os.path.basename(name) for name in (self.path, self.second) if name)
        return f"truncate to {self.a}" if self.name == "truncate" else f"{self.name} {names}"


def read_journal(path):
    """The calls of a journal; an inode number that the system reused counts as a different file."""
    with open(path, "rb") as file:
        content = file.read()
    calls, at, ages = [], 0, {}
    while at < len(content):
        end = content.index(b"\n", at)
        name, inode, a, folder, *lengths = content[at:end].decode().split()
        at, parts = end + 1, []
        for length in map(int, lengths):
            parts.append(content[at:at + length])
            at += length
        if name in ("create", "tmpfile"):
            ages[inode] = ages.get(inode, 0) + 1
        calls.append(Call(name, (inode, ages.get(inode, 0)), int(a), folder == "1",
                          parts[0].decode(), parts[1].decode(), parts[2]))
    return calls


class Snapshot(NamedTuple):
    """A moment at which power may fail: what is certainly on the disk, and what may be there."""
    files: dict  # inode: content
    names: dict  # path: inode
    changes: list  # calls on files, in order
    renamings: list  # calls on names, in order
    ncalls: int  # calls of the journal that have happened


def snapshots(files, names, calls):
    """
    The moments just before each flush, and the end. They cover all earlier moments: a call that is
    still to come leaves the same disk as a call that was lost.
    """
    files, names, changes, renamings = dict(files), dict(names), [], []
    for i, call in enumerate(calls):
        if call.name == "unknown":
            raise ValueError(f"a call that cannot be replayed: {call.path}")
        if call.name in ("create", "tmpfile"):
            files[call.inode] = b""
        if call.name in ("create", "rename", "link", "unlink"):
            renamings.append(call)
        if call.name in ("write", "truncate") and call.inode in files:
            changes.append(call)
        if call.name != "sync":
            continue
        if call.folder:
            flushed = [c for c in renamings if os.path.dirname(c.second or c.path) == call.path]
        else:
            flushed = [c for c in changes if c.inode == call.inode]
        if not flushed:
            continue
        yield Snapshot(dict(files), dict(names), list(changes), list(renamings), i)
        if call.folder:
            rename(names, flushed)
            renamings = [c for c in renamings if c not in flushed]
        else:
            change(files, flushed, [KEPT] * len(flushed))
            changes = [c for c in changes if c.inode != call.inode]
    yield Snapshot(files, names, changes, renamings, len(calls))


def rename(names, calls):
    for call in calls:
        if call.name in ("rename", "unlink") and names.get(call.path) == call.inode:
            del names[call.path]
        if call.name == "rename":
            names[call.second] = call.inode
        elif call.name in ("create", "link"):
            names[call.path] = call.inode


# ---- what becomes of a change ----

class Fate(NamedTuple):
    kept: object  # True, False, or the set of pieces of a write that are kept
    nbytes: int = -1  # if only this many of the write reach the disk
    grown: bool = True  # the file has grown to the write's end, even if not all data are there

    def __str__(self):
        if self.kept is True and self.nbytes < 0:
            return "kept"
        if self.kept is False:
            return "lost"
        what = f"its first {self.nbytes} bytes" if self.nbytes >= 0 else ranges(self.kept)
        return what + (" of a file that has grown" if self.grown else "")


def ranges(numbers):
    """Text such as: sectors 0-3, 7"""
    runs = []
    for number in sorted(numbers):
        if runs and runs[-1][1] == number - 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    text = ", ".join(f"{a}-{b}" if a < b else f"{a}" for a, b in runs)
    return "sectors " + text if runs else "no sector"


KEPT, LOST = Fate(True), Fate(False)


def pieces(call):
    """Cut a write at sector boundaries."""
    at, left = call.a, call.data
    while left:
        n = SECTOR - at % SECTOR
        yield at, left[:n]
        at, left = at + n, left[n:]


def put(content, at, data):
    if at > len(content):
        content.extend(bytes(at - len(content)))
    content[at:at + len(data)] = data


def change(files, calls, fates):
    changed = {}
    for call, fate in zip(calls, fates):
        if fate.kept is False:
            continue
        content = changed.setdefault(call.inode, bytearray(files[call.inode]))
        if call.name == "truncate":
            del content[call.a:]
            content.extend(bytes(call.a - len(content)))
            continue
        end = call.a + len(call.data)
        if fate.kept is True:
            put(content, call.a, call.data if fate.nbytes < 0 else call.data[:fate.nbytes])
        else:
            for i, (at, data) in enumerate(pieces(call)):
                if i in fate.kept:
                    put(content, at, data)
        if fate.grown and len(content) < end:
            content.extend(bytes(end - len(content)))
    files.update((inode, bytes(content)) for inode, content in changed.items())


def torn(call, rng):
    """Fates of a write that is partly there: its first sectors, other sectors, a grown file."""
    n = len(list(pieces(call)))
    yield Fate(frozenset())
    prefixes = range(1, n) if n <= 16 else sorted(rng.sample(range(1, n), 16))
    for i in prefixes:
        yield Fate(frozenset(range(i)), grown=False)
        yield Fate(frozenset(range(i)))
        yield Fate(frozenset(range(i, n)))
    if len(call.data) <= SMALL:
        for nbytes in range(1, len(call.data)):
            yield Fate(True, nbytes, grown=False)
    for _ in range(4 if n > 2 else 0):
        yield Fate(frozenset(i for i in range(n) if rng.random() < 0.5))


def random_fate(call, rng):
    dice = rng.random()
    if call.name != "write" or dice < 0.55:
        return KEPT if rng.random() < 0.65 else LOST
    if len(call.data) <= SMALL and dice < 0.7:
        return Fate(True, rng.randrange(len(call.data)), grown=rng.random() < 0.5)
    keep = rng.random()
    return Fate(frozenset(i for i, _ in enumerate(pieces(call)) if rng.random() < keep),
                grown=rng.random() < 0.5)


def fates_of(calls, rng):
    """Fates of all calls: first the likely and the revealing ones, then random ones, endlessly."""
    n = len(calls)
    for i in range(n + 1):  # the calls up to a moment are kept
        yield [KEPT] * i + [LOST] * (n - i)
    for i in range(n):
        yield [LOST if j == i else KEPT for j in range(n)]
        yield [KEPT if j == i else LOST for j in range(n)]
    partly = [[(i, fate) for fate in torn(call, rng)]
              for i, call in enumerate(calls) if call.name == "write"]
    for row in itertools.zip_longest(*partly):  # by turns, because a bound may end this early
        for i, fate in filter(None, row):
            yield [KEPT] * i + [fate] + [LOST] * (n - i - 1)
            yield [KEPT] * i + [fate] + [KEPT] * (n - i - 1)
    if n <= EVERY:
        for kept in itertools.product((KEPT, LOST), repeat=n):
            yield list(kept)
    while n > 0:
        yield [random_fate(call, rng) for call in calls]


def subsets_of(calls, rng):
    """Subsets of the changes of names: first those up to a moment."""
    n = len(calls)
    for i in range(n, -1, -1):
        yield calls[:i]
    if n <= EVERY:
        for kept in itertools.product((True, False), repeat=n):
            yield [call for call, keep in zip(calls, kept) if keep]
    else:
        for _ in range(2 ** EVERY):
            yield [call for call in calls if rng.random() < 0.5]


class State(NamedTuple):
    files: dict  # path: content
    story: str  # what was lost or kept
    ncalls: int


def states(snapshot, rng, bound, seen):
    """
    Distinct states of the folder at the moment: at most bound of them, and none that is in seen,
    to which they are added. States that differ only in inodes or in files without a name are equal.
    """
    found = 0
    tables = []
    for kept in subsets_of(snapshot.renamings, rng):
        names = dict(snapshot.names)
        rename(names, kept)
        if names not in [table for table, _ in tables]:
            tables.append((names, kept))
    for i, (names, kept) in enumerate(tables):
        calls = [call for call in snapshot.changes if call.inode in names.values()]
        share, futile = found + (bound - found) // (len(tables) - i), 0
        for fates in fates_of(calls, rng):
            files = dict(snapshot.files)
            change(files, calls, fates)
            state = {path: files[inode] for path, inode in names.items()}
            key = digest(state)
            futile = futile + 1 if key in seen else 0
            if futile == 1000:
                break
            if key in seen:
                continue
            seen.add(key)
            found += 1
            yield State(state, tell(snapshot, kept, calls, fates), snapshot.ncalls)
            if found >= share:
                break


def digest(files):
    total = hashlib.blake2b(digest_size=16)
    for path in sorted(files):
        total.update(f"{path}\0{len(files[path])}\0".encode())
        total.update(files[path])
    return total.digest()


def tell(snapshot, kept, calls, fates):
    parts = [f"{call}: {fate}" for call, fate in zip(calls, fates)]
    parts += [f"{call}: {'kept' if call in kept else 'lost'}" for call in snapshot.renamings]
    return f"after call {snapshot.ncalls}: " + ("; ".join(parts) or "nothing pending")
