"""
The Python module against a plain count of strings. ctest runs this with pytest; KCOUNT_PROGRAM
names the program, for files that both must write alike.
"""
import array
import collections
import doctest
import gzip
import inspect
import operator
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import sysconfig
import threading
import time
import tomllib
import types

import numpy
import pytest

import kcount

SOURCE = pathlib.Path(__file__).parents[2]
PROGRAM = os.environ.get("KCOUNT_PROGRAM")
PLUGIN = os.environ.get("KCOUNT_PLUGIN")
COMPLEMENT = str.maketrans("ACGTU", "TGCAA")
LENGTHS = [1, 5, 21, 31, 32, 33, 64, 65, 128, 129, 255]


def reverse_complement(kmer):
    return kmer.translate(COMPLEMENT)[::-1]


def plain_count(sequences, k, canonical=True):
    counts = collections.Counter()
    for sequence in sequences:
        sequence = sequence.upper().replace("U", "T")
        for i in range(len(sequence) - k + 1):
            kmer = sequence[i:i + k]
            if set(kmer) <= set("ACGT"):
                counts[min(kmer, reverse_complement(kmer)) if canonical else kmer] += 1
    return counts


def random_sequences(seed, n=40, length=400):
    draw = random.Random(seed)
    genome = "".join(draw.choices("ACGT", k=1000))
    sequences = []
    for _ in range(n):
        at = draw.randrange(1000 - length)
        sequence = list(genome[at:at + length])
        if draw.random() < 0.3:
            sequence[draw.randrange(length)] = draw.choice("ACGTNacgtu")
        sequences.append("".join(sequence))
    return sequences


def write_fasta(path, sequences):
    path.write_text("".join(f">r{i}\n{sequence}\n" for i, sequence in enumerate(sequences)))
    return path


@pytest.mark.parametrize("k", LENGTHS)
@pytest.mark.parametrize("canonical", [True, False])
def test_counts_are_right(k, canonical):
    sequences = random_sequences(k)
    expected = plain_count(sequences, k, canonical)
    counts = kcount.count_sequences(sequences, k, canonical=canonical, device="cpu")
    assert len(counts) == len(expected)
    assert counts.total == sum(expected.values())
    assert (counts.k, counts.canonical) == (k, canonical)
    rows = [(kmer, int(count)) for kmers, found in counts.batches(rows=77)
            for kmer, count in zip(kcount.decode(kmers, k), found)]
    assert rows == sorted(expected.items())
    present = random.Random(1).sample(sorted(expected), min(50, len(expected)))
    for kmer in present:
        assert counts[kmer] == expected[kmer]
        assert kmer.lower() in counts
    if canonical:
        asked = [reverse_complement(kmer) for kmer in present]
        assert counts.query_many(asked).tolist() == [expected[kmer] for kmer in present]
    histogram = collections.Counter(expected.values())
    assert list(zip(*(column.tolist() for column in counts.hist()))) == sorted(histogram.items())


@pytest.mark.parametrize("k", [5, 31, 33])
def test_query_of_a_sequence(k):
    sequences = random_sequences(k)
    expected = plain_count(sequences, k)
    counts = kcount.count_sequences(sequences, k)
    sequence = sequences[0] + "N" + sequences[1].lower() + "ACGT" * 30
    found, valid = counts.query(sequence, mask=True)
    upper = sequence.upper()
    for i in range(len(sequence) - k + 1):
        kmer = upper[i:i + k]
        assert valid[i] == (set(kmer) <= set("ACGT"))
        assert found[i] == (expected[min(kmer, reverse_complement(kmer))] if valid[i] else 0)
    assert (counts.query(sequence.encode()) == found).all()
    assert counts.query("A" * (k - 1)).shape == (0,)


