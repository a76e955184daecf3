"""
The long tests, which a campaign with --sweeps runs once and in full: separate programs, of which
ctest runs a sample. What the build lacks (with sanitizers, the fault library) is left out.
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

# name: (command in tests/cli, environment, pattern of the totals that it prints at the end). A
# sweep without totals (None) reports its outcome by its exit status alone.
SCRIPTS = {
    "power loss": ("power.py {build}/kcount {root} {build}/tests/libfault.so full", {},
                   r"power: states=(\d+) violations=(\d+)"),
    "I/O errors": ("io_errors.py {build}/kcount {root} {build}/tests/libfault.so full", {},
                   r"io_errors: runs=(\d+) violations=(\d+)"),
    "memory bound": ("memory.py {build}/kcount {build}/bench/simulate "
                     "{build}/tests/libmemory_limit.so", {"KC_TEST_LONG": "1"}, None),
}


def run(command, environment):
    """Exit status and output of a program; -1 if it took too long."""
    try:
        done = subprocess.run([str(part) for part in command], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              env={**os.environ, **environment}, timeout=TIMEOUT, check=False)
        return done.returncode, done.stdout.decode(errors="replace")
    except subprocess.TimeoutExpired:
        return -1, f"still running after {TIMEOUT} s"


def result(name, command, environment, pattern):
    """What a sweep did: cases, faults, and its output if it failed."""
    begin = time.monotonic()
    print(f"sweep: {name}", file=sys.stderr, flush=True)
    code, said = run(command, environment)
    found = list(re.finditer(pattern, said)) if pattern else []
    numbers = [int(number) for number in found[-1].groups()] if found else [0 if pattern else 1]
    faults = max([int(code != 0 or numbers[0] == 0), *numbers[1:]])
    print(f"sweep: {name}: {numbers[0]} cases, {faults} faults", file=sys.stderr, flush=True)
    return {"name": name, "cases": numbers[0], "faults": faults,
            "wall_s": round(time.monotonic() - begin, 1), "what": said[-1000:] if faults else ""}


def scripts(setting, keep):
    for name, (command, environment, pattern) in SCRIPTS.items():
        script, *words = command.split()
        words = [word.format(build=setting.build, root=ROOT) for word in words]
        script = ROOT / "tests" / "cli" / script
        if all(pathlib.Path(path).exists() for path in [script, *words] if "/" in str(path)):
            environment = {**environment, "KC_POWER_KEEP": str(keep / "power")}
            yield result(name, [sys.executable, script, *words], environment, pattern)


def fuzzers(setting, seed, keep):
    """Change the corpora at random; inputs that crash a target stay in the --keep folder."""
    for target in sorted((pathlib.Path(setting.build) / "tests" / "fuzz").glob("fuzz_*")):
        corpus = ROOT / "tests" / "fuzz" / "corpus" / target.name[len("fuzz_"):]
        if corpus.is_dir() and os.access(target, os.X_OK) and target.is_file():
            command = [target, "--mutate", FUZZ_SECONDS, seed, keep / target.name, corpus]
            yield result(target.name, command, {}, r"(\d+) inputs")


def run_all(setting, seed, keep):
    keep = pathlib.Path(keep).resolve()
    (keep / "power").mkdir(parents=True, exist_ok=True)
    return [*scripts(setting, keep), *fuzzers(setting, seed, keep)]
