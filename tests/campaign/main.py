"""
Run random cases until the time is up, check what kcount does with each, and keep those that fail.

    main.py HOURS [--device cpu|cuda|auto] [--seed N] [--build DIR] [--results FILE] [--keep DIR]

See tests/campaign/kinds.py for the kinds of cases. A case depends only on the seed and its number:
--seed N --only-case M repeats one. The totals are appended to --results as a line of JSON, from
which bench/report_reliability.py makes docs/dev/reliability.md. The exit status is 1 if a case
failed.
"""
import argparse
import concurrent.futures
import itertools
import os
import pathlib
import random
import resource
import sys
import tempfile
import time
import traceback

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "cli"))
import argument_cases  # noqa: E402
import case as cases  # noqa: E402
import container_cases  # noqa: E402
import counting_cases  # noqa: E402
import damage_cases  # noqa: E402
import filter_cases  # noqa: E402
import hostile_cases  # noqa: E402
import import_cases  # noqa: E402
import kinds  # noqa: E402
import many_cases  # noqa: E402
import output_cases  # noqa: E402
import record  # noqa: E402
import setting as settings  # noqa: E402
import stopping_cases  # noqa: E402
import store_cases  # noqa: E402
import sweeps  # noqa: E402
import text_cases  # noqa: E402
from lib.tools import Failure  # noqa: E402

RUN = {"count": counting_cases.count_case, "store": store_cases.store_case,
       "hostile": hostile_cases.hostile_case, "damage": damage_cases.damage_case,
       "signal": stopping_cases.signal_case, "full disk": stopping_cases.full_disk_case,
       "text": text_cases.text_case, "container": container_cases.container_case,
       "argument": argument_cases.argument_case,
       "many files": many_cases.many_case, "import": import_cases.import_case,
       "output": output_cases.output_case, "filter": filter_cases.filter_case}
RESULTS = ROOT / "bench" / "results" / "campaign.jsonl"
PROGRESS_SECONDS = 60


def kind_of(seed, number):
    return kinds.draw(random.Random(f"{seed}/{number}/kind"))


def repeat_command(setting, seed, number):
    return f"scripts/campaign.sh 0 --build {setting.build} --device {setting.device} " \
           f"--seed {seed} --only-case {number}"


def run_case(setting, seed, number, keep):
    """One case, in a worker. An error in the campaign's own code is a fault, too."""
    kind, begin = kind_of(seed, number), cpu_seconds()
    case = cases.Case(setting, seed, number)
    result = {"case": number, "kind": kind, "faults": 0}
    try:
        RUN[kind](case)
    except Failure as failure:
        result.update(faults=1, what=str(failure))
    except Exception:  # pylint: disable=broad-except
        result.update(faults=1, what=traceback.format_exc())
    if result["faults"]:
        record.keep(case, result["what"], repeat_command(setting, seed, number), keep)
    case.remove()
    return {**result, **case.totals, "kcount_s": case.kcount_seconds,
            "cpu_s": cpu_seconds() - begin}


def cpu_seconds():
    return cases.cpu_seconds(resource.RUSAGE_SELF) + cases.cpu_seconds(resource.RUSAGE_CHILDREN)


def numbers(arguments):
    """The numbers of the cases to run."""
    if arguments.only_case is not None:
        return iter([arguments.only_case])
    every = (number for number in itertools.count()
             if kind_of(arguments.seed, number) in arguments.kinds)
    return itertools.islice(every, arguments.cases)


def say(text):
    print(text, file=sys.stderr, flush=True)


def show_progress(totals, begin):
    ncases, nfaults = totals.sum("cases"), totals.sum("faults")
    say(f"{time.monotonic() - begin:7.0f} s: {ncases} cases, {totals.sum('runs')} runs, "
        f"{totals.sum('kmers'):,} k-mers compared, {nfaults} faults")


