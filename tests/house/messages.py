"""
Libraries report facts: no message outside app/ names an option or a command of kcount. Only app/
prints, and it formats in one place, where what a terminal would obey is shown as text.

    messages.py SOURCE

The options are those of the tables in app/. Options of other programs, as in "gzip -t FILE", are
allowed.
"""
import pathlib
import re
import sys

from sources import LITERAL, LIBRARIES, files, literals, without_comments

SOURCE = pathlib.Path(sys.argv[1])
NAME = re.compile(r'\bOPTION\(\w+, "([\w-]+)"')
LETTER = re.compile(r"\.letter = '(\w)'")
OTHERS = re.compile(r"\b(?:bzip2|curl|fastq-dump|gzip|head|iconv|samtools|tail|tar|ulimit|unrar"
                    r"|unzip|xz|zstd)(?: \w+)? -[^|;]*")
# Ways to print that bypass app/cli/message.c.
PRINTS = re.compile(r"\b(?:std(?:out|err)|perror|v?printf(?=\()|v[fd]printf|dprintf|vasprintf"
                    r"|puts(?=\())\b")
PRINTER = "app/cli/message.c"


def options():
    """All spellings of an option in a message: -m, --memory, ..."""
    names, letters = {"help", "version"}, {"h", "V"}
    for path in files(SOURCE, ["app"]):
        names.update(NAME.findall(path.read_text()))
        letters.update(LETTER.findall(path.read_text()))
    if not {"memory", "tmp", "gpu-memory", "threads"} <= names or not {"m", "o", "t"} <= letters:
        sys.exit(f"the option tables of app/ hold only {sorted(names)} and {sorted(letters)}")
    return [f"--{name}" for name in names] + [f"-{letter}" for letter in letters]


def main():
    call = "|".join(map(re.escape, sorted(options(), reverse=True)))
    forbidden = re.compile(rf"(?<![\w-])(?:{call})(?![\w-])|'kcount |\bkcount (?:\.\.\.|-)")
    wrong, count = [], 0
    for path in files(SOURCE, LIBRARIES):
        for literal in literals(path):
            count += 1
            for found in forbidden.findall(OTHERS.sub("", literal)):
                wrong.append(f'{path.relative_to(SOURCE)}: "{literal}" names {found}')
    for path in files(SOURCE):
        name = str(path.relative_to(SOURCE))
        code = re.sub(LITERAL, "", without_comments(path)).replace("format(printf", "")
        found = set(PRINTS.findall(code))
        if name != PRINTER and found:
            wrong.append(f"{name} prints with {', '.join(sorted(found))}, not through {PRINTER}")
        if name == PRINTER and not {"stderr", "vasprintf"} <= found:
            sys.exit(f"{PRINTER} prints with {sorted(found)} only: this test is blind")
    print("\n".join(wrong) or f"{count} literals")
    if count < 1000:
        sys.exit("too few literals: this test is blind")
    sys.exit(bool(wrong))


main()
