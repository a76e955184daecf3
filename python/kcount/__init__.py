"""Count k-mers of sequencing reads, and ask for their counts.

    >>> import kcount
    >>> counts = kcount.count_sequences(["GATTACA", "TGTAATC"], k=4)
    >>> counts
    <kcount.Counts k=4, 4 distinct k-mers, total 8>
    >>> counts["TTAC"], counts["gtaa"], counts["AAAA"]
    (2, 2, 0)

k-mers as numbers. A k-mer is the integer that its bases spell, 2 bits a base, A=0 C=1 G=2 T=3, the
first base most significant. For k up to 32, n k-mers are an array of shape (n,) and dtype uint64;
for larger k, of shape (n, words), words = ceil(k / 32), the most significant word first. So the
order of numbers, or of rows, is alphabetical order.

Notices, such as that a file of reads may lack its end, or that a .kc file is damaged but no k-mers
are lost, are logged as warnings by the logger "kcount" of the package logging.
"""
from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Literal, overload

import numpy
from numpy.typing import NDArray

from . import _kcount
from .errors import DamagedError, Error, FormatError, UsageError

__all__ = ["Counts", "DamagedError", "Error", "FormatError", "UsageError", "canonical", "count",
           "count_sequences", "decode", "encode", "joint_hist", "open", "revcomp"]
__version__ = _kcount.version()

_log = logging.getLogger("kcount")

Path = str | bytes | os.PathLike
Letters = str | bytes
Kmers = NDArray[numpy.uint64]
Numbers = NDArray[numpy.uint64]
Found = NDArray[numpy.uint32]
Progress = Callable[[str, int, int], object]

MAX_K = 255
MAX_COUNT = 2**32 - 1
PART = 1 << 16
HOST_MEMORY = {1, 3, 11, 13}  # DLPack's device types: CPU, pinned (two of them), managed
SUFFIXES = {"K": 10, "M": 20, "G": 30, "T": 40}


# ---- k-mers as numbers ----


def _check(name, value, least, most):
    """Refuse a number out of range, which the extension module would take for another one."""
    if not least <= value <= most:
        raise UsageError(f"{name} is {value}; it must be {least} to {most}")
    return value


def _check_k(k):
    _check("k", k, 1, MAX_K)


def _words(k):
    return (2 * k + 63) // 64


def _new_kmers(k, n):
    return numpy.empty(n if k <= 32 else (n, _words(k)), numpy.uint64)


def _parts(n, rows):
    """Slices of `rows` rows. Between two of them, Python runs other threads, and Ctrl-C works."""
    return (slice(begin, min(n, begin + rows)) for begin in range(0, n, rows))


def _is_on_device(array):
    """Whether NumPy cannot read the array where it is."""
    return hasattr(array, "__dlpack_device__") and array.__dlpack_device__()[0] not in HOST_MEMORY


class _HostCopy:
    """An array on a device, of which numpy.from_dlpack gets a copy on the host."""

    def __init__(self, array):
        self._array = array

    def __dlpack__(self, **unused):
        return self._array.__dlpack__(dl_device=self.__dlpack_device__())

    def __dlpack_device__(self):
        return 1, 0


def _beside(question, answer):
    """The answer; if the question is on a device, as an array of its package on that device."""
    if not _is_on_device(question):
        return answer
    if hasattr(question, "__array_namespace__"):
        return question.__array_namespace__().asarray(answer, device=question.device)
    with question.device:  # CuPy, PyTorch
        return sys.modules[type(question).__module__.partition(".")[0]].asarray(answer)


def _as_kmers(k, kmers):
    """A contiguous array of k-mers, from anything that NumPy can take without a copy, or from an
    array on a device."""
    if hasattr(kmers, "__dlpack__") and not isinstance(kmers, numpy.ndarray):
        kmers = numpy.from_dlpack(_HostCopy(kmers) if _is_on_device(kmers) else kmers)
    kmers = numpy.asarray(kmers)
    if kmers.dtype != numpy.uint64 or kmers.shape[1:] != _new_kmers(k, 0).shape[1:] \
            or kmers.ndim == 0:
        shape = "(n,)" if k <= 32 else f"(n, {_words(k)})"
        raise UsageError(f"{k}-mers are an array of shape {shape} and dtype uint64, not of shape "
                         f"{kmers.shape} and dtype {kmers.dtype}")
    return numpy.ascontiguousarray(kmers)


