"""Questions to DNS about the servers of a service, and its answers (RFC 1035 4, RFC 2782)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

from openmsmq.directory.limits import DNS_LABEL_MAX, DNS_NAME_MAX
from openmsmq.errors import Malformed
from openmsmq.wire.reader import Reader

SERVICE_TYPE: Final = 33
"SRV (RFC 2782)."
INTERNET: Final = 1
_RECURSION_DESIRED: Final = 0x0100
_ANSWER: Final = 0x8000
_TRUNCATED: Final = 0x0200
_POINTER: Final = 0xC0
NO_ERROR: Final = 0
NO_SUCH_NAME: Final = 3


class ServiceRecord(NamedTuple):
    """A server of a service, and when it is tried (RFC 2782)."""

    priority: int
    weight: int
    port: int
    host: str


@dataclass(frozen=True, slots=True)
class DnsAnswer:
    """What a name server says."""

    code: int
    is_truncated: bool
    "There is more, which comes over TCP only."
    records: tuple[ServiceRecord, ...]


def question(number: int, name: str) -> bytes:
    """Ask for the servers of a service (RFC 1035 4.1); `Malformed` for what is no name."""
    labels = name.rstrip(".").encode("ascii", "replace").split(b".")
    if not all(0 < len(label) <= DNS_LABEL_MAX for label in labels) or len(name) > DNS_NAME_MAX - 2:
        raise Malformed("name", 0, f"{name[:80]} is no name of DNS")
    header = b"".join(_u16(one) for one in (number, _RECURSION_DESIRED, 1, 0, 0, 0))
    encoded = b"".join(bytes((len(label),)) + label for label in labels)
    return header + encoded + b"\0" + _u16(SERVICE_TYPE) + _u16(INTERNET)


def decode(data: bytes, number: int) -> DnsAnswer:
    """The answer to a question with this number (RFC 1035 4.1); `Malformed`."""
    reader = Reader(data)
    if _read(reader, "ID") != number:
        reader.fail("ID", "the answer to another question", offset=0)
    flags = _read(reader, "flags")
    if not flags & _ANSWER:
        reader.fail("flags", "no answer", offset=2)
    questions, answers = _read(reader, "QDCOUNT"), _read(reader, "ANCOUNT")
    reader.need(4, "NSCOUNT, ARCOUNT")
    is_truncated = bool(flags & _TRUNCATED)
    if is_truncated:
        return DnsAnswer(flags & 0xF, is_truncated, ())
    for _ in range(questions):
        _name(reader)
        reader.need(4, "QTYPE, QCLASS")
    found = [_record(reader) for _ in range(answers)]
    return DnsAnswer(flags & 0xF, is_truncated, tuple(one for one in found if one is not None))


def _record(reader: Reader) -> ServiceRecord | None:
    """A record of the answer; None if it is none of a server (RFC 1035 4.1.3, RFC 2782)."""
    _name(reader)
    kind, group = _read(reader, "TYPE"), _read(reader, "CLASS")
    reader.need(4, "TTL")
    size = _read(reader, "RDLENGTH")
    start = reader.need(size, "RDATA")
    if (kind, group) != (SERVICE_TYPE, INTERNET):
        return None
    inner = Reader(reader.data, start, start + size)
    priority, weight, port = (_read(inner, name) for name in ("priority", "weight", "port"))
    host = _name(inner)
    return ServiceRecord(priority, weight, port, host) if host and port else None


def _name(reader: Reader) -> str:
    """A name, which may end in one that came before (RFC 1035 4.1.4).

    Each pointer leads further back than the one before, so that none is followed twice.
    """
    labels: list[str] = []
    here, limit, size = reader, reader.offset, 0
    while True:
        length = here.u8("label")
        if length & _POINTER == _POINTER:
            target = (length & ~_POINTER) << 8 | here.u8("pointer")
            if target >= limit:
                here.fail("pointer", f"{target} is not before {limit}")
            here, limit = Reader(reader.data, target), target
            continue
        if length > DNS_LABEL_MAX:
            here.fail("label", f"{length} characters")
        if not length:
            return ".".join(labels)
        size += length + 1
        if size > DNS_NAME_MAX:
            here.fail("name", f"more than {DNS_NAME_MAX} characters")
        labels.append(here.take(length, "label").decode("ascii", "replace"))


def in_order(records: Iterable[ServiceRecord], draw: Callable[[int], int]) -> list[ServiceRecord]:
    """Servers in the order in which they are tried: by priority, then by chance and weight.

    (RFC 2782) `draw(n)` is a random number from 0 to n.
    """
    ordered: list[ServiceRecord] = []
    left = sorted(set(records), key=lambda one: (one.priority, one.weight))
    while left:
        same = [one for one in left if one.priority == left[0].priority]
        chosen = draw(sum(one.weight for one in same))
        passed = 0
        for one in same:
            passed += one.weight
            if passed >= chosen:
                ordered.append(one)
                left.remove(one)
                break
    return ordered


def _u16(value: int) -> bytes:
    return value.to_bytes(2, "big")


def _read(reader: Reader, name: str) -> int:
    return int.from_bytes(reader.take(2, name), "big")
