"""
What the summary says about a count on a device.

    app_device.py KCOUNT SOURCE
"""
import json
import random
import re

from lib.session import Session, expect
from lib.tools import main

OPTIONS = ("-k", 31, "--device", "cuda", "-o", "x.kc", "--force")
PASSES = (r"\ncounted in (\d+) passes; reads kept: (\d[^,]*) on the device, 0 bytes in memory, "
          r"0 bytes in files\n")


def reads(n):
    generator = random.Random(n)
    return "".join(f">{i}\n{''.join(generator.choices('ACGT', k=150))}\n" for i in range(n))


def test_several_passes():
    """With --gpu-batch, a pass takes few k-mers; without it, one pass takes all of them."""
    s = Session()
    s.write("x.fa", reads(200))
    s.kcount("x.fa", *OPTIONS, message="\ncounted on cuda:0, table ")
    expect("passes" in s.said, False, "a line about one pass")
    s.kcount("x.fa", *OPTIONS, "--gpu-batch", 4096)
    found = re.search(PASSES, s.said)
    expect(found is not None, True, f"a line about passes in {s.said!r}")
    report = json.loads(s.kcount("x.fa", *OPTIONS, "--gpu-batch", 4096, "--json", "--quiet"))
    expect(int(found[1]), report["device_passes"], "passes")
    expect(found[2], f"{report['reads_on_device_bytes'] / 1024:.3g} KiB", "reads on the device")
    expect(report["device_passes"] > 1, True, "several passes")
    expect(report["device_walks"], report["device_passes"], "walks: one for each pass")
    report = json.loads(s.kcount("x.fa", *OPTIONS, "--gpu-batch", 4096, "--gpu-walk", 4, "--json",
                                 "--quiet"))
    expect(report["device_walks"], -(-report["device_passes"] // 4), "walks of four passes")


main([test_several_passes])
