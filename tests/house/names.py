"""
One name, one thing: no two types, kernels or exported templates in one library share a name.

    names.py SOURCE

C++ compilers do not notice two types of one name in two files: the linker keeps the template
instances of one of them for both (the one-definition rule). And two kernels of one name look alike
in a profile. The libraries kc and kcmaps are linked together and count as one.
"""
import collections
import pathlib
import re
import sys

import sources

SOURCE = pathlib.Path(sys.argv[1])
TYPE = re.compile(r"^(?:template <[^;{}]*?>\s)?(?:static )?(?:struct|union|enum|class) "
                  r"(?:__align__\(\w+\) )?(\w+)[^;{}()=]*\{", re.MULTILINE)
KERNEL = re.compile(r"__global__\s[^;{}]*?\b(\w+_kernel)\s*\(")
TEMPLATE = re.compile(r"^template <[^;{}]*?>\s(?!static|struct|union|class|__global__)"
                      r"[^;{}=]*?\b(\w+)\([^;{}]*\)\s\{", re.MULTILINE)


def definitions(path):
    """What the file defines: (kind, name)."""
    text = sources.without_comments(path)
    for kind, pattern in (("type", TYPE), ("kernel", KERNEL), ("template", TEMPLATE)):
        if kind == "type" or path.suffix in (".cu", ".cuh"):
            for name in set(pattern.findall(text)):
                yield kind, name


def main():
    places = collections.defaultdict(list)
    for path in sources.files(SOURCE):
        for kind, name in definitions(path):
            places[kind, name].append(str(path.relative_to(SOURCE)))
    twice = {key: files for key, files in places.items() if len(files) > 1}
    for (kind, name), files in sorted(twice.items()):
        print(f"{kind} {name}: defined in {', '.join(files)}")
    for kind in ("type", "kernel", "template"):
        found = sum(1 for key in places if key[0] == kind)
        print(f"{found} {kind}s")
        if found == 0:
            sys.exit(f"no {kind} was found: this test is blind")
    sys.exit(bool(twice))


main()
