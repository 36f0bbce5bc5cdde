"""Queues as envelopes name them, by URI, and as packets do, by format name (HTTP-19, HTTP-35).

Format names have no escapes, URIs do: `http://host/msmq/private$/a%20b` is the queue `a b`.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from openmsmq.errors import IllegalFormatName, Malformed
from openmsmq.names.base import FormatName
from openmsmq.names.direct import DEFAULT_PORTS, DirectName
from openmsmq.names.format import MulticastName, parse_format_name

MSMQ_PREFIX: Final = "MSMQ:"
_SCHEMES = ("http://", "https://")
_ESCAPES = re.compile(r"(?:%[0-9A-Fa-f]{2})+")
_NOT_IN_URI = re.compile(r"[%? #]")
_NOT_IN_TARGET = re.compile(r"[^\x21-\x7e]")


def is_url(text: str) -> bool:
    """True for an http or https address."""
    return text.lower().startswith(_SCHEMES)


def queue_at(uri: str, field: str) -> FormatName:
    """The queue that `uri` names ([MC-MQSRM] 2.2.4.2, 2.2.4.4); `Malformed` if it names none.

    An http address becomes a direct name without its query; `MSMQ:` precedes any format name.
    """
    try:
        if is_url(uri):
            return _http_queue(uri)
        if uri.upper().startswith(MSMQ_PREFIX):
            return parse_format_name(uri[len(MSMQ_PREFIX) :])
    except (IllegalFormatName, UnicodeDecodeError) as error:
        raise Malformed(field, 0, f"names no queue: {error}") from None
    raise Malformed(field, 0, f"{uri!r:.80} is neither an http address nor MSMQ: and a name")


@lru_cache(maxsize=4096)
def _http_queue(url: str) -> DirectName:
    return DirectName.from_wire(_unescape(url.partition("?")[0]))


def address_of(queue: FormatName) -> str:
    """The URI of a queue: its http address, or `MSMQ:` and its format name.

    ([MC-MQSRM] 2.2.4.2)
    """
    if isinstance(queue, DirectName) and queue.protocol in DEFAULT_PORTS:
        return _escaped(queue.wire_text)
    return f"{MSMQ_PREFIX}{queue}"


@lru_cache(maxsize=4096)
def _escaped(text: str) -> str:
    return _NOT_IN_URI.sub(_escape, text)


def destination_at(uri: str) -> DirectName | MulticastName:
    """The queue that a message is for: by http, https or multicast ([MC-MQSRM] 2.2.4.2)."""
    queue = queue_at(uri, "path.to")
    if isinstance(queue, MulticastName) or (isinstance(queue, DirectName) and is_url(uri)):
        return queue
    raise Malformed("path.to", 0, f"{uri!r:.80} is no http, https or multicast address")


@lru_cache(maxsize=4096)
def request_target(url: str) -> str:
    """The target of a POST to `url`: its path and query in small letters ([MC-MQSRM] 4.2)."""
    rest = url.partition("://")[2].replace("\\", "/")
    return _NOT_IN_TARGET.sub(_escape, f"/{rest.partition('/')[2]}".lower())


def _unescape(text: str) -> str:
    return _ESCAPES.sub(lambda found: bytes.fromhex(found[0].replace("%", "")).decode(), text)


def _escape(found: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in found[0].encode("utf-8"))
