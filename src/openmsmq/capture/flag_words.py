"""The bits of every flag word, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from openmsmq.names.reference import ReferenceCode
from openmsmq.packet.headers.base import BaseFlags
from openmsmq.packet.headers.debug import DebugFlags
from openmsmq.packet.headers.establish_connection import OperatingSystem
from openmsmq.packet.headers.internal import InternalFlags, InternalType
from openmsmq.packet.headers.properties import PropertyFlags
from openmsmq.packet.headers.security import SecurityFlags
from openmsmq.packet.headers.trailer import ExtensionFlags, SubqueueBits
from openmsmq.packet.headers.transaction import TransactionFlags
from openmsmq.packet.headers.user import UserFlags
from openmsmq.packet.ping import PingFlags
from openmsmq.properties.message import describe_class
from openmsmq.wire.fixed import Bits

Words = str | Mapping[int, str]
"What a group says when it is not 0, `{}` standing for its value; or a text for each value."


def _queue(prefix: str) -> Mapping[int, str]:
    return {
        code: f"{prefix} {code.name.lower().replace('_', ' ')}"
        for code in ReferenceCode
        if code is not ReferenceCode.NONE
    }


WORDS: Final[Mapping[type[Bits], Mapping[str, Words]]] = {
    BaseFlags: {
        "PR": {value: f"priority {value}" for value in range(8)},
        "IN": "internal packet",
        "SH": "with SessionHeader",
        "DH": "with DebugHeader",
        "TR": "traced",
    },
    UserFlags: {
        "RC": "{} routing servers passed",
        "DM": {0: "express", 1: "recoverable"},
        "JN": "dead letter on failure",
        "JP": "copy to the source journal",
        "DQ": _queue("destination"),
        "AQ": _queue("administration queue"),
        "RQ": _queue("response queue"),
        "SH": "with SecurityHeader",
        "TH": "transactional",
        "MP": "",
        "CQ": "with ConnectorType",
        "MQ": "with MultiQueueFormatHeader",
        "AH": "came over HTTP",
        "HH": "with SoapHeader",
    },
    PropertyFlags: {
        "PA": "acknowledge arrival",
        "PR": "acknowledge receive",
        "NA": "report failure to arrive",
        "NR": "report failure to be received",
    },
    TransactionFlags: {
        "CG": "with ConnectorQMGuid",
        "FA": "FinalAck wanted",
        "FM": "first of its transaction",
        "LM": "last of its transaction",
        "ID": {},
    },
    SecurityFlags: {
        "ST": {0: "no sender identifier", 1: "sender by SID", 2: "sender is a queue manager"},
        "AU": "authenticated",
        "EB": "body encrypted",
        "DE": "default provider",
        "AI": "with SecurityData",
        "AS": "signature type {}",
    },
    DebugFlags: {"QT": {0: "no report queue", 1: "a public report queue"}},
    InternalFlags: {
        "PT": {code: code.name.lower().replace("_", " ") for code in InternalType},
        "CS": "connection refused",
    },
    OperatingSystem: {
        "RE": "",
        "SE": {0: "a ping was sent", 1: "no ping was sent"},
        "OS": {0: "client system", 1: "server system"},
        "QS": "quality of service",
    },
    PingFlags: {
        "RC": {0: "from a server system", 1: "from a client system"},
        "RF": {0: "", 1: "a session would be refused"},
    },
    ExtensionFlags: {
        "DL": "with DeadLetterHeader",
        "SQ": "with SubqueueHeader",
        "DI": "dead-letter queue invalid",
        "EA": "with ExtendedAddressHeader",
    },
    SubqueueBits: {"TM": "TM", "AcknowledgementClass": {}},
}


def flag_words(kind: type[Bits], word: int) -> str:
    """What the bits of `word` say, reserved ones only if they are set."""
    said = (_group_words(kind, name, value) for name, value in kind.split(word).items())
    return ", ".join(words for words in said if words)


def _group_words(kind: type[Bits], name: str, value: int) -> str:
    words = WORDS[kind].get(name)
    if words is None:
        return f"{name}={value} (ignored)" if value else ""
    if kind is SubqueueBits and name == "AcknowledgementClass":
        return describe_class(value) if value else ""
    if kind is TransactionFlags and name == "ID":
        return f"transaction {value}"
    if isinstance(words, str):
        return words.format(value) if value else ""
    return words.get(value, f"{name}={value}" if value else "")