def test_numbers():
    for k in LENGTHS:
        texts = ["".join(random.Random(i).choices("ACGT", k=k)) for i in range(50)]
        numbers = kcount.encode(texts)
        assert numbers.shape == ((50,) if k <= 32 else (50, (2 * k + 63) // 64))
        assert kcount.decode(numbers, k) == texts
        assert kcount.decode(kcount.revcomp(numbers, k), k) == list(map(reverse_complement, texts))
        assert kcount.decode(kcount.canonical(numbers, k), k) == \
            [min(text, reverse_complement(text)) for text in texts]
        columns = numbers.reshape(50, -1).T[::-1]
        assert [texts[i] for i in numpy.lexsort(columns)] == sorted(texts)


def test_texts_that_are_no_kmers():
    for texts, wrong in [(["ACGT", "ACG\n", "ACGTA"], "'ACG\\\\n' has a letter that is not a base"),
                         (["ACG", "ACGTA"], "3 letters"), (["ACGT", "AC\nT"], "not a base"),
                         (["ACGT", "ACG\u00c4"], "not a base"), (["AC\u00c4"], "3 letters"),
                         (["ACG\udc80"], "not a base"), ([b"ACGT", "ACGTT"], "5 letters"),
                         (["ACG\nT"], "5 letters"), ([b"ACG\0"], "not a base")]:
        for before in 0, 4095, 70_000:
            with pytest.raises(kcount.UsageError, match=wrong):
                kcount.encode(["ACGT"] * before + texts, 4)
    several = "ACGT", b"acgu", bytearray(b"ACGT"), memoryview(b"-ACGT-")[1:5]
    assert kcount.encode(several * 20_000).tolist() == [27] * 80_000
    assert kcount.encode([], 33).shape == (0, 2)


class HostArray:
    """An array on the host, of a package that has only DLPack."""

    def __init__(self, numbers):
        self._numbers = numbers

    def __dlpack__(self, **named):
        return self._numbers.__dlpack__(**named)

    def __dlpack_device__(self):
        return 1, 0


@pytest.mark.parametrize("k", [31, 33])
def test_arrays_of_other_packages(k):
    counts = kcount.count_sequences(random_sequences(1), k)
    kmers, found = counts.range()
    others = [HostArray(kmers), memoryview(kmers), kmers[::-1][::-1]]
    if k <= 32:
        others.append(array.array("Q", kmers.tolist()))
    for other in others:
        assert (counts.query_many(other) == found).all()
        assert kcount.decode(other, k) == kcount.decode(kmers, k)


def test_numbers_out_of_range():
    """No number is taken for another one."""
    counts = kcount.count_sequences(["GATTACA"], 5)
    for name, numbers in [("min", (0, -1, 2**32 + 1)), ("max", (0, -1, 2**32, 2**33 + 5)),
                          ("memory", (-1, 2**64, "99999999999G")), ("nthreads", (-1, 1025))]:
        for number in numbers:
            with pytest.raises(kcount.UsageError, match=f"{name} is -?[0-9]+; it must be"):
                kcount.count_sequences(["GATTACA"], 5, **{name.removeprefix("n"): number})
    for call in (lambda: counts.hist(max=0), lambda: list(counts.batches(rows=0)),
                 lambda: kcount.joint_hist(counts, counts, max_a=0),
                 lambda: kcount.joint_hist(counts, counts, max_b=2**32 + 1)):
        with pytest.raises(kcount.UsageError, match="it must be 1 to"):
            call()


def test_ranges():
    sequences = random_sequences(3)
    expected = plain_count(sequences, 31)
    counts = kcount.count_sequences(sequences, 31)
    for lo, hi in [("A", "C"), ("ACG", "ACG"), (None, "G"), ("T", None), ("TT", "AA")]:
        kmers, found = counts.range(lo, hi)
        rows = dict(zip(kcount.decode(kmers, 31), found.tolist()))
        assert rows == {kmer: count for kmer, count in expected.items()
                        if (lo or "A").ljust(31, "A") <= kmer <= (hi or "T").ljust(31, "T")}


def test_files(tmp_path):
    sequences = random_sequences(7)
    reads = write_fasta(tmp_path / "reads.fa", sequences)
    path = tmp_path / "reads.kc"
    with kcount.count(reads, 21, out=path, min=2, device="cpu") as counts:
        expected = {kmer: count for kmer, count in plain_count(sequences, 21).items() if count > 1}
        assert len(counts) == len(expected)
    with pytest.raises(kcount.UsageError):
        counts["A" * 21]
    again = kcount.open(path)
    assert (len(again), again.total) == (len(expected), sum(expected.values()))
    assert again.info["reads"] == len(sequences)
    with pytest.raises(FileExistsError):
        kcount.count([reads], 21, out=path)
    kcount.count([reads], 21, out=path, overwrite=True)
    if PROGRAM:
        other = tmp_path / "program.kc"
        subprocess.run([PROGRAM, "count", str(reads), "-k", "21", "-o", str(other), "--device",
                        "cpu", "--quiet"], check=True)
        assert other.read_bytes() == path.read_bytes()


def rows_of(counts):
    kmers, found = counts.range()
    return dict(zip(kcount.decode(kmers, counts.k), found.tolist()))


@pytest.mark.parametrize("k", [5, 31, 33, 255])
@pytest.mark.parametrize("canonical", [True, False])
def test_set_operations(k, canonical):
    parts = random_sequences(k)[:25], random_sequences(k)[15:]
    a, b = (kcount.count_sequences(part, k, canonical=canonical) for part in parts)
    x, y = (plain_count(part, k, canonical) for part in parts)
    assert rows_of(a | b) == rows_of(a + b) == x + y
    assert rows_of(a & b) == x & y
    assert rows_of(a - b) == {kmer: count for kmer, count in x.items() if kmer not in y}
    assert rows_of((a | b) - a) == rows_of(b - a)
    assert len(a & a) == len(a) and len(a - a) == 0
    assert bool(a - a) and ("stranded" in repr(a)) is not canonical
    assert (rows_of(a), rows_of(b)) == (x, y)


@pytest.mark.parametrize("bound", [None, 1, 3])
def test_joint_histogram(bound):
    parts = random_sequences(8)[:25], random_sequences(8)[15:]
    a, b = (kcount.count_sequences(part, 21) for part in parts)
    x, y = (plain_count(part, 21) for part in parts)
    cells = collections.Counter((min(x[kmer], (bound or 1 << 32) + 1), y[kmer]) for kmer in x | y)
    columns = kcount.joint_hist(a, b, max_a=bound)
    assert all(column.dtype == numpy.uint64 for column in columns)
    assert [((i, j), n) for i, j, n in zip(*(column.tolist() for column in columns))] == \
        sorted(cells.items())
    assert all(len(column) == 0 for column in kcount.joint_hist(a - a, b - b))


def test_places_of_errors(tmp_path):
    """Exceptions name the file, and the place in it that their text names."""
    reads, other = tmp_path / "reads.fq", tmp_path / "list"
    reads.write_text("@a\nACGT\n+\nIIII\n@b\nACGT\n+\nIII\n")
    other.write_text("#\n@more\n")
    packed = tmp_path / "reads.fq.gz"
    packed.write_bytes(gzip.compress(random.Random(1).randbytes(100_000))[:7])
    for asked, path, unit, place in [(reads, reads, "record", 2), (f"@{other}", other, "line", 2),
                                     (packed, packed, "byte", 7)]:
        with pytest.raises(kcount.FormatError, match=f"{unit} {place}") as caught:
            kcount.count(asked, 31)
        assert (caught.value.path, caught.value.unit, caught.value.place) == \
            (str(path), unit, place)
        if PROGRAM:
            done = subprocess.run([PROGRAM, "count", asked, "-k", "31", "-o", tmp_path / "x.kc"],
                                  capture_output=True, text=True)
            assert str(caught.value) in done.stderr
    with pytest.raises(kcount.UsageError) as caught:
        kcount.count(reads, 1000)
    assert (caught.value.unit, caught.value.place) == ("", None)


def test_sets_of_different_kmers():
    a = kcount.count_sequences(["GATTACA"], 5)
    for other in (kcount.count_sequences(["GATTACA"], 6),
                  kcount.count_sequences(["GATTACA"], 5, canonical=False)):
        for operation in (operator.or_, operator.and_, operator.sub, operator.add,
                          kcount.joint_hist):
            with pytest.raises(kcount.UsageError):
                operation(a, other)
    with pytest.raises(TypeError):
        a | {"GATTA"}
    other.close()
    with pytest.raises(kcount.UsageError):
        a | other


def test_save(tmp_path):
    sequences = random_sequences(4)
    counts, path = kcount.count_sequences(sequences, 31), tmp_path / "saved.kc"
    stages = []
    counts.save(path, progress=lambda stage, done, total: stages.append(stage))
    assert set(stages) == {"merging"}
    saved = kcount.open(path)
    assert rows_of(saved) == plain_count(sequences, 31)
    with pytest.raises(FileExistsError):
        counts.save(path)
    (counts - counts).save(path, overwrite=True)
    assert len(kcount.open(path)) == 0 and len(saved) == len(counts)

    def stop(stage, done, total):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        counts.save(tmp_path / "other.kc", progress=stop)
    assert list(tmp_path.iterdir()) == [path]


# ---- devices ----


class DeviceArray:
    """A stand-in for an array on a CUDA device: only its own package can read its numbers."""

    def __init__(self, numbers, device):
        self._numbers = numpy.array(numbers)
        self.device, self.dtype, self.shape = device, self._numbers.dtype, self._numbers.shape

    def __array__(self, *unused, **named):
        raise TypeError("this array is on a device")

    def __dlpack_device__(self):
        return 2, self.device.index

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        if dl_device != (1, 0):
            raise BufferError("this array is on a device")
        return self._numbers.copy().__dlpack__()


class StandardArray(DeviceArray):
    """One of a package that follows the array API standard."""

    def __array_namespace__(self, *, api_version=None):
        return types.SimpleNamespace(
            asarray=lambda numbers, *, device: StandardArray(numbers, device))


class FakeDevice:
    """A device as CuPy has it: a context manager, within which new arrays are on this device."""

    current = None

    def __init__(self, index):
        self.index = index

    def __enter__(self):
        FakeDevice.current = self

    def __exit__(self, *unused):
        FakeDevice.current = None


def asarray(numbers):
    """As that of CuPy. The package of DeviceArray is this module."""
    return DeviceArray(numbers, FakeDevice.current)


@pytest.mark.parametrize("k", [31, 33])
@pytest.mark.parametrize("kind", [StandardArray, DeviceArray])
def test_answers_are_on_the_device_of_the_question(k, kind):
    sequences = random_sequences(k)
    counts = kcount.count_sequences(sequences, k)
    kmers = kcount.encode([sequences[0][i:i + k] for i in range(100)])
    device = FakeDevice(3)
    question = kind(kmers, device)
    for answer, wanted in [(counts.query_many(question), counts.query_many(kmers)),
                           (kcount.canonical(question, k), kcount.canonical(kmers, k)),
                           (kcount.revcomp(question, k), kcount.revcomp(kmers, k))]:
        assert type(answer) is kind and answer.device is device
        assert answer.dtype == wanted.dtype and (answer._numbers == wanted).all()
    assert kcount.decode(question, k) == kcount.decode(kmers, k)
    with pytest.raises(kcount.UsageError, match="dtype int32"):
        counts.query_many(kind(numpy.zeros(3, numpy.int32), device))


def test_devices_that_cannot_be_used(tmp_path, monkeypatch, caplog):
    monkeypatch.setenv("KCOUNT_CUDA_PLUGIN", str(tmp_path / "missing.so"))
    counts = kcount.count_sequences(["GATTACA"], 5, out=tmp_path / "x.kc")
    notice, = caplog.messages
    assert "missing.so" in notice and notice.endswith("counted on the CPU")
    for device, error, message in [("gpu", kcount.UsageError, "'gpu' is no device"),
                                   ("cuda:0", kcount.Error, "missing.so")]:
        with pytest.raises(error, match=message):
            counts.device = device
        with pytest.raises(error, match=message):
            kcount.open(tmp_path / "x.kc", device=device)
        assert (counts.device, counts["GATTA"]) == ("cpu", 1)
    counts.close()
    with pytest.raises(kcount.UsageError, match="closed"):
        counts.device = "cpu"


@pytest.fixture
def emulated(monkeypatch):
    """Two emulated devices, if there is a plug-in for them."""
    if not PLUGIN:
        pytest.skip("KCOUNT_PLUGIN names no plug-in for emulated devices")
    monkeypatch.setenv("KCOUNT_CUDA_PLUGIN", PLUGIN)
    monkeypatch.setenv("KC_EMULATOR_DEVICES", "2")


@pytest.mark.parametrize("k, device", [(5, "cuda"), (33, "cuda:1,0"), (64, "cuda:1")])
def test_look_ups_on_devices(k, device, tmp_path, emulated):
    """Of thousands of k-mers, because the CPU answers small questions."""
    sequences = random_sequences(5, n=8)
    sequence = "NNA".join(sequences)
    wanted = kcount.count_sequences(sequences, k, out=tmp_path / "x.kc")
    texts = [sequence[i:i + k] for i in range(len(sequence) - k + 1)]
    kmers = kcount.encode([text for text in texts if set(text) <= set("ACGT")])
    with kcount.open(tmp_path / "x.kc", device=device) as counts:
        assert counts.device == device
        for asked in kmers, kcount.decode(kmers, k):
            assert (counts.query_many(asked) == wanted.query_many(kmers)).all()
        for found, expected in zip(counts.query(sequence, mask=True),
                                   wanted.query(sequence, mask=True)):
            assert (found == expected).all()
        assert counts[texts[0]] == wanted[texts[0]] > 0


def test_installed_plugin(tmp_path, emulated, monkeypatch):
    """As Debian installs the module and the plug-in."""
    package = tmp_path / "lib/python3/dist-packages/kcount"
    shutil.copytree(pathlib.Path(kcount.__file__).parent, package)
    monkeypatch.delenv("KCOUNT_CUDA_PLUGIN")
    monkeypatch.setenv("PYTHONPATH", str(package.parent))

    def count():
        program = "import kcount; print(kcount.count_sequences(['ACGT'], 3, device='cuda'))"
        return subprocess.run([sys.executable, "-B", "-c", program], capture_output=True, text=True)

    assert "libkcount-cuda.so.0 was not found" in count().stderr
    for folder in "lib", "lib64", f"lib/{sysconfig.get_config_var('MULTIARCH')}":
        (tmp_path / folder).mkdir(exist_ok=True)
        shutil.copy(PLUGIN, tmp_path / folder / "libkcount-cuda.so.0")
    assert count().stdout == "<kcount.Counts k=3, 1 distinct k-mers, total 2>\n"


def test_devices_that_cannot_look_up(emulated):
    """Errors have the texts of the command line."""
    counts = kcount.count_sequences(["ACGT" * 20], 65)
    with pytest.raises(kcount.UsageError, match="CUDA devices answer for k up to 64, but k is 65"):
        counts.device = "cuda"
    counts = kcount.count_sequences(["ACGT" * 20], 31)
    with pytest.raises(kcount.Error, match="there is no device cuda:2"):
        counts.device = "cuda:2"


def test_errors(tmp_path, caplog):
    with pytest.raises(kcount.FormatError) as caught:
        kcount.count(tmp_path / "missing.fq", 31)
    assert "missing.fq" in str(caught.value)
    damaged = tmp_path / "damaged.kc"
    damaged.write_bytes(b"no .kc file" * 100)
    with pytest.raises(kcount.DamagedError):
        kcount.open(damaged)
    untidy = tmp_path / "untidy.kc"
    kcount.count_sequences(["ACGTACGTTT"], 5, out=untidy)
    data = bytearray(untidy.read_bytes())
    data[66] ^= 1  # one of the two references to the footer
    untidy.write_bytes(data)
    assert len(kcount.open(untidy)) > 0
    assert [(record.name, record.levelname, "untidy.kc" in record.getMessage())
            for record in caplog.records] == [("kcount", "WARNING", True)]
    counts = kcount.count_sequences(["ACGTACGTTT"], 5)
    for wrong in ["ACGT", "ACGTAC", "ACGTN"]:
        with pytest.raises(ValueError):
            counts[wrong]
    with pytest.raises(kcount.UsageError):
        counts.query_many(numpy.zeros(3, numpy.int32))
    for wrong in (lambda: counts.query(5), lambda: counts[5], lambda: list(counts),
                  lambda: kcount.encode([5]), lambda: kcount.count_sequences([5])):
        with pytest.raises(TypeError):
            wrong()
    with pytest.raises(kcount.UsageError):
        kcount.count_sequences(["ACGT"], 256)
    assert counts["AAAAA"] == 0 and counts.get("AAAAA", -1) == -1


def test_notices_about_inputs(tmp_path, caplog, monkeypatch):
    """They are logged with the text of the command line."""
    empty = tmp_path / "empty.fa"
    empty.write_text(">a\n")
    reads = write_fasta(tmp_path / "reads.fa", random_sequences(1)), empty
    notice = f"{empty} holds no sequence: no k-mer was counted in it"
    assert len(kcount.count(reads, 31, device="cpu")) > 0
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == \
        [("WARNING", notice)]
    if PROGRAM:
        done = subprocess.run([PROGRAM, *reads, "-k", "31", "-o", tmp_path / "x.kc", "--device",
                               "cpu"], capture_output=True, text=True)
        assert notice in done.stderr

    def refuse(record):
        raise RuntimeError("no notices")

    monkeypatch.setattr(kcount, "_log", kcount._log.getChild("refused"))
    kcount._log.addFilter(refuse)
    with pytest.raises(RuntimeError, match="no notices"):
        kcount.count(reads, 31, device="cpu")


def test_letters_that_are_not_ascii():
    for text in "GATT\udc80GATTA", "GATT\u00c4GATTA":
        counts = kcount.count_sequences([text], 4)
        assert (rows_of(counts), counts.info["bases"]) == (plain_count([text], 4), 10)


def test_an_exception_of_the_iterable_is_raised(tmp_path):
    def reads():
        yield "ACGT" * 30
        raise RuntimeError("no more reads")

    with pytest.raises(RuntimeError, match="no more reads"):
        kcount.count_sequences(reads(), 31, out=tmp_path / "x.kc")
    assert list(tmp_path.iterdir()) == []


def test_an_exception_of_progress_is_raised():
    def progress(stage, done, total):
        raise RuntimeError("enough")

    def reads():
        while True:
            time.sleep(0.01)
            yield "ACGT" * 30

    with pytest.raises(RuntimeError, match="enough"):
        kcount.count_sequences(reads(), 31, progress=progress)


def seconds_to_interrupt(call):
    """How long a call goes on after Ctrl-C, which jobs in a shell's background ignore."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    struck = []

    def strike():
        struck.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(0.1, strike)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        call()
        timer.join()  # the call took no time
    return time.monotonic() - struck[0]


def endless_count():
    def reads():
        while True:
            time.sleep(0.001)
            yield "ACGT" * 30

    kcount.count_sequences(reads(), 31)


def long_questions():
    """Questions that take some tenths of a second on two cores."""
    counts = kcount.count_sequences(["".join(random.Random(1).choices("ACGT", k=100_000))], 31)
    texts = ["GATTACA" * 4 + "GAT"] * (1 << 23)
    numbers = numpy.random.default_rng(1).integers(0, 1 << 62, 1 << 24, dtype=numpy.uint64)
    return {"numbers": lambda: counts.query_many(numbers),
            "texts": lambda: counts.query_many(texts),
            "sequence": lambda: counts.query("GATTACA" * (1 << 22))}


@pytest.mark.skipif(PROGRAM is None, reason="no program that adds to a file")
def test_ctrl_c_while_counts_are_merged(tmp_path):
    """Merging the counts of a file that is not compact takes one core tenths of a second."""
    letters = numpy.frombuffer(b"ACGT", numpy.uint8)
    sequence = numpy.random.default_rng(1).choice(letters, 1 << 24).tobytes()
    reads = write_fasta(tmp_path / "reads.fa", [sequence.decode()])
    stages = []
    kcount.count(reads, 13, out=tmp_path / "reads.kc", device="cpu").close()
    for _ in range(3):
        subprocess.run([PROGRAM, "add", tmp_path / "reads.kc", reads, "--quiet", "--device", "cpu"],
                       check=True)
    counts = kcount.open(tmp_path / "reads.kc")
    counts.hist(progress=lambda stage, done, total: stages.append(stage))
    assert set(stages) == {"merging"} and "at most" in repr(counts)
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    try:
        for call in (counts.hist, lambda: kcount.joint_hist(counts, counts),
                     lambda: counts & counts, lambda: counts.save(tmp_path / "other.kc")):
            assert any(seconds_to_interrupt(call) < 0.2 for _ in range(10))
    finally:
        os.sched_setaffinity(0, cores)


@pytest.mark.parametrize("call", ["count", "numbers", "texts", "sequence"])
def test_ctrl_c(call):
    """Ctrl-C ends a call within a fifth of a second, unless the machine is busy: the best of up to
    ten."""
    call = endless_count if call == "count" else long_questions()[call]
    assert any(seconds_to_interrupt(call) < 0.2 for _ in range(10))


def test_parts(monkeypatch):
    """Work in parts, between which Ctrl-C works."""
    counts = kcount.count_sequences(random_sequences(6), 33)
    kmers, found = counts.range()
    monkeypatch.setattr(kcount, "PART", 10)
    for rows in 1, 9, 10, 77, 1 << 20:
        batches = list(counts.batches(rows))
        assert [len(batch[0]) for batch in batches[:-1]] == [rows] * (len(batches) - 1)
        assert (numpy.concatenate([batch[0] for batch in batches]) == kmers).all()
        assert (numpy.concatenate([batch[1] for batch in batches]) == found).all()
    assert (kcount.encode(kcount.decode(kmers, 33)) == kmers).all()


def test_threads_may_share_counts():
    sequences = random_sequences(9)
    expected = plain_count(sequences, 31)
    counts = kcount.count_sequences(sequences, 31)
    failures = []

    def ask(seed):
        kmers = random.Random(seed).choices(sorted(expected), k=200)
        if counts.query_many(kmers).tolist() != [expected[kmer] for kmer in kmers]:
            failures.append(seed)

    threads = [threading.Thread(target=ask, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_nothing_is_printed(capfd, tmp_path):
    reads = write_fasta(tmp_path / "reads.fa", random_sequences(2))
    counts = kcount.count(reads, 31)
    counts.query("ACGT" * 20)
    assert capfd.readouterr() == ("", "")


def test_version():
    project = tomllib.loads((SOURCE / "python/pyproject.toml").read_text())
    assert project["project"]["version"] == kcount.__version__


def test_examples(tmp_path, monkeypatch):
    shutil.copy(SOURCE / "data/phage.fq.gz", tmp_path / "reads.fq.gz")
    monkeypatch.chdir(tmp_path)
    names = {"kcount": kcount, "pathlib": pathlib}
    for module, least in (kcount, 20), (kcount.errors, 2):
        failures, n = doctest.testmod(module, extraglobs=names)
        assert failures == 0 and n >= least


def test_page(tmp_path, monkeypatch):
    """The first code in python/README.md works; the rest is in the example that it comes from."""
    page = (SOURCE / "python/README.md").read_text().splitlines()
    lines = [line[4:] for line in page if line.startswith("    ")]
    begin, end = map(lines.index, ("import kcount", "with kcount.count(reads, K) as counts:"))
    shutil.copy(SOURCE / "data/phage.fq.gz", tmp_path / "reads.fq.gz")
    monkeypatch.chdir(tmp_path)
    kcount.count("reads.fq.gz", 31, out="other.kc")
    names = {"read": "GATTACA" * 5, "kmers": ["GATTACA" * 4 + "GAT"]}
    exec("\n".join(line for line in lines[begin:end] if "polars" not in line), names)
    assert kcount.open("shared.kc").total == names["counts"].total == names["again"].total
    example = (SOURCE / "examples/spectrum.py").read_text().splitlines()
    assert {line.strip() for line in lines[end:]} <= {line.strip() for line in example}
    assert f"Of its {len(example)} lines" in "\n".join(page)


def test_all_is_documented():
    """What users see has a docstring, with an example if it is a function."""
    public = [getattr(kcount, name) for name in kcount.__all__]
    public += [member for name, member in vars(kcount.Counts).items() if not name.startswith("_")]
    for item in public:
        assert item.__doc__
        if inspect.isfunction(item) and item.__name__ != "close":
            assert ">>>" in item.__doc__, item


def test_an_arrow_stream_that_nobody_reads():
    for k in 5, 31, 33:
        counts = kcount.count_sequences(["GATTACA" * 30], k)
        stream = counts.__arrow_c_stream__()
        assert "arrow_array_stream" in repr(stream)
        counts.close()
        with pytest.raises(kcount.UsageError):
            counts.__arrow_c_stream__()
