"""
Counting on several devices: the .kc file is the CPU's, to the byte, and every device counts.

    app_devices.py KCOUNT SOURCE

Devices are named repeatedly if the machine has fewer than a test wants.
"""
import gzip
import json
import os
import random
import signal
import subprocess
import sys
import time

from lib.devices import devices
from lib.session import SOURCE, Session, expect
from lib.tools import bgzf, fasta, fastq, main

DATA = SOURCE / "data"


def reads_of(*sequences):
    return [(bases.encode(), b"I" * len(bases)) for bases in sequences]


def sequences(seed, n):
    generator = random.Random(seed)
    genome = "".join(generator.choices("ACGT", k=n))
    starts = (generator.randrange(max(1, n - 150)) for _ in range(n // 20))
    return reads_of(*(genome[i:i + 150] for i in starts))


def unless_given(words, *option):
    """The option, unless the words have it."""
    return [] if option[0] in words else option


def check(s, n, *options, on_device=(), counts=True):
    """Count on the CPU and on n devices, and compare the files. Returns the latter's JSON."""
    s.kcount("count", *options, "--device", "cpu", "-o", "cpu.kc", "--force", "--quiet")
    report = json.loads(s.kcount("count", *options, *on_device, "--device", devices(n), "-o",
                                 "cuda.kc", "--gpu-memory", "1G", "--force", "--quiet", "--json"))
    expect((s.path / "cuda.kc").read_bytes() == (s.path / "cpu.kc").read_bytes(), True,
           f"same file from {n} devices with {options}")
    expect(report["device"], devices(n), "device")
    parts = report["devices"]
    expect(len(parts), n, "devices in --json")
    expect(sum(part["passes"] for part in parts), report["device_passes"], "passes")
    if counts:
        shared = report["device_shared_walks"]
        expect(shared > 0 if "KC_EMULATOR_DEVICES" in os.environ and n > 1 else shared >= 0, True,
               f"walks that {n} devices shared with {options}")
        expect([i for i, part in enumerate(parts) if part["counted_kmers"] == 0], [],
               f"devices that counted nothing, of {n} with {options}")
        check_reads(parts)
    return report


def check_reads(parts):
    """Each of the devices has got the reads that others keep."""
    kept = [part["kept_reads_bytes"] for part in parts]
    got = [part["received_reads_bytes"] > 0 for part in parts]
    expect(got, [sum(kept) > own for own in kept], f"devices that received something; kept: {kept}")


def check_together(s, n, *options, on_device=()):
    """With the emulator, several devices receive reads.
    A first device may have received everything before the others are open. This is common with real
    devices; with emulated ones, it happens on a busy machine, so this tries again."""
    for _ in range(5):
        report = check(s, n, *options, on_device=on_device)
        parts = report["devices"]
        kept = [part["kept_reads_bytes"] for part in parts]
        if "KC_EMULATOR_DEVICES" not in os.environ or kept.count(0) < n - 1:
            break
    if "KC_EMULATOR_DEVICES" in os.environ:
        expect(kept.count(0) < n - 1, True, f"several devices keep reads: {kept}")
    return report


def test_same_file():
    """Widths of k, strands, tables, filters, passes, readers."""
    s = Session()
    s.write("x.fq", fastq(sequences(1, 20000)))
    s.write("y.fa", fasta(sequences(2, 9000)))
    inputs = ["x.fq", "y.fa"]
    for n, options, on_device in (
            (2, ["-k", 31], []),
            (3, ["-k", 31, "--min", 2], []),
            (4, ["-k", 55, "--stranded"], []),
            (2, ["-k", 31, "--max", 3], ["--table", "slab"]),
            (8, ["-k", 21, "-t", 1], []),
            (3, ["-k", 101, "--min", 2, "--max", 5], ["--table", "linear"]),
            (2, ["-k", 77], ["--table", "hopscotch", "--gpu-batch", 4096]),
            (3, ["-k", 31], ["--gpu-batch", 20000, "--engine-memory", "1M"]),
            (2, ["-k", 31], ["--reader", "device"])):
        report = check(s, n, *inputs, *options, on_device=on_device)
        expect(report["device_text_bytes"] > 0, "--reader" in on_device, "the device reads")


def test_merging():
    """Short ranges, which the devices merge and encode in turn: filters, several k, some k-mers far
    more frequent than others, key widths. Each device merges some."""
    s = Session()
    reads = sequences(8, 60000)
    s.write("x.fq", fastq(reads))
    s.write("skewed.fq", fastq(reads + reads[:1] * 2000 + reads_of(*["A" * 150] * 300)))
    for n, name, options, on_device, all_merge in (
            (2, "x.fq", ["-k", 31], ["--gpu-batch", 4096], True),
            (3, "x.fq", ["-k", 31, "--min", 2], ["--gpu-batch", 4096], True),
            (4, "skewed.fq", ["-k", 31], ["--gpu-batch", 4096], True),
            (8, "x.fq", ["-k", 21], ["--gpu-batch", 4096], False),
            (2, "skewed.fq", ["-k", 77, "--max", 9], ["--gpu-batch", 4096], True),
            (3, "skewed.fq", ["-k", 31, "--min", 2, "--max", 1000], ["--gpu-batch", 20000], False),
            (3, "skewed.fq", ["-k", 101, "-t", 1], ["--gpu-batch", 6000, "--engine-memory", "1M"],
             True),
            (1, "skewed.fq", ["-k", 31], ["--gpu-batch", 4096], True)):
        report = check(s, n, name, *options, on_device=on_device, counts=False)
        merged = [part["merged_kmers"] for part in report["devices"]]
        expect(all_merge and 0 in merged, False, f"a device of {n} merged nothing: {merged}")
        expect(sum(merged) > 0, True, "merged k-mers")
    for device in ("cpu", devices(3)):
        name = device[:3]
        s.kcount("count", "skewed.fq", "-k", "21,33,127", "-o", f"m{name}.kc", "--device", device,
                 *(["--gpu-batch", 4096] if device != "cpu" else []))
    for k in (21, 33, 127):
        expect((s.path / f"mcpu.k{k}.kc").read_bytes() == (s.path / f"mcud.k{k}.kc").read_bytes(),
               True, f"same file for k = {k} of several")
    call = ["hist", "skewed.fq", "-k", 31]
    expect(s.kcount(*call, "--device", devices(3), "--gpu-batch", 4096),
           s.kcount(*call, "--device", "cpu"), "hist in short ranges")


def test_another_beginning():
    """The first device begins to read the file, and gives up at a record that is not strict."""
    s = Session()
    reads = sequences(7, 20000)
    s.write("x.fq", fastq(reads) + fastq(reads[:5], width=70))
    report = check(s, 3, "x.fq", "-k", 31, on_device=["--reader", "device"])
    expect(report["host_fallback_bytes"] > 0, True, "the device gave up")


def test_reading_together():
    """Each device reads some parts of the files, keeps their reads, and receives those of the
    others."""
    s = Session()
    reads = sequences(9, 300000)
    s.write("x.fq", fastq(reads))
    s.write("x.fq.gz", bgzf(fastq(reads)))
    s.write("y.fa", fasta(reads[:2000]))
    for n, options, on_device in (
            (2, ["x.fq", "-k", 31], []),
            (3, ["x.fq.gz", "y.fa", "-k", 31, "--min", 2], []),
            (2, ["x.fq.gz", "-k", 55], ["--engine-memory", "256M"]),
            (5, ["x.fq.gz", "-k", 31, "--min", 2], []),
            (6, ["x.fq", "y.fa", "-k", 77], ["--gpu-batch", 100000])):
        batch = unless_given(on_device, "--gpu-batch", 30000)
        report = check_together(s, n, *options,
                                on_device=["--reader", "device", *batch, *on_device])
        texts = [part["text_bytes"] for part in report["devices"]]
        expect(sum(texts), report["text_bytes"], "text that the devices parsed")
        expect([part["kept_reads_bytes"] > 0 for part in report["devices"]],
               [text > 0 for text in texts], f"devices that keep what they have read: {texts}")
    s.kcount("count", "x.fq.gz", "-k", "21,55", "-o", "cpu.kc", "--device", "cpu")
    for n in (3, 5):
        s.kcount("count", "x.fq.gz", "-k", "21,55", "-o", f"gpu{n}.kc", "--device", devices(n),
                 "--reader", "device", "--gpu-batch", 30000, "--gpu-memory", "1G")
        for k in (21, 55):
            of_cpu, of_gpu = (s.path / f"{name}.k{k}.kc" for name in ("cpu", f"gpu{n}"))
            expect(of_cpu.read_bytes() == of_gpu.read_bytes(), True,
                   f"same file for k = {k} of several from {n} devices")
    call = ["hist", "x.fq", "-k", 31]
    expect(s.kcount(*call, "--device", devices(5), "--reader", "device", "--gpu-batch", 30000,
                    "--gpu-memory", "1G"), s.kcount(*call, "--device", "cpu"),
           "hist from 5 devices")


def test_batches():
    """The CPU's cores parse, and each device receives some of the batches; also after the devices
    have given up."""
    s = Session()
    reads = sequences(10, 300000)
    s.write("x.fq", fastq(reads))
    s.write("x.fq.gz", gzip.compress(fastq(reads), 1))
    s.write("late.fq", fastq(reads) + fastq(reads[:5], width=70))
    for n, options, on_device in (
            (2, ["x.fq", "-k", 31], ["--reader", "host"]),
            (3, ["x.fq.gz", "-k", 31, "--min", 2], ["--engine-memory", "1M"]),
            (4, ["late.fq", "-k", 55], ["--reader", "device"]),
            (5, ["x.fq.gz", "-k", 31, "--min", 2], []),
            (6, ["x.fq", "-k", 77], ["--reader", "host", "--gpu-batch", 20000])):
        batch = unless_given(on_device, "--gpu-batch", 30000)
        report = check_together(s, n, *options, on_device=[*batch, *on_device])
        expect(sum(part["text_bytes"] for part in report["devices"]), 0, "text that devices parsed")


def test_few_and_skewed():
    """One letter, one read many times, a single k-mer, no k-mer."""
    s = Session()
    for name, reads in (("a", reads_of("A" * 5000)), ("one", sequences(3, 200)[:1] * 500),
                        ("short", reads_of("ACGTACG")), ("none", reads_of("ACG"))):
        s.write(f"{name}.fa", fasta(reads))
        check(s, 3, f"{name}.fa", "-k", 7, counts=False)


def test_several_k_and_histogram():
    s = Session()
    s.write("x.fq", fastq(sequences(4, 20000)))
    for device in ("cpu", devices(3)):
        name = device[:3]
        s.kcount("count", "x.fq", "-k", "21,33,127", "-o", f"{name}.kc", "--device", device)
    for k in (21, 33, 127):
        expect((s.path / f"cpu.k{k}.kc").read_bytes() == (s.path / f"cud.k{k}.kc").read_bytes(),
               True, f"same file for k = {k} of several")
    for options in ([], ["--min", 2]):
        call = ["hist", "x.fq", "-k", 31, *options]
        expect(s.kcount(*call, "--device", devices(3), "--gpu-memory", "1G"),
               s.kcount(*call, "--device", "cpu"), f"hist {options}")


def test_histogram():
    """On 1, 2 and 3 devices, in one pass and in several, in which some counts are partial; with
    counts too large for a row of the tally."""
    s = Session()
    reads = sequences(9, 30000)
    s.write("x.fq", fastq(reads + reads[:1] * 700 + reads_of(*["A" * 150] * 300)))
    for k in (21, 101):
        call = ["hist", "x.fq", "-k", k]
        expected = s.kcount(*call, "--device", "cpu")
        for n in (1, 2, 3):
            for option in (["--gpu-memory", "1G"], ["--gpu-batch", 8192]):
                trace = ["--gpu-trace", "trace.tsv"]
                (s.path / "trace.tsv").unlink(missing_ok=True)
                expect(s.kcount(*call, *option, *trace, "--device", devices(n)), expected,
                       f"hist, k = {k}, {n} devices, {option}")
                stages = {line.split("\t")[0] for line in (s.path / "trace.tsv").open()}
                expect(stages & {"encode", "merge"}, set(), "stages of merging in a histogram")


def test_left_out():
    """A second device is not opened for a small input, unless the memory of devices is bounded, or
    it is not known how large the input is. The summary says so once, also about several k."""
    s = Session()
    s.write("x.fq", fastq(sequences(10, 3000)))
    second = devices(2).split(",")[1]
    s.kcount("x.fq", "-k", 31, "--device", devices(2), "-o", "x.kc",
             message=f"\ncuda:{second} was left out: a further device saves time only with 25 ")
    expect("\ncounted on cuda:0, table" in s.said, True, "the device that counted")
    s.kcount("x.fq", "-k", 31, "--device", devices(2), "-o", "y.kc", "--gpu-memory", "1G",
             message=f"\ncounted on {devices(2)}, table")
    expect("left out" in s.said, False, "all devices count")
    expect((s.path / "x.kc").read_bytes() == (s.path / "y.kc").read_bytes(), True, "same file")
    s.kcount("-", "-k", 31, "--device", devices(2), "-o", "z.kc",
             text=s.read("x.fq"), message=f"\ncounted on {devices(2)}, table")
    s.kcount("x.fq", "-k", "21,31", "--device", devices(3), "-o", "k.kc")
    expect(s.said.count("were left out"), 1, "lines about devices that were left out")
    for options, left_out in ([], devices(3)[len("cuda:0,"):]), (["--gpu-memory", "1G"], ""):
        call = ["x.fq", "-k", 31, "--device", devices(3), "--quiet", "--force", "--json"]
        report = json.loads(s.kcount(*call, *options))
        expect(",".join(map(str, report["devices_left_out"])), left_out, "left out, in --json")
        expect(len(report["devices"]), 1 if left_out else 3, "devices that count, in --json")


def test_summary():
    s = Session()
    s.write("x.fq", fastq(sequences(5, 5000)))
    s.kcount("x.fq", "-k", 31, "--device", devices(2), "-o", "x.kc", "--gpu-memory", "1G",
             message=f"\ncounted on {devices(2)}, table warpdrive")
    said = [line for line in s.said.splitlines() if line.startswith("cuda:")]
    expect(len(said), 2, "lines about devices")
    expect("; it received " in said[1], True, f"the second device received reads: {said}")


def test_opening():
    """The first device is open, and can read, before others are opened."""
    s = Session()
    s.kcount("a.fq", "-k", 3, "--device", devices(3), "--gpu-memory", "1G", "--gpu-trace", "t.tsv")
    lines = [line.split("\t") for line in s.read("t.tsv").splitlines()]
    opened = sorted((int(number), float(start), float(end)) for stage, number, start, end in lines
                    if stage == "open device")
    expect([number for number, _, _ in opened], [0, 1, 2], "devices in the timeline")
    first_open = opened[0][2]
    expect([start >= first_open for _, start, _ in opened[1:]], [True, True], f"order: {opened}")


def test_wrong_device():
    """A device that is not there is refused in the same way if it is left out, and if it counts:
    because memory is bounded, or because the size of the input is not known."""
    s, said = Session(), set()
    for options in [], ["--gpu-memory", "1G"]:
        s.kcount("a.fq", "-k", 3, "--device", "cuda:0,77", *options, code=1,
                 message="kcount: there is no device cuda:77")
        said.add(s.said)
    s.kcount("-", "-k", 3, "--device", "cuda:0,77", "-o", "a.kc", code=1, text=s.read("a.fq"))
    expect(said, {s.said}, "messages")
    expect(s.names(), ["a.fq"], "files after a failure")


def test_interrupted():
    """While the devices wait for reads."""
    s = Session()
    started = s.start("count", "-", "-k", 31, "-o", "x.kc", "--device", devices(3),
                      stdin=subprocess.PIPE)
    started.stdin.write(fastq(sequences(6, 2000)))
    started.stdin.flush()
    time.sleep(0.3)
    started.send_signal(signal.SIGINT)
    expect(started.wait(timeout=60), -signal.SIGINT, "exit after SIGINT")
    expect(s.names(), ["a.fq"], "files after SIGINT")


main([test_same_file, test_merging, test_another_beginning, test_reading_together, test_batches,
      test_few_and_skewed, test_several_k_and_histogram, test_histogram, test_left_out,
      test_summary, test_opening, test_wrong_device, test_interrupted])
