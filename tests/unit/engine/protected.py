"""Protected messages of another manager, and a manager that has what it takes to judge them."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Final

from tests.signers import ALICE, VALID, der_of, exchange_key, published, signer
from tests.unit.engine.station import ADDRESS, Station, parcel
from tests.unit.engine.world import HERE, ME, PARTNER

from openmsmq.engine.arrivals.arrival import Origin
from openmsmq.engine.arrivals.examination import Keyring
from openmsmq.engine.outgoing.encryption import Encryptor, PeerKeys
from openmsmq.packet.builder import OptionalHeaders
from openmsmq.security.sid import Sid

QUEUES: Final = ("q", "t", "small", "authentic", "alices", "closed", "sealed", "open")
"""A plain one, a transactional one, one with a quota, one that demands signatures, two with
permissions, one that takes encrypted messages only, and one that takes none of them.
"""
_STRANGER: Final = Sid(5, (21, 1, 2, 3, 4))


@cache
def protected(
    queue: str,
    size: int,
    by: str,
    place: tuple[int, int, int] | None,
    is_encrypted: bool,
    express: bool = False,
) -> bytes:
    """A message; no signature covers its number."""
    headers = OptionalHeaders()
    one = replace(signer(), sender=ALICE if by == "alice" else _STRANGER)
    if by:
        headers = OptionalHeaders(security=one.header, hash_algorithm=one.algorithm)
    packet = parcel(
        "x" * size, to=HERE + queue, express=express, place=place, sent=VALID, headers=headers
    )
    if by:
        packet = one.sign(packet)
    return encryptor().encrypt(packet, 0) if is_encrypted else packet


@cache
def encryptor() -> Encryptor:
    """Encrypts for the station, with one key for all messages."""
    found = Encryptor()
    found.random = bytes.fromhex("5a").__mul__
    found.peers = PeerKeys({ME: published(exchange_key())}, {"HERE": ME})
    found.encrypts_direct, found.key_lifetime = True, 600
    return found


def trusting_station(window: int = 0) -> tuple[Station, Origin]:
    """A manager that knows alice, and a session of its partner."""
    found = Station()
    found.world.tick(VALID - found.core.timeline.wall)
    examiner = found.core.examiner
    examiner.keyring = Keyring({ALICE: (der_of(),)}, (exchange_key(),))
    examiner.policy = replace(examiner.policy, replay_window=window)
    found.world.queue("q")
    found.world.queue("t", transactional=True)
    found.world.queue("small", quota=1)
    found.world.queue("authentic", authenticate=True)
    found.world.queue("alices", permissions=f"D:(A;;LC;;;{ALICE})")
    found.world.queue("closed", permissions="D:(A;;LC;;;BA)")
    found.world.queue("sealed", privacy=2)
    found.world.queue("open", privacy=0)
    found.world.queue("admin")
    origin = Origin(ADDRESS, "partner")
    origin.entitle(PARTNER.bytes_le, is_proven=True, is_known=True)
    return found, origin
