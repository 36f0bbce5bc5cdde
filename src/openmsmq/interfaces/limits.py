"""Every bound of the remote-call interfaces, and what happens when it is reached.

Sections are named where a specification sets the bound; docs/limits.md lists all of them.
"""

from __future__ import annotations

from typing import Final

NAME_MAX: Final = 1024
"""Characters of a direct name with its null; no name of a queue is so long. At the limit: the call
gets a fault for bad data.
"""
CURSORS_MAX: Final = 1024
"Cursors of a context handle. At the limit: the call that creates one more fails."
REQUESTS_MAX: Final = 1024
"Reads of a context handle that wait or are not ended. At the limit: a further read fails."
TOKEN_SIZE_MAX: Final = 131072
"""Bytes of a propagation token ([MS-MQRR] 3.1.4.12). At the limit: the call gets a fault for bad
data.
"""
CLEANUP_AFTER: Final = 300.0
"""Seconds that a message which was read may wait to be ended ([MS-MQRR] note 11). At the limit: it
returns to its place.
"""
TRANSACTION_IDLE_AFTER: Final = 300.0
"""Seconds that a transaction of a remote reader may be idle, unless `app.idle_transaction_limit`
says otherwise. At the limit: it is aborted, and its messages are back in their places.
"""
FLOORS_MAX: Final = 6
"Floors of a tower ([MS-RPCE] 2.2.1.2.2). At the limit: nothing is found for it."
TOWER_SIZE_MAX: Final = 2000
"Bytes of a tower ([MS-RPCE] 2.2.1.2.2). At the limit: the call gets a fault for bad data."
ENTRIES_MAX: Final = 500
"""Entries or towers that a caller of the endpoint mapper may ask for at a time ([MS-RPCE]
2.2.1.2.4). At the limit: the call gets a fault for bad data.
"""
TOWERS_MAX: Final = 4
"Towers that a client asks an endpoint mapper for. At the limit: the others are not tried."
ANNOTATION_MAX: Final = 64
"""Bytes of the annotation of an entry of the endpoint mapper (C706 appendix O). At the limit: it is
refused.
"""
LISTENER_CONNECTIONS_MAX: Final = 1000
"""Connections of a listener. At the limit: the oldest connection that is not bound is closed; if
all are bound, the new one is.
"""
PENDING_BYTES_MAX: Final = 64 << 20
"""Bytes of all requests of a listener whose rest has not come. At the limit: connections are
closed.
"""
CLIENT_CONNECTIONS_MAX: Final = 60
"""Connections of a client to a manager elsewhere, each with one call under way. At the limit: a
further call fails.
"""
VARIANT_ELEMENTS_MAX: Final = 65536
"""Characters, bytes or elements of a property value in a remote call. At the limit: the call gets a
fault for bad data; a list that the manager answers ends there.
"""
PROPERTIES_MAX: Final = 128
"""Properties that a remote call may ask for or set ([MS-MQMR] 3.1.4.1). At the limit: the call gets
a fault for bad data.
"""
ACTION_MAX: Final = 64
"Characters of an action word with its null. At the limit: the call gets a fault for bad data."
READ_SIZE_MAX: Final = 0x0042_0000
"""Bytes of a message in older remote read ([MS-MQQP] 2.2.2.1). At the limit: the call gets a fault
for bad data.
"""
WAITING_ROOM_MAX: Final = 64 << 20
"""Bytes that all reads of dependent clients which wait have room for: each keeps what its client
sent. At the limit: a read that would have to wait fails.
"""
QUEUES_SHOWN_MAX: Final = 4000
"""Queues of dependent clients that people are shown at a time. At the limit: the others are
counted only.
"""
GUESSES_MAX: Final = 64
"""Numbers of queues that a computer may present in older remote read in a minute without one of
them being right. At the limit: it opens nothing for the rest of that minute.
"""
DESCRIPTOR_SIZE_MAX: Final = 524288
"""Bytes of a security descriptor, or characters of a format name, that a dependent client has room
for ([MS-MQMP] 3.1.4.5, 3.1.4.21). At the limit: the call gets a fault for bad data.
"""
