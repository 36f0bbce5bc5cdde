"""Message: what a program sends."""

from __future__ import annotations

from codecs import utf_16_le_decode
from collections.abc import Iterator
from dataclasses import dataclass, fields
from json import loads
from typing import Any, Final, TypedDict

from openmsmq.bodies.body import Body, Tree
from openmsmq.errors import IllegalPropertyVt
from openmsmq.limits import U32_MAX
from openmsmq.names.base import FormatName
from openmsmq.packet.signer import MessageSigner
from openmsmq.properties.message import PRIORITY_DEFAULT, PRIORITY_MAX, Acknowledge
from openmsmq.types.fields import (
    LPWSTR,
    NO_BYTES,
    QueueName,
    acknowledge_flags,
    body_bytes,
    correlation,
    flag,
    integer,
    label_text,
    letter_queue,
    octets,
    queue_name,
    seconds,
)

_NO_LABEL: Final = ""
_ZERO: Final = 0
_NO_ACKNOWLEDGE: Final = Acknowledge.NONE
_SHOWN_MAX: Final = 60
"Bytes or characters of a body in a `repr`."


class MessageFields(TypedDict, total=False):
    """The fields of a message but its body, as keywords of `Queue.send`."""

    body_type: int | None
    label: str
    priority: int
    recoverable: bool
    journal: bool
    dead_letter: bool
    dead_letter_queue: QueueName | None
    acknowledge: Acknowledge | int
    admin_queue: QueueName | None
    response_queue: QueueName | None
    correlation_id: bytes
    app_specific: int
    extension: bytes
    time_to_be_received: float | None
    time_to_reach_queue: float | None
    trace: bool
    encrypt: bool
    signer: MessageSigner | None


