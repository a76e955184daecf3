"""A folder of its own in which a test runs kcount and looks at what it says and leaves behind."""
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from lib.tools import Failure

KCOUNT = pathlib.Path(sys.argv[1]).resolve()
SOURCE = pathlib.Path(sys.argv[2]).resolve()

READS = """\
@r1 forward
ACGTACGTNACGTA
+
IIIIIIIIIIIIII
@r2 lower case, U
ttuugaca
+
IIII!III
"""


class Session:
    def __init__(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.folder.name)
        self.write("a.fq", READS)

    def write(self, name, content):
        (self.path / name).write_bytes(content if isinstance(content, bytes) else content.encode())

    def read(self, name):
        return (self.path / name).read_text()

    def names(self):
        return sorted(os.listdir(self.path))

    def contents(self):
        return {name: (self.path / name).read_bytes() for name in self.names()}

    def start(self, *arguments, **how):
        how.setdefault("stdin", subprocess.DEVNULL)
        return subprocess.Popen([KCOUNT, *map(str, arguments)], cwd=self.path,
                                stderr=subprocess.PIPE, **how)

    def kcount(self, *arguments, code=0, message="", text=None, **how):
        """
        Run kcount: it must end with this exit code (None: any), with message in its standard error.
        Returns standard output; self.code and self.said keep the rest.
        """
        if text is not None:
            how["input"] = text.encode()
        elif "stdin" not in how:
            how["stdin"] = subprocess.DEVNULL
        how.setdefault("stdout", subprocess.PIPE)
        how.setdefault("cwd", self.path)
        done = subprocess.run([KCOUNT, *map(str, arguments)], stderr=subprocess.PIPE, timeout=120,
                              **how)
        self.code, self.said = done.returncode, done.stderr.decode(errors="replace")
        said = self.said
        call = "kcount " + " ".join(map(str, arguments))
        if code is not None and done.returncode != code:
            raise Failure(f"{call}: exit {done.returncode}, not {code}\n{said}")
        if message not in said:
            raise Failure(f"{call}: said {said!r}, not {message!r}")
        if code and not all(line.startswith("kcount: ") for line in said.splitlines()):
            raise Failure(f"{call}: a message without 'kcount: ' in front: {said!r}")
        if code and not said:
            raise Failure(f"{call}: failed without a message")
        return (done.stdout or b"").decode()


def expect(got, wanted, what):
    if got != wanted:
        raise Failure(f"{what}: got {got!r}, wanted {wanted!r}")


def expect_file(got, name):
    """Compare with tests/cli/expected/NAME."""
    expect(got, (SOURCE / "tests/cli/expected" / name).read_text(), name)


def open_files(started):
    folder = f"/proc/{started.pid}/fd"
    try:
        for name in os.listdir(folder):
            yield os.readlink(f"{folder}/{name}")
    except OSError:
        pass  # the file is closed, or the process has ended


def wait_for_output(s, started, name=None):
    """
    Wait until the process has opened its output: the file of this name or, without one, a new
    file, which has no name or a temporary one.
    """
    folder = os.path.realpath(s.path)
    for _ in range(1000):
        for path in open_files(started):
            if path.startswith(folder) and (path.endswith("/" + name) if name else
                                            path.endswith(" (deleted)") or ".tmp" in path):
                return
        if started.poll() is not None:
            return
        time.sleep(0.005)
