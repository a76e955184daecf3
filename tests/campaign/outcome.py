"""Count files of which it is known whether kcount must refuse them, and what it must say."""
from lib import model
import options
import reference
from lib.tools import Failure, same_text


def draw_counting(rng):
    """Options with which all k-mers are counted."""
    counting = options.Counting(rng)
    counting.quality, counting.least, counting.most = 0, 1, model.MOST
    return counting


def wanted_lines(sequences, counting, before=None):
    """The counts, and what dump must print."""
    normal = [reference.normal(bases).decode() for bases in sequences]
    counts = model.count(normal, counting.k, counting.stranded)
    if before is not None:
        counts = model.combine("union", "sum", [before, counts])
    return counts, model.lines(counts).encode()


class Wanted:
    """
    What kcount must do with some inputs.
        sequences  what it must count; None: it must refuse the inputs, and write nothing
        says       what standard error must hold
        never      what it must not hold
    """

    def __init__(self, sequences, says=(), never=()):
        self.sequences, self.says, self.never = sequences, says, never


def check_said(said, wanted, what):
    missing = [text for text in wanted.says if text not in said]
    wrong = [text for text in wanted.never if text in said]
    if missing or wrong:
        raise Failure(f"{what}: not said: {missing}, or wrong: {wrong}, in {said[-1500:]!r}")


def give(case, contents):
    """
    Write the inputs. One of them may come from standard input. Returns their names and how to run
    kcount.
    """
    rng, names, how = case.rng, [f"input-{i}" for i in range(len(contents))], {}
    paths = [case.write(name, content) for name, content in zip(names, contents)]
    i = rng.randrange(len(names))
    if rng.random() < 0.4 and contents[i][:4] != b"CRAM":  # CRAM is read only from files
        names[i], how = "-", rng.choice(({"feed": contents[i]}, {"stdin": paths[i]}))
    return names, how


def check_count(case, counting, names, how, wanted, what, engine=None):
    """Count the inputs, with random options if none are given."""
    before, refused = case.names(), wanted.sequences is None
    engine = engine or options.engine(case.rng, case.setting, counting.k)
    done = case.kcount("count", *names, *counting.options(), *engine, "-o", "out.kc",
                       codes=(0, 1, 2), **how)
    if done.code != refused:
        raise Failure(f"{what}: exit {done.code}, not {int(refused)}: {done.said[-1500:]}")
    check_said(done.said, wanted, what)
    case.expect_names([*before, *([] if refused else ["out.kc"])], what)
    if not refused:
        counts, lines = wanted_lines(wanted.sequences, counting)
        same_text(case.kcount("dump", "out.kc").out, lines, what)
        case.add("kmers", sum(counts.values()))
