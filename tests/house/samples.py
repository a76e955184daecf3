"""
With the sanitizers, some unit tests run only a sample of their cases. tests/builds.cmake must list
each of them, so that the last build of .ci/run runs it whole; otherwise no build would.

    samples.py SOURCE
"""
import pathlib
import re
import sys

SOURCE = pathlib.Path(sys.argv[1])
SAMPLING = re.compile(r"is_sampled\(|CASES_A_SAMPLE")
LISTS = re.compile(r"^set\((?:sampled|with_simd)\s([^)]*)\)", re.MULTILINE)


def main():
    listed = set(" ".join(LISTS.findall((SOURCE / "tests/builds.cmake").read_text())).split())
    tests = {path.stem: path for path in (SOURCE / "tests").rglob("test_*.c")
             if path.parent.name != "emulator"}  # they run whole in the last build
    sampled = {name for name, path in tests.items() if SAMPLING.search(path.read_text())}
    wrong = [f"tests/builds.cmake: 'sampled' does not list {name}"
             for name in sorted(sampled - listed)]
    wrong += [f"tests/builds.cmake: there is no test {name}"
              for name in sorted(listed - set(tests))]
    print(f"{len(listed)} tests are listed")
    sys.exit("\n".join(wrong) or 0)


main()
