"""
What README.md and the tutorials show: each "$ command" prints the lines below it when it is pasted
into a clone whose program is on the PATH.

    pasted.py KCOUNT SOURCE             check these pages
    pasted.py KCOUNT SOURCE --update    write what the commands print into the pages
"""
import os
import re
import subprocess
import sys

from lib.session import KCOUNT, SOURCE, Session, expect
from lib.tools import Failure, main, same_text

INDENT = "    "
PROMPT = INDENT + "$ "
# Seconds, threads and memory differ from run to run; so does the name of the device.
CHANGING = re.compile(r"^ *\d\S* s on .*", re.MULTILINE)


TUTORIALS = "docs/tutorial.md", "docs/report.md"


class Clone:
    """A folder with data/ and scripts/, in which commands are pasted one after the other."""

    def __init__(self):
        self.session = Session()
        for folder in "data", "scripts":
            os.symlink(SOURCE / folder, self.session.path / folder)

    def paste(self, command):
        environment = dict(os.environ, PATH=f"{KCOUNT.parent}:{os.environ['PATH']}",
                           LC_ALL="C.UTF-8", CUDA_VISIBLE_DEVICES="")
        done = subprocess.run(["bash", "-c", command], cwd=self.session.path,
                              env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=120)
        if done.returncode != 0:
            raise Failure(f"{command}: exit {done.returncode}\n{done.stdout.decode()}")
        return done.stdout.decode()


def is_shown(line):
    """Whether a line of a page is what a command printed."""
    return line.startswith(INDENT) and not line.startswith(PROMPT)


def pasted(page):
    """The page with what its commands print now below each of them."""
    clone, lines, after_command = Clone(), [], False
    for line in page.splitlines():
        if line.startswith(PROMPT):
            said = clone.paste(line[len(PROMPT):])
            lines += [line, *(INDENT + text if text else "" for text in said.splitlines())]
            after_command = True
        elif not (after_command and is_shown(line)):
            lines.append(line)
            after_command = False
    return "\n".join(lines) + "\n"


def without_changing(page):
    return "\n".join(CHANGING.sub("TIME", line) for line in page.splitlines())


def check(name):
    page = (SOURCE / name).read_text()
    expect(PROMPT in page, True, f"commands in {name}")
    same_text(without_changing(pasted(page)), without_changing(page), name)


def test_readme():
    check("README.md")


def fits_models():
    """Whether kcount was built with cminpack, which the tutorials need."""
    s = Session()
    s.kcount("model", SOURCE / "tests/cli/expected/model/phage.hist", "-k", 21, code=None)
    return "built without cminpack" not in s.said


def test_tutorials():
    if not fits_models():
        print(f"{TUTORIALS} are not checked: kcount was built without cminpack")
        return
    for name in TUTORIALS:
        check(name)


def test_first_commands():
    """The commands at the top of README.md, with files of these names."""
    page = (SOURCE / "README.md").read_text()
    commands = page.split("\n\n")[2].splitlines()
    clone = Clone()
    for name in "reads.fq.gz", "genes.fa":
        clone.paste(f"cp data/{'phage.fq.gz' if name == 'reads.fq.gz' else 'worm.fa.gz'} {name}")
    clone.paste("kcount reads.fq.gz -k 31 -o a.kc && kcount genes.fa -k 31 -o b.kc")
    for command in commands:
        clone.paste(command.strip())
    expect({"reads.kc", "only_a.kc", "reads.kmc_pre"} <= set(clone.session.names()), True, "files")
    expect("kcount reads.fq.gz -k 31" in "\n".join(page.splitlines()[:10]), True, "first ten lines")


def update():
    for name in ("README.md", *TUTORIALS):
        page = SOURCE / name
        page.write_text(pasted(page.read_text()))


if "--update" in sys.argv:
    update()
else:
    main([test_readme, test_tutorials, test_first_commands])
