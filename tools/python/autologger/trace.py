"""Reading: files, and real-time sessions."""
import os

from ._events import Events


class Trace(Events):
    """Events, one after another: an iterator, and a context manager."""

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()


def open(paths, manifests=()):  # noqa: A001, the word that everybody knows
    """The events of one file, or of several in one order of time. `manifests`: further .man files, beside the installed ones."""
    if isinstance(paths, (str, bytes, os.PathLike)):
        paths = [paths]
    return Trace(list(paths), list(manifests))


def live(session, manifests=(), runtime_dir=None):
    """The events of a real-time session from now on, until it ends."""
    return Trace([], list(manifests), session, runtime_dir)
