"""
A short campaign (scripts/campaign.sh) finds no fault in kcount; with the last argument, it finds
the faults of programs that are wrong on purpose.

    campaign.py KCOUNT SOURCE NAIVE [wrong]
"""
import json
import pathlib
import subprocess
import sys
import tempfile

from lib.tools import SMALL, Failure, main

KCOUNT, SOURCE, NAIVE = (pathlib.Path(path).resolve() for path in sys.argv[1:4])
HOURS = 0.004
NCASES = 12 if SMALL else 50
RARE = "signal,full disk,many files,argument"  # kinds that so few cases may leave out

LOST_WARNINGS = """
    { "$kcount" "$@" 2>&1 >&3 | grep -v warning >&2; exit "${PIPESTATUS[0]}"; } 3>&1"""



def without(option, nwords):
    """A program to which the option, with its argument, means nothing."""
    return f"""
        words=()
        while (($#)); do
            if [ "$1" = {option} ]; then shift {nwords}; else words+=("$1"); shift; fi
        done
        exec "$kcount" "${{words[@]}}" """


# {what is wrong: (kinds of cases that must find it, shell commands in place of the program)}
WRONG = {
    "a count that is one too high": ("count", """
        "$kcount" "$@" | awk -v OFS='\\t' -v wrong="$1" 'NR == 1 && wrong == "dump" { $2++ } 1'
        exit "${PIPESTATUS[0]}" """),
    "an option that is ignored": ("count", 'exec "$kcount" "${@/--stranded/--quiet}"'),
    "remove does nothing": ("store", '[ "$1" = remove ] || exec "$kcount" "$@"'),
    "a crash in place of a message": ("hostile", '"$kcount" "$@" || kill -SEGV $$'),
    "an output in spite of a failure": ("hostile", '''
        "$kcount" "$@" || { code=$?; [ "$1" != count ] || touch out.kc; exit $code; }'''),
    "damage that is passed over": ("damage", '"$kcount" "$@" || exit 0'),
    "a file that is left behind": ("signal,full disk", """
        [ "$1" = check ] || [ "$1" = info ] || touch ".left.$$"
        exec "$kcount" "$@" """),
    "a refusal that is passed over": ("text", '"$kcount" "$@" || exit 0'),
    "warnings that are lost": ("container", LOST_WARNINGS),
    "a warning that is lost": ("import", LOST_WARNINGS),
    "wrong usage with the status of an error": ("argument", """
        "$kcount" "$@" || { code=$?; exit "$((code == 2 ? 1 : code))"; }"""),
    "a file of a list that is passed over": ("many files", """
        [ "$1" = count ] || sed -i 1d list-* 2> /dev/null
        exec "$kcount" "$@" """),
    "a mode that is not kept": ("output", """
        "$kcount" "$@" || exit
        [ ! -f old ] || chmod 644 old"""),
    "filter that ignores --drop": ("filter", without("--drop", 1)),
    "filter that ignores --trim": ("filter", without("--trim", 1)),
    "filter that ignores --at-most": ("filter", without("--at-most", 2)),
    "filter that ignores --max": ("filter", without("--max", 2)),
    "filter that takes shares of valid k-mers only": ("filter", without("--denominator", 2)),
    "filter that keeps a pair for any mate": ("filter", without("--pairs", 2)),
    "filter that counts a k-mer as in range from one less on": ("filter", """
        words=()
        for word; do
            [ "${last-}" != --min ] || word=$((word > 0 ? word - 1 : 0))
            words+=("$word")
            last=$word
        done
        exec "$kcount" "${words[@]}" """),
    "filter that loses the last line": ("filter", """
        "$kcount" "$@" && for file in kept-0 kept-0.sam; do
            [ ! -f $file ] || sed -i '$d' $file
        done"""),
    "filter that leaves supplementary alignments out": ("filter", """
        "$kcount" "$@" && for file in *-0.sam; do
            [ ! -f $file ] || sed -i '/\t2052\t/d' $file
        done"""),
}


def campaign(build, work, *options):
    """Exit status and the line in the results."""
    command = [SOURCE / "scripts/campaign.sh", str(HOURS), "--build", build, "--device", "cpu",
               "--jobs", "2", "--results", work / "results.jsonl", "--keep", work / "kept",
               "--work", work, *options]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False)
    said = done.stdout.decode(errors="replace")
    if not (work / "results.jsonl").exists():
        raise Failure(f"no results: {said}")
    return done.returncode, json.loads((work / "results.jsonl").read_text().splitlines()[-1]), said


def build_of(work, script):
    """A build folder whose kcount is this script."""
    build = pathlib.Path(work) / "build"
    (build / "tests").mkdir(parents=True, exist_ok=True)
    (build / "kcount").write_text(f"#!/usr/bin/env bash\nkcount={KCOUNT}\n{script}\n")
    (build / "kcount").chmod(0o755)
    if not (build / "tests/naive").exists():
        (build / "tests/naive").symlink_to(NAIVE)
    return build


def clean(*options):
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        build = build_of(work, 'exec "$kcount" "$@"')
        code, report, said = campaign(build, work, *options)
        if code != 0 or report["faults"]:
            raise Failure(f"a short campaign: exit {code}: {said}")
        totals = report["kinds"].values()
        for name in ("cases", "runs", "kmers", "bases", "kcount_s"):
            if sum(kind[name] for kind in totals) <= 0:
                raise Failure(f"a short campaign: no {name} in {report}")


def test_clean():
    clean("--seed", "7", "--cases", str(NCASES))


def test_clean_rare():
    clean("--seed", "3", "--cases", "6", "--kinds", RARE)


def test_wrong_programs():
    for what, (kinds, script) in WRONG.items():
        with tempfile.TemporaryDirectory() as work:
            work = pathlib.Path(work)
            options = ["--seed", "3", "--kinds", kinds, "--first-fault"]
            code, report, said = campaign(build_of(work, script), work, *options, "--cases", "25")
            if code != 1 or not report["faults"]:
                raise Failure(f"{what}: not found by {kinds}: exit {code}: {said}")
            number = report["faults"][0]["case"]
            if f"--only-case {number}" not in (work / f"kept/case-{number}/case.txt").read_text():
                raise Failure(f"{what}: case {number} is not kept")


def test_repeat():
    """A case that failed also fails when it is run alone, for the same reason."""
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        build = build_of(work, WRONG["a count that is one too high"][1])
        report = campaign(build, work, "--seed", "4", "--kinds", "count", "--cases", "4")[1]
        first = report["faults"][0]
        code, report, _ = campaign(build, work, "--seed", "4", "--only-case", str(first["case"]))
        if (code, report["faults"]) != (1, [first]):
            raise Failure(f"repeated: exit {code}, {report['faults']}, not {first}")


main([test_wrong_programs, test_repeat] if sys.argv[4:] == ["wrong"] else
     [test_clean, test_clean_rare])
