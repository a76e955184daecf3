"""
The version in CMakeLists.txt is also that of the files that cannot take it from there.

    versions.py SOURCE
"""
import pathlib
import re
import sys

SOURCE = pathlib.Path(sys.argv[1])
PLACES = {"CITATION.cff": r"^version: (\S+)$",
          "CHANGELOG.md": r"^## (\S+)",
          "debian/changelog": r"^kcount \((\S+)-\d+\)",
          "packaging/debian-cuda/changelog": r"^kcount-cuda \((\S+)-\d+\)",
          "python/pyproject.toml": r'^version = "(.*)"',
          "packaging/bioconda/meta.yaml": r'set version = "(.*)"'}


def first(name, pattern):
    found = re.search(pattern, (SOURCE / name).read_text(), re.MULTILINE)
    return found and found[1]


def main():
    version = first("CMakeLists.txt", r"^project\(kcount VERSION (\S+)")
    print(version)
    found = {name: first(name, pattern) for name, pattern in PLACES.items()}
    sys.exit("\n".join(f"{name} has version {other}, not {version}" for name, other in found.items()
                       if other != version) or version is None)


main()
