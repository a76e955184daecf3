"""
Pass on what ctest prints; before its summary, list the tests that took longest.

    ctest ... | slowest.py [NUMBER]
"""
import re
import sys

NUMBER = int(sys.argv[1]) if len(sys.argv) > 1 else 20
RESULT = re.compile(r" *\d+/\d+ +Test +#\d+: (\S+) .* ([\d.]+) sec")
SUMMARY = re.compile(r"\d+% tests passed")


def main():
    times = {}
    for line in sys.stdin.buffer:
        text = line.decode(errors="replace")
        result = RESULT.match(text)
        if result:
            times[result.group(1)] = float(result.group(2))
        elif SUMMARY.match(text):
            total = sum(times.values())
            print(f"The slowest of {len(times)} tests, which took {total:.0f} s together:")
            for name in sorted(times, key=times.get, reverse=True)[:NUMBER]:
                print(f"{times[name]:8.1f} s  {name}")
            print()
        sys.stdout.flush()
        sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()


main()
