"""One message with every attribute that has a field, laid out by hand.

The bytes are written down as [MS-MQMQ] 2.2.19 and 2.2.20 draw them, not with the code under test.
"""

from __future__ import annotations

from struct import pack
from uuid import UUID

from openmsmq.names.format import parse_format_name

SOURCE, TARGET, ADMIN, CONNECTOR, CONNECTOR_MANAGER, REPORTS = (UUID(int=n) for n in range(1, 7))
DESTINATION_NAME = parse_format_name(rf"PRIVATE={TARGET}\c")
ADMIN_NAME = parse_format_name(f"PUBLIC={ADMIN}")
RESPONSE_NAME = parse_format_name(r"DIRECT=OS:h\r")
MANY = (DESTINATION_NAME, ADMIN_NAME)
SID = bytes.fromhex("0101000000000005 07000000")
KEY, SIGNATURE, CERTIFICATE = b"a key of 17 bytes", b"signature", b"certificate"
PROVIDER_TYPE, PROVIDER_NAME = 0x18, "Provider"
BODY, LABEL, EXTENSION = b"the body", "Label", b"ext"
CORRELATION = bytes(range(100, 120))
MULTI_SIGNATURE = b"over all"
SIGNED_BY_APPLICATION = 0x0001 | 0x0020
"ST is 1, EB is set."


def text(value: str) -> bytes:
    return value.encode("utf-16-le") + b"\0\0"


def padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)


def everything(
    *,
    in_transaction: bool = True,
    priority: int = 0,
    security_flags: int = SIGNED_BY_APPLICATION,
) -> bytes:
    """The packet; `in_transaction` says whether it has a TransactionHeader."""
    user_flags = (
        1 << 5  # DM: recoverable
        | 0x100  # JN: dead letter
        | 0x200  # JP: journal
        | 3 << 10  # DQ: a private queue there
        | 5 << 13  # AQ: a public queue
        | 7 << 16  # RQ: a direct name
        | 0x080000  # SH
        | (0x100000 if in_transaction else 0)  # TH
        | 0x200000  # MP
        | 0x400000  # CQ
        | 0x800000  # MQ
    )
    user = (
        SOURCE.bytes_le
        + TARGET.bytes_le
        + pack("<IIII", 600, 0x65000000, 0x1001, user_flags)
        + pack("<I", 12)
        + ADMIN.bytes_le
        + padded(pack("<H", len(text(r"OS:h\r"))) + text(r"OS:h\r"))
        + CONNECTOR.bytes_le
    )
    transaction = pack("<IIIII", 0x0F | 0x54321 << 4, 7, 0x64000000, 5, 4)
    transaction += CONNECTOR_MANAGER.bytes_le
    items = (SID, KEY, SIGNATURE, CERTIFICATE, pack("<I", PROVIDER_TYPE) + text(PROVIDER_NAME))
    security = pack("<HHHHII", security_flags, *map(len, items)) + b"".join(map(padded, items))
    properties = (
        pack("<BBH", 0x0E, len(LABEL) + 1, 0x8002)
        + CORRELATION
        + pack("<II", 0x1008, 0x12345678)
        + pack("<IIIIII", len(BODY), len(BODY), 5, 0x800C, 0x6610, len(EXTENSION))
        + text(LABEL)
        + EXTENSION
        + BODY
    )
    debug = pack("<HH", 1, 0) + REPORTS.bytes_le
    private = pack("<HH", 2, 0) + TARGET.bytes_le + pack("<I", 12)
    public = pack("<HH", 1, 0) + ADMIN.bytes_le
    multi_queue = (
        pack("<IHHI", 12 + len(private) + len(public), 0x64, 0, 2)
        + (private + public)
        + (pack("<IHHI", 12 + len(public), 0xC8, 0, 1) + public)
        + (pack("<IHHI", 12 + len(private), 0x12C, 0, 1) + private)
        + (pack("<HHI", 0x15E, 0, len(MULTI_SIGNATURE)) + MULTI_SIGNATURE)
    )
    headers = (
        user,
        transaction if in_transaction else b"",
        security,
        padded(properties),
        debug,
        padded(multi_queue),
    )
    rest = b"".join(headers)
    base = pack("<BBHIII", 0x10, 0, priority | 0x20 | 0x100, 0x524F494C, 16 + len(rest), 3600)
    return base + rest
