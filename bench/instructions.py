"""
Attribute the instructions that callgrind counted to the stages of counting, of asking, of joint
histograms and of models; see instructions.sh.

    instructions.py BUILD PROFILES [--record]

Only instructions of the project's own functions count, so that another libc or libdeflate changes
nothing: what they do on its behalf is not seen. A function belongs to the stage of its source file,
which the object files of the build show.
"""
import argparse
import collections
import pathlib
import platform
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SKIPPED = 77
GROWTH = 1.03           # a stage fails if it grows by more than this factor...
LEAST_GROWTH = 0.1      # ...and by more instructions per unit than this: some stages hardly run
OTHER = "other"         # all else in the program, and functions whose name is in several stages
NAMES = ["finding", "reading", "super-k-mers", "counting", "ordering", "writing", "adding",
         "answering", "taking", "joining", "fitting", "printing", OTHER]
ORDER = re.findall(r"^\S.*\bW\((\w+)\)\(", (ROOT / "cpu/order.inc.h").read_text(), re.M)
# The first pattern that matches "SOURCE:FUNCTION" decides. "finding" is the search for deflate
# blocks from which a thread can start to inflate. An asker (kmer/ask.h) adds, answers and takes,
# and query prints the answers, filter what they decide. Joining is for joint histograms.
STAGES = [("finding", r"io/inflate/deflate_find\.c"),
          ("reading", r"io/(input|inflate|parse|records)/"),
          ("fitting", r"app/model/"),
          ("joining", r"app/hist/|io/store/(cells|gc|join|joint|ranges)\.c"),
          ("printing", r"app/(cli|filter|cmd_query\.c)|kmer/text\.c"),
          ("taking", r"kmer/ask\.c|cpu/ask/(lists\.c:.*_(replay|rewind|clear)|"
                     r"pool\.c:kc_ask_(stream_get|release))"),
          ("answering", r"cpu/ask/(join|index|directory|buckets|plan)\.c|"
                        r"kmer/block_codec\.c:.*(decode|read_head)|"
                        r"io/store/(ask|cursor|page|split|walk)\.c"),
          ("adding", r"kmer/letters\.c|cpu/ask/"),
          ("super-k-mers", r"cpu/(superkmer|engine_partition|lists|arena)\.c"),
          ("ordering", rf"cpu/(engine_order\.c|width\.c:({'|'.join(ORDER)})_\d)"),
          ("counting", r"cpu/"),
          ("writing", r"io/store/|kmer/block_codec\.c")]
# How many units the input of each profile has, and what they are. There is one model.
UNITS = {"reads-31": (1_500_000, "base"), "reads-55": (1_500_000, "base"),
         "genome-31": (299_950, "base"), "inflating": (1_500_000, "base"),
         "asking-31": (1_500_000, "base"), "query-31": (1_500_000, "base"),
         "kmers-31": (40_000, "k-mer"), "filter-31": (1_500_000, "base"),
         "joint-31": (161_199, "k-mer"), "model-31": (1_000_000, "millionth of a model")}
HEAD = """\
# Instructions per base in each stage of counting and asking on the CPU, with one thread and AVX2;
# of kmers-31 and joint-31, per k-mer, and of model-31, in millions for one model.
# bench/instructions.sh BUILD --record writes this file; CONTRIBUTING.md says when.
"""


def skip(why):
    print(f"skipped: {why}")
    sys.exit(SKIPPED)


def advised(complaints):
    """What a guard passes to sys.exit: the complaints, or 0."""
    lines = list(complaints)
    hint = "If this is intended, see CONTRIBUTING.md, Guards of speed"
    return "\n".join([*lines, hint]) if lines else 0


def compiler(build):
    """The compiler of a build as its objects name it, such as "GCC 12.2.0"."""
    found = re.search(rb"(GCC): \(.*?\) ([\d.]+)|(clang) version ([\d.]+)",
                      (build / "libkc.a").read_bytes())
    if not found:
        skip("neither GCC nor clang built this")
    return b" ".join(filter(None, found.groups())).decode()


def check_build(build, flags):
    """Skip a build whose options make other code."""
    cache = dict(re.findall(r"^(\w+):\w+=(.*)$", (build / "CMakeCache.txt").read_text(), re.M))
    if cache["CMAKE_BUILD_TYPE"] != "Release" or cache.get(flags) or cache["KCOUNT_SANITIZE"]:
        skip("this is not a Release build without further compiler flags")