def take(totals, futures):
    for future in futures:
        result = future.result()
        totals.add(result)
        if result["faults"]:
            say(f"FAULT in case {result['case']} ({result['kind']}): {result['what'][:1500]}")


def run_cases(arguments, setting, totals, begin):
    """Run cases in parallel until the time is up or no cases are left."""
    deadline, todo, shown = begin + 3600 * arguments.hours, numbers(arguments), begin
    wait = concurrent.futures.wait
    with concurrent.futures.ProcessPoolExecutor(arguments.jobs) as pool:
        running = set()
        while True:
            late = time.monotonic() >= deadline and arguments.only_case is None
            late |= arguments.first_fault and totals.sum("faults") > 0
            for number in itertools.islice(todo, 0 if late else 2 * arguments.jobs - len(running)):
                running.add(pool.submit(run_case, setting, arguments.seed, number, arguments.keep))
            if not running:
                return
            done, running = wait(running, return_when=concurrent.futures.FIRST_COMPLETED)
            take(totals, done)
            if time.monotonic() - shown > PROGRESS_SECONDS:
                shown = time.monotonic()
                show_progress(totals, begin)


def parse_arguments():
    parser = argparse.ArgumentParser(prog="campaign.sh", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("hours", type=float, metavar="HOURS",
                        help="start no new case after this many hours")
    parser.add_argument("--device", choices=("cpu", "cuda", "auto"), default="auto",
                        help="where most counting is done; auto: on a device if there is one")
    parser.add_argument("--seed", type=int, default=None, help="default: the current time")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build",
                        help="folder with kcount and tests/naive")
    parser.add_argument("--results", type=pathlib.Path, default=RESULTS,
                        help="file to append the totals to")
    parser.add_argument("--keep", type=pathlib.Path, default=pathlib.Path("campaign-failures"),
                        help="folder for failed cases")
    parser.add_argument("--work", type=pathlib.Path,
                        help="folder for scratch files, best in a RAM disk")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="cases to run in parallel")
    parser.add_argument("--cases", type=int, default=None, help="run at most this many cases")
    parser.add_argument("--only-case", type=int, default=None, metavar="M",
                        help="run just this case")
    parser.add_argument("--first-fault", action="store_true", help="start no case after a fault")
    parser.add_argument("--kinds", default=",".join(RUN), type=lambda text: text.split(","),
                        help="only cases of these kinds")
    parser.add_argument("--sweeps", action="store_true",
                        help="run the long sweeps as well, before the cases")
    arguments = parser.parse_args()
    unknown = set(arguments.kinds) - set(RUN)
    if unknown:
        parser.error(f"unknown kinds of cases: {', '.join(sorted(unknown))}")
    if arguments.seed is None:
        arguments.seed = int(time.time())
    return arguments


def campaign(arguments, work):
    setting = settings.Setting(arguments.build, arguments.device, work)
    totals, begin = record.Totals(), time.monotonic()
    say(f"seed {arguments.seed}, {arguments.jobs} cases in parallel, {setting.kcount}, "
        f"device {setting.device}, against {', '.join(setting.counters())}")
    swept = sweeps.run_all(setting, arguments.seed, arguments.keep) if arguments.sweeps else []
    swept_s = cpu_seconds()
    run_cases(arguments, setting, totals, time.monotonic())
    show_progress(totals, begin)
    record.append(arguments.results, setting, totals, {
        "command": " ".join(["scripts/campaign.sh", *sys.argv[1:]]), "seed": arguments.seed,
        "device": setting.device, "wall_s": round(time.monotonic() - begin, 1),
        "cpu_s": round(totals.sum("cpu_s") + swept_s, 1), "sweeps": swept})
    return 1 if totals.sum("faults") or any(result["faults"] for result in swept) else 0


def main():
    arguments = parse_arguments()
    with tempfile.TemporaryDirectory(prefix="campaign-", dir=arguments.work) as work:
        sys.exit(campaign(arguments, work))


if __name__ == "__main__":
    main()
