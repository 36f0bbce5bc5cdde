"""Modify a public queue ([MS-MQSO] 6.1.3): a domain, an administrator's computer and the owner's.

The administrator's manager writes the object in the directory, and notifies the manager that has
the queue, which reads the object again. Both are processes in networks of their own.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final
from uuid import UUID

import pytest

from openmsmq import Access, Message
from openmsmq.directory.notification import ChangeEvent, Notification, notification_queue
from openmsmq.errors import MQError
from tests.domain import domain, missing
from tests.e2e.enterprise import done, is_online, joined
from tests.e2e.managers import running, texts, until
from tests.networks import Host, Networks

WHY: Final = missing()
pytestmark = [
    pytest.mark.acceptance,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(bool(WHY), reason=WHY),
]
PORT: Final = 1801
FIRST: Final = 240
"Seconds: it is looked once a minute whether notifications wait."
NEXT: Final = 1100
"Seconds: those after the first ones are taken together, 15 minutes later ([MS-MQCN] <3>)."


def test_directory_and_owner_agree_after_a_change_from_elsewhere(tmp_path: Path) -> None:
    """SYS-070, SYS-085, MQDS-205, MQDS-240: even if the owner is out of reach, not by a forgery."""
    (tmp_path / "domain").mkdir()
    with domain(tmp_path / "domain") as controller, Networks() as networks:
        names = ("office", "owner", "guest")
        hosts = {name: networks.add(f"10.77.1.{at}") for at, name in enumerate(names, 1)}
        for host in hosts.values():
            networks.link(host, Host(controller.network, controller.address))
        for name in ("office", "guest"):
            networks.link(hosts[name], hosts["owner"])
        controller.tool("sites", "create", "HQ")
        office, owner, guest = (
            joined(
                controller,
                tmp_path,
                name,
                "HQ",
                bind=host.address,
                port=PORT,
                network=host.name,
                peers={
                    other: (there.address, PORT) for other, there in hosts.items() if other != name
                },
            )
            for name, host in hosts.items()
        )
        controller.tool("group", "addmembers", "Domain Admins", "office$")
        with (
            running(office, owner, guest),
            office.connect() as administrator,
            owner.connect() as local,
            guest.connect() as stranger,
        ):
            for manager in (administrator, local, stranger):
                until(lambda manager=manager: is_online(manager), "no directory was found")  # type: ignore[misc]
            local.create_queue(".\\orders", label="orders")
            for text in ("1", "2", "3"):
                local.open_queue(".\\orders").send(Message(text))

            def here() -> str:
                (info,) = [item for item in local.queues() if item.name == ".\\orders"]
                return info.label

            def there() -> str:
                return str(done(controller, "find", "--path", "owner\\orders")["label"])

            # The administrator changes it, and the owner follows.
            administrator.open_queue("owner\\orders", access=Access.SEND).set(
                label="orders of all shops"
            )
            assert there() == "orders of all shops"
            until(lambda: here() == "orders of all shops", "the owner did not follow", FIRST)

            # Another computer may not.
            with pytest.raises(MQError):
                stranger.open_queue("owner\\orders", access=Access.SEND).set(label="mine")
            assert (there(), here()) == ("orders of all shops", "orders of all shops")

            # What it claims changes nothing: the owner reads the directory.
            (info,) = [item for item in local.queues() if item.name == ".\\orders"]
            assert info.id is not None
            forged = Notification(ChangeEvent.QUEUE_DELETED, info.id, "dc1.openmsmq.test")
            target = stranger.open_queue(
                str(notification_queue(UUID(owner.id))), access=Access.SEND
            )
            target.send(forged.message())

            # The owner cannot be reached: the directory is changed at once, the owner later.
            networks.cut(hosts["office"], hosts["owner"])
            administrator.open_queue("owner\\orders", access=Access.SEND).set(
                label="orders of winter"
            )
            assert there() == "orders of winter"
            assert here() == "orders of all shops"
            networks.mend(hosts["office"], hosts["owner"])
            until(lambda: here() == "orders of winter", "the owner did not follow", NEXT)
            assert texts(local, ".\\orders") == ["1", "2", "3"]
