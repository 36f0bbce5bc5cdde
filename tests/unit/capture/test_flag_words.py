"""Flag words in words."""

from __future__ import annotations

import pkgutil
from importlib import import_module

import pytest

import openmsmq.packet
from openmsmq.capture.flag_words import WORDS, flag_words
from openmsmq.packet.headers.base import BaseFlags
from openmsmq.packet.headers.debug import DebugFlags
from openmsmq.packet.headers.establish_connection import OperatingSystem
from openmsmq.packet.headers.internal import InternalFlags
from openmsmq.packet.headers.properties import PropertyFlags
from openmsmq.packet.headers.security import SecurityFlags
from openmsmq.packet.headers.trailer import ExtensionFlags, SubqueueBits
from openmsmq.packet.headers.transaction import TransactionFlags
from openmsmq.packet.headers.user import UserFlags
from openmsmq.packet.ping import PingFlags
from openmsmq.wire.fixed import Bits, Fixed

RESERVED = {"Reserved", "X", "X1", "X2", "X3", "X4", "X8", "X9"}


def fixed_kinds() -> set[type[Fixed]]:
    """Every structure of the packets, whichever module declares it."""
    for module in pkgutil.iter_modules(openmsmq.packet.__path__, "openmsmq.packet."):
        import_module(module.name)
    found: set[type[Fixed]] = set()
    waiting = [Fixed]
    while waiting:
        kinds = waiting.pop().__subclasses__()
        found.update(kind for kind in kinds if kind.__module__.startswith("openmsmq.packet."))
        waiting += kinds
    return found


def flag_kinds() -> set[type[Bits]]:
    kinds = [kind for kind in fixed_kinds() if hasattr(kind, "FIELDS")]
    return {field.bits for kind in kinds for field in kind.FIELDS if field.bits is not None}


def test_every_flag_word_of_a_packet_has_words() -> None:
    assert len(flag_kinds()) == 11
    assert flag_kinds() == set(WORDS)


@pytest.mark.parametrize("kind", WORDS, ids=lambda kind: kind.__name__)
def test_every_group_but_the_reserved_ones_has_words(kind: type[Bits]) -> None:
    reserved = {name for name, _, _ in kind.GROUPS if name in RESERVED or "_X" in name}
    assert set(WORDS[kind]) == {name for name, _, _ in kind.GROUPS} - reserved


@pytest.mark.parametrize("kind", WORDS, ids=lambda kind: kind.__name__)
def test_every_single_bit_can_be_said(kind: type[Bits]) -> None:
    for bit in range(32):
        assert "{" not in flag_words(kind, 1 << bit)


@pytest.mark.parametrize(
    ("kind", "word", "words"),
    [
        (BaseFlags, 0x0000, "priority 0"),
        (BaseFlags, 0x000B, "priority 3, internal packet"),
        (BaseFlags, 0x0137, "priority 7, with SessionHeader, with DebugHeader, traced"),
        (UserFlags, 0x00200000, "express"),
        (
            UserFlags,
            0x10D81C20 | 0x0000A000 | 0x00010000,
            "recoverable, destination direct, administration queue public,"
            " response queue same as admin, with SecurityHeader, transactional,"
            " with ConnectorType, with MultiQueueFormatHeader, with SoapHeader",
        ),
        (
            UserFlags,
            0x02000303,
            "3 routing servers passed, express, dead letter on failure,"
            " copy to the source journal, came over HTTP",
        ),
        (UserFlags, 0x00200060, "DM=3"),
        (PropertyFlags, 0x00, ""),
        (
            PropertyFlags,
            0x0F,
            "acknowledge arrival, acknowledge receive, report failure to arrive,"
            " report failure to be received",
        ),
        (
            TransactionFlags,
            0x0000012F,
            "with ConnectorQMGuid, FinalAck wanted, first of its transaction,"
            " last of its transaction, transaction 18",
        ),
        (TransactionFlags, 0, "transaction 0"),
        (SecurityFlags, 0x0000, "no sender identifier"),
        (SecurityFlags, 0x0001, "sender by SID"),
        (
            SecurityFlags,
            0x05F2,
            "sender is a queue manager, authenticated, body encrypted, default provider,"
            " with SecurityData, signature type 5",
        ),
        (SecurityFlags, 0x000F, "ST=15"),
        (DebugFlags, 0, "no report queue"),
        (DebugFlags, 1, "a public report queue"),
        (InternalFlags, 0x0001, "session ack"),
        (InternalFlags, 0x0012, "establish connection, connection refused"),
        (InternalFlags, 0x000F, "PT=15"),
        (InternalFlags, 0x0000, ""),
        (OperatingSystem, 0x0010, "a ping was sent, client system"),
        (OperatingSystem, 0x0710, "no ping was sent, server system, quality of service"),
        (PingFlags, 0x0000, "from a server system"),
        (PingFlags, 0x0003, "from a client system, a session would be refused"),
        (ExtensionFlags, 0x12, "with SubqueueHeader, with ExtendedAddressHeader"),
        (ExtensionFlags, 0x09, "with DeadLetterHeader, dead-letter queue invalid"),
        (SubqueueBits, 0, ""),
        (SubqueueBits, 0xC004 << 1 | 1, "TM, the receiving application rejected the message"),
    ],
)
def test_words(kind: type[Bits], word: int, words: str) -> None:
    assert flag_words(kind, word) == words


@pytest.mark.parametrize(
    ("kind", "word", "words"),
    [
        (BaseFlags, 0x0240, "priority 0, X9=1 (ignored), X6_X0=1 (ignored)"),
        (InternalFlags, 0x0021, "session ack, X5_X15=1 (ignored)"),
        (PropertyFlags, 0xA0, "X4_X7=10 (ignored)"),
        (SubqueueBits, 0x00020000, "Reserved=1 (ignored)"),
    ],
)
def test_reserved_bits_are_shown_when_they_are_set(kind: type[Bits], word: int, words: str) -> None:
    """MQQB-018, MQQB-029, MQQB-076: and said to tell nothing."""
    assert flag_words(kind, word) == words
