"""The contexts of a user: where queue managers are, and what to log in with, by name.

They are in `openmsmq/contexts.json` of the user's configuration directory (`$XDG_CONFIG_HOME`, else
`~/.config`), which only the user may read, since tokens are in it.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from openmsmq.errors import InvalidParameter, StorageError

FORMAT: Final = 1
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True, slots=True)
class Context:
    """A queue manager as a service, and what to log in with."""

    name: str
    manager: str
    "HOST:PORT, or unix:PATH"
    token: str = field(default="", repr=False)
    tls_ca: str = ""
    "The file of the CA to trust; empty without TLS."


@dataclass(frozen=True, slots=True)
class Contexts:
    """All contexts of a user, and which of them is in use."""

    known: tuple[Context, ...] = ()
    current: str = ""

    def named(self, name: str) -> Context:
        """One of them; `InvalidParameter` if there is none of that name."""
        for context in self.known:
            if context.name == name:
                return context
        names = ", ".join(context.name for context in self.known)
        known = (
            f"there are {names}" if names else "there are none: `openmsmq context add` makes one"
        )
        raise InvalidParameter(f"there is no context {name!r}; {known}")

    @property
    def in_use(self) -> Context | None:
        """The one that commands connect to where nothing else is said."""
        return self.named(self.current) if self.current else None

    def with_context(self, context: Context) -> Contexts:
        """These and another, which replaces one of its name."""
        if not _NAME.fullmatch(context.name):
            raise InvalidParameter(
                f"{context.name!r} is no name for a context: use 1 to 64 letters, digits, and . _ -"
            )
        others = (one for one in self.known if one.name != context.name)
        return replace(self, known=tuple(sorted((*others, context), key=lambda one: one.name)))

    def without(self, name: str) -> Contexts:
        """All but one, which is in use no longer."""
        gone = self.named(name)
        known = tuple(one for one in self.known if one is not gone)
        return Contexts(known, "" if self.current == name else self.current)

    def using(self, name: str) -> Contexts:
        """The same, with another one in use; an empty name for none."""
        return replace(self, current=self.named(name).name if name else "")


def contexts_file() -> Path:
    """Where the contexts of this user are."""
    base = os.environ.get("XDG_CONFIG_HOME", "")
    folder = Path(base) if base else Path.home() / ".config"
    return folder / "openmsmq" / "contexts.json"


def load(path: Path) -> Contexts:
    """The contexts in a file; none if it is not there."""
    try:
        return _decoded(json.loads(path.read_bytes()))
    except FileNotFoundError:
        return Contexts()
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise StorageError(f"{path} cannot be read: {error}. Mend it, or remove it") from error


def save(path: Path, contexts: Contexts) -> None:
    """Replace the file as a whole; only its owner may read it."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    making = path.with_name(f"{path.name}.{os.getpid()}.making")
    document = {
        "format": FORMAT,
        "current": contexts.current,
        "contexts": [asdict(context) for context in contexts.known],
    }
    descriptor = os.open(making, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, "w", encoding="utf-8") as file:
        json.dump(document, file, indent=1)
        file.write("\n")
    making.replace(path)


def _decoded(document: dict[str, Any]) -> Contexts:
    if document["format"] != FORMAT:
        raise ValueError("a newer OpenMSMQ has written it")
    known = tuple(Context(**one) for one in document["contexts"])
    contexts = Contexts(known, str(document["current"]))
    if not all(isinstance(value, str) for one in known for value in asdict(one).values()):
        raise TypeError("a value is not text")
    return contexts
