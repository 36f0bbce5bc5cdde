"""Programs that sign what they send to other managers, and let it be encrypted.

Their messages travel one behind the other, so that receivers find groups of protected messages;
each manager knows who signs, and has the key that all encrypt with.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Final
from uuid import UUID

from openmsmq.engine.arrivals.examination import Examination, Examiner, Keyring
from openmsmq.engine.outgoing.encryption import PeerKeys
from openmsmq.names.parts import fold
from openmsmq.packet.walk import ProtectedLayout
from openmsmq.types.message import Message
from tests.signers import ALICE, VALID, der_of, exchange_key, published, signer

if TYPE_CHECKING:
    from tests.simulation.node import Node
    from tests.simulation.transfers import Transfers

_RECEIVER: Final = UUID(int=1)
"Stands for each of the managers, which have one key."
KEY_LIFETIMES: Final = (0, 600)


class ValidExaminer(Examiner):
    """One for which the certificates of the vectors are valid, whatever the clock says."""

    def _examine(
        self, packets: list[bytes], layout: ProtectedLayout, now: float
    ) -> list[Examination]:
        return super()._examine(packets, layout, VALID)


class Signatures:
    """Has a part of the messages protected that programs send to others."""

    def __init__(self, nodes: list[Node], transfers: list[Transfers], chance: Random) -> None:
        self._chance = chance
        self._names = {fold(node.name): _RECEIVER for node in nodes}
        self._lifetime = chance.choice(KEY_LIFETIMES)
        for node in nodes:
            self._equip(node)
        for each in transfers:
            each.protect = self._protect

    def _equip(self, node: Node) -> None:
        """Give each process of a manager what it takes to decrypt and to verify."""
        started = node.on_start

        def start() -> None:
            core = node.core
            core.examiner = ValidExaminer()
            core.examiner.keyring = Keyring({ALICE: (der_of(),)}, (exchange_key(),))
            core.encryptor.random = self._chance.randbytes
            core.encryptor.peers = PeerKeys({_RECEIVER: published(exchange_key())}, self._names)
            core.encryptor.encrypts_direct = True
            core.encryptor.key_lifetime = self._lifetime
            started()

        node.on_start = start

    def _protect(self, messages: list[Message]) -> list[Message]:
        """Mostly all of them alike."""
        dice = self._chance.random()
        if dice < 0.3:
            return messages
        encrypt = dice < 0.5
        signed = [replace(message, signer=signer(), encrypt=encrypt) for message in messages]
        if dice > 0.9:
            place = self._chance.randrange(len(messages))
            signed[place] = messages[place]
        return signed
