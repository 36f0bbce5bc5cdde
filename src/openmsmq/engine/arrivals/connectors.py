"""Messages for foreign systems, as a connector server keeps them."""

from __future__ import annotations

from typing import Final

from openmsmq.engine.commit.batch import NewMessage
from openmsmq.engine.storage.layout import Owed
from openmsmq.packet.walk import one_hop_more

_CONFIRMED: Final = (Owed.ACK_ARRIVAL | Owed.ACK_RECEIVE).value


def for_connector(new: NewMessage) -> NewMessage:
    """A message for a foreign system, as a connector queue keeps it (RT-22).

    It is one hop further, and not where it was sent: what confirms that it came or was received is
    for the program to send that speaks to the system. Its lifetime goes on.
    """
    return new._replace(packet=one_hop_more(new.packet), flags=new.flags & ~_CONFIRMED)
