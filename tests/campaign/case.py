"""One case of a campaign: its folder, its random numbers, the programs it runs, its totals."""
import os
import pathlib
import random
import re
import resource
import shlex
import shutil
import signal
import subprocess

from lib.tools import Failure

SAYS = ("kcount: ", "[E::", "[W::")  # messages of kcount, or of htslib before them
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
TIMEOUT = 300  # seconds; no run here takes more than a few, even on a busy machine


class Done:
    """A program that has ended."""

    def __init__(self, code, out, said):
        self.code, self.out, self.raw = code, out, said
        self.said = said.decode(errors="replace")


def cpu_seconds(who):
    usage = resource.getrusage(who)
    return usage.ru_utime + usage.ru_stime


def quoted(command):
    return " ".join(shlex.quote(str(part)) for part in command)


def on_device(arguments):
    arguments = [str(argument) for argument in arguments]
    return "--device" in arguments and arguments[arguments.index("--device") + 1].startswith("cuda")


class Case:
    """
    Its random numbers depend only on the campaign's seed and the case's number, so that a case can
    be repeated by itself. Anything that kcount does wrong raises a Failure.
    """

    def __init__(self, setting, seed, number):
        self.setting, self.number = setting, number
        self.rng = random.Random(f"{seed}/{number}")
        self.folder = pathlib.Path(setting.work) / f"case-{number}"
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self.commands = []
        self.totals = dict.fromkeys(("kmers", "bases", "runs", "device_runs", "peer_runs"), 0)
        self.kcount_seconds = 0.0

    def add(self, name, n):
        self.totals[name] += n

    # ---- programs ----

    def start(self, *command, cwd=None, **how):
        """Start a program; its standard error is a pipe, its standard input is empty by default."""
        command, cwd = [str(part) for part in command], cwd or self.folder
        self.commands.append(f"cd {shlex.quote(str(cwd))}; {quoted(command)}")
        how.setdefault("stdin", subprocess.DEVNULL)
        how.setdefault("stdout", subprocess.PIPE)
        return subprocess.Popen(command, cwd=cwd, stderr=subprocess.PIPE, **how)

    def finish(self, process, feed=None):
        try:
            out, said = process.communicate(feed, timeout=TIMEOUT)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise Failure(f"still running after {TIMEOUT} s: {self.commands[-1]}") from None
        return Done(process.returncode, out or b"", said)

    def program(self, *command, stdin=None, feed=None, **how):
        """Run a program to its end. stdin: a file to read; feed: bytes to send through a pipe."""
        if stdin is not None:
            with open(stdin, "rb") as source:
                process = self.start(*command, stdin=source, **how)
            self.commands[-1] += f" < {shlex.quote(str(stdin))}"
            return self.finish(process)
        if feed is not None:
            how["stdin"] = subprocess.PIPE
        process = self.start(*command, **how)
        self.commands[-1] += "  # standard input is a pipe" if feed is not None else ""
        return self.finish(process, feed)

    def kcount(self, *arguments, codes=(0,), **how):
        """
        Run kcount. It must end by itself with one of these codes, and say why if that is not 0.
        """
        begin = cpu_seconds(resource.RUSAGE_CHILDREN)
        done = self.program(self.setting.kcount, *arguments, **how)
        self.kcount_seconds += cpu_seconds(resource.RUSAGE_CHILDREN) - begin
        self.add("runs", 1)
        self.add("device_runs", on_device(arguments))
        call = "kcount " + quoted(arguments)
        check_end(done, call)
        if done.code not in codes:
            raise Failure(f"{call}: exit {done.code}, not one of {codes}: {done.said[-2000:]}")
        return done

    # ---- files ----

    def write(self, name, content):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def names(self):
        return sorted(os.listdir(self.folder))

    def expect_names(self, wanted, what):
        """The folder holds exactly these names: nothing is missing, and nothing was left behind."""
        extra, gone = set(self.names()) - set(wanted), set(wanted) - set(self.names())
        if extra or gone:
            raise Failure(f"{what}: left behind {sorted(extra)}, missing {sorted(gone)}")

    def remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)


def check_printable(text, what):
    """No byte that a terminal would obey."""
    try:
        shown = text.decode()
    except UnicodeDecodeError:
        raise Failure(f"{what}: not UTF-8: {text[-2000:]!r}") from None
    if OBEYED.search(shown):
        raise Failure(f"{what}: a terminal would obey {text[-2000:]!r}")


def check_end(done, call):
    """No crash, no sanitizer report, and no failure without a message."""
    check_printable(done.raw, f"{call}, standard error")
    if "Sanitizer" in done.said:
        raise Failure(f"{call}: {done.said[-4000:]}")
    if done.code < 0:
        name = signal.Signals(-done.code).name
        raise Failure(f"{call}: ended by {name}: {done.said[-2000:]}")
    lines = done.said.rstrip("\n").split("\n") if done.said else []
    if done.code and not lines:
        raise Failure(f"{call}: exit {done.code} without a message")
    if done.code and not all(line.startswith(SAYS) for line in lines):
        raise Failure(f"{call}: a message that does not begin with 'kcount: ': {done.said[-2000:]}")
