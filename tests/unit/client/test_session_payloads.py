"""Sessions and recordings as a service describes them; tests of the calls have whole ones."""

from __future__ import annotations

from dataclasses import asdict

from tests.unit.app_server.test_control_calls import CLIENT, DETAILS, PEER

from openmsmq.app_protocol.members import Members
from openmsmq.client.session_payloads import dependent_info, session_details, session_info
from openmsmq.types.peers import SessionDetails


def test_what_is_described_is_read_back() -> None:
    assert session_info(Members(asdict(PEER))) == PEER
    assert dependent_info(Members(asdict(CLIENT))) == CLIENT
    for one in (DETAILS, SessionDetails(PEER, "open", queues=(r".\private$\orders",))):
        assert session_details(Members.decode(Members(asdict(one)).encode())) == one
