"""Forked children: what a parent has open there is left alone, also when the child ends.

A child has a copy of LMDB's objects and shares the table of readers and the lock of the directory
with its parent. To close them there would take the snapshot of the parent away, and to write would
give out the same numbers twice.
"""

from __future__ import annotations

import os
import weakref
from importlib import import_module
from typing import Final, Protocol


class Inherited(Protocol):
    """Something that only the process may use that opened it."""

    def leave(self) -> None:
        """This is a child of that process: touch it no more."""
        ...


_OPEN: Final[weakref.WeakSet[Inherited]] = weakref.WeakSet()
"All of them that there are in this process; nothing else could tell the child of a fork."


def watch(opened: Inherited) -> None:
    """Have `leave` called in children that are forked."""
    _OPEN.add(opened)


def never_free(thing: object) -> None:
    """Let an object outlive the interpreter, so that nothing is done when it would be freed."""
    # Not imported without a fork: a service may be denied the memory that it takes at once.
    ctypes = import_module("ctypes")
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))


def _in_child() -> None:
    for opened in list(_OPEN):
        opened.leave()
    _OPEN.clear()


os.register_at_fork(after_in_child=_in_child)