class _Noted:
    """What a message knows of itself beside its fields."""

    __slots__ = ("_is_usual",)
    _is_usual: bool
    "Nothing is set but body and label; packing asks that of many messages in one step."


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Message(_Noted):
    """A message to send ([MS-MQDMPR] 3.1.1.12): an immutable value, checked when it is made.

    `dataclasses.replace` makes another one of it.
    """

    body: bytes
    "A text given as body is UTF-16, little-endian, without a null."
    body_type: int
    "What the body is, a VT_* code: 0 nothing special, 31 (VT_LPWSTR) text."
    label: str
    priority: int
    "0 to 7; 7 is read first. A transactional message goes with 0, whatever this says."
    recoverable: bool
    "Kept on disk wherever it waits; express messages are lost when a computer stops."
    journal: bool
    "A copy stays in the sender's journal."
    dead_letter: bool
    "If it fails, it goes to the sender's dead-letter queue."
    dead_letter_queue: FormatName | None
    "Instead of that to this one, a queue of the sending manager; then `dead_letter` is set, too."
    acknowledge: Acknowledge
    "What to report to `admin_queue`."
    admin_queue: FormatName | None
    response_queue: FormatName | None
    correlation_id: bytes
    "20 bytes of the application's own; empty for none."
    app_specific: int
    "A number of the application's own."
    extension: bytes
    "More data beside the body, where NServiceBus and Rebus put their headers."
    time_to_be_received: int | None
    "Seconds from sending until it must have been received; None is for ever."
    time_to_reach_queue: int | None
    "Seconds from sending until it must have arrived; None is for ever."
    trace: bool
    "Report its way to the sender's report queue."
    encrypt: bool
    "Its body leaves this computer encrypted, or not at all."
    signer: MessageSigner | None
    "Signs it: a receiver sees who sent it, and that it is as it was sent."

    # Written out, as callers may give more types than the fields have. What is not the default is
    # checked, and only that. The test is by identity: quick, and never wrong about a value that
    # needs its check.
    def __init__(  # noqa: C901, PLR0912, PLR0915  # one test for each field is all there is to it
        self,
        body: bytes | str = b"",
        *,
        body_type: int | None = None,
        label: str = _NO_LABEL,
        priority: int = PRIORITY_DEFAULT,
        recoverable: bool = True,
        journal: bool = False,
        dead_letter: bool = False,
        dead_letter_queue: QueueName | None = None,
        acknowledge: Acknowledge | int = _NO_ACKNOWLEDGE,
        admin_queue: QueueName | None = None,
        response_queue: QueueName | None = None,
        correlation_id: bytes = NO_BYTES,
        app_specific: int = _ZERO,
        extension: bytes = NO_BYTES,
        time_to_be_received: float | None = None,
        time_to_reach_queue: float | None = None,
        trace: bool = False,
        encrypt: bool = False,
        signer: MessageSigner | None = None,
    ) -> None:
        """`MQError` for a value that its field cannot have."""
        if label is not _NO_LABEL:
            label = label_text(label)
        is_usual = (
            body.__class__ is bytes
            and priority is PRIORITY_DEFAULT
            and recoverable is True
            and journal is dead_letter is trace is encrypt is False
            and acknowledge is _NO_ACKNOWLEDGE
            and body_type is None
            and signer is None
            and dead_letter_queue is admin_queue is response_queue is None
            and correlation_id is extension is NO_BYTES
            and app_specific is _ZERO
            and time_to_be_received is time_to_reach_queue is None
        )
        if not is_usual:
            if body_type is not None or body.__class__ is not bytes:
                body, body_type = body_bytes(body, body_type)
            if priority is not PRIORITY_DEFAULT:
                priority = integer("priority", priority, PRIORITY_MAX)
            if signer is not None and not isinstance(signer, MessageSigner):
                raise IllegalPropertyVt(
                    f"signer: a MessageSigner is needed, not {type(signer).__name__}"
                )
            if not (recoverable is True and journal is dead_letter is trace is encrypt is False):
                flag("recoverable", recoverable)
                flag("journal", journal)
                flag("dead_letter", dead_letter)
                flag("trace", trace)
                flag("encrypt", encrypt)
            if dead_letter_queue is not None:
                dead_letter_queue, dead_letter = letter_queue(dead_letter_queue), True
            if acknowledge is not _NO_ACKNOWLEDGE:
                acknowledge = acknowledge_flags(acknowledge)
            if admin_queue is not None:
                admin_queue = queue_name("admin_queue", admin_queue)
            if response_queue is not None:
                response_queue = queue_name("response_queue", response_queue)
            if correlation_id is not NO_BYTES:
                correlation_id = correlation(correlation_id)
            if app_specific is not _ZERO:
                app_specific = integer("app_specific", app_specific, U32_MAX)
            if extension is not NO_BYTES:
                extension = octets("extension", extension)
            if time_to_be_received is not None:
                time_to_be_received = seconds("time_to_be_received", time_to_be_received)
            if time_to_reach_queue is not None:
                time_to_reach_queue = seconds("time_to_reach_queue", time_to_reach_queue)
        _set_body(self, body)
        _set_body_type(self, body_type or 0)
        _set_label(self, label)
        _set_priority(self, priority)
        _set_recoverable(self, recoverable)
        _set_journal(self, journal)
        _set_dead_letter(self, dead_letter)
        _set_dead_letter_queue(self, dead_letter_queue)
        _set_acknowledge(self, acknowledge)
        _set_admin_queue(self, admin_queue)
        _set_response_queue(self, response_queue)
        _set_correlation_id(self, correlation_id)
        _set_app_specific(self, app_specific)
        _set_extension(self, extension)
        _set_time_to_be_received(self, time_to_be_received)
        _set_time_to_reach_queue(self, time_to_reach_queue)
        _set_trace(self, trace)
        _set_encrypt(self, encrypt)
        _set_signer(self, signer)
        _set_is_usual(self, is_usual)

    def __reduce__(self) -> tuple[object, ...]:
        return _remade, (type(self), tuple(getattr(self, name) for name in FIELDS))

    @property
    def decoded(self) -> Body:
        """What the body holds, by its type or by its looks."""
        from openmsmq.bodies.decode import decode_body  # most programs need no decoders

        return decode_body(self.body, self.body_type)

    @property
    def text(self) -> str | None:
        """The body as a person would read it; None for plain bytes."""
        return self.decoded.text

    @property
    def value(self) -> Tree:
        """The value the body holds; the bytes themselves when nothing better is known."""
        return self.decoded.value

    def json(self) -> Any:
        """The body as the JSON document it holds; `ValueError` if it holds none."""
        text = self.text
        return loads(self.body if text is None else text)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(self._shown())})"

    def _shown(self) -> Iterator[str]:
        """The start of the body, then every other field that does not have its default."""
        is_text = self.body_type == LPWSTR
        yield _short(utf_16_le_decode(self.body, "replace", False)[0] if is_text else self.body)
        for name in FIELDS[2 if is_text else 1 :]:
            value = getattr(self, name)
            if value != getattr(_DEFAULT, name):
                yield f"{name}={_short(value)}"


def _remade(kind: type[Message], values: tuple[Any, ...]) -> Message:
    """A message as `copy` and `pickle` make it again."""
    return kind(**dict(zip(FIELDS, values, strict=True)))


def _short(value: object) -> str:
    """`value` as Python writes it, queues as text, and only the start of what is long."""
    if isinstance(value, FormatName):
        value = str(value)
    if isinstance(value, str | bytes) and len(value) > _SHOWN_MAX:
        unit = "bytes" if isinstance(value, bytes) else "characters"
        return f"{value[:_SHOWN_MAX]!r}... ({len(value)} {unit})"
    return repr(value)


(
    _set_body,
    _set_body_type,
    _set_label,
    _set_priority,
    _set_recoverable,
    _set_journal,
    _set_dead_letter,
    _set_dead_letter_queue,
    _set_acknowledge,
    _set_admin_queue,
    _set_response_queue,
    _set_correlation_id,
    _set_app_specific,
    _set_extension,
    _set_time_to_be_received,
    _set_time_to_reach_queue,
    _set_trace,
    _set_encrypt,
    _set_signer,
) = (vars(Message)[field.name].__set__ for field in fields(Message))
"The slots themselves: a third quicker than `object.__setattr__`."
_set_is_usual = vars(_Noted)["_is_usual"].__set__

FIELDS: Final = tuple(field.name for field in fields(Message))
"What a sender can set, in order."

_DEFAULT: Final = Message()
