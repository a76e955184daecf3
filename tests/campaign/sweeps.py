"""
The long tests that a campaign runs once, in full, if it is asked to: programs of their own, of
which ctest runs a sample. What is missing (sanitizers: no fault library) is left out.
"""
import os
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FUZZ_SECONDS = 60  # for each target
TIMEOUT = 3 * 3600

# name: (script in tests/cli, how its last line tells what it did)
SCRIPTS = {"power loss": ("power.py", r"power: states=(\d+) violations=(\d+)"),
           "I/O errors": ("io_errors.py", r"io_errors: runs=(\d+) violations=(\d+)")}


def run(command, environment):
    """Exit status and output of a program; -1 if it took too long."""
    try:
        done = subprocess.run([str(part) for part in command], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              env={**os.environ, **environment}, timeout=TIMEOUT, check=False)
        return done.returncode, done.stdout.decode(errors="replace")
    except subprocess.TimeoutExpired:
        return -1, f"no end within {TIMEOUT} s"


def result(name, command, environment, pattern):
    """What a sweep did: cases, faults, and what it said if it failed."""
    begin = time.monotonic()
    print(f"sweep: {name}", file=sys.stderr, flush=True)
    code, said = run(command, environment)
    found = list(re.finditer(pattern, said))
    numbers = [int(number) for number in found[-1].groups()] if found else [0]
    faults = max([int(code != 0 or not found), *numbers[1:]])
    print(f"sweep: {name}: {numbers[0]} cases, {faults} faults", file=sys.stderr, flush=True)
    return {"name": name, "cases": numbers[0], "faults": faults,
            "wall_s": round(time.monotonic() - begin, 1), "what": said[-1000:] if faults else ""}


def scripts(setting, keep):
    fault = pathlib.Path(setting.build) / "tests" / "libfault.so"
    environment = {"KC_POWER_KEEP": str(keep / "power")}
    for name, (script, pattern) in SCRIPTS.items():
        path = ROOT / "tests" / "cli" / script
        if path.exists() and fault.exists():
            command = [sys.executable, path, setting.kcount, ROOT, fault, "full"]
            yield result(name, command, environment, pattern)


def fuzzers(setting, seed, keep):
    """The corpora changed at random; the input of a crash stays in the folder of what failed."""
    for target in sorted((pathlib.Path(setting.build) / "tests" / "fuzz").glob("fuzz_*")):
        corpus = ROOT / "tests" / "fuzz" / "corpus" / target.name[len("fuzz_"):]
        if corpus.is_dir() and os.access(target, os.X_OK) and target.is_file():
            command = [target, "--mutate", FUZZ_SECONDS, seed, keep / target.name, corpus]
            yield result(target.name, command, {}, r"(\d+) inputs")


def run_all(setting, seed, keep):
    keep = pathlib.Path(keep).resolve()
    (keep / "power").mkdir(parents=True, exist_ok=True)
    return [*scripts(setting, keep), *fuzzers(setting, seed, keep)]