def _letters(sequence):
    """A byte for each letter. Those that are not ASCII become "?", which is not a base."""
    if isinstance(sequence, str):
        return sequence.encode("ascii", "replace")
    return memoryview(sequence).tobytes()


def encode(kmers: Iterable[Letters], k: int | None = None) -> Kmers:
    """Text to numbers.

    Args:
        kmers: a list of str or bytes, all of one length; either case, U as T
        k: this length; needed only if the list is empty

    Returns:
        uint64 of shape (n,), or (n, words) if k > 32

    Raises:
        UsageError: the lengths differ, or a letter is not a base

    >>> kcount.encode(["ACGT", "ttaa"])
    array([ 27, 240], dtype=uint64)
    """
    texts = kmers if isinstance(kmers, list) else list(kmers)
    if k is None:
        k = len(texts[0]) if texts else 0
    _check_k(k)
    numbers = _new_kmers(k, len(texts))
    for part in _parts(len(texts), PART):
        done = part.start + _kcount.encode(k, texts, part.start, numbers[part])
        if done < part.stop:
            wrong = texts[done]
            if len(_letters(wrong)) != k:
                raise UsageError(f"{wrong!r} has {len(wrong)} letters, not {k}")
            raise UsageError(f"{wrong!r} has a letter that is not a base")
    return numbers


def decode(kmers: Kmers, k: int) -> list[str]:
    """Numbers to text.

    Args:
        kmers: uint64 of shape (n,), or (n, words) if k > 32
        k: the length of the k-mers

    Returns:
        a list of n str, in upper case

    >>> kcount.decode(kcount.encode(["ACGT", "ttaa"]), 4)
    ['ACGT', 'TTAA']
    """
    _check_k(k)
    numbers = _as_kmers(k, kmers)
    texts = []
    for part in _parts(len(numbers), PART):
        letters = bytearray(len(numbers[part]) * k)
        _kcount.decode(k, numbers[part], letters)
        text = letters.decode("ascii")
        texts += [text[i:i + k] for i in range(0, len(text), k)]
    return texts


def _changed(k, kmers, change):
    """A copy of the k-mers after change(k, copy)."""
    _check_k(k)
    numbers = _as_kmers(k, kmers).copy()
    for part in _parts(len(numbers), PART):
        change(k, numbers[part])
    return _beside(kmers, numbers)


def canonical(kmers: Kmers, k: int) -> Kmers:
    """The smaller of each k-mer and its reverse complement.

    Args:
        kmers: uint64 of shape (n,), or (n, words) if k > 32
        k: the length of the k-mers

    Returns:
        a new array of the same shape and dtype, on the same device

    >>> kcount.decode(kcount.canonical(kcount.encode(["ACGT", "TTAC"]), 4), 4)
    ['ACGT', 'GTAA']
    """
    return _changed(k, kmers, _kcount.canonical)


def revcomp(kmers: Kmers, k: int) -> Kmers:
    """The reverse complement of each k-mer.

    Args:
        kmers: uint64 of shape (n,), or (n, words) if k > 32
        k: the length of the k-mers

    Returns:
        a new array of the same shape and dtype, on the same device

    >>> kcount.decode(kcount.revcomp(kcount.encode(["ACGT", "TTAC"]), 4), 4)
    ['ACGT', 'GTAA']
    """
    return _changed(k, kmers, _kcount.reverse_complement)


# ---- counting ----


def _nbytes(memory):
    """Bytes, from a number or a text such as 16G."""
    if memory is None:
        return 0
    if isinstance(memory, str):
        number, suffix = memory[:-1], memory[-1:].upper()
        if suffix not in SUFFIXES or not number.isdigit():
            raise UsageError(f"memory: {memory!r} is not a number of bytes, or one such as 16G")
        memory = int(number) << SUFFIXES[suffix]
    return _check("memory", int(memory), 0, 2**64 - 1)


def _new_counts(capsule):
    """Counts, once the library's warning about them, if any, has been logged."""
    if text := _kcount.warning(capsule):
        _log.warning(text)
    return Counts(capsule)


