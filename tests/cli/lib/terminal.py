"""Run kcount on a terminal, and work out what the terminal shows in the end."""
import codecs
import contextlib
import fcntl
import os
import pty
import re
import struct
import subprocess
import termios

from lib.session import KCOUNT, expect
from lib.tools import Failure


def plain_environment(**changes):
    """The environment without the locale of whoever runs the tests."""
    plain = {name: value for name, value in os.environ.items()
             if name != "LANG" and not name.startswith("LC_")}
    return {**plain, **changes}


class Terminal:
    """
    kcount, called with one of its streams ("stdout" or "stderr") on a terminal.

    size: rows and columns. text: standard input, or None: it stays open, as self.started.stdin.
    """
    def __init__(self, s, stream, size, *call, text="", **variables):
        self.master, slave = pty.openpty()
        self.resize(*size)
        self.said, self.call = "", call
        self.decoder = codecs.getincrementaldecoder("utf-8")()  # a read may end within a character
        streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, stream: slave}
        self.started = subprocess.Popen([KCOUNT, *map(str, call)], cwd=s.path,
                                        env=plain_environment(**{"TERM": "xterm", **variables}),
                                        stdin=subprocess.PIPE, **streams)
        os.close(slave)
        if text is not None:
            self.feed(text)

    def resize(self, rows, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def feed(self, text):
        """The rest of standard input."""
        with contextlib.suppress(BrokenPipeError):
            self.started.stdin.write(text.encode())
            self.started.stdin.close()

    def read(self):
        """Wait for more to be said; returns whether more may come."""
        try:
            chunk = os.read(self.master, 4096)
        except OSError:  # the other end of the terminal is closed
            chunk = b""
        self.said += self.decoder.decode(chunk)
        return chunk != b""

    def wait_for(self, part):
        while part not in self.said:
            if not self.read():
                raise Failure(f"{self.call} did not say {part!r}, but {self.said!r}")

    def finish(self, code=0):
        """Everything that was said until the end."""
        while self.read():
            pass
        os.close(self.master)
        expect(self.started.wait(), code, f"exit code of {self.call}")
        return self.said


def shown(said):
    """The lines that are left on a terminal that never scrolls or wraps."""
    lines, column = [""], 0
    for part in re.findall(r"\r|\n|\x1b\[K|[^\r\n\x1b]+|\x1b", said):
        if part == "\n":
            lines.append("")
        elif part == "\r":
            column = 0
        elif part == "\x1b[K":
            lines[-1] = lines[-1][:column]
        elif part == "\x1b":
            raise Failure(f"an unknown sequence in {said!r}")
        else:
            lines[-1] = lines[-1][:column].ljust(column) + part + lines[-1][column + len(part):]
            column += len(part)
    return lines
