"""
Damaged and malicious inputs: a clear message and nothing left behind, or the counts of what the
file holds; no crash, no hang, no partial count.
"""
import containers
import inputs
from lib import model
import mutations
import options
import outcome
import reading
from lib.tools import Failure, bam_text, same_text


def draw_file(case, k):
    """A file's bytes, changed before or after compression."""
    rng = case.rng
    text, packer = rng.choice(containers.FORMATS)
    reads, others = (inputs.reads(rng, k, rng.choice((100, 1000, 20000))) for _ in "ab")
    if text in ("bam", "cram") or rng.random() < 0.5:
        if text == "bam" and rng.random() < 0.4:
            records = mutations.mutate(rng, *map(bam_text, (reads, others)))
            return containers.bgzf_file(rng, records)
        packed = [containers.render(rng, case.setting, some, (text, packer))
                  for some in (reads, others)]
        return mutations.mutate(rng, *packed)
    plain = [containers.text_of(rng, some, text) for some in (reads, others)]
    return containers.PACKERS[packer](rng, mutations.mutate(rng, *plain))


def check_answer(case, name, data, counting, before=None):
    """The command accepted the file: its counts must be those of the sequences in it."""
    got = case.kcount("dump", name).out
    case.kcount("check", name, "--quiet")
    try:
        sequences = reading.sequences(data)
    except reading.Unknown:
        return
    except reading.Refused:
        raise Failure("a damaged input was counted with exit 0") from None
    counts, lines = outcome.wanted_lines(sequences, counting, before)
    same_text(got, lines, "counts of a damaged input")
    case.add("kmers", len(counts))


def count_it(case, counting, data):
    how = {"stdin": case.folder / "input"} if case.rng.random() < 0.1 else {}
    how = {"feed": data} if case.rng.random() < 0.1 else how
    before = case.names()
    engine = options.engine(case.rng, case.setting, counting.k)
    arguments = ["-" if how else "input", *counting.options(), *engine, "-o", "out.kc"]
    done = case.kcount("count", *arguments, codes=(0, 1, 2), **how)
    case.expect_names([*before, *(["out.kc"] if done.code == 0 else [])], f"exit {done.code}")
    if done.code == 0:
        check_answer(case, "out.kc", data, counting)


def add_it(case, counting, data):
    case.write("good.fa", ">r\n" + "ACGGTTAC" * 40 + "\n")
    case.kcount("count", "good.fa", *counting.options(), "-o", "db.kc")
    before, names = (case.folder / "db.kc").read_bytes(), case.names()
    engine = options.engine(case.rng, case.setting, counting.k)
    done = case.kcount("add", "db.kc", "input", *engine, codes=(0, 1, 2))
    case.expect_names(names, f"add, exit {done.code}")
    if done.code == 0:
        held = model.count(["ACGGTTAC" * 40], counting.k, counting.stranded)
        check_answer(case, "db.kc", data, counting, held)
    elif (case.folder / "db.kc").read_bytes() != before:
        case.kcount("check", "db.kc")
        raise Failure("a failed add changed the file")


def ask_it(case, counting, _):
    """Use it as a file of queries, then of k-mers to remove: only check how the commands fail."""
    case.write("good.fa", ">r\n" + "ACGGTTAC" * 40 + "\n")
    case.kcount("count", "good.fa", *counting.options(), "-o", "db.kc")
    names = case.names()
    case.kcount("query", "db.kc", "-f", "input", codes=(0, 1))
    case.kcount("remove", "db.kc", "-f", "input", codes=(0, 1))
    case.kcount("check", "db.kc", "--quiet")
    case.expect_names(names, "query and remove")


def list_it(case, counting, data):
    """Count a damaged list of files, some of which exist."""
    rng = case.rng
    case.write("good.fa", ">r\n" + "ACGGTTAC" * 40 + "\n")
    names = mutations.mutate(rng, b"good.fa\n" * 5, data[:200])
    case.write("list", names)
    before = case.names()
    done = case.kcount("count", "@list", *counting.options(), "-o", "out.kc", codes=(0, 1, 2))
    new = ["out.kc"] if done.code == 0 else []
    case.expect_names([*before, *new], f"a list, exit {done.code}")


def hostile_case(case):
    rng, counting = case.rng, outcome.draw_counting(case.rng)
    data = draw_file(case, counting.k)
    case.add("bases", len(data))
    case.write("input", data)
    action = rng.choice((count_it,) * 7 + (add_it, add_it, ask_it, list_it))
    action(case, counting, data)