def stage_of(source, function):
    where = f"{source}:{function}"
    return next((stage for stage, pattern in STAGES if re.match(pattern, where)), OTHER)


def stages_of_functions(build):
    objects = sorted(build.glob("CMakeFiles/kc*.dir/**/*.o"))
    symbols = subprocess.run(["nm", "-A", *objects], check=True, stdout=subprocess.PIPE,
                             text=True).stdout
    stages = collections.defaultdict(set)
    for source, function in re.findall(r"/kc\w*\.dir/(.*)\.o:\w+ [tT] (\S+)$", symbols, re.M):
        if (ROOT / source).is_file():       # else the object is left over
            stages[function].add(stage_of(source, function))
    return {function: found.pop() if len(found) == 1 else OTHER
            for function, found in stages.items()}


def own_costs(profile, build):
    """Instructions of each function of the build, without those of the functions it calls."""
    costs = collections.Counter()
    where = {}
    after_call = False          # the next line says what the callee cost
    for line in profile.read_text().splitlines():
        key, _, value = line.partition("=")
        if key in ("ob", "fn"):
            where[key] = value
        elif key == "calls":
            after_call = True
        elif line[:1].isdigit():
            if not after_call and where["ob"].startswith(f"{build}/"):
                costs[where["fn"].split("'")[0]] += int(line.split()[1])     # f'2: f called by f
            after_call = False
    return costs


def measure(build, profiles):
    """Instructions per unit: for each profile and stage, {function: instructions}."""
    stages = stages_of_functions(build)
    found = {}
    for name, (n, _) in UNITS.items():
        found[name] = {stage: {} for stage in NAMES}
        for function, cost in own_costs(profiles / name, build).items():
            # Other functions are a static library's, such as CUDA's; main may be a benchmark's.
            if function in stages and function != "main":
                found[name][stages[function]][function] = cost / n
    return found


def table(found):
    rows = [["input", *NAMES]]
    rows += [[name, *(f"{sum(row[stage].values()):.2f}" for stage in NAMES)]
             for name, row in found.items()]
    return "".join(f"{name:<10}" + "".join(f"{cell:>14}" for cell in cells) + "\n"
                   for name, *cells in rows)


def recorded(path):
    """The compiler and the figures of the file, by input and stage."""
    said, names, *rows = [line for line in path.read_text().splitlines() if line[0] != "#"]
    names = names.split()[1:]
    figures = {row.split()[0]: dict(zip(names, map(float, row.split()[1:]))) for row in rows}
    return said, figures


def compare(found, last):
    """What has grown, in words."""
    for name, row in found.items():
        for stage, functions in row.items():
            now, before = sum(functions.values()), last[name][stage]
            if now > before * GROWTH and now > before + LEAST_GROWTH:
                dearest = sorted(functions, key=functions.get, reverse=True)[:5]
                yield f"{name}: {stage} takes {now:.2f} instructions per {UNITS[name][1]}, more " \
                      f"than {before:.2f}; most of them in " + \
                      ", ".join(f"{function} {functions[function]:.2f}" for function in dearest)
            elif now < before / GROWTH and now < before - LEAST_GROWTH:
                print(f"{name}: {stage} takes {now:.2f} instructions per {UNITS[name][1]}, less "
                      f"than {before:.2f}: record it with bench/instructions.sh BUILD --record")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("profiles", type=pathlib.Path)
    parser.add_argument("--record", action="store_true")
    arguments = parser.parse_args()
    path = ROOT / f"bench/results/instructions-{platform.machine()}.txt"
    built_by = compiler(arguments.build)
    check_build(arguments.build, "CMAKE_C_FLAGS")
    found = measure(arguments.build, arguments.profiles)
    print(table(found), end="")
    if arguments.record:
        path.write_text(f"{HEAD}{built_by}\n{table(found)}")
        return 0
    if not path.is_file():
        skip(f"no figures are recorded for {platform.machine()}")
    said, last = recorded(path)
    if said.split(".")[0] != built_by.split(".")[0]:
        skip(f"the figures are those of {said}, and this is {built_by}")
    return advised(compare(found, last))


if __name__ == "__main__":
    sys.exit(main())
