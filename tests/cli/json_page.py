"""
docs/json.md lists the fields that --json prints: all of them and no others, each with its type and
the cases in which it is absent.

    json_page.py KCOUNT SOURCE
"""
import fcntl
import json
import re

from lib.session import SOURCE, Session, expect
from lib.tools import Failure, main

PAGE = (SOURCE / "docs/json.md").read_text()
# Describes the JSON within the page of a report, whose fields cli_report_page checks.
PAGE_OF_REPORTS = (SOURCE / "docs/dev/report-page.md").read_text().split("## JSON of a page")[1]
PAGE_OF_REPORTS = PAGE_OF_REPORTS.split("### Caveats")[0]
TYPES = {"string": str, "integer": int, "real": float, "boolean": bool, "object": dict,
         "array of strings": list, "array of integers": list, "array of arrays": list,
         "array of objects": list}
# Printed only with a device; without one, test_source still checks that the source names them.
DEVICE_ABSENT = ("counted on the CPU", "merged on the CPU", "compared on the CPU",
                 "looked up on the CPU")
RANKS_ABSENT = "one process"  # likewise: printed only if several processes count together


def sections():
    """{heading: {field: (type, when it is absent)}}"""
    found = {}
    for part in re.split(r"(?m)^## ", PAGE)[1:]:
        rows = re.findall(r"(?m)^\| (`[\w.`, ]+`) \| ([\w ]+) \|[^|]*\| ([^|]+) \| [^|]+ \|$", part)
        expect(len(rows), len(re.findall(r"(?m)^\| `", part)), "rows of docs/json.md in this form")
        found[part.splitlines()[0]] = {name: (kind, absent) for names, kind, absent in rows
                                       for name in re.findall(r"`([\w.]+)`", names)}
    return found


SECTIONS = sections()
COMMON = SECTIONS.pop("Fields that most commands have")
for heading in set(SECTIONS) - {"check", "check --repair", "info", "info --devices",
                                "model", "model --genomescope", "--version"}:
    SECTIONS[heading].update(COMMON)


def flat(value, prefix=""):
    """All fields; those of nested objects, in arrays too, are named a.b."""
    fields = {}
    for name, inner in value.items():
        fields[prefix + name] = inner
        for nested in inner if isinstance(inner, list) else [inner]:
            if isinstance(nested, dict):
                fields.update(flat(nested, prefix + name + "."))
    return fields


def check_printed(heading, printed, gone=()):
    """The fields printed are those of the section. gone: the cases of absence that apply."""
    page, fields = SECTIONS[heading], flat(printed)
    on_device = any(page.get(name, ("", ""))[1] in DEVICE_ABSENT for name in fields)
    for name, value in fields.items():
        if name not in page:
            raise Failure(f"--json prints {name}, which docs/json.md lacks under '{heading}'")
        kind, absent = page[name]
        if type(value) is not TYPES[kind]:
            raise Failure(f"{heading}: {name} is {value!r}, which is no {kind}")
        expect(absent in gone, False, f"{heading}: {name} is printed although: {absent}")
    for name, (_, absent) in page.items():
        excused = absent in gone or absent == RANKS_ABSENT or (absent in DEVICE_ABSENT
                                                               and not on_device)
        if name not in fields and not excused:
            raise Failure(f"docs/json.md has {name} under '{heading}'; --json does not print it")


def printed(s, *call, **how):
    return json.loads(s.kcount(*call, "--json", **how))


def counted():
    s = Session()
    s.kcount("a.fq", "-k", 3)
    return s


def test_counting():
    s = Session()
    plain, alone = "no `--histogram`", "no `--format`"
    check_printed("count and add", printed(s, "a.fq", "-k", 3), [plain, alone])
    check_printed("count and add", printed(s, "add", "a.kc", "a.fq"), [plain, alone])
    check_printed("count and add", printed(s, "a.fq", "-k", 3, "--reader-only"),
                  ["`--reader-only`", plain, alone, *DEVICE_ABSENT])
    check_printed("count and add", printed(s, "a.fq", "-k", 3, "-o", "b.kc", "--device", "cpu"),
                  [plain, alone, *DEVICE_ABSENT])
    check_printed("count and add", printed(s, "a.fq", "-k", 3, "-o", "c.kc", "--histogram",
                                           "--format", "kff"))


