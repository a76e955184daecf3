"""
The CUDA engine as a plug-in: libkcount and a program without the engine find it, write with it the
files that the CPU writes, and say what is wrong with one that cannot be used.

    library_plugin.py KCOUNT SOURCE COUNTER LIBRARY PLUGIN [OLD PACKED ENGINE BINDIR LIBDIR]

COUNTER: tests/library/counter.c, linked with LIBRARY, a shared library
PLUGIN: for emulated devices (tests/gpu/emulator) if all arguments are given; otherwise for the
devices of the machine, with which only counting is tested
OLD, PACKED: plug-ins of another version, and of this one with other structs
ENGINE: 1 if KCOUNT contains the CUDA engine, so that it needs no plug-in, else 0
BINDIR, LIBDIR: where an installation has programs and libraries
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from lib.devices import devices
from lib.library import COUNTER, Counts, random_reads
from lib.session import KCOUNT, expect
from lib.tools import Failure, bgzf, fasta, fastq, main, run

LIBRARY, PLUGIN = (pathlib.Path(path).resolve() for path in sys.argv[4:6])
IS_EMULATED = len(sys.argv) > 6
if IS_EMULATED:
    OLD, PACKED = (pathlib.Path(path).resolve() for path in sys.argv[6:8])
    HAS_ENGINE, BINDIR, LIBDIR = sys.argv[8] == "1", sys.argv[9], sys.argv[10]
NAME = "libkcount-cuda.so.0"
VARIABLE = "KCOUNT_CUDA_PLUGIN"
ABSENT = f"this build has no CUDA engine, and {NAME} was not found"


def install(library):
    """Make the counter load a copy of the library: beside LIBRARY, there may be a plug-in."""
    shutil.copy(LIBRARY, library / "libkcount.so.0")
    others = os.environ.get("LD_LIBRARY_PATH")  # where the machine has the libraries of KCOUNT
    os.environ["LD_LIBRARY_PATH"] = f"{library}:{others}" if others else str(library)


class Plugged(Counts):
    def __init__(self, plugin, ndevices=2):
        super().__init__()
        os.environ["KC_EMULATOR_DEVICES"] = str(ndevices)
        self.plug(plugin)
        reads = random_reads(1, 12, [0, 20, 100, 250])
        self.write("reads.fq", fastq(reads))
        self.write("more.fa.gz", bgzf(fasta(random_reads(2, 4, [300]))))
        self.write("lines", b"".join(bases + b"\n" for bases, _ in reads))

    def plug(self, plugin):
        os.environ[VARIABLE] = str(plugin)

    def file(self, device, kind="files", inputs=("reads.fq", "more.fa.gz"), **options):
        """The .kc file that is counted on the device."""
        self.count(kind, "o.kc", *inputs, device=device, replace=True, print=0, **options)
        return (self.path / "o.kc").read_bytes()

    def warnings(self, device, **options):
        return [line for line in self.count("files", "", "reads.fq", device=device, k=21,
                                            **options).splitlines() if "# warning" in line]


def counting():
    """A device writes the CPU's bytes."""
    s = Plugged(PLUGIN)
    several = "cuda:1,0" if IS_EMULATED else devices(2)
    for k in 1, 21, 33, 128:
        options = {"k": k, "stranded": k == 33, "min_count": 1 + (k == 1)}
        wanted = s.file("cpu", **options)
        for device in "cuda", several, "auto":
            expect(s.file(device, **options) == wanted, True, f"k = {k}, {device}: the same file")
    wanted = s.file("cpu", "lines", ["lines"], k=21)
    expect(s.file("cuda", "lines", ["lines"], k=21) == wanted, True, "sequences: the same file")
    expect(s.warnings("auto"), [], "warnings")
    s.fails("EDEVICE", "no device cuda:99", "files", "new.kc", "reads.fq", k=21, device="cuda:99")
    s.fails("EUSAGE", "k up to 128", "files", "new.kc", "reads.fq", k=129, device="cuda")
    s.count("files", "", "reads.fq", k=129, device="auto")


def no_device():
    """The plug-in on a machine without a device: nothing is wrong, unless a device is named."""
    s = Plugged(PLUGIN, ndevices=0)
    expect(s.file("auto", k=21) == s.file("cpu", k=21), True, "auto: the same file")
    expect(s.warnings("auto"), [], "warnings")
    s.fails("ENODEVICE", "no CUDA device", "files", "new.kc", "reads.fq", k=21, device="cuda")