def _count(inputs, k, *, device, threads, memory, min, max, canonical, hpc, min_quality,
           accept_empty, out, overwrite, tmp, progress):
    _check_k(k)
    _check("min", min, 1, MAX_COUNT)
    max = MAX_COUNT if max is None else _check("max", max, 1, MAX_COUNT)
    return Counts(_kcount.count(inputs, out, tmp, device, progress, _log.warning, k, not canonical,
                                hpc, overwrite, accept_empty, min, max, min_quality, threads or 0,
                                _nbytes(memory)))


def count(paths: Path | Iterable[Path], k: int = 31, *, device: str = "auto",
          threads: int | None = None, memory: int | str | None = None, min: int = 1,
          max: int | None = None, canonical: bool = True, hpc: bool = False, min_quality: int = 0,
          accept_empty: bool = False, out: Path | None = None, overwrite: bool = False,
          tmp: Path | None = None, progress: Progress | None = None) -> Counts:
    """Count the k-mers of files of reads.

    Args:
        paths: a path, or a list of them: FASTQ, FASTA, SAM, BAM or CRAM, plain or compressed
        device: "auto", "cpu", "cuda", "cuda:1", "cuda:0,1"
        threads: default: as many as the process may use
        memory: bound on memory, as a number of bytes or such as "16G"; default: half of what is
            available
        min, max: k-mers with counts out of these bounds are dropped
        canonical: count a k-mer and its reverse complement together
        hpc: count each run of equal bases as one base
        min_quality: leave out k-mers with a base of lower Phred quality
        accept_empty: inputs of 0 bytes are no errors
        out: the .kc file to write; default: the counts have no name, and are gone with the object
        overwrite: an existing file may be replaced
        tmp: a folder for temporary files; default: that of the output, or the current one
        progress: called as progress(stage, done, total) about ten times a second; an exception that
            it raises ends the count

    Returns:
        Counts

    Raises:
        UsageError: what is asked for is impossible, such as a k out of range
        FormatError: a file is missing, damaged, truncated or of another kind
        FileExistsError: the output exists
        KeyboardInterrupt: Ctrl-C; no file remains

    >>> with kcount.count("reads.fq.gz", k=31, min=2, out="reads.kc") as counts:
    ...     counts
    <kcount.Counts k=31, 52009 distinct k-mers, total 1090768>
    """
    if isinstance(paths, (str, bytes, os.PathLike)):
        paths = [paths]
    return _count(list(paths), k, device=device, threads=threads, memory=memory, min=min, max=max,
                  canonical=canonical, hpc=hpc, min_quality=min_quality, accept_empty=accept_empty,
                  out=out, overwrite=overwrite, tmp=tmp, progress=progress)


def count_sequences(sequences: Iterable[Letters], k: int = 31, *, device: str = "auto",
                    threads: int | None = None, memory: int | str | None = None, min: int = 1,
                    max: int | None = None, canonical: bool = True, out: Path | None = None,
                    overwrite: bool = False, tmp: Path | None = None,
                    progress: Progress | None = None) -> Counts:
    """Count the k-mers of sequences.

    Args:
        sequences: an iterable of str or bytes, which may be a generator
        k, ...: as for count()

    Returns:
        Counts

    >>> kcount.count_sequences((read for read in ["ACGTN", "ACG"]), k=3).hist()
    (array([3], dtype=uint64), array([1], dtype=uint64))
    """
    return _count(iter(sequences), k, device=device, threads=threads, memory=memory, min=min,
                  max=max, canonical=canonical, hpc=False, min_quality=0, accept_empty=True,
                  out=out, overwrite=overwrite, tmp=tmp, progress=progress)


def open(path: Path, *, device: str = "cpu") -> Counts:
    """Open a .kc file.

    A warning is logged if the file is damaged but can still be read, or if what was added to it
    last may be missing.

    Args:
        path: the file
        device: see Counts.device

    Returns:
        Counts

    Raises:
        DamagedError: the file is damaged, or it is not a .kc file
        Error: the device cannot be used

    >>> kcount.open("reads.kc").k
    31
    """
    counts = _new_counts(_kcount.open(path))
    if device != "cpu":
        counts.device = device
    return counts


def _columns(rows, n):
    """The columns of a table of uint64, as new arrays."""
    return tuple(numpy.frombuffer(rows, numpy.uint64).reshape(-1, n).T.copy())


