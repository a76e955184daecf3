"""
The CUDA devices of the machine.
"""
import json
import sys

from lib.session import Session
from lib.tools import SKIPPED


def devices(n):
    """The list of n devices, for --device; they are named repeatedly if the machine has fewer."""
    s = Session()
    listed = s.kcount("info", "--devices", "--json", code=None)
    if s.code != 0:
        print("no device: skipped")
        sys.exit(SKIPPED)
    there = len(json.loads(listed))
    return "cuda:" + ",".join(str(i % there) for i in range(n))
