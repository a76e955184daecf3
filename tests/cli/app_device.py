"""
What is said about a count on a device, or on the CPU instead (emulated devices only).

    app_device.py KCOUNT SOURCE
"""
import json
import os
import random
import re

from session import Session, expect
from tools import main

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


def test_no_device_is_no_news():
    """auto explains why a device was not used only if there is one that should have been usable."""
    s = Session()
    s.write("x.fa", reads(20))
    for emulated, k, notice in ((dict(KC_EMULATOR_DEVICES="0"), 31, None),
                                (dict(KC_EMULATOR_USABLE="0"), 31, "busy or unavailable"),
                                ({}, 129, None)):
        how = {"env": {**os.environ, **emulated}}
        s.kcount("x.fa", "-k", k, "--force", **how)
        notices = [line for line in s.said.splitlines() if line.startswith("kcount: ")]
        expect(len(notices), 0 if notice is None else 1, f"notices with {emulated}: {notices}")
        if notice:
            expect(notice in notices[0] and notices[0].endswith(": counting on the CPU"), True, notices[0])
        expect(" s on the CPU, " in s.said.splitlines()[-1], True, f"the last line of {s.said!r}")
        s.kcount("x.fa", "-k", k, "--force", "--device", "cpu", **how)
        expect(" on the CPU, " in s.said, False, "what the user asked for is not repeated")
    s.kcount("x.fa", "-k", 31, "--force", "--device", "cuda", code=1, message="no CUDA device",
             env={**os.environ, "KC_EMULATOR_DEVICES": "0"})


main([test_several_passes, test_no_device_is_no_news])
