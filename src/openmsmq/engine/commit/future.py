"""A call that has been made and will be answered later."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")
U = TypeVar("U")


class Future(Generic[T]):
    """The answer to a call: not there yet, a value, or an error.

    The caller sets `on_done`; it is called once, when the answer is there.
    """

    __slots__ = ("done", "error", "on_done", "value")
    value: T
    "The answer, once it is there and no error."

    def __init__(self) -> None:
        self.done = False
        self.error: BaseException | None = None
        self.on_done: Callable[[], None] | None = None

    def succeed(self, value: T) -> None:
        """Bring the answer."""
        assert not self.done, "a call is answered once"
        self.value = value
        self._finish()

    def fail(self, error: BaseException) -> None:
        """Bring the reason why there is no answer."""
        assert not self.done, "a call is answered once"
        self.error = error
        self._finish()

    def result(self) -> T:
        """The answer, which must be there."""
        assert self.done, "the answer is not there yet"
        if self.error is not None:
            raise self.error
        return self.value

    def then(self, other: Future[U], value: Callable[[T], U]) -> None:
        """Answer another call when this one is answered, with what `value` makes of the answer."""

        def answered() -> None:
            if self.error is not None:
                other.fail(self.error)
            else:
                other.succeed(value(self.value))

        if self.done:
            answered()
        else:
            self.on_done = answered

    def _finish(self) -> None:
        self.done = True
        call, self.on_done = self.on_done, None  # they would keep each other for the collector
        if call is not None:
            call()
