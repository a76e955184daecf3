"""What a campaign keeps: the folders of failed cases, and a line of JSON with the totals."""
import datetime
import json
import pathlib
import shutil
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "bench"))
from runs import commit, machine  # noqa: E402

CASE_NBYTES, ALL_NBYTES, NFAILURES = 32 << 20, 512 << 20, 100
TOTALS = ("kmers", "bases", "runs", "device_runs", "peer_runs", "kcount_s", "cpu_s", "faults")


def folder_nbytes(folder):
    return sum(path.lstat().st_size for path in pathlib.Path(folder).rglob("*") if path.is_file())


def keep(case, failure, command, target):
    """Keep the folder of a failed case, unless it is too large, and how to repeat the case."""
    target = pathlib.Path(target)
    target.mkdir(parents=True, exist_ok=True)
    if len(list(target.glob("case-*"))) >= NFAILURES:
        return
    kept = target / f"case-{case.number}"
    shutil.rmtree(kept, ignore_errors=True)
    nbytes = folder_nbytes(case.folder)
    if nbytes <= CASE_NBYTES and folder_nbytes(target) + nbytes <= ALL_NBYTES:
        shutil.copytree(case.folder, kept, symlinks=True)
    kept.mkdir(exist_ok=True)
    text = [failure, "", "To repeat it:", command, "", "It ran:", *case.commands, ""]
    (kept / "case.txt").write_text("\n".join(text), errors="backslashreplace")


class Totals:
    """Sums over cases, for each kind."""

    def __init__(self):
        self.kinds, self.faults = {}, []

    def add(self, result):
        kind = self.kinds.setdefault(result["kind"], {"cases": 0, **dict.fromkeys(TOTALS, 0)})
        kind["cases"] += 1
        for name in TOTALS:
            kind[name] += result.get(name, 0)
        if result["faults"]:
            self.faults.append({"case": result["case"], "kind": result["kind"],
                                "what": result["what"][:1000]})

    def sum(self, name):
        return sum(kind[name] for kind in self.kinds.values())

    def rounded(self):
        return {name: {key: round(value, 1) for key, value in kind.items()}
                for name, kind in self.kinds.items()}


def append(path, setting, totals, more):
    """Append one line per campaign."""
    record = {"label": "campaign", "date": datetime.date.today().isoformat(),
              "commit": commit(), "machine": machine(), "devices": setting.devices,
              "counters": setting.counters(), **more, "kinds": totals.rounded(),
              "faults": totals.faults}
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "a") as log:
        log.write(json.dumps(record) + "\n")
