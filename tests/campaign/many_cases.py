"""Set operations over more .kc files than a process may have open, some of them given twice."""
import resource

import checks
from lib import model
import options
import outcome
import store_cases

ORIGINALS = 3
WARNING = "is named twice, and counted twice"


def limits(rng):
    """Soft and hard limit on open files: a program may raise the soft one."""
    most = rng.choice((32, 40, 64, 128))
    return (most, most) if rng.random() < 0.7 else (most, 4096)


def draw_names(case, files):
    """Names of copies of some files, and sometimes one of them again, with the names they copy."""
    rng, originals = case.rng, sorted(files.files)
    sources = {f"copy-{i}.kc": rng.choice(originals) for i in range(rng.choice((10, 50, 150)))}
    for name, source in sources.items():
        case.write(name, (case.folder / source).read_bytes())
    names = list(sources)
    if rng.random() < 0.5:
        names.insert(rng.randrange(len(names)), rng.choice(names))
    return names, sources


def in_lists(case, names):
    """What to give for these names: some of them stand in lists."""
    places = sorted(case.rng.randrange(len(names) + 1) for _ in "ab")
    given = []
    for i, (begin, end) in enumerate(zip([0, *places], [*places, len(names)])):
        part = names[begin:end]
        if part and case.rng.random() < 0.6:
            case.write(f"list-{i}", "\n".join(part) + "\n")
            part = [f"@list-{i}"]
        given += part
    return given


def many_case(case):
    rng, files = case.rng, store_cases.Files(case)
    for _ in range(ORIGINALS):
        files.count()
    operation = rng.choice(sorted(model.OPERATIONS))
    given, rule = rng.choice(sorted(model.OPERATIONS[operation].items()))
    names, sources = draw_names(case, files)
    words = [*in_lists(case, names), *(["--counts", given] if given else []), "-o", "out.kc"]
    most = limits(rng)

    def limit():
        resource.setrlimit(resource.RLIMIT_NOFILE, most)

    case.commands.append(f"# limits on open files: {most}")
    done = case.kcount(operation, *words, "-t", options.draw_threads(rng), "--device", "cpu",
                       preexec_fn=limit)
    twice = len(set(names)) < len(names) and rule in ("sum", "difference")
    says = {"says" if twice else "never": [WARNING]}
    outcome.check_said(done.said, outcome.Wanted([], **says), f"{operation} of {len(names)} files")
    counts = model.combine("union" if operation == "merge" else operation, rule,
                           [files.files[sources[name]].counts for name in names])
    checks.check_file(case, "out.kc", counts, files.k, files.stranded)
    case.add("kmers", len(counts))