def test_files():
    s, combining = counted(), "merge, union, intersect, subtract and compact"
    for command in ("merge", "union", "intersect", "subtract"):
        check_printed(combining, printed(s, command, "a.kc", "a.kc", "-o", command + ".kc"))
    s.kcount("add", "a.kc", "a.fq")
    check_printed(combining, printed(s, "compact", "a.kc"))
    check_printed("remove", printed(s, "remove", "a.kc", "ACG"), ["`remove`"])
    check_printed("info", printed(s, "info", "a.kc"))
    modelled = ("model", SOURCE / "tests/cli/expected/model/phage.hist", "-k", 21, "--genomescope")
    if "built without cminpack" not in s.kcount(*modelled, "-p", 2, code=None) + s.said:
        scope, table, none = "model --genomescope", "a histogram", "no group"
        check_printed(scope, printed(s, *modelled, "-p", 2))
        check_printed(scope, printed(s, *modelled, "-p", 1), ["ploidy 1"])
        diploid = SOURCE / "tests/cli/expected/model/compared010.hist"
        check_printed("model", printed(s, "model", diploid, "-k", 21), [table, none])
        check_printed("model", printed(s, "model", diploid, "-k", 21, "-p", 2),
                      ["no tie", table, none])
        s.kcount(SOURCE / "data/phage.fq.gz", "-k", 21, "-o", "phage.kc")
        check_printed("model", printed(s, "model", "phage.kc"), ["ploidy 1", none])
        check_printed("model", printed(s, *modelled[:-1]), ["ploidy 1", table, none])
        s.write("few.hist", "".join(diploid.read_text().splitlines(keepends=True)[2:]))
        check_printed("model", printed(s, "model", "few.hist", "-k", 21),
                      ["`--min`", table, none])
    check_printed("filter", printed(s, "filter", "a.kc", "a.fq", "-o", "b.fq"))
    check_printed("export", printed(s, "export", "a.kc", "--to", "kmc", "-o", "a"))


def test_profile():
    s = counted()
    s.write("short.fa", ">short\nA\n")
    standard, none, invalid = "no `-o`", "`--total` or `-o`", "no valid window"
    both = f"{none}; {invalid}"
    for files, options, gone in ((["a.fq"], [], [standard]),
                                 (["a.fq"], ["--total"], [standard, none, both]),
                                 (["a.fq"], ["-o", "a.tsv"], [none, both]),
                                 (["short.fa"], [], [standard, invalid, both])):
        check_printed("profile", printed(s, "profile", "a.kc", *files, *options), gone)


def test_histograms():
    s = counted()
    check_printed("compare", printed(s, "compare", "a.kc", "a.kc"), ["no `-o`"])
    check_printed("compare", printed(s, "compare", "a.kc", "a.kc", "-o", "a.tsv"), ["`-o`"])
    check_printed("hist --gc", printed(s, "hist", "--gc", "a.kc"))


def test_check():
    s = counted()
    sound, untidy = "`ok` is true", "exit code other than 3"
    at_rest = "no other process was changing the file"
    check_printed("check", printed(s, "check", "a.kc"), [sound, untidy, at_rest])
    check_printed("check --repair", printed(s, "check", "a.kc", "--repair", "b.kc"))
    content = (s.path / "a.kc").read_bytes()
    s.write("untidy.kc", content + bytes(800))
    check_printed("check", printed(s, "check", "untidy.kc", code=3), [sound, at_rest])
    with open(s.path / "untidy.kc") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        check_printed("check", printed(s, "check", "untidy.kc"), [sound, untidy])
    s.write("cut.kc", content[:-8])
    check_printed("check", printed(s, "check", "cut.kc", code=1),
                  ["`ok` is false", untidy, at_rest])


def test_devices():
    s = Session()
    report = s.kcount("info", "--devices", "--json", code=None)
    for device in json.loads(report) if s.code == 0 else []:
        check_printed("info --devices", device)


def test_version():
    s = Session()
    version = printed(s, "--version")
    check_printed("--version", version)
    expect(f"{version['program']} {version['version']}\n", s.kcount("--version"), "--version")
    expect((version["max_k"], version["max_count"]), (255, 2**32 - 1), "limits")
    expect("cuda" in version["engines"], version["cuda_archs"] != [], "CUDA is built in")
    for library, number in version["libraries"].items():
        expect(re.match(r"\d+\.\d+", number) is not None, True, f"{library} {number}")


def test_source():
    """Includes the fields that are printed only with a device, but not those of files for
    KMC and MultiQC."""
    written = set()
    others = {SOURCE / f"app/{name}.c" for name in ("kmc/kmc", "report/multiqc")}
    for path in set((SOURCE / "app").rglob("*.c")) - others:
        source = path.read_text()
        written |= set(re.findall(r'\b(?:\w*json_\w+|\w*put\w*)\(&?json, "(\w+)"', source))
        written |= set(re.findall(r'\{ "(\w+)", seconds\[', source))  # struct writing_stage
    listed = {name.split(".")[-1] for page in SECTIONS.values() for name in page}
    listed |= set(re.findall(r"`(\w+)`", PAGE_OF_REPORTS))
    expect(written - listed, set(), "fields written in app/ that docs/json.md lacks")
    expect(listed - written, set(), "fields in docs/json.md that app/ does not write")


main([test_counting, test_files, test_profile, test_histograms, test_check, test_devices,
      test_version, test_source])
