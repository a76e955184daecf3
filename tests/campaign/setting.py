"""What this machine has: kcount, the naive counter, other counters, a device."""
import os
import pathlib
import shutil
import subprocess


def version(program):
    """The first line of a program's version; "" if it is not installed."""
    if shutil.which(program) is None:
        return ""
    # kmc prints its version with its usage text
    command = [program] if program == "kmc" else [program, "--version"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    lines = done.stdout.decode(errors="replace").splitlines()
    return lines[0].strip() if lines else "?"


def can_mount():
    return os.geteuid() == 0 and shutil.which("mount") is not None


class Setting:
    """What every case of a campaign needs to know. Passed to the workers, so only plain values."""

    def __init__(self, build, device, work):
        build = pathlib.Path(build).resolve()
        self.build, self.work = str(build), str(pathlib.Path(work).resolve())
        self.kcount = str(build / "kcount")
        naive = build / "tests" / "naive"
        self.naive = str(naive) if naive.exists() else ""
        self.versions = {name: version(name) for name in ("jellyfish", "kmc", "samtools", "zstd")}
        self.devices = self.list_devices()
        if device.startswith("cuda") and not self.devices:
            raise SystemExit(f"campaign.sh: {self.kcount} finds no CUDA device")
        self.device = device if self.devices else "cpu"
        self.can_mount = can_mount()

    def list_devices(self):
        done = subprocess.run([self.kcount, "info", "--devices"], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, check=False)
        return done.stdout.decode().splitlines() if done.returncode == 0 else []

    def has(self, program):
        return bool(self.versions.get(program))

    def counters(self):
        """The counters that counts are compared with, by name and version."""
        ours = "tests/naive.c" if self.naive else "tests/cli/lib/model.py"
        peers = {name: self.versions[name] for name in ("jellyfish", "kmc") if self.has(name)}
        return {ours: "", **peers}
