"""Addresses that stand for others."""

from __future__ import annotations

import pytest

from openmsmq.names.direct import DirectName
from openmsmq.names.format import parse_format_name
from openmsmq.transports.srmp.redirection import Redirections, matches, replacement

ORDERS = "http://shop02/msmq/private$/orders"
RULES = Redirections(
    outgoing=(("http://shop02/*", "https://gateway:8443/ignored"), ("*", "http://other")),
    exceptions=("http://shop02/msmq/private$/urgent", "http://bank*"),
    incoming=(("http://shop01/msmq/in*", "http://shop01/msmq/private$/orders"),),
    receipts=(("https://*", "https://me/msmq/private$/order_queue$"),),
)


@pytest.mark.parametrize(
    ("rule", "is_match"),
    [
        (ORDERS, True),
        (ORDERS.upper(), True),
        ("http://shop02/msmq/private$/*", True),
        ("http://shop02/msmq/private$/orders*", True),
        ("*", True),
        ("http://shop02/msmq/private$/order", False),
        ("http://shop02/msmq/private$/orders2*", False),
        ("http://*/msmq/private$/orders", False),
    ],
)
def test_an_asterisk_at_the_end_is_any_rest(rule: str, is_match: bool) -> None:
    """SRMP-289: and nowhere else."""
    assert matches(rule, ORDERS) is is_match


def test_the_first_rule_that_matches_counts() -> None:
    assert replacement(RULES.outgoing, ORDERS) == "https://gateway:8443/ignored"
    assert replacement(RULES.outgoing, "http://shop03/msmq/q") == "http://other"
    assert replacement((), ORDERS) == ""


def test_outgoing_messages_go_to_another_host_unless_there_is_an_exception() -> None:
    """SRMP-294, SRMP-295."""
    assert RULES.next_hop(ORDERS) == ("gateway:8443", True)
    assert RULES.next_hop("http://shop03/msmq/q") == ("other", False)
    assert RULES.next_hop("http://shop02/msmq/private$/urgent") is None
    assert RULES.next_hop("http://bank.example/msmq/q") is None
    assert Redirections().next_hop(ORDERS) is None


def test_receipts_go_where_a_rule_says_else_to_the_own_address() -> None:
    """SRMP-107."""
    own = "http://me:8080/msmq/private$/order_queue$"
    assert RULES.receipts_to("https://there/msmq/q", own) == RULES.receipts[0][1]
    assert RULES.receipts_to(ORDERS, own) == own


def test_incoming_messages_are_for_the_queue_of_a_rule() -> None:
    """SRMP-168."""
    assert RULES.destination(_name("http://shop01/msmq/incoming")) == _name(
        "http://shop01/msmq/private$/orders"
    )
    assert RULES.destination(_name(ORDERS)) == _name(ORDERS)


def _name(url: str) -> DirectName:
    found = parse_format_name(f"DIRECT={url}")
    assert isinstance(found, DirectName)
    return found
