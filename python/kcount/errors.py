"""The exceptions of kcount. Their texts are those of the command line."""


class Error(Exception):
    r"""A failure. Also raised as FileExistsError, MemoryError or KeyboardInterrupt.

    Attributes:
        path: the file that it is about, or ""
        place: where in this file: the number of a line or record, from 1, or of a byte, from 0; or
            None
        unit: what place counts: "line", "record" or "byte"; or ""
        advice: what would help, in a sentence, or ""

    >>> _ = pathlib.Path("bad.fq").write_text("@a\nACGT\n+\nIIII\n@b\nACGT\n+\nIII\n")
    >>> try:
    ...     kcount.count("bad.fq", k=3)
    ... except kcount.FormatError as error:
    ...     print(error.path, error.unit, error.place)
    bad.fq record 2
    """

    path = ""
    place: int | None = None
    unit = ""
    advice = ""


class UsageError(Error, ValueError):
    """The caller asked for something impossible, such as a k out of range."""


class FormatError(Error):
    """An input file is missing, damaged, truncated or of another kind."""


class DamagedError(Error):
    """A .kc file is damaged, or it is not a .kc file."""