class Counts:
    """k-mers with their counts. Made by count(), count_sequences() and open(). May be used by
    several threads at once; works as a context manager, too.

    Set operations make new counts, in a file without a name in the current folder: a | b and a + b,
    the k-mers that at least one has, with the sums of the counts; a & b, those that both have, with
    the smaller count; a - b, those that b lacks.

    >>> a = kcount.count_sequences(["GATTACA"], k=4)
    >>> b = kcount.count_sequences(["TTACA", "TTACA"], k=4)
    >>> a | b
    <kcount.Counts k=4, 4 distinct k-mers, total 8>
    >>> a & b
    <kcount.Counts k=4, 2 distinct k-mers, total 2>
    >>> a - b
    <kcount.Counts k=4, 2 distinct k-mers, total 2>
    """

    def __init__(self, capsule):
        self._capsule = capsule
        self._info = _kcount.info(capsule)
        self._asker = None
        self._device = "cpu"
        self._lock = threading.Lock()  # an asker serves one thread at a time

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()

    def close(self) -> None:
        """Close the file. Counts without a name are gone."""
        with self._lock:
            self._asker = self._capsule = None

    def _open_capsule(self):
        if self._capsule is None:
            raise UsageError("these counts are closed")
        return self._capsule

    @property
    def k(self) -> int:
        """The length of the k-mers."""
        return self._info["k"]

    @property
    def canonical(self) -> bool:
        """Whether a k-mer and its reverse complement were counted together."""
        return self._info["canonical"]

    @property
    def total(self) -> int:
        """The sum of all counts. If info["exact"] is false, because k-mers were added to the file or
        removed from it and `kcount compact` has not merged them yet, it is an upper bound, and so
        is len(counts)."""
        return self._info["total"]

    @property
    def info(self) -> dict[str, int | bool]:
        """Everything that is known about the counts, as a new dict.

        >>> info = kcount.count_sequences(["GATTACA"], k=4).info
        >>> info["reads"], info["bases"], info["distinct"], info["max_count"]
        (1, 7, 4, 1)
        """
        return dict(self._info)

    def __len__(self) -> int:
        return self._info["distinct"]

    def __bool__(self):
        return True

    __iter__ = None  # otherwise Python would ask for the k-mers 0, 1, ...

    def __repr__(self):
        about = "" if self._info["exact"] else "at most "
        strands = "" if self.canonical else ", stranded"
        return (f"<kcount.Counts k={self.k}{strands}, {about}{len(self)} distinct k-mers, total "
                f"{self.total}>")

    # ---- one k-mer ----

    def __getitem__(self, kmer: Letters) -> int:
        """The count of a k-mer, str or bytes in either case; 0 if it is absent.

        >>> kcount.count_sequences(["GATTACA"], k=4)["TTAC"]
        1
        """
        return int(self.query_many([kmer])[0])

    def __contains__(self, kmer: Letters) -> bool:
        return self[kmer] > 0

    def get(self, kmer: Letters, default: int = 0) -> int:
        """The count of a k-mer, or the default if it is absent.

        >>> kcount.count_sequences(["GATTACA"], k=4).get("AAAA", -1)
        -1
        """
        return self[kmer] or default

    # ---- many k-mers ----

    @property
    def device(self) -> str:
        """Where counts of given k-mers are looked up: "cpu", "cuda", "cuda:1" or "cuda:0,1".

        Setting it to CUDA devices loads all counts into their memory, for k up to 64, until it is
        set to another device or the counts are closed. Queries of a few k-mers are answered by the
        CPU even then.

        >>> counts = kcount.count_sequences(["GATTACA"], k=4)
        >>> counts.device
        'cpu'
        """
        return self._device

    @device.setter
    def device(self, device: str) -> None:
        with self._lock:
            self._asker = None  # first, because devices may not have room for two
            self._asker, self._device = self._new_asker(device), device

    def _new_asker(self, device):
        return _kcount.asker_open(self._open_capsule(), 0, 0, device)

    def _ask(self, function, *arguments):
        with self._lock:
            if self._asker is None:
                self._asker = self._new_asker(self._device)
            function(self._asker, *arguments)

    def query_many(self, kmers: list[Letters] | Kmers) -> Found:
        """The counts of many k-mers.

        Args:
            kmers: a list of str or bytes of length k; or numbers: uint64 (n,), or (n, words) if
                k > 32, as anything that has a buffer or __dlpack__

        Returns:
            uint32 of shape (n,); 0 if absent. If kmers is an array on a device, of CuPy or of a
            package that follows the array API standard, so is the result, on the same device

        >>> counts = kcount.count_sequences(["GATTACA", "TTACA"], k=4)
        >>> counts.query_many(["TTAC", "AAAA"])
        array([2, 0], dtype=uint32)
        >>> counts.query_many(kcount.encode(["TTAC", "AAAA"]))
        array([2, 0], dtype=uint32)
        """
        if isinstance(kmers, (list, tuple)):
            kmers = encode(kmers, self.k)
        numbers = _as_kmers(self.k, kmers)
        found = numpy.empty(len(numbers), numpy.uint32)
        self._ask(_kcount.ask, numbers, found)
        return _beside(kmers, found)

    @overload
    def query(self, sequence: Letters, mask: Literal[False] = False) -> Found: ...

    @overload
    def query(self, sequence: Letters,
              mask: Literal[True]) -> tuple[Found, NDArray[numpy.bool_]]: ...

    def query(self, sequence, mask=False):
        """The counts of all k-mers of a sequence.

        Args:
            sequence: n letters, str or bytes
            mask: also return which k-mers have only bases

        Returns:
            uint32 of shape (max(0, n - k + 1),); 0 if absent, or if one of its letters is no base;
            with mask, a tuple of this array and one of bool of the same shape

        >>> counts = kcount.count_sequences(["GATTACA"], k=4)
        >>> counts.query("GATTANTT", mask=True)
        (array([1, 1, 0, 0, 0], dtype=uint32), array([ True,  True, False, False, False]))
        """
        letters = _letters(sequence)
        n = max(0, len(letters) - self.k + 1)
        found, valid = numpy.empty(n, numpy.uint32), numpy.empty(n, bool) if mask else None
        if n > 0:
            self._ask(_kcount.ask_sequence, letters, found, valid)
        return (found, valid) if mask else found

    # ---- all k-mers ----

    def hist(self, max: int | None = None, *,
             progress: Progress | None = None) -> tuple[Numbers, Numbers]:
        """The histogram. numbers[i] k-mers have the count counts[i].

        Args:
            max: k-mers with higher counts are added to this row
            progress: as for count()

        Returns:
            (counts, numbers): uint64 of shape (rows,) each, by ascending count

        >>> kcount.count_sequences(["GATTACA", "TTACA"], k=4).hist()
        (array([1, 2], dtype=uint64), array([2, 2], dtype=uint64))
        """
        if max is not None:
            _check("max", max, 1, sys.maxsize)
        counts, numbers = _columns(_kcount.histogram(self._open_capsule(), progress), 2)
        if max is not None and len(counts) > 0 and counts[-1] > max:
            high = counts >= max
            below, sum_above = ~high, numbers[high].sum(dtype=numpy.uint64)
            counts = numpy.append(counts[below], numpy.uint64(max))
            numbers = numpy.append(numbers[below], sum_above)
        return counts, numbers

    def _bound(self, text, filler):
        """A k-mer, or the first or the last one with a prefix, as a number."""
        if text is None:
            return None
        letters = _letters(text)
        return encode([letters + filler * (self.k - len(letters))], self.k)

    def batches(self, rows: int = 1 << 20, lo: Letters | None = None,
                hi: Letters | None = None) -> Iterator[tuple[Kmers, Found]]:
        """All k-mers in ascending order, some rows at a time.

        Args:
            rows: at most this many at a time
            lo, hi: the first and the last k-mer, or prefixes of these; default: all k-mers

        Yields:
            (kmers, counts): new arrays, uint64 of shape (n,), or (n, words) if k > 32, and uint32
            of shape (n,)

        >>> for kmers, counts in kcount.count_sequences(["GATTACA"], k=4).batches(rows=3):
        ...     print(kcount.decode(kmers, 4), counts)
        ['AATC', 'ATTA', 'GTAA'] [1 1 1]
        ['TACA'] [1]
        """
        _check("rows", rows, 1, sys.maxsize)
        cursor = _kcount.cursor_open(self._open_capsule(), self._bound(lo, b"A"),
                                     self._bound(hi, b"T"))
        while True:
            kmers, counts = _new_kmers(self.k, rows), numpy.empty(rows, numpy.uint32)
            n = sum(_kcount.cursor_next(cursor, kmers[part], counts[part])
                    for part in _parts(rows, PART))
            if n == 0:
                return
            yield kmers[:n], counts[:n]

    def range(self, lo: Letters | None = None,
              hi: Letters | None = None) -> tuple[Kmers, Found]:
        """The k-mers from lo to hi, both included.

        Args:
            lo, hi: k-mers, or prefixes of these; default: no bound

        Returns:
            (kmers, counts): uint64 of shape (n,), or (n, words) if k > 32, and uint32 of shape (n,)

        >>> kmers, counts = kcount.count_sequences(["GATTACA"], k=4).range("A", "G")
        >>> kcount.decode(kmers, 4)
        ['AATC', 'ATTA', 'GTAA']
        """
        batches = list(self.batches(lo=lo, hi=hi))
        if not batches:
            return _new_kmers(self.k, 0), numpy.empty(0, numpy.uint32)
        kmers, counts = zip(*batches)
        return numpy.concatenate(kmers), numpy.concatenate(counts)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """All k-mers in ascending order, for packages that read Arrow's PyCapsule interface, such
        as polars.DataFrame(counts), pyarrow.table(counts) or duckdb.from_arrow(counts).

        Args:
            requested_schema: ignored, as the interface allows

        Returns:
            a PyCapsule with a stream of record batches: kmer (utf8) and count (uint32)
        """
        return _kcount.arrow_stream(self._open_capsule())

    # ---- sets of k-mers ----

    def _combine(self, others, operation, rule, out=None, tmp=None, overwrite=False,
                 progress=None):
        if not all(isinstance(other, Counts) for other in others):
            return NotImplemented
        capsules = tuple(counts._open_capsule() for counts in (self, *others))
        return _new_counts(_kcount.combine(capsules, operation, rule, out, tmp, overwrite,
                                           progress))

    def __or__(self, other: Counts) -> Counts:
        """The k-mers that at least one has, with the sums of the counts."""
        return self._combine([other], _kcount.UNION, _kcount.RULE_SUM)

    __add__ = __or__

    def __and__(self, other: Counts) -> Counts:
        """The k-mers that both have, with the smaller of the counts."""
        return self._combine([other], _kcount.INTERSECT, _kcount.RULE_MIN)

    def __sub__(self, other: Counts) -> Counts:
        """The k-mers that the other one lacks, with their counts."""
        return self._combine([other], _kcount.SUBTRACT, _kcount.RULE_LEFT)

    def save(self, path: Path, *, overwrite: bool = False,
             progress: Progress | None = None) -> None:
        """Write the counts to a .kc file, such as those that have no name.

        Args:
            path: the file
            overwrite: an existing file may be replaced
            progress: as for count()

        Raises:
            FileExistsError: the file exists

        >>> kcount.count_sequences(["GATTACA"], k=4).save("small.kc")
        >>> kcount.open("small.kc")
        <kcount.Counts k=4, 4 distinct k-mers, total 4>
        """
        self._combine([], _kcount.UNION, _kcount.RULE_SUM, path, None, overwrite, progress)


