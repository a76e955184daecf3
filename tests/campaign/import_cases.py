"""Exports of kcount that lost their ends, given to import."""
import checks
from lib import model
import options
import outcome
import store_cases
from lib.tools import Failure

WARNING = "may be truncated: its last line has no line end"


def import_it(case, content, codes, *strands):
    """Import some bytes; if that fails, nothing is left."""
    case.write("cut", content)
    before = case.names()
    done = case.kcount("import", "cut", "-o", "new.kc", *strands, "-t",
                       options.draw_threads(case.rng), codes=(0, 1))
    case.expect_names([*before, *(["new.kc"] if done.code == 0 else [])], f"exit {done.code}")
    if done.code not in codes:
        raise Failure(f"import of a file without its end: exit {done.code}: {done.said[-1500:]}")
    return done


def check(case, files, name):
    """The new file holds what the export held."""
    checks.check_file(case, "new.kc", files.files[name].counts, files.k, files.stranded)
    (case.folder / "new.kc").unlink()
    case.add("kmers", len(files.files[name].counts))


def jellyfish(case, files, name):
    """Every cut is an error: the file states how many records it holds."""
    rng, nrecords = case.rng, len(files.files[name].counts)
    case.kcount("export", name, "--to", "jellyfish", "-o", "whole.jf")
    whole = (case.folder / "whole.jf").read_bytes()
    record = (files.k + 3) // 4 + 4
    for _ in range(4):
        lost = rng.randrange(1, len(whole))
        if rng.random() < 0.7 and nrecords > 0:
            lost = record * rng.randint(1, nrecords)  # whole records, as a full disk leaves them
        import_it(case, whole[:len(whole) - lost], (1,))
    done = import_it(case, whole, (0,))
    outcome.check_said(done.said, outcome.Wanted([], never=["truncated"]), "a whole file")
    check(case, files, name)


def text(case, files, name):
    """What is left of the last line may well be a k-mer and a count."""
    rng, strands = case.rng, ["--stranded"] if files.stranded else []
    whole = case.kcount("dump", name, *rng.choice(([], ["--fasta"]))).out
    if not whole:
        return
    warned = outcome.Wanted([], [WARNING])
    outcome.check_said(import_it(case, whole[:-1], (0,), *strands).said, warned, "no last line end")
    check(case, files, name)
    last = len(whole.splitlines(True)[-1])
    done = import_it(case, whole[:len(whole) - rng.randint(1, last - 1)], (0, 1))
    if done.code == 0:
        outcome.check_said(done.said, warned, "text cut within a line")


def import_case(case):
    files = store_cases.Files(case)
    case.rng.choice((jellyfish, text))(case, files, files.count())
