"""The exceptions of kcount. Their texts are those of the command line."""


class Error(Exception):
    """A failure. Also raised as FileExistsError, MemoryError or KeyboardInterrupt.

    Attributes:
        path: the file that it is about, or ""
        advice: what would help, in a sentence, or ""
    """

    path = ""
    advice = ""


class UsageError(Error, ValueError):
    """The caller asked for something impossible, such as a k out of range."""


class FormatError(Error):
    """An input file is missing, damaged, truncated or of another kind."""


class DamagedError(Error):
    """A .kc file is damaged, or it is not a .kc file."""
