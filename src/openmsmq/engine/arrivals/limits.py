"""Bounds of what other managers can make this one remember, create and answer.

Each says what it counts, and what happens at the limit; docs/limits.md lists all of them.
"""

from __future__ import annotations

from typing import Final

UNSOLICITED_MAX: Final = 100
"""Queues for acknowledgements that strangers direct at third machines. At the limit: further
acknowledgements are dropped and counted.
"""
UNSOLICITED_SIZE_MAX: Final = 10 << 20
"Bytes in all of these. At the limit: further acknowledgements are dropped and counted."
ANSWERS_MAX: Final = 1000
"""Queues for acknowledgements that wait for strangers who brought the messages. At the limit: the
network with the most of them loses its oldest.
"""
ANSWERS_SIZE_MAX: Final = 256 << 20
"Bytes in all of these. At the limit: queues with more than their share get nothing more."
MESSAGES_MAX: Final = 10_000
"""Acknowledgements that wait for one manager that could not be reached. At the limit: further ones
are dropped and counted.
"""
SIZE_MAX: Final = 256 << 20
"""Bytes of acknowledgements that wait for one known manager, a million of them. At the limit:
further ones are dropped and counted.
"""
FORGED_MAX: Final = MESSAGES_MAX // 10
"""Acknowledgements among these about messages that others brought in its name. At the limit:
further ones are dropped and counted.
"""
SCOPES_MAX: Final = 1000
"Sources of which a session remembers the scope. At the limit: they are computed again."
KNOWN_DUPLICATES_MAX: Final = 100_000
"""Messages of known peers that are remembered to recognize duplicates; MSMQ remembers 10,000, but
lets less be under way. At the limit: the peer with the most of them loses its oldest.
"""
STRANGER_DUPLICATES_MAX: Final = 50_000
"""Messages of all others that are remembered to recognize duplicates. At the limit: the network
with the most of them loses its oldest.
"""
DUPLICATE_AGE_MAX: Final = 30 * 60
"""Seconds that a message is remembered to recognize duplicates ([MS-MQQB] 3.1.2.8). At the limit:
it is forgotten.
"""
SESSION_KEYS_MAX: Final = 127
"""Keys of encrypted messages that are remembered ([MS-MQQB] 3.1.3.1). At the limit: the
oldest half is forgotten, and unwrapped again if need be.
"""
SESSION_KEYS_DROPPED: Final = SESSION_KEYS_MAX // 2
"Keys of messages that are forgotten together. At the limit: there is room for as many new ones."
SESSION_KEY_AGE_MAX: Final = 600
"""Seconds that a session key is remembered ([MS-MQQB] 3.1.3.1). At the limit: it is forgotten, and
unwrapped again if need be.
"""
CERTIFICATES_MAX: Final = 256
"""Certificates and identifiers of senders that were decoded. At the limit: the one used longest ago
is forgotten.
"""
REPLAYS_MAX: Final = 100_000
"""Signatures that are remembered, where a replay window is set. At the limit: the oldest is
forgotten.
"""
DUPLICATE_GROUP_MAX: Final = 1000
"Messages that are forgotten together. At the limit: another group begins."
DROPPED_GROUPS_MAX: Final = 1000
"Groups that are forgotten but still in the queue by age. At the limit: the queue is rebuilt."
STRANGER_SEQUENCES_MAX: Final = 10_000
"""Sequences of sources outside the peer table that are remembered. At the limit: the network with
the most of them loses its oldest.
"""
SOURCE_SEQUENCES_MAX: Final = 10_000
"Sequences of one source that are remembered. At the limit: the oldest is forgotten."
STREAM_SCOPES_MAX: Final = 16
"""Sessions that brought one stream under different scopes and are looked at. At the limit: the last
ones count.
"""
DESTINATION_TEXT_MAX: Final = 256
"Characters that are kept of a destination as the sender writes it. At the limit: the text is cut."
PEERS_MAX: Final = 10_000
"Peers that are remembered. At the limit: the one learned longest ago is forgotten."
NAMES_MAX: Final = 16
"Names of a peer that are remembered. At the limit: the oldest is forgotten."
NOTIFICATIONS_KEPT_MAX: Final = 1000
"""Messages that wait in the queue of change notifications, to which anyone can send. At the limit:
a message is rejected for its quota.
"""
SENDERS_MAX: Final = 53
"""Users whose certificates are remembered, as the directory has them ([MS-MQQB] 3.1.3.1), and as
many who have none. At the limit: the oldest half is forgotten, and asked for again.
"""
SENDERS_DROPPED: Final = SENDERS_MAX // 2
"Users that are forgotten together. At the limit: there is room for as many new ones."
SENDER_AGE_MAX: Final = 1200
"""Seconds that certificates of a user are remembered ([MS-MQQB] 3.1.3.1). At the limit: the
directory is asked again.
"""
SENDER_WAIT_MAX: Final = 300
"""Seconds that a message waits for an answer of the directory about its sender, and its session
with it. At the limit: it is refused, as [MS-MQQB] 3.1.5.8.3 has it, until there is an answer.
"""
SENDERS_ASKED_MAX: Final = 53
"Users that the directory is asked for at once. At the limit: further ones wait for their next try."
