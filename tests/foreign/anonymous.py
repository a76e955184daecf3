"""Overwrite what a Jellyfish header records about the machine; lengths do not change."""
import pathlib
import re
import sys

path = pathlib.Path(sys.argv[1])
content = path.read_bytes()
end = 9 + int(content[:9])
header = re.sub(rb'("(?:hostname|pwd|exe_path|time)":")([^"]*)',
                lambda m: m[1] + b"x" * len(m[2]), content[:end])
header = re.sub(rb'("cmdline":\[)([^\]]*)',
                lambda m: m[1] + re.sub(rb'[^",]', b"x", m[2]), header)
assert len(header) == end
path.write_bytes(header + content[end:])
