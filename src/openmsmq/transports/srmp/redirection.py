"""Addresses that stand for others: where requests go, come in, and send their receipts.

A rule has a URL, or the beginning of one and an asterisk, and the URL that counts instead; the
first that matches does ([MC-MQSRM] 3.1.1.1.10). Small and capital letters are the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from openmsmq.names.direct import DirectName
from openmsmq.soap.addresses import address_of, queue_at
from openmsmq.soap.request import host_of

Rules = tuple[tuple[str, str], ...]
"What a URL must be, and what it is replaced by."


class Redirections(NamedTuple):
    """The rules of an administrator ([MC-MQSRM] 3.1.1.1.8 - 3.1.1.1.10)."""

    outgoing: Rules = ()
    "OutboundRedirectionCollection."
    exceptions: tuple[str, ...] = ()
    "OutboundRedirectionExceptionCollection."
    incoming: Rules = ()
    "InboundRedirectionCollection."
    receipts: Rules = ()
    "StreamReceiptURLReplacementCollection; a last rule for `*` is the default."
    forwarded: tuple[str, ...] = ()
    "TransparentStoreAndForward, for these URLs of other computers ([MC-MQSRM] 3.1.1.1.7)."

    def next_hop(self, url: str) -> tuple[str, bool] | None:
        """The host that gets messages for `url`, and whether by HTTPS; None for that of `url`.

        ([MC-MQSRM] 3.1.7.9) The message itself still names `url`.
        """
        to = replacement(self.outgoing, url)
        if not to or any(matches(rule, url) for rule in self.exceptions):
            return None
        return host_of(to), to.lower().startswith("https:")

    def receipts_to(self, url: str, own: str) -> str:
        """Where stream receipts of messages for `url` are sent ([MC-MQSRM] 3.1.7.2.4)."""
        return replacement(self.receipts, url) or own

    def destination(self, name: DirectName) -> DirectName:
        """The queue for a message that came for `name` ([MC-MQSRM] 3.1.5.1.3)."""
        to = replacement(self.incoming, address_of(name))
        found = queue_at(to, "redirect_incoming") if to else name
        assert isinstance(found, DirectName), "rules are checked when they are read"
        return found

    def is_forwarded(self, name: DirectName) -> bool:
        """Whether messages for a queue elsewhere are passed on ([MC-MQSRM] 3.1.1.1.7, 3.1.5.1.3).

        So are those that a rule for queues here leads there.
        """
        url = address_of(name)
        targets = (queue_at(to, "redirect_incoming") for _, to in self.incoming)
        return any(matches(rule, url) for rule in self.forwarded) or name in targets


def matches(rule: str, url: str) -> bool:
    """Whether a URL is the one of a rule; `*` at its end is any rest ([MC-MQSRM] 3.1.1.1.9)."""
    rule, url = rule.lower(), url.lower()
    return url.startswith(rule[:-1]) if rule.endswith("*") else url == rule


def replacement(rules: Iterable[tuple[str, str]], url: str) -> str:
    """What the first matching rule replaces a URL by; empty without one."""
    return next((to for rule, to in rules if matches(rule, url)), "")