def check_unusable(s, *reasons):
    """The plug-in is there, but cannot be used: auto counts on the CPU and says why."""
    for kind, name in ("files", "reads.fq"), ("lines", "lines"):
        wanted = s.file("cpu", kind, [name], k=21)
        expect(s.file("auto", kind, [name], k=21) == wanted, True, "auto: the same file")
        for reason in reasons:
            s.fails("EDEVICE", reason, kind, "new.kc", name, k=21, device="cuda", advice='"cpu"')
    said, = s.warnings("auto")
    if not HAS_ENGINE:
        s.kcount("reads.fq", "-k", 21, "-o", "p.kc", "--force")
        said += s.said.partition("\n")[0]
        s.kcount("reads.fq", "-k", 21, "-o", "p.kc", "--force", "--device", "cuda", code=1,
                 message=reasons[0])
    for reason in reasons:
        expect(said.count(reason), 1 if HAS_ENGINE else 2, f"{reason!r} in {said!r}")


def other_version():
    version = run(KCOUNT, "--version").decode().split()[1]
    check_unusable(Plugged(OLD), f"of kcount 0.0.1 does not match kcount {version}", str(OLD))
    check_unusable(Plugged(PACKED), f"from another build of kcount {version}", str(PACKED))


def damaged():
    s = Plugged("")
    damaged = s.path / "damaged.so"
    damaged.write_bytes(PLUGIN.read_bytes()[:40])
    s.write("text.so", "no library")
    for path, reason in ((s.path / "missing.so", "No such file"), (damaged, "cannot be loaded"),
                         (s.path / "text.so", "cannot be loaded"),
                         (LIBRARY, "not a CUDA engine of kcount")):
        s.plug(path)
        check_unusable(s, reason, str(path))


def absent():
    s = Plugged("")
    expect(s.warnings("auto"), [], "warnings")
    s.fails("ENODEVICE", ABSENT, "files", "new.kc", "reads.fq", k=21, device="cuda")
    if not HAS_ENGINE:
        s.kcount("info", "--devices", code=1, message=ABSENT)


def program():
    """The program without the engine uses the plug-in for all work of devices."""
    s = Plugged(PLUGIN)
    if HAS_ENGINE:
        return
    s.write("many.fa", ">r\n" + "ACGTTGCAGTCAATCGT" * 2500 + "\n")  # not looked up one by one
    s.kcount("info", "--devices")
    files = []
    for device in "cpu", "cuda":
        name, merged = f"{device}.kc", f"{device}.merged.kc"
        s.kcount("many.fa", "-k", 5, "-o", name, "--device", device)
        s.kcount("merge", name, name, "-o", merged, "--device", device)
        files.append([(s.path / each).read_bytes() for each in (name, merged)])
    expect(files[0] == files[1], True, "count and merge: the same files")
    for command in (["query", "cpu.kc", "-f", "many.fa"], ["compare", "cpu.kc", "cuda.kc"],
                    ["profile", "cpu.kc", "many.fa", "--total"]):
        wanted = s.kcount(*command, "--device", "cpu")
        expect(s.kcount(*command, "--device", "cuda"), wanted, f"{command}")
        expect("looked up on cuda:0" in s.said, command[0] != "compare", f"{command}: {s.said}")
    os.environ["KC_EMULATOR_DEVICES"] = "0"
    s.kcount("query", "cpu.kc", "-f", "many.fa", "--device", "cuda", code=1,
             message="no CUDA device")


def places():
    """Beside the library, or where it is installed with the program; then the variable. A plug-in
    of another version does not hide one that fits."""
    s, installed = Plugged(""), Plugged("")
    programs, libraries = installed.path / BINDIR, installed.path / LIBDIR
    for folder in programs, libraries:
        folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(KCOUNT, programs)
    install(libraries)

    def check(named, code):
        s.plug(named)
        if code == 0:
            s.file("cuda", k=21)
        else:
            s.fails("ENODEVICE", ABSENT, "files", "new.kc", "reads.fq", k=21, device="cuda")
        if not HAS_ENGINE:
            done = subprocess.run([programs / KCOUNT.name, "info", "--devices"],
                                  capture_output=True)
            expect(done.returncode, code, f"the program, {named}: {done.stderr}")

    check("", 1)
    shutil.copy(OLD, libraries / NAME)
    check(PLUGIN, 0)
    shutil.copy(PLUGIN, libraries / NAME)
    for named in "", OLD, "missing.so":
        check(named, 0)
    install(FOLDER)


def symbols():
    shown = run("nm", "-D", "--defined-only", PLUGIN).decode().split()[2::3]
    expect(shown, ["kcount_cuda_door"], "what the plug-in exports")


with tempfile.TemporaryDirectory() as folder:
    FOLDER = pathlib.Path(folder)
    install(FOLDER)
    main([counting, symbols, *([no_device, other_version, damaged, absent, program, places]
                               if IS_EMULATED else [])])