def joint_hist(a: Counts, b: Counts, *, max_a: int | None = None, max_b: int | None = None,
               progress: Progress | None = None) -> tuple[Numbers, Numbers, Numbers]:
    """The joint histogram. numbers[i] k-mers have the count counts_a[i] in a and counts_b[i] in b.
    A count is 0 if the k-mers are absent, but never both are. Without bounds, there may be as many
    rows as k-mers.

    Args:
        a, b: counts with the same k, strands and hpc
        max_a, max_b: k-mers with higher counts are in the rows of this bound + 1
        progress: as for count()

    Returns:
        (counts_a, counts_b, numbers): uint64 of shape (rows,) each, by ascending counts_a, then by
        counts_b

    >>> a = kcount.count_sequences(["GATTACA"], k=4)
    >>> b = kcount.count_sequences(["TTACA", "TTACA"], k=4)
    >>> for row in zip(*kcount.joint_hist(a, b)):
    ...     print(*row)
    1 0 2
    1 2 2
    """
    max_a = 0 if max_a is None else _check("max_a", max_a, 1, MAX_COUNT)
    max_b = 0 if max_b is None else _check("max_b", max_b, 1, MAX_COUNT)
    return _columns(_kcount.joint_histogram(a._open_capsule(), b._open_capsule(), max_a, max_b,
                                            progress), 3)
