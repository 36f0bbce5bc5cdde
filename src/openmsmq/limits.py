"""Every bound, in one place, with the section it comes from."""

from __future__ import annotations

from typing import Final

U16_MAX: Final = 0xFFFF
U32_MAX: Final = 0xFFFF_FFFF
U64_MAX: Final = 0xFFFF_FFFF_FFFF_FFFF
"The largest numbers of the wire's unsigned types."

KIB: Final = 1024
"Bytes of the unit that quotas are given in."
NO_QUOTA: Final = U32_MAX
"The quota of a queue that has none ([MS-MQDMPR] 3.1.1.2: Quota and JournalQuota, in KiB)."

PACKET_SIZE_MAX: Final = 0x0040_0000
"A packet with all its headers and padding ([MS-MQMQ] 2.2.19.1)."

LABEL_UNITS_MAX: Final = 0xFA
"UTF-16 units of a label, its null among them ([MS-MQMQ] 2.2.19.3)."

SENDER_CERTIFICATE_SIZE_MAX: Final = 0xFFFF
"Bytes of the certificate in a SecurityHeader ([MS-MQMQ] 2.2.20.6)."

HOP_COUNT_MAX: Final = 0x1D
"Routing servers a message may pass ([MS-MQMQ] 2.2.19.2)."

WINDOW_SIZE: Final = 0x0040
"Unacknowledged messages a session allows unless told otherwise ([MS-MQMQ] 2.2.20.4)."

RECOVERABLE_ACK_TIMEOUT_MS: Final = (500, 120_000)
"Least and most wait before recoverable messages are acknowledged ([MS-MQQB] 2.2.2.1)."

ACK_TIMEOUT_MS: Final = (20_000, 120_000)
"Least and most wait for an acknowledgement before a session closes ([MS-MQQB] 2.2.2.1)."

MULTI_QUEUE_ELEMENTS_MAX: Final = 4096
"Names in one part of a MultiQueueFormatHeader; the specification sets no bound of its own."

REFUSED_SIZE_MAX: Final = 64 << 20
"Bytes of messages of other managers that are kept although they were refused, unless set."
REFUSED_COUNT_MAX: Final = 10_000
"How many of them are kept; others are counted only."
