"""
The messages that docs/errors.md and docs/cluster.md explain are those of the program: the fixed
parts of each, between the dots, occur in this order in one message of the source.

    errors_page.py KCOUNT SOURCE
"""
import itertools
import re
import sys

from lib.session import SOURCE, Session, expect
from lib.tools import Failure, main

sys.path.append(str(SOURCE / "tests/house"))
import sources  # noqa: E402

SYSTEM = ": No space left on device"  # the C library's words, not ours


def is_in(parts, text):
    at = 0
    for part in parts:
        at = text.find(part, at)
        if at < 0:
            return False
        at += len(part)
    return True


def test_messages():
    page = (SOURCE / "docs/errors.md").read_text().partition("## Messages")[2]
    page = re.sub(r"(?s)#### Inputs that are refused.*?(?=\n### )", "", page)
    messages = [[message for cell in re.findall(r"(?m)^\| (`.*?) \|", text)
                 for message in re.findall("`([^`]+)`", cell)]
                for text in (page, (SOURCE / "docs/cluster.md").read_text())]
    if len(messages[0]) < 40 or len(messages[1]) < 5:
        raise Failure(f"{[len(found) for found in messages]} messages are found on the pages")
    source = [text for path in sources.files(SOURCE) for text in sources.literals(path)]
    wrong = []
    for message in itertools.chain(*messages):
        parts = [part.strip() for part in message.replace(SYSTEM, "").split("...")]
        if not any(is_in([part for part in parts if part], text) for text in source):
            wrong.append(message)
    if wrong:
        raise Failure(f"no message of the source is one of these on the pages: {wrong}")


def test_exit_codes():
    s = Session()
    s.kcount("a.fq", "-k", 3)
    s.kcount("missing.fq", "-k", 3, code=1, message="cannot open")
    s.kcount("a.fq", code=2, message="which k?")
    s.write("untidy.kc", (s.path / "a.kc").read_bytes() + bytes(800))
    s.kcount("check", "untidy.kc", code=3)
    listed = re.findall(r"(?m)^\| (\d) \|", (SOURCE / "docs/errors.md").read_text())
    expect(listed, ["0", "1", "2", "3"], "exit codes on docs/errors.md")


main([test_messages, test_exit_codes])
