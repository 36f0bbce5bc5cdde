"""The root of all refusals: an exception that knows its HRESULT and says it in plain words.

Every HRESULT has one subclass, whose docstring is the text people read. The code travels over the
wire and `from_hresult` makes the same class of it at the other end.
"""

from __future__ import annotations

from typing import ClassVar

from openmsmq.errors.hresult import HResult


class MQError(Exception):
    """The queue manager refused the request."""

    hresult: int = HResult.MQ_ERROR
    "An `HResult`, except in `UnknownHResult`, where it is any number."
    _classes: ClassVar[dict[int, type[MQError]]] = {}
    "Filled while the classes are made, never changed afterwards."

    def __init_subclass__(cls, *, code_of: type[MQError] | None = None) -> None:
        """`code_of` is another class that has the code already, and stays the one it stands for."""
        if code_of is not None:
            cls.hresult = code_of.hresult
        elif "hresult" in vars(cls):
            assert cls.hresult not in MQError._classes, f"{cls.__name__} repeats an HRESULT"
            MQError._classes[cls.hresult] = cls

    def __init__(self, detail: str = "") -> None:
        super().__init__(detail)
        self.detail = detail
        "What it was about: a queue's name, a property, a limit."

    @staticmethod
    def from_hresult(code: int, detail: str = "") -> MQError:
        """The error `code` stands for, whether its 32 bits were read as signed or unsigned."""
        code &= 0xFFFFFFFF
        assert code != HResult.MQ_OK, "success is not an error"
        known = MQError._classes.get(code)
        return known(detail) if known else UnknownHResult(code, detail)

    @property
    def name(self) -> str:
        """The name of the code: `MQ_ERROR_QUEUE_NOT_FOUND`."""
        return HResult(self.hresult).name

    @property
    def explanation(self) -> str:
        """What happened and what to do about it, for people."""
        return " ".join((type(self).__doc__ or self.name).split())

    @property
    def text(self) -> str:
        """What happened, the detail, and what to do about it, for people."""
        if not self.detail:
            return self.explanation
        summary, dot, advice = self.explanation.partition(". ")
        summary = summary.removesuffix(".")
        return f"{summary}: {self.detail}. {advice}" if dot else f"{summary}: {self.detail}"

    def __str__(self) -> str:
        return f"{self.text} ({self.name}, 0x{self.hresult:08X})"


class MQInformation(MQError):
    """The request was carried out with a warning."""


class UnknownHResult(MQError):
    """The other side answered with an unknown error code."""

    def __init__(self, code: int, detail: str = "") -> None:
        super().__init__(detail)
        self.args = (code, detail)
        self.hresult = code & 0xFFFFFFFF

    @property
    def name(self) -> str:
        return "unknown HRESULT"
